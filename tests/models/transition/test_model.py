"""The generative transition model, against a list of all computations."""

from __future__ import annotations

import math
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.attardi_reference import all_trees, computations, model_probability, table_index

import crossarc as ca
from crossarc.inference.transition.attardi import TransitionScores, oracle
from crossarc.models.storage import read_model, write_model
from crossarc.models.transition import TransitionModel
from crossarc.models.transition.parameters import Counts, normalised
from crossarc.treebank import sample

WORDS = "abc"


def symbols(words: str) -> list[int]:
    return [1, *(2 + WORDS.index(word) for word in words)]


def listed(model: TransitionModel, words: str) -> dict[object, float]:
    """p(computation), without stop, of every computation."""
    ids = symbols(words)
    return {run: model_probability(model.parameters, ids, run) for run in computations(len(words))}


@pytest.mark.parametrize("proper", [False, True])
@pytest.mark.parametrize("words", ["a", "ba", "cab", "aacb", "abcab"])
def test_probabilities_and_trees(words: str, proper: bool) -> None:
    model = TransitionModel.random(WORDS, seed=1, proper=proper)
    stop = model.parameters["rd"][1] if proper else 1.0
    runs = {run: p * stop for run, p in listed(model, words).items()}
    total = math.fsum(runs.values())
    assert_allclose(model.log_prob(list(words)), math.log(total), rtol=1e-12)
    best = max(runs, key=lambda run: runs[run])
    tree = model.parse(list(words))
    assert tuple(tree.heads) == best.heads  # type: ignore[attr-defined]
    assert tree.score == pytest.approx(math.log(runs[best]))
    trees: dict[tuple[int, ...], float] = {}
    for run, p in runs.items():
        trees[run.heads] = trees.get(run.heads, 0.0) + p  # type: ignore[attr-defined]
    for heads in all_trees(len(words)):
        p = trees.get(heads, 0.0)
        found = model.tree_log_prob(list(words), ca.Tree(heads))
        assert_allclose(found, math.log(p) if p > 0 else -math.inf, rtol=1e-10)
    likeliest = model.parse(list(words), method="rerank", candidates=2000)
    assert trees[tuple(likeliest.heads)] == pytest.approx(max(trees.values()))
    arcs = np.zeros((len(words) + 1,) * 2)
    for heads, p in trees.items():
        arcs[list(heads), range(1, len(words) + 1)] += p / total
    assert_allclose(model.marginals(list(words)), arcs, atol=1e-12)
    right = {heads: sum(arcs[h, m] for m, h in enumerate(heads, 1)) for heads in trees}
    safest = model.parse(list(words), method="risk")
    assert right[tuple(safest.heads)] == pytest.approx(max(right.values()))


@pytest.mark.parametrize("method", ["computation", "risk", "rerank"])
def test_single_root(method: str) -> None:
    model, words = TransitionModel.random(WORDS, seed=5), "abcab"
    runs = {run: p for run, p in listed(model, words).items() if run.heads.count(0) == 1}  # type: ignore[attr-defined]
    tree = model.parse(list(words), method=method, root="single", candidates=500)  # type: ignore[arg-type]
    assert tree.is_single_root
    best = max(runs, key=lambda run: runs[run])
    if method == "computation":
        assert tuple(tree.heads) == best.heads  # type: ignore[attr-defined]
    if method == "rerank":
        weights: dict[tuple[int, ...], float] = {}
        for run, p in runs.items():
            weights[run.heads] = weights.get(run.heads, 0.0) + p  # type: ignore[attr-defined]
        assert weights[tuple(tree.heads)] == pytest.approx(max(weights.values()))
    with pytest.raises(ValueError, match="root must be"):
        model.parse(list(words), root="double")  # type: ignore[arg-type]


