"""CoNLL-U Plus: the ten columns in any order beside others, lossless.

The format: https://universaldependencies.org/ext-format.html
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable

import pytest

import crossarc as ca
from crossarc.treebank import (
    EmptyNode,
    MultiwordToken,
    PlusSentence,
    without_extra_columns,
    write_conllx,
)
from crossarc.treebank.columns import NAMES
from crossarc.treebank.reader import OnError

#: As in the corpora of PARSEME, one column behind the ten.
MWE = (*NAMES, "PARSEME:MWE")
#: Others in front, between and behind, the id last but one.
MIXED = ("X:A", "FORM", "HEAD", "MISC", "DEPREL", "Y", "UPOS", "XPOS", "LEMMA", "FEATS", "DEPS")
MIXED += ("ID", "Z")

ROWS = [
    ["1-2", "Es", "_", "_", "_", "_", "_", "_", "_", "SpaceAfter=No"],
    ["1", "E", "e", "PRON", "P", "Case=Nom", "3", "nsubj", "_", "_"],
    ["2", "s", "s", "ADV", "A", "_", "3", "advmod", "_", "_"],
    ["3", "gibt auf", "aufgeben", "VERB", "V", "_", "0", "root", "0:root", "Gloss=give up"],
    ["3.1", "er", "_", "PRON", "_", "_", "_", "_", "3:nsubj", "_"],
]


def written(columns: tuple[str, ...], line_break: str = "\n", sentences: int = 3) -> bytes:
    """Sentences in which every other column has values of its own, an empty one too."""
    text = f"#global.columns =  {' '.join(columns)}" + line_break
    for number in range(sentences):
        text += f"# sent_id = s{number}{line_break}"
        for row in ROWS:
            fields = dict(zip(NAMES, row, strict=True))
            others = {name: f"{name}:{number}:{row[0]} x" for name in columns if name not in NAMES}
            others |= {"Z": ""} if row[0] == "2" and "Z" in columns else {}
            text += "\t".join((fields | others)[name] for name in columns) + line_break
        text += line_break
    return text.encode()


@pytest.mark.parametrize("columns", [MWE, MIXED, tuple(reversed(NAMES))], ids=len)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("change", [bytes, lambda d: b"\xef\xbb\xbf" + d, bytes.rstrip])
def test_files_come_back_as_they_were(
    columns: tuple[str, ...], line_break: str, change: Callable[[bytes], bytes]
) -> None:
    data = change(written(columns, line_break))
    sentences = list(ca.read_conllu(io.BytesIO(data)))
    assert all(isinstance(one, PlusSentence) for one in sentences)
    out = io.BytesIO()
    assert ca.write_conllu(sentences, out) == 3
    assert out.getvalue() == data
    for twins in ([one.copy() for one in sentences], pickle.loads(pickle.dumps(sentences))):
        assert b"".join(map(bytes, twins)) == data


@pytest.mark.parametrize("columns", [MWE, MIXED], ids=len)
def test_a_sentence_has_the_ten_columns_and_the_others(columns: tuple[str, ...]) -> None:
    first, second, _ = ca.read_conllu(io.BytesIO(written(columns)))
    assert second.sent_id == "s1"
    assert second.forms == ("E", "s", "gibt auf")
    assert second.xpos == ("P", "A", "V")
    assert second.heads.tolist() == [3, 3, 0]
    assert second.misc[2] == "Gloss=give up"
    assert second.multiword_tokens == (MultiwordToken(1, 2, "Es", "SpaceAfter=No"),)
    assert second.empty_nodes == (EmptyNode(*ROWS[4]),)
    assert (second.line, second.line_of(3)) == (9, 13)
    others = [name for name in columns if name not in NAMES]
    assert list(second.extra_columns) == others
    assert second.extra_columns[others[0]] == tuple(f"{others[0]}:1:{i} x" for i in (1, 2, 3))
    assert first.comment("global.columns") == " ".join(columns)
    plain = next(ca.read_conllu([*map("\t".join, ROWS), ""]))
    assert plain.extra_columns == {}


def test_edits_leave_other_columns_alone() -> None:
    data = written(MIXED)
    sentences = list(ca.read_conllu(io.BytesIO(data)))
    sentences[1].heads = [0, 1, 1]
    sentences[1][2].deprel = "conj"
    sentences[1].comments = ["# sent_id = changed"]
    lines = data.decode().split("\n")
    expected = [*lines[:8], "# sent_id = changed", lines[9]]
    changed = [("0", "nsubj"), ("1", "advmod"), ("1", "conj")]
    for line, (head, deprel) in zip(lines[10:13], changed, strict=True):
        fields = line.split("\t")
        fields[MIXED.index("HEAD")], fields[MIXED.index("DEPREL")] = head, deprel
        expected.append("\t".join(fields))
    out = io.StringIO()
    ca.write_conllu(sentences, out)
    assert out.getvalue().split("\n") == expected + lines[13:]


def test_any_sentence_may_be_the_first() -> None:
    """The names of the columns are then written above it."""
    data = written(MWE)
    sentences = list(ca.read_conllu(io.BytesIO(data)))
    out = io.BytesIO()
    ca.write_conllu(sentences[1:], out)
    text = out.getvalue().decode()
    assert text.startswith(f"# global.columns = {' '.join(MWE)}\n# sent_id = s1\n1-2\t")
    again = list(ca.read_conllu(io.BytesIO(out.getvalue())))
    assert [one.extra_columns for one in again] == [one.extra_columns for one in sentences[1:]]
    dos = list(ca.read_conllu(io.BytesIO(written(MWE, "\r\n"))))[1:]
    out = io.BytesIO()
    ca.write_conllu(dos, out)
    assert out.getvalue().count(b"\n") == out.getvalue().count(b"\r\n") == 15


def test_words_only() -> None:
    sentence = list(ca.read_conllu(io.BytesIO(written(MIXED))))[1]
    words = sentence.words_only()
    rows = bytes(sentence).split(b"\n")
    assert bytes(words).split(b"\n") == [rows[0], *rows[2:5], *rows[6:]]
    assert words.extra_columns == sentence.extra_columns


def test_the_ten_columns_alone() -> None:
    first, *_ = ca.read_conllu(io.BytesIO(written(MIXED)))
    text = "# sent_id = s0\n" + "".join("\t".join(row) + "\n" for row in ROWS) + "\n"
    plain = without_extra_columns(first)
    assert type(plain) is ca.Sentence
    assert bytes(plain).decode() == plain.to_conllu() == first.to_conllu() == text
    out = io.StringIO()
    lost = write_conllx([first], out)
    assert lost["values of other columns"] == 9
    assert [len(line.split("\t")) for line in out.getvalue().split("\n")[:3]] == [10, 10, 10]


def test_different_columns_are_not_mixed() -> None:
    one, other = (list(ca.read_conllu(io.BytesIO(written(c))))[1] for c in (MWE, MIXED))
    plain = without_extra_columns(one)
    for sentences, match in (
        ([one, other], r"^<stream>:9 \(sentence s1\): columns beside .*: X:A Y Z, but the first"),
        ([plain, one], "PARSEME:MWE, but the first sentence written has none"),
        ([one, plain], "none, but the first sentence written has PARSEME:MWE"),
    ):
        with pytest.raises(ca.TreebankError, match=match):
            ca.write_conllu(sentences, io.BytesIO())
    again = list(ca.read_conllu(io.BytesIO(written(MWE))))
    assert ca.write_conllu([one, *again], io.BytesIO()) == 4


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        (b"\tPARSEME:MWE:1:2 x", b"", 12, "10 columns: # global.columns names 11"),
        (b"PARSEME:MWE:1:2 x", b"a\tb", 12, "12 columns: # global.columns names 11"),
        (b"s1\n1-2", b"s1\n 1-2", 10, "id ' 1-2' is not a word"),
        (b"s1\n", b"s1\n \n", 10, "a line of spaces"),
    ],
)
def test_faults(on_error: OnError, old: bytes, new: bytes, line: int, what: str) -> None:
    data = written(MWE).replace(old, new, 1)
    reader = ca.read_conllu(io.BytesIO(data), on_error=on_error)
    if on_error == "raise":
        with pytest.raises(ca.TreebankError, match=what) as caught:
            list(reader)
        assert (caught.value.line, caught.value.sent_id) == (line, "s1")
        return
    sentences = list(reader)
    assert [one.sent_id for one in sentences] == ["s0", "s2"]
    assert sentences[1].extra_columns["PARSEME:MWE"][0] == "PARSEME:MWE:2:1 x"
    assert reader.first_problem is not None
    assert reader.first_problem.line == line


def test_columns_named_twice() -> None:
    data = written(MWE).replace(b"PARSEME:MWE", b"FORM", 1)
    with pytest.raises(ca.TreebankError, match=r"^<stream>:1: # global.columns names FORM twice"):
        list(ca.read_conllu(io.BytesIO(data)))


def test_a_declaration_below_the_first_line_is_a_comment() -> None:
    rows = ["# sent_id = a", f"# global.columns = {' '.join(MWE)}", *map("\t".join, ROWS), ""]
    (sentence,) = ca.read_conllu(rows)
    assert type(sentence) is ca.Sentence
