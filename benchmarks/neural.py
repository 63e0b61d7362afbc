"""The neural parser: accuracy on held-out sentences, and how fast it trains and parses.

    python benchmarks/neural.py accuracy FOLDER [--loss tree] [--seeds 3] [--device cuda] [-o MODEL]
    python benchmarks/neural.py speed FOLDER -m MODEL [--device cuda]

FOLDER has a treebank as train.conllu.gz and dev.conllu.gz. `accuracy` trains and measures, and
writes the last model; `speed` parses the held-out sentences, as often as 20,000 words need, five
times; medians. One thread on the CPU.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import crossarc as ca
from crossarc.inference import Many, SpanningTrees
from crossarc.models.protocol import tree_arcs

torch: Any = importlib.import_module("torch")


def read(folder: Path, part: str) -> list[ca.Sentence]:
    return list(ca.read_conllu(folder / f"{part}.conllu.gz"))


def accuracy(folder: Path, loss: str, seeds: int, device: str, output: str | None) -> None:
    learnt, dev = read(folder, "train"), read(folder, "dev")
    for seed in range(seeds):
        start = time.perf_counter()
        parser = ca.Parser.train(
            learnt, dev, kind="neural", loss=loss, seed=seed, device=device, text=False
        )
        seconds = time.perf_counter() - start
        scores = ca.evaluate(dev, list(parser.parse(dev)))
        print(
            f"{folder.name} {loss} seed {seed}: UAS {scores.uas:.2f} LAS {scores.las_full:.2f} "
            f"(full labels), {seconds:.0f} s",
            flush=True,
        )
    if output is not None:
        parser.save(output)


def speed(folder: Path, path: str, device: str) -> None:
    os.environ["CROSSARC_DEVICE"] = device
    parser = ca.Parser.load(path)
    model: Any = parser.model
    dev = read(folder, "dev")
    dev *= 1 + 20_000 // sum(map(len, dev))
    threads = None if device == "cuda" else 1

    def arrays() -> None:
        """Best trees, arc probabilities and labels, as arrays."""
        batch = model.score(dev, threads=threads)
        trees: SpanningTrees[Many] = SpanningTrees(batch.arcs, threads=threads)
        trees.marginals()
        batch.label_log_probs([tree_arcs(tree.heads) for tree in trees.argmax()])

    words = sum(map(len, dev))
    jobs: dict[str, Callable[[], object]] = {
        "scores only": lambda: model.score(dev, threads=threads),
        "trees, probabilities and labels": arrays,
        "Parser.parse": lambda: list(parser.parse(dev, threads=threads)),
        "Parser.parse with probabilities": lambda: list(
            parser.parse(dev, threads=threads, probabilities=True)
        ),
    }
    for name, job in jobs.items():
        job()
        times = []
        for _ in range(5):
            start = time.perf_counter()
            job()
            times.append(time.perf_counter() - start)
        print(f"{name:32} {words / median(times):9,.0f} words/s", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MB", flush=True)
    if device == "cuda":
        print(f"peak memory on the GPU {torch.cuda.max_memory_allocated() / 2**20:,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("accuracy", "speed"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--loss", default="tree")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("-o", dest="output")
    parser.add_argument("-m", dest="model")
    given = parser.parse_args()
    if given.what == "speed":
        speed(given.folder, given.model, given.device)
    else:
        accuracy(given.folder, given.loss, given.seeds, given.device, given.output)


if __name__ == "__main__":
    main()
