"""The tree that users hold: heads, labels, and measures computed on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.errors import TreebankError
from crossarc.once import once
from crossarc.trees.validity import head_array

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["Tree"]

Labels = NDArray[np.int64] | tuple[str, ...]


class Tree:
    """A dependency tree over words 1..n with an artificial root 0.

    Several words may hang from the root. Measures are computed when first asked for; all of them
    take O(n) memory.

    A head of -1 is one that is not known. Such a partial tree has crossings, which are pairs of
    arcs that it has. Everything else depends on the missing heads and raises TreebankError.

    Args:
        heads: the head of word 1 first; 0 is the root, -1 is not known.
        labels: one label a word, strings or integers.

    Raises:
        TreebankError: no word, heads out of range, or a cycle.
    """

    #: Model score, upper bound and certificate, where inference made the tree.
    score: float | None = None
    bound: float | None = None
    is_optimal: bool | None = None

    def __init__(self, heads: ArrayLike, labels: Sequence[str] | ArrayLike | None = None) -> None:
        self._heads = head_array(heads, partial=True)
        self._labels = None if labels is None else _checked_labels(labels, len(self._heads))

    @classmethod
    def _trusted(cls, heads: NDArray[np.int64], labels: Labels | None = None) -> Tree:
        """A tree from heads that are known to be valid, read-only int64."""
        tree = cls.__new__(cls)
        tree._heads = heads
        tree._labels = labels
        return tree

    @property
    def heads(self) -> NDArray[np.int64]:
        """Read-only array of length n: the head of word 1 first, 0 is the root, -1 is not known."""
        return self._heads

    @property
    def is_complete(self) -> bool:
        """Every word has a head."""
        return bool(self._heads.min() >= 0)

    def _complete_heads(self) -> NDArray[np.int64]:
        """The heads, if all are known."""
        if not self.is_complete:
            word = int(self._heads.argmin()) + 1
            raise TreebankError(
                f"word {word} has no head: of a partial tree only crossings and is_planar are "
                "defined; give every word a head"
            )
        return self._heads

    @property
    def labels(self) -> Labels | None:
        """None, a read-only int array, or a tuple of str."""
        return self._labels

    def __len__(self) -> int:
        return len(self._heads)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return np.array_equal(self._heads, other._heads) and _label_key(self) == _label_key(other)

    def __hash__(self) -> int:
        return hash((self._heads.tobytes(), _label_key(self)))

    def __repr__(self) -> str:
        labels = "" if self._labels is None else f", labels={np.asarray(self._labels).tolist()}"
        return f"Tree({self._heads.tolist()}{labels})"

    def _repr_svg_(self) -> str | None:
        """The drawing that notebooks show; none of a partial tree."""
        from crossarc.draw import svg

        return svg(self) if self.is_complete else None

    @property
    def is_single_root(self) -> bool:
        """Exactly one word hangs from the root."""
        return int(np.count_nonzero(self._complete_heads() == 0)) == 1

    @once
    def nonprojective_arcs(self) -> NDArray[np.bool_]:
        """For each word, whether its arc passes over a word that its head does not dominate."""
        return self._gaps[1]

    @once
    def is_projective(self) -> bool:
        """No arc is non-projective."""
        return not self.nonprojective_arcs.any()

    @once
    def arc_degrees(self) -> NDArray[np.int64]:
        """For each word, the degree of its arc (Nivre 2006, Definition 3)."""
        if self.is_projective:
            return self.gap_degrees
        degrees: NDArray[np.int64] = _measures().arc_degrees(self._heads, self.nonprojective_arcs)
        degrees.flags.writeable = False
        return degrees

    @property
    def degree(self) -> int:
        """The largest degree of an arc; 0 iff the tree is projective."""
        return 0 if self.is_projective else int(self.arc_degrees.max())

    @once
    def gap_degrees(self) -> NDArray[np.int64]:
        """For each word, the number of gaps in its subtree."""
        return self._gaps[0]

    @property
    def gap_degree(self) -> int:
        """The largest number of gaps in a subtree; 0 iff the tree is projective."""
        return 0 if self.is_projective else int(self.gap_degrees.max())

    @property
    def block_degree(self) -> int:
        """The largest number of blocks (runs of neighbouring words) that make up a subtree."""
        return self.gap_degree + 1

    @once
    def is_well_nested(self) -> bool:
        """No two disjoint subtrees interleave."""
        if self.is_projective:
            return True
        return bool(_measures().is_well_nested(self._heads, self.nonprojective_arcs))

    @once
    def crossings(self) -> int:
        """Pairs of crossing arcs between words; arcs from the root do not count."""
        if self.is_complete and self.is_projective:
            return 0
        return int(_measures().count_crossings(self._heads))

    @property
    def is_planar(self) -> bool:
        """No two arcs between words cross. A planar tree may cover its root and so be
        non-projective."""
        return self.crossings == 0

    @once
    def _gaps(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        gaps, nonprojective = _measures().gap_degrees(self._complete_heads())
        gaps.flags.writeable = nonprojective.flags.writeable = False
        return gaps, nonprojective


def _measures() -> ModuleType:
    """The compiled measures, loaded when a tree is first measured."""
    from crossarc.trees import measures

    return measures


def _label_key(tree: Tree) -> object:
    return tuple(tree._labels) if tree._labels is not None else None


def _checked_labels(labels: Sequence[str] | ArrayLike, n: int) -> Labels:
    values = np.asarray(labels).tolist() if isinstance(labels, np.ndarray) else list(labels)  # type: ignore[arg-type]
    if len(values) != n:
        raise TreebankError(f"{n} words need {n} labels: got {len(values)}")
    if all(isinstance(value, str) for value in values):
        return tuple(values)
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise TreebankError("labels must be all strings or all whole numbers")
    array = array.astype(np.int64)
    array.flags.writeable = False
    return array
