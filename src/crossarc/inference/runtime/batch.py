"""One sentence or many: what users pass as scores, laid flat in memory for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.runtime.packing import pack_labelled, pack_padded, seal_arcs, unpack_padded
from crossarc.once import once

__all__ = ["Batch", "Scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = NDArray[Any] | Sequence[NDArray[Any]]


class Batch:
    """Checked private copies of scores.

    Attributes:
        is_batch: whether a list was given, so that methods return lists.
        sizes, offsets: words of each sentence, and where its (n + 1)^2 scores begin.
        arcs: the scores of arcs, flat; of labelled arcs, those of the best labels.
        label_sums: of labelled arcs, the weight of all labels over that of the best; else empty.
        labelled: the labelled scores of each sentence; empty when there are no labels.
    """

    def __init__(self, scores: Scores, lengths: Sequence[int] | None = None) -> None:
        self.label_sums = np.empty(0)
        self.labelled: list[Floats] = []
        self.is_batch = lengths is not None or isinstance(scores, list | tuple)
        if lengths is not None:
            lengths = _whole(lengths)
            padded = _padded(scores, lengths)
            if padded.ndim == 3:
                self._pack(padded, lengths)
                self._seal()
                return
            scores = [one[: n + 1, : n + 1] for one, n in zip(padded, lengths, strict=True)]
        arrays, are_alike = _arrays(scores)
        if are_alike:
            self._lay_out_alike(len(arrays), arrays[0].shape[0])
        else:
            self._lay_out([array.shape[0] for array in arrays])
        if arrays and arrays[0].ndim == 3:
            self.arcs, self.label_sums = np.empty(self._entries), np.empty(self._entries)
            for index, array in enumerate(arrays):
                self._pack_labelled(index, np.ascontiguousarray(array, np.float64))
            return
        flat = arrays if are_alike else [array.ravel() for array in arrays] or [np.empty(0)]
        self.arcs = np.concatenate(flat, dtype=np.float64, casting="unsafe").reshape(-1)
        self._seal()

    def _lay_out(self, widths: list[int]) -> None:
        """Say where each sentence has its place."""
        self.sizes = np.array(widths, np.int64) - 1
        squares = (self.sizes + 1) ** 2
        ends = np.cumsum(squares)
        self.offsets = ends - squares
        self._widths, self._entries = widths, int(ends[-1]) if widths else 0
        self._starts: Sequence[int] = self.offsets.tolist()

    def _lay_out_alike(self, count: int, width: int) -> None:
        """The same for sentences of one length, with less ado."""
        square = width * width
        self.sizes = np.full(count, width - 1, np.int64)
        self.offsets = np.arange(0, count * square, square)
        self._widths, self._entries = [width] * count, count * square
        self._starts = range(0, count * square, square)

    def _pack(self, padded: NDArray[Any], lengths: Sequence[int]) -> None:
        """Take the part of each sentence."""
        count, width, _ = padded.shape
        if count > 0 and min(lengths) == width - 1:
            self._lay_out_alike(count, width)
            self.arcs = padded.astype(np.float64).reshape(-1)
            return
        self._lay_out([n + 1 for n in lengths])
        self.arcs = np.empty(self._entries)
        whole = np.ascontiguousarray(padded, np.float64)
        pack_padded(whole, self.sizes, self.offsets, self.arcs)

    def _seal(self) -> None:
        bad = seal_arcs(self.arcs, self.sizes, self.offsets)
        if bad >= 0:
            index = int(np.searchsorted(self.offsets, bad, "right")) - 1
            self._refuse(index, self.square(index), bad - self._starts[index])

    def _pack_labelled(self, index: int, scores: Floats) -> None:
        private = np.empty(scores.shape)
        self.labelled.append(private)
        bad = pack_labelled(scores, private, self.square(index), self.label_sum(index))
        if bad >= 0:
            self._refuse(index, scores, bad)

    def _refuse(self, index: int, scores: Floats, place: int) -> None:
        where = ", ".join(str(i) for i in np.unravel_index(place, scores.shape))
        raise ScoreError(
            f"{self.name(index)}scores[{where}] is {scores.reshape(-1)[place]}: use finite "
            "numbers, or -inf to forbid an arc"
        )

    @once
    def word_offsets(self) -> Ints:
        """Where the words of each sentence begin, when those of all stand end to end."""
        offsets: Ints = np.cumsum(self.sizes) - self.sizes
        return offsets

    def __len__(self) -> int:
        return len(self.sizes)

    def name(self, index: int) -> str:
        """The beginning of a message about a sentence: its place in the batch."""
        return f"sentence {index}: " if self.is_batch else ""

    def width(self, index: int) -> int:
        """The words of a sentence and the root."""
        return self._widths[index]

    def square(self, index: int, flat: Floats | None = None) -> Floats:
        """A sentence's part of a flat array, by default of `arcs`, as a square view."""
        width, at = self._widths[index], self._starts[index]
        whole = self.arcs if flat is None else flat
        return whole[at : at + width * width].reshape(width, width)

    def padded(self, flat: Floats, width: int) -> Floats:
        """A flat array as (sentences, width, width), 0 beyond each sentence."""
        if self._widths.count(width) == len(self._widths):
            return flat.reshape(-1, width, width)
        out = np.empty((len(self), width, width))
        unpack_padded(flat, self.sizes, self.offsets, out)
        return out

    def squares(self, flat: Floats) -> list[Floats]:
        """The parts of all sentences of a flat array, as square views."""
        width = self._widths[0] if self._widths else 1
        if self._widths.count(width) == len(self._widths):
            return list(flat.reshape(-1, width, width))
        return [self.square(index, flat) for index in range(len(self))]

    def rows(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        """The parts of all sentences of an array with an entry for each word."""
        width = self._widths[0] if self._widths else 2
        if self._widths.count(width) == len(self._widths):
            return list(flat.reshape(-1, width - 1))
        ends = np.cumsum(self.sizes).tolist()
        return [flat[end - width + 1 : end] for end, width in zip(ends, self._widths, strict=True)]

    def label_sum(self, index: int) -> Floats:
        """A sentence's part of `label_sums`."""
        return self.square(index, self.label_sums)

    def scores(self, index: int) -> Floats:
        """A sentence's scores in the shape that was given, unusable entries -inf."""
        return self.labelled[index] if self.labelled else self.square(index)


def _whole(lengths: Any) -> list[int]:
    given = np.asarray(lengths)
    if given.ndim != 1 or (given.size > 0 and given.dtype.kind not in "iu"):
        raise ScoreError(f"lengths must be whole numbers, one a sentence: got {lengths!r}")
    whole: list[int] = given.astype(np.int64).tolist()
    return whole


def _padded(scores: Scores, lengths: Sequence[int]) -> NDArray[Any]:
    """Checked scores (sentences, n+1, n+1[, labels])."""
    padded = _unmasked(scores)
    if padded.ndim not in (3, 4) or len(padded) != len(lengths):
        raise ScoreError(
            f"with lengths, scores must be (sentences, n+1, n+1) or (sentences, n+1, n+1, "
            f"labels): got {padded.shape} and {len(lengths)} lengths"
        )
    longest = min(padded.shape[1:3]) - 1
    if len(lengths) > 0 and not 1 <= min(lengths) <= max(lengths) <= longest:
        index, n = next((i, n) for i, n in enumerate(lengths) if not 1 <= n <= longest)
        raise ScoreError(f"sentence {index}: length {n} is not in 1..{longest}")
    if padded.dtype.kind not in "fiu":
        raise ScoreError(f"scores must be real numbers: got {padded.dtype}")
    return padded


def _arrays(scores: Scores) -> tuple[list[NDArray[Any]], bool]:
    """The checked arrays of single sentences, and whether they are alike in shape and type."""
    is_batch = isinstance(scores, list | tuple)
    given = scores if is_batch else [scores]
    arrays = [one if type(one) is np.ndarray else _unmasked(one) for one in given]
    kinds = {(array.shape, array.dtype) for array in arrays}
    if not all(map(_is_plain, kinds)):
        for index, array in enumerate(arrays):
            _check_shape(array, arrays[0], f"sentence {index}: " if is_batch else "")
    return arrays, len(kinds) == 1


def _unmasked(scores: Any) -> NDArray[Any]:
    """An array; a mask would be lost without a word."""
    if isinstance(scores, np.ma.MaskedArray):
        raise ScoreError(
            "scores have a mask: forbid what is masked by -inf, as in scores.filled(-np.inf)"
        )
    return np.asarray(scores)


def _is_plain(kind: tuple[tuple[int, ...], np.dtype[Any]]) -> bool:
    """Whether a shape and a kind of numbers are those of scores without labels."""
    shape, dtype = kind
    return len(shape) == 2 and shape[0] == shape[1] > 1 and dtype.kind in "fiu"


def _remedy(shape: tuple[int, ...]) -> str:
    if len(shape) < 2:
        return ", so give one sentence as np.array(scores)"
    if len(shape) > 2 and shape[1] == shape[2]:
        return ", and a padded one comes with lengths="
    return ""


def _check_shape(array: NDArray[Any], first: NDArray[Any], name: str) -> None:
    if array.ndim not in (2, 3) or array.shape[0] != array.shape[1]:
        raise ScoreError(
            f"{name}scores must be (n+1, n+1) or (n+1, n+1, labels): got {array.shape}. "
            f"Row 0 is the root; a list is a batch{_remedy(array.shape)}"
        )
    if array.shape[0] < 2 or 0 in array.shape:
        raise ScoreError(f"{name}scores of shape {array.shape} have no word (or no label)")
    if array.dtype.kind not in "fiu":
        raise ScoreError(f"{name}scores must be real numbers: got {array.dtype}")
    if array.ndim != first.ndim:
        raise ScoreError(f"{name}a batch has labels for all of its sentences or for none")
