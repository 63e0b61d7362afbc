"""Trees induced by EM from tags, perplexities, and parameters found again: the tables of a page.

    .venv-bench/bin/python benchmarks/induction.py [FOLDER] [--names NAME ...]

The tables of docs/generative.md, in Markdown. Learnt from train without its trees, measured on
dev; punctuation is left out, sentences of up to 10 and up to 40 other words. Random: of three
starts the one with the highest objective. For perplexities nothing is left out.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
from support.harness import default_treebanks

import crossarc as ca
from crossarc.models.generative import BigramModel, DMVModel
from crossarc.models.generative.accuracy import (
    Attachment,
    content_sentence,
    content_words,
    left_branching,
    parse_content,
    right_branching,
)
from crossarc.models.generative.ngrams import NgramModel, log_mixture, mixture_weights

NAMES = (
    "Dutch-LassySmall",
    "English-EWT",
    "Gothic-PROIEL",
    "Japanese-GSD",
    "Portuguese-Bosque",
    "Turkish-IMST",
)
LENGTHS = (10, 40)
STARTS: dict[str, dict[str, Any]] = {
    "uniform": {"start": "uniform"},
    "harmonic": {"start": "harmonic"},
    "random": {"start": "random", "restarts": 3},
}
MODELS: dict[str, Callable[[], BigramModel | DMVModel]] = {
    "bigram": BigramModel,
    "bigram, projective": partial(BigramModel, projective=True),
    "valence": DMVModel,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+", default=NAMES)
    given = parser.parse_args()
    folders = [given.treebanks / name for name in given.names]
    begin = time.perf_counter()
    for longest in LENGTHS:
        induction_table(folders, longest)
    for unit in ("upos", "form", "form+upos"):
        perplexity_table(folders, unit)
    print(f"\n{time.perf_counter() - begin:,.0f} s in all")


def sentences(folder: Path, part: str) -> list[ca.Sentence]:
    return list(ca.read_conllu(folder / f"{part}.conllu.gz"))


def contents(folder: Path, part: str, longest: int) -> list[ca.Sentence]:
    """Without punctuation, if not longer."""
    pairs = [(one, content_words(one, punctuation=False)) for one in sentences(folder, part)]
    return [content_sentence(one, kept) for one, kept in pairs if len(kept) <= longest]


def induction_table(folders: Sequence[Path], longest: int) -> None:
    """Directed and undirected accuracy, a column a treebank."""
    print(f"\n**Up to {longest} words: directed / undirected accuracy, percent**\n")
    header = ["", "start", *(folder.name for folder in folders)]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    banks = [(contents(f, "train", longest), contents(f, "dev", longest)) for f in folders]
    for name, chain in (("left-branching", left_branching), ("right-branching", right_branching)):
        cells = [accuracy(dev, [chain(len(one)) for one in dev]) for _, dev in banks]
        print(f"| {name} | - | {' | '.join(cells)} |", flush=True)
    for name, make in MODELS.items():
        for start, options in STARTS.items():
            cells = []
            for train, dev in banks:
                model = make()
                model.fit_em(train, **options)
                cells.append(accuracy(dev, parse_content(model, dev)))
            print(f"| {name} | {start} | {' | '.join(cells)} |", flush=True)


def accuracy(gold: Sequence[ca.Sentence], heads: Sequence[Any]) -> str:
    pairs = zip(gold, heads, strict=True)
    found = reduce(
        Attachment.__add__, (Attachment.compare(one.heads, own) for one, own in pairs), Attachment()
    )
    return f"{found.directed:.1f} / {found.undirected:.1f}"


def perplexity_table(folders: Sequence[Path], unit: Any) -> None:
    """Perplexity per word given the length, a row a treebank."""
    print(f"\n**Perplexity per word given the length, unit {unit}**\n")
    models: dict[str, Callable[[], BigramModel | DMVModel]] = {
        "all trees": partial(BigramModel, unit, min_count=2),
        "projective": partial(BigramModel, unit, projective=True, min_count=2),
    }
    if unit == "upos":
        models["valence"] = partial(DMVModel, unit, min_count=2)
    header = ["", "words", "3-gram", *(name for kind in models for name in (kind, "+ 3-gram"))]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for folder in folders:
        train, dev = sentences(folder, "train"), sentences(folder, "dev")
        held_out, train = train[::10], [one for k, one in enumerate(train) if k % 10]
        row = [folder.name, f"{sum(map(len, dev)):,}"]
        for make in models.values():
            model = make().fit(train)
            ngrams = NgramModel(unit, model.vocabularies).fit(train)
            weights = mixture_weights(log_probs(ngrams, model, held_out))
            both = log_probs(ngrams, model, dev)
            if len(row) == 2:
                row.append(shown(both[0], dev))
            mixed = shown(log_mixture(weights, both), dev)
            row += [shown(both[1], dev), f"{mixed} ({weights[0]:.2f})"]
        print(f"| {' | '.join(row)} |", flush=True)


def log_probs(
    ngrams: NgramModel, model: BigramModel | DMVModel, some: Sequence[ca.Sentence]
) -> Any:
    return np.stack([ngrams.log_probs(some), model.log_prob_given_length(list(some))])


def shown(logs: Any, some: Sequence[ca.Sentence]) -> str:
    return f"{math.exp(-float(logs.sum()) / sum(map(len, some))):.2f}"


if __name__ == "__main__":
    main()
