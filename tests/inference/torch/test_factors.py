"""Factors of projective trees as tensors: against enumeration in PyTorch, and against arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.brute_force import projective_tree, sibling_parts
from support.trees import all_trees

from crossarc import InfeasibleError, ProjectiveTrees, ScoreError
from crossarc import Parts as ArrayParts

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")

from crossarc.inference import torch as ct  # noqa: E402
from crossarc.inference.torch.factors import known_factors  # noqa: E402
from crossarc.inference.torch.trees import indicators  # noqa: E402

LENGTHS = [4, 2, 3]
WIDTH = 5
#: Every factor that arrays have, one by one and all of them.
NAMES = [[name] for name in known_factors()]
NAMES += [list(known_factors())] if len(NAMES) > 1 else []
FORMS = ["dense", "parts"]


def parts_of(name: str, heads: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The parts of a tree; of siblings by their definition."""
    if name == "sibling":
        return sibling_parts(heads)
    return [tuple(part) for part in known_factors()[name].parts_of(np.array(heads)).tolist()]


def trees_of(n: int, root: str = "single") -> list[tuple[int, ...]]:
    return [
        heads
        for heads in all_trees(n)
        if projective_tree(heads) and (root == "multi" or heads.count(0) == 1)
    ]


def arc_scores(seed: int = 0, labels: int = 0, forbid: bool = True) -> Any:
    """Scores of three sentences; the padding must not be read."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(3, WIDTH, WIDTH, labels) if labels else (3, WIDTH, WIDTH))
    if forbid:
        scores[0, 1, 2] = scores[2, 0, 3] = -np.inf
    return torch.tensor(scores)


def factor(name: str, form: str, seed: int = 1) -> Any:
    """A dense factor, or every third of the parts that trees have, in no particular order."""
    rng = np.random.default_rng(seed)
    order = len(known_factors()[name].axes)
    if form == "dense":
        return torch.tensor(rng.normal(size=(3, *[WIDTH] * order)))
    listed = [
        (b, *part)
        for b, n in enumerate(LENGTHS)
        for part in sorted(
            {part for heads in trees_of(n, "multi") for part in parts_of(name, heads)}
        )
    ]
    index = np.array(listed, np.int64).reshape(-1, 1 + order)
    rng.shuffle(index)
    index = index[::3]
    return ct.Parts(torch.tensor(index), torch.tensor(rng.normal(size=len(index))))


def score_tensor(given: Any) -> Any:
    return given.score if isinstance(given, ct.Parts) else given


def with_scores(given: Any, scores: Any) -> Any:
    return ct.Parts(given.index, scores) if isinstance(given, ct.Parts) else scores


def enumerated(scores: Any, factors: dict[str, Any], index: int, root: str) -> tuple[list, Any]:
    """The trees of a sentence and their scores, as functions of the tensors."""
    listed: dict[str, dict] = {
        name: {tuple(part): i for i, part in enumerate(one.index.tolist())}
        for name, one in factors.items()
        if isinstance(one, ct.Parts)
    }
    trees, totals = [], []
    for heads in trees_of(LENGTHS[index], root):
        arcs = [scores[index, h, m] for m, h in enumerate(heads, 1)]
        if any(one.detach().max() == -math.inf for one in arcs):
            continue
        terms = [one.logsumexp(0) if one.ndim else one for one in arcs]
        for name, one in factors.items():
            for part in parts_of(name, heads):
                if name not in listed:
                    terms.append(one[(index, *part)])
                elif (index, *part) in listed[name]:
                    terms.append(one.score[listed[name][index, *part]])
        if any(one.detach() == -math.inf for one in terms):
            continue
        trees.append(heads)
        totals.append(torch.stack(terms).sum())
    return trees, torch.stack(totals)


def each_log_prob(scores: Any, factors: dict[str, Any], root: str) -> list[Any]:
    """log p of all trees of each sentence."""
    found = (enumerated(scores, factors, index, root)[1] for index in range(3))
    return [totals - totals.logsumexp(0) for totals in found]


def entropies(scores: Any, factors: dict[str, Any], root: str) -> Any:
    each = each_log_prob(scores, factors, root)
    return torch.stack([-(logs.exp() * logs).sum() for logs in each])


def log_zs(scores: Any, factors: dict[str, Any], root: str) -> Any:
    return torch.stack(
        [enumerated(scores, factors, index, root)[1].logsumexp(0) for index in range(3)]
    )


def leaves(scores: Any, factors: dict[str, Any]) -> tuple[Any, dict[str, Any], list[Any]]:
    """Copies that require gradients, and the list of these tensors."""
    scores = scores.clone().requires_grad_()
    own = {
        name: with_scores(one, score_tensor(one).clone().requires_grad_())
        for name, one in factors.items()
    }
    return scores, own, [scores, *map(score_tensor, own.values())]


@pytest.mark.parametrize("names", NAMES, ids="+".join)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("labels", [0, 2])
def test_values_and_gradients_are_those_of_enumeration(
    names: list[str], form: str, root: Any, labels: int
) -> None:
    given = {name: factor(name, form) for name in names}
    scores, factors, tensors = leaves(arc_scores(labels=labels), given)
    options = {"lengths": LENGTHS, "root": root, "projective": True}
    for ours, theirs in ((ct.log_partition, log_zs), (ct.entropy, entropies)):
        value = ours(scores, **options, **factors)
        expected = theirs(scores, factors, root)
        if labels and ours is ct.entropy:  # the oracle is about unlabelled trees
            continue
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
        weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
        gradients = torch.autograd.grad((value * weights).sum(), tensors)
        for found, truth in zip(
            gradients, torch.autograd.grad((expected * weights).sum(), tensors), strict=True
        ):
            torch.testing.assert_close(found, truth, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("names", NAMES, ids="+".join)
@pytest.mark.parametrize("form", FORMS)
def test_gradients_of_log_z_are_marginals(names: list[str], form: str) -> None:
    """Those of arrays, to the last bit; and marginals of tensors are the same."""
    scores, factors, tensors = leaves(
        arc_scores(labels=2), {name: factor(name, form) for name in names}
    )
    log_z = ct.log_partition(scores, LENGTHS, projective=True, **factors)
    gradients = torch.autograd.grad(log_z.sum(), tensors)
    for index, n in enumerate(LENGTHS):
        own = (slice(n + 1),) * 4
        given: dict[str, Any] = {}
        where = {}
        for name, one in factors.items():
            if isinstance(one, ct.Parts):
                where[name] = one.index[:, 0] == index
                part = one.index[where[name]][:, 1:].numpy()
                given[name] = ArrayParts(part, one.score.detach()[where[name]].numpy())
            else:
                where[name] = (index, *own[: one.ndim - 1])
                given[name] = one.detach()[where[name]].numpy()
        arrays = ProjectiveTrees(scores.detach()[index, : n + 1, : n + 1].numpy(), **given)
        assert log_z[index].item() == arrays.log_partition()
        np.testing.assert_array_equal(gradients[0][index, : n + 1, : n + 1], arrays.marginals())
        for name, gradient in zip(factors, gradients[1:], strict=True):
            np.testing.assert_array_equal(gradient[where[name]], arrays.marginals(name))
    for part, gradient in zip(["arc", *factors], gradients, strict=True):
        found = ct.marginals(scores, LENGTHS, part=part, projective=True, **factors)
        assert torch.equal(found, gradient)


@pytest.mark.parametrize("names", NAMES, ids="+".join)
@pytest.mark.parametrize("form", FORMS)
def test_gradients_against_differences(names: list[str], form: str) -> None:
    _, factors, tensors = leaves(arc_scores(), {name: factor(name, form) for name in names})

    def bound(question: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        def ask(arcs: Any, *others: Any) -> Any:
            pairs = zip(factors.items(), others, strict=True)
            own = {name: with_scores(one, tensor) for (name, one), tensor in pairs}
            return question(arcs, LENGTHS, projective=True, **options, **own)

        return ask

    fast = {"fast_mode": form == "dense"}
    assert torch.autograd.gradcheck(bound(ct.log_partition), tensors, **fast)
    assert torch.autograd.gradcheck(bound(ct.entropy), tensors, **fast)
    for part in ("arc", *names):
        assert torch.autograd.gradcheck(bound(ct.marginals, part=part), tensors, fast_mode=True)
    assert torch.autograd.gradgradcheck(bound(ct.log_partition), tensors, fast_mode=True)


@pytest.mark.parametrize("form", FORMS)
def test_single_precision(form: str) -> None:
    given = factor("sibling", form)
    scores, factors, tensors = leaves(
        arc_scores().float(), {"sibling": with_scores(given, score_tensor(given).float())}
    )
    log_z = ct.log_partition(scores, LENGTHS, projective=True, **factors)
    assert log_z.dtype == torch.float32
    doubles = {
        name: with_scores(one, score_tensor(one).detach().double()) for name, one in factors.items()
    }
    exact = ct.log_partition(scores.detach().double(), LENGTHS, projective=True, **doubles)
    assert torch.equal(log_z, exact.float())
    for gradient in torch.autograd.grad(log_z.sum(), tensors):
        assert gradient.dtype == torch.float32


def test_parts_that_no_tree_has_are_never_read() -> None:
    """NaN in the padding, infinities at forbidden arcs: a gradient of exactly 0, also twice."""
    sibling = factor("sibling", "dense")
    scores = arc_scores()
    usable = torch.zeros_like(sibling, dtype=torch.bool)
    unread = torch.ones_like(usable)
    for index, n in enumerate(LENGTHS):
        for heads in trees_of(n):
            allowed = [scores[index, h, m] > -math.inf for m, h in enumerate(heads, 1)]
            for h, s, m in sibling_parts(heads):
                if allowed[m - 1] and (s == h or allowed[s - 1]):
                    unread[index, h, s, m] = False
                usable[index, h, s, m] |= all(allowed)
    sibling[unread] = math.nan
    sibling[0, 1, 1, 2] = -math.inf  # 1 -> 2 is forbidden
    scores[:, :, 0] = math.nan
    scores, factors, tensors = leaves(scores, {"sibling": sibling})
    options = {"lengths": LENGTHS, "projective": True}
    log_z = ct.log_partition(scores, **options, **factors)
    gradients = torch.autograd.grad(log_z.sum(), tensors, create_graph=True)
    entropy = torch.autograd.grad(ct.entropy(scores, **options, **factors).sum(), tensors)
    twice = torch.autograd.grad(sum((one**2).sum() for one in gradients), tensors)
    for arcs, siblings in (gradients, entropy, twice):
        assert torch.isfinite(arcs).all()
        assert (arcs[torch.isneginf(scores)] == 0.0).all()
        assert (siblings[~usable] == 0.0).all()
        assert (siblings[usable] != 0.0).all()


def test_no_tree() -> None:
    scores = arc_scores()
    scores[1, 0] = -math.inf
    for form in FORMS:
        own, factors, tensors = leaves(scores, {"sibling": factor("sibling", form)})
        log_z = ct.log_partition(own, LENGTHS, projective=True, **factors)
        assert log_z[1] == -math.inf
        arcs, siblings = torch.autograd.grad(log_z[[0, 2]].sum(), tensors)
        assert torch.isfinite(siblings).all()
        assert not arcs[1].any()
        assert not siblings[factors["sibling"].index[:, 0] == 1 if form == "parts" else 1].any()
        for question in (ct.marginals, ct.entropy, ct.argmax):
            with pytest.raises(InfeasibleError, match="sentence 1: no tree is possible"):
                question(own, LENGTHS, projective=True, **factors)


def forbidding(name: str, form: str) -> Any:
    """A factor that forbids some of the parts of all sentences but the second."""
    given = factor(name, form)
    scores = score_tensor(given)
    share = 0.7 if name == "tri_sibling" else 0.15  # few trees have three siblings
    lost = torch.tensor(np.random.default_rng(3).random(scores.shape) < share)
    if form == "parts":
        lost &= given.index[:, 0] != 1
    else:
        lost[1] = False
    return with_scores(given, scores.masked_fill(lost, -math.inf))


def assert_gradients(ours: Any, theirs: Any, tensors: list[Any]) -> None:
    """The same, and 0 for what is forbidden."""
    expected = torch.autograd.grad(theirs, tensors, allow_unused=True)
    for tensor, one, other in zip(
        tensors, torch.autograd.grad(ours, tensors), expected, strict=True
    ):
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other)
        assert (one[torch.isneginf(tensor)] == 0.0).all()


@pytest.mark.parametrize("names", NAMES, ids="+".join)
@pytest.mark.parametrize("form", FORMS)
def test_forbidden_parts(names: list[str], form: str) -> None:
    """log Z, entropy, marginals and their derivatives, and those of divergences."""
    options: dict[str, Any] = {"root": "multi", "projective": True}
    scores, factors, tensors = leaves(
        arc_scores(forbid=False), {name: forbidding(name, form) for name in names}
    )
    each = each_log_prob(scores, factors, "multi")
    assert 2 < len(each[0]) < len(trees_of(4, "multi"))
    assert_gradients(
        ct.log_partition(scores, LENGTHS, **options, **factors).sum(),
        log_zs(scores, factors, "multi").sum(),
        tensors,
    )
    ours = ct.entropy(scores, LENGTHS, **options, **factors).sum()
    assert_gradients(ours, entropies(scores, factors, "multi").sum(), tensors)
    for rank, part in enumerate(["arc", *names]):
        found = ct.marginals(scores, LENGTHS, part=part, **options, **factors)
        truth = log_zs(scores, factors, "multi").sum()
        expected = torch.autograd.grad(truth, tensors, create_graph=True)[rank]
        torch.testing.assert_close(found, expected)
        assert_gradients((found**2).sum(), (expected**2).sum(), tensors)
    p = ct.DependencyTrees(scores, LENGTHS, **options, **factors)
    # q forbids the same parts.
    others = {
        name: with_scores(one, torch.where(score_tensor(one) > -math.inf, 0.3, -math.inf).double())
        for name, one in factors.items()
    }
    q = ct.DependencyTrees(0.5 * scores.detach(), LENGTHS, **options, **others)
    theirs = each_log_prob(0.5 * scores.detach(), others, "multi")
    truth = torch.stack([(a.exp() * (a - b)).sum() for a, b in zip(each, theirs, strict=True)])
    torch.testing.assert_close(p.kl(q), truth)
    assert_gradients(p.kl(q).sum(), truth.sum(), tensors)
    free = ct.DependencyTrees(scores.detach(), LENGTHS, **options)
    kl = free.kl(p)
    assert torch.isposinf(kl)[:2].tolist() == [True, False]
    for gradient in torch.autograd.grad(kl.sum(), tensors):
        assert torch.isfinite(gradient).all()
    assert torch.isfinite(p.kl(free)).all()


@pytest.mark.parametrize("form", FORMS)
def test_log_probability_of_a_forbidden_tree(form: str) -> None:
    scores, factors, tensors = leaves(
        arc_scores(forbid=False), {name: forbidding(name, form) for name in known_factors()}
    )
    distribution = ct.DependencyTrees(scores, LENGTHS, root="multi", projective=True, **factors)
    possible = set(enumerated(scores, factors, 0, "multi")[0])
    every = trees_of(4, "multi")
    heads = torch.full((len(every), 3, 4), -1)
    heads[:, 0] = torch.tensor(every)
    heads[:, 1, :2], heads[:, 2, :3] = torch.tensor([0, 1]), torch.tensor([0, 1, 2])
    logs = distribution.log_prob(indicators(ct.Trees(heads, None), scores.detach()))
    found = {tree for tree, log in zip(every, logs[:, 0].tolist(), strict=True) if log > -math.inf}
    assert found == possible
    for tensor, gradient in zip(tensors, torch.autograd.grad(logs.sum(), tensors), strict=True):
        assert torch.isfinite(gradient).all()
        assert (gradient[torch.isneginf(tensor)] == 0.0).all()


def test_all_trees_are_forbidden() -> None:
    grandchild, sibling = torch.zeros(3, *[WIDTH] * 3), torch.zeros(3, *[WIDTH] * 3)
    sibling[1] = -math.inf
    for given in ({"sibling": sibling}, {"sibling": sibling, "grandchild": grandchild}):
        scores, factors, tensors = leaves(torch.zeros(3, WIDTH, WIDTH), given)
        log_z = ct.log_partition(scores, LENGTHS, projective=True, **factors)
        assert torch.isneginf(log_z).tolist() == [False, True, False]
        for gradient in torch.autograd.grad(log_z[[0, 2]].sum(), tensors):
            assert torch.isfinite(gradient).all()
            assert not gradient[1].any()
        with pytest.raises(InfeasibleError, match="sentence 1: no tree is possible"):
            ct.marginals(scores, LENGTHS, part="sibling", projective=True, **factors)


@pytest.mark.parametrize("names", NAMES, ids="+".join)
@pytest.mark.parametrize("form", FORMS)
def test_log_probabilities_of_trees(names: list[str], form: str) -> None:
    scores, factors, tensors = leaves(arc_scores(), {name: factor(name, form) for name in names})
    distribution = ct.DependencyTrees(scores, LENGTHS, projective=True, **factors)
    each = each_log_prob(scores, factors, "single")
    trees = [enumerated(scores, factors, index, "single")[0] for index in range(3)]
    count = max(map(len, trees))
    heads = torch.full((count, 3, 4), -1)
    for index, own in enumerate(trees):
        for rank in range(count):
            heads[rank, index, : LENGTHS[index]] = torch.tensor(own[rank % len(own)])
    value = indicators(ct.Trees(heads, None), scores.detach())
    found = distribution.log_prob(value)
    assert found.shape == (count, 3)
    for index, logs in enumerate(each):
        torch.testing.assert_close(found[: len(logs), index], logs, rtol=1e-12, atol=1e-12)
    ours = torch.autograd.grad(found[0].sum(), tensors)
    theirs = torch.autograd.grad(sum(logs[0] for logs in each), tensors)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_one_tree_for_all_sentences() -> None:
    sibling = torch.zeros(2, 3, 3, 3)
    sibling[1, 0, 0, 1] = 1.0
    distribution = ct.DependencyTrees(torch.zeros(2, 3, 3), projective=True, sibling=sibling)
    tree = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    # Of two trees; in sentence 1 their scores are 1 and 0.
    expected = [0.5, math.e / (1.0 + math.e)]
    assert distribution.log_prob(tree).exp().tolist() == pytest.approx(expected)


@pytest.mark.parametrize("form", FORMS)
def test_trees_and_samples_are_those_of_arrays(form: str) -> None:
    sibling = factor("sibling", form)
    scores = arc_scores(labels=2)
    dense = sibling.dense(3, WIDTH) if form == "parts" else sibling
    arrays = ProjectiveTrees(scores.numpy(), lengths=LENGTHS, sibling=dense.numpy())
    options: dict[str, Any] = {"lengths": LENGTHS, "projective": True, "sibling": sibling}
    best, ranks, drawn = arrays.argmax(), arrays.kbest(30), arrays.sample(4, seed=5)
    found = ct.kbest(scores, 30, **options)
    assert found.heads.shape == found.labels.shape == (30, 3, 4)
    for index, n in enumerate(LENGTHS):
        assert ct.argmax(scores, **options).heads[index, :n].tolist() == best[index].heads.tolist()
        rows = [tree.heads.tolist() for tree in ranks[index]]
        assert found.heads[: len(rows), index, :n].tolist() == rows
        assert (found.heads[len(rows) :, index] == -1).all()
        assert (found.heads[:, index, n:] == -1).all()
        labels = [tree.labels.tolist() for tree in ranks[index]]
        assert found.labels[: len(rows), index, :n].tolist() == labels
        samples = ct.sample(scores, 4, seed=5, **options).heads[:, index, :n].tolist()
        assert samples == [tree.heads.tolist() for tree in drawn[index]]
    assert len(ranks[1]) == 8  # two trees, two labels a word: 22 are missing
    safest = ct.min_risk(scores, **options).heads
    assert safest[0].tolist() == arrays.min_risk()[0].heads.tolist()


def test_parts_as_a_dense_tensor() -> None:
    parts = ct.Parts(torch.tensor([[1, 0, 0, 2], [0, 2, 1, 0]]), torch.tensor([3.0, 4.0]))
    dense = parts.dense(2, 3)
    assert dense.shape == (2, 3, 3, 3)
    assert dense.sum() == 7.0
    assert dense[1, 0, 0, 2] == 3.0
    assert dense[0, 2, 1, 0] == 4.0
    assert repr(parts) == "Parts(2 of order 3)"
    assert len(parts) == 2


def test_parts_of_some_sentences_only() -> None:
    """And of none: the scores of arcs then count alone."""
    scores = arc_scores()
    none = ct.Parts(torch.empty(0, 4, dtype=torch.int64), torch.empty(0, dtype=torch.float64))
    first = ct.log_partition(scores, LENGTHS, projective=True)
    options = {"lengths": LENGTHS, "projective": True}
    torch.testing.assert_close(ct.log_partition(scores, **options, sibling=none), first)
    assert ct.marginals(scores, part="sibling", **options, sibling=none).shape == (0,)
    distribution = ct.DependencyTrees(scores, **options, sibling=none)
    plain = ct.DependencyTrees(scores, **options)
    torch.testing.assert_close(distribution.log_prob(plain.mode), plain.log_prob(plain.mode))
    one = ct.Parts(torch.tensor([[1, 0, 0, 2]]), torch.ones(1, dtype=torch.float64))
    changed = ct.log_partition(scores, **options, sibling=one) - first
    assert (changed.abs() > 1e-6).tolist() == [False, True, False]


def test_wrong_factors() -> None:
    scores = torch.zeros(2, 3, 3)
    dense = torch.zeros(2, 3, 3, 3)
    index, score = torch.tensor([[0, 0, 0, 1]]), torch.zeros(1)

    def ask(**factors: Any) -> Any:
        return ct.log_partition(scores, projective=True, **factors)

    with pytest.raises(ScoreError, match="sibling: factors are for projective trees"):
        ct.log_partition(scores, sibling=dense)
    with pytest.raises(TypeError, match="no factor has the name 'cousin': there are sibling"):
        ask(cousin=dense)
    with pytest.raises(TypeError, match="sibling must be a tensor or Parts of this module"):
        ask(sibling=ArrayParts([[0, 0, 1]], [0.0]))
    with pytest.raises(ScoreError, match="sibling of 1 sentences for scores of 2"):
        ask(sibling=dense[:1])
    with pytest.raises(ScoreError, match=r"sentence 0: sibling must be real numbers \(3, 3, 3\)"):
        ask(sibling=torch.zeros(2, 3, 3))
    with pytest.raises(ScoreError, match=r"sentence 1: sibling\[0, 0, 1\] is nan"):
        ask(sibling=torch.where(torch.arange(2).reshape(2, 1, 1, 1) == 1, math.nan, dense))
    with pytest.raises(ScoreError, match=r"sibling must be float32 or float64: got torch.int64"):
        ask(sibling=dense.long())
    with pytest.raises(ScoreError, match="sibling are on meta"):
        ask(sibling=dense.to("meta"))
    with pytest.raises(ScoreError, match=r"sibling part \[2, 0, 0, 1\]: its sentence is not in 0"):
        ask(sibling=ct.Parts(torch.tensor([[2, 0, 0, 1]]), score))
    with pytest.raises(ScoreError, match=r"sentence 0: sibling part \[0, 0, 1\] is listed twice"):
        ask(sibling=ct.Parts(index.repeat(2, 1), torch.zeros(2)))
    with pytest.raises(ScoreError, match=r"index must be whole numbers \(parts, 1 \+ k\)"):
        ct.Parts(index.float(), score)
    with pytest.raises(ScoreError, match=r"score must be \(1,\), one number a part: got \(2,\)"):
        ct.Parts(index, torch.zeros(2))
    with pytest.raises(ValueError, match=r"part must be one of \['arc', 'sibling'\]: got 'x'"):
        ct.marginals(scores, part="x", projective=True, sibling=dense)
