"""A generative grammar of tags, labels and words, with explicit probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crossarc.errors import TreebankError
from crossarc.once import once
from crossarc.treebank.synthetic.random_trees import Ints

__all__ = ["LEFT", "RELATIONS", "RIGHT", "UPOS_TAGS", "Grammar", "random_grammar"]

Floats = npt.NDArray[np.float64]

LEFT, RIGHT = 0, 1  # sides of a head: its dependent stands before it, after it

# fmt: off
UPOS_TAGS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
)
RELATIONS = (
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound",
    "conj", "cop", "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat",
    "goeswith", "iobj", "list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan",
    "parataxis", "punct", "reparandum", "vocative", "xcomp",
)
# fmt: on
_SYLLABLES = [onset + vowel for onset in "bdfghjklmnprstvwzcqy" for vowel in "aeiou"]
_MARKS = (".", ",", "?", "!", ";", ":", "-", "(", ")", '"', "'", "...")


@dataclass(frozen=True, eq=False)
class Grammar:
    """The known parameters from which a synthetic treebank is drawn; arrays become read-only.

    Sides are LEFT = 0 (the dependent before its head) and RIGHT = 1; t, h, m index `tags`.

    Args:
        tags: names of the T tags.
        labels: names of the relations; `root` is not one of them, it labels arcs from the root.
        words: for each tag its forms, without white space; tags may share forms.
        root: (T,), the tags of words that hang from the root.
        attachment: (2, T, T), attachment[side, h] is the distribution of tags of dependents of h.
        emission: for each tag the probabilities of its forms.
        relation: (2, T, T), relation[side, h, m] indexes `labels`.

    Raises:
        TreebankError: shapes that do not fit, or rows that are no probabilities.
    """

    tags: tuple[str, ...]
    labels: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    root: Floats
    attachment: Floats
    emission: tuple[Floats, ...]
    relation: Ints

    def __post_init__(self) -> None:
        for name in ("tags", "labels"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "words", tuple(map(tuple, self.words)))
        count = len(self.tags)
        if count == 0 or not len(self.words) == len(self.emission) == count:
            raise TreebankError(
                f"words and emission need one entry per tag: got {len(self.words)} and"
                f" {len(self.emission)} for {count} tags"
            )
        pair = (2, count, count)
        emission = tuple(
            _checked(f"emission of {tag}", rows, (len(forms),))
            for tag, forms, rows in zip(self.tags, self.words, self.emission, strict=True)
        )
        object.__setattr__(self, "root", _checked("root", self.root, (count,)))
        object.__setattr__(self, "attachment", _checked("attachment", self.attachment, pair))
        object.__setattr__(self, "emission", emission)
        relation = np.array(self.relation)
        inside = relation.shape == pair and relation.dtype.kind in "iu"
        if not inside or relation.min() < 0 or relation.max() >= len(self.labels):
            raise TreebankError(f"relation must be {pair} indices below {len(self.labels)} labels")
        relation = relation.astype(np.int64)
        relation.flags.writeable = False
        object.__setattr__(self, "relation", relation)
        _check_names(self.tags, self.labels, self.words)

    def draw_tags(self, rng: np.random.Generator, heads: Ints, by_depth: Sequence[Ints]) -> Ints:
        """Tags of words 1.., outward from the root; entry 0, for the root itself, is 0."""
        draws = _grid(rng, heads.size)
        tags = np.zeros(heads.size, dtype=np.int64)
        count = len(self.tags)
        tags[by_depth[0]] = self._tags.draw(np.zeros(1, dtype=np.int64), draws[by_depth[0]])
        for words in by_depth[1:]:
            side = np.where(words < heads[words], LEFT, RIGHT)
            tags[words] = self._tags.draw(1 + side * count + tags[heads[words]], draws[words])
        return tags

    def draw_forms(self, rng: np.random.Generator, tags: Ints) -> tuple[list[str], list[str]]:
        """A form for each tag, and the lemmas: the forms in lower case."""
        forms = self._forms.begins[tags] + self._forms.draw(tags, _grid(rng, tags.size))
        return self._vocabulary[0][forms].tolist(), self._vocabulary[1][forms].tolist()

    def tag_names(self, tags: Ints) -> list[str]:
        """The names of tags, given by index."""
        names: list[str] = self._names[0][tags].tolist()
        return names

    def arc_labels(self, heads: Ints, tags: Ints) -> list[str]:
        """The labels of the arcs to words 1.. ."""
        words = np.arange(1, heads.size)
        side = np.where(words < heads[1:], LEFT, RIGHT)
        labels = self.relation[side, tags[heads[1:]], tags[1:]]
        names: list[str] = self._names[1][np.where(heads[1:] > 0, labels, -1)].tolist()
        return names

    @once
    def _tags(self) -> _Rows:
        return _Rows([self.root, *self.attachment[LEFT], *self.attachment[RIGHT]])

    @once
    def _forms(self) -> _Rows:
        return _Rows(self.emission)

    @once
    def _vocabulary(self) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
        forms = [form for forms in self.words for form in forms]
        return np.array(forms, dtype=object), np.array([f.lower() for f in forms], dtype=object)

    @once
    def _names(self) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
        return np.array(self.tags, dtype=object), np.array([*self.labels, "root"], dtype=object)


class _Rows:
    """Distributions of any sizes, drawn from by inverting all their sums in one sorted array."""

    def __init__(self, rows: Sequence[Floats]) -> None:
        sizes = np.array([row.size for row in rows])
        self.begins = np.cumsum(sizes) - sizes
        sums = [np.cumsum(row) for row in rows]
        self._sums = np.concatenate([r + row / row[-1] for r, row in enumerate(sums)])

    def draw(self, rows: Ints, draws: Floats) -> Ints:
        """An outcome of each of `rows`, O(log of all outcomes) each."""
        found: Ints = np.searchsorted(self._sums, rows + draws, side="right") - self.begins[rows]
        return found


def _grid(rng: np.random.Generator, count: int) -> Floats:
    """Numbers in [0, 1) on a grid so coarse that adding the number of a row is exact."""
    return np.floor(rng.random(count) * 2.0**32) * 2.0**-32


def _checked(name: str, values: Floats, shape: tuple[int, ...]) -> Floats:
    """A read-only copy, once every row is known to be a distribution."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or array.size == 0:
        raise TreebankError(f"{name} must have shape {shape}: got {array.shape}")
    if not (array >= 0.0).all() or not (np.abs(array.sum(axis=-1) - 1.0) < 1e-9).all():
        raise TreebankError(f"{name} must hold probabilities that sum to 1 in each row")
    array.flags.writeable = False
    return array


