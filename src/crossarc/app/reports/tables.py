"""The tables of a constraint study, and their formats: text, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from crossarc.analysis import ConstraintStudy
from crossarc.analysis.constraints import GROUPS, count_group
from crossarc.app.tables import text_table

__all__ = [
    "FORMATS",
    "Named",
    "Table",
    "fixed",
    "markdown_table",
    "measures",
    "study_tables",
    "tex_table",
]

Named = tuple[str, ConstraintStudy]

_CSV_FIGURES = (
    "constraint",
    "arcs",
    "graphs",
    "a",
    "b",
    "r2",
    "r2_centred",
    "linear_up_to",
    "lost_arcs",
    "lost_graphs",
    "active_pairs",
)
_TEX_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)

_TEX_HEADINGS = {
    "Active pairs y = a x + b x^2 of sentences with x words": (
        "Active pairs $y = ax + bx^2$ of sentences with $x$ words"
    ),
    "ax = bx^2": "$ax = bx^2$",
    "r2 centred": "$r^2$ centred",
    ": r2": ": $r^2$",
}


class Table(NamedTuple):
    """A title, and rows of which the first is the header; the first column holds names."""

    title: str
    rows: Sequence[tuple[str, ...]]


def fixed(value: float | None, digits: int) -> str:
    """A number with so many digits after the point; a hyphen for none."""
    return "-" if value is None else f"{value:.{digits}f}"


def study_tables(studies: Sequence[Named]) -> list[Table]:
    """One treebank in the layout of the paper; several side by side, a row each."""
    tables = _one_treebank(studies[0][1]) if len(studies) == 1 else _side_by_side(studies)
    return [*tables, _overview(studies), *_distributions(studies)]


_FOUND = "Found under each constraint"
_PAIRS = "Active pairs y = a x + b x^2 of sentences with x words"


def _one_treebank(study: ConstraintStudy) -> list[Table]:
    found = [("constraint", "arcs %", "graphs %", "arcs lost", "graphs lost")]
    pairs = [("constraint", "a", "b", "r2", "r2 centred", "ax = bx^2 at", "active pairs")]
    for name, tally in study.tallies.items():
        fit = tally.fit()
        found.append(
            (
                name,
                fixed(study.percent_arcs(name), 4),
                fixed(study.percent_graphs(name), 4),
                f"{study.arcs - tally.arcs:,}",
                f"{study.sentences - tally.graphs:,}",
            )
        )
        pairs.append(
            (
                name,
                fixed(fit.a, 4),
                fixed(fit.b, 4),
                fixed(fit.r2, 3),
                fixed(fit.r2_centred, 3),
                fixed(fit.linear_up_to, 1),
                f"{tally.active_pairs:,}",
            )
        )
    return [Table(_FOUND, found), Table(_PAIRS, pairs)]


def _side_by_side(studies: Sequence[Named]) -> list[Table]:
    columns: tuple[tuple[str, Callable[[ConstraintStudy, str], str]], ...] = (
        (f"{_FOUND}: arcs %", lambda one, name: fixed(one.percent_arcs(name), 4)),
        (f"{_FOUND}: graphs %", lambda one, name: fixed(one.percent_graphs(name), 4)),
        (f"{_PAIRS}: a", lambda one, name: fixed(one.tallies[name].fit().a, 4)),
        (f"{_PAIRS}: b", lambda one, name: fixed(one.tallies[name].fit().b, 4)),
        (f"{_PAIRS}: r2", lambda one, name: fixed(one.tallies[name].fit().r2, 3)),
    )
    constraints = tuple(studies[0][1].tallies)
    return [
        Table(
            title,
            [
                ("treebank", *constraints),
                *((bank, *(cell(one, name) for name in constraints)) for bank, one in studies),
            ],
        )
        for title, cell in columns
    ]


def _overview(studies: Sequence[Named]) -> Table:
    rows = [
        (
            "treebank",
            "sentences",
            "arcs",
            "up to 30 words %",
            "up to 50 words %",
            "nonproj arcs",
            "lost per nonproj arc",
            "ill-nested",
        )
    ]
    rows += [
        (
            name,
            f"{one.sentences:,}",
            f"{one.arcs:,}",
            fixed(one.profile.share_up_to(30), 1),
            fixed(one.profile.share_up_to(50), 1),
            f"{one.profile.nonprojective_arcs:,}",
            fixed(one.lost_per_nonprojective_arc, 2),
            f"{one.profile.ill_nested_sentences:,}",
        )
        for name, one in studies
    ]
    return Table("Treebanks" if len(studies) > 1 else "Treebank", rows)


def _distributions(studies: Sequence[Named]) -> list[Table]:
    tables = []
    for title in measures(studies[0][1]):
        counts = [(name, measures(one)[title]) for name, one in studies]
        groups = [group for group in GROUPS if any(one[group] for _, one in counts)]
        rows = [(title, *groups)]
        rows += [(name, *(f"{one[group]:,}" for group in groups)) for name, one in counts]
        tables.append(Table(f"Sentences by {title}", rows))
    return tables


def measures(study: ConstraintStudy) -> dict[str, Counter[str]]:
    """Sentences by degree, by gap degree and by crossings, in groups."""
    profile = study.profile
    grouped: dict[str, Counter[str]] = {}
    for title, counts in (
        ("degree", profile.degrees),
        ("gap degree", profile.gap_degrees),
        ("crossings", profile.crossing_counts),
    ):
        grouped[title] = Counter()
        for count, sentences in counts.items():
            grouped[title][count_group(count)] += sentences
    return grouped


def _text(studies: Sequence[Named]) -> str:
    return "\n\n".join(f"{t.title}\n\n{text_table(t.rows)}" for t in study_tables(studies)) + "\n"


def _markdown(studies: Sequence[Named]) -> str:
    return "\n".join(markdown_table(table) for table in study_tables(studies))


def markdown_table(table: Table) -> str:
    """A heading and a table, in GitHub's Markdown."""
    header, *rows = ([cell.replace("|", r"\|") for cell in row] for row in table.rows)
    lines = [f"**{table.title}**", "", _bars(header)]
    lines.append(_bars(["---", *["---:"] * (len(header) - 1)]))
    return "\n".join([*lines, *map(_bars, rows)]) + "\n"


