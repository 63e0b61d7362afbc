"""Accept valid sentences fast: ids, heads and boundaries of a whole block at once.

`scan` looks at a block of bytes with array operations only and answers "all valid, and here is
where everything lies" or None. Why something is not valid is `diagnose`'s to say, one sentence at
a time; both check the same rules, independently of each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.treebank.columns import COLUMNS, HEAD

__all__ = ["Scan", "scan"]

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]

_TAB, _LF, _CR, _HASH, _DASH, _DOT, _ZERO, _UNDERSCORE = b"\t\n\r#-.0_"
_MOST_DIGITS = 9


class Scan(NamedTuple):
    """Where the sentences of a block lie; one entry a sentence, offsets in bytes.

    A sentence extends from the end of the one before to the end of its blank lines; `body` and
    `body_end` enclose its rows, without the last line break. Words `words[k]` up to `words[k + 1]`
    of `heads` are those of sentence k; `only_words[k]` is true if all its rows are words; `line[k]`
    counts the lines of the block before it.
    """

    end: Ints
    body: Ints
    body_end: Ints
    words: Ints
    only_words: Bools
    heads: Ints
    line: Ints


class _Lines(NamedTuple):
    """Offsets of the non-blank lines, and the sentence each belongs to."""

    start: Ints
    stop: Ints
    sentence: Ints
    is_row: Bools
    end: Ints
    first_line: Ints


def scan(data: bytes) -> Scan | None:
    """Validate a block of whole sentences, O(bytes); None if anything in it is not valid.

    Args:
        data: complete lines; the last one ends in a line break.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    block = np.frombuffer(data, np.uint8)
    lines = _split_lines(block)
    sentences = len(lines.end)
    if sentences == 0:
        none = np.zeros(0, np.int64)
        return Scan(none, none, none, np.zeros(1, np.int64), np.zeros(0, np.bool_), none, none)
    row = lines.is_row
    row_sentence = lines.sentence[row]
    start, stop = lines.start[row], lines.stop[row]
    tabs = _tab_table(block, lines)
    if tabs is None or _rows_before_comments(lines):
        return None

    number, is_word = _whole_numbers(block, start, tabs[:, 0])
    words = np.zeros(sentences + 1, np.int64)
    np.cumsum(np.bincount(row_sentence[is_word], minlength=sentences), out=words[1:])
    if np.any(words[1:] == words[:-1]):
        return None
    # A word's id counts the words of its sentence.
    count = np.cumsum(is_word)
    if np.any((number != count - words[row_sentence])[is_word]):
        return None
    others = np.flatnonzero(~is_word)
    if len(others) and not _ranges_and_empty_nodes_fit(
        [data[a:b] for a, b in zip(start[others], tabs[others, 0], strict=True)],
        others.tolist(),
        row_sentence[others].tolist(),
        (count - words[row_sentence])[others].tolist(),
        np.diff(words).tolist(),
    ):
        return None
    heads = _heads(block, tabs[is_word], words)
    if heads is None or not _acyclic(heads, words):
        return None

    first_row = np.searchsorted(row_sentence, np.arange(sentences))
    last_row = np.append(first_row[1:], len(start)) - 1
    only_words = (last_row - first_row + 1) == np.diff(words)
    return Scan(
        lines.end,
        start[first_row],
        stop[last_row],
        words,
        only_words,
        heads,
        lines.first_line,
    )


def _split_lines(block: Bytes) -> _Lines:
    breaks = np.flatnonzero(block == _LF)
    start = np.empty_like(breaks)
    start[:1] = 0
    start[1:] = breaks[:-1] + 1
    stop = breaks - ((block[breaks - 1] == _CR) & (breaks > start))
    filled = stop > start
    # A sentence begins at a filled line after a blank one, and takes the blank lines behind it.
    begins = filled.copy()
    begins[1:] &= ~filled[:-1]
    sentence = (np.cumsum(begins) - 1)[filled]
    end = np.append(start[begins][1:], len(block)) if begins.any() else start[:0]
    is_row = block[start[filled]] != _HASH
    # Blank lines at the start of the block belong to its first sentence.
    first_line = np.flatnonzero(begins)
    first_line[:1] = 0
    return _Lines(start[filled], stop[filled], sentence, is_row, end, first_line)


