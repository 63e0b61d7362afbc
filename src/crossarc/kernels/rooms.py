"""Which modules have kernels, what they are for, and how long they take to compile.

No kernel imports this module: a change of it is none of theirs.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from crossarc.kernels.sources import imports

__all__ = ["PARTS", "ROOMS", "Part", "Room", "kernel_modules", "room_of"]

_PACKAGE = __name__.partition(".")[0]


def _is_below(module: str, name: str) -> bool:
    return not name or f"{module}.".startswith(f"{_PACKAGE}.{name}.")


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
    "inference.higher": Room("crossing trees, higher order", 12.0),
    "inference.forest": Room("packed forests", 10.2),
    "inference.projective": Room("projective trees", 44.7),
    "inference.projective.automata": Room("projective trees, higher order", 12.0),
    "inference.spanning": Room("spanning trees", 42.3),
    "inference.transition": Room("Covington's algorithm", 5.2),
    "inference.transition.attardi": Room("Attardi's system", 8.5),
    "learning": Room("learning", 0.7),
    "models": Room("scores of arcs and labels", 6.6),
    "models.higher_order": Room("scores of parts of trees", 12.0),
    "models.covington": Room("transition parsers", 20.3),
    "models.generative": Room("generative models", 2.0),
    "models.tagging": Room("tags and lemmas", 3.9),
}


class Part(NamedTuple):
    """Kernels that a task needs: those of rooms or modules, and their seconds."""

    title: str
    seconds: float
    names: tuple[str, ...]

    def has(self, module: str) -> bool:
        """Whether the task needs the kernels of a module."""
        return any(_is_below(module, name) for name in self.names)


#: The main tasks; a kernel that several need is announced as that of the first.
PARTS = {
    "parse": Part(
        "parsing",
        16.0,
        (
            "text.decisions",
            "models.tagging.words",
            "models.tagging.perceptron",
            "models.tagging.lemma_kernels",
            "models.first_order.arcs",
            "models.first_order.labels",
            "models.higher_order",
            "models.entropies",
            "models.covington.greedy",
            "models.covington.beam",
            "inference.runtime",
            "inference.projective.first_order.best",
            "inference.projective.first_order.lockstep",
            "inference.projective.automata",
            "inference.part_lists",
            "inference.forest.viterbi",
            "inference.forest.inside",
            "inference.forest.expectation",
            "inference.higher",
            "inference.spanning.edmonds.argmax",
            "inference.spanning.edmonds.max_marginals",
            "inference.spanning.matrix_tree.sums",
        ),
    ),
    "stats": Part(
        "measures of trees",
        4.0,
        ("trees", "inference.transition.covington", "inference.transition.attardi.machine"),
    ),
    "train": Part(
        "training",
        30.0,
        (
            "text",
            "models",
            "learning",
            "trees",
            "inference.runtime",
            "inference.projective.first_order",
            "inference.spanning.matrix_tree.sums",
        ),
    ),
    "inference": Part("inference", 112.0, ("inference",)),
}


def room_of(module: str) -> str:
    """The room that a module belongs to."""
    return max((name for name in ROOMS if _is_below(module, name)), key=len)


def kernel_modules(parts: Sequence[str] = ()) -> list[str]:
    """Modules that define kernels: all, or those of some parts."""
    found = sorted(_kernel_modules(_PACKAGE, importlib.import_module(_PACKAGE).__path__))
    return [one for one in found if not parts or any(PARTS[part].has(one) for part in parts)]


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
