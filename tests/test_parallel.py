"""Sharing out work: everything once, whatever the number of threads."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossarc.parallel import over_ranges, thread_count


@given(st.lists(st.floats(0, 100), max_size=40), st.integers(1, 9))
def test_every_item_once(costs: list[float], threads: int) -> None:
    seen = [0] * len(costs)

    def work(begin: int, end: int) -> None:
        for item in range(begin, end):
            seen[item] += 1

    over_ranges(work, costs, threads)
    assert seen == [1] * len(costs)


def test_errors_come_back() -> None:
    def work(begin: int, end: int) -> None:
        raise KeyError(begin)

    with pytest.raises(KeyError):
        over_ranges(work, [1.0, 1.0, 1.0], 2)


def test_work_may_share_out_work() -> None:
    seen: list[int] = []

    def outer(begin: int, end: int) -> None:
        for item in range(begin, end):
            over_ranges(lambda a, b, x=item: seen.extend([x] * (b - a)), [1.0] * 5, 2)

    over_ranges(outer, [1.0] * 6, 2)
    assert sorted(seen) == [item for item in range(6) for _ in range(5)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_after_a_fork() -> None:
    """A forked process starts threads of its own."""
    over_ranges(lambda begin, end: None, [1.0] * 8, 2)
    child = os.fork()
    if child == 0:
        seen: list[int] = []
        over_ranges(lambda begin, end: seen.extend(range(begin, end)), [1.0] * 8, 2)
        os._exit(0 if sorted(seen) == list(range(8)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_count(3) == 3
    monkeypatch.setenv("CROSSARC_THREADS", "5")
    assert thread_count() == 5
    assert thread_count(2) == 2
    monkeypatch.setenv("CROSSARC_THREADS", "many")
    with pytest.raises(ValueError, match="CROSSARC_THREADS must be a whole number"):
        thread_count()
    monkeypatch.delenv("CROSSARC_THREADS")
    assert thread_count() >= 1
    for wrong in (0, -1, 1.5, "x"):
        with pytest.raises(ValueError, match="threads must be"):
            thread_count(wrong)  # type: ignore[arg-type]