def _rows_before_comments(lines: _Lines) -> bool:
    """Whether a comment follows a row of its own sentence."""
    same = lines.sentence[1:] == lines.sentence[:-1]
    return bool(np.any(same & lines.is_row[:-1] & ~lines.is_row[1:]))


def _tab_table(block: Bytes, lines: _Lines) -> Ints | None:
    """Positions of the nine tabs of each row; None if a row has not ten filled columns."""
    start, stop = lines.start[lines.is_row], lines.stop[lines.is_row]
    tabs = np.flatnonzero(block == _TAB)
    if len(tabs) != (COLUMNS - 1) * len(start):
        # Tabs in comments are no separators.
        tabs = tabs[lines.is_row[np.searchsorted(lines.start, tabs, "right") - 1]]
        if len(tabs) != (COLUMNS - 1) * len(start):
            return None
    table = tabs.reshape(len(start), COLUMNS - 1)
    filled = (table[:, 0] > start) & (table[:, -1] + 1 < stop)
    if not filled.all() or np.any(np.diff(table, axis=1) < 2):
        return None
    return table


def _whole_numbers(block: Bytes, start: Ints, stop: Ints) -> tuple[Ints, Bools]:
    """Read decimal numbers without sign or leading zero; the second array says where it worked."""
    width = stop - start
    value = np.zeros(len(start), np.int64)
    good = (width <= _MOST_DIGITS) & ((width == 1) | (block[start] != _ZERO))
    for k in range(min(int(width.max(initial=0)), _MOST_DIGITS)):
        inside = width > k
        digit = block[start + k * inside] - np.uint8(_ZERO)
        good &= ~inside | (digit < 10)
        value = np.where(inside, value * 10 + digit, value)
    return value, good


def _ranges_and_empty_nodes_fit(
    ids: list[bytes],
    rows: list[int],
    sentences: list[int],
    words_before: list[int],
    lengths: list[int],
) -> bool:
    """Ranges stand right before their first word and do not overlap; empty nodes count up.

    Args:
        rows: the index of each row; between two that are neighbours there is no word.
    """
    here, covered, last_empty = -1, 0, (-1, 0)
    last_range = -2
    for name, row, sentence, before in zip(ids, rows, sentences, words_before, strict=True):
        if row == last_range + 1:
            return False
        if sentence != here:
            here, covered, last_empty = sentence, 0, (-1, 0)
        left, dash, right = name.partition(b"-")
        if dash:
            if not (_is_number(left) and _is_number(right)):
                return False
            first, last = int(left), int(right)
            if first != before + 1 or first <= covered or not first <= last <= lengths[sentence]:
                return False
            covered, last_range = last, row
        else:
            left, _, right = name.partition(b".")
            if not ((left == b"0" or _is_number(left)) and _is_number(right)):
                return False
            word, number = int(left), int(right)
            expected = last_empty[1] + 1 if last_empty[0] == word else 1
            if word != before or number != expected:
                return False
            last_empty = (word, number)
    return True


def _is_number(text: bytes) -> bool:
    return text.isdigit() and not text.startswith(b"0") and len(text) <= _MOST_DIGITS


def _heads(block: Bytes, tabs: Ints, words: Ints) -> Ints | None:
    """The heads, -1 for `_`; None if one is no number or out of range."""
    start, stop = tabs[:, HEAD - 1] + 1, tabs[:, HEAD]
    heads, good = _whole_numbers(block, start, stop)
    absent = (stop - start == 1) & (block[start] == _UNDERSCORE)
    length = np.repeat(np.diff(words), np.diff(words))
    if not np.all(absent | (good & (heads <= length))):
        return None
    heads[absent] = -1
    return heads


def _acyclic(heads: Ints, words: Ints) -> bool:
    """Whether every word reaches the root or a word without a head, by pointer doubling."""
    base = np.repeat(words[:-1], np.diff(words))
    # Node 0 is the common end; word k of the block is node k + 1.
    ancestor = np.zeros(len(heads) + 1, np.int64)
    ancestor[1:] = np.where(heads > 0, base + heads, 0)
    longest = int(np.diff(words).max(initial=0))
    for _ in range(longest.bit_length()):
        if not ancestor.any():
            break
        ancestor = ancestor[ancestor]
    return not ancestor.any()