def test_best_tree_is_not_always_that_of_the_best_computation() -> None:
    """Spurious ambiguity: a tree of many computations may be more probable than the best one's."""
    differ = 0
    for seed in range(30):
        model = TransitionModel.random(WORDS, seed=seed)
        best, likeliest = model.parse(list("abcab")), model.parse(list("abcab"), method="rerank")
        better = model.tree_log_prob(list("abcab"), likeliest)
        assert better >= model.tree_log_prob(list("abcab"), best) - 1e-12
        assert likeliest.score == pytest.approx(better)
        differ += best.heads.tolist() != likeliest.heads.tolist()
    assert differ > 0


@pytest.mark.parametrize("proper", [False, True])
def test_expectations(proper: bool) -> None:
    model = TransitionModel.random(WORDS, seed=2, proper=proper)
    words = "abca"
    ids, runs = symbols(words), listed(model, words)
    total = math.fsum(runs.values())
    expected = {name: np.zeros_like(table) for name, table in model.parameters.items()}
    for run, p in runs.items():
        for step in run.steps:  # type: ignore[attr-defined]
            b = [0 if node < 0 else ids[node] for node in step.stack]
            if step.name == "sh":
                expected["sh"][b[-1], ids[step.shifted]] += p / total
                continue
            expected["rd"][b[-1]] += p / total
            if step.name in ("la2", "ra2"):
                expected["rd2"][b[-2], b[-1]] += p / total
                expected[step.name][b[-3], b[-2], b[-1]] += p / total
            else:
                expected[step.name][b[-2], b[-1]] += p / total
    expected["rd"][1] += proper
    found = model.expectations(list(words))
    assert set(found) == set(expected)
    for name, table in expected.items():
        assert_allclose(found[name], table, atol=1e-12, err_msg=name)


def terminating(seed: int, reduction: float = 0.9) -> TransitionModel:
    """Words are removed with this probability at least: sentences are short."""
    p = TransitionModel.random("ab", seed=seed, proper=True).parameters
    sh, rd = p["sh"].copy(), p["rd"].copy()
    rd[1:] = np.maximum(rd[1:], reduction)
    sh[1:] *= ((1 - rd[1:]) / sh[1:].sum(axis=1))[:, None]
    return TransitionModel("ab", p | {"sh": sh, "rd": rd}, proper=True)


def test_proper_model_sums_to_one_over_strings() -> None:
    """Of up to 6 words string by string; of any length by the sums over strings."""
    model = terminating(0)
    mass = [
        math.fsum(math.exp(model.log_prob(words, threads=1)) for words in product("ab", repeat=n))
        for n in range(7)
    ]
    assert mass[0] == model.parameters["rd"][1]
    lengths = model.length_probs(60)
    assert_allclose(lengths[:7], mass, rtol=1e-12)
    assert 1e-12 > lengths[60] > 0
    assert math.fsum(lengths) == pytest.approx(1, abs=1e-11)
    assert model.length_probs(0).tolist() == mass[:1]
    with pytest.raises(ca.ModelError, match="only a proper model has lengths"):
        TransitionModel.random("ab").length_probs(3)
    many = TransitionModel.random(map(str, range(63)), proper=True)
    with pytest.raises(ca.ModelError, match="too long over 65 symbols, 64 at most"):
        many.length_probs(3)


def test_proper_parameters_leak_nowhere() -> None:
    p = TransitionModel.random(WORDS, seed=3, proper=True).parameters
    assert (p["sh"][0, 1], p["rd"][0]) == (1.0, 0.0)
    assert (p["sh"][1:, 1] == 0).all()
    assert (p["la1"][1] == 0).all()
    assert (p["rd2"][1] == 0).all()
    assert (p["ra1"][1] == 1).all()
    assert (p["la2"][1] == 0).all()
    assert (p["ra2"][1] == 1).all()
    assert_allclose(p["sh"].sum(axis=1) + p["rd"], 1.0)
    assert_allclose(p["la1"] + p["ra1"] + p["rd2"], 1.0)
    assert_allclose(p["la2"] + p["ra2"], 1.0)


