"""Undo lifting: search below each lifted word's head for the head it was lifted from."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence

from crossarc.transforms.marks import Mark

__all__ = ["Restoring", "restored_heads"]


def restored_heads(heads: Sequence[int], marks: Sequence[Mark]) -> list[int]:
    """Heads after every lifted word has been moved to where its mark says.

    Args:
        heads: of the lifted tree, the head of word 1 first.
        marks: of its words.
    """
    restoring = Restoring(heads, marks)
    for m in restoring.lifted_words():
        h = restoring.marked_head(m)
        if h is not None:
            restoring.move(m, h)
    return restoring.heads[1:]


class Restoring:
    """A lifted tree on its way back.

    Searches run breadth-first from the head of the lifted word, left to right, and pass by the word
    itself with all that is below it, so a move never makes a cycle, nor takes the only root away.
    """

    def __init__(self, heads: Sequence[int], marks: Sequence[Mark]) -> None:
        self.heads = [0, *heads]
        self._marks = [Mark(""), *marks]
        self._children: list[list[int]] = [[] for _ in self.heads]
        for m, h in enumerate(heads, 1):
            self._children[h].append(m)

    def lifted_words(self) -> Iterator[int]:
        """Lifted words, top down in the tree as it becomes; the caller moves each when it comes.

        A word m hangs from g, an ancestor of its former head h. If every word so far was moved the
        right way, the path from the root to g is as it was before lifting. Words that were between
        g and h and now hang from above g are nearer to the root than m, so they have been
        moved, and h is below g.
        """
        done: set[int] = set()
        level = [0]
        while level:
            for m in self._next_level(level):
                if self._marks[m].lifted and m not in done:
                    done.add(m)
                    yield m
            level = self._next_level(level)

    def move(self, m: int, h: int) -> None:
        """Hang m from h."""
        self._children[self.heads[m]].remove(m)
        insort(self._children[h], m)
        self.heads[m] = h

    def marked_head(self, m: int) -> int | None:
        """Where the mark of a lifted word leads, or None."""
        mark = self._marks[m]
        below = list(self._below(m, along_path=True))
        if mark.head_label is not None:
            below = [u for u in below if self._marks[u].label == mark.head_label]
        if below:
            # A path leads to its end, so a word from which it goes on is a second choice.
            ends = (u for u in below if not self._on_path(u, m))
            return next(ends, below[0])
        candidates = self.candidates(m)
        return candidates[min(mark.rank, len(candidates)) - 1] if candidates else None

    def candidates(self, m: int) -> list[int]:
        """Words below the head of m that have the label which its mark names."""
        label = self._marks[m].head_label
        if label is None:
            return []
        return [u for u in self._below(m) if self._marks[u].label == label]

    def _next_level(self, level: list[int]) -> list[int]:
        return [m for h in level for m in self._children[h]]

    def _below(self, m: int, *, along_path: bool = False) -> Iterator[int]:
        level = [self.heads[m]]
        while level:
            level = [
                u
                for h in level
                for u in self._children[h]
                if u != m and (not along_path or self._marks[u].on_path)
            ]
            yield from level

    def _on_path(self, u: int, m: int) -> bool:
        """Whether a path goes on below u."""
        return any(c != m and self._marks[c].on_path for c in self._children[u])
