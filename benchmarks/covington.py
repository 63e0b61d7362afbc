"""Covington parsers under constraints: accuracy, active pairs and speed; growth with length.

    .venv-bench/bin/python benchmarks/covington.py [FOLDER] [--names NAME ...] [--beam B]

The open hypothesis of Nivre (2006), section 7: do constraints on non-projectivity make a parser
more accurate and faster? Trained on train, measured on dev, gold tags. UAS and LAS as of CoNLL
2018, punctuation counted, means over seeds. diff: LAS less that of the parser without a bound, and
from which to which value over seeds. p: sign test over sentences, right words summed over seeds.
pairs: active pairs, for which the classifier is asked, per word. gold, all: arcs that Covington's
algorithm finds with the tree itself as its oracle, in percent, and the active pairs per word it
tries, for it does not shift. words/s: one thread, from codes to
heads and labels, the parsers of a treebank taking turns, median of five. The last row of each
treebank is the graph parser, one seed.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path

import numpy as np
from support.harness import default_treebanks, medians

import crossarc as ca
from crossarc.evaluation import sentence_counts, sign_test_p
from crossarc.inference.transition import covington
from crossarc.models.covington.model import CovingtonModel
from crossarc.models.first_order.model import LinearModel, LinearScores
from crossarc.models.protocol import tree_arcs

NAMES = (
    "Latin-Perseus",
    "Ancient_Greek-Perseus",
    "Gothic-PROIEL",
    "Danish-DDT",
    "Dutch-LassySmall",
)
DEGREES = {"unbounded": None, "d<=2": 2, "d<=1": 1, "projectivity": 0}
# The graph parser has no bound either.
NAMED = {name: name for name in DEGREES} | {"unbounded": "acyclicity", "graph": "acyclicity"}
LENGTHS = (1_250, 2_500, 5_000, 10_000, 20_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print(
        f"{'treebank':22} {'constraint':13}{'UAS':>7}{'LAS':>7}{'diff':>7}{'from':>7}{'to':>7}"
        f"{'p':>8}{'pairs':>7}{'gold':>8}{'all':>6}{'words/s':>9}"
    )
    for name in given.names:
        compare(name, given.treebanks / name, given.beam, given.seeds)
    growth(given.treebanks / given.names[0], given.beam)


def compare(name: str, folder: Path, beam: int, seeds: int) -> None:
    """One row for each constraint, and one for the graph parser."""
    train, dev = sentences(folder, "train"), sentences(folder, "dev")
    parsers = {
        constraint: [
            ca.Parser.train(
                train, dev, kind="covington", max_degree=degree, beam=beam, text=False, seed=seed
            )
            for seed in range(seeds)
        ]
        for constraint, degree in DEGREES.items()
    }
    parsers["graph"] = [ca.Parser.train(train, dev, order=1, text=False)] * seeds
    pace = medians({constraint: job(own[0], dev) for constraint, own in parsers.items()})
    found = covington([one.tree for one in dev], list(NAMED.values()), threads=1)
    free = [list(one.parse(dev)) for one in parsers["unbounded"]]
    for constraint, own in parsers.items():
        parsed = [list(one.parse(dev)) for one in own]
        scores = [ca.evaluate(dev, one) for one in parsed]
        uas, las = (np.mean([getattr(s, score) for s in scores]) for score in ("uas", "las"))
        row = f"{name:22} {constraint:13}{uas:7.2f}{las:7.2f}{difference(dev, parsed, free)}"
        row += f"{np.mean([pairs(one, dev) for one in own]) / words(dev):7.2f}"
        most = found[NAMED[constraint]]
        row += f"{100 * most.correct.sum() / words(dev):8.2f}{most.active.sum() / words(dev):6.2f}"
        print(f"{row}{words(dev) / pace[constraint]:9,.0f}", flush=True)


def difference(
    gold: Sequence[ca.Sentence],
    systems: Sequence[Sequence[ca.Sentence]],
    others: Sequence[Sequence[ca.Sentence]],
) -> str:
    """By how much the LAS of systems is higher, seed by seed, and the p-value of that."""
    counts = [sentence_counts(gold, a, b) for a, b in zip(systems, others, strict=True)]
    gains = np.array([one.a - one.b for one in counts])
    points = 100 * gains.sum(axis=1) / words(gold)
    better, worse = (int(np.count_nonzero(sign * gains.sum(axis=0) > 0)) for sign in (1, -1))
    return (
        f"{points.mean():7.2f}{points.min():7.2f}{points.max():7.2f}"
        f"{sign_test_p(better, worse):8.4f}"
    )


def words(bank: Sequence[ca.Sentence]) -> int:
    return sum(map(len, bank))


def sentences(folder: Path, part: str) -> list[ca.Sentence]:
    return list(ca.read_conllu(folder / f"{part}.conllu.gz"))


def pairs(parser: ca.Parser, dev: Sequence[ca.Sentence]) -> float:
    """How many pairs were active; none for a graph parser, which tries them all."""
    model = parser.model
    if not isinstance(model, CovingtonModel):
        return float("nan")
    return int(model.parse_encoded(model.encode(dev))[2].sum())


def job(parser: ca.Parser, dev: Sequence[ca.Sentence]) -> Callable[[], object]:
    """From codes to heads and labels, by one thread."""
    model = parser.model
    if isinstance(model, CovingtonModel):
        return partial(model.parse_encoded, model.encode(dev), None, 1)
    assert isinstance(model, LinearModel)
    encoded = model.encode(dev)
    family = ca.ProjectiveTrees if parser.projective else ca.SpanningTrees

    def search() -> object:
        scores = LinearScores(model, encoded, 1)
        trees = family(scores.arcs, root=parser.root, threads=1).argmax()
        return scores.label_log_probs([tree_arcs(tree.heads) for tree in trees])

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
