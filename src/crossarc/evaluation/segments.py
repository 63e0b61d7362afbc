"""Two treebanks over the same text, read in step.

Sentences are read until both treebanks end at the same character. Nothing but such a segment is
held, so treebanks of any size can be compared.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from crossarc.errors import TreebankError
from crossarc.evaluation.alignment import Alignment, Text, TokenPosition, align
from crossarc.treebank import MultiwordToken, Sentence
from crossarc.treebank.arguments import require_sentence, require_sentences

__all__ = ["Segment", "batches", "located_error", "segments"]

# Enough words that array operations outweigh their calls, few enough to stay in cache.
_BATCH_WORDS = 1 << 11


class Segment(NamedTuple):
    """Sentences of gold and of a system over the same text.

    number: of the first sentence of gold, and of the system, from 1.
    tokens: surface tokens of gold, of the system, and those over the same characters in both.
    alignment: None if there is one sentence on either side and all words are aligned.
    """

    number: tuple[int, int]
    gold: list[Sentence]
    system: list[Sentence]
    tokens: tuple[int, int, int]
    alignment: Alignment | None = None


def segments(
    gold: Iterable[Sentence],
    system: Iterable[Sentence],
    *,
    name: str = "system",
    same_words: bool = False,
) -> Iterator[Segment]:
    """The segments of two treebanks in order, checked to have the same text and all heads.

    Args:
        name: what to call the system in messages.
        same_words: refuse sentences whose words differ.

    Raises:
        TreebankError: the text differs, one treebank is longer, or a head is `_`.
    """
    ours, theirs = _Side("gold", gold), _Side(name, system)
    while True:
        g, s = ours.next(), theirs.next()
        if g is None:
            if s is None:
                return
            raise _missing(s, theirs, ours)
        if s is None:
            raise _missing(g, ours, theirs)
        ours.check_heads(g)
        theirs.check_heads(s, named=g)
        number = ours.count, theirs.count
        if same_words and g.forms != s.forms:
            raise _word_error(number[0], g, s, name)
        if g.forms == s.forms:
            ranges = g.multiword_tokens, s.multiword_tokens
            if same_words or _surfaces(ranges[0]) == _surfaces(ranges[1]):
                yield Segment(number, [g], [s], _count_tokens(len(g), *ranges))
                continue
        counts, texts = (ours.count, theirs.count), (Text(), Text())
        found = _aligned_segment(number, g, s, ours, theirs, texts)
        if isinstance(found, TreebankError):
            if g.forms != s.forms:
                raise found
            # One version may lack the multiword tokens, so that its text is another.
            for side, text, count in zip((ours, theirs), texts, counts, strict=True):
                side.put_back(text.sentences[1:], count)
            found = Segment(number, [g], [s], _count_tokens(len(g), *ranges))
        yield found


def _missing(sentence: Sentence, long: _Side, short: _Side) -> TreebankError:
    where = "" if sentence.source is None else f" ({sentence.source}:{sentence.line})"
    return TreebankError(
        f"{short.title} ends before {_named(sentence, long.count)} of {long.title}{where}. "
        "Compare treebanks of the same text."
    )


def _surfaces(tokens: Sequence[MultiwordToken]) -> list[tuple[int, int, str]]:
    return [(token.first, token.last, token.form) for token in tokens]


def _count_tokens(
    n: int, gold: Sequence[MultiwordToken], system: Sequence[MultiwordToken]
) -> tuple[int, int, int]:
    """Tokens of two versions of the same n words, and those that are of the same words in both."""
    if not gold and not system:
        return n, n, n
    g, s = ({(token.first, token.last) for token in tokens} for tokens in (gold, system))
    covered = {word for first, last in g | s for word in range(first, last + 1)}
    counts = [n - sum(last - first for first, last in ranges) for ranges in (g, s)]
    return counts[0], counts[1], n - len(covered) + len(g & s)


def batches(items: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Segments in lists of about 2,000 words of gold; one segment at least, however long."""
    batch: list[Segment] = []
    words = 0
    for segment in items:
        batch.append(segment)
        words += sum(map(len, segment.gold))
        if words >= _BATCH_WORDS:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch


class _Side:
    """One of the two treebanks while it is read."""

    def __init__(self, title: str, treebank: Iterable[Sentence]) -> None:
        require_sentences(treebank, title)
        self.title = title
        self.count = 0
        self._sentences = iter(treebank)

    def put_back(self, sentences: list[Sentence], count: int) -> None:
        """Go back to the time when so many sentences were read, before these."""
        self._sentences = chain(sentences, self._sentences)
        self.count = count

    def next(self) -> Sentence | None:
        """The next sentence; None at the end."""
        sentence = next(self._sentences, None)
        if sentence is not None:
            require_sentence(sentence, self.title)
            self.count += 1
        return sentence

    def check_heads(self, sentence: Sentence, named: Sentence | None = None) -> None:
        """Refuse the last sentence if a head is missing; `named` may have the id that it lacks."""
        if sentence.heads.min() >= 0:
            return
        word = int(sentence.heads.argmin()) + 1
        what = (
            f"word {word} has no head (`_`) in {self.title}. "
            "Parse the sentence, or leave it out of both treebanks."
        )
        if sentence.source is None and sentence.sent_id is None and named is not None:
            raise TreebankError(f"{_named(named, self.count)}: {what}")
        raise located_error(what, sentence, self.count, word)


