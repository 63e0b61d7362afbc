"""`crossarc parse`: trees for sentences or raw text."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, cast

import typer

from crossarc.app.files import (
    SAMPLE,
    ModelOption,
    OnError,
    OnErrorOption,
    Progress,
    WorkersOption,
    file_stem,
    open_treebank,
    refused_options,
    report_refused,
    report_skipped,
    stdin_once,
    with_hint,
)

if TYPE_CHECKING:
    from crossarc.parser import Parser
    from crossarc.parser.options import ParseKeywords
    from crossarc.treebank import Sentence

__all__ = ["chosen_parser", "parse"]


def parse(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="IN...",
            help="Treebanks, or text with --text, --lines or --tokenized; standard input if none.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Where to write: a file, or a folder for a file an input; - is standard output.",
        ),
    ] = "-",
    text: Annotated[bool, typer.Option("--text", help="The input is raw text.")] = False,
    lines: Annotated[
        bool, typer.Option("--lines", help="The input is raw text, one sentence a line.")
    ] = False,
    tokenized: Annotated[
        bool,
        typer.Option("--tokenized", help="One sentence a line, its words divided by spaces."),
    ] = False,
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
    """Parse sentences or raw text.

    HEAD and DEPREL of the input are replaced.

    From a pipe or a terminal, trees are written as soon as the input waits; with --text when a
    quarter of a million characters have come, or the input ends.
    """
    from crossarc.parser import ParseOptions

    paths = files or ["-"]
    stdin_once(*paths)
    form = _input_form(text, lines, tokenized)
    options: ParseKeywords = {
        "probabilities": probabilities,
        "kbest": kbest,
        "min_risk": min_risk,
        "keep_heads": keep_heads,
        "retag": retag,
        "projective": projective,
        "threads": workers,
        "on_limit": report_refused if on_error is OnError.skip else None,
    }
    with refused_options():
        ParseOptions.build(dict(options), text=form is not None)
    outputs = _outputs(paths, output)
    parser = chosen_parser(model, form is not None)
    for path, target in zip(paths, outputs, strict=True):
        _parse_one(parser, path, target, form, options, on_error)


def _input_form(text: bool, lines: bool, tokenized: bool) -> str | None:
    """Which kind of text the input is; None for a treebank."""
    chosen = [
        name
        for name, is_given in (("text", text), ("lines", lines), ("tokenized", tokenized))
        if is_given
    ]
    if len(chosen) > 1:
        flags = " / ".join(f"--{name}" for name in chosen)
        raise typer.BadParameter("the input has one form: give one of them", param_hint=flags)
    return chosen[0] if chosen else None


def _outputs(paths: list[str], output: str) -> list[str]:
    """Where the parse of each input goes; checked before any work."""
    for path in paths:
        if path not in ("-", SAMPLE):
            Path(path).stat()
    if not output.endswith(os.sep) and not Path(output).is_dir():
        if len(paths) > 1 and output != "-":
            raise typer.BadParameter(
                f"{output} is one file, and there are {len(paths)} inputs: give a folder, such as "
                f"{output}{os.sep}",
                param_hint="-o",
            )
        return [output] * len(paths)
    Path(output).mkdir(parents=True, exist_ok=True)
    targets = [str(Path(output) / f"{_name(path)}.conllu") for path in paths]
    for path, target in zip(paths, targets, strict=True):
        if targets.count(target) > 1:
            raise typer.BadParameter(
                f"{target} would hold several inputs: rename one of them", param_hint="-o"
            )
        if Path(target).exists() and Path(path).exists() and Path(target).samefile(path):
            raise typer.BadParameter(
                f"{target} is an input: write to another folder", param_hint="-o"
            )
    return targets


def _name(path: str) -> str:
    return {"-": "stdin", SAMPLE: "sample"}.get(path) or file_stem(path)


def _parse_one(
    parser: Parser,
    path: str,
    target: str,
    form: str | None,
    options: ParseKeywords,
    on_error: OnError,
) -> None:
    from crossarc.treebank import write_conllu

    source = _waiting_stdin() if path == "-" else None
    if form is None:
        reader = open_treebank(source or path, on_error=on_error)
        hinted = with_hint(reader, "raw text, add --text, --lines or --tokenized")
        parsed = _parsed(parser, hinted, source is not None, options)
        write_conllu(Progress(parsed, reader.name, quiet=target == "-"), target)
        report_skipped(reader)
        return
    from crossarc.parser.lines import line_sentences, split_lines
    from crossarc.text import read_text

    pieces = read_text(source or path)
    if form == "text":
        sentences = parser.needed_tokenizer.tokenize(pieces)
    else:
        tokenizer = None if form == "tokenized" else parser.needed_tokenizer
        sentences = line_sentences(split_lines(pieces), tokenizer)
    parsed = _parsed(parser, sentences, source is not None, options)
    write_conllu(Progress(parsed, path, quiet=target == "-"), target)


def _waiting_stdin() -> IO[bytes] | None:
    """Standard input, if it may wait: a pipe or a terminal, not a file.

    A thread reads it. Unbuffered, since the interpreter cannot end while a thread waits for the
    buffered one.
    """
    number = sys.stdin.fileno()
    if stat.S_ISREG(os.fstat(number).st_mode):
        return None
    file = io.FileIO(number, closefd=False)
    file.name = "<stdin>"
    return cast(IO[bytes], file)


def _parsed(
    parser: Parser, sentences: Iterator[Sentence], may_wait: bool, options: ParseKeywords
) -> Iterator[Sentence]:
    """Parsed sentences; where the input may wait, what is finished is written before."""
    if may_wait:
        return parser.pipe(sentences, on_wait=sys.stdout.buffer.flush, **options)
    return parser.parse(sentences, **options)


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
