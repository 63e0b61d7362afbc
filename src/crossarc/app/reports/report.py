"""A constraint study as one self-contained web page, on which numbers open their trees."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from crossarc import __version__
from crossarc.analysis import ConstraintStudy, Example
from crossarc.analysis.constraints import GROUPS
from crossarc.app.files import counted
from crossarc.app.reports.plots import (
    active_pair_plots,
    degree_bounds,
    lost_graphs_plot,
    spaced,
)
from crossarc.app.reports.tables import Named, fixed, measures
from crossarc.draw.gallery import NARROW, drawing
from crossarc.draw.page import closing, opening
from crossarc.draw.picture import picture
from crossarc.draw.vector import WIDTH
from crossarc.draw.widths import printable

__all__ = ["EXAMPLES", "report"]

#: How many sentences each number opens; their drawings are most of the page.
EXAMPLES = 12

# Treebanks that the title names.
_MOST_NAMED = 3

_DIALOG = """<dialog class="examples"><form method="dialog"><h2></h2>
<button aria-label="Close">✕</button></form><p class="note"></p><ol></ol></dialog>
"""


def report(studies: Sequence[Named]) -> str:
    """The page as HTML, in one file that needs no network."""
    sentences = sum(one.sentences for _, one in studies)
    arcs = sum(one.arcs for _, one in studies)
    names = [name for name, _ in studies]
    title = ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} treebanks"
    intro = f"""<div class="intro">
<p class="soft">{sentences:,} sentences · {arcs:,} arcs</p>
<p>Covington’s algorithm tries to link every pair of words, with the treebank as its oracle. A
constraint forbids some links. What is not found is lost to the constraint; pairs that need no
look are saved (Nivre 2006). Underlined numbers open their sentences.</p>
</div>
"""
    parts = [opening(f"{title}: what constraints on trees cost and save", intro=intro)]
    if len(studies) > 1:
        parts.append(_side_by_side(studies))
    parts += [_treebank(number, *named) for number, named in enumerate(studies)]
    parts.append(_DIALOG)
    data = []
    for number, (name, one) in enumerate(studies):
        templates, numbers = _examples(number, name, one)
        parts += templates
        data.append(numbers)
    parts.append(closing(f"Made by crossarc {__version__}.", data=data))
    return "".join(parts)


def _side_by_side(studies: Sequence[Named]) -> str:
    bounds = degree_bounds(studies[0][1])
    head = "".join(f"<th>{_shown(bound)}" for bound in bounds)
    lines = []
    for number, (name, one) in enumerate(studies):
        cells = "".join(_lost_cell(one, bound) for bound in bounds)
        lines.append(
            f'<tr data-bank="{number}"><th><a href="#bank{number}">{escape(name)}</a>'
            f"<td>{one.sentences:,}<td>{fixed(one.lost_per_nonprojective_arc, 2)}{cells}"
        )
    return f"""<section>
<h2>Side by side</h2>
<figure><figcaption>Graphs that are not found whole, in percent of all graphs, by constraint.
</figcaption><div class="scroll">{lost_graphs_plot(studies)}</div>
</figure>
<h3>Graphs found, in percent</h3>
<div class="scroll"><table>
<tr><th>treebank<th>sentences<th>arcs lost per<br>non-projective arc{head}
{"".join(lines)}</table></div>
</section>
"""


def _lost_cell(study: ConstraintStudy, bound: str) -> str:
    shown = fixed(study.percent_graphs(bound), 2)
    return f"<td>{_number(shown, study, bound)}"


def _treebank(number: int, name: str, study: ConstraintStudy) -> str:
    plots = "".join(active_pair_plots(name, study))
    return f"""<section class="bank" id="bank{number}" data-bank="{number}">
<h2>{escape(name)}</h2>
{_facts(study)}
<h3>Found, and looked at</h3>
{_figures_table(study)}
<h3>Active pairs against sentence length</h3>
<figure><div class="panels">{plots}</div><figcaption>A dot is a length and a number of pairs that
occur; stronger where several sentences share it. The curve is y = ax + bx², fitted by least
squares. Each panel has its own scale of pairs.</figcaption></figure>
<h3>Shapes of trees</h3>
{_shapes(study)}
</section>
"""


def _facts(study: ConstraintStudy) -> str:
    profile = study.profile
    share = 100 * profile.nonprojective_arcs / study.arcs
    facts = [
        (f"{study.sentences:,}", "sentences"),
        (f"{study.arcs:,}", "arcs"),
        (f"{share:.2f} %", f"non-projective: {profile.nonprojective_arcs:,} arcs"),
        (fixed(study.lost_per_nonprojective_arc, 2), "arcs lost per non-projective arc"),
        (_number(f"{profile.share_up_to(30):.1f} %", study, "words<=30"), "up to 30 words"),
        (_number(f"{profile.share_up_to(50):.1f} %", study, "words<=50"), "up to 50 words"),
    ]
    if profile.incomplete:
        facts.append((f"{profile.incomplete:,}", "sentences left out: a word has no head"))
    tiles = "".join(f"<div><b>{value}</b><span>{label}</span></div>" for value, label in facts)
    return f'<div class="facts">{tiles}</div>'


def _figures_table(study: ConstraintStudy) -> str:
    lines = []
    for name, tally in study.tallies.items():
        fit = tally.fit()
        lines.append(
            f"<tr><th>{_shown(name)}<td>{study.percent_arcs(name):.4f}"
            f"<td>{study.percent_graphs(name):.4f}<td>{study.arcs - tally.arcs:,}"
            f"<td>{_number(f'{study.sentences - tally.graphs:,}', study, name)}"
            f'<td class="apart">{tally.active_pairs:,}<td>{fixed(fit.a, 4)}<td>{fixed(fit.b, 4)}'
            f"<td>{fixed(fit.r2, 3)}<td>{fixed(fit.r2_centred, 3)}<td>{fixed(fit.linear_up_to, 0)}"
        )
    return f"""<div class="scroll"><table>
