"""What a parse leaves in a sentence: heads, relations, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from crossarc.parser.entropy import printed_entropy
from crossarc.treebank import Sentence

__all__ = ["set_comments", "set_misc", "set_word_misc", "write_probabilities", "write_tree"]

Floats = NDArray[np.float64]

_MARKS = ("HeadProb", "DeprelProb")
_COMMENTS = ("entropy", "probabilities", "kbest", "log_prob")


def write_tree(sentence: Sentence, heads: NDArray[np.int64], deprels: Sequence[str]) -> None:
    """Fill in HEAD and DEPREL, and remove what an earlier parse said of its certainty."""
    sentence.heads = heads
    sentence.deprels = deprels
    misc = "|".join(sentence.misc)
    if any(mark in misc for mark in _MARKS):
        set_misc(sentence, {mark: [None] * len(sentence) for mark in _MARKS})
    set_comments(sentence, dict.fromkeys(_COMMENTS))


def write_probabilities(
    sentence: Sentence, heads: Floats, deprels: Floats, entropy: float | None
) -> None:
    """HeadProb and DeprelProb in MISC, and the entropy of the sentence above it.

    Args:
        heads: the probability of each word's head.
        deprels: the probability of each word's relation, given its head.
    """
    columns = ([f"{p:.4f}" for p in column.tolist()] for column in (heads, deprels))
    set_misc(sentence, dict(zip(_MARKS, columns, strict=True)))
    set_comments(sentence, {"entropy": None if entropy is None else printed_entropy(entropy)})


def set_misc(sentence: Sentence, entries: Mapping[str, Sequence[str | None]]) -> None:
    """Replace entries of MISC, one value a word; None removes the entry."""
    names = tuple(entries)
    sentence.misc = [
        _replaced(field, names, values)
        for field, values in zip(sentence.misc, zip(*entries.values(), strict=True), strict=True)
    ]


def set_word_misc(sentence: Sentence, word: int, entries: Mapping[str, str | None]) -> None:
    """Replace entries of MISC of one word, counted from 1; None removes the entry."""
    fields = list(sentence.misc)
    fields[word - 1] = _replaced(fields[word - 1], tuple(entries), tuple(entries.values()))
    if tuple(fields) != sentence.misc:
        sentence.misc = fields


def _replaced(field: str, names: Sequence[str], values: Sequence[str | None]) -> str:
    kept = [] if field == "_" else [field]
    if any(name in field for name in names):
        entries = field.split("|")
        kept = [entry for entry in entries if entry.partition("=")[0] not in names]
    kept += [f"{name}={value}" for name, value in zip(names, values, strict=True) if value]
    return "|".join(kept) or "_"


def set_comments(sentence: Sentence, values: Mapping[str, str | None]) -> None:
    """Replace comments `# key = value`; None removes the comment."""
    before = sentence.comments
    after = [line for line in before if line[1:].partition("=")[0].strip() not in values]
    after += [f"# {key} = {value}" for key, value in values.items() if value is not None]
    if tuple(after) != before:
        sentence.comments = after
