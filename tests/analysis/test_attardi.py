"""How far Attardi's system covers a treebank."""

from __future__ import annotations

import json

import pytest
from support.attardi_reference import all_trees, computations
from support.files import ROOT
from support.shell import crossarc

from crossarc import Sentence, read_conllu
from crossarc.analysis import study_degrees
from crossarc.analysis.attardi import PRINTED
from crossarc.inference.transition.attardi import oracle
from crossarc.treebank import sample

TREEBANKS = ROOT.parent / "shared" / "treebanks"


def built(heads: tuple[int, ...]) -> Sentence:
    words = ["w"] * len(heads)
    return Sentence.build(words, heads=heads, deprels=["dep"] * len(heads))


def test_trees_by_the_degree_that_they_need() -> None:
    """All trees of four words: 55 of degree 1, 117 of up to 2, 123 of up to 3, and 2 of none."""
    study = study_degrees(map(built, all_trees(4)))
    derived = [{run.heads for run in computations(4, degree)} for degree in (1, 2, 3)]
    assert [len(trees) for trees in derived] == [55, 117, 123]
    assert study.trees == {1: 55, 2: 117 - 55, 3: 123 - 117}
    assert (study.sentences, study.words, study.underivable) == (125, 500, 2)
    assert study.coverage(2) == pytest.approx(100 * 117 / 125)
    # Words of the 123 trees, each at the degree of its transition under the oracle.
    assert sum(study.relations.values()) == 4 * 123
    assert study.relations_above(1) == study.relations[2] + study.relations[3]
    assert study.rate(study.words) == 1000.0


def test_shifting_first_can_need_a_lower_degree() -> None:
    """The oracle without a limit reduces at degree 3 where a system of degree 2 waits."""
    heads = next(
        heads
        for heads in all_trees(5)
        if oracle(heads, 2) is not None and max(oracle(heads)[1]) == 3  # type: ignore[index]
    )
    study = study_degrees([built(heads)])
    assert study.relations[3] == 1
    assert study.trees == {2: 1}


def test_sentences_without_heads_are_counted_apart() -> None:
    missing = Sentence.build(["a", "b"])
    study = study_degrees([missing, built((0, 1))])
    assert (study.incomplete, study.sentences, study.words) == (1, 1, 2)


def test_printed_table() -> None:
    """The rows of Table 1 of Cohen et al. (2011): the text's own figures for Czech."""
    assert len(PRINTED) == 12
    czech = PRINTED["Czech"]
    assert sum(czech[:3]) == 28_934
    assert czech[:2] == (27_181, 1_668)


def test_command_shows_the_study_in_every_format() -> None:
    study = study_degrees(sample())
    shown = crossarc("analyze", "--attardi", "@sample", "--format", "json")
    assert (shown.returncode, shown.stderr) == (0, b"")
    (bank,) = json.loads(shown.stdout)["treebanks"]
    assert bank == {"name": "@sample", **study.to_dict(), "printed": None}
    counts = [study.relations[2], study.relations[3]]
    for layout in ("text", "md", "tex"):
        text = crossarc("analyze", "--attardi", "@sample", "--format", layout).stdout.decode()
        (line,) = [one for one in text.splitlines() if "1,008" in one]
        assert all(str(count) in line for count in counts)
        assert f"{study.coverage(2):.2f}" in text
    text = crossarc("analyze", "--attardi", "@sample", "--format", "csv").stdout.decode()
    assert f"@sample,126,1008,2,{study.relations[2]},{study.trees[2]}\n" in text
    assert text.endswith(f"@sample,126,1008,none,,{study.underivable}\n")


def test_command_refuses_what_goes_with_constraints() -> None:
    refused = crossarc("analyze", "--attardi", "@sample", "--show", "ill-nested")
    assert refused.returncode == 2
    assert b"--attardi goes without" in refused.stderr


@pytest.mark.skipif(not TREEBANKS.exists(), reason="needs ../shared/treebanks")
def test_danish_is_near_the_printed_row() -> None:
    """The paper's source; it counted the training set of CoNLL-X, 94,000 of 100,238 words."""
    study = study_degrees(read_conllu(TREEBANKS / "Danish-DDT" / "train.conllu.gz"))
    rates = [study.rate(study.relations[degree]) for degree in (2, 3, 4)]
    for own, printed in zip(rates, PRINTED["Danish"].rates(), strict=True):
        assert own == pytest.approx(printed, rel=0.25)
