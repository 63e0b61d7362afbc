"""Programs in processes of their own that have imported Numba already, and compiled nothing."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["numba", "crossarc.kernels"])


def run_program(program: str, paths: Sequence[str], environment: Mapping[str, str]) -> str:
    """What a program prints, with more folders of modules and other variables.

    Raises:
        AssertionError: it ended with an exception.
    """
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_run, args=(program, paths, environment, theirs))
    process.start()
    theirs.close()
    output, error = ours.recv()
    process.join()
    assert not error, error
    return str(output)


def _run(
    program: str, paths: Sequence[str], environment: Mapping[str, str], answer: Connection
) -> None:
    from numba.core import config

    os.environ.pop("NUMBA_CACHE_DIR", None)
    os.environ.update(environment)
    config.reload_config()
    # The time of a file may be too coarse for Python to notice an edit.
    sys.dont_write_bytecode = True
    sys.path[:0] = paths
    output, error = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(output):
            exec(program, {"__name__": "__main__"})
    except BaseException:
        error = traceback.format_exc()
    answer.send((output.getvalue(), error))