def test_samples_follow_the_model() -> None:
    model, count = terminating(1), 20_000
    drawn = model.sample(count, seed=0)
    again = model.sample(10, seed=0)
    assert [(words, heads.tolist()) for words, heads in drawn[:10]] == [
        (words, heads.tolist()) for words, heads in again
    ]
    for words in ("", "a", "b", "ab", "bb"):
        p = math.exp(model.log_prob(list(words)))
        times = sum("".join(own) == words for own, _ in drawn)
        assert abs(times - count * p) < 5 * math.sqrt(count * p * (1 - p)) + 1
    longer = [(words, heads) for words, heads in drawn if len(words) == 2]
    heads = [tuple(one.tolist()) for words, one in longer if words == ["a", "b"]]
    for tree in ((0, 0), (2, 0), (0, 1)):
        p = math.exp(model.tree_log_prob(["a", "b"], ca.Tree(tree)) - model.log_prob(["a", "b"]))
        spread = 5 * math.sqrt(len(heads) * p * (1 - p)) + 1
        assert abs(heads.count(tree) - len(heads) * p) < spread


def test_sample_is_only_of_proper_models() -> None:
    with pytest.raises(ca.ModelError, match="proper=True"):
        TransitionModel.random(WORDS, seed=0).sample(1)
    p = dict(terminating(2).parameters)
    p["rd"], p["sh"] = np.array([0, 0, 0.1, 0.1]), p["sh"] * 0
    p["sh"][0, 1], p["sh"][1:, 2] = 1.0, [1.0, 0.9, 0.9]
    with pytest.raises(ca.ModelError, match="too long sentences"):
        TransitionModel("ab", p, proper=True).sample(1, max_words=20)


# Supervised estimation.


def test_fit_counts_the_transitions_of_the_oracle() -> None:
    """Two sentences: sh sh sh sh la2 ra1 ra1, and sh sh sh ra1 ra1."""
    sentences = [(list("aba"), [3, 0, 2]), (list("ab"), [0, 1])]
    p = TransitionModel.fit(sentences, strength=0.0).parameters
    a, b, top = 2, 3, 1
    assert p["sh"][0, 1] == 1.0
    # With a on top: a -> sh b (1), a -> sh b (2), reductions la2, ra1; then ra1 with b, b, a.
    assert p["sh"][top, a] == 1.0
    assert_allclose(p["sh"][a, b], 2 / 5)
    assert_allclose(p["rd"][a], 3 / 5)
    assert_allclose([p["sh"][b, a], p["rd"][b]], [1 / 3, 2 / 3])
    assert p["rd2"][b, a] == pytest.approx(1 / 2)
    assert p["ra1"][b, a] == pytest.approx(1 / 2)
    assert p["la2"][a, b, a] == 1.0
    assert p["ra1"][top, b] == p["ra1"][a, b] == p["ra1"][top, a] == 1.0


def test_fit_sets_trees_aside_that_degree_two_does_not_derive() -> None:
    crossing = [4, 3, 0, 0]
    none = next(
        heads for heads in product(range(5), repeat=4) if _is_tree(heads) and oracle(heads) is None
    )
    third = next(
        heads
        for heads in product(range(5), repeat=4)
        if _is_tree(heads) and oracle(heads) is not None and oracle(heads, 2) is None
    )
    sentences = [(list("abca"), heads) for heads in (crossing, none, third)]
    model = TransitionModel.fit(sentences)
    assert model.set_aside == (3, 1, 1)
    with pytest.raises(ca.ModelError, match="none of 2 sentences has a tree of degree 2"):
        TransitionModel.fit(sentences[1:])


def _is_tree(heads: tuple[int, ...]) -> bool:
    try:
        ca.Tree(heads)
    except ca.TreebankError:
        return False
    return True


