"""Raw text to words: a tokeniser and sentence splitter that learns from a treebank."""

from __future__ import annotations

from crossarc.text.reading import read_text, rebuild_text
from crossarc.text.running import raw_text
from crossarc.text.tokenizer import Tokenizer

__all__ = ["Tokenizer", "raw_text", "read_text", "rebuild_text"]
