"""Hints on rules of Universal Dependencies.

Each sentence breaks one rule. The names of the rules are those under which UD's own validator,
`udtools` 0.2.9, level 3, reports the sentence; it reports nothing for the sentence that is right.
"""

from __future__ import annotations

import pytest

from crossarc import Sentence
from crossarc.app.server.ud_rules import find_hints

FORMS = ["the", "dogs", "will", "see", "old", "cats", "there", "."]
TAGS = ["DET", "NOUN", "AUX", "VERB", "ADJ", "NOUN", "ADV", "PUNCT"]
HEADS = [2, 4, 4, 0, 6, 4, 4, 4]
RELATIONS = ["det", "nsubj", "aux", "root", "amod", "obj", "advmod", "punct"]


def sentence(
    heads: dict[int, int] | None = None,
    relations: dict[int, str] | None = None,
    tags: dict[int, str] | None = None,
) -> Sentence:
    """The sentence that is right, with some words changed."""
    values = []
    for column, changes in ((HEADS, heads), (RELATIONS, relations), (TAGS, tags)):
        values.append([(changes or {}).get(word, own) for word, own in enumerate(column, 1)])
    return Sentence.build(
        FORMS,
        lemmas=FORMS,
        heads=values[0],
        deprels=values[1],
        upos=values[2],
        comments=["# sent_id = 1", f"# text = {' '.join(FORMS)}"],
    )


def test_nothing_is_said_of_a_sentence_that_is_right() -> None:
    assert find_hints(sentence()) == []


CASES = [
    ("unknown-udeprel", sentence(relations={5: "adj"}), 5, "adj is no universal relation"),
    ("unknown-upos", sentence(tags={5: "ADJX"}), 5, "ADJX is no universal tag"),
    ("0-is-not-root", sentence(relations={4: "parataxis"}), 4, "it should be root"),
    ("root-is-not-0", sentence(relations={7: "root"}), 7, "root is for the word"),
    ("right-to-left-conj", sentence(relations={2: "conj"}), 2, "conj goes from left to right"),
    ("right-to-left-appos", sentence(relations={2: "appos"}), 2, "appos goes from left to right"),
    ("leaf-aux-cop", sentence(heads={7: 3}, relations={7: "obl"}), 3, "has no obl below it"),
    ("leaf-punct", sentence(heads={7: 8}), 8, "has no advmod below it"),
    ("rel-upos-det", sentence(tags={1: "ADJ"}), 1, "det does not go with ADJ"),
    ("rel-upos-nummod", sentence(relations={5: "nummod"}), 5, "nummod does not go with ADJ"),
    ("rel-upos-advmod", sentence(tags={7: "NOUN"}), 7, "advmod does not go with NOUN"),
    ("rel-upos-aux", sentence(tags={3: "VERB"}), 3, "aux does not go with VERB"),
    ("rel-upos-case", sentence(relations={5: "case"}), 5, "case does not go with ADJ"),
    ("rel-upos-mark", sentence(relations={5: "mark"}), 5, "mark does not go with ADJ"),
    ("rel-upos-cc", sentence(relations={5: "cc"}), 5, "cc does not go with ADJ"),
    ("upos-rel-punct", sentence(relations={8: "dep"}), 8, "punctuation has the relation punct"),
    ("rel-upos-punct", sentence(tags={8: "SYM"}), 8, "punct does not go with SYM"),
    ("too-many-subjects", sentence(relations={6: "nsubj"}), 6, "a second subject"),
    (
        "punct-is-nonproj",
        sentence(heads={7: 2, 8: 6}, relations={7: "dep"}),
        8,
        "punctuation is attached across",
    ),
]


@pytest.mark.parametrize(("rule", "broken", "word", "message"), CASES, ids=[c[0] for c in CASES])
def test_broken_rules(rule: str, broken: Sentence, word: int, message: str) -> None:
    hints = find_hints(broken)
    assert any(hint.word == word and message in hint.message for hint in hints), hints


def test_second_root_and_second_object() -> None:
    """Rules of level 2 and of the guidelines: one root, at most one direct object."""
    assert [h.word for h in find_hints(sentence(heads={7: 0, 8: 7}, relations={7: "root"}))] == [7]
    two = find_hints(sentence(relations={7: "obj"}))
    assert [(h.word, h.message) for h in two] == [
        (7, "a second object of the same word, after word 6")
    ]


def test_fixed_expressions_may_have_other_tags() -> None:
    fixed = sentence(relations={5: "case", 6: "fixed"}, heads={5: 7, 6: 5, 7: 4}, tags={7: "ADV"})
    assert find_hints(fixed) == []
