"""What distributions show of themselves."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import crossarc as ca
from crossarc.inference.face import ELSEWHERE

KINDS = [ca.SpanningTrees, ca.ProjectiveTrees]


@pytest.mark.parametrize("kind", KINDS)
def test_line(kind):
    name = kind.__name__
    one = kind(np.zeros((4, 4)))
    assert repr(one) == f"<{name}: 3 words, single root>"
    # Seven projective trees of three words have a single root, and nine in all have one.
    count = {"SpanningTrees": 9, "ProjectiveTrees": 7}[name]
    assert one.log_partition() == pytest.approx(math.log(count))
    assert repr(one) == f"<{name}: 3 words, single root, log Z = {math.log(count):.4f}>"
    assert repr(kind(np.zeros((2, 2)), root="multi")) == f"<{name}: 1 word, multi root>"
    assert repr(kind(np.zeros((3, 3, 5)))) == f"<{name}: 2 words, 5 labels, single root>"
    batch = kind([np.zeros((3, 3)), np.zeros((1001, 1001))])
    assert repr(batch) == f"<{name}: 2 sentences, 1,002 words, single root>"
    assert repr(kind([])) == f"<{name}: 0 sentences, 0 words, single root>"


def test_line_names_factors():
    trees = ca.ProjectiveTrees(np.zeros((3, 3)), sibling=np.zeros((3, 3, 3)))
    assert repr(trees) == "<ProjectiveTrees: 2 words, single root, sibling>"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [(), (2,)])
def test_notebooks_show_the_marginals(kind, labels):
    trees = kind(np.random.default_rng(1).normal(size=(5, 5, *labels)))
    shown = trees._repr_html_()
    assert f"<b>{kind.__name__}</b>: 4 words" in shown
    assert f"log Z = {trees.log_partition():.4f}</p>" in shown
    marginals = trees.marginals().reshape(5, 5, -1).sum(axis=2)
    titles = re.findall(r'title="(\d) → (\d): ([\d.]+)"', shown)
    assert len(titles) == 16
    for head, modifier, probability in titles:
        assert float(probability) == pytest.approx(marginals[int(head), int(modifier)], abs=5e-5)
    opacities = [float(one) for one in re.findall(r"rgba\(\d+, \d+, \d+, ([\d.]+)\)", shown)]
    assert sum(opacities) == pytest.approx(4.0, abs=0.01)


def test_nothing_is_computed_that_takes_long():
    """Long sentences, batches, and factors before log Z is known have no picture."""
    long = ca.SpanningTrees(np.zeros((32, 32)))
    batch = ca.SpanningTrees([np.zeros((3, 3))])
    factors = ca.ProjectiveTrees(np.zeros((3, 3)), sibling=np.zeros((3, 3, 3)))
    for trees in (long, batch, factors):
        assert "<table" not in trees._repr_html_()
        assert trees._known_totals is None
    factors.log_partition()
    assert "<table" in factors._repr_html_()


def test_no_tree():
    scores = np.full((3, 3), -np.inf)
    trees = ca.SpanningTrees(scores)
    assert "No tree is possible." in trees._repr_html_()
    assert repr(trees) == "<SpanningTrees: 2 words, single root, log Z = -inf>"


@pytest.mark.parametrize(
    ("name", "used"),
    [("topk", "kbest(k)"), ("partition", "log_partition()"), ("mode", "argmax()")],
)
def test_names_of_other_libraries(name, used):
    trees = ca.SpanningTrees(np.zeros((3, 3)))
    message = f"SpanningTrees has no attribute '{name}': use {used}"
    with pytest.raises(AttributeError, match=re.escape(message)):
        getattr(trees, name)
    method = used.partition("(")[0]
    assert callable(getattr(trees, method))


def test_other_names_are_not_there():
    trees = ca.SpanningTrees(np.zeros((3, 3)))
    assert not hasattr(trees, "nothing")
    assert not hasattr(trees, "_repr_png_")


def test_every_hint_names_a_method():
    for used in ELSEWHERE.values():
        assert callable(getattr(ca.SpanningTrees, used.partition("(")[0]))


@pytest.mark.parametrize(
    ("scores", "remedy"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], "give one sentence as np.array(scores)"),
        (np.zeros((2, 4, 4)), "a padded one comes with lengths="),
    ],
)
def test_shapes_that_are_nearly_right(scores, remedy):
    with pytest.raises(ca.ScoreError, match=re.escape(remedy)):
        ca.SpanningTrees(scores)


def test_higher_order_trees() -> None:
    batch = [np.zeros((3, 3)), np.zeros((4, 4))]
    factors = [np.zeros((3, 3, 3)), np.zeros((4, 4, 4))]
    trees = ca.HigherOrderTrees(batch, root="multi", grandchild=factors, max_modifiers=2)
    shown = "<HigherOrderTrees: 2 sentences, 5 words, multi root, grandchild, max-modifiers>"
    assert repr(trees) == shown
