"""Compiled kernels on disk, in files whose names say what they were compiled from.

The name of a file holds the kernel, the versions of Python and Numba, the processor, the signature
and the digest of all sources (`sources.digest`). So a file is right or is not looked at, there is
no index to keep, and processes need not wait for each other: files appear whole, by renaming.
Saving a kernel removes what older sources have left.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import pickle
import sys
import uuid
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

__all__ = ["KernelCache"]

_PYTHON = f"{sys.implementation.cache_tag}-numba{numba.__version__}"


class KernelCache(NullCache):  # type: ignore[misc]  # numba has no type information
    """The files of one kernel.

    They are written where Numba's own cache would be: in `NUMBA_CACHE_DIR`, else in `__pycache__`
    beside the source, else in the user's folder of caches. They are also read from a `__pycache__`
    that may not be written: that of an image whose builder ran `crossarc warmup`. Where nothing can
    be written, or no source be read, each process compiles for itself.
    """

    def __init__(self, function: Any, sources: str | None) -> None:
        self._module = function.__module__
        name = f"{self._module}.{function.__qualname__}"
        self._name = name.replace("<", "").replace(">", "")
        self._sources = sources
        self._folder: Path | None = None
        self._other_folders: list[Path] = []
        if sources is None:
            return
        if not config.CACHE_DIR:
            self._other_folders.append(Path(function.__code__.co_filename).parent / "__pycache__")
        with contextlib.suppress(RuntimeError):  # Numba has found no folder
            self._format = CompileResultCacheImpl(function)
            self._folder = Path(self._format.locator.get_cache_path())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for a signature; None if it is to be compiled."""
        target_context.refresh()
        file = self._file(sig, target_context.codegen())
        for folder in filter(None, (self._folder, *self._other_folders)):
            with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
                data = pickle.loads((folder / file).read_bytes())
                return CompileResult._rebuild(target_context, *data)
        _announcer().begin(self._module)
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Write what was compiled, if there is a place for it."""
        _announcer().end()
        if self._folder is None or not self._format.check_cachable(cres):
            return
        data = dumps(cres._reduce())
        path = self._folder / self._file(sig, cres.codegen)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            _write(path, data)
            kept = self._stem(cres.codegen)
            for old in self._folder.glob(glob.escape(kept) + "*.nbc"):
                if not old.name.startswith(f"{kept}{self._sources}-"):
                    old.unlink(missing_ok=True)

    def _stem(self, codegen: Any) -> str:
        return f"{self._name}-{_PYTHON}-{_hash(llvmlite.__version__, codegen.magic_tuple())}-"

    def _file(self, sig: Any, codegen: Any) -> str:
        return f"{self._stem(codegen)}{self._sources}-{_hash(sig)}.nbc"


def _announcer() -> Any:
    # Not imported above: kernels do not depend on what is said about them.
    from crossarc.kernels.announcement import announcer

    return announcer


def _hash(*values: Any) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:8]


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(f".{uuid.uuid4().hex[:8]}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
