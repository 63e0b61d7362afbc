"""The page about the papers names code and tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from support.files import ROOT

PAGE = ROOT / "docs" / "papers.md"
CODE = ROOT / "src" / "crossarc"
TESTS = ROOT / "tests"
_NAME = re.compile(r"`([\w/]+(?:\.py|/)(?:::\w+)*)`")


def rows() -> list[list[str]]:
    """The cells of all tables, without their headings."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] not in {"section", "---"}]


def names(column: int) -> list[str]:
    """What the tables name in a column."""
    found = {name for row in rows() for name in _NAME.findall(row[column])}
    assert len(found) > 50
    return sorted(found)


def is_defined(path: Path, inner: list[str]) -> bool:
    """Whether a file exists, with these names in it, each inside of the one before."""
    if not path.exists():
        return False
    body = ast.parse(path.read_text(encoding="utf-8")).body if inner else []
    for name in inner:
        found = [node for node in body if name in bound_names(node)]
        if not found:
            return False
        body = list(getattr(found[0], "body", []))
    return True


def bound_names(node: ast.stmt) -> set[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_five_tables_whose_rows_name_code() -> None:
    assert PAGE.read_text(encoding="utf-8").count("| section |") == 5
    for row in rows():
        assert len(row) == 5, row
        assert _NAME.search(row[2]) or row[2].startswith("the same"), row


def test_code_exists() -> None:
    """Below the package; the papers' algorithms as printed are in the tests' own support."""
    for name in names(2):
        path, *inner = name.split("::")
        root = TESTS if path.startswith("support/") else CODE
        assert is_defined(root / path, inner), name


def test_tests_exist() -> None:
    for name in names(3):
        path, *inner = name.split("::")
        assert inner, name
        assert is_defined(TESTS / path, inner), name
