"""What a kernel is compiled from: a digest of source files, and names for functions of factories.

The machine code of a kernel depends on its own module and on what that module imports: sub-kernels,
intrinsics, types, constants. These come by imports at the top level of modules, so those are
followed, from module to module, and whole files are digested: it is simple, and an edit that did
not matter costs some seconds once. Imports that are indented, inside functions or below `if
TYPE_CHECKING`, are not followed; nothing that is compiled may come from there (`linking` refuses
such sub-kernels). So an import of a large module makes a kernel depend on all of it; one that only
Python code needs can stand inside the function.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.extending import _Intrinsic

__all__ = ["dependencies", "digest", "identity", "imports", "keep_source", "source_size"]

_PACKAGE = __name__.partition(".")[0]
_IMPORT = re.compile(rb"^from +([\w.]+) +import +(\([^)]*\)|.*)|^import +(.*)", re.MULTILINE)
_NAME = re.compile(r"([\w.]+)(?: +as +\w+)?")


def imports(source: bytes, package: str) -> Iterator[tuple[str, str]]:
    """Pairs (module, name) of what a source imports at the left margin; no name for `import`."""
    for module, names, modules in _IMPORT.findall(source):
        found = _NAME.findall(re.sub(r"#.*", "", (names or modules).decode()))
        if modules:
            yield from ((name, "") for name in found)
        else:
            whole = importlib.util.resolve_name(module.decode(), package)
            yield from ((whole, name) for name in found)


@functools.cache
def _source(module: str) -> bytes | None:
    """The source of a module, as its loader has it: in a folder, a wheel or a zip file."""
    spec: Any = sys.modules[module].__spec__
    try:
        source: bytes = spec.loader.get_data(spec.origin)
    except (AttributeError, OSError):
        return None
    return source


def keep_source(module: str) -> None:
    """Read a module's source now, while it is the one in memory."""
    _source(module)


@functools.cache
def _needed(module: str) -> frozenset[str]:
    """The modules of this package, and of the module's own, that a module imports."""
    spec: Any = sys.modules[module].__spec__
    followed = {_PACKAGE, module.partition(".")[0]}
    found = set()
    for source, name in imports(_source(module) or b"", spec.parent if spec else ""):
        if source.partition(".")[0] in followed:
            inner = f"{source}.{name}"
            found.add(inner if inner in sys.modules else source)
    return frozenset(found & sys.modules.keys())


@functools.cache
def dependencies(module: str) -> frozenset[str]:
    """A module and all that it imports, directly or not."""
    found: set[str] = set()
    waiting = {module}
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= _needed(name) - found
    return frozenset(found)


@functools.cache
def digest(module: str) -> str | None:
    """Of the sources of a module and of all that it imports; None where a source is missing.

    It is computed when the first kernel of a module is defined: an edit of a file afterwards is not
    in the code in memory.
    """
    whole = hashlib.sha256()
    for name in sorted(dependencies(module)):
        source = _source(name)
        if source is None:
            return None
        whole.update(name.encode() + b"\0" + hashlib.sha256(source).digest())
    return whole.hexdigest()[:16]


def source_size(module: str) -> int:
    """Bytes of the sources of a module and of all that it imports, this package left out."""
    own = __name__.rpartition(".")[0]
    needed = [name for name in dependencies(module) if not name.startswith(own)]
    return sum(len(_source(name) or b"") for name in needed)


def identity(value: Any) -> str:
    """A text that tells functions of a factory apart by what they close over.

    It is the same in every process. Numba numbers functions of one name, in each process anew; code
    from the cache could then be linked to other code of its name and number.
    """
    if isinstance(value, (Dispatcher, _Intrinsic)):
        return identity(value.py_func if isinstance(value, Dispatcher) else value._defn)
    if isinstance(value, (tuple, list)):
        return "(" + ",".join(map(identity, value)) + ")"
    if isinstance(value, dict):
        return identity(sorted((repr(key), item) for key, item in value.items()))
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (type, ModuleType)):
        return repr(value)
    if code := getattr(value, "__code__", None):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        bytecode = hashlib.sha256(code.co_code).hexdigest()
        own = f"{value.__module__}.{value.__qualname__}:{code.co_firstlineno}:{bytecode}"
        return own + identity([*cells, *(value.__defaults__ or ())])
    if not isinstance(value, types.Type) and hasattr(value, "__dict__"):
        return identity([type(value), vars(value)])
    if " at 0x" in repr(value):
        raise TypeError(f"a kernel cannot close over {value!r}: it has no name that stays the same")
    return repr(value)
