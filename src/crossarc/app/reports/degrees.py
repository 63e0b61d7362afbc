"""The tables of `crossarc analyze --attardi`, and their formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

from crossarc.analysis import DegreeStudy
from crossarc.analysis.attardi import PRINTED, PrintedRow
from crossarc.app.reports.tables import Table, fixed, markdown_table, tex_table
from crossarc.app.tables import text_table

__all__ = ["FORMATS"]

Named = tuple[str, DegreeStudy]

# Languages that a treebank's name spells in another way than Table 1.
_SPELLINGS = {"Slovenian": "Slovene"}


def _printed(name: str) -> tuple[str, PrintedRow] | None:
    """The printed row of a treebank's language."""
    language = name.partition("-")[0]
    language = _SPELLINGS.get(language, language)
    return (language, PRINTED[language]) if language in PRINTED else None


def _relations(studies: Sequence[Named]) -> Table:
    header = ("treebank", "words", "degree 2", "degree 3", "degree 4", "more", "trees without")
    rows: list[tuple[str, ...]] = [header]
    for name, one in studies:
        counts = [one.relations[d] for d in (2, 3, 4)]
        numbers = (one.words, *counts, one.relations_above(4), one.underivable)
        rows.append((name, *(f"{number:,}" for number in numbers)))
    return Table("Relations by the degree of their transition", rows)


def _rates(studies: Sequence[Named]) -> Table:
    rows: list[tuple[str, ...]] = [("treebank", "degree 2", "degree 3", "degree 4", "more")]
    for name, one in studies:
        counts = [*(one.relations[d] for d in (2, 3, 4)), one.relations_above(4)]
        rows.append((name, *(fixed(one.rate(count), 2) for count in counts)))
        printed = _printed(name)
        if printed is not None:
            language, row = printed
            rates = (fixed(rate, 2) for rate in row.rates())
            rows.append((f"  printed: {language}, CoNLL-X", *rates, "-"))
    return Table("Per 1,000 words", rows)


def _coverage(studies: Sequence[Named]) -> Table:
    rows: list[tuple[str, ...]] = [
        ("treebank", "trees", "D=1 %", "D=2 %", "D=3 %", "D=4 %", "any D %")
    ]
    for name, one in studies:
        highest = max(one.trees, default=0)
        degrees = (1, 2, 3, 4, highest)
        cells = (fixed(one.coverage(degree), 2) for degree in degrees)
        rows.append((name, f"{one.sentences:,}", *cells))
    return Table("Trees that systems of degree D derive", rows)


def _tables(studies: Sequence[Named]) -> list[Table]:
    return [_relations(studies), _rates(studies), _coverage(studies)]


def _text(studies: Sequence[Named]) -> str:
    shown = (f"{table.title}\n\n{text_table(table.rows)}" for table in _tables(studies))
    return "\n\n".join(shown) + "\n"


def _csv(studies: Sequence[Named]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("treebank", "sentences", "words", "degree", "relations", "trees"))
    for name, one in studies:
        for degree in range(1, max(one.relations, default=0) + 1):
            counts = one.relations[degree], one.trees[degree]
            writer.writerow((name, one.sentences, one.words, degree, *counts))
        writer.writerow((name, one.sentences, one.words, "none", "", one.underivable))
    return text.getvalue()


def _json(studies: Sequence[Named]) -> str:
    rows = []
    for name, one in studies:
        printed = _printed(name)
        about = None if printed is None else {"language": printed[0], **printed[1]._asdict()}
        rows.append({"name": name, **one.to_dict(), "printed": about})
    return json.dumps({"treebanks": rows}, ensure_ascii=False, indent=1) + "\n"


#: Each format by its name on the command line.
FORMATS: dict[str, Callable[[Sequence[Named]], str]] = {
    "text": _text,
    "json": _json,
    "csv": _csv,
    "md": lambda studies: "\n".join(map(markdown_table, _tables(studies))),
    "tex": lambda studies: "\n".join(map(tex_table, _tables(studies))),
}
