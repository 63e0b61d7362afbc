"""Train all parts of a parser on one treebank."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from crossarc.errors import ModelError
from crossarc.learning import Progress
from crossarc.models.kinds import Kind, OptionError, TrainOptions
from crossarc.models.tagger import Tagger
from crossarc.parser.search import Report, train_best, train_one
from crossarc.text import Tokenizer
from crossarc.treebank import Sentence

__all__ = ["train_parts"]

_FOLDS = 5


def train_parts(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    kind: Kind,
    given: Mapping[str, Any],
    *,
    budget: float | None,
    predicted_tags: bool,
    text: bool,
    progress: Report | None,
) -> dict[str, Any]:
    """The attributes of a `Parser`; arguments as of `Parser.train`, `given` its options."""
    deadline = None if budget is None else time.monotonic() + budget
    if deadline is None and kind.usual is not None:
        given = {**kind.usual(given, sentences, dev), **given}
    options = kind.build_options(given)
    if budget is not None:
        _check_choice(kind, options)
    report = progress or _silent
    if not sentences:
        raise ModelError("there are no sentences to learn from: check the training file")
    resolved = options.resolved(sentences)
    parts: dict[str, Any] = {}
    if text:
        report("tokeniser", None)
        parts["tokenizer"] = Tokenizer.learn(sentences, dev=dev, seed=options.seed)
    learnt, held_out = sentences, dev
    if (text or predicted_tags) and _has_tags(sentences):
        report("tagger", None)
        tagger = Tagger.train(sentences, dev=dev or None, seed=options.seed)
        if text:
            parts["tagger"] = tagger
        if predicted_tags:
            report("tags for the parser to learn from", None)
            learnt, held_out = _predicted(tagger, sentences, dev, options)
    tried: list[dict[str, Any]] = []
    if deadline is None:
        found = train_one(kind, resolved, learnt, held_out, partial(report, "parser"))
    else:
        found, tried = train_best(kind, given, sentences, learnt, held_out, deadline, report)
    chosen = found.options
    # Neither the number of threads nor a checkpoint changes the model, nor its file.
    used = {k: v for k, v in asdict(chosen).items() if k not in ("threads", "checkpoint")}
    training = {
        **used,
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "predicted_tags": predicted_tags,
        **({"tried": tried} if tried else {}),
    }
    return {
        **parts,
        "model": found.model,
        "projective": chosen.projective,
        "root": chosen.root,
        "training": training | dict(found.scores),
    }


def _check_choice(kind: Kind, options: TrainOptions) -> None:
    """Refuse to choose among trainings where there is one, or where they would share a file."""
    if kind.variants is None:
        raise OptionError(f"the kind {kind.name!r} has nothing to choose: leave it out", "budget")
    if getattr(options, "checkpoint", None) is not None:
        raise OptionError("several trainings have no common checkpoint", "budget", "checkpoint")


def _predicted(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: TrainOptions,
) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
    """The sentences and the held-out ones, with tags as a tagger gives them to new text."""
    learnt = Tagger.jackknife(
        sentences,
        folds=min(_FOLDS, len(sentences)),
        seed=options.seed,
        threads=options.threads,
    )
    return learnt, list(tagger.tag(dev, threads=options.threads))


def _silent(stage: str, state: Progress | None) -> None:
    """No progress is shown."""


def _has_tags(sentences: Sequence[Sentence]) -> bool:
    return any(tag != "_" for one in sentences for tag in (*one.upos, *one.xpos))
