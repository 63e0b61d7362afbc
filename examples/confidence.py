"""How sure is the parser? Probabilities of heads, the runner-up, what an answer changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import crossarc as ca
from crossarc.draw import svg

TEXT = "I saw the man with the telescope."


def main() -> None:
    """Find the least certain word, and parse again once its head is known."""
    parser = ca.load("en")
    [sentence] = parser.parse(TEXT, probabilities=True)
    trees = parser.distribution(sentence)
    print(f"entropy {trees.entropy():.3f} nats")

    chances = trees.marginals().sum(axis=2)
    words = np.arange(1, len(sentence) + 1)
    sure = chances[sentence.heads, words]
    least = int(sure.argmin())
    names = ("ROOT", *sentence.forms)
    print(f"least certain: {sentence.forms[least]!r}")
    for head in np.argsort(-chances[:, least + 1])[:3]:
        print(f"  {chances[head, least + 1]:7.2%}  {names[head]}")

    best, second = parser.parse([sentence], kbest=2)
    odds = np.exp(float(best.comment("log_prob")) - float(second.comment("log_prob")))
    print(f"the best tree is {odds:.1f} times as probable as the second")
    drawing = svg(best, against=second, names=("best", "second best"))
    Path("confidence.svg").write_text(drawing, encoding="utf-8")

    # Suppose that a person says: no, it is the runner-up.
    answer = sentence.copy()
    heads = np.full(len(answer), -1)
    heads[least] = np.argsort(-chances[:, least + 1])[1]
    answer.heads = heads
    [settled] = parser.parse([answer], keep_heads=True)
    print(f"now {settled.forms[least]!r} hangs from {names[settled.heads[least]]!r}")


if __name__ == "__main__":
    main()
