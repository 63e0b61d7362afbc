"""The dynamic oracle against the best tree within reach, found by trying everything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from support import covington_definitions as definitions
from support.compiled import from_python
from support.trees import all_trees, trees

from crossarc import Tree
from crossarc.inference.transition import covington, degree_bound, oracle, pieces, system
from crossarc.inference.transition.pieces import HEAD, MARGIN, ROWS
from crossarc.inference.transition.system import LEFT_ARC, NO_ARC, RIGHT_ARC, SHIFT

cheapest, loss = map(from_python, (oracle.cheapest, oracle.loss))
begin_word, end_word = map(from_python, (pieces.begin_word, pieces.end_word))
reach_pair, leave_pair = map(from_python, (pieces.reach_pair, pieces.leave_pair))
is_closed = from_python(pieces.is_closed)
begin_given, choices, link = map(from_python, (system.begin_given, system.choices, system.link))

Heads = tuple[int, ...]
# A configuration: heads so far, 0 for none, and the pair (i, j) that comes next.
Configuration = tuple[Heads, int, int]


@cache
def moves(heads: Heads, i: int, j: int, constraint: str) -> tuple[tuple[int, Configuration], ...]:
    """The transitions at (i, j), by the definition; only NO-ARC where the pair is not active."""
    n = len(heads)
    arcs = frozenset((h, m) for m, h in enumerate(heads, 1) if h)
    found = [(NO_ARC, (heads, i, j - 1))]
    for action, h, m in ((LEFT_ARC, i, j), (RIGHT_ARC, j, i)):
        if definitions.obeys(arcs | {(h, m)}, n, constraint):
            found.append((action, ((*heads[: m - 1], h, *heads[m:]), i, j - 1)))
    if len(found) > 1:
        found.append((SHIFT, (heads, i, 0)))
    return tuple(found)


def settled(configuration: Configuration) -> Configuration:
    """Go on to the next word where a word has no pair left."""
    heads, i, j = configuration
    while j == 0 and i < len(heads):
        i, j = i + 1, i
    return heads, i, j


@cache
def fewest_lost(configuration: Configuration, gold: Heads, constraint: str) -> int:
    """Wrong heads in the best tree that a configuration leads to."""
    heads, i, j = settled(configuration)
    if j == 0:
        return sum(g not in (-1, h) for h, g in zip(heads, gold, strict=True))
    return min(fewest_lost(after, gold, constraint) for _, after in moves(heads, i, j, constraint))


def bound_of(constraint: str, n: int) -> int:
    degree = degree_bound(constraint)
    return n if degree is None else degree


def wandering(gold: Heads, constraint: str, rng: random.Random) -> Iterator[Configuration]:
    """Active pairs on a random way through a sentence."""
    configuration = settled(((0,) * len(gold), 1, 0))
    while configuration[2] > 0:
        options = moves(*configuration, constraint)
        if len(options) > 1:
            yield configuration
        configuration = settled(rng.choice(options)[1])


def compared(gold: Heads, constraint: str, rng: random.Random) -> Iterator[tuple[bool, bool]]:
    """For each pair on a way: is the loss right, and are the cheapest transitions?"""
    bound = bound_of(constraint, len(gold))
    for heads, i, j in wandering(gold, constraint, rng):
        own, gold_heads = np.array([0, *heads]), np.array([-1, *gold])
        lost = fewest_lost((heads, i, j), gold, constraint)
        found = loss(own, gold_heads, bound, i, j)
        assert found <= lost
        options = dict(moves(heads, i, j, constraint))
        costs = {a: fewest_lost(after, gold, constraint) for a, after in options.items()}
        best = sum(1 << a for a, cost in costs.items() if cost == min(costs.values()))
        allowed = sum(1 << a for a in options)
        yield found == lost, cheapest(own, gold_heads, bound, allowed, i, j) == best
        assert own.tolist() == [0, *heads]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_exact_without_a_bound(n: int) -> None:
    """All gold trees of a few words, some gold heads missing, three random ways through each."""
    rng = random.Random(n)
    for tree in all_trees(n):
        for missing in (0.0, 0.3, 0.3):
            gold = tuple(-1 if rng.random() < missing else h for h in tree)
            assert all(
                loss_right and costs_right
                for loss_right, costs_right in compared(gold, "acyclicity", rng)
            )


def test_exact_without_a_bound_for_five_words() -> None:
    rng = random.Random(5)
    for tree in rng.sample(list(all_trees(5)), 40):
        assert all(a and b for a, b in compared(tree, "acyclicity", rng))
    fewest_lost.cache_clear()


@pytest.mark.parametrize(("constraint", "least"), [("projectivity", 0.7), ("d<=1", 0.9)])
def test_close_under_a_bound(constraint: str, least: float) -> None:
    """The loss is never too high, and the cheapest transitions are mostly the right ones.

    Random trees and ways are the hardest: 76 % and 94 % of the choices are exact.
    """
    rng = random.Random(6)
    cases = [
        right
        for tree in rng.sample(list(all_trees(5)), 60)
        for right in compared(tree, constraint, rng)
    ]
    fewest_lost.cache_clear()
    assert np.mean([costs for _, costs in cases]) >= least


CONSTRAINTS = ("projectivity", "d<=1", "d<=2", "acyclicity")


@given(trees(max_words=12))
def test_following_the_oracle_finds_what_the_constraint_admits(heads: list[int]) -> None:
    """All gold arcs, if the constraint admits them."""
    expected = covington([Tree(heads)], CONSTRAINTS, threads=1)
    for constraint in CONSTRAINTS:
        if expected[constraint].heads.tolist() == heads:
            bound = bound_of(constraint, len(heads))
            assert follow_oracle(heads, bound, bound) == heads


@given(trees(max_words=12))
def test_an_oracle_that_knows_no_bound_finds_what_covington_finds(heads: list[int]) -> None:
    """Every gold arc that is permissible when its pair comes: the oracle of Nivre (2006)."""
    expected = covington([Tree(heads)], CONSTRAINTS, threads=1)
    for constraint in CONSTRAINTS:
        bound = bound_of(constraint, len(heads))
        found = follow_oracle(heads, bound, len(heads))
        assert found == expected[constraint].heads.tolist()


def follow_oracle(gold: list[int], bound: int, known: int) -> list[int]:
    """Make gold arcs where they cost nothing, else shift if that costs nothing.

    Args:
        bound: of the constraint.
        known: the bound that the oracle reckons with.
    """
    n = len(gold)
    gold_heads, given = np.array([-1, *gold]), np.full(n + 1, -1)
    leftmost = np.empty(n + 1, np.int64)
    forest = np.empty((ROWS, n + MARGIN), np.int64)
    begin_given(forest, given, leftmost)
    for i in range(1, n + 1):
        begin_word(forest)
        for j in range(i - 1, 0, -1):
            reach_pair(forest, i, j)
            allowed = choices(forest, given, leftmost, bound, i, j)
            if allowed:
                right = cheapest(forest[HEAD], gold_heads, known, allowed, i, j)
                action = SHIFT if right >> SHIFT & 1 else NO_ARC
                if gold_heads[i] == j or gold_heads[j] == i:
                    arc = RIGHT_ARC if gold_heads[i] == j else LEFT_ARC
                    action = arc if allowed >> arc & 1 else action
                assert right >> action & 1
                link(forest, action, i, j)
                if action == SHIFT:
                    break
            leave_pair(forest, j)
            # Words without a head between i and j are pieces of all later arcs of i.
            assert is_closed(forest, bound) == ((forest[HEAD, j:i] == 0).sum() > bound)
        end_word(forest, i)
    return [int(h) for h in forest[HEAD, 1 : n + 1]]
