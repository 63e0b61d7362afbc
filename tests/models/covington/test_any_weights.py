"""Parsing with any weights: against plain Python, and what holds for every tree."""

from __future__ import annotations

from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.covington_reference import PlainParser

from crossarc import Sentence, Tree
from crossarc.models.covington.beam import parse_with_beam
from crossarc.models.covington.model import CovingtonModel
from crossarc.treebank import sample

DEGREES = (None, 0, 1, 2, 3)


def random_model(
    bank: list[Sentence], seed: int, *, max_degree: int | None, root: str = "single", beam: int = 1
) -> CovingtonModel:
    """A model whose weights say nothing."""
    model = CovingtonModel.build(
        bank,
        max_degree=max_degree,
        root=root,  # type: ignore[arg-type]
        beam=beam,
        bits=12,
    )
    rng = np.random.default_rng(seed)
    model.weights = rng.integers(-99, 100, model.size).astype(np.int16)
    return model


@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("max_degree", DEGREES)
def test_greedy_parse_follows_the_definition(max_degree: int | None, root: str) -> None:
    """Heads, labels and active pairs as of the parser in plain Python."""
    bank = sample()
    short = [one for one in bank if len(one) <= 12][:12]
    model = random_model(bank, 7, max_degree=max_degree, root=root)
    encoded = model.encode(short)
    heads, labels, asked = model.parse_encoded(encoded)
    for s, begin in enumerate(encoded.words):
        words = slice(begin, begin + encoded.sizes[s])
        expected = PlainParser(model, encoded, s).parse()
        assert (heads[words].tolist(), labels[words].tolist(), asked[s]) == expected


@settings(max_examples=30)
@given(
    st.integers(0, 999),
    st.sampled_from(DEGREES),
    st.sampled_from(["single", "multi"]),
    st.sampled_from([1, 2, 5]),
)
def test_trees_obey_the_constraint(seed: int, max_degree: int | None, root: str, beam: int) -> None:
    bank = sample()
    model = random_model(bank, seed, max_degree=max_degree, root=root, beam=beam)
    encoded = model.encode(bank)
    heads, labels, _ = model.parse_encoded(encoded)
    for s, begin in enumerate(encoded.words):
        own = slice(begin, begin + encoded.sizes[s])
        tree = Tree(heads[own])
        assert max_degree is None or tree.degree <= max_degree
        assert root == "multi" or tree.is_single_root
        assert model.permitted[(heads[own] > 0).astype(int), labels[own]].all()


@settings(max_examples=20)
@given(st.integers(0, 999), st.sampled_from(DEGREES), st.sampled_from([1, 3]))
def test_given_heads_stay(seed: int, max_degree: int | None, beam: int) -> None:
    bank = sample()
    model = random_model(bank, seed, max_degree=max_degree, beam=beam)
    encoded = model.encode(bank)
    kept = np.random.default_rng(seed).random(len(encoded.heads)) < 0.4
    fixed = np.where(kept, encoded.heads, -1)
    heads, _, _ = model.parse_encoded(encoded, fixed)
    assert heads[kept].tolist() == fixed[kept].tolist()
    for s, begin in enumerate(encoded.words):
        assert Tree(heads[begin : begin + encoded.sizes[s]]).is_single_root


def test_all_heads_given_leave_no_choice() -> None:
    bank = sample()
    model = random_model(bank, 1, max_degree=0)
    encoded = model.encode(bank)
    heads, _, asked = model.parse_encoded(encoded, encoded.heads)
    assert heads.tolist() == encoded.heads.tolist()
    assert asked.sum() == 0


def test_a_beam_of_one_is_greedy() -> None:
    bank = sample()
    model = random_model(bank, 3, max_degree=1)
    encoded = model.encode(bank)
    expected = model.parse_encoded(encoded)
    total = len(encoded.heads)
    heads, labels, asked = (np.zeros(k, np.int64) for k in (total, total, len(encoded)))
    parse = model.bind(parse_with_beam, encoded, model.weights)
    parse(1, np.full(total, -1), heads, labels, asked, 0, len(encoded))
    for found, wanted in zip((heads, labels, asked), expected, strict=True):
        assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("max_degree", [None, 0, 1])
def test_a_wide_beam_finds_the_best_derivation(max_degree: int | None) -> None:
    """By enumeration of all derivations of four words."""
    bank = sample()
    short = [one for one in bank if len(one) == 4][:5]
    model = random_model(bank, 11, max_degree=max_degree, beam=5000)
    encoded = model.encode(short)
    heads, _, _ = model.parse_encoded(encoded)
    for s, begin in enumerate(encoded.words):
        _, best = max(PlainParser(model, encoded, s).derivations(), key=itemgetter(0))
        best.finish()
        assert heads[begin : begin + 4].tolist() == [best.heads[m] for m in range(1, 5)]
