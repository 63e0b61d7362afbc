"""What the labels of a lifted tree say, so that lifting can be undone.

Nivre & Nilsson (2005, section 3), d the label of the lifted word, h that of the head it was lifted
from, p that of a word on the way up:

    encoding     lifted word     word on the way up
    none         d               p                      their baseline
    head         d↑h             p
    path         d↑              p↓
    head+path    d↑h             p↓
    exact        d↑h or d↑h↑k    p                      ours: the head is the k-th word labelled h

A word is on the way up if it is the head that a word was lifted from, or above that and below the
head it was lifted to. Which lift came first does not matter: a word that is skipped, because what
hung below it had been lifted already, was marked by that lift.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from crossarc.transforms.marks import Mark
from crossarc.transforms.restoring import Restoring

__all__ = ["ENCODINGS", "Encoding", "marks_of_lifting"]

Encoding = Literal["exact", "head", "path", "head+path", "none"]
ENCODINGS: tuple[Encoding, ...] = ("exact", "head", "path", "head+path", "none")


def marks_of_lifting(
    heads: Sequence[int], lifted: Sequence[int], labels: Sequence[str], encoding: Encoding
) -> list[Mark]:
    """A mark for each word of a lifted tree.

    Args:
        heads: before lifting, the head of word 1 first.
        lifted: after it.
        labels: of the words.
        encoding: any but "none".
    """
    marks = [Mark(label) for label in labels]
    for m, (h, g) in enumerate(zip(heads, lifted, strict=True), 1):
        if h != g:
            head_label = None if encoding == "path" else labels[h - 1]
            marks[m - 1] = marks[m - 1]._replace(lifted=True, head_label=head_label)
            while encoding in ("path", "head+path") and h != g:
                marks[h - 1] = marks[h - 1]._replace(on_path=True)
                h = heads[h - 1]
    return _ranked(heads, lifted, marks) if encoding == "exact" else marks


def _ranked(heads: Sequence[int], lifted: Sequence[int], marks: list[Mark]) -> list[Mark]:
    """The marks with the rank of each head, by restoring the tree and counting.

    The head of each is then among the candidates: see `Restoring.lifted_words`.
    """
    ranked = list(marks)
    restoring = Restoring(lifted, marks)
    for m in restoring.lifted_words():
        h = heads[m - 1]
        ranked[m - 1] = marks[m - 1]._replace(rank=restoring.candidates(m).index(h) + 1)
        restoring.move(m, h)
    return ranked
