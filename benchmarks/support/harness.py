"""Run things side by side: in turn, several times, medians."""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["default_treebanks", "medians", "treebank_folder"]

ROUNDS = 5


def default_treebanks() -> Path:
    """Where treebanks lie unless the command line says otherwise."""
    return Path(__file__).resolve().parents[3] / "shared" / "treebanks"


def treebank_folder(doc: str | None) -> Path:
    """The folder of NAME/train.conllu.gz and NAME/dev.conllu.gz that the command line names."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    folder: Path = parser.parse_args().treebanks
    if not list(folder.glob("*/dev.conllu.gz")):
        parser.error(f"no NAME/dev.conllu.gz in {folder}")
    return folder


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
