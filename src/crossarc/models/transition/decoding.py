"""From the computations of a sentence to one tree: what spurious ambiguity asks for.

The best computation is found exactly. The most probable *tree*, summed over its computations, is
NP-hard to find (Cohen et al. 2011, section 6); two ways around it are offered. Minimum risk takes
the tree of degree 2 with the most expected right arcs, which arc probabilities give exactly.
Reranking draws computations and compares their trees by exact probabilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference.distribution import Root
from crossarc.inference.transition.attardi import (
    Computations,
    TransitionScores,
    arc_expectations,
    best_heads,
    tree_computations,
)
from crossarc.inference.typed import check_root
from crossarc.models.transition.symbols import Symbols, Words
from crossarc.trees import Tree

__all__ = ["METHODS", "ComputationModel", "Method"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The tree of the best computation; that of least risk; the best of those drawn, by probability.
Method = Literal["computation", "risk", "rerank"]

METHODS: tuple[Method, ...] = ("computation", "risk", "rerank")


class ComputationModel(ABC):
    """A model that weights the computations of a sentence by its symbols."""

    symbols: Symbols

    @abstractmethod
    def _scores(self, ids: Ints) -> TransitionScores:
        """Log-weights of transitions between nodes with these symbols, `$` first."""

    @property
    def _ends(self) -> float:
        """The log-weight that all computations share."""
        return 0.0

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The words, in the order of their numbers, which begin with 2."""
        return self.symbols.vocabulary

    def computations(self, words: Words, *, threads: int | None = None) -> Computations:
        """All computations of a sentence, without the first shift and the stop."""
        return Computations(self._scores(self.symbols.encode(words)), threads=threads)

    def marginals(self, words: Words, *, threads: int | None = None) -> Floats:
        """p(h -> m | w) as an array [h, m] of n+1 rows.

        Raises:
            InfeasibleError: a sentence of probability 0.
        """
        return arc_expectations(self.computations(words, threads=threads).expectations())

    def parse(
        self,
        words: Words,
        *,
        method: Method = "computation",
        root: Root = "multi",
        candidates: int = 64,
        seed: int = 0,
        threads: int | None = None,
    ) -> Tree:
        """A tree; its score is the log-weight of the best computation, or of the tree.

        Args:
            method: "computation" for the tree of the most probable computation, "risk" for the one
                with the most expected right arcs, "rerank" for the most probable tree among these
                two and those of random computations.
            root: "single" for trees in which `$` has one modifier, "multi" for all.
            candidates: how many computations are drawn.

        Raises:
            InfeasibleError: a sentence of probability 0.
            ModelError: no words, or one that is not in the vocabulary.
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}: got {method!r}")
        check_root(root)
        ids = self.symbols.encode(words)
        if len(ids) == 1:
            raise ModelError("a sentence without words has no tree: leave it out")
        scores = self._scores(ids)
        computations = Computations(scores, single_root=root == "single", threads=threads)
        heads, weight = _decoded(scores, computations, method, candidates, seed)
        tree = Tree(heads)
        tree.score = weight + self._ends
        return tree

    def _tree_total(self, words: Words, tree: Tree) -> float:
        """The log of the summed weight of a tree's computations."""
        ids = self.symbols.encode(words)
        if len(tree) != len(ids) - 1:
            raise ModelError(f"a tree of {len(tree)} words for a sentence of {len(ids) - 1} words")
        return tree_computations(self._scores(ids), tree.heads).log_total() + self._ends


def _decoded(
    scores: TransitionScores,
    computations: Computations,
    method: Method,
    candidates: int,
    seed: int,
) -> tuple[Ints, float]:
    """Heads, and the log-weight of their best computation, or of the tree for other methods."""
    if method == "computation":
        best = computations.best()
        assert best.score is not None
        return best.heads, best.score
    if method == "risk":
        found: Iterator[Ints] = iter([_least_risk(computations)])
    else:
        found = _candidates(computations, candidates, seed)
    heads: dict[bytes, Ints] = {}
    for one in found:
        heads.setdefault(one.tobytes(), one)
    weights = [tree_computations(scores, one).log_total() for one in heads.values()]
    likeliest = int(np.argmax(weights))
    return list(heads.values())[likeliest], weights[likeliest]


def _least_risk(computations: Computations) -> Ints:
    arcs = arc_expectations(computations.expectations())
    allowed = np.where(arcs > 0.0, arcs, -np.inf)
    single, threads = computations.single_root, computations.threads
    return best_heads(allowed, single_root=single, threads=threads)


def _candidates(computations: Computations, count: int, seed: int) -> Iterator[Ints]:
    yield computations.best().heads
    yield _least_risk(computations)
    for one in computations.sample(count, np.random.default_rng(seed)):
        yield one.heads
