"""`crossarc induce`: trees from sentences without trees."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from crossarc.app.files import (
    OnError,
    OnErrorOption,
    Output,
    OutputFormatOption,
    WorkersOption,
    check_model_file,
    check_writable,
    counted,
    stdin_once,
)
from crossarc.app.induced import ModelName, StartName, Transitions, new_model
from crossarc.app.status import StatusLine
from crossarc.app.tables import text_table
from crossarc.app.words import (
    RootName,
    TokenizedOption,
    UnitName,
    UnitOption,
    read_sentences,
)
from crossarc.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crossarc.learning.em import EMState
    from crossarc.models.generative import BigramModel, DMVModel
    from crossarc.models.generative.accuracy import Attachment
    from crossarc.models.generative.model import GenerativeModel
    from crossarc.models.transition.em import EMResult
    from crossarc.treebank import Sentence

__all__ = ["induce"]


class _Words(NamedTuple):
    """Sentences, the words of each that are given to the model, and sentences of only these."""

    sentences: list[Sentence]
    words: list[NDArray[np.int64]]
    contents: list[Sentence]

    def up_to(self, longest: int | None) -> _Words:
        """Those that are not longer, by the words that are given to the model."""
        kept = [one for one in zip(*self, strict=True) if longest is None or len(one[1]) <= longest]
        return _Words(*(list(column) for column in zip(*kept, strict=True))) if kept else _NOTHING


_NOTHING = _Words([], [], [])

# An iteration of EM for the transition model takes O(n^7) for each sentence.
_LONGEST = {ModelName.bigram: 40, ModelName.dmv: 40, ModelName.transition: 15}
_STARTS = {
    ModelName.bigram: StartName.harmonic,
    ModelName.dmv: StartName.harmonic,
    ModelName.transition: StartName.uniform,
}


def induce(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Sentences to learn from.")],
    test: Annotated[
        str | None,
        typer.Option(metavar="TEST", help="Sentences to parse; by default those of FILE."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the parsed sentences; - is standard output. By default nowhere, "
            "and for sentences without trees -.",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Where to write the model.")
    ] = None,
    name: Annotated[
        ModelName,
        typer.Option(
            "--model",
            help="bigram: every word generates its modifiers, arcs may cross; dmv: the projective "
            "model with valence of Klein & Manning; transition: Attardi's system of degree 2.",
        ),
    ] = ModelName.bigram,
    unit: UnitOption = None,
    tokenized: TokenizedOption = False,
    punctuation: Annotated[
        bool,
        typer.Option(
            "--punctuation/--no-punctuation", help="Whether words with UPOS PUNCT are kept."
        ),
    ] = False,
    max_words: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Learn from and measure sentences of at most so many words; by default 40, for "
            "transition 15.",
            show_default=False,
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option(min=1, help="Words that are rarer are read as <unk>.")
    ] = 1,
    projective: Annotated[
        bool | None,
        typer.Option(
            "--projective/--nonprojective",
            help="Whether arcs may cross; by default they may, except for dmv.",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        RootName | None, typer.Option(help="Roots of a tree; by default one.", show_default=False)
    ] = None,
    direction: Annotated[
        bool, typer.Option(help="bigram: modifiers depend on the side of their head.")
    ] = True,
    distance: Annotated[
        bool, typer.Option(help="bigram: modifiers depend on their distance.")
    ] = True,
    stop: Annotated[
        bool,
        typer.Option(
            "--stop",
            help="bigram: words also generate STOP; needs --no-direction and --no-distance.",
        ),
    ] = False,
    start: Annotated[
        StartName | None,
        typer.Option(
            help="Where EM starts: arcs weigh 1 / distance (by default), all trees are alike (for "
            "transition by default), or random parameters.",
            show_default=False,
        ),
    ] = None,
    start_trees: Annotated[
        str | None,
        typer.Option(metavar="TREEBANK", help="Start from what these trees teach instead."),
    ] = None,
    restarts: Annotated[
        int, typer.Option(min=1, help="Random starts; the most probable result is kept.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random starts.")] = 0,
    prior: Annotated[
        float, typer.Option(min=0.0, help="Added to each expected count; above 0 for dmv.")
    ] = 0.1,
    anneal: Annotated[
        float,
        typer.Option(
            min=0.01, max=1.0, help="First exponent of the posterior; it grows by a quarter to 1."
        ),
    ] = 1.0,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations of EM, at most.")] = 100,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Stop when the objective rises by less of its size.")
    ] = 1e-5,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Written after each iteration; where it exists, EM goes on there."
        ),
    ] = None,
    figures: OutputFormatOption = Output.text,
    workers: WorkersOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Learn trees from sentences without trees, by EM.

    Where the sentences have trees, these are not looked at in learning, and the induced ones are
    compared with them: directed and undirected accuracy, beside chains in which each word is headed
    by the one before it (right-branching) or after it (left-branching).
    """
    stdin_once(file, test, start_trees)
    unit = unit or (UnitName.form if tokenized else UnitName.upos)
    options = {
        "projective": projective,
        "root": root and root.value,
        "direction": direction,
        "distance": distance,
        "stop": stop,
    }
    model = new_model(name, unit, min_count, options, start_trees)
    longest = max_words or _LONGEST[name]
    start = start or _STARTS[name]
    _check_start(name, start, start_trees, restarts, prior)
    if save is not None:
        check_model_file(str(save), "--save", file, test, start_trees)
    for path, flag in ((checkpoint, "--checkpoint"), (output, "-o")):
        if path not in (None, "-"):
            check_writable(str(path), flag)
    read = partial(_read, model=model, punctuation=punctuation, on_error=on_error)
    learnt = read(file, tokenized)
    parsed = learnt if test is None else read(test, tokenized)
    has_trees = any((one.heads >= 0).all() for one in parsed.up_to(longest).sentences)
    target = "-" if output is None and not has_trees else output
    if isinstance(model, Transitions) and target is not None:
        model.check_lengths(parsed.sentences, parsed.words)
    taught = None if start_trees is None else read(start_trees, False)
    status = StatusLine()
    state = model.fit_em(
        _short(learnt, longest, file),
        start=start.value if taught is None else _taught(model, taught),
        restarts=restarts,
        seed=seed,
        prior=prior,
        anneal=anneal,
        iterations=iterations,
        tolerance=tolerance,
        threads=workers,
        checkpoint=checkpoint,
        on_iteration=_shown_on(status, restarts),
    )
    status.clear()
    _report_end(name, state)
    if save is not None:
        model.save(save)
    if has_trees:
        stream = sys.stderr if target == "-" else sys.stdout
        print(_compared(model, parsed.up_to(longest), figures, workers), file=stream)
    if target is not None:
        _write(model, parsed, target, workers)


