"""What a treebank teaches a tokeniser: tables of character pairs, and weights."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crossarc.text.characters import (
    BREAK,
    CLASSES,
    EMOJI,
    OPEN,
    SPACE,
    Characters,
    characters,
)
from crossarc.text.decisions import (
    ASK,
    ASK_UNLIKE,
    JOINED,
    PARTED,
    UNLIKE,
    find_sentences,
    split_rows,
)
from crossarc.text.features import (
    BOUNDARY_FEATURES,
    END_FEATURES,
    LINE,
    LINE_FEATURES,
    PARAGRAPH,
    SPACED,
    SPLIT_FEATURES,
)
from crossarc.text.learned import Described, Learned, Table, Tokens, describe, span_table
from crossarc.text.linear import WEIGHT_SCALE, Weights
from crossarc.text.multiword import Splitter
from crossarc.text.running import RunningText, in_lines
from crossarc.text.spans import SPAN_KINDS, Span, find_spans
from crossarc.text.training.descent import rounded, train
from crossarc.text.training.questions import boundary_rows, end_rows, line_rows

__all__ = ["learn"]

Hashes = NDArray[np.uint64]

_RARE = 1e-3  # a pair that parts less often than this never does
_SEEN = 10  # how often a pair must occur to be sure of it
_ENOUGH_CERTAIN = 3  # occurrences to learn from of a form that is always or never split
_AGREEING = 0.8  # share of the addresses of a kind that are one token
_EPOCHS = 3
_SPLIT_EPOCHS = 6
_OFTEN = 5  # sentences that a form would end, were it as likely to as any other
_BOUNDARY_BITS = 14, 18
_END_BITS = 14, 16
_END_RATE = 0.15
_SPLIT_BITS = 12, 16
_SHIFTS = [k / 2 for k in range(-4, 5)]  # of the ends of sentences, in log-odds
_WORTH = 0.005  # what a shift of one must add to the F1 of sentences


def learn(text: RunningText, dev: RunningText, *, seed: int) -> Learned:
    """Learn from texts whose tokens are known, `dev` held out and perhaps empty; O(characters)."""
    chars = characters(text.text)
    pairs = _pair_table(chars, text)
    gaps = _gap_table(chars, text)
    protected, spans = _protected(text)
    tokens = _with_addresses(text, spans)
    described = describe(chars, tokens)
    splitter = Splitter.learn(list(zip(_forms(text), text.words, strict=True)))
    end = _end_weights(described, text, dev, seed)
    return Learned(
        pairs,
        gaps,
        _boundary_weights(chars, tokens, span_table(spans), pairs, gaps, seed),
        end,
        _line_weights(text, end, seed),
        _inner_forms(chars, described, text),
        _split_weights(chars, tokens, described, text, splitter, seed),
        splitter,
        protected,
    )


def _forms(text: RunningText) -> list[str]:
    return [text.text[a:b] for a, b in zip(text.starts.tolist(), text.ends.tolist(), strict=True)]


def _protected(text: RunningText) -> tuple[frozenset[int], list[Span]]:
    """The kinds of addresses that are one token here, and all such tokens."""
    known = set(zip(text.starts.tolist(), text.ends.tolist(), strict=True))
    spans = find_spans(text.text)
    agreeing = [span for span in spans if (span.start, span.end) in known]
    protected = frozenset(
        kind
        for kind in SPAN_KINDS.values()
        if sum(span.kind == kind for span in agreeing)
        >= _AGREEING * sum(span.kind == kind for span in spans)
    )
    return protected, [span for span in agreeing if span.kind in protected]


def _with_addresses(text: RunningText, spans: list[Span]) -> Tokens:
    tokens = np.column_stack([text.starts, text.ends, np.zeros_like(text.starts)])
    table = span_table(spans)[:-1]
    tokens[np.searchsorted(text.starts, table[:, 0]), 2] = table[:, 2]
    return tokens


def _pair_table(chars: Characters, text: RunningText) -> Table:
    """What two touching characters do, by their classes; by rule where that was not seen."""
    kinds = chars.kinds.astype(np.int64)
    parts = np.zeros(len(kinds), np.bool_)
    parts[text.ends - 1] = True
    square = np.full((CLASSES, CLASSES), JOINED, np.uint8)
    square[OPEN : EMOJI + 1, :] = UNLIKE
    square[:, OPEN : EMOJI + 1] = UNLIKE
    square[EMOJI, EMOJI] = PARTED
    table = square.ravel().copy()
    touching = (kinds[:-1] > BREAK) & (kinds[1:] > BREAK)
    pair = (kinds[:-1] * CLASSES + kinds[1:])[touching]
    total = np.bincount(pair, minlength=CLASSES * CLASSES)
    parted = np.bincount(pair[parts[:-1][touching]], minlength=CLASSES * CLASSES)
    # Punctuation that was never parted from a class may yet be: `3.5`, but `3.`
    sure = (total >= _SEEN) & (parted < _RARE * total) & (table == JOINED)
    table[(total > 0) & ~sure] = ASK
    alike = (chars.folded[:-1] == chars.folded[1:])[touching]
    equal = np.bincount(pair[alike], minlength=CLASSES * CLASSES)
    table[(square.ravel() == UNLIKE) & (table == ASK) & (equal == 0)] = ASK_UNLIKE
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
    chars: Characters, tokens: Tokens, spans: Tokens, pairs: Table, gaps: Table, seed: int
) -> Weights:
    known = chars.folded, chars.kinds, tokens, spans, pairs, gaps
    count = boundary_rows(
        *known, np.zeros(0, np.bool_), np.zeros((0, BOUNDARY_FEATURES), np.uint64)
    )
    labels = np.zeros(count, np.bool_)
    rows = np.zeros((count, BOUNDARY_FEATURES), np.uint64)
    boundary_rows(*known, labels, rows)
    return train(rows, labels, bits=_bits(rows, _BOUNDARY_BITS), epochs=_EPOCHS, seed=seed)


def _end_weights(described: Described, text: RunningText, dev: RunningText, seed: int) -> Weights:
    rows, labels = _end_questions(described, text)
    bits = _bits(rows, _END_BITS)
    weights = train(rows, labels, bits=bits, epochs=_EPOCHS, seed=seed, rate=_END_RATE)
    return _with_threshold(weights, dev) if dev.words else weights


def _end_questions(described: Described, text: RunningText) -> tuple[Hashes, NDArray[np.bool_]]:
    n = len(text.starts)
    labels = np.zeros(n, np.bool_)
    rows = np.zeros((n, END_FEATURES), np.uint64)
    count = end_rows(*described, _flowing(text), text.finals, labels, rows)
    return rows[:count], labels[:count]


def _flowing(text: RunningText) -> NDArray[np.int64]:
    """What follows tokens; sentences of a bank of single sentences as if they followed each other.

    Such a bank has hardly a sentence that ends within a paragraph.
    """
    breaks = text.breaks
    if np.count_nonzero(text.finals & (breaks != PARAGRAPH)) < 0.1 * np.count_nonzero(text.finals):
        return np.where(breaks == PARAGRAPH, SPACED, breaks)
    return breaks


def _with_threshold(weights: Weights, dev: RunningText) -> Weights:
    """The weights of ends, shifted so that most sentences of a held-out text are found.

    Few sentences decide this, so a shift must be worth its size.
    """
    tokens = _with_addresses(dev, _protected(dev)[1])
    described = describe(characters(dev.text), tokens)
    # The first feature of a row is whether space follows: each row has one of these weights.
    rows, _ = _end_questions(described, dev)
    slots = np.unique(rows[:, 0] >> np.uint64(64 - (len(weights).bit_length() - 1)))
    best, best_value = weights, -np.inf
    for shift in sorted(_SHIFTS, key=abs):
        shifted = weights.astype(np.float64)
        shifted[slots.astype(np.int64)] += shift * WEIGHT_SCALE
        candidate = rounded(shifted)
        value = _found_sentences(candidate, described, dev) - _WORTH * abs(shift)
        if value > best_value:
            best, best_value = candidate, value
    return best


def _found_sentences(weights: Weights, described: Described, text: RunningText) -> float:
    """F1 of the sentences of a text whose tokens are known."""
    n = len(text.starts)
    finals = np.zeros(n, np.bool_)
    no_lines, none_inner = np.zeros(2, np.int16), np.zeros(0, np.uint64)
    find_sentences(*described, _flowing(text), weights, no_lines, none_inner, n, finals)
    gold, found = (
        set(pairwise([-1, *np.flatnonzero(ends).tolist()])) for ends in (text.finals, finals)
    )
    return 2 * len(gold & found) / (len(gold) + len(found))


def _line_weights(text: RunningText, running: Weights, seed: int) -> Weights:
    lines = in_lines(text, seed=seed)
    tokens = _with_addresses(lines, _protected(lines)[1])
    at_line_end = lines.breaks == LINE
    rows = np.zeros((np.count_nonzero(at_line_end), LINE_FEATURES), np.uint64)
    described = describe(characters(lines.text), tokens)
    line_rows(*described, lines.breaks, lines.finals, running, rows)
    labels = lines.finals[at_line_end]
    return train(rows, labels, bits=_bits(rows, _END_BITS), epochs=_EPOCHS, seed=seed)


def _inner_forms(chars: Characters, described: Described, text: RunningText) -> Hashes:
    """Forms that occur often and never end a sentence, but for its last mark: `the`, `and`."""
    marked = chars.kinds[text.starts] >= OPEN
    last = text.finals & ~marked
    last[:-1] |= text.finals[1:] & marked[1:]
    forms, counts = np.unique(described.forms, return_counts=True)
    often = forms[counts >= _OFTEN * len(text.starts) / np.count_nonzero(text.finals)]
    return often[~np.isin(often, described.forms[last])]


def _split_weights(
    chars: Characters,
    tokens: Tokens,
    described: Described,
    text: RunningText,
    splitter: Splitter,
    seed: int,
) -> Weights:
    """Weights for the candidates of tokens: right or wrong."""
    queries: list[tuple[int, int, int, bool]] = []
    labels: list[bool] = []
    certain: Counter[str] = Counter()
    for t, form in enumerate(_forms(text) if splitter else ()):
        found = splitter.candidates(form)
        words = text.words[t]
        certain[form] += found.certain
        if certain[form] > _ENOUGH_CERTAIN:
            continue
        for split in splitter.splits(form):
            others = split.without(words)
            # A form that occurs once with a rule of its own says nothing about others.
            if others.same or others.other or split.by_affix:
                queries.append((t, split.rule, others.evidence, found.known))
                labels.append(split.words == words)
    table = np.array(queries, np.int64).reshape(-1, 4)
    rows = np.zeros((len(table), SPLIT_FEATURES), np.uint64)
    split_rows(
        chars.folded,
        tokens,
        described.forms,
        described.shapes,
        text.breaks,
        text.finals,
        table,
        rows,
    )
    answers = np.array(labels, np.bool_)
    return train(rows, answers, bits=_bits(rows, _SPLIT_BITS), epochs=_SPLIT_EPOCHS, seed=seed)
