"""What should be combined: probabilities of arcs in trees, of heads, or scores?

    python benchmarks/combining.py DEV MODEL MODEL...

For parsers of the kind "graph" or "neural", the tables that a combination multiplies by weights
are, of each member,

    trees    log p(h -> m), summed over trees: what `Parser.combine` uses
    heads    log p(h | m) of each word by itself, from the scores of arcs
    scores   the scores of arcs divided by the member's temperature

Of first order, the last two differ by a number a word, and so only in the bound from below that
log-probabilities have. Weights of arcs are fitted on every second sentence and measured on the
others, both ways. Printed are UAS, LAS, the log-probability of gold heads (nats a word, in the
family of trees that they are in), and the weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import crossarc as ca
from crossarc.learning import learnable_heads, log_linear
from crossarc.models.combined.fitting import fit_weights
from crossarc.models.combined.model import CombinedModel, Member
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import BatchScores
from crossarc.parser import Parser

Floats = NDArray[np.float64]

LEAST = float(np.log(1e-8))


class HeadMember(Member):
    """Every word by itself: log p(h | m) is the score of the arc less a normaliser."""

    __slots__ = ()

    def log_marginals(self, batch: BatchScores, threads: int | None) -> list[Floats]:
        """log p(h | m) of each sentence."""
        return [bounded(log_softmax(table)) for table in batch.arcs]


class ScoreMember(Member):
    """The scores themselves; arcs that a member of higher order has pruned are far below."""

    __slots__ = ()

    def log_marginals(self, batch: BatchScores, threads: int | None) -> list[Floats]:
        """Scores of each sentence, less a number a word."""
        return [pruned_to_finite(log_softmax(table)) for table in batch.arcs]


MEMBERS: dict[str, type[Member]] = {"trees": Member, "heads": HeadMember, "scores": ScoreMember}


def log_softmax(table: Floats) -> Floats:
    """Columns as log-probabilities; the distribution over trees stays the same."""
    logs = table.copy()
    logs[:, 0] = -np.inf
    np.fill_diagonal(logs, -np.inf)
    logs[:, 1:] -= np.logaddexp.reduce(logs[:, 1:], axis=0)
    return logs


def bounded(logs: Floats) -> Floats:
    return usable(np.maximum(logs, LEAST))


def pruned_to_finite(logs: Floats) -> Floats:
    return usable(np.where(np.isneginf(logs), min(LEAST, logs[np.isfinite(logs)].min()), logs))


def usable(logs: Floats) -> Floats:
    """No arcs into the root, none from a word to itself."""
    logs[:, 0] = -np.inf
    np.fill_diagonal(logs, -np.inf)
    return logs


def measure(
    parsers: Sequence[Parser], member: type[Member], dev: Sequence[ca.Sentence]
) -> tuple[Floats, list[Floats]]:
    """Right heads, right arcs, words, and the log-probability of gold heads; the weights."""
    total, weights = np.zeros(4), []
    projective = all(one.projective for one in parsers)
    root: RootRule = "single" if all(one.root == "single" for one in parsers) else "multi"
    for fold in range(2):
        own: list[Any] = [member(p.model, p.projective, p.root) for p in parsers]  # type: ignore[arg-type]
        model = CombinedModel(own)
        fit_weights(model, dev[fold::2], projective=projective, root=root)
        held_out = list(dev[1 - fold :: 2])
        found = ca.evaluate(held_out, list(Parser(model, projective, root).parse(held_out)))
        words = sum(len(one) for one in held_out)
        family = ca.ProjectiveTrees if projective else ca.SpanningTrees
        gold = [learnable_heads(one.heads, projective=projective, root=root) for one in held_out]
        loss, _ = log_linear(family, model.score(held_out).arcs, gold, root)
        total += np.array([found.uas * words, found.las * words, words, loss])
        weights.append(model.arc_weights)
    return total, weights


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("dev")
    arguments.add_argument("models", nargs="+")
    chosen = arguments.parse_args()
    dev = list(ca.read_conllu(chosen.dev))
    parsers = [Parser.load(path) for path in chosen.models]
    groups = [[one] for one in parsers] + ([parsers] if len(parsers) > 1 else [])
    names = [[name] for name in chosen.models] + [chosen.models]
    for own, called in zip(groups, names, strict=False):
        print(" + ".join(called))
        for name, member in MEMBERS.items():
            (heads, arcs, words, loss), weights = measure(own, member, dev)
            shown = "; ".join(", ".join(f"{w:.2f}" for w in one) for one in weights)
            print(
                f"  {name:7} UAS {heads / words:.2f} LAS {arcs / words:.2f} "
                f"nats {loss / words:.3f} weights {shown}"
            )


if __name__ == "__main__":
    main()
