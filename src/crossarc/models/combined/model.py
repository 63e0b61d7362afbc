"""A model made of others: a product of experts over arcs and over labels.

    score[h, m] = sum over members k of a_k log p_k(h -> m)
    log p(l | h, m) = sum over members k of b_k log p_k(l | h, m) - log of the normaliser

p_k(h -> m) is the probability of the arc under member k's own distribution over trees, so that
members with scores of any scale and of any order can be combined (Hinton 2002 on products of
experts). It is exact, except under a model of higher order over trees that may cross: belief
propagation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference.higher.beliefs import BP_TOLERANCE
from crossarc.models.checks import Fields
from crossarc.models.distributions import terms_of, trees_of
from crossarc.models.kinds import RootRule, find_kind, kind_names
from crossarc.models.protocol import (
    ArcIndex,
    BatchScores,
    Described,
    Part,
    ScoringModel,
    has_approximate_sums,
    order_of,
)
from crossarc.models.storage import check_format
from crossarc.treebank import Sentence

__all__ = ["CombinedModel", "CombinedScores", "Member", "MemberVotes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FORMAT = 1
# What one member holds for impossible the others may still vote for.
_LEAST_PROBABILITY = 1e-8


@dataclass(frozen=True, slots=True)
class Member:
    """A model and the trees of its distribution."""

    model: ScoringModel
    projective: bool
    root: RootRule

    def log_marginals(self, batch: BatchScores, threads: int | None) -> list[Floats]:
        """log p(h -> m) of each sentence, -inf on the diagonal and in column 0."""
        trees = trees_of(
            list(batch.arcs),
            terms_of(batch),
            projective=self.projective,
            root=self.root,
            threads=threads,
            bp_tolerance=BP_TOLERANCE,
        )
        return [_log_marginals(table) for table in trees.marginals()]

    @property
    def description(self) -> str:
        """Its kind, and what is special about it."""
        order = f" of order {order_of(self.model)}" if order_of(self.model) > 1 else ""
        approximate = has_approximate_sums(self.model, projective=self.projective)
        sums = " (approximate probabilities)" if approximate else ""
        return f"{self.model.kind}{order}{sums}"


class CombinedModel(Described):
    """Scores of arcs and labels from several models.

    Attributes:
        labels: the relations of all members, in the order of label numbers.
        arc_weights, label_weights: of each member; 1 / members, unless they were fitted.
    """

    kind = "combined"

    def __init__(self, members: Sequence[Member]) -> None:
        if not members:
            raise ModelError("there is no parser to combine: give two or more")
        self.members = tuple(members)
        self.labels = tuple(dict.fromkeys(n for one in members for n in one.model.labels))
        self.arc_weights = np.full(len(members), 1.0 / len(members))
        self.label_weights = self.arc_weights.copy()
        number = {name: k for k, name in enumerate(self.labels)}
        self._columns = [np.array([number[n] for n in one.model.labels]) for one in members]

    def score(self, sentences: Sequence[Sentence], *, threads: int | None = None) -> CombinedScores:
        """The scores of a batch."""
        return CombinedScores(self, sentences, threads)

    def features(self, sentence: Sentence) -> MemberVotes:
        """What each member says about the arcs and labels of a sentence."""
        return MemberVotes(self, sentence)

    def label_tables(
        self, batches: Sequence[BatchScores], arcs: Sequence[ArcIndex]
    ) -> list[list[Floats]]:
        """log p(l | h, m) of each member, for some arcs of each sentence."""
        return [
            [self._all_labels(logs, columns) for logs in batch.label_log_probs(arcs)]
            for batch, columns in zip(batches, self._columns, strict=True)
        ]

    def _all_labels(self, logs: Floats, columns: Ints) -> Floats:
        """The columns of one member's labels among those of all."""
        wide = np.full((len(logs), len(self.labels)), np.log(_LEAST_PROBABILITY))
        wide[:, columns] = np.maximum(logs, np.log(_LEAST_PROBABILITY))
        return wide

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the weights of members, and of each member's own."""
        own = {"arc_weights": self.arc_weights.copy(), "label_weights": self.label_weights.copy()}
        return own | {
            f"{k}.{name}": array
            for k, member in enumerate(self.members)
            for name, array in member.model.state().items()
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to a checkpoint."""
        self.arc_weights = np.array(state["arc_weights"])
        self.label_weights = np.array(state["label_weights"])
        for k, member in enumerate(self.members):
            member.model.load_state(_of_member(state, k))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of all members."""
        return {
            f"{k}.{name}": array
            for k, member in enumerate(self.members)
            for name, array in member.model.tensors().items()
        }

    def metadata(self) -> dict[str, Any]:
        """All else that `restore` needs, for JSON."""
        return {
            "format": _FORMAT,
            "arc_weights": self.arc_weights.tolist(),
            "label_weights": self.label_weights.tolist(),
            "members": [
                {
                    "kind": member.model.kind,
                    "projective": member.projective,
                    "root": member.root,
                    "model": member.model.metadata(),
                }
                for member in self.members
            ],
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> CombinedModel:
        """The model that was saved as `tensors` and `metadata`.

        Raises:
            ModelError: the model has another format.
        """
        check_format(metadata, _FORMAT, remedy="combine its members again")
        about = Fields(metadata)
        members = []
        for k, one in enumerate(map(Fields, about.items("members"))):
            kind = find_kind(one.choice("kind", kind_names()))
            found: Any = kind.restore(_of_member(tensors, k), dict(one.fields("model")))
            if not isinstance(found, ScoringModel):
                raise ModelError(f"a member of the kind {kind.name} gives no probabilities")
            root = one.choice("root", ("single", "multi"))
            members.append(Member(found, one.flag("projective"), root))
        model = cls(members)
        model.arc_weights = about.numbers("arc_weights", len(members))
        model.label_weights = about.numbers("label_weights", len(members))
        return model

    def summary(self) -> dict[str, str]:
        """What the model is, line by line."""
        return {
            "members": ", ".join(one.description for one in self.members),
            "labels": str(len(self.labels)),
            "weights of arcs": ", ".join(f"{weight:.2f}" for weight in self.arc_weights),
            "weights of labels": ", ".join(f"{weight:.2f}" for weight in self.label_weights),
        }


class CombinedScores:
    """The scores of a batch: those of the members are computed once.

    Attributes:
        arcs: scores [h, m] of each sentence.
        log_marginals: of each member, for each sentence.
    """

    def __init__(
        self, model: CombinedModel, sentences: Sequence[Sentence], threads: int | None = None
    ) -> None:
        self._model = model
        self.batches = [one.model.score(sentences, threads=threads) for one in model.members]
        self.log_marginals = [
            member.log_marginals(batch, threads)
            for member, batch in zip(model.members, self.batches, strict=True)
        ]
        self.arcs: list[Floats] = []
        self.weigh()

    def weigh(self) -> None:
        """Compute the scores of arcs, with the weights that the model has now."""
        self.arcs = [
            weighted_sum(self._model.arc_weights, tables)
            for tables in zip(*self.log_marginals, strict=True)
        ]

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """log p(l | h, m) of some arcs of each sentence: an array (arcs, labels) a sentence."""
        tables = self._model.label_tables(self.batches, arcs)
        return [
            log_normalised(weighted_sum(self._model.label_weights, own))
            for own in zip(*tables, strict=True)
        ]


class MemberVotes:
    """The weighted log-probabilities of each member: they sum to the score of the combination."""

    def __init__(self, model: CombinedModel, sentence: Sentence) -> None:
        self._model = model
        self._scores = model.score([sentence], threads=1)
        self._names = [
            f"log p of member {k}, {member.description}"
            for k, member in enumerate(model.members, 1)
        ]

    def part_weights(self, part: Part) -> dict[str, float]:
        """By member; they sum to the score of the arc."""
        logs = [float(tables[0][part.nodes]) for tables in self._scores.log_marginals]
        weighted = (self._model.arc_weights * logs).tolist()
        return dict(zip(self._names, weighted, strict=True))

    def label_weights(self, h: int, m: int, *, heads: Ints | None = None) -> dict[str, Floats]:
        """By member, for each label; differences of labels sum to those of log p(l | h, m)."""
        arcs = [(np.array([h]), np.array([m]))]
        tables = self._model.label_tables(self._scores.batches, arcs)
        weights = self._model.label_weights
        return {
            name: weight * table[0][0]
            for name, weight, table in zip(self._names, weights, tables, strict=True)
        }


def weighted_sum(weights: Floats, tables: Sequence[Floats]) -> Floats:
    """The sum of tables times weights; -inf where all have it, whatever their weights."""
    total = np.zeros(tables[0].shape)
    for weight, table in zip(weights, tables, strict=True):
        total += np.where(np.isneginf(table), table, 0.0)
        total += weight * np.where(np.isneginf(table), 0.0, table)
    return total


def log_normalised(logs: Floats) -> Floats:
    """Rows as log-probabilities."""
    shifted = logs - logs.max(axis=1, keepdims=True, initial=-np.inf)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def _log_marginals(table: Floats) -> Floats:
    logs = np.log(np.maximum(table, _LEAST_PROBABILITY))
    logs[:, 0] = -np.inf
    np.fill_diagonal(logs, -np.inf)
    return logs


def _of_member(arrays: Mapping[str, NDArray[Any]], k: int) -> dict[str, NDArray[Any]]:
    prefix = f"{k}."
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
