"""EM and conditional training of transition models."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.attardi_reference import computations, model_probability, summed

import crossarc as ca
from crossarc.learning.em import EMState
from crossarc.models.transition import ConditionalTransitionModel, TransitionModel
from crossarc.models.transition.parameters import Counts
from crossarc.treebank import sample

SENTENCES = [list(words) for words in ("ab", "aab", "abab", "b", "bba", "abb", "aab", "bab")]


@pytest.mark.parametrize("proper", [False, True])
@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("start", ["uniform", "harmonic", "random"])
def test_objective_never_falls(proper: bool, prior: float, start: str) -> None:
    found = TransitionModel.fit_em(
        SENTENCES,
        proper=proper,
        prior=prior,
        start=start,  # type: ignore[arg-type]
        iterations=12,
        tolerance=0.0,
        threads=1,
    )
    gains = np.diff(found.objectives)
    assert len(gains) >= 5
    assert (gains > -1e-9).all()
    if prior == 0.0:
        total = math.fsum(found.model.log_prob(words) for words in SENTENCES)
        assert found.objectives[-1] == pytest.approx(total)


def test_single_root() -> None:
    """The objective is the sum over the listed computations with one arc from `$`."""
    found = TransitionModel.fit_em(
        SENTENCES, root="single", proper=True, iterations=6, tolerance=0.0, threads=1
    )
    assert (np.diff(found.objectives) > -1e-9).all()
    model = found.model
    tables = [model._scores(model.symbols.encode(words)) for words in SENTENCES]
    totals = [summed(scores, single_root=True).log_total + model._ends for scores in tables]
    assert found.objectives[-1] == pytest.approx(math.fsum(totals))
    with pytest.raises(ValueError, match="root must be"):
        TransitionModel.fit_em(SENTENCES, root="two")  # type: ignore[arg-type]


def test_one_iteration_is_the_papers_re_estimation() -> None:
    """theta_la1[b2, b1] = E[la1] / (Z[b2, b1] + E[la1 + ra1]) and so on, by listed computations."""
    start = TransitionModel.random("ab", seed=0)
    found = TransitionModel.fit_em(SENTENCES, start=start, iterations=1, threads=1)
    times = {name: np.zeros_like(table) for name, table in start.parameters.items()}
    for words in SENTENCES:
        ids = [1, *(2 + "ab".index(word) for word in words)]
        runs = computations(len(words))
        weights = [model_probability(start.parameters, ids, run) for run in runs]
        for run, weight in zip(runs, weights, strict=True):
            for step in run.steps:
                b = (0, *(0 if node < 0 else ids[node] for node in step.stack))
                share = weight / sum(weights)
                if step.name == "sh":
                    times["sh"][b[-1], ids[step.shifted]] += share
                elif step.name in ("la1", "ra1"):
                    times[step.name][b[-2], b[-1]] += share
                else:
                    times[step.name][b[-3], b[-2], b[-1]] += share
    two = times["la2"] + times["ra2"]
    z_pair = two.sum(axis=0)
    one = times["la1"] + times["ra1"] + z_pair
    z = one.sum(axis=0)
    p = found.model.parameters
    seen = times["sh"].sum(axis=1) + z > 0
    expected = times["sh"] / np.where(seen, times["sh"].sum(axis=1) + z, 1.0)[:, None]
    assert_allclose(p["sh"][seen], expected[seen], atol=1e-12)
    for name in ("la1", "ra1"):
        assert_allclose(p[name][one > 0], (times[name] / np.where(one > 0, one, 1))[one > 0])
    for name in ("la2", "ra2"):
        assert_allclose(p[name][two > 0], (times[name] / np.where(two > 0, two, 1))[two > 0])


def test_restarts_keep_the_best() -> None:
    reached: dict[int, tuple[float, ...]] = {}

    def note(restart: int, state: EMState) -> None:
        reached[restart] = state.objectives

    found = TransitionModel.fit_em(
        SENTENCES,
        start="random",
        restarts=3,
        iterations=8,
        seed=5,
        threads=2,
        on_iteration=note,
    )
    assert set(reached) == {0, 1, 2}
    assert found.objectives[-1] == max(own[-1] for own in reached.values())
    assert found.objectives in reached.values()
    again = TransitionModel.fit_em(
        SENTENCES, start="random", restarts=3, iterations=8, seed=5, threads=1
    )
    assert again.objectives == found.objectives


def test_em_goes_on_from_a_model_and_converges() -> None:
    start = TransitionModel.random("ab", seed=1, proper=True)
    found = TransitionModel.fit_em(
        SENTENCES, start=start, proper=True, tolerance=1e-3, iterations=200
    )
    assert found.converged
    first = TransitionModel.fit_em(SENTENCES, start=start, proper=True, iterations=1)
    assert found.objectives[0] == pytest.approx(sum(map(first.model.log_prob, SENTENCES)))
    assert found.objectives[0] > sum(map(start.log_prob, SENTENCES))
    assert found.model.vocabulary == ("a", "b")


@pytest.mark.parametrize("proper", [False, True])
def test_prior_is_that_of_the_dense_tables(proper: bool) -> None:
    """Objectives differ by log p(w) + prior / outcomes x the logs of all free parameters."""
    prior, differences = 0.7, []
    for iterations in (1, 2, 5):
        found = TransitionModel.fit_em(
            SENTENCES,
            vocabulary="abc",
            proper=proper,
            prior=prior,
            iterations=iterations,
            tolerance=0.0,
        )
        p = found.model.parameters
        first = np.column_stack([p["sh"][1:, 2:], p["rd"][1:]])
        one = np.stack([p[name] for name in ("la1", "ra1", "rd2")], -1)
        two = np.stack([p[name] for name in ("la2", "ra2")], -1)
        if proper:
            one, two = np.delete(one, 1, axis=0), np.delete(two, 1, axis=0)
        density = prior * sum(np.log(own).sum() / own.shape[-1] for own in (first, one, two))
        likelihood = math.fsum(found.model.log_prob(words) for words in SENTENCES)
        differences.append(found.objectives[-1] - likelihood - density)
    assert_allclose(differences, differences[0], rtol=1e-12)


@pytest.mark.parametrize("proper", [False, True])
@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_em_over_many_symbols_is_that_of_dense_tables(
    proper: bool, prior: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The models are the same; and without a prior, words that do not occur change nothing."""
    few = [f"w{number}" for number in range(4)]
    rng = np.random.default_rng(0)
    sentences = [[few[k] for k in rng.integers(4, size=n)] for n in rng.integers(1, 6, size=30)]
    options = {"prior": prior, "proper": proper, "iterations": 6, "tolerance": 0.0, "threads": 1}
    dense = TransitionModel.fit_em(sentences, vocabulary=few, **options)  # type: ignore[arg-type]
    others = [f"x{number}" for number in range(300)]
    more = TransitionModel.fit_em(sentences, vocabulary=few + others, **options)  # type: ignore[arg-type]
    monkeypatch.setattr("crossarc.models.transition.em.MAX_DENSE", 4)
    sparse = TransitionModel.fit_em(sentences, vocabulary=few, **options)  # type: ignore[arg-type]
    assert sparse.objectives == dense.objectives
    for words in [*sentences[:5], few[::-1], few[:1] * 6]:
        log = dense.model.log_prob(words)
        assert sparse.model.log_prob(words) == pytest.approx(log, rel=1e-12)
        if prior == 0.0:
            assert more.model.log_prob(words) == pytest.approx(log, rel=1e-12)
    assert (np.diff(more.objectives) > -1e-9).all()
    for model in (sparse.model, more.model):
        with pytest.raises(ca.ModelError, match="no dense tables"):
            _ = model.parameters


