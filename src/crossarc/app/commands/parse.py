"""`crossarc parse`: trees for sentences or raw text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.files import (
    ModelOption,
    OnError,
    OnErrorOption,
    OutputOption,
    Progress,
    WorkersOption,
    open_treebank,
    refused_options,
    report_skipped,
)

if TYPE_CHECKING:
    from crossarc.parser import Parser
    from crossarc.parser.options import ParseKeywords
    from crossarc.treebank import Sentence

__all__ = ["chosen_parser", "parse"]


def parse(
    file: Annotated[str, typer.Argument(metavar="IN", help="Treebank, or text with --text.")] = "-",
    model: ModelOption = None,
    output: OutputOption = "-",
    text: Annotated[bool, typer.Option("--text", help="The input is raw text.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Say how sure each head and relation is.")
    ] = False,
    kbest: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="The K best trees of each sentence.")
    ] = None,
    min_risk: Annotated[
        bool, typer.Option("--min-risk", help="The tree with the most expected right heads.")
    ] = False,
    keep_heads: Annotated[
        bool, typer.Option("--keep-heads", help="Complete trees: HEADs that are given stay.")
    ] = False,
    retag: Annotated[
        bool, typer.Option("--retag", help="Replace the tags and lemmas of the input.")
    ] = False,
    projective: Annotated[
        bool | None,
        typer.Option(
            "--projective/--nonprojective",
            help="Whether arcs may cross; by default as the parser was trained.",
            show_default=False,
        ),
    ] = None,
    workers: WorkersOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Parse sentences or raw text; HEAD and DEPREL of the input are replaced."""
    from crossarc.parser import ParseOptions
    from crossarc.treebank import write_conllu

    options: ParseKeywords = {
        "probabilities": probabilities,
        "kbest": kbest,
        "min_risk": min_risk,
        "keep_heads": keep_heads,
        "retag": retag,
        "projective": projective,
        "threads": workers,
    }
    with refused_options():
        ParseOptions.build(dict(options), text=text)
    parser = chosen_parser(model, text)
    if text:
        from crossarc.text import read_text

        write_conllu(parser.parse_text(read_text(file), **options), output)
        return
    reader = open_treebank(file, on_error=on_error)
    sentences: Iterable[Sentence] = Progress(reader)
    write_conllu(parser.parse(sentences, **options), output)
    report_skipped(reader)


def chosen_parser(model: str | None, text: bool = False) -> Parser:
    """The parser that was asked for, else by `CROSSARC_MODEL`, else for text the English one."""
    from crossarc.parser import Parser, shipped_models

    name = model or os.environ.get("CROSSARC_MODEL")
    if name is None and text and "en" in shipped_models():
        name = "en"
        print("crossarc: parsing with the English model (-m en)", file=sys.stderr)
    if name is None:
        names = ", ".join(shipped_models()) or "none"
        raise typer.BadParameter(
            f"which model? Give a file of `crossarc train`, or a model that comes with crossarc: "
            f"{names}",
            param_hint="-m",
        )
    return Parser.load(name)
