"""A line of words with arches above it: where everything goes from left to right, and how high.

An arch is an arc, or the part of one that falls into this line, with vertical legs and a level top.
Legs stand side by side on their word, those to the left left of those to the right, so that arches
cross only where the arcs do: a leg of the higher one then passes the top of the lower one. Words
move apart until every label has a place on its top that no leg passes. Lengths are in pixels; the
line begins at 0, and words run from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from crossarc.draw.layout import stack
from crossarc.draw.metrics import advance
from crossarc.draw.picture import Arc, Picture
from crossarc.draw.width import cut, isolated

__all__ = ["CORNER", "FORM_SIZE", "LABEL_SIZE", "TAG_SIZE", "Arch", "Line", "Passing", "Root", "lay_out"]

FORM_SIZE, LABEL_SIZE, TAG_SIZE = 16.0, 11.0, 10.0
CORNER = 9.0
_WORD_GAP = 16.0
_LEG_GAP = 8.0
_LEAST_LEG_GAP = 6.0
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
class Line:
    """Words first .. last: the middle of each and the width it takes, and what is above them.

    `passing` begins with the lowest.
    """

    first: int
    last: int
    centres: list[float]
    cells: list[float]
    width: float
    levels: int
    arches: list[Arch]
    roots: list[Root]
    passing: list[Passing]


def lay_out(picture: Picture, first: int, last: int) -> Line:
    """Words first .. last of a picture in one line; O(n^2) steps for n words, few in practice."""
    return _Layout(picture, first, last).line()


def label_width(label: str) -> float:
    """The room that a label takes on its arch."""
    return advance(label) * LABEL_SIZE + 2 * _LABEL_PAD if label else 0.0


class _Layout:
    """The work of `lay_out`.

    Legs have positions 1, 2, ... from left to right over all words; position 0 is the left edge of
    the line and the last one its right edge. `slot` and `offset` tell the word, counted from 1 in
    this line, and the distance from its middle.
    """

    def __init__(self, picture: Picture, first: int, last: int) -> None:
        self.picture, self.first, self.last = picture, first, last
        self.words = last - first + 1
        self.pieces, self.passing = [], []
        for arc in picture.arcs:
            low, high = sorted(arc[:2])
            if low and low < first and high > last:
                self.passing.append(arc)
            elif low and low <= last and high >= first:
                self.pieces.append(arc)
        self.rooted = [arc for arc in picture.arcs if not arc.head and first <= arc.word <= last]
        self._place_legs()
        self.levels = stack(self.spans)
        self.height_at = [-1] * len(self.slot)
        for (left, right), level in zip(self.spans, self.levels, strict=True):
            self.height_at[left] = self.height_at[right] = level
        for position in self.root_positions:
            self.height_at[position] = len(self.pieces)
        self.height_at[0] = self.height_at[-1] = -1
        self._set_gaps()

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
            legs[arc.word - self.first].append(((1, 0, 0), -1 - index))
        self.slot, self.offset, self.cells = [0], [0.0], []
        ends: dict[int, int] = {}
        forms = self.picture.forms[self.first - 1 : self.last]
        for word, (form, here) in enumerate(zip(forms, legs, strict=True)):
            width = self._word_width(form, self.first + word)
            here.sort()
            between = max(len(here) - 1, 1)
            step = max(_LEAST_LEG_GAP, min(_LEG_GAP, (width - 4) / between))
            self.cells.append(max(width, step * (len(here) - 1) + 4))
            for place, (_, end) in enumerate(here):
                ends[end] = len(self.slot)
                self.slot.append(word + 1)
                self.offset.append((place - (len(here) - 1) / 2) * step)
        self.slot.append(self.words + 1)
        self.offset.append(0.0)
        edge = len(self.slot) - 1
        self.spans = [
            (ends.get(2 * index, 0), ends.get(2 * index + 1, edge))
            for index in range(len(self.pieces))
        ]
        self.root_positions = [ends[-1 - index] for index in range(len(self.rooted))]

    def _word_width(self, form: str, word: int) -> float:
        width = advance(form) * FORM_SIZE
        if self.picture.tags is not None:
            width = max(width, advance(self.picture.tags[word - 1]) * TAG_SIZE)
        if self.picture.probabilities is not None:
            width = max(width, advance("100%") * TAG_SIZE)
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
        places = [0.0, *middles, ends[-1] + self.gaps[-1]]
        return [places[slot] + offset for slot, offset in zip(self.slot, self.offset, strict=True)]

    def line(self) -> Line:
        """Make room for all labels, then place them."""
        labels = [self._label(arc, span) for arc, span in zip(self.pieces, self.spans, strict=True)]
        widths = [label_width(label) for label in labels]
        xs = self._make_room(widths)
        arches = [
            self._arch(index, xs, label, width)
            for index, (label, width) in enumerate(zip(labels, widths, strict=True))
        ]
        roots = [
            Root(arc, xs[position], label_width(arc.shown))
            for arc, position in zip(self.rooted, self.root_positions, strict=True)
        ]
        self.passing.sort(key=lambda arc: abs(arc.head - arc.word))
        gaps = _merged([(r.x - _CROSSING_PAD, r.x + _CROSSING_PAD) for r in roots])
        ends = list(accumulate(map(sum, zip(self.gaps, self.cells, strict=False))))
        return Line(
            self.first,
            self.last,
            [end - cell / 2 for end, cell in zip(ends, self.cells, strict=True)],
            self.cells,
            xs[-1],
            1 + max(self.levels, default=-1),
            arches,
            roots,
            [Passing(arc, gaps) for arc in self.passing],
        )

    def _label(self, arc: Arc, span: tuple[int, int]) -> str:
        """The label; where the arc leaves the line, with the word that it goes to or comes from."""
        if span[0] != 0 and span[1] != len(self.slot) - 1:
            return arc.shown
        here_is_head = self.first <= arc.head <= self.last
        form = self.picture.forms[(arc.word if here_is_head else arc.head) - 1]
        end = isolated(cut(form, _LONGEST_OTHER_END))
        return f"{arc.shown} {'→' if here_is_head else '←'} {end}".strip()

    def _make_room(self, widths: Sequence[float]) -> list[float]:
        """Widen the gaps between words, short arcs first, until every label fits somewhere.

        Gaps only grow, so what fits goes on fitting.
        """
        xs = self._xs()
        order = sorted(range(len(widths)), key=self.levels.__getitem__)
        for index in order:
            if not widths[index]:
                continue
            bounds = self._bounds(index)
            room, low, high = max(
                (self._room(xs, index, a, b), self.slot[a], self.slot[b])
                for a, b in pairwise(bounds)
                if self.slot[a] != self.slot[b]
            )
            if room < widths[index]:
                xs = self._widen(low, high, widths[index] - room)
        halves = [(p, label_width(a.shown) / 2) for a, p in zip(self.rooted, self.root_positions)]
        halves = [(0, 0.0), *sorted(halves), (len(self.slot) - 1, 0.0)]
        for (a, before), (b, after) in pairwise(halves):
            if xs[b] - xs[a] < before + after:
                xs = self._widen(self.slot[a], self.slot[b], before + after - xs[b] + xs[a])
        return xs

    def _widen(self, low: int, high: int, more: float) -> list[float]:
        """Spread additional space over the gaps between two slots."""
        for gap in range(low, high):
            self.gaps[gap] += more / (high - low)
        return self._xs()

    def _bounds(self, index: int) -> list[int]:
        """The ends of an arch, and between them the positions of legs that pass its top."""
        (left, right), level = self.spans[index], self.levels[index]
        heights = self.height_at[left + 1 : right]
        if max(heights, default=-1) <= level:
            return [left, right]
        passing = [left + 1 + place for place, height in enumerate(heights) if height > level]
        return [left, *passing, right]

    def _room(self, xs: list[float], index: int, a: int, b: int) -> float:
        left, right = self.spans[index]
        pads = (CORNER if end in (left, right) else _CROSSING_PAD for end in (a, b))
        return xs[b] - xs[a] - sum(pads)

    def _arch(self, index: int, xs: list[float], label: str, width: float) -> Arch:
        left, right = self.spans[index]
        bounds = self._bounds(index)
        arch = Arch(
            self.pieces[index],
            xs[left],
            xs[right],
            self.levels[index],
            left == 0,
            right == len(self.slot) - 1,
            label,
            label_width=width,
        )
        arch.gaps = [(xs[p] - _CROSSING_PAD, xs[p] + _CROSSING_PAD) for p in bounds[1:-1]]
        if width:
            middle = (xs[left] + xs[right]) / 2
            places = [
                self._nearest(xs, index, pair, width, middle)
                for pair in pairwise(bounds)
                if self._room(xs, index, *pair) >= width - 1e-9
            ]
            arch.label_x = min(places, key=lambda x: abs(x - middle))
            arch.gaps.append((arch.label_x - width / 2, arch.label_x + width / 2))
        arch.gaps = _merged(sorted(arch.gaps))
        return arch

    def _nearest(
        self, xs: list[float], index: int, pair: tuple[int, int], width: float, middle: float
    ) -> float:
        """The place between two bounds that is nearest to the middle of the arch."""
        ends = self.spans[index]
        low, high = (CORNER if end in ends else _CROSSING_PAD for end in pair)
        least, most = xs[pair[0]] + low + width / 2, xs[pair[1]] - high - width / 2
        return min(max(middle, least), max(most, least))


def _merged(gaps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Sorted gaps, joined where only a crumb of a line would be left between them."""
    merged: list[tuple[float, float]] = []
    for low, high in gaps:
        if merged and low - merged[-1][1] < _SHORTEST_DASH:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
