"""A line of words with arches above it: where everything goes from left to right, and how high.

An arch is an arc, or the part of one that falls into this line, with vertical legs and a level top.
Legs stand side by side on their word, those to the left left of those to the right, so that arches
cross only where the arcs do: a leg of the higher one then passes the top of the lower one. Words
move apart until every label has a place on its top that no leg passes. Lengths are in pixels; the
line begins at 0, and words run from left to right.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from crossarc.draw.layout import stack
from crossarc.draw.line import CORNER, FORM_SIZE, LABEL_SIZE, TAG_SIZE, Arch, Line, Passing, Root
from crossarc.draw.metrics import advance
from crossarc.draw.picture import Arc, Picture
from crossarc.draw.width import cut, isolated

__all__ = ["Layout"]

_WORD_GAP = 16.0
_LEG_GAP = 8.0
_LEAST_LEG_GAP = 5.0
_STUB = 20.0
_LABEL_PAD = 3.0
_CROSSING_PAD = 4.0
_SHORTEST_DASH = 5.0
_LONGEST_OTHER_END = 12


def label_width(label: str) -> float:
    """The room that a label takes on its arch."""
    return advance(label) * LABEL_SIZE + 2 * _LABEL_PAD if label else 0.0


class Layout:
    """Words first .. last of a picture in one line: `width` is known at once, the rest by `line`.

    O(n^2) steps for n words in the worst case, in practice few more than n log n.

    Legs have positions 1, 2, ... from left to right over all words; position 0 is the left edge of
    the line and the last one its right edge. `slot` and `offset` tell the word, counted from 1 in
    this line, and the distance from its middle.
    """

    def __init__(self, picture: Picture, first: int, last: int) -> None:
        self.picture, self.first, self.last = picture, first, last
        self.words = last - first + 1
        self.chances = picture.chances
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
        self.labels = list(map(self._label, self.pieces, self.spans))
        self.widths = list(map(label_width, self.labels))
        self.xs = self._xs()
        self._make_room()
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
            legs[arc.word - self.first].append(((1, 0, 0), -1 - index))
        self.slot, self.offset = [0], [0.0]
        self.cells: list[float] = []
        self.text_widths: list[float] = []
        ends: dict[int, int] = {}
        forms = self.picture.forms[self.first - 1 : self.last]
        for word, (form, here) in enumerate(zip(forms, legs, strict=True)):
            width = self._word_width(form, self.first + word)
            self.text_widths.append(width)
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
        if self.chances is not None:
            width = max(width, advance(self.chances[word - 1]) * TAG_SIZE)
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
        self.passing.sort(key=lambda arc: abs(arc.head - arc.word))
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
        )

    def _label(self, arc: Arc, span: tuple[int, int]) -> str:
        """The label; where the arc leaves the line, with the word that it goes to or comes from."""
        if span[0] != 0 and span[1] != len(self.slot) - 1:
            return arc.shown
        here_is_head = self.first <= arc.head <= self.last
        form = self.picture.forms[(arc.word if here_is_head else arc.head) - 1]
        end = isolated(cut(form, _LONGEST_OTHER_END))
        return f"{arc.shown} {'→' if here_is_head else '←'} {end}".strip()

    def _make_room(self) -> None:
        """Widen the gaps between words, short arcs first, until every label fits somewhere.

        Gaps only grow, so what fits goes on fitting.
        """
        for index in sorted(range(len(self.widths)), key=self.levels.__getitem__):
            if not self.widths[index]:
                continue
            room, low, high = max(
                (self._room(index, a, b), self.slot[a], self.slot[b])
                for a, b in pairwise(self._bounds(index))
                if self.slot[a] != self.slot[b]
            )
            if room < self.widths[index]:
                self._widen(low, high, self.widths[index] - room)
        halves = [
            (position, label_width(arc.shown) / 2)
            for arc, position in zip(self.rooted, self.root_positions, strict=True)
        ]
        halves = [(0, 0.0), *sorted(halves), (len(self.slot) - 1, 0.0)]
        for (a, before), (b, after) in pairwise(halves):
            lacking = before + after - (self.xs[b] - self.xs[a])
            if lacking > 0:
                self._widen(self.slot[a], self.slot[b], lacking)

    def _widen(self, low: int, high: int, more: float) -> None:
        """Spread additional space over the gaps between two slots."""
        for gap in range(low, high):
            self.gaps[gap] += more / (high - low)
        self.xs = self._xs()

    def _bounds(self, index: int) -> list[int]:
        """The ends of an arch, and between them the positions of legs that pass its top."""
        (left, right), level = self.spans[index], self.levels[index]
        heights = self.height_at[left + 1 : right]
        if max(heights, default=-1) <= level:
            return [left, right]
        passing = [left + 1 + place for place, height in enumerate(heights) if height > level]
        return [left, *passing, right]

    def _pads(self, index: int, a: int, b: int) -> tuple[float, float]:
        """What a label keeps away from two bounds: corners of its arch, or legs that pass."""
        left, right = self.spans[index]
        return CORNER if a == left else _CROSSING_PAD, CORNER if b == right else _CROSSING_PAD

    def _room(self, index: int, a: int, b: int) -> float:
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
            arch.label_x = self._label_place(index, bounds)
            arch.gaps.append((arch.label_x - width / 2, arch.label_x + width / 2))
        arch.gaps = _merged(sorted(arch.gaps))
        return arch

    def _label_place(self, index: int, bounds: list[int]) -> float:
        """The place nearest to the middle of an arch where its label fits between two bounds."""
        half = self.widths[index] / 2
        middle = (self.xs[bounds[0]] + self.xs[bounds[-1]]) / 2
        places = []
        for a, b in pairwise(bounds):
            before, after = self._pads(index, a, b)
            least, most = self.xs[a] + before + half, self.xs[b] - after - half
            if most >= least - 1e-6:
                places.append(min(max(middle, least), max(most, least)))
        return min(places, key=lambda x: abs(x - middle))


def _merged(gaps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Sorted gaps, joined where only a crumb of a line would be left between them."""
    merged: list[tuple[float, float]] = []
    for low, high in gaps:
        if merged and low - merged[-1][1] < _SHORTEST_DASH:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
