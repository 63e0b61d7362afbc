"""EM over all trees: expected counts by brute force, and what EM does with them."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.generative import bucket, random_treebank, trees_of

from crossarc import ModelError, Sentence
from crossarc.learning.em import EMState
from crossarc.models.generative import BigramModel, DMVModel
from crossarc.models.generative.bigram_em import BigramProblem
from crossarc.models.generative.corpus import Corpus

KINDS = list(itertools.product((False, True), ("single", "multi")))


def problem_of(model: BigramModel, bank: list[Sentence], prior: float) -> BigramProblem:
    corpus = Corpus.encode(model._learn_vocabulary(bank), model.vocabularies)
    return BigramProblem(model, corpus, prior, 1)


def context(words: tuple[str, ...], h: int, m: int) -> object:
    return "root" if h == 0 else (words[h - 1], m < h, bucket(abs(h - m)))


@pytest.mark.parametrize(("projective", "root"), KINDS)
@pytest.mark.parametrize("exponent", [1.0, 0.4])
def test_one_iteration_by_brute_force(projective: bool, root: Any, exponent: float) -> None:
    """The M-step after an E-step under p^exponent gives the table that listing all trees gives."""
    bank = random_treebank(6, seed=1)
    prior = 0.3
    start = BigramModel("form", projective=projective, root=root).fit(bank, smoothing="additive")
    model = BigramModel("form", projective=projective, root=root)
    problem = problem_of(model, bank, prior)
    seeded = problem.maximise(problem.start_from(start))
    total, counts = problem.expect(seeded, exponent)
    model._tables = [problem.table(problem.start_from(start))]
    expected: dict[tuple[object, str], float] = {}
    log_total = 0.0
    for one in bank:
        trees = trees_of(len(one), projective, root)
        scores = model.distribution(one)._batch.square(0)
        logs = [
            sum(scores[h, m] for m, h in enumerate(heads, 1)) - math.log(len(trees))
            for heads in trees
        ]
        weights = np.exp(exponent * np.array(logs))
        log_total += math.log(weights.sum())
        for heads, weight in zip(trees, weights / weights.sum(), strict=True):
            for m, h in enumerate(heads, 1):
                key = context(one.forms, h, m), one.forms[m - 1]
                expected[key] = expected.get(key, 0.0) + weight
    assert total == pytest.approx(log_total, abs=1e-10)
    assert counts.sum() == pytest.approx(sum(map(len, bank)))
    model._tables = [problem.table(counts)]
    symbols = len(model.vocabularies[0])
    scores = model.distribution(["a", "b", "c"])._batch.square(0)
    words = ("a", "b", "c")
    for h, m in itertools.permutations(range(4), 2):
        if m == 0:
            continue
        own = context(words, h, m)
        whole = sum(count for (one, _), count in expected.items() if one == own)
        p = (expected.get((own, words[m - 1]), 0.0) + prior) / (whole + prior * symbols)
        assert scores[h, m] == pytest.approx(math.log(p), abs=1e-10)


@pytest.mark.parametrize("start", ["uniform", "harmonic"])
def test_starts_by_brute_force(start: str) -> None:
    """Arcs weigh 1, or 1 / distance; over all trees of 4 words with one root."""
    bank = [Sentence.build(["a", "b", "c", "d"])]
    model = BigramModel("form", direction=False, distance=False)
    problem = problem_of(model, bank, 0.0)
    counts = problem.uniform_start() if start == "uniform" else problem.harmonic_start()
    model._tables = [problem.table(counts)]
    arcs = np.zeros((5, 5))
    for heads in trees_of(4, False, "single"):
        distances = [abs(h - m) for m, h in enumerate(heads, 1) if h]
        weight = 1.0 if start == "uniform" else 1.0 / math.prod(distances)
        for m, h in enumerate(heads, 1):
            arcs[h, m] += weight
    expected = arcs[:, 1:] / arcs.sum(axis=1, keepdims=True)
    found = np.exp(model.distribution(bank[0])._batch.square(0)[:, 1:])
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("projective", "root"), KINDS)
@pytest.mark.parametrize("prior", [0.0, 0.2])
def test_the_objective_never_falls(projective: bool, root: Any, prior: float) -> None:
    """The objective of the last iteration is the log-likelihood plus the prior's log-density."""
    bank = random_treebank(30, seed=2)
    model = BigramModel("form", projective=projective, root=root)
    state = model.fit_em(bank, prior=prior, start="random", seed=3, iterations=30, tolerance=0.0)
    rises = np.diff(state.objectives)
    assert (rises > -1e-8).all()
    assert state.objectives[-1] > state.objectives[0] + 1.0
    if prior == 0.0:
        assert state.objectives[-1] == pytest.approx(math.fsum(model.log_prob(bank)), abs=1e-8)


