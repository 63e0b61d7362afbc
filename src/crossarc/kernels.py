"""Compiled kernels: the `@kernel` decorator and the list that `crossarc warmup` compiles.

A kernel states its signature, so it exists in exactly one version. It is compiled by its first call
after an installation, and read from the cache by the first call in each later program: nobody waits
for kernels that are not used. Parts of kernels are sub-kernels, compiled into them. Arrays that a
kernel only reads are declared with a read-only type, which accepts writable arrays too. Kernels do
not recurse: recursion together with a kernel cache crashes Numba.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core import event

__all__ = [
    "KERNEL_MODULES",
    "READ_BOOL",
    "READ_FLOAT",
    "READ_INT",
    "compile_kernels",
    "kernel",
    "subkernel",
    "warmup",
]

F = TypeVar("F", bound=Callable[..., Any])

READ_INT = types.Array(types.int64, 1, "C", readonly=True)
READ_BOOL = types.Array(types.boolean, 1, "C", readonly=True)
READ_FLOAT = types.Array(types.float64, 1, "C", readonly=True)

KERNEL_MODULES = (
    "crossarc.trees.measures",
    "crossarc.text.decisions",
    "crossarc.text.descent",
    "crossarc.text.questions",
    "crossarc.inference.runtime.packing",
    "crossarc.inference.forest.distinct",
    "crossarc.inference.forest.expectation",
    "crossarc.inference.forest.inside",
    "crossarc.inference.forest.kbest",
    "crossarc.inference.forest.sampling",
    "crossarc.inference.forest.slopes",
    "crossarc.inference.forest.viterbi",
    "crossarc.inference.questions.centring",
    "crossarc.inference.projective.eisner_best",
    "crossarc.inference.projective.eisner_envelope",
    "crossarc.inference.projective.eisner_plain",
    "crossarc.inference.projective.eisner_wide",
    "crossarc.inference.projective.first_order",
    "crossarc.inference.projective.short_alone",
    "crossarc.inference.projective.short_together",
    "crossarc.inference.projective.sibling",
    "crossarc.inference.projective.sibling_best_alone",
    "crossarc.inference.projective.sibling_best_together",
    "crossarc.inference.projective.sibling_pack",
    "crossarc.inference.projective.sibling_sums_alone",
    "crossarc.inference.projective.sibling_sums_together",
    "crossarc.inference.projective.sibling_wide",
    "crossarc.inference.spanning.edmonds.argmax",
    "crossarc.inference.spanning.edmonds.kbest",
    "crossarc.inference.spanning.edmonds.max_marginals",
    "crossarc.inference.spanning.matrix_tree.derivatives",
    "crossarc.inference.spanning.matrix_tree.pairs",
    "crossarc.inference.spanning.matrix_tree.sums",
    "crossarc.inference.spanning.sampling.insertion",
    "crossarc.inference.spanning.sampling.sampler",
    "crossarc.inference.spanning.sampling.wilson",
    "crossarc.inference.spanning.sampling.without_replacement",
    "crossarc.inference.transition.covington",
    "crossarc.inference.runtime.work_queue",
    "crossarc.learning.rules",
    "crossarc.models.arc_gradients",
    "crossarc.models.arcs",
    "crossarc.models.covington.beam",
    "crossarc.models.covington.beam_learning",
    "crossarc.models.covington.greedy",
    "crossarc.models.covington.learning",
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


class _Kernel:
    """A function for one signature, compiled by the first call."""

    def __init__(self, function: Callable[..., Any], signature: Any, reorder: bool) -> None:
        functools.update_wrapper(self, function)
        self._function, self._signature, self._reorder = function, signature, reorder
        self._lock = threading.Lock()
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self.compile())(*arguments)

    def compile(self) -> Callable[..., Any]:
        """Compile now, or read from the cache, unless that was done."""
        with self._lock:
            if self._compiled is None:
                options = _options(self._reorder)
                self._compiled = numba.njit(self._signature, cache=True, **options)(self._function)
        return self._compiled


_KERNELS: defaultdict[str, list[_Kernel]] = defaultdict(list)


def kernel(signature: Any, *, reorder: bool = False) -> Callable[[F], F]:
    """Compile a function for one signature, at its first call; cached on disk, releasing the GIL.

    Args:
        reorder: whether sums of floats may be taken in another order, for vector instructions.
    """

    def decorate(function: F) -> F:
        made = _Kernel(function, signature, reorder)
        _KERNELS[function.__module__].append(made)
        return cast(F, made)

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


def compile_kernels(module: str) -> None:
    """Compile the kernels of one module, or read them from the cache."""
    importlib.import_module(module)
    for one in _KERNELS[module]:
        one.compile()


def warmup() -> float:
    """Compile every kernel, or read it from the cache; returns the seconds it took."""
    start = time.perf_counter()
    for module in KERNEL_MODULES:
        compile_kernels(module)
    return time.perf_counter() - start
