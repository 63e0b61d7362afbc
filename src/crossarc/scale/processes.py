"""Worker processes: an ordered map that survives the death of a worker and leaves no orphans.

Python code holds the interpreter's lock, so threads share out kernels only; processes share out
everything. The workers are forks of a *template*, a process that has the model and the compiled
kernels and does nothing else. So all share one copy of the model, a worker starts in milliseconds,
and a dead one can be replaced at any time: the template has a single thread, and forking it is
safe, which is not true of the process that reads and writes.

A worker ends when its connection closes, and on Linux when the template ends, which ends with the
process that started it, however that ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any, Generic, NoReturn, TypeVar

from crossarc.errors import CrossarcError

__all__ = ["TemplateEndedError", "WorkerDiedError", "Workers", "serve_template"]

J = TypeVar("J")
R = TypeVar("R")

#: What makes the function that workers compute; called once, in the template, for the first worker.
Factory = Callable[[], Callable[[J], R]]

# How often a job is given to a worker before it is said to kill them.
ATTEMPTS = 2
# So many jobs for each worker are under way or finished and not yet asked for.
_WINDOW = 3
_SET_PARENT_DEATH_SIGNAL = 1
_COMMAND = "from crossarc.scale.processes import serve_template; serve_template({})"


class WorkerDiedError(CrossarcError):
    """Workers died, one after the other, over one job."""


class TemplateEndedError(CrossarcError):
    """No worker can be started any more."""


class Workers(Generic[J, R]):
    """Processes that all compute one function.

        with Workers(lambda: function, 4) as workers:
            futures = [workers.submit(job) for job in jobs]
            results = [future.result() for future in futures]

    Args:
        factory: makes the function, when there is work; with `spawn` it is pickled.
        count: of the processes; they start when there is work for them.
        spawn: start the template as a new interpreter in place of a fork: where this process has
            other threads, or no fork.
    """

    def __init__(self, factory: Factory[J, R], count: int, *, spawn: bool = False) -> None:
        self.count = count
        self._jobs: queue.SimpleQueue[tuple[bytes, Future[R]] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._requests = threading.Lock()
        self._is_closed = False
        self._control, theirs = socket.socketpair()
        with theirs:
            start = _spawned if spawn else _forked
            self._wait_for_template = start(factory, self._control, theirs)

    def __enter__(self) -> Workers[J, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, job: J) -> Future[R]:
        """Have one job done: its result, what the function raised, or WorkerDiedError."""
        future: Future[R] = Future()
        self._jobs.put((pickle.dumps(job, pickle.HIGHEST_PROTOCOL), future))
        if len(self._threads) < self.count:
            thread = threading.Thread(target=self._run, name="crossarc-worker", daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    @property
    def window(self) -> int:
        """How many jobs may be under way or wait for being asked for."""
        return _WINDOW * self.count

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        self._is_closed = True
        for _ in self._threads:
            self._jobs.put(None)
        self._control.close()
        self._wait_for_template()

    def _run(self) -> None:
        """Have jobs done by a worker, and when it dies by another; in a thread of its own."""
        connection: Connection | None = None
        while (task := self._jobs.get()) is not None:
            data, future = task
            for _ in range(ATTEMPTS):
                try:
                    connection = connection or self._started()
                    connection.send_bytes(data)
                    succeeded, result = pickle.loads(connection.recv_bytes())
                    break
                except TemplateEndedError as error:
                    succeeded, result = False, error
                    break
                except (EOFError, OSError):
                    connection = None
            else:
                succeeded, result = (
                    False,
                    WorkerDiedError(
                        f"it was the end of {ATTEMPTS} processes (out of memory, or killed)"
                    ),
                )
            if self._is_closed:
                return
            if succeeded:
                future.set_result(result)
            else:
                future.set_exception(result)

    def _started(self) -> Connection:
        """The connection to a new worker."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._requests:
                socket.send_fds(self._control, [b"w"], [theirs.fileno()])
        except OSError:
            ours.close()
            raise TemplateEndedError(
                "the process that starts workers was ended from outside: run the command again"
            ) from None
        return Connection(ours.detach())


# The template.


def _forked(factory: Factory[Any, Any], ours: socket.socket, theirs: socket.socket) -> Any:
    parent = os.getpid()
    # No interrupt may come between the fork and the moment from which the template ignores it.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            _become_template(theirs, parent)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            _serve_requests(theirs, factory)
        finally:
            os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def end() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)

    return end


def _spawned(factory: Factory[Any, Any], ours: socket.socket, theirs: socket.socket) -> Any:
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND.format(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    data = pickle.dumps(factory)
    ours.sendall(len(data).to_bytes(8, "little") + data)
    return process.wait


def serve_template(descriptor: int) -> None:
    """Be the template of the process that started this interpreter."""
    with socket.socket(fileno=descriptor) as requests:
        _become_template(requests, os.getppid())
        head = requests.recv(8, socket.MSG_WAITALL)
        data = requests.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)
        try:
            _serve_requests(requests, pickle.loads(data))
        finally:
            os._exit(1)


def _become_template(requests: socket.socket, parent: int) -> None:
    """Ignore interrupts, leave the terminal and pipes alone, end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    _end_with(parent)


def _end_with(parent: int) -> None:
    """Have the system kill this process when its parent ends (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _serve_requests(requests: socket.socket, factory: Factory[Any, Any]) -> NoReturn:
    """Fork a worker for each connection that comes, until the other side closes."""
    function: Callable[[Any], Any] | None = None
    workers: set[int] = set()
    own = os.getpid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        while workers and (ended := os.waitpid(-1, os.WNOHANG)[0]):
            workers.discard(ended)
        if not message:
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
                os.waitpid(worker, 0)
            os._exit(0)
        if function is None:
            function = factory()
            # What is there stays: workers need not go through it when they collect garbage.
            gc.freeze()
        worker = os.fork()
        if worker == 0:
            try:
                requests.close()
                _end_with(own)
                _work(Connection(descriptors[0]), function)
            finally:
                os._exit(0)
        workers.add(worker)
        os.close(descriptors[0])


def _work(connection: Connection, function: Callable[[Any], Any]) -> None:
    """Answer jobs until the other side closes."""
    while True:
        try:
            job = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            answer: tuple[bool, Any] = True, function(job)
        except Exception as error:
            answer = False, _portable(error)
        connection.send_bytes(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))


def _portable(error: Exception) -> Exception:
    """The error, or if it cannot be pickled one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return CrossarcError(str(error))
    return error
