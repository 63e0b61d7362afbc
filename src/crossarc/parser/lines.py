"""Text that is divided already: a sentence a line, and words by spaces if they are divided, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crossarc.errors import TreebankError
from crossarc.text import Tokenizer
from crossarc.text.emission import build_sentence, following
from crossarc.treebank import Sentence, SentenceReader

__all__ = ["line_sentences", "split_lines", "with_hint"]


def split_lines(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a text that comes in pieces, each as soon as it is complete."""
    rest: list[str] = []
    for piece in pieces:
        *lines, last = piece.split("\n")
        for line in lines:
            yield "".join([*rest, line])
            rest = []
        rest.append(last)
    if any(rest):
        yield "".join(rest)


def line_sentences(lines: Iterable[str], tokenizer: Tokenizer | None) -> Iterator[Sentence]:
    """A sentence for each line that is not blank, with `# sent_id` and `# text`.

    Args:
        tokenizer: finds the words; None where they are divided by white space.
    """
    number = 0
    for line in lines:
        content = " ".join(line.split())
        if content:
            number += 1
            comments = [f"# sent_id = {number}", f"# text = {content}"]
            if tokenizer is None:
                yield Sentence.build(content.split(" "), comments=comments)
            else:
                yield _joined(list(tokenizer.tokenize(content)), comments)


def _joined(parts: list[Sentence], comments: list[str]) -> Sentence:
    """One sentence of what the tokeniser may have taken for several."""
    forms: list[str] = []
    misc: list[str] = []
    ranges: list[tuple[int, tuple[str, ...]]] = []
    for part in parts:
        first = 0
        tokens = {token.first: token for token in part.multiword_tokens}
        while first < len(part):
            token = tokens.get(first + 1)
            if token is not None:
                ranges.append((len(forms), part.forms[first : token.last]))
            forms.append(part.forms[first] if token is None else token.form)
            misc.append(part.misc[first] if token is None else token.misc)
            first = first + 1 if token is None else token.last
    misc[-1] = following("\n")
    return build_sentence("".join(f"{line}\n" for line in comments), forms, misc, ranges)


def with_hint(reader: SentenceReader, hint: str) -> Iterator[Sentence]:
    """The sentences of a treebank; if the first is none, the error says what to do for text."""
    count = 0
    try:
        for sentence in reader:
            count += 1
            yield sentence
    except TreebankError as error:
        # Text has no sent_id.
        if count or error.sent_id is not None:
            raise
        link = " For" if error.what.endswith("?") else "; for"
        raise TreebankError(
            f"{error.what}{link} {hint}",
            source=error.source,
            line=error.line,
            sent_id=error.sent_id,
        ) from None
