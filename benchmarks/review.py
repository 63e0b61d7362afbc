"""Which words should a person settle first? A simulation with gold heads.

    .venv-bench/bin/python benchmarks/review.py [FOLDER] [--model MODEL] [--name NAME]

Parses the dev set of a treebank, settles words with their gold heads in several orders, parses
again under these constraints, and prints UAS over all words and, in brackets, over those that are
not settled: once with so many words in every sentence, and once with a share of all words. What is
left of a sentence is ranked anew after each word, as `crossarc review` does.
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.harness import default_treebanks

import crossarc as ca
from crossarc.inference import TreeDistribution
from crossarc.models.protocol import ScoringModel

Floats = NDArray[np.float64]
WORDS = (1, 2, 3, 5)
RARE = 1e-5  # as in `crossarc review`
SHARES = (0.02, 0.05, 0.1, 0.2)


def least_probable(trees: TreeDistribution, heads: NDArray[np.int64]) -> Floats:
    marginals: Floats = trees.marginals()
    return -marginals[heads, np.arange(1, len(heads) + 1)]


def entropy_drop(trees: TreeDistribution, heads: NDArray[np.int64]) -> Floats:
    drop: Floats = trees.entropy_drop(labels=False)
    return drop


def about_others(trees: TreeDistribution, heads: NDArray[np.int64]) -> Floats:
    table = trees.mutual_information(negligible=RARE)
    told: Floats = table.sum(axis=1) - np.diag(table)
    return told


def about_all(trees: TreeDistribution, heads: NDArray[np.int64]) -> Floats:
    told: Floats = trees.mutual_information(negligible=RARE).sum(axis=1)
    return told


def by_chance(trees: TreeDistribution, heads: NDArray[np.int64]) -> Floats:
    return np.random.default_rng(len(heads)).random(len(heads))


Order = Callable[[TreeDistribution, NDArray[np.int64]], Floats]
ORDERS: dict[str, Order] = {
    "random": by_chance,
    "least HeadProb": least_probable,
    "entropy drop": entropy_drop,
    "about others": about_others,
    "drop + others": about_all,
}


class Dev:
    """Scores and gold heads of the sentences."""

    def __init__(self, parser: ca.Parser, sentences: list[ca.Sentence]) -> None:
        self._parser = parser
        self.gold = [sentence.tree.heads for sentence in sentences]
        bare = [sentence.copy() for sentence in sentences]
        assert isinstance(parser.model, ScoringModel)
        self._scores = parser.model.score(bare).arcs
        self.start = [self.trees(index, {}) for index in range(len(sentences))]

    def trees(self, index: int, settled: dict[int, int]) -> TreeDistribution:
        """The trees with these heads; what gold heads contradict is dropped, as in `review`."""
        fixed = ca.constrain(self._scores[index], heads=settled)
        kind = ca.ProjectiveTrees if self._parser.projective else ca.SpanningTrees
        trees = kind(fixed, root=self._parser.root, threads=1)
        if trees.log_partition() > -np.inf:
            return trees
        return ca.SpanningTrees(fixed, root="multi", threads=1)

    def right(
        self, index: int, trees: TreeDistribution, settled: dict[int, int]
    ) -> NDArray[np.int64]:
        """Words with the right head, all and not settled."""
        same = trees.argmax().heads == self.gold[index]
        return np.array([same.sum(), same.sum() - sum(same[m - 1] for m in settled)])


def by_sentence(dev: Dev, order: Order) -> list[tuple[float, float]]:
    counts = {k: np.zeros(4) for k in WORDS}
    for index, gold in enumerate(dev.gold):
        settled: dict[int, int] = {}
        trees = dev.start[index]
        for k in range(1, max(WORDS) + 1):
            if len(settled) < len(gold):
                keys = order(trees, trees.argmax().heads)
                keys[[m - 1 for m in settled]] = -np.inf
                m = int(keys.argmax()) + 1
                settled[m] = int(gold[m - 1])
                trees = dev.trees(index, settled)
            if k in counts:
                right = dev.right(index, trees, settled)
                counts[k] += [right[0], len(gold), right[1], len(gold) - len(settled)]
    return [(100 * c[0] / c[1], 100 * c[2] / max(c[3], 1)) for c in counts.values()]


def over_all(dev: Dev, order: Order) -> list[tuple[float, float]]:
    """Always the word with the highest key of all, whose sentence is then ranked anew."""
    words = sum(map(len, dev.gold))
    trees, settled = list(dev.start), [dict[int, int]() for _ in dev.gold]
    queue: list[tuple[float, int, int]] = []

    def rank(index: int) -> None:
        keys = order(trees[index], trees[index].argmax().heads)
        keys[[m - 1 for m in settled[index]]] = -np.inf
        m = int(keys.argmax()) + 1
        if keys[m - 1] > -np.inf:
            heapq.heappush(queue, (-float(keys[m - 1]), index, m))

    for index in range(len(trees)):
        rank(index)
    found, done = [], 0
    for share in SHARES:
        while done < round(share * words):
            _, index, m = heapq.heappop(queue)
            settled[index][m] = int(dev.gold[index][m - 1])
            trees[index] = dev.trees(index, settled[index])
            rank(index)
            done += 1
        right = np.sum([dev.right(i, own, settled[i]) for i, own in enumerate(trees)], axis=0)
        found.append((100 * right[0] / words, 100 * right[1] / (words - done)))
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    arguments.add_argument("--model", default="en")
    arguments.add_argument("--name", default="English-EWT")
    arguments.add_argument("--sentences", type=int, default=300)
    given = arguments.parse_args()
    sentences = list(ca.read_conllu(given.treebanks / given.name / "dev.conllu.gz"))
    dev = Dev(ca.Parser.load(given.model), sentences[: given.sentences])
    words = sum(map(len, dev.gold))
    none = sum(dev.right(i, trees, {})[0] for i, trees in enumerate(dev.start))
    print(f"{given.name} dev: {len(dev.gold)} sentences, {words} words")
    print(f"UAS with nothing settled: {100 * none / words:.2f}")
    for title, settle, header in (
        ("words settled in each sentence", by_sentence, [str(k) for k in WORDS]),
        ("share of all words settled", over_all, [f"{share:.0%}" for share in SHARES]),
    ):
        print(f"\n{title:>30}  " + "  ".join(f"{name:>13}" for name in header))
        for name, order in ORDERS.items():
            cells = [f"{total:5.2f} ({rest:5.2f})" for total, rest in settle(dev, order)]
            print(f"{name:>30}  " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
