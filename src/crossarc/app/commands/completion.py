"""`crossarc completion`: what a shell needs to complete command lines.

The scripts are written once, from the signatures of the commands: pressing TAB starts no Python.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated, Any, get_args

import typer

__all__ = ["completion"]

# Values that are neither files nor a choice.
_NO_FILES = {"ID", "WHICH", "PART", "SHELL"}
_HELP = ("-h", "--help")


class Shell(StrEnum):
    """Shells that can complete."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script for completion in a shell.

    To try it: source <(crossarc completion bash). To keep it: redirect it to
    ~/.local/share/bash-completion/completions/crossarc, for zsh to _crossarc in a folder of $fpath,
    for fish to ~/.config/fish/completions/crossarc.fish.
    """
    from crossarc.app.cli import COMMANDS

    write = {Shell.bash: _bash, Shell.zsh: _zsh, Shell.fish: _fish}[shell]
    print("\n".join(write([_command(function) for function in COMMANDS])))


@dataclass(frozen=True)
class _Parameter:
    """An option, or an argument, which has no flags."""

    flags: tuple[str, ...]
    takes_value: bool
    words: tuple[str, ...]
    files: bool
    help: str


@dataclass(frozen=True)
class _Command:
    name: str
    help: str
    options: tuple[_Parameter, ...]
    arguments: tuple[_Parameter, ...]

    @property
    def flags(self) -> list[str]:
        return [*(flag for option in self.options for flag in option.flags), *_HELP]


def _command(function: Callable[..., None]) -> _Command:
    parameters = [
        _parameter(one) for one in inspect.signature(function, eval_str=True).parameters.values()
    ]
    summary = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
    return _Command(
        function.__name__,
        summary,
        tuple(one for one in parameters if one.flags),
        tuple(one for one in parameters if not one.flags),
    )


def _parameter(parameter: inspect.Parameter) -> _Parameter:
    annotated, about = get_args(parameter.annotation)
    kinds = [kind for kind in get_args(annotated) if kind is not type(None)] or [annotated]
    kind: Any = kinds[0]
    words: Iterable[str] = ()
    if isinstance(kind, type) and issubclass(kind, Enum):
        words = (str(choice.value) for choice in kind)
    elif about.autocompletion is not None:
        words = about.autocompletion()
    elif "|" in (about.metavar or ""):
        words = about.metavar.split("|")
    words = tuple(words)
    is_file = kind not in (int, float, bool) and about.metavar not in _NO_FILES
    is_argument = isinstance(about, type(typer.Argument()))
    # Typer takes the first name for a default until it builds the command.
    first = (about.default,) if isinstance(about.default, str) else ()
    declared = [flag for one in (*first, *(about.param_decls or ())) for flag in one.split("/")]
    name = parameter.name.replace("_", "-")
    flags = declared or ([f"--{name}", f"--no-{name}"] if kind is bool else [f"--{name}"])
    return _Parameter(
        () if is_argument else tuple(flags),
        kind is not bool,
        words,
        is_file and (not words or about.autocompletion is not None),
        (about.help or "").partition(";")[0].rstrip("."),
    )


def _bash(commands: list[_Command]) -> Iterator[str]:
    first = [*(command.name for command in commands), *_HELP, "--version"]
    yield from (
        "# bash completion of crossarc",
        "_crossarc() {",
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}",
        "    local command= word words=",
        "    # bash cuts --option=value at the sign.",
        "    if [[ $current == = ]]; then current=",
        "    elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi",
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do',
        "        if [[ $word != -* ]]; then command=$word; break; fi",
        "    done",
        "    COMPREPLY=()",
        "    case $command in",
        f"        '') words={shlex.quote(' '.join(first))} ;;",
    )
    for command in commands:
        yield f"        {command.name})"
        yield "            case $previous in"
        for option in command.options:
            if option.takes_value:
                values = shlex.quote(" ".join(option.words))
                stop = "" if option.files or option.words else "compopt +o default; return"
                body = stop or f"words={values}"
                yield f"                {'|'.join(option.flags)}) {body} ;;"
        arguments = " ".join(word for one in command.arguments for word in one.words)
        yield f"                *) words={shlex.quote(arguments)}"
        flags = shlex.quote(" ".join(command.flags))
        yield f"                    if [[ $current == -* ]]; then words={flags}; fi ;;"
        yield "            esac ;;"
    yield from (
        "    esac",
        '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "# Without a word that fits, files.",
        "complete -o default -F _crossarc crossarc",
    )


def _zsh(commands: list[_Command]) -> Iterator[str]:
    yield from (
        "#compdef crossarc",
        "_crossarc() {",
        "    local state",
        "    local -a commands=(",
        *(f"        {shlex.quote(f'{one.name}:{one.help}')}" for one in commands),
        "    )",
        "    _arguments -C '(- *)'{-h,--help}'[show help]' '(- *)--version[show the version]' \\",
        "        '1: :->command' '*:: :->rest'",
        "    case $state in",
        "        command) _describe command commands ;;",
        "        rest)",
        "            case $words[1] in",
    )
    for command in commands:
        yield f"                {command.name})"
        yield "                    _arguments '(- *)'{-h,--help}'[show help]' \\"
        for option in command.options:
            value = f":value:{_zsh_action(option)}" if option.takes_value else ""
            for flag in option.flags:
                about = f"[{option.help.translate(_ZSH_ESCAPES)}]"
                yield f"                        {shlex.quote(f'*{flag}{about}{value}')} \\"
        arguments = [shlex.quote(f"*:argument:{_zsh_action(one)}") for one in command.arguments[:1]]
        yield f"                        {' '.join(arguments)} ;;"
    yield from (
        "            esac ;;",
        "    esac",
        "}",
        "if [[ $funcstack[1] == _crossarc ]]; then",
        '    _crossarc "$@"',
        "else",
        "    compdef _crossarc crossarc",
        "fi",
    )


_ZSH_ESCAPES = str.maketrans({"[": r"\[", "]": r"\]", ":": r"\:"})


def _zsh_action(parameter: _Parameter) -> str:
    if not parameter.files:
        return f"({' '.join(parameter.words)})" if parameter.words else " "
    if not parameter.words:
        return "_files"
    return f"{{compadd {' '.join(parameter.words)}; _files}}"


def _fish(commands: list[_Command]) -> Iterator[str]:
    yield "# fish completion of crossarc"
    yield "complete -c crossarc -f"
    yield "complete -c crossarc -s h -l help -d 'Show help'"
    for command in commands:
        about = _fish_quoted(command.help)
        yield f"complete -c crossarc -n __fish_use_subcommand -a {command.name} -d {about}"
    for command in commands:
        within = f"complete -c crossarc -n '__fish_seen_subcommand_from {command.name}'"
        for argument in command.arguments[:1]:
            yield f"{within}{_fish_values(argument)}"
        for option in command.options:
            flags = "".join(
                f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
                for flag in option.flags
            )
            value = f" -r{_fish_values(option)}" if option.takes_value else ""
            yield f"{within}{flags}{value} -d {_fish_quoted(option.help)}"


def _fish_values(parameter: _Parameter) -> str:
    words = f" -a {_fish_quoted(' '.join(parameter.words))}" if parameter.words else ""
    return f"{words}{' -F' if parameter.files else ' -f'}"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
