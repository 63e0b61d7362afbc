"""Sentences as an argument: what comes in their place most often is refused by its name."""

from __future__ import annotations

import os
from collections.abc import Iterable

from crossarc.errors import TreebankError
from crossarc.treebank.sentence import Sentence

__all__ = ["require_sentences"]


def require_sentences(value: object, title: str) -> None:
    """Refuse a path, one sentence, or what has no items, where sentences are expected.

    Args:
        title: what the argument is called.

    Raises:
        TreebankError: it is one of these.
    """
    if isinstance(value, str | os.PathLike):
        raise TreebankError(
            f"{title} must be sentences, not the path {os.fspath(value)!r}. "
            "Use read_conllu to read them from the file."
        )
    if isinstance(value, Sentence):
        raise TreebankError(f"{title} must be sentences, not one Sentence. Use [sentence].")
    if not isinstance(value, Iterable):
        raise TreebankError(f"{title} must be sentences: got {type(value).__name__}")
