"""Sentences to integer codes: what kernels read in place of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.models.vocabulary import BOUNDARY, ROOT, UNKNOWN, Vocabulary
from crossarc.treebank import Sentence
from crossarc.treebank.columns import COLUMNS, DEPREL, FEATS, FORM, LEMMA, UPOS, XPOS

__all__ = ["COLUMN_ATOMS", "PADDING", "Encoded", "Encoder"]

Ints = NDArray[np.int64]

#: Atoms that are columns of the file, in the order of the code array; attributes follow.
COLUMN_ATOMS = {"form": FORM, "lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}
#: Rows of BOUNDARY on either side of a sentence and its root.
PADDING = 2
_FEATS_PLACE = list(COLUMN_ATOMS).index("feats")
# A text may bring ever new FEATS; beyond so many, those remembered are forgotten.
_REMEMBERED = 50_000


@dataclass(frozen=True, slots=True)
class Encoded:
    """Sentences as arrays.

    codes: (rows, atoms); a sentence has PADDING rows, its root, its words, and PADDING rows.
    sizes: words of each sentence.
    starts: the row of each sentence's root.
    words: where the words of each sentence begin in `heads` and `labels`.
    heads, labels: as in the treebank, -1 where there is none or the label is not known.
    """

    codes: Ints
    sizes: Ints
    starts: Ints
    words: Ints
    heads: Ints
    labels: Ints

    def __len__(self) -> int:
        return len(self.sizes)

    def take(self, sentences: Ints) -> Encoded:
        """Some of the sentences, sharing the arrays."""
        return replace(
            self,
            sizes=self.sizes[sentences],
            starts=self.starts[sentences],
            words=self.words[sentences],
        )

    def gold_heads(self, sentence: int) -> Ints:
        """The heads of one sentence, that of word 1 first."""
        begin = self.words[sentence]
        return self.heads[begin : begin + self.sizes[sentence]]

    def gold_arcs(self) -> tuple[Ints, Ints]:
        """Heads and labels of all words, sentence after sentence."""
        ends = np.cumsum(self.sizes)
        places = np.repeat(self.words - ends + self.sizes, self.sizes) + np.arange(self.sizes.sum())
        return self.heads[places], self.labels[places]

    def split_arcs(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        """Views [h, m] of each sentence's part of an array over all arcs."""
        places = self.squares.tolist()
        widths = (self.sizes + 1).tolist()
        return [
            flat[at : at + width * width].reshape(width, width)
            for at, width in zip(places, widths, strict=False)
        ]

    @property
    def squares(self) -> Ints:
        """Where the (n + 1)^2 arcs of each sentence begin, and where the last ends."""
        return np.concatenate([[0], np.cumsum((self.sizes + 1) ** 2)])


