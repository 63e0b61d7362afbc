"""The wheel, in an empty environment: what a user gets from an installation."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

from support.files import ROOT


def test_wheel_installs_and_runs(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("crossarc-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "crossarc/py.typed" in names
    for data in ("treebank/sample.conllu", "draw/page.css", "draw/page.js"):
        assert f"crossarc/{data}" in names
    folder = ROOT / "src" / "crossarc" / "app" / "server" / "static"
    static = {f"crossarc/app/server/static/{path.name}" for path in folder.iterdir()}
    assert len(static) > 5
    assert static <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or "tests" in name]

    home = tmp_path / "empty"
    venv.create(home, with_pip=True)
    pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", wheel]
    subprocess.run(pip, check=True, capture_output=True)
    shown = subprocess.run(
        [home / "bin" / "crossarc", "stats", "@sample"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    ).stdout
    assert shown.split("\n")[1].split()[:3] == ["@sample", "126", "1,008"]
