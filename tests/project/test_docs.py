"""The documentation keeps up with the code and with its own tables."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from support.files import ROOT

import crossarc

DOCS = ROOT / "docs"
# What has no Python names for users: compiled parts, threads, attributes, the command line.
_WITHOUT_PAGE = {"app", "beside", "once", "parallel"}


def studies() -> ModuleType:
    spec = importlib.util.spec_from_file_location("studies", DOCS / "studies.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_in_the_reference() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    errors = {name for name in crossarc.__all__ if name.endswith("Error")}
    missing = [name for name in crossarc.__all__ if f"`ca.{name}`" not in page]
    assert set(missing) == errors - {"CrossarcError"}


def test_every_room_has_a_page() -> None:
    rooms = {
        path.name.removesuffix(".py")
        for path in (ROOT / "src" / "crossarc").iterdir()
        if not path.name.startswith("_") and path.name != "py.typed"
    }
    pages = {path.stem for path in (DOCS / "api").glob("*.md")}
    assert rooms - _WITHOUT_PAGE <= pages


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plots_show_the_tables_of_their_pages(theme: str) -> None:
    """Else run docs/studies.py."""
    module = studies()
    made = {name: module.image([picture], theme) for name, picture in module.pictures().items()}
    assert len(made) == 4
    for name, picture in made.items():
        stored = DOCS / "pictures" / f"{name}-{theme}.svg"
        assert stored.read_text(encoding="utf-8") == picture


def test_tables_are_read_by_their_heading() -> None:
    """The least probable head first, 10 % of the words of English-EWT: 94.04 (inference.md)."""
    module = studies()
    rows = module.table("inference.md", "order", which=1)
    assert rows[2][0] == "least probable head of the parse"
    assert module.value(rows[2][3]) == 94.04
    assert module.value("−1.46 to 0.67") == -1.46
