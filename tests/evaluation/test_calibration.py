from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crossarc as ca
from crossarc.evaluation import calibration, head_calibration

HERE = Path(__file__).parent


def test_figures_by_hand():
    result = calibration([0.9, 0.8, 0.3, 0.25], [True, False, False, True], bins=2)
    # Bin [0.5, 1]: confidence 0.85, accuracy 0.5; bin [0, 0.5): confidence 0.275, accuracy 0.5.
    assert result.ece == pytest.approx((2 * 0.35 + 2 * 0.225) / 4)
    assert result.brier == pytest.approx((0.01 + 0.64 + 0.09 + 0.5625) / 4)
    assert result.log_loss == pytest.approx(-math.log(0.9 * 0.2 * 0.7 * 0.25) / 4)
    assert [(b.lower, b.upper, b.count, b.accuracy) for b in result.bins] == [
        (0, 0.5, 2, 0.5),
        (0.5, 1, 2, 0.5),
    ]
    assert [b.confidence for b in result.bins] == pytest.approx([0.275, 0.85])


def test_a_bound_belongs_to_the_bin_above_it_and_one_to_the_last():
    result = calibration([0.0, 0.3, 0.6, 1.0], [True] * 4, bins=10)
    assert [i for i, b in enumerate(result.bins) if b.count] == [0, 3, 6, 9]
    assert result.bins[1].confidence is None
    assert result.bins[1].accuracy is None


def test_certain_and_wrong_has_no_finite_log_loss():
    assert calibration([1.0], [False]).log_loss == math.inf
    assert calibration([1.0, 0.0], [True, False]).log_loss == 0


predictions = st.lists(st.tuples(st.integers(0, 1000), st.booleans()), min_size=1, max_size=60)


@given(predictions, st.integers(1, 20))
def test_equal_to_a_plain_loop(items, bins):
    """Probabilities are thousandths, so the bin of each is found in whole numbers."""
    piles: dict[int, list[tuple[float, bool]]] = {}
    for k, right in items:
        piles.setdefault(min(k * bins // 1000, bins - 1), []).append((k / 1000, right))
    ece = 0.0
    for pile in piles.values():
        gap = sum(right for _, right in pile) / len(pile) - sum(p for p, _ in pile) / len(pile)
        ece += len(pile) / len(items) * abs(gap)
    brier = sum((k / 1000 - right) ** 2 for k, right in items) / len(items)

    result = calibration([k / 1000 for k, _ in items], [right for _, right in items], bins)
    assert result.count == len(items)
    assert {i: b.count for i, b in enumerate(result.bins) if b.count} == {
        i: len(pile) for i, pile in piles.items()
    }
    assert result.ece == pytest.approx(ece, abs=1e-12)
    assert result.brier == pytest.approx(brier, abs=1e-12)


@pytest.mark.parametrize(
    ("probabilities", "correct", "bins"),
    [([], [], 10), ([0.5], [True, False], 10), ([1.5], [True], 10), ([math.nan], [True], 10),
     ([0.5], [True], 0)],
)  # fmt: skip
def test_unfit_input(probabilities, correct, bins):
    with pytest.raises(ValueError, match="must"):
        calibration(probabilities, correct, bins)


def read(name: str) -> list[ca.Sentence]:
    return list(ca.read_conllu(HERE / name))


# HeadProb of en-1 and la-1 in system.conllu, and whether the head is right, read off by eye.
WRITTEN = [
    (0.9912, 1), (0.9731, 1), (0.9, 1), (0.88, 1), (0.41, 0), (0.95, 1), (1.0, 1), (0.97, 1),
    (0.7702, 1), (0.8, 1), (0.3527, 0), (0.64, 0), (0.5104, 1), (0.93, 1), (0.75, 1), (0.6, 1),
    (0.2, 1), (0.98, 1),
]  # fmt: skip


def test_heads_with_probabilities_in_a_file():
    result = head_calibration(read("gold.conllu"), read("system.conllu"))
    expected = calibration([p for p, _ in WRITTEN], [right for _, right in WRITTEN])
    assert result is not None
    assert result.count == len(WRITTEN)
    assert result.ece == pytest.approx(expected.ece, rel=1e-12)
    assert result.brier == pytest.approx(expected.brier, rel=1e-12)
    assert [b.count for b in result.bins] == [b.count for b in expected.bins]
    # 1.0 is read as 0.99995.
    assert result.log_loss == pytest.approx(
        expected.log_loss - math.log(0.99995) / len(WRITTEN), rel=1e-12
    )


def test_scores_carry_the_calibration():
    gold, system = read("gold.conllu"), read("system.conllu")
    assert ca.evaluate(gold, system).calibration == head_calibration(gold, system)
    assert ca.evaluate(gold, gold).calibration is None
    assert head_calibration(gold, gold) is None


@pytest.mark.parametrize("value", ["high", "1.2", "-0.1", "nan", ""])
def test_what_is_not_a_probability_is_named(value):
    gold = [ca.Sentence.build(["a", "b"], heads=[0, 1])]
    system = [ca.Sentence.build(["a", "b"], heads=[0, 1], misc=["X=Y", f"HeadProb={value}"])]
    with pytest.raises(ca.TreebankError, match=f"sentence 1: word 2 has HeadProb={value}"):
        ca.evaluate(gold, system)


def test_other_names_are_not_head_probabilities():
    gold = [ca.Sentence.build(["a", "b"], heads=[0, 1])]
    system = [ca.Sentence.build(["a", "b"], heads=[0, 1], misc=["OldHeadProb=0.1", "_"])]
    assert ca.evaluate(gold, system).calibration is None
