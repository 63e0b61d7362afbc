"""Rules from forms to lemmas, and tables that are mostly zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossarc.models.tagging.rules import Rule, find_rule
from crossarc.models.tagging.sparse import pack, strongest, unpack


@pytest.mark.parametrize(
    ("form", "lemma", "rule"),
    [
        ("running", "run", Rule(False, "", "", "ning", "")),
        ("Dogs", "dog", Rule(False, "", "", "s", "")),
        ("London", "London", Rule(True, "", "", "", "")),
        ("the", "the", Rule(False, "", "", "", "")),
        ("The", "the", Rule(False, "", "", "", "")),
        ("gesehen", "sehen", Rule(False, "ge", "", "", "")),
        ("was", "be", Rule(False, "", "", "", "", "be")),
    ],
)
def test_rules_of_known_pairs(form, lemma, rule):
    assert find_rule(form, lemma) == rule


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_a_rule_makes_its_lemma(form, lemma):
    assert find_rule(form, lemma).apply(form) == lemma


def test_rules_that_do_not_fit():
    rule = find_rule("running", "run")
    assert rule.apply("walking") is None
    assert rule.apply("ning") is None
    assert rule.apply("SPINNING") == "spin"


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(-(2**15), 2**15 - 1)), max_size=30),
)
def test_packing_is_lossless(entries):
    weights = np.zeros(5001, np.int16)
    for place, value in entries:
        weights[place] = value
    assert (unpack(*pack(weights), len(weights)) == weights).all()


def test_the_strongest_weights_are_kept():
    weights = np.array([0.5, -3.0, 0.0, 2.0, 1.0])
    assert strongest(weights, 2).tolist() == [False, True, False, True, False]
    assert strongest(weights, 9).tolist() == [True, True, False, True, True]
