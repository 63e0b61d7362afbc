"""Run things side by side: in turn, several times, medians."""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = [
    "default_treebanks",
    "medians",
    "repeat",
    "shortest",
    "start_up",
    "treebank_arguments",
    "treebank_folder",
]

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


def repeat(job: Callable[[], object], times: int) -> None:
    """Often enough that caches are warm, as in the middle of a corpus."""
    for _ in range(times):
        job()


def shortest(job: Callable[[], object], rounds: int = 20) -> float:
    """The least of many short runs: what the code takes when nobody else runs."""
    job()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def start_up(codes: Mapping[str, str]) -> None:
    """Print how long processes take for pieces of code, without compiled kernels and with them."""
    print("\nstart-up, seconds for a process that asks for")
    for title, code in codes.items():
        with tempfile.TemporaryDirectory() as folder:
            row = []
            for _ in range(2):
                start = time.perf_counter()
                environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
                subprocess.run([sys.executable, "-c", code], env=environment, check=True)
                row.append(time.perf_counter() - start)
        print(f"  {title}: {row[0]:.1f} after installation, {row[1]:.2f} later")