def test_parameters_are_recovered_from_samples() -> None:
    """The divergence from the model that drew sentences and trees falls with their number.

    Estimates over all computations of each tree come closer than those of the oracle's alone, which
    prefers one order of transitions.
    """
    model = terminating(3, 0.65)
    fresh = [(words, ca.Tree(heads)) for words, heads in model.sample(400, seed=2) if words]

    def divergence(count: int, iterations: int) -> float:
        drawn = model.sample(count, seed=1)
        found = TransitionModel.fit(
            drawn, vocabulary="ab", proper=True, strength=0.5, iterations=iterations
        )
        pairs = [
            (model.tree_log_prob(words, tree), found.tree_log_prob(words, tree))
            for words, tree in fresh
        ]
        return math.fsum(true - own for true, own in pairs) / len(fresh)

    few, many, by_oracle = divergence(60, 4), divergence(2000, 4), divergence(2000, 0)
    assert abs(many) < 0.02 < few
    assert abs(many) < 0.5 * by_oracle


def _odds(scores: TransitionScores) -> tuple[np.ndarray, ...]:
    """Of la1, ra1 and rd2, and of la2 and ra2, between words in their order."""
    words = range(1, len(scores.sh))
    b2, b1 = np.array(list(combinations(words, 2))).T
    t3, t2, t1 = np.array(list(combinations(words, 3))).T
    la1, ra1 = (np.exp(table) for table in scores[1:3])
    la2, ra2 = (np.exp(table[t3, t2, t1]) for table in scores[3:])
    return la1[b2, b1] / ra1[b2, b1], la2 / ra2, (la2 + ra2) / la1[t2, t1]


