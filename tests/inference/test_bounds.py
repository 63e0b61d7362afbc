"""Kernels stay in the arrays that they make: compiled anew, with a check of every index."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from support.clean_process import run_program
from support.files import ROOT
from support.trees import all_trees

from crossarc import Tree

PROGRAM = """
from itertools import islice, product
import numpy as np
from numba import types
import crossarc
from crossarc.kernels import READ_FLOAT, kernel

@kernel(types.float64(READ_FLOAT))
def beyond(numbers):
    return numbers[numbers.shape[0]]

try:
    beyond(np.zeros(3))
except IndexError:
    print("checked")

for n, root in product(range(1, 6), ("single", "multi")):
    for seed in range(4):
        scores = np.random.default_rng([n, seed]).normal(size=(n + 1, n + 1))
        trees = crossarc.KIND(scores, root=root)
        heads = {tuple(tree.heads.tolist()) for tree in islice(trees.kbest(2000), 2000)}
        if crossarc.KIND is crossarc.ProjectiveTrees:
            assert len(trees.sample(50, seed=1, replace=False)) == min(50, len(heads))
        assert np.isfinite(trees.max_marginals()[:, 1:]).sum() == n * n
    print(n, root, len(heads))
"""


@pytest.mark.parametrize("kind", ["SpanningTrees", "ProjectiveTrees"])
def test_indices_stay_in_their_arrays(kind: str, tmp_path: Path) -> None:
    """Ranked trees and max-marginals of one to five words; draws from forests.

    What draws spanning trees takes too long to compile.
    """
    environment = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    output = run_program(PROGRAM.replace("KIND", kind), [str(ROOT / "src")], environment)
    expected = ["checked"]
    for n, root in product(range(1, 6), ("single", "multi")):
        trees = [Tree(heads) for heads in all_trees(n)]
        count = sum(
            (root == "multi" or tree.is_single_root)
            and (kind == "SpanningTrees" or tree.is_projective)
            for tree in trees
        )
        expected.append(f"{n} {root} {count}")
    assert output.splitlines() == expected
