"""The model of the Covington parser: sentences in, trees out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.models.checks import Fields, weights_fit
from crossarc.models.covington.templates import compile_plan
from crossarc.models.encode import (
    Encoded,
    Encoder,
    Vocabulary,
    checked_labels,
    labels_metadata,
    permitted_labels,
    seen_labels,
)
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import Described
from crossarc.models.storage import check_format, pack, unpack
from crossarc.parallel import over_ranges
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["UNBOUNDED", "CovingtonModel"]

Ints = NDArray[np.int64]
Shorts = NDArray[np.int16]

#: More than any degree.
UNBOUNDED = 1 << 40
#: Partial trees that a parser in a file may keep; each has memory of its own.
MOST_BEAM = 10_000
_FORMAT = 1


class CovingtonModel(Described):
    """Trees by transitions: an action for each active pair of words, a label for each arc.

    Attributes:
        labels: the relations, in the order of label numbers.
        permitted: (2, labels): whether each was seen on arcs of the root, and on other arcs.
        max_degree: of the arcs in a tree; 0 for projective trees, None for any.
        root: how many words may hang from the root.
        beam: how many partial trees are kept; 1 is greedy.
        weights: one table, a run of weights for each feature.
    """

    kind = "covington"

    def __init__(
        self,
        encoder: Encoder,
        labels: Sequence[str],
        *,
        max_degree: int | None,
        root: RootRule,
        beam: int = 1,
        bits: int = 22,
    ) -> None:
        self.encoder = encoder
        self.labels = checked_labels(labels)
        self.permitted = np.ones((2, len(self.labels)), np.bool_)
        self.max_degree, self.root, self.beam, self.bits = max_degree, root, beam, bits
        self.plan = compile_plan(encoder.atoms, encoder.attributes)
        self.weights: Shorts = np.zeros(self.size, np.int16)

    @classmethod
    def build(
        cls,
        sentences: Sequence[Sentence],
        *,
        max_degree: int | None,
        root: RootRule,
        beam: int = 1,
        cutoff: int = 2,
        bits: int = 22,
    ) -> CovingtonModel:
        """A model with the words and labels of a treebank, all weights 0."""
        labels, permitted = seen_labels(sentences)
        encoder = Encoder.build(sentences, cutoff=cutoff)
        model = cls(encoder, labels, max_degree=max_degree, root=root, beam=beam, bits=bits)
        model.permitted = permitted
        return model

    @property
    def size(self) -> int:
        """Weights in the table: the runs of the last slots end after 2**bits."""
        return (1 << self.bits) + max(len(self.labels), 4)

    @property
    def bound(self) -> int:
        """The largest degree, as a number."""
        return UNBOUNDED if self.max_degree is None else self.max_degree

    def encode(self, sentences: Sequence[Sentence], *, gold: bool = False) -> Encoded:
        """Codes of all words; with `gold`, of their heads and labels too."""
        return self.encoder.encode(sentences, Vocabulary(self.labels) if gold else None)

    def bind(
        self, kernel: Callable[..., None], encoded: Encoded, weights: NDArray[Any]
    ) -> Callable[..., None]:
        """A kernel of learning or of parsing with its first arguments filled in."""
        return partial(
            kernel,
            encoded.codes,
            encoded.sizes,
            encoded.starts,
            encoded.words,
            self.plan.atoms,
            self.plan.bounds,
            self.bits,
            weights,
            self.permitted,
            self.bound,
            self.root == "single",
        )

    def parse(
        self,
        sentences: Sequence[Sentence],
        *,
        keep_heads: bool = False,
        threads: int | None = None,
    ) -> list[Tree]:
        """The trees of a batch, with label numbers; with `keep_heads`, given heads stay."""
        encoded = self.encode(sentences)
        given = encoded.heads if keep_heads else None
        heads, labels, _ = self.parse_encoded(encoded, given, threads)
        ends = np.cumsum(encoded.sizes)[:-1]
        pairs = zip(np.split(heads, ends), np.split(labels, ends), strict=True)
        return [Tree(*pair) for pair in pairs] if len(sentences) else []

    def parse_encoded(
        self, encoded: Encoded, given: Ints | None = None, threads: int | None = None
    ) -> tuple[Ints, Ints, Ints]:
        """Heads and labels of all words, and the number of active pairs of each sentence.

        Args:
            given: heads that must stay, -1 for words without one.
        """
        total = len(encoded.heads)
        fixed = np.full(total, -1, np.int64) if given is None else given
        heads, labels = np.zeros(total, np.int64), np.zeros(total, np.int64)
        pairs = np.zeros(len(encoded), np.int64)
        parse = self._search(encoded)

        def work(begin: int, end: int) -> None:
            parse(fixed, heads, labels, pairs, begin, end)

        over_ranges(work, (encoded.sizes + 1).tolist(), threads)
        return heads, labels, pairs

    def _search(self, encoded: Encoded) -> Callable[..., None]:
        """The kernel of the beam or of the greedy parser; the other one is not loaded."""
        if self.beam == 1:
            from crossarc.models.covington.greedy import parse_greedily

            return self.bind(parse_greedily, encoded, self.weights)
        from crossarc.models.covington.beam import parse_with_beam

        return partial(self.bind(parse_with_beam, encoded, self.weights), self.beam)

    def state(self) -> dict[str, NDArray[Any]]:
        """The weights."""
        return {"weights": self.weights}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to other weights."""
        self.weights = np.asarray(state["weights"], np.int16)

    def summary(self) -> dict[str, str]:
        """What the model is, line by line."""
        return {
            "labels": str(len(self.labels)),
            "weights": f"{np.count_nonzero(self.weights):,}",
            "degree": "any" if self.max_degree is None else f"at most {self.max_degree}",
            "root": self.root,
            "beam": str(self.beam),
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The weights."""
        slots, values = pack(self.weights)
        return {"slots": slots, "weights": values}

    def metadata(self) -> dict[str, Any]:
        """All else that `restore` needs, for JSON."""
        return {
            "format": _FORMAT,
            **labels_metadata(self.labels, self.permitted),
            "max_degree": self.max_degree,
            "root": self.root,
            "beam": self.beam,
            "bits": self.bits,
            "encoder": self.encoder.metadata(),
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> CovingtonModel:
        """The model that was saved as `tensors` and `metadata`.

        Raises:
            ModelError: the model has another format, or its parts do not fit each other.
        """
        check_format(metadata, _FORMAT)
        about = Fields(metadata)
        bits, any_degree = about.whole("bits", 5, 30), about.is_none("max_degree")
        weights_fit(tensors, "slots", bits)
        model = cls(
            Encoder.restore(about.fields("encoder")),
            about.texts("labels", written=True, least=1),
            max_degree=None if any_degree else about.whole("max_degree", 0, UNBOUNDED),
            root=about.choice("root", ("single", "multi")),
            beam=about.whole("beam", 1, MOST_BEAM),
            bits=bits,
        )
        model.permitted = permitted_labels(about, len(model.labels))
        model.weights = unpack(tensors["slots"], cast(Shorts, tensors["weights"]), model.size)
        return model
