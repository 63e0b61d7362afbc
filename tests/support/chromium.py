"""A page in Chromium, without a window: what it looks like to its own script."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def result_of(page: str, script: str, folder: Path, *, width: int = 1200) -> str:
    """What a script that runs in the page returns, a string; skips where there is no Chromium."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("Chromium is not installed")
    runner = (
        '<pre id="result"></pre><script>addEventListener("load", () => {'
        f'document.getElementById("result").textContent = (() => {{{script}}})(); }})</script>'
    )
    path = folder / "page.html"
    path.write_text(page.replace("</body>", f"{runner}</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--window-size={width},900",
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=True,
    )
    found = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return html.unescape(found[1])
