"""The feature templates, as tables, after McDonald, Crammer & Pereira (2005).

A template of two words reads `atoms of the head | atoms of the modifier`. An atom is a column of the
code array, with +1 or -1 for the next or the previous word; `@` stands for each morphological
attribute in turn. Every template is conjoined with the direction of the arc; those in a table
`..._DISTANCE` are used a second time, with direction and distance.

A template of one word is conjoined with direction and distance always. Summed over one word these
features depend on seven distances and two directions only, so they are computed once a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ARC_PAIRS",
    "ARC_PAIRS_DISTANCE",
    "ARC_WORDS",
    "LABEL_PAIRS",
    "LABEL_PAIRS_DISTANCE",
    "Plan",
    "compile_plan",
]

Ints = NDArray[np.int64]

ARC_PAIRS_DISTANCE = (
    "upos | upos",
    "xpos | xpos",
    "form | upos",
    "upos | form",
    "lemma | upos",
    "upos | lemma",
    "lemma | xpos",
    "xpos | lemma",
    "feats | feats",
    "upos upos+1 | upos-1 upos",
    "upos-1 upos | upos-1 upos",
    "upos upos+1 | upos upos+1",
    "upos-1 upos | upos upos+1",
    "upos-1 upos upos+1 | upos",
    "upos | upos-1 upos upos+1",
)
ARC_PAIRS = (
    "form | form",
    "lemma | lemma",
    "form xpos | xpos",
    "xpos | form xpos",
    "lemma xpos | lemma xpos",
    "lemma upos | upos feats",
    "upos feats | lemma upos",
    "upos feats | upos",
    "upos | upos feats",
    "xpos xpos+1 | xpos-1 xpos",
    "xpos-1 xpos | xpos-1 xpos",
    "xpos xpos+1 | xpos xpos+1",
    "xpos-1 xpos | xpos xpos+1",
    "upos-1 upos upos+1 | upos-1 upos upos+1",
    "lemma | upos upos+1",
    "lemma | upos-1 upos",
    "upos upos+1 | lemma",
    "upos-1 upos | lemma",
    "upos @ | upos @",
)
ARC_BETWEEN = ("upos | upos",)
ARC_WORDS = (
    "",
    "form",
    "lemma",
    "upos",
    "xpos",
    "upos feats",
    "lemma xpos",
    "upos-1 upos",
    "upos upos+1",
    "upos-1 upos upos+1",
    "xpos-1 xpos xpos+1",
    "form-1 upos",
    "upos form+1",
    "upos-2 upos-1 upos",
    "upos upos+1 upos+2",
)
LABEL_PAIRS_DISTANCE = (
    "upos | upos",
    "xpos | xpos",
    "| lemma xpos",
    "| xpos-1 xpos xpos+1",
    "| upos feats",
)
LABEL_PAIRS = (
    "| form",
    "| lemma",
    "form | form",
    "lemma | lemma",
    "lemma | upos",
    "upos | lemma",
    "lemma | xpos",
    "xpos | lemma",
    "lemma upos | upos feats",
    "feats | feats",
    "upos | upos feats",
    "upos feats | upos",
    "upos | upos-1 upos upos+1",
    "upos-1 upos upos+1 | upos",
    "upos | form-1 upos",
    "upos | upos form+1",
    "upos | lemma-1 upos",
    "upos | upos lemma+1",
    "lemma | lemma-1 upos",
    "upos @ | upos @",
    "| lemma @",
    "lemma | upos @",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Templates compiled: for each, the places of its atoms relative to a word's first code.

    atoms: (templates, sides, most atoms of a template); unused places are MISSING.
    with_distance: how many, from the first, are also used with the distance.
    """

    atoms: Ints
    with_distance: int

    @property
    def count(self) -> int:
        """Number of templates."""
        return len(self.atoms)


#: Marks an unused place of a plan; no offset comes near it.
MISSING = 1 << 40


def compile_plan(
    templates: Sequence[str], atoms: Sequence[str], attributes: Sequence[str], with_distance: int
) -> Plan:
    """Templates as numbers for the kernels, those with distance first."""
    expanded: list[list[list[int]]] = []
    counted = 0
    for number, template in enumerate(templates):
        for one in _expanded(template, attributes):
            sides = [[_place(atom, atoms) for atom in side.split()] for side in one.split("|")]
            expanded.append(sides)
            counted += number < with_distance
    most = max((len(side) for sides in expanded for side in sides), default=0)
    plan = np.full((len(expanded), len(expanded[0]), most + 1), MISSING, np.int64)
    for t, sides in enumerate(expanded):
        for side, places in enumerate(sides):
            plan[t, side, : len(places)] = places
    return Plan(plan, counted)


def _expanded(template: str, attributes: Sequence[str]) -> list[str]:
    if "@" not in template:
        return [template]
    return [template.replace("@", attribute) for attribute in attributes]


def _place(atom: str, atoms: Sequence[str]) -> int:
    """Where an atom lies, counted from the first code of the word: `upos-1` is a row above."""
    name, offset = atom, 0
    if atom[-2:-1] in ("+", "-") and atom[-1:].isdigit():
        name, offset = atom[:-2], int(atom[-2:])
    return offset * len(atoms) + atoms.index(name)
