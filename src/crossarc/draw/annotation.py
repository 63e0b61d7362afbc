"""What a sentence says besides its tree: probabilities, enhanced arcs, tokens, lemmas, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crossarc.draw.widths import printable
from crossarc.errors import TreebankError
from crossarc.treebank import Sentence

__all__ = [
    "EmptyNode",
    "EnhancedArc",
    "caption",
    "details",
    "empty_nodes",
    "enhanced_arcs",
    "rank",
    "written_probabilities",
]

# Columns of the rows of empty nodes.
_ID, _FORM, _LEMMA, _UPOS, _XPOS, _FEATS, _DEPS = 0, 1, 2, 3, 4, 5, 8


class EmptyNode(NamedTuple):
    """A node such as 8.1, which has no word of the sentence."""

    id: str
    form: str
    tag: str
    details: str

    @property
    def after(self) -> int:
        """The word that it follows, 0 before the first one."""
        return int(self.id.partition(".")[0])


class EnhancedArc(NamedTuple):
    """An arc of the enhanced graph; the ends are ids such as "0", "3" and "8.1"."""

    head: str
    dependent: str
    label: str


def empty_nodes(sentence: Sentence) -> list[EmptyNode]:
    """The empty nodes, in the order of the file."""
    return [
        EmptyNode(row[_ID], printable(row[_FORM]), printable(row[_UPOS]), _details(row))
        for row in sentence.empty_nodes
    ]


def enhanced_arcs(sentence: Sentence) -> list[EnhancedArc]:
    """The arcs in DEPS, of words and then of empty nodes.

    Raises:
        TreebankError: DEPS names a node that is not there, or is not written as `head:label|...`.
    """
    deps = [(str(number), field) for number, field in enumerate(sentence.deps, 1)]
    deps += [(row[_ID], row[_DEPS]) for row in sentence.empty_nodes]
    known = {"0", *(name for name, _ in deps)}
    return [
        EnhancedArc(head, dependent, printable(label))
        for dependent, field in deps
        if field != "_"
        for head, label in _heads(field, dependent, known, sentence.sent_id)
    ]


def _heads(
    field: str, dependent: str, known: set[str], sent_id: str | None
) -> Iterator[tuple[str, str]]:
    for part in field.split("|"):
        head, colon, label = part.partition(":")
        if not colon or head not in known or head == dependent:
            raise TreebankError(
                f"DEPS of {dependent} has {part!r}: write the id of another node, a colon and the "
                "relation",
                sent_id=sent_id,
            )
        yield head, label


def details(sentence: Sentence) -> list[str]:
    """For each word what a tooltip shows: form, lemma, tags and features, a line each."""
    columns = (sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats)
    return [_details(("", *row)) for row in zip(*columns, strict=True)]


def _details(row: Sequence[str]) -> str:
    """The lines of a tooltip; none where only the form and its tag are known."""
    lemma, upos, xpos, feats = (row[column] for column in (_LEMMA, _UPOS, _XPOS, _FEATS))
    if lemma == xpos == feats == "_":
        return ""
    lines = [row[_FORM]]
    if lemma != "_":
        lines.append(f"lemma: {lemma}")
    if tags := [tag for tag in (upos, xpos) if tag != "_"]:
        lines.append(f"tags: {' '.join(tags)}")
    if feats != "_":
        lines.append(feats.replace("|", ", "))
    return "\n".join(map(printable, lines))


def rank(sentence: Sentence) -> dict[str, str]:
    """The comments `kbest`, such as 2/5, and `log_prob`, as far as there are any."""
    found = {key: sentence.comment(key) for key in ("kbest", "log_prob")}
    return {key: printable(value) for key, value in found.items() if value}


def caption(sentence: Sentence) -> str:
    """The id of a sentence, and the rank of its tree among the k best."""
    parts = [sentence.sent_id or "", *(f"{key} = {v}" for key, v in rank(sentence).items())]
    return ", ".join(filter(None, parts))


def written_probabilities(sentence: Sentence) -> list[float | None] | None:
    """The HeadProb values in MISC, if there are any.

    Raises:
        TreebankError: one of them is not a number from 0 to 1.
    """
    misc = sentence.misc
    if "HeadProb=" not in "".join(misc):
        return None
    return [_head_probability(field, sentence.sent_id) for field in misc]


def _head_probability(field: str, sent_id: str | None) -> float | None:
    for part in field.split("|"):
        if part.startswith("HeadProb="):
            value = part.removeprefix("HeadProb=")
            try:
                probability = float(value)
            except ValueError:
                probability = -1.0
            if not 0 <= probability <= 1:
                raise TreebankError(
                    f"HeadProb={value} is not a number from 0 to 1: correct or remove it",
                    sent_id=sent_id,
                )
            return probability
    return None
