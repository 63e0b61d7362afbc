"""The conditional form of the transition model: arbitrary weights, normalised for each sentence.

    p(computation | w) = exp(sum of the weights of its transitions) / Z(w)

(Cohen et al. 2011, section 6, last paragraph). A weight belongs to the symbols that the generative
model conditions on. Learning maximises the log-probability of trees, each summed over its
computations: the gradient is E[count | tree, w] - E[count | w], by L-BFGS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference.transition.attardi import (
    MAX_WORDS,
    Computations,
    TransitionScores,
    oracle,
    tree_computations,
)
from crossarc.models.transition.decoding import ComputationModel
from crossarc.models.transition.parameters import MAX_DENSE, Counts
from crossarc.models.transition.symbols import Annotated, Symbols, Unit, Words, read_tree
from crossarc.parallel import over_ranges
from crossarc.trees import Tree

__all__ = ["ConditionalTransitionModel"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NAMES = ("sh", "la1", "ra1", "la2", "ra2")
_SHARDS = 8


class ConditionalTransitionModel(ComputationModel):
    """Log-linear weights of transitions, given the words.

    Args:
        vocabulary: the words, `$` not among them.
        weights: arrays over symbols (0 the bottom marker, 1 `$`, then the vocabulary): sh[b1, b],
            la1[b2, b1], ra1[b2, b1], la2[b3, b2, b1], ra2[b3, b2, b1]; any finite numbers.
        unit, unknown: as of `TransitionModel`.

    Raises:
        ModelError: arrays of a wrong shape, or numbers that are not finite.
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        weights: Mapping[str, Any],
        *,
        unit: Unit = "form",
        unknown: str | None = None,
    ) -> None:
        self.symbols = Symbols(vocabulary, unit=unit, unknown=unknown)
        if set(weights) != set(_NAMES):
            raise ModelError(f"weights must be {', '.join(_NAMES)}: got {', '.join(weights)}")
        size = len(self.symbols)
        self.weights: dict[str, Floats] = {}
        for name in _NAMES:
            table = np.array(weights[name], np.float64)
            shape = (size,) * (3 if name in ("la2", "ra2") else 2)
            if table.shape != shape or not np.isfinite(table).all():
                raise ModelError(f"weights[{name!r}] must be finite numbers of shape {shape}")
            self.weights[name] = table

    def _scores(self, ids: Ints) -> TransitionScores:
        pairs, triples = np.ix_(ids, ids), np.ix_(ids, ids, ids)
        tables = (self.weights[name] for name in _NAMES)
        return TransitionScores(*(one[pairs if one.ndim == 2 else triples] for one in tables))

    def log_prob(self, words: Words, tree: Tree) -> float:
        """log p(tree | words), summed over the tree's computations; -inf for 0."""
        total = self._tree_total(words, tree)
        return total - self.computations(words).log_total() if total > -math.inf else total

    @classmethod
    def fit(
        cls,
        sentences: Iterable[Annotated],
        *,
        vocabulary: Iterable[str] | None = None,
        unit: Unit = "form",
        penalty: float = 1.0,
        iterations: int = 30,
        threads: int | None = None,
        on_iteration: Callable[[int, float], None] | None = None,
    ) -> ConditionalTransitionModel:
        """The weights with the highest penalised log-probability of trees.

        Sentences whose trees degree 2 does not derive are left out.

        Args:
            penalty: the objective is the mean log-probability of trees less penalty / (2 sentences)
                times the sum of squared weights.
            iterations: of L-BFGS.
            on_iteration: called with the iteration and the objective.

        Raises:
            ModelError: no sentence can be used, or there are more than 200 symbols.
        """
        pairs = [read_tree(sentence, unit) for sentence in sentences]
        pairs = [(w, h) for w, h in pairs if 0 < len(w) <= MAX_WORDS and oracle(h, 2) is not None]
        if not pairs:
            raise ModelError("no sentence has a tree of degree 2: give some")
        symbols = Symbols.of_sentences((words for words, _ in pairs), vocabulary, unit=unit)
        if len(symbols) > MAX_DENSE:
            raise ModelError(f"weights are over at most {MAX_DENSE} symbols: got {len(symbols)}")
        model = cls(
            symbols.vocabulary,
            dict(zip(_NAMES, Counts.zeros(len(symbols)), strict=False)),
            unit=unit,
        )
        data = [(model.symbols.encode(words), heads) for words, heads in pairs]
        model._maximise(data, penalty, iterations, threads, on_iteration)
        return model

    def _maximise(
        self,
        data: list[tuple[Ints, Ints]],
        penalty: float,
        iterations: int,
        threads: int | None,
        on_iteration: Callable[[int, float], None] | None,
    ) -> None:
        """Arguments as of `fit`; the data are numbers of words, and heads."""
        from scipy.optimize import minimize

        def loss(flat: Floats) -> tuple[float, Floats]:
            self._unpack(flat)
            total, gradient = self._objective(data, threads)
            total -= penalty / 2.0 * float(flat @ flat)
            return -total / len(data), (penalty * flat - gradient) / len(data)

        trace = [0]

        def report(intermediate_result: Any) -> None:
            trace[0] += 1
            if on_iteration is not None:
                on_iteration(trace[0], -float(intermediate_result.fun))

        start = np.zeros(sum(table.size for table in self.weights.values()))
        found = minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=report,
            options={"maxiter": iterations},
        )
        self._unpack(found.x)

    def _unpack(self, flat: Floats) -> None:
        begin = 0
        for name, table in self.weights.items():
            self.weights[name] = flat[begin : begin + table.size].reshape(table.shape)
            begin += table.size

    def _objective(
        self, data: list[tuple[Ints, Ints]], threads: int | None
    ) -> tuple[float, Floats]:
        """The summed log-probability of trees, and its gradient."""
        shards = [data[k::_SHARDS] for k in range(min(_SHARDS, len(data)))]
        counts = [Counts.zeros(len(self.symbols)) for _ in shards]
        totals = np.zeros(len(shards))

        def work(begin: int, end: int) -> None:
            for shard in range(begin, end):
                for ids, heads in shards[shard]:
                    scores = self._scores(ids)
                    tree, every = tree_computations(scores, heads), Computations(scores, threads=1)
                    totals[shard] += tree.log_total() - every.log_total()
                    counts[shard].add(ids, tree.expectations())
                    counts[shard].add(ids, every.expectations(), -1.0)

        over_ranges(work, np.ones(len(shards)), threads)
        summed = [sum(own) for own in list(zip(*counts, strict=True))[:5]]
        return float(totals.sum()), np.concatenate([np.ravel(table) for table in summed])
