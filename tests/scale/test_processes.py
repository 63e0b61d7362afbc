"""Worker processes: order, errors, death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from support.processes import descendants, end_of, wait_until

from crossarc import TreebankError
from crossarc.scale.processes import TemplateEndedError, WorkerDiedError, Workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")


def results(workers: Workers[int, int], jobs: list[int]) -> list[int | str]:
    """What becomes of each job: its result, or the name of the error."""
    futures = [workers.submit(job) for job in jobs]
    errors = [future.exception(60) for future in futures]
    return [
        future.result() if error is None else type(error).__name__
        for future, error in zip(futures, errors, strict=True)
    ]


@pytest.mark.parametrize("spawn", [False, True])
def test_results_belong_to_their_jobs(spawn: bool) -> None:
    # A new interpreter can import what is in the standard library, but not this module.
    with Workers(partial(partial, pow, 2), 3, spawn=spawn) as workers:
        assert results(workers, list(range(40))) == [2**k for k in range(40)]


def test_an_exception_comes_back() -> None:
    def fails(job: int) -> int:
        if job == 2:
            raise TreebankError("no good", source="x.conllu", line=7)
        if job == 3:
            raise UnpicklableError(lambda: None)
        return job

    with Workers(lambda: fails, 2) as workers:
        assert results(workers, [1, 2, 3, 4]) == [1, "TreebankError", "CrossarcError", 4]
        with pytest.raises(TreebankError, match=r"x\.conllu:7: no good"):
            workers.submit(2).result()


class UnpicklableError(Exception):
    pass


def test_a_job_whose_worker_is_killed_is_done_by_another(tmp_path: Path) -> None:
    def dies_once(job: int) -> int:
        mark = tmp_path / str(job)
        if job % 3 == 0 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    with Workers(lambda: dies_once, 2) as workers:
        assert results(workers, list(range(10))) == list(range(10))
    assert len(list(tmp_path.iterdir())) == 4


def test_a_job_that_kills_every_worker_stands_alone() -> None:
    def dies(job: int) -> int:
        if job == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    with Workers(lambda: dies, 2) as workers:
        expected = [0, 1, 2, 3, 4, WorkerDiedError.__name__, 6, 7]
        assert results(workers, list(range(8))) == expected


def test_the_end_of_the_template_is_the_end() -> None:
    with Workers(lambda: abs, 2) as workers:
        before = descendants(os.getpid())
        assert workers.submit(-3).result() == 3
        template = next(pid for pid in before if descendants(pid))
        own = descendants(template)
        os.kill(template, signal.SIGKILL)
        end_of(own)
        with pytest.raises(TemplateEndedError, match="run the command again"):
            workers.submit(1).result()


def test_no_process_is_left_by_a_closed_pool() -> None:
    before = descendants(os.getpid())
    with Workers(lambda: time.sleep, 2) as workers:
        # Longer than `end_of` waits: a worker that goes on with its job counts as left.
        for _ in range(4):
            workers.submit(300)  # type: ignore[arg-type]
        wait_until(lambda: len(descendants(os.getpid()) - before) == 3)
        own = descendants(os.getpid()) - before
    end_of(own)
    assert not own & descendants(os.getpid())


DRIVER = """
import time
from crossarc.scale.processes import Workers
with Workers(lambda: time.sleep, 2) as workers:
    futures = [workers.submit(300) for _ in range(4)]
    print("started", flush=True)
    futures[0].result()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_its_driver(number: int) -> None:
    with subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"started\n"
        wait_until(lambda: len(descendants(driver.pid)) == 3)
        own = descendants(driver.pid)
        driver.send_signal(number)
        end_of(own)
