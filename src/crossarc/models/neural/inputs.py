"""Sentences to padded arrays: codes of words, tags, features and characters.

All sentences of a data set are encoded once; a batch is a selection of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.learning import learnable_heads
from crossarc.models.checks import Fields
from crossarc.models.encode import BOUNDARY, ROOT, UNKNOWN, Vocabulary
from crossarc.models.kinds import RootRule
from crossarc.treebank import Sentence

__all__ = [
    "COLUMNS",
    "SIBLING_SIDES",
    "SIDES",
    "Batch",
    "Inputs",
    "Shape",
    "Vocabularies",
    "length_batches",
]

Ints = NDArray[np.int64]

#: Columns of `Inputs.codes`; the values of FEATS follow them.
COLUMNS = ("form", "lemma", "upos", "xpos")
#: The words of an arc, and those of a part of two arcs.
SIDES = ("head", "modifier")
SIBLING_SIDES = ("head", "sibling", "modifier")
# Longer words keep their beginning and their end.
_LONGEST_WORD = 24
# Features of a word, in a file.
_MOST_FEATS = 1000
# A code of BOUNDARY in the columns of FEATS stands for no value, and in characters for none.
_NOTHING = BOUNDARY


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """What the network knows: strings of each column, values of FEATS, characters.

    Attributes:
        columns: a vocabulary for each of COLUMNS; words count in lower case.
        feats: pairs such as Case=Nom.
        max_feats: of one word.
    """

    columns: tuple[Vocabulary, ...]
    feats: Vocabulary
    characters: Vocabulary
    max_feats: int

    @classmethod
    def build(cls, sentences: Sequence[Sentence], *, cutoff: int = 2) -> Self:
        """The vocabularies of a treebank.

        Args:
            cutoff: how often a form or a lemma must occur to have a code of its own.
        """
        columns = tuple(
            Vocabulary.build(
                (s for one in sentences for s in _column(one, name)),
                at_least=cutoff if name in ("form", "lemma") else 1,
            )
            for name in COLUMNS
        )
        pairs = [_pairs(field) for one in sentences for field in one.feats]
        return cls(
            columns,
            Vocabulary.build(pair for own in pairs for pair in own),
            Vocabulary.build(
                (c for one in sentences for form in one.forms for c in form), at_least=cutoff
            ),
            max((len(own) for own in pairs), default=0),
        )

    def encode(self, sentences: Sequence[Sentence], labels: Vocabulary | None = None) -> Inputs:
        """Codes of all words and their roots; gold labels where their vocabulary is given."""
        sizes = np.array([len(one) for one in sentences], np.int64)
        starts = np.cumsum(sizes + 1) - sizes - 1
        words = np.ones(int(sizes.sum()) + len(sizes), bool)
        words[starts] = False
        codes = np.full((len(words), len(COLUMNS) + self.max_feats), _NOTHING, np.int64)
        codes[starts, : len(COLUMNS)] = ROOT
        for number, name in enumerate(COLUMNS):
            strings = [s for one in sentences for s in _column(one, name)]
            codes[words, number] = self.columns[number].encode(strings)
        codes[words, len(COLUMNS) :] = self._encode_feats(sentences)
        forms = [form for one in sentences for form in one.forms]
        distinct = {form: number for number, form in enumerate(dict.fromkeys(forms), 1)}
        spelling, spelling_sizes = self._spellings(list(distinct))
        form_numbers = np.zeros(len(words), np.int64)
        form_numbers[words] = [distinct[form] for form in forms]
        gold = np.full((2, len(words)), -1, np.int64)
        gold[0, words] = [head for one in sentences for head in one.heads.tolist()]
        if labels is not None:
            deprels = [relation for one in sentences for relation in one.deprels]
            found = labels.encode(deprels)
            offset = len(labels) - len(labels.strings)
            gold[1, words] = np.where(found == UNKNOWN, -1, found - offset)
        heads, codes_of_labels = gold
        return Inputs(
            codes,
            form_numbers,
            spelling,
            spelling_sizes,
            sizes,
            starts,
            heads,
            codes_of_labels,
            targets=heads,
        )

    def _encode_feats(self, sentences: Sequence[Sentence]) -> Ints:
        rows: dict[str, Ints] = {}
        fields = [field for one in sentences for field in one.feats]
        for field in dict.fromkeys(fields):
            row = np.full(self.max_feats, _NOTHING, np.int64)
            # A new text may have more values at a word than the treebank: the first ones count.
            known = [pair for pair in _pairs(field) if pair in self.feats][: self.max_feats]
            row[: len(known)] = self.feats.encode(known)
            rows[field] = row
        return np.array([rows[field] for field in fields], np.int64).reshape(len(fields), -1)

    def _spellings(self, forms: Sequence[str]) -> tuple[Ints, Ints]:
        """Codes of the characters of each form, from row 1 on, and how many; row 0 is the root."""
        half = _LONGEST_WORD // 2
        short = [f if len(f) <= _LONGEST_WORD else f[:half] + f[-half:] for f in forms]
        sizes = np.array([1] + [max(1, len(form)) for form in short], np.int64)
        codes = np.full((len(sizes), int(sizes.max())), _NOTHING, np.int64)
        codes[0, 0] = ROOT
        for row, form in enumerate(short, 1):
            codes[row, : len(form)] = self.characters.encode(form)
        return codes, sizes

    def metadata(self) -> dict[str, Any]:
        """All that `restore` needs, for JSON."""
        return {
            "columns": [one.strings for one in self.columns],
            "feats": self.feats.strings,
            "characters": self.characters.strings,
            "max_feats": self.max_feats,
        }

    @classmethod
    def restore(cls, metadata: Mapping[str, Any]) -> Self:
        """The vocabularies that `metadata` describes."""
        about = Fields(metadata, "the vocabularies")
        columns = [Fields({"columns": one}).texts("columns") for one in about.items("columns")]
        if len(columns) != len(COLUMNS):
            raise ModelError(f"the model must have {len(COLUMNS)} columns: got {len(columns)}")
        return cls(
            tuple(map(Vocabulary, columns)),
            Vocabulary(about.texts("feats")),
            Vocabulary(about.texts("characters")),
            about.whole("max_feats", 0, _MOST_FEATS),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences as arrays, padded to the longest; column 0 is the root.

    codes: (batch, n+1, columns); padding has the codes of a root.
    forms: (batch, n+1), rows of `spelling`.
    spelling: (distinct forms, characters); spelling_sizes: how many each has.
    sizes: words of each sentence.
    heads, labels: (batch, n+1), -1 where there is none, at the root and in the padding.
    targets: heads that the scores of arcs learn, see `Inputs.learnable`.
    sentences: their numbers in the data set.
    """

    codes: Ints
    forms: Ints
    spelling: Ints
    spelling_sizes: Ints
    sizes: Ints
    heads: Ints
    labels: Ints
    targets: Ints
    sentences: Ints


