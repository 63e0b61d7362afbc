"""A browser for tests: Chromium, driven by its DevTools protocol over a pipe.

https://chromedevtools.github.io/devtools-protocol/ has the commands. No driver and no library is
needed; messages end with a zero byte.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 90.0
_KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}


class Browser:
    """One Chromium with one page in it."""

    def __init__(self, folder: Path) -> None:
        program = next((found for name in NAMES if (found := shutil.which(name))), None)
        if program is None:
            pytest.skip("Chromium is not installed")
        their_input, self._write = os.pipe()
        self._read, their_output = os.pipe()
        self.downloads = folder / "downloads"
        self.downloads.mkdir()

        def connect() -> None:
            # The browser reads commands from descriptor 3 and writes to 4.
            first, second = os.dup(their_input), os.dup(their_output)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--force-device-scale-factor=1",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                f"--user-data-dir={folder / 'profile'}",
                "about:blank",
            ],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_input)
        os.close(their_output)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session: str | None = None
        #: Errors and warnings of the console, uncaught exceptions, requests that failed.
        self.problems: list[str] = []
        targets = self.command("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self.command("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")
        self.command("Page.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def command(self, method: str, **parameters: Any) -> Any:
        """The result of a command of the protocol."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + _SECONDS
        while True:
            answer = self._message(end, method)
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._observe(answer)

    def _message(self, end: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{method}: no answer from Chromium"
            data = os.read(self._read, 1 << 20)
            assert data, f"{method}: Chromium ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def _observe(self, event: dict[str, Any]) -> None:
        method, about = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.problems.append(json.dumps(about["args"])[:2000])
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")

    def screen(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The size of the window, and which colours the reader prefers."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        value = "dark" if dark else "light"
        self.command(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": value}],
        )

    def open(self, address: str) -> None:
        """Go to a page and wait until it says that it is ready."""
        self.command("Page.navigate", url="about:blank")
        self.command("Page.navigate", url=address)
        self.wait("document.documentElement.dataset.ready === 'yes'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page, which may be a promise."""
        result = self.command(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, condition: str, seconds: float = 60.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(
            f"(() => {{ try {{ return Boolean({condition}); }} catch {{ return false; }} }})()"
        ):
            assert time.monotonic() < end, f"never true: {condition}; {self.problems}"
            time.sleep(0.03)

    def centre(self, selector: str) -> tuple[float, float]:
        """The middle of an element, once it is in view."""
        name = json.dumps(selector)
        self.wait(f"document.querySelector({name})")
        x, y = self.run(
            f"(() => {{ const one = document.querySelector({name});"
            "one.scrollIntoView({block: 'nearest', inline: 'nearest'});"
            "const box = one.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        return x, y

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, selector: str) -> None:
        """Move the mouse over an element."""
        self._mouse("mouseMoved", *self.centre(selector))

    def click(self, selector: str) -> None:
        """Click on an element with the mouse."""
        x, y = self.centre(selector)
        self._mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, x, y, button="left", clickCount=1)

    def drag(self, selector: str, onto: str) -> None:
        """Drag an element onto another one, which is in view as well."""
        x, y = self.centre(selector)
        to_x, to_y = self.centre(onto)
        self._mouse("mouseMoved", x, y)
        self._mouse("mousePressed", x, y, button="left", clickCount=1)
        for part in (0.2, 0.6, 1.0):
            self._mouse(
                "mouseMoved", x + part * (to_x - x), y + part * (to_y - y), button="left", buttons=1
            )
        self._mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Insert text where the focus is."""
        self.command("Input.insertText", text=text)

    def press(self, *keys: str) -> None:
        """Press keys: letters, or names such as Enter."""
        for key in keys:
            name, _, plain = key.rpartition("+")
            modifiers = 2 if name == "Control" else 0
            about: dict[str, Any] = {"key": plain, "modifiers": modifiers}
            if plain in _KEYS:
                about["windowsVirtualKeyCode"] = _KEYS[plain]
            elif not modifiers:
                about["text"] = plain
            self.command("Input.dispatchKeyEvent", type="keyDown", **about)
            about.pop("text", None)
            self.command("Input.dispatchKeyEvent", type="keyUp", **about)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what the window shows, or the whole page, as PNG."""
        data = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(data["data"]))

    def downloaded(self, name: str) -> bytes:
        """A file that the page gave, once it is complete."""
        path = self.downloads / name
        end = time.monotonic() + _SECONDS
        while not path.exists():
            assert time.monotonic() < end, f"{name} was not downloaded"
            self.run("1")
            time.sleep(0.05)
        return path.read_bytes()

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(AssertionError, OSError):
            self._session = None
            self.command("Browser.close")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser that is closed at the end."""
    opened = Browser(folder)
    try:
        yield opened
    finally:
        opened.close()


def result_of(page: str, script: str, folder: Path, *, width: int = 1200) -> str:
    """What a script returns in a page of one file; skips where there is no Chromium."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    with browser(folder) as opened:
        opened.screen(width)
        opened.command("Page.navigate", url=path.as_uri())
        opened.wait(f"document.readyState === 'complete' && location.href === '{path.as_uri()}'")
        result: str = opened.run(f"(() => {{{script}}})()")
        assert opened.problems == []
    return result
