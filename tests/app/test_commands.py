"""Each command as a user runs it: output, exit status, one clear line for what is wrong."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.shell import crossarc

from crossarc import Sentence, evaluate, read_conllu, write_conllu
from crossarc.kernels.rooms import PARTS, ROOMS, kernel_modules, room_of
from crossarc.treebank import SAMPLE_PATH, sample

BAD = "# sent_id = s1\n1\ta\t_\t_\t_\t_\t5\troot\t_\t_\n\n"


@pytest.fixture
def parsed(tmp_path: Path) -> Path:
    """The sample bank with every word but the first hung on the first, and probabilities."""
    sentences = sample()
    for sentence in sentences:
        sentence.heads = [0] + [1] * (len(sentence) - 1)
        sentence.misc = ["HeadProb=0.8"] * len(sentence)
    write_conllu(sentences, tmp_path / "parsed.conllu")
    return tmp_path / "parsed.conllu"


def test_version_and_help() -> None:
    assert crossarc("--version").stdout == b"crossarc 0.1.0\n"
    shown = crossarc("--help")
    assert shown.returncode == 0
    for name in (
        b"train",
        b"parse",
        b"review",
        b"explain",
        b"induce",
        b"perplexity",
        b"stats",
        b"analyze",
        b"evaluate",
        b"draw",
        b"convert",
        b"warmup",
        b"demo",
    ):
        assert name in shown.stdout
    nothing = crossarc()
    assert nothing.returncode == 2
    assert nothing.stderr.startswith(b"Usage: crossarc")


def test_the_package_as_a_module() -> None:
    run = subprocess.run([sys.executable, "-m", "crossarc", "--version"], capture_output=True)
    assert (run.returncode, run.stdout) == (0, b"crossarc 0.1.0\n")


def test_stats_table_and_json() -> None:
    text = crossarc("stats", "@sample", SAMPLE_PATH).stdout.decode().split("\n")
    assert text[0].split()[:4] == ["treebank", "sentences", "words", "longest"]
    assert text[1].split()[:4] == ["@sample", "126", "1,008", "40"]
    assert text[3].split()[:4] == ["total", "252", "2,016", "40"]
    figures = json.loads(
        crossarc("stats", "-", "--format", "json", stdin=SAMPLE_PATH.read_bytes()).stdout
    )
    (row,) = figures["treebanks"]
    assert row["name"] == "-"
    assert row["sentences"] == len(sample())
    assert row["nonprojective_sentences"] == sum(not s.tree.is_projective for s in sample())


def test_evaluate(parsed: Path) -> None:
    result = crossarc("evaluate", "@sample", parsed, "--format", "json")
    expected = evaluate(sample(), read_conllu(parsed))
    figures = json.loads(result.stdout)
    assert figures["uas"] == expected.uas
    assert figures["las"] == expected.las
    assert figures["las_full"] == expected.las_full
    assert set(figures) == {*expected.to_dict(), "ece", "brier"}
    assert all(not isinstance(value, dict | list) for value in figures.values())
    text = crossarc("evaluate", "@sample", parsed, "--details").stdout.decode()
    assert ["uas", f"{expected.uas:.2f}"] in [line.split() for line in text.split("\n")]
    assert "arc length" in text
    assert "0.80-0.90" in text


def test_compare_two_systems(parsed: Path) -> None:
    command = ("evaluate", "@sample", "@sample", "--compare", parsed, "--format", "json")
    figures = json.loads(crossarc(*command).stdout)
    assert figures["las"] == 100.0
    assert figures["las_difference"] == pytest.approx(
        100 - evaluate(sample(), read_conllu(parsed)).las
    )
    assert figures["sentences_worse"] == 0
    assert figures["sign_test_p"] < 1e-9
    assert crossarc(*command).stdout == crossarc(*command, "--seed", 0).stdout
    piped = crossarc("evaluate", "-", *command[2:], stdin=SAMPLE_PATH.read_bytes())
    assert piped.stdout == crossarc(*command).stdout
    assert crossarc(*command).stdout != crossarc(*command, "--seed", 1).stdout


def test_draw() -> None:
    text = crossarc("draw", "@sample", "--sent-id", "la-003").stdout.decode()
    assert text.split("\n") == [
        "# sent_id = la-003",
        "# text = Laeta rubras legit puella rosas.",
        "      ┍► Laeta   ADJ    amod",
        "    ┍━┿► rubras  ADJ    amod",
        "──▼─┼─┼► legit   VERB   root",
        "  ├─┼─▲► puella  NOUN   nsubj",
        "  ├─▲──► rosas   NOUN   obj",
        "  ╰────► .       PUNCT  punct",
        "",
        "",
    ]
    crossing = crossarc("draw", "@sample", "--nonprojective", "-n", "3").stdout.decode()
    assert crossing.count("# sent_id") == 3
    assert "\x1b" in crossarc("draw", "@sample", "--color", "always").stdout.decode()
    nothing = crossarc("draw", "@sample", "--sent-id", "absent")
    assert (nothing.returncode, nothing.stdout) == (1, b"")
    assert b"no sentence absent; check --sent-id" in nothing.stderr


def test_convert_is_lossless_and_compresses(tmp_path: Path) -> None:
    data = SAMPLE_PATH.read_bytes()
    assert crossarc("convert", stdin=data).stdout == data
    assert crossarc("convert", "@sample", "-o", "out.conllu.gz", cwd=tmp_path).returncode == 0
    assert gzip.decompress((tmp_path / "out.conllu.gz").read_bytes()) == data
    assert crossarc("convert", stdin=data + b"\n\n").stdout == data + b"\n\n"


def test_convert_to_conllx_and_back(tmp_path: Path) -> None:
    there = crossarc("convert", "@sample", "--to", "conllx")
    assert b"CoNLL-X has no place for: " in there.stderr
    assert b"36 multiword tokens" in there.stderr
    back = crossarc("convert", "--from", "conllx", stdin=there.stdout)
    assert back.stdout == there.stdout
    assert crossarc("stats", "-", "--from", "conllx", stdin=there.stdout).returncode == 0


def test_warmup_of_a_part() -> None:
    done = crossarc("warmup", "stats")
    assert done.stdout.startswith(b"kernels ready in ")
    assert b"/3] measures of trees ... " in done.stderr
    assert done.stderr.count(b"\n") == 3
    refused = crossarc("warmup", "stats", "everything")
    assert refused.returncode == 2
    message = b"no part 'everything': choose from parse, stats, train, inference"
    assert message in refused.stderr
    shown = crossarc("warmup", "--help").stdout.decode()
    assert all(part in shown for part in PARTS)


def test_warmup_and_demo() -> None:
    done = crossarc("warmup")
    assert done.stdout.startswith(b"kernels ready in ")
    # A line for each room: how many modules are ready, of how many.
    lines = [line.partition("] ") for line in done.stderr.decode().splitlines()]
    total = len(kernel_modules())
    assert lines[-1][0] == f"[{total}/{total}"
    titles = {ROOMS[room_of(module)].title for module in kernel_modules()}
    assert {line.partition(" ... ")[0] for _, _, line in lines} == titles
    shown = crossarc("demo").stdout.decode()
    assert "total           126  1,008" in shown
    assert "┍━┿► rubras" in shown


@pytest.mark.parametrize("command", ["stats", "convert", "draw"])
def test_bad_data(command: str, tmp_path: Path) -> None:
    (tmp_path / "bad.conllu").write_text(BAD)
    result = crossarc(command, "bad.conllu", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.decode() == (
        "crossarc: bad.conllu:2 (sentence s1): head 5 is out of range: heads run from 0 to 1 here\n"
    )
    skipped = crossarc(command, "bad.conllu", "--on-error", "skip", cwd=tmp_path)
    assert skipped.returncode == 0
    assert b"passed over 1 invalid sentence; the first: bad.conllu:2" in skipped.stderr


def test_bad_data_leaves_the_old_output(tmp_path: Path) -> None:
    (tmp_path / "bad.conllu").write_text(BAD)
    (tmp_path / "out.conllu").write_text("precious")
    assert crossarc("convert", "bad.conllu", "-o", "out.conllu", cwd=tmp_path).returncode == 1
    assert (tmp_path / "out.conllu").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.conllu", "out.conllu"]


def test_mismatched_treebanks(tmp_path: Path) -> None:
    write_conllu([Sentence.build(["other"], heads=[0])], tmp_path / "other.conllu")
    result = crossarc("evaluate", "@sample", "other.conllu", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.count(b"\n") == 1
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("stats",), "FILE"),
        (("stats", "absent.conllu"), "absent.conllu: No such file or directory; check the path"),
        (("stats", "."), "Is a directory"),
        (
            ("convert", "@sample", "-o", "absent/out.conllu"),
            "absent/out.conllu: No such file or directory; check the path",
        ),
        (("stats", "@sample", "--format", "yaml"), "yaml"),
        (("parse-everything",), "parse-everything"),
        (("draw", "@sample", "-n", "0"), "-n"),
        (("stats", "-", "-"), "standard input (-) can be read only once"),
        (("evaluate", "-", "-"), "standard input (-) can be read only once"),
        (("evaluate", "@sample", "-", "--compare", "-"), "can be read only once"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], what: str, tmp_path: Path) -> None:
    result = crossarc(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert what in result.stderr.decode()
    assert b"Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_sentences_without_heads(tmp_path: Path) -> None:
    write_conllu([*sample("nl"), Sentence.build(["loose"])], tmp_path / "partial.conllu")
    drawn = crossarc("draw", "partial.conllu", cwd=tmp_path)
    assert drawn.returncode == 0
    assert drawn.stdout.count(b"# sent_id") == len(sample("nl"))
    lines = (tmp_path / "partial.conllu").read_bytes().split(b"\n")
    line = 1 + next(i for i, row in enumerate(lines) if row.startswith(b"1\tloose\t"))
    assert b"1 sentence with a word without a head" in drawn.stderr
    assert f"partial.conllu:{line}".encode() in drawn.stderr
    measured = crossarc("stats", "partial.conllu", cwd=tmp_path).stdout
    assert b"not measured: 1 sentence with" in measured
    assert f"the first: partial.conllu:{line}: word 1 has no head".encode() in measured


def test_a_terminal_without_unicode() -> None:
    shown = crossarc("demo", env={"PYTHONIOENCODING": "ascii"})
    assert shown.returncode == 0
    assert b"total" in shown.stdout
