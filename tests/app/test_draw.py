"""`crossarc draw` and the page of `crossarc demo`."""

from __future__ import annotations

import gzip
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
from support.drawings import NAMESPACE, Drawing
from support.shell import crossarc

from crossarc.draw import svg
from crossarc.treebank import read_conllu, sample, write_conllu


def test_one_sentence_is_the_drawing_of_the_library(tmp_path: Path) -> None:
    done = crossarc("draw", "@sample", "--sent-id", "nl-001", "-o", "tree.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    expected = svg(next(s for s in sample() if s.sent_id == "nl-001"))
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8") == expected
    narrow = crossarc(
        "draw", "@sample", "--sent-id", "nl-001", "--format", "svg", "--width", "300",
        "--theme", "dark",
    )  # fmt: skip
    assert narrow.stdout.decode() == svg(sample("nl")[0], width=300, theme="dark")


def test_several_sentences_are_one_file() -> None:
    done = crossarc("draw", "@sample", "-n", "5", "--format", "svg")
    drawing = Drawing(done.stdout.decode())
    captions = [text.content for text in drawing.texts if text.kind == "caption"]
    assert captions == [sentence.sent_id for sentence in sample()[:5]]
    inner = drawing.root.findall(f"{NAMESPACE}svg")
    tops = [float(one.get("y")) for one in inner]
    ends = [top + float(one.get("height")) for top, one in zip(tops, inner, strict=True)]
    assert all(end < top for end, top in zip(ends, tops[1:], strict=False))
    assert ends[-1] <= drawing.height + 0.1
    assert drawing.width >= max(float(one.get("width")) for one in inner) - 0.1


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("a.svg", b"<svg "),
        ("a.html", b"<!doctype html>"),
        ("a.tex", b"% !TeX program"),
        ("a.txt", b"# sent_id"),
        ("a.html.gz", b"<!doctype html>"),
    ],
)
def test_the_name_of_the_output_tells_the_format(name: str, begins: bytes, tmp_path: Path) -> None:
    assert crossarc("draw", "@sample", "-n", "2", "-o", name, cwd=tmp_path).returncode == 0
    data = (tmp_path / name).read_bytes()
    assert (gzip.decompress(data) if name.endswith(".gz") else data).startswith(begins)
    as_text = crossarc("draw", "@sample", "-n", "2", "-o", name, "--format", "text", cwd=tmp_path)
    data = (tmp_path / name).read_bytes()
    data = gzip.decompress(data) if name.endswith(".gz") else data
    assert as_text.returncode == 0
    assert data.startswith(b"# sent_id = en-001")


def test_selection_is_the_same_in_every_format(tmp_path: Path) -> None:
    crossing = sum(not sentence.tree.is_projective for sentence in sample())
    page = crossarc("draw", "@sample", "--nonprojective", "--format", "html").stdout.decode()
    assert page.count("<article ") == crossing
    document = crossarc("draw", "@sample", "--nonprojective", "--format", "tex").stdout.decode()
    assert document.count(r"\begin{dependency}") == crossing


def test_against(tmp_path: Path) -> None:
    bank = sample("de")
    write_conllu(bank, tmp_path / "gold.conllu")
    parsed = list(read_conllu(tmp_path / "gold.conllu"))
    parsed[0].heads = [0] + [1] * (len(parsed[0]) - 1)
    write_conllu(parsed, tmp_path / "parsed.conllu")
    command = ("draw", "gold.conllu", "--against", "parsed.conllu")
    text = crossarc(*command, "-n", "1", cwd=tmp_path).stdout.decode()
    changed = int((bank[0].heads != parsed[0].heads).sum())
    assert text.count(" ≠ ") == changed
    drawing = Drawing(
        crossarc(*command, "-n", "1", "--format", "svg", cwd=tmp_path).stdout.decode()
    )
    names = [one.content for one in drawing.texts if one.kind == "name"]
    assert names == ["only gold.conllu", "only parsed.conllu"]
    page = crossarc(*command, "--format", "html", cwd=tmp_path).stdout.decode()
    assert page.count("data-different=") == 1
    write_conllu(parsed[:3], tmp_path / "short.conllu")
    short = crossarc(
        "draw", "gold.conllu", "--against", "short.conllu", "-o", "out.html", cwd=tmp_path
    )
    assert short.returncode == 1
    assert b"second treebank ends after 3 sentences" in short.stderr
    assert not (tmp_path / "out.html").exists()
    twice = crossarc("draw", "-", "--against", "-")
    assert twice.returncode == 2
    assert b"standard input (-) can be read only once" in twice.stderr


def test_nothing_is_written_when_a_sentence_is_missing(tmp_path: Path) -> None:
    done = crossarc(
        "draw", "@sample", "--sent-id", "nl-001", "--sent-id", "xx", "-o", "a.svg", cwd=tmp_path
    )
    assert done.returncode == 1
    assert b"no sentence xx; check --sent-id" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_demo_writes_a_page(tmp_path: Path) -> None:
    """In a temporary folder, or where it is told to; it says where."""
    done = crossarc("demo", cwd=tmp_path, env={"TMPDIR": str(tmp_path)})
    (line,) = [line for line in done.stdout.decode().split("\n") if "file://" in line]
    page = Path(url2pathname(urlparse(line.split()[-1]).path))
    assert page.parent.parent == tmp_path
    assert page.read_text(encoding="utf-8").count("<article ") == 18
    assert "The relative clause is moved" not in page.read_text(encoding="utf-8")
    crossarc("demo", "-o", "mine.html", cwd=tmp_path)
    assert (tmp_path / "mine.html").read_bytes() == page.read_bytes()
