"""Files appear whole or not at all."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import crossarc as ca
from crossarc.treebank import sample

BOM = b"\xef\xbb\xbf"
ROW = b"1\ta\t_\t_\t_\t_\t0\t_\t_\t_"


def failing() -> Iterator[ca.Sentence]:
    yield from sample()[:3]
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["out.conllu", "out.conllu.gz"])
def test_an_interruption_leaves_the_old_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("precious")
    with pytest.raises(KeyboardInterrupt):
        ca.write_conllu(failing(), path)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == [name]


def test_an_interruption_leaves_nothing_new(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ca.write_conllu(failing(), tmp_path / "new.conllu")
    assert os.listdir(tmp_path) == []


def test_a_file_may_be_read_while_it_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "same.conllu"
    ca.write_conllu(sample(), path)
    before = path.read_bytes()
    ca.write_conllu(ca.read_conllu(path), path)
    assert path.read_bytes() == before


def test_links_and_modes_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "target.conllu", tmp_path / "link.conllu"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    ca.write_conllu(sample(), link)
    assert link.is_symlink()
    assert target.read_bytes() == b"".join(bytes(sentence) for sentence in sample())
    assert target.stat().st_mode & 0o777 == 0o640


def test_devices_are_written_to_directly() -> None:
    assert ca.write_conllu(sample(), os.devnull) == len(sample())
    assert not Path(os.devnull).is_file()


def test_errors_of_writing_name_the_file() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        ca.write_conllu(sample(), "/dev/full")


def test_errors_of_reading_do_not(tmp_path: Path) -> None:
    def lost() -> Iterator[ca.Sentence]:
        yield sample()[0]
        raise OSError("the line is dead")

    with pytest.raises(OSError, match=r"^the line is dead$"):
        ca.write_conllu(lost(), tmp_path / "out.conllu.gz")


def test_text_files(tmp_path: Path) -> None:
    output = io.StringIO()
    ca.write_conllu(sample(), output)
    assert output.getvalue().encode() == b"".join(bytes(sentence) for sentence in sample())


def test_sentences_from_several_files_stay_apart() -> None:
    """Byte-order marks stay at the front, missing line breaks are filled in."""
    (marked,) = ca.read_conllu(io.BytesIO(BOM + ROW))
    (closed,) = ca.read_conllu(io.BytesIO(BOM + ROW + b"\n"))
    (whole,) = ca.read_conllu(io.BytesIO(ROW + b"\n\n"))
    output = io.BytesIO()
    ca.write_conllu([whole, marked, closed, marked], output)
    assert output.getvalue() == ROW + (b"\n\n" + ROW) * 3
    output = io.BytesIO()
    ca.write_conllu([marked, whole], output)
    assert output.getvalue() == BOM + ROW + b"\n\n" + ROW + b"\n\n"
