"""The feature templates of the three decisions, as tables.

A template is a list of atoms. An atom `address.column` is a code of the word at an address, with +1
or -1 for the word after or before it; `@` stands for each morphological attribute. Addresses:

    i, j      the pair; where a label is chosen, head and modifier; where a root is, the word and 0
    hi, hj    their heads       gj        the head of hj
    fi, fj    their first child, counted from the left       li, lj   their last child

`label` is the relation of the word at an address, and the rest are numbers of the pair: `distance`,
`state` (which of the two has a head; where a label is chosen, the direction), `pieces` (0 to 3
or more), `lefts` and `rights` of i and j (how many children on that side, 0 to 3 or more).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossarc.models.features import code_offset, expanded

__all__ = ["ACTIONS", "ADDRESSES", "LABELS", "ROOTS", "Plan", "compile_plan"]

Ints = NDArray[np.int64]

ADDRESSES = ("i", "j", "hi", "hj", "gj", "fi", "li", "fj", "lj")
NUMBERS = (
    "distance",
    "state",
    "pieces",
    "i.lefts",
    "j.lefts",
    "j.rights",
    *(f"{address}.label" for address in ADDRESSES),
)

_PAIR = (
    "i.form j.form state",
    "i.lemma j.lemma state",
    "i.form j.upos state",
    "i.upos j.form state",
    "i.lemma j.upos state distance",
    "i.upos j.lemma state distance",
    "i.lemma j.xpos state",
    "i.xpos j.lemma state",
    "i.upos j.upos state distance",
    "i.upos j.upos state pieces",
    "i.xpos j.xpos state distance",
    "i.xpos j.xpos state",
    "i.feats j.feats state",
    "i.feats j.feats i.upos j.upos",
    "i.upos i.feats j.upos state",
    "i.upos j.upos j.feats state",
    "i.lemma j.upos j.feats",
    "i.upos i.feats j.lemma",
    "i.upos i.@ j.upos j.@ state",
)
_WORDS = (
    "i.form state",
    "i.lemma state distance",
    "i.upos state distance pieces",
    "i.xpos state distance",
    "i.upos i.feats state",
    "i.upos-1 i.upos i.upos+1 state",
    "i.upos i.upos+1 i.upos+2 state",
    "i.upos-2 i.upos-1 i.upos state",
    "i.upos i.form+1 state",
    "i.form-1 i.upos state",
    "i.upos i.lemma+1 pieces",
    "j.form state",
    "j.lemma state distance",
    "j.upos state distance pieces",
    "j.xpos state distance",
    "j.upos j.feats state",
    "j.upos-1 j.upos j.upos+1 state",
    "j.upos-2 j.upos-1 j.upos state",
    "j.upos j.form+1 state",
    "j.form-1 j.upos state",
)
_AROUND = (
    "i.upos j.upos i.upos+1 state",
    "i.upos j.upos i.upos+1 i.upos+2",
    "i.upos-1 i.upos j.upos state",
    "i.upos j.upos j.upos+1 state",
    "i.upos j.upos-1 j.upos state",
    "i.upos-1 i.upos j.upos j.upos+1",
    "i.upos-1 i.upos j.upos-1 j.upos",
    "i.upos i.upos+1 j.upos j.upos+1",
    "i.upos i.upos+1 j.upos-1 j.upos",
    "i.lemma j.upos i.upos+1",
    "i.upos j.lemma i.upos+1",
    "i.lemma j.upos-1 j.upos",
    "i.upos-1 i.upos j.lemma",
    "i.upos j.upos i.lemma+1 state",
)
_TREE = (
    "i.upos j.upos hj.upos j.label",
    "i.upos j.upos hj.lemma",
    "i.lemma j.upos j.label",
    "i.upos j.lemma j.label",
    "i.upos j.upos hj.upos gj.upos",
    "i.upos j.upos hi.upos i.label",
    "i.upos j.upos fj.upos fj.label",
    "i.upos j.upos lj.upos lj.label",
    "i.upos j.upos fi.upos fi.label",
    "i.upos j.upos li.upos li.label",
    "i.upos i.label j.upos state",
    "j.lemma j.lefts j.rights state",
    "j.upos j.lefts j.rights i.upos",
    "i.lemma i.lefts state",
    "i.upos i.lefts j.upos state",
    "i.lemma fi.label li.label",
    "j.lemma fj.label lj.label",
    "i.upos fi.label li.label j.upos",
    "j.upos fj.label lj.label i.upos",
    "i.upos fi.lemma j.upos",
    "j.upos lj.lemma i.upos",
    "j.lemma lj.lemma i.lemma",
    "j.label i.label i.upos j.upos pieces",
    "j.label lj.label fi.label pieces",
    "i.feats fi.label j.upos state",
    "j.feats lj.label i.upos state",
    "j.feats fj.label i.upos state",
)
#: What to do with a pair: i is the later word.
ACTIONS = (*_PAIR, *_WORDS, *_AROUND, *_TREE, "state pieces distance")
#: The relation of an arc: i is the head, j the modifier.
LABELS = (
    "state distance",
    "j.form",
    "j.lemma",
    "j.lemma state",
    "j.upos j.feats state",
    "j.lemma j.xpos state",
    "i.form j.form",
    "i.lemma j.lemma",
    "i.lemma j.upos state",
    "i.upos j.lemma state",
    "i.lemma j.xpos",
    "i.xpos j.lemma",
    "i.upos j.upos state distance",
    "i.xpos j.xpos state distance",
    "i.lemma i.upos j.upos j.feats",
    "i.feats j.feats state",
    "i.upos j.upos j.feats state",
    "i.upos i.feats j.upos state",
    "i.upos i.feats j.upos j.feats",
    "i.upos i.@ j.upos j.@ state",
    "i.upos j.upos-1 j.upos j.upos+1 state",
    "i.upos-1 i.upos i.upos+1 j.upos state",
    "i.upos j.form-1 j.upos state",
    "i.upos j.upos j.form+1 state",
    "i.upos j.lemma-1 j.upos",
    "i.lemma j.lemma-1 j.upos",
    "j.upos-2 j.upos-1 j.upos state",
    "j.upos j.upos+1 j.upos+2 state",
    "j.upos-1 j.upos j.feats",
    "j.upos j.feats j.upos+1",
    "j.xpos-1 j.xpos j.xpos+1 state",
    "i.upos j.upos fj.upos fj.label",
    "i.upos j.upos lj.upos lj.label",
    "i.upos j.upos fj.lemma",
    "j.lemma fj.label lj.label",
    "i.upos j.upos fi.label state",
    "i.upos j.upos li.label state",
    "i.lemma j.upos fi.label li.label",
    "i.upos i.label j.upos state",
    "i.upos hi.upos j.upos i.label state",
    "i.lemma i.label j.upos",
    "j.upos j.feats i.label i.upos",
    "i.upos j.upos j.lefts j.rights",
)
#: Which word is the root: i is the word.
ROOTS = (
    "i.form",
    "i.lemma",
    "i.upos",
    "i.xpos",
    "i.upos i.feats",
    "i.upos i.lefts distance",
    "i.upos fi.label li.label",
    "i.lemma fi.label li.label",
    "i.upos fi.upos li.upos",
    "i.upos-1 i.upos i.upos+1",
    "i.form-1 i.upos",
    "i.upos i.form+1",
    "i.upos distance",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Templates as numbers for kernels.

    Attributes:
        atoms: (templates, k, 2): the address of each atom, and the offset of its code from the
            first code of the word there. For a number of the pair the address is -1 and what
            follows its index; after the last atom the address is -2.
        bounds: where the templates of actions, labels and roots end.
    """

    atoms: Ints
    bounds: Ints


def compile_plan(atoms: Sequence[str], attributes: Sequence[str]) -> Plan:
    """All templates, for words with these atoms, the attributes among them."""
    kinds = [
        [one for template in kind for one in expanded(template, attributes)]
        for kind in (ACTIONS, LABELS, ROOTS)
    ]
    addresses = [[_atom(atom, atoms) for atom in one.split()] for kind in kinds for one in kind]
    table = np.full((len(addresses), max(map(len, addresses)) + 1, 2), -2, np.int64)
    for t, own in enumerate(addresses):
        table[t, : len(own)] = own
    return Plan(table, np.cumsum([len(kind) for kind in kinds]))


def _atom(atom: str, atoms: Sequence[str]) -> tuple[int, int]:
    if atom in NUMBERS:
        return -1, NUMBERS.index(atom)
    address, _, column = atom.partition(".")
    return ADDRESSES.index(address), code_offset(column, atoms)
