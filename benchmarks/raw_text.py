"""From raw text to trees: F1 of every column, beside UDPipe 1 trained on the same files.

For each treebank with real text (`# text` throughout, and tokens that touch), a parser learns from
train.conllu.gz with predicted tags, and dev.conllu.gz decides which pass is kept; UDPipe 1 is given
the same two files and its own choices for the rest. The text of dev, rebuilt from `# text` with a
blank line between paragraphs, is then tokenised, tagged and parsed by both, and scored by udtools,
as in the CoNLL 2018 shared task.

Scores are kept in docs/reproduction/raw_text/, a small file for each system and treebank, figures
only; what has a file is not measured again, so the command can be stopped at any time and resumed.
Models are kept in a folder. UDPipe takes hours: models trained elsewhere may be given as
FOLDER/NAME.udpipe, and what is missing is trained only within a budget. Its tokeniser makes 20
passes in place of 100; it keeps the best one, on Latin the 15th of the first 51.

    .venv-bench/bin/python benchmarks/raw_text.py [TREEBANKS] [--names NAME ...] [--keep FOLDER]
        [--udpipe FOLDER] [--train-udpipe MINUTES]
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from support.harness import default_treebanks
from udtools import udeval

import crossarc as ca
from crossarc.text import raw_text

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "raw_text"
TOKENIZER = "epochs=20;early_stopping=1"
COLUMNS = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--keep", type=Path, default=Path("build/raw_text"))
    parser.add_argument("--udpipe", type=Path, help="folder of NAME.udpipe")
    parser.add_argument("--train-udpipe", type=float, default=0, metavar="MINUTES")
    given = parser.parse_args()
    for folder in (given.keep, RESULTS):
        folder.mkdir(parents=True, exist_ok=True)
    models = given.udpipe or given.keep
    deadline = time.monotonic() + 60 * given.train_udpipe
    print(f"{'treebank':<24}{'':<10}" + "".join(f"{name:>10}" for name in COLUMNS))
    for folder in with_text(given.treebanks):
        if given.names and folder.name not in given.names:
            continue
        kept = given.keep / f"{folder.name}.crossarc"
        if not (kept.exists() or result(folder, "crossarc").exists()):
            ca.Parser.train(*both_parts(folder), predicted_tags=True).save(kept)
        show(folder, "crossarc", kept)
        peer = models / f"{folder.name}.udpipe"
        if not (peer.exists() or result(folder, "UDPipe 1").exists()):
            train_udpipe(folder, peer, deadline - time.monotonic())
        show(folder, "UDPipe 1", peer)


def both_parts(folder: Path) -> tuple[list[ca.Sentence], list[ca.Sentence]]:
    train, dev = (list(ca.read_conllu(folder / f"{part}.conllu.gz")) for part in ("train", "dev"))
    return train, dev


def with_text(treebanks: Path) -> Iterator[Path]:
    """The treebanks that say how their text is spaced, the smallest first."""
    paths = sorted(treebanks.glob("*/train.conllu.gz"), key=lambda path: path.stat().st_size)
    for folder in (path.parent for path in paths):
        train, dev = both_parts(folder)
        touching = any("SpaceAfter=No" in misc for one in train for misc in one.misc)
        if touching and all(one.comment("text") for one in dev):
            yield folder


def result(folder: Path, system: str) -> Path:
    return RESULTS / f"{folder.name}.{system.partition(' ')[0].lower()}.json"


def show(folder: Path, system: str, model: Path) -> None:
    """Print a row, from the kept scores if there are some."""
    file = result(folder, system)
    if not file.exists():
        if not model.exists():
            print(f"{folder.name:<24}{system:<10}{'not trained':>20}", flush=True)
            return
        _, dev = both_parts(folder)
        found = (crossarc if system == "crossarc" else udpipe)(model, raw_text(dev))
        scores = udeval.evaluate(loaded(dev), loaded(found))
        figures = {name: round(100 * scores[name].f1, 2) for name in COLUMNS}
        file.write_text(json.dumps(figures) + "\n")
    scores = json.loads(file.read_text())
    row = "".join(f"{scores[name]:>10.2f}" for name in COLUMNS)
    print(f"{folder.name:<24}{system:<10}{row}", flush=True)


def crossarc(model: Path, text: str) -> Iterable[ca.Sentence]:
    return ca.Parser.load(model).parse(text)


def udpipe(path: Path, text: str) -> Iterable[ca.Sentence]:
    library = importlib.import_module("ufal.udpipe")
    model, failure = library.Model.load(str(path)), library.ProcessingError()
    default = library.Pipeline.DEFAULT
    pipeline = library.Pipeline(model, "tokenize", default, default, "conllu")
    found = pipeline.process(text, failure)
    if failure.occurred():
        raise RuntimeError(failure.message)
    return ca.read_conllu(io.StringIO(found))


def train_udpipe(folder: Path, target: Path, seconds: float) -> None:
    """Train UDPipe in a process of its own, which ends when the time is over."""
    if seconds <= 0:
        return
    process = multiprocessing.get_context("spawn").Process(
        target=_train_udpipe, args=(folder, target)
    )
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.terminate()


def _train_udpipe(folder: Path, target: Path) -> None:
    library = importlib.import_module("ufal.udpipe")
    failure = library.ProcessingError()
    parts = []
    for sentences in both_parts(folder):
        reader, part = library.InputFormat.newConlluInputFormat(), library.Sentences()
        reader.setText("".join(sentence.to_conllu() for sentence in sentences))
        one = library.Sentence()
        while reader.nextSentence(one, failure):
            part.append(one)
        parts.append(part)
    default = library.Trainer.DEFAULT
    steps = TOKENIZER, default, default
    trained = library.Trainer.train("morphodita_parsito", *parts, *steps, failure)
    if failure.occurred():
        raise RuntimeError(failure.message)
    waiting = target.with_suffix(".part")
    waiting.write_bytes(trained)
    os.replace(waiting, target)


def loaded(sentences: Iterable[ca.Sentence]) -> Any:
    """The sentences as udtools sees them, without enhanced dependencies."""
    blocks = []
    for sentence in sentences:
        basic = sentence.copy()
        basic.deps = ["_"] * len(basic)
        blocks.append(basic.to_conllu())
    return udeval.load_conllu(io.StringIO("".join(blocks)), "", {})


if __name__ == "__main__":
    main()
