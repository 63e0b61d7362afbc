"""Plots as SVG: in a page, whose style sheet has their rules, or as images with a theme."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Literal

from crossarc.analysis import ConstraintStudy, QuadraticFit
from crossarc.app.reports.tables import Named
from crossarc.draw.page import component_rules
from crossarc.draw.style import coloured
from crossarc.draw.widths import advance

__all__ = [
    "active_pair_plots",
    "degree_bounds",
    "dot_plot",
    "image",
    "lost_graphs_plot",
    "scatter_plot",
    "spaced",
]

_FIGURE_2 = ("none", "single-head", "acyclicity", "d<=2", "d<=1", "projectivity")

# A panel of the scatter plots: its size, and the margins of its axes.
_WIDTH, _HEIGHT = 340, 240
_RIGHT, _TOP, _BOTTOM = 14, 28, 36
_LEAST_LEFT = 34
_TICK_SIZE, _SERIES_SIZE, _ROW_SIZE = 10, 12, 13

# Points that several sentences share are stronger: classes by the least number of sentences.
_SHADES = (1, 3, 10)


def active_pair_plots(name: str, study: ConstraintStudy) -> list[str]:
    """The panels of Figure 2, as far as a study has their constraints."""
    return [
        scatter_plot(
            name,
            spaced(constraint),
            study.tallies[constraint].points,
            study.tallies[constraint].fit(),
            longest=study.profile.longest,
        )
        for constraint in _FIGURE_2
        if constraint in study.tallies
    ]


def lost_graphs_plot(studies: Sequence[Named]) -> str:
    """Graphs that are not found whole in each treebank, by constraint; the most lost first."""
    bounds = degree_bounds(studies[0][1])
    rows = [(name, [100 - one.percent_graphs(bound) for bound in bounds]) for name, one in studies]
    rows.sort(key=lambda row: -row[1][0])
    return dot_plot(rows, list(map(spaced, bounds)))


def degree_bounds(study: ConstraintStudy) -> list[str]:
    """Projectivity and the bounds on degree, the strictest first."""
    return [name for name in study.tallies if name == "projectivity" or name.startswith("d<=")]


def spaced(constraint: str) -> str:
    """The name of a constraint with signs as in print."""
    return constraint.replace("<=", " ≤ ")


def scatter_plot(
    treebank: str,
    title: str,
    points: Mapping[tuple[int, int], int],
    fit: QuadraticFit,
    *,
    longest: int,
) -> str:
    """Active pairs against sentence length, with the fitted curve (Nivre 2006, Figure 2).

    Args:
        treebank: its name, for those who hear the plot.
        title: what stands above it.
        points: how many sentences have x words and y pairs, by (x, y).
        longest: where the axis of words ends, so that panels can be compared.
    """
    x_ticks = _ticks(longest)
    y_ticks = _ticks(max((y for _, y in points), default=1))
    right, top = x_ticks[-1], y_ticks[-1]
    left = max(_LEAST_LEFT, 12 + advance(f"{top:,}") * _TICK_SIZE)

    def across(x: float) -> float:
        return left + x / right * (_WIDTH - left - _RIGHT)

    def up(y: float) -> float:
        return _HEIGHT - _BOTTOM - y / top * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(treebank)}, {escape(title)}: active pairs against words</title>",
        f'<text class="name" x="{left:.1f}" y="16">{escape(title)}</text>',
    ]
    for x in x_ticks:
        parts.append(f'<path class="rule" d="M{across(x):.1f} {up(0):.1f}V{up(top):.1f}"/>')
        parts.append(_label(across(x), up(0) + 14, f"{x:,}", "middle"))
    for y in y_ticks:
        parts.append(f'<path class="rule" d="M{across(0):.1f} {up(y):.1f}H{across(right):.1f}"/>')
        parts.append(_label(left - 5, up(y) + 3.5, f"{y:,}", "end"))
    parts.append(_label(across(right / 2), _HEIGHT - 6, "words", "middle"))
    for shade, least in enumerate(_SHADES):
        dots = "".join(
            f"M{across(x):.1f} {up(y):.1f}h0" for (x, y), n in points.items() if _shade(n) == least
        )
        parts.append(f'<path class="dots shade{shade}" d="{dots}"/>')
    if fit.a is not None and fit.b is not None:
        curve = _curve(fit.a, fit.b, longest, top)
        shown = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in curve)
        parts.append(f'<polyline class="curve" points="{shown}"/>')
    return "".join([*parts, "</svg>"])


def _curve(a: float, b: float, longest: int, top: int) -> list[tuple[float, float]]:
    """Points of y = a x + b x^2 as far as it is in the panel, to its very edge."""
    points = [(x, a * x + b * x * x) for x in (longest * step / 120 for step in range(121))]
    shown = []
    for (x0, y0), (x1, y1) in zip(points[:1] + points, points, strict=False):
        for bound in (0.0, float(top)):
            if min(y0, y1) < bound < max(y0, y1):
                shown.append((x0 + (bound - y0) / (y1 - y0) * (x1 - x0), bound))
        if 0 <= y1 <= top:
            shown.append((x1, y1))
    return shown


def dot_plot(rows: Sequence[tuple[str, Sequence[float]]], series: Sequence[str]) -> str:
    """One line a name; a dot for each value over 0 of its series, in percent, on a log scale."""
    values = [value for _, row in rows for value in row if value > 0]
    # The axis has a length even where every graph is lost.
    low = min(math.floor(math.log10(min(values, default=1))), 1)
    line, width = 24, 900
    label = 14 + max(advance(name) for name, _ in rows) * _ROW_SIZE
    height = line * (len(rows) + 3) + 10

    def across(value: float) -> float:
        return label + 15 + (math.log10(value) - low) / (2 - low) * (width - label - 45)

    parts = [f'<svg class="plot wide" viewBox="0 0 {width} {height}" role="img">']
    parts.append("<title>Graphs lost under each constraint, in percent</title>")
    parts += _series_legend(series, label + 15)
    bottom = line * (len(rows) + 2)
    for exponent in range(low, 3):
        x = across(10.0**exponent)
        parts.append(f'<path class="rule" d="M{x:.1f} {2 * line - 8}V{bottom}"/>')
        parts.append(_label(x, bottom + 16, f"{10.0**exponent:g} %", "middle"))
    for index, (name, row) in enumerate(rows, 2):
        y = index * line + 4
        shown = [across(value) for value in row if value > 0]
        parts.append(f'<text class="row" x="{label:.1f}" y="{y + 4}">{escape(name)}</text>')
        if shown:
            parts.append(f'<path class="range" d="M{min(shown):.1f} {y}H{max(shown):.1f}"/>')
        parts += [
            f'<circle class="level{level}" cx="{across(value):.1f}" cy="{y}" r="5.5">'
            f"<title>{escape(name)}, {escape(series[level])}: {value:.4g} % of graphs lost</title>"
            "</circle>"
            for level, value in enumerate(row)
            if value > 0
        ]
    return "".join([*parts, "</svg>"])


def _series_legend(series: Sequence[str], x: float) -> Iterator[str]:
    for level, name in enumerate(series):
        yield f'<circle class="level{level}" cx="{x:.1f}" cy="12" r="5.5"/>'
        yield f'<text class="tick" x="{x + 10:.1f}" y="16">{escape(name)}</text>'
        x += 28 + advance(name) * _SERIES_SIZE


def image(plots: Sequence[str], theme: Literal["light", "dark"], *, columns: int = 1) -> str:
    """Plots of one size in a grid, as an SVG file of its own."""
    rules = "\n".join(re.findall(r"^\.plot.*$", component_rules(), re.MULTILINE))
    sizes = re.findall(r'viewBox="0 0 (\d+) (\d+)"', "".join(plots))
    width, height = max(int(w) for w, _ in sizes), max(int(h) for _, h in sizes)
    total = width * min(columns, len(plots)), height * -(-len(plots) // columns)
    cells = [
        plot.replace(
            "<svg ",
            f'<svg x="{width * (index % columns)}" y="{height * (index // columns)}" '
            f'width="{width}" height="{height}" ',
            1,
        )
        for index, plot in enumerate(plots)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total[0]}" height="{total[1]}" '
        f'viewBox="0 0 {total[0]} {total[1]}"><style>{coloured(rules, theme)}</style>\n'
        + "\n".join(cells)
        + "</svg>\n"
    )


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _shade(count: int) -> int:
    return max(least for least in _SHADES if least <= count)


def _ticks(largest: int) -> list[int]:
    """Four to eight round numbers from 0 to the first that is not below the largest value."""
    step = next(step for step in _round_steps() if step * 7 >= largest)
    return list(range(0, step * max(-(-largest // step), 1) + 1, step))


def _round_steps() -> Iterable[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10
