"""Read an SVG of crossarc back: its texts with their boxes, its arcs with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from crossarc.draw.widths import advance

NAMESPACE = "{http://www.w3.org/2000/svg}"
SIZES = {
    "word": 16,
    "label": 11,
    "token": 11,
    "tag": 10,
    "probability": 10,
    "name": 10,
    "caption": 10,
}
# Letters reach so far above and below their baseline, in ems.
ASCENT, DESCENT = 0.8, 0.25
CLEAR = 3.0

_COMMAND = re.compile(r"([MHVQhlz])([^A-Za-z]*)")


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


class Text(NamedTuple):
    kind: str
    content: str
    x: float
    y: float

    @property
    def box(self) -> Box:
        size = SIZES[self.kind]
        width = advance(self.content) * size
        left = self.x if self.kind in ("name", "caption") else self.x - width / 2
        return Box(left, self.y - ASCENT * size, left + width, self.y + DESCENT * size)


class Segment(NamedTuple):
    """A straight piece of a line, level or upright."""

    x1: float
    y1: float
    x2: float
    y2: float

    def near(self) -> Box:
        return Box(
            min(self.x1, self.x2),
            min(self.y1, self.y2),
            max(self.x1, self.x2),
            max(self.y1, self.y2),
        )


@dataclass
class DrawnArc:
    """A group of an arc: `feet` are the lower ends of its lines, `tips` the points of arrows."""

    kind: str
    title: str
    labels: list[Text] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    feet: list[tuple[float, float]] = field(default_factory=list)
    tips: list[tuple[float, float]] = field(default_factory=list)


class Drawing:
    """An SVG, read from nothing but its elements."""

    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)
        self.width, self.height = float(self.root.get("width")), float(self.root.get("height"))
        self.texts = [text(e) for e in self.root.iter(f"{NAMESPACE}text")]
        self.words = [one for one in self.texts if one.kind == "word"]
        self.bars = [
            segments(e.get("d"))[0]
            for e in self.root.iter(f"{NAMESPACE}path")
            if e.get("class") == "bar"
        ]
        groups = self.root.iter(f"{NAMESPACE}g")
        self.arcs = [drawn_arc(g) for g in groups if g.get("class", "").startswith("arc ")]

    def word_at(self, x: float, y: float) -> int:
        """The number of the word that a line ends at: the word, or the bar over it, is below x."""
        line = min({word.y for word in self.words if word.y > y})
        found = []
        for number, word in enumerate(self.words, 1):
            if word.y != line:
                continue
            left, _, right, _ = self.column(word)
            over = [bar for bar in self.bars if y < bar.y1 < line and bar.x1 < word.x < bar.x2]
            left = min([left, *(bar.x1 for bar in over)])
            right = max([right, *(bar.x2 for bar in over)])
            if left - 3.1 <= x <= right + 3.1:
                found.append(number)
        (number,) = found
        return number

    def column(self, word: Text) -> Box:
        """The box of a word together with what stands below it."""
        below = [t for t in self.texts if t.kind in ("tag", "probability") and t.x == word.x]
        boxes = [one.box for one in (word, *(t for t in below if 0 < t.y - word.y < 35))]
        return Box(
            min(box.left for box in boxes),
            boxes[0].top,
            max(box.right for box in boxes),
            max(box.bottom for box in boxes),
        )

    def ends(self) -> Iterator[tuple[int, int]]:
        """Head and word of each arc, in the order of the file."""
        for arc in self.arcs:
            ((tip_x, tip_y),) = arc.tips
            word = self.word_at(tip_x, tip_y)
            others = {self.word_at(x, y) for x, y in arc.feet} - {word}
            yield (others.pop() if others else 0), word
            assert not others

    def check(self) -> None:
        """Nothing overlaps, nothing is outside, no line touches another or passes a text."""
        texts = [one.box for one in self.texts]
        lines = [(arc, segment.near()) for arc in self.arcs for segment in arc.segments]
        canvas = Box(0, 0, self.width, self.height)
        for box in (*texts, *(box for _, box in lines)):
            assert inside(box, canvas), (box, canvas)
        for i, j in meetings(texts, texts):
            assert i == j, (self.texts[i], self.texts[j])
        boxes = [box for _, box in lines]
        for i, j in meetings(texts, boxes, 0.5):
            raise AssertionError((self.texts[i], lines[j][0].title))
        for i, j in meetings(boxes, boxes, CLEAR):
            assert lines[i][0] is lines[j][0], (lines[i][0].title, lines[j][0].title)


def meetings(boxes: list[Box], others: list[Box], margin: float = 0.0) -> Iterator[tuple[int, int]]:
    """Which boxes come closer than the margin to which others."""
    if boxes and others:
        apart = margin - 0.01
        a, b = np.array(boxes)[:, None, :], np.array(others)[None, :, :]
        near = (a[..., :2] < b[..., 2:] + apart) & (b[..., :2] < a[..., 2:] + apart)
        yield from zip(*(index.tolist() for index in near.all(axis=2).nonzero()), strict=True)


def inside(box: Box, canvas: Box) -> bool:
    return (
        box.left >= canvas.left - 0.06
        and box.top >= canvas.top - 0.06
        and box.right <= canvas.right + 0.06
        and box.bottom <= canvas.bottom + 0.06
    )


def text(element: ElementTree.Element) -> Text:
    x, y = float(element.get("x")), float(element.get("y"))
    return Text(element.get("class"), element.text or "", x, y)


def drawn_arc(group: ElementTree.Element) -> DrawnArc:
    arc = DrawnArc(group.get("class").split()[1], group.findtext(f"{NAMESPACE}title"))
    for element in group:
        kind = element.get("class", "")
        if element.tag == f"{NAMESPACE}text":
            arc.labels.append(text(element))
        elif kind == "tip":
            x, y = map(float, re.match(r"M(\S+) ([\d.]+)l", element.get("d")).groups())
            arc.tips.append((x, y))
        elif kind.startswith("line"):
            found = segments(element.get("d"))
            arc.segments += found
            arc.feet += [(s.x1, max(s.y1, s.y2)) for s in found if s.x1 == s.x2 and s.y1 != s.y2]
    return arc


def segments(path: str) -> list[Segment]:
    """The straight pieces of a path; round corners are left out."""
    found = []
    x = y = 0.0
    for command, rest in _COMMAND.findall(path):
        numbers = [float(number) for number in rest.split()]
        before = x, y
        if command == "M":
            x, y = numbers
        elif command == "H":
            (x,) = numbers
        elif command == "h":
            x += numbers[0]
        elif command == "V":
            (y,) = numbers
        elif command == "Q":
            x, y = numbers[2:]
        if command in "HhV":
            found.append(Segment(*before, x, y))
    return found
