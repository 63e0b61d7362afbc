"""Jobs over many files that are killed, interrupted, left without room or readers, and resumed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.processes import descendants, end_of, wait_until
from support.shell import COMMAND, crossarc

from crossarc import write_conllu
from crossarc.treebank import sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")

FILES, COPIES = 4, 8


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs of several batches."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(FILES):
        write_conllu(sample()[number:] * COPIES, folder / f"{number}.conllu")
    return folder


def arguments(place: Path, output: Path, *more: object) -> list[str]:
    files = sorted(place.glob("*.conllu"))
    return ["parse", "-m", "en", *map(str, (*files, "-o", f"{output}/", "--workers", 2, *more))]


@pytest.fixture(scope="module")
def expected(place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The outputs of a run without interruption."""
    output = tmp_path_factory.mktemp("expected")
    assert crossarc(*arguments(place, output)).returncode == 0
    return contents(output)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the records of what is finished."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def resumed(place: Path, output: Path) -> int:
    """Go on; returns how many inputs were finished before."""
    done = crossarc(*arguments(place, output, "--resume"))
    assert done.returncode == 0
    said = done.stderr.decode().removeprefix("crossarc: ")
    assert said.endswith(f" of {FILES} inputs are finished\n")
    return int(said.split()[0])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_driver_that_is_stopped(
    place: Path, expected: dict[str, bytes], tmp_path: Path, number: int
) -> None:
    rng = random.Random(number)
    with subprocess.Popen([COMMAND, *arguments(place, tmp_path)], stderr=subprocess.PIPE) as driver:
        wait_until(lambda: len(contents(tmp_path)) > 1)
        time.sleep(0.1 * rng.random())
        own = descendants(driver.pid)
        driver.send_signal(number)
        _, said = driver.communicate(timeout=60)
    end_of(own)
    status = {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}[signal.Signals(number)]
    assert (driver.returncode, said) == (status, b"")
    left = contents(tmp_path)
    if number != signal.SIGKILL:
        assert not [name for name in left if name.endswith(".part")]
    assert all(left[name] == expected[name] for name in left if not name.endswith(".part"))
    assert 1 <= resumed(place, tmp_path) < FILES
    assert contents(tmp_path) == expected


def test_workers_that_are_killed(place: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    with subprocess.Popen([COMMAND, *arguments(place, tmp_path)], stderr=subprocess.PIPE) as driver:
        for _ in range(2):
            wait_until(lambda: bool(workers_of(driver.pid)))
            for worker in workers_of(driver.pid):
                os.kill(worker, signal.SIGKILL)
            count = len(contents(tmp_path))
            wait_until(lambda: len(contents(tmp_path)) > count or driver.poll() is not None)  # noqa: B023
        _, said = driver.communicate(timeout=120)
    assert (driver.returncode, said) == (0, b"")
    assert contents(tmp_path) == expected


def workers_of(driver: int) -> set[int]:
    """The processes that the template has started."""
    return {pid for child in descendants(driver) for pid in descendants(child)}


def test_a_disk_that_is_full(place: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    """A small file system, which then grows; where none can be mounted, a limit on files."""
    output = tmp_path / "disk"
    output.mkdir()
    sizes = sorted(map(len, expected.values()))
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(output), "-o"]
    is_mounted = (
        subprocess.run(
            [*mount, f"size={sum(sizes[-2:])}"], capture_output=True, check=False
        ).returncode
        == 0
    )
    try:
        limit = None if is_mounted else sizes[-1] - 1000
        done = crossarc(*arguments(place, output), largest_file=limit)
        assert done.returncode == 1
        assert done.stderr.decode().endswith("make room or write elsewhere\n")
        assert done.stderr.count(b"\n") == 1
        left = contents(output)
        assert len(left) < FILES
        assert all(left[name] == expected[name] for name in left)
        if is_mounted:
            subprocess.run([*mount, "remount,size=64m"], capture_output=True, check=True)
        assert resumed(place, output) == len(left)
        assert contents(output) == expected
    finally:
        if is_mounted:
            subprocess.run(["umount", str(output)], check=True)


def test_what_is_finished(place: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    """By the contents of input and output, the model and the options."""
    assert crossarc(*arguments(place, tmp_path)).returncode == 0
    assert resumed(place, tmp_path) == FILES
    (tmp_path / "0.conllu").write_bytes(b"something else")
    (tmp_path / "1.conllu").unlink()
    (tmp_path / ".crossarc" / "2.conllu.json").write_text('{"input": ')
    assert resumed(place, tmp_path) == FILES - 3
    assert contents(tmp_path) == expected
    with (place / "3.conllu").open("ab") as file:
        file.write(bytes(sample()[0]))
    try:
        assert resumed(place, tmp_path) == FILES - 1
    finally:
        write_conllu(sample()[3:] * COPIES, place / "3.conllu")
    record = json.loads((tmp_path / ".crossarc" / "0.conllu.json").read_text())
    assert (record["sentences"], record["set_aside"]) == (len(sample()) * COPIES, 0)
    done = crossarc(*arguments(place, tmp_path, "--resume", "--projective"))
    assert done.stderr == f"crossarc: 0 of {FILES} inputs are finished\n".encode()


def test_shares_make_the_whole(place: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    for part in ("2/4", "1/4", "4/4", "3/4"):
        done = crossarc(*arguments(place, tmp_path, "--shard", part))
        assert (done.returncode, done.stderr) == (0, b"")
    assert contents(tmp_path) == expected
    assert resumed(place, tmp_path) == FILES


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--shard", "3/2"], "must be I/N with 1 <= I <= N: got '3/2'"),
        (["--shard", "two"], "must be I/N"),
        (["--resume"], "give files, and -o FOLDER/"),
        (["--ray", "auto"], "give files, and -o FOLDER/"),
    ],
)
def test_wrong_use(place: Path, more: list[str], message: str) -> None:
    done = crossarc("parse", "-m", "en", place / "0.conllu", *more)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.decode().split())


def test_a_reader_that_stops(place: Path) -> None:
    """It reads a little and waits, and the work waits with it; then it is gone."""
    source = place / "0.conllu"
    command = [str(COMMAND), "parse", "-m", "en", "--workers", "2", *[str(source)] * 8]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        driver.stdout.read(1000)
        wait_until(lambda: is_idle(driver.pid))
        own = descendants(driver.pid)
        driver.stdout.close()
        assert driver.wait(60) == -signal.SIGPIPE
        assert driver.stderr is not None
        assert driver.stderr.read() == b""
    end_of(own)


def is_idle(driver: int) -> bool:
    """Whether neither the driver nor its workers use the processor for a while."""
    before = ticks(driver)
    time.sleep(0.5)
    return ticks(driver) == before


def ticks(driver: int) -> int:
    total = 0
    for pid in {driver, *descendants(driver)}:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total
