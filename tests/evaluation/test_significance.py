from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crossarc as ca
from crossarc.evaluation import paired_bootstrap, sentence_counts, sign_test, sign_test_p

SAMPLES = 20_000


def treebank(rights: list[int], lengths: list[int]) -> list[ca.Sentence]:
    """Sentences in which the first `right` words have the head 0, as in gold, others the head 1."""
    return [
        ca.Sentence.build(
            ["w"] * n,
            heads=[0] * right + [1] * (n - right),
            deprels=["dep:x"] * right + ["dep"] * (n - right),
        )
        for right, n in zip(rights, lengths, strict=True)
    ]


LENGTHS = [2, 5, 3, 9]
GOLD = treebank(LENGTHS, LENGTHS)
A_RIGHT, B_RIGHT = [2, 3, 3, 7], [1, 4, 1, 4]
A, B = treebank(A_RIGHT, LENGTHS), treebank(B_RIGHT, LENGTHS)


def all_resamples() -> list[Fraction]:
    """The difference in percent in each of the 4^4 resamples, exactly."""
    return [
        Fraction(100 * sum(A_RIGHT[i] - B_RIGHT[i] for i in drawn), sum(LENGTHS[i] for i in drawn))
        for drawn in product(range(4), repeat=4)
    ]


def test_bootstrap_is_the_enumeration_of_all_resamples():
    d = Fraction(100 * (sum(A_RIGHT) - sum(B_RIGHT)), sum(LENGTHS))
    resamples = all_resamples()
    p = float(Fraction(sum(abs(r - d) >= abs(d) for r in resamples), len(resamples)))
    result = paired_bootstrap(GOLD, A, B, "uas", SAMPLES, seed=7)
    assert result.difference == pytest.approx(float(d), rel=1e-15)
    assert 0.05 < p < 0.95
    assert result.p == pytest.approx(p, abs=4 * (p * (1 - p) / SAMPLES) ** 0.5)
    # Each end lies between exact quantiles four standard errors of a percentile apart.
    error = 4 * (0.025 * 0.975 / SAMPLES) ** 0.5
    exact = np.array(sorted(map(float, resamples)))
    for end, q in ((result.low, 0.025), (result.high, 0.975)):
        low, high = np.quantile(exact, [q - error, q + error], method="inverted_cdf")
        assert low - 1e-9 <= end <= high + 1e-9


def test_same_seed_same_result_other_seed_another():
    first, second, other = (paired_bootstrap(GOLD, A, B, "uas", 500, seed=s) for s in (1, 1, 2))
    assert first == second
    assert (first.p, first.low, first.high) != (other.p, other.low, other.high)


def test_pieces_of_the_samples_make_no_difference(monkeypatch):
    whole = paired_bootstrap(GOLD, A, B, "uas", 500)
    monkeypatch.setattr("crossarc.evaluation.significance._DRAWS", 28)
    assert paired_bootstrap(GOLD, A, B, "uas", 500) == whole


def test_swapping_systems_flips_the_sign():
    ab, ba = paired_bootstrap(GOLD, A, B), paired_bootstrap(GOLD, B, A)
    assert ab.difference == -ba.difference != 0
    assert ab.p == ba.p
    assert (ab.low, ab.high) == pytest.approx((-ba.high, -ba.low))
    assert ab.low < ab.difference < ab.high


def test_identical_systems():
    result = paired_bootstrap(GOLD, A, A)
    assert (result.difference, result.low, result.high, result.p) == (0, 0, 0, 1)
    assert sign_test(GOLD, A, A).p == 1


def test_counts_per_sentence_by_metric():
    """One wrong head, one wrong relation, one wrong subtype beside a right head."""
    labels = [["dep:x", "dep", "dep"], ["nsubj", "dep:x"]]
    gold = [
        ca.Sentence.build(["w"] * 3, heads=[0, 1, 1], deprels=["dep:x"] * 3),
        ca.Sentence.build(["w"] * 2, heads=[0, 1], deprels=["dep:x"] * 2),
    ]
    a = [
        ca.Sentence.build(["w"] * 3, heads=[0, 1, 0], deprels=labels[0]),
        ca.Sentence.build(["w"] * 2, heads=[0, 1], deprels=labels[1]),
    ]
    rights = {"uas": [2, 2], "las": [2, 1], "las_full": [1, 1]}
    for metric, right in rights.items():
        counts = sentence_counts(iter(gold), iter(a), iter(gold), metric)
        assert counts.words.tolist() == counts.b.tolist() == [3, 2]
        assert counts.a.tolist() == right


def test_counts_run_over_batches():
    """More words than one batch holds; what is right is known per sentence."""
    chance = random.Random(0)
    lengths = [chance.randint(1, 40) for _ in range(400)]
    right = [chance.randint(1, n) for n in lengths]
    counts = sentence_counts(
        treebank(lengths, lengths), treebank(right, lengths), treebank(lengths, lengths)
    )
    assert counts.words.tolist() == counts.b.tolist() == lengths
    assert counts.a.tolist() == right


def test_sign_test_counts_sentences():
    result = sign_test(GOLD, A, B, "uas")
    assert (result.better, result.worse, result.tied) == (3, 1, 0)
    assert result.p == pytest.approx(2 * (1 + 4) / 16)


@pytest.mark.parametrize(("better", "worse"), [(448, 343), (500, 383)])
def test_sign_test_of_koo_et_al_2007(better, worse):
    """Footnote 7: "Both results are significant with p < 0.001"."""
    assert sign_test_p(better, worse) < 0.001
    assert sign_test_p(better, worse) == pytest.approx(exact_p(better, worse), rel=1e-10)


def exact_p(better: int, worse: int) -> float:
    n, fewer = better + worse, min(better, worse)
    tail = Fraction(sum(comb(n, k) for k in range(fewer + 1)), 2**n)
    return float(min(Fraction(1), 2 * tail))


@given(st.integers(0, 300), st.integers(0, 300))
def test_sign_test_is_the_exact_binomial_tail(better, worse):
    assert sign_test_p(better, worse) == pytest.approx(exact_p(better, worse), rel=1e-10)
    assert sign_test_p(better, worse) == sign_test_p(worse, better)


def test_unfit_input_is_named():
    with pytest.raises(ca.TreebankError, match="system b ends before sentence 4 of gold"):
        sign_test(GOLD, A, B[:3])
    with pytest.raises(ca.TreebankError, match="nothing to compare"):
        sign_test([], [], [])
    with pytest.raises(ValueError, match="metric must be"):
        sign_test(GOLD, A, B, "mlas")
    with pytest.raises(ValueError, match="samples"):
        paired_bootstrap(GOLD, A, B, samples=0)
    with pytest.raises(ValueError, match="negative"):
        sign_test_p(-1, 2)
