"""The linear parser: train on one part of a treebank, measure on the other.

    .venv-bench/bin/python benchmarks/parser.py [FOLDER] [--names NAME ...] [--projective]

Gold tags. UAS and LAS as of CoNLL 2018, punctuation counted; the expected calibration error of
the heads' probabilities; seconds a pass; microseconds a word, processor time of one thread, for
encoding, scoring, decoding and labelling; the size of the weights in a file.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from support.harness import default_treebanks

import crossarc as ca
from crossarc.evaluation import calibration
from crossarc.learning import Progress
from crossarc.models.linear import LinearModel
from crossarc.models.training import Options, train_linear

T = TypeVar("T")
NAMES = (
    "Latin-Perseus",
    "Slovenian-SSJ",
    "Ancient_Greek-Perseus",
    "Gothic-PROIEL",
    "Turkish-IMST",
)
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--learner", choices=["loglinear", "perceptron"], default="loglinear")
    parser.add_argument("--projective", action="store_true")
    parser.add_argument("--passes", type=int, default=Options().passes)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    how = Options(
        learner=given.learner,
        projective=given.projective,
        passes=given.passes,
        seed=given.seed,
    )
    print(f"{given.learner}, {'projective' if given.projective else 'non-projective'}")
    print(f"{'treebank':24}{'UAS':>7}{'LAS':>7}{'ECE':>8}{'s/pass':>8}{'us/word':>9}{'MB':>6}")
    for name in given.names:
        report(name, given.treebanks / name, how)


def report(name: str, folder: Path, how: Options) -> None:
    train = list(ca.read_conllu(folder / "train.conllu.gz"))
    dev = list(ca.read_conllu(folder / "dev.conllu.gz"))
    ends: list[float] = [time.perf_counter()]

    def note(progress: Progress) -> None:
        if progress.scores:
            ends.append(time.perf_counter())

    model = train_linear(train, dev, options=how, progress=note)
    micros, parsed = fastest(lambda: parse(model, dev, how))
    scores = ca.evaluate(dev, parsed)
    size = sum(tensor.nbytes for tensor in model.tensors().values()) / 1e6
    # The first pass may have waited for kernels.
    pace = min(np.diff(ends))
    print(
        f"{name:24}{scores.uas:7.2f}{scores.las:7.2f}{head_error(model, dev, how):8.4f}"
        f"{pace:8.1f}{micros * 1e6 / sum(map(len, dev)):9.1f}{size:6.1f}",
        flush=True,
    )


def parse(model: LinearModel, sentences: Sequence[ca.Sentence], how: Options) -> list[ca.Sentence]:
    """The sentences with the best heads and labels, by one thread."""
    encoded = model.encode(sentences)
    best = how.trees(model.arc_scores(encoded, 1), root=how.root, threads=1).argmax()
    heads = [tree.heads for tree in best]
    parsed = []
    logs = model.label_log_probs(encoded, heads, 1)
    for sentence, own, table in zip(sentences, heads, logs, strict=True):
        twin = sentence.copy()
        twin.heads = own
        twin.deprels = [model.labels[label] for label in table.argmax(axis=1)]
        parsed.append(twin)
    return parsed


def head_error(model: LinearModel, dev: Sequence[ca.Sentence], how: Options) -> float:
    """Expected calibration error of the probabilities of the heads in the best trees.

    The temperature was fitted on the same sentences: one number for thousands of words.
    """
    trees = how.trees(model.arc_scores(model.encode(dev)), root=how.root)
    probabilities, right = [], []
    for sentence, tree, marginals in zip(dev, trees.argmax(), trees.marginals(), strict=True):
        probabilities.append(marginals[tree.heads, np.arange(1, len(tree) + 1)])
        right.append(tree.heads == sentence.heads)
    every = np.clip(np.concatenate(probabilities), 0.0, 1.0)
    return calibration(every, np.concatenate(right)).ece


def fastest(job: Callable[[], T]) -> tuple[float, T]:
    """Least processor seconds of some rounds, and the result."""
    least, result = np.inf, job()
    for _ in range(ROUNDS):
        start = time.thread_time()
        result = job()
        least = min(least, time.thread_time() - start)
    return float(least), result


if __name__ == "__main__":
    main()