def test_fit_over_the_computations_of_trees_with_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same estimates with tables of what was seen as with dense ones; EM changes them."""
    trees = [(list("abca"), [3, 3, 0, 3]), (list("bacb"), [3, 3, 0, 3]), (list("aab"), [3, 0, 2])]
    options = {"vocabulary": WORDS, "strength": 0.5, "proper": True}
    by_oracle = TransitionModel.fit(trees, **options)  # type: ignore[arg-type]
    dense = TransitionModel.fit(trees, iterations=3, **options)  # type: ignore[arg-type]
    monkeypatch.setattr("crossarc.models.transition.estimation.MAX_DENSE", 4)
    sparse = TransitionModel.fit(trees, iterations=3, **options)  # type: ignore[arg-type]
    change = 0.0
    for words, heads in [*trees, (list("ccab"), [2, 0, 2, 2])]:
        own = sparse.tree_log_prob(words, ca.Tree(heads))
        assert own == pytest.approx(dense.tree_log_prob(words, ca.Tree(heads)), rel=1e-12)
        assert sparse.log_prob(words) == pytest.approx(dense.log_prob(words), rel=1e-12)
        change += own - by_oracle.tree_log_prob(words, ca.Tree(heads))
    assert abs(change) > 1e-3


def test_one_iteration_over_the_computations_of_trees() -> None:
    """What is counted are the transitions of all listed computations that give the tree."""
    trees = [("abca", (3, 3, 0, 3)), ("bacb", (3, 3, 0, 3)), ("aab", (3, 0, 2))]
    sentences = [(list(words), list(heads)) for words, heads in trees]
    start = TransitionModel.fit(sentences, vocabulary=WORDS, strength=0.5)
    counts = Counts.zeros(len(WORDS) + 2)
    for words, heads in trees:
        runs = {run: p for run, p in listed(start, words).items() if run.heads == heads}  # type: ignore[attr-defined]
        nodes = np.array([*symbols(words), 0])  # the bottom marker is node -1
        for run, p in runs.items():
            for step in run.steps:  # type: ignore[attr-defined]
                table, entry = table_index(step)
                counts[table][tuple(nodes[list(entry)])] += p / math.fsum(runs.values())
    found = TransitionModel.fit(sentences, vocabulary=WORDS, strength=0.5, iterations=1)
    for name, table in normalised(counts, strength=0.5, with_stop=False).items():
        assert_allclose(found.parameters[name], table, rtol=1e-12, err_msg=name)


def test_many_symbols_back_off_to_coarser_contexts() -> None:
    """The same estimates as in dense tables, from the counts of what was seen."""
    rng = np.random.default_rng(0)
    few = [f"w{number}" for number in range(6)]
    drawn = [
        ([few[k] for k in rng.integers(6, size=n)], [0, *rng.integers(1, 2, size=n - 1)])
        for n in rng.integers(2, 7, size=40)
    ]
    others = [f"x{number}" for number in range(300)]
    for proper in (False, True):
        dense = TransitionModel.fit(drawn, vocabulary=few, strength=2.0, proper=proper)
        sparse = TransitionModel.fit(drawn, vocabulary=few + others, strength=2.0, proper=proper)
        ids = sparse.symbols.encode(drawn[0][0])
        own, theirs = sparse._scores(ids), dense._scores(ids)
        # Without rd, which depends on the size of the vocabulary.
        for first, second in zip(_odds(own), _odds(theirs), strict=True):
            assert_allclose(first, second, rtol=1e-9)
        with pytest.raises(ca.ModelError, match="no dense tables"):
            _ = sparse.parameters
        assert len(sparse.parse(drawn[0][0])) == len(drawn[0][0])
        # The shift and the reduction given a top of the stack sum to 1 over the vocabulary.
        top = ids[1]
        first = sparse._tables.first  # type: ignore[attr-defined]
        outcomes = np.exp(first.rows([np.array([top]), np.array([0])]))[0]
        assert len(outcomes) == len(few + others) + 1
        assert outcomes.sum() == pytest.approx(1.0)
        # la1, ra1, la2 and ra2 below two words share what rd has.
        la1, ra1, la2, ra2 = (np.exp(table) for table in own[1:])
        below = la1[1, 2] + ra1[1, 2] + la2[0, 1, 2] + ra2[0, 1, 2]
        assert below == pytest.approx(math.exp(first.rows([ids[2:3], ids[2:3] * 0])[0, -1]))


# Input and files.


def test_words_that_are_not_known() -> None:
    model = TransitionModel.random(WORDS, seed=0)
    with pytest.raises(ca.ModelError, match=r"word 2, 'x', is not in the vocabulary"):
        model.log_prob(["a", "x"])
    with pytest.raises(ca.ModelError, match="a list of words"):
        model.log_prob("ab")
    untagged = ca.Sentence.build(["a", "b"], upos=["NOUN", "_"])
    tagged = TransitionModel.random(["NOUN"], seed=0, unit="upos")
    with pytest.raises(ca.ModelError, match="word 2 has no UPOS"):
        tagged.log_prob(untagged)
    named = TransitionModel(WORDS, model.parameters, unknown="c")
    assert named.log_prob(["a", "x"]) == model.log_prob(["a", "c"])


@pytest.mark.parametrize("min_count", [1, 2])
def test_unknown_words_are_one_symbol(min_count: int) -> None:
    trees = [(["a", "b", "a"], [2, 0, 2])]
    options = {"min_count": min_count, "unknown": "?", "proper": True}
    for model in (
        TransitionModel.fit(trees, **options),  # type: ignore[arg-type]
        TransitionModel.fit_em([words for words, _ in trees], prior=0.5, **options).model,  # type: ignore[arg-type]
    ):
        assert model.vocabulary == (("?", "a", "b") if min_count == 1 else ("?", "a"))
        assert model.log_prob(["a", "new"]) == model.log_prob(["a", "?"]) > -math.inf
        assert (model.log_prob(["b"]) == model.log_prob(["?"])) == (min_count == 2)
    assert TransitionModel.fit(trees, min_count=2).symbols.unknown == "<unk>"
    with pytest.raises(ca.ModelError, match="unknown='!' is not in the vocabulary"):
        TransitionModel.fit(trees, vocabulary="ab", unknown="!")


def test_no_words() -> None:
    model = TransitionModel.random(WORDS, seed=0, proper=True)
    assert model.log_prob([]) == pytest.approx(math.log(model.parameters["rd"][1]))
    with pytest.raises(ca.ModelError, match="without words"):
        model.parse([])


def test_probability_zero() -> None:
    p = dict(TransitionModel.random(WORDS, seed=0).parameters)
    p["rd"] = np.zeros(5)
    model = TransitionModel(WORDS, p)
    assert model.log_prob(["a"]) == -math.inf
    for ask in (model.parse, model.expectations, model.marginals):
        with pytest.raises(ca.InfeasibleError):
            ask(["a"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sh": np.zeros((3, 3))}, r"parameters\['sh'\] must have shape \(5, 5\)"),
        ({"rd": np.full(5, np.nan)}, r"parameters\['rd'\] must be probabilities"),
        ({"rd": np.ones(5)}, r"sh\[b1\].sum\(\) \+ rd\[b1\] is 2 at"),
        ({"extra": np.ones(5)}, "missing or not known: .'extra'"),
    ],
)
def test_parameters_that_are_refused(change: dict[str, np.ndarray], message: str) -> None:
    p = TransitionModel.random(WORDS, seed=0).parameters
    with pytest.raises(ca.ModelError, match=message):
        TransitionModel(WORDS, p | change)


def test_vocabularies_that_are_refused() -> None:
    with pytest.raises(ca.ModelError, match="'a' more than once"):
        TransitionModel.random("aba", seed=0)
    with pytest.raises(ca.ModelError, match="dense tables hold 200 symbols: got 302"):
        TransitionModel.random(map(str, range(300)), seed=0)


def test_files(tmp_path: Path) -> None:
    model = TransitionModel.random(WORDS, seed=4, proper=True)
    model.save(tmp_path / "model")
    twin = TransitionModel.load(tmp_path / "model")
    assert (twin.vocabulary, twin.proper) == (model.vocabulary, True)
    assert twin.log_prob(list("abc")) == model.log_prob(list("abc"))


@pytest.mark.parametrize("learn", ["trees", "trees, EM", "EM"])
def test_files_of_models_with_back_off(tmp_path: Path, learn: str) -> None:
    bank = [one for one in sample() if len(one) <= 7]
    if learn == "EM":
        model = TransitionModel.fit_em(bank, prior=0.3, iterations=2, proper=True).model
    else:
        iterations = 2 if "EM" in learn else 0
        model = TransitionModel.fit(bank, proper=True, iterations=iterations)
    model.save(tmp_path / "model")
    twin = TransitionModel.load(tmp_path / "model")
    assert (twin.vocabulary, twin.proper) == (model.vocabulary, True)
    assert (twin.symbols.unknown, len(twin.symbols) > 200) == (None, True)
    for one in bank[:5]:
        assert twin.log_prob(one) == model.log_prob(one) > -math.inf
        assert twin.parse(one) == model.parse(one)
    again = tmp_path / "again"
    twin.save(again)
    assert again.read_bytes() == (tmp_path / "model").read_bytes()


def test_files_that_are_refused(tmp_path: Path) -> None:
    model, file = TransitionModel.random(WORDS, seed=4), tmp_path / "model"
    model.save(file)
    arrays, about = read_model(file)
    changes: list[tuple[dict[str, object], str]] = [
        ({"kind": "bigram"}, "model: no transition model: give a file that"),
        ({"format": 2}, "model: the model has format 2, not 1"),
        ({"vocabulary": ["a"]}, r"model: parameters\['sh'\] must have shape"),
        ({"tables": {}}, "model: first of the model must be an object"),
    ]
    for change, message in changes:
        write_model(file, arrays, about | change)
        with pytest.raises(ca.ModelError, match=message):
            TransitionModel.load(file)
