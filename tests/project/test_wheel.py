"""Wheel and source distribution: what a user gets from an installation."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from support.files import ROOT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel"]
    subprocess.run([*build, "--outdir", folder, ROOT], check=True, capture_output=True)
    return folder


def one(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_what_the_wheel_holds(built: Path) -> None:
    names = zipfile.ZipFile(one(built, "*.whl")).namelist()
    assert "crossarc/py.typed" in names
    for data in ("treebank/sample.conllu", "draw/page.css", "draw/page.js"):
        assert f"crossarc/{data}" in names
    folder = ROOT / "src" / "crossarc" / "app" / "server" / "static"
    static = {f"crossarc/app/server/static/{path.name}" for path in folder.iterdir()}
    assert len(static) > 5
    assert static <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or "tests" in name]


def test_what_the_source_distribution_holds(built: Path) -> None:
    """All that builds and tests need, and nothing that was made on the way."""
    with tarfile.open(one(built, "*.tar.gz")) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for needed in ("pyproject.toml", "Makefile", "README.md", "docs/conf.py", "docs/api/trees.md"):
        assert needed in names
    assert "src/crossarc/parser/shipped/en/en.crossarc" in names
    assert "tests/project/test_wheel.py" in names
    assert not [name for name in names if "__pycache__" in name or "_build" in name]


def test_both_are_fit_for_an_index(built: Path) -> None:
    """`twine check --strict`: metadata that an index accepts, and a README that it can show."""
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *sorted(built.iterdir())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_the_wheel_installs_and_runs(built: Path, tmp_path: Path) -> None:
    home = tmp_path / "empty"
    venv.create(home, with_pip=True)
    pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", one(built, "*.whl")]
    subprocess.run(pip, check=True, capture_output=True)
    shown = subprocess.run(
        [home / "bin" / "crossarc", "stats", "@sample"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    ).stdout
    assert shown.split("\n")[1].split()[:3] == ["@sample", "126", "1,008"]
