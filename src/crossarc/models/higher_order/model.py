"""The linear model of second or third order: a first-order model prunes, factors score the rest.

A tree's score is the sum over its arcs and over its parts of two or three arcs, each the sum of the
weights of its features. The first-order model decides by its marginals which arcs are scored at
all. Labels
come last: log p(l | h, m) of the first-order model in a distribution over labelled trees, and of a
tree that has been chosen log p(l | tree, m), which knows what stands around the arc.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import Parts
from crossarc.inference.higher import FirstOrder
from crossarc.models.checks import Fields, weights_fit
from crossarc.models.encode import Encoded, permitted_counts
from crossarc.models.features import arc_plan
from crossarc.models.first_order.model import LinearModel
from crossarc.models.first_order.scorers import TABLE_BITS, Arcs, ArcScorer, LabelScorer, Scorer
from crossarc.models.higher_order.contexts import context_plan, with_contexts
from crossarc.models.higher_order.explain import FactoredFeatures
from crossarc.models.higher_order.parts import PartList, PartScorer
from crossarc.models.higher_order.pruning import surviving_arcs
from crossarc.models.higher_order.templates import FACTOR_NAMES, part_plan
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import ArcIndex, Described, of_sentences
from crossarc.models.storage import check_format
from crossarc.once import once
from crossarc.treebank import Sentence

__all__ = ["FactoredScores", "HigherOrderModel"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FORMAT = 2

# By whether trees are projective, below `crossarc.inference`.
_SLOW_KERNELS = {
    True: tuple(
        f"crossarc.inference.{name}"
        for name in (
            "projective.automata.rules:emit_automata",
            "projective.automata.layout:lay_out",
            "projective.automata.system:most_instances",
            "projective.first_order.lockstep:sum_groups_one",
            "forest.viterbi:best_parts",
            "forest.inside:marginals",
        )
    ),
    False: tuple(
        f"crossarc.inference.{name}"
        for name in (
            "higher.rounds:_run_rounds",
            "higher.packing:_problems_of",
            "higher.tables:_score_trees",
            "spanning.matrix_tree.sums:sum_groups_one",
        )
    ),
}


class HigherOrderModel(Described):
    """Scores of arcs and of parts of several arcs, for the arcs that a first-order model keeps.

    Args:
        first: the first-order model.
        order: 2 or 3.
        projective, root: the trees that it is for.
        bits: the tables have two to this power weights.
        threshold: arcs below this probability are pruned; None for that of `prune`.

    Attributes:
        temperature, label_temperature: what scores are divided by.
        first_share, first_temperature: where probabilities are approximate, those of the
            first-order model, whose scores are divided by this, have this share in them. With
            share 0 they are left as they are.
    """

    kind = "graph"
    #: Parts of the arcs that are kept are few.
    cubic_bytes = 0.0

    def __init__(
        self,
        first: LinearModel,
        *,
        order: int,
        projective: bool,
        root: RootRule,
        bits: int = 22,
        threshold: float | None = None,
    ) -> None:
        self.first, self.order, self.labels = first, order, first.labels
        self.projective, self.root = projective, root
        self.temperature = self.label_temperature = 1.0
        self.first_share, self.first_temperature = 0.0, 1.0
        self._bits, self._threshold = bits, threshold
        encoder = first.encoder
        words = encoder.atoms, encoder.attributes
        self.arcs = ArcScorer(arc_plan(*words), bits=bits, tag=first.arcs.tag)
        self.parts = {
            name: PartScorer(name, part_plan(name, *words), bits=bits)
            for name in FACTOR_NAMES[order]
        }
        self.label_scorer = LabelScorer(
            context_plan(*words), bits=bits, tag=first.arcs.tag, labels=len(self.labels)
        )

    @property
    def slow_kernels(self) -> tuple[str, ...]:
        """Those that a parse needs late and that take long to compile: see `crossarc.beside`."""
        return _SLOW_KERNELS[self.projective]

    def encode(self, sentences: Sequence[Sentence], *, gold: bool = False) -> Encoded:
        """Codes of all words; with `gold`, of their heads and labels too."""
        return self.first.encode(sentences, gold=gold)

    def score(self, sentences: Sequence[Sentence], *, threads: int | None = None) -> FactoredScores:
        """The scores of a batch."""
        encoded = self.encode(sentences)
        return FactoredScores(self, encoded, self.surviving(encoded, threads=threads), threads)

    def score_given(
        self, sentences: Sequence[Sentence], *, threads: int | None = None
    ) -> FactoredScores:
        """The scores of a batch whose heads, where there are any, are certain.

        Arcs are pruned among the trees with these heads, so that one is left.
        """
        encoded = self.encode(sentences, gold=True)
        given = [encoded.gold_heads(index) for index in range(len(encoded))]
        allowed = self.surviving(encoded, given, threads=threads)
        return FactoredScores(self, encoded, allowed, threads)

    def score_unpruned(
        self, sentences: Sequence[Sentence], *, threads: int | None = None
    ) -> FactoredScores:
        """The scores of a batch, of all arcs and parts."""
        encoded = self.encode(sentences)
        allowed = [np.ones((n + 1, n + 1), np.bool_) for n in encoded.sizes.tolist()]
        for square in allowed:
            square[:, 0] = False
            np.fill_diagonal(square, False)
        flat = np.concatenate([np.empty(0, np.bool_), *(square.ravel() for square in allowed)])
        return FactoredScores(self, encoded, flat, threads)

    def features(self, sentence: Sentence) -> FactoredFeatures:
        """The single features of a sentence, with their weights."""
        return FactoredFeatures(self, sentence)

    def surviving(
        self, encoded: Encoded, given: Sequence[Ints] | None = None, threads: int | None = None
    ) -> Bools:
        """Which arcs of all sentences are not pruned; see `surviving_arcs`."""
        return surviving_arcs(
            self.first,
            encoded,
            given,
            projective=self.projective,
            root=self.root,
            threshold=self._threshold,
            threads=threads,
        )

    def list_parts(self, encoded: Encoded, allowed: Bools) -> dict[str, PartList]:
        """The parts of each factor that trees over the allowed arcs may have."""
        return {
            name: PartList.of_arcs(
                allowed, encoded, name, projective=self.projective, single=self.root == "single"
            )
            for name in self.parts
        }

    def tree_arcs(self, encoded: Encoded, heads: Ints) -> Arcs:
        """The arcs of trees with what stands around them, given the heads of all words."""
        return Arcs.of_trees(with_contexts(encoded, heads, self.first.encoder.atoms), heads)

    def label_log_probs(self, arcs: Arcs, threads: int | None = None) -> Floats:
        """log p(l | tree, m) of arcs of trees: (arcs, labels)."""
        scores = self.label_scorer.scores(arcs, threads)
        scores /= self.label_temperature
        return self.first.permitted_log_probs(scores, arcs.heads)

    @property
    def factored(self) -> dict[str, ArcScorer | PartScorer]:
        """The tables of weights that score trees, by name."""
        return {"arc": self.arcs, **self.parts}

    @property
    def scorers(self) -> dict[str, Scorer]:
        """The tables of weights that training changes, by name."""
        return {**self.factored, "label": self.label_scorer}

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all tables of weights, in float32; those of the first stage as `first.`..."""
        own = {name: scorer.copy_weights() for name, scorer in self.scorers.items()}
        return own | {f"first.{name}": table for name, table in self.first.state().items()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Write weights into the tables; without those of the first stage, it stays as it is."""
        for name, scorer in self.scorers.items():
            scorer.thaw()[:] = state[name]
        below = {
            name: state[f"first.{name}"] for name in self.first.state() if f"first.{name}" in state
        }
        if below:
            self.first.load_state(below)

    def freeze(self, max_weights: int) -> None:
        """Keep the largest weights of each table, at most so many, in 16 bits."""
        for scorer in self.scorers.values():
            scorer.freeze(scorer.thaw(), max_weights)

    def summary(self) -> dict[str, str]:
        """What the model is, line by line."""
        tables = {name: np.count_nonzero(one.weights) for name, one in self.scorers.items()}
        return {
            "order": str(self.order),
            "labels": str(len(self.labels)),
            "weights": ", ".join(f"{name} {count:,}" for name, count in tables.items()),
            "temperatures": f"{self.temperature:.2f}, {self.label_temperature:.2f}",
            "share of first order": f"{self.first_share:.2f}, at {self.first_temperature:.2f}",
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The weights, in 16 bits."""
        own = {
            f"{name}_{part}": tensor
            for name, scorer in self.scorers.items()
            for part, tensor in scorer.tensors().items()
        }
        return own | {f"first.{name}": tensor for name, tensor in self.first.tensors().items()}

    def metadata(self) -> dict[str, Any]:
        """All else that `restore` needs, for JSON."""
        return {
            "order_format": _FORMAT,
            "order": self.order,
            "projective": self.projective,
            "root": self.root,
            "bits": self._bits,
            "threshold": self._threshold,
            "temperature": self.temperature,
            "label_temperature": self.label_temperature,
            "first_share": self.first_share,
            "first_temperature": self.first_temperature,
            "first": self.first.metadata(),
        }

    @classmethod
    def restore(
        cls, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]
    ) -> HigherOrderModel:
        """The model that was saved as `tensors` and `metadata`.

        Raises:
            ModelError: the model has another format, or its parts do not fit each other.
        """
        about = Fields(metadata)
        check_format({"format": metadata.get("order_format")}, _FORMAT)
        bits = about.whole("bits", *TABLE_BITS)
        below = {
            name.removeprefix("first."): tensor
            for name, tensor in tensors.items()
            if name.startswith("first.")
        }
        order, threshold = about.whole("order", 2, 3), None
        if not about.is_none("threshold"):
            threshold = about.number("threshold", -math.ulp(0.0), 1.0)
        for name in ("arc", *FACTOR_NAMES[order], "label"):
            weights_fit(tensors, f"{name}_slots", bits)
        model = cls(
            LinearModel.restore(below, dict(about.fields("first"))),
            order=order,
            projective=about.flag("projective"),
            root=about.choice("root", ("single", "multi")),
            bits=bits,
            threshold=threshold,
        )
        model.temperature = about.number("temperature", 0.0)
        model.label_temperature = about.number("label_temperature", 0.0)
        if "first_share" in metadata:  # not in files of models that were calibrated without
            model.first_share = about.number("first_share", -math.ulp(0.0), 1.0 + math.ulp(1.0))
            model.first_temperature = about.number("first_temperature", 0.0)
        for name, scorer in model.scorers.items():
            scorer.restore({part: tensors[f"{name}_{part}"] for part in Scorer.PARTS})
        return model


