"""Sentences drawn from a transition model: the machine run with its own probabilities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.transition.symbols import BOTTOM, ROOT

__all__ = ["generate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# So many runs in a row that do not end are given up.
_MOST_FAILURES = 1000


def generate(
    parameters: Mapping[str, Floats], count: int, rng: np.random.Generator, max_words: int
) -> list[tuple[list[int], Ints]]:
    """Symbols and heads of so many sentences, from a proper model."""
    cumulative = {
        "sh": np.cumsum(parameters["sh"], axis=1),
        "one": np.cumsum([parameters[name] for name in ("la1", "ra1", "rd2")], axis=0),
        "two": parameters["la2"],
    }
    found: list[tuple[list[int], Ints]] = []
    failures = 0
    while len(found) < count:
        drawn = _run(cumulative, rng, max_words)
        if drawn is not None:
            found.append(drawn)
            failures = 0
        elif (failures := failures + 1) == _MOST_FAILURES:
            raise ModelError(
                f"{failures} runs in a row did not end within {max_words} words: "
                "the model generates too long sentences"
            )
    return found


def _run(
    cumulative: Mapping[str, Floats], rng: np.random.Generator, max_words: int
) -> tuple[list[int], Ints] | None:
    symbols, heads, stack = [ROOT], [0], [0]
    while True:
        b1 = symbols[stack[-1]]
        shifted = int(np.searchsorted(cumulative["sh"][b1], rng.random(), "right"))
        if shifted < len(cumulative["sh"]):
            if len(symbols) > max_words:
                return None
            stack.append(len(symbols))
            symbols.append(shifted)
            heads.append(-1)
            continue
        if len(stack) == 1:
            return symbols[1:], np.array(heads[1:], np.int64)
        b2 = symbols[stack[-2]]
        kind = int(np.searchsorted(cumulative["one"][:, b2, b1], rng.random(), "right"))
        low, is_left = -2, kind == 0
        if kind > 1:
            b3 = symbols[stack[-3]] if len(stack) > 2 else BOTTOM
            low, is_left = -3, rng.random() < cumulative["two"][b3, b2, b1]
        if is_left:
            heads[stack[low]] = stack[-1]
            del stack[low]
        else:
            heads[stack[-1]] = stack[low]
            stack.pop()