def _aligned_segment(
    number: tuple[int, int],
    g: Sentence,
    s: Sentence,
    ours: _Side,
    theirs: _Side,
    texts: tuple[Text, Text],
) -> Segment | TreebankError:
    """The segment that begins with two sentences, or what to say if the text differs.

    `texts` collects what was read.
    """
    # What one side has and the other has not reached yet; one of the two is empty.
    pending = [texts[0].add(g), texts[1].add(s)]
    while True:
        common = min(map(len, pending))
        if pending[0][:common] != pending[1][:common]:
            return _text_error(number, texts, pending, theirs.title)
        pending = [rest[common:] for rest in pending]
        if not any(pending):
            alignment = align(*texts)
            # The official scorer may still compare two open words or more with what follows.
            if alignment.open_words < 2:
                return _segment(number, texts, alignment)
        is_end = True
        for side, reader in enumerate((ours, theirs)):
            if not pending[side] and (sentence := reader.next()) is not None:
                pending[side] = texts[side].add(sentence)
                reader.check_heads(sentence)
                is_end = False
        if is_end:
            if any(pending):
                return _text_error(number, texts, pending, theirs.title)
            return _segment(number, texts, align(*texts))


def _segment(number: tuple[int, int], texts: tuple[Text, Text], alignment: Alignment) -> Segment:
    gold, system = texts
    tokens = len(gold.token_spans), len(system.token_spans), alignment.tokens
    return Segment(number, gold.sentences, system.sentences, tokens, alignment)


def _text_error(
    number: tuple[int, int], texts: tuple[Text, Text], pending: list[str], title: str
) -> TreebankError:
    """An error that names the tokens where two versions differ for the first time."""
    shared = zip(*pending, strict=False)
    common = next((k for k, (a, b) in enumerate(shared) if a != b), min(map(len, pending)))
    found = [
        text.token_at(text.length - len(rest) + common)
        for text, rest in zip(texts, pending, strict=True)
    ]
    remedy = "Compare treebanks of the same text, spaces aside."
    gold, system = found
    if gold is not None and system is not None:
        g_form, s_form = _distinct(gold.form, system.form)
        where = _where(texts[1].sentences[system.sentence], system.word)
        problem = f"word {gold.word} is {g_form} in gold, and there is {s_form} in {title}{where}"
        return _error_at(gold, texts[0], number[0], f"{problem}. {remedy}")
    side, long, short = (0, "gold", title) if system is None else (1, title, "gold")
    token = found[side]
    if token is None:
        raise AssertionError("two texts differ, yet both are at their ends")
    problem = f"{short} ends before word {token.word} of {long}, {token.form!r}"
    return _error_at(token, texts[side], number[side], f"{problem}. {remedy}")


def _error_at(token: TokenPosition, text: Text, number: int, what: str) -> TreebankError:
    sentence = text.sentences[token.sentence]
    return located_error(what, sentence, number + token.sentence, token.word)


def _word_error(number: int, g: Sentence, s: Sentence, title: str) -> TreebankError:
    """An error that says how the words of two sentences differ."""
    words = [k for k, (a, b) in enumerate(zip(g.forms, s.forms, strict=False)) if a != b]
    word = words[0] + 1 if words else min(len(g), len(s))
    problem = f"gold has {len(g)} words and {title} has {len(s)}"
    if words and len(g) == len(s):
        a, b = _distinct(g.forms[word - 1], s.forms[word - 1])
        problem = f"word {word} is {a} in gold and {b} in {title}"
    return located_error(
        f"{problem}{_where(s, word)}. Let the systems parse the words of the gold treebank.",
        g,
        number,
        word,
    )


def located_error(what: str, sentence: Sentence, number: int, word: int) -> TreebankError:
    """An error that names file and line of a word, or the number of its sentence in memory."""
    if sentence.source is None:
        return TreebankError(f"{_named(sentence, number)}: {what}")
    line = sentence.line_of(word)
    return TreebankError(what, source=sentence.source, line=line, sent_id=sentence.sent_id)


def _named(sentence: Sentence, number: int) -> str:
    sent_id = "" if sentence.sent_id is None else f" (sent_id {sentence.sent_id})"
    return f"sentence {number}{sent_id}"


def _where(sentence: Sentence, word: int) -> str:
    """File and line of a word, in brackets, if they are known."""
    return "" if sentence.source is None else f" ({sentence.source}:{sentence.line_of(word)})"


def _distinct(a: str, b: str) -> tuple[str, str]:
    """Two forms for a message; with code points if they look alike."""
    if unicodedata.normalize("NFKC", a) != unicodedata.normalize("NFKC", b):
        return repr(a), repr(b)
    first, second = (f"{form!r} ({' '.join(f'U+{ord(c):04X}' for c in form)})" for form in (a, b))
    return first, second
