"""Exponentiated gradient: log-linear and max-margin training in the dual (Koo et al. 2007, Fig. 2).

Each sentence has a distribution over its trees, given by one number theta[h, m] an arc; the
weights are w = C sum_i (features of the gold tree - expected features under it). The dual objective

    max-margin    C sum_i sum_(h, m) l[h, m] mu[h, m]  -  |w|^2 / 2       l = 1 for wrong arcs
    log-linear    C sum_i H(P_i)                       -  |w|^2 / 2

is raised sentence by sentence (Bartlett et al. 2004; Globerson et al. 2007). At its maximum it is
the minimum of C sum of losses + |w|^2 / 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import TreeDistribution
from crossarc.inference.distribution import Root

__all__ = ["DualSentences"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class DualSentences:
    """The dual variables of all sentences, and the rate at which they change.

    Args:
        heads: gold trees, which the family of trees has.
        margin: max-margin; else log-linear.
        c: of the objective.
        start: theta of gold arcs at first; beta in the paper.
        least: marginals that change by less are left for a later step, so that most arcs cost
            nothing after some passes; the weights stay those of the marginals that were kept.

    Attributes:
        rate: halved by `end_pass` whenever the objective did not rise.
    """

    def __init__(
        self,
        trees: type[TreeDistribution[Any]],
        heads: Sequence[Ints],
        *,
        margin: bool,
        c: float,
        root: Root = "single",
        start: float = 9.0,
        least: float = 0.0,
        threads: int | None = None,
    ) -> None:
        self._trees, self._root = trees, root
        self._margin, self._c, self._least = margin, c, least
        self._heads = list(heads)
        self.rate = 1.0 / c
        self.objective = -math.inf
        self._gains = np.zeros(len(self._heads))
        self._theta = []
        for gold in self._heads:
            theta = np.zeros((len(gold) + 1, len(gold) + 1))
            theta[gold, np.arange(1, len(gold) + 1)] = start
            self._theta.append(theta)
        first = trees(self._theta, root=root, threads=threads)
        self._marginals = [np.array(one) for one in first.marginals()]
        totals = first.log_partition()
        for index, total in enumerate(totals):
            self._gains[index] = self._gain(index, total)

    def initial_gradients(self) -> list[Floats]:
        """For each sentence, gold arcs less marginals: C times their features are the weights."""
        found = []
        for gold, marginals in zip(self._heads, self._marginals, strict=True):
            gradient = -marginals
            gradient[gold, np.arange(1, len(gold) + 1)] += 1.0
            found.append(gradient)
        return found

    def step(self, index: int, scores: Floats) -> Floats:
        """Change one sentence's distribution, given the scores of its arcs under the weights.

        Returns:
            The marginals before less those after: C times their features are added to the weights.
        """
        theta, gold = self._theta[index], self._heads[index]
        words = np.arange(1, len(gold) + 1)
        pull = self.rate * self._c
        if self._margin:
            # theta' = theta + eta C (l + w.f)
            theta += pull * (1.0 + scores)
            theta[gold, words] -= pull
        else:
            # theta' = theta + eta C (w.f - theta)
            theta += pull * (scores - theta)
        after = self._trees(theta, root=self._root, threads=1)
        marginals = np.array(after.marginals())
        change: Floats = self._marginals[index] - marginals
        if self._least > 0.0:
            change[np.abs(change) < self._least] = 0.0
        self._marginals[index] -= change
        self._gains[index] = self._gain(index, after.log_partition(), marginals)
        return change

    def _gain(self, index: int, total: float, marginals: Floats | None = None) -> float:
        """The sentence's term of the objective: expected errors, or entropy."""
        table = self._marginals[index] if marginals is None else marginals
        gold = self._heads[index]
        if self._margin:
            return len(gold) - float(table[gold, np.arange(1, len(gold) + 1)].sum())
        # H(P) = log Z - sum mu theta
        return total - float(np.sum(table * self._theta[index], where=table > 0.0))

    def dual(self, squared_norm: float) -> float:
        """The dual objective, given |w|^2."""
        return self._c * float(self._gains.sum()) - squared_norm / 2.0

    def end_pass(self, squared_norm: float) -> float:
        """The dual objective after a pass; the rate is halved where it did not rise."""
        objective = self.dual(squared_norm)
        if objective <= self.objective:
            self.rate /= 2.0
        self.objective = objective
        return objective

    def rescale(self, c: float) -> None:
        """Go on with another C: the weights are multiplied by its ratio to the old one."""
        self._c, self.rate, self.objective = c, 1.0 / c, -math.inf

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later steps depend on."""
        none = np.empty(0)
        return {
            "theta": np.concatenate([none, *(one.ravel() for one in self._theta)]),
            "marginals": np.concatenate([none, *(one.ravel() for one in self._marginals)]),
            "gains": self._gains.copy(),
            "numbers": np.array([self.rate, self.objective]),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `state` was taken."""
        for name, tables in (("theta", self._theta), ("marginals", self._marginals)):
            begin = 0
            for table in tables:
                end = begin + table.size
                table[:] = state[name][begin:end].reshape(table.shape)
                begin = end
        self._gains[:] = state["gains"]
        self.rate, self.objective = state["numbers"].tolist()
