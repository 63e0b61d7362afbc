"""What pruning by first-order marginals costs: gold arcs lost, and heads left per word.

    .venv-bench/bin/python benchmarks/pruning.py [FOLDER] [--names NAME ...] [--models FOLDER]

A first-order parser is trained on `train`, every tenth sentence held out for the number of passes
and the temperature; arcs of `dev` are pruned with gold tags. Spanning trees: treebanks for which
`Parser.train` chooses them. Projective trees: all treebanks, sentences with a projective gold
tree. `--temperature 1` is for parsers without held-out sentences.

Parsers are kept in the folder of `--models`, and those that are there are not trained again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.harness import default_treebanks

import crossarc as ca
from crossarc.models.first_order.model import LinearModel
from crossarc.models.graph import GraphOptions

THRESHOLDS = (1e-2, 1e-3, 5e-4, 1e-4, 5e-5, 1e-5)
MAX_HEADS = (4, 8, 16)
KINDS = ("spanning", "projective")
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--trees", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--temperature", type=float)
    parser.add_argument(
        "--models", type=Path, default=Path(tempfile.gettempdir()) / "crossarc-pruning"
    )
    given = parser.parse_args()
    given.models.mkdir(parents=True, exist_ok=True)
    names = given.names or sorted(p.parent.name for p in given.treebanks.glob("*/train.conllu.gz"))
    for kind in given.trees:
        print(f"\n{kind} trees: % of gold arcs lost / heads per word")
        columns = [*(f"{t:g}" for t in THRESHOLDS), *(f"top {k}" for k in MAX_HEADS)]
        print(f"{'':24}{'words':>7}" + "".join(f"{column:>12}" for column in columns))
        for name in names:
            folder = given.treebanks / name
            trained = load_or_train(folder, kind, given.models)
            if trained is not None:
                show(folder, trained, given.temperature)


def load_or_train(folder: Path, kind: str, models: Path) -> ca.Parser | None:
    """The parser of a treebank; None for spanning trees where few cross."""
    path = models / f"{folder.name}-{kind}.crossarc"
    if not path.exists():
        sentences = list(ca.read_conllu(folder / "train.conllu.gz"))
        if kind == "spanning" and GraphOptions().resolved(sentences).projective:
            return None
        learnt = [one for index, one in enumerate(sentences) if index % 10 != 9]
        ca.Parser.train(
            learnt,
            dev=sentences[9::10],
            order=1,
            text=False,
            projective=kind == "projective",
        ).save(path)
    return ca.Parser.load(path)


def show(folder: Path, parser: ca.Parser, temperature: float | None) -> None:
    """One row of the table."""
    model = parser.model
    assert isinstance(model, LinearModel)
    model.arc_temperature = temperature or model.arc_temperature
    sentences = [
        one
        for one in ca.read_conllu(folder / "dev.conllu.gz")
        if (one.heads >= 0).all() and (one.tree.is_projective or not parser.projective)
    ]
    gold = [one.heads for one in sentences]
    scores = list(model.score(sentences).arcs)
    options = [(threshold, None) for threshold in THRESHOLDS] + [(0.0, k) for k in MAX_HEADS]
    words, row = sum(map(len, gold)), ""
    for threshold, max_heads in options:
        pruned = ca.prune(
            scores,
            threshold,
            max_heads=max_heads,
            projective=parser.projective,
            root=parser.root,
        )
        lost = sum(lost_arcs(*pair) for pair in zip(pruned, gold, strict=True))
        left = sum(int((one > -np.inf).sum()) for one in pruned)
        row += f"{100 * lost / words:6.2f}/{left / words:5.2f}"
    print(f"{folder.name:24}{words:7}{row}", flush=True)


def lost_arcs(pruned: Floats, heads: NDArray[np.int64]) -> int:
    return int((pruned[heads, np.arange(1, len(heads) + 1)] == -np.inf).sum())


if __name__ == "__main__":
    main()
