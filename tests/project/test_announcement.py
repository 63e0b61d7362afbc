"""Who is told that kernels are being compiled: whoever watches, and once a wait."""

from __future__ import annotations

import io
import logging
import sys
from types import ModuleType

import pytest

import crossarc.trees.measures
from crossarc.kernels.announcement import Announcer

MEASURES = crossarc.trees.measures.__name__
LINE = "compiling kernels for measures of trees, about 4 s, once per installation"


class Stream(io.StringIO):
    """Standard error: a terminal, or a pipe, a file or a notebook."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("time.monotonic", made)
    return made


def stream(monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool) -> Stream:
    made = Stream(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    return made


def test_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = stream(monkeypatch, is_terminal=True)
    Announcer().begin(MEASURES)
    assert terminal.getvalue() == f"crossarc: {LINE} ...\n"


def test_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = stream(monkeypatch, is_terminal=False)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    Announcer().begin(MEASURES)
    assert cell.getvalue() == f"crossarc: {LINE} ...\n"


def test_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pipes and cron jobs stay clean; a program without a standard error works."""
    pipe = stream(monkeypatch, is_terminal=False)
    Announcer().begin(MEASURES)
    assert pipe.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)
    Announcer().begin(MEASURES)


def test_a_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Where a log is kept, the line is there and nowhere else."""
    terminal = stream(monkeypatch, is_terminal=True)
    with caplog.at_level(logging.INFO, logger="crossarc"):
        Announcer().begin(MEASURES)
    assert caplog.record_tuples == [("crossarc", logging.INFO, LINE)]
    assert terminal.getvalue() == ""


def test_once_a_wait(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    terminal = stream(monkeypatch, is_terminal=True)
    announcer = Announcer()

    def compiled(seconds: float, pause: float) -> int:
        """Compile a kernel, then do something else; how many lines there are."""
        announcer.begin(MEASURES)
        clock.now += seconds
        announcer.end()
        clock.now += pause
        return terminal.getvalue().count("\n")

    assert compiled(1.0, 0.5) == 1
    assert compiled(1.0, 0.5) == 1
    # The 4 seconds are over.
    assert compiled(1.0, 0.5) == 1
    assert compiled(1.0, 0.5) == 2
    # Something else was done for longer than the pause within a wait.
    assert compiled(0.5, 2.5) == 2
    assert compiled(0.5, 0.0) == 3


def test_short_waits_and_those_who_report_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = stream(monkeypatch, is_terminal=True)
    announcer = Announcer()
    with monkeypatch.context() as changed:
        changed.setattr("crossarc.kernels.announcement._forecast", lambda module: ("this", 1.0))
        announcer.begin(MEASURES)
    with announcer.muted():
        announcer.begin(MEASURES)
    assert terminal.getvalue() == ""
    announcer.begin(MEASURES)
    assert terminal.getvalue() != ""
