"""Sentences drawn from a grammar, one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from crossarc.errors import TreebankError
from crossarc.treebank.sentence import Sentence
from crossarc.treebank.synthetic.grammar import Floats, Grammar, random_grammar
from crossarc.treebank.synthetic.lengths import length_weights
from crossarc.treebank.synthetic.random_trees import (
    SHORTEST_NONPROJECTIVE,
    Ints,
    levels,
    mixed_heads,
    offsets,
    uniform_heads,
)

__all__ = ["generate"]

# A block is what is drawn at once: sentence i comes from block i // size of its own random stream.
_BLOCK_WORDS, _BLOCK_SENTENCES = 8192, 256


def generate(
    grammar: Grammar | None = None,
    *,
    sentences: int | None = None,
    words: int | None = None,
    seed: int = 0,
    start: int = 0,
    lengths: int | ArrayLike | None = None,
    nonprojective: float | Literal["uniform"] = 0.0,
    root: Literal["single", "multi"] = "single",
) -> Iterator[Sentence]:
    """Random sentences with trees, one after the other, in memory bounded by a block of them.

    Sentence i depends on the seed, the settings and i, not on how many are asked for.

    Args:
        grammar: tags, labels, words and their probabilities; `random_grammar(0)` if not given.
        sentences: how many; without end if neither `sentences` nor `words` is given.
        words: stop after the sentence with which this many words are reached.
        seed: a whole number, 0 or more.
        start: number of the first sentence, counted from 0, to share a treebank among workers.
        lengths: words per sentence: a number, or weights of 0, 1, 2, ... words, such as
            `poisson_lengths(20)` (the default) or `np.bincount` of the lengths of a real treebank.
        nonprojective: the expected share of non-projective sentences. One of 1 or 2 words never is,
            so the longer ones are with probability nonprojective / P(3 words or more). Or
            "uniform": all trees of n words, crossing or not, have the same probability.
        root: "single", or "multi" to let several words hang from the root.

    Raises:
        TreebankError: settings out of range, or a share that the lengths do not allow.
    """
    _check_count("sentences", sentences)
    _check_count("words", words)
    _check_count("seed", seed)
    _check_count("start", start)
    if root not in ("single", "multi"):
        raise TreebankError(f"root {root!r}: must be 'single' or 'multi'")
    weights = length_weights(lengths)
    plan = _Plan(
        grammar=random_grammar(0) if grammar is None else grammar,
        seed=seed,
        lengths=np.cumsum(weights) / np.cumsum(weights)[-1],
        crossing=_crossing_probability(nonprojective, weights),
        single=root == "single",
    )
    mean = float(weights @ np.arange(weights.size) / weights.sum())
    block = min(max(int(_BLOCK_WORDS / mean), 1), _BLOCK_SENTENCES)
    return _stream(plan, block, start, sentences, words)


def _check_count(name: str, value: int | None) -> None:
    if value is not None and (not isinstance(value, int | np.integer) or value < 0):
        raise TreebankError(f"{name} {value!r}: must be a whole number, 0 or more")


def _crossing_probability(
    nonprojective: float | Literal["uniform"], weights: Floats
) -> float | None:
    """Probability that a sentence which is long enough has to cross; None for uniform trees."""
    if nonprojective == "uniform":
        return None
    if isinstance(nonprojective, str) or not 0.0 <= nonprojective <= 1.0:
        raise TreebankError(f"nonprojective {nonprojective}: must be from 0 to 1, or 'uniform'")
    possible = float(weights[SHORTEST_NONPROJECTIVE:].sum() / weights.sum())
    if nonprojective > possible * (1.0 + 1e-12):
        raise TreebankError(
            f"nonprojective {nonprojective}: only {possible:.6g} of the sentences have"
            f" {SHORTEST_NONPROJECTIVE} words or more; lower it or lengthen the sentences"
        )
    return nonprojective / possible if nonprojective else 0.0


@dataclass(frozen=True)
class _Plan:
    """All that a block depends on besides its number."""

    grammar: Grammar
    seed: int
    lengths: Floats
    crossing: float | None
    single: bool


def _stream(
    plan: _Plan, size: int, start: int, sentences: int | None, words: int | None
) -> Iterator[Sentence]:
    """The sentences from `start` on, until one of the limits is reached."""
    sentences_left = math.inf if sentences is None else sentences
    words_left = math.inf if words is None else words
    if min(sentences_left, words_left) <= 0:
        return
    for number in itertools.count(start // size):
        skipped = max(start - number * size, 0)
        for sentence in itertools.islice(_block(plan, number, size), skipped, None):
            yield sentence
            sentences_left -= 1
            words_left -= len(sentence)
            if min(sentences_left, words_left) <= 0:
                return


def _block(plan: _Plan, number: int, size: int) -> Iterator[Sentence]:
    """The sentences number * size, number * size + 1, ... from a random stream of their own."""
    stream = np.random.SeedSequence(plan.seed, spawn_key=(number,))
    rng = np.random.Generator(np.random.PCG64(stream))
    lengths: Ints = np.searchsorted(plan.lengths, rng.random(size), side="right")
    if plan.crossing is None:
        heads = uniform_heads(rng, lengths, single=plan.single)
    else:
        crossing = (rng.random(size) < plan.crossing) & (lengths >= SHORTEST_NONPROJECTIVE)
        heads = mixed_heads(rng, lengths, crossing, single=plan.single)
    tags = plan.grammar.draw_tags(rng, heads, levels(heads))
    forms, lemmas = plan.grammar.draw_forms(rng, tags[1:])
    upos = plan.grammar.tag_names(tags[1:])
    labels = plan.grammar.arc_labels(heads, tags)

    begins = offsets(lengths)
    local = np.where(heads[1:] > 0, heads[1:] - np.repeat(begins, lengths), 0)
    for k, (begin, length) in enumerate(zip(begins.tolist(), lengths.tolist(), strict=True)):
        span = slice(begin, begin + length)
        name = f"synthetic-{plan.seed}-{number * size + k}"
        yield Sentence.build(
            forms[span],
            lemmas=lemmas[span],
            upos=upos[span],
            heads=local[span],
            deprels=labels[span],
            comments=(f"# sent_id = {name}", f"# text = {' '.join(forms[span])}"),
        )
