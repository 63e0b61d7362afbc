"""A corpus over several processes and a Ray cluster: speed, memory, start-up, interruptions.

    python benchmarks/scale.py [FOLDER] [--words 1000000] [--interrupts 20]

The text of English-EWT, again and again, through the commands as users run them. Beside seconds
of the clock stand processor time, of the process that reads and writes and of its workers, and what
other processes took of the cores meanwhile: where that is more than a few per cent, seconds of the
clock say nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from support.harness import default_treebanks

from crossarc import read_conllu
from crossarc.text.running import raw_text

COMMAND = Path(sys.executable).with_name("crossarc")
FILES = 4
ALTERNATIONS = 3


class Run(NamedTuple):
    """Seconds, of the processor too, MiB of the largest process, share of the cores of others."""

    wall: float
    processor: float
    memory: float
    others: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s, processor {self.processor:.2f} s, others {self.others:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--words", type=int, default=1_000_000)
    parser.add_argument("--interrupts", type=int, default=20)
    parser.add_argument("--only", default="local,memory,start,ray,interrupts")
    arguments = parser.parse_args()
    sentences = list(read_conllu(arguments.treebanks / "English-EWT" / "train.conllu.gz"))
    text = raw_text(sentences)
    words = sum(map(len, sentences))
    chosen = arguments.only.split(",")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if "start" in chosen:
            start(place)
        if "local" in chosen:
            local(place, text, words, arguments.words)
        if "memory" in chosen:
            memory(place, text, words, arguments.words)
        if "ray" in chosen:
            on_ray(place, text[: len(text) // 4], words // 4)
        if "interrupts" in chosen:
            interrupted(place, text, arguments.interrupts)


def timed(*arguments: object) -> Run:
    """A command, with all processes that it starts."""
    begin, busy = time.perf_counter(), busy_seconds()
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments}: status {process.returncode}")
    wall, processor = time.perf_counter() - begin, usage.ru_utime + usage.ru_stime
    others = max(0.0, busy_seconds() - busy - processor) / (wall * (os.cpu_count() or 1))
    return Run(wall, processor, usage.ru_maxrss / 1024, others)


def busy_seconds() -> float:
    """What all processes of the machine have taken of its cores since it was started."""
    user, nice, system, _, _, *others = Path("/proc/stat").read_text().split()[1:]
    ticks = sum(map(int, (user, nice, system, *others[:3])))
    return ticks / os.sysconf("SC_CLK_TCK")


def written(path: Path, text: str, times: int) -> Path:
    with path.open("w") as file:
        for _ in range(times):
            file.write(text + "\n\n")
    return path


def start(place: Path) -> None:
    """One sentence, and one full batch more than one process parses by itself."""
    little = written(place / "little.txt", "Dogs bark.", 1)
    some = written(place / "some.txt", "Dogs bark.", 600)
    for source, what in ((little, "one sentence"), (some, "600 sentences")):
        for workers in (1, 2):
            options = ["--text", source, "-o", place / "o", "--workers", workers]
            best = min(timed("parse", "-m", "en", *options) for _ in range(3))
            print(f"start: {what}, {workers} workers: {best}", flush=True)


def local(place: Path, text: str, words: int, size: int) -> None:
    times = max(1, size // words)
    source = written(place / "local.txt", text, times)
    runs: dict[int, list[Run]] = {1: [], 2: []}
    for _ in range(ALTERNATIONS):
        for workers, found in runs.items():
            options = ["-o", place / f"local-{workers}.conllu", "--workers", workers]
            found.append(timed("parse", "-m", "en", "--text", source, *options))
            print(f"local: {times * words:,} words, {workers} workers: {found[-1]}", flush=True)
    one, two = (min(found) for found in runs.values())
    rate = times * words / min(run.processor for run in runs[1])
    print(f"local: {rate:,.0f} words a second of one worker's processor time")
    print(f"local: {one.wall / two.wall:.2f} times one worker by the clock, best of {ALTERNATIONS}")
    assert (place / "local-1.conllu").read_bytes() == (place / "local-2.conllu").read_bytes()
    print(f"local: {_serial(source):.2f} s of them read, tokenise, hand out and write", flush=True)


_SERIAL = """
import os, sys, time
from crossarc.scale.parsing import CorpusParser
from crossarc import write_conllu
from crossarc.text import read_text
with CorpusParser("en", {}, workers=2) as corpus:
    begin = time.process_time()
    sentences = corpus.parser.needed_tokenizer.tokenize(read_text(sys.argv[1]))
    write_conllu(corpus.parse(sentences), os.devnull)
    print(time.process_time() - begin)
"""


def _serial(source: Path) -> float:
    """Processor time of the process that reads and writes, without its start."""
    shown = subprocess.run(
        [sys.executable, "-c", _SERIAL, source], check=True, capture_output=True, text=True
    )
    return float(shown.stdout)


def memory(place: Path, text: str, words: int, size: int) -> None:
    target = 100_000
    while target <= size:
        times = -(-target // words)
        part = text if target >= words else text[: len(text) * target // words]
        source = written(place / "memory.txt", part, times)
        run = timed("parse", "-m", "en", "--text", source, "-o", place / "o", "--workers", 2)
        print(f"memory: {target:,} words: largest process {run.memory:.0f} MiB", flush=True)
        target *= 10


def on_ray(place: Path, text: str, words: int) -> None:
    """The same files by worker processes and by actors, outputs compared."""
    files = [written(place / f"{number}.txt", text, 1) for number in range(FILES)]
    for workers in (1, 2):
        folders = {}
        for name, more in (("local", []), ("ray", ["--ray", "local"])):
            folder = folders[name] = place / f"{name}-{workers}"
            options = ["-o", f"{folder}/", "--workers", workers, *more]
            run = timed("parse", "-m", "en", "--text", *files, *options)
            print(
                f"ray: {FILES * words:,} words in {FILES} files, {name}, {workers} workers: {run}",
                flush=True,
            )
        same = [
            path.read_bytes() == (folders["ray"] / path.name).read_bytes()
            for path in folders["local"].glob("*.conllu")
        ]
        assert same == [True] * FILES


def interrupted(place: Path, text: str, times: int) -> None:
    """Interrupts at random moments, then --resume: byte for byte what one run gives."""
    rng = random.Random(7)
    files = [
        written(place / f"part-{k}.txt", text[k * 30_000 : (k + 1) * 30_000], 1) for k in range(5)
    ]
    command = ["parse", "-m", "en", "--text", *files, "--workers", 2]
    run = timed(*command, "-o", f"{place}/whole/")
    expected = contents((place / "whole").glob("*"))
    statuses: dict[int, int] = {}
    for number in range(times):
        folder = place / f"interrupted-{number}"
        process = subprocess.Popen(
            [COMMAND, *map(str, command), "-o", f"{folder}/"], stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(0.0, 1.2 * run.wall))
        process.send_signal(signal.SIGINT)
        status = process.wait()
        statuses[status] = statuses.get(status, 0) + 1
        timed(*command, "-o", f"{folder}/", "--resume")
        assert contents(folder.glob("*")) == expected
    print(f"interrupts: {times}, all whole after --resume; statuses {statuses}", flush=True)


def contents(paths: Iterable[Path]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


if __name__ == "__main__":
    main()
