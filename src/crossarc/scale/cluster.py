"""The same jobs on a Ray cluster (extra `[ray]`): files parsed by actors, sums over pieces.

A job that fails since its actor or node has died is given to another. Outputs appear whole or not
at all, and the same input gives the same bytes, so a job that is done twice leaves one result.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from crossarc.errors import CrossarcError
from crossarc.parser import Parser
from crossarc.parser.files import find_model
from crossarc.parser.options import ParseKeywords
from crossarc.scale.corpus import Form, Outcome, Shard, parse_to_folder
from crossarc.scale.parsing import CorpusParser
from crossarc.scale.processes import Workers

__all__ = ["ClusterMap", "ShardParser", "cluster", "parse_on_cluster"]

A = TypeVar("A")
R = TypeVar("R")

# How often a job is begun whose actor or node dies.
_ATTEMPTS = 4


@contextmanager
def cluster(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster; "auto" is the one that runs here, else one is started here.

    "local" starts one in any case.

    Raises:
        CrossarcError: Ray is not installed, or there is no such cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise CrossarcError("a cluster needs Ray: pip install 'crossarc[ray]'") from None
    if ray.is_initialized():
        yield ray
        return
    quiet: Any = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        local: Any = {"include_dashboard": False} if address == "local" else {}
        ray.init(address=address, **local, **quiet)
    except ConnectionError as error:
        if address != "auto":
            raise CrossarcError(f"no Ray cluster at {address}: {error}") from None
        ray.init(address="local", include_dashboard=False, **quiet)
    except (ValueError, RuntimeError) as error:
        raise CrossarcError(f"no Ray cluster at {address}: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


# Files.


@dataclass(frozen=True)
class ShardParser:
    """Makes the function that parses a file, in a process without other threads.

    Attributes:
        model: a file or a name.
        workers: processes that parse sentences; none of them can end the one that reads and writes.
    """

    model: str
    options: ParseKeywords
    form: Form
    recipe: str
    skip: bool
    workers: int = 1

    def __call__(self) -> Callable[[Shard], Outcome]:
        """Load the parser."""
        parser = Parser.load(self.model)
        opened: list[CorpusParser] = []

        def parsed(shard: Shard) -> Outcome:
            if not opened:
                kind: Any = {"workers": self.workers, "parser": parser, "isolated": True}
                opened.append(CorpusParser(self.model, self.options, **kind))
            return parse_to_folder(opened[0], shard, self.form, self.recipe, skip=self.skip)

        return parsed


class _ParsingActor:
    """Parses files, in a process of its own: Ray's has threads, and must outlive any sentence."""

    def __init__(self, parser: ShardParser, model: bytes) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="crossarc-")
        path = Path(self._folder.name) / "model"
        path.write_bytes(model)
        own = replace(parser, model=str(path))
        self._workers: Workers[Shard, Outcome] = Workers(own, 1, spawn=True)

    def run(self, shard: Shard) -> Outcome:
        return self._workers.submit(shard).result()


def parse_on_cluster(
    ray: Any,
    parser: ShardParser,
    shards: Sequence[Shard],
    *,
    actors: int | None = None,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> None:
    """Parse files on a cluster; each output and its record are written by the actor.

    Args:
        parser: what to do; the file of its model is sent to the actors.
        shards: inputs and outputs that every node can reach: on shared file systems, or URLs.
        actors: by default one for each core of the cluster.
        on_outcome: called for each file, in the order in which they are finished.

    Raises:
        CrossarcError: without `skip`, the first error; with it, after all other files, that some
            could not be parsed.
    """
    cores = int(ray.cluster_resources().get("CPU", 1.0)) // parser.workers
    model = ray.put(find_model(parser.model).read_bytes())
    actor = ray.remote(num_cpus=parser.workers)(_ParsingActor)
    failed: list[str] = []
    jobs = _Jobs(ray, lambda: actor.remote(parser, model), actors or max(cores, 1))
    with contextlib.closing(jobs.run(shards)) as finished:
        for shard, outcome in finished:
            if isinstance(outcome, Outcome):
                on_outcome(outcome)
            elif not parser.skip:
                raise outcome
            else:
                failed.append(f"{shard.source}: {outcome}")
    if failed:
        raise CrossarcError(
            f"{len(failed)} of {len(shards)} inputs could not be parsed; the first: {failed[0]}"
        )


class _Jobs:
    """Jobs over actors that may die."""

    def __init__(self, ray: Any, start: Callable[[], Any], count: int) -> None:
        self._ray, self._start, self._count = ray, start, count
        self._spare: list[Any] = []
        self._running: dict[Any, tuple[Any, Any, int]] = {}

    def run(self, jobs: Sequence[Any]) -> Generator[tuple[Any, Any], None, None]:
        """Each job with its result or the error that it ended with, as they end."""
        waiting: deque[tuple[Any, int]] = deque((job, 1) for job in jobs)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._count:
                    job, attempt = waiting.popleft()
                    actor = self._spare.pop() if self._spare else self._start()
                    self._running[actor.run.remote(job)] = actor, job, attempt
                # An actor without work would keep its core from one that waits for a place.
                while self._spare:
                    self._ray.kill(self._spare.pop())
                [done], _ = self._ray.wait(list(self._running), num_returns=1)
                actor, job, attempt = self._running.pop(done)
                result = self._result(done)
                if isinstance(result, _Dead):
                    if attempt < _ATTEMPTS:
                        waiting.append((job, attempt + 1))
                        continue
                    result = CrossarcError(f"given up after {attempt} attempts: {result.reason}")
                else:
                    self._spare.append(actor)
                yield job, result
        finally:
            for actor in (*self._spare, *(actor for actor, _, _ in self._running.values())):
                self._ray.kill(actor)

    def _result(self, reference: Any) -> Any:
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, CrossarcError) and type(cause).__name__ == "TreebankError":
                return cause
            return _Dead(f"{type(cause).__name__}: {cause}")
        except exceptions.RayError as error:
            return _Dead(str(error).partition("\n")[0])


@dataclass(frozen=True)
class _Dead:
    """A job whose actor died, or which failed for a reason that may pass."""

    reason: str


# Sums.


class _PieceActor(Generic[A, R]):
    """Holds some of the pieces."""

    def __init__(self, pieces: list[Callable[[A], R]]) -> None:
        self._pieces = pieces

    def run(self, argument: A) -> list[R]:
        return [piece(argument) for piece in self._pieces]


class ClusterMap(Generic[A, R]):
    """A map over pieces that lie in actors: `[piece(argument) for piece in pieces]`, in order.

    What is then added up in this order is the same to the last digit for any number of actors, and
    in one process.

    Args:
        pieces: picklable functions with the data that they need; sent once, and again where an
            actor has died.
        actors: by default one for each core of the cluster.
    """

    def __init__(
        self, ray: Any, pieces: Sequence[Callable[[A], R]], *, actors: int | None = None
    ) -> None:
        cores = int(ray.cluster_resources().get("CPU", 1.0))
        self._ray, self._size = ray, len(pieces)
        self._count = max(1, min(actors or cores, len(pieces)))
        self._data = [ray.put(list(pieces[k :: self._count])) for k in range(self._count)]
        self._actor = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=_ATTEMPTS)(
            _PieceActor
        )
        self._actors = [self._actor.remote(data) for data in self._data]

    def __call__(self, argument: A) -> list[R]:
        """The results of all pieces."""
        sent = self._ray.put(argument)
        found = self._ray.get([actor.run.remote(sent) for actor in self._actors])
        results: list[Any] = [None] * self._size
        for k, own in enumerate(found):
            results[k :: self._count] = own
        return results

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)
