"""Types of answers: one for a sentence, a list of them for a batch.

A distribution is generic in `One` or `Many`, which its constructor infers from the scores:

    SpanningTrees(array)           SpanningTrees[One]      .entropy() is a float
    SpanningTrees([array, ...])    SpanningTrees[Many]     .entropy() is a list of floats

Without brackets, as in `def f(trees: SpanningTrees)`, the type is that of one sentence.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypedDict, overload

if TYPE_CHECKING:
    # Type checkers know this module without an installation; Python has defaults from 3.13 on.
    from typing_extensions import TypeVar

    from crossarc.inference.distribution import TreeDistribution
else:
    from typing import TypeVar

__all__ = ["Many", "One", "Options", "Root", "Size", "check_root", "counting", "per_sentence"]

Root = Literal["single", "multi"]
P = ParamSpec("P")
T = TypeVar("T")


def check_root(root: str) -> None:
    """Raise ValueError unless it is a rule for roots."""
    if root not in ("single", "multi"):
        raise ValueError(f'root must be "single" or "multi": got {root!r}')


def counting(name: str, value: int) -> int:
    """The value of an argument that counts something, from 1 on.

    Raises:
        ValueError: another number, or none.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number: got {value!r}") from None
    if whole < 1:
        raise ValueError(f"{name} must be at least 1: got {value}")
    return whole


class One:
    """The distribution is that of one sentence."""


class Many:
    """The distribution has a batch of sentences."""


if TYPE_CHECKING:
    Size = TypeVar("Size", default=One)
else:
    Size = TypeVar("Size")


class Options(TypedDict, total=False):
    """Keyword arguments of all distributions, besides scores and lengths."""

    root: Root
    threads: int | None


class _PerSentence(Generic[P, T]):
    """A method as type checkers see it."""

    @overload
    def __get__(self, trees: TreeDistribution[One], owner: Any = None) -> Callable[P, T]: ...

    @overload
    def __get__(self, trees: TreeDistribution[Many], owner: Any = None) -> Callable[P, list[T]]: ...

    @overload
    def __get__(self, trees: object, owner: Any = None) -> Callable[P, T | list[T]]: ...

    def __get__(self, trees: Any, owner: Any = None) -> Any:
        """Never called: at run time the method is a function."""


def per_sentence(method: Callable[Concatenate[Any, P], T]) -> _PerSentence[P, T]:
    """A method that is annotated with the answer for one sentence; for a batch it gives a list."""
    return method  # type: ignore[return-value]
