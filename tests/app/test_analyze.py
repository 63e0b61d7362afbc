"""`crossarc analyze` as a user runs it: the same figures in every format, and clear refusals."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from support.shell import crossarc

from crossarc import Sentence, write_conllu
from crossarc.analysis import study_constraints
from crossarc.app.files import treebank_names
from crossarc.inference.transition import CONSTRAINTS
from crossarc.treebank import SAMPLE_PATH, sample

CYCLE = "# sent_id = s1\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n" + "".join(
    f"{word}\tb\t_\t_\t_\t_\t{5 - word}\tdep\t_\t_\n" for word in (2, 3)
)


def test_json() -> None:
    shown = crossarc("analyze", "@sample", "--format", "json")
    assert (shown.returncode, shown.stderr) == (0, b"")
    (bank,) = json.loads(shown.stdout)["treebanks"]
    assert (bank["name"], bank["sentences"], bank["arcs"]) == ("@sample", 126, 1008)
    assert [row["constraint"] for row in bank["constraints"]] == [
        "projectivity",
        "d<=1",
        "d<=2",
        "d<=3",
        "d<=4",
        "d<=5",
        "d<=10",
        "acyclicity",
        "single-head",
        "none",
    ]
    assert {"arcs", "graphs", "a", "b", "r2"} <= set(bank["constraints"][0])
    assert bank["constraints"] == study_constraints(sample()).rows()


def test_other_formats_show_the_same_figures() -> None:
    rows = study_constraints(sample()).rows()
    table = csv.DictReader(
        io.StringIO(crossarc("analyze", "@sample", "--format", "csv").stdout.decode())
    )
    for shown, row in zip(table, rows, strict=True):
        assert shown["treebank"] == "@sample"
        assert (shown["sentences"], shown["words"]) == ("126", "1008")
        for name, value in row.items():
            assert shown[name] == ("" if value is None else str(value))
    for layout, separator in (("text", "  "), ("md", "|"), ("tex", "&")):
        text = crossarc("analyze", "@sample", "--format", layout).stdout.decode()
        lines = [
            [cell.strip() for cell in line.replace(r"\\", "").strip("| ").split(separator)]
            for line in text.split("\n")
        ]
        shown_rows = [[cell for cell in line if cell] for line in lines]
        for row in rows:
            name = str(row["constraint"])
            if layout == "tex" and name.startswith("d"):
                name = rf"$d \le {name[3:]}$"
            found, pairs = (line for line in shown_rows if line and line[0] == name)
            assert found[1:3] == [f"{row['arcs']:.4f}", f"{row['graphs']:.4f}"]
            assert pairs[2:4] == [f"{row['b']:.4f}", f"{row['r2']:.3f}"]


def test_side_by_side(tmp_path: Path) -> None:
    for language in ("nl", "la"):
        write_conllu(sample(language), tmp_path / f"{language}.conllu.gz")
    text = crossarc("analyze", "nl.conllu.gz", "la.conllu.gz", cwd=tmp_path).stdout.decode()
    tables = [part.split("\n") for part in text.split("\n\n")]
    titles = [lines[0] for lines in tables[::2]]
    assert titles[:2] == [
        "Found under each constraint: arcs %",
        "Found under each constraint: graphs %",
    ]
    header, dutch, latin = tables[3][:3]
    assert header.split() == ["treebank", *CONSTRAINTS]
    for name, line in (("nl", dutch), ("la", latin)):
        study = study_constraints(sample(name))
        assert line.split() == [name, *(f"{study.percent_graphs(c):.4f}" for c in CONSTRAINTS)]


def test_show_lists_the_sentences_that_are_lost() -> None:
    shown = crossarc("analyze", "@sample", "--show", "d<=1").stdout.decode().split("\n")
    assert shown[0] == "@sample: 7 of 126 sentences: lost under d<=1"
    assert shown[-3:] == [
        "la-003\tLaeta rubras legit puella rosas.",
        "\tlost: puella -> Laeta",
        "",
    ]
    nested = crossarc("analyze", "@sample", "--show", "ill-nested").stdout.decode()
    assert nested.startswith("@sample: 2 of 126 sentences: ill-nested\n")
    none = crossarc("analyze", "@sample", "--show", "d<=7").stdout
    assert none == b"@sample: 0 of 126 sentences: lost under d<=7\n"


def test_the_other_order() -> None:
    rows = study_constraints(sample(), order="shortest-first").rows()
    shown = crossarc("analyze", "@sample", "--order", "shortest-first", "--format", "json").stdout
    assert json.loads(shown)["treebanks"][0]["constraints"] == rows
    assert rows != study_constraints(sample()).rows()


def test_bad_data_leaves_the_old_files(tmp_path: Path) -> None:
    (tmp_path / "cycle.conllu").write_text(CYCLE + "\n")
    write_conllu([Sentence.build(["loose"])], tmp_path / "headless.conllu")
    (tmp_path / "empty.conllu").write_text("")
    for name in ("old.html", "old.txt"):
        (tmp_path / name).write_text("precious")
    for file, what in (
        ("cycle.conllu", "cycle.conllu:2 (sentence s1): a cycle: 2 -> 3 -> 2"),
        ("headless.conllu", "headless.conllu: no sentence has a head for every word; give a"),
        ("empty.conllu", "empty.conllu: there is no sentence; give a treebank with trees"),
    ):
        result = crossarc(
            "analyze", "@sample", file, "--html", "old.html", "-o", "old.txt", cwd=tmp_path
        )
        assert (result.returncode, result.stdout) == (1, b"")
        assert result.stderr.decode().startswith(f"crossarc: {what}")
        assert result.stderr.count(b"\n") == 1
    assert {(tmp_path / name).read_text() for name in ("old.html", "old.txt")} == {"precious"}
    assert len(list(tmp_path.iterdir())) == 5


def test_incomplete_sentences_are_left_out_and_counted(tmp_path: Path) -> None:
    write_conllu([*sample("nl"), Sentence.build(["loose"])], tmp_path / "partial.conllu")
    last_row = (tmp_path / "partial.conllu").read_bytes().rstrip().count(b"\n") + 1
    shown = crossarc("analyze", "partial.conllu", "--format", "json", cwd=tmp_path)
    assert shown.returncode == 0
    assert shown.stderr == (
        b"crossarc: partial.conllu: left out 1 sentence with a word without a head; the first: "
        b"partial.conllu:%d: word 1 has no head: fill in the HEAD column first\n" % last_row
    )
    (bank,) = json.loads(shown.stdout)["treebanks"]
    assert (bank["sentences"], bank["incomplete_sentences"]) == (len(sample("nl")), 1)


def test_skipping_what_is_not_valid(tmp_path: Path) -> None:
    (tmp_path / "mixed.conllu").write_bytes(SAMPLE_PATH.read_bytes() + CYCLE.encode() + b"\n")
    shown = crossarc(
        "analyze", "mixed.conllu", "--on-error", "skip", "--format", "json", cwd=tmp_path
    )
    assert b"passed over 1 invalid sentence" in shown.stderr
    assert json.loads(shown.stdout)["treebanks"][0]["sentences"] == 126


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("-", "-"), "standard input (-) can be read only once"),
        (("absent.conllu",), "absent.conllu: No such file or directory; check the path"),
        (("@sample", "--format", "yaml"), "yaml"),
        (("@sample", "--order", "random"), "random"),
        (("@sample", "--show", "d<3"), "no constraint 'd<3': use projectivity, d<=1"),
        (("@sample", "--show", "d<=1", "--html", "out.html"), "leave out --format and --html"),
        (("@sample", "--show", "d<=1", "--format", "md"), "leave out --format and --html"),
        (("@sample", "--html", "-"), "cannot both go to -"),
        (("@sample", "--html", "absent/out.html"), "absent/out.html: No such file or directory"),
        (("@sample", "--html", "out.html", "-o", "no/out"), "no/out: No such file or directory"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], what: str, tmp_path: Path) -> None:
    result = crossarc("analyze", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert what in " ".join(result.stderr.decode().replace("│", " ").split())
    assert b"Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_names_of_treebanks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert treebank_names(["A-B/train.conllu.gz"]) == ["A-B"]
    assert treebank_names(["A/train.conllu", "A/dev.conllu", "B/dev.conllu"]) == [
        "A/train",
        "A/dev",
        "B",
    ]
    assert treebank_names(["da_ddt-ud-train.conllu", "v2.1.conllu.xz"]) == [
        "da_ddt-ud-train",
        "v2.1",
    ]
    assert treebank_names(["x/a.conllu", "y/a.conllu", "-", "@sample"]) == [
        "x/a.conllu",
        "y/a.conllu",
        "-",
        "@sample",
    ]
    folder = tmp_path / "Here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert treebank_names([f".{os.sep}train.conllu"]) == ["Here"]
