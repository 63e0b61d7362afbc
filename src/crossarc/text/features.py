"""What the three decisions look at: the ends of tokens, the ends of sentences, split tokens.

Each feature is a hash of a template's number and of what the template sees. A decision's features
stand in one row; its score is the sum of the weights that the row points to.

Nothing here looks further than `WINDOW` characters to either side, or before the start of the
sentence in tokens, so a text may be cut where this is known and gives the same decisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel
from crossarc.text.characters import BREAK, DIGIT, MARK, NUMBER, OPEN, OUTSIDE

__all__ = [
    "BOUNDARY_FEATURES",
    "END_FEATURES",
    "LINE",
    "LINE_FEATURES",
    "NOTHING",
    "PARAGRAPH",
    "SHORT_LINE",
    "SPACED",
    "SPLIT_FEATURES",
    "WINDOW",
    "boundary_features",
    "describe_token",
    "end_features",
    "line_features",
    "mix",
    "split_features",
]

Array = NDArray[Any]

WINDOW = 24
BOUNDARY_FEATURES = 28
END_FEATURES = 24
LINE_FEATURES = END_FEATURES + 4
SPLIT_FEATURES = 32

_STEP = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_NONE = np.uint64(0)

# What follows a token: nothing, white space, a blank line, the end of a line that is no wrap, or
# that of a line of less than half the width.
NOTHING, SPACED, PARAGRAPH, LINE, SHORT_LINE = range(5)


@subkernel()
def mix(before: np.uint64, value: Any) -> np.uint64:
    """The hash that also takes in `value`; the order of values matters."""
    x = (before ^ np.uint64(value)) * _STEP
    return np.uint64(x ^ (x >> _SHIFT))


@subkernel()
def _code(folded: Array, i: int) -> Any:
    return np.int64(folded[i]) if 0 <= i < len(folded) else 32


@subkernel()
def _kind(kinds: Array, i: int) -> Any:
    """The class of a character; line breaks are spaces like others, and so is what lies outside."""
    return max(np.int64(kinds[i]), BREAK) if 0 <= i < len(kinds) else BREAK


@subkernel()
def boundary_features(folded: Array, kinds: Array, i: int, start: int, row: Array) -> None:
    """Whether a token that began at `start` ends after character i; fills `row`."""
    left1, left2, left3 = _code(folded, i), _code(folded, i - 1), _code(folded, i - 2)
    right1, right2, right3 = (_code(folded, i + 1), _code(folded, i + 2), _code(folded, i + 3))
    kind1, kind2, kind3 = _kind(kinds, i), _kind(kinds, i - 1), _kind(kinds, i - 2)
    next1, next2, next3 = _kind(kinds, i + 1), _kind(kinds, i + 2), _kind(kinds, i + 3)
    pair = kind1 * 32 + next1
    near = (kind2 * 32 + next2) * 1024 + pair
    wide = (kind3 * 32 + next3) * 1048576 + near
    for k in range(BOUNDARY_FEATURES):
        row[k] = mix(_NONE, k + 1)
    row[0] = mix(row[0], pair)
    row[1] = mix(row[1], left1)
    row[2] = mix(row[2], right1)
    row[3] = mix(mix(row[3], left1), right1)
    row[4] = mix(mix(row[4], left2), left1)
    row[5] = mix(mix(row[5], right1), right2)
    row[6] = mix(mix(mix(row[6], left2), left1), right1)
    row[7] = mix(mix(mix(row[7], left1), right1), right2)
    row[8] = mix(mix(mix(row[8], left3), left2), left1)
    row[9] = mix(mix(mix(row[9], right1), right2), right3)
    row[10] = mix(mix(mix(mix(row[10], left2), left1), right1), right2)
    row[11] = mix(row[11], near)
    row[12] = mix(row[12], wide)
    row[13] = mix(row[13], _coarse(kind1) * 64 + _coarse(next1) * 8 + _coarse(next2))
    row[14] = mix(mix(row[14], right1), _coarse(kind1) * 8 + _coarse(next2))
    _token_so_far(folded, kinds, i, start, right1, pair, row)
    _surroundings(folded, kinds, i, pair, row)


@subkernel()
def _coarse(kind: int) -> int:
    """Spaces, letters and digits, marks, joiners, or punctuation and symbols: 0 to 4."""
    if kind <= BREAK:
        return 0
    if kind <= NUMBER:
        return 1
    return 4 if kind >= OPEN else 2 if kind == MARK else 3


@subkernel()
def _token_so_far(
    folded: Array,
    kinds: Array,
    i: int,
    start: int,
    right1: int,
    pair: int,
    row: Array,
) -> None:
    """Features 15 to 19: the token up to here, its shape and its length."""
    form, shape = row[15], row[17]
    before: Any = -1
    length = i + 1 - start
    for j in range(max(start, i + 1 - WINDOW), i + 1):
        form = mix(form, folded[j])
        kind = np.int64(kinds[j])
        if kind != before:
            # Letters and digits are runs; of marks, the character itself counts.
            shape = mix(shape, kind if kind <= DIGIT else folded[j] + 64)
            before = kind
    row[15] = mix(form, right1)
    row[16] = mix(form, 16)
    row[17] = mix(shape, right1)
    row[18] = mix(mix(row[18], min(length, 5)), pair)
    row[19] = mix(mix(mix(shape, min(length, 3)), right1), 19)


@subkernel()
def _surroundings(folded: Array, kinds: Array, i: int, pair: int, row: Array) -> None:
    """Features 20 to 27: what is between the spaces around: left, right and both sides."""
    begin = i
    while begin > 0 and i - begin < WINDOW and kinds[begin - 1] > BREAK:
        begin -= 1
    end = i + 1
    while end < len(folded) and end - i < WINDOW and kinds[end] > BREAK:
        end += 1
    form, shape = row[20], row[21]
    left_shape = shape
    left_form = form
    before: Any = -1
    address = 0
    for j in range(begin, end):
        if j == i + 1:
            left_form, left_shape = form, shape
            before = -1
        code, kind = np.int64(folded[j]), np.int64(kinds[j])
        form = mix(form, code)
        if code == 64 or (code == 47 and j + 1 < end and folded[j + 1] == 47):  # @ and //
            address = 1 if j > i else 2
        elif code == 119 and j + 3 < end and folded[j + 1] == 119 and folded[j + 2] == 119:
            address = 2
        if kind != before:
            shape = mix(shape, kind if kind <= DIGIT else code + 64)
            before = kind
    right_form = row[22]
    for j in range(i + 1, end):
        right_form = mix(right_form, folded[j])
    row[20] = mix(form, i - begin)
    row[21] = mix(shape, i - begin if end - begin < 6 else -1)
    row[22] = right_form
    row[23] = mix(left_form, 23)
    row[24] = mix(mix(row[24], address), pair)
    row[25] = mix(left_shape, right_form)
    row[26] = mix(mix(left_form, right_form), 26)
    row[27] = mix(mix(shape, left_shape), 27)


@subkernel()
def describe_token(
    folded: Array, kinds: Array, start: int, end: int, address: int
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """A token as (hash of its folded form, hash of its shape, hash of its last character).

    All addresses of a kind are alike.
    """
    form, shape = mix(_NONE, 77), mix(_NONE, 78)
    if address:
        known = mix(mix(_NONE, 76), address)
        return known, known, known
    before: Any = OUTSIDE
    for j in range(start, min(end, start + WINDOW)):
        form = mix(form, folded[j])
        kind = np.int64(kinds[j])
        if kind != before:
            shape = mix(shape, kind if kind <= DIGIT else folded[j] + 64)
            before = kind
    shape = mix(shape, min(end - start, 2))
    return form, shape, mix(mix(_NONE, 79), folded[end - 1])


@subkernel()
def _of(column: Array, t: int, first: int) -> np.uint64:
    return np.uint64(column[t]) if first <= t < len(column) else _NONE


@subkernel()
def end_features(
    forms: Array,
    shapes: Array,
    lasts: Array,
    breaks: Array,
    t: int,
    first: int,
    state: int,
    row: Array,
) -> None:
    """Whether a sentence that began with token `first` ends with token t; fills `row`.

    Args:
        forms, shapes, lasts: of all tokens, as `describe_token` gives them.
        breaks: what follows each token; the ends of lines count as white space.
        state: what is open in the sentence, brackets and quotation marks.
    """
    form, before, before2 = forms[t], _of(forms, t - 1, first), _of(forms, t - 2, first)
    after, after2 = _of(forms, t + 1, first), _of(forms, t + 2, first)
    shape, shape_before = shapes[t], _of(shapes, t - 1, first)
    shape_before2 = _of(shapes, t - 2, first)
    shape_after, shape_after2 = _of(shapes, t + 1, first), _of(shapes, t + 2, first)
    length = t + 1 - first
    size = length if length < 6 else (6 if length < 12 else (7 if length < 24 else 8))
    space = min(np.int64(breaks[t]), SPACED)
    space_before = min(_of(breaks, t - 1, first), np.uint64(SPACED))
    for k in range(END_FEATURES):
        row[k] = mix(_NONE, 100 + k)
    row[0] = mix(row[0], space)
    row[1] = mix(row[1], form)
    row[2] = mix(mix(row[2], form), after)
    row[3] = mix(mix(row[3], before), form)
    row[4] = mix(mix(mix(row[4], before), form), shape_after)
    row[5] = mix(mix(mix(row[5], form), shape_after), space)
    row[6] = mix(mix(mix(row[6], shape_before), form), shape_after)
    row[7] = mix(mix(mix(row[7], shape_before), shape), shape_after)
    row[8] = mix(mix(mix(mix(row[8], shape_before2), shape_before), shape), shape_after)
    row[9] = mix(mix(mix(mix(row[9], shape_before), shape), shape_after), shape_after2)
    row[10] = mix(mix(row[10], after), shape_after)
    row[11] = mix(mix(mix(row[11], after), shape_after), shape)
    row[12] = mix(mix(row[12], size), shape)
    row[13] = mix(mix(mix(row[13], size), shape), shape_after)
    row[14] = mix(mix(mix(row[14], state), form), shape_after)
    row[15] = mix(mix(mix(row[15], form), after), after2)
    row[16] = mix(mix(mix(row[16], before2), before), form)
    row[17] = mix(row[17], lasts[t])
    row[18] = mix(mix(row[18], lasts[t]), shape_after)
    row[19] = mix(mix(mix(row[19], shape), after), after2)
    row[20] = mix(mix(mix(row[20], form), space_before), space)
    row[21] = mix(mix(row[21], state), size)
    row[22] = mix(mix(mix(row[22], before), form), after)
    row[23] = mix(mix(mix(row[23], shape), shape_after), shape_after2)


@subkernel()
def line_features(shapes: Array, t: int, first: int, running: int, row: Array) -> None:
    """Adds to `end_features` what counts where a line ends after token t.

    Args:
        running: the score of an end of a sentence as if the text ran on, in units of log-odds.
    """
    level = max(-12, min(6, running))
    after = _of(shapes, t + 1, first)
    row[END_FEATURES] = mix(mix(_NONE, 300), level)
    row[END_FEATURES + 1] = mix(mix(mix(_NONE, 301), level), shapes[t])
    row[END_FEATURES + 2] = mix(mix(mix(_NONE, 302), level), after)
    row[END_FEATURES + 3] = mix(mix(mix(mix(_NONE, 303), level), shapes[t]), after)


@subkernel()
def _affix(folded: Array, begin: int, end: int) -> np.uint64:
    """The hash of some characters of a token."""
    affix = mix(_NONE, 80)
    for j in range(begin, end):
        affix = mix(affix, folded[j])
    return affix


@subkernel()
def split_features(
    folded: Array,
    starts: Array,
    ends: Array,
    forms: Array,
    shapes: Array,
    t: int,
    first: int,
    rule: int,
    evidence: int,
    known: int,
    row: Array,
) -> None:
    """Whether a rule splits token t of a sentence that began with token `first`; fills `row`.

    Args:
        forms, shapes: of the tokens of the paragraph.
        evidence: how often the form was seen with this rule, and otherwise, as a class.
        known: whether the form was seen often enough to have features of its own.
    """
    start, end = starts[t], ends[t]
    form = forms[t] if known else _NONE
    before, after = _of(forms, t - 1, first), _of(forms, t + 1, first)
    shape_before, shape_after = _of(shapes, t - 1, first), _of(shapes, t + 1, first)
    ending_before, ending_after, beginning_after = _NONE, _NONE, _NONE
    if before:
        ending_before = _affix(folded, max(starts[t - 1], ends[t - 1] - 3), ends[t - 1])
    if after:
        ending_after = _affix(folded, max(starts[t + 1], ends[t + 1] - 3), ends[t + 1])
        beginning_after = _affix(folded, starts[t + 1], min(ends[t + 1], starts[t + 1] + 2))
    for k in range(SPLIT_FEATURES):
        row[k] = mix(mix(_NONE, 200 + k), rule)
    for k in range(6):
        row[k] = mix(row[k], _affix(folded, max(start, end - 2 - k), end))
    row[6] = mix(row[6], _affix(folded, start, min(end, start + 2)))
    row[7] = mix(row[7], _affix(folded, start, min(end, start + 4)))
    row[8] = mix(row[8], shapes[t])
    row[9] = mix(row[9], min(end - start, 8))
    row[10] = mix(row[10], evidence)
    row[11] = mix(row[11], before)
    row[12] = mix(row[12], after)
    row[13] = mix(row[13], shape_before)
    row[14] = mix(row[14], shape_after)
    row[15] = mix(row[15], ending_before)
    row[16] = mix(row[16], ending_after)
    for k in range(17, 27):
        row[k] = mix(row[k], form)
    row[18] = mix(row[18], before)
    row[19] = mix(row[19], after)
    row[20] = mix(row[20], shape_before)
    row[21] = mix(row[21], shape_after)
    row[22] = mix(mix(row[22], before), after)
    row[23] = mix(mix(row[23], _of(forms, t - 2, first)), before)
    row[24] = mix(mix(row[24], after), _of(forms, t + 2, first))
    row[25] = mix(row[25], ending_after)
    row[26] = mix(mix(row[26], ending_before), beginning_after)
    row[27] = mix(mix(_NONE, 227), evidence)
    for k in range(28, SPLIT_FEATURES):
        row[k] = mix(mix(_NONE, 200 + k), evidence)
        row[k] = mix(row[k], _affix(folded, max(start, end - 2 * (k - 27)), end))
