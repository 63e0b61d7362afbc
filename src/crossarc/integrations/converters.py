"""Sentences to and from objects of conllu, pyconll and spaCy, which are imported when needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from crossarc.treebank import Sentence, read_conllu

if TYPE_CHECKING:
    from conllu import TokenList
    from pyconll.unit.sentence import Sentence as PyconllSentence
    from spacy.tokens import Doc, Span
    from spacy.vocab import Vocab

__all__ = [
    "from_conllu",
    "from_pyconll",
    "from_spacy",
    "span_sentence",
    "to_conllu",
    "to_pyconll",
    "to_spacy",
]


def to_conllu(sentence: Sentence) -> TokenList:
    """A sentence as a `TokenList` of the library conllu."""
    import conllu

    [tokens] = conllu.parse(sentence.to_conllu())
    return tokens


def from_conllu(tokens: TokenList) -> Sentence:
    """A sentence from a `TokenList` of the library conllu.

    Raises:
        TreebankError: it is not valid, see `read_conllu`.
    """
    return _read(tokens.serialize())


def to_pyconll(sentence: Sentence) -> PyconllSentence:
    """A sentence as one of the library pyconll."""
    import pyconll

    [found] = pyconll.load_from_string(sentence.to_conllu())
    return found


def from_pyconll(sentence: PyconllSentence) -> Sentence:
    """A sentence from one of the library pyconll.

    Raises:
        TreebankError: it is not valid, see `read_conllu`.
    """
    return _read(sentence.conll())


def _read(text: str) -> Sentence:
    [sentence] = read_conllu([text.rstrip("\n") + "\n\n"])
    return sentence


def to_spacy(sentences: Iterable[Sentence], vocab: Vocab) -> Doc:
    """Sentences as one `Doc` of spaCy, a token for each word.

    Forms, spaces, lemmas, tags, features, heads and relations are kept. Comments, the surface of
    multiword tokens, empty nodes, DEPS and MISC have no place in a `Doc`.

    Raises:
        TreebankError: a word has no head.
    """
    from spacy.tokens import Doc

    columns: dict[str, list[Any]] = {
        name: []
        for name in (
            "words",
            "spaces",
            "tags",
            "pos",
            "morphs",
            "lemmas",
            "heads",
            "deps",
            "sent_starts",
        )
    }
    for sentence in sentences:
        start, n = len(columns["words"]), len(sentence)
        heads = sentence.tree.heads.tolist()
        columns["words"] += sentence.forms
        columns["spaces"] += _spaces(sentence)
        columns["tags"] += map(_unset, sentence.xpos)
        columns["pos"] += map(_universal, sentence.upos)
        columns["morphs"] += map(_unset, sentence.feats)
        columns["lemmas"] += map(_unset, sentence.lemmas)
        # In spaCy, a root is its own head.
        columns["heads"] += [start + (h or m) - 1 for m, h in enumerate(heads, 1)]
        columns["deps"] += map(_unset, sentence.deprels)
        columns["sent_starts"] += [True] + [False] * (n - 1)
    return Doc(vocab, **columns)


def _unset(value: str) -> str:
    return "" if value == "_" else value


def _universal(tag: str) -> str:
    from spacy.parts_of_speech import IDS

    return tag if tag in IDS else ""


def _spaces(sentence: Sentence) -> list[bool]:
    """Whether a space follows each word; none does within a multiword token."""
    spaces = ["SpaceAfter=No" not in misc.split("|") for misc in sentence.misc]
    for first, last, _, misc in sentence.multiword_tokens:
        spaces[first - 1 : last] = [False] * (last - first) + [
            "SpaceAfter=No" not in misc.split("|")
        ]
    return spaces


def from_spacy(doc: Doc) -> list[Sentence]:
    """The sentences of a `Doc` of spaCy; white space that is a token of its own is left out.

    Heads and relations are `_` where the `Doc` has none.
    """
    spans = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
    found = []
    for number, span in enumerate(spans, 1):
        words = [token for token in span if not token.is_space]
        if words:
            found.append(span_sentence(span, words, f"{number}"))
    return found


def span_sentence(span: Span, words: Sequence[Any], name: str) -> Sentence:
    """A sentence of some tokens of a span."""
    has_tree = span.doc.has_annotation("DEP")
    position = {token.i: index for index, token in enumerate(words, 1)}
    heads = None
    if has_tree:
        heads = [_head(token, position) for token in words]
    return Sentence.build(
        [token.text for token in words],
        lemmas=[token.lemma_ or "_" for token in words],
        upos=[token.pos_ or "_" for token in words],
        xpos=[token.tag_ or "_" for token in words],
        feats=[str(token.morph) or "_" for token in words],
        heads=heads,
        deprels=[token.dep_ or "_" for token in words] if has_tree else None,
        misc=["_" if token.whitespace_ else "SpaceAfter=No" for token in words],
        comments=[f"# sent_id = {name}", f"# text = {' '.join(span.text.split())}"],
    )


def _head(token: Any, position: dict[int, int]) -> int:
    """The number of a token's head in its sentence; past tokens that are white space."""
    head = token.head
    while head.i not in position and head.head.i != head.i:
        head = head.head
    return 0 if head.i == token.i else position.get(head.i, 0)
