"""Koo et al. (2007), Tables 1 to 3, on shared treebanks: cell by cell, and the page of them.

    .venv/bin/python benchmarks/koo2007.py [--names NAME ...] [--page]

A cell is a treebank, a learner, and projective or non-projective training. Its result is a small
file in docs/reproduction/koo2007/; what has a file is not run again, so the command can be stopped
at any time and resumed. At the end, or with --page alone, docs/reproduction/koo2007.md is written
from the files. The page holds counts only, no sentence of a treebank.

As in the paper, section 6: models of unlabelled trees; the last 10% of `train` validate: C, the
number of passes, and, after non-projective training, whether to decode projective trees or all
trees; projective training takes the training part through `projectivize(by="loss")`. To keep it
affordable C is chosen at 20 passes from four values, each started from the weights of the smaller
one, and only the chosen one goes on to 50 (Dutch-LassySmall: 100). Scores are those of `dev`.

With --roots, the cells of another table: each learner, non-projective, under a single root and
under several, on Danish-DDT and on random sentences with several roots.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.harness import default_treebanks
from support.koo2007_page import write_page

import crossarc as ca
from crossarc import ProjectiveTrees, SpanningTrees
from crossarc.learning import ConjugateGradient, Perceptron, WeightTable, log_linear, perceptron
from crossarc.models.encode import Encoded
from crossarc.models.first_order.learners.learners import (
    ArcLearner,
    DescentLearner,
    DualLearner,
    StepLearner,
)
from crossarc.models.first_order.learners.problem import ArcProblem, Trees
from crossarc.models.first_order.model import LinearModel
from crossarc.models.kinds import RootRule
from crossarc.treebank.synthetic import generate, poisson_lengths

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "koo2007"
ROOT_RESULTS = RESULTS / "roots"
SYNTHETIC = "Synthetic"
ROOT_NAMES = (SYNTHETIC, "Danish-DDT")
ROOTS: tuple[RootRule, ...] = ("single", "multi")
NAMES = (
    "Latin-Perseus",
    "Arabic-PUD",
    "Ancient_Greek-Perseus",
    "Slovenian-SSJ",
    "Gothic-PROIEL",
    "Turkish-IMST",
    "Japanese-GSD",
    "Dutch-LassySmall",
    "Danish-DDT",
    "Spanish-AnCora",
)
LEARNERS = ("perceptron", "maxmargin", "loglinear")
TREES = ("p", "np")
CS = {"maxmargin": (0.003, 0.01, 0.03, 0.1), "loglinear": (0.03, 0.1, 0.3, 1.0)}
SHORT, LONG, PERCEPTRON = 20, 50, 30
# As many as in print, where it is asked what more passes bring.
LONGER = {"Dutch-LassySmall": 100}
#: Passes without a better score on the validation part.
PATIENCE = 10
# Marginals that change by less wait for a later pass of exponentiated gradient.
LEAST = 1e-5

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Row = dict[str, Any]
FAMILIES: dict[str, Any] = {"p": ProjectiveTrees, "np": SpanningTrees}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--learners", nargs="+", default=LEARNERS, choices=LEARNERS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--roots", action="store_true", help="the table of root rules")
    parser.add_argument("--page", action="store_true", help="write the page, run nothing")
    given = parser.parse_args()
    ROOT_RESULTS.mkdir(parents=True, exist_ok=True)
    if given.roots and not given.page:
        for name in ROOT_NAMES:
            for learner in given.learners:
                for root in ROOTS:
                    run_cell(given.treebanks / name, learner, "np", given.threads, root)
    elif not given.page:
        for name in given.names:
            for learner in given.learners:
                for trees in TREES:
                    run_cell(given.treebanks / name, learner, trees, given.threads)
    write_page(RESULTS, given.treebanks, NAMES)


def run_cell(
    folder: Path, learner: str, trees: str, threads: int, root: RootRule | None = None
) -> None:
    """Measure a cell, unless it is there; with a root rule, one of the table of root rules."""
    path = RESULTS / f"{folder.name}-{learner}-{trees}.json"
    if root is not None:
        path = ROOT_RESULTS / f"{folder.name}-{learner}-{root}.json"
    if path.exists():
        return
    begin = time.process_time()
    cell = Cell.read(folder, learner, trees, threads, root)
    row = cell.run()
    row["seconds"] = round(time.process_time() - begin, 1)
    spare = path.with_suffix(".part")
    spare.write_text(json.dumps(row) + "\n")
    spare.replace(path)
    print(f"{path.stem}: dev UAS {row['uas']:.2f}, {row['seconds']:.0f} s", flush=True)


def synthetic_sentences() -> tuple[list[ca.Sentence], list[ca.Sentence]]:
    """Random sentences to learn from and to score: several roots, a third of them crossing."""
    options: dict[str, Any] = {"lengths": poisson_lengths(10), "nonprojective": 0.3}
    made = list(generate(sentences=1000, seed=7, root="multi", **options))
    return made[:750], made[750:]


@dataclass
class Best:
    """The best on the validation part so far."""

    uas: float = -1.0
    passes: int = 0
    decoder: str = ""
    c: float | None = None
    weights: Singles = field(default_factory=lambda: np.empty(0, np.float32))


@dataclass
class Cell:
    """A training setting of a treebank."""

    learner: str
    trees: str
    root: RootRule
    model: LinearModel
    data: Encoded
    validation: Encoded
    dev: Encoded
    dev_sentences: list[ca.Sentence]
    threads: int
    longest: int
    curves: dict[str, list[float]] = field(default_factory=dict)
    passes: int = 0

    @classmethod
    def read(
        cls, folder: Path, learner: str, trees: str, threads: int, root: RootRule | None
    ) -> Cell:
        """The parts of a treebank; the gold trees of the training part made projective."""
        if folder.name == SYNTHETIC:
            train, dev = synthetic_sentences()
        else:
            train = list(ca.read_conllu(folder / "train.conllu.gz"))
            dev = list(ca.read_conllu(folder / "dev.conllu.gz"))
        if root is None:
            root = "multi" if any((one.heads == 0).sum() > 1 for one in train) else "single"
        count = len(train) - len(train) // 10
        known, validation = train[:count], train[count:]
        if trees == "p":
            for one in known:
                one.heads = ca.projectivize(one.tree, by="loss").heads
        model = LinearModel.build(known, label_bits=6)
        longest = LONGER.get(folder.name, LONG)
        data, held_out, scored = (
            model.encode(part, gold=True) for part in (known, validation, dev)
        )
        return cls(learner, trees, root, model, data, held_out, scored, dev, threads, longest)

    @property
    def decoders(self) -> Sequence[str]:
        """Which trees may be decoded."""
        return ("p",) if self.trees == "p" else TREES

    def run(self) -> Row:
        """Choose on the validation part, and measure on dev."""
        best = self.run_perceptron() if self.learner == "perceptron" else self.run_grid()
        self.model.arcs.thaw()[:] = best.weights
        heads = self.parse(self.dev, best.decoder)
        gold = [self.dev.gold_heads(s) for s in range(len(self.dev))]
        words = [np.array([tag != "PUNCT" for tag in one.upos]) for one in self.dev_sentences]
        right = [h == g for h, g in zip(heads, gold, strict=True)]
        counts = [int(one.sum()) for one in right]
        bare = [int(one[kept].sum()) for one, kept in zip(right, words, strict=True)]
        return {
            "root": self.root,
            "c": best.c,
            "passes": best.passes,
            "decoder": best.decoder,
            "validation_uas": round(best.uas, 3),
            "uas": round(100.0 * sum(counts) / int(self.dev.sizes.sum()), 3),
            "uas_without_punctuation": round(
                100.0 * sum(bare) / sum(int(w.sum()) for w in words), 3
            ),
            "all_passes": self.passes,
            "squares": int(self.data.squares[-1]),
            "curves": self.curves,
            "roots_right": sum(
                int((h == 0).sum() == (g == 0).sum()) for h, g in zip(heads, gold, strict=True)
            ),
            "right": counts,
            "right_without_punctuation": bare,
        }

    def problem(self) -> ArcProblem:
        """What is learnt."""
        return ArcProblem.of(self.model.arcs, self.data, self.family(self.trees))

    def family(self, trees: str) -> Trees:
        """Projective trees or all trees."""
        return Trees(FAMILIES[trees], trees == "p", self.root, self.threads)

    def run_perceptron(self) -> Best:
        """The averaged perceptron, sentence by sentence; it has no other choice than the pass."""
        problem = self.problem()
        table = WeightTable(problem.scorer.thaw())
        learner = StepLearner(problem, perceptron, Perceptron(table))
        rng, best = np.random.default_rng(0), Best()
        for number in range(1, PERCEPTRON + 1):
            learner.begin_pass(number)
            for sentence in rng.permutation(len(self.data)):
                learner.learn(np.array([sentence]))
            self.judge(learner, number, None, best)
            if number - best.passes >= PATIENCE:
                break
        return best

    def run_grid(self) -> Best:
        """C by the best score within the short run, then the long run of that C."""
        learner = self.build(CS[self.learner][0])
        best, kept = Best(), learner.state()
        for c in CS[self.learner]:
            learner = self.build(c, learner)
            before = best.uas
            self.go_on(learner, 1, SHORT, c, best)
            if best.uas > before:
                kept = {name: array.copy() for name, array in learner.state().items()}
        learner = self.build(best.c or 1.0, learner)
        learner.load_state(kept)
        self.go_on(learner, SHORT + 1, self.longest, best.c or 1.0, best)
        return best

    def build(self, c: float, before: ArcLearner | None = None) -> ArcLearner:
        """A learner with this C, which starts where the one before has come to."""
        if self.learner == "loglinear":
            return DescentLearner(self.problem(), log_linear, ConjugateGradient, c=c)
        if isinstance(before, DualLearner):
            before.change_c(c)
            return before
        return DualLearner(self.problem(), margin=True, c=c, least=LEAST)

    def go_on(self, learner: ArcLearner, first: int, last: int, c: float, best: Best) -> None:
        """Passes, each scored."""
        for number in range(first, last + 1):
            learner.begin_pass(number)
            learner.learn(np.arange(len(self.data)))
            learner.end_pass()
            self.judge(learner, number, c, best)
            waited = number > SHORT and number - best.passes >= PATIENCE
            if learner.converged or waited:
                break

    def judge(self, learner: ArcLearner, number: int, c: float | None, best: Best) -> None:
        """Score the validation part with each decoder."""
        current, weights = self.model.arcs.copy_weights(), learner.weights()
        self.model.arcs.thaw()[:] = weights
        self.passes += 1
        for decoder in self.decoders:
            right = np.concatenate(self.parse(self.validation, decoder))
            gold = self.validation.gold_arcs()[0]
            uas = 100.0 * float(np.mean(right == gold))
            name = decoder if c is None else f"{decoder} {c:g}"
            self.curves.setdefault(name, []).append(round(uas, 2))
            if uas > best.uas:
                best.uas, best.passes, best.decoder = uas, number, decoder
                best.c, best.weights = c, weights
        self.model.arcs.thaw()[:] = current

    def parse(self, part: Encoded, decoder: str) -> list[Ints]:
        """The heads of the best trees of some part."""
        scores = part.split_arcs(self.model.arcs.scores(part, self.threads))
        return self.family(decoder).best(scores)


if __name__ == "__main__":
    main()
