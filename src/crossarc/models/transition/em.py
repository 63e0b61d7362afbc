"""Expectation maximisation with the re-estimation formulas of Cohen et al. (2011), section 5."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference.distribution import Root
from crossarc.inference.transition.attardi import MAX_WORDS, Computations, TransitionScores
from crossarc.inference.typed import check_root
from crossarc.models.transition.parameters import (
    MAX_DENSE,
    Counts,
    DenseTables,
    normalised,
)
from crossarc.models.transition.parameters import (
    proper as made_proper,
)
from crossarc.models.transition.symbols import Symbols, Unit, Words
from crossarc.parallel import over_ranges

if TYPE_CHECKING:
    from crossarc.models.transition.model import TransitionModel

__all__ = ["EMResult", "OnIteration", "Start", "fit_em"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Start = Literal["uniform", "random"]
OnIteration = Callable[[int, int, float], None]

# Each shard has counts of its own, so that the sums do not depend on the number of threads.
_SHARDS = 8


class EMResult(NamedTuple):
    """The model, and how its start went.

    The objective is the log-likelihood of the sentences, over computations with the root that was
    asked for, plus the log-density of the prior up to a constant; it never falls.
    """

    model: TransitionModel
    objectives: tuple[float, ...]
    converged: bool
    restart: int


class _Corpus:
    """Different sentences of symbols, and how often each occurs."""

    def __init__(
        self, symbols: Symbols, sentences: Sequence[Words], root: Root, threads: int | None
    ) -> None:
        encoded = Counter(symbols.encode(sentence).tobytes() for sentence in sentences)
        self.ids = [np.frombuffer(key, np.int64) for key in encoded]
        self.times = np.array(list(encoded.values()), np.float64)
        self.size, self._threads = len(symbols), threads
        self._single = root == "single"
        longest = max(map(len, self.ids)) - 1
        if longest > MAX_WORDS:
            raise ModelError(f"a sentence has {longest} words: leave out those over {MAX_WORDS}")

    def expected(self, tables: DenseTables | None) -> tuple[Counts, float]:
        """Counts and log-likelihood, without first shifts and stops; under weights 1 for None."""
        shards = [range(k, len(self.ids), _SHARDS) for k in range(min(_SHARDS, len(self.ids)))]
        counts = [Counts.zeros(self.size) for _ in shards]
        totals = np.zeros(len(shards))

        def work(begin: int, end: int) -> None:
            for shard in range(begin, end):
                for index in shards[shard]:
                    ids, times = self.ids[index], float(self.times[index])
                    scores = _scores(tables, ids)
                    found = Computations(scores, single_root=self._single, threads=1)
                    totals[shard] += times * found.log_total()
                    if found.log_total() == -np.inf:
                        raise ModelError(
                            f"a sentence of {len(ids) - 1} words has probability 0: "
                            "begin with other parameters, or with a prior"
                        )
                    counts[shard].add(ids, found.expectations(), times)

        over_ranges(work, np.ones(len(shards)), self._threads)
        return Counts(*(sum(own) for own in zip(*counts, strict=True))), float(totals.sum())


def _scores(tables: DenseTables | None, ids: Ints) -> TransitionScores:
    if tables is not None:
        return tables.scores(ids)
    nodes = len(ids)
    return TransitionScores(*(np.zeros((nodes,) * rank) for rank in (2, 2, 2, 3, 3)))


def fit_em(
    sentences: Iterable[Words],
    vocabulary: Iterable[str] | None,
    *,
    unit: Unit,
    proper: bool,
    root: Root,
    start: Start | TransitionModel,
    restarts: int,
    seed: int,
    prior: float,
    iterations: int,
    tolerance: float,
    threads: int | None,
    on_iteration: OnIteration | None,
) -> EMResult:
    """See `TransitionModel.fit_em`."""
    listed = list(sentences)
    if isinstance(start, str) and start not in ("uniform", "random"):
        raise ValueError(f"start must be 'uniform', 'random' or a model: got {start!r}")
    check_root(root)
    if restarts < 1 or iterations < 1 or prior < 0.0:
        raise ValueError("restarts and iterations must be at least 1, and prior not negative")
    if not listed:
        raise ModelError("there is no sentence to learn from: give some")
    if not isinstance(start, str):
        symbols = start.symbols
    elif vocabulary is not None:
        symbols = Symbols(vocabulary, unit=unit, unknown=None)
    else:
        symbols = Symbols.of_sentences(listed, unit=unit)
    if len(symbols) > MAX_DENSE:
        raise ModelError(f"EM is over at most {MAX_DENSE} symbols: got {len(symbols)}; use tags")
    corpus = _Corpus(symbols, listed, root, threads)
    best: EMResult | None = None
    for restart in range(restarts if start == "random" else 1):
        tables = _start(corpus, symbols, start, seed + restart, prior, proper)
        found = _run(
            corpus, symbols, tables, proper, prior, iterations, tolerance, restart, on_iteration
        )
        if best is None or found.objectives[-1] > best.objectives[-1]:
            best = found
    assert best is not None
    return best


def _start(
    corpus: _Corpus,
    symbols: Symbols,
    start: Start | TransitionModel,
    seed: int,
    prior: float,
    proper: bool,
) -> DenseTables:
    from crossarc.models.transition.model import TransitionModel

    if isinstance(start, TransitionModel):
        return DenseTables(made_proper(start.parameters) if proper else start.parameters)
    if start == "random":
        words = symbols.vocabulary
        return DenseTables(TransitionModel.random(words, seed=seed, proper=proper).parameters)
    counts, _ = corpus.expected(None)
    return _maximised(counts, prior, proper)


def _maximised(counts: Counts, prior: float, proper: bool) -> DenseTables:
    parameters = normalised(counts, strength=prior, with_stop=proper, back_off=False)
    return DenseTables(made_proper(parameters) if proper else parameters)


def _run(
    corpus: _Corpus,
    symbols: Symbols,
    tables: DenseTables,
    proper: bool,
    prior: float,
    iterations: int,
    tolerance: float,
    restart: int,
    on_iteration: OnIteration | None,
) -> EMResult:
    from crossarc.models.transition.model import TransitionModel

    objectives: list[float] = []
    converged = False
    for iteration in range(iterations):
        counts, total = corpus.expected(tables)
        ends = tables.start + (tables.stop if proper else 0.0)
        own = total + float(corpus.times.sum()) * ends
        objectives.append(own + _log_prior(tables, prior, proper))
        if on_iteration is not None:
            on_iteration(restart, iteration, objectives[-1])
        if iteration and objectives[-1] - objectives[-2] <= tolerance * abs(objectives[-1]):
            converged = True
            break
        if iteration < iterations - 1:
            tables = _maximised(counts, prior, proper)
    model = TransitionModel._made(symbols, tables, proper)
    return EMResult(model, tuple(objectives), converged, restart)


def _log_prior(tables: DenseTables, prior: float, proper: bool) -> float:
    """The log-density of the parameters that are free, without its constant."""
    if prior == 0.0:
        return 0.0
    p = tables.parameters
    words = 1 if proper else 0  # with `proper`, those given `$` below are not free
    first = np.column_stack([p["sh"][1:, 2:], p["rd"][1:]])
    one = np.stack([p[name] for name in ("la1", "ra1", "rd2")], -1)
    two = np.stack([p[name] for name in ("la2", "ra2")], -1)
    if words:
        one, two = np.delete(one, 1, axis=0), np.delete(two, 1, axis=0)
    with np.errstate(divide="ignore"):
        terms = [prior / own.shape[-1] * float(np.log(own).sum()) for own in (first, one, two)]
    return math.fsum(terms)
