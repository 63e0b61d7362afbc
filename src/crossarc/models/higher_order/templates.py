"""The feature templates of parts with several arcs, as tables.

After McDonald & Pereira (2006), Carreras (2007) and Koo & Collins (2010), with morphology. A
template reads `atoms of the first word | ... | atoms of the last`, words in the order of the
factor's index: (h, s, m), (g, h, m), (g, h, s, m), (h, t, s, m). Atoms are as in
`crossarc.models.features`. Every template is conjoined with the order of the words; those in the
first of the two tables are used a second time, with classes of their distances as well.

Where a modifier has no inner sibling, s = h, the word s is BOUNDARY.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from crossarc.models.features import MISSING, Plan, code_offset, expanded

__all__ = ["FACTOR_NAMES", "TEMPLATES", "part_plan"]

#: The factors of each order beyond the first.
FACTOR_NAMES = {
    2: ("sibling", "grandchild"),
    3: ("sibling", "grandchild", "grand_sibling", "tri_sibling"),
}

_SIBLING_DISTANCE = (
    "upos | upos | upos",
    "xpos | xpos | xpos",
    "| upos | upos",
    "| xpos | xpos",
    "upos | lemma | lemma",
)
_SIBLING = (
    "lemma | upos | upos",
    "upos | lemma | upos",
    "upos | upos | lemma",
    "lemma | lemma | upos",
    "lemma | upos | lemma",
    "| lemma | lemma",
    "| form | form",
    "| lemma | upos",
    "| upos | lemma",
    "| form | upos",
    "| upos | form",
    "lemma xpos | xpos | xpos",
    "xpos | lemma xpos | xpos",
    "xpos | xpos | lemma xpos",
    "upos upos+1 | upos | upos",
    "upos-1 upos | upos | upos",
    "upos | upos upos+1 | upos",
    "upos | upos-1 upos | upos",
    "upos | upos | upos upos+1",
    "upos | upos | upos-1 upos",
    "| upos upos+1 | upos-1 upos",
    "| upos-1 upos | upos upos+1",
    "| upos-1 upos | upos-1 upos",
    "| upos upos+1 | upos upos+1",
    "| upos feats | upos feats",
    "upos | upos feats | upos feats",
    "upos feats | upos feats | upos feats",
    "lemma | upos feats | upos feats",
    "| upos @ | upos @",
    "upos | upos @ | upos @",
    "upos @ | upos @ | upos @",
    "lemma | upos @ | upos @",
)
_GRANDCHILD_DISTANCE = (
    "upos | upos | upos",
    "xpos | xpos | xpos",
    "upos | | upos",
    "xpos | | xpos",
    "upos | lemma | upos",
)
_GRANDCHILD = (
    "lemma | upos | upos",
    "upos | upos | lemma",
    "lemma | lemma | upos",
    "lemma | upos | lemma",
    "upos | lemma | lemma",
    "lemma | | lemma",
    "form | | form",
    "lemma | | upos",
    "upos | | lemma",
    "form | | upos",
    "upos | | form",
    "lemma xpos | xpos | xpos",
    "xpos | lemma xpos | xpos",
    "xpos | xpos | lemma xpos",
    "upos upos+1 | upos | upos",
    "upos-1 upos | upos | upos",
    "upos | upos upos+1 | upos",
    "upos | upos-1 upos | upos",
    "upos | upos | upos upos+1",
    "upos | upos | upos-1 upos",
    "upos upos+1 | | upos-1 upos",
    "upos-1 upos | | upos upos+1",
    "upos-1 upos | | upos-1 upos",
    "upos upos+1 | | upos upos+1",
    "upos feats | | upos feats",
    "upos feats | upos | upos feats",
    "upos feats | upos feats | upos feats",
    "upos feats | lemma | upos feats",
    "upos @ | | upos @",
    "upos @ | upos | upos @",
    "upos @ | upos @ | upos @",
    "upos @ | lemma | upos @",
)
_GRAND_SIBLING_DISTANCE = (
    "upos | upos | upos | upos",
    "xpos | xpos | xpos | xpos",
    "upos | | upos | upos",
)
_GRAND_SIBLING = (
    "lemma | upos | upos | upos",
    "upos | lemma | upos | upos",
    "upos | upos | lemma | upos",
    "upos | upos | upos | lemma",
    "xpos | | xpos | xpos",
    "lemma | | upos | upos",
    "upos | | lemma | upos",
    "upos | | upos | lemma",
    "upos | | lemma | lemma",
    "lemma | | lemma | upos",
    "lemma | | upos | lemma",
    "upos feats | upos | upos feats | upos feats",
    "upos @ | upos | upos @ | upos @",
)
_TRI_SIBLING_DISTANCE = (
    "upos | upos | upos | upos",
    "xpos | xpos | xpos | xpos",
    "| upos | upos | upos",
)
_TRI_SIBLING = (
    "lemma | upos | upos | upos",
    "upos | lemma | upos | upos",
    "upos | upos | lemma | upos",
    "upos | upos | upos | lemma",
    "upos | upos | | upos",
    "| xpos | xpos | xpos",
    "| lemma | upos | upos",
    "| upos | lemma | upos",
    "| upos | upos | lemma",
    "| upos | | upos",
    "| lemma | | upos",
    "| upos | | lemma",
    "| lemma | | lemma",
    "upos | upos feats | upos feats | upos feats",
    "| upos @ | upos @ | upos @",
)
#: By factor: the templates that are also used with distances, and the others.
TEMPLATES = {
    "sibling": (_SIBLING_DISTANCE, _SIBLING),
    "grandchild": (_GRANDCHILD_DISTANCE, _GRANDCHILD),
    "grand_sibling": (_GRAND_SIBLING_DISTANCE, _GRAND_SIBLING),
    "tri_sibling": (_TRI_SIBLING_DISTANCE, _TRI_SIBLING),
}


def part_plan(factor: str, atoms: Sequence[str], attributes: Sequence[str]) -> Plan:
    """The templates of a factor as numbers, for words with these atoms.

    `bounds` has the number of templates that are also used with distances, and of all.
    """
    groups = [
        [one for template in group for one in expanded(template, attributes)]
        for group in TEMPLATES[factor]
    ]
    ordered = tuple(template for group in groups for template in group)
    words = [
        [[code_offset(atom, atoms) for atom in word.split()] for word in template.split("|")]
        for template in ordered
    ]
    longest = max(len(offsets) for template in words for offsets in template)
    table = np.full((len(words), len(words[0]), longest + 1), MISSING, np.int64)
    for t, k in product(range(len(words)), range(len(words[0]))):
        table[t, k, : len(words[t][k])] = words[t][k]
    return Plan(table, np.cumsum([len(group) for group in groups]), ordered)
