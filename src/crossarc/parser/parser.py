"""A parser: tokeniser, tagger, model and decoder in one file and one object."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Self, Unpack, cast, overload

import numpy as np

from crossarc.errors import LimitError, ModelError
from crossarc.models.kinds import RootRule, find_kind
from crossarc.models.protocol import Described, Model, has_approximate_sums
from crossarc.models.tagger import Tagger
from crossarc.parser.batches import full_batches, ready_items
from crossarc.parser.decoding import Decoder, ScoreDecoder, make_decoder
from crossarc.parser.explaining import explain, features_of
from crossarc.parser.explanation import Explanation
from crossarc.parser.files import find_model, read_parts, write_parts
from crossarc.parser.lines import line_sentences, split_lines
from crossarc.parser.options import ParseKeywords, ParseOptions
from crossarc.text import Tokenizer
from crossarc.treebank import Sentence
from crossarc.treebank.arguments import require_sentences, sentence_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crossarc.inference import TreeDistribution
    from crossarc.learning import Progress

__all__ = ["Parser", "load"]


@dataclass(slots=True, repr=False)
class Parser(Described):
    """Parses sentences and text as a treebank does.

        parser = Parser.train(read_conllu("train.conllu"), dev=read_conllu("dev.conllu"))
        parser.save("my.crossarc")
        for sentence in Parser.load("my.crossarc").parse("Some text."):
            print(sentence.tree)

    Attributes:
        model: scores arcs and labels, or builds trees (`crossarc.models.protocol`).
        projective, root: the trees that the parser chooses from.
        tagger, tokenizer: None in a parser that reads tagged sentences only.
        training: how the parser was trained and what it scored.
    """

    model: Model
    projective: bool
    root: RootRule
    tagger: Tagger | None = None
    tokenizer: Tokenizer | None = None
    training: Mapping[str, Any] = field(default_factory=dict)

    def __new__(cls, *parts: Any, **named: Any) -> Self:
        """Names what loads a parser, for those who give its name."""
        if parts and isinstance(parts[0], str | os.PathLike):
            raise TypeError(f"a parser is loaded by Parser.load({os.fspath(parts[0])!r})")
        return object.__new__(cls)

    @classmethod
    def train(
        cls,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] | None = None,
        *,
        kind: str = "graph",
        budget: float | None = None,
        predicted_tags: bool = False,
        text: bool = True,
        progress: Callable[[str, Progress | None], None] | None = None,
        **options: Any,
    ) -> Parser:
        """A parser that has learnt a treebank.

        Args:
            sentences: heads that are missing (`_`) are learnt around.
            dev: held-out sentences: decide when to stop, and how sure to be.
            kind: the best of all trees by the scores of arcs ("graph"), or one pair of words after
                the other ("covington"): one tree without probabilities, in about linear time. A
                neural network can score arcs ("neural"), or both models together ("combined").
            budget: seconds to choose within: options that are not given are chosen by trial on
                `dev` (without it, on every tenth sentence), the cheapest first; the first trial is
                made however little time there is.
            predicted_tags: learn from tags as a tagger gives them, for parsing raw text.
            text: whether to learn a tokeniser and a tagger as well.
            progress: called with the stage that begins, and within passes with how far they are.
            options: of the kind: `GraphOptions`, `CovingtonOptions`, `NeuralOptions`,
                `CombinedOptions`. All have `projective` and
                `root` (the trees to choose from; by default as in the treebank, but for
                "covington" arcs may always cross), `passes` (at most), `seed` and `threads` (the
                result does not depend on it); "graph" has `learner`, "covington" `max_degree` and
                `beam`. Of "graph" the order is 2 where there is `dev`, the treebank has up to
                250,000 words, and no option of its learner is given; else it is 1.

        Raises:
            ModelError: there is nothing to learn from.
            ValueError: an option that this kind of parser does not have.
        """
        from crossarc.parser.training import train_parts

        treebank = sentence_list(sentences, "the training treebank")
        held_out = sentence_list(dev or (), "dev")
        chosen = find_kind(kind)
        return cls(
            **train_parts(
                treebank,
                held_out,
                chosen,
                options,
                budget=budget,
                predicted_tags=predicted_tags,
                text=text,
                progress=progress,
            )
        )

    @classmethod
    def combine(
        cls,
        parsers: Iterable[Parser],
        dev: Iterable[Sentence] = (),
        *,
        threads: int | None = None,
    ) -> Parser:
        """One parser from several, by the probabilities that they give to arcs and labels.

        The score of an arc is the weighted sum of the logarithms of its probabilities, and so are
        those of labels; what the parsers are trained on and how may differ. Combine parsers that
        differ: a linear and a neural one.

        Args:
            dev: held-out sentences, on which the weights are fitted; with none, all count alike.

        Raises:
            ModelError: fewer than two parsers, or one without probabilities.
        """
        from crossarc.parser.combination import combine

        members = list(parsers)
        for one in members:
            if not isinstance(one, Parser):
                raise ModelError(
                    f"what is combined must be parsers: got {one!r:.60}; Parser.load loads one"
                )
        return combine(members, sentence_list(dev, "dev"), threads=threads)

    @property
    def kind(self) -> str:
        """The kind of its model, such as "graph" or "covington"."""
        return self.model.kind

    @property
    def is_approximate(self) -> bool:
        """Whether probabilities are approximate: with parts of several arcs, if arcs may cross."""
        return has_approximate_sums(self.model, projective=self.projective)

    @property
    def labels(self) -> tuple[str, ...]:
        """The relations, in the order of the label numbers in `distribution`."""
        return self.model.labels

    def parse(
        self, sentences_or_text: Iterable[Sentence] | str, **options: Unpack[ParseKeywords]
    ) -> Iterator[Sentence]:
        """Copies of the sentences with HEAD and DEPREL filled in, in order.

        UPOS, XPOS, FEATS and LEMMA are used as they are; sentences without any UPOS and XPOS are
        tagged first. Sentences are read some hundred at a time.

        Args:
            sentences_or_text: sentences, or raw text.
            options: as in `ParseOptions`: `probabilities`, `kbest`, `min_risk`, `keep_heads`,
                `retag`, `projective`, `threads`.

        Raises:
            ValueError: options that are unknown or at odds with each other.
            ModelError: an option that this parser cannot serve.
        """
        if isinstance(sentences_or_text, str):
            return self.parse_text([sentences_or_text], **options)
        require_sentences(sentences_or_text, "what is parsed")
        chosen = ParseOptions.build(dict(options))
        self._check(chosen)
        return self._parsed(sentences_or_text, chosen)

    def parse_text(
        self, pieces: Iterable[str], **options: Unpack[ParseKeywords]
    ) -> Iterator[Sentence]:
        """Parse a text that comes in pieces, in bounded memory; other arguments as of `parse`."""
        chosen = ParseOptions.build(dict(options), text=True)
        self._check(chosen)
        return self._parsed(self.needed_tokenizer.tokenize(pieces), chosen)

    def parse_lines(
        self,
        lines: Iterable[str],
        *,
        tokenized: bool = False,
        **options: Unpack[ParseKeywords],
    ) -> Iterator[Sentence]:
        """Parse text with one sentence a line; other arguments as of `parse`.

        Args:
            lines: blank ones are passed over; a string is split into its lines.
            tokenized: words are divided by white space; else the tokeniser divides them.
        """
        chosen = ParseOptions.build(dict(options), text=True)
        self._check(chosen)
        tokenizer = None if tokenized else self.needed_tokenizer
        some = split_lines([lines]) if isinstance(lines, str) else lines
        return self._parsed(line_sentences(some, tokenizer), chosen)

    @overload
    def pipe(
        self,
        items: Iterable[Sentence],
        *,
        on_wait: Callable[[], None] | None = None,
        **options: Unpack[ParseKeywords],
    ) -> Iterator[Sentence]: ...

    @overload
    def pipe(
        self,
        items: Iterable[str],
        *,
        on_wait: Callable[[], None] | None = None,
        **options: Unpack[ParseKeywords],
    ) -> Iterator[list[Sentence]]: ...

    def pipe(
        self,
        items: Iterable[Sentence] | Iterable[str],
        *,
        on_wait: Callable[[], None] | None = None,
        **options: Unpack[ParseKeywords],
    ) -> Iterator[Sentence] | Iterator[list[Sentence]]:
        """Parse sentences or texts as they come, without end if need be, in bounded memory.

        A thread reads the input ahead. Whatever has come is parsed at once, so that a result never
        waits for input behind it; `parse` waits for batches of some hundred sentences.

        Args:
            items: sentences, for a parsed sentence each (several with `kbest`), or texts, for a
                list of sentences each.
            on_wait: called when all results have been handed on and the input has no more yet: the
                time to flush a file or a socket.
            options: as in `ParseOptions`.

        Raises:
            ValueError, ModelError: as for `parse`.
        """
        if isinstance(items, str):
            raise TypeError("pipe takes several texts: give [text], or use parser(text)")
        chosen = ParseOptions.build(dict(options))
        self._check(chosen)
        return cast(Iterator[Sentence], self._piped(items, chosen, on_wait))

    def _piped(
        self,
        items: Iterable[Sentence] | Iterable[str],
        options: ParseOptions,
        on_wait: Callable[[], None] | None,
    ) -> Iterator[Sentence | list[Sentence]]:
        ready: Iterator[list[Any]] = ready_items(items, on_wait)
        for batch in ready:
            if isinstance(batch[0], str):
                yield from self._parse_texts(batch, options)
            else:
                yield from self._parsed(batch, options)

    def _parse_texts(self, texts: Sequence[str], options: ParseOptions) -> Iterator[list[Sentence]]:
        """The parsed sentences of each text; all texts are parsed as one batch."""
        divided = [list(self.needed_tokenizer.tokenize(text)) for text in texts]
        # With k best trees, sentences have results of any number: text by text.
        groups = [[own] for own in divided] if options.kbest is not None else [divided]
        for group in groups:
            parsed = self._parsed(chain.from_iterable(group), options)
            sizes = [None] if options.kbest is not None else [len(own) for own in group]
            yield from (list(islice(parsed, size)) for size in sizes)

    @overload
    def __call__(self, text: str, **options: Unpack[ParseKeywords]) -> list[Sentence]: ...

    @overload
    def __call__(
        self, text: list[str] | tuple[str, ...], **options: Unpack[ParseKeywords]
    ) -> list[list[Sentence]]: ...

    def __call__(
        self, text: str | list[str] | tuple[str, ...], **options: Unpack[ParseKeywords]
    ) -> list[Sentence] | list[list[Sentence]]:
        """The parsed sentences of a text, or of each of several; options as of `parse`."""
        if isinstance(text, str):
            return list(self.parse(text, **options))
        if isinstance(text, bytes):
            raise TypeError("text must be a string: decode the bytes first")
        if not isinstance(text, list | tuple) or not all(isinstance(one, str) for one in text):
            raise TypeError(
                "parser(text) takes a string or a list of strings; use parser.parse(sentences) for "
                "sentences, parser.pipe(items) for an iterator"
            )
        chosen = ParseOptions.build(dict(options), text=True)
        self._check(chosen)
        return list(self._parse_texts(text, chosen))

    def distribution(
        self, sentence: Sentence, *, keep_heads: bool = False, projective: bool | None = None
    ) -> TreeDistribution:
        """The probability distribution over the labelled trees of a sentence.

        Args:
            keep_heads, projective: as in `ParseOptions`.
        """
        options = ParseOptions(keep_heads=keep_heads, projective=projective)
        self._decoder.require(sentence, options)
        [tagged] = self._tagged([sentence], options)
        return self._decoder.distribution(tagged, options)

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
        compute: Callable[[Sequence[Sentence], ParseOptions], list[NDArray[np.float64]]],
        sentences: Iterable[Sentence],
        settled: Callable[[Sentence], Sequence[int]] | None,
        threads: int | None,
    ) -> Iterator[tuple[NDArray[np.float64], Sentence]]:
        options = ParseOptions(keep_heads=settled is not None, threads=threads)
        for batch in full_batches(sentences):
            tagged = self._tagged(batch, options)
            if settled is not None:
                for sentence in tagged:
                    sentence.heads = settled(sentence)
            yield from zip(compute(tagged, options), batch, strict=True)

    def best_relations(self, sentence: Sentence, arcs: Sequence[tuple[int, int]]) -> list[str]:
        """The most probable relation of each of some arcs (h, m) of a sentence."""
        if not arcs:
            return []
        [tagged] = self._tagged([sentence], ParseOptions())
        heads, modifiers = np.array(arcs, np.int64).T
        return [self.labels[k] for k in self._decoder.best_labels(tagged, (heads, modifiers))]

    def explain(
        self,
        sentence: Sentence,
        h: int | None,
        m: int,
        *,
        rival: int | None = None,
        deprel: str | None = None,
        rival_deprel: str | None = None,
    ) -> Explanation:
        """Which features speak for the head h of word m against another head, and by how much.

        Args:
            h: counted from 1, 0 for the root; None for the head in the best tree.
            rival: the other head; by default that of m in the best tree without the arc.
            deprel, rival_deprel: labels of the arc from h; by default the most probable two.

        Raises:
            ModelError: the model's scores are not sums of weights.
            ValueError: no such word, head or label.
        """
        model = features_of(self.model)
        [tagged] = self._tagged([sentence], ParseOptions())
        return explain(
            model,
            ScoreDecoder(model, self.projective, self.root),
            tagged,
            h,
            m,
            rival=rival,
            deprel=deprel,
            rival_deprel=rival_deprel,
        )

    @property
    def needed_tokenizer(self) -> Tokenizer:
        """The tokeniser.

        Raises:
            ModelError: there is none.
        """
        if self.tokenizer is None:
            raise ModelError("this parser has no tokeniser: give sentences, not text")
        return self.tokenizer

    @property
    def _decoder(self) -> Decoder:
        return make_decoder(self.model, self.projective, self.root)

    def _check(self, options: ParseOptions) -> None:
        self._decoder.check(options)
        if options.retag and self.tagger is None:
            raise ModelError("this parser has no tagger: parse without retagging")

    def _parsed(self, sentences: Iterable[Sentence], options: ParseOptions) -> Iterator[Sentence]:
        decoder = self._decoder
        for batch in full_batches(self._within_limits(sentences, options)):
            yield from decoder.parse(self._tagged(batch, options), options)

    def _within_limits(
        self, sentences: Iterable[Sentence], options: ParseOptions
    ) -> Iterator[Sentence]:
        """The sentences, without those that are too long for the decoder."""
        decoder = self._decoder
        for sentence in sentences:
            if isinstance(sentence, Sentence):
                try:
                    decoder.require(sentence, options)
                except LimitError as error:
                    if options.on_limit is None:
                        raise
                    options.on_limit(sentence, error)
                    continue
            yield sentence

    def _tagged(self, sentences: list[Sentence], options: ParseOptions) -> list[Sentence]:
        """Copies of the sentences, with tags."""
        for one in sentences:
            if isinstance(one, str):
                raise TypeError("got text where sentences are expected: use parser.pipe for texts")
            if not isinstance(one, Sentence):
                raise TypeError(f"got {type(one).__name__} where sentences are expected")
        untagged = [k for k, one in enumerate(sentences) if options.retag or not _has_tags(one)]
        copies = [sentence.copy() for sentence in sentences]
        if untagged and self.tagger is not None:
            tagged = self.tagger.tag([sentences[k] for k in untagged], threads=options.threads)
            for k, sentence in zip(untagged, tagged, strict=True):
                copies[k] = sentence
        return copies

    def summary(self) -> dict[str, str]:
        """What the parser is, line by line, for `repr` and notebooks."""
        about = self.training
        lines = {
            "kind": self.kind,
            "trees": f"{'projective' if self.projective else 'non-projective'}, {self.root} root",
            "relations": str(len(self.labels)),
            "reads": "text and sentences" if self.tokenizer is not None else "sentences",
            "tagger": "yes" if self.tagger is not None else "no",
        }
        if self.is_approximate:
            lines["probabilities"] = "approximate, by belief propagation"
        if {"sentences", "words"} <= about.keys():
            lines["learnt from"] = f"{about['sentences']:,} sentences, {about['words']:,} words"
        if {"uas", "las"} <= about.keys():
            lines["dev"] = f"UAS {about['uas']:.2f}, LAS {about['las']:.2f}"
        return lines

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parser to one file, whole or not at all."""
        parts = {"model": self.model, "tagger": self.tagger, "tokenizer": self.tokenizer}
        about = {
            "kind": self.kind,
            "projective": self.projective,
            "root": self.root,
            "training": dict(self.training),
        }
        write_parts(path, {name: one for name, one in parts.items() if one is not None}, about)

    @classmethod
    def load(cls, path_or_name: str | os.PathLike[str]) -> Parser:
        """The parser in a file, or one that comes with crossarc, such as "en".

        Raises:
            ModelError: no such model, or a file that cannot be used.
        """
        parts, about = read_parts(find_model(path_or_name))
        attributes = {name: about[name] for name in ("projective", "root", "training")}
        return cls(**parts, **attributes)


def load(path_or_name: str | os.PathLike[str]) -> Parser:
    """`Parser.load`: a model in one line, `load("en")("Some text.")`."""
    return Parser.load(path_or_name)


def _has_tags(sentence: Sentence) -> bool:
    return any(tag != "_" for tag in chain(sentence.upos, sentence.xpos))
