"""Options of training: what they must be, and what the treebank decides."""

from __future__ import annotations

from typing import Any

import pytest

from crossarc import Sentence
from crossarc.models.covington.kind import CovingtonOptions
from crossarc.models.graph import GraphOptions
from crossarc.models.kinds import OptionError, TrainOptions, find_kind

CHAIN = Sentence.build(list("abcd"), heads=[0, 1, 2, 3])
CROSSING = Sentence.build(list("abcd"), heads=[3, 4, 0, 3])
TWO_ROOTS = Sentence.build(list("abcd"), heads=[0, 0, 2, 3])
PARTIAL = Sentence.build(list("abcd"), heads=[3, 4, -1, -1])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (False, None)),
        ({"projective": False}, (False, None)),
        ({"projective": True}, (True, 0)),
        ({"max_degree": 0}, (True, 0)),
        ({"max_degree": 2}, (False, 2)),
        ({"projective": True, "max_degree": 0}, (True, 0)),
        ({"projective": False, "max_degree": 1}, (False, 1)),
    ],
)
def test_projective_trees_are_those_of_degree_0(
    given: dict[str, Any], expected: tuple[bool, int | None]
) -> None:
    """Whatever the treebank: this one is projective."""
    options = CovingtonOptions(**given).resolved([CHAIN])
    assert (options.projective, options.max_degree) == expected


@pytest.mark.parametrize(("projective", "max_degree"), [(True, 1), (False, 0)])
def test_a_degree_at_odds_with_projectivity(projective: bool, max_degree: int) -> None:
    with pytest.raises(OptionError, match="projective and max_degree: projective trees have"):
        CovingtonOptions(projective=projective, max_degree=max_degree)


@pytest.mark.parametrize(
    ("sentences", "projective", "root"),
    [
        ([CHAIN], True, "single"),
        ([CHAIN, CROSSING], False, "single"),
        ([CHAIN, TWO_ROOTS], True, "multi"),
        # Of partial trees nothing is known.
        ([CHAIN, PARTIAL], True, "single"),
        # One crossing arc in 182 is 0.549 percent, in 181 it is 0.552.
        ([CROSSING, *[CHAIN] * 44, Sentence.build(["a", "b"], heads=[0, 1])], True, "single"),
        ([CROSSING, *[CHAIN] * 44, Sentence.build(["a"], heads=[0])], False, "single"),
    ],
)
def test_the_treebank_decides(sentences: list[Sentence], projective: bool, root: str) -> None:
    options = GraphOptions().resolved(sentences)
    assert (options.projective, options.root) == (projective, root)
    chosen = GraphOptions(projective=not projective, root="multi").resolved(sentences)
    assert (chosen.projective, chosen.root) == (not projective, "multi")


def test_values_out_of_range() -> None:
    with pytest.raises(OptionError, match="passes: must be at least 1: got 0") as caught:
        TrainOptions(passes=0)
    assert (caught.value.names, caught.value.what) == (("passes",), "must be at least 1: got 0")
    assert TrainOptions(passes=1).passes == 1
    with pytest.raises(OptionError, match='root: must be "single" or "multi": got'):
        TrainOptions(root="many")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="ratio: no such option of the kind 'graph': use"):
        find_kind("graph").build_options({"ratio": 2})
