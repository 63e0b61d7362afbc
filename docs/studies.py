"""Draw the plots of the studies from the tables of their pages, for light and dark pages.

    .venv/bin/python docs/studies.py

| picture | table of |
|---|---|
| bounds | covington.md: what a bound on degrees does to LAS |
| crossing-arcs | parser.md: all trees against projective ones, by the share of crossing arcs |
| review-orders | inference.md: which words a person should look at first |
| higher-order | higher-order.md: certificates, trees and times of four methods by length |

Nothing is measured here: whoever measures anew edits the table and runs this.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from crossarc.app.reports.plots import image
from crossarc.draw.widths import advance

DOCS = Path(__file__).resolve().parent
LEVELS = (0, 5, 3, 1, 6)  # colours that are far apart
WIDTH = 900

Row = list[str]


def table(page: str, first_cell: str, *, which: int = 0) -> list[Row]:
    """The rows of a table whose heading begins with a cell, and of the `which`-th such table."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    starts = [k for k, line in enumerate(lines) if line.startswith(f"| {first_cell} |")]
    rows: list[Row] = []
    for line in lines[starts[which] :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip(" *") for cell in line.strip("|").split("|")])
    return [rows[0], *rows[2:]]


def value(cell: str) -> float:
    """The number in a cell, whose minus may be that of print."""
    found = re.search(r"-?\d[\d,]*\.?\d*", cell.replace("−", "-"))
    if found is None:
        raise ValueError(f"no number in {cell!r}")
    return float(found[0].replace(",", ""))


class Mark(NamedTuple):
    """A dot, the range around it, and what is said of it."""

    x: float
    y: float
    level: int
    title: str
    low: float | None = None
    high: float | None = None


