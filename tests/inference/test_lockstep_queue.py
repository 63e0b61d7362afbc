"""Items in turns: each of them once, whoever takes it, and nobody leaves before all are done."""

from __future__ import annotations

import threading
import time

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossarc.inference.runtime.lockstep import claim, complete, run_queue


@numba.njit(nogil=True)
def count_up(counts: np.ndarray, progress: np.ndarray) -> None:
    item = claim(progress)
    while item < len(counts):
        counts[item] += 1
        complete(progress)
        item = claim(progress)


@numba.njit(nogil=True)
def finish_one(progress: np.ndarray) -> None:
    complete(progress)


@given(st.integers(0, 200), st.integers(1, 6))
def test_every_item_once(count: int, threads: int) -> None:
    counts = np.zeros(count, np.int64)
    run_queue(lambda progress: count_up(counts, progress), count, threads)
    assert (counts == 1).all()


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_waits_for_others(seconds: float) -> None:
    """Also for one that takes longer than anybody looks on."""
    meeting, here, finished = threading.Barrier(2, timeout=10), threading.current_thread(), []

    def work(progress: np.ndarray) -> None:
        meeting.wait()
        time.sleep(0.0 if threading.current_thread() is here else seconds)
        finished.append(threading.current_thread())
        finish_one(progress)

    run_queue(work, 2, 2)
    assert len(set(finished)) == 2


def test_errors_of_others_come_back() -> None:
    """An item that failed is never finished."""
    meeting, here = threading.Barrier(2, timeout=10), threading.current_thread()

    def work(progress: np.ndarray) -> None:
        meeting.wait()
        if threading.current_thread() is not here:
            raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        run_queue(work, 2, 2)
