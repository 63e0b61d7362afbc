"""Features of an arc by the definition, in plain Python: no arrays, no kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crossarc import Sentence
from crossarc.models import features
from crossarc.models.encode import BOUNDARY, COLUMN_ATOMS, ROOT, Encoder

MASK = (1 << 64) - 1


def plain_hash(*codes: int) -> int:
    """The hash of a template number and codes, one SplitMix64 step each."""
    x = 0
    for code in codes:
        x = (x + code + 1) * 0x9E3779B97F4A7C15 & MASK
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
        x = x ^ x >> 31
    return x


def meet(halves: Sequence[int], bits: int) -> int:
    """The slot of 32-bit halves."""
    met = 0
    for half in halves:
        met ^= half
    return (met * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - bits)


def key_hash(number: int) -> int:
    """The 32-bit hash of a key's number."""
    return plain_hash(1 << 32, number) >> 32


def near(halves: Sequence[int], key: int, bits: int) -> int:
    """The slot of 32-bit halves and a key: sixteen keys of a pair lie side by side."""
    if len(halves) > 1:
        halves = [*halves, key_hash(key // 16)]
    met = meet(halves, 32)
    return met >> (36 - bits) << 4 | (met >> 4 ^ key) & 15


def plain_pair_slot(head: Sequence[int], modifier: Sequence[int], bits: int) -> int:
    """The slot of a feature of two words, from the codes of each."""
    return meet([plain_hash(*head) >> 32, plain_hash(*modifier) >> 32], bits)


class PlainFeatures:
    """The templates of a table spelt out for one sentence.

    A template is numbered by its place among all: with distance, pairs, between, words.
    """

    def __init__(self, sentence: Sentence, encoder: Encoder, *, labels: bool) -> None:
        self.sentence, self.encoder = sentence, encoder
        kinds = (
            (features.LABEL_PAIRS_DISTANCE, features.LABEL_PAIRS, features.LABEL_BETWEEN, ())
            if labels
            else (
                features.ARC_PAIRS_DISTANCE,
                features.ARC_PAIRS,
                features.ARC_BETWEEN,
                features.ARC_WORDS,
            )
        )
        self.kinds: list[list[tuple[int, str]]] = []
        number = 0
        for kind in kinds:
            spelt = []
            for template in kind:
                names = encoder.attributes if "@" in template else ("",)
                for name in names:
                    spelt.append((number, template.replace("@", name)))
                    number += 1
            self.kinds.append(spelt)

    def code(self, i: int, atom: str) -> int:
        """The code of an atom of word i; 0 is the root."""
        if i == 0:
            return ROOT
        if not 1 <= i <= len(self.sentence):
            return BOUNDARY
        if atom in COLUMN_ATOMS:
            column = list(COLUMN_ATOMS).index(atom)
            return self.encoder.columns[column].code(
                self.sentence.word_fields()[(i - 1) * 10 + COLUMN_ATOMS[atom]]
            )
        value = self.sentence.feats_dict[i - 1].get(atom)
        return BOUNDARY if value is None else self.encoder.values.code(f"{atom}={value}")

    def half(self, number: int, side: int, atoms: str, i: int) -> int:
        codes = []
        for atom in atoms.split():
            for offset in ("-2", "-1", "+1", "+2"):
                if atom.endswith(offset):
                    codes.append(self.code(i + int(offset), atom.removesuffix(offset)))
                    break
            else:
                codes.append(self.code(i, atom))
        return plain_hash(2 * number + side, *codes) >> 32

    def halves(self, h: int, m: int) -> Iterator[tuple[int, list[int], int]]:
        """Template number, 32-bit parts of the words and number of the key, of every feature."""
        right = h < m
        gap = abs(h - m)
        bucket = next(k for k, top in enumerate([1, 2, 3, 4, 6, 10, 10**9]) if gap <= top)
        distance = bucket if right else 7 + bucket
        direction = 14 if right else 15
        with_distance, pairs, between, words = self.kinds
        for number, template in [*with_distance, *pairs]:
            yield number, self._pair(number, template, h, m), direction
        for number, template in with_distance:
            yield number, self._pair(number, template, h, m), distance
        tags = [self.code(i, "upos") % 32 for i in range(min(h, m) + 1, max(h, m))]
        for tag in sorted(set(tags)):
            for many in (0, min(tags.count(tag), 3)):
                key = (16 if right else 144) + 4 * tag + many
                for number, template in between:
                    yield number, self._pair(number, template, h, m), key
        for number, template in words:
            yield number, [self.half(number, 0, template, h)], distance
            yield number, [self.half(number, 1, template, m)], distance

    def _pair(self, number: int, template: str, h: int, m: int) -> list[int]:
        head, modifier = template.split("|")
        return [self.half(number, 0, head, h), self.half(number, 1, modifier, m)]
