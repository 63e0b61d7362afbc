"""What a line of a drawing holds, with its place; lengths are in pixels."""

from __future__ import annotations

from dataclasses import dataclass, field

from crossarc.draw.picture import Arc

__all__ = ["CORNER", "FORM_SIZE", "LABEL_SIZE", "TAG_SIZE", "Arch", "Line", "Passing", "Root"]

FORM_SIZE, LABEL_SIZE, TAG_SIZE = 16.0, 11.0, 10.0
CORNER = 9.0


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
