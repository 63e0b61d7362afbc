"""`crossarc train` and `parse`, as a user runs them."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path

import pytest
from support.shell import COMMAND, crossarc

from crossarc import Sentence, load, read_conllu, write_conllu
from crossarc.text import rebuild_text
from crossarc.treebank import SAMPLE_PATH, sample


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "sample.crossarc"
    done = crossarc("train", "@sample", "-o", path, "--passes", 4, "--seed", 3)
    assert done.returncode == 0
    assert done.stdout == b""
    assert done.stderr.startswith(f"crossarc: {path}: ".encode())
    assert b"learnt from 1,008 words (non-projective, single root)" in done.stderr
    return path


def test_parse_and_evaluate(model: Path, tmp_path: Path) -> None:
    parsed = tmp_path / "parsed.conllu"
    done = crossarc("parse", "-m", model, "@sample", "-o", parsed, "--probabilities")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    scores = json.loads(crossarc("evaluate", "@sample", parsed, "--format", "json").stdout)
    assert scores["uas"] > 90
    assert 0 <= scores["ece"] <= 1


def test_number_of_workers_changes_nothing(model: Path) -> None:
    one, two = (
        crossarc("parse", "-m", model, "@sample", "--workers", workers).stdout for workers in (1, 2)
    )
    assert one == two
    assert one.count(b"\n\n") == 126


def test_the_model_may_be_named_by_the_environment(model: Path) -> None:
    named = crossarc("parse", "@sample", env={"CROSSARC_MODEL": str(model)})
    assert named.stdout == crossarc("parse", "-m", model, "@sample").stdout


def test_text_from_standard_input() -> None:
    done = crossarc("parse", "--text", stdin=b"Dogs bark. Cats sleep.")
    assert done.stderr == b"crossarc: parsing with the English model (-m en)\n"
    assert done.stdout.count(b"\n\n") == 2
    assert b"# text = Dogs bark.\n" in done.stdout


def test_kbest_and_keep_heads(model: Path, tmp_path: Path) -> None:
    sentence = sample()[0]
    sentence.heads = [9, *[-1] * (len(sentence) - 1)]
    given = tmp_path / "given.conllu"
    given.write_bytes(bytes(sentence))
    done = crossarc("parse", "-m", model, given, "--keep-heads", "--kbest", 2, "-o", tmp_path / "k")
    assert done.returncode == 0
    first, second = list(read_conllu(tmp_path / "k"))
    assert (first.comment("kbest"), second.comment("kbest")) == ("1/2", "2/2")
    assert first.heads[0] == second.heads[0] == 9


def test_heads_of_the_input_do_not_matter(model: Path, tmp_path: Path) -> None:
    good, cyclic = tmp_path / "good.conllu", tmp_path / "cyclic.conllu"
    rows = "# sent_id = one\n1\tDogs\t_\t_\t_\t_\t{}\t_\t_\t_\n2\tbark\t_\t_\t_\t_\t{}\t_\t_\t_\n\n"
    good.write_text(rows.format("_", "_"))
    cyclic.write_text(rows.format(2, 1))
    parsed = crossarc("parse", "-m", model, cyclic)
    assert parsed.returncode == 0
    assert parsed.stdout == crossarc("parse", "-m", model, good).stdout
    kept = crossarc("parse", "-m", model, cyclic, "--keep-heads")
    assert kept.returncode == 1
    assert kept.stderr.decode().startswith(f"crossarc: {cyclic}:2 (sentence one): no root: ")
    assert kept.stderr.count(b"\n") == 1
    assert b"--text" not in kept.stderr


def test_the_parse_may_choose_the_trees(model: Path, tmp_path: Path) -> None:
    """The model was trained on all trees; @sample has crossing arcs in half of its sentences."""
    crossing = {}
    for flag in ("--projective", "--nonprojective"):
        done = crossarc("parse", "-m", model, "@sample", flag, "-o", tmp_path / flag)
        assert (done.returncode, done.stderr) == (0, b"")
        trees = [sentence.tree for sentence in read_conllu(tmp_path / flag)]
        crossing[flag] = sum(not tree.is_projective for tree in trees)
    assert crossing["--projective"] == 0
    assert crossing["--nonprojective"] > 50
    assert (tmp_path / "--nonprojective").read_bytes() == crossarc(
        "parse", "-m", model, "@sample"
    ).stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["parse", "@sample"], 2, "which model?"),
        (["parse", "-m", "nonsense", "@sample"], 1, "nonsense: no such model file"),
        (["parse", "-m", SAMPLE_PATH, "@sample"], 1, "not a model file of crossarc"),
        (["train", "@sample", "-o", "no/such/folder/model"], 2, "cannot write a file there"),
        (["train", "/dev/null", "-o", "model"], 1, "no sentences to learn from"),
        (["train", "missing.conllu", "-o", "model"], 2, "check the path"),
        (["train", "@sample"], 2, "--output"),
        (["parse", "-m", "en", "--min-risk", "--kbest", 2], 2, "--kbest / --min-risk"),
        (["parse", "--text", "--keep-heads"], 2, "--keep-heads: text has no heads"),
    ],
)
def test_wrong_use_gets_one_line(
    arguments: list[object], status: int, message: str, tmp_path: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "CROSSARC_MODEL"}
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == status
    assert message in " ".join(done.stderr.decode().split())
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_empty_columns_are_said(tmp_path: Path) -> None:
    bare = tmp_path / "bare.conllu"
    bare.write_bytes(b"1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n" * 3)
    done = crossarc("train", bare, "-o", tmp_path / "model", "--passes", 1)
    assert done.returncode == 0
    assert f"crossarc: {bare}: UPOS is empty".encode() in done.stderr
    assert f"crossarc: {bare}: DEPREL is empty".encode() in done.stderr


@pytest.mark.parametrize("command", ["train", "combine", "induce"])
def test_a_model_does_not_replace_what_it_is_made_from(
    command: str, model: Path, tmp_path: Path
) -> None:
    bank, other = tmp_path / "bank.conllu", tmp_path / "other.crossarc"
    write_conllu(sample()[:3], bank)
    other.write_bytes(model.read_bytes())
    before = bank.read_bytes()
    inputs = {"train": [bank], "combine": [model, other, "--dev", bank], "induce": [bank]}[command]
    flag = "--save" if command == "induce" else "-o"
    done = crossarc(command, *inputs, flag, bank)
    assert done.returncode == 2
    assert f"{bank} is an input, which the model would replace".encode() in done.stderr
    assert bank.read_bytes() == before
    done = crossarc(command, *inputs, flag, "-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"a model is a file: give its path" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["train", "@sample", "-o", "x.crossarc"],
        ["induce", "@sample", "--start", "random"],
        ["evaluate", "@sample", "@sample", "--compare", "@sample"],
        ["split", "@sample", "x.conllu=1", "y.conllu=1"],
    ],
    ids=lambda command: command[0],
)
def test_seeds_are_counted_from_0(command: list[str], tmp_path: Path) -> None:
    done = crossarc(*command, "--seed", -1, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Invalid value for '--seed'" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["train", "dev"])
def test_a_treebank_without_heads_is_refused(place: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare.conllu"
    bare.write_bytes(b"1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n" * 3)
    files = [bare] if place == "train" else ["@sample", "--dev", bare]
    done = crossarc("train", *files, "-o", tmp_path / "model")
    assert done.returncode == 1
    complaint = f"crossarc: {bare}: no word has a HEAD: give a treebank with trees\n"
    assert done.stderr.decode() == complaint
    assert list(tmp_path.iterdir()) == [bare]


def test_dev_with_other_relations(tmp_path: Path) -> None:
    """They count as wrong, and that is all."""
    dev = tmp_path / "dev.conllu"
    strange = [sentence.copy() for sentence in sample()[:20]]
    for sentence in strange:
        sentence.deprels = ["strange"] * len(sentence)
    write_conllu(strange, dev)
    done = crossarc("train", "@sample", "--dev", dev, "-o", tmp_path / "model", "--passes", 2)
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    assert b"LAS 0.00" in done.stderr


@pytest.mark.parametrize("size", [1, 500])
def test_short_and_long_sentences(size: int, model: Path) -> None:
    rows = (f"{m}\tword\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for m in range(1, size + 1))
    done = crossarc("parse", "-m", model, "--probabilities", stdin="".join([*rows, "\n"]).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    [parsed] = read_conllu(io.BytesIO(done.stdout))
    assert len(parsed) == size
    assert parsed.tree.is_single_root


TEXT = b"Dogs bark. Cats sleep.\n\nWho can't read?\n"


def test_one_sentence_a_line() -> None:
    done = crossarc("parse", "--lines", stdin=TEXT)
    first, second = read_conllu(io.BytesIO(done.stdout))
    assert (first.sent_id, first.text) == ("1", "Dogs bark. Cats sleep.")
    assert first.forms == ("Dogs", "bark", ".", "Cats", "sleep", ".")
    assert (second.sent_id, second.text) == ("2", "Who can't read?")
    assert [(t.first, t.last, t.form) for t in second.multiword_tokens] == [(2, 3, "can't")]
    assert rebuild_text([first, second]) == TEXT.decode().replace("\n\n", "\n")
    assert first.tree.is_single_root


def test_words_divided_by_spaces() -> None:
    done = crossarc("parse", "--tokenized", stdin=b"Dogs do n't bark. \n\n  Cats\tsleep .")
    first, second = read_conllu(io.BytesIO(done.stdout))
    assert first.forms == ("Dogs", "do", "n't", "bark.")
    assert second.forms == ("Cats", "sleep", ".")
    assert second.text == "Cats sleep ."
    assert "_" not in (*first.upos, *second.upos)


def test_several_files_to_a_folder(model: Path, tmp_path: Path) -> None:
    for name in ("a.conllu.gz", "b.txt"):
        write_conllu(sample()[:3], tmp_path / name)
    done = crossarc("parse", "-m", model, "a.conllu.gz", "b.txt", "-o", "new/", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    written = sorted((tmp_path / "new").glob("*"))
    written = [path for path in written if not path.name.startswith(".")]
    assert [path.name for path in written] == ["a.conllu", "b.conllu"]
    one = crossarc("parse", "-m", model, "b.txt", cwd=tmp_path).stdout
    assert [path.read_bytes() for path in written] == [one, one]
    both = crossarc("parse", "-m", model, "a.conllu.gz", "b.txt", cwd=tmp_path)
    assert both.stdout == one + one


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.conllu", "b.conllu", "-o", "one.conllu"], "is one file, and there are 2 inputs"),
        (["a.conllu", "sub/a.conllu", "-o", "new/"], "would hold several inputs: rename one"),
        (["a.conllu", "-o", "."], "is an input: write to another folder"),
        (["a.conllu", "absent.conllu", "-o", "new/"], "absent.conllu: No such file"),
        (["-", "-"], "standard input (-) can be read only once"),
        (["--text", "--lines"], "--text / --lines: the input has one form: give one of them"),
    ],
)
def test_files_are_checked_before_the_work(
    model: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.conllu", "b.conllu", "sub/a.conllu"):
        write_conllu(sample()[:2], tmp_path / name)
    before = (tmp_path / "a.conllu").read_bytes()
    done = crossarc("parse", "-m", model, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.decode().split())
    assert (tmp_path / "a.conllu").read_bytes() == before
    assert not (tmp_path / "one.conllu").exists()
    assert not list((tmp_path / "new").glob("*"))


def test_text_without_its_option_is_recognised(model: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(TEXT)
    done = crossarc("parse", "-m", model, "text.txt", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(b"crossarc: text.txt:1: ")
    assert done.stderr.endswith(b" For raw text, add --text, --lines or --tokenized\n")
    assert done.stderr.count(b"\n") == 1
    # After a good sentence it is a treebank with an error.
    (tmp_path / "mixed.conllu").write_bytes(bytes(sample()[0]) + TEXT)
    assert b"--text" not in crossarc("parse", "-m", model, "mixed.conllu", cwd=tmp_path).stderr


@pytest.mark.parametrize("form", ["--lines", "--tokenized", None])
def test_a_coprocess_gets_each_tree_at_once(form: str | None) -> None:
    """A sentence is sent only when the tree of the one before has come back."""
    options = ["-m", "en"] if form is None else [form, "-m", "en"]
    with subprocess.Popen(
        [COMMAND, "parse", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for k in range(3):
            one = Sentence.build(["Dogs", f"bark{k}"], upos=["NOUN", "VERB"])
            process.stdin.write(f"Dogs bark{k}\n".encode() if form else bytes(one))
            process.stdin.flush()
            answer = b""
            while not answer.endswith(b"\n\n"):
                answer += process.stdout.readline()
            [parsed] = read_conllu(io.BytesIO(answer))
            assert parsed.forms == ("Dogs", f"bark{k}")
            assert (parsed.heads >= 0).all()
        process.stdin.close()
        assert process.wait(60) == 0


def test_text_that_is_decided_is_written_while_the_input_waits() -> None:
    """Every sentence that the tokeniser has decided, also those that do not fill a batch."""
    text, ended = "Who knows?\n\n" * 25_000, False

    def pieces() -> Iterator[str]:
        nonlocal ended
        yield text
        ended = True

    sentences = load("en").needed_tokenizer.tokenize(pieces())
    decided = sum(1 for _ in takewhile(lambda _: not ended, sentences))
    assert 20_000 < decided < 25_000
    assert decided % 256
    command = [COMMAND, "parse", "--text", "-m", "en"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        writer = threading.Thread(target=process.stdin.write, args=(text.encode(),))
        writer.start()
        watchdog = threading.Timer(120, process.kill)
        watchdog.start()
        texts = (line for line in process.stdout if line == b"# text = Who knows?\n")
        assert sum(1 for _ in islice(texts, decided)) == decided
        watchdog.cancel()
        process.kill()
        writer.join()


@pytest.mark.parametrize("form", ["--lines", "--text", None])
def test_an_interrupt_while_the_input_waits(form: str | None) -> None:
    """The input never comes: status 130, and not a word."""
    options = ["-m", "en"] if form is None else [form, "-m", "en"]
    with subprocess.Popen(
        [COMMAND, "parse", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if form != "--text":
            one = b"1\tDogs\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n" if form is None else b"Dogs bark\n"
            process.stdin.write(one)
            process.stdin.flush()
            # The first tree tells that the program runs and has come to wait.
            while process.stdout.readline() != b"\n":
                pass
        else:
            time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b""


def test_an_error_comes_after_the_trees_before_it(model: Path) -> None:
    """From a pipe, which a thread reads."""
    good = bytes(sample()[0])
    done = crossarc("parse", "-m", model, stdin=good + b"1\tx\n\n")
    assert done.returncode == 1
    assert done.stdout == crossarc("parse", "-m", model, stdin=good).stdout
    assert b"columns" in done.stderr


def test_nobody_reads_the_output(model: Path) -> None:
    """`crossarc ... | head` ends by SIGPIPE, without a word: much output or little."""
    for command in (["convert"], ["parse", "-m", str(model)], ["stats"]):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [COMMAND, *command, "@sample"], stdout=writing, stderr=subprocess.PIPE, check=False
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


@pytest.mark.parametrize("command", [[COMMAND], [sys.executable, "-m", "crossarc"]])
def test_an_interrupt_while_loading(tmp_path: Path, command: list[str]) -> None:
    """The interrupt comes in the middle of the imports: no traceback."""
    (tmp_path / "typer.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise AssertionError\n"
    )
    environment = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(
        [*command, "parse", "@sample"],
        capture_output=True,
        check=False,
        env=os.environ | environment,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")
