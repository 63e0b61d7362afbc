"""A component for spaCy: heads, relations and sentences of a `Doc`, with probabilities.

    import spacy
    nlp = spacy.blank("en")
    nlp.add_pipe("crossarc_parser", config={"model": "en", "kbest": 3})
    doc = nlp("I saw the man with the telescope.")
    [(token.head.text, token.dep_, token._.head_probability) for token in doc]

spaCy finds the component by itself wherever crossarc is installed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

try:
    from spacy.attrs import DEP, HEAD, SENT_START
    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token
    from spacy.util import ensure_path, minibatch
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "spacy":
        raise
    raise ImportError('spaCy is not installed: pip install "crossarc[spacy]"') from None

from crossarc.integrations.converters import span_sentence
from crossarc.models.protocol import ScoringModel
from crossarc.parser import Parser
from crossarc.treebank import Sentence

__all__ = ["CrossarcParser", "make_parser"]

_FILE = "model.crossarc"
_SPACE = "dep"


@Language.factory(  # type: ignore[untyped-decorator]
    "crossarc_parser",
    assigns=["token.head", "token.dep", "token.is_sent_start", "doc.sents"],
    default_config={"model": "en", "kbest": 0, "projective": None, "set_tags": True},
)
def make_parser(
    nlp: Language, name: str, model: str, kbest: int, projective: bool | None, set_tags: bool
) -> CrossarcParser:
    """The component for a pipeline.

    Args:
        model: a file, or the name of a model that comes with crossarc.
        kbest: how many of the best trees of each sentence `doc._.kbest` has.
        projective: whether arcs must not cross; None as the model was trained.
        set_tags: whether lemmas, tags and features are set, too, where the `Doc` has no tags.
    """
    return CrossarcParser(name, model, kbest, projective, set_tags)


class CrossarcParser:
    """Parses `Doc`s.

    Sentences are those of the `Doc`, else those that the model's tokeniser finds. Tags are those of
    the `Doc`, else those of the model's tagger. Tokens that are white space hang from the word
    before them.
    """

    def __init__(
        self, name: str, model: str, kbest: int, projective: bool | None, set_tags: bool
    ) -> None:
        self.name, self.model = name, model
        self.kbest, self.projective, self.set_tags = kbest, projective, set_tags
        self._parser: Parser | None = None
        if not Token.has_extension("head_probability"):
            Token.set_extension("head_probability", default=None)
        if not Doc.has_extension("kbest"):
            Doc.set_extension("kbest", default=None)

    @property
    def parser(self) -> Parser:
        """The parser, which is loaded when it is first needed.

        A pipeline that is read from a folder has its own copy, and never looks for the file that
        the model came from.
        """
        if self._parser is None:
            self._parser = Parser.load(self.model)
        return self._parser

    def __call__(self, doc: Doc) -> Doc:
        """Parse one `Doc`."""
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse a stream of `Doc`s, some at a time."""
        for batch in minibatch(stream, batch_size):
            docs = list(batch)
            self._parse(docs)
            yield from docs

    def _parse(self, docs: Sequence[Doc]) -> None:
        spans = [self._spans(doc) for doc in docs]
        words = [[[t for t in span if not t.is_space] for span in own] for own in spans]
        sentences = [
            span_sentence(span, tokens, "1")
            for own, lists in zip(spans, words, strict=True)
            for span, tokens in zip(own, lists, strict=True)
            if tokens
        ]
        parsed = self._parsed(sentences)
        for doc, own, lists in zip(docs, spans, words, strict=True):
            count = sum(bool(tokens) for tokens in lists)
            self._write(doc, own, lists, list(islice(parsed, count)))

    def _parsed(self, sentences: list[Sentence]) -> Iterator[list[Sentence]]:
        """The trees of each sentence, the best first; one unless more are asked for."""
        has_probabilities = isinstance(self.parser.model, ScoringModel)
        found = self.parser.parse(
            sentences,
            probabilities=has_probabilities,
            kbest=self.kbest or None,
            projective=self.projective,
        )
        if not self.kbest:
            yield from ([one] for one in found)
            return
        trees: list[Sentence] = []
        for one in found:
            if trees and (one.comment("kbest") or "").startswith("1/"):
                yield trees
                trees = []
            trees.append(one)
        if trees:
            yield trees

    def _spans(self, doc: Doc) -> list[Span]:
        """The sentences of a `Doc`."""
        if not len(doc):
            return []
        if doc.has_annotation("SENT_START"):
            return list(doc.sents)
        if self.parser.tokenizer is None:
            return [doc[:]]
        # Characters that are no spaces are the same in the text and in the tokeniser's sentences.
        ends, total = set(), 0
        for sentence in self.parser.tokenizer.tokenize(doc.text):
            total += _visible(sentence.text)
            ends.add(total)
        starts, total, is_first = [0], 0, False
        for token in doc:
            if is_first and not token.is_space:
                starts.append(token.i)
                is_first = False
            total += _visible(token.text)
            is_first = is_first or (total in ends and not token.is_space)
        return [doc[a:b] for a, b in zip(starts, [*starts[1:], len(doc)], strict=True)]

    def _write(
        self,
        doc: Doc,
        spans: Sequence[Span],
        words: Sequence[Sequence[Token]],
        parsed: Sequence[Sequence[Sentence]],
    ) -> None:
        """Heads, relations and sentences of a `Doc`, and what comes with them."""
        if not len(doc):
            return
        tagged = not self.set_tags or doc.has_annotation("POS") or doc.has_annotation("TAG")
        heads = np.arange(len(doc))
        deps = [_SPACE] * len(doc)
        starts = np.full(len(doc), -1)
        trees = iter(parsed)
        ranked = []
        for span, tokens in zip(spans, words, strict=True):
            starts[span.start] = 1
            if not tokens:
                heads[span.start : span.end] = span.start
                continue
            ranks = next(trees)
            own = [token.i for token in tokens]
            _attach_spaces(heads, span, own)
            heads[own] = _token_heads(ranks[0], own)
            for i, deprel in zip(own, ranks[0].deprels, strict=True):
                deps[i] = deprel
            if not tagged:
                _set_tags(tokens, ranks[0])
            _set_probabilities(tokens, ranks[0])
            ranked.append([_rank(tree, own) for tree in ranks])
        columns = [
            heads - np.arange(len(doc)),
            np.array([doc.vocab.strings.add(dep) for dep in deps], np.uint64).astype(np.int64),
            starts,
        ]
        array = np.stack(columns, axis=1).astype(np.int64).view(np.uint64)
        doc.from_array([HEAD, DEP, SENT_START], array)
        if self.kbest:
            doc._.kbest = ranked

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into the folder of the pipeline."""
        folder = ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.parser.save(folder / _FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> CrossarcParser:
        """Read the model from the folder of a pipeline."""
        self._parser = Parser.load(ensure_path(path) / _FILE)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.parser.save(Path(folder) / _FILE)
            return (Path(folder) / _FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> CrossarcParser:
        """Read the model from bytes."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / _FILE).write_bytes(data)
            self._parser = Parser.load(Path(folder) / _FILE)
        return self


