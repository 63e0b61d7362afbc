"""Transition models of other degrees and windows, against a list of all computations."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.attardi_reference import Run, Step, all_trees, computations, probability

import crossarc as ca
from crossarc.models.transition import DegreeModel, TransitionModel, WindowModel

WORDS = "ab"


def symbols(words: str) -> list[int]:
    return [1, *(2 + WORDS.index(word) for word in words)]


def of_degree(model: DegreeModel, words: str, run: Run) -> float:
    """rd[b1] rd2[b2, b1] rd3[b3, b2, b1] la3[b4, b3, b2, b1] and so on, as section 6 goes on."""
    ids, p = symbols(words), model.parameters

    def of_step(step: Step) -> float:
        b = (0, 0, 0, *(0 if node < 0 else ids[node] for node in step.stack))
        if step.name == "sh":
            return float(p["sh"][b[-1], ids[step.shifted]])
        d = int(step.name[2])
        product = p["rd"][b[-1]]
        if d >= 2:
            product *= p["rd2"][b[-2], b[-1]]
        if d >= 3:
            product *= p["rd3"][b[-3], b[-2], b[-1]]
        return float(product * p[step.name][b[-1 - d :]])

    return probability(run, of_step)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("words", ["a", "ab", "abba", "babaa"])
def test_degrees(degree: int, words: str) -> None:
    model = DegreeModel.random(WORDS, degree=degree, seed=degree)
    runs = {run: of_degree(model, words, run) for run in computations(len(words), degree)}
    assert_allclose(model.log_prob(list(words)), math.log(math.fsum(runs.values())), rtol=1e-12)
    highest = max(runs.values())
    tree = model.parse(list(words))
    assert tree.score == pytest.approx(math.log(highest))
    # Words that occur twice make computations tie.
    assert tuple(tree.heads) in {run.heads for run, p in runs.items() if p > highest * (1 - 1e-9)}
    for heads in islice(all_trees(len(words)), 0, None, 1 if len(words) < 5 else 60):
        own = math.fsum(p for run, p in runs.items() if run.heads == heads)
        found = model.tree_log_prob(list(words), ca.Tree(heads))
        assert found == pytest.approx(math.log(own)) if own else found == -math.inf


def test_degree_two_is_the_transition_model() -> None:
    model = TransitionModel.random(WORDS, seed=1)
    twin = DegreeModel(WORDS, model.parameters, degree=2)
    assert_allclose(twin.log_prob(list("abbaba")), model.log_prob(list("abbaba")), rtol=1e-12)


def test_degree_one_is_degree_two_without_its_reductions() -> None:
    small = DegreeModel.random(WORDS, degree=1, seed=2)
    p = dict(small.parameters) | {
        "rd2": np.zeros((4, 4)),
        "la2": np.full((4, 4, 4), 0.5),
        "ra2": np.full((4, 4, 4), 0.5),
    }
    model = TransitionModel(WORDS, p)
    assert_allclose(model.log_prob(list("abbaba")), small.log_prob(list("abbaba")), rtol=1e-12)
    assert model.parse(list("abbaba")).is_projective


@pytest.mark.parametrize("words", ["a", "ba", "abba", "babaa"])
def test_window_of_three_symbols(words: str) -> None:
    model = WindowModel.random(WORDS, seed=3)
    ids, p = symbols(words), model.parameters

    def of_step(step: Step) -> float:
        b = (0, 0, *(0 if node < 0 else ids[node] for node in step.stack))[-3:]
        return float(p["sh"][(*b, ids[step.shifted])] if step.name == "sh" else p[step.name][b])

    runs = {run: probability(run, of_step) for run in computations(len(words))}
    assert_allclose(model.log_prob(list(words)), math.log(math.fsum(runs.values())), rtol=1e-12)
    best = max(runs, key=lambda run: runs[run])
    assert model.parse(list(words)).score == pytest.approx(math.log(runs[best]))
    sums = p["sh"].sum(axis=-1) + p["la1"] + p["ra1"] + p["la2"] + p["ra2"]
    assert_allclose(sums, 1.0)


def test_window_of_eight_words() -> None:
    """Parameters that do not look below b2, or at the window of a shift: the transition model."""
    model = TransitionModel.random(WORDS, seed=1)
    p, cube = model.parameters, (len(model.symbols),) * 3
    tables = {"sh": np.broadcast_to(p["sh"], (*cube, cube[0]))}
    tables |= {name: np.broadcast_to(p["rd"] * p[name], cube) for name in ("la1", "ra1")}
    tables |= {name: p["rd"] * p["rd2"] * p[name] for name in ("la2", "ra2")}
    words, twin = list("abbabaab"), WindowModel(WORDS, tables)
    assert_allclose(twin.log_prob(words), model.log_prob(words), rtol=1e-12)
    best = model.parse(words)
    assert twin.parse(words).score == pytest.approx(best.score)
    own = twin.tree_log_prob(words, best)
    assert own == pytest.approx(model.tree_log_prob(words, best))


def test_input_that_is_refused() -> None:
    with pytest.raises(
        ca.ModelError, match="9 words are too many for the deduction of degree 2: 8"
    ):
        WindowModel.random(WORDS).log_prob(["a"] * 9)
    with pytest.raises(ca.ModelError, match="a tree of 2 words for other words"):
        WindowModel.random(WORDS).tree_log_prob(["a"], ca.Tree([0, 1]))
    p = DegreeModel.random(WORDS, degree=3).parameters
    lacking = {name: p[name] for name in p if name != "rd3"}
    with pytest.raises(ca.ModelError, match=r"missing or not known: \['rd3'\]"):
        DegreeModel(WORDS, lacking, degree=3)
    with pytest.raises(ca.ModelError, match=r"parameters\['sh'\] must be probabilities of shape"):
        DegreeModel(WORDS, {**p, "sh": np.ones((2, 2))}, degree=3)
