"""Sentences some hundred at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from crossarc.treebank import Sentence

__all__ = ["batches"]

# Sentences are parsed in batches of about so many arcs, which bounds memory and keeps threads busy.
_BATCH_ARCS = 400_000
_BATCH_SENTENCES = 256


def batches(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """All sentences in order, in batches that are no larger than memory likes."""
    batch: list[Sentence] = []
    arcs = 0
    for sentence in sentences:
        batch.append(sentence)
        arcs += (len(sentence) + 1) ** 2
        if arcs >= _BATCH_ARCS or len(batch) >= _BATCH_SENTENCES:
            yield batch
            batch, arcs = [], 0
    if batch:
        yield batch
