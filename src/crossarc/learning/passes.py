"""Passes over a treebank in batches: the training loop of every learner."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Progress", "Task", "run_passes"]

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
    """

    number: int
    passes: int
    share: float
    loss: float
    words_per_second: float
    seconds_left: float
    scores: dict[str, float]


class Task(Protocol):
    """Something to learn."""

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
) -> int:
    """Make passes until they are done or the score has not risen for some time.

    Args:
        batch: sentences in a step.
        seed: of the order of sentences, which is another in each pass.
        patience: how many passes may go by without a better score.
        progress: called after each batch and each pass.

    Returns:
        The pass that was kept last: the best one, or without scores the last one.
    """
    rng = np.random.default_rng(seed)
    clock = _Clock(passes * int(task.sizes.sum()))
    best, kept = -np.inf, 0
    for number in range(1, passes + 1):
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
            progress(clock.look(number, passes, 1.0, loss / max(words, 1), scores))
        score = next(iter(scores.values()), np.inf)
        if score > best or not scores:
            best, kept = score, number
            task.keep()
        elif patience is not None and number - kept >= patience:
            break
    return kept


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
