"""Sentences as an argument: what comes in their place most often is refused by its name."""

from __future__ import annotations

import os
from collections.abc import Iterable

from crossarc.errors import TreebankError
from crossarc.treebank.sentence import Sentence

__all__ = ["require_sentence", "require_sentences", "sentence_list"]


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


def require_sentence(one: object, title: str) -> None:
    """Refuse what is no sentence among sentences.

    Raises:
        TreebankError: it is none.
    """
    if not isinstance(one, Sentence):
        raise TreebankError(f"{title} must be sentences: got {type(one).__name__} among them")


def sentence_list(values: Iterable[Sentence], title: str) -> list[Sentence]:
    """The sentences in a list, each looked at.

    Raises:
        TreebankError: something else is given, or is among them.
    """
    require_sentences(values, title)
    listed = list(values)
    for one in listed:
        require_sentence(one, title)
    return listed
