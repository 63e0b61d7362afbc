"""Constraints that a person sets, as scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.errors import ScoreError

__all__ = ["constrain"]


def constrain(
    scores: ArrayLike,
    heads: Mapping[int, int] | None = None,
    forbidden: Iterable[tuple[int, int]] = (),
    labels: Mapping[int, int] | None = None,
    root: int | None = None,
) -> NDArray[np.float64]:
    """A copy of scores under which only trees that satisfy the constraints are possible.

    Args:
        scores: (n+1, n+1) or (n+1, n+1, labels).
        heads: the head of some words, as {m: h}; 0 is the root.
        forbidden: arcs (h, m) that must not be used.
        labels: the label of some words, as {m: l}; labelled scores only.
        root: the one word that hangs from the root.

    Raises:
        ScoreError: an index out of range, or labels without labelled scores. Constraints that
            contradict each other raise nothing here: there is no tree then.
    """
    copy = _copied(scores)
    if copy.ndim not in (2, 3) or copy.shape[0] != copy.shape[1]:
        raise ScoreError(
            f"scores must be (n+1, n+1) or (n+1, n+1, labels): got {copy.shape}. Row 0 is the root"
        )
    n = copy.shape[0] - 1
    for name, given in (("heads", heads), ("labels", labels)):
        if given is not None and not isinstance(given, Mapping):
            raise ScoreError(f"{name} must be a dict, {{m: {name[0]}}}: got {type(given).__name__}")
    for m, h in (heads or {}).items():
        _check_arc(h, m, n)
        _keep_only(copy, m, h)
    for h, m in _pairs(forbidden):
        _check_arc(h, m, n)
        copy[h, m] = -np.inf
    if root is not None:
        _check_arc(0, root, n)
        _keep_only(copy, root, 0)
        copy[0, np.arange(n + 1) != root] = -np.inf
    if labels:
        _keep_labels(copy, labels, n)
    return copy


def _copied(scores: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.array(scores, np.float64)
    except (TypeError, ValueError):
        raise ScoreError(
            "scores must be the numbers of one sentence, (n+1, n+1) or (n+1, n+1, labels)"
        ) from None


def _pairs(forbidden: Any) -> Iterator[tuple[Any, Any]]:
    if not isinstance(forbidden, Iterable):
        raise ScoreError(f"forbidden must be arcs, [(h, m), ...]: got {forbidden!r}")
    for arc in forbidden:
        if not isinstance(arc, Sequence | np.ndarray) or len(arc) != 2:
            raise ScoreError(f"forbidden must be arcs, [(h, m), ...]: got {arc!r} among them")
        yield arc[0], arc[1]


def _keep_only(scores: NDArray[Any], m: int, h: int) -> None:
    scores[np.arange(len(scores)) != h, m] = -np.inf


def _keep_labels(scores: NDArray[Any], labels: Mapping[int, int], n: int) -> None:
    if scores.ndim != 3:
        raise ScoreError("labels were given, but the scores (n+1, n+1) have none")
    for m, label in labels.items():
        _check_arc(0, m, n)
        if not _is_between(label, 0, scores.shape[2] - 1):
            raise ScoreError(f"word {m}: label {_shown(label)} is not in 0..{scores.shape[2] - 1}")
        scores[:, m, np.arange(scores.shape[2]) != label] = -np.inf


def _check_arc(h: Any, m: Any, n: int) -> None:
    if not _is_between(m, 1, n):
        raise ScoreError(f"word {_shown(m)} is not in 1..{n}")
    if not _is_between(h, 0, n) or h == m:
        raise ScoreError(
            f"word {m} cannot have head {_shown(h)}: heads are 0..{n} but the word itself"
        )


def _is_between(number: Any, lowest: int, highest: int) -> bool:
    return isinstance(number, int | np.integer) and lowest <= int(number) <= highest


def _shown(number: Any) -> str:
    return str(number) if isinstance(number, np.integer) else repr(number)