def _check_names(
    tags: Sequence[str], labels: Sequence[str], words: Sequence[Sequence[str]]
) -> None:
    for kind, names in (("tag", tags), ("label", labels), *(("form", forms) for forms in words)):
        for name in names:
            if not name or any(character.isspace() for character in name):
                raise TreebankError(f"{kind} {name!r} is empty or holds white space: rename it")
        if kind != "form" and len(set(names)) < len(names):
            raise TreebankError(f"a {kind} is listed twice: make them distinct")
    if "root" in labels:
        raise TreebankError("label 'root' is kept for words that hang from the root: rename it")


def random_grammar(
    seed: int = 0,
    *,
    tags: Sequence[str] = UPOS_TAGS,
    labels: Sequence[str] = RELATIONS,
    vocabulary: int | Mapping[str, Sequence[str]] = 2000,
    zipf: float = 1.0,
    peak: float = 3.0,
    directed: bool = True,
) -> Grammar:
    """A grammar with random probabilities, the same for the same arguments.

    Args:
        seed: a whole number, 0 or more.
        tags: names of the tags.
        labels: names of the relations, given to pairs of tags at random; if they are there, `punct`
            goes to all dependents tagged PUNCT and to no others.
        vocabulary: how many made-up words to share among the tags, or the forms of each tag.
        zipf: form number r of a tag has a probability proportional to r ** -zipf.
        peak: how uneven the tags are: weights are Exp(1) ** peak. 1 makes all distributions alike
            probable, 0 makes the tags equally probable.
        directed: whether left and right dependents differ.

    Raises:
        TreebankError: fewer words than tags, or names that `Grammar` refuses.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    count = len(tags)
    weights = (-np.log1p(-rng.random((1 + 2 * count, count)))) ** peak
    weights /= np.cumsum(weights, axis=1)[:, -1:]
    attachment = weights[1:].reshape(2, count, count)
    relation = (rng.random((2, count, count)) * len(labels)).astype(np.int64)
    if "PUNCT" in tags and "punct" in labels and len(labels) > 1:
        punct = list(labels).index("punct")
        relation[relation == punct] = (punct + 1) % len(labels)
        relation[:, :, list(tags).index("PUNCT")] = punct
    if not directed:
        attachment[RIGHT], relation[RIGHT] = attachment[LEFT], relation[LEFT]
    if isinstance(vocabulary, int | np.integer):
        words = _made_up_words(tags, int(vocabulary))
    elif set(vocabulary) == set(tags):
        words = [tuple(vocabulary[tag]) for tag in tags]
    else:
        raise TreebankError("vocabulary must list the forms of each tag, and of no others")
    ranks = [np.arange(1.0, len(forms) + 1.0) ** -zipf for forms in words]
    return Grammar(
        tags=tuple(tags),
        labels=tuple(labels),
        words=tuple(words),
        root=weights[0],
        attachment=attachment,
        emission=tuple(rank / rank.sum() for rank in ranks),
        relation=relation,
    )


def _made_up_words(tags: Sequence[str], total: int) -> list[tuple[str, ...]]:
    """Distinct pronounceable forms for each tag, except PUNCT, which has punctuation marks."""
    if not 0 < len(tags) <= total:
        raise TreebankError(f"vocabulary {total}: {len(tags)} tags need at least a word each")
    others = [tag for tag in tags if tag != "PUNCT"] or list(tags)
    marks = min(len(_MARKS), total - len(others)) if len(others) < len(tags) else 0
    forms: dict[str, list[str]] = {tag: [] for tag in others}
    base = len(_SYLLABLES)
    for number in range(total - marks):
        # 61 has no factor in common with the number of syllables, so no word comes twice.
        high, low = divmod(number, base * base)
        middle, last = divmod(low, base)
        word = _SYLLABLES[(middle * 61 + last) % base] + _SYLLABLES[last * 61 % base]
        while high:
            high, rest = divmod(high - 1, base)
            word += _SYLLABLES[rest]
        tag = others[number % len(others)]
        forms[tag].append(word.capitalize() if tag == "PROPN" else word)
    return [tuple(forms[tag]) if tag in forms else _MARKS[:marks] for tag in tags]
