"""Completion of command lines, by the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.shell import crossarc
from typer.testing import CliRunner

from crossarc.app.cli import COMMANDS, app

NAMES = {command.__name__ for command in COMMANDS}

# Asks bash what it would propose for the last word: the function as readline calls it.
_ASK_BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
compopt() { echo "compopt $*"; }
_crossarc
printf '%s\\n' "${COMPREPLY[@]}"
"""
_ASK_FISH = 'source $argv[1]; complete -C "$argv[2]"'


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        (folder / shell).write_bytes(crossarc("completion", shell).stdout)
    return folder


def by_bash(scripts: Path, *words: str) -> list[str]:
    command = ["bash", "-c", _ASK_BASH, "bash", scripts / "bash", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def by_fish(scripts: Path, line: str) -> list[str]:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    command = ["fish", "--no-config", "-c", _ASK_FISH, scripts / "fish", line]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.partition("\t")[0] for line in shown.splitlines()]


def test_names_of_commands(scripts: Path) -> None:
    assert set(by_bash(scripts, "crossarc", "")) == NAMES | {"-h", "--help", "--version"}
    assert by_bash(scripts, "crossarc", "ev") == ["evaluate"]
    assert set(by_fish(scripts, "crossarc ")) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_option_of_the_help_is_proposed(scripts: Path, name: str) -> None:
    """What `--help` lists, by Typer's own reading of the signatures."""
    shown = CliRunner().invoke(app, [name, "--help"]).stdout.partition("Options:")[2]
    listed = {
        word.rstrip(",")
        for line in shown.splitlines()
        if line.startswith("  -")
        for word in line[2:].partition("  ")[0].replace(" / ", " ").split()
        if word.startswith("-")
    }
    proposed = {*by_bash(scripts, "crossarc", name, "--"), "-h"}
    proposed |= set(by_bash(scripts, "crossarc", name, "-"))
    assert proposed == listed
    assert {flag for flag in listed if flag.startswith("--")} == set(
        by_fish(scripts, f"crossarc {name} --")
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train", "--kind", ""], {"graph", "covington"}),
        (["train", "x.conllu", "--root", "m"], {"multi"}),
        (["parse", "--text", "-m", ""], {"en"}),
        (["draw", "x.conllu", "--format", ""], {"text", "svg", "html", "tex", "png", "pdf"}),
        (["warmup", ""], {"parse", "stats", "train", "inference"}),
        (["warmup", "parse", "tr"], {"train"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
    ],
)
def test_values(scripts: Path, words: list[str], expected: set[str]) -> None:
    assert expected <= set(by_bash(scripts, "crossarc", *words))
    assert expected <= set(by_fish(scripts, f"crossarc {' '.join(words)}"))


def test_values_behind_an_equals_sign(scripts: Path) -> None:
    """bash cuts `--root=m` in three words."""
    assert by_bash(scripts, "crossarc", "train", "--root", "=") == ["single", "multi"]
    assert by_bash(scripts, "crossarc", "train", "--root", "=", "m") == ["multi"]


def test_files_are_left_to_the_shell(scripts: Path, tmp_path: Path) -> None:
    """No word, so that bash goes on to names of files; but not where a number is expected."""
    assert by_bash(scripts, "crossarc", "parse", "b") == []
    assert by_bash(scripts, "crossarc", "draw", "x.conllu", "-o", "") == []
    assert by_bash(scripts, "crossarc", "parse", "--kbest", "") == ["compopt", "+o", "default"]
    (tmp_path / "bank.conllu").touch()
    assert f"{tmp_path}/bank.conllu" in by_fish(scripts, f"crossarc parse {tmp_path}/b")
    assert by_fish(scripts, f"crossarc parse --kbest {tmp_path}/b") == []


def test_zsh_reads_the_script(scripts: Path) -> None:
    """Every word is where `_arguments` expects it: it reports wrong specifications."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    test = """
    autoload -Uz compinit && compinit -u -D
    source "$1"
    [[ $_comps[crossarc] == _crossarc ]] || exit 3
    functions _crossarc | grep -c '_arguments'
    """
    done = subprocess.run(
        ["zsh", "-f", "-c", test, "zsh", scripts / "zsh"], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert (done.returncode, done.stdout.strip()) == (0, str(len(NAMES) + 1))


def test_summaries_fit_in_the_help() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout.partition("Commands:")[2]
    assert len(shown.strip().splitlines()) == len(NAMES)
    assert "..." not in shown


def test_wrong_shell() -> None:
    done = crossarc("completion", "tcsh")
    assert done.returncode == 2
    assert b"'bash', 'zsh', 'fish'" in done.stderr.replace(b"\n", b" ")
