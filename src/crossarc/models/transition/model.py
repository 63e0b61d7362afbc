"""The generative transition model of Cohen, Gomez-Rodriguez & Satta (2011)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError, ModelError
from crossarc.inference.transition.attardi import TransitionScores
from crossarc.models.transition.backoff import BackoffTables
from crossarc.models.transition.decoding import ComputationModel
from crossarc.models.transition.parameters import (
    MAX_DENSE,
    NAMES,
    Counts,
    DenseTables,
    Tables,
    checked,
)
from crossarc.models.transition.parameters import (
    proper as made_proper,
)
from crossarc.models.transition.symbols import (
    BOTTOM,
    ROOT,
    UNITS,
    WORDS,
    Annotated,
    Symbols,
    Unit,
    Words,
)
from crossarc.trees import Tree

if TYPE_CHECKING:
    from crossarc.inference.distribution import Root
    from crossarc.models.generative.induction import OnIteration, Start
    from crossarc.models.transition.em import EMResult
    from crossarc.models.transition.estimation import SetAside

__all__ = ["TransitionModel"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_KIND = "transition"
_FORMAT = 1


class TransitionModel(ComputationModel):
    """A joint distribution of words and computations of Attardi's degree-2 transition system.

    Each transition depends on the symbols on top of the stack; sh generates the word that it
    shifts. Words are those of a vocabulary, or tags. Sums over all computations take O(n^7), up to
    100 words.

    Args:
        vocabulary: the words, `$` not among them.
        parameters: arrays over symbols (0 the bottom marker, 1 `$`, then the vocabulary):
            sh[b1, b], rd[b1], la1[b2, b1], ra1[b2, b1], rd2[b2, b1], la2[b3, b2, b1],
            ra2[b3, b2, b1].
        proper: makes the model a distribution over strings, if it terminates: rd[1] is the
            probability to stop at [bottom, $]. Parameters are copied, set to 0 and 1 where mass
            would be lost, and normalised. Without it, `log_prob` is the paper's p(w), which has no
            end factor.
        unit: the column that the words of a `Sentence` are read from.
        unknown: a word of the vocabulary that stands for all others; None to refuse them.

    Raises:
        ModelError: arrays of a wrong shape, or no probabilities; more than 200 symbols.
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        parameters: Mapping[str, Any],
        *,
        proper: bool = False,
        unit: Unit = "form",
        unknown: str | None = None,
    ) -> None:
        symbols = Symbols(vocabulary, unit=unit, unknown=unknown)
        tables = checked(parameters, len(symbols))
        self._set(symbols, DenseTables(made_proper(tables) if proper else tables), proper)

    def _set(self, symbols: Symbols, tables: Tables, proper: bool) -> None:
        self.symbols, self.proper, self._tables = symbols, proper, tables
        #: Of `fit`: trees that could not be used.
        self.set_aside: SetAside | None = None

    @classmethod
    def _made(cls, symbols: Symbols, tables: Tables, proper: bool) -> TransitionModel:
        model = cls.__new__(cls)
        model._set(symbols, tables, proper)
        return model

    @classmethod
    def random(
        cls,
        vocabulary: Iterable[str],
        *,
        seed: int = 0,
        proper: bool = False,
        concentration: float = 1.0,
        unit: Unit = "form",
    ) -> TransitionModel:
        """A model whose every distribution is drawn from a symmetric Dirichlet distribution."""
        words = tuple(vocabulary)
        size = len(words) + WORDS
        if size > MAX_DENSE:
            raise ModelError(f"dense tables hold {MAX_DENSE} symbols: got {size}; use tags")
        rng = np.random.default_rng(seed)

        def drawn(outcomes: int, rank: int) -> Floats:
            alpha = np.full(outcomes, concentration)
            return np.moveaxis(rng.dirichlet(alpha, (size,) * rank), -1, 0)

        first, one, two = drawn(size - 1, 1), drawn(3, 2), drawn(2, 3)
        sh, rd = np.zeros((size, size)), first[-1].copy()
        sh[:, WORDS:] = first[:-1].T
        sh[BOTTOM], sh[BOTTOM, ROOT], rd[BOTTOM] = 0.0, 1.0, 0.0
        tables = dict(zip(NAMES, (sh, rd, *one, *two), strict=True))
        return cls(words, tables, proper=proper, unit=unit)

    @property
    def parameters(self) -> dict[str, Floats]:
        """The tables, read-only; see the constructor.

        Raises:
            ModelError: the model has counts with back-off in place of tables.
        """
        if not isinstance(self._tables, DenseTables):
            raise ModelError(f"over {MAX_DENSE} symbols there are no dense tables of parameters")
        return dict(self._tables.parameters)

    # Probabilities.

    def _scores(self, ids: Ints) -> TransitionScores:
        return self._tables.scores(ids)

    @property
    def _ends(self) -> float:
        """The log-probability of the first shift, and of the stop."""
        return self._tables.start + (self._tables.stop if self.proper else 0.0)

    def log_prob(self, words: Words, *, threads: int | None = None) -> float:
        """log p(w), summed over all computations; -inf for 0.

        Raises:
            ModelError: a word that is not in the vocabulary.
        """
        return self.computations(words, threads=threads).log_total() + self._ends

    def length_probs(self, longest: int) -> Floats:
        """p(n) for n from 0 to `longest`, summed over all sentences of n words, O(n^2 V^5).

        Raises:
            ModelError: the model is not proper, or has more than 64 symbols.
        """
        from crossarc.models.transition.lengths import MAX_SYMBOLS, length_probs

        if not self.proper:
            raise ModelError("only a proper model has lengths: give proper=True")
        if len(self.symbols) > MAX_SYMBOLS:
            raise ModelError(
                f"p(n) takes too long over {len(self.symbols)} symbols, {MAX_SYMBOLS} at most: "
                "use a model over tags"
            )
        return length_probs(self.parameters, longest)

    def tree_log_prob(self, words: Words, tree: Tree) -> float:
        """log p(w, tree), summed over all computations of the tree; -inf for 0."""
        return self._tree_total(words, tree)

    def expectations(self, words: Words, *, threads: int | None = None) -> dict[str, Floats]:
        """Expected counts of all features given the words, in the shapes of the parameters.

        Those of rd and rd2 are sums over the reductions that they are part of; the first shift
        counts, and with `proper` the stop.

        Raises:
            InfeasibleError: a sentence of probability 0.
        """
        ids = self.symbols.encode(words)
        if self._ends == -math.inf:
            raise InfeasibleError("no computation has a positive weight")
        counts = Counts.zeros(len(self._dense_symbols()))
        counts.add(ids, self.computations(words, threads=threads).expectations())
        tables = counts.tables()
        tables["rd"][ROOT] += counts.stop[0] if self.proper else 0.0
        return tables

    def _dense_symbols(self) -> Symbols:
        if len(self.symbols) > MAX_DENSE:
            raise ModelError(
                f"expected counts of {len(self.symbols)} symbols are too large: use computations()"
            )
        return self.symbols

    def sample(
        self, count: int, *, seed: int = 0, max_words: int = 100
    ) -> list[tuple[list[str], Ints]]:
        """Words and heads of sentences drawn from the model, which may have no words.

        Args:
            max_words: longer sentences are given up, and drawn again.

        Raises:
            ModelError: the model is not proper, or hardly ever ends within so many words.
        """
        from crossarc.models.transition.generation import generate

        if not self.proper:
            raise ModelError("only a proper model generates sentences: give proper=True")
        rng = np.random.default_rng(seed)
        drawn = generate(self.parameters, count, rng, max_words)
        return [(self.symbols.decode(ids), heads) for ids, heads in drawn]

    # Learning.

    @classmethod
    def fit(
        cls,
        sentences: Iterable[Annotated],
        *,
        vocabulary: Iterable[str] | None = None,
        unit: Unit = "form",
        min_count: int = 1,
        unknown: str | None = None,
        strength: float = 1.0,
        iterations: int = 0,
        proper: bool = False,
    ) -> TransitionModel:
        """The model of sentences with trees, by counting the transitions of the oracle.

        Trees that no computation of degree 2 makes are left out; `set_aside` of the model counts
        them. With more than 200 symbols the model keeps the counts of what it has seen, and backs
        off elsewhere.

        Args:
            sentences: objects of `Sentence`, or pairs of words and heads.
            vocabulary: else all words that occur.
            min_count: rarer words are read as unknown.
            unknown: the word that stands for these and for all that do not occur, one of the
                vocabulary if that is given; by default "<unk>" with a `min_count` above 1, or none.
            strength: how many observations a coarser context is worth: (count + s q) / (total + s).
            iterations: of EM over all computations of each tree, after the oracle's: the model then
                is one of trees, not of the order of transitions that the oracle prefers.

        Raises:
            ModelError: no sentence can be used.
        """
        from crossarc.models.transition.estimation import estimate

        symbols, tables, set_aside = estimate(
            sentences,
            vocabulary,
            unit=unit,
            min_count=min_count,
            unknown=unknown,
            strength=strength,
            iterations=iterations,
            proper=proper,
        )
        model = cls._made(symbols, tables, proper)
        model.set_aside = set_aside
        return model

    @classmethod
    def fit_em(
        cls,
        sentences: Iterable[Words],
        *,
        vocabulary: Iterable[str] | None = None,
        unit: Unit = "form",
        min_count: int = 1,
        unknown: str | None = None,
        proper: bool = False,
        root: Root = "multi",
        start: Start | TransitionModel = "uniform",
        restarts: int = 1,
        seed: int = 0,
        prior: float = 0.0,
        iterations: int = 50,
        tolerance: float = 1e-5,
        anneal: float = 1.0,
        threads: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        on_iteration: OnIteration | None = None,
    ) -> EMResult:
        """A model of sentences without trees, by expectation maximisation (section 5).

        Args:
            sentences: of at most 100 words.
            min_count, unknown: as of `fit`.
            root: "single" sums over computations in which `$` has one modifier. Without it EM tends
                to hang all words from `$`.
            start: "uniform" counts all computations alike first, "harmonic" weighs arcs by 1 /
                distance, "random" draws the parameters; or a model to go on from.
            restarts: of random starts; the one with the highest objective is kept.
            prior: strength of a symmetric Dirichlet prior: the sum of what is added to the counts
                of each distribution.
            iterations, tolerance: as of `crossarc.learning.em.run_em`.
            anneal: the first exponent of the posterior, which then grows by a quarter up to 1.
            threads: the result does not depend on them.
            checkpoint: a file that is written after each iteration, and gone on from where it
                exists.
            on_iteration: called with the restart and where it stands after each iteration.

        Raises:
            ModelError: no sentences, or a start under which one has probability 0.
        """
        from crossarc.models.transition.em import fit_em

        return fit_em(
            sentences,
            vocabulary,
            unit=unit,
            min_count=min_count,
            unknown=unknown,
            proper=proper,
            root=root,
            start=start,
            restarts=restarts,
            seed=seed,
            prior=prior,
            iterations=iterations,
            tolerance=tolerance,
            anneal=anneal,
            threads=threads,
            checkpoint=checkpoint,
            on_iteration=on_iteration,
        )

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file at exactly this path, whole or not at all."""
        from crossarc.models.storage import write_model

        tables = self._tables
        about = {
            "kind": _KIND,
            "format": _FORMAT,
            "vocabulary": list(self.vocabulary),
            "unit": self.symbols.unit,
            "unknown": self.symbols.unknown,
            "proper": self.proper,
        }
        if isinstance(tables, BackoffTables):
            write_model(path, tables.tensors(), about | {"tables": tables.metadata()})
        else:
            write_model(path, self.parameters, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TransitionModel:
        """Read a model file.

        Raises:
            ModelError: a file of another kind, or one that cannot be used.
        """
        from crossarc.models.checks import Fields, restoring
        from crossarc.models.storage import check_format, read_model

        arrays, about = read_model(path)
        name = os.fspath(path)
        if about.get("kind") != _KIND:
            raise ModelError(
                f"{name}: no transition model: give a file that `crossarc induce --model "
                "transition` or a model's save has written"
            )
        with restoring(path):
            check_format(about, _FORMAT)
            described = Fields(about)
            unit: Any = described.choice("unit", UNITS)
            unknown = None if described.is_none("unknown") else described.text("unknown")
            proper, words = described.flag("proper"), described.texts("vocabulary")
            if "tables" not in about:
                return cls(words, arrays, unit=unit, unknown=unknown, proper=proper)
            symbols = Symbols(words, unit=unit, unknown=unknown)
            below = dict(described.fields("tables"))
            tables = BackoffTables.restore(arrays, below, len(symbols), proper)
            return cls._made(symbols, tables, proper)