def test_em_over_the_words_of_a_treebank() -> None:
    """More than 200 symbols: the likelihood is that of the listed computations."""
    bank = [one for one in sample() if len(one) <= 7]
    found = TransitionModel.fit_em(bank, prior=0.5, proper=True, iterations=4, tolerance=0.0)
    model = found.model
    assert len(model.symbols) > 200
    assert (np.diff(found.objectives) > 0).all()
    short = next(one for one in bank if len(one) <= 4)
    scores = model._scores(model.symbols.encode(short))
    assert model.log_prob(short) == pytest.approx(summed(scores).log_total + model._ends)


def test_checkpoints_and_annealing(tmp_path: Path) -> None:
    """A run that was left goes on as if it had not been; both starts are restarts of it."""
    options = {"start": "random", "restarts": 2, "seed": 3, "anneal": 0.5, "tolerance": 0.0}
    whole = TransitionModel.fit_em(SENTENCES, iterations=5, threads=1, **options)  # type: ignore[arg-type]

    def leave(restart: int, state: EMState) -> None:
        if (restart, state.stage) == (1, 1):
            raise KeyboardInterrupt

    file = tmp_path / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        TransitionModel.fit_em(
            SENTENCES,
            iterations=5,
            checkpoint=file,
            on_iteration=leave,
            **options,  # type: ignore[arg-type]
        )
    seen: list[int] = []
    again = TransitionModel.fit_em(
        SENTENCES,
        iterations=5,
        checkpoint=file,
        on_iteration=lambda restart, _: seen.append(restart),
        **options,  # type: ignore[arg-type]
    )
    assert set(seen) == {1}
    assert again.objectives == whole.objectives
    assert again.model.log_prob(["a", "b"]) == whole.model.log_prob(["a", "b"])
    with pytest.raises(ca.ModelError, match="a checkpoint of another run"):
        TransitionModel.fit_em(SENTENCES[1:], checkpoint=file, **options)  # type: ignore[arg-type]