def test_the_prior_in_the_objective() -> None:
    """prior times the log of every parameter, those of pairs that never share a sentence too."""
    bank = [Sentence.build(["a", "b"]), Sentence.build(["c"])]
    model = BigramModel("form", direction=False, distance=False)
    state = model.fit_em(bank, prior=0.5, iterations=5)
    symbols = ["<unk>", "a", "b", "c"]
    parameters = []
    for m in symbols:
        scores = model.distribution(["a", "b", "c", m])._batch.square(0)
        # c heads no word of its sentence, so that nothing is learnt about its modifiers.
        parameters += [scores[0, 4], scores[1, 4], scores[2, 4]]
    expected = math.fsum(model.log_prob(bank)) + 0.5 * math.fsum(parameters)
    assert state.objectives[-1] == pytest.approx(expected, abs=1e-10)


def test_threads_change_nothing() -> None:
    bank = random_treebank(60, seed=4)
    for make in (lambda: BigramModel("form"), lambda: DMVModel("form")):
        found = [make().fit_em(bank, iterations=5, threads=threads) for threads in (1, 2, 5)]
        assert len({one.objectives for one in found}) == 1
        assert all((one.counts == found[0].counts).all() for one in found)


@pytest.mark.parametrize("make", [BigramModel, DMVModel])
def test_empty_sentences_count_nothing(make: Any) -> None:
    bank = random_treebank(10, seed=4)
    state = make("form").fit_em([[], *bank[:4], [], *bank[4:], []], iterations=3)
    assert state.objectives == pytest.approx(make("form").fit_em(bank, iterations=3).objectives)
    with pytest.raises(ModelError, match="no words to learn from"):
        make("form").fit_em([[], []])


@pytest.mark.parametrize("kind", ["bigram", "dmv"])
def test_checkpoints(kind: str, tmp_path: Path) -> None:
    """A run that is stopped anywhere ends as one that is not; another run's file is refused."""
    bank = random_treebank(20, seed=5)
    make: Any = BigramModel if kind == "bigram" else DMVModel
    options: Any = {"start": "random", "restarts": 3, "anneal": 0.6, "iterations": 4}
    whole_model = make("form")
    whole = whole_model.fit_em(bank, **options)
    path = tmp_path / "checkpoint"
    seen: list[tuple[int, EMState]] = []

    class StopError(Exception):
        pass

    def stop(number: int, state: EMState) -> None:
        seen.append((number, state))
        if len(seen) % 5 == 0:
            raise StopError

    for _ in range(30):
        model = make("form")
        try:
            state = model.fit_em(bank, checkpoint=path, on_iteration=stop, **options)
            break
        except StopError:
            continue
    assert len(seen) > 15
    assert state.objectives == whole.objectives
    assert (state.counts == whole.counts).all()
    assert model.log_prob(bank) == whole_model.log_prob(bank)
    with pytest.raises(ModelError, match="a checkpoint of another run"):
        make("form").fit_em(bank[:-1], checkpoint=path, **options)
    with pytest.raises(ModelError, match="a checkpoint of another run"):
        make("form").fit_em(bank, checkpoint=path, **{**options, "anneal": 0.7})


def test_restarts_keep_the_best() -> None:
    bank = random_treebank(20, seed=6)
    options: Any = {"start": "random", "iterations": 20}
    best = BigramModel("form").fit_em(bank, restarts=4, **options)
    seen: dict[int, float] = {}
    BigramModel("form").fit_em(
        bank,
        restarts=4,
        on_iteration=lambda number, state: seen.update({number: state.objectives[-1]}),
        **options,
    )
    assert len(seen) == 4
    assert best.objectives[-1] == max(seen.values())
    assert len(set(seen.values())) == 4
    with pytest.raises(ValueError, match="restarts must be 1, or more from random starts"):
        BigramModel("form").fit_em(bank, restarts=2)


