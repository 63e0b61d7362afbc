"""Make the screenshots of the pages that crossarc writes, for light and dark pages.

    .venv/bin/python docs/screenshots.py

Needs chromium, and Pillow, which comes with the extra `plots`.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from PIL import Image

PICTURES = Path(__file__).resolve().parent / "pictures"
SIZE = (1100, 680)
COLOURS = 64

#: The command that writes each page, without its last argument, the file.
PAGES = {
    "drawing-page": ["draw", "@sample", "--nonprojective", "-o"],
    "report-page": ["analyze", "@sample", "--html"],
}
THEMES = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"]}


def screenshot(page: Path, picture: Path, options: list[str]) -> None:
    """A picture of the top of a page, with few colours."""
    width, height = SIZE
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--window-size={width},{height}", f"--screenshot={picture}", *options]
    subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=60)
    with Image.open(picture) as full:
        reduced = full.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    reduced.save(picture, optimize=True)


def main() -> None:
    """Write all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for name, command in PAGES.items():
            page = Path(folder) / f"{name}.html"
            subprocess.run(["crossarc", *command, page], check=True, capture_output=True)
            for theme, options in THEMES.items():
                screenshot(page, PICTURES / f"{name}-{theme}.png", options)


if __name__ == "__main__":
    main()
