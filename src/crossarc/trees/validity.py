"""Whether heads form a tree: in range, acyclic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.errors import TreebankError

__all__ = ["check_heads", "find_cycle", "head_array"]


def head_array(
    heads: ArrayLike, *, words: int | None = None, partial: bool = False
) -> NDArray[np.int64]:
    """A read-only copy of heads that form a tree.

    Args:
        words: how many there must be; by default any number but none.
        partial: whether -1, a word whose head is not known, is allowed.

    Raises:
        TreebankError: anything else.
    """
    array: NDArray[Any] = np.asarray(heads)
    fits = array.ndim == 1 and array.size == (words or max(array.size, 1))
    if not fits or array.dtype.kind not in "iu":
        raise TreebankError(
            f"heads must be {words or 'one or more'} whole numbers, one a word: "
            f"got shape {array.shape} of {array.dtype}"
        )
    checked = array.astype(np.int64)
    word = int(checked.argmin())
    if checked[word] < (-1 if partial else 0):
        hint = "use 0 for the root, -1 if it is not known" if partial else "use 0 for the root"
        raise TreebankError(f"word {word + 1} has head {checked[word]}: {hint}")
    check_heads(checked.tolist())
    checked.flags.writeable = False
    return checked


def find_cycle(heads: Sequence[int]) -> list[int] | None:
    """The words of one cycle, or None, in O(n).

    Args:
        heads: the head of word 1 first; 0 is the root, negative is no head. All in range.
    """
    # visited[m] holds the word from which m was first reached; meeting one's own mark is a cycle.
    visited = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        word = start
        while word > 0 and not visited[word]:
            visited[word] = start
            word = heads[word - 1]
        if word > 0 and visited[word] == start:
            return _cycle_through(word, heads)
    return None


def _cycle_through(word: int, heads: Sequence[int]) -> list[int]:
    cycle = [word]
    while (head := heads[cycle[-1] - 1]) != word:
        cycle.append(head)
    return cycle


def check_heads(heads: Sequence[int]) -> None:
    """Raise TreebankError unless the heads are in range and acyclic.

    A negative head is a word whose head is not known, and is no fault here.
    """
    n = len(heads)
    for word, head in enumerate(heads, 1):
        if head > n:
            raise TreebankError(
                f"word {word} has head {head}, but there are only {n} words: use 0 to {n}"
            )
    if n and all(head > 0 for head in heads):
        raise TreebankError("no root: no word has head 0; give one word the head 0")
    cycle = find_cycle(heads)
    if cycle is not None:
        raise TreebankError(describe_cycle(cycle))


def describe_cycle(cycle: list[int]) -> str:
    """The cycle as words and heads, and what to do about it."""
    shown = " -> ".join(str(word) for word in [*cycle[:8], cycle[0]])
    if len(cycle) > 8:
        shown = shown.replace(f"{cycle[7]} ->", f"{cycle[7]} -> ... ->")
    return f"a cycle: {shown} (word -> its head); change the head of one of these words"
