"""A tagger follows the treebank it learned from; what to expect is plain from that treebank."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from support.text import texts

import crossarc as ca
from crossarc.models.tagger import Tagger
from crossarc.treebank import sample

NOUNS = "dog cat bird horse letter book road song wall river".split()
VERBS = "walk jump help call open play turn watch".split()


def sentence(*words: tuple[str, str, str, str, str]) -> ca.Sentence:
    forms, lemmas, upos, xpos, feats = zip(*words, strict=True)
    return ca.Sentence.build(forms, lemmas=lemmas, upos=upos, xpos=xpos, feats=feats)


def the(noun: str) -> list[tuple[str, str, str, str, str]]:
    return [("the", "the", "DET", "DT", "_"), (noun, noun, "NOUN", "NN", "Number=Sing")]


def plural(noun: str) -> list[tuple[str, str, str, str, str]]:
    return [("the", "the", "DET", "DT", "_"), (noun + "s", noun, "NOUN", "NNS", "Number=Plur")]


def past(verb: str) -> tuple[str, str, str, str, str]:
    return verb + "ed", verb, "VERB", "VBD", "Tense=Past"


def infinitive(verb: str) -> list[tuple[str, str, str, str, str]]:
    return [("to", "to", "PART", "TO", "_"), (verb, verb, "VERB", "VB", "VerbForm=Inf")]


STOP = (".", ".", "PUNCT", ".", "_")
WAS = ("was", "be", "AUX", "VBD", "Tense=Past")
WERE = ("were", "be", "AUX", "VBD", "Tense=Past")
BANK = [
    *(sentence(*the(n), past(v), STOP) for n in NOUNS for v in VERBS),
    *(sentence(*plural(n), past(v), *the(n), STOP) for n in NOUNS for v in VERBS),
    *(sentence(*the(n), WAS, *infinitive(v), STOP) for n in NOUNS for v in VERBS),
    *(sentence(*plural(n), WERE, *infinitive(v), STOP) for n in NOUNS for v in VERBS),
    # `play`, `call` and `turn` are nouns after `the`, verbs after `to`.
    *(sentence(*the(n), past(v), STOP) for n in ("play", "call", "turn") for v in VERBS),
]


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger.train(BANK)


def tagged(tagger: Tagger, text: str) -> ca.Sentence:
    (result,) = tagger.tag([ca.Sentence.build(text.split())])
    return result


def test_known_words_in_context(tagger):
    """`play` is a noun after `the` and a verb after `to`."""
    result = tagged(tagger, "the play was to play .")
    assert result.upos == ("DET", "NOUN", "AUX", "PART", "VERB", "PUNCT")
    assert result.xpos == ("DT", "NN", "VBD", "TO", "VB", ".")
    assert result.feats[1] == "Number=Sing"
    assert result.feats[4] == "VerbForm=Inf"
    assert result.lemmas == ("the", "play", "be", "to", "play", ".")


def test_unknown_words_by_their_endings(tagger):
    """Neither `stones` nor `rolled` is in the bank."""
    result = tagged(tagger, "the stones rolled the tree .")
    assert result.upos == ("DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT")
    assert result.xpos == ("DT", "NNS", "VBD", "DT", "NN", ".")
    assert result.lemmas == ("the", "stone", "roll", "the", "tree", ".")


def test_the_training_bank_is_learned(tagger):
    results = list(tagger.tag(BANK))
    for column in ("upos", "xpos", "feats", "lemmas"):
        assert [getattr(s, column) for s in results] == [getattr(s, column) for s in BANK]


def test_the_input_is_not_changed_and_the_rest_is_kept(tagger):
    before = ca.Sentence.build(
        ["the", "dog"], heads=[2, 0], deprels=["det", "root"], misc=["a=b", "_"], comments=["# x"]
    )
    raw = before.to_conllu()
    (after,) = tagger.tag([before])
    assert before.to_conllu() == raw
    assert after.upos == ("DET", "NOUN")
    assert after.heads.tolist() == [2, 0]
    assert after.deprels == before.deprels
    assert after.misc == before.misc
    assert after.comments == before.comments


def test_columns_that_the_treebank_never_fills_are_left_alone():
    bank = [ca.Sentence.build(s.forms, upos=s.upos) for s in BANK]
    (result,) = Tagger.train(bank).tag([ca.Sentence.build(["the", "dog"], xpos=["A", "B"])])
    assert result.upos == ("DET", "NOUN")
    assert result.xpos == ("A", "B")
    assert result.feats == result.lemmas == ("_", "_")


def test_an_xpos_column_without_a_tag_set_is_left_alone():
    bank = [
        ca.Sentence.build([f"w{k}", "the"], upos=["NOUN", "DET"], xpos=[f"X{k}", "DT"])
        for k in range(2500)
    ]
    (result,) = Tagger.train(bank).tag([ca.Sentence.build(["w7", "the"])])
    assert result.upos == ("NOUN", "DET")
    assert result.xpos == ("_", "_")


MARKED = [
    *BANK,
    *(
        sentence(*the(n), past(v), ("http://a.org/" + n, n, "PROPN", "ADD", "_"), STOP)
        for n in NOUNS
        for v in VERBS
    ),
    *(sentence(*the(n), past(v), (":)", ":)", "SYM", "NFP", "_")) for n in NOUNS for v in VERBS),
    *(
        sentence(*the(n), past(v), ("$", "$", "SYM", "$", "_"), ("5", "5", "NUM", "CD", "_"), STOP)
        for n in NOUNS
        for v in VERBS
    ),
]


@pytest.mark.parametrize(
    ("form", "upos", "xpos"),
    [
        ("https://example.org/x?y=(2)", "PROPN", "ADD"),
        ("mia@example.org", "PROPN", "ADD"),
        ("@green_parrot", "PROPN", "ADD"),
        ("\U0001f600", "SYM", "NFP"),
        ("\u2764\ufe0f", "SYM", "NFP"),
        (";-))", "SYM", "NFP"),
        ("£", "SYM", "$"),
    ],
)
def test_addresses_emoji_and_currencies_are_tagged_by_their_class(marked, form, upos, xpos):
    """Only URLs, `:)` and `$` are in the bank."""
    result = tagged(marked, f"the dog helped {form} .")
    assert (result.upos[3], result.xpos[3]) == (upos, xpos)


@pytest.fixture(scope="module")
def marked() -> Tagger:
    return Tagger.train(MARKED)


def test_emoji_are_symbols_where_there_are_none_to_learn_from():
    """The bank has a symbol, `%`, but neither emoji nor emoticons."""
    symbol = sentence(*the("dog"), ("%", "%", "SYM", "NN", "_"))
    result = tagged(Tagger.train([*BANK, symbol]), "the \U0001f600 helped .")
    assert (result.upos[1], result.xpos[1]) == ("SYM", "NN")


def test_a_known_lemma_is_preferred():
    """`-es` loses `s` or `es`, each of eight nouns; `lane` and `fox` are in the bank."""
    ending_e = "home cave date face game hole joke knife".split()
    others = "bus class dress glass kiss loss mass pass".split()
    plurals = [(f"{n}s", n) for n in ending_e] + [(f"{n}es", n) for n in others]
    bank = [sentence((f, lemma, "NOUN", "NNS", "_")) for f, lemma in plurals]
    bank += [sentence((n, n, "NOUN", "NN", "_")) for n in [*ending_e, *others, "lane", "fox"]]
    learned = Tagger.train(bank)
    assert tagged(learned, "lanes").lemmas == ("lane",)
    assert tagged(learned, "foxes").lemmas == ("fox",)


def test_a_form_tells_nothing_about_its_own_lemma():
    """No lemma of these plurals has another form: to be known says nothing. `-nes` loses `s`."""
    ending_e = "bone cane line plane stone tune wine zone".split()
    others = "bus class dress glass kiss loss mass pass".split()
    plurals = [(f"{n}s", n) for n in ending_e] + [(f"{n}es", n) for n in others]
    bank = [sentence((f, lemma, "NOUN", "NNS", "_")) for f, lemma in plurals]
    bank += [sentence((n, n, "NOUN", "NN", "_")) for n in ("dog", "man", "van", "pin")]
    assert tagged(Tagger.train(bank), "vanes").lemmas == ("vane",)


def columns(sentences) -> list[tuple[object, ...]]:
    return [(s.upos, s.xpos, s.feats, s.lemmas) for s in sentences]


@pytest.fixture(scope="module")
def mixed() -> Tagger:
    """Of twelve languages and as many scripts and tag sets."""
    return Tagger.train(sample())


def test_restoring_gives_the_same_output(mixed):
    metadata = json.loads(json.dumps(mixed.metadata()))
    arrays = {name: array.copy() for name, array in mixed.tensors().items()}
    assert columns(Tagger.restore(arrays, metadata).tag(sample())) == columns(mixed.tag(sample()))


def test_weights_are_small_integers(mixed):
    kinds = {array.dtype for array in mixed.tensors().values()}
    assert kinds == {np.dtype(np.uint8), np.dtype(np.int16)}


def test_threads_and_batches_change_nothing(mixed):
    expected = columns(mixed.tag(sample(), threads=1))
    assert columns(mixed.tag(sample(), threads=4)) == expected
    assert [row for s in sample() for row in columns(mixed.tag([s]))] == expected


def test_the_seed_decides(mixed):
    twin = Tagger.train(sample())
    other = Tagger.train(sample(), seed=1)
    assert all((twin.tensors()[k] == v).all() for k, v in mixed.tensors().items())
    values = "tag_values"
    assert not np.array_equal(other.tensors()[values], mixed.tensors()[values])


def test_dev_sentences_choose_the_round():
    """With the training bank as dev, the best round gets every tag right."""
    assert columns(Tagger.train(BANK, dev=BANK).tag(BANK)) == columns(BANK)


def test_jackknife_tags_each_sentence_by_others():
    """A word that occurs in one sentence only is unknown to the tagger that tags it there."""
    odd = sentence(("the", "the", "DET", "DT", "_"), ("xqzt", "xqzt", "INTJ", "UH", "Odd=Yes"))
    bank = [*BANK, odd]
    results = Tagger.jackknife(bank, folds=4)
    assert [s.forms for s in results] == [s.forms for s in bank]
    assert results[-1].upos[1] != "INTJ"
    right = sum(
        a == b
        for s, r in zip(bank, results, strict=True)
        for a, b in zip(s.upos, r.upos, strict=True)
    )
    assert right / sum(map(len, bank)) > 0.95
    assert columns(Tagger.jackknife(bank, folds=4, threads=2)) == columns(results)


def test_wrong_folds_are_refused():
    with pytest.raises(ValueError, match="folds must be at least 2: got 1"):
        Tagger.jackknife(BANK, folds=1)
    with pytest.raises(ca.TreebankError, match="5 folds need 5 sentences: got 3"):
        Tagger.jackknife(BANK[:3])


def test_no_sentences_to_learn_from():
    with pytest.raises(ca.TreebankError, match="no sentences to learn from"):
        Tagger.train([])


def test_restoring_something_else_is_refused(mixed):
    with pytest.raises(ca.ModelError, match=r"no tagger that can be read .*train it again"):
        Tagger.restore({}, mixed.metadata())
    with pytest.raises(ca.ModelError, match="train it again"):
        Tagger.restore(mixed.tensors(), {"tags": [["NOUN", "_"]], "lemmas": None})


def test_nothing_to_tag(mixed):
    assert list(mixed.tag([])) == []


@given(texts(20))
def test_any_word_gets_a_tag_and_a_lemma(mixed, text):
    forms = [form for form in text.replace("\r", "\n").replace("\t", "\n").split("\n") if form]
    if forms:
        (result,) = mixed.tag([ca.Sentence.build(forms)])
        assert result.forms == tuple(forms)
        assert all(result.upos)
        assert all(result.lemmas)


def test_very_long_words(mixed):
    (result,) = mixed.tag([ca.Sentence.build(["x" * 100_000, "é" * 40])])
    assert all(value != "_" for value in result.upos)
