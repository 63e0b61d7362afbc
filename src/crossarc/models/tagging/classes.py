"""Tags as classes: what UPOS, XPOS and FEATS occur together, and the parts they share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Classes", "Tag"]


# Of all tags: many times what treebanks have.
_MOST_PARTS = 1 << 24


class Tag(NamedTuple):
    """UPOS, XPOS and FEATS of a word."""

    upos: str
    xpos: str
    feats: str

    def parts(self) -> list[tuple[str, str]]:
        """What this tag shares with others; what many share comes first."""
        features = [] if self.feats == "_" else self.feats.split("|")
        xpos = [] if self.xpos == "_" else [("xpos", self.xpos)]
        return [("upos", self.upos), *(("feature", feature) for feature in features), *xpos]


class Classes:
    """All tags of a treebank, numbered in the order of their parts.

    `parts[c, k]` is part k of tag c, -1 after its last; `shared[c]` is how many parts tag c has in
    common with the one before, from the first on, so that their scores need not be added again.
    """

    def __init__(self, tags: Iterable[Tag]) -> None:
        self.tags = tuple(sorted(set(tags), key=Tag.parts))
        self._numbers = {tag: k for k, tag in enumerate(self.tags)}
        names: dict[tuple[str, str], int] = {}
        rows = [[names.setdefault(part, len(names)) for part in tag.parts()] for tag in self.tags]
        longest = max(map(len, rows), default=0)
        if longest * len(rows) > _MOST_PARTS:
            raise ValueError("tags have too many features for a table of them")
        self.parts = np.full((len(rows), longest + 1), -1, np.int64)
        for c, row in enumerate(rows):
            self.parts[c, : len(row)] = row
        alike = (self.parts[1:] == self.parts[:-1]) & (self.parts[1:] >= 0)
        self.shared = np.zeros(len(rows), np.int64)
        self.shared[1:] = np.cumprod(alike, axis=1).sum(axis=1)
        self.part_count = len(names)
        upos = {name: k for k, name in enumerate(dict.fromkeys(tag.upos for tag in self.tags))}
        self.coarse: NDArray[np.int64] = np.array([upos[tag.upos] for tag in self.tags], np.int64)

        #: the columns that some tag fills
        self.filled = tuple(
            name for name in Tag._fields if any(getattr(tag, name) != "_" for tag in self.tags)
        )

    def numbers(self, tags: Iterable[Tag]) -> NDArray[np.int64]:
        """The numbers of known tags."""
        return np.array([self._numbers[tag] for tag in tags], np.int64)
