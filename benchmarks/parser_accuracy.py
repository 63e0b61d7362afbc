"""The parser's accuracy on every treebank, by the trees that it learns and by order.

    .venv-bench/bin/python benchmarks/parser_accuracy.py [FOLDER] [--names NAME ...] [--orders 1 2]

Trained on `train`, measured on `dev`, gold tags; UAS and LAS as of CoNLL 2018, punctuation
counted. The pass is chosen by LAS on the whole of `dev`. For calibration the temperature is fitted
on every second sentence of `dev`, and the expected calibration error (ECE) of the probabilities of
the heads chosen is that of the other half. First order is trained on crossing trees and on
projective ones, higher orders on those that the parser chooses by itself; of these the seconds of
processor for training, words a second with one thread and the percentage of best trees with a
certificate are measured, too.

Every result is a line of docs/reproduction/accuracy.jsonl as soon as it is there, and what the file
has is not measured again: the command can be stopped at any time and resumed. The lines hold
figures only, no sentence of a treebank. The tables of docs/parser.md are made of them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support.harness import default_treebanks

import crossarc as ca
from crossarc.evaluation import calibration
from crossarc.learning import Progress
from crossarc.models.first_order.model import LinearModel
from crossarc.models.first_order.training import calibrate
from crossarc.models.graph import GraphOptions
from crossarc.models.higher_order.calibration import calibrate as calibrate_parts
from crossarc.models.higher_order.model import HigherOrderModel
from crossarc.models.higher_order.objectives import Trees
from crossarc.parser import Parser

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "accuracy.jsonl"
TREES = ("non-projective", "projective")
# UAS and LAS of TurboParser on the same files, by order.
TURBO = {
    ("Latin-Perseus", 1): (71.16, 68.14),
    ("Slovenian-SSJ", 1): (87.02, 84.42),
    ("Ancient_Greek-Perseus", 1): (71.55, 66.93),
    ("Gothic-PROIEL", 1): (84.62, 80.08),
    ("Turkish-IMST", 1): (66.59, 60.41),
    ("Latin-Perseus", 2): (75.59, 72.17),
    ("Slovenian-SSJ", 2): (88.62, 85.52),
    ("Ancient_Greek-Perseus", 2): (72.39, 67.29),
}
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--orders", nargs="+", type=int, default=[1], choices=(1, 2, 3))
    parser.add_argument("--learner", help="by default that of the order")
    parser.add_argument("--passes", type=int, default=GraphOptions().passes)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    names = given.names or by_size(given.treebanks)
    lines = given.results.read_text().splitlines() if given.results.exists() else []
    known = {key(row): row for row in map(json.loads, lines)}
    print(f"results are kept in {given.results}")
    print(
        f"{'treebank':24}{'words':>9}{'crossing':>10}{'order':>6}{'trees':>16}{'learner':>11}{'UAS':>7}{'LAS':>7}"
        f"{'ECE':>8}{'temp.':>7}{'kept':>6}{'s/pass':>8}{'train s':>9}{'words/s':>9}{'cert.':>7}"
        "   TurboParser"
    )
    for name in names:
        for order, trees in itertools.product(given.orders, TREES):
            if order > 1 and trees != own_trees(given.treebanks / name):
                continue
            learner = given.learner or GraphOptions(order=order).learner
            wanted = {"name": name, "order": order, "trees": trees, "learner": learner}
            wanted |= {"passes": given.passes, "seed": given.seed}
            if key(wanted) not in known:
                row = wanted | rounded(measured(given.treebanks / name, wanted))
                with given.results.open("a") as file:
                    print(json.dumps(row), file=file)
                known[key(row)] = row
            show(known[key(wanted)])


def rounded(row: Row) -> Row:
    """Figures short enough to be read."""
    short = {name: round(float(one), 4) for name, one in row.items() if isinstance(one, float)}
    return row | short


def by_size(folder: Path) -> list[str]:
    """Treebanks with both parts, the smallest first."""
    files = folder.glob("*/train.conllu.gz")
    whole = [file for file in files if file.with_name("dev.conllu.gz").exists()]
    return [file.parent.name for file in sorted(whole, key=lambda file: file.stat().st_size)]


def key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("name", "order", "trees", "learner", "passes", "seed"))


def own_trees(folder: Path) -> str:
    """The trees that the parser chooses for a treebank."""
    options = GraphOptions().resolved(list(ca.read_conllu(folder / "train.conllu.gz")))
    return TREES[bool(options.projective)]


def measured(folder: Path, wanted: Row) -> Row:
    """Train once, and measure."""
    train = list(ca.read_conllu(folder / "train.conllu.gz"))
    dev = list(ca.read_conllu(folder / "dev.conllu.gz"))
    ends, scores, start = [time.perf_counter()], [], time.process_time()

    def note(_: str, state: Progress | None) -> None:
        if state is not None and state.scores:
            ends.append(time.perf_counter())
            scores.append(state.scores["las"])

    parser = Parser.train(
        train,
        dev,
        order=wanted["order"],
        learner=wanted["learner"],
        projective=wanted["trees"] == "projective",
        text=False,
        passes=wanted["passes"],
        seed=wanted["seed"],
        progress=note,
    )
    spent = time.process_time() - start
    reached = ca.evaluate(dev, parser.parse(dev))
    start = time.process_time()
    deque(parser.parse(dev, threads=1), maxlen=0)
    pace = sum(map(len, dev)) / (time.process_time() - start)
    words = sum(map(len, train))
    crossing = sum(int(one.tree.nonprojective_arcs.sum()) for one in train)
    return {
        "sentences": len(train),
        "words": words,
        "crossing": 100.0 * crossing / words,
        "uas": reached.uas,
        "las": reached.las,
        "kept": int(np.argmax(scores)) + 1,
        # The first pass may have waited for kernels.
        "pace": min(np.diff(ends)),
        "processor": spent,
        "words_per_second": pace,
        "certified": certified(parser, dev),
        **head_error(parser, dev),
    }


def certified(parser: Parser, dev: Sequence[ca.Sentence]) -> float:
    """The percentage of best trees that are known to be the best."""
    if parser.projective or not isinstance(parser.model, HigherOrderModel):
        return 100.0
    batch = parser.model.score(dev)
    trees = Trees(False, parser.root).of(batch.arcs, batch.factors).argmax()
    return 100.0 * float(np.mean([tree.is_optimal for tree in trees]))


def head_error(parser: Parser, dev: Sequence[ca.Sentence]) -> Row:
    """Calibrated on one half of `dev`: the temperature, and the calibration error of the other."""
    model = parser.model
    assert isinstance(model, LinearModel | HigherOrderModel)
    fitted = model.encode(dev[::2], gold=True)
    if isinstance(model, LinearModel):
        calibrate(model, fitted, GraphOptions(projective=parser.projective, root=parser.root))
    else:
        calibrate_parts(model, fitted, Trees(parser.projective, parser.root))
    chances, right = zip(*chosen_heads(parser, dev[1::2]), strict=True)
    probabilities = np.clip(np.concatenate(chances), 0.0, 1.0)
    error = calibration(probabilities, np.concatenate(right)).ece
    fitted_to = model.arc_temperature if isinstance(model, LinearModel) else model.temperature
    return {"ece": error, "temperature": fitted_to}


def chosen_heads(parser: Parser, sentences: Sequence[ca.Sentence]) -> Iterator[tuple[Any, Any]]:
    """For each sentence, the probabilities of the heads of its best tree, and which are right."""
    every = parser.head_probabilities(sentences)
    for (marginals, sentence), parsed in zip(every, parser.parse(sentences), strict=True):
        words = np.arange(1, len(sentence) + 1)
        yield marginals[parsed.heads, words], parsed.heads == sentence.heads


def show(row: Row) -> None:
    turbo = TURBO.get((row["name"], row["order"]))
    measures = (("processor", "9.0f"), ("words_per_second", "9,.0f"), ("certified", "7.1f"))
    print(
        f"{row['name']:24}{row['words']:9,}{row['crossing']:9.2f}%{row.get('order', 1):6}"
        f"{row['trees']:>16}{row['learner']:>11}{row['uas']:7.2f}{row['las']:7.2f}{row['ece']:8.4f}"
        f"{row['temperature']:7.2f}{row['kept']:6}{row['pace']:8.1f}"
        + "".join(f"{row.get(name, math.nan):{form}}" for name, form in measures)
        + (f"   {turbo[0]:.2f} {turbo[1]:.2f}" if turbo else ""),
        flush=True,
    )


if __name__ == "__main__":
    main()
