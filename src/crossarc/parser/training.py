"""Train all parts of a parser on one treebank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crossarc.errors import ModelError
from crossarc.inference.distribution import Root
from crossarc.learning import Progress
from crossarc.models.tagger import Tagger
from crossarc.models.training import Learner, Options, train_linear
from crossarc.text import Tokenizer
from crossarc.treebank import Sentence

__all__ = ["Choices", "train_parts"]

Report = Callable[[str, Progress | None], None]

# Below this percentage of non-projective arcs, projective trees parse better than all trees
# (docs/parser.md has the table).
_PROJECTIVE_BELOW = 0.55
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Choices:
    """What kind of parser to train: as in `Parser.train`.

    Raises:
        ValueError: an option that this kind of parser does not have.
    """

    kind: Literal["graph", "covington"]
    learner: Learner | None
    projective: bool | None
    max_degree: int | None
    root: Root | None
    beam: int | None

    def __post_init__(self) -> None:
        if self.kind not in ("graph", "covington"):
            raise ValueError(f'kind must be "graph" or "covington": got {self.kind!r}')
        if self.kind == "graph":
            for name in ("max_degree", "beam"):
                if getattr(self, name) is not None:
                    raise ValueError(f'{name} is of parsers of the kind "covington" only')
            return
        if self.learner == "loglinear":
            raise ValueError('a parser of the kind "covington" is learnt by the perceptron only')
        if self.max_degree is not None and self.max_degree < 0:
            raise ValueError(f"max_degree must be at least 0: got {self.max_degree}")
        if None not in (self.projective, self.max_degree) and self.projective != (
            self.max_degree == 0
        ):
            raise ValueError("projective trees have degree 0: give projective or max_degree")
        if self.beam is not None and self.beam < 1:
            raise ValueError(f"beam must be at least 1: got {self.beam}")


def train_parts(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    choices: Choices,
    *,
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
    figures: dict[str, float] = {}

    def told(state: Progress) -> None:
        deciding = next(iter(state.scores), None)
        if deciding is not None and state.scores[deciding] > figures.get(deciding, -1.0):
            figures.update(state.scores)
        report("parser", state)

    rule: Root = choices.root or _root_rule(sentences)
    training: dict[str, Any] = {"seed": seed, "threads": threads}
    if passes is not None:
        training["passes"] = passes
    if choices.kind == "graph":
        projective = choices.projective
        if projective is None:
            projective = not _is_nonprojective(sentences)
        learner: Learner = choices.learner or "loglinear"
        options = Options(learner=learner, projective=projective, root=rule, **training)
        parts["model"] = train_linear(learnt, held_out, options=options, progress=told)
    else:
        from crossarc.models.covington.training import CovingtonOptions, train_covington

        learner, projective = "perceptron", choices.projective or choices.max_degree == 0
        transitions = CovingtonOptions(
            max_degree=0 if projective else choices.max_degree,
            root=rule,
            beam=choices.beam or 1,
            **training,
        )
        parts["model"] = train_covington(learnt, held_out, options=transitions, progress=told)
    about = {
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "learner": learner,
        "seed": seed,
        "predicted_tags": predicted_tags,
    }
    return {**parts, "projective": projective, "root": rule, "training": about | figures}


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
