"""Synthetic treebanks: valid, reproducible, and distributed as asked."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.frequencies import assert_distribution, assert_share

from crossarc import CrossarcError, Sentence, Tree, read_conllu
from crossarc.treebank.synthetic import (
    LEFT,
    RIGHT,
    Grammar,
    generate,
    geometric_lengths,
    poisson_lengths,
    random_grammar,
    uniform_lengths,
)
from crossarc.treebank.synthetic.grammar import RELATIONS, UPOS_TAGS


def small_grammar() -> Grammar:
    """Three tags, one of which never has NOUN on its left; `bank` is a noun and a verb."""
    return Grammar(
        tags=("NOUN", "VERB", "DET"),
        labels=("arg", "mod", "det"),
        words=(("bank", "river"), ("bank", "Run"), ("the",)),
        root=np.array([0.2, 0.8, 0.0]),
        attachment=np.array(
            [
                [[0.1, 0.2, 0.7], [0.0, 0.5, 0.5], [0.3, 0.3, 0.4]],
                [[0.6, 0.3, 0.1], [0.7, 0.2, 0.1], [0.25, 0.5, 0.25]],
            ]
        ),
        emission=(np.array([0.9, 0.1]), np.array([0.3, 0.7]), np.array([1.0])),
        relation=np.array([[[1, 1, 2], [0, 1, 2], [1, 0, 2]], [[1, 0, 2], [0, 0, 2], [1, 1, 2]]]),
    )


def texts(sentences: Iterable[Sentence]) -> list[str]:
    return [sentence.to_conllu() for sentence in sentences]


def arcs(sentences: Iterable[Sentence]) -> Counter[tuple[int, str, str, str]]:
    """How often each (side, tag of head, tag of dependent, label) occurs."""
    return Counter(
        (RIGHT if word > head else LEFT, s.upos[head - 1], s.upos[word - 1], s.deprels[word - 1])
        for s in sentences
        for word, head in enumerate(s.heads.tolist(), 1)
        if head
    )


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**64),
    start=st.integers(0, 10**6),
    lengths=st.one_of(st.integers(1, 40), st.floats(1, 15).map(geometric_lengths)),
    nonprojective=st.sampled_from([0.0, 0.2, 1.0, "uniform"]),
    root=st.sampled_from(["single", "multi"]),
)
def test_sentences_are_valid(seed, start, lengths, nonprojective, root) -> None:  # type: ignore[no-untyped-def]
    if not isinstance(lengths, int) or lengths < 3:
        nonprojective = 0.0 if nonprojective != "uniform" else nonprojective
    options = {"lengths": lengths, "nonprojective": nonprojective, "root": root}
    made = list(generate(sentences=5, seed=seed, start=start, **options))
    assert texts(read_conllu("".join(texts(made)).splitlines(keepends=True))) == texts(made)
    for place, sentence in enumerate(made, start):
        tree = Tree(sentence.heads)
        assert tree.is_single_root or root == "multi"
        assert [label == "root" for label in sentence.deprels] == (sentence.heads == 0).tolist()
        assert sentence.sent_id == f"synthetic-{seed}-{place}"
        assert sentence.text == " ".join(sentence.forms)
        assert set(sentence.upos) <= set(UPOS_TAGS)
        assert set(sentence.deprels) <= {*RELATIONS, "root"}
        assert sentence.lemmas == tuple(form.lower() for form in sentence.forms)
        if nonprojective != "uniform" and nonprojective in (0.0, 1.0):
            assert tree.is_projective == (nonprojective == 0.0)


@pytest.mark.parametrize("options", [{}, {"nonprojective": 0.3}, {"nonprojective": "uniform"}])
def test_a_sentence_depends_on_seed_and_number_alone(options: dict[str, object]) -> None:
    whole = texts(generate(sentences=900, seed=5, **options))  # type: ignore[arg-type]
    assert texts(generate(sentences=300, seed=5, **options)) == whole[:300]  # type: ignore[arg-type]
    endless = generate(seed=5, start=411, **options)  # type: ignore[arg-type]
    assert texts(itertools.islice(endless, 300)) == whole[411:711]
    assert texts(generate(sentences=5, seed=6, **options)) != whole[:5]  # type: ignore[arg-type]
    assert len(set(whole)) == 900


def test_output_is_the_same_everywhere() -> None:
    """A change of this sentence changes every treebank that was ever made from a seed."""
    (sentence,) = generate(small_grammar(), sentences=1, lengths=6, nonprojective=1.0, seed=2024)
    assert sentence.heads.tolist() == [6, 0, 2, 2, 4, 4]
    assert sentence.forms == ("bank", "Run", "bank", "Run", "bank", "bank")
    assert sentence.deprels == ("mod", "root", "arg", "arg", "arg", "arg")


def test_limits() -> None:
    assert list(generate(sentences=0)) == []
    assert list(generate(words=0)) == []
    for words in (1, 20, 12_345):
        lengths = [len(sentence) for sentence in generate(words=words, seed=1)]
        assert sum(lengths) - lengths[-1] < words <= sum(lengths)
    assert len(list(generate(words=10**9, sentences=7))) == 7
    assert sum(map(len, generate(words=100, sentences=10**9, lengths=10))) == 100


@pytest.mark.parametrize("share", [0.02, 0.15, 0.5])
@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("lengths", [poisson_lengths(12.0), uniform_lengths(1, 6)])
def test_share_of_nonprojective_sentences(share, root, lengths) -> None:  # type: ignore[no-untyped-def]
    """Also where a third of the sentences is too short to cross."""
    made = generate(sentences=5000, seed=11, lengths=lengths, nonprojective=share, root=root)
    assert_share(sum(not Tree(sentence.heads).is_projective for sentence in made), 5000, share)


def test_lengths() -> None:
    for chances, mean in (
        (uniform_lengths(3, 9), 6.0),
        (poisson_lengths(20.0), 20.0),
        (poisson_lengths(1.0), 1.0),
        (poisson_lengths(900.0), 900.0),
        (geometric_lengths(7.5), 7.5),
        (geometric_lengths(1.0), 1.0),
    ):
        assert chances[0] == 0.0
        assert chances.sum() == pytest.approx(1.0, abs=1e-10)
        assert chances @ np.arange(len(chances)) == pytest.approx(mean, rel=1e-9)
    assert {len(sentence) for sentence in generate(sentences=50, lengths=7)} == {7}


@pytest.mark.parametrize("weights", [uniform_lengths(3, 9), poisson_lengths(5.0), [0, 5, 0, 1, 4]])
def test_lengths_are_distributed_as_asked(weights) -> None:  # type: ignore[no-untyped-def]
    chances = np.array(weights, dtype=float)
    counts = Counter(
        len(sentence) for sentence in generate(sentences=4000, seed=3, lengths=weights)
    )
    common = chances / chances.sum() > 5 / 4000
    observed = np.array([counts[n] for n in range(len(chances))])
    rest = [observed[~common].sum()], [chances[~common].sum()]
    assert observed.sum() == 4000
    assert_distribution([*observed[common], *rest[0]], [*chances[common], *rest[1]])


@pytest.mark.parametrize("nonprojective", [0.0, 0.4, "uniform"])
@pytest.mark.parametrize("grammar", [small_grammar(), random_grammar(4, tags=UPOS_TAGS[:5])])
def test_counts_follow_the_grammar(grammar: Grammar, nonprojective) -> None:  # type: ignore[no-untyped-def]
    made = list(generate(grammar, sentences=3000, seed=8, lengths=9, nonprojective=nonprojective))
    roots = Counter(s.upos[s.heads.tolist().index(0)] for s in made)
    assert_distribution([roots[tag] for tag in grammar.tags], grammar.root)
    found = arcs(made)
    indices = range(len(grammar.tags))
    for side, h in itertools.product((LEFT, RIGHT), indices):
        keys = [
            (side, grammar.tags[h], grammar.tags[m], grammar.labels[grammar.relation[side, h, m]])
            for m in indices
        ]
        assert_distribution([found.pop(key, 0) for key in keys], grammar.attachment[side, h])
    assert not found
    emitted = Counter((tag, form) for s in made for tag, form in zip(s.upos, s.forms, strict=True))
    for t, tag in enumerate(grammar.tags):
        counts = [emitted[tag, form] for form in grammar.words[t][:40]]
        assert_distribution(counts, grammar.emission[t][:40])


def test_random_grammar() -> None:
    one, two = random_grammar(1), random_grammar(1)
    assert np.array_equal(one.attachment, two.attachment)
    assert not np.array_equal(one.attachment, random_grammar(2).attachment)
    assert not np.array_equal(one.attachment[LEFT], one.attachment[RIGHT])
    punct = one.tags.index("PUNCT")
    is_punct = one.relation == one.labels.index("punct")
    assert is_punct[:, :, punct].all()
    assert is_punct.sum() == 2 * len(one.tags)
    forms = [form for forms in random_grammar(1, vocabulary=30_000).words for form in forms]
    assert len(forms) == len(set(forms)) == 30_000
    undirected = random_grammar(1, directed=False)
    assert np.array_equal(undirected.attachment[LEFT], undirected.attachment[RIGHT])
    assert np.array_equal(undirected.relation[LEFT], undirected.relation[RIGHT])
    flat = random_grammar(1, zipf=0.0, peak=0.0, tags=["A", "B"], vocabulary={"A": "xyz", "B": "u"})
    assert flat.words == (("x", "y", "z"), ("u",))
    assert np.allclose(flat.emission[0], 1 / 3)
    assert np.allclose(flat.attachment, 0.5)
    assert one.emission[0][0] == pytest.approx(2 * one.emission[0][1])
    assert random_grammar(tags=["PUNCT"], vocabulary=20).words[0][0] != "."


def test_grammar_is_immutable() -> None:
    grammar = small_grammar()
    with pytest.raises(ValueError, match="read-only"):
        grammar.attachment[0, 0, 0] = 1.0
    with pytest.raises(AttributeError):
        grammar.root = grammar.emission[0]  # type: ignore[misc]


def changed(**changes: object) -> Callable[[], object]:
    fields = ("tags", "labels", "words", "root", "attachment", "emission", "relation")
    return lambda: Grammar(**{name: getattr(small_grammar(), name) for name in fields} | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: generate(sentences=-1), "sentences -1: must be a whole number, 0 or more"),
        (lambda: generate(words=2.5), "words 2.5: must be"),  # type: ignore[arg-type]
        (lambda: generate(seed=-3), "seed -3: must be"),
        (lambda: generate(start=-3), "start -3: must be"),
        (lambda: generate(root="two"), "root 'two': must be 'single' or 'multi'"),  # type: ignore[arg-type]
        (lambda: generate(nonprojective=1.5), "nonprojective 1.5: must be from 0 to 1"),
        (lambda: generate(nonprojective=float("nan")), "nonprojective nan: must be"),
        (lambda: generate(nonprojective="many"), "nonprojective many: must be"),  # type: ignore[arg-type]
        (lambda: generate(nonprojective=0.1, lengths=2), "only 0 of the sentences have 3 words"),
        (lambda: generate(nonprojective=0.9, lengths=uniform_lengths(1, 4)), "only 0.5 of the"),
        (lambda: generate(lengths=0), "lengths 0 to 0: the shortest must be 1"),
        (lambda: generate(lengths=[0.5, 0.5]), "lengths must be a whole number or weights"),
        (lambda: generate(lengths=[0.0, -1.0, 2.0]), "lengths must be"),
        (lambda: generate(lengths=[]), "lengths must be"),
        (lambda: generate(lengths=[[0.0, 1.0]]), "lengths must be"),
        (lambda: uniform_lengths(5, 4), "lengths 5 to 4"),
        (lambda: poisson_lengths(0.5), "mean length 0.5"),
        (lambda: geometric_lengths(float("inf")), "mean length inf"),
        (lambda: random_grammar(vocabulary=3), "vocabulary 3: 17 tags need at least a word each"),
        (lambda: random_grammar(tags=[]), "0 tags need"),
        (lambda: random_grammar(vocabulary={"A": ["x"]}), "vocabulary must list"),
        (lambda: random_grammar(labels=[]), "indices below 0 labels"),
        (lambda: random_grammar(labels=["root"]), "label 'root' is kept"),
        (changed(root=[0.5, 0.4, 0.0]), "root must hold probabilities that sum to 1"),
        (changed(root=[0.5, 0.5]), r"root must have shape \(3,\): got \(2,\)"),
        (changed(attachment=np.full((2, 3, 3), np.nan)), "attachment must hold"),
        (changed(emission=([1.0], [1.0], [1.0])), "emission of NOUN must have shape"),
        (changed(words=(("a",), ("b",))), "need one entry per tag"),
        (changed(tags=("NOUN", "VERB", "NOUN")), "a tag is listed twice"),
        (changed(words=(("a b", "c"), ("d", "e"), ("f",))), "form 'a b' is empty or holds white"),
        (changed(relation=np.full((2, 3, 3), 3)), "indices below 3 labels"),
    ],
)
def test_wrong_arguments(wrong: Callable[[], object], message: str) -> None:
    """Refused at once, before the first sentence is asked for."""
    with pytest.raises(CrossarcError, match=message) as caught:
        wrong()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)
