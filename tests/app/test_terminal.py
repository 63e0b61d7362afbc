"""What a person at a terminal sees, through a pseudo-terminal."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.shell import COMMAND

from crossarc.app.files import Progress
from crossarc.treebank import SAMPLE_PATH, read_conllu


class Terminal(io.StringIO):
    """A standard error stream that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shown once work has lasted a second, five times a second, wiped at the end."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    clock = iter(x / 4 for x in range(1000))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    sentences = list(Progress(read_conllu(SAMPLE_PATH)))
    assert [bytes(s) for s in sentences] == [bytes(s) for s in read_conllu(SAMPLE_PATH)]
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown[0] == ""
    words = sum(len(sentence) for sentence in sentences[:4])
    assert shown[1] == f"{SAMPLE_PATH}: 4 sentences, {words} words/s"
    assert len(shown) == 1 + (len(sentences) - 3) + 1
    assert shown[-1] == ""


def test_no_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    clock = iter(range(1000))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    assert len(list(Progress(read_conllu(SAMPLE_PATH)))) == 126
    assert stream.getvalue() == ""


def test_compilation_is_announced(tmp_path: Path) -> None:
    """With an empty kernel cache, a terminal is told why it has to wait."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    code = "from crossarc import Tree; Tree([0, 1]).is_projective"
    subprocess.run([sys.executable, "-c", code], stderr=theirs, env=environment, check=True)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)
    what = "compiling kernels for measures of trees, about 4 s, once per installation"
    assert shown == f"crossarc: {what} ...\r\n"


def test_interrupted(tmp_path: Path) -> None:
    """Control-C: status 130, no traceback, nothing left behind."""
    output = tmp_path / "out.conllu"
    process = subprocess.Popen(
        [COMMAND, "convert", "-", "-o", str(output)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Jobs in the background ignore interrupts, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(SAMPLE_PATH.read_bytes())
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) != []
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert b"Traceback" not in process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert list(tmp_path.iterdir()) == []


def test_output_to_a_closed_pipe() -> None:
    """`crossarc convert ... | head -1` ends quietly."""
    shell = f"'{COMMAND}' convert '{SAMPLE_PATH}' | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, check=False)
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""
