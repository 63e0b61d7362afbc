"""Fix what you know and ask again: a person corrects one arc, and the rest of the tree follows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import crossarc as ca
from crossarc.draw import svg, text
from crossarc.treebank import sample


def main() -> None:
    """Parse a sentence, fix heads, forbid arcs, and see what changes."""
    sentence = next(s for s in sample("nl") if s.sent_id == "nl-001")
    n = len(sentence)
    # A model that does not like arcs to cross, and is unsure of one verb.
    gold = sentence.heads.tolist()
    scores = np.random.default_rng(7).normal(size=(n + 1, n + 1))
    scores[gold, range(1, n + 1)] += 4.0
    scores[10, 8] -= 5.0
    scores[9, 8] += 3.0

    free = ca.SpanningTrees(scores)
    before = free.argmax()
    print(f"before: projective {before.is_projective}, heads {before.heads.tolist()}")

    # Word 8 (kinderen) belongs to word 10 (leren); the full stop does not belong to word 9 (zag).
    fixed = ca.constrain(scores, heads={8: 10}, forbidden=[(9, 12)])
    constrained = ca.SpanningTrees(fixed)
    after = constrained.argmax()
    print(f"after:  projective {after.is_projective}, heads {after.heads.tolist()}")
    print(f"the model gave this head {np.exp(free.log_prob(heads={8: 10})):.1%}")
    print(text(before, forms=sentence.forms, against=after))

    drawing = svg(before, forms=sentence.forms, against=after, names=("before", "after"))
    Path("constraints.svg").write_text(drawing, encoding="utf-8")

    # What cannot be is said, not guessed.
    try:
        ca.SpanningTrees(ca.constrain(scores, heads={1: 2, 2: 1})).argmax()
    except ca.CrossarcError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
