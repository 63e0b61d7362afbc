"""What is finished: a record beside the outputs, by which a run that was stopped goes on.

Each output in a folder has a record in its hidden folder `.crossarc`, a JSON file that appears
after the output and names it, its input, the model and the options by their checksums. Several
runs, on several machines, can share a folder: no two write the same record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, cast

from crossarc.scale.paths import exists, join, make_folder, name_of, open_input, write_whole

__all__ = ["Manifest", "Record", "checksum", "recipe"]

_FOLDER = ".crossarc"


@dataclass(frozen=True, slots=True)
class Record:
    """A finished output.

    Attributes:
        input, output: paths.
        input_digest, output_digest: SHA-256 of what they held.
        recipe: the checksum of model and options, see `recipe`.
        sentences, words: written.
        skipped: sentences of the input that are not valid.
        set_aside: sentences that could not be parsed.
    """

    input: str
    input_digest: str
    recipe: str
    output: str
    output_digest: str
    sentences: int
    words: int
    skipped: int
    set_aside: int


class Manifest:
    """The records of a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = join(folder, _FOLDER)

    def add(self, record: Record) -> None:
        """Remember that an output is finished."""
        make_folder(self._folder)
        text = json.dumps(asdict(record), indent=1, ensure_ascii=False)
        write_whole(self._path(record.output), f"{text}\n".encode())

    def finished(self, input: str, output: str, recipe: str) -> Record | None:
        """The record of an output that need not be made again.

        It was made of the same input by the same model with the same options, and is still what it
        was.
        """
        record = self.read(output)
        if record is None or record.recipe != recipe or not exists(output):
            return None
        same = record.input_digest == checksum(input) and record.output_digest == checksum(output)
        return record if same else None

    def read(self, output: str) -> Record | None:
        """The record of an output, whether it still holds or not."""
        path = self._path(output)
        if not exists(path):
            return None
        try:
            with open_input(path) as file:
                found = json.loads(file.read())
            return Record(**{one.name: found[one.name] for one in fields(Record)})
        except (ValueError, KeyError, TypeError):
            return None

    def _path(self, output: str) -> str:
        return join(self._folder, f"{name_of(output)}.json")


def checksum(path: str) -> str:
    """SHA-256 of a file, as it lies there."""
    with open_input(path) as file:
        return hashlib.file_digest(cast(Any, file), "sha256").hexdigest()


def recipe(model: str, options: Mapping[str, Any]) -> str:
    """The checksum of a model file and of options, without those that do not change the output."""
    made_by = [checksum(model), sorted(options.items())]
    return hashlib.sha256(json.dumps(made_by).encode()).hexdigest()