class Encoder:
    """Vocabularies of all columns.

    FEATS count in two ways: as they stand, and as the values of the attributes that at least one
    word in a hundred has.
    """

    def __init__(
        self, columns: Sequence[Vocabulary], attributes: Sequence[str], values: Vocabulary
    ) -> None:
        self.columns = tuple(columns)
        self.attributes = tuple(attributes)
        self.values = values
        self._seen: dict[str, int] = {}
        self._rows = np.empty((0, len(self.attributes)), np.int64)

    @classmethod
    def build(
        cls, sentences: Sequence[Sentence], *, cutoff: int = 2, max_attributes: int = 10
    ) -> Encoder:
        """Vocabularies of the strings in a treebank.

        Args:
            cutoff: how often a form, a lemma or FEATS must occur to have a code of their own.
            max_attributes: the most frequent attributes are used, at most so many.
        """
        columns = []
        for place in COLUMN_ATOMS.values():
            strings = (s for one in sentences for s in one.word_fields()[place::COLUMNS])
            at_least = cutoff if place in (FORM, LEMMA, FEATS) else 1
            columns.append(Vocabulary.build(strings, at_least=at_least))
        feats = Counter(pair for one in sentences for field in one.feats for pair in _pairs(field))
        names: Counter[str] = Counter()
        for pair, count in feats.items():
            names[pair.partition("=")[0]] += count
        words = sum(map(len, sentences))
        ranked = sorted(names, key=lambda name: (-names[name], name))
        used = [name for name in ranked if names[name] * 100 >= words][:max_attributes]
        values = Vocabulary.build(p for p in feats.elements() if p.partition("=")[0] in used)
        return cls(columns, used, values)

    @property
    def atoms(self) -> tuple[str, ...]:
        """Names of the columns of the code array."""
        return (*COLUMN_ATOMS, *self.attributes)

    def encode(self, sentences: Sequence[Sentence], labels: Vocabulary | None = None) -> Encoded:
        """Codes of all words; gold labels where a vocabulary of labels is given."""
        sizes = np.array([len(sentence) for sentence in sentences], np.int64)
        fields: list[str] = []
        for sentence in sentences:
            fields += sentence.word_fields()
        ends = np.cumsum(sizes)
        words = ends - sizes
        # Every sentence adds two paddings and a root before the words of the next.
        extra = 2 * PADDING + 1
        starts = words + extra * np.arange(len(sizes)) + PADDING
        total = int(sizes.sum())
        codes = np.full((total + extra * len(sizes), len(self.atoms)), BOUNDARY, np.int64)
        codes[starts] = ROOT
        rows = np.repeat(starts + 1 - words, sizes) + np.arange(total)
        table = np.empty((total, len(self.atoms)), np.int64)
        for atom, place in enumerate(COLUMN_ATOMS.values()):
            table[:, atom] = self.columns[atom].encode(fields[place::COLUMNS])
        if self.attributes:
            table[:, len(COLUMN_ATOMS) :] = self._attribute_rows(fields[FEATS::COLUMNS])
        codes[rows] = table
        return Encoded(
            codes,
            sizes,
            starts,
            words,
            np.concatenate([s.heads for s in sentences]) if sentences else np.empty(0, np.int64),
            _label_codes(fields[DEPREL::COLUMNS], labels),
        )

    def _attribute_rows(self, fields: Sequence[str]) -> Ints:
        """The values of the attributes of each word; BOUNDARY for an attribute it has not."""
        seen = self._seen
        fresh = [field for field in dict.fromkeys(fields) if field not in seen]
        if fresh:
            if len(seen) + len(fresh) > _REMEMBERED:
                seen.clear()
                self._rows = self._rows[:0]
                fresh = list(dict.fromkeys(fields))
            for field in fresh:
                seen[field] = len(seen)
            added = np.array([self._attribute_row(field) for field in fresh], np.int64)
            self._rows = np.concatenate([self._rows, added])
        return self._rows[[seen[field] for field in fields]]

    def _attribute_row(self, field: str) -> list[int]:
        row = [BOUNDARY] * len(self.attributes)
        for pair in _pairs(field):
            name = pair.partition("=")[0]
            if name in self.attributes:
                row[self.attributes.index(name)] = self.values.code(pair)
        return row

    def metadata(self) -> dict[str, Any]:
        """All that `restore` needs, for JSON."""
        return {
            "columns": [vocabulary.strings for vocabulary in self.columns],
            "attributes": self.attributes,
            "values": self.values.strings,
        }

    @classmethod
    def restore(cls, metadata: dict[str, Any]) -> Encoder:
        """The encoder that `metadata` describes."""
        columns = [Vocabulary(strings) for strings in metadata["columns"]]
        return cls(columns, metadata["attributes"], Vocabulary(metadata["values"]))


def _pairs(field: str) -> Iterable[str]:
    return () if field == "_" else field.split("|")


def _label_codes(deprels: Sequence[str], labels: Vocabulary | None) -> Ints:
    if labels is None:
        return np.full(len(deprels), -1, np.int64)
    codes = labels.encode(deprels)
    # Labels are numbered from 0; a label without a code is one that cannot be learnt from.
    return np.where(codes == UNKNOWN, -1, codes - (len(labels) - len(labels.strings)))
