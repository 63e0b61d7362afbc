"""Align two versions of a text: tokens and sentences by characters, words as CoNLL 2018 does.

These are the rules of the shared task's scorer (Zeman et al. 2018, section 5).

The text of a sentence is its surface tokens without spaces. A word that is a token is aligned with
one over the same characters. Words of multiword tokens, of which the characters are not known, are
aligned by a longest common subsequence of forms, inside the shortest stretch of text in which no
multiword token of either version sticks out.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple

from crossarc.treebank import Sentence

__all__ = ["Alignment", "Text", "TokenPosition", "align"]

Span = tuple[int, int]


class Alignment(NamedTuple):
    """What two versions share: pairs of indices (gold, system) from 0, and a number of tokens.

    open_words: words at the end of one version that were not compared with any of the other.
    """

    words: list[tuple[int, int]]
    sentences: list[tuple[int, int]]
    tokens: int
    open_words: int


class TokenPosition(NamedTuple):
    """A token: the index of its sentence, the id of its first word there, and its form."""

    sentence: int
    word: int
    form: str


@dataclass
class Text:
    """One version of a text; spans are ranges of its characters, spaces left out."""

    sentences: list[Sentence] = field(default_factory=list)
    sentence_spans: list[Span] = field(default_factory=list)
    token_spans: list[Span] = field(default_factory=list)
    #: For each word: the span of its token, its form, and whether its token is of several words.
    spans: list[Span] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    in_multiword: list[bool] = field(default_factory=list)
    length: int = 0

    def add(self, sentence: Sentence) -> str:
        """Append a sentence; returns its characters."""
        self.sentences.append(sentence)
        ranges = {token.first: token for token in sentence.multiword_tokens}
        begin, covered = self.length, 0
        pieces = []
        for word, form in enumerate(sentence.forms, 1):
            token = ranges.get(word)
            if word > covered:
                surface = without_spaces(form if token is None else token.form)
                self.token_spans.append((self.length, self.length + len(surface)))
                self.length += len(surface)
                pieces.append(surface)
                covered = word if token is None else token.last
                form = surface if token is None else form
                is_multiword = token is not None
            self.spans.append(self.token_spans[-1])
            self.forms.append(form.lower())
            self.in_multiword.append(is_multiword)
        self.sentence_spans.append((begin, self.length))
        return "".join(pieces)

    def token_at(self, offset: int) -> TokenPosition | None:
        """The token that the character is in; None after the last."""
        for index, sentence in enumerate(self.sentences):
            if self.sentence_spans[index][1] <= offset:
                continue
            first = sum(map(len, self.sentences[:index]))
            word = next(k for k in range(len(sentence)) if self.spans[first + k][1] > offset)
            token = sentence[word].multiword_token
            return TokenPosition(index, word + 1, token.form if token else sentence[word].form)
        return None


def without_spaces(form: str) -> str:
    """The form without Unicode space separators."""
    if form.isascii():
        return form.replace(" ", "")
    return "".join(c for c in form if unicodedata.category(c) != "Zs")


def align(gold: Text, system: Text) -> Alignment:
    """Align two versions of one text; O(words), squared inside a stretch of multiword tokens."""
    g_sentences = {span: index for index, span in enumerate(gold.sentence_spans)}
    words, open_words = _aligned_words(gold, system)
    return Alignment(
        words=words,
        sentences=[
            (g_sentences[span], index)
            for index, span in enumerate(system.sentence_spans)
            if span in g_sentences
        ],
        tokens=len(set(gold.token_spans) & set(system.token_spans)),
        open_words=open_words,
    )


def _aligned_words(gold: Text, system: Text) -> tuple[list[tuple[int, int]], int]:
    pairs: list[tuple[int, int]] = []
    g, s = 0, 0
    while g < len(gold.spans) and s < len(system.spans):
        if gold.in_multiword[g] or system.in_multiword[s]:
            first, last = _multiword_stretch(gold, system, g, s)
            pairs += _common_subsequence(gold.forms, system.forms, first, last)
            g, s = last
        elif gold.spans[g] == system.spans[s]:
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif gold.spans[g][0] <= system.spans[s][0]:
            g += 1
        else:
            s += 1
    return pairs, max(len(gold.spans) - g, len(system.spans) - s)


def _multiword_stretch(gold: Text, system: Text, g: int, s: int) -> tuple[Span, Span]:
    """The words (gold, system) at which a stretch of multiword tokens begins and those after it.

    It begins at words g and s, less the one of them that starts before the multiword token. It ends
    where no multiword token continues; a single word that extends beyond that end is outside.
    """
    texts, position = (gold, system), [g, s]
    leader = 0 if gold.in_multiword[g] else 1
    start, end = texts[leader].spans[position[leader]]
    other = 1 - leader
    follower = texts[other]
    if not follower.in_multiword[position[other]] and follower.spans[position[other]][0] < start:
        position[other] += 1
    first = (position[0], position[1])

    def is_inside(side: int) -> bool:
        text, k = texts[side], position[side]
        if k == len(text.spans):
            return False
        return text.spans[k][0] < end if text.in_multiword[k] else text.spans[k][1] <= end

    def start_of_next(side: int) -> float:
        text, k = texts[side], position[side]
        return text.spans[k][0] if k < len(text.spans) else float("inf")

    while is_inside(0) or is_inside(1):
        side = 0 if start_of_next(0) <= start_of_next(1) else 1
        text, k = texts[side], position[side]
        if text.in_multiword[k]:
            end = max(end, text.spans[k][1])
        position[side] += 1
    return first, (position[0], position[1])


def _common_subsequence(
    gold: list[str], system: list[str], first: Span, last: Span
) -> list[tuple[int, int]]:
    """Pairs of equal forms that follow each other in both, as many as there can be.

    Of several solutions, the one that keeps the earliest words of the system.
    """
    a, b = gold[first[0] : last[0]], system[first[1] : last[1]]
    # length[i][j]: of the longest common subsequence of a[i:] and b[j:]
    length = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            length[i][j] = (
                1 + length[i + 1][j + 1]
                if a[i] == b[j]
                else max(length[i + 1][j], length[i][j + 1])
            )
    pairs: list[tuple[int, int]] = []
    i, j = 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((first[0] + i, first[1] + j))
            i, j = i + 1, j + 1
        elif length[i][j] == length[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
