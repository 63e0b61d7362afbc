"""What is drawn, before its layout: words and empty nodes, and arcs of several kinds."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.draw import annotation
from crossarc.draw.spans import nonprojective
from crossarc.draw.widths import printable
from crossarc.errors import TreebankError
from crossarc.treebank import Sentence
from crossarc.trees import Tree

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = [
    "Annotations",
    "Arc",
    "Contents",
    "Drawable",
    "Kind",
    "Node",
    "Picture",
    "Token",
    "picture",
]

Drawable: TypeAlias = Sentence | Tree

# Candidate heads below this probability are left out.
LEAST_CANDIDATE = 0.01


class Annotations(TypedDict, total=False):
    """What is drawn besides the tree: options of `picture`, `svg`, `html`, `latex` and `text`."""

    multiword_tokens: bool
    empty_nodes: bool
    enhanced: bool


class Contents(Annotations, total=False):
    """What a drawing shows of its source: options of `picture`, `svg`, `latex` and `text`."""

    forms: Sequence[str] | None
    tags: Sequence[str] | None
    probabilities: ArrayLike | None
    candidates: Collection[int]
    against: Drawable | None


class Kind(StrEnum):
    """Which graph an arc is in, and what is special about it."""

    basic = "basic"
    nonprojective = "nonprojective"
    same = "same"
    relabelled = "relabelled"
    first = "first"
    second = "second"
    candidate = "candidate"
    enhanced = "enhanced"


class Arc(NamedTuple):
    """An arc between positions of a picture, head 0 for the root.

    `other` is its label in the other tree, or in the enhanced graph.
    """

    head: int
    dependent: int
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
        return self.other or self.label


class Node(NamedTuple):
    """A word, or an empty node, whose id has a point.

    `arc` is its arc in the tree, which an empty node does not have; `details` are lines of text
    for a tooltip.
    """

    id: str
    form: str
    tag: str
    details: str
    arc: Arc | None
    is_nonprojective: bool = False
    probability: float | None = None

    @property
    def probability_text(self) -> str:
        """The probability of the head as it is shown, empty where there is none."""
        return "" if self.probability is None else f"{self.probability:.0%}"


class Token(NamedTuple):
    """A multiword token over the positions first .. last."""

    first: int
    last: int
    form: str


@dataclass(frozen=True)
class Picture:
    """Words and arcs to draw.

    nodes: position 1 first.
    text: the sentence, for a title.
    other_arcs: those that are not in the tree.
    has_tags: whether tags are shown.
    names: what is compared, if anything is.
    """

    nodes: Sequence[Node]
    text: str
    other_arcs: Sequence[Arc]
    has_tags: bool
    tokens: Sequence[Token] = ()
    names: tuple[str, str] | None = None

    @cached_property
    def arcs(self) -> list[Arc]:
        """All arcs, those of the tree first, in the order of the words."""
        return [*(node.arc for node in self.nodes if node.arc), *self.other_arcs]

    @cached_property
    def has_probabilities(self) -> bool:
        """Whether the probability of some head is known."""
        return any(node.probability is not None for node in self.nodes)

    @property
    def is_projective(self) -> bool:
        """Whether no arc of the tree is non-projective."""
        return not any(node.is_nonprojective for node in self.nodes)

    @cached_property
    def is_right_to_left(self) -> bool:
        """Whether most words begin in a right-to-left script."""
        balance = 0
        for _, form, *_ in self.nodes:
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
    multiword_tokens: bool = False,
    empty_nodes: bool = False,
    enhanced: bool = False,
) -> Picture:
    """What a drawing of a sentence or tree shows; the options are those of `crossarc.draw.svg`.

    Raises:
        TreebankError: a word without a head, values that are not one a word, probabilities that
            are none, a comparison of different sentences, or DEPS that cannot be read.
    """
    tree = _tree(source)
    n = len(tree)
    if isinstance(source, Sentence):
        forms = source.forms if forms is None else forms
        tags = _tags(source) if tags is None else tags
    forms = [str(word) for word in range(1, n + 1)] if forms is None else forms
    for name, values in (("forms", forms), ("tags", tags)):
        if values is not None and len(values) != n:
            raise TreebankError(f"{n} words need as many {name}: got {len(values)}")
    crossing = nonprojective(tree.heads.tolist())
    matrix, of_heads = _probabilities(source, tree, probabilities)
    others: list[Arc] = []
    if against is not None:
        _check_same_words(source, against, n)
        arcs, others = _difference(tree, _tree(against))
    else:
        arcs = _arcs(tree, crossing, of_heads)
    if candidates:
        others += _candidates(tree, matrix, candidates)
    numbers = map(str, range(1, n + 1))
    details = annotation.details(source) if isinstance(source, Sentence) else [""] * n
    shown_tags = map(printable, tags or [""] * n)
    rows = zip(
        numbers, map(printable, forms), shown_tags, details, arcs, crossing, of_heads, strict=True
    )
    drawn = Picture(
        nodes=[Node(*row) for row in rows],
        text=printable(source.text if isinstance(source, Sentence) else " ".join(forms)),
        other_arcs=others,
        has_tags=tags is not None,
        names=None if against is None else names,
    )
    if not isinstance(source, Sentence):
        return drawn
    if empty_nodes or enhanced:
        drawn = _with_enhanced(drawn, source, every_arc=enhanced)
    return _with_tokens(drawn, source) if multiword_tokens else drawn


def _tree(source: Drawable) -> Tree:
    if isinstance(source, Sentence):
        return source.tree
    if not isinstance(source, Tree):
        raise TreebankError(
            f"a drawing is of a Sentence or a Tree: got {type(source).__name__}; of heads make a "
            "tree with Tree(heads)"
        )
    return source


def _tags(sentence: Sentence) -> Sequence[str] | None:
    tags = sentence.upos
    return None if set(tags) == {"_"} else tags


def _labels(tree: Tree) -> list[str]:
    if tree.labels is None:
        return [""] * len(tree)
    return ["" if label == "_" else printable(str(label)) for label in tree.labels]


def _arcs(tree: Tree, crossing: Sequence[bool], probabilities: Sequence[float | None]) -> list[Arc]:
    heads: list[int] = tree.heads.tolist()
    kinds = [Kind.nonprojective if one else Kind.basic for one in crossing]
    words = range(1, len(heads) + 1)
    return list(map(Arc, heads, words, _labels(tree), kinds, probabilities))


def _difference(tree: Tree, other: Tree) -> tuple[list[Arc], list[Arc]]:
    """The arcs of the first tree, and those that are in the second one only."""
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
    return arcs, others


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
            probability = float(matrix[head, word])
            if head not in (word, int(tree.heads[word - 1])) and probability >= LEAST_CANDIDATE:
                arcs.append(Arc(head, word, "", Kind.candidate, probability))
    return arcs


def _with_enhanced(drawn: Picture, sentence: Sentence, *, every_arc: bool) -> Picture:
    """The picture with its empty nodes, and with enhanced arcs: every one, or those of the nodes.

    An arc that is in the tree too, under another label, gets the enhanced label.
    """
    empty = annotation.empty_nodes(sentence)
    order = sorted(
        [(int(node.id), 0, node) for node in drawn.nodes]
        + [(node.after, index, node) for index, node in enumerate(empty, 1)],
        key=lambda row: row[:2],
    )
    position = {"0": 0, **{node.id: index for index, (*_, node) in enumerate(order, 1)}}
    extra: dict[tuple[int, int], str] = {}
    for head, dependent, label in annotation.enhanced_arcs(sentence):
        if every_arc or "." in head + dependent:
            ends = position[head], position[dependent]
            extra[ends] = f"{extra[ends]}, {label}" if ends in extra else label

    def moved(arc: Arc) -> Arc:
        return arc._replace(head=position[str(arc.head)], dependent=position[str(arc.dependent)])

    nodes = []
    for *_, node in order:
        if isinstance(node, annotation.EmptyNode):
            tag = "" if node.tag == "_" else node.tag
            nodes.append(Node(node.id, node.form, tag, node.details, None))
            continue
        assert node.arc is not None
        arc = moved(node.arc)
        label = extra.pop(arc[:2], arc.label)
        if label != arc.label and arc.kind is not Kind.relabelled:
            arc = arc._replace(other=label)
        nodes.append(node._replace(arc=arc))
    others = [moved(arc) for arc in drawn.other_arcs]
    others += [Arc(*ends, label, Kind.enhanced) for ends, label in extra.items()]
    return Picture(nodes, drawn.text, others, drawn.has_tags, names=drawn.names)


def _with_tokens(drawn: Picture, sentence: Sentence) -> Picture:
    position = {node.id: index for index, node in enumerate(drawn.nodes, 1)}
    tokens = [
        Token(position[str(first)], position[str(last)], printable(form))
        for first, last, form, _ in sentence.multiword_tokens
    ]
    return Picture(drawn.nodes, drawn.text, drawn.other_arcs, drawn.has_tags, tokens, drawn.names)


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
) -> tuple[NDArray[np.float64] | None, Sequence[float | None]]:
    """The probability of every arc, where it is known, and of the tree's own arcs."""
    n = len(tree)
    if given is None:
        written = None
        if isinstance(source, Sentence):
            written = annotation.written_probabilities(source)
        return None, [None] * n if written is None else written
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