class FactoredScores:
    """The scores of a batch: arcs, -inf where they were pruned, and factors."""

    def __init__(
        self, model: HigherOrderModel, encoded: Encoded, allowed: Bools, threads: int | None = None
    ) -> None:
        self._model, self._encoded, self._threads = model, encoded, threads
        flat = model.arcs.scores(encoded, threads, allowed)
        flat /= model.temperature
        flat[~allowed] = -np.inf
        self.arcs: list[Floats] = encoded.split_arcs(flat)
        self.part_lists = model.list_parts(encoded, allowed)

    @once
    def factors(self) -> dict[str, list[Parts]]:
        """The scores of parts of each sentence, by factor."""
        return {
            name: parts.split(self.part_scores(name, parts))
            for name, parts in self.part_lists.items()
        }

    @once
    def first_order(self) -> list[FirstOrder] | None:
        """What probabilities are interpolated with, where those of arcs and parts are approximate.

        The first-order model scores the arcs that it has kept.
        """
        model = self._model
        if not model.first_share:
            return None
        return [
            FirstOrder(model.first_share, offset)
            for offset in self.first_order_offsets(model.first_temperature)
        ]

    def first_order_offsets(self, temperature: float) -> list[Floats]:
        """Scores of the first-order model at a temperature, less those of the arcs; 0 if pruned."""
        allowed = np.concatenate([np.empty(0), *(one.ravel() for one in self.arcs)]) > -np.inf
        scores = self._model.first.arcs.scores(self._encoded, self._threads, allowed)
        squares = self._encoded.split_arcs(scores / temperature)
        for square, arcs in zip(squares, self.arcs, strict=True):
            np.subtract(square, arcs, out=square, where=arcs > -np.inf)
        return squares

    def part_scores(self, factor: str, parts: PartList) -> Floats:
        """The scores of any parts of a factor."""
        scores = self._model.parts[factor].scores(self._encoded, parts, self._threads)
        return scores / self._model.temperature

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """log p(l | h, m) of some arcs of each sentence: an array (arcs, labels) a sentence."""
        some = Arcs.of_batch(self._encoded, arcs)
        return of_sentences(self._model.first.label_log_probs(some, self._threads), arcs)

    def label_entropies(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """H(l | h, m) of some arcs of each sentence, in nats."""
        some = Arcs.of_batch(self._encoded, arcs)
        return of_sentences(self._model.first.label_entropies(some, self._threads), arcs)

    @property
    def label_counts(self) -> tuple[int, int]:
        """How many labels an arc of the root may have, and any other."""
        return permitted_counts(self._model.first.permitted)

    def tree_label_log_probs(self, trees: Sequence[Ints]) -> list[Floats]:
        """log p(l | tree, m) of each word of each sentence, given the heads of its tree."""
        if not len(trees):
            return []
        arcs = self._model.tree_arcs(self._encoded, np.concatenate(trees))
        table = self._model.label_log_probs(arcs, self._threads)
        return np.split(table, np.cumsum(self._encoded.sizes)[:-1])
