"""A model of your own: first-order projective trees with a score for arcs between neighbours.

Rules as in crossarc/inference/projective/first_order/rules.py, but for neighbours (< likewise):
    B(i, i+1)  =>  N>(i, i+1)  =>  I>(i, i+1)     adjacent i -> i+1, then arc i -> i+1
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crossarc import ProjectiveTrees
from crossarc.inference.factors import Factor
from crossarc.inference.forest import arrays as forest
from crossarc.inference.projective.first_order.rules import add_arcs, allowed_arcs
from crossarc.inference.projective.model import Model
from crossarc.kernels import kernel


def _parts_of(heads: Any) -> Any:
    arcs = np.stack([heads, np.arange(1, len(heads) + 1)], axis=1)
    return arcs[abs(arcs[:, 0] - arcs[:, 1]) == 1]


def _usable(allowed: Any, single: bool) -> Any:
    return allowed & (np.eye(len(allowed), k=1) + np.eye(len(allowed), k=-1) > 0)


@kernel(forest.emitter(factors=1))
def _emit(scores: Any, single: bool, adjacent: Any) -> Any:
    n = scores.shape[0] - 1
    chart = forest.open_chart(4 * (n + 1) ** 2, (n + 1) ** 3 + 2 * n + allowed_arcs(scores))
    right, left, arc = np.full((3, n + 1, n + 1), -1, np.int32)  # C>[i, j], C<[i, j], I[h, m]
    forest.add(chart, -1, -1, -1)
    axiom = forest.close(chart)
    for j in range(n + 1):
        right[j, j] = left[j, j] = axiom
        for i in range(j - 1, -1, -1):
            forest.join(chart, right[i, i:j], left[i + 1 : j + 1, j])
            both = forest.close(chart)
            for h, m in ((i, j), (j, i)):
                tail = both if m > 0 else -1
                if tail >= 0 and j == i + 1:
                    part = forest.part_number(adjacent.listed, adjacent.first, h * (n + 1) + m)
                    forest.add(chart, both, -1, part)
                    tail = forest.close(chart)
                arc[h, m] = add_arcs(chart, scores, h, m, tail)
            if i > 0:
                forest.join(chart, left[i, i:j], arc[j, i:j])
                left[i, j] = forest.close(chart)
            if i > 0 or j == n or not single:
                forest.join(chart, arc[i, i + 1 : j + 1], right[i + 1 : j + 1, j])
                right[i, j] = forest.close(chart)
    return forest.trimmed(chart, right[0, n])


class Adjacent(Model):
    """Arcs, and `adjacent[h, m]` for arcs with |h - m| = 1."""

    factors = (Factor("adjacent", "hm", _usable, _parts_of),)

    def emit(self, scores: Any, limits: Any, numbering: Any) -> Any:
        """The forest of a sentence."""
        return _emit(scores, limits[0] == 1, numbering.get("adjacent", forest.NOT_SCORED))


class AdjacentTrees(ProjectiveTrees):
    """Best trees, log Z, marginals, k best, samples, entropy: all follow from the forest."""

    models = (Adjacent(),)

    def __init__(self, scores: Any, *, adjacent: Any = None, **options: Any) -> None:
        super().__init__(scores, **options)
        self._set_factors({"adjacent": adjacent})


if __name__ == "__main__":
    trees = AdjacentTrees(np.zeros((4, 4)), adjacent=np.ones((4, 4)))
    print(*trees.kbest(3), trees.log_partition(), trees.entropy(), trees.marginals("adjacent"))
