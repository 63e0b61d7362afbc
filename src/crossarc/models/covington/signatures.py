"""The types of the arguments that kernels of learning and of parsing share."""

from __future__ import annotations

from numba import types

from crossarc.kernels import READ_INT

__all__ = ["LEARN_ARGUMENTS", "PARSE_ARGUMENTS", "RESULT_ARGUMENTS"]

_INTS = types.int64[::1]
# codes, sizes, starts, words; plan, bounds, bits
_FIRST = (
    types.Array(types.int64, 2, "C", readonly=True),
    READ_INT,
    READ_INT,
    READ_INT,
    types.Array(types.int64, 3, "C", readonly=True),
    READ_INT,
    types.int64,
)
# permitted, bound, single
_RULES = (types.Array(types.boolean, 2, "C", readonly=True), types.int64, types.boolean)
#: Of parsing, first: with frozen weights.
PARSE_ARGUMENTS = (*_FIRST, types.Array(types.int16, 1, "C", readonly=True), *_RULES)
#: Of parsing, last: given, heads, labels, asked, begin, end.
RESULT_ARGUMENTS = (READ_INT, _INTS, _INTS, _INTS, types.int64, types.int64)
#: Of learning, first: with weights that change, then gold heads and labels, drift and counts.
LEARN_ARGUMENTS = (
    *_FIRST,
    types.int32[::1],
    *_RULES,
    READ_INT,
    READ_INT,
    types.float64[::1],
    _INTS,
)
