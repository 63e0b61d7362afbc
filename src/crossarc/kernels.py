"""Compiled kernels: the `@kernel` decorator and the list that `crossarc warmup` compiles.

A kernel states its signature, so it exists in exactly one version, compiled when its module is
first imported and read from the cache afterwards. Parts of kernels are sub-kernels, which cost
nothing to load. Arrays that a kernel only reads are declared
with a read-only type, which accepts writable arrays too. Kernels do not recurse: recursion
together with a kernel cache crashes Numba.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import types
from numba.core import event

__all__ = ["KERNEL_MODULES", "READ_BOOL", "READ_FLOAT", "READ_INT", "kernel", "subkernel", "warmup"]

F = TypeVar("F", bound=Callable[..., Any])

READ_INT = types.Array(types.int64, 1, "C", readonly=True)
READ_BOOL = types.Array(types.boolean, 1, "C", readonly=True)
READ_FLOAT = types.Array(types.float64, 1, "C", readonly=True)

KERNEL_MODULES = (
    "crossarc.trees.measures",
    "crossarc.text.decisions",
    "crossarc.text.descent",
    "crossarc.text.questions",
    "crossarc.inference.packing",
    "crossarc.inference.forest.distinct",
    "crossarc.inference.forest.expectation",
    "crossarc.inference.forest.inside",
    "crossarc.inference.forest.kbest",
    "crossarc.inference.forest.sampling",
    "crossarc.inference.forest.viterbi",
    "crossarc.inference.projective.eisner_best",
    "crossarc.inference.projective.eisner_sums",
    "crossarc.inference.projective.eisner_wide",
    "crossarc.inference.projective.first_order",
    "crossarc.inference.projective.sibling",
    "crossarc.inference.projective.sibling_best_alone",
    "crossarc.inference.projective.sibling_best_together",
    "crossarc.inference.projective.sibling_pack",
    "crossarc.inference.projective.sibling_sums_alone",
    "crossarc.inference.projective.sibling_sums_together",
    "crossarc.inference.projective.sibling_wide",
    "crossarc.inference.spanning.argmax",
    "crossarc.inference.spanning.plain.alone",
    "crossarc.inference.spanning.plain.together",
    "crossarc.inference.spanning.second_best",
    "crossarc.inference.spanning.wide_infer",
    "crossarc.inference.transition.covington",
    "crossarc.learning.rules",
    "crossarc.models.arc_gradients",
    "crossarc.models.arcs",
    "crossarc.models.label_gradients",
    "crossarc.models.labels",
    "crossarc.models.tagging.lemma_kernels",
    "crossarc.models.tagging.lemma_training",
    "crossarc.models.tagging.perceptron",
    "crossarc.models.tagging.perceptron_training",
    "crossarc.models.tagging.words",
)


class _Announcement(event.Listener):  # type: ignore[misc]  # numba has no type information
    """Says once, on a terminal, why the first call after an installation takes seconds."""

    def __init__(self) -> None:
        self.pending = True

    def on_start(self, event: Any) -> None:
        if self.pending and sys.stderr.isatty():
            print("crossarc: compiling kernels, once per installation ...", file=sys.stderr)
        self.pending = False

    def on_end(self, event: Any) -> None:
        """Compilation ends silently."""


event.register("numba:compile", _Announcement())


# What vector instructions need to know: sums may be taken in another order and products fused.
# NaN and infinity keep their meaning.
_REORDERED = {"reassoc", "contract", "nsz", "arcp"}


def kernel(signature: Any, *, reorder: bool = False) -> Callable[[F], F]:
    """Compile a function for one signature; cached on disk, releasing the GIL.

    Args:
        reorder: whether sums of floats may be taken in another order, for vector instructions.
    """

    def decorate(function: F) -> F:
        compiled: F = numba.njit(signature, cache=True, **_options(reorder))(function)
        return compiled

    return decorate


def subkernel(*, reorder: bool = False, inline: bool = False) -> Callable[[F], F]:
    """A function that only kernels call: compiled into them, and not loaded by itself.

    Args:
        reorder: as for `kernel`.
        inline: whether its instructions must stand where it is called, whatever their number: for
            the innermost of many short loops, where a call costs as much as the work.
    """

    def decorate(function: F) -> F:
        dispatcher: Any = numba.njit(**_options(reorder), forceinline=inline)(function)
        resolve = dispatcher.get_call_template
        # Constants among the arguments would each make another version to compile.
        dispatcher.get_call_template = lambda args, named: resolve(
            tuple(map(types.unliteral, args)), named
        )
        compiled: F = dispatcher
        return compiled

    return decorate


def _options(reorder: bool) -> dict[str, Any]:
    fastmath = _REORDERED if reorder else False
    return {"nogil": True, "error_model": "numpy", "fastmath": fastmath}


def warmup() -> float:
    """Compile every kernel, or read it from the cache; returns the seconds it took."""
    start = time.perf_counter()
    for module in KERNEL_MODULES:
        importlib.import_module(module)
    return time.perf_counter() - start
