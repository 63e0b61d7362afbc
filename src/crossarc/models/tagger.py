"""UPOS, XPOS, features and lemmas of words, learned from a treebank."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError, TreebankError
from crossarc.models.checks import Fields, column_text
from crossarc.models.tagging.classes import Classes, Tag
from crossarc.models.tagging.lemmas import Lemmatizer
from crossarc.models.tagging.perceptron import BITS, tag_words
from crossarc.models.tagging.sparse import pack, unpack
from crossarc.models.tagging.words import EMOTICON, Words, encode_words
from crossarc.parallel import over_ranges
from crossarc.treebank import Sentence

__all__ = ["Tagger"]

_BATCH_WORDS = 20_000
_MOST_XPOS = 2500
_BLOCK = 10  # sentences that stay together in a fold


class Tagger:
    """Tags words as a treebank does: a linear model, greedy from left to right.

    For instance:

        tagger = Tagger.train(read_conllu("train.conllu"))
        for sentence in tagger.tag(read_conllu("input.conllu")):
            print(sentence.upos)

    A tag is UPOS, XPOS and FEATS together, one of those seen in training. The lemma follows from
    form and tag. Columns that the treebank never fills are left as they are, and so is XPOS if it
    has more than 2,500 different values.
    """

    def __init__(
        self,
        classes: Classes,
        weights: NDArray[np.int16],
        lemmatizer: Lemmatizer | None,
        emoticon: int | None = None,
    ) -> None:
        """For `train` and `restore`.

        Args:
            emoticon: the tag of emoji where the treebank has none to learn from.
        """
        self._classes = classes
        self._weights = weights
        self._lemmatizer = lemmatizer
        self._emoticon = emoticon

    @classmethod
    def train(
        cls,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] | None = None,
        *,
        runs: int = 3,
        seed: int = 0,
    ) -> Tagger:
        """Learn from a treebank; the same sentences and seed give the same tagger.

        Args:
            dev: other sentences, to choose the best of the last rounds of training by.
            runs: times that weights are learned from, in other orders of the sentences; their
                mean is the tagger.

        Raises:
            TreebankError: there are no sentences.
        """
        # What only training needs is not loaded to tag.
        from crossarc.models.tagging.training import train_tags

        bank = list(sentences)
        if not bank:
            raise TreebankError("no sentences to learn from: check the treebank")
        tags = _learnable(_tags(bank))
        classes = Classes(tags)
        gold = classes.numbers(tags)
        tagger = cls(classes, np.zeros(0, np.int16), None)
        tuning = [] if dev is None else list(dev)
        quality = tagger._accuracy_on(tuning) if tuning else None
        words = encode_words([sentence.forms for sentence in bank])
        tagger._weights = train_tags(words, gold, classes, runs=runs, seed=seed, quality=quality)
        if not (words.classes == EMOTICON).any():
            tagger._emoticon = _usual_symbol(classes, gold)
        lemmas = list(chain.from_iterable(sentence.lemmas for sentence in bank))
        if any(lemma != "_" for lemma in lemmas):
            forms = chain.from_iterable(sentence.forms for sentence in bank)
            tagger._lemmatizer = Lemmatizer.learn(classes, forms, gold.tolist(), lemmas, seed=seed)
        return tagger

    def tag(
        self, sentences: Iterable[Sentence], *, threads: int | None = None
    ) -> Iterator[Sentence]:
        """Copies of the sentences with UPOS, XPOS, FEATS and LEMMA filled in, in order.

        Sentences are taken in batches of some thousand words. The tags do not depend on the
        number of threads, nor on what other sentences there are.
        """
        for batch in _batches(sentences):
            forms = [sentence.forms for sentence in batch]
            words = encode_words(forms)
            tags = self._numbers(words, self._weights, threads)
            yield from self._filled(batch, forms, words.firsts.tolist(), tags.tolist())

    @classmethod
    def jackknife(
        cls,
        sentences: Iterable[Sentence],
        *,
        folds: int = 5,
        seed: int = 0,
        threads: int | None = None,
    ) -> list[Sentence]:
        """The sentences, each tagged by a tagger that was trained on other folds.

        A parser that is trained on these meets tags as good as those it will get from a tagger.
        Runs of sentences stay together in a fold, since neighbours are alike.

        Raises:
            TreebankError: there are fewer sentences than folds.
            ValueError: fewer than two folds.
        """
        bank = list(sentences)
        if folds < 2:
            raise ValueError(f"folds must be at least 2: got {folds}")
        if len(bank) < folds:
            raise TreebankError(f"{folds} folds need {folds} sentences: got {len(bank)}")
        block = min(_BLOCK, len(bank) // folds)
        fold = [k // block % folds for k in range(len(bank))]
        tagged = list(bank)

        def work(begin: int, end: int) -> None:
            for own in range(begin, end):
                tagger = cls.train(
                    [s for s, f in zip(bank, fold, strict=True) if f != own], runs=1, seed=seed
                )
                held_out = [k for k, f in enumerate(fold) if f == own]
                results = tagger.tag([bank[k] for k in held_out], threads=1)
                for k, sentence in zip(held_out, results, strict=True):
                    tagged[k] = sentence

        over_ranges(work, [1.0] * folds, threads)
        return tagged

    def _numbers(
        self, words: Words, weights: NDArray[np.int16], threads: int | None
    ) -> NDArray[np.int64]:
        classes = self._classes
        tags = np.empty(len(words.atoms), np.int64)

        def work(begin: int, end: int) -> None:
            tag_words(
                words.firsts[begin : end + 1],
                words.atoms,
                words.hashes,
                classes.coarse,
                classes.parts,
                classes.shared,
                classes.part_count,
                weights,
                BITS,
                tags,
            )

        over_ranges(work, np.diff(words.firsts).tolist(), threads)
        if self._emoticon is not None:
            tags[words.classes == EMOTICON] = self._emoticon
        return tags

    def _filled(
        self,
        batch: Sequence[Sentence],
        forms: Sequence[Sequence[str]],
        firsts: Sequence[int],
        tags: Sequence[int],
    ) -> Iterator[Sentence]:
        classes = self._classes.tags
        lemmas: list[str] = []
        if self._lemmatizer is not None:
            lemmas = self._lemmatizer.lemmas(list(chain.from_iterable(forms)), tags)
        for k, sentence in enumerate(batch):
            begin, end = firsts[k], firsts[k + 1]
            own = [classes[tag] for tag in tags[begin:end]]
            copy = sentence.copy()
            for name in self._classes.filled:
                setattr(copy, name, [getattr(tag, name) for tag in own])
            if lemmas:
                copy.lemmas = lemmas[begin:end]
            yield copy

    def _accuracy_on(self, sentences: Sequence[Sentence]) -> Callable[[NDArray[np.int16]], float]:
        """How many words of the sentences get the right tag, as a function of the weights."""
        words = encode_words([sentence.forms for sentence in sentences])
        gold = list(_tags(sentences))

        def quality(weights: NDArray[np.int16]) -> float:
            numbers = self._numbers(words, weights, threads=1)
            given = (self._classes.tags[number] for number in numbers.tolist())
            return float(sum(map(eq, given, gold)))

        return quality

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of a model file."""
        distances, values = pack(self._weights)
        arrays: dict[str, NDArray[Any]] = {"tag_distances": distances, "tag_values": values}
        if self._lemmatizer is not None:
            for name, array in self._lemmatizer.tensors().items():
                arrays[f"lemma_{name}"] = array
        return arrays

    def metadata(self) -> dict[str, Any]:
        """The rest of a model file, as JSON can hold it."""
        lemmas = None if self._lemmatizer is None else self._lemmatizer.metadata()
        return {
            "tags": [list(tag) for tag in self._classes.tags],
            "lemmas": lemmas,
            "emoticon": self._emoticon,
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Tagger:
        """The tagger that gave these arrays and metadata.

        Raises:
            ModelError: something is missing or does not fit together.
        """
        try:
            about = Fields(metadata, "the tagger")
            classes = Classes([Tag(*map(column_text, tag)) for tag in about.items("tags")])
            if not classes.tags:
                raise ValueError("there are no tags")
            size = (1 << BITS) + classes.part_count
            weights = unpack(tensors["tag_distances"], tensors["tag_values"], size)
            lemmatizer = None
            if not about.is_none("lemmas"):
                arrays = {
                    name: tensors[f"lemma_{name}"] for name in ("distances", "values", "known")
                }
                lemmatizer = Lemmatizer.restore(classes, arrays, about.fields("lemmas"))
            emoticon = None
            if not about.is_none("emoticon"):
                emoticon = about.whole("emoticon", 0, len(classes.tags) - 1)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(
                f"the model has no tagger that can be read ({error!r}): train it again"
            ) from None
        return cls(classes, weights, lemmatizer, emoticon)


def _usual_symbol(classes: Classes, gold: NDArray[np.int64]) -> int | None:
    """The most frequent tag of symbols, SYM in Universal Dependencies; none if there is none."""
    counts = np.bincount(gold, minlength=len(classes.tags))
    symbols = [k for k, tag in enumerate(classes.tags) if tag.upos == "SYM"]
    return max(symbols, key=lambda k: (int(counts[k]), -k), default=None)


def _tags(sentences: Iterable[Sentence]) -> Iterator[Tag]:
    for sentence in sentences:
        yield from map(Tag, sentence.upos, sentence.xpos, sentence.feats)


def _learnable(tags: Iterable[Tag]) -> list[Tag]:
    """The tags, without XPOS if that is no tag set but an annotation of its own."""
    found = list(tags)
    if len({tag.xpos for tag in found}) > _MOST_XPOS:
        return [tag._replace(xpos="_") for tag in found]
    return found


def _batches(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    batch: list[Sentence] = []
    words = 0
    for sentence in sentences:
        batch.append(sentence)
        words += len(sentence)
        if words >= _BATCH_WORDS:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch
