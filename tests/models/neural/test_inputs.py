"""Codes of sentences: what the network reads."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.small_treebank import WORKED, toy_treebank

from crossarc import Sentence
from crossarc.models.encode import BOUNDARY, ROOT, UNKNOWN, Vocabulary
from crossarc.models.neural.inputs import COLUMNS, Vocabularies, length_batches

SHORT = Sentence.build(
    ["Cats", "."], upos=["NOUN", "PUNCT"], feats=["Number=Plur", "_"], heads=[0, 1]
)


def test_codes_of_a_sentence() -> None:
    known = Vocabularies.build([WORKED], cutoff=1)
    inputs = known.encode([WORKED, SHORT], Vocabulary(["nsubj", "root"]))
    assert inputs.sizes.tolist() == [6, 2]
    assert inputs.starts.tolist() == [0, 7]
    assert inputs.codes.shape == (10, len(COLUMNS) + 2)  # "Our" has two features
    assert inputs.codes[0].tolist() == [ROOT] * 4 + [BOUNDARY] * 2
    forms = known.columns[0]
    assert inputs.codes[8, 0] == forms.code("cats")  # words count in lower case
    assert inputs.codes[8, 1] == UNKNOWN  # without a lemma
    assert inputs.codes[8, 4:].tolist() == [known.feats.code("Number=Plur"), BOUNDARY]
    assert inputs.heads.tolist() == [-1, 2, 4, 4, 0, 4, 4, -1, 0, 1]
    assert inputs.labels.tolist() == [-1, -1, 0, -1, 1, -1, -1, -1, -1, -1]
    spelt = inputs.spelling[inputs.forms[8]].tolist()
    assert spelt[:4] == [UNKNOWN, *known.characters.encode("ats")]  # no C in WORKED


def test_a_batch_is_padded_with_roots() -> None:
    known = Vocabularies.build([WORKED], cutoff=1)
    batch = known.encode([WORKED, SHORT]).batch(np.array([1, 0]))
    assert batch.sizes.tolist() == [2, 6]
    assert tuple(batch.codes.shape) == (2, 7, 6)
    assert (batch.codes[0, 3:, :4] == ROOT).all()
    assert batch.heads.tolist() == [[-1, 0, 1, -1, -1, -1, -1], [-1, 2, 4, 4, 0, 4, 4]]
    lengths = batch.spelling_sizes[batch.forms]
    assert lengths.tolist() == [[1, 4, 1, 1, 1, 1, 1], [1, 3, 4, 5, 5, 4, 1]]


def test_long_words_and_many_features() -> None:
    known = Vocabularies.build([SHORT, WORKED], cutoff=1)
    odd = Sentence.build(["x" * 10 + "Cats" * 10, "."], feats=["A=1|Number=Plur|Poss=Yes|Z=1", "_"])
    inputs = known.encode([odd])
    assert inputs.spelling_sizes.tolist() == [1, 24, 1]
    assert inputs.codes[1, 4:].tolist() == known.feats.encode(["Number=Plur", "Poss=Yes"]).tolist()


def test_learnable_heads_are_targets() -> None:
    crossing = Sentence.build(list("abcd"), heads=[3, 4, 0, 3])
    inputs = Vocabularies.build([crossing]).encode([crossing])
    projective = inputs.learnable(projective=True, root="single")
    assert projective.targets.tolist() == [-1, 3, -1, 0, 3]
    assert inputs.targets.tolist() == projective.heads.tolist() == [-1, 3, 4, 0, 3]


def test_vocabularies_from_metadata() -> None:
    known = Vocabularies.build(toy_treebank(5, 0))
    again = Vocabularies.restore(known.metadata())
    bank = toy_treebank(3, 1)
    np.testing.assert_array_equal(again.encode(bank).codes, known.encode(bank).codes)
    assert again.max_feats == 0


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 200), st.integers(0, 5))
def test_batches_by_length_have_every_sentence_once(
    sizes: list[int], words: int, seed: int
) -> None:
    array = np.array(sizes, np.int64)
    for rng in (None, np.random.default_rng(seed)):
        batches = list(length_batches(array, words, rng))
        assert sorted(k for one in batches for k in one.tolist()) == list(range(len(sizes)))
        for one in batches:
            assert len(one) == 1 or array[one].max() * len(one) <= words
