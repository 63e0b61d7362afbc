"""The model of `examples/adjacent_bonus.py` keeps the laws of distributions, like those inside."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.brute_force import BruteForce, Heads, projective_tree
from support.factor_laws import FactorLaws
from support.files import ROOT
from support.law_base import assert_accurate, assert_marginals
from support.score_strategies import Scores

from crossarc import Parts, ProjectiveTrees, ScoreError

FILE = ROOT / "examples" / "adjacent_bonus.py"


def load(path: Path) -> Any:
    """The script as a module, known by its name: cached kernels are found by that."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


example = load(FILE)


@cache
def bonus(n: int, at_root: float = 0.0) -> np.ndarray:
    """Multiples of 1/4 for arcs between neighbours, the same read from right to left.

    The root has only one neighbour. NaN elsewhere: it must not be read.
    """
    values = np.random.default_rng(n).integers(-8, 9, n + 1) / 4.0
    factor = np.full((n + 1, n + 1), np.nan)
    for m in range(1, n):
        factor[m, m + 1] = factor[n + 1 - m, n - m] = values[m]
    factor[0, 1] = at_root
    return factor


def bonus_for(n: int) -> Any:
    """An array for odd lengths, Parts for even ones."""
    if n % 2:
        return bonus(n)
    index = np.argwhere(np.isfinite(bonus(n)))
    return Parts(index, bonus(n)[tuple(index.T)])


def neighbours(heads: Heads) -> list[tuple[int, ...]]:
    """The arcs (h, m) of a tree with |h - m| = 1."""
    return [(h, m) for m, h in enumerate(heads, 1) if abs(h - m) == 1]


class TestAdjacentTrees(FactorLaws):
    def distribution(self, scores: Any, root: str = "single", **options: Any) -> Any:
        lengths = options.get("lengths")
        if lengths is not None or isinstance(scores, list):
            words = [len(one) - 1 for one in scores] if lengths is None else lengths
            factor = [bonus_for(n) for n in words]
        else:
            factor = bonus_for(len(scores) - 1)
        return example.AdjacentTrees(scores, root=root, adjacent=factor, **options)

    def in_support(self, heads: Heads) -> bool:
        return projective_tree(heads)

    def enumerate(self, scores: Scores, root: str) -> BruteForce:
        return BruteForce(scores, root, projective_tree, bonus(len(scores) - 1), neighbours)

    def all_alike(self, zeros: Scores, root: str) -> Any:
        return example.AdjacentTrees(zeros, root=root)

    def parts_of_010(self) -> float:
        return bonus(3)[0, 1] + bonus(3)[1, 2]


@pytest.mark.parametrize("root", ["single", "multi"])
def test_marginals_of_the_bonus(root: str) -> None:
    scores = np.random.default_rng(1).normal(size=(6, 6))
    factor = bonus(5, 0.75)
    truth = BruteForce(scores, root, projective_tree, factor, neighbours)
    trees = example.AdjacentTrees(scores, root=root, adjacent=factor)
    assert_accurate(trees.log_partition(), truth.log_partition())
    expected = np.exp(truth.part_log_marginals)
    assert_marginals(trees.marginals("adjacent"), expected)
    # A part of its own, which each such arc has.
    used = expected > 0.0
    np.testing.assert_allclose(trees.marginals()[used], expected[used], rtol=1e-13)
    assert trees.max_marginals("adjacent")[used] == pytest.approx(trees.max_marginals()[used])


def test_the_bonus_is_checked_like_any_factor() -> None:
    with pytest.raises(ScoreError, match=r"adjacent must be real numbers \(3, 3\), \[h, m\]"):
        example.AdjacentTrees(np.zeros((3, 3)), adjacent=np.zeros(3))
    with pytest.raises(ScoreError, match=r"adjacent\[1, 2\] is nan: use finite numbers"):
        example.AdjacentTrees(np.zeros((3, 3)), adjacent=Parts([[1, 2]], [np.nan]))
    trees = example.AdjacentTrees(np.zeros((3, 3)), adjacent=np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"part must be one of \['arc', 'adjacent'\]"):
        trees.marginals("sibling")


def test_the_file_is_short() -> None:
    """What it takes to add a model: rules, emitter and a class."""
    assert len(FILE.read_text(encoding="utf-8").splitlines()) <= 80


@pytest.mark.parametrize("form", ["dense", "parts"])
def test_a_part_may_be_forbidden(form: str) -> None:
    """Here it is an arc, which can be forbidden in the scores as well."""
    scores = np.random.default_rng(4).normal(size=(8, 8))
    stricter = scores.copy()
    index = np.array([[2, 3], [5, 4], [0, 1]])
    stricter[tuple(index.T)] = -np.inf
    given: Any = Parts(index, np.full(3, -np.inf))
    if form == "dense":
        given = np.where(stricter > -np.inf, 0.0, -np.inf)
    trees, expected = example.AdjacentTrees(scores, adjacent=given), ProjectiveTrees(stricter)
    assert trees.log_partition() == pytest.approx(expected.log_partition(), rel=1e-14)
    assert_marginals(trees.marginals(), expected.marginals())
    assert not trees.marginals("adjacent")[tuple(index.T) if form == "dense" else ()].any()
    assert [t.heads.tolist() for t in trees.kbest(9)] == [
        t.heads.tolist() for t in expected.kbest(9)
    ]
