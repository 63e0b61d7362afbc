"""EM for the dependency model with valence: the M-step and starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.generative.corpus import Chunk, Corpus
from crossarc.models.generative.dmv import DMVModel, Tables, expected_counts
from crossarc.models.generative.dmv_sums import LEFT, RIGHT
from crossarc.models.generative.induction import check_possible

if TYPE_CHECKING:
    from crossarc.models.generative.model import GenerativeModel

__all__ = ["DMVProblem"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class DMVProblem:
    """Sentences whose trees are hidden; counts and parameters are `Tables` as vectors.

    Args:
        prior: what is added to each count: the mode under a Dirichlet(1 + prior) prior.
    """

    def __init__(self, model: DMVModel, corpus: Corpus, prior: float, threads: int | None) -> None:
        self._model, self._corpus, self._prior, self._threads = model, corpus, prior, threads
        self._units = len(model.vocabularies[0])
        self._chunks = list(corpus.chunks())
        self.words = corpus.words

    def maximise(self, counts: Floats) -> Floats:
        """Logarithms of all probabilities."""
        tables = self._tables(counts).estimate(self._prior)
        logs: Floats = np.log(np.concatenate([one.reshape(-1) for one in tables]))
        return logs

    def log_prior(self, parameters: Floats) -> float:
        """The log-density of the Dirichlet prior, up to a constant."""
        choose, stops = self._tables(parameters)
        used = float(choose.sum() - choose[-1, LEFT].sum() + stops.sum())
        return self._prior * used

    def expect(self, parameters: Floats, exponent: float) -> tuple[float, Floats]:
        """As `EMProblem` says."""
        totals, counts = self._expected(np.exp(parameters * exponent))
        return float(totals.sum()), counts

    def _expected(self, weights: Floats) -> tuple[Floats, Floats]:
        totals, counts = expected_counts(
            self._chunks, len(self._corpus), self._tables(weights), True, self._threads
        )
        totals = totals[self._corpus.sizes > 0]
        check_possible(totals)
        return totals, counts

    def _tables(self, vector: Floats) -> Tables:
        return Tables.of_vector(vector, self._units)

    # Starts: expected counts to begin with.

    def uniform_start(self) -> Floats:
        """All parameters of a kind are alike."""
        weights = np.full(Tables.size(self._units), 0.5)
        self._tables(weights).choose[:] = 1.0 / self._units
        return self._expected(weights)[1]

    def harmonic_start(self) -> Floats:
        """Arcs weigh 1 / distance (Klein & Manning 2004)."""
        vector = np.zeros(Tables.size(self._units))
        choose, stops = self._tables(vector)
        solved: dict[int, Tables] = {}
        for chunk in self._chunks:
            n, units = chunk.words, chunk.units[0]
            if n not in solved:
                solved[n] = _harmonic(n)
            side = np.arange(2)[None, None, :, None]
            own = (units[:, :, None, None], side, units[:, None, None, :])
            np.add.at(choose, own, solved[n].choose[:-1])
            np.add.at(choose, (-1, RIGHT, units), solved[n].choose[-1, RIGHT])
            np.add.at(stops, units, solved[n].stops)
        return vector

    def random_start(self, rng: np.random.Generator) -> Floats:
        """Random parameters, uniform on each simplex."""
        draws = self._tables(rng.standard_exponential(Tables.size(self._units)))
        tables = draws.estimate(1e-12)
        return self._expected(np.concatenate([one.reshape(-1) for one in tables]))[1]

    def start_from(self, model: GenerativeModel) -> Floats:
        """The parameters of another model with valence.

        Raises:
            ModelError: a model of another kind or unit.
        """
        own = self._model
        if not isinstance(model, DMVModel) or model.unit != own.unit:
            raise ModelError(f"EM must start from a model with valence of the unit {own.unit}")
        known = np.array(model.vocabularies[0].numbers(own.vocabularies[0].symbols))
        choose, stops = model.tables
        heads = np.append(known, len(stops))
        translated = choose[heads[:, None, None], np.arange(2)[:, None], known]
        return self._expected(np.concatenate([translated.reshape(-1), stops[known].reshape(-1)]))[1]

    def digest(self) -> str:
        """Of the corpus and of what is to be learnt."""
        return f"{self._corpus.digest()} {self._model.options()} {self._prior}"


def _harmonic(n: int) -> Tables:
    """Expected counts of one sentence of n different words, whose arcs weigh 1 / distance."""
    weights = Tables.of_vector(np.full(Tables.size(n), 0.5), n)
    distances = np.maximum(np.abs(np.arange(n)[:, None] - np.arange(n)), 1)
    weights.choose[:-1] = 1.0 / distances[:, None, :]
    chunk = Chunk(np.zeros(1, np.int64), np.arange(n).reshape(1, 1, n))
    return Tables.of_vector(expected_counts([chunk], 1, weights, True, 1)[1], n)
