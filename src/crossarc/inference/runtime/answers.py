"""Questions asked of every sentence of a batch, over threads, and answered once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from crossarc.parallel import over_ranges

__all__ = ["Answers"]

T = TypeVar("T")


class Answers:
    """What has been answered for the sentences of a batch.

    Args:
        costs: about how long each sentence takes, in any unit.
        threads: as for `crossarc.parallel.over_ranges`.
    """

    def __init__(self, costs: Sequence[float], threads: int | None) -> None:
        self._costs = costs
        self._threads = threads
        self._kept: dict[Hashable, list[Any]] = {}

    def all(self, answer: Callable[[int], T]) -> list[T]:
        """The answers for all sentences; of several errors, that of the first sentence."""
        answers: list[Any] = [None] * len(self._costs)

        def some(begin: int, end: int) -> None:
            for index in range(begin, end):
                answers[index] = answer(index)

        over_ranges(some, self._costs, self._threads)
        return answers

    def ranges(self, answer: Callable[[int, int], list[T]]) -> list[T]:
        """The answers for all sentences, found for many at a time: answer(begin, end)."""
        answers: list[Any] = [None] * len(self._costs)

        def some(begin: int, end: int) -> None:
            answers[begin:end] = answer(begin, end)

        over_ranges(some, self._costs, self._threads)
        return answers

    def once(self, question: Hashable, answer: Callable[[int], T]) -> list[T]:
        """The same, found when the question is first asked, and kept."""
        if question not in self._kept:
            self._kept[question] = self.all(answer)
        return self._kept[question]

    def note(self, question: Hashable, answers: list[Any]) -> None:
        """Keep answers that came with those to another question."""
        self._kept.setdefault(question, answers)
