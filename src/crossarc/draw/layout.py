"""A line of words with arches above it: where everything goes from left to right, and how high.

An arch is an arc, or the part of one that falls into this line, with vertical legs and a level top.
Legs stand side by side on their word, those to the left left of those to the right, so that arches
cross only where the arcs do: a leg of the higher one then passes the top of the lower one. Words
move apart until every label fits on its top where no leg passes, and every multiword token below
its words. Lengths are in pixels; the line begins at 0, and words run from left to right.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from crossarc.draw.picture import Arc, Picture, Token
from crossarc.draw.spans import stack
from crossarc.draw.widths import advance, cut, isolated

__all__ = [
    "CORNER",
    "FORM_SIZE",
    "LABEL_SIZE",
    "TAG_SIZE",
    "Arch",
    "Layout",
    "Line",
    "Passing",
    "Root",
    "TokenSpan",
]

FORM_SIZE, LABEL_SIZE, TAG_SIZE = 16.0, 11.0, 10.0
CORNER = 9.0
_WORD_GAP = 16.0
_LEG_GAP = 8.0
_LEAST_LEG_GAP = 5.0
_STUB = 20.0
_LABEL_PAD = 3.0
_CROSSING_PAD = 4.0
_SHORTEST_DASH = 5.0
_LONGEST_OTHER_END = 12


@dataclass(slots=True)
class Arch:
    """An arc in a line: `level` 0 is the lowest; `left_open` that it goes on in another line.

    `label` may name the word at the other end; `gaps` are the stretches of the top left free, for
    the label and for legs that pass.
    """

    arc: Arc
    left: float
    right: float
    level: int
    left_open: bool
    right_open: bool
    label: str = ""
    label_x: float = 0.0
    label_width: float = 0.0
    gaps: list[tuple[float, float]] = field(default_factory=list)


@dataclass(slots=True)
class Root:
    """An arc from the root: a line from above all arches."""

    arc: Arc
    x: float
    label_width: float


@dataclass(slots=True)
class Passing:
    """An arc from an earlier line to a later one, above all arches; `gaps` are for root lines."""

    arc: Arc
    gaps: list[tuple[float, float]]


@dataclass(slots=True)
class TokenSpan:
    """The part of a multiword token that is in a line; `form` is empty but where it begins."""

    form: str
    left: float
    right: float


@dataclass(slots=True)
class Line:
    """Words first .. last, and what is above them; `passing` begins with the lowest.

    For each word, its middle, the width of its text, and that of the cell that its legs share.
    """

    first: int
    last: int
    centres: list[float]
    text_widths: list[float]
    cells: list[float]
    width: float
    levels: int
    arches: list[Arch]
    roots: list[Root]
    passing: list[Passing]
    tokens: list[TokenSpan]


def label_width(label: str) -> float:
    """The width of a label on its arch, with what it keeps free on both sides."""
    return advance(label) * LABEL_SIZE + 2 * _LABEL_PAD if label else 0.0


class Layout:
    """Words first .. last of a picture in one line: `width` is computed first, the rest by `line`.

    O(n^2) steps for n words in the worst case, in practice few more than n log n.

    Legs have positions 1, 2, ... from left to right over all words; position 0 is the left edge of
    the line and the last one its right edge. `slot` and `offset` are the word, counted from 1 in
    this line, and the distance from its middle.
    """

    def __init__(self, picture: Picture, first: int, last: int) -> None:
        self.picture, self.first, self.last = picture, first, last
        self.words = last - first + 1
        self.tokens = [t for t in picture.tokens if t.last >= first and t.first <= last]
        self.pieces, self.passing = [], []
        for arc in picture.arcs:
            low, high = sorted(arc[:2])
            if low and low < first and high > last:
                self.passing.append(arc)
            elif low and low <= last and high >= first:
                self.pieces.append(arc)
        self.rooted = [a for a in picture.arcs if not a.head and first <= a.dependent <= last]
        self._place_legs()
        self.levels = stack(self.spans)
        self.height_at = [-1] * len(self.slot)
        for (left, right), level in zip(self.spans, self.levels, strict=True):
            self.height_at[left] = self.height_at[right] = level
        for position in self.root_positions:
            self.height_at[position] = len(self.pieces)
        self.height_at[0] = self.height_at[-1] = -1
        self._set_gaps()
        self.labels = list(map(self._label, self.pieces, self.spans))
        self.widths = list(map(label_width, self.labels))
        self.xs = self._xs()
        self._widen_for_labels()
        self._widen_for_tokens()
        self.width = self.xs[-1]

    def _place_legs(self) -> None:
        """Legs on each word: to its left, nearest first; the root; to its right, farthest first."""
        legs: list[list[tuple[tuple[int, int, int], int]]] = [[] for _ in range(self.words)]
        for index, arc in enumerate(self.pieces):
            low, high = sorted(arc[:2])
            if high <= self.last:
                legs[high - self.first].append(((0, -low, index), 2 * index + 1))
            if low >= self.first:
                legs[low - self.first].append(((2, -high, -index), 2 * index))
        for index, arc in enumerate(self.rooted):
            legs[arc.dependent - self.first].append(((1, 0, 0), -1 - index))
        self.slot, self.offset = [0], [0.0]
        self.cells: list[float] = []
        self.text_widths: list[float] = []
        ends: dict[int, int] = {}
        for word, here in enumerate(legs):
            width = self._word_width(self.first + word)
            self.text_widths.append(width)
            here.sort()
            between = max(len(here) - 1, 1)
            step = max(_LEAST_LEG_GAP, min(_LEG_GAP, (width - 4) / between))
            self.cells.append(max(width, step * (len(here) - 1) + 4))
            for leg, (_, end) in enumerate(here):
                ends[end] = len(self.slot)
                self.slot.append(word + 1)
                self.offset.append((leg - (len(here) - 1) / 2) * step)
        self.slot.append(self.words + 1)
        self.offset.append(0.0)
        edge = len(self.slot) - 1
        self.spans = [
            (ends.get(2 * index, 0), ends.get(2 * index + 1, edge))
            for index in range(len(self.pieces))
        ]
        self.root_positions = [ends[-1 - index] for index in range(len(self.rooted))]

    def _word_width(self, position: int) -> float:
        """The width of a word with what stands below it."""
        node = self.picture.nodes[position - 1]
        width = advance(node.form) * FORM_SIZE
        if self.picture.has_tags:
            width = max(width, advance(node.tag) * TAG_SIZE)
        width = max(width, advance(node.probability_text) * TAG_SIZE)
        for token in self.tokens:
            if token.first == position and min(token.last, self.last) == position:
                width = max(width, _token_width(token))
        return width

    def _set_gaps(self) -> None:
        """The space before each word, and after the last."""
        stub = _STUB if any(left == 0 for left, _ in self.spans) else 0.0
        self.gaps = [stub] + [_WORD_GAP] * (self.words - 1) + [0.0]
        if any(right == len(self.slot) - 1 for _, right in self.spans):
            self.gaps[-1] = _STUB

    def _xs(self) -> list[float]:
        """Where each position is."""
        ends = list(accumulate(map(sum, zip(self.gaps, self.cells, strict=False))))
        middles = [end - cell / 2 for end, cell in zip(ends, self.cells, strict=True)]
        slots = [0.0, *middles, ends[-1] + self.gaps[-1]]
        return [slots[slot] + offset for slot, offset in zip(self.slot, self.offset, strict=True)]

    @property
    def centres(self) -> list[float]:
        """The middle of each word."""
        ends = accumulate(map(sum, zip(self.gaps, self.cells, strict=False)))
        return [end - cell / 2 for end, cell in zip(ends, self.cells, strict=True)]

    def line(self) -> Line:
        """The line with all labels in place."""
        roots = [
            Root(arc, self.xs[position], label_width(arc.shown))
            for arc, position in zip(self.rooted, self.root_positions, strict=True)
        ]
        gaps = _merged(sorted((r.x - _CROSSING_PAD, r.x + _CROSSING_PAD) for r in roots))
        self.passing.sort(key=lambda arc: abs(arc.head - arc.dependent))
        return Line(
            self.first,
            self.last,
            self.centres,
            self.text_widths,
            self.cells,
            self.width,
            1 + max(self.levels, default=-1),
            [self._arch(index) for index in range(len(self.pieces))],
            roots,
            [Passing(arc, gaps) for arc in self.passing],
            [self._token_span(token) for token in self.tokens],
        )

    def _label(self, arc: Arc, span: tuple[int, int]) -> str:
        """The label; where the arc leaves the line, with the word that it goes to or comes from."""
        if span[0] != 0 and span[1] != len(self.slot) - 1:
            return arc.shown
        here_is_head = self.first <= arc.head <= self.last
        other = self.picture.nodes[(arc.dependent if here_is_head else arc.head) - 1]
        end = isolated(cut(other.form, _LONGEST_OTHER_END))
        return f"{arc.shown} {'→' if here_is_head else '←'} {end}".strip()

    def _widen_for_labels(self) -> None:
        """Widen the gaps between words, short arcs first, until every label fits somewhere.

        Gaps only grow, so what fits goes on fitting.
        """
        for index in sorted(range(len(self.widths)), key=self.levels.__getitem__):
            if not self.widths[index]:
                continue
            free, low, high = max(
                (self._free_width(index, a, b), self.slot[a], self.slot[b])
                for a, b in pairwise(self._bounds(index))
                if self.slot[a] != self.slot[b]
            )
            if free < self.widths[index]:
                self._widen(low, high, self.widths[index] - free)
        halves = [
            (position, label_width(arc.shown) / 2)
            for arc, position in zip(self.rooted, self.root_positions, strict=True)
        ]
        halves = [(0, 0.0), *sorted(halves), (len(self.slot) - 1, 0.0)]
        for (a, before), (b, after) in pairwise(halves):
            lacking = before + after - (self.xs[b] - self.xs[a])
            if lacking > 0:
                self._widen(self.slot[a], self.slot[b], lacking)

    def _widen_for_tokens(self) -> None:
        """Widen the gaps between the words of a multiword token until its form fits below them."""
        for token in self.tokens:
            span = self._token_span(token)
            lacking = _token_width(token) - (span.right - span.left)
            if span.form and lacking > 0:
                low, high = token.first - self.first, min(token.last, self.last) - self.first
                self._widen(low + 1, high + 1, lacking)

    def _token_span(self, token: Token) -> TokenSpan:
        first = max(token.first, self.first) - self.first
        last = min(token.last, self.last) - self.first
        centres = self.centres
        return TokenSpan(
            token.form if token.first >= self.first else "",
            centres[first] - self.cells[first] / 2,
            centres[last] + self.cells[last] / 2,
        )

    def _widen(self, low: int, high: int, more: float) -> None:
        """Divide additional width among the gaps between two slots."""
        for gap in range(low, high):
            self.gaps[gap] += more / (high - low)
        self.xs = self._xs()

    def _bounds(self, index: int) -> list[int]:
        """The ends of an arch, and between them the positions of legs that pass its top."""
        (left, right), level = self.spans[index], self.levels[index]
        heights = self.height_at[left + 1 : right]
        if max(heights, default=-1) <= level:
            return [left, right]
        passing = [p for p, height in enumerate(heights, left + 1) if height > level]
        return [left, *passing, right]

    def _pads(self, index: int, a: int, b: int) -> tuple[float, float]:
        """What a label keeps away from two bounds: corners of its arch, or legs that pass."""
        left, right = self.spans[index]
        return CORNER if a == left else _CROSSING_PAD, CORNER if b == right else _CROSSING_PAD

    def _free_width(self, index: int, a: int, b: int) -> float:
        return self.xs[b] - self.xs[a] - sum(self._pads(index, a, b))

    def _arch(self, index: int) -> Arch:
        left, right = self.spans[index]
        xs, width = self.xs, self.widths[index]
        bounds = self._bounds(index)
        arch = Arch(
            self.pieces[index],
            xs[left],
            xs[right],
            self.levels[index],
            left == 0,
            right == len(self.slot) - 1,
            self.labels[index],
            label_width=width,
        )
        arch.gaps = [(xs[p] - _CROSSING_PAD, xs[p] + _CROSSING_PAD) for p in bounds[1:-1]]
        if width:
            arch.label_x = self._label_x(index, bounds)
            arch.gaps.append((arch.label_x - width / 2, arch.label_x + width / 2))
        arch.gaps = _merged(sorted(arch.gaps))
        return arch

    def _label_x(self, index: int, bounds: list[int]) -> float:
        """Where the label fits between two bounds, as near to the middle of its arch as it can."""
        half = self.widths[index] / 2
        middle = (self.xs[bounds[0]] + self.xs[bounds[-1]]) / 2
        centres = []
        for a, b in pairwise(bounds):
            before, after = self._pads(index, a, b)
            least, most = self.xs[a] + before + half, self.xs[b] - after - half
            if most >= least - 1e-6:
                centres.append(min(max(middle, least), max(most, least)))
        return min(centres, key=lambda x: abs(x - middle))


def _token_width(token: Token) -> float:
    return advance(token.form) * LABEL_SIZE + 2 * _LABEL_PAD


def _merged(gaps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Sorted gaps, joined where only a crumb of a line would be left between them."""
    merged: list[tuple[float, float]] = []
    for low, high in gaps:
        if merged and low - merged[-1][1] < _SHORTEST_DASH:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
