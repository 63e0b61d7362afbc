"""The examples of the README and the documentation run, and print what they are said to print.

Blocks of one file run in their order, in one empty directory and with one Python namespace:

    ```python     with `>>>`: a doctest
    ```console    lines `$ command`, continued by `> more`, each followed by what bash prints,
                  errors included. A command must end with status 0 unless `$ echo $?` comes next.

A line `...` in the output of a command stands for any lines, also for none.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import subprocess
import sysconfig
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from support.files import ROOT
from support.fork_server import fast_command

FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

#: The extras of pages whose examples need one.
EXTRAS = {
    "torch.md": "torch",
    "neural.md": "torch",
    "server.md": "starlette",
    "coming-from.md": "spacy",
}

_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = 120


class Block(NamedTuple):
    """A code block, and the line of its file on which it begins, counted from 1."""

    language: str
    text: str
    line: int


class Command(NamedTuple):
    """A command of a console block, and the output that is shown below it."""

    text: str
    shown: list[str]


def blocks(text: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        elif not found:
            raise AssertionError(f"line {block.line}: a console block begins with `$ command`")
        elif (line == ">" or line.startswith("> ")) and not found[-1].shown:
            found[-1] = Command(f"{found[-1].text}\n{line[2:]}", [])
        else:
            found[-1].shown.append(line)
    return found


def run_examples(text: str, name: str) -> None:
    """Run the examples of a page in the current directory; AssertionError if one is wrong."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(text):
        if block.language == "console":
            run_console(block, name)
        elif ">>>" in block.text:
            run_python(block, name, namespace)


def run_python(block: Block, name: str, namespace: dict[str, Any]) -> None:
    examples = doctest.DocTestParser().get_examples(block.text, name)
    case = doctest.DocTest(examples, {}, name, name, block.line - 1, block.text)
    case.globs = namespace
    report = io.StringIO()
    result = doctest.DocTestRunner(verbose=False).run(case, out=report.write, clear_globs=False)
    assert result.failed == 0, report.getvalue()


def run_console(block: Block, name: str) -> None:
    status, unchecked = 0, ""
    for command in commands(block):
        place = f"{name}, block at line {block.line}: $ {command.text}"
        if command.text == "echo $?":
            output, unchecked = f"{status}\n", ""
        else:
            assert not unchecked, unchecked
            status, output = run_command(command.text)
            if status:
                unchecked = f"{place}\nended with status {status}:\n{output}"
        assert is_shown(command.shown, output), f"{place}\nprinted:\n{output}"
    assert not unchecked, unchecked


def run_command(command: str) -> tuple[int, str]:
    folders = [str(fast_command().parent), sysconfig.get_path("scripts"), os.environ["PATH"]]
    done = subprocess.run(
        ["bash", "-c", command],
        env=os.environ | {"PATH": os.pathsep.join(folders), "LC_ALL": "C.UTF-8", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


def is_shown(shown: list[str], output: str) -> bool:
    """Whether the lines shown are those printed, but for spaces and blank lines at the end."""
    lines = [line.rstrip() for line in shown]
    while lines and not lines[-1]:
        lines.pop()
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in lines)
    printed = "".join(f"{line.rstrip()}\n" for line in output.splitlines())
    return re.fullmatch(f"{pattern}\n*", printed) is not None


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_examples_print_what_they_show(file, tmp_path, monkeypatch):
    extra = EXTRAS.get(file.name)
    if extra:
        pytest.importorskip(extra, reason=f"the extra with {extra} is not installed")
    monkeypatch.chdir(tmp_path)
    run_examples(file.read_text(encoding="utf-8"), file.name)


@pytest.mark.parametrize("language", ["python", "console"])
def test_the_readme_has_examples(language):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any(block.language == language for block in blocks(readme))


def page(*parts: tuple[str, str]) -> str:
    return "\n".join(f"```{language}\n{text}\n```\n" for language, text in parts)


@pytest.mark.parametrize(
    "text",
    [
        page(("python", ">>> word = 'arc'"), ("python", ">>> word\n'arc'")),
        page(("console", "$ echo one > file"), ("console", "$ cat file\none")),
        page(
            ("console", "$ touch made"),
            ("python", ">>> from pathlib import Path\n>>> Path('made').exists()\nTrue"),
        ),
        page(("console", "$ cat <<END\n> one\n>\n> two\n> END\none\n\ntwo")),
        page(("console", "$ seq 5\n1\n...\n5\n$ printf 'a\\n\\n'\na")),
        page(("console", "$ echo wrong >&2; false\nwrong\n$ echo $?\n1\n$ echo $?\n1")),
        page(("sh", "$ false"), ("python", "not + an + example")),
    ],
)
def test_right_examples_pass(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_examples(text, "page")


@pytest.mark.parametrize(
    "text",
    [
        page(("python", ">>> 1 + 1\n3")),
        page(("python", ">>> 1 / 0")),
        page(("console", "$ echo one\ntwo")),
        page(("console", "$ echo one")),
        page(("console", "$ true\none")),
        page(("console", "$ false")),
        page(("console", "$ false\n$ true")),
        page(("console", "$ false\n$ echo $?\n0")),
        page(("console", "$ seq 5\n1\n...\n4")),
        page(("console", "no command")),
    ],
)
def test_wrong_examples_fail(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run_examples(text, "page")
