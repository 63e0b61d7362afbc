"""Generative models by their definitions, and treebanks to count."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np

from crossarc import Sentence
from support.brute_force import projective_tree
from support.trees import all_trees

Heads = tuple[int, ...]


@cache
def trees_of(n: int, projective: bool, root: str) -> tuple[Heads, ...]:
    """All trees of n words."""
    return tuple(
        tuple(heads)
        for heads in all_trees(n)
        if (root == "multi" or heads.count(0) == 1) and (not projective or projective_tree(heads))
    )


def bucket(distance: int) -> int:
    """1, 2, 3-4, 5-8 and more."""
    return sum(distance > edge for edge in (1, 2, 4, 8))


def random_treebank(sentences: int, seed: int) -> list[Sentence]:
    """Sentences of a, b and c with tags A and B, random trees with one root, labels x and y."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(sentences):
        n = int(rng.integers(1, 6))
        trees = trees_of(n, False, "single")
        found.append(
            Sentence.build(
                ["abc"[k] for k in rng.integers(0, 3, n)],
                upos=["AB"[k] for k in rng.integers(0, 2, n)],
                heads=trees[rng.integers(len(trees))],
                deprels=["xy"[k] for k in rng.integers(0, 2, n)],
            )
        )
    return found


class DefinedBigram:
    """p(m | h, direction, distance) = (count + a) / (total + a V), over the forms of a treebank."""

    def __init__(self, bank: list[Sentence], direction: bool, distance: bool, added: float) -> None:
        self.direction, self.distance, self.added = direction, distance, added
        self.symbols = {"<unk>", *(form for one in bank for form in one.forms)}
        self.labels = sorted({label for one in bank for label in one.deprels})
        self.events: Counter[tuple[object, str]] = Counter()
        self.totals: Counter[object] = Counter()
        self.label_events: Counter[tuple[object, int]] = Counter()
        for one in bank:
            for m, h in enumerate(one.heads.tolist(), 1):
                if h < 0:
                    continue
                context = self.context(one.forms, h, m)
                self.events[context, one.forms[m - 1]] += 1
                self.totals[context] += 1
                for level in self.label_levels(one.forms, h, m):
                    self.label_events[level, self.labels.index(one.deprels[m - 1])] += 1

    def context(self, words: tuple[str, ...] | list[str], h: int, m: int) -> object:
        if h == 0:
            return "root"
        side = ("left" if m < h else "right") if self.direction else None
        return words[h - 1], side, bucket(abs(h - m)) if self.distance else None

    def weight(self, words: list[str], heads: Heads) -> float:
        """The product over the arcs of a tree."""
        product = 1.0
        for m, h in enumerate(heads, 1):
            context = self.context(words, h, m)
            total = self.totals[context] + self.added * len(self.symbols)
            if self.totals[context] == 0:
                product *= 1.0 / len(self.symbols)
            else:
                product *= (self.events[context, words[m - 1]] + self.added) / total
        return product

    def label_levels(self, words: tuple[str, ...] | list[str], h: int, m: int) -> list[object]:
        side = "right" if 0 < h < m else "left"
        head = words[h - 1] if h else ""
        return ["all", (words[m - 1], side), (head, words[m - 1], side)]

    def label_row(self, words: list[str], h: int, m: int) -> list[float]:
        """p(label | arc), interpolated."""
        row = [1.0 / len(self.labels)] * len(self.labels)
        for level in self.label_levels(words, h, m):
            counts = [self.label_events[level, k] for k in range(len(self.labels))]
            types, total = sum(count > 0 for count in counts), sum(counts)
            if total:
                row = [(c + types * p) / (total + types) for c, p in zip(counts, row, strict=True)]
        return row
