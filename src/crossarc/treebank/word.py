"""Words of a sentence as objects: views of its columns, and what stands between words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossarc.errors import TreebankError
from crossarc.treebank.columns import (
    DEPREL,
    DEPS,
    FEATS,
    FORM,
    LEMMA,
    MISC,
    UPOS,
    XPOS,
    Field,
    parsed_features,
)
from crossarc.treebank.hints import WORD, attribute_error

if TYPE_CHECKING:
    from crossarc.treebank.sentence import Sentence

__all__ = ["EmptyNode", "MultiwordToken", "Word", "head_probability"]


class MultiwordToken(NamedTuple):
    """A surface token that stands for the words first..last."""

    first: int
    last: int
    form: str
    misc: str


class EmptyNode(NamedTuple):
    """A node of the enhanced graph that is no word; all ten columns as they stand."""

    id: str
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: str
    deprel: str
    deps: str
    misc: str


class Word:
    """A word of a sentence.

    A view: it holds the sentence and a number, reads the columns of the sentence and writes to
    them. Two views of the same word of the same sentence are equal.

        word.head = 3
        word.deprel = "obj"
    """

    __slots__ = ("_id", "_sentence")

    form = Field(FORM, "The word form.")
    lemma = Field(LEMMA, "The lemma.")
    upos = Field(UPOS, "The universal part-of-speech tag (CoNLL-X: the coarse tag).")
    xpos = Field(XPOS, "The language-specific tag (CoNLL-X: the fine tag).")
    feats = Field(FEATS, "Morphological features as they stand; see `feats_dict`.")
    deprel = Field(DEPREL, "The relation to the head.")
    deps = Field(DEPS, "Enhanced dependencies as they stand.")
    misc = Field(MISC, "Anything else, as it stands.")

    def __init__(self, sentence: Sentence, id: int) -> None:
        """For `Sentence`: the word with a number that is known to be there."""
        self._sentence = sentence
        self._id = id

    @property
    def sentence(self) -> Sentence:
        """The sentence that the word belongs to."""
        return self._sentence

    @property
    def id(self) -> int:
        """The number of the word in its sentence, from 1, as in the file and in heads."""
        return self._id

    @property
    def head(self) -> int:
        """The number of the head, 0 for the root, -1 where the column is `_`.

        `parent` is the head as a Word. Assigning raises TreebankError for a number that is not
        that of a word, or that closes a cycle; to change several heads at once, assign
        `sentence.heads`.
        """
        return int(self._sentence.heads[self._id - 1])

    @head.setter
    def head(self, value: int) -> None:
        if isinstance(value, Word):
            raise TreebankError("head is a number: assign the Word to parent, or its id to head")
        heads = self._sentence.heads.tolist()
        heads[self._id - 1] = value
        self._sentence.heads = heads

    @property
    def parent(self) -> Word | None:
        """The head as a Word; None if the head is the root or the column is `_`."""
        head = self.head
        return Word(self._sentence, head) if head > 0 else None

    @parent.setter
    def parent(self, value: Word | None) -> None:
        if value is not None and value.sentence is not self._sentence:
            raise TreebankError(f"the parent of {self!r} must be a word of the same sentence")
        self.head = 0 if value is None else value.id

    @property
    def children(self) -> tuple[Word, ...]:
        """The words whose head this is, in their order. O(n)."""
        found = np.flatnonzero(self._sentence.heads == self._id) + 1
        return tuple(Word(self._sentence, number) for number in found.tolist())

    @property
    def ancestors(self) -> tuple[Word, ...]:
        """The head, its head, and so on; the artificial root is not a word and not among them."""
        heads = self._sentence.heads.tolist()
        numbers: list[int] = []
        head = heads[self._id - 1]
        while head > 0:
            numbers.append(head)
            head = heads[head - 1]
        return tuple(Word(self._sentence, number) for number in numbers)

    @property
    def subtree(self) -> tuple[Word, ...]:
        """The word and all words below it, in their order. O(n)."""
        children: dict[int, list[int]] = {}
        for number, head in enumerate(self._sentence.heads.tolist(), 1):
            children.setdefault(head, []).append(number)
        numbers = [self._id]
        for number in numbers:
            numbers += children.get(number, ())
        return tuple(Word(self._sentence, number) for number in sorted(numbers))

    def path(self, other: Word) -> tuple[Word, ...]:
        """The words on the way to another word of the sentence, both ends included.

        The way goes up to the lowest common ancestor and down again. Where that is the artificial
        root, which is not a word, one root of the sentence follows the other.

        Raises:
            TreebankError: a word on the way has no head, or is of another sentence.
        """
        if other.sentence is not self._sentence:
            raise TreebankError("a path joins words of one sentence")
        up, down = [self, *self.ancestors], [other, *other.ancestors]
        if up[-1] != down[-1]:
            for top in (up[-1], down[-1]):
                if top.head < 0:
                    raise TreebankError(
                        f"no path from word {self.id} to word {other.id}: word {top.id} has no head"
                    )
            return (*up, *reversed(down))
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        return (*up, *reversed(down[:-1]))

    @property
    def is_root(self) -> bool:
        """Whether the word hangs from the artificial root."""
        return self.head == 0

    @property
    def feats_dict(self) -> dict[str, str]:
        """Features by name; a feature without `=` maps to the empty string."""
        return parsed_features(self.feats)

    @property
    def probability(self) -> float | None:
        """The probability of the head, `HeadProb` in MISC, or None.

        Raises:
            TreebankError: HeadProb is not a number from 0 to 1.
        """
        try:
            return head_probability(self.misc)
        except ValueError as error:
            raise TreebankError(
                f"word {self._id} has {error}",
                source=self._sentence.source,
                line=self.line,
                sent_id=self._sentence.sent_id,
            ) from None

    @property
    def multiword_token(self) -> MultiwordToken | None:
        """The surface token that the word is a part of, if it is one of several."""
        for token in self._sentence.multiword_tokens:
            if token.first <= self._id <= token.last:
                return token
        return None

    @property
    def line(self) -> int | None:
        """The line of the file on which the word stood; None if it was not read from one."""
        return self._sentence.line_of(self._id)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Word):
            return NotImplemented
        return self._sentence is other._sentence and self._id == other._id

    def __hash__(self) -> int:
        return hash((id(self._sentence), self._id))

    def __repr__(self) -> str:
        named = [f"{self.form!r}" + ("" if self.upos == "_" else f" {self.upos}")]
        if self.deprel != "_":
            named.append(self.deprel)
        named.append("no head" if self.head < 0 else f"head {self.head}")
        return f"<Word {self._id} {', '.join(named)}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise attribute_error(self, name, WORD)

        def __getitem__(self, key: object) -> Any:
            raise TypeError(
                f"a Word has attributes, not keys: use word.form and so on, not {key!r}"
            )


def head_probability(misc: str) -> float | None:
    """The value of HeadProb in a MISC column, or None.

    Raises:
        ValueError: it is not a number from 0 to 1.
    """
    if "HeadProb=" not in misc:
        return None
    for item in misc.split("|"):
        name, _, value = item.partition("=")
        if name == "HeadProb":
            try:
                probability = float(value)
            except ValueError:
                probability = math.nan
            if not 0 <= probability <= 1:
                raise ValueError(
                    f"HeadProb={value}, which is not a number from 0 to 1: correct it, or remove "
                    "it from MISC"
                )
            return probability
    return None
