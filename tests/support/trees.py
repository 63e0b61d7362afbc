"""Trees for tests: all of them, or random ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st


def is_tree(heads: tuple[int, ...]) -> bool:
    """Every word reaches the root, followed head by head."""
    for word in range(1, len(heads) + 1):
        steps = 0
        while word != 0:
            word = heads[word - 1]
            steps += 1
            if steps > len(heads):
                return False
    return True


def all_trees(n: int) -> Iterator[tuple[int, ...]]:
    """All (n + 1)^(n - 1) trees over n words, several roots allowed."""
    return (heads for heads in itertools.product(range(n + 1), repeat=n) if is_tree(heads))


@st.composite
def trees(draw: st.DrawFn, min_words: int = 1, max_words: int = 12) -> list[int]:
    """Heads of a random tree: words join in random order, each below an earlier one or the root."""
    n = draw(st.integers(min_words, max_words))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, word in enumerate(order):
        parent = draw(st.integers(0, place))
        heads[word - 1] = 0 if parent == 0 else order[parent - 1]
    return heads