def _visible(text: str) -> int:
    return len("".join(text.split()))


def _token_heads(sentence: Sentence, own: Sequence[int]) -> list[int]:
    """The index in the `Doc` of each word's head; a root is its own head."""
    heads = sentence.heads.tolist()
    return [own[head - 1] if head else own[word] for word, head in enumerate(heads)]


def _attach_spaces(heads: np.ndarray[Any, Any], span: Span, own: Sequence[int]) -> None:
    """White space hangs from the word before it, or from the first word."""
    before = own[0]
    for i in range(span.start, span.end):
        heads[i] = before
        if i in own:
            before = i


def _set_tags(tokens: Sequence[Token], sentence: Sentence) -> None:
    rows = zip(tokens, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats, strict=True)
    for token, lemma, upos, xpos, feats in rows:
        for name, value in (("lemma_", lemma), ("pos_", upos), ("tag_", xpos)):
            if value != "_":
                setattr(token, name, value)
        if feats != "_":
            token.set_morph(feats)


def _set_probabilities(tokens: Sequence[Token], sentence: Sentence) -> None:
    for token, word in zip(tokens, sentence, strict=True):
        for entry in word.misc.split("|"):
            if entry.startswith("HeadProb="):
                token._.head_probability = float(entry.removeprefix("HeadProb="))


def _rank(sentence: Sentence, own: Sequence[int]) -> dict[str, Any]:
    """One of the best trees, with indices in the `Doc`."""
    return {
        "heads": _token_heads(sentence, own),
        "deps": list(sentence.deprels),
        "log_prob": float(sentence.comment("log_prob") or 0.0),
    }
