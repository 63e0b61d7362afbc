"""The best trees in order, how probable each is, and a drawing of where two of them differ."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np

import crossarc as ca
from crossarc.draw import svg, text

FORMS = ["I", "saw", "the", "man", "with", "the", "telescope"]
LABELS = ["nsubj", "root", "det", "obj", "case", "det", "obl"]


def telescope_scores() -> np.ndarray:
    """Clear but for one word: is the telescope used to see, or with the man?"""
    scores = np.full((len(FORMS) + 1, len(FORMS) + 1), -4.0)
    for word, head in enumerate([2, 0, 4, 2, 7, 7, 2], 1):
        scores[head, word] = 2.0
    scores[4, 7] = 1.6
    return scores


def main() -> None:
    """List trees, and draw the best against the second best."""
    distribution = ca.SpanningTrees(telescope_scores())
    trees = list(islice(distribution.kbest(1000), 5))
    for rank, tree in enumerate(trees, 1):
        probability = np.exp(distribution.log_prob(tree))
        print(f"{rank}. {probability:6.2%}  heads {tree.heads.tolist()}")

    best, second = (ca.Tree(tree.heads, LABELS) for tree in trees[:2])
    print(text(best, forms=FORMS, against=second))
    drawing = svg(best, forms=FORMS, against=second, names=("best", "second best"))
    Path("k_best.svg").write_text(drawing, encoding="utf-8")

    # All trees that are at least a tenth as probable as the best.
    near = list(distribution.within(np.log(10)))
    print(f"{len(near)} trees are at least a tenth as probable as the best")


if __name__ == "__main__":
    main()
