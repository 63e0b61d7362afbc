"""Compiled kernels: the decorators `@kernel` and `@subkernel`.

A kernel states its signature, so it exists in exactly one version. It is compiled by its first call
after an installation or a change of its sources, and read from the cache by the first call in each
later program: nobody waits for kernels that are not used. Parts of kernels are sub-kernels, linked
into them. Arrays that a kernel only reads are declared with a read-only type, which accepts
writable arrays too. Kernels do not recurse: recursion together with a kernel cache crashes Numba.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba import types

from crossarc.kernels.cache import KernelCache
from crossarc.kernels.linking import KernelCompiler, SubkernelDispatcher
from crossarc.kernels.sources import digest, identity, keep_source

__all__ = ["READ_BOOL", "READ_FLOAT", "READ_INT", "Kernel", "kernel", "kernels_of", "subkernel"]

F = TypeVar("F", bound=Callable[..., Any])

READ_INT = types.Array(types.int64, 1, "C", readonly=True)
READ_BOOL = types.Array(types.boolean, 1, "C", readonly=True)
READ_FLOAT = types.Array(types.float64, 1, "C", readonly=True)

# What vector instructions need to know: sums may be taken in another order and products fused.
# NaN and infinity keep their meaning.
_REORDERED = {"reassoc", "contract", "nsz", "arcp"}


class Kernel:
    """A function for one signature, compiled by the first call."""

    __qualname__: str

    def __init__(self, function: Callable[..., Any], signature: Any, reorder: bool) -> None:
        functools.update_wrapper(self, function)
        self.signature = signature
        self._function, self._reorder = function, reorder
        self._sources = digest(function.__module__)
        self._lock = threading.Lock()
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Compute, after compiling if need be."""
        return (self._compiled or self.compile())(*arguments)

    @property
    def is_ready(self) -> bool:
        """Whether it was compiled or read from the cache."""
        return self._compiled is not None

    def compile(self) -> Callable[..., Any]:
        """Compile now, or read from the cache, unless that was done."""
        with self._lock:
            if self._compiled is None:
                options = _options(self._reorder) | {"no_cfunc_wrapper": True}
                made = numba.njit(pipeline_class=KernelCompiler, **options)(self._function)
                made._cache = KernelCache(self._function, self._sources)
                with _without_collector():
                    made.compile(self.signature)
                made.disable_compile()
                self._compiled = made
        return self._compiled


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """The compiler makes many objects that stay; to search them for garbage takes a tenth more."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# The kernels of each module by name and signature, and the spec of the module, which is another one
# when the module is loaded again.
_KERNELS: dict[str, tuple[Any, dict[tuple[str, str], Kernel]]] = {}


def kernels_of(module: str) -> list[Kernel]:
    """The kernels that a module has defined."""
    return list(_KERNELS[module][1].values()) if module in _KERNELS else []


def _register(made: Kernel, spec: Any) -> None:
    known = _KERNELS.get(made.__module__)
    if known is None or known[0] is not spec:
        known = _KERNELS[made.__module__] = spec, {}
    key = made.__qualname__, str(made.signature)
    if key in known[1]:
        raise ValueError(
            f"{made.__module__} has two kernels {key[0]} with one signature: "
            "give them different names, kernel(..., name=...)"
        )
    known[1][key] = made


def kernel(signature: Any, *, name: str | None = None, reorder: bool = False) -> Callable[[F], F]:
    """Compile a function for one signature, at its first call; cached on disk, releasing the GIL.

    One function may become several kernels:

        one = kernel(ONE_SENTENCE, name="solve_one")(solve)
        eight = kernel(EIGHT_SENTENCES, name="solve_eight")(solve)

    Args:
        name: of the kernel, its machine code and its file in the cache; else the function's.
        reorder: whether sums of floats may be taken in another order, for vector instructions.
    """

    def decorate(function: F) -> F:
        own = cast(FunctionType, function)
        made = Kernel(_named(own, name), signature, reorder)
        _register(made, own.__globals__.get("__spec__"))
        return cast(F, made)

    return decorate


def subkernel(*, reorder: bool = False, inline: bool = False) -> Callable[[F], F]:
    """A function that only kernels call: linked into them, with no machine code of its own.

    Args:
        reorder: as for `kernel`.
        inline: whether its instructions must stand where it is called, whatever their number: for
            the innermost of many short loops, where a call costs as much as the work.
    """

    def decorate(function: F) -> F:
        own = cast(FunctionType, function)
        keep_source(own.__module__)
        options = _options(reorder) | {"forceinline": inline}
        return cast(F, SubkernelDispatcher(_named(own), options))

    return decorate


def _named(function: FunctionType, name: str | None = None) -> FunctionType:
    """A function under a name of its own, which is also that of its machine code.

    All functions that a factory makes have the same name; what they have closed over tells them
    apart.
    """
    if name is None and function.__closure__:
        closed = hashlib.sha256(identity(function).encode()).hexdigest()[:8]
        name = f"{function.__qualname__}-{closed}"
    if name is None:
        return function
    copy = FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    functools.update_wrapper(copy, function, assigned=("__module__", "__doc__", "__annotations__"))
    del copy.__dict__["__wrapped__"]
    copy.__qualname__ = name
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _options(reorder: bool) -> dict[str, Any]:
    fastmath = _REORDERED if reorder else False
    return {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
