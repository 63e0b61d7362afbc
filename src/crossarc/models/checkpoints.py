"""Checkpoints of training: written after each pass, resumed from, and removed at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.storage import read_model, write_model

__all__ = ["Checkpoint", "joined", "section"]

Arrays = dict[str, NDArray[Any]]


class Checkpoint:
    """A file with the state of one training.

    Args:
        path: None for no file: nothing is written, nothing is found.
        identity: what must be the same for a training to resume, for JSON.
    """

    def __init__(self, path: str | None, identity: Mapping[str, Any]) -> None:
        self._path, self._identity = path, dict(identity)

    def save(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Write the state, whole or not at all."""
        if self._path is not None:
            write_model(self._path, arrays, {**state, "training": self._identity})

    def load(self) -> tuple[Arrays, dict[str, Any]] | None:
        """What was saved last, if anything was.

        Raises:
            ModelError: it is of another training.
        """
        if self._path is None or not Path(self._path).exists():
            return None
        arrays, state = read_model(self._path)
        if state.get("training") != self._identity:
            raise ModelError(
                f"{self._path}: a checkpoint of another training: remove it, or name another file"
            )
        return arrays, state

    def remove(self) -> None:
        """Training has ended."""
        if self._path is not None:
            Path(self._path).unlink(missing_ok=True)


def joined(**sections: Mapping[str, NDArray[Any]]) -> Arrays:
    """Arrays of several names as one mapping: `section` takes it apart."""
    return {
        f"{name}.{part}": array
        for name, arrays in sections.items()
        for part, array in arrays.items()
    }


def section(arrays: Mapping[str, NDArray[Any]], name: str) -> Arrays:
    """The arrays that were joined under a name."""
    prefix = f"{name}."
    return {
        part.removeprefix(prefix): array
        for part, array in arrays.items()
        if part.startswith(prefix)
    }
