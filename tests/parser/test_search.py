"""Options chosen by trial within a time, with a kind whose scores and seconds are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from support.distance_kind import DISTANCE, DistanceModel

from crossarc.learning import Progress
from crossarc.models.graph import KIND as GRAPH
from crossarc.models.kinds import Kind, OptionError, TrainOptions, Variants
from crossarc.parser import search
from crossarc.parser.training import train_parts
from crossarc.treebank import Sentence, sample

#: LAS and seconds of a training, by its `size`; cost as the kind announces it.
LAS = {1: 60.0, 2: 75.0, 3: 70.0}
SECONDS = {1: 10.0, 2: 35.0, 3: 5.0}
COST = {1: 1.0, 2: 4.0, 3: 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeOptions(TrainOptions):
    size: int = 1


class Clock:
    """Seconds that pass only when a model is trained."""

    def __init__(self) -> None:
        self.now = 0.0
        self.trained: list[tuple[int, int, int]] = []
        self.answers: list[float] = []

    def train(
        self,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        options: SizeOptions,
        progress: Callable[[Progress], None] | None,
    ) -> DistanceModel:
        self.now += SECONDS[options.size]
        self.trained.append((options.size, len(sentences), len(dev)))
        assert progress is not None
        for las in (LAS[options.size], LAS[options.size] - 20.0) if dev else ():
            progress(Progress(1, 1, 1.0, 0.0, 1.0, 0.0, {"las": las}))
        model = DISTANCE.train(sentences, dev, DISTANCE.options(), None)
        assert isinstance(model, DistanceModel)
        return model

    def variants(self, options: SizeOptions, fixed: frozenset[str]) -> Variants:
        for size in [options.size] if "size" in fixed else [1, 2, 3]:
            self.answers.append((yield {"size": size}, COST[size]))

    @property
    def kind(self) -> Kind:
        return Kind("size", "", SizeOptions, self.train, DISTANCE.restore, self.variants)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    fake = SimpleNamespace(monotonic=lambda: made.now)
    monkeypatch.setattr(search, "time", fake)
    monkeypatch.setattr("crossarc.parser.training.time", fake)
    return made


def _train(
    clock: Clock, budget: float, dev: Sequence[Sentence], given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return train_parts(
        sample(),
        dev,
        clock.kind,
        given or {},
        budget=budget,
        predicted_tags=False,
        text=False,
        progress=None,
    )


def test_the_best_of_all_variants(clock: Clock) -> None:
    training = _train(clock, 1000.0, sample())["training"]
    assert clock.answers == [60.0, 75.0, 70.0]
    assert (training["size"], training["las"]) == (2, 75.0)
    assert training["tried"] == [
        {"size": size, "las": LAS[size], "seconds": SECONDS[size]} for size in (1, 2, 3)
    ]


# The first takes 10 s of 1 unit, so that the second is expected to take 40 s, and the third 5 s.
@pytest.mark.parametrize(
    ("budget", "sizes", "best"),
    [(1.0, [1], 1), (14.9, [1], 1), (15.0, [1, 3], 3), (49.9, [1, 3], 3), (50.0, [1, 2, 3], 2)],
)
def test_no_variant_begins_that_would_end_too_late(
    clock: Clock, budget: float, sizes: list[int], best: int
) -> None:
    training = _train(clock, budget, sample())["training"]
    assert [size for size, _, _ in clock.trained] == sizes
    assert training["size"] == best
    skipped = [answer == float("-inf") for answer in clock.answers]
    assert skipped == [size not in sizes for size in (1, 2, 3)]


def test_options_that_are_given_stay(clock: Clock) -> None:
    training = _train(clock, 1000.0, sample(), {"size": 3})["training"]
    assert training["size"] == 3
    assert [size for size, _, _ in clock.trained] == [3]


def test_without_held_out_sentences(clock: Clock) -> None:
    count = len(sample())
    few = -(-count // 10)
    training = _train(clock, 1000.0, [])["training"]
    assert clock.trained[:3] == [(size, count - few, few) for size in (1, 2, 3)]
    assert clock.trained[3:] == [(2, count, 0)]
    assert training["size"] == 2
    assert "las" not in training


def test_time_is_left_to_train_on_all_sentences(clock: Clock) -> None:
    # 10 s for the first; the second is expected to take 40 s, and 44.4 s more on all sentences; the
    # third 5 s, and 11.1 s more if the first stays the best.
    _train(clock, 94.0, [])
    assert [size for size, _, _ in clock.trained] == [1, 3, 3]
    clock.now, clock.trained = 0.0, []
    _train(clock, 26.0, [])
    assert [size for size, _, _ in clock.trained] == [1, 1]


def test_a_kind_without_variants_is_refused() -> None:
    with pytest.raises(OptionError, match="'distance' has nothing to choose"):
        train_parts(
            sample(),
            (),
            DISTANCE,
            {},
            budget=10.0,
            predicted_tags=False,
            text=False,
            progress=None,
        )


def _tried(las: Callable[[dict[str, Any]], float], *fixed: str, **given: Any) -> list[Any]:
    """What the kind "graph" proposes, each proposal scored by a function of its options."""
    variants = GRAPH.variants(GRAPH.build_options(given).resolved(sample()), frozenset(fixed))  # type: ignore[misc]
    found = [next(variants)[0]]
    with suppress(StopIteration):
        while True:
            found.append(variants.send(las(found[-1]))[0])
    return found


def test_what_the_kind_graph_tries() -> None:
    """Trees first, then the orders with the better trees, then a learner with the best order."""
    better = {True: 71.0, False: 70.0}
    assert _tried(lambda one: better[one["projective"]] + (one["order"] == 2)) == [
        {"order": 1, "projective": False},
        {"order": 1, "projective": True},
        {"order": 2, "projective": True},
        {"order": 3, "projective": True},
        {"order": 2, "projective": True, "learner": "loglinear"},
    ]
    # Orders for which there was no time score -inf.
    skipped = _tried(lambda one: 70.0 if one["order"] == 1 else float("-inf"))
    assert skipped[-1] == {"order": 1, "projective": False, "learner": "mira"}


def test_what_is_given_is_not_varied() -> None:
    found = _tried(lambda _: 70.0, "order", "projective", order=2, projective=True)
    assert found == [
        {"order": 2, "projective": True},
        {"order": 2, "projective": True, "learner": "loglinear"},
    ]
    for name in ("learner", "optimizer", "c", "kbest"):
        assert not any("learner" in one for one in _tried(lambda _: 70.0, name))
