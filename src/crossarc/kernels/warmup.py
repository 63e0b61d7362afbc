"""Compiling ahead of time: which modules have kernels, and who compiles them.

Kernels of one room share sub-kernels, which a process translates once. So a process compiles whole
rooms; where there are more processes than that keeps busy, large rooms are divided.
"""

from __future__ import annotations

import importlib
import itertools
import math
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any, NamedTuple

from crossarc.kernels import kernels_of
from crossarc.kernels.sources import imports

__all__ = ["PARTS", "ROOMS", "Job", "jobs", "kernel_modules", "room_of", "warmup"]

_PACKAGE = __name__.partition(".")[0]


class Room(NamedTuple):
    """Modules that share sub-kernels, and the seconds of one core that all their kernels take."""

    title: str
    seconds: float


#: The room of a module is the longest of these names that the module's begins with.
ROOMS = {
    "": Room("other kernels", 1.0),
    "trees": Room("measures of trees", 3.4),
    "text": Room("text to words", 4.1),
    "inference": Room("batches of scores", 1.9),
    "inference.forest": Room("packed forests", 9.6),
    "inference.projective": Room("projective trees", 44.7),
    "inference.spanning": Room("spanning trees", 42.3),
    "inference.transition": Room("Covington's algorithm", 5.2),
    "learning": Room("learning", 0.7),
    "models": Room("scores of arcs and labels", 6.6),
    "models.covington": Room("transition parsers", 20.3),
    "models.tagging": Room("tags and lemmas", 3.9),
}

#: Parts of all kernels that can be compiled by themselves: rooms or modules.
PARTS = {
    "parse": (
        "text.decisions",
        "models.tagging.words",
        "models.tagging.perceptron",
        "models.tagging.lemma_kernels",
        "models.arcs",
        "models.labels",
        "models.covington.greedy",
        "models.covington.beam",
        "inference.packing",
        "inference.turns",
        "inference.forest.expectation",
        "inference.projective.eisner_best",
        "inference.projective.first_order",
        "inference.projective.short_alone",
        "inference.projective.short_together",
        "inference.spanning.argmax",
        "inference.spanning.plain",
    ),
    "train": (
        "text",
        "models",
        "learning",
        "trees",
        "inference.packing",
        "inference.turns",
        "inference.projective.eisner_plain",
        "inference.projective.short_alone",
        "inference.projective.short_together",
        "inference.spanning.plain",
    ),
    "stats": ("trees", "inference.transition"),
    "inference": ("inference",),
}


def _is_below(module: str, name: str) -> bool:
    return not name or f"{module}.".startswith(f"{_PACKAGE}.{name}.")


def room_of(module: str) -> str:
    """The room that a module belongs to."""
    return max((name for name in ROOMS if _is_below(module, name)), key=len)


def kernel_modules(parts: Sequence[str] = ()) -> list[str]:
    """Modules that define kernels: all, or those of some parts."""
    found = sorted(_kernel_modules(_PACKAGE, importlib.import_module(_PACKAGE).__path__))
    names = [name for part in parts for name in PARTS[part]] or [""]
    return [module for module in found if any(_is_below(module, name) for name in names)]


def _kernel_modules(package: str, path: Iterable[str]) -> Iterator[str]:
    """Without importing them: whoever defines kernels imports the decorator."""
    for info in pkgutil.iter_modules(path, f"{package}."):
        finder: Any = info.module_finder
        spec = finder.find_spec(info.name)
        if info.ispkg:
            yield from _kernel_modules(info.name, spec.submodule_search_locations)
        elif (f"{_PACKAGE}.kernels", "kernel") in imports(
            spec.loader.get_data(spec.origin), package
        ):
            yield info.name


class Job(NamedTuple):
    """What one process compiles at a time: the modules of a room, or some of them."""

    modules: tuple[str, ...]
    seconds: float


def jobs(modules: Sequence[str], workers: int) -> list[Job]:
    """Modules as jobs, the longest first.

    A room is divided where it would take longer than its share of the processes' time.
    """
    rooms: dict[str, list[str]] = {}
    for module in modules:
        rooms.setdefault(room_of(module), []).append(module)
    total = sum(ROOMS[room].seconds for room in rooms)
    found = []
    for room, own in rooms.items():
        seconds = ROOMS[room].seconds
        count = min(len(own), math.ceil(seconds * workers / total))
        cuts = [len(own) * part // count for part in range(count + 1)]
        found += [Job(tuple(own[i:j]), seconds / count) for i, j in itertools.pairwise(cuts)]
    return sorted(found, key=lambda job: -job.seconds)


def _compile(modules: Sequence[str], report: Callable[[str], None]) -> None:
    for module in modules:
        importlib.import_module(module)
        for one in kernels_of(module):
            one.compile()
        report(module)


_finished: Any = None


def _begin(finished: Any) -> None:
    """What a new process is given: where to tell of finished modules."""
    global _finished
    _finished = finished


def _compile_job(job: Job) -> None:
    _compile(job.modules, _finished.put)


def warmup(
    parts: Sequence[str] = (),
    *,
    workers: int = 1,
    on_progress: Callable[[str], None] | None = None,
) -> None:
    """Compile kernels, or find them in the cache.

    Args:
        parts: names of `PARTS`; by default all kernels.
        workers: processes, as the compiler works for one thread at a time; with 1, only this one.
        on_progress: called with the name of each module that is ready.
    """
    report = on_progress or (lambda module: None)
    waiting = jobs(kernel_modules(parts), workers)
    if workers == 1:
        for job in waiting:
            _compile(job.modules, report)
        return
    context = get_context("spawn")
    finished = context.SimpleQueue()
    with ProcessPoolExecutor(workers, context, _begin, (finished,)) as pool:
        running = {pool.submit(_compile_job, job) for job in waiting}
        while running:
            done, running = wait(running, timeout=0.1)
            while not finished.empty():
                report(finished.get())
            for future in done:
                future.result()
