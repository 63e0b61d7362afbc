"""`crossarc perplexity`: how probable words are to a tree model, an n-gram model and both."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from crossarc.app.files import (
    OnError,
    OnErrorOption,
    Output,
    OutputFormatOption,
    WorkersOption,
    stdin_once,
)
from crossarc.app.induced import Transitions, load_induced
from crossarc.app.tables import text_table
from crossarc.app.words import (
    RootName,
    TokenizedOption,
    UnitName,
    UnitOption,
    read_sentences,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crossarc.models.generative.corpus import Unit
    from crossarc.models.generative.model import GenerativeModel
    from crossarc.treebank import Sentence

__all__ = ["perplexity"]

# Without held-out text, every tenth sentence of the training text is held out.
_HELD_OUT = 10


class _Row(NamedTuple):
    """A model, log p(x | n) of the sentences, and its weight in the mixture."""

    name: str
    log_probs: NDArray[np.float64]
    weight: float | None = None


def perplexity(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Text to measure.")],
    train: Annotated[
        str | None,
        typer.Option(
            metavar="TRAIN",
            help="Text of the n-gram model; without -m its trees also teach a bigram model.",
        ),
    ] = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Text that the weights of the mixture are fitted to; by default every tenth "
            "sentence of TRAIN, which the models then do not learn from.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL", help="A model file of `crossarc induce`."),
    ] = None,
    unit: UnitOption = None,
    tokenized: TokenizedOption = False,
    punctuation: Annotated[
        bool,
        typer.Option(
            "--punctuation/--no-punctuation",
            help="Whether words with UPOS PUNCT are kept; models of `crossarc induce` have none "
            "by default.",
        ),
    ] = True,
    order: Annotated[int, typer.Option(min=1, help="Words in an n-gram.")] = 3,
    min_count: Annotated[
        int, typer.Option(min=1, help="Words of TRAIN that are rarer are read as <unk>.")
    ] = 2,
    max_words: Annotated[
        int | None, typer.Option(min=1, help="Leave longer sentences of FILE out.")
    ] = None,
    projective: Annotated[
        bool, typer.Option("--projective/--nonprojective", help="Whether arcs may cross.")
    ] = False,
    root: Annotated[RootName, typer.Option(help="Roots of a tree.")] = RootName.single,
    figures: OutputFormatOption = Output.text,
    workers: WorkersOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Perplexity of tree models and n-gram models.

    Per word, also of their interpolation.

    All give the probability of the words of a sentence given their number, p(x | n): n-grams have
    no end symbol. Sentences are interpolated, not words, with weights by EM on held-out text.
    """
    stdin_once(file, train, held_out)
    _check_usage(train, held_out, model, tokenized)

    def read(path: str) -> list[Sentence]:
        return _contents(read_sentences(path, tokenized, on_error), punctuation)

    learnt = [] if train is None else read(train)
    fitted: list[Sentence] = []
    if held_out is not None:
        fitted = read(held_out)
    elif train is not None:
        fitted = learnt[::_HELD_OUT]
        learnt = [one for index, one in enumerate(learnt) if index % _HELD_OUT]
    tree_model = _tree_model(model, learnt, unit, min_count, projective, root)
    sentences = [one for one in read(file) if max_words is None or len(one) <= max_words]
    rows = _rows(tree_model, learnt, fitted, sentences, order, workers)
    print(_figures(rows, sentences, figures))


def _check_usage(
    train: str | None, held_out: str | None, model: str | None, tokenized: bool
) -> None:
    if model is None and train is None:
        raise typer.BadParameter("give a model with -m, or a text to learn from with --train")
    if held_out is not None and train is None:
        raise typer.BadParameter("needs --train", param_hint="--held-out")
    if tokenized and model is None:
        raise typer.BadParameter(
            "lines of words teach no tree model: give one with -m", param_hint="--tokenized"
        )


def _contents(sentences: list[Sentence], punctuation: bool) -> list[Sentence]:
    """Sentences with or without punctuation."""
    from crossarc.models.generative.accuracy import content_sentence, content_words

    words = [content_words(one, punctuation=punctuation) for one in sentences]
    return [content_sentence(one, own) for one, own in zip(sentences, words, strict=True)]


def _tree_model(
    path: str | None,
    learnt: list[Sentence],
    unit: UnitName | None,
    min_count: int,
    projective: bool,
    root: RootName,
) -> GenerativeModel | Transitions:
    """The model of a file, or one learnt from trees."""
    from crossarc.models.generative import BigramModel

    if path is None:
        chosen = cast("Unit", str(unit or UnitName.upos))
        made = BigramModel(chosen, projective=projective, root=root.value, min_count=min_count)
        return made.fit(learnt)
    read = load_induced(path)
    if unit is not None and unit.value != read.unit:
        raise typer.BadParameter(f"the model has the unit {read.unit}", param_hint="--unit")
    return read


def _rows(
    model: GenerativeModel | Transitions,
    learnt: list[Sentence],
    fitted: list[Sentence],
    sentences: list[Sentence],
    order: int,
    workers: int | None,
) -> list[_Row]:
    import numpy as np

    from crossarc.models.generative.ngrams import NgramModel, log_mixture, mixture_weights

    def by_trees(some: list[Sentence]) -> NDArray[np.float64]:
        return np.array(model.log_prob_given_length(some, threads=workers))

    if not learnt:
        return [_Row(model.kind, by_trees(sentences))]
    ngrams = NgramModel(model.unit, model.vocabularies, order=order).fit(learnt)
    weights = mixture_weights(np.stack([ngrams.log_probs(fitted), by_trees(fitted)]))
    both = np.stack([ngrams.log_probs(sentences), by_trees(sentences)])
    return [
        _Row(f"{order}-gram", both[0], float(weights[0])),
        _Row(model.kind, both[1], float(weights[1])),
        _Row("interpolated", log_mixture(weights, both)),
    ]


def _figures(rows: list[_Row], sentences: list[Sentence], figures: Output) -> str:
    words = sum(map(len, sentences))
    means = {one.name: float(one.log_probs.sum()) / max(words, 1) for one in rows}
    if figures is Output.json:
        flat: dict[str, float | None] = {"sentences": len(sentences), "words": words}
        for one in rows:
            key = one.name.replace("-", "")
            value = math.exp(-means[one.name])
            flat[f"{key}_perplexity"] = value if math.isfinite(value) else None
            if one.weight is not None:
                flat[f"{key}_weight"] = one.weight
        return json.dumps(flat)
    table = [(f"{len(sentences):,} sentences, {words:,} words", "perplexity", "weight")]
    table += [
        (
            one.name,
            f"{math.exp(-means[one.name]):.3f}",
            "-" if one.weight is None else f"{one.weight:.3f}",
        )
        for one in rows
    ]
    return text_table(table)
