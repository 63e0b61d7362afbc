"""Models that come with crossarc, by name."""

from __future__ import annotations

import os
from pathlib import Path

from crossarc.errors import ModelError

__all__ = ["find_model", "shipped_models"]

_FOLDER = Path(__file__).parent / "shipped"
_SUFFIX = ".crossarc"


def shipped_models() -> tuple[str, ...]:
    """Names of the models that come with crossarc, such as "en"."""
    return tuple(sorted(path.stem for path in _FOLDER.glob(f"*/*{_SUFFIX}")))


def find_model(path_or_name: str | os.PathLike[str]) -> Path:
    """The file of a model; a name that is also that of a file means the file.

    Raises:
        ModelError: there is no such file, and no model of that name.
    """
    path = Path(path_or_name)
    if path.is_file():
        return path
    name = os.fspath(path_or_name)
    shipped = _FOLDER / name / f"{name}{_SUFFIX}"
    if name in shipped_models():
        return shipped
    names = ", ".join(shipped_models())
    known = f"; the models that come with crossarc: {names}" if names else ""
    raise ModelError(f"{name}: no such model file; check the path{known}")
