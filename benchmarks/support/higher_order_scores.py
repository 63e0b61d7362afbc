"""Scores for benchmarks of higher-order trees: synthetic ones, and those of a trained model.

Synthetic scores are like those of a trained model: a random tree whose arcs are mostly short is the
gold tree; an arc scores N(0, 1) - 0.3 log(distance + 1), a gold arc N(5, 2.5) more, so that the
best first-order tree has 85 to 92% of the gold arcs; the ten best heads of each word are kept, and
the gold one. A part scores N(0, 0.5), 0.6 more if it is gold, which brings this to 88 to 98%, less
in longer sentences.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import crossarc as ca
from crossarc.inference.higher.branching import Solution
from crossarc.inference.higher.packing import arcs_of
from crossarc.inference.higher.problem import FACTORS
from crossarc.inference.higher.tables import part_cells

__all__ = [
    "MODELS",
    "NAMES",
    "Group",
    "Sentence",
    "is_certified",
    "sentence",
    "synthetic",
    "timed",
    "trained",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NAMES = tuple(factor.name for factor in FACTORS)
MODELS = {"sibling": NAMES[:1], "grand-sibling": NAMES[:3], "all factors": NAMES}
# Sentences of a treebank are grouped by their words, up to each of these numbers.
_LENGTHS = (10, 20, 30, 200)


def is_certified(found: Solution) -> bool:
    """Whether no tree is better."""
    return found.bound - found.score <= 1e-9 * max(1.0, abs(found.score))


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    """What a job returns, and its processor time."""
    start = time.process_time()
    found = job()
    return found, time.process_time() - start


class Sentence(NamedTuple):
    """Scores with the tree that they were made from."""

    scores: Floats
    factors: dict[str, Any]
    gold: Ints


def gold_tree(rng: np.random.Generator, n: int) -> Ints:
    """Words join in random order, mostly below a near one."""
    order = rng.permutation(n) + 1
    heads = np.zeros(n + 1, np.int64)
    for i in range(1, n):
        near = 1.0 / np.abs(order[i] - order[:i]) ** 1.5
        heads[order[i]] = rng.choice(order[:i], p=near / near.sum())
    return heads[1:]


def sentence(
    rng: np.random.Generator, n: int, names: Sequence[str], candidates: int = 10, root: int = 1
) -> Sentence:
    """See the module; `root`: the most modifiers of the root."""
    width, gold, words = n + 1, gold_tree(rng, n), np.arange(1, n + 1)
    distance = np.abs(np.subtract.outer(np.arange(width), np.arange(width)))
    scores = rng.normal(size=(width, width)) - 0.3 * np.log(distance + 1)
    scores[gold, words] += 5.0 + rng.normal(0, 2.5, n)
    np.fill_diagonal(scores, -np.inf)
    ranks = np.argsort(np.argsort(-scores, axis=0), axis=0)
    kept = ranks < candidates
    kept[gold, words] = True
    scores[~kept] = -np.inf
    limits = np.full(width, n)
    limits[0] = root
    usable = np.where(np.arange(width) > 0, scores, -np.inf)
    arcs = arcs_of(usable.reshape(-1), np.array([n]), [limits])
    factors: dict[str, Any] = {}
    for factor in FACTORS:
        if factor.name in names:
            cells = part_cells(arcs, 0, factor.name)
            cells, shape = cells[cells >= 0], factor.shape(width)
            parts = factor.parts_of(gold)
            own = np.ravel_multi_index(tuple(parts.T), shape) if len(parts) else np.empty(0)
            values = rng.normal(0, 0.5, len(cells)) + 0.6 * np.isin(cells, own)
            factors[factor.name] = ca.Parts(np.stack(np.unravel_index(cells, shape), 1), values)
    return Sentence(scores, factors, gold)


class Group(NamedTuple):
    """Sentences that are a row of a table."""

    title: str
    words: str
    sentences: Sequence[Sentence]


def synthetic(
    sizes: Sequence[int], names: Sequence[str], count: int, title: str = ""
) -> list[Group]:
    """So many sentences of each length; from 80 words on a quarter of them."""
    groups = []
    for n in sizes:
        rng = np.random.default_rng(n)
        own = [sentence(rng, n, names) for _ in range(count if n < 80 else count // 4)]
        groups.append(Group(title, str(n), own))
    return groups


def trained(model: Path, treebank: Path) -> list[Group]:
    """The scores of a higher-order model for the sentences of a treebank, by length."""
    gold = [one for one in ca.read_conllu(treebank) if len(one) > 1]
    scorer: Any = ca.Parser.load(model).model
    scores = scorer.score(gold)
    factors = {name: list(one) for name, one in scores.factors.items()}
    sentences = [
        Sentence(arcs, {name: one[i] for name, one in factors.items()}, np.asarray(gold[i].heads))
        for i, arcs in enumerate(scores.arcs)
    ]
    groups, least = [], 2
    for most in _LENGTHS:
        own = [one for one in sentences if least <= len(one.gold) <= most]
        longest = max((len(one.gold) for one in own), default=0)
        groups.append(Group("trained", f"{least}-{min(most, longest)}", own))
        least = most + 1
    return [group for group in groups if group.sentences]
