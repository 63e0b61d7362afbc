"""Sphinx: MyST pages and a reference made from the docstrings. Needs no network."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

from sphinx.pycode import ModuleAnalyzer

import crossarc

project = "crossarc"
author = "The crossarc developers"
copyright = "The crossarc developers. Apache License 2.0"
version = release = crossarc.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

# Docstrings put code between single backticks.
default_role = "literal"
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
# The reference is the same whether the extra is installed or not.
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]
autodoc_type_aliases = {
    name: name
    for name in (
        "ArrayLike",
        "NDArray",
        "Ints",
        "Floats",
        "Readable",
        "Writable",
        "OnError",
        "Order",
        "Drawable",
        "Arc",
        "Function",
        "Given",
        "Heads",
        "Root",
    )
}
add_module_names = False

html_theme = "furo"
html_title = f"crossarc {release}"
html_copy_source = False

_CODE = re.compile(r"(`[^`]*`)")
_ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
_ITEM = re.compile(r"(\w+): \S")


_analyze = ModuleAnalyzer.analyze


def _analyze_implementations(analyzer: ModuleAnalyzer) -> None:
    """Show the signature of the implementation, which names all arguments, not the overloads."""
    _analyze(analyzer)
    analyzer.overloads.clear()


def setup(app: Any) -> None:
    """Make reStructuredText of the docstrings, before napoleon reads their sections."""
    ModuleAnalyzer.analyze = _analyze_implementations
    app.connect("autodoc-process-docstring", _process, priority=400)
    app.connect("autodoc-process-signature", _sign)


def _sign(
    app: Any,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    arguments: str | None,
    result: str | None,
) -> tuple[str | None, str | None]:
    """Show aliases by name, and no constructor where users have other ways to make an object."""
    if name == "crossarc.treebank.Sentence":
        return "", None
    return (
        arguments and _ALIAS.sub(r"\1", arguments),
        result and _ALIAS.sub(r"\1", result),
    )


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: an indented block is code, `name: text` an item, | a bar."""
    result: list[str] = []
    above = ""  # the last line that is not blank
    is_code = is_item = False
    for number, line in enumerate(lines):
        starts = bool(line.strip()) and (number == 0 or not lines[number - 1].strip())
        indented = line.startswith(" ")
        if starts:
            is_code = indented and (is_code or (bool(above) and not above.startswith(" ")))
            is_item = False
            if is_code:
                result += ["::", ""]
        if _ITEM.match(line) and (starts or is_item):
            is_item = True
            result.append(f"- {_escaped(line)}")
        elif is_item and indented:
            result.append(f"  {_escaped(line.strip())}")
        else:
            result.append(line if is_code else _escaped(line))
        above = line if line.strip() else above
    # After an empty word, napoleon does not take what precedes a colon for a type.
    lines[:] = ["\\ ", *result] if what in ("attribute", "property") else result


def _escaped(line: str) -> str:
    parts = _CODE.split(line)
    return "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)
