"""Every script in `examples/` runs by itself and leaves drawings that can be read."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from support.drawings import Drawing
from support.files import ROOT

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
#: The extras of scripts that need one.
EXTRAS = {"train_with_pytorch.py": "torch"}
#: It defines kernels, whose cache goes by the module: a process of its own.
_ALONE = "adjacent_bonus.py"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    extra = EXTRAS.get(script.name)
    if extra:
        pytest.importorskip(extra, reason=f"extra [{extra}] is not installed")
    if script.name == _ALONE:
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
    else:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [str(script)])
        runpy.run_path(str(script), run_name="__main__")
        assert capfd.readouterr().out
    for path in tmp_path.glob("*.svg"):
        Drawing(path.read_text(encoding="utf-8")).check()


def test_every_script_is_listed() -> None:
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f"[{script.name}]({script.name})" in readme