def text(kind: str, x: float, y: float, words: str, anchor: str = "start") -> str:
    """A `text` element of a class."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'


def signed(number: int) -> str:
    """With a sign, unless it is 0."""
    return f"{number:+d}".replace("-", "−") if number else "0"


def rule(x: float, y: float, *, to_x: float | None = None, to_y: float | None = None) -> str:
    """A thin line, across or down."""
    end = f"H{to_x:.1f}" if to_x is not None else f"V{to_y:.1f}"
    return f'<path class="rule" d="M{x:.1f} {y:.1f}{end}"/>'


def dots(marks: Sequence[Mark]) -> Iterator[str]:
    """Ranges below, dots above."""
    for mark in marks:
        if mark.low is not None and mark.high is not None:
            yield f'<path class="range" d="M{mark.low:.1f} {mark.y:.1f}H{mark.high:.1f}"/>'
    for mark in marks:
        yield (
            f'<circle class="level{mark.level}" cx="{mark.x:.1f}" cy="{mark.y:.1f}" r="5">'
            f"<title>{escape(mark.title)}</title></circle>"
        )


def legend(names: Sequence[str], left: float) -> Iterator[str]:
    """Which colour is which series, in as many lines as that needs."""
    x, y = left, 12
    for level, name in zip(LEVELS, names, strict=False):
        needed = 34 + advance(name) * 12
        if x + needed > WIDTH:
            x, y = left, y + 20
        yield f'<circle class="level{level}" cx="{x:.1f}" cy="{y}" r="5"/>'
        yield text("tick", x + 10, y + 4, name)
        x += needed


def plot(title: str, height: float, parts: Sequence[str]) -> str:
    """An SVG element of the width of a page."""
    return "".join(
        [
            f'<svg class="plot wide" viewBox="0 0 {WIDTH} {math.ceil(height)}" role="img">',
            f"<title>{escape(title)}</title>",
            *parts,
            "</svg>",
        ]
    )


def bounds_plot() -> str:
    """Covington parsers: LAS under a bound minus LAS without, and its range over the seeds."""
    constraints = ("d≤2", "d≤1", "projectivity")
    rows = [row for row in table("covington.md", "treebank", which=1) if row[1] in constraints]
    treebanks = list(dict.fromkeys(row[0] for row in rows))
    left, right, low, high = 190.0, 870.0, -4.5, 1.5
    line, top = 17.0, 34.0

    def across(las: float) -> float:
        return left + (las - low) / (high - low) * (right - left)

    bottom = top + len(treebanks) * (len(constraints) * line + 12)
    parts = list(legend(constraints, left))
    for tick in range(math.ceil(low), math.floor(high) + 1):
        parts.append(rule(across(tick), top - 8, to_y=bottom))
        parts.append(text("tick", across(tick), bottom + 16, signed(tick), "middle"))
    marks, y = [], top
    for treebank in treebanks:
        own = [row for row in rows if row[0] == treebank]
        parts.append(text("row", left - 14, y + line * 1.5 - 2, treebank, "end"))
        for row in own:
            least, most = (value(cell) for cell in row[6].split(" to "))
            marks.append(
                Mark(
                    across(value(row[5])),
                    y + 5,
                    LEVELS[constraints.index(row[1])],
                    f"{treebank}, {row[1]}: {row[5]} LAS, over seeds {row[6]}",
                    across(least),
                    across(most),
                )
            )
            y += line
        y += 12
    parts += dots(marks)
    parts.append(text("tick", across(-1.5), bottom + 34, "difference in LAS", "middle"))
    return plot("LAS under bounds on degrees, minus LAS without one", bottom + 42, parts)


def crossing_arcs_plot() -> str:
    """Graph parsers: LAS of all trees minus LAS of projective ones, by crossing arcs."""
    rows = table("parser.md", "treebank", which=1)[1:]
    left, right, top, bottom = 60.0, 860.0, 40.0, 330.0
    low, high = -1.5, 3.0

    def across(percent: float) -> float:
        return left + math.log10(percent / 0.1) / 2 * (right - left)

    def up(las: float) -> float:
        return bottom - (las - low) / (high - low) * (bottom - top)

    parts = list(legend(["projective by default", "all trees by default"], left))
    for percent in (0.1, 0.2, 0.5, 1, 2, 5, 10):
        parts.append(rule(across(percent), top, to_y=bottom))
        parts.append(text("tick", across(percent), bottom + 16, f"{percent:g} %", "middle"))
    for las in range(-1, 4):
        parts.append(rule(left, up(las), to_x=right))
        parts.append(text("tick", left - 8, up(las) + 4, signed(las), "end"))
    marks, names = [], []
    for row in rows:
        every, projective = (value(cell.split(",")[1]) for cell in row[3:5])
        percent, difference = value(row[2]), every - projective
        x, y = across(percent), up(difference)
        title = f"{row[0]}: {percent} % crossing arcs, {difference:+.1f} LAS"
        marks.append(Mark(x, y, LEVELS[percent > 0.55], title))
        names.append(named_dot(x, y, row[0].partition("-")[0].replace("_", " ")))
    parts += [*dots(marks), *names]
    parts.append(text("tick", (left + right) / 2, bottom + 34, "crossing arcs in train", "middle"))
    parts.append(text("tick", right, 16, "LAS of all trees minus LAS of projective trees", "end"))
    return plot("What crossing arcs bring, by how many there are", bottom + 42, parts)


def named_dot(x: float, y: float, name: str) -> str:
    """The name beside a dot, where it overlaps no other."""
    if name in ("French", "Ancient Greek"):
        return text("tick", x - 9, y + 4, name, "end")
    below = {"Portuguese": -4.0, "Danish": 12.0, "Arabic": 10.0}
    return text("tick", x + 9, y + below.get(name, 4.0), name)


SETTLED = (0, 2, 5, 10, 20)  # percent of the words
PANEL = 360.0


def review_plot() -> str:
    """UAS after a share of all words has been settled, in each order; a panel a treebank."""
    rows = table("inference.md", "order", which=1)[1:]
    left, bottom = 60.0, 340.0
    parts = list(legend([row[0] for row in rows], left))
    parts += review_panel("English-EWT", 86.01, [row[:5] for row in rows], left, bottom)
    others = [[row[0], *row[5:]] for row in rows]
    parts += review_panel("Gothic-PROIEL", 86.74, others, left + PANEL + 70, bottom)
    return plot("UAS after words were settled in several orders", bottom + 42, parts)


def review_panel(
    treebank: str, before: float, rows: Sequence[Row], left: float, bottom: float
) -> Iterator[str]:
    """A line an order: its name, then the UAS after each share."""
    top = 78.0

    def across(share: float) -> float:
        return left + share / SETTLED[-1] * PANEL

    def up(uas: float) -> float:
        return bottom - (uas - 86) / 12 * (bottom - top)

    yield text("name", left, top - 12, treebank)
    for tick in range(86, 99, 2):
        yield rule(left, up(tick), to_x=left + PANEL)
        yield text("tick", left - 6, up(tick) + 4, str(tick), "end")
    for share in SETTLED:
        yield text("tick", across(share), bottom + 16, f"{share} %", "middle")
    yield text("tick", left + PANEL / 2, bottom + 34, "words settled", "middle")
    marks = []
    for level, (name, *cells) in zip(LEVELS, rows, strict=False):
        points = list(zip(SETTLED, [before, *map(value, cells)], strict=True))
        path = "L".join(f"{across(share):.1f} {up(uas):.1f}" for share, uas in points)
        yield f'<path class="range" d="M{path}" fill="none"/>'
        marks += [
            Mark(across(share), up(uas), level, f"{name}: {uas} UAS after {share} %")
            for share, uas in points
        ]
    yield from dots(marks)


METHODS = ("dual", "substitution", "bp", "ilp")


def higher_order_plot() -> str:
    """Certificates without branching, trees equal to the ILP's, and milliseconds, by length."""
    certificates, methods = table("higher-order.md", "factors"), table("higher-order.md", "words")
    lengths = [value(row[0]) for row in methods[1:]]
    found = {
        name: [[value(part) for part in row[k].split(", ")] for row in methods[1:]]
        for k, name in enumerate(METHODS, 1)
    }
    factors = list(dict.fromkeys(row[0] for row in certificates[1:]))
    sure = {
        name: [(value(row[1]), value(row[2])) for row in certificates[1:] if row[0] == name]
        for name in factors
    }
    equal = {
        name: list(zip(lengths, (y for _, y in found[name]), strict=True)) for name in METHODS[:3]
    }
    times = {
        name: list(zip(lengths, (math.log10(y) for y, _ in found[name]), strict=True))
        for name in METHODS
    }
    left, bottom, step = 60.0, 330.0, 290.0
    shares = {share: f"{share} %" for share in range(40, 101, 10)}
    logs = {k: f"{10**k} ms" for k in range(4)}
    most = {share: f"{share} %" for share in range(90, 101, 2)}
    parts = list(length_panel("certified without branching", sure, most, 100, left, bottom))
    parts += legend(factors, left)
    parts += length_panel("trees equal to the ILP's", equal, shares, 60, left + step, bottom)
    parts += length_panel("time a sentence", times, logs, 60, left + 2 * step, bottom)
    x = left + step
    for level, name in zip(LEVELS, METHODS, strict=False):
        parts.append(f'<circle class="level{level}" cx="{x:.1f}" cy="32" r="5"/>')
        parts.append(text("tick", x + 10, 36, name))
        x += 40 + advance(name) * 12
    return plot("Higher-order trees: certificates, trees and times by length", bottom + 42, parts)


