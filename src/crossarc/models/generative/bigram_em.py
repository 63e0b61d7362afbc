"""EM for the bigram model: which parameter every arc of a corpus has, the M-step, and starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.generative.arcs import Arcs, log_tree_count
from crossarc.models.generative.backoff import BackoffTable
from crossarc.models.generative.bigram import BigramModel
from crossarc.models.generative.corpus import Chunk, Corpus
from crossarc.models.generative.expectations import ArcChunk, ArcExpectations
from crossarc.models.generative.induction import check_possible, harmonic_scores

if TYPE_CHECKING:
    from crossarc.models.generative.model import GenerativeModel

__all__ = ["BigramProblem"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BigramProblem:
    """Sentences whose trees are hidden.

    Parameters are p(modifier | head, code) for the pairs that share a sentence, the events, and
    for each context what a modifier has that it never shares a sentence with.

    Args:
        prior: what is added to each count: the mode under a Dirichlet(1 + prior) prior.
    """

    def __init__(
        self, model: BigramModel, corpus: Corpus, prior: float, threads: int | None
    ) -> None:
        self._model, self._corpus, self._prior = model, corpus, prior
        self.words = corpus.words
        pieces = list(corpus.chunks())
        keys = [self._keys(chunk) for chunk in pieces]
        stops = self._stop_keys()
        used = [_distinct(own[:, _other_words(own.shape[2])].reshape(-1)) for own in keys]
        self._events = _distinct(np.concatenate([*used, stops]))
        chunks = [
            ArcChunk(one.members, one.words, self._index(own))
            for one, own in zip(pieces, keys, strict=True)
        ]
        self._stop_counts = np.bincount(
            np.searchsorted(self._events, stops), minlength=len(self._events)
        ).astype(np.float64)
        contexts, self._owners = np.unique(self._events // self._outcomes, return_inverse=True)
        self._unseen = self._outcomes - np.bincount(self._owners, minlength=len(contexts))
        self._constant = 0.0
        if not model.stop:
            kind = {"projective": model.projective, "root": model.root}
            self._constant = -sum(log_tree_count(n, **kind) for n in corpus.sizes.tolist())
        self.arcs = ArcExpectations(
            chunks,
            len(corpus),
            len(self._events),
            projective=model.projective,
            single=model.root == "single",
            threads=threads,
        )

    # Events.

    @property
    def _outcomes(self) -> int:
        return len(self._model.vocabularies[0]) + self._model.stop

    def _keys(self, chunk: Chunk) -> Ints:
        """context * outcomes + outcome of each arc [sentence, h, m], m from 1 on."""
        (factor,) = self._model.factors(self._model.all_arcs(chunk))
        keys: Ints = factor.contexts[0] * self._outcomes + factor.observed
        return keys

    def _stop_keys(self) -> Ints:
        """The same for each word that stops; none unless the model has stops."""
        if not self._model.stop:
            return np.empty(0, np.int64)
        units = self._model.stopping_units(self._corpus)
        zero = np.zeros_like(units)
        arcs = Arcs([units], [zero + self._outcomes - 1], zero, zero)
        (factor,) = self._model.factors(arcs)
        keys: Ints = factor.contexts[0] * self._outcomes + factor.observed
        return keys

    def _index(self, keys: Ints) -> NDArray[np.int32]:
        """The event of each entry of the scores; where no tree has an arc, one beyond all."""
        count, width, n = keys.shape
        index = np.full((count, width, width), len(self._events), np.int32)
        index[:, :, 1:] = np.searchsorted(self._events, keys)
        index[:, :, 1:][:, ~_other_words(n)] = len(self._events)
        return index.reshape(-1)

    # Both steps.

    def maximise(self, counts: Floats) -> Floats:
        """log p of each event, then of each context's unseen modifiers."""
        totals = np.bincount(self._owners, counts) + self._prior * self._outcomes
        is_seen = totals > 0.0
        divisors = np.where(is_seen, totals, 1.0)
        p = np.where(
            is_seen[self._owners],
            (counts + self._prior) / divisors[self._owners],
            1.0 / self._outcomes,
        )
        floors = np.where(is_seen, self._prior / divisors, 1.0 / self._outcomes)
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(np.concatenate([p, floors]))
        return logs

    def log_prior(self, parameters: Floats) -> float:
        """The log-density of the Dirichlet prior, up to a constant."""
        if self._prior == 0.0:
            return 0.0
        events, floors = parameters[: len(self._events)], parameters[len(self._events) :]
        return self._prior * float(events.sum() + (floors * self._unseen)[self._unseen > 0].sum())

    def expect(self, parameters: Floats, exponent: float) -> tuple[float, Floats]:
        """As `EMProblem` says."""
        events = parameters[: len(self._events)] * exponent
        totals, counts = self.arcs(events)
        check_possible(totals)
        stops = self._stop_counts > 0.0
        constant = exponent * self._constant
        constant += float(self._stop_counts[stops] @ events[stops])
        return float(totals.sum()) + constant, counts + self._stop_counts

    def table(self, counts: Floats) -> BackoffTable:
        """The model's table with the parameters that `maximise` makes of counts."""
        strength = self._prior * self._outcomes
        return BackoffTable.of_events(self._events, counts, self._outcomes, strength)

    # Starts: expected counts to begin with.

    def uniform_start(self) -> Floats:
        """All trees are alike."""
        return self._under(lambda chunk: np.zeros((chunk.words + 1,) * 2))

    def harmonic_start(self) -> Floats:
        """Arcs weigh 1 / distance (Klein & Manning 2004)."""
        return self._under(lambda chunk: harmonic_scores(chunk.words))

    def random_start(self, rng: np.random.Generator) -> Floats:
        """Random parameters, uniform on the simplex of each context up to its scale."""
        draws = np.maximum(rng.standard_exponential(len(self._events)), 1e-12)
        return self.arcs(np.log(draws))[1] + self._stop_counts

    def start_from(self, model: GenerativeModel) -> Floats:
        """The parameters of another bigram model.

        Raises:
            ModelError: a model of another kind or unit.
        """
        own = self._model
        if not isinstance(model, BigramModel) or model.unit != own.unit:
            raise ModelError(f"EM must start from a bigram model of the unit {own.unit}")
        translated = np.array(model.vocabularies[0].numbers(own.vocabularies[0].symbols))

        def scores(chunk: ArcChunk) -> Floats:
            units = translated[self._corpus.chunk(chunk.members).units]
            return model.arc_scores(Chunk(chunk.members, units))

        return self._under(scores)

    def _under(self, scores_of: Callable[[ArcChunk], Floats]) -> Floats:
        def repeated(chunk: ArcChunk) -> Floats:
            width = chunk.words + 1
            shape = (len(chunk.members), width, width)
            return np.ascontiguousarray(np.broadcast_to(scores_of(chunk), shape))

        totals, counts = self.arcs.under(repeated)
        check_possible(totals)
        return counts + self._stop_counts

    def digest(self) -> str:
        """Of the corpus and of what is to be learnt."""
        return f"{self._corpus.digest()} {self._model.options()} {self._prior}"


def _distinct(keys: Ints) -> Ints:
    """The different keys, sorted. (`np.unique` of NumPy 2.4 takes ten times as long.)"""
    ordered = np.sort(keys)
    found: Ints = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def _other_words(n: int) -> NDArray[np.bool_]:
    """Whether h is not m, [h, m], m from 1 on."""
    return ~np.eye(n + 1, dtype=np.bool_)[:, 1:]
