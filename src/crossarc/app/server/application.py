"""The application: addresses, and what is done for each off the event loop."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crossarc import __version__
from crossarc.app.server.answers import parse_answer, read_sentences
from crossarc.app.server.body import read_body, read_parameters
from crossarc.app.server.limits import Deadline, Limits, RefusalError
from crossarc.app.server.metrics import Metrics
from crossarc.app.server.schema import read_request
from crossarc.app.server.ud_rules import RELATIONS, TAGS
from crossarc.app.server.udpipe import process
from crossarc.draw.page import closing, opening, script, stylesheet
from crossarc.errors import CrossarcError, TreebankError
from crossarc.models.kinds import OptionError
from crossarc.models.protocol import ScoringModel
from crossarc.parallel import thread_count
from crossarc.parser import Parser
from crossarc.treebank import SAMPLE_PATH

__all__ = ["make_application"]

T = TypeVar("T")

_STATIC = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
]
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def make_application(
    parsers: Mapping[str, Parser],
    *,
    limits: Limits | None = None,
    workers: int | None = None,
    log: Callable[[str], None] | None = None,
) -> ASGIApp:
    """The server as an ASGI application.

    Args:
        parsers: by the name under which clients ask for them; the first is the default.
        workers: requests that are worked on at a time; by default one a core.
        log: called with a line for each request, which has no word of its content.
    """
    service = _Service(parsers, limits or Limits(), workers, log)
    routes = [
        Route("/", service.page),
        Route("/static/{name}", service.static),
        Route("/models", service.models, methods=["GET", "POST"]),
        Route("/process", service.process, methods=["GET", "POST"]),
        Route("/parse", service.parse, methods=["POST"]),
        Route("/analyze", service.analyze, methods=["POST"]),
        Route("/health", service.health),
        Route("/metrics", service.show_metrics),
    ]
    service.paths = {route.path for route in routes}
    # Starlette redirects to other slashes, and fails where a query is not UTF-8.
    application = Starlette(
        routes=routes,
        lifespan=service.lifespan,
        exception_handlers={
            RefusalError: _refused,
            CrossarcError: _refused,
            OptionError: _refused,
            Exception: _failed,
        },
    )
    application.router.redirect_slashes = False
    return _Observed(application, service)


class _Service:
    """The parsers, the threads that use them, and an answer for each address."""

    def __init__(
        self,
        parsers: Mapping[str, Parser],
        limits: Limits,
        workers: int | None,
        log: Callable[[str], None] | None,
    ) -> None:
        self.parsers, self.limits, self.log = dict(parsers), limits, log
        self.default = next(iter(self.parsers))
        self.metrics = Metrics()
        self.paths: set[str] = set()
        self.pool = ThreadPoolExecutor(thread_count(workers), thread_name_prefix="crossarc")
        self.busy = 0

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """At the end, wait for what was accepted."""
        yield
        self.pool.shutdown(wait=True)

    async def page(self, _: Request) -> Response:
        body = (_STATIC / "workbench.html").read_text(encoding="utf-8")
        styles = ["static/page.css", "static/workbench.css"]
        modules = ["static/page.js", "static/main.js"]
        keys = '<button type="button" class="link" id="keys">Keys</button>'
        footer = (
            f"{keys} · crossarc {escape(__version__)}, running on this server: nothing leaves it."
        )
        opened = opening("crossarc", styles=styles, icon="static/icon.svg")
        text = opened + body + closing(footer, scripts=modules)
        return HTMLResponse(text, headers={"content-security-policy": _POLICY})

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "page.css":
            return Response(stylesheet(), media_type="text/css")
        if name == "page.js":
            return Response(script(), media_type="text/javascript")
        if name == "sample.conllu":
            return Response(SAMPLE_PATH.read_bytes(), media_type="text/plain; charset=utf-8")
        # By name, not by path: the system has errors of its own for odd ones.
        path = {file.name: file for file in _STATIC.iterdir()}.get(name)
        if path is None or path.suffix not in _TYPES:
            raise RefusalError("there is no such file", HTTPStatus.NOT_FOUND)
        return Response(path.read_bytes(), media_type=_TYPES[path.suffix])

    async def models(self, _: Request) -> Response:
        components = {
            name: [
                *(["tokenizer"] if parser.tokenizer is not None else []),
                *(["tagger"] if parser.tagger is not None else []),
                "parser",
            ]
            for name, parser in self.parsers.items()
        }
        details = {
            name: {
                "kind": parser.kind,
                "projective": parser.projective,
                "root": parser.root,
                "relations": parser.labels,
                "probabilities": isinstance(parser.model, ScoringModel),
            }
            for name, parser in self.parsers.items()
        }
        return _json(
            {
                "models": components,
                "default_model": self.default,
                "details": details,
                "universal": {"relations": RELATIONS, "tags": TAGS},
            }
        )

    async def process(self, request: Request) -> Response:
        given = await read_parameters(request, self.limits)
        name, parser = self._parser(given.get("model"))
        result, sentences, words = await self._run(process, parser, given, self.limits)
        self.metrics.parsed(name, sentences, words)
        return _json({"model": name, "acknowledgements": [], "result": result})

    async def parse(self, request: Request) -> Response:
        asked = read_request(await read_body(request, self.limits))
        name, parser = self._parser(asked.model)
        sentences = await self._run(parse_answer, parser, asked, self.limits)
        self.metrics.parsed(name, len(sentences), sum(len(one["heads"]) for one in sentences))
        return _json({"model": name, "sentences": sentences})

    async def analyze(self, request: Request) -> Response:
        given = await read_parameters(request, self.limits)
        data, name = given.get("data"), given.get("name") or "treebank"
        if data is None:
            raise RefusalError("the parameter data is missing: give a treebank as CoNLL-U")
        return HTMLResponse(await self._run(_report, name, data, self.limits))

    async def health(self, _: Request) -> Response:
        return _json({"status": "ok", "version": __version__, "models": list(self.parsers)})

    async def show_metrics(self, _: Request) -> Response:
        return PlainTextResponse(self.metrics.text(), media_type="text/plain; version=0.0.4")

    def _parser(self, name: str | None) -> tuple[str, Parser]:
        chosen = name or self.default
        if chosen not in self.parsers:
            known = ", ".join(self.parsers)
            raise RefusalError(
                f"no model {chosen[:60]!r}: use {known}, or none for {self.default}",
                HTTPStatus.NOT_FOUND,
            )
        return chosen, self.parsers[chosen]

    async def _run(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of a function, whose last argument is a deadline, in a thread."""
        self.limits.check_requests(self.busy)
        deadline = Deadline(self.limits.seconds)
        self.busy += 1
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self.pool, partial(function, *arguments, deadline))
        future.add_done_callback(self._finished)
        try:
            # A kernel cannot be interrupted: its thread goes on, the client hears of it.
            return await asyncio.wait_for(asyncio.shield(future), self.limits.seconds + 1.0)
        except TimeoutError:
            raise deadline.refusal() from None

    def _finished(self, future: asyncio.Future[Any]) -> None:
        self.busy -= 1
        # Nobody may wait for it any more; the error has been answered then.
        future.cancelled() or future.exception()