@pytest.mark.parametrize("projective", [False, True])
def test_parameters_are_found_again(projective: bool) -> None:
    """KL(truth || learnt) over all strings of five words falls with the sentences learnt from."""
    rng = np.random.default_rng(7)
    kind: Any = {"direction": True, "distance": False, "projective": projective}
    truth = BigramModel("form", **kind).fit(random_treebank(12, seed=7))
    strings = [list(one) for one in itertools.product(truth.vocabularies[0].symbols, repeat=5)]
    logs = np.array(truth.log_prob(strings))
    divergences = []
    for count in (30, 300, 3000):
        sentences = truth.generate(rng.integers(2, 9, count).tolist(), seed=2)
        model = BigramModel("form", **kind)
        model.fit_em(sentences, start="random", restarts=2, iterations=60)
        learnt = np.array(model.log_prob(strings))
        divergences.append(float(np.exp(logs) @ (logs - learnt)) / 5)
    assert divergences[0] > 3 * divergences[1] > 9 * divergences[2] > 0.0
    assert divergences[2] < 0.001


def test_from_trees_to_sentences_without() -> None:
    """A supervised start is the E-step under that model: the first parameters agree with it."""
    bank = random_treebank(40, seed=8)
    seed_model = BigramModel("form").fit(bank)
    model = BigramModel("form")
    state = model.fit_em(bank, start=seed_model, iterations=1, prior=0.0)
    assert state.objectives[0] >= math.fsum(seed_model.log_prob(bank)) - 1e-9
    with pytest.raises(ModelError, match="EM must start from a bigram model of the unit form"):
        BigramModel("form").fit_em(bank, start=BigramModel("upos").fit(bank))
    with pytest.raises(ModelError, match="EM must start from a model with valence"):
        DMVModel("form").fit_em(bank, start=seed_model)


def test_impossible_starts() -> None:
    bank = random_treebank(10, seed=9)
    narrow = BigramModel("form").fit(
        [Sentence.build(["a", "b"], heads=[0, 1])], smoothing="additive", strength=0.0
    )
    with pytest.raises(ModelError, match=r"sentence \d+ has probability 0 under the start of EM"):
        BigramModel("form").fit_em(bank, start=narrow)
    for prior in (-1.0, math.nan):
        with pytest.raises(ValueError, match="prior must be a number from 0 up"):
            BigramModel("form").fit_em(bank, prior=prior)
    for make in (BigramModel, DMVModel):
        with pytest.raises(TypeError, match="unexpected keyword argument 'iteration'"):
            make("form").fit_em(bank, iteration=5)
    with pytest.raises(ValueError, match="start must be one of uniform, harmonic, random"):
        BigramModel("form").fit_em(bank, start="zero")


def test_stop_moves_em_through_normalisation_only() -> None:
    """Posteriors are those of the model without stops whose rows are scaled to sum to 1.

    Each word stops once whatever the tree, so that p(STOP | x) = n_x / (n_x + modifiers of x).
    """
    bank = random_treebank(30, seed=10)
    kind: Any = {"direction": False, "distance": False}
    stopping = BigramModel("form", stop=True, **kind)
    state = stopping.fit_em(bank, prior=0.0, iterations=1)
    assert (np.diff(stopping.fit_em(bank, prior=0.0).objectives) > -1e-9).all()
    problem = problem_of(stopping, bank, 0.0)
    parameters = problem.maximise(state.counts)
    _, counts = problem.expect(parameters, 1.0)
    is_stop = problem._stop_counts > 0.0
    tokens = np.unique(np.concatenate([one.forms for one in bank]), return_counts=True)[1]
    assert sorted(counts[is_stop]) == sorted(tokens)
    contexts = problem._owners
    for context in np.unique(contexts[is_stop]):
        own = contexts == context
        share = np.exp(parameters[: len(contexts)][own & is_stop])
        stops = state.counts[own & is_stop]
        assert share == pytest.approx(stops / state.counts[own].sum(), abs=1e-12)
    # The log-likelihood of the sketch falls apart: stops, and Z under rows that lack them.
    scaled = parameters.copy()
    logs = stopping.log_prob(bank)
    stopping._tables = [problem.table(state.counts)]
    assert problem.expect(scaled, 1.0)[0] == pytest.approx(
        math.fsum(stopping.log_prob(bank)), abs=1e-9
    )
    assert logs != stopping.log_prob(bank)
