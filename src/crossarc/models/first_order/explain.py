"""Single features and their weights: what the scores of a linear model are sums of.

Kernels sum weights and never hold a single feature. Here the slot of each feature is computed by
the definition (`features`, `slots`, `hashing`), one by one, in Python's integers, and beside its
weight stands what it says about the words:

    head upos=VERB, modifier upos-1=DET upos=NOUN, right, distance 2
    head xpos=VBD, modifier xpos=NN, right, 2 ADJ between

`upos-1` is the tag of the word before, as in the tables of templates; `right` says that the
modifier is to the right of the head. Values are as the model sees them: a form that is not in its
vocabulary is `<unknown>`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.learning import GROUPS
from crossarc.models.encode import BOUNDARY, COLUMN_ATOMS, FIRST, PADDING, ROOT, UNKNOWN
from crossarc.models.features import code_offset
from crossarc.models.first_order.labels import ALIGNMENT
from crossarc.models.protocol import Part
from crossarc.models.slots import ARC_KEYS, TAGS
from crossarc.treebank import Sentence

if TYPE_CHECKING:
    from crossarc.models.first_order.model import LinearModel
    from crossarc.models.first_order.scorers import Scorer

__all__ = ["LinearFeatures", "hash_codes", "meet"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RESERVED = {UNKNOWN: "<unknown>", BOUNDARY: "<boundary>", ROOT: "<root>"}
_SIDES = ("head", "modifier")
# The longest distance of each class, and its name.
_DISTANCES = ((1, "1"), (2, "2"), (3, "3"), (4, "4"), (6, "5-6"), (10, "7-10"), (np.inf, "11+"))
# Each tag between two words has a key for being there, and keys for once, twice and more.
_TAG_KEYS = 4
_COUNTS = ("", "1 ", "2 ", "3+ ")
_32, _64 = (1 << 32) - 1, (1 << 64) - 1


class _Key(NamedTuple):
    """What templates are conjoined with: its number, and what it says."""

    number: int
    text: str


class _Feature(NamedTuple):
    """A template with the hashes of its words (one or two), and a key."""

    template: int
    halves: tuple[int, ...]
    key: _Key
    text: str


class LinearFeatures:
    """The features of one sentence in a linear model (`crossarc.models.protocol`)."""

    def __init__(self, model: LinearModel, sentence: Sentence) -> None:
        self._model = model
        self._arcs, self._arc_temperature = model.arcs, model.arc_temperature
        self._labels, self._label_temperature = model.label_scorer, model.label_temperature
        self._codes = model.encode([sentence]).codes

    def part_weights(self, part: Part) -> dict[str, float]:
        """The features of an arc and what each adds to its score."""
        if part.kind != "arc":
            raise ValueError(f"a model of first order has no {part.kind} parts")
        h, m = part.nodes
        scorer = self._arcs
        factor = scorer.scale / self._arc_temperature
        weights: dict[str, float] = {}
        for feature in [*self._pairs(scorer, h, m), *self._words(scorer, h, m)]:
            weight = factor * float(scorer.weights[_arc_slot(feature, scorer.bits)])
            weights[feature.text] = weights.get(feature.text, 0.0) + weight
        return weights

    def label_weights(self, h: int, m: int, *, heads: Ints | None = None) -> dict[str, Floats]:
        """The features of an arc's labels and what each adds to the score of each label.

        Args:
            heads: of the tree, which labels do not depend on.
        """
        scorer = self._labels
        factor = scorer.scale / self._label_temperature
        size = len(scorer.weights) // GROUPS
        weights: dict[str, Floats] = {}
        for feature in self._pairs(scorer, h, m):
            begin = feature.template % GROUPS * size + _label_slot(feature, scorer.bits)
            window = factor * scorer.weights[begin : begin + scorer.labels].astype(np.float64)
            weights[feature.text] = weights.get(feature.text, 0.0) + window
        return weights

    def _pairs(self, scorer: Scorer, h: int, m: int) -> Iterator[_Feature]:
        """The features of two words: with direction, with distance, with tags between."""
        direction, distance = _direction_key(h, m), _distance_key(h, m)
        with_distance, pairs, between, _ = scorer.plan.bounds.tolist()
        spans = [(direction, range(pairs)), (distance, range(with_distance))]
        spans += [(key, range(pairs, between)) for key in self._tag_keys(h, m)]
        for key, templates in spans:
            for t in templates:
                head, modifier = scorer.plan.templates[t].split("|")
                halves = self._half(t, 0, head, h), self._half(t, 1, modifier, m)
                said = [self._said(_SIDES[0], head, h), self._said(_SIDES[1], modifier, m)]
                text = ", ".join(one for one in said if one) or "any two words"
                yield _Feature(t, halves, key, f"{text}, {key.text}")

    def _words(self, scorer: Scorer, h: int, m: int) -> Iterator[_Feature]:
        """The features of the head and of the modifier, with distance."""
        key = _distance_key(h, m)
        _, _, begin, end = scorer.plan.bounds.tolist()
        for t in range(begin, end):
            for side, (template, i) in enumerate(
                zip(scorer.plan.templates[t].split("|"), (h, m), strict=True)
            ):
                text = self._said(_SIDES[side], template, i) or f"any {_SIDES[side]}"
                yield _Feature(t, (self._half(t, side, template, i),), key, f"{text}, {key.text}")

    def _tag_keys(self, h: int, m: int) -> Iterator[_Key]:
        """Two keys for each tag between the words: that it is there, and how often."""
        upos = self._model.encoder.atoms.index("upos")
        first = min(h, m) + 1
        between = [int(self._codes[PADDING + i, upos]) for i in range(first, max(h, m))]
        counts = Counter(code % TAGS for code in between)
        side = ARC_KEYS + 2 + (0 if h < m else TAGS * _TAG_KEYS)
        for tag, count in sorted(counts.items()):
            # Of more than TAGS tags, some share a key.
            names = {self._value("upos", code) for code in between if code % TAGS == tag}
            for many in (0, min(count, _TAG_KEYS - 1)):
                text = f"{_direction(h, m)}, {_COUNTS[many]}{' or '.join(sorted(names))} between"
                yield _Key(side + _TAG_KEYS * tag + many, text)

    def _half(self, template: int, side: int, atoms: str, i: int) -> int:
        codes = [self._looked_up(atom, i)[1] for atom in atoms.split()]
        return hash_codes(2 * template + side, *codes) >> 32

    def _said(self, role: str, atoms: str, i: int) -> str:
        """What the atoms say about word i, such as "head upos=VERB"; "" if there are none."""
        said = [f"{atom}={self._value(*self._looked_up(atom, i))}" for atom in atoms.split()]
        return f"{role} {' '.join(said)}" if said else ""

    def _looked_up(self, atom: str, i: int) -> tuple[str, int]:
        """The name of an atom without its offset, and its code at word i."""
        names = self._model.encoder.atoms
        row, column = divmod(code_offset(atom, names), len(names))
        return names[column], int(self._codes[PADDING + i + row, column])

    def _value(self, name: str, code: int) -> str:
        """The string that a code stands for."""
        encoder = self._model.encoder
        if name in COLUMN_ATOMS:
            vocabulary = encoder.columns[encoder.atoms.index(name)]
            return _RESERVED.get(code) or vocabulary.strings[code - FIRST]
        if code == BOUNDARY:
            return "<absent>"
        # The vocabulary of attributes has them with their names, as in FEATS.
        return _RESERVED.get(code) or encoder.values.strings[code - FIRST].partition("=")[2]


def _direction(h: int, m: int) -> str:
    return "right" if h < m else "left"


def _direction_key(h: int, m: int) -> _Key:
    return _Key(ARC_KEYS + (0 if h < m else 1), _direction(h, m))


def _distance_key(h: int, m: int) -> _Key:
    number, name = next(
        (k, name) for k, (longest, name) in enumerate(_DISTANCES) if abs(h - m) <= longest
    )
    first = 0 if h < m else len(_DISTANCES)
    return _Key(first + number, f"{_direction(h, m)}, distance {name}")


def _arc_slot(feature: _Feature, bits: int) -> int:
    """As `table_slot`: sixteen keys of one template and pair of words are adjacent."""
    halves = list(feature.halves)
    if len(halves) == 2:
        halves.append(_key_hash(feature.key.number >> 4))
    met = meet(*halves)
    line, index = met >> (36 - bits), (met >> 4 ^ feature.key.number) & 15
    return feature.template % GROUPS << bits | line << 4 | index


def _label_slot(feature: _Feature, bits: int) -> int:
    """As `label_slot`."""
    met = meet(*feature.halves, _key_hash(feature.key.number))
    return met >> (32 - (bits - ALIGNMENT)) << ALIGNMENT


def meet(*halves: int) -> int:
    """The shares of words and keys, met: 32 bits, of which a slot is the upper ones."""
    met = 0
    for half in halves:
        met ^= half
    return met * 0x9E3779B1 & _32


def _key_hash(number: int) -> int:
    return hash_codes(1 << 32, number) >> 32


def hash_codes(*codes: int) -> int:
    """A template's number and codes, a step of SplitMix64 each."""
    x = 0
    for code in codes:
        x = (x + code + 1) * 0x9E3779B97F4A7C15 & _64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _64
        x = (x ^ x >> 27) * 0x94D049BB133111EB & _64
        x ^= x >> 31
    return x
