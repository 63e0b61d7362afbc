"""Equality with the official scorer.

gold.conllu and system.conllu are invented: eight sentences with subtypes, universal and other
features, multiword tokens, an empty node, lemmas `_`, no tags at all, another root.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

import crossarc as ca

HERE = Path(__file__).parent

# 100 * F1 by udtools 0.2.9 (udeval) on the two files. The CoNLL 2018 scorer 1.2, as shipped in
# stanza 1.1.1, gives the same numbers.
OFFICIAL = {
    "upos": 96.0,
    "xpos": 98.66666666666667,
    "ufeats": 97.33333333333334,
    "alltags": 92.0,
    "lemmas": 97.33333333333334,
    "uas": 78.66666666666666,
    "las": 69.33333333333334,
    "clas": 70.58823529411765,
    "mlas": 58.82352941176471,
    "blex": 65.88235294117646,
}


@pytest.fixture(scope="module")
def scores() -> ca.Scores:
    return ca.evaluate(ca.read_conllu(HERE / "gold.conllu"), ca.read_conllu(HERE / "system.conllu"))


@pytest.mark.parametrize("name", OFFICIAL)
def test_equal_to_the_official_scorer_to_the_last_digit(scores, name):
    assert getattr(scores, name) == OFFICIAL[name]


def test_scores_that_the_official_scorer_does_not_have(scores):
    """Counted by hand in the two files."""
    assert (scores.sentences, scores.words) == (8, 75)
    assert scores.las_full == 100 * (49 / 75)
    # 11 words tagged PUNCT; `...` and `,` of the untagged sentence, whose `$` is a symbol.
    assert scores.uas_nopunct == 100 * (52 / 62)
    assert scores.las_nopunct == 100 * (46 / 62)
    assert scores.las_full_nopunct == 100 * (43 / 62)
    assert (scores.uem, scores.lem) == (12.5, 12.5)  # la-1 alone
    assert scores.root_accuracy == 100 * (7 / 8)
    # Gold: by (en-1), lacht (de-1), magnas (la-1), oiseaux (fr-1); system: gestern, magnas.
    assert scores.nonprojective_precision == 50
    assert scores.nonprojective_recall == 25
    assert scores.nonprojective_f1 == 2 * 50 * 25 / (50 + 25)


def test_breakdown_by_label_keeps_subtypes(scores):
    """Counted by hand in the two files."""
    rows = {label: (c.gold, c.system, c.correct) for label, c in scores.per_label.items()}
    assert rows["advmod"] == (2, 3, 1)
    assert rows["obl"] == (1, 3, 1)
    assert rows["obl:arg"] == (2, 1, 1)
    assert rows["conj:and"] == (0, 1, 0)
    assert rows["orphan"] == (1, 0, 0)
    assert next(iter(rows)) == "punct"


def test_breakdown_by_distance(scores):
    """Counted by hand: the roots, and the arcs of length 7 and more in en-1, es-1 and de-1."""
    rows = {name: (c.gold, c.system, c.correct) for name, c in scores.per_length.items()}
    assert list(rows) == ["root", "1", "2", "3-6", "7-14", "15+"]
    assert rows["root"] == (8, 8, 7)
    assert rows["7-14"] == (4, 3, 3)
    assert rows["15+"] == (0, 0, 0)
    assert sum(gold for gold, _, _ in rows.values()) == 75


def test_flat_names(scores):
    tables = {"per_label", "per_length", "calibration"}
    flat = scores.to_dict()
    assert set(flat) == {field.name for field in fields(scores)} - tables
    assert all(value is None or type(value) in (int, float) for value in flat.values())
    assert flat["mlas"] == scores.mlas
