"""What a treebank teaches a tokeniser: tables of character pairs, and weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.text.characters import (
    BREAK,
    CLASSES,
    OPEN,
    SPACE,
    SYMBOL,
    Characters,
    characters,
)
from crossarc.text.decisions import (
    ASK,
    JOINED,
    PARAGRAPH,
    PARTED,
    SPACED,
    UNLIKE,
    split_rows,
)
from crossarc.text.descent import train
from crossarc.text.features import BOUNDARY_FEATURES, END_FEATURES, SPLIT_FEATURES
from crossarc.text.learned import Described, Learned, Table, describe
from crossarc.text.linear import Weights
from crossarc.text.multiword import ASKED, Splitter
from crossarc.text.questions import boundary_rows, end_rows
from crossarc.text.running import RunningText

__all__ = ["learn"]

Hashes = NDArray[np.uint64]

_RARE = 1e-3  # a pair that parts less often than this never does
_SEEN = 10  # how often a pair must occur to be sure of it
_EPOCHS = 3
_BOUNDARY_BITS = 14, 18
_END_BITS = 14, 16
_SPLIT_BITS = 10, 12


def learn(text: RunningText, *, seed: int) -> Learned:
    """Learn from a text whose tokens are known; O(characters)."""
    chars = characters(text.text)
    pairs = _pair_table(chars, text)
    gaps = _gap_table(chars, text)
    described = describe(chars, text.starts, text.ends)
    splitter = Splitter.learn(list(zip(_forms(text), text.words, strict=True)))
    return Learned(
        pairs,
        gaps,
        _boundary_weights(chars, text, pairs, gaps, seed),
        _end_weights(described, text, seed),
        _split_weights(described, text, splitter, seed),
        splitter,
    )


def _forms(text: RunningText) -> list[str]:
    return [text.text[a:b] for a, b in zip(text.starts.tolist(), text.ends.tolist(), strict=True)]


def _pair_table(chars: Characters, text: RunningText) -> Table:
    """What two touching characters do, by their classes; by rule where that was not seen."""
    kinds = chars.kinds.astype(np.int64)
    parts = np.zeros(len(kinds), np.bool_)
    parts[text.ends - 1] = True
    square = np.full((CLASSES, CLASSES), JOINED, np.uint8)
    square[OPEN : SYMBOL + 1, :] = UNLIKE
    square[:, OPEN : SYMBOL + 1] = UNLIKE
    table = square.ravel()
    touching = (kinds[:-1] > BREAK) & (kinds[1:] > BREAK)
    pair = (kinds[:-1] * CLASSES + kinds[1:])[touching]
    total = np.bincount(pair, minlength=CLASSES * CLASSES)
    parted = np.bincount(pair[parts[:-1][touching]], minlength=CLASSES * CLASSES)
    # Punctuation that was never parted from a class may yet be: `3.5`, but `3.`
    sure = (total >= _SEEN) & (parted < _RARE * total) & (table == JOINED)
    table[(total > 0) & ~sure] = ASK
    table[(total >= _SEEN) & (parted == total)] = PARTED
    return table


def _gap_table(chars: Characters, text: RunningText) -> Table:
    """Between which classes a space may stand inside a token."""
    table = np.full(CLASSES * CLASSES, PARTED, np.uint8)
    kinds = chars.kinds.astype(np.int64)
    inside = np.zeros(len(kinds) + 1, np.int64)
    np.add.at(inside, text.starts, 1)
    np.add.at(inside, text.ends, -1)
    spaces = np.flatnonzero((kinds == SPACE) & (np.cumsum(inside)[:-1] > 0))
    pair = kinds[spaces - 1] * CLASSES + kinds[spaces + 1]
    table[np.bincount(pair, minlength=len(table)) > 1] = ASK
    return table


def _bits(rows: Hashes, limits: tuple[int, int]) -> int:
    """The size of a table: a slot or two for each row that is learned from, within limits."""
    least, most = limits
    return min(most, max(least, len(rows).bit_length()))


def _boundary_weights(
    chars: Characters, text: RunningText, pairs: Table, gaps: Table, seed: int
) -> Weights:
    count = boundary_rows(
        chars.folded,
        chars.kinds,
        text.starts,
        text.ends,
        pairs,
        gaps,
        np.zeros(0, np.bool_),
        np.zeros((0, BOUNDARY_FEATURES), np.uint64),
    )
    labels = np.zeros(count, np.bool_)
    rows = np.zeros((count, BOUNDARY_FEATURES), np.uint64)
    boundary_rows(chars.folded, chars.kinds, text.starts, text.ends, pairs, gaps, labels, rows)
    return train(rows, labels, bits=_bits(rows, _BOUNDARY_BITS), epochs=_EPOCHS, seed=seed)


def _end_weights(described: Described, text: RunningText, seed: int) -> Weights:
    n = len(text.starts)
    labels = np.zeros(n, np.bool_)
    rows = np.zeros((n, END_FEATURES), np.uint64)
    breaks = text.breaks
    if np.count_nonzero(text.finals & (breaks != PARAGRAPH)) < 0.1 * np.count_nonzero(text.finals):
        # A bank of single sentences: learn their ends as if they followed each other.
        breaks = np.where(breaks == PARAGRAPH, SPACED, breaks)
    count = end_rows(*described, breaks, text.finals, labels, rows)
    rows, labels = rows[:count], labels[:count]
    return train(rows, labels, bits=_bits(rows, _END_BITS), epochs=_EPOCHS, seed=seed)


def _split_weights(
    described: Described, text: RunningText, splitter: Splitter, seed: int
) -> Weights:
    kinds = [splitter.look_up(form)[0] for form in _forms(text)] if splitter else []
    asked = np.flatnonzero(np.array(kinds, np.int64) == ASKED)
    rows = np.zeros((len(asked), SPLIT_FEATURES), np.uint64)
    split_rows(described.forms, described.shapes, text.breaks, text.finals, asked, rows)
    labels = np.array([bool(text.words[t]) for t in asked.tolist()], np.bool_)
    return train(rows, labels, bits=_bits(rows, _SPLIT_BITS), epochs=_EPOCHS, seed=seed)
