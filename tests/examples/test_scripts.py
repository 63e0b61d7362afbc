"""Every script in `examples/` runs by itself and leaves drawings that can be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.drawings import Drawing
from support.files import ROOT

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
#: The extras of scripts that need one.
EXTRAS = {"train_with_pytorch.py": "torch"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script(script: Path, tmp_path: Path) -> None:
    extra = EXTRAS.get(script.name)
    if extra:
        pytest.importorskip(extra, reason=f"extra [{extra}] is not installed")
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for path in tmp_path.glob("*.svg"):
        Drawing(path.read_text(encoding="utf-8")).check()


def test_every_script_is_listed() -> None:
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f"[{script.name}]({script.name})" in readme
