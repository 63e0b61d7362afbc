"""Arguments that people pass: what is meant is done, or one line says what to pass instead."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from crossarc import ProjectiveTrees, ScoreError, SpanningTrees, Tree

SCORES = np.random.default_rng(0).normal(size=(5, 5))
KINDS = pytest.mark.parametrize("kind", [SpanningTrees, ProjectiveTrees])


@KINDS
@pytest.mark.parametrize("form", ["one", "batch", "padded"])
def test_a_mask_is_not_lost(kind: Any, form: str) -> None:
    masked = np.ma.masked_array(SCORES, SCORES > 0)
    given = {"one": masked, "batch": [SCORES, masked], "padded": masked[None]}[form]
    with pytest.raises(ScoreError, match=r"have a mask: .* scores.filled\(-np.inf\)"):
        kind(given, lengths=[4] if form == "padded" else None)


@KINDS
@pytest.mark.parametrize("threads", [-1, 0, 1.5])
def test_threads_are_counted_from_1(kind: Any, threads: Any) -> None:
    with pytest.raises(ValueError, match="threads must be a whole number from 1 up"):
        kind(SCORES, threads=threads)


@KINDS
@pytest.mark.parametrize("lengths", [[2.5, 4], ["2", "4"], 4, [[2, 4]], [True, True]])
def test_lengths_are_whole_numbers(kind: Any, lengths: Any) -> None:
    with pytest.raises(ScoreError, match="lengths must be whole numbers, one a sentence"):
        kind(np.stack([SCORES, SCORES]), lengths=lengths)


@KINDS
@pytest.mark.parametrize("k", [2.5, "3", None])
def test_numbers_of_trees_are_whole(kind: Any, k: Any) -> None:
    for ask in ("kbest", "sample"):
        with pytest.raises(ValueError, match="k must be a whole number: got"):
            getattr(kind(SCORES), ask)(k)
    assert len(list(kind(SCORES).kbest(np.int64(3)))) == 3


@KINDS
def test_a_generator_as_seed(kind: Any) -> None:
    """It moves on with each call, and the same state gives the same trees."""
    trees = kind(SCORES)
    rng = np.random.default_rng(7)
    first, second = trees.sample(20, seed=rng), trees.sample(20, seed=rng)
    assert first != second
    rng = np.random.default_rng(7)
    assert trees.sample(20, seed=rng) == first


@KINDS
def test_lists_of_heads_are_no_trees(kind: Any) -> None:
    trees = kind(SCORES)
    with pytest.raises(ValueError, match=r"expected a Tree, as Tree\(heads\): got \[0, 1, 2, 3\]"):
        trees.log_prob([0, 1, 2, 3])
    with pytest.raises(ValueError, match=r"expected a dict \{m: h\}: got \[\(1, 0\)\]"):
        trees.given([(1, 0)])
    with pytest.raises(ValueError, match=r"a list of 2, one for each sentence, each a Tree"):
        kind([SCORES, SCORES]).log_prob(Tree([0, 1, 2, 3]))


@KINDS
def test_no_divergence_from_itself(kind: Any) -> None:
    trees = kind(SCORES)
    assert trees.kl(trees) == 0.0
    assert kind([SCORES] * 2).kl(kind([SCORES] * 2)) == pytest.approx([0.0, 0.0], abs=1e-12)


def test_without_pytorch_the_extra_is_named() -> None:
    program = "import sys; sys.modules['torch'] = None; import crossarc.inference.torch"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    last = done.stderr.strip().split("\n")[-1]
    assert last.startswith("ImportError: PyTorch is not installed: pip install")
    assert "crossarc[torch]" in last
