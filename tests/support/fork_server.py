"""The `crossarc` command without its start: a process that has imported everything forks for each.

Importing NumPy, Numba and crossarc takes longer than most commands. `fast_command()` is a program
that behaves as `crossarc` does, with the same arguments, environment, directory, standard streams,
file size limit and exit status, but runs in a fork of the server, and ends when it is killed. Where
the environment asks for another interpreter set-up than the server's, and for `crossarc serve`, to
which people send signals, it becomes the real command.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

#: Variables that are read when the interpreter or a library starts.
_AT_START = ("PYTHON", "NUMBA", "OMP_", "OPENBLAS", "MKL_", "LC_ALL", "LANG", "LC_CTYPE", "MPL")
_LARGEST_REQUEST = 1 << 20

# What the program sends: its three streams, then one line of JSON; what it gets: one number.
_CLIENT = """\
#!{python} -IS
import json, os, resource, signal, socket, sys
if sys.argv[1:2] == ["serve"]:
    os.execv({command!r}, [{command!r}, *sys.argv[1:]])
there = socket.socket(socket.AF_UNIX)
there.connect({path!r})
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), limit]).encode()
socket.send_fds(there, [len(request).to_bytes(8, "little")], [0, 1, 2])
there.sendall(request)
answer = there.recv(100)
if not answer:
    os.execv({command!r}, [{command!r}, *sys.argv[1:]])
status = int(answer)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@cache
def fast_command() -> Path:
    """A program to be called like `crossarc`, in a folder that has nothing else."""
    folder = Path(tempfile.mkdtemp(prefix="crossarc-"))
    path, program = folder / "socket", folder / "bin" / "crossarc"
    program.parent.mkdir()
    real = str(Path(sys.executable).with_name("crossarc"))
    program.write_text(_CLIENT.format(python=sys.executable, path=str(path), command=real))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    server = subprocess.Popen(
        [sys.executable, __file__, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    atexit.register(_stop, server, folder)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return program


def _stop(server: subprocess.Popen[bytes], folder: Path) -> None:
    import shutil

    server.kill()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _at_start(environment: dict[str, str]) -> dict[str, str]:
    chosen = {key: environment[key] for key in environment if key.startswith(_AT_START)}
    return {"LC_ALL": "C.UTF-8", **chosen}


def _import_everything() -> None:
    """All modules, and the kernels of most commands, from the cache."""
    import crossarc
    from crossarc.kernels.warmup import warmup

    for module in pkgutil.walk_packages(crossarc.__path__, "crossarc."):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
    warmup(["parse", "stats", "train"])


def _run(request: list[Any], streams: list[int]) -> None:
    """Become the command; does not return."""
    arguments, directory, environment, limit = request
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    resource.setrlimit(resource.RLIMIT_FSIZE, tuple(limit))
    sys.argv = ["crossarc", *arguments]
    # The server's own streams have the same numbers, but remember what they were.
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    from crossarc.app.cli import main

    main()


def _received(connection: socket.socket) -> tuple[list[Any], list[int]]:
    head, streams, _, _ = socket.recv_fds(connection, 8, 3)
    size, data = int.from_bytes(head, "little"), b""
    while len(data) < size:
        data += connection.recv(_LARGEST_REQUEST)
    return json.loads(data), streams


def _answer(connection: socket.socket, own: dict[str, str]) -> None:
    """Serve one request in a process of its own, which forks the command and waits for it."""
    request, streams = _received(connection)
    if _at_start(request[2]) != own:
        return
    command = os.fork()
    if command == 0:
        connection.close()
        try:
            _run(request, streams)
        except SystemExit as error:
            sys.stdout.flush()
            os._exit(error.code if isinstance(error.code, int) else int(bool(error.code)))
        os._exit(0)
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(command)
    if ended not in select.select([ended, connection], [], [])[0]:
        os.kill(command, signal.SIGKILL)  # the program was killed, or it would wait for the answer
    _, status = os.waitpid(command, 0)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def serve(path: str) -> None:
    """Answer requests until killed."""
    _import_everything()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    own = _at_start(dict(os.environ))
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _answer(connection, own)
            os._exit(0)
        connection.close()


if __name__ == "__main__":
    serve(sys.argv[1])
