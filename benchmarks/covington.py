"""Covington parsers under constraints: accuracy, active pairs and speed; growth with length.

    .venv-bench/bin/python benchmarks/covington.py [FOLDER] [--names NAME ...] [--beam B] [--seed N]

The open hypothesis of Nivre (2006), section 7: do constraints on non-projectivity make a parser
more accurate and faster? Trained on train, measured on dev, gold tags. Scores as of CoNLL 2018,
punctuation counted. Pairs: active pairs, for which the classifier is asked, per word. Words per
second: one thread, from codes to heads and labels, the parsers of a treebank taking turns, median
of five. p: paired bootstrap over sentences of the difference in LAS from the parser without a
bound. The last row of each treebank is the graph parser, for which words per second count
scores, decoding and labels.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path

import numpy as np
from support.harness import default_treebanks, medians

import crossarc as ca
from crossarc.evaluation import paired_bootstrap
from crossarc.models.covington.model import CovingtonModel
from crossarc.models.linear import LinearModel

NAMES = (
    "Latin-Perseus",
    "Ancient_Greek-Perseus",
    "Gothic-PROIEL",
    "Danish-DDT",
    "Dutch-LassySmall",
)
DEGREES = {"unbounded": None, "d<=2": 2, "d<=1": 1, "projectivity": 0}
LENGTHS = (1_250, 2_500, 5_000, 10_000, 20_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(
        f"{'treebank':22} {'constraint':13}{'UAS':>7}{'LAS':>7}{'diff':>7}{'p':>8}"
        f"{'pairs':>7}{'words/s':>9}{'train s':>9}"
    )
    for name in given.names:
        compare(name, given.treebanks / name, given.beam, given.seed)
    growth(given.treebanks / given.names[0], given.beam)


def compare(name: str, folder: Path, beam: int, seed: int) -> None:
    """One row for each constraint, and one for the graph parser."""
    train, dev = sentences(folder, "train"), sentences(folder, "dev")
    parsers, seconds = {}, {}
    for constraint, degree in DEGREES.items():
        start = time.perf_counter()
        parsers[constraint] = ca.Parser.train(
            train, dev, kind="covington", max_degree=degree, beam=beam, text=False, seed=seed
        )
        seconds[constraint] = time.perf_counter() - start
    start = time.perf_counter()
    parsers["graph"] = ca.Parser.train(train, dev, text=False, seed=seed)
    seconds["graph"] = time.perf_counter() - start
    words = sum(map(len, dev))
    pace = medians({constraint: job(one, dev) for constraint, one in parsers.items()})
    free = list(parsers["unbounded"].parse(dev))
    for constraint, one in parsers.items():
        parsed = list(one.parse(dev))
        scores = ca.evaluate(dev, parsed)
        change = paired_bootstrap(dev, parsed, free)
        row = f"{name:22} {constraint:13}{scores.uas:7.2f}{scores.las:7.2f}"
        row += (
            f"{change.difference:7.2f}{change.p:8.4f}"
            if constraint != "unbounded"
            else f"{'-':>7}{'-':>8}"
        )
        pairs = asked(one, dev)
        row += f"{'-':>7}" if pairs is None else f"{pairs / words:7.2f}"
        print(f"{row}{words / pace[constraint]:9,.0f}{seconds[constraint]:9.1f}", flush=True)


def sentences(folder: Path, part: str) -> list[ca.Sentence]:
    return list(ca.read_conllu(folder / f"{part}.conllu.gz"))


def asked(parser: ca.Parser, dev: Sequence[ca.Sentence]) -> int | None:
    """How many pairs were active; None for a graph parser."""
    model = parser.model
    if isinstance(model, LinearModel):
        return None
    return int(model.parse(model.encode(dev))[2].sum())


def job(parser: ca.Parser, dev: Sequence[ca.Sentence]) -> Callable[[], object]:
    """From codes to heads and labels, by one thread."""
    model = parser.model
    encoded = model.encode(dev)
    if isinstance(model, CovingtonModel):
        return partial(model.parse, encoded, None, 1)
    family = ca.ProjectiveTrees if parser.projective else ca.SpanningTrees

    def search() -> object:
        trees = family(model.arc_scores(encoded, 1), root=parser.root, threads=1).argmax()
        return model.label_log_probs(encoded, [tree.heads for tree in trees], 1)

    return search


def growth(folder: Path, beam: int) -> None:
    """Seconds for one long sentence, and by which power of its length they grow."""
    train, dev = sentences(folder, "train"), sentences(folder, "dev")
    print(f"\none sentence of so many words, {folder.name}, beam {beam}: seconds")
    print(f"{'':13}{''.join(f'{n:>9,}' for n in LENGTHS)}{'power':>8}")
    for constraint, degree in DEGREES.items():
        parser = ca.Parser.train(
            train, dev, kind="covington", max_degree=degree, beam=beam, text=False, passes=5
        )
        jobs = {str(n): job(parser, [long_sentence(train, n)]) for n in LENGTHS}
        seconds = list(medians(jobs, rounds=3).values())
        power = np.polyfit(np.log(LENGTHS), np.log(seconds), 1)[0]
        print(f"{constraint:13}{''.join(f'{one:9.3f}' for one in seconds)}{power:8.2f}", flush=True)


def long_sentence(bank: Sequence[ca.Sentence], words: int) -> ca.Sentence:
    """The first words of a treebank as one sentence, without heads."""
    rows = zip(
        *(
            islice(cycle(chain.from_iterable(getattr(one, column) for one in bank)), words)
            for column in ("forms", "lemmas", "upos", "xpos", "feats")
        ),
        strict=True,
    )
    lines = ["\t".join((str(k), *row, *"____")) for k, row in enumerate(rows, 1)]
    (sentence,) = ca.read_conllu(io.StringIO("\n".join(lines) + "\n\n"))
    return sentence


if __name__ == "__main__":
    main()
