"""The parser's accuracy on every treebank, trained on crossing trees and on projective ones.

    .venv-bench/bin/python benchmarks/parser_accuracy.py [FOLDER] [--names NAME ...]

Trained on `train`, measured on `dev`, gold tags; UAS and LAS as of CoNLL 2018, punctuation
counted. The pass is chosen by LAS on the whole of `dev`. For calibration the temperature is fitted
on every second sentence of `dev`, and the expected calibration error (ECE) of the probabilities of
the heads chosen is that of the other half.

Every result is added to a file when it is there, and what the file has is not measured again:
delete it to begin anew.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support.harness import default_treebanks

import crossarc as ca
from crossarc.evaluation import calibration
from crossarc.learning import Progress
from crossarc.models.graph import GraphOptions
from crossarc.models.linear import LinearModel
from crossarc.models.training import calibrate
from crossarc.parser import Parser

TREES = ("non-projective", "projective")
# UAS and LAS of TurboParser, first order, on the same files.
TURBO = {
    "Latin-Perseus": (71.16, 68.14),
    "Slovenian-SSJ": (87.02, 84.42),
    "Ancient_Greek-Perseus": (71.55, 66.93),
    "Gothic-PROIEL": (84.62, 80.08),
    "Turkish-IMST": (66.59, 60.41),
}
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--passes", type=int, default=GraphOptions().passes)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--results", type=Path, default=Path(tempfile.gettempdir()) / "crossarc-accuracy.jsonl"
    )
    given = parser.parse_args()
    names = given.names or by_size(given.treebanks)
    lines = given.results.read_text().splitlines() if given.results.exists() else []
    known = {key(row): row for row in map(json.loads, lines)}
    print(f"results are kept in {given.results}")
    print(
        f"{'treebank':24}{'words':>9}{'crossing':>10}{'trees':>16}{'UAS':>7}{'LAS':>7}{'ECE':>8}"
        f"{'temp.':>7}{'kept':>6}{'s/pass':>8}   TurboParser"
    )
    for name in names:
        for trees in TREES:
            wanted = {"name": name, "trees": trees, "passes": given.passes, "seed": given.seed}
            if key(wanted) not in known:
                row = wanted | measured(given.treebanks / name, wanted)
                with given.results.open("a") as file:
                    print(json.dumps(row), file=file)
                known[key(row)] = row
            show(known[key(wanted)])


def by_size(folder: Path) -> list[str]:
    """Treebanks with both parts, the smallest first."""
    files = folder.glob("*/train.conllu.gz")
    whole = [file for file in files if file.with_name("dev.conllu.gz").exists()]
    return [file.parent.name for file in sorted(whole, key=lambda file: file.stat().st_size)]


def key(row: Row) -> tuple[Any, ...]:
    return row["name"], row["trees"], row["passes"], row["seed"]


def measured(folder: Path, wanted: Row) -> Row:
    """Train once, and measure."""
    train = list(ca.read_conllu(folder / "train.conllu.gz"))
    dev = list(ca.read_conllu(folder / "dev.conllu.gz"))
    ends, scores = [time.perf_counter()], []

    def note(_: str, state: Progress | None) -> None:
        if state is not None and state.scores:
            ends.append(time.perf_counter())
            scores.append(state.scores["las"])

    parser = Parser.train(
        train,
        dev,
        projective=wanted["trees"] == "projective",
        text=False,
        passes=wanted["passes"],
        seed=wanted["seed"],
        progress=note,
    )
    reached = ca.evaluate(dev, parser.parse(dev))
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
        **head_error(parser, dev),
    }


def head_error(parser: Parser, dev: Sequence[ca.Sentence]) -> Row:
    """The temperature fitted on one half of `dev`, and the calibration error of the other."""
    model = parser.model
    assert isinstance(model, LinearModel)
    fitted = model.encode(dev[::2], gold=True)
    calibrate(model, fitted, GraphOptions(projective=parser.projective, root=parser.root))
    chances, right = zip(*chosen_heads(parser, dev[1::2]), strict=True)
    probabilities = np.clip(np.concatenate(chances), 0.0, 1.0)
    error = calibration(probabilities, np.concatenate(right)).ece
    return {"ece": error, "temperature": model.arc_temperature}


def chosen_heads(parser: Parser, sentences: Sequence[ca.Sentence]) -> Iterator[tuple[Any, Any]]:
    """For each sentence, the probabilities of the heads of its best tree, and which are right."""
    every = parser.head_probabilities(sentences)
    for (marginals, sentence), parsed in zip(every, parser.parse(sentences), strict=True):
        words = np.arange(1, len(sentence) + 1)
        yield marginals[parsed.heads, words], parsed.heads == sentence.heads


def show(row: Row) -> None:
    turbo = TURBO.get(row["name"])
    print(
        f"{row['name']:24}{row['words']:9,}{row['crossing']:9.2f}%{row['trees']:>16}"
        f"{row['uas']:7.2f}{row['las']:7.2f}{row['ece']:8.4f}{row['temperature']:7.2f}"
        f"{row['kept']:6}{row['pace']:8.1f}"
        + (f"   {turbo[0]:.2f} {turbo[1]:.2f}" if turbo else ""),
        flush=True,
    )


if __name__ == "__main__":
    main()
