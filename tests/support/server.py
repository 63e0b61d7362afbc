"""A server for tests: `crossarc serve` as a process of its own, on the loopback interface."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

_PROGRAM = "import sys; from crossarc.app.cli import main; main()"
_SECONDS = 120.0


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"])


class Server:
    """A running server; `errors` is what it wrote to stderr."""

    def __init__(self, *options: object, port: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, "serve", "--port", str(port), *map(str, options)],
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self.process.stderr is not None
        self.errors = ""
        found = None
        for line in self.process.stderr:
            self.errors += line
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if found:
                break
        assert found, self.errors
        self.port = int(found[1])
        self.address = found[0]
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors += line

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """The answer to one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.read(), dict(response.getheaders()))
        finally:
            connection.close()

    def get(self, path: str, **parameters: str) -> Answer:
        return self.request("GET", f"{path}?{urlencode(parameters)}" if parameters else path)

    def form(self, path: str, **parameters: str) -> Answer:
        """Send a form, percent-encoded."""
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self.request("POST", path, urlencode(parameters).encode(), kind)

    def parse(self, **asked: Any) -> Any:
        """The sentences that `/parse` answers with."""
        answer = self.request("POST", "/parse", json.dumps(asked).encode())
        assert answer.status == 200, answer.body
        return answer.json["sentences"]

    def refuse(self, **asked: Any) -> Answer:
        """The answer of `/parse` to a request that it must refuse."""
        answer = self.request("POST", "/parse", json.dumps(asked).encode())
        assert 400 <= answer.status < 500, answer.body
        return answer

    def stop(self) -> int:
        """Ask it to end, and wait for its exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(_SECONDS)
        self._reader.join(5)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status


@contextlib.contextmanager
def running(*options: object, port: int = 0) -> Iterator[Server]:
    """A server that ends at the latest with the block."""
    server = Server(*options, port=port)
    try:
        yield server
    finally:
        if server.process.returncode is None:
            server.stop()
