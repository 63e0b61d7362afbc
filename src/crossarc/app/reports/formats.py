"""A constraint study as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

from crossarc.app.reports.tables import Named, Table, study_tables
from crossarc.app.tables import text_table

__all__ = ["FORMATS"]

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
    """Tables for plain LaTeX: no package is needed."""
    return "\n".join(map(_tex_table, study_tables(studies)))


def _tex_table(table: Table) -> str:
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
    for plain, mathematics in _TEX_HEADINGS.items():
        if text.startswith(plain):
            return mathematics + _tex_cell(text.removeprefix(plain))
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
