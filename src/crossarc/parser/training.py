"""Train all parts of a parser on one treebank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from crossarc.errors import ModelError
from crossarc.inference.distribution import Root
from crossarc.learning import Progress
from crossarc.models.tagger import Tagger
from crossarc.models.training import Learner, Options, train_linear
from crossarc.text import Tokenizer
from crossarc.treebank import Sentence

__all__ = ["train_parts"]

Report = Callable[[str, Progress | None], None]

# Below this percentage of non-projective arcs, projective trees parse better than all trees
# (docs/parser.md has the table).
_PROJECTIVE_BELOW = 0.55
_FOLDS = 5


def train_parts(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    *,
    learner: Learner,
    projective: bool | None,
    root: Root | None,
    predicted_tags: bool,
    text: bool,
    passes: int | None,
    seed: int,
    threads: int | None,
    progress: Report | None,
) -> dict[str, Any]:
    """The attributes of a `Parser`; arguments as of `Parser.train`."""
    report = progress or _silent
    if not sentences:
        raise ModelError("there are no sentences to learn from: check the training file")
    parts: dict[str, Any] = {}
    if text:
        report("tokeniser", None)
        parts["tokenizer"] = Tokenizer.learn(sentences, seed=seed)
    learnt, held_out = list(sentences), list(dev or ())
    if (text or predicted_tags) and _has_tags(sentences):
        report("tagger", None)
        tagger = Tagger.train(sentences, dev=held_out or None, seed=seed)
        if text:
            parts["tagger"] = tagger
        if predicted_tags:
            report("tags for the parser to learn from", None)
            folds = min(_FOLDS, len(sentences))
            learnt = Tagger.jackknife(sentences, folds=folds, seed=seed, threads=threads)
            held_out = list(tagger.tag(held_out, threads=threads))
    crossing = _is_nonprojective(sentences) if projective is None else not projective
    rule: Root = root or _root_rule(sentences)
    options = Options(
        learner=learner, projective=not crossing, root=rule, seed=seed, threads=threads
    )
    if passes is not None:
        options = replace(options, passes=passes)
    figures: dict[str, float] = {}

    def told(state: Progress) -> None:
        deciding = next(iter(state.scores), None)
        if deciding is not None and state.scores[deciding] > figures.get(deciding, -1.0):
            figures.update(state.scores)
        report("parser", state)

    parts["model"] = train_linear(learnt, held_out, options=options, progress=told)
    training = {
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "learner": learner,
        "seed": seed,
        "predicted_tags": predicted_tags,
    }
    return {**parts, "projective": not crossing, "root": rule, "training": training | figures}


def _silent(stage: str, state: Progress | None) -> None:
    """No one asked."""


def _has_tags(sentences: Sequence[Sentence]) -> bool:
    return any(tag != "_" for one in sentences for tag in (*one.upos, *one.xpos))


def _is_nonprojective(sentences: Sequence[Sentence]) -> bool:
    """Whether crossing arcs are common enough to parse with them."""
    whole = [one.tree for one in sentences if (one.heads >= 0).all()]
    crossing = sum(int(tree.nonprojective_arcs.sum()) for tree in whole)
    return 100 * crossing > _PROJECTIVE_BELOW * sum(map(len, whole))


def _root_rule(sentences: Sequence[Sentence]) -> Root:
    """Single, unless some sentence has several roots."""
    return "multi" if any((one.heads == 0).sum() > 1 for one in sentences) else "single"
