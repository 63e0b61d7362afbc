"""The house: a room imports only from rooms above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from support.files import ROOT

SOURCE = ROOT / "src" / "crossarc"
# From top to bottom, as in the design.
ROOMS = (
    "errors",
    "beside",
    "kernels",
    "once",
    "limits",
    "parallel",
    "trees",
    "treebank",
    "text",
    "evaluation",
    "draw",
    "inference",
    "transforms",
    "learning",
    "models",
    "parser",
    "analysis",
    "scale",
    "integrations",
    "app",
)


def imported_rooms(path: Path) -> set[str]:
    """Rooms named in imports, those for type checking and for notebooks left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ignored = {
        id(inner)
        for node in ast.walk(tree)
        if (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        or (isinstance(node, ast.FunctionDef) and node.name == "_repr_svg_")
        for inner in ast.walk(node)
    }
    names = [
        node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and id(node) not in ignored
    ]
    return {name.split(".")[1] for name in names if name.startswith("crossarc.")}


@pytest.mark.parametrize("room", [*ROOMS, "__init__", "__main__"])
def test_imports_go_up(room: str) -> None:
    for path in [*SOURCE.glob(f"{room}.py"), *(SOURCE / room).rglob("*.py")]:
        imported = imported_rooms(path)
        if room == "__init__":
            assert imported == set()
        elif room == "__main__":
            assert imported == {"app"}
        else:
            assert imported <= set(ROOMS[: ROOMS.index(room) + 1]), path


def test_every_room_is_in_the_plan() -> None:
    rooms = {
        path.name.removesuffix(".py")
        for path in SOURCE.iterdir()
        if not path.name.startswith("_") and path.name != "py.typed"
    }
    assert rooms <= set(ROOMS)
