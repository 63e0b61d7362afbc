"""The parser from end to end: words a second beside peers, training, memory, waiting times.

    .venv-bench/bin/python benchmarks/parser.py [--orders] [FOLDER]

On English-EWT, with the English model that comes with crossarc. Parsing is from tagged CoNLL-U to
CoNLL-U, files read and written, one thread; the parsers take turns, and so do the questions (one
tree, probabilities, min-risk tree, 5 best). Training is one log-linear pass over all of `train`
with two threads, from sentences to a model. Commands run in processes of their own. Models of all
orders are trained on Slovenian-SSJ, Latin-Perseus and Ancient_Greek-Perseus (with `--orders`,
nothing else is measured). For quiet machines: beside each figure stands what is asked for.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import IO

from support.harness import ROUNDS, medians, treebank_arguments
from support.peer_parsers import peer_parsers

import crossarc as ca
from crossarc.parser.options import ParseKeywords

COMMAND = Path(sys.executable).with_name("crossarc")
EXAMPLES = 300  # sentences that peers learn from
TRAINING = """
import sys, time
import crossarc as ca
sentences = list(ca.read_conllu(sys.argv[1]))
start = time.perf_counter()
ca.Parser.train(sentences, projective={projective}, text=False, passes=1, threads=2)
print(time.perf_counter() - start)
"""


ORDERS = """
import json, sys, time
import crossarc as ca
from crossarc.inference import HigherOrderTrees
names, order, passes = sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
train, dev = (list(ca.read_conllu(name)) for name in names[:2])
start = time.perf_counter(), time.process_time()
parser = ca.Parser.train(
    train, dev, order=order, projective=False, text=False, threads=2, passes=passes
)
spent = time.perf_counter() - start[0], time.process_time() - start[1]
ca.write_conllu(dev, names[2])
paces = []
for _ in range(4):
    start = time.process_time()
    parsed = parser.parse(ca.read_conllu(names[2]), threads=1)
    ca.write_conllu(parsed, names[2] + ".parsed")
    paces.append(sum(map(len, dev)) / (time.process_time() - start))
scores, certified = ca.evaluate(dev, ca.read_conllu(names[2] + ".parsed")), 1.0
if order > 1:
    batch = parser.model.score(dev)
    trees = HigherOrderTrees(batch.arcs, root=parser.root, **batch.factors).argmax()
    certified = sum(tree.is_optimal for tree in trees) / len(dev)
