"""A treebank as running text, with its tokens marked: what a tokeniser learns from.

Sentences stand one after the other, paragraphs with a blank line between them. Where tokens touch
is known from `# text` and `SpaceAfter=No`. A treebank that knows nothing of it gets the spaces
that print would have: none around brackets and before marks, none at all in scripts without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.text.characters import (
    CLOSE,
    HAN,
    KATAKANA,
    OPEN,
    UPPER,
    characters,
    lower_case,
)
from crossarc.text.features import LINE, NOTHING, PARAGRAPH, SPACED
from crossarc.treebank import Sentence

__all__ = ["RunningText", "in_lines", "raw_text", "running_text"]

_ATTACHED = frozenset(".,;:!?%…·。、،؛؟")
_SPACES = {NOTHING: "", SPACED: " ", PARAGRAPH: "\n\n", LINE: "\n"}
_UNMARKED, _LOWER_CASE = 0.6, 0.25
_ENOUGH_LINES = 2000


class _Token(NamedTuple):
    form: str
    space: bool  # whether white space follows
    words: tuple[str, ...]  # what a multiword token stands for, else empty


class _Placed(NamedTuple):
    """A token, and what of white space follows it."""

    form: str
    follows: int
    is_final: bool
    words: tuple[str, ...]


class _Line(NamedTuple):
    tokens: list[_Token]
    starts_paragraph: bool


class RunningText(NamedTuple):
    """A text and its tokens, one entry each: offsets, what follows, sentence ends, words."""

    text: str
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    breaks: NDArray[np.int64]
    finals: NDArray[np.bool_]
    words: list[tuple[str, ...]]

    def form(self, t: int) -> str:
        """The characters of token t."""
        return self.text[self.starts[t] : self.ends[t]]


def raw_text(sentences: Iterable[Sentence]) -> str:
    """The text of a treebank as a reader would meet it, paragraphs parted by blank lines."""
    return running_text(sentences).text


def running_text(sentences: Iterable[Sentence]) -> RunningText:
    """The text of a treebank and where its tokens lie in it; O(characters)."""
    lines = [_Line(list(_tokens(s)), _starts_paragraph(s)) for s in sentences]
    if not any(not token.space for line in lines for token in line.tokens[:-1]):
        lines = [_respaced(line) for line in _guess_spaces(lines)]
    placed = []
    for number, line in enumerate(lines):
        for k, token in enumerate(line.tokens):
            last = k == len(line.tokens) - 1
            paragraph = last and number + 1 < len(lines) and lines[number + 1].starts_paragraph
            follows = PARAGRAPH if paragraph else SPACED if token.space else NOTHING
            placed.append(_Placed(token.form, follows, last, token.words))
    return _laid_out(placed)


def _laid_out(tokens: Sequence[_Placed]) -> RunningText:
    """The text that tokens make, and where they lie in it."""
    lengths = np.array([len(token.form) for token in tokens], np.int64)
    gaps = [_SPACES[token.follows] for token in tokens]
    ends = np.cumsum(lengths + np.array([len(gap) for gap in gaps], np.int64))
    starts = np.concatenate([np.zeros(1, np.int64), ends])[: len(tokens)]
    return RunningText(
        "".join(token.form + gap for token, gap in zip(tokens, gaps, strict=True)),
        starts,
        starts + lengths,
        np.array([token.follows for token in tokens], np.int64),
        np.array([token.is_final for token in tokens], np.bool_),
        [token.words for token in tokens],
    )


def in_lines(text: RunningText, *, seed: int) -> RunningText:
    """The sentences laid out one a line, as in lists, titles and messages.

    A treebank seldom says where lines end, so this is made up: some sentences lose the mark at
    their end, some are in lower case, and each goes on in the next line once. The sentences of a
    small treebank are used several times.
    """
    rng = np.random.default_rng(seed)
    ends = np.flatnonzero(text.finals) + 1
    bounds = list(pairwise([0, *ends.tolist()])) * (1 + _ENOUGH_LINES // len(ends))
    placed = []
    for first, end in bounds:
        unmarked, lower = rng.random(2) < (_UNMARKED, _LOWER_CASE)
        last = end - 1
        if unmarked and last > first and characters(text.form(last)).kinds[0] >= OPEN:
            last -= 1
        broken = int(rng.integers(first, last)) if last > first else -1
        for t in range(first, last + 1):
            form = lower_case(text.form(t)) if lower else text.form(t)
            follows = LINE if t in (broken, last) else int(text.breaks[t])
            placed.append(_Placed(form, follows, t == last, ()))
    return _laid_out(placed)


def _starts_paragraph(sentence: Sentence) -> bool:
    return any(
        line[1:].split("=")[0].split()[:1] in (["newpar"], ["newdoc"]) for line in sentence.comments
    )


def _tokens(sentence: Sentence) -> Iterator[_Token]:
    """The tokens of a sentence, with spaces as in `# text` where it fits, else by SpaceAfter."""
    forms, misc = sentence.forms, sentence.misc
    ranges = {token.first: token for token in sentence.multiword_tokens}
    text = sentence.comment("text") or ""
    offset, covered = 0, 0
    for number, form in enumerate(forms, 1):
        if number <= covered:
            continue
        words: tuple[str, ...] = ()
        other = misc[number - 1]
        if token := ranges.get(number):
            form, other, covered = token.form, token.misc, token.last
            words = forms[number - 1 : covered]
        space = "SpaceAfter=No" not in other.split("|")
        if text.startswith(form, offset):
            offset += len(form)
            rest = text[offset:]
            if rest:
                space = rest[0].isspace()
                offset += len(rest) - len(rest.lstrip())
        else:
            text = ""
        yield _Token(form, space, words)


def _guess_spaces(lines: list[_Line]) -> list[_Line]:
    """The lines without any spaces, if most of their letters are of a script without spaces."""
    kinds = characters("".join(token.form for line in lines for token in line.tokens)).kinds
    spaceless = np.count_nonzero((kinds >= HAN) & (kinds <= KATAKANA))
    if 2 * spaceless <= np.count_nonzero((kinds >= UPPER) & (kinds <= KATAKANA)):
        return lines
    return [
        line._replace(tokens=[token._replace(space=False) for token in line.tokens])
        for line in lines
    ]


def _respaced(line: _Line) -> _Line:
    """A line with the spaces that print would have around brackets, quotes and marks."""
    tokens = list(line.tokens)
    quoted = False
    for k, token in enumerate(tokens):
        kind = characters(token.form).kinds[0]
        joins_left = token.form[0] in _ATTACHED or kind == CLOSE
        joins_right = kind == OPEN and len(token.form) == 1
        if token.form == '"':
            joins_left, joins_right = quoted, not quoted
            quoted = not quoted
        if joins_left and k:
            tokens[k - 1] = tokens[k - 1]._replace(space=False)
        if joins_right:
            tokens[k] = token._replace(space=False)
    return line._replace(tokens=tokens)
