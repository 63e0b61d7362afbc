"""What is to be drawn, before it is known how: words, tags, and arcs of several kinds."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.draw.crossings import nonprojective
from crossarc.draw.width import printable
from crossarc.errors import TreebankError
from crossarc.treebank import Sentence
from crossarc.trees import Tree

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["Arc", "Drawable", "Kind", "Picture", "in_step", "picture"]

Drawable: TypeAlias = Sentence | Tree
Source = TypeVar("Source", bound=Drawable)

# Candidate heads below this probability are left out.
LEAST_CANDIDATE = 0.01


class Kind(StrEnum):
    """What an arc tells."""

    plain = "plain"
    nonprojective = "nonprojective"
    same = "same"
    relabelled = "relabelled"
    first = "first"
    second = "second"
    candidate = "candidate"


class Arc(NamedTuple):
    """An arc from a head, 0 for the root, to a word; `other` is its label in the other tree."""

    head: int
    word: int
    label: str
    kind: Kind
    probability: float | None = None
    other: str = ""

    @property
    def shown(self) -> str:
        """What stands on the arc."""
        if self.kind is Kind.candidate and self.probability is not None:
            return f"{self.probability:.0%}"
        if self.kind is Kind.relabelled:
            return f"{self.label or '_'} ≠ {self.other or '_'}"
        return self.label


@dataclass(frozen=True, slots=True)
class Picture:
    """Words and arcs to draw.

    text: the sentence, for a title.
    arcs: those of the tree first, in the order of the words.
    nonprojective: which of the tree's arcs are, one a word.
    probabilities: of the heads in the tree, one a word.
    names: what is compared, if anything is.
    """

    forms: Sequence[str]
    tags: Sequence[str] | None
    text: str
    arcs: Sequence[Arc]
    nonprojective: Sequence[bool]
    probabilities: Sequence[float | None] | None = None
    names: tuple[str, str] | None = None

    @property
    def chances(self) -> list[str] | None:
        """The probabilities as they are shown, empty where there is none."""
        if self.probabilities is None:
            return None
        return ["" if chance is None else f"{chance:.0%}" for chance in self.probabilities]

    @property
    def is_projective(self) -> bool:
        """Whether no arc of the tree is non-projective."""
        return not any(self.nonprojective)

    @property
    def heads(self) -> list[int]:
        """The heads of the tree, that of word 1 first."""
        return [arc.head for arc in self.arcs[: len(self.forms)]]

    @property
    def is_right_to_left(self) -> bool:
        """Whether most words begin in a right-to-left script."""
        balance = 0
        for form in self.forms:
            if not form.isascii():
                strong = (unicodedata.bidirectional(c) for c in form)
                kind = next((k for k in strong if k in ("L", "R", "AL")), "")
                balance += (kind in ("R", "AL")) - (kind == "L")
            else:
                balance -= form.isalpha()
        return balance > 0


def picture(
    source: Drawable,
    *,
    forms: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    probabilities: ArrayLike | None = None,
    candidates: Collection[int] = (),
    against: Drawable | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> Picture:
    """What a drawing of a sentence or tree shows; the options are those of `crossarc.draw.svg`.

    Raises:
        TreebankError: a word without a head, values that are not one a word, probabilities that
            are none, or a comparison of different sentences.
    """
    tree = source.tree if isinstance(source, Sentence) else source
    n = len(tree)
    if isinstance(source, Sentence):
        forms = source.forms if forms is None else forms
        tags = _tags(source) if tags is None else tags
    forms = [str(word) for word in range(1, n + 1)] if forms is None else forms
    for name, values in (("forms", forms), ("tags", tags)):
        if values is not None and len(values) != n:
            raise TreebankError(f"{n} words need as many {name}: got {len(values)}")
    far = nonprojective(tree.heads.tolist())
    matrix, of_heads = _probabilities(source, tree, probabilities)
    if against is not None:
        _check_same_words(source, against, n)
        arcs = _difference(tree, against.tree if isinstance(against, Sentence) else against)
    else:
        arcs = _arcs(tree, far, of_heads)
    if candidates:
        arcs += _candidates(tree, matrix, candidates)
    return Picture(
        forms=[printable(form) for form in forms],
        tags=None if tags is None else [printable(tag) for tag in tags],
        text=printable(source.text if isinstance(source, Sentence) else " ".join(forms)),
        arcs=arcs,
        nonprojective=far,
        probabilities=of_heads,
        names=None if against is None else names,
    )


def in_step(
    sentences: Iterable[Source], against: Iterable[Source] | None
) -> Iterator[tuple[Source, Source | None]]:
    """Each sentence with what it is compared with, if anything.

    Raises:
        TreebankError: one of the two has more sentences.
    """
    if against is None:
        yield from ((sentence, None) for sentence in sentences)
        return
    for number, (sentence, other) in enumerate(zip_longest(sentences, against)):
        if sentence is None or other is None:
            shorter = "second" if other is None else "first"
            raise TreebankError(
                f"the {shorter} treebank ends after {number} sentences: "
                "compare the same sentences, in the same order"
            )
        yield sentence, other


def _tags(sentence: Sentence) -> Sequence[str] | None:
    tags = sentence.upos
    return None if set(tags) == {"_"} else tags


def _labels(tree: Tree) -> list[str]:
    if tree.labels is None:
        return [""] * len(tree)
    return ["" if label == "_" else printable(str(label)) for label in tree.labels]


def _arcs(
    tree: Tree, far: Sequence[bool], probabilities: Sequence[float | None] | None
) -> list[Arc]:
    heads: list[int] = tree.heads.tolist()
    kinds = [Kind.nonprojective if one else Kind.plain for one in far]
    chances = probabilities or [None] * len(heads)
    words = range(1, len(heads) + 1)
    return list(map(Arc, heads, words, _labels(tree), kinds, chances))


def _difference(tree: Tree, other: Tree) -> list[Arc]:
    """Arcs in both trees once, then those in one of them."""
    rows = zip(
        tree.heads.tolist(), _labels(tree), other.heads.tolist(), _labels(other), strict=True
    )
    arcs: list[Arc] = []
    others: list[Arc] = []
    for word, (head, label, other_head, other_label) in enumerate(rows, 1):
        if head != other_head:
            arcs.append(Arc(head, word, label, Kind.first))
            others.append(Arc(other_head, word, other_label, Kind.second))
        elif label != other_label:
            arcs.append(Arc(head, word, label, Kind.relabelled, other=other_label))
        else:
            arcs.append(Arc(head, word, label, Kind.same))
    return arcs + others


def _candidates(
    tree: Tree, matrix: NDArray[np.float64] | None, words: Collection[int]
) -> list[Arc]:
    if matrix is None:
        raise TreebankError(
            "candidates need the probability of every arc: "
            "give probabilities as an (n+1, n+1) array"
        )
    n = len(tree)
    arcs = []
    for word in sorted(set(words)):
        if not 1 <= word <= n:
            raise TreebankError(f"there is no word {word} among {n} words: use 1 to {n}")
        for head in range(n + 1):
            chance = float(matrix[head, word])
            if head not in (word, int(tree.heads[word - 1])) and chance >= LEAST_CANDIDATE:
                arcs.append(Arc(head, word, "", Kind.candidate, chance))
    return arcs


def _check_same_words(source: Drawable, against: Drawable, n: int) -> None:
    if len(against) != n:
        raise TreebankError(
            f"a sentence of {n} words cannot be compared with one of {len(against)}"
        )
    if isinstance(source, Sentence) and isinstance(against, Sentence):
        pairs = zip(source.forms, against.forms, strict=True)
        for word, (here, there) in enumerate(pairs, 1):
            if here != there:
                raise TreebankError(
                    f"word {word} is {here!r} here and {there!r} there: compare the same sentences",
                    sent_id=source.sent_id,
                )


def _probabilities(
    source: Drawable, tree: Tree, given: ArrayLike | None
) -> tuple[NDArray[np.float64] | None, list[float | None] | None]:
    """The probability of every arc, where it is known, and of the tree's own arcs."""
    n = len(tree)
    if given is None:
        return None, _written_probabilities(source) if isinstance(source, Sentence) else None
    array = np.asarray(given, np.float64)
    if array.ndim == 3:
        array = array.sum(axis=2)
    if array.shape not in ((n,), (n + 1, n + 1)):
        raise TreebankError(
            f"probabilities of {n} words must be one a word, ({n},), or one an arc, "
            f"({n + 1}, {n + 1}): got {array.shape}"
        )
    own = array if array.ndim == 1 else array[tree.heads, np.arange(1, n + 1)]
    checked = own if array.ndim == 1 else array
    if not ((checked >= 0) & (checked <= 1 + 1e-9)).all():
        raise TreebankError("probabilities must lie between 0 and 1: give marginals, not scores")
    return (array if array.ndim == 2 else None), own.tolist()


def _written_probabilities(sentence: Sentence) -> list[float | None] | None:
    """The HeadProb values in MISC, if there are any."""
    misc = sentence.misc
    if "HeadProb=" not in "".join(misc):
        return None
    return [_head_probability(field, sentence.sent_id) for field in misc]


def _head_probability(field: str, sent_id: str | None) -> float | None:
    for part in field.split("|"):
        if part.startswith("HeadProb="):
            value = part.removeprefix("HeadProb=")
            try:
                chance = float(value)
            except ValueError:
                chance = -1.0
            if not 0 <= chance <= 1:
                raise TreebankError(
                    f"HeadProb={value} is not a number from 0 to 1: correct or remove it",
                    sent_id=sent_id,
                )
            return chance
    return None
