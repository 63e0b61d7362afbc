"""Tags as classes: what UPOS, XPOS and FEATS occur together, and the parts they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Classes", "Tag"]


class Tag(NamedTuple):
    """UPOS, XPOS and FEATS of a word."""

    upos: str
    xpos: str
    feats: str

    def parts(self) -> list[tuple[str, str]]:
        """What this tag shares with others."""
        features = [] if self.feats == "_" else self.feats.split("|")
        xpos = [] if self.xpos == "_" else [("xpos", self.xpos)]
        return [("upos", self.upos), *xpos, *(("feature", feature) for feature in features)]


class Classes:
    """All tags of a treebank, numbered; the most frequent first."""

    def __init__(self, tags: Sequence[Tag]) -> None:
        self.tags = tuple(tags)
        self._numbers = {tag: k for k, tag in enumerate(self.tags)}
        names: dict[tuple[str, str], int] = {}
        parts: list[int] = []
        ends: list[int] = []
        for tag in self.tags:
            parts += (names.setdefault(part, len(names)) for part in tag.parts())
            ends.append(len(parts))
        self.parts = np.array(parts, np.int64)
        self.part_ends = np.array(ends, np.int64)
        self.part_count = len(names)
        upos = {name: k for k, name in enumerate(dict.fromkeys(tag.upos for tag in self.tags))}
        self.coarse: NDArray[np.int64] = np.array([upos[tag.upos] for tag in self.tags], np.int64)

        #: the columns that some tag fills
        self.filled = tuple(
            name for name in Tag._fields if any(getattr(tag, name) != "_" for tag in self.tags)
        )

    @classmethod
    def of(cls, tags: Iterable[Tag]) -> Classes:
        """The classes of the tags of a treebank."""
        counts = Counter(tags)
        return cls(sorted(counts, key=lambda tag: (-counts[tag], tag)))

    def numbers(self, tags: Iterable[Tag]) -> NDArray[np.int64]:
        """The numbers of known tags."""
        return np.array([self._numbers[tag] for tag in tags], np.int64)