<tr class="groups"><th rowspan="2">constraint<th colspan="2">found, %<th colspan="2">lost
<th colspan="6" class="apart">active pairs, y = ax + bx²
<tr><th>arcs<th>graphs<th>arcs<th>graphs<th class="apart">in all<th>a<th>b<th>r²<th>r² centred
<th>ax &gt; bx² below
{"".join(lines)}</table></div>"""


def _shapes(study: ConstraintStudy) -> str:
    total, ill = study.sentences, study.profile.ill_nested_sentences
    groups = [
        (
            title.capitalize(),
            [(f"{title.replace(' ', '-')}={g}", g, counts[g]) for g in GROUPS if counts[g]],
        )
        for title, counts in measures(study).items()
    ]
    groups.append(("Nesting", [("well-nested", "well", total - ill), ("ill-nested", "ill", ill)]))
    shown = []
    for title, bars in groups:
        rows = "".join(
            f'<tr><th>{label}<td class="bar"><i style="width:{100 * count / total:.2f}%"></i>'
            f"<td>{_number(f'{count:,}', study, key)}<td>{100 * count / total:.2f} %"
            for key, label, count in bars
        )
        shown.append(f'<table class="bars"><caption>{title}</caption>{rows}</table>')
    return f'<div class="shapes">{"".join(shown)}</div>'


def _number(text: str, study: ConstraintStudy, key: str) -> str:
    """A number that opens its sentences, where there are any."""
    if not study.examples.kept.get(key):
        return text
    return f'<button type="button" data-key="{escape(key)}">{text}</button>'


def _shown(constraint: str) -> str:
    return f"<i>d</i> ≤ {constraint[3:]}" if constraint.startswith("d<=") else constraint


def _title(study: ConstraintStudy, key: str) -> str:
    if key in study.tallies:
        return f"Lost under {spaced(key)}"
    name, _, value = key.replace("<=", "= up to ").replace(">", "= over ").partition("=")
    if name == "words":
        return f"Sentences of{value} words"
    return f"{name.capitalize()} {value}".replace("Gap-", "Gap ").strip()


def _examples(
    number: int, name: str, study: ConstraintStudy
) -> tuple[list[str], dict[str, dict[str, object]]]:
    """The sentences of a treebank as templates, and for each figure those that it opens.

    A sentence is an index among the templates, and the words whose arcs are lost.
    """
    indices: dict[str, int] = {}
    templates: list[str] = []
    numbers: dict[str, dict[str, object]] = {}
    for key, kept in study.examples.kept.items():
        opened = []
        for example in kept:
            if example.sent_id not in indices:
                indices[example.sent_id] = len(templates)
                templates.append(_template(f"bank{number}-{len(templates)}", example))
            opened.append([indices[example.sent_id], *example.lost])
        numbers[key] = {
            "title": _title(study, key),
            "note": _note(name, study, key, len(kept)),
            "list": opened,
        }
    return templates, numbers


def _template(name: str, example: Example) -> str:
    shown, _ = drawing(picture(example.sentence), width=WIDTH, narrow=NARROW)
    return (
        f'<template id="{name}"><li><code>{escape(printable(example.sent_id))}</code>'
        f'<p class="text" dir="auto">{escape(printable(example.text))}</p>{shown}</li></template>\n'
    )


def _note(name: str, study: ConstraintStudy, key: str, shown: int) -> str:
    count = study.examples.counts[key]
    parts = [f"{name}: {counted(count, 'sentence')}"]
    if shown < count:
        parts = [f"{name}: the first {shown} of {counted(count, 'sentence')}"]
        parts.append(f'crossarc analyze FILE --show "{key}" lists all')
    if key in study.tallies:
        parts.append("Dashed arcs are lost")
    return ". ".join(parts) + "."
