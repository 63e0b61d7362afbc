"""The sample bank: a small treebank in many languages that comes with crossarc."""

from __future__ import annotations

from pathlib import Path

from crossarc.treebank.reader import read_conllu
from crossarc.treebank.sentence import Sentence

__all__ = ["SAMPLE_PATH", "sample"]

SAMPLE_PATH = Path(__file__).with_name("sample.conllu")


def sample(language: str | None = None) -> list[Sentence]:
    """Sentences of the sample bank, with their `# note` on what is worth seeing.

    Args:
        language: an ISO code such as "de"; None for all.
    """
    sentences = list(read_conllu(SAMPLE_PATH))
    if language is None:
        return sentences
    return [sentence for sentence in sentences if sentence.comment("lang") == language]