def _check_start(
    name: ModelName, start: StartName, start_trees: str | None, restarts: int, prior: float
) -> None:
    if restarts > 1 and (start is not StartName.random or start_trees is not None):
        raise typer.BadParameter("several restarts need --start random", param_hint="--restarts")
    if name is ModelName.dmv and prior == 0.0:
        raise typer.BadParameter("must be above 0 for dmv", param_hint="--prior")


def _taught(model: BigramModel | DMVModel | Transitions, trees: _Words) -> GenerativeModel:
    """A model of the same kind that has learnt from trees."""
    assert not isinstance(model, Transitions)
    return type(model)(**model.options()).fit(trees.contents)


def _read(
    path: str,
    tokenized: bool,
    model: GenerativeModel | Transitions,
    punctuation: bool,
    on_error: OnError,
) -> _Words:
    from crossarc.models.generative.accuracy import content_sentence, content_words
    from crossarc.models.generative.corpus import read_units

    sentences = read_sentences(path, tokenized, on_error)
    for one in sentences:
        read_units(one, model.unit)  # what is missing has a line here, and none later
    words = [content_words(one, punctuation=punctuation) for one in sentences]
    contents = [content_sentence(one, own) for one, own in zip(sentences, words, strict=True)]
    return _Words(sentences, words, contents)


def _short(learnt: _Words, max_words: int, file: str) -> list[Sentence]:
    found = learnt.up_to(max_words).contents
    if not found:
        raise ModelError(f"{file}: no sentence of at most {max_words} words: raise --max-words")
    return found


def _report_end(name: ModelName, state: EMState | EMResult) -> None:
    made = counted(len(state.objectives), "iteration")
    end = "converged" if state.converged else "not converged: raise --iterations"
    print(f"crossarc: {name}: {made}, {end}", file=sys.stderr)


def _compared(
    model: BigramModel | DMVModel | Transitions,
    parsed: _Words,
    figures: Output,
    workers: int | None,
) -> str:
    """Accuracies beside the trees of the input."""
    from crossarc.models.generative.accuracy import parse_content

    heads = parse_content(model, parsed.contents, threads=workers)
    return _figures(_accuracies(model.kind, parsed, heads), figures)


def _write(
    model: BigramModel | DMVModel | Transitions, parsed: _Words, target: str, workers: int | None
) -> None:
    from crossarc.models.generative.accuracy import parse_content, whole_heads
    from crossarc.treebank import write_conllu

    found = parse_content(model, parsed.contents, threads=workers)
    for sentence, words, heads in zip(parsed.sentences, parsed.words, found, strict=True):
        sentence.deprels = ["_"] * len(sentence)
        sentence.heads = whole_heads(heads, words, len(sentence))
    write_conllu(parsed.sentences, target)


def _accuracies(name: str, parsed: _Words, found: list[NDArray[np.int64]]) -> dict[str, Attachment]:
    from crossarc.models.generative.accuracy import Attachment, left_branching, right_branching

    rows = {"left-branching": Attachment(), "right-branching": Attachment(), name: Attachment()}
    for content, heads in zip(parsed.contents, found, strict=True):
        gold = content.heads
        if (gold >= 0).all():
            trees = left_branching(len(gold)), right_branching(len(gold)), heads
            for row, own in zip(rows, trees, strict=True):
                rows[row] += Attachment.compare(gold, own)
    return rows


def _figures(rows: dict[str, Attachment], figures: Output) -> str:
    if figures is Output.json:
        found = {"words": next(iter(rows.values())).words}
        flat: dict[str, float] = dict(found)
        for name, one in rows.items():
            key = name.replace("-", "_")
            flat |= {f"{key}_directed": one.directed, f"{key}_undirected": one.undirected}
        return json.dumps(flat)
    table = [("", "words", "directed %", "undirected %")]
    table += [
        (name, f"{one.words:,}", f"{one.directed:.2f}", f"{one.undirected:.2f}")
        for name, one in rows.items()
    ]
    return text_table(table)


def _shown_on(status: StatusLine, restarts: int) -> Callable[[int, EMState | EMResult], None]:
    """Progress on a terminal: a line that changes."""

    def show(restart: int, state: EMState | EMResult) -> None:
        objectives = state.objectives
        run = f"start {restart + 1}/{restarts}, " if restarts > 1 else ""
        rise = objectives[-1] - objectives[-2] if len(objectives) > 1 else 0.0
        iteration = f"iteration {len(objectives)}: objective {objectives[-1]:,.2f} (+{rise:,.2f})"
        status.show(run + iteration)

    return show
