"""Profiles: counted by hand, and the published figures of the treebanks."""

from __future__ import annotations

import io
import re
from functools import reduce

import pytest
from support.files import TREEBANKS

import crossarc as ca
from crossarc.analysis import Profile, profile

TEXT = """1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_
1\ta\t_\tX\t_\t_\t3\tdep\t_\t_
2\tb\t_\tX\t_\t_\t4\tdep\t_\t_
3\tc\t_\tY\t_\t_\t0\troot\t_\t_
4\td\t_\tX\t_\t_\t3\tdep\t_\t_
4.1\te\t_\tX\t_\t_\t_\t_\t3:dep\t_

1\ta\t_\tX\t_\t_\t0\troot\t_\t_
2\tb\t_\tX\t_\t_\t0\troot\t_\t_

1\ta\t_\tX\t_\t_\t_\t_\t_\t_

"""


def test_counts() -> None:
    one = profile(ca.read_conllu(io.StringIO(TEXT)))
    assert one.to_dict() == {
        "sentences": 3,
        "words": 7,
        "multiword_tokens": 1,
        "empty_nodes": 1,
        "longest": 4,
        "incomplete_sentences": 1,
        "multi_root_sentences": 1,
        "nonprojective_arcs": 1,
        "nonprojective_arcs_percent": pytest.approx(100 / 6),
        "nonprojective_sentences": 1,
        "nonprojective_sentences_percent": 50.0,
        "nonplanar_sentences_percent": 50.0,
        "ill_nested_sentences_percent": 0.0,
        "crossings": 1,
        "sentences_by_degree": {"0": 1, "1": 1},
        "sentences_by_gap_degree": {"0": 1, "1": 1},
        "sentences_by_crossings": {"0": 1, "1": 1},
        "upos": {"X": 6, "Y": 1},
        "deprels": {"dep": 3, "root": 3},
    }


def test_adding_profiles_is_profiling_both() -> None:
    sentences = list(ca.read_conllu(io.StringIO(TEXT)))
    parts = [profile([sentence]) for sentence in sentences]
    assert reduce(Profile.__add__, parts) == profile(sentences)
    assert profile([]).to_dict()["nonprojective_arcs_percent"] == 0.0


def published() -> list[list[str]]:
    """Rows of the table in the treebanks' README: name ... percent arcs, percent sentences ..."""
    readme = TREEBANKS / "README.md"
    if not readme.exists():
        return []
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in readme.read_text(encoding="utf-8").split("\n")
    ]
    return [row for row in rows if len(row) == 10 and re.fullmatch(r"\d+\.\d+", row[6])]


@pytest.mark.skipif(not published(), reason="no treebanks beside the project")
def test_there_are_fourteen_published_rows() -> None:
    assert len(published()) == 14


@pytest.mark.parametrize("row", published(), ids=lambda row: row[0])
def test_published_figures(row: list[str]) -> None:
    """Non-projective arcs and sentences, longest sentence, and the last column, to the digit."""
    one = reduce(
        Profile.__add__,
        (profile(ca.read_conllu(path)) for path in sorted((TREEBANKS / row[0]).glob("*.gz"))),
    )
    figures = one.to_dict()
    assert f"{figures['nonprojective_arcs_percent']:.2f}" == row[6]
    assert f"{figures['nonprojective_sentences_percent']:.2f}" == row[7]
    assert str(one.longest) == row[8]
    assert f"{one.multiword_tokens} / {one.empty_nodes} / {one.multi_root}" == row[9]
