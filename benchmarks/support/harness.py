"""Run things side by side: in turn, several times, medians."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["default_treebanks", "medians", "treebank_arguments", "treebank_folder"]

ROUNDS = 5


def default_treebanks() -> Path:
    """Where treebanks lie unless the command line says otherwise."""
    return Path(__file__).resolve().parents[3] / "shared" / "treebanks"


def treebank_folder(doc: str | None) -> Path:
    """The folder of NAME/train.conllu.gz and NAME/dev.conllu.gz that the command line names."""
    return treebank_arguments(doc)[0]


def treebank_arguments(doc: str | None, flag: str = "") -> tuple[Path, bool]:
    """That folder, and whether a flag was given, too."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    if flag:
        parser.add_argument(f"--{flag}", action="store_true")
    given = parser.parse_args()
    if not list(given.treebanks.glob("*/dev.conllu.gz")):
        parser.error(f"no NAME/dev.conllu.gz in {given.treebanks}")
    return given.treebanks, getattr(given, flag, False)


def medians(jobs: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Median seconds of each job; the jobs take turns, so that a slow minute hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            gc.collect()
            start = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(column) for name, column in seconds.items()}
