"""Labels given the whole tree: what stands around an arc is read as further columns of its words.

The second stage of McDonald, Lerman & Pereira (2006): once the tree is known, the label of an arc
may depend on the head's own head, on the nearest siblings and on the outermost children. Each is a
column of the code array, so that the templates and kernels of labels serve as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crossarc.models.encode import BOUNDARY, FIRST, Encoded
from crossarc.models.features import (
    LABEL_BETWEEN,
    LABEL_PAIRS,
    LABEL_PAIRS_DISTANCE,
    Plan,
    compile_plan,
)

__all__ = ["CONTEXT_ATOMS", "CONTEXT_PAIRS", "MANY", "context_plan", "with_contexts"]

Ints = NDArray[np.int64]

# Of a word: its head, the outermost children on both sides, and the nearest words with the same
# head to the left and to the right. What is read of each:
_RELATIVES = ("parent", "first", "last", "before", "after")
_READ = ("upos", "lemma", "feats")
#: Children on a side are counted up to this number.
MANY = 3
#: The names of the columns.
CONTEXT_ATOMS = (*(f"{who}.{what}" for who in _RELATIVES for what in _READ), "children")

#: Templates of labels beside those of `LABEL_PAIRS`, head | modifier.
CONTEXT_PAIRS = (
    "upos parent.upos | upos",
    "upos parent.lemma | upos",
    "lemma parent.upos | upos",
    "upos parent.upos | lemma",
    "upos parent.upos | upos feats",
    "| upos first.upos",
    "| upos first.lemma",
    "| upos last.upos",
    "| upos last.lemma",
    "upos | upos first.lemma",
    "upos | upos feats first.lemma",
    "lemma | upos first.lemma",
    "upos | upos first.upos last.upos",
    "upos | lemma first.upos",
    "upos | upos first.feats",
    "upos | upos before.upos",
    "upos | upos after.upos",
    "upos | upos before.upos after.upos",
    "upos | upos feats before.upos before.feats",
    "upos | upos feats after.upos after.feats",
    "lemma | upos feats before.upos before.feats",
    "lemma | upos feats after.upos after.feats",
    "upos | upos before.lemma",
    "upos | upos after.lemma",
    "| upos children",
    "upos | upos children",
    "lemma | upos children",
    "upos | lemma children",
    "upos children | upos",
    "upos children | upos feats",
    "lemma children | upos",
    "upos first.upos | upos",
    "upos last.upos | upos",
    "upos first.lemma | upos feats",
    "upos last.lemma | upos feats",
    "upos first.upos last.upos | upos",
)


def context_plan(atoms: Sequence[str], attributes: Sequence[str]) -> Plan:
    """The templates of labels given a tree, for words with these atoms and their contexts."""
    return compile_plan(
        (*atoms, *CONTEXT_ATOMS),
        attributes,
        with_distance=LABEL_PAIRS_DISTANCE,
        pairs=(*LABEL_PAIRS, *CONTEXT_PAIRS),
        between=LABEL_BETWEEN,
    )


def with_contexts(encoded: Encoded, heads: Ints, atoms: Sequence[str]) -> Encoded:
    """The sentences with the columns of contexts, given their trees.

    Args:
        heads: of all words, sentence after sentence; -1 for a word without one, which is no
            context of others then.
        atoms: the names of the columns of codes.
    """
    numbers = np.arange(len(heads)) - np.repeat(np.cumsum(encoded.sizes), encoded.sizes)
    roots = np.repeat(encoded.starts, encoded.sizes)
    words = roots + numbers + np.repeat(encoded.sizes, encoded.sizes) + 1
    known = heads >= 0
    words, above = words[known], (roots + heads)[known]
    total = len(encoded.codes)
    # Row `total` is that of no word.
    relatives = np.full((len(_RELATIVES), total), total)
    relatives[0, words] = above
    order = np.argsort(above, kind="stable")
    words, above = words[order], above[order]
    left = words < above
    # The last one written stays: the first child from the right end, and the last from the left.
    relatives[1, above[left][::-1]] = words[left][::-1]
    relatives[2, above[~left]] = words[~left]
    follows = np.flatnonzero(above[1:] == above[:-1])
    relatives[3, words[follows + 1]] = words[follows]
    relatives[4, words[follows]] = words[follows + 1]
    counts = [np.bincount(above[side], minlength=total) for side in (left, ~left)]
    children = FIRST + (MANY + 1) * np.minimum(counts[0], MANY) + np.minimum(counts[1], MANY)
    read = [atoms.index(name) for name in _READ]
    rows = np.concatenate([encoded.codes[:, read], np.full((1, len(read)), BOUNDARY)])
    columns = [rows[relative] for relative in relatives]
    return replace(encoded, codes=np.hstack([encoded.codes, *columns, children[:, None]]))
