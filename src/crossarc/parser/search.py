"""The best of several trainings within a time: which options a treebank is best served by.

A kind proposes variants of its options one after the other, and learns how each scored on held-out
sentences before it proposes the next. A variant that would take longer than the time that is left
is not trained.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from crossarc.errors import ModelError
from crossarc.learning import Progress
from crossarc.models.kinds import Kind, TrainOptions
from crossarc.models.protocol import Model
from crossarc.treebank import Sentence

__all__ = ["Report", "Trained", "train_best", "train_one"]

Report = Callable[[str, Progress | None], None]

# Without held-out sentences every tenth sentence decides, and the best variant then learns from
# all of them.
_HELD_OUT = 10
_MORE = _HELD_OUT / (_HELD_OUT - 1)


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, its options and its scores on held-out sentences, the deciding one first."""

    model: Model
    options: TrainOptions
    scores: Mapping[str, float]

    @property
    def score(self) -> float:
        """What decides between models."""
        return next(iter(self.scores.values()), -math.inf)


def train_one(
    kind: Kind,
    options: TrainOptions,
    learnt: Sequence[Sentence],
    held_out: Sequence[Sentence],
    report: Callable[[Progress], None],
) -> Trained:
    """Train with resolved options; the scores are those of the pass that was kept."""
    best: dict[str, float] = {}

    def on_progress(state: Progress) -> None:
        deciding = next(iter(state.scores), None)
        if deciding is not None and state.scores[deciding] > best.get(deciding, -1.0):
            best.update(state.scores)
        report(state)

    return Trained(kind.train(learnt, held_out, options, on_progress), options, best)


def train_best(
    kind: Kind,
    given: Mapping[str, Any],
    sentences: Sequence[Sentence],
    learnt: Sequence[Sentence],
    held_out: Sequence[Sentence],
    deadline: float,
    report: Report,
) -> tuple[Trained, list[dict[str, Any]]]:
    """The variant that scores best on held-out sentences, and what was tried.

    Args:
        given: options that all variants share, by name.
        sentences: the treebank, from which options that depend on it are decided.
        learnt: the sentences to learn from, with the tags that the parser will see.
        held_out: may be empty: some of `learnt` then decide.
        deadline: on the clock of `time.monotonic`. The first variant is trained whatever the time.

    Raises:
        ModelError: there are too few sentences to hold some out.
    """
    assert kind.variants is not None, "only a kind with variants can be given a time"
    known, judges = list(learnt), list(held_out)
    if not judges:
        known = [one for k, one in enumerate(learnt) if k % _HELD_OUT]
        judges = list(learnt[::_HELD_OUT])
        if not any((one.heads >= 0).any() for one in known):
            raise ModelError("one sentence with heads is not enough to choose by: leave out budget")
    best: Trained | None = None
    tried: list[dict[str, Any]] = []
    unit, again = 0.0, 0.0
    variants = kind.variants(kind.build_options(given).resolved(sentences), frozenset(given))
    score: float | None = None
    while True:
        try:
            changes, cost = next(variants) if score is None else variants.send(score)
        except StopIteration:
            break
        score = -math.inf
        expected = cost * unit
        # Where the held-out sentences are its own, the best variant is trained a second time.
        final = 0.0 if held_out else max(_MORE * expected, again)
        if best is not None and time.monotonic() + expected + final > deadline:
            continue
        options = kind.build_options({**given, **changes}).resolved(sentences)
        stage = "parser, " + ", ".join(f"{name} {value}" for name, value in changes.items())
        begin = time.monotonic()
        found = train_one(kind, options, known, judges, partial(report, stage))
        seconds = time.monotonic() - begin
        unit, score = max(unit, seconds / cost), found.score
        tried.append({**changes, **found.scores, "seconds": round(seconds, 1)})
        if best is None or score > best.score:
            best = found
            again = _MORE * seconds
    assert best is not None, "a kind proposes at least one variant"
    if not held_out:
        best = train_one(kind, best.options, learnt, (), partial(report, "parser, all sentences"))
    return best, tried
