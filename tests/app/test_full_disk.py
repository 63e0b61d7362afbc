"""A disk that is full: one line that names the file, and what was there before stays whole."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.shell import COMMAND, crossarc

from crossarc import Parser, write_conllu
from crossarc.treebank import sample

PRECIOUS = b"precious"
ROOM = 64 * 1024


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "sample"
    assert crossarc("train", "@sample", "-o", path, "--passes", 1).returncode == 0
    return path


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Larger than the room there is, even when compressed."""
    path = tmp_path_factory.mktemp("treebank") / "large.conllu"
    write_conllu(sample() * 40, path)
    return path


@dataclass
class FullDisk:
    """A folder with little room, and what the system says when there is none left."""

    folder: Path
    error: str
    largest_file: int | None = None


@pytest.fixture(params=["device", "limit"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FullDisk]:
    """A small file system where one can be mounted, and a limit on the size of files anywhere."""
    if request.param == "limit":
        yield FullDisk(tmp_path, "File too large", ROOM)
        return
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    try:
        subprocess.run(mounting, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no right to mount a small file system; a limit on file sizes is tested")
    try:
        yield FullDisk(folder, "No space left on device")
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", ["out.conllu", "out.conllu.gz"])
def test_parse_leaves_the_old_file(disk: FullDisk, model: Path, treebank: Path, name: str) -> None:
    output = disk.folder / name
    output.write_bytes(PRECIOUS)
    done = crossarc("parse", "-m", model, treebank, "-o", output, largest_file=disk.largest_file)
    assert done.returncode == 1
    remedy = "make room or write elsewhere"
    assert done.stderr.decode() == f"crossarc: {output}: {disk.error}; {remedy}\n"
    assert output.read_bytes() == PRECIOUS
    assert list(disk.folder.iterdir()) == [output]


def test_train_leaves_the_old_file(disk: FullDisk, tmp_path: Path) -> None:
    """And the new model is saved where there is room."""
    output, spare = disk.folder / "model", tmp_path / "spare"
    output.write_bytes(PRECIOUS)
    spare.mkdir()
    arguments = ("train", "@sample", "-o", output, "--passes", 1)
    done = crossarc(*arguments, env={"TMPDIR": str(spare)}, largest_file=disk.largest_file)
    assert done.returncode == 1
    assert output.read_bytes() == PRECIOUS
    saved = list(spare.glob("*/model"))
    if disk.largest_file is None:
        place = f"the model is in {saved[0]}: move it where there is room"
        assert Parser.load(saved[0]).training["words"] == 1008
    else:
        place = "make room or write elsewhere"
        assert list(spare.iterdir()) == []
    assert done.stderr.decode() == f"crossarc: {output}: {disk.error}; {place}\n"
    assert [path for path in disk.folder.iterdir() if path != spare] == [output]


def test_standard_output(model: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, "parse", "-m", model, "@sample"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"crossarc: No space left on device; make room or write elsewhere\n"
