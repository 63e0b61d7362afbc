"""One portion of a text: its tokens, where its sentences end, and which of them are certain."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import TreebankError
from crossarc.text.characters import Characters, characters
from crossarc.text.decisions import (
    NOTHING,
    PARAGRAPH,
    SPACED,
    find_sentences,
    find_tokens,
    split_rows,
)
from crossarc.text.emission import following
from crossarc.text.features import REACH, SPLIT_FEATURES
from crossarc.text.learned import Described, Learned, describe
from crossarc.text.linear import decide, table_bits
from crossarc.text.multiword import ASKED, WHOLE

__all__ = ["CONTEXT", "Portion", "segment"]

Ints = NDArray[np.int64]

CONTEXT = 2 * REACH + 8  # what decisions may see of a text before and after
_LINE_BREAK = re.compile("\r\n|[\n\r\v\f\x85\u2028]")
_PARAGRAPH_MARK = "\u2029"
_SPACE = ord(" ")


class Portion(NamedTuple):
    """The sentences of a portion that no further text can change.

    Sentence k has the tokens from `firsts[k]` up to `firsts[k + 1]`; the last entry is where the
    undecided rest begins.
    """

    firsts: list[int]
    starts: list[int]
    ends: list[int]
    breaks: list[int]
    misc: list[str]
    odd: NDArray[np.bool_]  # whether the space after a token is other than one or none
    forms: list[str]
    splits: dict[int, tuple[str, ...]]


def segment(learned: Learned, text: str, begin: int, *, complete: bool) -> Portion:
    """Segment a text from character `begin` on; what stands before is seen, but decided.

    Args:
        complete: whether the text ends here. Otherwise, sentences near its end are left out, as
            are all decisions that what follows might change.
    """
    chars = characters(text)
    _refuse_surrogates(chars)
    starts, ends = _tokens(learned, chars, begin)
    n = len(starts)
    gaps = np.append(starts[1:], len(text)) - ends
    beside = chars.codes[np.minimum(ends, len(text) - 1)] if n else ends
    odd = (gaps > 1) | ((gaps == 1) & (beside != _SPACE))
    breaks = np.where(gaps == 0, NOTHING, SPACED)
    misc = np.where(gaps == 0, "SpaceAfter=No", "_").tolist()
    for t in np.flatnonzero(odd).tolist():
        spaces = text[ends[t] : ends[t] + gaps[t]]
        misc[t] = following(spaces)
        if _is_paragraph_break(spaces):
            breaks[t] = PARAGRAPH
    described = describe(chars, starts, ends)
    finals = np.zeros(n, np.bool_)
    find_sentences(*described, breaks, learned.end, table_bits(learned.end), finals)
    known = n if complete else int(np.searchsorted(ends, len(text) - CONTEXT)) - 2
    firsts = [0, *(np.flatnonzero(finals[: max(known, 0)]) + 1).tolist()]
    places = starts.tolist(), ends.tolist()
    forms = [text[a:b] for a, b in zip(*places, strict=True)][: firsts[-1]]
    splits = _splits(learned, forms, described, breaks, finals)
    return Portion(firsts, *places, breaks.tolist(), misc, odd, forms, splits)


def _tokens(learned: Learned, chars: Characters, begin: int) -> tuple[Ints, Ints]:
    room = len(chars.codes) - begin
    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    weights = learned.boundary
    count = find_tokens(
        chars.folded,
        chars.kinds,
        begin,
        learned.pairs,
        learned.gaps,
        weights,
        table_bits(weights),
        starts,
        ends,
    )
    return starts[:count], ends[:count]


def _splits(
    learned: Learned,
    forms: list[str],
    described: Described,
    breaks: Ints,
    finals: NDArray[np.bool_],
) -> dict[int, tuple[str, ...]]:
    """The tokens that stand for several words, and these words."""
    if not learned.splitter:
        return {}
    found = list(map(learned.splitter.look_up, forms))
    splits = {t: words for t, (kind, words) in enumerate(found) if kind != WHOLE}
    asked = np.array([t for t in splits if found[t][0] == ASKED], np.int64)
    rows = np.empty((len(asked), SPLIT_FEATURES), np.uint64)
    split_rows(described.forms, described.shapes, breaks, finals, asked, rows)
    for t in asked[~decide(learned.split, rows)].tolist():
        del splits[t]
    return splits


def _is_paragraph_break(spaces: str) -> bool:
    return _PARAGRAPH_MARK in spaces or len(_LINE_BREAK.findall(spaces)) > 1


def _refuse_surrogates(chars: Characters) -> None:
    lone = np.flatnonzero((chars.codes >= 0xD800) & (chars.codes <= 0xDFFF))
    if len(lone):
        raise TreebankError(
            f"the text holds half a character (U+{chars.codes[lone[0]]:04X}): read it as UTF-8"
        )
