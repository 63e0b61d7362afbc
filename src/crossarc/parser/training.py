"""Train all parts of a parser on one treebank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from crossarc.errors import ModelError
from crossarc.learning import Progress
from crossarc.models.kinds import Kind, TrainOptions
from crossarc.models.tagger import Tagger
from crossarc.text import Tokenizer
from crossarc.treebank import Sentence

__all__ = ["train_parts"]

Report = Callable[[str, Progress | None], None]

_FOLDS = 5


def train_parts(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    kind: Kind,
    options: TrainOptions,
    *,
    predicted_tags: bool,
    text: bool,
    progress: Report | None,
) -> dict[str, Any]:
    """The attributes of a `Parser`; arguments as of `Parser.train`."""
    report = progress or _silent
    if not sentences:
        raise ModelError("there are no sentences to learn from: check the training file")
    parts: dict[str, Any] = {}
    if text:
        report("tokeniser", None)
        parts["tokenizer"] = Tokenizer.learn(sentences, seed=options.seed)
    learnt, held_out = sentences, dev
    if (text or predicted_tags) and _has_tags(sentences):
        report("tagger", None)
        tagger = Tagger.train(sentences, dev=dev or None, seed=options.seed)
        if text:
            parts["tagger"] = tagger
        if predicted_tags:
            report("tags for the parser to learn from", None)
            learnt = Tagger.jackknife(
                sentences,
                folds=min(_FOLDS, len(sentences)),
                seed=options.seed,
                threads=options.threads,
            )
            held_out = list(tagger.tag(dev, threads=options.threads))
    best: dict[str, float] = {}

    def on_progress(state: Progress) -> None:
        deciding = next(iter(state.scores), None)
        if deciding is not None and state.scores[deciding] > best.get(deciding, -1.0):
            best.update(state.scores)
        report("parser", state)

    chosen = options.resolved(sentences)
    parts["model"] = kind.train(learnt, held_out, chosen, on_progress)
    # The number of threads does not change the model, nor its file.
    used = {name: value for name, value in asdict(chosen).items() if name != "threads"}
    training = {
        **used,
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "predicted_tags": predicted_tags,
    }
    return {
        **parts,
        "projective": chosen.projective,
        "root": chosen.root,
        "training": training | best,
    }


def _silent(stage: str, state: Progress | None) -> None:
    """No progress is shown."""


def _has_tags(sentences: Sequence[Sentence]) -> bool:
    return any(tag != "_" for one in sentences for tag in (*one.upos, *one.xpos))
