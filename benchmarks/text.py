"""Raw text to tagged words: F1 of tokens, sentences, words and tags, sizes and speed.

For each treebank a tokeniser and a tagger learn from train.conllu.gz. The text of dev.conllu.gz,
rebuilt from `# text` with a blank line between paragraphs, is then tokenised and tagged, and
scored by udtools, as in the CoNLL 2018 shared task. The lower row of a treebank has the tags of
the gold words. Sizes are those of the arrays and of the JSON metadata; speed is of one thread, the
median of five runs over the text of dev.

    .venv-bench/bin/python benchmarks/text.py [TREEBANKS]
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.harness import medians, treebank_folder
from udtools import udeval

import crossarc as ca
from crossarc.models.tagger import Tagger
from crossarc.text import Tokenizer, raw_text

SCORES = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "Lemmas")


def main() -> None:
    folders = sorted(path.parent for path in treebank_folder(__doc__).glob("*/train.conllu.gz"))
    heading = "".join(f"{name:>10}" for name in SCORES)
    print(f"{'treebank':<23}{heading}{'KB':>8}{'words/s':>11}{'learned in':>12}")
    for folder in folders:
        bench(folder)


def bench(folder: Path) -> None:
    train = list(ca.read_conllu(folder / "train.conllu.gz"))
    dev = list(ca.read_conllu(folder / "dev.conllu.gz"))
    words = sum(map(len, dev))
    text = raw_text(dev)
    start = time.perf_counter()
    tokenizer = Tokenizer.learn(train)
    middle = time.perf_counter()
    tagger = Tagger.train(train)
    end = time.perf_counter()
    gold = loaded(dev)
    raw = udeval.evaluate(gold, loaded(tagger.tag(tokenizer.tokenize(text), threads=1)))
    tagged = udeval.evaluate(gold, loaded(tagger.tag(dev, threads=1)))
    seconds = medians(
        {
            "tokens": lambda: sum(map(len, tokenizer.tokenize(text))),
            "tags": lambda: sum(map(len, tagger.tag(dev, threads=1))),
        }
    )
    show(folder.name, raw, size(tokenizer), words / seconds["tokens"], middle - start)
    show("  gold words", tagged, size(tagger), words / seconds["tags"], end - middle)


def show(name: str, scores: Any, kilobytes: float, speed: float, learned: float) -> None:
    row = "".join(f"{100 * scores[score].f1:>10.2f}" for score in SCORES)
    print(f"{name:<23}{row}{kilobytes:>8.0f}{speed:>11,.0f}{learned:>10.1f} s", flush=True)


def size(model: Tokenizer | Tagger) -> float:
    """KB in a model file."""
    arrays = sum(array.nbytes for array in model.tensors().values())
    return (arrays + len(json.dumps(model.metadata(), ensure_ascii=False).encode())) / 1000


def loaded(sentences: Iterable[ca.Sentence]) -> Any:
    """The sentences as udtools sees them; trees do not matter here, but it asks for some."""
    blocks = []
    for sentence in sentences:
        flat = sentence.copy()
        flat.heads = [0] + [1] * (len(flat) - 1)
        flat.deprels = ["root"] + ["dep"] * (len(flat) - 1)
        flat.deps = ["_"] * len(flat)
        blocks.append(flat.to_conllu())
    return udeval.load_conllu(io.StringIO("".join(blocks)), "", {})


if __name__ == "__main__":
    main()
