"""`crossarc parse`: trees for sentences or raw text."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property, partial
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
    counted,
    file_stem,
    refused_options,
    report_refused,
    report_skipped,
    stdin_once,
)

if TYPE_CHECKING:
    from crossarc.parser import Parser
    from crossarc.parser.options import ParseKeywords
    from crossarc.scale.corpus import Form, Outcome, Shard
    from crossarc.scale.parsing import CorpusParser

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
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With -o FOLDER/: leave out inputs that an earlier run has finished.",
        ),
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Parse every N-th input only, from the I-th: a share of the work.",
            show_default=False,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS",
            help="With -o FOLDER/: parse on a Ray cluster, a file at a time on each core.",
            show_default=False,
        ),
    ] = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Parse sentences or raw text.

    HEAD and DEPREL of the input are replaced.

    From a pipe or a terminal, trees are written as soon as the input waits; with --text when a
    quarter of a million characters have come, or the input ends.
    """
    from crossarc.parser import ParseOptions
    from crossarc.scale.corpus import share

    part = None if shard is None else _part(shard)
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
    shards = share(_shards(paths, output), part)
    if not _is_folder(output) or "-" in paths:
        _refuse_for_streams(resume, ray)
    name = chosen_model(model, form is not None)
    job = _Job(name, options, form, on_error)
    if resume:
        shards = job.unfinished(shards)
    if shards and ray is not None:
        job.run_on_cluster(shards, ray)
    elif shards:
        job.run(shards, _is_folder(output))


def _refuse_for_streams(resume: bool, ray: str | None) -> None:
    for flag, is_given in (("--resume", resume), ("--ray", ray is not None)):
        if is_given:
            raise typer.BadParameter(
                "goes from files to a folder: give files, and -o FOLDER/", param_hint=flag
            )


def _input_form(text: bool, lines: bool, tokenized: bool) -> Form:
    """Which kind of text the input is; None for a treebank."""
    chosen = [
        name
        for name, is_given in (("text", text), ("lines", lines), ("tokenized", tokenized))
        if is_given
    ]
    if len(chosen) > 1:
        flags = " / ".join(f"--{name}" for name in chosen)
        raise typer.BadParameter("the input has one form: give one of them", param_hint=flags)
    return cast("Form", chosen[0]) if chosen else None


