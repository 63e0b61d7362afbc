"""The tables of a constraint study, as rows of text that any format can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from crossarc.analysis import ConstraintStudy
from crossarc.analysis.constraints import GROUPS, count_group

__all__ = ["Named", "Table", "fixed", "measures", "study_tables"]

Named = tuple[str, ConstraintStudy]


class Table(NamedTuple):
    """A title, and rows of which the first is the header; the first column holds names."""

    title: str
    rows: Sequence[tuple[str, ...]]


def fixed(value: float | None, digits: int) -> str:
    """A number with so many digits after the point; a hyphen for none."""
    return "-" if value is None else f"{value:.{digits}f}"


def study_tables(studies: Sequence[Named]) -> list[Table]:
    """One treebank in the layout of the paper; several side by side, a row each."""
    tables = _alone(studies[0][1]) if len(studies) == 1 else _side_by_side(studies)
    return [*tables, _overview(studies), *_distributions(studies)]


_FOUND = "Found under each constraint"
_PAIRS = "Active pairs y = a x + b x^2 of sentences with x words"


def _alone(study: ConstraintStudy) -> list[Table]:
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
