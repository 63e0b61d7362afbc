"""Extras: absent ones are skipped, unless every extra is required to be there."""

from __future__ import annotations

import importlib.util
import os
import tomllib

import pytest
from support.files import ROOT

MODULES = {
    "torch": ["torch"],
    "transformers": ["torch", "transformers"],
    "spacy": ["spacy"],
    "ray": ["ray", "fsspec"],
    "web": ["starlette", "uvicorn"],
    "plots": ["matplotlib"],
    "images": ["typst"],
}


def test_extras_are_those_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == set(MODULES)
    core = {name.partition(">")[0] for name in project["dependencies"]}
    libraries = {"numpy", "scipy", "numba", "highspy"}
    assert core == libraries | {"typer", "rich", "msgspec", "safetensors"}


@pytest.mark.parametrize("extra", MODULES)
def test_extra_is_installed(extra: str) -> None:
    missing = [name for name in MODULES[extra] if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("CROSSARC_REQUIRE_EXTRAS") != "all":
        pytest.skip(f"extra [{extra}] is not installed")
    assert missing == []