@dataclass(frozen=True, slots=True)
class Inputs:
    """A data set as arrays; a sentence has a row for its root and one for each word.

    codes: (rows, columns). forms: the row of `spelling` of each row. spelling_sizes: characters.
    sizes: words of each sentence. starts: the row of its root. heads, labels: of each row, or -1.
    targets: heads that the scores of arcs learn.
    """

    codes: Ints
    forms: Ints
    spelling: Ints
    spelling_sizes: Ints
    sizes: Ints
    starts: Ints
    heads: Ints
    labels: Ints
    targets: Ints

    def __len__(self) -> int:
        return len(self.sizes)

    def sentence_targets(self, sentence: int) -> Ints:
        """The heads to learn of one sentence, that of word 1 first."""
        begin = self.starts[sentence] + 1
        return self.targets[begin : begin + self.sizes[sentence]]

    def learnable(self, *, projective: bool, root: RootRule) -> Inputs:
        """The same, with targets that some tree has; see `learnable_heads`."""
        targets = self.targets.copy()
        whole = replace(self, targets=targets)
        for sentence in range(len(self)):
            own = whole.sentence_targets(sentence)
            own[:] = learnable_heads(own, projective=projective, root=root)
        return whole

    def batch(self, sentences: Ints) -> Batch:
        """Some of the sentences."""
        sizes = self.sizes[sentences]
        columns = np.arange(int(sizes.max()) + 1)
        padding = columns > sizes[:, None]
        rows = self.starts[sentences][:, None] + np.where(padding, 0, columns)
        distinct, forms = np.unique(self.forms[rows], return_inverse=True)
        lengths = self.spelling_sizes[distinct]
        return Batch(
            self.codes[rows],
            forms.reshape(rows.shape),
            self.spelling[distinct, : lengths.max()],
            lengths,
            sizes,
            np.where(padding, -1, self.heads[rows]),
            np.where(padding, -1, self.labels[rows]),
            np.where(padding, -1, self.targets[rows]),
            sentences,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of a network; all that must be known to build one."""

    columns: tuple[int, ...]
    feats: int
    characters: int
    labels: int
    layers: int
    hidden: int
    arc_size: int
    label_size: int
    dropout: float
    word_dropout: float
    column_sizes: tuple[int, ...] = (100, 100, 50, 50)
    feats_size: int = 100
    character_size: int = 50
    spelling_size: int = 100
    encoder_size: int = 0
    sibling_size: int = 0  # none in first order

    @classmethod
    def of(cls, vocabularies: Vocabularies, **sizes: Any) -> Shape:
        """The shape for some vocabularies."""
        return cls(
            columns=tuple(len(one) for one in vocabularies.columns),
            feats=len(vocabularies.feats),
            characters=len(vocabularies.characters),
            **sizes,
        )

    @classmethod
    def restore(cls, metadata: Mapping[str, Any], vocabularies: Vocabularies, labels: int) -> Shape:
        """The shape in a model file, which must fit the vocabularies."""
        about = Fields(metadata, "the shape")
        sizes = {name: about.whole(name, 1, _MOST) for name in _SIZES}
        sizes["layers"] = about.whole("layers", 0, _MOST_LAYERS)
        sizes["encoder_size"] = about.whole("encoder_size", 0, _MOST)
        if "sibling_size" in metadata:  # files of before have no siblings
            sizes["sibling_size"] = about.whole("sibling_size", 0, _MOST)
        columns = [
            Fields({"a size": one}).whole("a size", 1, _MOST) for one in about.items("column_sizes")
        ]
        shape = cls.of(
            vocabularies,
            labels=labels,
            column_sizes=tuple(columns),
            dropout=about.number("dropout", -1.0, 1.0),
            word_dropout=about.number("word_dropout", -1.0, 2.0),
            **sizes,
        )
        if len(columns) != len(COLUMNS) or any(
            list(np.atleast_1d(metadata[name])) != list(np.atleast_1d(getattr(shape, name)))
            for name in ("columns", "feats", "characters", "labels")
        ):
            raise ModelError("the network of the model does not fit its vocabularies")
        return shape

    def weights(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all weights by name, but for those of a pretrained encoder."""
        pairs = zip(self.columns, self.column_sizes, strict=True)
        found: dict[str, tuple[int, ...]]
        found = {f"columns.{k}.weight": pair for k, pair in enumerate(pairs)}
        found |= {f"{name}.weight": (self.feats, self.feats_size) for name in _FEATS}
        found["spelling.characters.weight"] = self.characters, self.character_size
        half = self.spelling_size // 2
        found |= _lstm_weights("spelling.states", 0, self.character_size, half)
        width = sum(self.column_sizes) + 2 * self.feats_size + 2 * half + self.encoder_size
        for layer in range(self.layers):
            found |= _lstm_weights("context", layer, width, self.hidden)
            width = 2 * self.hidden
        sizes = {"arc": self.arc_size, "label": self.label_size}
        projections = {f"{part}_{side}": sizes[part] for part in sizes for side in SIDES}
        if self.sibling_size:
            projections |= {f"sibling_{side}": self.sibling_size for side in SIBLING_SIDES}
            found["sibling_scores.weight"] = found["sibling_scores.none"] = (self.sibling_size,)
        for name, size in projections.items():
            found[f"{name}.0.weight"] = size, width
            found[f"{name}.0.bias"] = (size,)
        found["arc_scores.weight"] = 1, self.arc_size + 1, self.arc_size + 1
        found["label_scores.weight"] = self.labels, self.label_size + 1, self.label_size + 1
        return found


# Of one layer, and of layers, in a file.
_MOST, _MOST_LAYERS = 1 << 20, 100
_SIZES = ("hidden", "arc_size", "label_size", "feats_size", "character_size", "spelling_size")
_FEATS = ("feats", "kept_feats")


def _lstm_weights(name: str, layer: int, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for suffix in (f"l{layer}", f"l{layer}_reverse"):
        found[f"{name}.weight_ih_{suffix}"] = 4 * hidden, width
        found[f"{name}.weight_hh_{suffix}"] = 4 * hidden, hidden
        found[f"{name}.bias_ih_{suffix}"] = found[f"{name}.bias_hh_{suffix}"] = (4 * hidden,)
    return found


def length_batches(
    sizes: Ints, words: int, rng: np.random.Generator | None = None
) -> Iterator[Ints]:
    """Numbers of sentences of about the same length, at most so many words after padding.

    Args:
        rng: draws the order of batches, and of sentences of the same length.
    """
    ties = np.arange(len(sizes)) if rng is None else rng.permutation(len(sizes))
    # With noise of a word or two the batches of a pass differ from those of the next.
    noise = 0.0 if rng is None else rng.uniform(-1.5, 1.5, len(sizes))
    order = np.lexsort((ties, sizes + noise))
    batches, begin, longest = [], 0, 0
    for end, sentence in enumerate(order):
        longest = max(longest, int(sizes[sentence]))
        if end > begin and longest * (end + 1 - begin) > words:
            batches.append(order[begin:end])
            begin, longest = end, int(sizes[sentence])
    if len(order):
        batches.append(order[begin:])
    if rng is not None:
        batches = [batches[k] for k in rng.permutation(len(batches))]
    return iter(batches)


def _column(sentence: Sentence, name: str) -> Sequence[str]:
    if name == "form":
        return [form.lower() for form in sentence.forms]
    if name == "lemma":
        return sentence.lemmas
    return sentence.upos if name == "upos" else sentence.xpos


def _pairs(field: str) -> list[str]:
    return [] if field == "_" else field.split("|")
