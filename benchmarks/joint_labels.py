"""Labels inside the scores of arcs, beside labels in a second stage as the parser has them.

    .venv-bench/bin/python benchmarks/joint_labels.py [FOLDER] [--names NAME ...] [--passes N]

Joint: a labelled tree's score is the sum over its arcs of arc score and label score, neither
normalised; both are learnt from the marginals of labelled arcs, and the best labelled tree is
taken. Features, rules, passes and choice of the pass are those of the parser. Gold tags,
non-projective trees; seconds are processor time of one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.harness import default_treebanks

import crossarc as ca
from crossarc.inference import Many
from crossarc.learning import AdaGrad, Progress, WeightTable, run_passes
from crossarc.models.encode import Encoded
from crossarc.models.first_order.model import LinearModel
from crossarc.models.first_order.scorers import Arcs
from crossarc.models.first_order.training import train_linear
from crossarc.models.graph import GraphOptions
from crossarc.models.protocol import all_arcs
from crossarc.parser import Parser

NAMES = ("Latin-Perseus", "Slovenian-SSJ", "Turkish-IMST")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--passes", type=int, default=GraphOptions().passes)
    given = parser.parse_args()
    print(f"{'treebank':24}{'labels':>16}{'UAS':>7}{'LAS':>7}{'s/pass':>8}{'words/s':>10}")
    for name in given.names:
        train = list(ca.read_conllu(given.treebanks / name / "train.conllu.gz"))
        dev = list(ca.read_conllu(given.treebanks / name / "dev.conllu.gz"))
        options = GraphOptions(passes=given.passes, threads=1, projective=False, root="single")
        for kind, learn in (("second stage", second_stage), ("joint", joint)):
            pace, parse = learn(train, dev, options)
            parse(dev)
            start = time.process_time()
            parsed = parse(dev)
            speed = sum(map(len, dev)) / (time.process_time() - start)
            scores = ca.evaluate(dev, parsed)
            print(
                f"{name:24}{kind:>16}{scores.uas:7.2f}{scores.las:7.2f}{pace:8.1f}{speed:10,.0f}",
                flush=True,
            )


Sentences = Sequence[ca.Sentence]
Learnt = tuple[float, Callable[[Sentences], list[ca.Sentence]]]


class Watch:
    """Looks at the clock after each pass."""

    def __init__(self) -> None:
        self._ends = [time.process_time()]

    def note(self, state: Progress) -> None:
        """For `progress`."""
        if state.scores:
            self._ends.append(time.process_time())

    @property
    def pace(self) -> float:
        """Seconds of the fastest pass; the first may have waited for kernels."""
        return float(min(np.diff(self._ends)))


def second_stage(train: Sentences, dev: Sentences, options: GraphOptions) -> Learnt:
    watch = Watch()
    model = train_linear(train, dev, options=options, progress=watch.note)
    parser = Parser(model, projective=False, root="single")
    return watch.pace, lambda sentences: list(parser.parse(sentences, threads=1))


def joint(train: Sentences, dev: Sentences, options: GraphOptions) -> Learnt:
    watch = Watch()
    task = JointTask(LinearModel.build(train), train, dev, options)
    run_passes(
        task,
        passes=options.passes,
        batch=options.batch,
        seed=options.seed,
        patience=options.patience,
        progress=watch.note,
    )
    task.take(task.kept)
    return watch.pace, task.parse


class JointTask:
    """Arcs and labels that are learnt as one distribution over labelled trees."""

    def __init__(
        self, model: LinearModel, train: Sentences, dev: Sentences, options: GraphOptions
    ) -> None:
        self.model, self.dev, self.options = model, dev, options
        self.data = model.encode(train, gold=True)
        self.sizes = self.data.sizes
        self.scorers = model.arcs, model.label_scorer
        self.rules = [
            AdaGrad(
                WeightTable(scorer.thaw()),
                rate=options.rate,
                inertia=options.inertia,
                l1=options.l1,
                l2=options.l2,
            )
            for scorer in self.scorers
        ]
        self.keep()

    def begin_pass(self, number: int) -> None:
        """Leave the first pass out of the mean."""
        if number == 2:
            for rule in self.rules:
                rule.restart_mean()

    def trees(self, encoded: Encoded) -> ca.SpanningTrees[Many]:
        """The distribution over labelled trees: scores of arcs plus those of labels."""
        model, labelled = self.model, []
        every = [all_arcs(n) for n in encoded.sizes.tolist()]
        table = model.label_scorer.scores(Arcs.of_batch(encoded, every), 1)
        ends = np.cumsum([len(heads) for heads, _ in every])[:-1]
        for arcs, labels in zip(
            encoded.split_arcs(model.arcs.scores(encoded, 1)), np.split(table, ends), strict=True
        ):
            n = len(arcs) - 1
            scores = np.zeros((n + 1, n + 1, len(model.labels)))
            scores[:, 1:] = arcs[:, 1:, None] + labels.reshape(n + 1, n, -1)
            scores[0][:, ~model.permitted[0]] = -np.inf
            scores[1:, :, ~model.permitted[1]] = -np.inf
            labelled.append(scores)
        return ca.SpanningTrees(labelled, threads=1)

    def learn(self, sentences: Ints) -> float:
        """One step: the gradient in the score of (h, m, l) is its probability, minus 1 if gold."""
        batch = self.data.select(sentences)
        loss, gradients = 0.0, [np.array(marginals) for marginals in self.trees(batch).marginals()]
        heads, labels = batch.gold_arcs()
        begins = np.cumsum(batch.sizes)[:-1]
        for gradient, own, names in zip(
            gradients, np.split(heads, begins), np.split(labels, begins), strict=True
        ):
            words = np.arange(1, len(own) + 1)
            loss -= float(np.log(gradient[own, words, names]).sum())
            gradient[own, words, names] -= 1.0
        flat = np.concatenate([gradient.sum(axis=2).ravel() for gradient in gradients])
        self.model.arcs.update(batch, flat, self.rules[0], 1)
        self._update_labels(batch, gradients)
        return loss

    def _update_labels(self, batch: Encoded, gradients: list[Floats]) -> None:
        table = np.concatenate([own[:, 1:].reshape(-1, own.shape[2]) for own in gradients])
        arcs = Arcs.of_batch(batch, [all_arcs(n) for n in batch.sizes.tolist()])
        # Smaller gradients change no weight.
        used = (np.abs(table) >= 1e-4).any(axis=1)
        self.model.label_scorer.update(arcs.only(used), table[used], self.rules[1], 1)

    def end_pass(self, number: int) -> dict[str, float]:
        """LAS of the held-out sentences, under the mean of the weights."""
        present = [scorer.weights for scorer in self.scorers]
        for scorer, rule in zip(self.scorers, self.rules, strict=True):
            scorer.weights = rule.mean()
        reached = ca.evaluate(self.dev, self.parse(self.dev))
        for scorer, weights in zip(self.scorers, present, strict=True):
            scorer.weights = weights
        return {"las": reached.las, "uas": reached.uas}

    def keep(self) -> None:
        """Remember the mean of the weights."""
        self.kept = [rule.mean() for rule in self.rules]

    def take(self, weights: list[Singles]) -> None:
        """Give the model weights as they would be in its file."""
        for scorer, own in zip(self.scorers, weights, strict=True):
            scorer.freeze(own, self.options.max_weights)

    def parse(self, sentences: Sentences) -> list[ca.Sentence]:
        """Copies of the sentences with their best labelled trees."""
        parsed = []
        # All arcs of a sentence have scores of all labels: few sentences fit in memory.
        for begin in range(0, len(sentences), self.options.batch):
            batch = sentences[begin : begin + self.options.batch]
            for sentence, tree in zip(
                batch, self.trees(self.model.encode(batch)).argmax(), strict=True
            ):
                twin = sentence.copy()
                twin.heads = tree.heads
                twin.deprels = [self.model.labels[label] for label in np.asarray(tree.labels)]
                parsed.append(twin)
        return parsed


if __name__ == "__main__":
    main()