def test_em_input_that_is_refused() -> None:
    with pytest.raises(ca.ModelError, match="no sentence to learn from"):
        TransitionModel.fit_em([])
    with pytest.raises(ca.ModelError, match="101 words: leave out those over 100"):
        TransitionModel.fit_em([["a"] * 101])
    with pytest.raises(ValueError, match="restarts must be 1, or more from random starts"):
        TransitionModel.fit_em(SENTENCES, restarts=2)
    with pytest.raises(ValueError, match="iterations must be at least 1: got 0"):
        TransitionModel.fit_em(SENTENCES, iterations=0)
    with pytest.raises(ValueError, match="prior must be a number from 0 up"):
        TransitionModel.fit_em(SENTENCES, prior=-1.0)
    p = dict(TransitionModel.random("ab", seed=0).parameters)
    p["rd"] = np.zeros(4)
    with pytest.raises(ca.ModelError, match="sentence 0 has probability 0"):
        TransitionModel.fit_em(SENTENCES, start=TransitionModel("ab", p))
    with pytest.raises(ValueError, match="start must be"):
        TransitionModel.fit_em(SENTENCES, start="other")  # type: ignore[arg-type]


# Conditional weights.

NAMES = ("sh", "la1", "ra1", "la2", "ra2")
#: All hangs from the last b.
TREES = [
    (list("ab"), [2, 0]),
    (list("aab"), [3, 3, 0]),
    (list("abb"), [3, 3, 0]),
    (list("baab"), [4, 4, 4, 0]),
    (list("abab"), [4, 4, 4, 0]),
]


@cache
def drawn(seed: int) -> ConditionalTransitionModel:
    rng = np.random.default_rng(seed)
    tables = Counts.zeros(4)
    weights = {
        name: rng.normal(size=table.shape) for name, table in zip(NAMES, tables, strict=False)
    }
    return ConditionalTransitionModel("ab", weights)


def test_conditional_probabilities_of_trees_sum_to_one() -> None:
    model, words = drawn(0), list("abab")
    trees = {run.heads for run in computations(4)}
    total = math.fsum(math.exp(model.log_prob(words, ca.Tree(heads))) for heads in trees)
    assert total == pytest.approx(1.0)
    likeliest = max(trees, key=lambda heads: model.log_prob(words, ca.Tree(heads)))
    assert tuple(model.parse(words, method="rerank", candidates=3000).heads) == likeliest


def test_gradient_of_the_conditional_objective() -> None:
    model = drawn(1)
    data = [(model.symbols.encode(words), np.array(heads)) for words, heads in TREES]
    flat = np.concatenate([model.weights[name].ravel() for name in NAMES])
    total, gradient = model._objective(data, 1)
    expected = sum(model.log_prob(words, ca.Tree(heads)) for words, heads in TREES)
    assert total == pytest.approx(expected)
    rng = np.random.default_rng(0)
    used = np.flatnonzero(abs(gradient) > 1e-3)
    for entry in rng.permutation(used)[:15]:
        values = []
        for step in (1e-5, -1e-5):
            moved = flat.copy()
            moved[entry] += step
            twin = drawn(2)
            twin._unpack(moved)
            values.append(twin._objective(data, 1)[0])
        assert gradient[entry] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-7)


def test_conditional_training_finds_the_trees() -> None:
    objectives: list[float] = []
    model = ConditionalTransitionModel.fit(
        TREES * 3,
        penalty=0.01,
        iterations=25,
        threads=1,
        on_iteration=lambda _, objective: objectives.append(objective),
    )
    assert (np.diff(objectives) > -1e-9).all()
    assert objectives[-1] > math.log(0.9) > objectives[0]
    for words, heads in TREES:
        assert model.parse(words).heads.tolist() == heads
    with pytest.raises(ca.ModelError, match="no sentence"):
        ConditionalTransitionModel.fit([])
    with pytest.raises(ca.ModelError, match=r"weights\['sh'\] must be finite"):
        ConditionalTransitionModel("ab", drawn(0).weights | {"sh": np.zeros((2, 2))})
