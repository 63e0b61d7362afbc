"""The dependency model with valence (Klein & Manning 2004): projective trees, one root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference import ProjectiveTrees
from crossarc.inference.arithmetic.lanes import LANES
from crossarc.inference.runtime.lockstep import cells_for
from crossarc.models.checks import tensor
from crossarc.models.generative.corpus import Chunk, Corpus, Unit, Words
from crossarc.models.generative.dmv_sums import (
    ADJACENT,
    GO,
    LEFT,
    RIGHT,
    STOP,
    sum_sentences,
    workspace_size,
)
from crossarc.models.generative.expectations import in_shards
from crossarc.models.generative.model import GenerativeModel
from crossarc.treebank import Sentence

if TYPE_CHECKING:
    from crossarc.learning.em import EMState
    from crossarc.models.generative.induction import EMKeywords

__all__ = ["DMVModel", "Tables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Tables have the square of the vocabulary; this makes 128 MB.
_MOST_UNITS = 2_000


class Tables(NamedTuple):
    """Probabilities, their logarithms, or counts.

    Attributes:
        choose: [head, direction, modifier]; the last head is the root, whose direction is RIGHT.
        stops: [unit, direction, adjacent, decision].
    """

    choose: Floats
    stops: Floats

    @classmethod
    def of_vector(cls, vector: Floats, units: int) -> Tables:
        """Views of one array."""
        size = (units + 1) * 2 * units
        return cls(
            vector[:size].reshape(units + 1, 2, units), vector[size:].reshape(units, 2, 2, 2)
        )

    @staticmethod
    def size(units: int) -> int:
        """How many numbers both have."""
        return (units + 1) * 2 * units + units * 8

    def estimate(self, prior: float) -> Tables:
        """Probabilities from counts, `prior` being added to each."""
        return Tables(*((one + prior) / (one + prior).sum(-1, keepdims=True) for one in self))


class DMVModel(GenerativeModel):
    """p(x) = sum_T p(x, T) over projective trees with one root, lengths included.

    Every word generates modifiers on each side from the inside out, and before each decides
    whether to stop, with another probability if it has none there yet.

    Args:
        unit: what the words of a sentence are: "form", "lemma", "upos" or "xpos".
        min_count: units that occur less often are read as the unknown one.

    Attributes:
        tables: all probabilities, above 0.
    """

    kind = "dmv"

    def __init__(self, unit: Unit = "upos", *, min_count: int = 1) -> None:
        super().__init__(unit, projective=True, root="single", min_count=min_count)
        if unit == "form+upos":
            raise ValueError("the model with valence has units of one column")
        self.tables = Tables(np.empty(0), np.empty(0))

    # Learning.

    def fit(self, sentences: Sequence[Sentence], *, strength: float = 0.1) -> Self:
        """Count the decisions of trees; crossing arcs count as if they were in their place.

        Sentences with a word without a head, or with several roots, are left out.

        Args:
            strength: what is added to each count, above 0.

        Raises:
            ModelError: no trees to learn from.
        """
        _check_positive("strength", strength)
        sentences = list(sentences)
        units = self._learn(sentences)
        corpus = Corpus.encode(units, self.vocabularies)
        counts = self._empty()
        ends = np.cumsum(corpus.sizes)
        for end, sentence in zip(ends.tolist(), sentences, strict=True):
            if (sentence.heads >= 0).all() and (sentence.heads == 0).sum() == 1:
                own = corpus.units[0, end - len(sentence) : end].tolist()
                _count_tree(own, sentence.heads.tolist(), counts)
        if not counts.choose.any():
            raise ModelError("no sentence has a tree with one root: give a treebank, or use fit_em")
        self.tables = counts.estimate(strength)
        return self

    def fit_em(self, sentences: Sequence[Words], **options: Unpack[EMKeywords]) -> EMState:
        """Learn from sentences without trees by EM; arguments as of `BigramModel.fit_em`.

        Raises:
            ModelError: no words, or more than 2,000 different ones.
        """
        from crossarc.models.generative.dmv_em import DMVProblem
        from crossarc.models.generative.induction import run_restarts, split_options

        prior, threads, others = split_options(options)
        _check_positive("prior", prior)
        corpus = Corpus.encode(self._learn(list(sentences)), self.vocabularies)
        problem = DMVProblem(self, corpus, prior, threads)
        state = run_restarts(problem, **others)
        counts = Tables.of_vector(state.counts, len(self.vocabularies[0]))
        self.tables = counts.estimate(prior)
        return state

    def _learn(self, sentences: Sequence[Words]) -> list[list[tuple[str, ...]]]:
        units = self._learn_vocabulary(sentences)
        size = len(self.vocabularies[0])
        if size > _MOST_UNITS:
            self.vocabularies = ()
            raise ModelError(
                f"{size:,} different units, the model with valence takes {_MOST_UNITS:,}: raise "
                "min_count, or use tags"
            )
        return units

    def _empty(self) -> Tables:
        units = len(self.vocabularies[0])
        return Tables.of_vector(np.zeros(Tables.size(units)), units)

    # Probabilities.

    def _log_probs(self, corpus: Corpus, threads: int | None) -> Floats:
        return expected_counts(list(corpus.chunks()), len(corpus), self.tables, False, threads)[0]

    def _log_length_probs(self, sizes: Ints) -> Floats:
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.length_probs(int(sizes.max(initial=0))))
        return logs[sizes]

    def length_probs(self, longest: int) -> Floats:
        """p(n) for n from 0 to `longest`: the coefficients of a generating function.

        With S_y(z) the series of the words of a subtree whose head is y, and for each side of x
        G(z) = sum_y p(y | x) S_y(z), open sides O = go_adjacent G + go G O and closed sides
        F = stop_adjacent + stop O: S_y = z F_{y, left} F_{y, right}. O(longest^2).
        """
        self._check_learnt()
        choose, stops = self.tables
        units = len(stops)
        subtrees = np.zeros((longest + 1, units))
        below, opened, closed = np.zeros((3, longest + 1, units, 2))
        closed[0] = stops[:, :, ADJACENT, STOP]
        for t in range(1, longest + 1):
            subtrees[t] = (closed[:t, :, LEFT] * closed[:t, :, RIGHT][::-1]).sum(axis=0)
            below[t] = choose[:-1] @ subtrees[t]
            longer = (below[1:t] * opened[1:t][::-1]).sum(axis=0)
            opened[t] = stops[:, :, ADJACENT, GO] * below[t] + stops[:, :, 0, GO] * longer
            closed[t] = stops[:, :, 0, STOP] * opened[t]
        lengths: Floats = subtrees @ choose[-1, RIGHT]
        return lengths

    def _distribution(self, corpus: Corpus, is_batch: bool, threads: int | None) -> Any:
        starts = np.cumsum(corpus.sizes) - corpus.sizes
        logs = Tables(*map(np.log, self.tables))
        pairs = [
            arc_scores(corpus.units[0, start : start + size], logs)[:2]
            for start, size in zip(starts.tolist(), corpus.sizes.tolist(), strict=True)
        ]
        scores, factors = [one for one, _ in pairs], [one for _, one in pairs]
        if is_batch:
            return ProjectiveTrees(scores, sibling=factors, threads=threads)
        return ProjectiveTrees(scores[0], sibling=factors[0], threads=threads)

    # Files.

    def options(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {"unit": self.unit, "min_count": self.min_count}

    def _tensors(self) -> dict[str, NDArray[Any]]:
        return {"choose": self.tables.choose, "stops": self.tables.stops}

    def _metadata(self) -> dict[str, Any]:
        return {}

    def _restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        units = len(self.vocabularies[0])
        if set(tensors) != {"choose", "stops"} or units**2 > tensors["choose"].size:
            raise ModelError("probabilities are missing: train it again")
        for name, shape in zip(("choose", "stops"), [o.shape for o in self._empty()], strict=True):
            tensor(tensors, name, np.float64, shape)
        self.tables = Tables(tensors["choose"], tensors["stops"])
        for one in self.tables:
            if not ((one > 0.0) & (one <= 1.0)).all():
                raise ModelError("probabilities are missing or not in 0..1: train it again")


def expected_counts(
    chunks: Sequence[Chunk], sentences: int, tables: Tables, counted: bool, threads: int | None
) -> tuple[Floats, Floats]:
    """log of the sum over trees for each sentence, and expected counts, as a vector.

    An empty sentence, which is in no chunk, has no tree.
    """
    units = len(tables.stops)
    totals = np.full(sentences, -np.inf)

    def run(chunk: Chunk, vector: Floats) -> None:
        own, counts = np.empty(len(chunk.members)), Tables.of_vector(vector, units)
        words = np.ascontiguousarray(chunk.units[0]).reshape(-1)
        cells = cells_for(workspace_size(chunk.words), LANES, False)
        sum_sentences(words, chunk.words, *tables, counted, own, *counts, cells)
        for index in np.flatnonzero(np.isnan(own)).tolist():
            own[index] = _sum_wide(chunk.units[0, index], tables, counted, counts)
        totals[chunk.members] = own

    costs = [len(one.members) * one.words**3 + 1000 for one in chunks]
    return totals, in_shards(chunks, costs, run, Tables.size(units), threads)


def _sum_wide(units: Ints, tables: Tables, counted: bool, counts: Tables) -> float:
    """The same for one sentence by `ProjectiveTrees`, whose numbers neither over- nor underflow."""
    with np.errstate(divide="ignore"):
        scores, factor, constant = arc_scores(units, Tables(*map(np.log, tables)))
    trees = ProjectiveTrees(scores, sibling=factor, threads=1)
    total = float(trees.log_partition()) + constant
    if counted and total > -np.inf:
        parts, words = trees.marginals("sibling"), np.arange(1, len(units) + 1)
        size = len(tables.stops)
        counts.choose[-1, RIGHT] += np.bincount(units, parts[0, 0, 1:], size)
        for h in words.tolist():
            for side, m in ((LEFT, words[: h - 1]), (RIGHT, words[h:])):
                first, every = parts[h, h, m], parts[h][:, m].sum(axis=0)
                unit = units[h - 1]
                counts.choose[unit, side] += np.bincount(units[m - 1], every, size)
                later = float(every.sum() - first.sum())
                adjacent = [1.0 - float(first.sum()), float(first.sum())]
                counts.stops[unit, side, ADJACENT] += adjacent
                counts.stops[unit, side, 0] += [float(first.sum()), later]
    return total


def arc_scores(units: Ints, logs: Tables) -> tuple[Floats, Floats, float]:
    """Scores of arcs, sibling factor and constant: a tree's sum is its log-probability.

    A side without a modifier stops while adjacent. So the constant holds that for all sides, and
    the first modifier on a side takes it back.
    """
    n = len(units)
    side = (np.arange(1, n + 1)[:, None] < np.arange(1, n + 1)).astype(np.int64)
    scores, factor = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1, n + 1))
    scores[0, 1:] = logs.choose[-1, RIGHT, units]
    scores[1:, 1:] = logs.choose[units[:, None], side, units]
    own = logs.stops[units]
    stop, go, adjacent_stop, adjacent_go = (
        own[:, :, 0, STOP],
        own[:, :, 0, GO],
        *(own[:, :, ADJACENT, decision] for decision in (STOP, GO)),
    )
    heads = np.arange(n)[:, None]
    factor[1:, :, 1:] = go[heads, side][:, None, :]
    first = (adjacent_go + stop - adjacent_stop)[heads, side]
    factor[np.arange(1, n + 1), np.arange(1, n + 1), 1:] = first
    return scores, factor, float(adjacent_stop.sum())


def _count_tree(units: Sequence[int], heads: Sequence[int], counts: Tables) -> None:
    """Add the decisions of one tree."""
    sides: dict[tuple[int, int], int] = {}
    for m, h in enumerate(heads, 1):
        side = LEFT if 0 < m < h else RIGHT
        counts.choose[units[h - 1] if h else -1, side, units[m - 1]] += 1.0
        sides[h, side] = sides.get((h, side), 0) + 1
    for h, unit in enumerate(units, 1):
        for side in (LEFT, RIGHT):
            modifiers = sides.get((h, side), 0)
            counts.stops[unit, side, ADJACENT, GO if modifiers else STOP] += 1.0
            if modifiers:
                counts.stops[unit, side, 0, GO] += modifiers - 1
                counts.stops[unit, side, 0, STOP] += 1.0


def _check_positive(name: str, value: float) -> None:
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be above 0 for the model with valence: got {value}")
