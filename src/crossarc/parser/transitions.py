"""From sentences to trees by transitions: one tree each, without probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.covington.model import CovingtonModel
from crossarc.parser.decoding import Wishes, relations
from crossarc.parser.marks import write_tree
from crossarc.treebank import Sentence

__all__ = ["TransitionDecoder"]


@dataclass(frozen=True, slots=True)
class TransitionDecoder:
    """A model that chooses transitions."""

    model: CovingtonModel

    def check(self, wishes: Wishes) -> None:
        """Refuse what needs more than one tree.

        Raises:
            ModelError: probabilities, k best trees or the tree of least risk are wished for.
        """
        if wishes.probabilities or wishes.kbest is not None or wishes.min_risk:
            self._refuse()

    def parse(
        self, sentences: Sequence[Sentence], wishes: Wishes, threads: int | None
    ) -> Iterator[Sentence]:
        """Fill in the sentences, which are changed."""
        encoded = self.model.encode(sentences)
        given = encoded.heads if wishes.keep_heads else None
        heads, labels, _ = self.model.parse(encoded, given, threads)
        for sentence, begin in zip(sentences, encoded.words.tolist(), strict=True):
            own = slice(begin, begin + len(sentence))
            deprels = relations(self.model.labels, sentence, labels[own], wishes)
            write_tree(sentence, heads[own].tolist(), deprels)
            yield sentence

    def distribution(self, sentence: Sentence, *, keep_heads: bool = False) -> NoReturn:
        """There is none."""
        self._refuse()

    def head_probabilities(
        self, sentences: Sequence[Sentence], keep_heads: bool, threads: int | None
    ) -> list[NDArray[np.float64]]:
        """There are none."""
        self._refuse()

    def head_information(
        self, sentences: Sequence[Sentence], keep_heads: bool, threads: int | None
    ) -> list[NDArray[np.float64]]:
        """There is none without probabilities."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ModelError(
            "a parser of the kind 'covington' gives one tree and no probabilities: "
            "train one of the kind 'graph'"
        )
