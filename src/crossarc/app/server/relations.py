"""Relations of decoded sentences: of their trees, and of other heads that are likely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossarc.app.server.decoded import Decoded
from crossarc.app.server.schema import ParseRequest
from crossarc.models.protocol import BatchScores, tree_label_log_probs

__all__ = ["Relations"]

Floats = NDArray[np.float64]

# Candidates with less probability say nothing to a person.
_LEAST_CANDIDATE = 5e-4


@dataclass(frozen=True, slots=True)
class Relations:
    """What they are chosen by: the numbers of labels, in order, scores, and what was asked for."""

    labels: Mapping[str, int]
    scores: BatchScores
    request: ParseRequest

    def fill_in(self, results: list[Decoded]) -> None:
        """Of the trees, of their candidates, and of the trees compared with."""
        candidates = [self._candidates(one) for one in results]
        arcs = []
        for one, heads_of in zip(results, candidates, strict=True):
            pairs = list(zip(one.heads, range(1, len(one.heads) + 1), strict=True))
            pairs += [(h, m) for m, heads in enumerate(heads_of, 1) for h in heads]
            if one.compared is not None and not one.compared.deprels:
                pairs += zip(one.compared.heads, range(1, len(one.heads) + 1), strict=True)
            heads, words = np.array(pairs, np.int64).T
            arcs.append((heads.copy(), words.copy()))
        tables = self.scores.label_log_probs(arcs)
        # Labels may depend on all of a tree.
        own = tree_label_log_probs(self.scores, [np.array(one.heads) for one in results])
        for one, heads_of, logs, chosen in zip(results, candidates, tables, own, strict=True):
            logs[: len(chosen)] = chosen
            self._use_labels(one, heads_of, logs)

    def _use_labels(self, one: Decoded, heads_of: list[list[int]], logs: Floats) -> None:
        n = len(one.heads)
        probabilities = np.exp(logs)
        names = list(self.labels)
        best = logs.argmax(axis=1).tolist()
        kept = one.deprels or [names[number] for number in best[:n]]
        one.deprels = [self._deprel(one, word, label) for word, label in enumerate(kept, 1)]
        numbers = [self.labels.get(label, -1) for label in one.deprels]
        one.deprel_probabilities = np.array(
            [probabilities[m, number] if number >= 0 else 0.0 for m, number in enumerate(numbers)]
        )
        if self.request.relations:
            order = np.argsort(-logs[:n], axis=1, kind="stable")[:, : self.request.relations]
            one.relations = [
                [(names[number], float(probabilities[m, number])) for number in row]
                for m, row in enumerate(order.tolist())
            ]
        if self.request.candidates and one.marginals is not None:
            one.candidates, row = [], n
            for m, heads in enumerate(heads_of, 1):
                labels = [names[number] for number in best[row : row + len(heads)]]
                row += len(heads)
                one.candidates.append(
                    [
                        (h, float(one.marginals[h, m]), label)
                        for h, label in zip(heads, labels, strict=True)
                    ]
                )
        if one.compared is not None and not one.compared.deprels:
            one.compared.deprels = [names[number] for number in best[-n:]]

    def _deprel(self, one: Decoded, word: int, label: str) -> str:
        """The relation that a person gave, that of the input where its head stayed, or the best."""
        if word in one.constraints.labels:
            return one.constraints.labels[word]
        if self.request.closest_to_input and self.request.rank is None:
            given = one.sentence.deprels[word - 1]
            if given != "_" and one.sentence.heads[word - 1] == one.heads[word - 1]:
                return given
        return label

    def _candidates(self, one: Decoded) -> list[list[int]]:
        """For each word, its most probable heads, with the one that it has among them."""
        if not self.request.candidates or one.marginals is None:
            return [[] for _ in one.heads]
        found = []
        for word, head in enumerate(one.heads, 1):
            column = one.marginals[:, word]
            order = np.argsort(-column, kind="stable")[: self.request.candidates].tolist()
            heads = [h for h in order if h == head or column[h] >= _LEAST_CANDIDATE]
            found.append(heads if head in heads else [*heads[: self.request.candidates - 1], head])
        return found