def _report(name: str, data: str, limits: Limits, deadline: Deadline) -> str:
    from crossarc.analysis import Examples, study_constraints
    from crossarc.app.reports.report import EXAMPLES, report

    sentences = limits.checked(read_sentences(data), deadline)
    study = study_constraints(sentences, examples=Examples(limit=EXAMPLES))
    if study.sentences == 0:
        raise RefusalError("no sentence has a head for every word: parse the sentences first")
    return report([(name, study)])


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


class _Observed:
    """Counts and times requests."""

    def __init__(self, application: ASGIApp, service: _Service) -> None:
        self._application, self._service = application, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        metrics, start = self._service.metrics, time.perf_counter()
        status = 0

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        metrics.in_progress += 1
        try:
            await self._application(scope, receive, observed)
        except Exception:
            # Starlette raises again what it has had answered.
            if status != HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
        finally:
            metrics.in_progress -= 1
            seconds = time.perf_counter() - start
            path = scope["path"] if scope["path"] in self._service.paths else "other"
            metrics.answered(path, status, seconds)
            if self._service.log is not None:
                line = f"{scope['method']} {path} {status} {1000 * seconds:.0f} ms"
                self._service.log(line)


def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, RefusalError) else HTTPStatus.BAD_REQUEST
    if isinstance(error, TreebankError):
        # The source has no name that a client would know.
        error = TreebankError(error.what, line=error.line, sent_id=error.sent_id)
    return _error(request, " ".join(str(error).split()), status)


def _failed(request: Request, error: Exception) -> Response:
    """The stack goes to the log; the message of the error, which may have content, does not."""
    stack = "".join(traceback.format_tb(error.__traceback__))
    print(f"crossarc: {type(error).__name__}\n{stack}", file=sys.stderr, flush=True)
    return _error(request, "the server failed: see its log", HTTPStatus.INTERNAL_SERVER_ERROR)


def _error(request: Request, message: str, status: HTTPStatus) -> Response:
    headers = {"retry-after": "1"} if status == HTTPStatus.TOO_MANY_REQUESTS else {}
    if "text/html" in request.headers.get("accept", ""):
        page = opening("crossarc") + f"<p>{escape(message)}</p>" + closing("")
        return HTMLResponse(page, status, headers)
    response = _json({"error": message})
    response.status_code = status
    response.headers.update(headers)
    return response
