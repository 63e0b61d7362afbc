"""Tokens of several words: rules from pairs, candidates for forms that were never seen."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossarc.text.multiword import Rule, Splitter, find_rules
from crossarc.text.word_set import WordSet

STEM = "\t"


@pytest.mark.parametrize(
    ("form", "words", "rules"),
    [
        (
            "don't",
            ("do", "n't"),
            [Rule("", "n't", (STEM, "n't")), Rule("do", "", ("do", STEM))],
        ),
        ("du", ("de", "le"), [Rule("", "u", (f"{STEM}e", "le"))]),
        ("xy", ("a", "b"), [Rule("xy", "", ("a", "b"))]),
    ],
)
def test_rules_of_known_pairs(form, words, rules):
    assert find_rules(form, words) == rules


@given(
    st.text("abcd", min_size=1, max_size=8),
    st.lists(st.text("abcd", min_size=1, max_size=4), min_size=2, max_size=3).map(tuple),
)
def test_every_rule_of_a_pair_makes_its_words(form, words):
    for rule in find_rules(form, words):
        assert rule.fits(form)
        assert rule.apply(form) == words


@pytest.mark.parametrize(
    ("rule", "form", "words"),
    [
        (Rule("", "n't", (STEM, "n't")), "DON'T", ("DO", "N'T")),
        (Rule("", "u", (f"{STEM}e", "le")), "Du", ("De", "le")),
        (Rule("", "u", (f"{STEM}e", "le")), "DU", ("DE", "LE")),
        (Rule("w", "", ("w", STEM)), "Wkatab", ("W", "katab")),
    ],
)
def test_words_have_the_case_of_their_token(rule, form, words):
    assert rule.apply(form) == words


def whole(*forms: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(form, ()) for form in forms]


CLITICS = [(f"{name}'s", (name, "'s")) for name in ("anna", "bob", "cat", "dog", "eve")]


def candidates(splitter: Splitter, form: str) -> list[tuple[str, ...]]:
    found = splitter.look_up(form)
    return [split.words for split in found.splits] if found else []


def test_unknown_forms_follow_the_rules_of_their_suffix():
    """A form that was seen whole once, `pony's`, does not stand against the five others."""
    splitter = Splitter.learn(CLITICS + whole("pony's", "bus", "gas", "plus"))
    assert candidates(splitter, "Zoe's") == [("Zoe", "'s")]
    assert candidates(splitter, "pony's") == [("pony", "'s")]
    assert candidates(splitter, "glass") == []


def test_unknown_forms_follow_the_rules_of_their_prefix():
    words = ("katab", "qara", "jalas", "fahim")
    splitter = Splitter.learn([(f"w{word}", ("w", word)) for word in words] + whole("bayt", "kalb"))
    assert candidates(splitter, "wdaras") == [("w", "daras")]
    assert candidates(splitter, "daras") == []


def test_what_was_never_evidenced_is_not_split():
    """Of twelve forms in -s one was split, once: no other form is, and that one is asked."""
    plurals = [f"{noun}s" for noun in "cat dog hat pen cup map fan jar lid box key".split()]
    splitter = Splitter.learn([*whole(*plurals), ("its", ("it", "s")), *whole("its", "its")])
    assert candidates(splitter, "rugs") == []
    found = splitter.look_up("its")
    assert found is not None
    assert [(split.words, split.same, split.other) for split in found.splits] == [
        (("it", "s"), 1, 2)
    ]
    assert not found.certain


def test_always_and_never_need_no_context():
    tokens = [*CLITICS * 3, *whole("let's", "let's", "let's")]
    splitter = Splitter.learn(tokens)
    found = splitter.look_up("bob's")
    assert found is not None
    assert found.certain
    assert splitter.look_up("let's") is None


def test_the_evidence_of_a_form_leaves_itself_out():
    splitter = Splitter.learn([*CLITICS, ("its", ("it", "s")), *whole("its")])
    (split,) = splitter.splits("its")
    assert (split.without(("it", "s")).same, split.without(()).other) == (0, 0)


def test_restoring_gives_the_same_candidates():
    splitter = Splitter.learn(CLITICS + whole("pony's", "bus"))
    metadata = json.loads(json.dumps(splitter.metadata()))
    twin = Splitter.restore(metadata, WordSet(splitter.words.table.copy()))
    for form in ("Zoe's", "pony's", "bob's", "bus", "Bobs"):
        assert twin.look_up(form) == splitter.look_up(form)


@given(st.sets(st.text(max_size=5), max_size=50))
def test_a_word_set_holds_its_words(words):
    found = WordSet.build(words)
    assert all(word in found for word in words)


def test_a_word_set_holds_few_others():
    """With 16 bits a string and four hashes, (1 - e^(-1/4))^4 = 0.24 % of others are found."""
    found = WordSet.build([f"word {k}" for k in range(8000)])
    assert sum(f"other {k}" in found for k in range(20_000)) < 100
    assert found.table.dtype == np.uint8


def test_a_stem_that_is_always_split_is_split_again():
    """Of `they'd've`, never seen, `'ve` is cut, and what is left is known; `we've` has no more."""
    clitics = [
        (f"{who}'{end}", (who, f"'{end}"))
        for who in ("they", "we", "you", "i")
        for end in ("d", "ve", "ll")
    ]
    splitter = Splitter.learn(3 * clitics + whole("they", "we", "you", "i", "left"))
    (split,) = splitter.splits("They'd've")
    assert split.words == ("They'd", "'ve")
    assert splitter.words_of(split) == ("They", "'d", "'ve")
    (known,) = splitter.splits("we've")
    assert splitter.words_of(known) == ("we", "'ve")
