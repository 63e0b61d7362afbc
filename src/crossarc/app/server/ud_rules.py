"""Where a tree breaks rules of Universal Dependencies: hints for a person, not errors.

The rules are those of levels 2 and 3 of UD's validation that need neither the language nor the
context: https://universaldependencies.org/contributing/validation.html. Words that begin a `fixed`
or `goeswith` expression are not held to the rules on tags, as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from crossarc.treebank import Sentence

__all__ = ["RELATIONS", "TAGS", "Hint", "find_hints"]

RELATIONS = tuple(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse "
    "dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis "
    "punct reparandum root vocative xcomp".split()
)
TAGS = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
)

_LEFT_TO_RIGHT = {"conj", "fixed", "flat", "goeswith", "appos"}
_ALWAYS = {"goeswith", "fixed", "reparandum", "conj", "punct"}
# Relations of words that have no dependents but these.
_LEAVES: Mapping[str, set[str]] = {
    "mark": _ALWAYS | {"advmod", "obl", "cc"},
    "case": _ALWAYS | {"advmod", "obl", "cc"},
    "aux": _ALWAYS | {"cc"},
    "cop": _ALWAYS | {"cc"},
    "cc": _ALWAYS,
    "fixed": _ALWAYS - {"fixed"},
    "goeswith": set(),
    "punct": {"punct"},
}
# Tags of words with a relation.
_ALLOWED: Mapping[str, set[str]] = {
    "det": {"DET", "PRON"},
    "nummod": {"NUM"},
    "advmod": {"ADV", "ADJ", "CCONJ", "DET", "PART", "SYM"},
    "expl": {"PRON", "DET", "PART"},
    "aux": {"AUX"},
    "cop": {"AUX", "PRON", "DET", "SYM"},
    "punct": {"PUNCT"},
}
_CONTENT = {"NOUN", "PROPN", "ADJ", "PRON", "DET", "NUM", "AUX"}
_REFUSED: Mapping[str, set[str]] = {
    "case": _CONTENT - {"NOUN"},
    "mark": _CONTENT | {"VERB", "INTJ"},
    "cc": _CONTENT | {"VERB", "INTJ"},
}


class Hint(NamedTuple):
    """A broken rule, at a word counted from 1."""

    word: int
    message: str


def find_hints(sentence: Sentence) -> list[Hint]:
    """The broken rules of a sentence in which every word has a head, in the order of words."""
    heads: list[int] = sentence.heads.tolist()
    relations = [deprel.partition(":")[0] for deprel in sentence.deprels]
    found = [*_roots(heads, relations), *_names(sentence, relations)]
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        children[head].append(word)
    found += _directions(heads, relations)
    found += _leaves(children, relations)
    found += _tags(sentence.upos, children, relations)
    found += _arguments(children, sentence.deprels)
    found += _punctuation(sentence, relations)
    return sorted(found)


def _roots(heads: Sequence[int], relations: Sequence[str]) -> Iterator[Hint]:
    roots = [word for word, head in enumerate(heads, 1) if head == 0]
    for word in roots[1:]:
        yield Hint(word, f"a second root, after word {roots[0]}: a tree has one")
    for word, (head, relation) in enumerate(zip(heads, relations, strict=True), 1):
        if head == 0 and relation != "root":
            yield Hint(word, f"the root has the relation {relation}: it should be root")
        if head != 0 and relation == "root":
            yield Hint(word, "the relation root is for the word that hangs from the root")


def _names(sentence: Sentence, relations: Sequence[str]) -> Iterator[Hint]:
    for word, (relation, tag) in enumerate(zip(relations, sentence.upos, strict=True), 1):
        if relation not in RELATIONS:
            yield Hint(word, f"{relation} is no universal relation")
        if tag not in TAGS:
            yield Hint(word, f"{tag} is no universal tag")


def _directions(heads: Sequence[int], relations: Sequence[str]) -> Iterator[Hint]:
    for word, (head, relation) in enumerate(zip(heads, relations, strict=True), 1):
        if relation in _LEFT_TO_RIGHT and head > word:
            yield Hint(word, f"{relation} goes from left to right: the first word is the head")


def _leaves(children: Sequence[Sequence[int]], relations: Sequence[str]) -> Iterator[Hint]:
    for word, relation in enumerate(relations, 1):
        allowed = _LEAVES.get(relation)
        if allowed is None:
            continue
        for child in children[word]:
            if relations[child - 1] not in allowed:
                yield Hint(
                    word,
                    f"a word with the relation {relation} has no {relations[child - 1]} below it",
                )


def _tags(
    tags: Sequence[str], children: Sequence[Sequence[int]], relations: Sequence[str]
) -> Iterator[Hint]:
    for word, (tag, relation) in enumerate(zip(tags, relations, strict=True), 1):
        if any(relations[child - 1] in ("fixed", "goeswith") for child in children[word]):
            continue
        if relation in _ALLOWED and tag not in _ALLOWED[relation]:
            yield Hint(word, f"{relation} does not go with {tag}")
        if tag in _REFUSED.get(relation, ()):
            yield Hint(word, f"{relation} does not go with {tag}")
        if tag == "PUNCT" and relation not in ("punct", "root"):
            yield Hint(word, f"punctuation has the relation punct, not {relation}")


def _arguments(children: Sequence[Sequence[int]], deprels: Sequence[str]) -> Iterator[Hint]:
    for below in children[1:]:
        own = [(child, deprels[child - 1]) for child in below]
        subjects = [
            c for c, d in own if d.partition(":")[0] in ("nsubj", "csubj") and ":outer" not in d
        ]
        objects = [c for c, d in own if d.partition(":")[0] == "obj"]
        for name, words in (("subject", subjects), ("object", objects)):
            for word in words[1:]:
                yield Hint(word, f"a second {name} of the same word, after word {words[0]}")


def _punctuation(sentence: Sentence, relations: Sequence[str]) -> Iterator[Hint]:
    crossing = sentence.tree.nonprojective_arcs.tolist()
    for word, (relation, is_crossing) in enumerate(zip(relations, crossing, strict=True), 1):
        if relation == "punct" and is_crossing:
            yield Hint(word, "punctuation is attached across other words' arcs")
