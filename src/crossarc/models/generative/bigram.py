"""The generative bigram model: every word generates its modifiers (McDonald & Satta 2007, 4.4).

A tree of n words is drawn uniformly, then every word generates its modifiers, each by itself:

    p(x | n) = beta sum_T prod_{h -> m in T} p(x_m | x_h, direction, distance)

with beta one over the number of trees. So Z, marginals and best trees are those of `SpanningTrees`
or `ProjectiveTrees`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference import ProjectiveTrees, SpanningTrees
from crossarc.inference.distribution import Root, TreeDistribution
from crossarc.models.checks import Fields
from crossarc.models.generative.arcs import Arcs, Factor, log_tree_count
from crossarc.models.generative.backoff import BackoffTable
from crossarc.models.generative.corpus import Chunk, Corpus, Unit, Words
from crossarc.models.generative.model import GenerativeModel, labelled_tree
from crossarc.treebank import Sentence
from crossarc.treebank.arguments import sentence_list
from crossarc.treebank.synthetic.random_trees import levels, projective_heads, uniform_heads
from crossarc.trees import Tree

if TYPE_CHECKING:
    from crossarc.learning.em import EMState
    from crossarc.models.generative.induction import EMKeywords

__all__ = ["BigramModel", "Smoothing"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Smoothing = Literal["interpolated", "additive"]

# Distances up to each of these are one bucket, and all longer ones.
_BUCKETS = np.array([1, 2, 4, 8])
_CODES = 2 * (len(_BUCKETS) + 1)


class BigramModel(GenerativeModel):
    """p(x | n) = beta Z, over words, tags, or both with back-off.

    Args:
        unit: what the words of a sentence are: "form", "lemma", "upos", "xpos" or "form+upos".
        projective, root: the trees to sum over.
        direction: whether a modifier depends on the side of its head that it stands on.
        distance: whether it depends on the distance from its head, in five buckets.
        stop: add a probability p(STOP | x), once a word, in place of p(T | n) = beta: the model of
            Klein & Manning without projectivity, as section 4.4 sketches it. `log_prob` is then
            log(Z prod_i p(STOP | x_i)), no probability of strings (docs/generative.md). It knows
            neither direction nor distance.
        min_count: units that occur less often are read as the unknown one.
    """

    kind = "bigram"

    def __init__(
        self,
        unit: Unit = "upos",
        *,
        projective: bool = False,
        root: Root = "single",
        direction: bool = True,
        distance: bool = True,
        stop: bool = False,
        min_count: int = 1,
    ) -> None:
        super().__init__(unit, projective=projective, root=root, min_count=min_count)
        if stop and (direction or distance or unit == "form+upos"):
            raise ValueError("stop goes without direction, distance and units of two columns")
        self.direction, self.distance, self.stop = direction, distance, stop
        self._tables: list[BackoffTable] = []
        self.labels: tuple[str, ...] = ()
        self._label_table: BackoffTable | None = None

    # Learning.

    def fit(
        self,
        sentences: Sequence[Sentence],
        *,
        smoothing: Smoothing = "interpolated",
        strength: float | None = None,
    ) -> Self:
        """Count the arcs of trees, and their labels; words without a head count nothing.

        Args:
            smoothing: "interpolated" with coarser contexts (`BackoffTable`), or "additive".
            strength: of interpolation, by default the number of different modifiers of a head; or
                what is added to each count, by default 0.1. 0 is none.

        Raises:
            ModelError: no words, or no heads.
        """
        if smoothing not in ("interpolated", "additive"):
            raise ValueError(f"smoothing must be 'interpolated' or 'additive': got {smoothing!r}")
        if strength is not None and not 0.0 <= strength < math.inf:
            raise ValueError(f"strength must be a number from 0 up: got {strength}")
        sentences = sentence_list(sentences, "what fit counts")
        units = self._learn_vocabulary(sentences)
        heads = np.concatenate([one.heads for one in sentences])
        if not (heads >= 0).any():
            raise ModelError("no word has a HEAD: give a treebank with trees, or use fit_em")
        arcs = self._tree_arcs(Corpus.encode(units, self.vocabularies), heads)
        self._tables = []
        for contexts, observed, outcomes in self.factors(arcs):
            if smoothing == "additive":
                contexts, added = contexts[:1], 0.1 if strength is None else strength
                self._tables.append(
                    BackoffTable.count(contexts, observed, outcomes, added * outcomes)
                )
            else:
                self._tables.append(BackoffTable.count(contexts, observed, outcomes, strength))
        labels = [label for one in sentences for label in one.deprels]
        self._count_labels(arcs, [one for one, h in zip(labels, heads, strict=True) if h >= 0])
        return self

    def fit_em(self, sentences: Sequence[Words], **options: Unpack[EMKeywords]) -> EMState:
        """Learn from sentences without trees, by EM over all of them (section 4.4.2).

        Keyword arguments are those of `crossarc.models.generative.induction.run_restarts`. Returns
        where EM ended; the model has the parameters of the best restart.

        Raises:
            ModelError: no words, a unit of two columns, or a sentence of probability 0.
        """
        if self.unit == "form+upos":
            raise ModelError("EM needs a unit of one column: use form or upos")
        from crossarc.models.generative.bigram_em import BigramProblem
        from crossarc.models.generative.induction import run_restarts, split_options

        prior, threads, others = split_options(options)
        corpus = Corpus.encode(self._learn_vocabulary(list(sentences)), self.vocabularies)
        problem = BigramProblem(self, corpus, prior, threads)
        state = run_restarts(problem, **others)
        self._tables = [problem.table(state.counts)]
        self.labels, self._label_table = (), None
        return state

    # Arcs, and what they depend on.

    def factors(self, arcs: Arcs) -> list[Factor]:
        """How modifiers are generated; with two columns the tag first, then the form."""
        sizes = [len(one) for one in self.vocabularies]
        root_or = [size + 1 for size in sizes]
        direction, code = arcs.direction, arcs.code
        if len(sizes) == 1:
            (head,), (modifier,) = arcs.heads, arcs.modifiers
            contexts = [head * _CODES + code]
            if self.distance:
                contexts.append(head * 2 + (direction if self.direction else 0))
            if self.direction:
                contexts.append(head)
            contexts.append(np.zeros_like(head))
            return [Factor.broadcast(contexts, modifier, sizes[0] + self.stop)]
        (form, tag), (own_form, own_tag) = arcs.heads, arcs.modifiers
        both = form * root_or[1] + tag
        side = direction if self.direction else np.zeros_like(direction)
        of_tag = [both * _CODES + code, tag * _CODES + code, tag * 2 + side, np.zeros_like(tag)]
        of_form = [
            (both * 2 + side) * sizes[1] + own_tag,
            (tag * 2 + side) * sizes[1] + own_tag,
            own_tag,
        ]
        return [
            Factor.broadcast(of_tag, own_tag, sizes[1]),
            Factor.broadcast(of_form, own_form, sizes[0]),
        ]

    def all_arcs(self, chunk: Chunk) -> Arcs:
        """Arcs [sentence, h, m] of sentences of one length; column 0 is m = 1."""
        n = chunk.words
        positions = np.arange(n + 1)
        h, m = positions[:, None], positions[None, 1:]
        direction, code = self._codes(h, m)
        heads = [
            np.pad(units, ((0, 0), (1, 0)), constant_values=len(vocabulary))[:, :, None]
            for units, vocabulary in zip(chunk.units, self.vocabularies, strict=True)
        ]
        return Arcs(heads, [units[:, None, :] for units in chunk.units], direction, code)

    def _codes(self, heads: Ints, modifiers: Ints) -> tuple[Ints, Ints]:
        """Direction, and direction with distance as far as the model knows them; 0 for the root."""
        direction = ((heads < modifiers) & (heads > 0)).astype(np.int64)
        bucket = np.searchsorted(_BUCKETS, np.abs(heads - modifiers))
        code = 2 * bucket * self.distance + direction * self.direction
        return direction, np.where(heads > 0, code, 0)

    def _tree_arcs(self, corpus: Corpus, heads: Ints) -> Arcs:
        """The arcs of trees, those into words without a head left out; with stops, if any.

        Args:
            heads: of all words, end to end.
        """
        starts = np.repeat(np.cumsum(corpus.sizes) - corpus.sizes, corpus.sizes)
        words = np.flatnonzero(heads >= 0)
        h, m = heads[words], words - starts[words] + 1
        direction, code = self._codes(h, m)
        index = np.where(h > 0, starts[words] + h - 1, 0)
        of_heads = [
            np.where(h > 0, units[index], len(vocabulary))
            for units, vocabulary in zip(corpus.units, self.vocabularies, strict=True)
        ]
        modifiers = [units[words] for units in corpus.units]
        if self.stop:
            stopping = self.stopping_units(corpus)
            of_heads = [np.concatenate([of_heads[0], stopping])]
            stops = np.full(len(stopping), len(self.vocabularies[0]))
            modifiers = [np.concatenate([modifiers[0], stops])]
            direction = code = np.zeros(len(modifiers[0]), np.int64)
        return Arcs(of_heads, modifiers, direction, code)

    def stopping_units(self, corpus: Corpus) -> Ints:
        """Who stops: every word, and the root of each sentence where it may have several."""
        roots = len(corpus) if self.root == "multi" else 0
        return np.concatenate([corpus.units[0], np.full(roots, len(self.vocabularies[0]))])

    # Probabilities.

    def arc_scores(self, chunk: Chunk) -> Floats:
        """log p(word m | word h), (sentences, n + 1, n + 1)."""
        n, count = chunk.words, len(chunk.members)
        scores = np.zeros((count, n + 1, n + 1))
        factors = self.factors(self.all_arcs(chunk))
        for table, factor in zip(self._tables, factors, strict=True):
            scores[:, :, 1:] += table.log_probs(factor.contexts, factor.observed)
        return scores

    def _log_probs(self, corpus: Corpus, threads: int | None) -> Floats:
        totals = np.zeros(len(corpus))
        for chunk in corpus.chunks():
            lengths = [chunk.words] * len(chunk.members)
            trees = self._trees(self.arc_scores(chunk), lengths=lengths, threads=threads)
            totals[chunk.members] = trees.log_partition()
            if not self.stop:
                kind: dict[str, Any] = {"projective": self.projective, "root": self.root}
                totals[chunk.members] -= log_tree_count(chunk.words, **kind)
        if self.stop:
            totals += self._log_stops(corpus)
        return totals

    def _log_length_probs(self, sizes: Ints) -> Floats:
        if self.stop:
            raise ModelError("a model with stop gives no probabilities of strings: leave stop out")
        return super()._log_length_probs(sizes)

    def _log_stops(self, corpus: Corpus) -> Floats:
        """The sum of log p(STOP | x) over the words of each sentence, and the root."""
        units = self.stopping_units(corpus)
        size = len(self.vocabularies[0])
        zero = np.zeros_like(units)
        (factor,) = self.factors(Arcs([units], [zero + size], zero, zero))
        logs = self._tables[0].log_probs(factor.contexts, factor.observed)
        owners = np.repeat(np.arange(len(corpus)), corpus.sizes)
        owners = np.concatenate([owners, np.arange(len(units) - len(owners))])
        found = np.zeros(len(corpus))
        np.add.at(found, owners, logs)
        return found

    def _trees(self, scores: Any, **options: Any) -> TreeDistribution:
        family = ProjectiveTrees if self.projective else SpanningTrees
        return family(scores, root=self.root, **options)

    def _distribution(self, corpus: Corpus, is_batch: bool, threads: int | None) -> Any:
        scores: list[Floats] = [np.empty(0)] * len(corpus)
        for chunk in corpus.chunks():
            own = self.arc_scores(chunk)
            if self._label_table is not None:
                logs = self._label_table.rows(self._label_contexts(self.all_arcs(chunk)))
                own = np.repeat(own[..., None], len(self.labels), axis=3)
                own[:, :, 1:] += logs
            for member, one in zip(chunk.members.tolist(), own, strict=True):
                scores[member] = one
        return self._trees(scores if is_batch else scores[0], threads=threads)

    # Labels: p(label | head, modifier, direction), so that they sum to 1 for each arc.

    def _label_contexts(self, arcs: Arcs) -> Sequence[Ints]:
        head, modifier = arcs.heads[-1], arcs.modifiers[-1]
        own = modifier * 2 + arcs.direction
        pair = head * (2 * len(self.vocabularies[-1])) + own
        return Factor.broadcast([pair, own, np.zeros_like(own)], modifier, 0).contexts

    def _count_labels(self, arcs: Arcs, names: Sequence[str]) -> None:
        """Learn the labels of arcs; those of stops, which come last, are not there."""
        self.labels, self._label_table = (), None
        if all(name == "_" for name in names):
            return
        self.labels = tuple(sorted(set(names)))
        numbers = {name: number for number, name in enumerate(self.labels)}
        observed = np.array([numbers[name] for name in names])
        contexts = [one[: len(names)] for one in self._label_contexts(arcs)]
        self._label_table = BackoffTable.count(contexts, observed, len(self.labels), None)

    def _named(self, tree: Tree) -> Tree:
        return tree if tree.labels is None else labelled_tree(tree, self.labels)

    # Drawing sentences.

    def generate(self, lengths: Sequence[int], *, seed: int | None = None) -> list[Sentence]:
        """Sentences of given lengths with their trees, drawn from the model.

        A unit of one column goes to the column of that name, and to FORM.
        """
        if self.stop:
            raise ModelError("a model with stop gives no distribution of sentences to draw from")
        self._check_learnt()
        rng = np.random.default_rng(seed)
        sizes = np.array(lengths, np.int64)
        draw = projective_heads if self.projective else uniform_heads
        heads = draw(rng, sizes, single=self.root == "single")
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        units = np.zeros((len(self.vocabularies), len(heads)), np.int64)
        units[:, 0] = [len(one) for one in self.vocabularies]
        for words in levels(heads):
            own = words[words > 0]
            if len(own):
                units[:, own] = self._draw_units(rng, heads, units, own, starts[own - 1])
        return self._built(
            sizes, units[:, 1:], np.where(heads > 0, heads - np.append(0, starts), 0)[1:]
        )

    def _draw_units(
        self, rng: np.random.Generator, heads: Ints, units: Ints, words: Ints, starts: Ints
    ) -> list[Ints]:
        """The units of some words, given those of their heads; words count from 1 throughout."""
        own_heads = heads[words]
        h = np.where(own_heads > 0, own_heads - starts, 0)
        direction, code = self._codes(h, words - starts)
        drawn = [np.zeros_like(words)] * len(units)
        arcs = Arcs(list(units[:, own_heads]), drawn, direction, code)
        # With two columns the tag is drawn first, and the form given the tag.
        for column, table in zip(range(len(units))[::-1], self._tables, strict=True):
            contexts = self.factors(arcs)[len(units) - 1 - column].contexts
            sums = np.cumsum(np.exp(table.rows(contexts)), axis=1)
            drawn[column] = (rng.random((len(words), 1)) * sums[:, -1:] >= sums).sum(axis=1)
        return drawn

    def _built(self, sizes: Ints, units: Ints, heads: Ints) -> list[Sentence]:
        names = [
            [vocabulary.symbols[number] for number in column]
            for vocabulary, column in zip(self.vocabularies, units.tolist(), strict=True)
        ]
        columns = dict(zip(self.unit.split("+"), names, strict=True))
        forms = columns.pop("form", names[0])
        others = {{"lemma": "lemmas"}.get(name, name): values for name, values in columns.items()}
        found = []
        for end, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True):
            own = slice(end - size, end)
            kept = {name: values[own] for name, values in others.items()}
            found.append(Sentence.build(forms[own], heads=heads[own], **kept))
        return found

    # Files.

    def options(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        names = "unit projective root direction distance stop min_count".split()
        return {name: getattr(self, name) for name in names}

    def _tensors(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {}
        for number, table in enumerate(self._tables):
            found |= table.tensors(f"modifiers{number}")
        if self._label_table is not None:
            found |= self._label_table.tensors("labels")
        return found

    def _metadata(self) -> dict[str, Any]:
        labels = None if self._label_table is None else self._label_table.metadata()
        return {
            "modifiers": [table.metadata() for table in self._tables],
            "names": self.labels,
            "labels": labels,
        }

    def _restore(self, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> None:
        about = Fields(metadata, "tables")
        tables = about.items("modifiers")
        if len(tables) != len(self.vocabularies):
            raise ModelError("the model has no table for each vocabulary: train it again")
        # One more outcome where words may stop, one less where none is unknown.
        self._tables = [
            BackoffTable.restore(f"modifiers{number}", tensors, one, size - 1, size + 1)
            for number, (one, size) in enumerate(
                zip(tables, map(len, self.vocabularies), strict=True)
            )
        ]
        self.labels = about.texts("names", written=True)
        if not about.is_none("labels"):
            own = about.fields("labels")
            self._label_table = BackoffTable.restore("labels", tensors, own, len(self.labels))
        zeros = np.zeros(1, np.int64)
        nothing = Arcs([zeros] * len(tables), [zeros] * len(tables), zeros, zeros)
        contexts = [factor.contexts for factor in self.factors(nothing)]
        found = [*self._tables, *([self._label_table] if self._label_table else [])]
        for table, most in zip(found, [*contexts, self._label_contexts(nothing)], strict=False):
            if table.depth > len(most):
                raise ModelError("the tables of the model have too many contexts: train it again")
