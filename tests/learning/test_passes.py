"""The loop over passes."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np
import pytest

from crossarc.learning import Progress, fit_temperature, run_passes


class Recorder:
    """A task that notes what is asked of it."""

    def __init__(self, scores: list[float]) -> None:
        self.sizes = np.array([3, 1, 4, 1, 5])
        self.scores = scores
        self.batches: list[list[int]] = []
        self.kept: list[int] = []
        self.number = 0

    def begin_pass(self, number: int) -> None:
        self.number = number

    def learn(self, sentences: np.ndarray) -> float:
        self.batches.append(sentences.tolist())
        return float(self.sizes[sentences].sum())

    def end_pass(self, number: int) -> dict[str, float]:
        return {"las": self.scores[number - 1]} if self.scores else {}

    def keep(self) -> None:
        self.kept.append(self.number)


def test_every_sentence_once_a_pass_in_an_order_of_its_own() -> None:
    task = Recorder([])
    assert run_passes(task, passes=3, batch=2, seed=7) == 3
    passes = [list(chain(*task.batches[k : k + 3])) for k in (0, 3, 6)]
    assert [sorted(order) for order in passes] == [[0, 1, 2, 3, 4]] * 3
    assert len({tuple(order) for order in passes}) == 3
    assert task.kept == [1, 2, 3]
    again = Recorder([])
    run_passes(again, passes=3, batch=2, seed=7)
    assert again.batches == task.batches


@pytest.mark.parametrize(
    ("scores", "patience", "best", "made"),
    [
        ([1, 3, 2, 2, 9], 2, 2, 4),
        ([1, 3, 2, 2, 9], 3, 5, 5),
        ([1, 3, 2, 2, 9], None, 5, 5),
        ([1, 1, 1, 1, 1], 1, 1, 2),
    ],
)
def test_early_stopping(scores: list[float], patience: int | None, best: int, made: int) -> None:
    task = Recorder(scores)
    assert run_passes(task, passes=5, batch=5, patience=patience) == best
    assert task.number == made
    assert task.kept[-1] == best


def test_progress() -> None:
    lines: list[Progress] = []
    run_passes(Recorder([50.0, 60.0]), passes=2, batch=3, progress=lines.append)
    assert [(line.number, line.share, line.scores) for line in lines] == [
        (1, 0.6, {}),
        (1, 1.0, {}),
        (1, 1.0, {"las": 50.0}),
        (2, 0.6, {}),
        (2, 1.0, {}),
        (2, 1.0, {"las": 60.0}),
    ]
    assert all(line.loss == 1.0 and line.words_per_second > 0 for line in lines)
    assert lines[-1].seconds_left == 0.0


def test_temperature_of_a_coin() -> None:
    """A coin shown as 90% that falls so in 70%: log-odds are divided by ln 9 / ln(7/3)."""

    def loss(temperature: float) -> float:
        p = 1 / (1 + math.exp(-math.log(9) / temperature))
        return -0.7 * math.log(p) - 0.3 * math.log(1 - p)

    assert fit_temperature(loss) == pytest.approx(math.log(9) / math.log(7 / 3), rel=0.01)
