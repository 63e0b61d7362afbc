"""Train a parser on a treebank, keep it in a file, and score it on sentences it has not seen.

Give your own files: python train_on_your_treebank.py train.conllu dev.conllu
Without them, the sample bank is used: too small to learn much from, but quick.
"""

from __future__ import annotations

import sys
from pathlib import Path

import crossarc as ca
from crossarc.treebank import sample


def treebanks() -> tuple[list[ca.Sentence], list[ca.Sentence]]:
    """Sentences to learn from, and others to score on."""
    if len(sys.argv) == 3:
        return list(ca.read_conllu(sys.argv[1])), list(ca.read_conllu(sys.argv[2]))
    sentences = sample()
    return [s for k, s in enumerate(sentences) if k % 6], sentences[::6]


def main() -> None:
    """Train, save, load, parse, score."""
    train, dev = treebanks()
    parser = ca.Parser.train(train, dev=dev, seed=1)
    trees = "projective" if parser.projective else "non-projective"
    print(f"learnt {trees} trees with {parser.root} root, {len(parser.labels)} relations")
    parser.save("my.crossarc")
    print(f"{Path('my.crossarc').stat().st_size / 1e6:.1f} MB in my.crossarc")

    parsed = list(ca.Parser.load("my.crossarc").parse(dev, probabilities=True))
    scores = ca.evaluate(dev, parsed)
    print(f"UAS {scores.uas:.1f}, LAS {scores.las:.1f}")
    ca.write_conllu(parsed, "parsed.conllu")


if __name__ == "__main__":
    main()
