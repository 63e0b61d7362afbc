"""`crossarc analyze`: what constraints on trees would cost and save on a treebank."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.files import (
    Format,
    OnError,
    OnErrorOption,
    OutputOption,
    Progress,
    SourceFormatOption,
    WorkersOption,
    counted,
    open_treebank,
    report_skipped,
    stdin_once,
    treebank_names,
)
from crossarc.app.selection import Headless
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.analysis import ConstraintStudy, DegreeStudy, Examples

__all__ = ["analyze"]

_SHAPES = r"((gap-)?degree|crossings)=([0-4]|5-9|10\+)|(well|ill)-nested|words(<=|>)[35]0"


class Layout(StrEnum):
    """How to print the tables."""

    text = "text"
    json = "json"
    csv = "csv"
    md = "md"
    tex = "tex"


class PairOrder(StrEnum):
    """In which order pairs of words are tried."""

    incremental = "incremental"
    shortest_first = "shortest-first"


def analyze(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Treebanks.")],
    layout: Annotated[Layout, typer.Option("--format", help="How to print.")] = Layout.text,
    output: OutputOption = "-",
    html: Annotated[
        str | None, typer.Option(metavar="OUT", help="Also write a page with plots, in one file.")
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            help="List sentences instead: those lost under d<=1, say, or ill-nested, degree=2, "
            "gap-degree=1, crossings=5-9, words>50.",
        ),
    ] = None,
    order: Annotated[
        PairOrder, typer.Option(help="Which pairs of words are tried first.")
    ] = PairOrder.incremental,
    attardi: Annotated[
        bool,
        typer.Option(
            "--attardi",
            help="Show which degrees of Attardi's transition system the trees need instead.",
        ),
    ] = False,
    source: SourceFormatOption = Format.conllu,
    workers: WorkersOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """What constraints on trees would cost and save.

    Arcs and graphs lost, and pairs of words looked at, when Covington's algorithm runs with the
    gold trees as its oracle, under projectivity, bounds on the degree of non-projectivity, and
    weaker constraints, as in Nivre (2006).
    """
    stdin_once(*files)
    _check_usage(layout, output, html, show)
    if attardi and (html is not None or show is not None or order is not PairOrder.incremental):
        raise typer.BadParameter("--attardi goes without --html, --show and --order")
    named = list(zip(treebank_names(files), files, strict=True))
    if attardi:
        from crossarc.app.reports.degrees import FORMATS as DEGREE_FORMATS

        degrees = [(name, _degrees(file, source, on_error)) for name, file in named]
        _write(DEGREE_FORMATS[layout](degrees), output)
        return
    studies = [
        (name, _study(file, source, on_error, order, show, workers, has_page=html is not None))
        for name, file in named
    ]
    if show is not None:
        text = "\n".join(_listing(name, show, study) for name, study in studies)
    else:
        from crossarc.app.reports.tables import FORMATS

        text = FORMATS[layout](studies)
    _write(text, output, studies, html)


def _write(
    text: str,
    output: str,
    studies: Sequence[tuple[str, ConstraintStudy]] = (),
    html: str | None = None,
) -> None:
    """Write the text, and the page of the studies if there is to be one."""
    from crossarc.treebank import open_output

    # Both are opened before either replaces what was there.
    with ExitStack() as opened:
        opened.enter_context(open_output(output))(text.encode(errors="replace"))
        if html is not None:
            from crossarc.app.reports.report import report

            opened.enter_context(open_output(html))(report(studies).encode(errors="replace"))


def _check_usage(layout: Layout, output: str, html: str | None, show: str | None) -> None:
    if html is not None and html == output:
        raise typer.BadParameter(f"tables and page cannot both go to {output}; use -o FILE")
    if show is None:
        return
    if html is not None or layout is not Layout.text:
        raise typer.BadParameter("--show lists sentences as text; leave out --format and --html")
    if not re.fullmatch(_SHAPES, show):
        from crossarc.inference.transition import degree_bound

        try:
            degree_bound(show)
        except ValueError as error:
            raise typer.BadParameter(f"{error}; for --show also ill-nested, degree=2 ...") from None


def _study(
    file: str,
    source: Format,
    on_error: OnError,
    order: PairOrder,
    show: str | None,
    workers: int | None,
    *,
    has_page: bool,
) -> ConstraintStudy:
    from crossarc.analysis import Examples, study_constraints
    from crossarc.app.reports.report import EXAMPLES
    from crossarc.inference.transition import CONSTRAINTS

    reader = open_treebank(file, format=source, on_error=on_error)
    constraints, examples = CONSTRAINTS, Examples(limit=EXAMPLES if has_page else 0)
    if show is not None:
        constraints = () if re.fullmatch(_SHAPES, show) else (show,)
        examples = Examples(limit=None, only=show)
    headless = Headless(reader.name)
    sentences = headless.watch(Progress(reader))
    study = study_constraints(
        sentences, constraints, order=order.value, examples=examples, threads=workers
    )
    report_skipped(reader)
    _check_trees(study.sentences, study.profile.incomplete, reader.name)
    headless.report()
    return study


def _degrees(file: str, source: Format, on_error: OnError) -> DegreeStudy:
    from crossarc.analysis import study_degrees

    reader = open_treebank(file, format=source, on_error=on_error)
    headless = Headless(reader.name)
    study = study_degrees(headless.watch(Progress(reader)))
    report_skipped(reader)
    _check_trees(study.sentences, study.incomplete, reader.name)
    headless.report()
    return study


def _check_trees(sentences: int, incomplete: int, source: str) -> None:
    """Refuse a treebank without trees."""
    if sentences == 0:
        what = "no sentence has a head for every word" if incomplete else "there is no sentence"
        raise TreebankError(f"{what}; give a treebank with trees", source=source)


def _listing(name: str, which: str, study: ConstraintStudy) -> str:
    examples: Examples = study.examples
    found = examples.kept.get(which, [])
    kind = f"lost under {which}" if which in study.tallies else which
    lines = [f"{name}: {len(found):,} of {counted(study.sentences, 'sentence')}: {kind}"]
    for example in found:
        lines.append(f"{example.sent_id}\t{example.text}")
        if example.lost:
            lines.append(f"\tlost: {', '.join(example.lost_arcs)}")
    return "\n".join(lines) + "\n"
