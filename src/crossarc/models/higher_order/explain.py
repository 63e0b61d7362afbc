"""Single features of parts of several arcs and of labels given a tree, with their weights.

As in `crossarc.models.first_order.explain`, slots are computed by the definition, in Python:

    head upos=VERB, sibling upos=ADV, modifier upos=NOUN, head < sibling < modifier
    grandparent lemma=see, modifier lemma=dog, grandparent < head < modifier, distances 1, 3-5
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crossarc.learning import GROUPS
from crossarc.models.encode import BOUNDARY, FIRST, PADDING
from crossarc.models.features import code_offset
from crossarc.models.first_order.explain import LinearFeatures, hash_codes, meet
from crossarc.models.higher_order.contexts import CONTEXT_ATOMS, MANY, with_contexts
from crossarc.models.protocol import Part
from crossarc.treebank import Sentence

if TYPE_CHECKING:
    from crossarc.models.higher_order.model import HigherOrderModel

__all__ = ["FactoredFeatures"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROLES = {
    "sibling": ("head", "sibling", "modifier"),
    "grandchild": ("grandparent", "head", "modifier"),
    "grand_sibling": ("grandparent", "head", "sibling", "modifier"),
    "tri_sibling": ("head", "inner sibling", "sibling", "modifier"),
}
_DISTANCES = ("1", "2", "3-5", "6+")


class FactoredFeatures(LinearFeatures):
    """The features of one sentence in a model of second or third order."""

    def __init__(self, model: HigherOrderModel, sentence: Sentence) -> None:
        super().__init__(model.first, sentence)
        self._arcs, self._arc_temperature = model.arcs, model.temperature
        self._labels, self._label_temperature = model.label_scorer, model.label_temperature
        self._factored = model
        self._encoded = model.encode([sentence])

    def part_weights(self, part: Part) -> dict[str, float]:
        """The features of a part and what each adds to its score."""
        if part.kind == "arc":
            return super().part_weights(part)
        scorer = self._factored.parts[part.kind]
        roles, nodes = _ROLES[part.kind], part.nodes
        head = roles.index("head")
        # Without an inner sibling, its place is taken by a word outside of the sentence.
        absent = len(nodes) - 2 if len(nodes) - 2 > head and nodes[-2] == nodes[head] else None
        rows = [-1 if k == absent else node for k, node in enumerate(nodes)]
        factor = scorer.scale / self._factored.temperature
        weights: dict[str, float] = {}
        for (key, said), end in zip(
            _keys(nodes, roles, head, absent), scorer.plan.bounds[::-1].tolist(), strict=True
        ):
            met = hash_codes(1 << 34, key) >> 32
            for t, template in enumerate(scorer.plan.templates[:end]):
                halves = [met]
                words = []
                for k, (atoms, row) in enumerate(zip(template.split("|"), rows, strict=True)):
                    codes = [self._looked_up(atom, row)[1] for atom in atoms.split()]
                    halves.append(hash_codes((1 << 33) + 4 * t + k, *codes) >> 32)
                    words.append(self._said(roles[k], atoms, row))
                slot = t % GROUPS << scorer.bits | meet(*halves) >> (32 - scorer.bits)
                text = ", ".join([*filter(None, words), said])
                weight = factor * float(scorer.weights[slot])
                weights[text] = weights.get(text, 0.0) + weight
        return weights

    def label_weights(self, h: int, m: int, *, heads: Ints | None = None) -> dict[str, Floats]:
        """The features of a label in a tree and what each adds to the score of each label."""
        if heads is None:
            raise ValueError("labels of a model of higher order depend on the tree: give its heads")
        atoms = self._factored.first.encoder.atoms
        self._codes = with_contexts(self._encoded, heads, atoms).codes
        weights = super().label_weights(h, m)
        self._codes = self._encoded.codes
        return weights

    def _looked_up(self, atom: str, i: int) -> tuple[str, int]:
        if atom not in CONTEXT_ATOMS:
            # Contexts stand behind the other columns, so that offsets of neighbours differ.
            names = self._factored.first.encoder.atoms
            row, column = divmod(code_offset(atom, names), len(names))
            return names[column], int(self._codes[PADDING + i + row, column])
        column = len(self._factored.first.encoder.atoms) + CONTEXT_ATOMS.index(atom)
        return atom, int(self._codes[PADDING + i, column])

    def _value(self, name: str, code: int) -> str:
        if name == "children":
            if code == BOUNDARY:
                return "<boundary>"
            left, right = divmod(code - FIRST, MANY + 1)
            return f"{left} left, {right} right"
        return super()._value(name.rpartition(".")[2], code)


def _keys(
    nodes: tuple[int, ...], roles: tuple[str, ...], head: int, absent: int | None
) -> list[tuple[int, str]]:
    """The keys of a part, as of `_part_keys`, and what they say: order; order and distances."""
    last, before = nodes[-1], nodes[-2]
    if head == 1:
        g, h = nodes[:2]
        order = 2 * (4 * (g < h) + 2 * (h < last) + (g < last)) + (before == h)
        gaps = abs(g - h), abs(before - last)
    else:
        order = 2 * (nodes[0] < last) + (before == nodes[0])
        gaps = abs(before - last), abs(nodes[-3] - before)
    placed = sorted(
        (node, role) for k, (node, role) in enumerate(zip(nodes, roles, strict=True)) if k != absent
    )
    said = " < ".join(role for _, role in placed)
    if absent is not None:
        said += ", no sibling between"
    first, second = (max(min(gap, 3) - 1, 0) if gap <= 5 else 3 for gap in gaps)
    distances = f"{said}, distances {_DISTANCES[first]}, {_DISTANCES[second]}"
    return [(order, said), (16 + 16 * order + 4 * first + second, distances)]
