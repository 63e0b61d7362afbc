"""Say what is wrong with a sentence: line, fault and remedy.

Plain loops, one sentence at a time, in the order in which a person would mend the file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from crossarc.errors import TreebankError
from crossarc.treebank.columns import COLUMNS, HEAD, NAMES
from crossarc.trees import check_heads

__all__ = ["Problem", "diagnose", "find_sent_id"]

_MOST_DIGITS = 9
_NUMBER = re.compile(r"[1-9][0-9]*", re.ASCII)
_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})", re.ASCII)
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})", re.ASCII)
_SENT_ID = re.compile(r"^#\s*sent_id\s*=\s*(.*?)\s*$", re.MULTILINE)


class Problem(NamedTuple):
    """A fault on a line of the sentence, counted from 0 at the first byte given."""

    line: int
    what: str


class _FaultError(Exception):
    """Carries the first problem out of the checks."""

    def __init__(self, line: int, what: str) -> None:
        self.problem = Problem(line, what)


def find_sent_id(text: str) -> str | None:
    """The value of the first `# sent_id =` comment."""
    match = _SENT_ID.search(text)
    return match.group(1) if match else None


def diagnose(data: bytes) -> Problem | None:
    """The first problem of one sentence, or None if it is valid.

    Args:
        data: the lines of one sentence, possibly with blank lines before and after.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start)
        return Problem(
            line,
            f"byte 0x{data[error.start]:02x} is not UTF-8: convert the file to UTF-8 "
            "(for instance with iconv)",
        )
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    try:
        rows = _rows(lines)
        word_lines = _check_ids(rows)
        _check_heads({line: rows[line][HEAD] for line in word_lines})
    except _FaultError as fault:
        return fault.problem
    return None


def _rows(lines: list[str]) -> dict[int, list[str]]:
    rows: dict[int, list[str]] = {}
    comment = 0
    for number, line in enumerate(lines):
        if not line:
            continue
        if line.startswith("#"):
            comment = number
            if rows:
                raise _FaultError(
                    number, "a comment after the first word: move it above the sentence"
                )
            continue
        rows[number] = _columns(number, line)
    if not rows:
        raise _FaultError(comment, "comments without words: remove them or add the sentence")
    return rows


def _columns(number: int, line: str) -> list[str]:
    if not line.strip():
        raise _FaultError(number, "a line of spaces: a blank line between sentences must be empty")
    columns = line.split("\t")
    if len(columns) != COLUMNS:
        is_one = len(columns) == 1
        found = "1 column" if is_one else f"{len(columns)} columns"
        hint = "; are the columns separated by spaces?" if is_one else ""
        raise _FaultError(
            number, f"{found}: expected {COLUMNS} columns separated by single tabs{hint}"
        )
    if "" in columns:
        name = NAMES[columns.index("")]
        raise _FaultError(number, f"column {name} is empty: write _ where there is no value")
    return columns


def _check_ids(rows: dict[int, list[str]]) -> list[int]:
    """Check the id of every row; returns the lines of the words."""
    words: list[int] = []
    covered, covered_line = 0, 0
    last_empty = (-1, 0)
    opened: tuple[int, str] | None = None
    for line, (name, *_) in rows.items():
        before = len(words)
        if _NUMBER.fullmatch(name):
            _check_word_id(line, name, before)
            words.append(line)
            opened = None
            continue
        if opened is not None and not _RANGE.fullmatch(name):
            raise _misplaced_range(*opened)
        if match := _RANGE.fullmatch(name):
            first, last = int(match[1]), int(match[2])
            if first != before + 1 or first <= covered or last < first:
                raise _misplaced_range(line, name)
            covered, covered_line = last, line
            opened = line, name
        elif match := _EMPTY.fullmatch(name):
            word, number = int(match[1]), int(match[2])
            expected = last_empty[1] + 1 if last_empty[0] == word == before else 1
            if word != before or number != expected:
                raise _FaultError(
                    line,
                    f"empty node {name} does not fit: after word {before} comes "
                    f"{before}.{expected}",
                )
            last_empty = word, number
        else:
            raise _FaultError(
                line,
                f"id {_shown(name)!r} is not a word (3), a range (3-4) or an empty node (3.1)",
            )
    if not words:
        raise _FaultError(next(iter(rows)), "no words: a sentence needs at least one row with id 1")
    if covered > len(words):
        raise _FaultError(
            covered_line, f"a range ends at {covered}, after the last word {len(words)}"
        )
    return words


def _check_word_id(line: int, name: str, before: int) -> None:
    if name == str(before + 1):
        return
    is_repeated = len(name) <= _MOST_DIGITS and int(name) <= before
    problem = f"repeated id {name}" if is_repeated else f"missing id {before + 1}"
    raise _FaultError(line, f"{problem}: ids must count 1, 2, 3, ...: got {_shown(name)}")


def _misplaced_range(line: int, name: str) -> _FaultError:
    first = name.partition("-")[0]
    return _FaultError(
        line,
        f"range {name} does not fit: it must stand right before word {first}, end at or after it, "
        "and not overlap another range",
    )


def _shown(field: str) -> str:
    """A field, shortened if it is very long."""
    return field if len(field) <= 40 else f"{field[:37]}..."


def _check_heads(fields: dict[int, str]) -> None:
    heads: list[int] = []
    for line, field in fields.items():
        if field != "_" and field != "0" and not _NUMBER.fullmatch(field):
            raise _FaultError(
                line, f"head {_shown(field)!r} is not a whole number: write 0 for the root or _"
            )
        if len(field) > _MOST_DIGITS or (field != "_" and int(field) > len(fields)):
            raise _FaultError(
                line,
                f"head {_shown(field)} is out of range: heads run from 0 to {len(fields)} here",
            )
        heads.append(-1 if field == "_" else int(field))
    try:
        check_heads(heads)
    except TreebankError as error:
        raise _FaultError(next(iter(fields)), error.what) from None
