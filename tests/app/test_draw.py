"""`crossarc draw` and the page of `crossarc demo`."""

from __future__ import annotations

import contextlib
import gzip
import os
import pty
import subprocess
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
from support.annotated import CONLLU, annotated
from support.drawings import NAMESPACE, Drawing
from support.shell import COMMAND, crossarc

from crossarc import Sentence
from crossarc.draw import svg
from crossarc.draw.terminal import LEGEND
from crossarc.draw.widths import display_width
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


@pytest.mark.parametrize("name", ["a.docx", "a.conllu", "a.jpg.gz"])
def test_a_name_that_is_no_drawing_is_refused(name: str, tmp_path: Path) -> None:
    done = crossarc("draw", "@sample", "-o", name, cwd=tmp_path)
    assert done.returncode == 2
    suffix = name.removesuffix(".gz")[1:].encode()
    assert b"no drawing ends in " + suffix in done.stderr
    assert b".pdf, .png, .svg" in b" ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_images(tmp_path: Path) -> None:
    """The format follows the suffix; a page a sentence in PDF."""
    pytest.importorskip("typst", reason="extra [images] is not installed")
    assert crossarc("draw", "@sample", "-n", "2", "-o", "a.png", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert crossarc("draw", "@sample", "-n", "2", "-o", "a.PDF", cwd=tmp_path).returncode == 0
    made = (tmp_path / "a.PDF").read_bytes()
    assert made.startswith(b"%PDF-")
    assert made.count(b"/MediaBox") == 2


def test_images_without_their_extra_are_refused(tmp_path: Path) -> None:
    """A module of the same name that cannot be imported stands in for one that is not there."""
    (tmp_path / "typst.py").write_text("raise ImportError")
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    done = crossarc("draw", "@sample", "-o", "a.pdf", cwd=tmp_path, env={"PYTHONPATH": path})
    assert done.returncode == 2
    assert b'pip install "crossarc[images]"' in b" ".join(done.stderr.split())
    assert not (tmp_path / "a.pdf").exists()


@pytest.mark.parametrize("name", ["a.html", "a.svg"])
def test_large_treebanks_are_cut_unless_asked_for(name: str, tmp_path: Path) -> None:
    """The sample bank has 126 sentences; text is a stream and has no limit."""
    mark = b"<article " if name == "a.html" else b'role="img"'
    if name == "a.html":
        command = ("draw", "@sample", "--width", "1000", "-o", name)
    else:
        command = ("draw", "@sample", "-o", name)
    done = crossarc(*command, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.endswith(b"drew the first 100 sentences; use --all for all of them, or -n\n")
    assert (tmp_path / name).read_bytes().count(mark) == 100
    for more, count in (("--all", 126), ("--number=110", 110)):
        done = crossarc(*command, more, cwd=tmp_path)
        assert done.stderr == b""
        assert (tmp_path / name).read_bytes().count(mark) == count
    assert crossarc("draw", "@sample").stdout.count(b"# sent_id") == 126


def test_sentences_without_heads_are_left_out(tmp_path: Path) -> None:
    """File and line of the first one are named: line 17 begins it, word 5 is six lines on."""
    whole = CONLLU
    headless = CONLLU.replace("\t2\tconj", "\t_\t_").replace("e1", "e2")
    (tmp_path / "mixed.conllu").write_text(whole + headless + headless.replace("e2", "e3"))
    done = crossarc("draw", "mixed.conllu", "-o", "a.html", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.decode() == (
        "crossarc: mixed.conllu: left out 2 sentences with a word without a head; "
        "the first: mixed.conllu:23 (sentence e2): word 5 has no head: "
        "fill in the HEAD column first\n"
    )
    assert (tmp_path / "a.html").read_text().count("<article ") == 1
    one = crossarc("draw", "mixed.conllu", "--sent-id", "e3", "-o", "b.html", cwd=tmp_path)
    assert (one.returncode, one.stderr.decode()) == (
        1,
        "crossarc: mixed.conllu:39 (sentence e3): word 5 has no head: "
        "fill in the HEAD column first\n",
    )
    assert not (tmp_path / "b.html").exists()


def test_errors_in_a_sentence_name_file_and_line(tmp_path: Path) -> None:
    wrong = CONLLU.replace("2:ref", "77:ref").replace("e1", "e2")
    (tmp_path / "wrong.conllu").write_text(CONLLU + wrong)
    done = crossarc("draw", "wrong.conllu", "--enhanced", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(b"crossarc: wrong.conllu:17 (sentence e2): DEPS of 10 has '77:")
    assert crossarc("draw", "wrong.conllu", cwd=tmp_path).returncode == 0


def test_annotations_on_request(tmp_path: Path) -> None:
    (tmp_path / "bank.conllu").write_text(CONLLU)
    for option, keyword in (
        ("--multiword-tokens", {"multiword_tokens": True}),
        ("--empty-nodes", {"empty_nodes": True}),
        ("--enhanced", {"enhanced": True}),
    ):
        shown = crossarc("draw", "bank.conllu", option, "--format", "svg", cwd=tmp_path).stdout
        assert shown.decode() == svg(annotated(), **keyword)
        assert shown.decode() != svg(annotated())


def test_k_best_trees_have_their_rank(tmp_path: Path) -> None:
    bank = []
    for rank, heads in enumerate(([0, 1], [2, 0]), 1):
        comments = ["# sent_id = s", f"# kbest = {rank}/2", f"# log_prob = -{rank}.5"]
        bank.append(Sentence.build(["a", "b"], heads=heads, comments=comments))
    write_conllu(bank, tmp_path / "best.conllu")
    drawing = Drawing(
        crossarc("draw", "best.conllu", "--format", "svg", cwd=tmp_path).stdout.decode()
    )
    captions = [text.content for text in drawing.texts if text.kind == "caption"]
    assert captions == ["s, kbest = 1/2, log_prob = -1.5", "s, kbest = 2/2, log_prob = -2.5"]


def test_pages_are_called_after_their_treebank(tmp_path: Path) -> None:
    folder = tmp_path / "Latin-Test"
    folder.mkdir()
    write_conllu(sample("la"), folder / "dev.conllu")
    page = crossarc("draw", folder / "dev.conllu", "--format", "html").stdout.decode()
    assert "<title>Latin-Test</title>" in page


def test_the_legend_is_for_terminals_only_and_stands_once() -> None:
    """In a file or a pipe there is none; 79 columns are enough for it."""
    assert b"arc into the word" not in crossarc("draw", "@sample", "-n", "2").stdout
    primary, secondary = pty.openpty()
    shown = b""
    with subprocess.Popen([COMMAND, "draw", "@sample", "-n", "2"], stdout=secondary) as process:
        os.close(secondary)
        # Linux ends the reading side of a closed terminal with an error.
        with contextlib.suppress(OSError):
            while part := os.read(primary, 4096):
                shown += part
    os.close(primary)
    assert process.returncode == 0
    lines = shown.decode().splitlines()
    assert lines[0] == LEGEND
    assert display_width(LEGEND) <= 79
    assert sum("arc into the word" in line for line in lines) == 1


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