def _bars(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tex(studies: Sequence[Named]) -> str:
    """Tables for LaTeX without packages."""
    return "\n".join(map(tex_table, study_tables(studies)))


def tex_table(table: Table) -> str:
    """A table with its caption, for LaTeX."""
    header, *rows = (" & ".join(map(_tex_cell, row)) + r" \\" for row in table.rows)
    columns = "l" + "r" * (len(table.rows[0]) - 1)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_tex_cell(table.title)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            header,
            r"\hline",
            *rows,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _tex_cell(text: str) -> str:
    for heading, mathematics in _TEX_HEADINGS.items():
        if text.startswith(heading):
            return mathematics + _tex_cell(text.removeprefix(heading))
    if text.startswith("d<="):
        return rf"$d \le {text[3:]}$"
    if text.startswith("-") and text != "-":
        return f"${text}$"
    if text == "r2":
        return "$r^2$"
    return text.translate(_TEX_SPECIAL)


def _csv(studies: Sequence[Named]) -> str:
    """One row a treebank and constraint, with the figures at full precision."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("treebank", "sentences", "words", *_CSV_FIGURES))
    for name, one in studies:
        for row in one.rows():
            figures = (row[figure] for figure in _CSV_FIGURES)
            writer.writerow((name, one.sentences, one.arcs, *figures))
    return text.getvalue()


def _json(studies: Sequence[Named]) -> str:
    rows = [{"name": name, **one.to_dict()} for name, one in studies]
    return json.dumps({"treebanks": rows}, ensure_ascii=False, indent=1) + "\n"


#: Each format by its name on the command line.
FORMATS: dict[str, Callable[[Sequence[Named]], str]] = {
    "text": _text,
    "json": _json,
    "csv": _csv,
    "md": _markdown,
    "tex": _tex,
}
