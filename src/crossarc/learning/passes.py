"""Passes over a treebank in batches: the training loop of every learner."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["PassState", "Progress", "Task", "run_passes"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where training stands, for a line on the terminal.

    number, passes: the pass under way, from 1, and how many there may be.
    share: of this pass, from 0 to 1.
    loss: of this pass, a word.
    words_per_second: since training began.
    seconds_left: if all passes are made.
    scores: at the end of a pass, what was measured on held-out sentences, by name.
    objective: at the end of a pass, that of all sentences, if the optimiser knows it.

    The objective of a descent falls; that of exponentiated gradient is the dual one, and rises.
    """

    number: int
    passes: int
    share: float
    loss: float
    words_per_second: float
    seconds_left: float
    scores: dict[str, float]
    objective: float | None = None


@dataclass(frozen=True, slots=True)
class PassState:
    """How far training has come: passes made, the best deciding score, the pass that was kept."""

    made: int = 0
    best: float = -np.inf
    kept: int = 0


class Task(Protocol):
    """Something to learn.

    A task may also have an `objective`, for progress, and be `converged`, which ends training.
    """

    sizes: Ints

    def begin_pass(self, number: int) -> None:
        """Called before each pass, counted from 1."""

    def learn(self, sentences: Ints) -> float:
        """Learn from a batch; returns its loss, summed over words."""

    def end_pass(self, number: int) -> dict[str, float]:
        """Called after each pass, counted from 1; what is measured, the deciding score first."""

    def keep(self) -> None:
        """Keep the present state: it is the best so far."""


def run_passes(
    task: Task,
    *,
    passes: int,
    batch: int,
    seed: int = 0,
    patience: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    start: PassState = PassState(),
    on_pass: Callable[[PassState], None] | None = None,
) -> int:
    """Make passes until they are done or the score has not risen for some time.

    Args:
        batch: sentences in a step.
        seed: of the order of sentences, which is another in each pass.
        patience: how many passes may go by without a better score.
        progress: called after each batch and each pass.
        start: where to go on, with the state that the task had then.
        on_pass: called after each pass, for a checkpoint.

    Returns:
        The pass that was kept last: the best one, or without scores the last one.
    """
    rng = np.random.default_rng(seed)
    for _ in range(start.made):
        rng.permutation(len(task.sizes))
    clock = _Clock((passes - start.made) * int(task.sizes.sum()))
    state = start
    for number in range(start.made + 1, passes + 1):
        if _is_done(task, state, patience):
            break
        task.begin_pass(number)
        order = rng.permutation(len(task.sizes))
        loss, words = 0.0, 0
        for begin in range(0, len(order), batch):
            sentences = order[begin : begin + batch]
            loss += task.learn(sentences)
            words += int(task.sizes[sentences].sum())
            clock.words += int(task.sizes[sentences].sum())
            if progress is not None:
                share = min(1.0, (begin + batch) / len(order))
                progress(clock.look(number, passes, share, loss / words, {}))
        scores = task.end_pass(number)
        if progress is not None:
            done = clock.look(number, passes, 1.0, loss / max(words, 1), scores)
            progress(replace(done, objective=getattr(task, "objective", None)))
        score = next(iter(scores.values()), np.inf)
        if score > state.best or not scores:
            state = PassState(number, score if scores else -np.inf, number)
            task.keep()
        else:
            state = replace(state, made=number)
        if on_pass is not None:
            on_pass(state)
    return state.kept


def _is_done(task: Task, state: PassState, patience: int | None) -> bool:
    if getattr(task, "converged", False):
        return True
    return patience is not None and state.made > 0 and state.made - state.kept >= patience


class _Clock:
    """How fast training goes, and how long it will take."""

    def __init__(self, total: int) -> None:
        self.total, self.words = total, 0
        self._begin = time.perf_counter()

    def look(
        self, number: int, passes: int, share: float, loss: float, scores: dict[str, float]
    ) -> Progress:
        speed = self.words / max(time.perf_counter() - self._begin, 1e-9)
        left = (self.total - self.words) / max(speed, 1e-9)
        return Progress(number, passes, share, loss, speed, left, scores)