def _part(text: str) -> tuple[int, int]:
    """Which part of how many: I/N."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise typer.BadParameter(
            f"must be I/N with 1 <= I <= N: got {text!r}", param_hint="--shard"
        )
    return int(part), int(parts)


def _is_folder(output: str) -> bool:
    return output.endswith("/") or Path(output).is_dir()


def _shards(paths: list[str], output: str) -> list[Shard]:
    """Where the parse of each input goes; checked before any work."""
    from crossarc.scale.corpus import Shard
    from crossarc.scale.paths import check_input, is_url, join, make_folder, matching
    from crossarc.treebank import SAMPLE_PATH

    paths = [file for path in paths for file in matching(path)]
    for path in paths:
        if path not in ("-", SAMPLE):
            check_input(path)
    sources = [str(SAMPLE_PATH) if path == SAMPLE else path for path in paths]
    if not _is_folder(output):
        if len(paths) > 1 and output != "-":
            raise typer.BadParameter(
                f"{output} is one file, and there are {len(paths)} inputs: give a folder, such as "
                f"{output}/",
                param_hint="-o",
            )
        return [Shard(source, output) for source in sources]
    make_folder(output)
    targets = [join(output, f"{_name(path)}.conllu") for path in paths]
    inputs = Counter(targets)
    for source, target in zip(sources, targets, strict=True):
        if inputs[target] > 1:
            raise typer.BadParameter(
                f"{target} would hold several inputs: rename one of them", param_hint="-o"
            )
        is_local = source != "-" and not is_url(source) and not is_url(target)
        if is_local and Path(target).exists() and Path(target).samefile(source):
            raise typer.BadParameter(
                f"{target} is an input: write to another folder", param_hint="-o"
            )
    return [Shard(*pair) for pair in zip(sources, targets, strict=True)]


def _name(path: str) -> str:
    return {"-": "stdin", SAMPLE: "sample"}.get(path) or file_stem(path)


@dataclass(frozen=True)
class _Job:
    """What is done with each input."""

    model: str
    options: ParseKeywords
    form: Form
    on_error: OnError

    @cached_property
    def recipe(self) -> str:
        """The checksum of all that the output depends on beside the input."""
        from crossarc import __version__
        from crossarc.parser.files import find_model
        from crossarc.scale.manifest import recipe

        others = {"form": self.form, "on_error": self.on_error, "version": __version__}
        options = {name: one for name, one in self.options.items() if name != "threads"}
        return recipe(str(find_model(self.model)), {**options, **others})

    def unfinished(self, shards: list[Shard]) -> list[Shard]:
        """The inputs that an earlier run has not finished."""
        from crossarc.scale.corpus import is_finished

        found = [one for one in shards if not is_finished(one, self.recipe)]
        done = len(shards) - len(found)
        print(
            f"crossarc: {done:,} of {counted(len(shards), 'input')} are finished", file=sys.stderr
        )
        return found

    def run(self, shards: list[Shard], is_folder: bool) -> None:
        """Parse all inputs on this machine."""
        from crossarc.scale.corpus import parse_to_folder
        from crossarc.scale.parsing import CorpusParser

        workers = self.options["threads"]
        with CorpusParser(self.model, self.options, workers=workers) as corpus:
            for shard in shards:
                if is_folder and shard.source != "-":
                    skip = self.on_error is OnError.skip
                    outcome = parse_to_folder(
                        corpus, shard, self.form, self.recipe, skip=skip, watch=Progress
                    )
                else:
                    outcome = self._stream(corpus, shard)
                report(outcome)

    def run_on_cluster(self, shards: list[Shard], address: str) -> None:
        """Parse all inputs on a cluster."""
        from crossarc.scale.cluster import ShardParser, cluster, parse_on_cluster
        from crossarc.scale.corpus import Shard

        parser = ShardParser(
            self.model, self.options, self.form, self.recipe, self.on_error is OnError.skip
        )
        absolute = [Shard(*map(_absolute, one)) for one in shards]
        actors = self.options["threads"]
        # Ray says on standard output when a node is lost.
        with redirect_stdout(sys.stderr), cluster(address) as ray:
            parse_on_cluster(ray, parser, absolute, actors=actors, on_outcome=report)

    def _stream(self, corpus: CorpusParser, shard: Shard) -> Outcome:
        """Parse one input to a file or standard output."""
        from crossarc.scale.corpus import parse_shard

        stream = _waiting_stdin() if shard.source == "-" else None
        return parse_shard(
            corpus,
            shard,
            self.form,
            skip=self.on_error is OnError.skip,
            watch=partial(Progress, quiet=shard.target == "-"),
            stream=stream,
            on_wait=None if stream is None else sys.stdout.buffer.flush,
        )


def _absolute(path: str) -> str:
    """The path as processes with another working directory need it."""
    from crossarc.scale.paths import is_url

    return path if is_url(path) else os.path.abspath(path)


def report(outcome: Outcome) -> None:
    """Say on stderr what could not be read or parsed."""
    from crossarc.scale.corpus import errors_of

    report_skipped(outcome)
    if outcome.set_aside:
        file = errors_of(outcome.target)
        kept = f"; they are in {file}" if file is not None else ""
        print(
            f"crossarc: {outcome.name}: left out {counted(outcome.set_aside, 'sentence')} that "
            f"cannot be parsed{kept}; the first: {outcome.first_failure}",
            file=sys.stderr,
        )


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


def chosen_parser(model: str | None) -> Parser:
    """The parser that was asked for, else by `CROSSARC_MODEL`."""
    from crossarc.parser import Parser

    return Parser.load(chosen_model(model))


def chosen_model(model: str | None, text: bool = False) -> str:
    """The model that was asked for, else by `CROSSARC_MODEL`, else for text the English one."""
    from crossarc.parser import shipped_models

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
    return name
