"""Sentences to integer codes: what kernels read in place of words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.checks import Fields
from crossarc.treebank import Sentence
from crossarc.treebank.columns import COLUMNS, DEPREL, FEATS, FORM, LEMMA, UPOS, XPOS

__all__ = [
    "BOUNDARY",
    "COLUMN_ATOMS",
    "FIRST",
    "PADDING",
    "ROOT",
    "UNKNOWN",
    "Encoded",
    "Encoder",
    "Vocabulary",
    "checked_labels",
    "forbid_labels",
    "labels_metadata",
    "permitted_counts",
    "permitted_labels",
    "seen_labels",
]

Ints = NDArray[np.int64]

#: Atoms that are columns of the file, in the order of the code array; attributes follow.
COLUMN_ATOMS = {"form": FORM, "lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}
#: Rows of BOUNDARY on either side of a sentence and its root.
PADDING = 2
#: Reserved codes: strings that were not seen often enough share UNKNOWN, what lies outside a
#: sentence is BOUNDARY, the artificial root is ROOT.
UNKNOWN, BOUNDARY, ROOT, FIRST = range(4)
# Attributes are words of templates, in which a sign and a digit are the distance of another word.
_ATTRIBUTE = re.compile(r"[^\s|@=]*(?<![+-])[^\s|@=]")
# A text may bring ever new FEATS: the cache of their codes is emptied when it has so many.
_CACHE_SIZE = 50_000


class Vocabulary:
    """Strings to codes: from FIRST up for known strings, UNKNOWN for all others.

    Args:
        strings: distinct strings in the order of their codes.

    A vocabulary does not change. `build` orders strings by how often they occur, so that codes do
    not depend on the order of sentences, nor on anything else but the counts.
    """

    __slots__ = ("_codes", "strings")

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = tuple(strings)
        self._codes = {string: code for code, string in enumerate(self.strings, FIRST)}
        if len(self._codes) != len(self.strings):
            raise ValueError("the strings of a vocabulary must differ from each other")

    @classmethod
    def build(cls, strings: Iterable[str], *, at_least: int = 1) -> Vocabulary:
        """A vocabulary of the strings that occur `at_least` so often; the most frequent first."""
        counts = Counter(strings)
        kept = [string for string, count in counts.items() if count >= at_least]
        return cls(sorted(kept, key=lambda string: (-counts[string], string)))

    def __len__(self) -> int:
        """Number of codes, the reserved ones included: codes are below this."""
        return FIRST + len(self.strings)

    def __contains__(self, string: str) -> bool:
        return string in self._codes

    def code(self, string: str) -> int:
        """The code of one string."""
        return self._codes.get(string, UNKNOWN)

    def encode(self, strings: Sequence[str]) -> Ints:
        """The codes of many strings; one dict lookup each."""
        get = self._codes.get
        return np.array([get(string, UNKNOWN) for string in strings], np.int64)


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

    def select(self, sentences: Ints) -> Encoded:
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
        index = np.repeat(self.words - ends + self.sizes, self.sizes) + np.arange(self.sizes.sum())
        return self.heads[index], self.labels[index]

    def attachment_scores(
        self, heads: Ints, labels: Ints, names: Sequence[str]
    ) -> dict[str, float]:
        """LAS and UAS in percent of the words that have a head; subtypes of labels do not count.

        Args:
            heads, labels: of a parse, all words, sentence after sentence.
            names: of the labels.
        """
        gold_heads, gold_labels = self.gold_arcs()
        given = gold_heads >= 0
        right = (heads == gold_heads)[given]
        types = np.unique([name.partition(":")[0] for name in names], return_inverse=True)[1]
        same = ((gold_labels >= 0) & (types[labels] == types[gold_labels]))[given]
        return {"las": 100.0 * float(np.mean(right & same)), "uas": 100.0 * float(np.mean(right))}

    def split_arcs(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        """Views [h, m] of each sentence's part of an array over all arcs."""
        offsets = self.squares.tolist()
        widths = (self.sizes + 1).tolist()
        return [
            flat[offset : offset + width * width].reshape(width, width)
            for offset, width in zip(offsets, widths, strict=False)
        ]

    @property
    def squares(self) -> Ints:
        """Where the (n + 1)^2 arcs of each sentence begin, and where the last ends."""
        return np.concatenate([[0], np.cumsum((self.sizes + 1) ** 2)])