print(json.dumps([*spent, max(paces), certified, scores.uas, scores.las]))
"""
# Words a second that are asked for, by order.
PACES = {1: "25,000", 2: "5,000", 3: "1,500"}
# Treebanks, and the passes that are made over each.
PASSES = {"Slovenian-SSJ": 6, "Latin-Perseus": 2, "Ancient_Greek-Perseus": 2}


def main() -> None:
    treebanks, only_orders = treebank_arguments(__doc__, "orders")
    folder = treebanks / "English-EWT"
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if not only_orders:
            parse_files(folder, place)
            questions(folder, place)
            parse_text(folder, place)
            waiting(folder, place)
            training(folder, place)
        orders(treebanks, place)


def show(what: str, value: str, asked: str = "") -> None:
    print(f"{what:76}{value:>10}   {f'asked: {asked}' if asked else ''}".rstrip(), flush=True)


def parse_files(folder: Path, place: Path) -> None:
    dev = list(ca.read_conllu(folder / "dev.conllu.gz"))
    words = sum(map(len, dev))
    source = place / "dev.conllu"
    ca.write_conllu(dev, source)
    parser = ca.load("en")

    def ours(source: Path, target: Path) -> None:
        ca.write_conllu(parser.parse(ca.read_conllu(source), threads=1), target)

    jobs = {"crossarc": ours, **peer_parsers(dev[:EXAMPLES])}
    for job in jobs.values():
        job(source, place / "warm")
    seconds = medians(
        {name: lambda job=job: job(source, place / "out") for name, job in jobs.items()}
    )
    for name in jobs:
        ratio = seconds[name] / seconds["crossarc"]
        asked = ">= 25,000" if name == "crossarc" else ""
        beside = "" if name == "crossarc" else f" (crossarc: {ratio:.1f} times as fast)"
        speed = f"{words / seconds[name]:,.0f}"
        show(f"tagged CoNLL-U to CoNLL-U, words/s, {name}{beside}", speed, asked)


def questions(folder: Path, place: Path) -> None:
    """What is asked beside one tree, and what it costs."""
    source = place / "dev.conllu"
    words = sum(map(len, ca.read_conllu(source)))
    parser = ca.load("en")

    def parse(options: ParseKeywords) -> None:
        ca.write_conllu(parser.parse(ca.read_conllu(source), **options), place / "out")

    asked: dict[str, ParseKeywords] = {
        "one tree": {"threads": 1},
        "probabilities": {"threads": 1, "probabilities": True},
        "min-risk tree": {"threads": 1, "min_risk": True},
        "5 best trees": {"threads": 1, "kbest": 5},
    }
    for options in asked.values():
        parse(options)
    jobs = {name: partial(parse, options) for name, options in asked.items()}
    seconds = medians(jobs)
    for name in jobs:
        ratio = seconds[name] / seconds["one tree"]
        speed = f"{words / seconds[name]:,.0f}"
        show(f"tagged CoNLL-U to CoNLL-U, words/s, {name} ({ratio:.2f} times one tree)", speed)


def parse_text(folder: Path, place: Path) -> None:
    parser = ca.load("en")
    text = " ".join(one.text for one in ca.read_conllu(folder / "dev.conllu.gz"))
    counted = sum(map(len, parser.parse(text, threads=1)))
    seconds = medians(
        {"text": lambda: ca.write_conllu(parser.parse(text, threads=1), place / "out")}
    )["text"]
    show("raw text to CoNLL-U, words/s, crossarc", f"{counted / seconds:,.0f}")


def waiting(folder: Path, place: Path) -> None:
    """From the shell to the end: one sentence, with warm kernels and with none."""
    one = next(iter(ca.read_conllu(folder / "dev.conllu.gz")))
    source, target = place / "one.conllu", place / "out"
    source.write_bytes(bytes(one))
    for kind, given in (("tagged", [source]), ("text", ["--text", source])):
        command = [COMMAND, "parse", "-m", "en", "-o", target, *given]
        spent(command)
        wall = statistics.median(spent(command)[0] for _ in range(ROUNDS))
        show(f"crossarc parse, one sentence, {kind}", f"{wall:.2f} s", "<= 1.5 s")
    empty = {"NUMBA_CACHE_DIR": str(place / "kernels")}
    command = [COMMAND, "parse", "-m", "en", "--text", source, "-o", target]
    wall, processor, _ = spent(command, empty)
    what = f"the same, text, kernels not compiled ({processor:.1f} s of processor)"
    show(what, f"{wall:.1f} s", "<= 20 s")


def training(folder: Path, place: Path) -> None:
    train, dev = folder / "train.conllu.gz", folder / "dev.conllu.gz"
    for projective in (True, False):
        program = TRAINING.format(projective=projective)
        command = [sys.executable, "-c", program, train]
        with (place / "seconds").open("w+") as output:
            memory = spent(command, output=output)[2]
            output.seek(0)
            seconds = float(output.read())
        trees = "projective" if projective else "non-projective"
        show(f"one pass of training, two threads, {trees}", f"{seconds:.1f} s", "<= 60 s")
        show("    peak memory", f"{memory:,.0f} MB", "<= 1,500 MB")
    command = [COMMAND, "train", train, "-o", place / "m", "--passes", "1", "--workers", "2"]
    wall, _, memory = spent(command)
    show("crossarc train --passes 1, with tokeniser and tagger", f"{wall:.1f} s")
    show("    peak memory", f"{memory:,.0f} MB", "<= 1,500 MB")
    memory = spent([COMMAND, "parse", "-m", "en", dev, "-o", place / "out"])[2]
    show("crossarc parse, all of dev: peak memory", f"{memory:,.0f} MB", "<= 1,500 MB")


def orders(treebanks: Path, place: Path) -> None:
    """Training and parsing by the order of the model, all trees; parsing with files, one thread."""
    for name, passes in PASSES.items():
        files = [treebanks / name / f"{part}.conllu.gz" for part in ("train", "dev")]
        for order, asked in PACES.items():
            own = [*files, place / "dev.conllu", order, passes]
            with (place / "figures").open("w+") as output:
                memory = spent([sys.executable, "-c", ORDERS, *own], output=output)[2]
                output.seek(0)
                wall, processor, pace, certified, uas, las = json.load(output)
            is_asked = order == 2 and name == "Slovenian-SSJ"
            what = f"{name}, order {order}: {passes} passes of training, two threads"
            show(what, f"{wall:.0f} s", "<= 120 s" if is_asked else "")
            show("    seconds of processor", f"{processor:.0f} s")
            show("    peak memory", f"{memory:,.0f} MB", "<= 2,000 MB")
            show(
                "    tagged CoNLL-U to CoNLL-U, words/s, one thread", f"{pace:,.0f}", f">= {asked}"
            )
            show("    trees with a certificate", f"{100 * certified:.1f}%")
            show("    UAS, LAS of dev", f"{uas:.2f}, {las:.2f}")


def spent(
    command: list[object],
    environment: dict[str, str] | None = None,
    output: IO[str] | None = None,
) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of processor, and peak megabytes of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command],
        env={**os.environ, **(environment or {})},
        stdout=output,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with status {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
