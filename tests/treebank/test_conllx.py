"""CoNLL-X: there and back, and what has no place there."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from support.trees import trees

import crossarc as ca
from crossarc.treebank import read_conllx, sample, write_conllx

CONLLX = (
    "1\tPeter\tPeter\tN\tNP\tmasc|sg\t2\tSUBJ\t2\tSUBJ\n"
    "2\tlacht\tlachen\tV\tVFIN\t_\t0\tROOT\t0\tROOT\n"
    "3\t.\t.\tP\tP\t_\t2\tPUNC\t_\t_\n"
    "\n"
    "1\tJa\tja\tI\tI\t_\t0\tROOT\t_\t_\n"
    "\n"
)


def written(sentences: list[ca.Sentence]) -> str:
    output = io.BytesIO()
    write_conllx(sentences, output)
    return output.getvalue().decode()


def test_columns_keep_their_meaning() -> None:
    first, second = read_conllx(io.StringIO(CONLLX))
    assert first.upos == ("N", "V", "P")
    assert first.xpos == ("NP", "VFIN", "P")
    assert first.heads.tolist() == [2, 0, 2]
    assert first.misc == ("PHead=2|PDeprel=SUBJ", "PHead=0|PDeprel=ROOT", "_")
    assert first.deps == ("_", "_", "_")
    assert second.misc == ("_",)


def test_there_and_back_gives_the_same_bytes() -> None:
    for text in (CONLLX, CONLLX.replace("\n", "\r\n")):
        through = [
            sentence
            for one in read_conllx(io.StringIO(text, newline=""))
            for sentence in ca.read_conllu([one.to_conllu()])
        ]
        assert written(through) == text


@given(trees(), st.data())
def test_projective_columns_survive(heads: list[int], data: st.DataObject) -> None:
    label = st.sampled_from(["a", "b=c", "d|e", "_", "PDeprel=x"])
    rows = "".join(
        f"{m}\tw\t_\t_\t_\t_\t{h}\t{data.draw(label)}\t{data.draw(st.sampled_from('_01'))}"
        f"\t{data.draw(label)}\n"
        for m, h in enumerate(heads, 1)
    )
    assert written(list(read_conllx(io.StringIO(rows + "\n")))) == rows + "\n"


def test_losses_are_counted() -> None:
    """Counted by hand: two comments, one range, one empty node, one DEPS, one MISC, one space."""
    text = (
        "# sent_id = 1\n# text = vom New York\n"
        "1-2\tvom\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tvon\t_\t_\t_\t_\t3\tcase\t_\t_\n"
        "2\tdem\t_\t_\t_\t_\t3\tdet\t_\t_\n"
        "3\tNew York\t_\t_\t_\t_\t0\troot\t0:root\tSpaceAfter=No\n"
        "3.1\tx\t_\t_\t_\t_\t_\t_\t3:dep\t_\n"
        "\n"
    )
    output = io.BytesIO()
    lost = write_conllx(ca.read_conllu(io.StringIO(text)), output)
    assert lost == {
        "comments": 2,
        "multiword tokens": 1,
        "empty nodes": 1,
        "enhanced dependencies": 1,
        "MISC values": 1,
        "spaces inside values": 1,
    }
    assert output.getvalue().decode() == (
        "1\tvon\t_\t_\t_\t_\t3\tcase\t_\t_\n"
        "2\tdem\t_\t_\t_\t_\t3\tdet\t_\t_\n"
        "3\tNew_York\t_\t_\t_\t_\t0\troot\t_\t_\n"
        "\n"
    )


def test_unknown_fine_tags_are_written_as_the_coarse_ones() -> None:
    """CoNLL-X (Buchholz and Marsi 2006): POSTAG is identical to CPOSTAG if not available."""
    sentence = ca.Sentence.build(["a", "b"], upos=["X", "Y"], xpos=["_", "z"], heads=[0, 1])
    assert [row.split("\t")[3:5] for row in written([sentence]).split("\n")[:2]] == [
        ["X", "X"],
        ["Y", "z"],
    ]
    assert sentence.xpos == ("_", "z")


def test_sample_bank_as_conllx() -> None:
    """Trees and tags arrive; the sentences handed in are not changed."""
    sentences = sample()
    before = [bytes(sentence) for sentence in sentences]
    again = list(read_conllx(io.StringIO(written(sentences))))
    assert [s.tree for s in again] == [s.tree for s in sentences]
    assert [s.feats for s in again] == [s.feats for s in sentences]
    assert [bytes(sentence) for sentence in sentences] == before
