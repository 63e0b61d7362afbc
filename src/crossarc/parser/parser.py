"""A parser: tokeniser, tagger, model and decoder in one file and one object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from crossarc.errors import ModelError
from crossarc.models.covington.model import CovingtonModel
from crossarc.models.linear import LinearModel
from crossarc.models.storage import read_model, write_model
from crossarc.models.tagger import Tagger
from crossarc.parser.batches import batches
from crossarc.parser.decoding import Decoder, Wishes
from crossarc.parser.lookup import find_model
from crossarc.parser.transitions import TransitionDecoder
from crossarc.text import Tokenizer
from crossarc.treebank import Sentence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crossarc.inference import TreeDistribution
    from crossarc.inference.distribution import Root
    from crossarc.learning import Progress

__all__ = ["Parser", "load"]

_KINDS: dict[str, Any] = {"graph": LinearModel, "covington": CovingtonModel}
_PARTS = ("model", "tagger", "tokenizer")


@dataclass(slots=True)
class Parser:
    """Parses sentences and text as a treebank does.

        parser = Parser.train(read_conllu("train.conllu"), dev=read_conllu("dev.conllu"))
        parser.save("my.crossarc")
        for sentence in Parser.load("my.crossarc").parse("Some text."):
            print(sentence.tree)

    Attributes:
        model: gives scores to arcs and labels, or chooses transitions.
        projective, root: the trees that the parser chooses from.
        tagger, tokenizer: None in a parser that reads tagged sentences only.
        training: how the parser was trained and what it scored, under plain names.
    """

    model: LinearModel | CovingtonModel
    projective: bool
    root: Root
    tagger: Tagger | None = None
    tokenizer: Tokenizer | None = None
    training: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def train(
        cls,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] | None = None,
        *,
        kind: Literal["graph", "covington"] = "graph",
        learner: Literal["loglinear", "perceptron"] | None = None,
        projective: bool | None = None,
        max_degree: int | None = None,
        root: Root | None = None,
        beam: int | None = None,
        predicted_tags: bool = False,
        text: bool = True,
        passes: int | None = None,
        seed: int = 0,
        threads: int | None = None,
        progress: Callable[[str, Progress | None], None] | None = None,
    ) -> Parser:
        """A parser that has learnt a treebank.

        Args:
            sentences: heads that are missing (`_`) are learnt around.
            dev: held-out sentences: decide when to stop, and how sure to be.
            kind: the best of all trees by the scores of arcs ("graph"), or one pair of words after
                the other ("covington"): one tree without probabilities, in about linear time.
            learner: how the scores of arcs are learnt; "loglinear" by default, and always
                "perceptron" for "covington".
            projective, root: the trees to choose from; by default as in the treebank, but for
                "covington" arcs may always cross.
            max_degree: of non-projectivity, for "covington"; by default any.
            beam: partial trees to keep, for "covington"; 1, greedy, by default.
            predicted_tags: learn from tags as a tagger gives them, for parsing raw text.
            text: whether to learn a tokeniser and a tagger as well.
            passes: over the treebank, at most.
            threads: `CROSSARC_THREADS`, else all cores; the result does not depend on it.
            progress: told the stage that begins, and within passes how far they are.

        Raises:
            ModelError: there is nothing to learn from.
            ValueError: an option that this kind of parser does not have.
        """
        from crossarc.parser.training import Choices, train_parts

        return cls(
            **train_parts(
                list(sentences),
                None if dev is None else list(dev),
                Choices(kind, learner, projective, max_degree, root, beam),
                predicted_tags=predicted_tags,
                text=text,
                passes=passes,
                seed=seed,
                threads=threads,
                progress=progress,
            )
        )

    @property
    def kind(self) -> str:
        """ "graph" or "covington"."""
        return next(kind for kind, model in _KINDS.items() if isinstance(self.model, model))

    @property
    def labels(self) -> tuple[str, ...]:
        """The relations, in the order of the label numbers in `distribution`."""
        return self.model.labels

    def parse(
        self,
        sentences_or_text: Iterable[Sentence] | str,
        *,
        min_risk: bool = False,
        probabilities: bool = False,
        kbest: int | None = None,
        keep_heads: bool = False,
        retag: bool = False,
        threads: int | None = None,
    ) -> Iterator[Sentence]:
        """Copies of the sentences with HEAD and DEPREL filled in, in order.

        UPOS, XPOS, FEATS and LEMMA are used as they are; sentences without any UPOS and XPOS are
        tagged first. Sentences are read some hundred at a time.

        Args:
            sentences_or_text: sentences, or raw text.
            min_risk: the tree with the highest expected number of right heads, in place of the
                most probable one.
            probabilities: HeadProb and DeprelProb (given the head) in MISC, and `# entropy`.
            kbest: the so many best trees of each sentence, as sentences of their own with
                `# kbest = i/k` and `# log_prob`.
            keep_heads: take every head that is given as a constraint, and its relation with it.
            retag: replace UPOS, XPOS, FEATS and LEMMA by those of the tagger.
            threads: the result does not depend on it.

        Raises:
            ModelError: a wish that this kind of parser cannot meet.
        """
        if kbest is not None and kbest < 1:
            raise ValueError(f"kbest must be at least 1: got {kbest}")
        wishes = Wishes(
            min_risk=min_risk, probabilities=probabilities, kbest=kbest, keep_heads=keep_heads
        )
        self._decoder.check(wishes)
        sentences = (
            self._tokenized([sentences_or_text])
            if isinstance(sentences_or_text, str)
            else sentences_or_text
        )
        return self._parsed(sentences, wishes, retag, threads)

    def parse_text(self, pieces: Iterable[str], **wishes: Any) -> Iterator[Sentence]:
        """Parse a text that comes in pieces, in bounded memory; other arguments as of `parse`."""
        return self.parse(self._tokenized(pieces), **wishes)

    def __call__(self, text: str) -> list[Sentence]:
        """The parsed sentences of a text."""
        return list(self.parse(text))

    def distribution(self, sentence: Sentence, *, keep_heads: bool = False) -> TreeDistribution:
        """The probability distribution over the labelled trees of a sentence."""
        [tagged] = self._tagged([sentence], retag=False, threads=None)
        return self._decoder.distribution(tagged, keep_heads=keep_heads)

    def head_probabilities(
        self,
        sentences: Iterable[Sentence],
        *,
        settled: Callable[[Sentence], Sequence[int]] | None = None,
        threads: int | None = None,
    ) -> Iterator[tuple[NDArray[np.float64], Sentence]]:
        """The probability of every arc [h, m] of each sentence, and the sentence.

        Args:
            settled: gives the heads of a sentence that are taken for certain, -1 for others.
        """
        return self._about_heads(self._decoder.head_probabilities, sentences, settled, threads)

    def head_information(
        self,
        sentences: Iterable[Sentence],
        *,
        settled: Callable[[Sentence], Sequence[int]] | None = None,
        threads: int | None = None,
    ) -> Iterator[tuple[NDArray[np.float64], Sentence]]:
        """What it would say about all heads of a sentence to know each word's, and the sentence.

        One number a word, in nats: the row's sum of `mutual_information()`. Arguments as for
        `head_probabilities`.
        """
        return self._about_heads(self._decoder.head_information, sentences, settled, threads)

    def _about_heads(
        self,
        ask: Callable[[list[Sentence], bool, int | None], list[NDArray[np.float64]]],
        sentences: Iterable[Sentence],
        settled: Callable[[Sentence], Sequence[int]] | None,
        threads: int | None,
    ) -> Iterator[tuple[NDArray[np.float64], Sentence]]:
        for batch in batches(sentences):
            tagged = self._tagged(batch, False, threads)
            if settled is not None:
                for sentence in tagged:
                    sentence.heads = settled(sentence)
            yield from zip(ask(tagged, settled is not None, threads), batch, strict=True)

    @property
    def _decoder(self) -> Decoder | TransitionDecoder:
        if isinstance(self.model, CovingtonModel):
            return TransitionDecoder(self.model)
        return Decoder(self.model, self.projective, self.root)

    def _tokenized(self, pieces: Iterable[str]) -> Iterator[Sentence]:
        if self.tokenizer is None:
            raise ModelError("this parser has no tokeniser: give sentences, not text")
        return self.tokenizer.tokenize(pieces)

    def _parsed(
        self, sentences: Iterable[Sentence], wishes: Wishes, retag: bool, threads: int | None
    ) -> Iterator[Sentence]:
        for batch in batches(sentences):
            tagged = self._tagged(batch, retag, threads)
            yield from self._decoder.parse(tagged, wishes, threads)

    def _tagged(
        self, sentences: list[Sentence], retag: bool, threads: int | None
    ) -> list[Sentence]:
        """Copies of the sentences, with tags."""
        if retag and self.tagger is None:
            raise ModelError("this parser has no tagger: parse without retagging")
        bare = [k for k, one in enumerate(sentences) if retag or _is_bare(one)]
        copies = [sentence.copy() for sentence in sentences]
        if bare and self.tagger is not None:
            tagged = self.tagger.tag([sentences[k] for k in bare], threads=threads)
            for k, sentence in zip(bare, tagged, strict=True):
                copies[k] = sentence
        return copies

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parser to one file, whole or not at all."""
        parts = {name: part for name in _PARTS if (part := getattr(self, name)) is not None}
        tensors = {
            f"{name}.{key}": array
            for name, part in parts.items()
            for key, array in part.tensors().items()
        }
        metadata = {
            "kind": self.kind,
            "projective": self.projective,
            "root": self.root,
            "training": dict(self.training),
            "parts": {name: part.metadata() for name, part in parts.items()},
        }
        write_model(path, tensors, metadata)

    @classmethod
    def load(cls, path_or_name: str | os.PathLike[str]) -> Parser:
        """The parser in a file, or one that comes with crossarc, such as "en".

        Raises:
            ModelError: no such model, or a file that cannot be used.
        """
        path = find_model(path_or_name)
        tensors, metadata = read_model(path)
        if metadata.get("kind") not in _KINDS:
            raise ModelError(
                f"{path}: no parser of the kind {' or '.join(map(repr, _KINDS))}: use another model"
            )
        kinds: dict[str, Any] = {
            "model": _KINDS[metadata["kind"]],
            "tagger": Tagger,
            "tokenizer": Tokenizer,
        }
        parts = {}
        for name, about in metadata["parts"].items():
            own = {
                key.partition(".")[2]: array
                for key, array in tensors.items()
                if key.partition(".")[0] == name
            }
            parts[name] = kinds[name].restore(own, about)
        return cls(
            **parts,
            projective=metadata["projective"],
            root=metadata["root"],
            training=metadata["training"],
        )


def load(path_or_name: str | os.PathLike[str]) -> Parser:
    """`Parser.load`: a model in one line, `load("en")("Some text.")`."""
    return Parser.load(path_or_name)


def _is_bare(sentence: Sentence) -> bool:
    """Whether no word has a tag."""
    return all(tag == "_" for tag in chain(sentence.upos, sentence.xpos))
