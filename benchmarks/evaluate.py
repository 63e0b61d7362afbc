"""Scoring: crossarc beside the official CoNLL 2018 / UD scorer (udtools), file to scores.

Each dev file is scored against a copy with errors put in by a fixed seed. Every score that both
compute must be equal to the last digit. The two run in turn, five times; medians are printed.

    .venv-bench/bin/python benchmarks/evaluate.py [TREEBANKS]

TREEBANKS is a folder of NAME/dev.conllu.gz, by default ../shared/treebanks beside the project.
"""

from __future__ import annotations

import gzip
import random
import tempfile
from pathlib import Path

from support.harness import medians, treebank_folder
from udtools import udeval

import crossarc as ca

SEED = 20180702
LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL = 2, 3, 4, 5, 6, 7
SHARED = {
    "UAS": "uas",
    "LAS": "las",
    "CLAS": "clas",
    "MLAS": "mlas",
    "BLEX": "blex",
    "UPOS": "upos",
    "XPOS": "xpos",
    "UFeats": "ufeats",
    "AllTags": "alltags",
    "Lemmas": "lemmas",
}

Block = list[list[str]]  # the lines of a sentence, cut at tabs


def main() -> None:
    files = sorted(treebank_folder(__doc__).glob("*/dev.conllu.gz"))
    print(f"{'treebank':<24}{'words':>8}{'udtools w/s':>14}{'crossarc w/s':>14}{'ratio':>8}")
    words, official, ours = 0, 0.0, 0.0
    for file in files:
        result = bench(file)
        words += result[0]
        official += result[1]
        ours += result[2]
    show("all", words, official, ours)
    print(f"all {len(SHARED)} shared scores equal to the last digit in {len(files)} treebanks")


def bench(file: Path) -> tuple[int, float, float]:
    """Score one treebank; returns words, seconds of udtools, seconds of crossarc."""
    name = file.parent.name
    with tempfile.TemporaryDirectory() as folder:
        gold, system = Path(folder, "gold.conllu"), Path(folder, "system.conllu")
        words, left_out = prepare(file, gold, system)
        check(gold, system, name)
        seconds = medians(
            {"udtools": lambda: udtools(gold, system), "crossarc": lambda: crossarc(gold, system)}
        )
        official, ours = seconds["udtools"], seconds["crossarc"]
    note = f"  ({left_out} sentences with several roots left out)" if left_out else ""
    show(name, words, official, ours, note)
    return words, official, ours


def prepare(file: Path, gold: Path, system: Path) -> tuple[int, int]:
    """Write both files; returns the words in them and the sentences left out."""
    blocks = read_blocks(file)
    single = [block for block in blocks if sum(row[HEAD] == "0" for row in words_of(block)) == 1]
    chance = random.Random(f"{SEED} {file.parent.name}")
    labels = sorted({row[DEPREL] for block in single for row in words_of(block)})
    write_blocks(single, gold)
    write_blocks([perturbed(block, labels, chance) for block in single], system)
    return sum(len(words_of(block)) for block in single), len(blocks) - len(single)


def show(name: str, words: int, official: float, ours: float, note: str = "") -> None:
    speeds = f"{words / official:>14,.0f}{words / ours:>14,.0f}{official / ours:>8.1f}"
    print(f"{name:<24}{words:>8,}{speeds}{note}", flush=True)


def udtools(gold: Path, system: Path) -> dict[str, float]:
    with gold.open(encoding="utf-8") as g, system.open(encoding="utf-8") as s:
        loaded = udeval.load_conllu(g, str(gold), {}), udeval.load_conllu(s, str(system), {})
    result = udeval.evaluate(*loaded)
    return {name: 100 * result[name].f1 for name in SHARED}


def crossarc(gold: Path, system: Path) -> dict[str, float]:
    scores = ca.evaluate(ca.read_conllu(gold), ca.read_conllu(system))
    return {name: getattr(scores, field) for name, field in SHARED.items()}


def check(gold: Path, system: Path, name: str) -> None:
    """Also the warm-up of both."""
    expected, got = udtools(gold, system), crossarc(gold, system)
    if expected != got:
        raise SystemExit(f"{name}: scores differ\n  udtools  {expected}\n  crossarc {got}")


def read_blocks(file: Path) -> list[Block]:
    text = gzip.decompress(file.read_bytes()).decode("utf-8")
    return [[line.split("\t") for line in b.split("\n")] for b in text.strip("\n").split("\n\n")]


def write_blocks(blocks: list[Block], path: Path) -> None:
    text = "\n\n".join("\n".join("\t".join(row) for row in block) for block in blocks)
    path.write_text(text + "\n\n", encoding="utf-8")


def words_of(block: Block) -> Block:
    return [row for row in block if row[0].isdigit()]


def perturbed(block: Block, labels: list[str], chance: random.Random) -> Block:
    """A copy with errors in about one word of ten in every column; still one tree."""
    block = [list(row) for row in block]
    words = words_of(block)
    heads = moved([int(row[HEAD]) for row in words], chance)
    for row, head in zip(words, heads, strict=True):
        row[HEAD] = str(head)
        if chance.random() < 0.1:
            row[DEPREL] = chance.choice([*labels, row[DEPREL].partition(":")[0]])
        if chance.random() < 0.05:
            row[UPOS] = chance.choice(["NOUN", "VERB", "ADJ", "X"])
        if chance.random() < 0.05:
            row[XPOS] = "?"
        if chance.random() < 0.1:
            row[LEMMA] = chance.choice(["_", row[LEMMA] + "x"])
        if chance.random() < 0.2:
            features = row[FEATS].split("|")
            chance.shuffle(features)
            row[FEATS] = "|".join(features[chance.randint(0, 1) :]) or "_"
    return block


def moved(heads: list[int], chance: random.Random) -> list[int]:
    """A tree with one root again: some words reattached, in some sentences another root."""
    heads = list(heads)
    if chance.random() < 0.1:
        word, above = chance.randint(1, len(heads)), 0
        while word:  # turn round the arcs on the way up to the root
            heads[word - 1], above, word = above, word, heads[word - 1]
    for word in range(1, len(heads) + 1):
        if heads[word - 1] and chance.random() < 0.15:
            head = chance.randint(1, len(heads))
            if not dominates(word, head, heads):
                heads[word - 1] = head
    return heads


def dominates(word: int, other: int, heads: list[int]) -> bool:
    """Whether `other` is the word or below it."""
    while other and other != word:
        other = heads[other - 1]
    return other == word


if __name__ == "__main__":
    main()
