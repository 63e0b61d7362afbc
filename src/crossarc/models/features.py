"""The feature templates, as tables, after McDonald, Crammer & Pereira (2005).

A template of two words reads `atoms of the head | atoms of the modifier`. An atom is a column of
the code array, with +1 or -1 for the next or the previous word; `@` stands for each morphological
attribute. Every template is conjoined with the direction of the arc; those in a table
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
    "ARC_BETWEEN",
    "ARC_PAIRS",
    "ARC_PAIRS_DISTANCE",
    "ARC_WORDS",
    "LABEL_BETWEEN",
    "LABEL_PAIRS",
    "LABEL_PAIRS_DISTANCE",
    "MISSING",
    "Plan",
    "arc_plan",
    "code_offset",
    "compile_plan",
    "expanded",
    "label_plan",
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
    "upos @ | upos @",
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
    "upos-1 upos upos+1 | upos-1 upos upos+1",
    "lemma | upos upos+1",
    "lemma | upos-1 upos",
    "upos upos+1 | lemma",
    "upos-1 upos | lemma",
)
ARC_BETWEEN = ("upos | upos", "xpos | xpos", "upos | xpos", "xpos | upos", "| upos", "upos |")
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
LABEL_BETWEEN = ("upos | upos", "xpos | upos", "| xpos", "| lemma", "|")
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
    "| upos-2 upos-1 upos",
    "| upos upos+1 upos+2",
    "| upos-1 upos feats",
    "| upos feats upos+1",
    "| lemma-1 upos",
    "| lemma-2 upos",
    "| lemma+1 upos",
    "upos | lemma-2 upos",
    "lemma-1 upos | upos",
    "upos lemma+1 | upos",
    "upos feats | upos feats",
    "xpos | xpos-1 xpos xpos+1",
)


#: Marks an unused entry of a plan; no offset comes near it.
MISSING = 1 << 40


@dataclass(frozen=True, slots=True)
class Plan:
    """Templates as numbers for kernels.

    Attributes:
        atoms: (templates, 2, k): for head and modifier, the offsets of the atoms of a template,
            counted from the first code of the word; unused entries are MISSING.
        bounds: where the templates that are also used with distance, all of two words, those of
            tags between, and those of one word end.
        templates: as they are written in the tables, an attribute in place of `@`; those of one
            word stand on both sides.
    """

    atoms: Ints
    bounds: Ints
    templates: tuple[str, ...]


def arc_plan(atoms: Sequence[str], attributes: Sequence[str]) -> Plan:
    """The templates of arcs, for words with these atoms, the attributes among them."""
    return compile_plan(
        atoms,
        attributes,
        with_distance=ARC_PAIRS_DISTANCE,
        pairs=ARC_PAIRS,
        between=ARC_BETWEEN,
        words=ARC_WORDS,
    )


def label_plan(atoms: Sequence[str], attributes: Sequence[str]) -> Plan:
    """The templates of labels."""
    return compile_plan(
        atoms,
        attributes,
        with_distance=LABEL_PAIRS_DISTANCE,
        pairs=LABEL_PAIRS,
        between=LABEL_BETWEEN,
    )


def compile_plan(
    atoms: Sequence[str],
    attributes: Sequence[str],
    *,
    with_distance: Sequence[str],
    pairs: Sequence[str],
    between: Sequence[str] = (),
    words: Sequence[str] = (),
) -> Plan:
    """Templates as numbers, group after group."""
    groups = [
        [one for template in group for one in expanded(template, attributes)]
        for group in (with_distance, pairs, between, [f"{word} | {word}" for word in words])
    ]
    bounds = np.cumsum([len(group) for group in groups])
    ordered = [template for group in groups for template in group]
    sides = [
        [[code_offset(atom, atoms) for atom in side.split()] for side in template.split("|")]
        for template in ordered
    ]
    longest = max(len(offsets) for pair in sides for offsets in pair)
    table = np.full((len(ordered), 2, longest + 1), MISSING, np.int64)
    for t, pair in enumerate(sides):
        for side, offsets in enumerate(pair):
            table[t, side, : len(offsets)] = offsets
    return Plan(table, bounds, tuple(ordered))


def expanded(template: str, attributes: Sequence[str]) -> list[str]:
    """A template, or one for each attribute if it has `@`."""
    if "@" not in template:
        return [template]
    return [template.replace("@", attribute) for attribute in attributes]


def code_offset(atom: str, atoms: Sequence[str]) -> int:
    """The offset of an atom from the first code of the word: `upos-1` is a row above."""
    name, row = atom, 0
    if atom[-2:-1] in ("+", "-") and atom[-1:].isdigit():
        name, row = atom[:-2], int(atom[-2:])
    return row * len(atoms) + atoms.index(name)
