"""DependencyTrees in the manner of torch.distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.brute_force import BruteForce, any_tree, projective_tree

from crossarc import ProjectiveTrees, ScoreError

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")

from crossarc.inference.torch import DependencyTrees, Parts, Trees, log_partition  # noqa: E402
from crossarc.inference.torch.trees import indicators  # noqa: E402

LENGTHS = [3, 2]


def scores(labels: int = 0) -> Any:
    shape = (2, 4, 4, labels) if labels else (2, 4, 4)
    return torch.tensor(np.random.default_rng(4).normal(size=shape))


def truth(given: Any, index: int) -> BruteForce:
    n = LENGTHS[index] + 1
    return BruteForce(given[index, :n, :n].numpy(), "single", projective_tree)


def as_trees(tree: Any, is_labelled: bool) -> Trees:
    """The same tree for sentence 0, with the tree 0, 1 for sentence 1."""
    heads = torch.tensor([tree.heads, (0, 1, -1)])
    return Trees(heads, torch.tensor([tree.labels, (0, 0, -1)]) if is_labelled else None)


@pytest.mark.parametrize("labels", [0, 2])
def test_shapes_and_probabilities(labels: int) -> None:
    given = scores(labels)
    trees = DependencyTrees(given, LENGTHS, projective=True)
    assert trees.batch_shape == (2,)
    assert trees.event_shape == given.shape[1:]
    total = 0.0
    for tree in truth(given, 0).trees:
        value = indicators(as_trees(tree, labels > 0), given)
        log_prob = trees.log_prob(value)
        expected = truth(given, 0).log_prob(tree.heads, tree.labels)
        assert log_prob[0].item() == pytest.approx(expected, abs=1e-12)
        total += log_prob[0].exp().item()
    assert total == pytest.approx(1.0)
    for index in range(2):
        n, exact = LENGTHS[index] + 1, truth(given, index)
        np.testing.assert_allclose(trees.mean[index, :n, :n], exact.marginals, rtol=1e-12)
        assert trees.entropy()[index].item() == pytest.approx(exact.entropy())
        best = exact.trees[0]
        assert {tuple(cell) for cell in trees.mode[index].nonzero().tolist()} == set(best.cells())
    mean = trees.mean
    assert torch.equal(trees.variance, mean * (1 - mean))


def test_samples() -> None:
    given = scores(2)
    trees = DependencyTrees(given, torch.tensor(LENGTHS), projective=True)
    torch.manual_seed(0)
    drawn = trees.sample((50, 40))
    assert drawn.shape == (50, 40, 2, 4, 4, 2)
    assert trees.support.check(drawn).all()
    assert trees.log_prob(drawn).shape == (50, 40, 2)
    # 2,000 draws: five standard deviations of an arc's share are at most 0.056.
    assert (drawn.mean((0, 1)) - trees.mean).abs().max() < 0.056
    assert trees.sample().shape == (2, 4, 4, 2)


def test_log_prob_has_the_gradient_of_its_parts() -> None:
    given = scores().requires_grad_()
    trees = DependencyTrees(given, LENGTHS)
    value = trees.mode
    (ours,) = torch.autograd.grad(trees.log_prob(value).sum(), given)
    (theirs,) = torch.autograd.grad(log_partition(given, LENGTHS).sum(), given)
    torch.testing.assert_close(ours, value - theirs)


def test_what_is_no_tree_is_refused() -> None:
    trees = DependencyTrees(scores(), LENGTHS, projective=True)
    good = indicators(Trees(torch.tensor([[0, 1, 2], [0, 1, -1]]), None), trees.scores)
    assert trees.log_prob(good).shape == (2,)
    for heads in ([2, 1, 0], [0, 0, 1], [0, 1, -1]):
        bad = indicators(Trees(torch.tensor([heads, [0, 1, -1]]), None), trees.scores)
        with pytest.raises(ValueError, match="to be within the support"):
            trees.log_prob(bad)
    flat = DependencyTrees(torch.zeros(1, 5, 5), projective=True)
    crossing = indicators(Trees(torch.tensor([[3, 0, 2, 1]]), None), flat.scores)
    with pytest.raises(ValueError, match="to be within the support"):
        flat.log_prob(crossing)
    with pytest.raises(ValueError, match="to be within the support"):
        trees.log_prob(good * 0.5)
    with pytest.raises(ScoreError, match=r"scores\[0, 1\] is nan"):
        DependencyTrees(torch.full((1, 3, 3), math.nan)).entropy()


def test_forbidden_arcs_are_impossible() -> None:
    given = scores()
    given[0, 2, 3] = -math.inf
    trees = DependencyTrees(given, LENGTHS)
    value = indicators(Trees(torch.tensor([[0, 1, 2], [0, 1, -1]]), None), given)
    assert trees.log_prob(value)[0] == -math.inf
    assert trees.log_prob(value)[1] > -math.inf


def two(projective: bool, root: str = "single", forbid: bool = True, labels: int = 0) -> Any:
    """Scores of two distributions over the same trees, and these by enumeration."""
    rng = np.random.default_rng(8)
    shape = (2, 4, 4, labels) if labels else (2, 4, 4)
    ours, theirs = (rng.normal(0.0, 2.0, shape) for _ in range(2))
    if forbid:
        ours[0, 2, 3] = theirs[0, 2, 3] = -np.inf
        ours[1, 2, 1] = -np.inf
    support = projective_tree if projective else any_tree
    exact = [
        [BruteForce(one[i, : n + 1, : n + 1], root, support) for i, n in enumerate(LENGTHS)]
        for one in (ours, theirs)
    ]
    return torch.tensor(ours), torch.tensor(theirs), list(zip(*exact, strict=True))


@pytest.mark.parametrize("projective", [True, False], ids=["projective", "spanning"])
@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("labels", [0, 2])
def test_divergences(projective: bool, root: Any, labels: int) -> None:
    ours, theirs, exact = two(projective, root, labels=labels)
    p, q = (
        DependencyTrees(one, LENGTHS, projective=projective, root=root) for one in (ours, theirs)
    )
    kl, cross = torch.distributions.kl_divergence(p, q), p.cross_entropy(q)
    assert torch.equal(kl, p.kl(q))
    for index, (own, other) in enumerate(exact):
        assert kl[index].item() == pytest.approx(own.kl(other), rel=1e-12)
        assert cross[index].item() == pytest.approx(own.cross_entropy(other), rel=1e-12)
    torch.testing.assert_close(p.kl(p), torch.zeros(2, dtype=torch.float64), rtol=0, atol=1e-14)
    torch.testing.assert_close(p.cross_entropy(p), p.entropy(), rtol=1e-13, atol=1e-15)

    def bound(name: str) -> Any:
        def ask(x: Any, y: Any) -> Any:
            pair = [DependencyTrees(s, LENGTHS, projective=projective, root=root) for s in (x, y)]
            return getattr(pair[0], name)(pair[1])

        return ask

    leaves = (ours.requires_grad_(), theirs.requires_grad_())
    for name in ("kl", "cross_entropy"):
        assert torch.autograd.gradcheck(bound(name), leaves, fast_mode=bool(labels))
    gradient = torch.autograd.grad(bound("kl")(*leaves).sum(), leaves, create_graph=True)
    with pytest.raises(NotImplementedError, match="third derivatives"):
        torch.autograd.grad(gradient[0].sum(), leaves)


def test_the_gradient_of_kl_in_the_second_is_a_difference_of_marginals() -> None:
    ours, theirs, _ = two(projective=False)
    p, q = DependencyTrees(ours, LENGTHS), DependencyTrees(theirs.requires_grad_(), LENGTHS)
    (gradient,) = torch.autograd.grad(p.kl(q).sum(), theirs, create_graph=True)
    torch.testing.assert_close(gradient, q.mean - p.mean)
    (twice,) = torch.autograd.grad((gradient**2).sum(), theirs)
    (expected,) = torch.autograd.grad(((q.mean - p.mean) ** 2).sum(), theirs)
    torch.testing.assert_close(twice, expected)


def test_infinite_divergence_has_no_gradient() -> None:
    """And none of it spills into the other sentence."""
    ours, theirs, _ = two(projective=False, forbid=False)
    theirs[0, 2, 1] = -math.inf
    leaves = (ours.requires_grad_(), theirs.requires_grad_())
    kl = DependencyTrees(ours, LENGTHS).kl(DependencyTrees(theirs, LENGTHS))
    assert kl[0] == math.inf
    assert math.isfinite(kl[1].item())
    for gradient in torch.autograd.grad(kl.sum(), leaves):
        assert not gradient[0].any()
        assert gradient[1].any()
        assert torch.isfinite(gradient).all()


def test_only_like_with_like() -> None:
    p = DependencyTrees(torch.zeros(2, 4, 4))
    with pytest.raises(ScoreError, match=r"same shape: got \(2, 4, 4\) and \(1, 4, 4\)"):
        p.kl(DependencyTrees(torch.zeros(1, 4, 4)))
    with pytest.raises(ScoreError, match="of one kind and over the same words"):
        p.kl(DependencyTrees(torch.zeros(2, 4, 4), projective=True))
    with pytest.raises(ScoreError, match="of one kind and over the same words"):
        p.kl(DependencyTrees(torch.zeros(2, 4, 4), [3, 2]))


def some_parts(seed: int, step: int) -> Parts:
    """Every so many of all indices of sibling parts, used by trees or not."""
    index = np.argwhere(np.ones((2, 4, 4, 4)))[seed::step]
    index = index[[max(i[1:]) <= LENGTHS[i[0]] for i in index.tolist()]]
    scores = np.random.default_rng(seed).normal(size=len(index))
    return Parts(torch.tensor(index), torch.tensor(scores))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("dense", "dense"),
        ("dense", None),
        (None, "parts"),
        ("parts", "parts"),
        ("parts", "others"),
        ("parts", "dense"),
    ],
)
def test_divergence_with_factors(ours: str | None, theirs: str | None) -> None:
    """Each may have its own, or none: values from arrays, gradients from differences."""
    scores, others, _ = two(projective=True)
    rng = np.random.default_rng(9)
    forms: dict[str | None, Any] = {
        None: lambda: None,
        "dense": lambda: torch.tensor(rng.normal(size=(2, 4, 4, 4))),
        "parts": lambda: some_parts(1, 3),
        "others": lambda: some_parts(0, 2),
    }
    factors = [forms[ours](), forms[theirs]()]
    tensors = [scores, others]
    tensors += [one.score if isinstance(one, Parts) else one for one in factors if one is not None]

    def pair(*leaves: Any) -> list[DependencyTrees]:
        given = iter(leaves[2:])
        found = []
        for arcs, one in zip(leaves[:2], factors, strict=True):
            own = None if one is None else next(given)
            if isinstance(one, Parts):
                own = Parts(one.index, own)
            found.append(DependencyTrees(arcs, LENGTHS, projective=True, sibling=own))
        return found

    p, q = pair(*tensors)
    dense = [one.dense(2, 4) if isinstance(one, Parts) else one for one in factors]
    arrays = [
        ProjectiveTrees(arcs.numpy(), lengths=LENGTHS, sibling=None if own is None else own.numpy())
        for arcs, own in zip((scores, others), dense, strict=True)
    ]
    torch.testing.assert_close(
        p.kl(q), torch.from_numpy(np.array(arrays[0].kl(arrays[1]))), rtol=1e-12, atol=0
    )
    leaves = [one.requires_grad_() for one in tensors]

    def kl(*given: Any) -> Any:
        p, q = pair(*given)
        return p.kl(q)

    def cross_entropy(*given: Any) -> Any:
        p, q = pair(*given)
        return p.cross_entropy(q)

    for question in (kl, cross_entropy):
        assert torch.autograd.gradcheck(question, leaves, fast_mode=True)


def test_the_k_best_trees() -> None:
    given = scores(2)
    trees = DependencyTrees(given, LENGTHS, projective=True)
    events = trees.kbest(200)
    assert events.shape == (200, 2, 4, 4, 2)
    for index in range(2):
        exact = truth(given, index)
        for rank, tree in enumerate(exact.trees[:200]):
            cells = {tuple(cell) for cell in events[rank, index].nonzero().tolist()}
            assert cells == set(tree.cells())
        assert not events[len(exact.trees) :, index].any()
    assert len(truth(given, 1).trees) == 8
    assert torch.equal(events[0], trees.mode)


def test_expanded_distributions() -> None:
    given = scores(2).requires_grad_()
    sibling = torch.tensor(np.random.default_rng(1).normal(size=(2, 4, 4, 4)), requires_grad=True)
    trees = DependencyTrees(given, LENGTHS, projective=True, sibling=sibling)
    wide = trees.expand((3, 2))
    assert isinstance(wide, DependencyTrees)
    assert wide.batch_shape == (3, 2)
    assert wide.event_shape == trees.event_shape
    for name in ("log_partition", "mean", "variance", "mode"):
        values = getattr(wide, name)
        assert values.shape[:2] == (3, 2)
        for own in values:
            assert torch.equal(own, getattr(trees, name))
    assert torch.equal(wide.entropy()[1], trees.entropy())
    assert torch.equal(wide.kbest(4)[:, 2], trees.kbest(4))
    assert torch.distributions.kl_divergence(wide, trees).shape == (3, 2)
    torch.manual_seed(1)
    drawn = wide.sample((40,))
    assert drawn.shape == (40, 3, 2, 4, 4, 2)
    assert not torch.equal(drawn[:, 0], drawn[:, 1])
    torch.testing.assert_close(wide.log_prob(drawn)[:, 1], trees.log_prob(drawn[:, 1]))
    gradients = torch.autograd.grad(wide.log_partition.sum(), (given, sibling))
    for own, expected in zip(gradients, (trees.mean, trees.marginals("sibling")), strict=True):
        torch.testing.assert_close(own, 3 * expected)
    one = DependencyTrees(given[:1], [3]).expand((5,))
    assert one.sample((2,)).shape == (2, 5, 4, 4, 2)
    assert one.log_prob(one.sample()).shape == (5,)
    with pytest.raises(RuntimeError, match="must match the existing size"):
        trees.expand((3,))
