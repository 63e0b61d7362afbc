"""`crossarc serve`: parsing over HTTP, and the page."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.files import WorkersOption, file_stem

if TYPE_CHECKING:
    from crossarc.parser import Parser

__all__ = ["serve"]

_TEXT = "A first sentence, so that everything is compiled."


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="Model files, or names such as en; the first is the default.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 for every network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8765,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="A line for each request, without its content.")
    ] = False,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes of a request.")] = 16 << 20,
    max_sentences: Annotated[int, typer.Option(min=1, help="Sentences of a request.")] = 10_000,
    max_words: Annotated[int, typer.Option(min=1, help="Words of a sentence.")] = 500,
    max_seconds: Annotated[float, typer.Option(min=0.01, help="Time for a request.")] = 60.0,
    workers: WorkersOption = None,
) -> None:
    """Serve the page, and parsing over HTTP.

    For UDPipe's clients and as JSON.
    """
    missing = [n for n in ("starlette", "uvicorn") if importlib.util.find_spec(n) is None]
    if missing:
        raise typer.BadParameter(
            f"{' and '.join(missing)} must be installed: pip install 'crossarc[web]'"
        )
    from crossarc.app.server.application import make_application
    from crossarc.app.server.limits import Limits

    opened = _listening(host, port)
    names = model or [os.environ.get("CROSSARC_MODEL", "en")]
    limits = Limits(max_body, max_sentences, max_words, max_seconds)
    application = make_application(
        _parsers(names), limits=limits, workers=workers, log=_log if access_log else None
    )
    _run(application, opened, open_page)


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _listening(host: str, port: int) -> socket.socket:
    """A socket that is bound, so that a port in use is found out before models are loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Asyncio sends small packets at once only on sockets whose protocol is named.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        raise typer.BadParameter(
            f"cannot listen on {host}, port {port}: {error.strerror}; choose another"
        ) from None
    return opened


def _parsers(names: list[str]) -> dict[str, Parser]:
    """The models by name, ready: each has parsed a sentence, as a request would have it."""
    from crossarc.app.server.answers import parse_answer
    from crossarc.app.server.limits import Deadline, Limits
    from crossarc.app.server.schema import ParseRequest
    from crossarc.models.protocol import ScoringModel
    from crossarc.parser import Parser
    from crossarc.treebank import Sentence

    parsers = {}
    for name in names:
        parser = Parser.load(name)
        shown = file_stem(name)
        if shown in parsers:
            raise typer.BadParameter(f"two models are called {shown}: rename one", param_hint="-m")
        parsers[shown] = parser
        first = Sentence.build(_TEXT.split()).to_conllu()
        if parser.tokenizer is not None:
            list(parser.tokenizer.tokenize(_TEXT))
        asked = ParseRequest(conllu=first)
        if isinstance(parser.model, ScoringModel):
            asked = ParseRequest(
                conllu=first, kbest=2, candidates=2, entropy=True, compare="projective"
            )
        parse_answer(parser, asked, Limits(), Deadline(3600.0))
    return parsers


def _run(application: object, opened: socket.socket, open_page: bool) -> None:
    import uvicorn

    host, port = opened.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    class Announced(uvicorn.Server):  # type: ignore[misc]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            _log(f"crossarc: {address} is ready; end it with Ctrl-C")
            if open_page:
                import webbrowser

                webbrowser.open(address)

    # Uvicorn finishes what was accepted and then raises the signal again, for whoever had set it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    config = uvicorn.Config(application, log_config=None, access_log=False, server_header=False)
    Announced(config).run(sockets=[opened])