class Encoder:
    """Vocabularies of all columns.

    FEATS count in two ways: as they stand, and as the values of the attributes that at least one
    word in a hundred has. Threads may share an encoder.
    """

    def __init__(
        self, columns: Sequence[Vocabulary], attributes: Sequence[str], values: Vocabulary
    ) -> None:
        self.columns = tuple(columns)
        self.attributes = tuple(attributes)
        self.values = values
        self._attribute_rows: dict[str, tuple[int, ...]] = {}

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
        for column in COLUMN_ATOMS.values():
            strings = (s for one in sentences for s in one.word_fields()[column::COLUMNS])
            at_least = cutoff if column in (FORM, LEMMA, FEATS) else 1
            columns.append(Vocabulary.build(strings, at_least=at_least))
        feats = Counter(pair for one in sentences for field in one.feats for pair in _pairs(field))
        names: Counter[str] = Counter()
        for pair, count in feats.items():
            names[pair.partition("=")[0]] += count
        words = sum(map(len, sentences))
        ranked = sorted(names, key=lambda name: (-names[name], name))
        usable = [name for name in ranked if _ATTRIBUTE.fullmatch(name)]
        used = [name for name in usable if names[name] * 100 >= words][:max_attributes]
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
        for atom, column in enumerate(COLUMN_ATOMS.values()):
            table[:, atom] = self.columns[atom].encode(fields[column::COLUMNS])
        if self.attributes:
            table[:, len(COLUMN_ATOMS) :] = self._encode_attributes(fields[FEATS::COLUMNS])
        codes[rows] = table
        return Encoded(
            codes,
            sizes,
            starts,
            words,
            np.concatenate([s.heads for s in sentences]) if sentences else np.empty(0, np.int64),
            _label_codes(fields[DEPREL::COLUMNS], labels),
        )

    def _encode_attributes(self, fields: Sequence[str]) -> Ints:
        """The values of the attributes of each word; BOUNDARY for an attribute it has not."""
        numbers = {field: number for number, field in enumerate(dict.fromkeys(fields))}
        rows = np.array([self._attribute_row(field) for field in numbers], np.int64)
        index = [numbers[field] for field in fields]
        return rows.reshape(-1, len(self.attributes))[index]

    def _attribute_row(self, field: str) -> tuple[int, ...]:
        # Other threads may fill or empty the cache between any two lines: each line is one atomic
        # operation of the dict, and nothing is looked up that must be there.
        row = self._attribute_rows.get(field)
        if row is None:
            row = self._computed_row(field)
            if len(self._attribute_rows) >= _CACHE_SIZE:
                self._attribute_rows.clear()
            self._attribute_rows[field] = row
        return row

    def _computed_row(self, field: str) -> tuple[int, ...]:
        row = [BOUNDARY] * len(self.attributes)
        for pair in _pairs(field):
            name = pair.partition("=")[0]
            if name in self.attributes:
                row[self.attributes.index(name)] = self.values.code(pair)
        return tuple(row)

    def metadata(self) -> dict[str, Any]:
        """All that `restore` needs, for JSON."""
        return {
            "columns": [vocabulary.strings for vocabulary in self.columns],
            "attributes": self.attributes,
            "values": self.values.strings,
        }

    @classmethod
    def restore(cls, metadata: Mapping[str, Any]) -> Encoder:
        """The encoder that `metadata` describes."""
        about = Fields(metadata, "the encoder")
        columns = [Fields({"columns": one}).texts("columns") for one in about.items("columns")]
        attributes = about.texts("attributes")
        if len(columns) != len(COLUMN_ATOMS) or not all(map(_ATTRIBUTE.fullmatch, attributes)):
            raise ModelError("the model has columns or attributes that no treebank has")
        return cls(list(map(Vocabulary, columns)), attributes, Vocabulary(about.texts("values")))


def seen_labels(sentences: Sequence[Sentence]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """The labels of a treebank, and (2, labels) whether each is on arcs of the root, on others.

    Where there are no arcs of one kind, all labels may be on them.
    """
    arcs = Counter(
        (label, head == 0)
        for one in sentences
        for label, head in zip(one.deprels, one.heads.tolist(), strict=True)
        if head >= 0
    )
    labels = Vocabulary.build(label for label, _ in arcs.elements()).strings
    seen = np.array([[arcs[label, kind] > 0 for label in labels] for kind in (True, False)])
    return labels, seen | ~seen.any(axis=1, keepdims=True)


def checked_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels of a model, of which there must be one."""
    if not labels:
        raise ModelError("a model needs at least one label: train on sentences with relations")
    return tuple(labels)


def labels_metadata(labels: tuple[str, ...], permitted: NDArray[np.bool_]) -> dict[str, Any]:
    """Labels, and the numbers of those that arcs of the root and others may have, for JSON."""
    at_root, elsewhere = (np.flatnonzero(row).tolist() for row in permitted)
    return {"labels": labels, "root_labels": at_root, "other_labels": elsewhere}


def permitted_labels(about: Fields, labels: int) -> NDArray[np.bool_]:
    """`permitted` of `labels_metadata`: (2, labels)."""
    permitted = np.zeros((2, labels), np.bool_)
    for row, name in zip(permitted, ("root_labels", "other_labels"), strict=True):
        row[about.below(name, labels)] = True
        if not row.any():
            raise ModelError(f"{name} of the model are none: train it again")
    return permitted


def permitted_counts(permitted: NDArray[np.bool_]) -> tuple[int, int]:
    """How many labels an arc of the root may have, and any other."""
    at_root, elsewhere = permitted.sum(axis=1).tolist()
    return at_root, elsewhere


def forbid_labels(scores: NDArray[np.float64], heads: Ints, permitted: NDArray[np.bool_]) -> None:
    """-inf for labels (arcs, labels) that were never seen on arcs of the root, or on others."""
    for is_own, row in zip((heads == 0, heads != 0), permitted, strict=True):
        scores[np.ix_(is_own, ~row)] = -np.inf


def _pairs(field: str) -> Iterable[str]:
    return () if field == "_" else field.split("|")


def _label_codes(deprels: Sequence[str], labels: Vocabulary | None) -> Ints:
    if labels is None:
        return np.full(len(deprels), -1, np.int64)
    codes = labels.encode(deprels)
    # Labels are numbered from 0; a label without a code is one that cannot be learnt from.
    return np.where(codes == UNKNOWN, -1, codes - (len(labels) - len(labels.strings)))
