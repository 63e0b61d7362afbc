"""Files here or elsewhere: paths, and URLs such as `s3://bucket/a.txt` by fsspec."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from crossarc.errors import CrossarcError
from crossarc.treebank import open_output

__all__ = [
    "check_input",
    "exists",
    "folder_of",
    "is_url",
    "join",
    "make_folder",
    "matching",
    "name_of",
    "open_input",
    "remove",
    "write_whole",
    "written",
]


def is_url(path: str) -> bool:
    """Whether a path names its file system."""
    return "://" in path


def _system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there."""
    try:
        import fsspec
    except ImportError:
        raise CrossarcError(
            f"{url}: URLs need fsspec: pip install 'crossarc[ray]', or fetch the file"
        ) from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise CrossarcError(f"{url}: {error}; check the URL, or fetch the file") from None
    return system, path


def open_input(path: str) -> IO[bytes]:
    """A file to read from."""
    if not is_url(path):
        return Path(path).open("rb")
    system, inner = _system(path)
    return cast(IO[bytes], system.open(inner, "rb"))


def check_input(path: str) -> None:
    """Raise an OSError unless there is such a file."""
    if not is_url(path):
        Path(path).stat()
    elif not exists(path):
        raise FileNotFoundError(2, "No such file or directory", path)


def exists(path: str) -> bool:
    """Whether there is such a file or folder."""
    if not is_url(path):
        return Path(path).exists()
    system, inner = _system(path)
    return bool(system.exists(inner))


def matching(pattern: str) -> list[str]:
    """The files that a URL with `*` stands for, sorted; of another path, the path itself."""
    if not is_url(pattern) or "*" not in pattern:
        return [pattern]
    system, inner = _system(pattern)
    return [str(system.unstrip_protocol(path)) for path in sorted(system.glob(inner))]


def join(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return f"{folder.rstrip('/')}/{name}" if is_url(folder) else os.path.join(folder, name)


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/").rpartition("/")[2] if is_url(path) else Path(path).name


def folder_of(path: str) -> str:
    """The folder that a path lies in."""
    return path.rstrip("/").rpartition("/")[0] if is_url(path) else str(Path(path).parent)


def make_folder(path: str) -> None:
    """Make a folder and those above it, unless they are there."""
    if is_url(path):
        system, inner = _system(path)
        system.makedirs(inner, exist_ok=True)
    else:
        Path(path).mkdir(parents=True, exist_ok=True)


def remove(path: str) -> None:
    """Remove a file, if it is there."""
    if not is_url(path):
        Path(path).unlink(missing_ok=True)
        return
    system, inner = _system(path)
    with contextlib.suppress(FileNotFoundError):
        system.rm_file(inner)


@contextmanager
def written(path: str) -> Iterator[str | IO[bytes]]:
    """What to hand to `write_conllu`: the file appears under its name when all is written.

    Elsewhere it is written under another name and moved; an object store shows what is complete
    only, and its move is a copy.
    """
    if not is_url(path):
        yield path
        return
    system, inner = _system(path)
    partial = f"{inner}.{uuid.uuid4().hex}.part"
    try:
        with system.open(partial, "wb") as file:
            yield file
        system.mv(partial, inner)
    except BaseException:
        with contextlib.suppress(OSError):
            system.rm_file(partial)
        raise


def write_whole(path: str, data: bytes) -> None:
    """Write a small file, whole or not at all."""
    with written(path) as target, open_output(target, compress=False) as write:
        write(data)
