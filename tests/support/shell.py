"""Run the `crossarc` command as a user would."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from support.fork_server import fast_command

#: The command itself, for tests of how it starts.
COMMAND = Path(sys.executable).with_name("crossarc")


def crossarc(
    *arguments: object,
    stdin: bytes | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    largest_file: int | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """The finished process, with its output; standard input is empty unless given.

    Files cannot grow beyond `largest_file` bytes, as on a disk that is full.
    """

    def limit() -> None:
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    return subprocess.run(
        [fast_command(), *map(str, arguments)],
        input=stdin or b"",
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        check=False,
        timeout=300,
        preexec_fn=limit,
    )