def length_panel(
    title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    ticks: Mapping[int, str],
    longest: int,
    left: float,
    bottom: float,
) -> Iterator[str]:
    """A line a series: values by the number of words."""
    top, width = 78.0, 225.0
    low, high = min(ticks), max(ticks) + (0.2 if max(ticks) < 10 else 0)

    def across(words: float) -> float:
        return left + words / longest * width

    def up(y: float) -> float:
        return bottom - (y - low) / (high - low) * (bottom - top)

    yield text("name", left, top - 16, title)
    for tick, label in ticks.items():
        yield rule(left, up(tick), to_x=left + width)
        yield text("tick", left - 6, up(tick) + 4, label, "end")
    for words in range(0, longest + 1, 20):
        yield text("tick", across(words), bottom + 16, str(words), "middle")
    yield text("tick", left + width / 2, bottom + 34, "words", "middle")
    marks = []
    for level, (name, points) in zip(LEVELS, series.items(), strict=False):
        path = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in points)
        yield f'<path class="range" d="M{path}" fill="none"/>'
        marks += [
            Mark(across(x), up(y), level, f"{name}: {shown(y, ticks)}, {x:g} words")
            for x, y in points
        ]
    yield from dots(marks)


def shown(y: float, ticks: Mapping[int, str]) -> str:
    """A value of a panel, whose times are logarithms."""
    return f"{y:g} %" if max(ticks) > 10 else f"{10**y:.3g} ms"


def pictures() -> dict[str, str]:
    """All plots, by the name of their file."""
    return {
        "bounds": bounds_plot(),
        "crossing-arcs": crossing_arcs_plot(),
        "review-orders": review_plot(),
        "higher-order": higher_order_plot(),
    }


def main() -> None:
    """Write all pictures."""
    for name, picture in pictures().items():
        for theme in ("light", "dark"):
            path = DOCS / "pictures" / f"{name}-{theme}.svg"
            path.write_text(image([picture], theme), encoding="utf-8")


if __name__ == "__main__":
    main()
