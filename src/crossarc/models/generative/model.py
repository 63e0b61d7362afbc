"""What generative models of trees have in common: sentences in, probabilities and trees out."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference import TreeDistribution
from crossarc.inference.distribution import Root
from crossarc.inference.typed import check_root
from crossarc.models.checks import Fields, restoring
from crossarc.models.generative.corpus import UNITS, Corpus, Unit, Vocabulary, Words, read_units
from crossarc.models.protocol import Described
from crossarc.models.storage import read_model, write_model
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["GenerativeModel", "labelled_tree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MODEL = "generative"


class GenerativeModel(Described, ABC):
    """A joint distribution of trees and their words.

    A sentence is a `Sentence`, or a sequence of units (strings; pairs of form and tag for
    "form+upos"). A list of sentences is a batch, and methods then return lists. Units that the
    vocabulary does not have are read as the unknown one.
    """

    kind: ClassVar[str]

    def __init__(self, unit: Unit, *, projective: bool, root: Root, min_count: int) -> None:
        if unit not in UNITS:
            raise ValueError(f"unit must be one of {', '.join(UNITS)}: got {unit!r}")
        check_root(root)
        if min_count < 1:
            raise ValueError(f"min_count must be at least 1: got {min_count}")
        self.unit, self.projective, self.root, self.min_count = unit, projective, root, min_count
        self.vocabularies: tuple[Vocabulary, ...] = ()

    # Probabilities and trees.

    def log_prob(self, words: Any, *, threads: int | None = None) -> Any:
        """Log-probability of a sentence's words, summed over all its trees; -inf for 0."""
        sentences, is_batch = _as_batch(words)
        found = self._log_probs(self._encoded(sentences), threads).tolist()
        return found if is_batch else found[0]

    def distribution(self, words: Any, *, threads: int | None = None) -> TreeDistribution:
        """The posterior of trees given the words.

        Raises:
            ModelError: a sentence without words.
        """
        sentences, is_batch = _as_batch(words)
        corpus = self._encoded(sentences)
        if not corpus.sizes.all():
            raise ModelError(f"sentence {int(np.argmin(corpus.sizes))} has no words: leave it out")
        found: TreeDistribution = self._distribution(corpus, is_batch, threads)
        return found

    def parse(self, words: Any, *, threads: int | None = None) -> Any:
        """The most probable tree.

        Raises:
            InfeasibleError: a sentence of probability 0.
        """
        best = self.distribution(words, threads=threads).argmax()
        return [self._named(one) for one in best] if isinstance(best, list) else self._named(best)

    def sample_tree(self, words: Any, *, seed: int | None = None) -> Any:
        """A tree drawn from the posterior; the same seed gives the same tree."""
        drawn = self.distribution(words).sample(1, seed=seed)
        if drawn and isinstance(drawn[0], list):
            return [self._named(one[0]) for one in drawn]
        return self._named(drawn[0])

    def log_prob_given_length(self, words: Any, *, threads: int | None = None) -> Any:
        """log p(x | n), for models that give p(x | n) and models that give p(x) alike."""
        sentences, is_batch = _as_batch(words)
        corpus = self._encoded(sentences)
        logs = self._log_probs(corpus, threads)
        is_possible = logs > -np.inf
        logs[is_possible] -= self._log_length_probs(corpus.sizes[is_possible])
        return logs.tolist() if is_batch else float(logs[0])

    def _log_length_probs(self, sizes: Ints) -> Floats:
        """log p(n), 0 for models that take n as given."""
        return np.zeros(len(sizes))

    @abstractmethod
    def _log_probs(self, corpus: Corpus, threads: int | None) -> Floats:
        """Of each sentence; some may be empty."""

    @abstractmethod
    def _distribution(self, corpus: Corpus, is_batch: bool, threads: int | None) -> Any:
        """The posterior; no sentence is empty."""

    def _named(self, tree: Tree) -> Tree:
        """The tree, its labels by name if there are any."""
        return tree

    # Words.

    def _learn_vocabulary(self, sentences: Sequence[Words]) -> list[list[tuple[str, ...]]]:
        """The units of sentences, whose vocabularies the model takes on."""
        units = [read_units(one, self.unit) for one in sentences]
        if not any(len(one[0]) for one in units):
            raise ModelError("no words to learn from: check the input")
        columns = range(len(self.unit.split("+")))
        self.vocabularies = tuple(
            Vocabulary.count((one[column] for one in units), self.min_count) for column in columns
        )
        return units

    def _check_learnt(self) -> None:
        if not self.vocabularies:
            raise ModelError("the model has learnt nothing yet: call fit or fit_em, or load one")

    def _encoded(self, sentences: Sequence[Words]) -> Corpus:
        self._check_learnt()
        units = (read_units(one, self.unit) for one in sentences)
        return Corpus.encode(units, self.vocabularies)

    # Files.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file at exactly this path, whole or not at all."""
        self._check_learnt()
        about = {
            "model": _MODEL,
            "kind": self.kind,
            "options": self.options(),
            "vocabularies": [one.symbols for one in self.vocabularies],
            "tables": self._metadata(),
        }
        write_model(path, self._tensors(), about)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file.

        Raises:
            ModelError: a file that cannot be used, or of another kind of model.
        """
        tensors, about = read_model(path)
        kinds: dict[str, type[GenerativeModel]] = {one.kind: one for one in _kinds(cls)}
        kind = kinds.get(str(about.get("kind"))) if about.get("model") == _MODEL else None
        if kind is None:
            raise ModelError(
                f"{os.fspath(path)}: no model of the kind {' or '.join(sorted(kinds))}: give a "
                "file that `crossarc induce` or a model's save has written"
            )
        with restoring(path):
            described = Fields(about)
            options = Fields(described.fields("options"), "options")
            for name, usual in inspect.signature(kind).parameters.items():
                if isinstance(usual.default, bool) and name in described.fields("options"):
                    options.flag(name)
            model = kind(**described.fields("options"))
            columns = described.items("vocabularies")
            model.vocabularies = tuple(
                Vocabulary(Fields({"a vocabulary": one}).texts("a vocabulary", least=1))
                for one in columns
            )
            if len(columns) != len(model.unit.split("+")):
                raise ModelError("the model has no vocabulary for each column: train it again")
            model._restore(tensors, dict(described.fields("tables")))
        return cast(Self, model)

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The arguments of the constructor."""

    @abstractmethod
    def _tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of a model file."""

    @abstractmethod
    def _metadata(self) -> dict[str, Any]:
        """What is to be known about them."""

    @abstractmethod
    def _restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        """Take on what `_tensors` and `_metadata` gave."""

    def summary(self) -> dict[str, str]:
        """What the model is, line by line."""
        symbols = " x ".join(f"{len(one):,}" for one in self.vocabularies) or "none yet"
        kind = "projective" if self.projective else "non-projective"
        return {"unit": f"{self.unit} ({symbols})", "trees": f"{kind}, {self.root} root"}


def _kinds(cls: type[GenerativeModel]) -> Iterable[type[GenerativeModel]]:
    """A class and those below it that have a name."""
    if hasattr(cls, "kind"):
        yield cls
    for below in cls.__subclasses__():
        yield from _kinds(below)


def _as_batch(words: Any) -> tuple[list[Words], bool]:
    """Sentences, and whether there may be several."""
    if isinstance(words, Sentence | str):
        return [words], False
    listed = list(words)
    is_one = not listed or isinstance(listed[0], str | tuple)
    return ([listed], False) if is_one else (listed, True)


def labelled_tree(tree: Tree, names: Sequence[str]) -> Tree:
    """The same tree with the names of its labels, and with its score."""
    assert tree.labels is not None
    twin = Tree(tree.heads, tuple(names[int(label)] for label in tree.labels))
    twin.score, twin.bound, twin.is_optimal = tree.score, tree.bound, tree.is_optimal
    return twin
