"""The frame of every page that crossarc makes: one style sheet, one script.

Pages for files are whole without their script and fetch nothing; pages that a server gives link the
style sheet and the script. The script does what it finds elements for:

    #theme                          a button that switches between light and dark
    .controls                       search, filters and order of the `article` elements of `main`
    dialog.examples, [data-key]     buttons that open sentences, from `template` elements

Other scripts of a page add their keys to `crossarc.keys`, functions by the name of the key.

`page.css` takes its colours from the palette in `style.py`, as variables, so that pages, plots and
drawings have the same colours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

from crossarc.draw.style import FONTS, Theme, drawing_rules, variables
from crossarc.draw.widths import printable

__all__ = ["closing", "component_rules", "opening", "script", "stylesheet"]

_HERE = Path(__file__).parent
# Whatever a page may come to hold, the browser fetches nothing for it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@cache
def component_rules() -> str:
    """The rules of `page.css`, with colours as variables."""
    return (_HERE / "page.css").read_text(encoding="utf-8").replace("var(--fonts)", FONTS)


@cache
def stylesheet() -> str:
    """All rules of a page: its colours, its components, and drawings."""
    return variables() + component_rules() + drawing_rules("auto", switch=True)


@cache
def script() -> str:
    """The script of a page."""
    return (_HERE / "page.js").read_text(encoding="utf-8")


def opening(
    title: str,
    *,
    theme: Theme = "auto",
    controls: str = "",
    intro: str = "",
    styles: Sequence[str] = (),
    icon: str = "",
) -> str:
    """A page up to its first content.

    Args:
        title: in words; it is escaped.
        controls: HTML of search and filters, which appear with the script.
        intro: HTML that comes first.
        styles: addresses of style sheets; none for a page of one file.
        icon: the address of an icon, if there is one.
    """
    shown = escape(printable(title))
    chosen = "" if theme == "auto" else f' data-theme="{theme}"'
    search = f'<div class="controls" role="search" hidden>\n{controls}</div>\n' if controls else ""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    links = "".join(f'<link rel="stylesheet" href="{address}">\n' for address in styles)
    if icon:
        links += f'<link rel="icon" href="{icon}">\n'
    return f"""<!doctype html>
<html lang="en"{chosen}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{"" if styles else policy}<meta name="generator" content="crossarc">
<title>{shown}</title>
{links or f"<style>{chr(10)}{stylesheet()}</style>{chr(10)}"}</head>
<body>
<header>
<div class="heading"><h1 dir="auto">{shown}</h1>
<button type="button" id="theme" aria-label="Switch between light and dark" hidden>◐</button></div>
{search}</header>
<main>
{intro}"""


def closing(footer: str, *, data: object = None, scripts: Sequence[str] = ()) -> str:
    """A page after its last content.

    Args:
        footer: HTML.
        data: what the script needs, written as JSON; none by default.
        scripts: addresses of the script and of further modules; none for a page of one file.
    """
    values = ""
    if data is not None:
        # In a script element, "</script>" and "<!--" would end or change what is read.
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        values = f'<script type="application/json" id="data">{text}</script>\n'
    first, *modules = scripts or [""]
    own = f'<script src="{first}"></script>' if first else f"<script>\n{script()}</script>"
    more = "".join(f'\n<script type="module" src="{address}"></script>' for address in modules)
    return f"""</main>
<footer>{footer}</footer>
{values}{own}{more}
</body>
</html>
"""
