"""Expectation maximisation with the re-estimation formulas of Cohen et al. (2011), section 5.

Parameters are those of the pairs and triples of symbols that can be next to each other on a stack
in some sentence. They are few beside all pairs and triples of a vocabulary of words.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference.distribution import Root
from crossarc.inference.transition.attardi import MAX_WORDS, Computations, TransitionScores
from crossarc.inference.typed import check_root
from crossarc.models.generative.backoff import BackoffTable
from crossarc.models.generative.induction import (
    Start,
    check_possible,
    harmonic_scores,
    run_restarts,
)
from crossarc.models.transition.backoff import ONE, TWO, BackoffTables, node_scores, stacks
from crossarc.models.transition.parameters import MAX_DENSE, Counts, DenseTables, Tables, normalised
from crossarc.models.transition.parameters import (
    proper as made_proper,
)
from crossarc.models.transition.symbols import BOTTOM, ROOT, WORDS, Symbols, Unit, Words
from crossarc.parallel import over_ranges

if TYPE_CHECKING:
    from crossarc.models.transition.model import TransitionModel

__all__ = ["EMResult", "TransitionProblem", "fit_em"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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


class _Parameters(NamedTuple):
    """Counts or log-probabilities of a corpus: parts of one vector, or of one for each shard.

    Pairs and triples are those of `TransitionProblem`; pairs of a shift are b1 and the word.
    """

    #: [pair]
    shifts: Floats
    #: [b1]
    reductions: Floats
    #: [pair, la1 or ra1 or rd2]
    one: Floats
    #: [triple, la2 or ra2]
    two: Floats


class TransitionProblem:
    """Sentences whose computations are hidden.

    Args:
        prior: strength of a symmetric Dirichlet prior: the sum of what is added to the counts of
            each distribution.
        proper: as of `TransitionModel`.
    """

    def __init__(
        self,
        symbols: Symbols,
        sentences: Sequence[Words],
        *,
        root: Root,
        proper: bool,
        prior: float,
        threads: int | None,
    ) -> None:
        self._symbols, self._proper, self._prior = symbols, proper, prior
        self._single, self._threads = root == "single", threads
        self._size = len(symbols)
        # Different sentences, each with its first index and the number of times that it occurs.
        first: dict[bytes, int] = {}
        times: dict[bytes, int] = {}
        for index, sentence in enumerate(sentences):
            key = symbols.encode(sentence).tobytes()
            first.setdefault(key, index)
            times[key] = times.get(key, 0) + 1
        self._ids = [np.frombuffer(key, np.int64) for key in first]
        self._first, self._times = np.array(list(first.values())), np.array(list(times.values()))
        self.words = int(self._times @ [len(ids) - 1 for ids in self._ids])
        longest = max(map(len, self._ids)) - 1
        if longest > MAX_WORDS:
            raise ModelError(f"a sentence has {longest} words: leave out those over {MAX_WORDS}")
        keys = [self._keys(ids) for ids in self._ids]
        self._pairs, self._triples = (
            np.unique(np.concatenate(one)) for one in zip(*keys, strict=True)
        )
        self._tops = self._pairs // self._size
        # Under `proper`, what is on `$` is attached to it.
        self._free_pairs = self._tops != ROOT if proper else np.full(len(self._pairs), True)
        below = self._triples // self._size**2
        self._free_triples = below != ROOT if proper else np.full(len(self._triples), True)

    def _keys(self, ids: Ints) -> tuple[Ints, Ints]:
        """Of the pairs and triples of a sentence."""
        (b2, b1), (t3, t2, t1) = stacks(len(ids))
        size = self._size
        return ids[b2] * size + ids[b1], (ids[t3] * size + ids[t2]) * size + ids[t1]

    def _parts(self, vector: Floats) -> _Parameters:
        pairs, triples = len(self._pairs), len(self._triples)
        ends = np.cumsum([pairs, self._size, pairs * ONE, triples * TWO])
        shifts, reductions, one, two = np.split(vector[: ends[-1]], ends[:-1])
        return _Parameters(shifts, reductions, one.reshape(-1, ONE), two.reshape(-1, TWO))

    @property
    def _length(self) -> int:
        return len(self._pairs) * (1 + ONE) + self._size + len(self._triples) * TWO

    # Both steps.

    @property
    def _outcomes(self) -> int:
        """Words, and the reduction."""
        return self._size - WORDS + 1

    def maximise(self, counts: Floats) -> Floats:
        """Logarithms of all probabilities, then of a word that never follows, given b1."""
        return self._estimated(counts, self._prior)

    def _estimated(self, counts: Floats, prior: float) -> Floats:
        c, outcomes = self._parts(counts), self._outcomes
        totals = np.bincount(self._tops, c.shifts, self._size) + c.reductions
        first = np.column_stack([c.reductions, np.zeros(self._size)])
        first = _smoothed(first, totals[:, None], prior, outcomes)
        shifts = _smoothed(c.shifts, totals[self._tops], prior, outcomes)
        one = _smoothed(c.one, c.one.sum(axis=1, keepdims=True), prior, ONE)
        two = _smoothed(c.two, c.two.sum(axis=1, keepdims=True), prior, TWO)
        one[~self._free_pairs], two[~self._free_triples] = [0.0, 1.0, 0.0], [0.0, 1.0]
        parts = (shifts, first[:, 0], one.reshape(-1), two.reshape(-1), first[:, 1])
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(np.concatenate(parts))
        return logs

    def log_prior(self, parameters: Floats) -> float:
        """The log-density of the free parameters, up to a constant."""
        if self._prior == 0.0:
            return 0.0
        p, floors = self._parts(parameters), parameters[self._length :]
        unseen = self._outcomes - 1 - np.bincount(self._tops, minlength=self._size)
        first = p.shifts.sum() + (p.reductions + unseen * floors)[ROOT:].sum()
        one, two = p.one[self._free_pairs].sum(), p.two[self._free_triples].sum()
        return self._prior * math.fsum((first / self._outcomes, one / ONE, two / TWO))

    def expect(self, parameters: Floats, exponent: float) -> tuple[float, Floats]:
        """As `EMProblem` says."""
        p = self._parts(parameters * exponent)

        def scores(ids: Ints) -> TransitionScores:
            pairs, triples = self._indices(ids)
            return node_scores(p.shifts[pairs], p.reductions[ids], p.one[pairs], p.two[triples])

        total, counts = self._under(scores)
        stops = float(self._times.sum()) * float(p.reductions[ROOT]) if self._proper else 0.0
        return total + stops, counts

    def _indices(self, ids: Ints) -> tuple[Ints, Ints]:
        pairs, triples = self._keys(ids)
        return np.searchsorted(self._pairs, pairs), np.searchsorted(self._triples, triples)

    def _under(self, scores_of: Callable[[Ints], TransitionScores]) -> tuple[float, Floats]:
        """Summed log-weights of the sentences and expected counts, stops among them."""
        count = min(_SHARDS, len(self._ids))
        shards = [range(k, len(self._ids), count) for k in range(count)]
        counts, totals = np.zeros((count, self._length)), np.zeros(len(self._ids))

        def work(begin: int, end: int) -> None:
            for shard in range(begin, end):
                parts = self._parts(counts[shard])
                for index in shards[shard]:
                    ids = self._ids[index]
                    found = Computations(scores_of(ids), single_root=self._single, threads=1)
                    totals[index] = found.log_total()
                    if totals[index] > -np.inf:
                        self._add(parts, ids, found.expectations(), float(self._times[index]))

        over_ranges(work, np.ones(count), self._threads)
        if not np.isfinite(totals).all():
            by_index = np.zeros(int(self._first[-1]) + 1)
            by_index[self._first] = totals
            check_possible(by_index)
        summed = counts.sum(axis=0)
        if self._proper:
            self._parts(summed).reductions[ROOT] += self._times.sum()
        return float(self._times @ totals), summed

    def _add(
        self, counts: _Parameters, ids: Ints, expected: TransitionScores, times: float
    ) -> None:
        (b2, b1), triples = stacks(len(ids))
        pair, triple = self._indices(ids)
        sh, la1, ra1, la2, ra2 = expected
        rd2 = (la2 + ra2).sum(axis=0)
        one = np.column_stack([table[b2, b1] for table in (la1, ra1, rd2)])
        two = np.column_stack([table[triples] for table in (la2, ra2)])
        np.add.at(counts.shifts, pair, times * sh[b2, b1])
        np.add.at(counts.reductions, ids[b1], times * one.sum(axis=1))
        np.add.at(counts.one, pair, times * one)
        np.add.at(counts.two, triple, times * two)

    # Starts: expected counts to begin with.

    def uniform_start(self) -> Floats:
        """All computations are alike."""

        def scores(ids: Ints) -> TransitionScores:
            nodes = len(ids)
            return TransitionScores(*(np.zeros((nodes,) * rank) for rank in (2, 2, 2, 3, 3)))

        return self._under(scores)[1]

    def harmonic_start(self) -> Floats:
        """Arcs weigh 1 / distance (Klein & Manning 2004)."""

        def scores(ids: Ints) -> TransitionScores:
            arcs, nodes = harmonic_scores(len(ids) - 1), len(ids)
            middle = np.zeros((1, nodes, 1))
            la2, ra2 = arcs.T[:, None, :] + middle, arcs[:, None, :] + middle
            return TransitionScores(np.zeros((nodes, nodes)), arcs.T, arcs, la2, ra2)

        return self._under(scores)[1]

    def random_start(self, rng: np.random.Generator) -> Floats:
        """Random parameters, uniform on the simplex of what the sentences have in each context."""
        draws = np.maximum(rng.standard_exponential(self._length), 1e-12)
        return self.expect(self._estimated(draws, 0.0), 1.0)[1]

    def start_from(self, model: TransitionModel) -> Floats:
        """The parameters of a model."""
        return self._under(model._scores)[1]

    def digest(self) -> str:
        """Of the corpus and of what is to be learnt."""
        corpus = hashlib.sha256(repr(self._symbols.vocabulary).encode())
        for ids, times in zip(self._ids, self._times, strict=True):
            corpus.update(ids.tobytes() + times.tobytes())
        return f"{corpus.hexdigest()} {self._single} {self._proper} {self._prior}"

    # The model.

    def tables(self, counts: Floats) -> Tables:
        """The parameters that `maximise` makes of counts, and those of all other symbols."""
        c, size = self._parts(counts), self._size
        if size > MAX_DENSE:
            return self._sparse(c)
        dense = Counts.zeros(size)
        b2, b1 = self._pairs // size, self._pairs % size
        triples = self._triples // size**2, self._triples // size % size, self._triples % size
        dense.sh[b2, b1], dense.la1[b2, b1], dense.ra1[b2, b1] = c.shifts, c.one[:, 0], c.one[:, 1]
        dense.la2[triples], dense.ra2[triples] = c.two.T
        dense.sh[BOTTOM, ROOT] = dense.stop[0] = self._times.sum()
        found = normalised(dense, strength=self._prior, with_stop=self._proper, back_off=False)
        return DenseTables(made_proper(found) if self._proper else found)

    def _sparse(self, c: _Parameters) -> BackoffTables:
        """One level of contexts: where nothing was expected, all outcomes are alike."""
        outcomes, tops = self._outcomes, np.arange(self._size)
        words = self._pairs % self._size - WORDS
        keys = np.concatenate([self._tops * outcomes + words, tops * outcomes + outcomes - 1])
        order = np.argsort(keys)
        first = np.concatenate([c.shifts, c.reductions])[order]
        table = BackoffTable.of_events
        return BackoffTables(
            table(keys[order], first, outcomes, self._prior),
            table(_events(self._pairs, ONE), c.one.reshape(-1), ONE, self._prior),
            table(_events(self._triples, TWO), c.two.reshape(-1), TWO, self._prior),
            self._size,
            self._proper,
        )


def _smoothed(counts: Floats, totals: Floats, prior: float, outcomes: int) -> Floats:
    """(count + prior / outcomes) / (total + prior); all outcomes alike where that is 0 / 0."""
    divisors = totals + prior
    known = divisors > 0.0
    found = (counts + prior / outcomes) / np.where(known, divisors, 1.0)
    return np.where(known, found, 1.0 / outcomes)


def _events(contexts: Ints, outcomes: int) -> Ints:
    return (contexts[:, None] * outcomes + np.arange(outcomes)).reshape(-1)


def fit_em(
    sentences: Iterable[Words],
    vocabulary: Iterable[str] | None,
    *,
    unit: Unit,
    min_count: int,
    unknown: str | None,
    proper: bool,
    root: Root,
    start: Start | TransitionModel,
    prior: float,
    iterations: int,
    threads: int | None,
    **options: Any,
) -> EMResult:
    """See `TransitionModel.fit_em`."""
    from crossarc.models.transition.model import TransitionModel

    listed = list(sentences)
    check_root(root)
    if not 0.0 <= prior < math.inf:
        raise ValueError(f"prior must be a number from 0 up: got {prior}")
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1: got {iterations}")
    if not listed:
        raise ModelError("there is no sentence to learn from: give some")
    if isinstance(start, TransitionModel):
        symbols = start.symbols
    else:
        symbols = Symbols.of_sentences(
            listed, vocabulary, unit=unit, min_count=min_count, unknown=unknown
        )
    problem = TransitionProblem(
        symbols, listed, root=root, proper=proper, prior=prior, threads=threads
    )
    state = run_restarts(problem, start=start, iterations=iterations, **options)
    model = TransitionModel._made(symbols, problem.tables(state.counts), proper)
    return EMResult(model, state.objectives, state.converged)
