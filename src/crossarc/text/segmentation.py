"""One portion of a text: its tokens, where its sentences end, and which of them are certain."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import TreebankError
from crossarc.text.characters import Characters, characters
from crossarc.text.decisions import find_sentences, find_tokens, split_rows
from crossarc.text.emission import following
from crossarc.text.features import (
    LINE,
    NOTHING,
    PARAGRAPH,
    SHORT_LINE,
    SPACED,
    SPLIT_FEATURES,
)
from crossarc.text.learned import Described, Learned, Tokens, describe, span_table
from crossarc.text.linear import scores
from crossarc.text.spans import find_spans

__all__ = ["CONTEXT", "Portion", "segment"]

Ints = NDArray[np.int64]

# Decisions see two lines to either side of a line break, and fewer characters otherwise.
_WIDEST_LINE = 100
_NARROWEST_WRAP = 60
CONTEXT = 4 * _WIDEST_LINE
_LINE_BREAK = re.compile("\r\n|[\n\r\v\f\x85\u2028]")
_WORD = re.compile(r"\S+")
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
    tokens = _tokens(learned, text, chars, begin)
    starts, ends = tokens[:, 0], tokens[:, 1]
    n = len(tokens)
    gaps = np.append(starts[1:], len(text)) - ends
    beside = chars.codes[np.minimum(ends, len(text) - 1)] if n else ends
    odd = (gaps > 1) | ((gaps == 1) & (beside != _SPACE))
    breaks = np.where(gaps == 0, NOTHING, SPACED)
    misc = ["SpaceAfter=No" if touches else "_" for touches in (gaps == 0).tolist()]
    for t in np.flatnonzero(odd).tolist():
        end = int(ends[t])
        start = end + int(gaps[t])
        misc[t], kind = _gap(text[end:start])
        breaks[t] = _line_kind(text, end, start) if kind == LINE else kind
    described = describe(chars, tokens)
    finals = np.zeros(n, np.bool_)
    certain = n if complete else int(np.searchsorted(ends, len(text) - CONTEXT)) - 2
    find_sentences(*described, breaks, learned.end, learned.line, learned.inner, certain, finals)
    firsts = [0, *(np.flatnonzero(finals[: max(certain, 0)]) + 1).tolist()]
    offsets = starts.tolist(), ends.tolist()
    forms = [text[a:b] for a, b in zip(*offsets, strict=True)][: firsts[-1]]
    splits = _splits(learned, chars, tokens, forms, described, breaks, finals)
    return Portion(firsts, *offsets, breaks.tolist(), misc, odd, forms, splits)


def _tokens(learned: Learned, text: str, chars: Characters, begin: int) -> Tokens:
    spans = [span for span in find_spans(text, begin) if span.kind in learned.protected]
    tokens = np.empty((len(chars.codes) - begin, 3), np.int64)
    count = find_tokens(
        chars.folded,
        chars.kinds,
        begin,
        span_table(spans),
        learned.pairs,
        learned.gaps,
        learned.boundary,
        tokens,
    )
    return tokens[:count]


def _splits(
    learned: Learned,
    chars: Characters,
    tokens: Tokens,
    forms: list[str],
    described: Described,
    breaks: Ints,
    finals: NDArray[np.bool_],
) -> dict[int, tuple[str, ...]]:
    """The tokens that stand for several words, and these words."""
    if not learned.splitter:
        return {}
    candidates = [
        (t, found)
        for t, found in enumerate(map(learned.splitter.look_up, forms))
        if found and not tokens[t, 2]
    ]
    splits = {t: found.splits[0].words for t, found in candidates if found.certain}
    queries = [
        (t, split, found.known)
        for t, found in candidates
        if not found.certain
        for split in found.splits
    ]
    table = np.array(
        [(t, split.rule, split.evidence, known) for t, split, known in queries], np.int64
    ).reshape(-1, 4)
    rows = np.empty((len(table), SPLIT_FEATURES), np.uint64)
    split_rows(chars.folded, tokens, described.forms, described.shapes, breaks, finals, table, rows)
    best: dict[int, int] = {}
    for (t, split, _), score in zip(queries, scores(learned.split, rows).tolist(), strict=True):
        if score > best.get(t, 0):
            best[t] = score
            splits[t] = learned.splitter.words_of(split)
    return splits


@lru_cache(maxsize=1024)
def _gap(spaces: str) -> tuple[str, int]:
    """White space as MISC has it, and what kind it is; LINE if it has one line break."""
    lines = len(_LINE_BREAK.findall(spaces))
    kind = PARAGRAPH if lines > 1 or _PARAGRAPH_MARK in spaces else LINE if lines else SPACED
    return following(spaces), kind


def _line_kind(text: str, end: int, start: int) -> int:
    """LINE or SHORT_LINE, or SPACED if the next line's first word would not have fitted this line.

    Args:
        end, start: where the last word of this line ends and the first of the next starts.
    """
    here = _line_before(text, end)
    if here > _WIDEST_LINE or start >= len(text):
        return LINE
    word = _WORD.match(text, start, start + _WIDEST_LINE)
    needed = here + 1 + (len(word[0]) if word else 0)
    after = _line_after(text, start)
    width = max(
        _NARROWEST_WRAP,
        _line_before(text, end - here - 1),
        after,
        _line_after(text, start + after + 1),
    )
    if needed > width:
        return SPACED
    return LINE if 2 * needed > width else SHORT_LINE


def _line_before(text: str, end: int) -> int:
    """The length of the line up to `end`, as far as it matters."""
    begin = max(end - _WIDEST_LINE - 1, -1)
    return max(end, 0) - max(text.rfind("\n", max(begin, 0), max(end, 0)), begin) - 1


def _line_after(text: str, start: int) -> int:
    """The length of the line from `start` on, as far as it matters."""
    limit = start + _WIDEST_LINE + 1
    found = text.find("\n", start, limit)
    return (found if found >= 0 else min(limit, max(len(text), start))) - start


def _refuse_surrogates(chars: Characters) -> None:
    lone = np.flatnonzero((chars.codes >= 0xD800) & (chars.codes <= 0xDFFF))
    if len(lone):
        raise TreebankError(
            f"the text holds half a character (U+{chars.codes[lone[0]]:04X}): read it as UTF-8"
        )
