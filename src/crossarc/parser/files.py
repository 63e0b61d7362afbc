"""Parsers in files: by path, or by the name of one that comes with crossarc."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crossarc import beside
from crossarc.errors import ModelError
from crossarc.models.checks import Fields, restoring
from crossarc.models.kinds import OptionError, find_kind, kind_names, quoted
from crossarc.models.storage import read_model, write_model
from crossarc.models.tagger import Tagger
from crossarc.text import Tokenizer

__all__ = ["find_model", "read_parts", "shipped_models", "write_parts"]

_FOLDER = Path(__file__).parent / "shipped"
# What `repr` shows of the training, where it is known.
_TRAINED = {"sentences", "words", "las", "uas"}
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


def write_parts(
    path: str | os.PathLike[str], parts: Mapping[str, Any], about: Mapping[str, Any]
) -> None:
    """Write the parts of a parser, which have `tensors()` and `metadata()`, and other metadata."""
    tensors = {
        f"{name}.{key}": array
        for name, part in parts.items()
        for key, array in part.tensors().items()
    }
    write_model(
        path, tensors, {**about, "parts": {name: one.metadata() for name, one in parts.items()}}
    )


def read_parts(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts of a parser, by name, and all metadata.

    Raises:
        ModelError: a file that cannot be used.
    """
    tensors, metadata = read_model(path)
    try:
        kind = find_kind(str(metadata.get("kind")))
    except OptionError:
        raise ModelError(
            f"{path}: no parser of the kind {quoted(kind_names())}: use another model"
        ) from None
    restore: dict[str, Callable[..., Any]] = {
        "model": kind.restore,
        "tagger": Tagger.restore,
        "tokenizer": Tokenizer.restore,
    }
    parts = {}
    with restoring(path):
        described = Fields(metadata)
        for name in ("projective", "training"):
            (described.flag if name == "projective" else described.fields)(name)
        described.choice("root", ("single", "multi"))
        training = Fields(described.fields("training"), "training")
        for name in _TRAINED.intersection(described.fields("training")):
            training.number(name)
        given = Fields(described.fields("parts"), "parts")
        for name in dict.fromkeys(["model", *described.fields("parts")]):
            own = {
                key.partition(".")[2]: array
                for key, array in tensors.items()
                if key.partition(".")[0] == name
            }
            parts[name] = restore[name](own, dict(given.fields(name)))
    beside.expect(getattr(parts["model"], "slow_kernels", ()))
    return parts, metadata
