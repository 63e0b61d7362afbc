"""Compiled kernels on disk: every change is noticed, nothing else is compiled again.

A small package with a kernel, a sub-kernel in another file, a constant in a third, and a file that
has nothing to do with them; each run is a process of its own.
"""

from __future__ import annotations

import ast
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.clean_process import run_program
from support.files import ROOT

from crossarc.kernels import kernel, subkernel
from crossarc.kernels.rooms import kernel_modules
from crossarc.kernels.sources import imports

FILES = {
    "__init__.py": "",
    "constants.py": "FACTOR = 2\n",
    "parts.py": """
from crossarc.kernels import subkernel
from small.constants import FACTOR

def raised_to(power):
    @subkernel()
    def raised(x):
        return x ** power
    return raised

square, cube = raised_to(2), raised_to(3)

@subkernel()
def scaled(x):
    if x < 0:
        raise ValueError("negative", x)
    return FACTOR * x
""",
    "unrelated.py": "",
    "main.py": """
from __future__ import annotations
from typing import TYPE_CHECKING
from numba import types
from crossarc.kernels import kernel
from small.parts import cube, scaled, square
if TYPE_CHECKING:
    from small.unrelated import nothing

@kernel(types.int64(types.int64))
def whole(x):
    return scaled(x) + 1

@kernel(types.int64(types.int64))
def squared(x):
    return square(x)

@kernel(types.int64(types.int64))
def cubed(x):
    return cube(x)

def sum_of(x, y):
    return x + y

integers = kernel(types.int64(types.int64, types.int64), name="sum_of_integers")(sum_of)
floats = kernel(types.float64(types.float64, types.float64), name="sum_of_floats")(sum_of)
""",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def run(program: str, path: Path, **environment: str) -> str:
    """What a program prints that begins with all names of the package's main module."""
    return run_program(f"from small.main import *\n{program}", [str(path)], environment).strip()


def cached(folder: Path) -> dict[str, int]:
    """Every file of the cache, and when it was written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_every_change_is_noticed(package: Path) -> None:
    program, path, cache = "print(whole(5))", package.parent, package / "__pycache__"
    assert run(program, path) == "11"
    first = cached(cache)
    assert len(first) == 1
    assert run(program, path) == "11"
    (package / "unrelated.py").write_text("nothing = None\n")
    assert run(program, path) == "11"
    assert cached(cache) == first
    # A constant that a sub-kernel in another file imports.
    (package / "constants.py").write_text("FACTOR = 3\n")
    assert run(program, path) == "16"
    second = cached(cache)
    assert len(second) == 1
    assert not second.keys() & first.keys()
    # The sub-kernel itself; no byte more or less.
    parts = package / "parts.py"
    parts.write_text(parts.read_text().replace("FACTOR * x", "FACTOR - x"))
    assert run(program, path) == "-1"
    assert len(cached(cache)) == 1


def test_instances_of_one_text(package: Path) -> None:
    """Of one function for two signatures, and of one factory: each has its own file."""
    program = "print(integers(1, 2), floats(0.5, 1), squared(5), cubed(5))"
    for _ in range(2):
        assert run(program, package.parent) == "3 1.5 25 125"
    names = {name.partition("-")[0] for name in cached(package / "__pycache__")}
    kernels = {"sum_of_integers", "sum_of_floats", "squared", "cubed"}
    assert names == {f"small.main.{kernel}" for kernel in kernels}


def test_functions_of_factories_have_names_of_their_own(package: Path) -> None:
    """The same in each process: machine code of several processes meets in a later one."""
    program = "print(square.__qualname__, cube.__qualname__)"
    square, cube = names = run(program, package.parent).split()
    assert square != cube
    assert all(name.startswith("raised_to.<locals>.raised-") for name in names)
    assert run(f"cubed(2)\n{program}", package.parent).split() == names


@pytest.mark.parametrize("times", ["compiled", "read from the cache"])
def test_exceptions_of_sub_kernels(package: Path, times: str) -> None:
    program = "try: whole(-3)\nexcept ValueError as error: print(error.args)"
    if times != "compiled":
        run("whole(1)", package.parent)
    assert run(program, package.parent) == "('negative', -3)"


def test_processes_at_once(package: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        shown = list(pool.map(lambda _: run("print(whole(5))", package.parent), range(3)))
    assert shown == ["11"] * 3
    assert len(cached(package / "__pycache__")) == 1


NO_FOLDER = """
import numba.core.caching as caching
def refuse(*args, **keys):
    raise PermissionError
caching.tempfile.TemporaryFile = refuse
"""


def test_nothing_can_be_written(package: Path) -> None:
    """Compiled for the process; what others have left beside the source is used."""
    program = f"{NO_FOLDER}print(whole(5))\nprint(*whole._compiled.stats.cache_hits.values())"
    assert run(program, package.parent).split() == ["11"]
    assert cached(package / "__pycache__") == {}
    assert run("print(whole(5))", package.parent) == "11"
    kept = cached(package / "__pycache__")
    assert run(program, package.parent).split() == ["11", "1"]
    assert cached(package / "__pycache__") == kept


def test_other_folders(package: Path, tmp_path: Path) -> None:
    """NUMBA_CACHE_DIR; and the user's own where there can be none beside the source."""
    chosen, user = tmp_path / "chosen", tmp_path / "user"
    (package / "__pycache__").write_text("a file, not a folder")
    for environment, folder in (("NUMBA_CACHE_DIR", chosen), ("XDG_CACHE_HOME", user)):
        assert run("print(whole(5))", package.parent, **{environment: str(folder)}) == "11"
        assert len(list(folder.rglob("small.main.whole-*.nbc"))) == 1


def test_a_package_in_a_zip_file(package: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive.zip"
    for factor, result in ((2, "11"), (3, "16")):
        (package / "constants.py").write_text(f"FACTOR = {factor}\n")
        with zipfile.ZipFile(archive, "w") as target:
            for name in FILES:
                target.write(package / name, f"small/{name}")
        for _ in range(2):
            assert run("print(whole(5))", archive, XDG_CACHE_HOME=str(tmp_path)) == result
            assert len(list(tmp_path.rglob("small.main.whole-*.nbc"))) == 1


def test_damaged_files_are_compiled_again(package: Path) -> None:
    run("whole(5)", package.parent)
    (path,) = (package / "__pycache__").iterdir()
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        assert run("print(whole(5))", package.parent) == "11"
        assert path.stat().st_size > len(damaged)


def test_sub_kernels_come_by_imports_at_the_top(package: Path) -> None:
    """Others would not be in the digest, and are refused."""
    main = package / "main.py"
    text = main.read_text().replace(
        "from small.parts import cube, scaled, square\n",
        "def load():\n    from small.parts import cube, scaled, square\n"
        "    return cube, scaled, square\ncube, scaled, square = load()\n",
    )
    main.write_text(text)
    program = "try: whole(5)\nexcept ImportError as error: print(error)"
    assert run(program, package.parent) == (
        "whole in small.main calls a sub-kernel of small.parts: import that at the top level of a "
        "module, or the cache cannot notice its changes"
    )


def test_a_kernel_without_a_file(package: Path) -> None:
    """Of a program's own text: compiled by each process."""
    program = "print(kernel(types.int64(types.int64))(lambda x: scaled(x) - 1)(5))"
    assert run(program, package.parent) == "9"
    assert not (package / "__pycache__").exists()


def top_level_imports(source: bytes) -> set[tuple[str, str]]:
    """Python's own parser; the package has no relative imports."""
    found = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Import):
            found |= {(alias.name, "") for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            found |= {(statement.module or "", alias.name) for alias in statement.names}
    return found


def test_imports_are_those_of_the_parser() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        source = path.read_bytes()
        ours = {pair for pair in imports(source, "crossarc") if pair[0].startswith("crossarc")}
        theirs = {pair for pair in top_level_imports(source) if pair[0].startswith("crossarc")}
        assert ours == theirs, path
    text = b"from .a import (b as c,  # why\n    d)\nimport small.e as e, small.f\n"
    pairs = [("small.a", "b"), ("small.a", "d"), ("small.e", ""), ("small.f", "")]
    assert list(imports(text, "small")) == pairs
    assert "crossarc.models.first_order.arcs" in kernel_modules()


def test_python_cannot_call_sub_kernels() -> None:
    @subkernel()
    def identical(x: int) -> int:
        return x

    for _ in range(2):
        with pytest.raises(TypeError, match="identical is a sub-kernel: call it from a kernel"):
            identical(1)


def test_names_are_unique() -> None:
    def body(x: int) -> int:
        return x

    kernel("int64(int64)", name="only_once")(body)
    kernel("float64(float64)", name="only_once")(body)
    with pytest.raises(ValueError, match=r"two kernels only_once with one signature: give them"):
        kernel("int64(int64)", name="only_once")(body)
