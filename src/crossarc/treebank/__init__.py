"""Sentences in and out: CoNLL-U and CoNLL-X, streaming and lossless; the sample bank."""

from __future__ import annotations

from crossarc.treebank.conllx import read_conllx, write_conllx
from crossarc.treebank.plus import PlusSentence, without_extra_columns
from crossarc.treebank.reader import SentenceReader, read_conllu
from crossarc.treebank.records import write_json
from crossarc.treebank.sample import SAMPLE_PATH, sample
from crossarc.treebank.sentence import Sentence
from crossarc.treebank.word import EmptyNode, MultiwordToken, Word
from crossarc.treebank.writer import open_output, write_conllu

__all__ = [
    "SAMPLE_PATH",
    "EmptyNode",
    "MultiwordToken",
    "PlusSentence",
    "Sentence",
    "SentenceReader",
    "Word",
    "open_output",
    "read_conllu",
    "read_conllx",
    "sample",
    "without_extra_columns",
    "write_conllu",
    "write_conllx",
    "write_json",
]
