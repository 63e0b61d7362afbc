"""The `crossarc` command: its sub-commands and how they end.

Exit status 0 on success, 1 for bad data, 2 for wrong usage, 130 when interrupted and 143 when
terminated, by SIGPIPE when nobody reads the output any more; never a traceback. Commands import
what they need when they run, so that `--help` is quick.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys

import typer

from crossarc import __version__, beside
from crossarc.app.commands.combine import combine
from crossarc.app.commands.completion import completion
from crossarc.app.commands.demo import demo
from crossarc.app.commands.explain import explain
from crossarc.app.commands.induce import induce
from crossarc.app.commands.parse import parse
from crossarc.app.commands.perplexity import perplexity
from crossarc.app.commands.review import review
from crossarc.app.commands.serve import serve
from crossarc.app.commands.train import train
from crossarc.app.commands.treebanks.analyze import analyze
from crossarc.app.commands.treebanks.convert import convert
from crossarc.app.commands.treebanks.draw import draw
from crossarc.app.commands.treebanks.evaluate import evaluate
from crossarc.app.commands.treebanks.split import split
from crossarc.app.commands.treebanks.stats import stats
from crossarc.app.commands.warmup import warmup
from crossarc.errors import CrossarcError

__all__ = ["COMMANDS", "app", "main"]

_WRONG_PATH = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM}
_SOON = 0.01
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

app = typer.Typer(
    name="crossarc",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS = (
    train,
    combine,
    parse,
    review,
    explain,
    induce,
    perplexity,
    stats,
    analyze,
    evaluate,
    draw,
    convert,
    split,
    serve,
    warmup,
    demo,
    completion,
)
for command in COMMANDS:
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"crossarc {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Dependency parsing in which arcs may cross.

    Files may be compressed (.gz, .bz2, .xz); - is standard input; @sample is the sample bank that
    comes with crossarc.
    """


def main() -> None:
    """Run the command line and exit."""
    # From here on files are cleaned up; see `crossarc.app` for what was before.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _unraisable
    beside.while_in_command()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Where the terminal cannot show a character, a question mark is better than a traceback.
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _end_by_sigpipe()
    except SystemExit as end:
        # Typer ends with status 1 when the output is closed.
        if isinstance(end.__context__, BrokenPipeError):
            _end_by_sigpipe()
        raise
    except KeyboardInterrupt:
        sys.exit(130)
    except CrossarcError as error:
        _end(str(error), 1)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        if error.errno in _WRONG_PATH:
            _end(f"{place}{error.strerror}; check the path", 2)
        remedy = "; make room or write elsewhere" if error.errno in _NO_ROOM else ""
        _end(f"{place}{error.strerror or error}{remedy}", 1)


def _terminate(number: int, frame: object) -> None:
    """Leave as after an interrupt: files that are half written are removed."""
    sys.exit(128 + number)


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """An end that was asked for while an object was deleted comes once more, a little later.

    What a finaliser raises is otherwise reported and forgotten.
    """
    if not isinstance(what.exc_value, KeyboardInterrupt | SystemExit):
        sys.__unraisablehook__(what)
        return
    number = signal.SIGINT if isinstance(what.exc_value, KeyboardInterrupt) else signal.SIGTERM
    signal.signal(signal.SIGALRM, lambda _, frame: signal.raise_signal(number))
    signal.setitimer(signal.ITIMER_REAL, _SOON)


def _end_by_sigpipe() -> None:
    """End as a program that does not know SIGPIPE: what the shell expects of `... | head`."""
    # Else the interpreter would try to write the rest.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)


def _end(message: str, status: int) -> None:
    print(f"crossarc: {message}", file=sys.stderr)
    sys.exit(status)
