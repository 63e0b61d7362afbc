"""`crossarc train`: a parser from a treebank."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crossarc.app.files import (
    OnError,
    OnErrorOption,
    WorkersOption,
    check_model_file,
    counted,
    read_trees,
    refused_options,
    stdin_once,
)
from crossarc.app.status import StatusLine
from crossarc.errors import ModelError
from crossarc.models.kinds import OptionError, find_kind, kind_names

if TYPE_CHECKING:
    from crossarc.learning import Progress as Passes
    from crossarc.parser import Parser
    from crossarc.treebank import Sentence

__all__ = ["train"]

_BEST = "combined"
# Words of a pass over the treebank that one second is enough for: on two cores, and on a large GPU.
_WORDS_PER_SECOND = {"cpu": 1_300.0, "cuda": 20_000.0}
_DEVICE_NAMES = {"cpu": "CPU with two cores", "cuda": "large GPU"}
_SUMMARIES = "; ".join(f"{name}: {find_kind(name).summary}" for name in kind_names())


def train(
    file: Annotated[str, typer.Argument(metavar="TRAIN", help="Treebank to learn from.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")
    ],
    dev: Annotated[
        str | None,
        typer.Option(
            metavar="DEV", help="Held-out treebank: decides when to stop and how sure to be."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(kind_names()),
            help=f"{_SUMMARIES}. By default graph.",
            show_default=False,
        ),
    ] = None,
    best: Annotated[
        bool,
        typer.Option("--best", help="As accurate as can be, whatever the time: kind combined."),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Choose what is not given by trial, within 90s, 10m or 2h. Kind graph.",
            show_default=False,
        ),
    ] = None,
    projective: Annotated[
        bool | None,
        typer.Option(
            "--projective/--nonprojective",
            help="Whether arcs may cross; by default as in the treebank.",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            metavar="single|multi", help="Roots of a tree; by default as in the treebank."
        ),
    ] = None,
    predicted_tags: Annotated[
        bool,
        typer.Option(
            "--predicted-tags", help="Learn from predicted tags: for a parser of raw text."
        ),
    ] = False,
    passes: Annotated[
        int | None, typer.Option(min=1, help="Passes over the treebank, at most.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of sentences.")] = 0,
    workers: WorkersOption = None,
    on_error: OnErrorOption = OnError.stop,
    **of_kind: Any,
) -> None:
    """Train a parser on a treebank.

    It has a tokeniser and a tagger, so that it can parse raw text, too.
    """
    from crossarc.parser import Parser

    if best and kind not in (None, _BEST):
        raise typer.BadParameter(f"is the kind {_BEST!r}: give one of the two", param_hint="--best")
    kind = kind or (_BEST if best else "graph")
    options = {"projective": projective, "root": root, "passes": passes, **of_kind}
    given = {name: value for name, value in options.items() if value is not None}
    with refused_options():
        find_kind(kind).build_options(given)
        seconds = None if budget is None else _seconds(budget)
    stdin_once(file, dev)
    check_model_file(output, "-o", file, dev)
    sentences = read_trees(file, on_error)
    held_out = None if dev is None else read_trees(dev, on_error)
    _warn(file, sentences)
    if best:
        _say_how_long(sentences, given)
    status = StatusLine()
    with refused_options():
        parser = Parser.train(
            sentences,
            held_out,
            kind=kind,
            budget=seconds,
            predicted_tags=predicted_tags,
            seed=seed,
            threads=workers,
            progress=_shown_on(status),
            **given,
        )
    status.clear()
    _save(parser, output)
    _say_what_was_learnt(parser, output)


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(text: str) -> float:
    """A time as people write it."""
    number, unit = text[:-1], text[-1:]
    try:
        seconds = float(number) * _UNITS[unit]
    except (KeyError, ValueError):
        seconds = 0.0
    if not 0.0 < seconds < math.inf:
        raise OptionError(f"must be a time such as 90s, 10m or 2h: got {text!r}", "budget")
    return seconds


def _kind_flags() -> list[inspect.Parameter]:
    """A flag for each option that some kind has and declares to be one."""
    flags: dict[str, dict[str, Mapping[str, Any]]] = {}
    for kind in kind_names():
        for one in fields(find_kind(kind).options):
            if "flag" in one.metadata:
                flags.setdefault(one.name, {})[kind] = one.metadata
    return [_flag(name, owners) for name, owners in flags.items()]


def _flag(name: str, owners: Mapping[str, Mapping[str, Any]]) -> inspect.Parameter:
    """One flag for all kinds that have the option; the first says what values look like."""
    metadata = next(iter(owners.values()))
    shown = metadata["flag"]
    kinds_by_help: dict[str, list[str]] = {}
    for kind, own in owners.items():
        kinds_by_help.setdefault(own["flag"]["help"], []).append(kind)
    helps = [f"Kind {' or '.join(kinds)}: {text}" for text, kinds in kinds_by_help.items()]
    if len(owners) == len(kind_names()) and len(helps) == 1:
        helps = [shown["help"]]
    information = typer.Option(
        f"--{name.replace('_', '-')}",
        min=metadata["minimum"],
        metavar=shown["metavar"] or "|".join(metadata["choices"] or ()) or None,
        help=" ".join(helps),
        show_default=False,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[shown["type"] | None, information],
    )


def _with_kind_flags(command: Callable[..., None]) -> None:
    """Let Typer see the flags of kinds in place of the keyword arguments."""
    own = inspect.signature(command, eval_str=True)
    named = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    everything = own.replace(parameters=[*named, *_kind_flags()])
    command.__signature__ = everything  # type: ignore[attr-defined]
    command.__annotations__ = {
        **{one.name: one.annotation for one in everything.parameters.values()},
        "return": None,
    }


_with_kind_flags(train)


def _save(parser: Parser, output: str) -> None:
    """Save the parser; where that fails, among the temporary files: training takes long."""
    try:
        parser.save(output)
    except OSError as error:
        spare = _saved_elsewhere(parser, Path(output).name)
        if spare is None:
            raise
        raise ModelError(
            f"{output}: {error.strerror}; the model is in {spare}: move it where there is room"
        ) from None


def _saved_elsewhere(parser: Parser, name: str) -> Path | None:
    import tempfile

    try:
        folder = Path(tempfile.mkdtemp(prefix="crossarc-"))
    except OSError:
        return None
    try:
        parser.save(folder / name)
    except OSError:
        folder.rmdir()
        return None
    return folder / name


def _warn(path: str, sentences: list[Sentence]) -> None:
    fields = {"UPOS": "upos", "DEPREL": "deprels"}
    for column, name in fields.items():
        if all(value == "_" for one in sentences for value in getattr(one, name)):
            print(
                f"crossarc: {path}: {column} is empty: the parser will know none", file=sys.stderr
            )


def _say_how_long(sentences: list[Sentence], given: Mapping[str, Any]) -> None:
    """An estimate, as the training of a network takes long; it is by far the longest part."""
    options: Any = find_kind(_BEST).build_options(given)
    device = "cuda" if (options.device or _default_device()).startswith("cuda") else "cpu"
    networks = options.members.split(",").count("neural")
    words = sum(map(len, sentences)) * options.passes * networks
    minutes = words / _WORDS_PER_SECOND[device] / 60.0
    print(
        f"crossarc: training takes about {minutes:.0f} minutes on a {_DEVICE_NAMES[device]}",
        file=sys.stderr,
    )


def _default_device() -> str:
    from crossarc.models.neural.torch_engine import default_device

    return str(default_device())


def _say_what_was_learnt(parser: Parser, output: str) -> None:
    about = parser.training
    for trial in about.get("tried", ()):
        print(f"crossarc: tried {_described(trial)}", file=sys.stderr)
    degree = about.get("max_degree")
    crossing = f"degree at most {degree}" if degree else "non-projective"
    order = f"order {about['order']}, " if about.get("order", 1) > 1 else ""
    trees = f"{order}{'projective' if parser.projective else crossing}, {parser.root} root"
    dev = f"; dev UAS {about['uas']:.2f}, LAS {about['las']:.2f}" if "las" in about else ""
    size = Path(output).stat().st_size / 1e6
    print(
        f"crossarc: {output}: {size:.1f} MB, learnt from {counted(about['words'], 'word')} "
        f"({trees}){dev}",
        file=sys.stderr,
    )


def _described(trial: Mapping[str, Any]) -> str:
    """A line of what was tried: options, scores in capitals, seconds."""
    named = dict(trial)
    projective = named.pop("projective", None)
    seconds = named.pop("seconds")
    words = [] if projective is None else ["projective" if projective else "non-projective"]
    for name, value in named.items():
        words.append(
            f"{name.upper()} {value:.2f}" if isinstance(value, float) else f"{name} {value}"
        )
    return f"{', '.join(words)} ({seconds:.0f} s)"


def _shown_on(status: StatusLine) -> Callable[[str, Passes | None], None]:
    """Progress on a terminal: a line that changes, and one that stays for each pass."""

    def show(stage: str, state: Passes | None) -> None:
        if state is None:
            status.show(f"training the {stage} ...")
            return
        line = (
            f"pass {state.number}/{state.passes} {state.share:4.0%}  loss {state.loss:.3f}  "
            f"{state.words_per_second:,.0f} words/s  {_time(state.seconds_left)} left"
        )
        measured = [f"dev {name.upper()} {value:.2f}" for name, value in state.scores.items()]
        if state.objective is not None:
            measured.insert(0, f"objective {state.objective:.6g}")
        status.show("  ".join([line, *measured]), stays=bool(measured))

    return show


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
