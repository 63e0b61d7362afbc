"""Your own score arrays: the best tree, arc probabilities, entropy, and a batch of sentences.

crossarc's inference takes arrays and knows no words, so any model can provide the scores:
scores[h, m] is the natural logarithm of the weight of the arc from head h to word m; row 0 is the
root.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import crossarc as ca
from crossarc.draw import svg, text

FORMS = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today"]
HEADS = [2, 4, 4, 0, 7, 7, 2, 4]


def scores_of_a_model(heads: list[int], seed: int) -> np.ndarray:
    """Stands for a model that is right most of the time."""
    n = len(heads)
    scores = np.random.default_rng(seed).normal(size=(n + 1, n + 1))
    scores[heads, range(1, n + 1)] += 4.0
    return scores


def main() -> None:
    """Ask a distribution over trees what it knows."""
    distribution = ca.SpanningTrees(scores_of_a_model(HEADS, seed=1))
    best = distribution.argmax()
    marginals = distribution.marginals()
    print(text(best, forms=FORMS, probabilities=marginals))
    print(f"log-partition {distribution.log_partition():.3f}")
    print(f"entropy       {distribution.entropy():.3f} nats")
    print(f"best tree     {np.exp(distribution.log_prob(best)):.1%}")

    # The word whose head is least certain, with its other candidates as faint arcs.
    word = int(marginals[best.heads, range(1, len(best) + 1)].argmin()) + 1
    print(f"least certain {FORMS[word - 1]}")
    drawing = svg(best, forms=FORMS, probabilities=marginals, candidates=[word])
    Path("score_arrays.svg").write_text(drawing, encoding="utf-8")

    # A list of arrays is a batch: every method returns a list, computed over threads.
    batch = ca.SpanningTrees([scores_of_a_model(HEADS[:4], seed) for seed in range(3)])
    for number, tree in enumerate(batch.argmax()):
        print(f"sentence {number}: heads {tree.heads.tolist()}, score {tree.score:.3f}")


if __name__ == "__main__":
    main()
