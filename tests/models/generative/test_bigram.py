"""The bigram model against its definition: all trees listed, every probability counted by hand."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.brute_force import projective_tree
from support.generative import DefinedBigram, bucket, random_treebank, trees_of

import crossarc as ca
from crossarc import InfeasibleError, ModelError, Sentence, TreebankError
from crossarc.models.generative import BigramModel, DMVModel, log_tree_count
from crossarc.models.storage import read_model, write_model

KINDS = list(itertools.product((False, True), ("single", "multi")))
CONTEXTS = [(False, False), (True, False), (True, True)]
LETTERS = ("a", "b", "c")


@pytest.mark.parametrize(("projective", "root"), KINDS)
def test_numbers_of_trees(projective: bool, root: str) -> None:
    """Against all trees of up to 6 words, listed."""
    for n in range(1, 7):
        count = len(trees_of(n, projective, root))
        assert log_tree_count(n, projective=projective, root=root) == pytest.approx(
            math.log(count), abs=1e-12
        )


def test_numbers_of_trees_of_long_sentences() -> None:
    """n^(n - 1) of Cayley; 1, 3, 12, 55, 273 are sequence A001764 of the OEIS."""
    assert log_tree_count(300, projective=False, root="single") == pytest.approx(
        299 * math.log(300)
    )
    counts = [math.exp(log_tree_count(n, projective=True, root="multi")) for n in range(1, 6)]
    assert counts == pytest.approx([1, 3, 12, 55, 273])
    assert log_tree_count(2000, projective=True, root="single") < 2000 * math.log(27 / 4)


@pytest.mark.parametrize(("projective", "root"), KINDS)
@pytest.mark.parametrize(("direction", "distance"), CONTEXTS)
@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_log_prob_is_the_definition(
    projective: bool, root: str, direction: bool, distance: bool, strength: float
) -> None:
    """log of beta times the sum over trees of the product of (count + a) / (total + a V)."""
    bank = random_treebank(12, seed=1)
    kind: Any = {"projective": projective, "root": root}
    model = BigramModel("form", direction=direction, distance=distance, **kind)
    model.fit(bank, smoothing="additive", strength=strength)
    defined = DefinedBigram(bank, direction, distance, strength)
    for words in (["a"], ["b", "a", "c"], ["c", "c", "a", "b"], ["a", "b", "a", "c", "b"]):
        trees = trees_of(len(words), projective, root)
        total = math.fsum(defined.weight(words, heads) for heads in trees) / len(trees)
        expected = math.log(total) if total else -math.inf
        assert model.log_prob(words) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("projective", "root"), KINDS)
@pytest.mark.parametrize("unit", ["form", "upos", "form+upos"])
@pytest.mark.parametrize("smoothing", ["interpolated", "additive"])
def test_strings_of_n_words_sum_to_one(
    projective: bool, root: str, unit: Any, smoothing: Any
) -> None:
    kind: Any = {"projective": projective, "root": root}
    model = BigramModel(unit, **kind).fit(random_treebank(8, seed=2), smoothing=smoothing)
    symbols: list[Any] = list(model.vocabularies[0].symbols)
    if unit == "form+upos":
        symbols = list(itertools.product(symbols, model.vocabularies[1].symbols))
    n = 2 if unit == "form+upos" else 4
    strings = [list(words) for words in itertools.product(symbols, repeat=n)]
    assert math.fsum(map(math.exp, model.log_prob(strings))) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("projective", "root"), KINDS)
def test_trees_with_labels(projective: bool, root: str) -> None:
    """The best tree is the best by brute force, and probabilities are those of the definition.

    p(l | h, m, direction) is interpolated with p(l | m, direction) and p(l) after Witten & Bell.
    """
    bank = random_treebank(12, seed=3)
    kind: Any = {"projective": projective, "root": root}
    model = BigramModel("form", **kind).fit(bank, smoothing="additive", strength=0.1)
    defined = DefinedBigram(bank, True, True, 0.1)
    words = ["b", "a", "c", "a"]
    weights = {}
    for heads in trees_of(4, projective, root):
        rows = [defined.label_row(words, h, m) for m, h in enumerate(heads, 1)]
        for labels in itertools.product(range(len(rows[0])), repeat=4):
            share = math.prod(row[k] for row, k in zip(rows, labels, strict=True))
            weights[heads, labels] = defined.weight(words, heads) * share
    best = max(weights, key=lambda key: weights[key])
    parsed = model.parse(words)
    assert tuple(parsed.heads) == best[0]
    assert parsed.labels == tuple(defined.labels[k] for k in best[1])
    assert parsed.score == pytest.approx(math.log(weights[best]), abs=1e-10)
    trees = model.distribution(words)
    total = math.fsum(weights.values())
    for heads, labels in list(weights)[::97]:
        expected = math.log(weights[heads, labels] / total)
        assert trees.log_prob(ca.Tree(heads, labels)) == pytest.approx(expected, abs=1e-10)
    assert model.parse([words, ["a"]])[0] == parsed


def test_interpolation() -> None:
    """Witten & Bell (1991), by hand: head a has b twice and c once to its right at distance 1."""
    bank = [
        Sentence.build(["a", "b"], heads=[0, 1]),
        Sentence.build(["a", "b"], heads=[0, 1]),
        Sentence.build(["a", "c"], heads=[0, 1]),
    ]
    model = BigramModel("form").fit(bank)
    # Levels () with 6 events of 3 types over 4 symbols, then a, a + direction, a + both: all have
    # the events b b c, 2 types.
    unigram = {"b": (2 + 3 / 4) / 9, "c": (1 + 3 / 4) / 9, "<unk>": 3 / 4 / 9}
    for word, count in (("b", 2), ("c", 1), ("<unk>", 0)):
        p = unigram[word]
        for _ in range(3):
            p = (count + 2 * p) / (3 + 2)
        arcs = model.distribution(["a", word])._batch.square(0)
        assert arcs[1, 2] == pytest.approx(math.log(p), abs=1e-12)


def test_samples() -> None:
    """Frequencies of 2,000 trees, within four standard deviations of the posterior."""
    model = BigramModel("form").fit(random_treebank(12, seed=4))
    words = ["a", "c", "b"]
    drawn = Counter(tuple(model.sample_tree(words, seed=k).heads) for k in range(2000))
    trees = model.distribution(words)
    for heads in trees_of(3, False, "single"):
        p = math.exp(trees.log_prob(ca.Tree(heads)))
        assert abs(drawn[heads] - 2000 * p) < 4 * math.sqrt(2000 * p * (1 - p)) + 1
    assert model.sample_tree(words, seed=7) == model.sample_tree(words, seed=7)
    assert model.sample_tree([words, words], seed=7)[0] == model.sample_tree(words, seed=7)


def test_sentences_and_units() -> None:
    """A sentence is read by its column, and is the same as the list of its units."""
    bank = random_treebank(12, seed=5)
    one = bank[0]
    for unit, units in (
        ("form", list(one.forms)),
        ("upos", list(one.upos)),
        ("form+upos", list(zip(one.forms, one.upos, strict=True))),
    ):
        model = BigramModel(unit).fit(bank)
        assert model.log_prob(one) == model.log_prob(units)
        assert model.log_prob([one, bank[1]]) == [model.log_prob(one), model.log_prob(bank[1])]


def test_rare_words_are_unknown() -> None:
    bank = [*random_treebank(10, seed=6), Sentence.build(["rare", "a"], heads=[2, 0])]
    model = BigramModel("form", min_count=2).fit(bank)
    assert "rare" not in model.vocabularies[0].symbols
    assert model.log_prob(["rare", "a"]) == model.log_prob(["never seen", "a"])
    assert math.isfinite(model.log_prob(["never seen", "a"]))


def test_bad_input() -> None:
    bank = random_treebank(10, seed=6)
    model = BigramModel("form").fit(bank, smoothing="additive", strength=0.0)
    assert model.log_prob([]) == 0.0
    assert model.log_prob(["zzz", "a"]) == -math.inf
    with pytest.raises(InfeasibleError):
        model.parse(["zzz", "a"])
    with pytest.raises(ModelError, match="sentence 0 has no words"):
        model.parse([])
    with pytest.raises(ModelError, match="must be a list of words, not a str"):
        model.log_prob("a b")
    with pytest.raises(ModelError, match="must be strings"):
        model.log_prob([("a", "A")])
    with pytest.raises(TreebankError, match="word 1 has no UPOS: tag the text first"):
        BigramModel("upos").fit([Sentence.build(["a"], heads=[0])])
    with pytest.raises(ModelError, match="no word has a HEAD"):
        BigramModel("form").fit([Sentence.build(["a"])])
    with pytest.raises(ModelError, match="no words to learn from"):
        BigramModel("form").fit([])
    with pytest.raises(ModelError, match="learnt nothing yet"):
        BigramModel("form").log_prob(["a"])
    with pytest.raises(ModelError, match="EM needs a unit of one column"):
        BigramModel("form+upos").fit_em(bank)
    for options in ({"unit": "word"}, {"root": "two"}, {"min_count": 0}, {"stop": True}):
        with pytest.raises(ValueError, match=next(iter(options))):
            BigramModel(**options)
    for strength in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="strength must be a number from 0 up"):
            BigramModel("form").fit(bank, strength=strength)


def test_words_without_heads_count_nothing() -> None:
    bank = random_treebank(10, seed=7)
    partial = Sentence.build(["a", "b", "c"], heads=[-1, 1, -1], upos=["A", "B", "C"])
    whole = BigramModel("form").fit([*bank, partial])
    defined = DefinedBigram([*bank, partial], True, True, 0.1)
    whole.fit([*bank, partial], smoothing="additive")
    trees = trees_of(3, False, "single")
    expected = math.fsum(defined.weight(["b", "a", "a"], heads) for heads in trees) / len(trees)
    assert whole.log_prob(["b", "a", "a"]) == pytest.approx(math.log(expected), abs=1e-12)


@pytest.mark.parametrize("projective", [False, True])
def test_generated_sentences(projective: bool) -> None:
    """Strings of 2 words and trees of 3, within four standard deviations."""
    model = BigramModel("form", projective=projective).fit(random_treebank(12, seed=8))
    count = 4000
    drawn = model.generate([2] * count, seed=1)
    assert drawn[:5] != model.generate([2] * 5, seed=2)
    seen = Counter(one.forms for one in drawn)
    for words in itertools.product(model.vocabularies[0].symbols, repeat=2):
        p = math.exp(model.log_prob(list(words)))
        assert abs(seen[words] - count * p) < 4 * math.sqrt(count * p) + 1
    trees = Counter(tuple(one.heads.tolist()) for one in model.generate([3] * count, seed=3))
    expected = trees_of(3, projective, "single")
    assert set(trees) == set(expected)
    for found in trees.values():
        assert abs(found - count / len(expected)) < 4 * math.sqrt(count / len(expected))


@pytest.mark.parametrize("unit", ["form", "form+upos"])
def test_files(unit: Any, tmp_path: Path) -> None:
    bank = random_treebank(12, seed=9)
    model = BigramModel(unit, projective=True, root="multi", distance=False).fit(bank)
    model.save(tmp_path / "model")
    again = BigramModel.load(tmp_path / "model")
    assert again.log_prob(bank) == model.log_prob(bank)
    assert again.parse(bank[0]) == model.parse(bank[0])
    assert again.options() == model.options()
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    with pytest.raises(ModelError, match="no model of the kind dmv"):
        DMVModel.load(tmp_path / "model")
    tensors, about = read_model(tmp_path / "model")
    broken = {name: array.copy() for name, array in tensors.items()}
    broken["modifiers0.0.counts"][0] = np.nan
    write_model(tmp_path / "nan", broken, about)
    with pytest.raises(ModelError, match=r"nan: the array modifiers0.0.counts has numbers that"):
        BigramModel.load(tmp_path / "nan")
    del about["tables"]["modifiers"]
    write_model(tmp_path / "parts", tensors, about)
    with pytest.raises(ModelError, match="modifiers is missing"):
        BigramModel.load(tmp_path / "parts")
    (tmp_path / "text").write_text(json.dumps({}))
    with pytest.raises(ModelError, match="not a model file"):
        BigramModel.load(tmp_path / "text")


# The model of Klein & Manning without projectivity, as the paper sketches it.


def ordered_trees(n: int) -> list[Any]:
    """All ordered trees of n nodes, as nested tuples of subtrees."""
    if n == 1:
        return [()]
    found = []
    for first in range(1, n):
        for subtree in ordered_trees(first):
            found += [(subtree, *rest) for rest in ordered_trees(n - first)]
    return found


def generated(shape: Any, words: Any, root: str, p: Any) -> float:
    """The probability that a word generates an ordered tree, its words read depth first."""
    own = next(words)
    chance = p[root, own]
    for below in shape:
        chance *= generated(below, words, own, p)
    return chance * p[own, "STOP"]


def test_stop_drops_the_orders_of_modifiers() -> None:
    """Z times the stops is not the probability of the multiset: it lacks c_i! for each word.

    The process is simulated by brute force: every ordered tree, every assignment of words. Divided
    by the orders of equal words, the sum over trees with the factor is the probability of the
    multiset, and over all multisets of n words it is that of n words in all: with p(STOP) = q for
    every word, Catalan(n - 1) q^n (1 - q)^(n - 1).
    """
    q, n, symbols = 0.6, 4, ("a", "b")
    p = {("a", "a"): 0.1, ("a", "b"): 0.3, ("b", "a"): 0.25, ("b", "b"): 0.15}
    p |= {("a", "STOP"): q, ("b", "STOP"): q, ("", "a"): 0.7, ("", "b"): 0.3}
    shapes = ordered_trees(n)
    with_factor = without = simulated = 0.0
    for multiset in itertools.combinations_with_replacement(symbols, n):
        process = math.fsum(
            generated(shape, iter(words), "", p)
            for words in set(itertools.permutations(multiset))
            for shape in shapes
        )
        sums = [0.0, 0.0]
        for heads in trees_of(n, False, "single"):
            named = [p["" if h == 0 else multiset[h - 1], multiset[m]] for m, h in enumerate(heads)]
            weight = math.prod(named) * q**n
            orders = math.prod(math.factorial(heads.count(i)) for i in range(1, n + 1))
            sums = [sums[0] + weight, sums[1] + weight * orders]
        equal = math.prod(map(math.factorial, Counter(multiset).values()))
        assert sums[1] / equal == pytest.approx(process, rel=1e-12)
        assert sums[0] < sums[1]
        without += sums[0] / equal
        with_factor += sums[1] / equal
        simulated += process
    assert simulated == pytest.approx(5 * q**4 * (1 - q) ** 3)
    assert with_factor == pytest.approx(simulated)
    assert without < 0.8 * simulated


@pytest.mark.parametrize("root", ["single", "multi"])
def test_log_prob_with_stop(root: Any) -> None:
    """log of Z times p(STOP | x_i), counted by hand; the root stops where it may go on."""
    bank = random_treebank(10, seed=10)
    model = BigramModel("form", direction=False, distance=False, stop=True, root=root)
    model.fit(bank, smoothing="additive", strength=0.2)
    counts: Counter[tuple[str, str]] = Counter()
    for one in bank:
        names = ["", *one.forms]
        counts.update((names[h], names[m]) for m, h in enumerate(one.heads.tolist(), 1))
        counts.update((name, "STOP") for name in one.forms + (("",) if root == "multi" else ()))
    symbols = ["<unk>", *LETTERS, "STOP"]

    def p(head: str, outcome: str) -> float:
        total = sum(counts[head, one] for one in symbols) + 0.2 * len(symbols)
        return (counts[head, outcome] + 0.2) / total

    words = ["c", "a", "b"]
    total = 0.0
    for heads in trees_of(3, False, root):
        total += math.prod(p(["", *words][h], words[m]) for m, h in enumerate(heads))
    stops = math.prod(p(word, "STOP") for word in words) * (p("", "STOP") if root == "multi" else 1)
    assert model.log_prob(words) == pytest.approx(math.log(total * stops), abs=1e-12)
    with pytest.raises(ModelError, match="gives no probabilities of strings"):
        model.log_prob_given_length(words)
    with pytest.raises(ModelError, match="no distribution of sentences"):
        model.generate([3])


def test_buckets_of_distances() -> None:
    """The edges in the definition above are those of the model: modifiers further away differ."""
    n = 12
    heads = [0] + [1] * (n - 1)
    bank = [Sentence.build(["h", *(f"m{d}" for d in range(1, n))], heads=heads)]
    model = BigramModel("form").fit(bank, smoothing="additive", strength=0.0)
    arcs = model.distribution(["h", *(f"m{d}" for d in range(1, n))])._batch.square(0)
    for d in range(1, n):
        peers = sum(bucket(e) == bucket(d) for e in range(1, n))
        assert arcs[1, d + 1] == pytest.approx(-math.log(peers))
    assert projective_tree(tuple(heads))
