"""Colours and fonts of drawings, as CSS, for light and dark surroundings.

Rules name colours outright, without CSS variables, which many programs that show SVG do not know.
What colours tell is told by the line too: see `docs/drawing.md`.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from crossarc.draw.line import FORM_SIZE, LABEL_SIZE, TAG_SIZE

__all__ = ["FONTS", "Theme", "stylesheet"]

Theme = Literal["auto", "light", "dark"]

FONTS = '"Noto Sans","Segoe UI","Helvetica Neue",Arial,"DejaVu Sans",sans-serif'

_SHAPES = f"""\
.crossarc{{font-family:{FONTS};font-size:{FORM_SIZE:g}px}}
.crossarc text{{text-anchor:middle}}
.crossarc .label{{font-size:{LABEL_SIZE:g}px}}
.crossarc .tag,.crossarc .chance{{font-size:{TAG_SIZE:g}px}}
.crossarc .legend text,.crossarc .caption{{font-size:{TAG_SIZE:g}px}}
.crossarc .legend text,.crossarc .caption{{text-anchor:start}}
.crossarc .line{{fill:none;stroke-linecap:round}}
.crossarc .bar{{stroke-width:1.5}}
.crossarc .nonprojective .line{{stroke-width:2}}
.crossarc .first .line{{stroke-width:2.4}}
.crossarc .second .line{{stroke-width:1.8;stroke-dasharray:6 4}}
.crossarc .relabelled .line{{stroke-width:1.8}}
.crossarc .candidate .line{{stroke-width:1.2;stroke-dasharray:1.5 4}}
.crossarc .candidate .tip{{fill-opacity:.5}}
.crossarc .arc .passing{{stroke-width:1;stroke-opacity:.6}}
"""

# Selector within a drawing: light, dark. Text has a contrast of at least 4.5 to its paper.
_PAINT = {
    "fill": {
        ".paper": ("#ffffff", "#14181f"),
        "text": ("#1b2430", "#e8edf4"),
        ".tag,.chance,.legend text,.caption": ("#5c6878", "#9aa7b8"),
        ".label": ("#45525f", "#b4c0ce"),
        ".tip": ("#7b8794", "#8896a8"),
        ".nonprojective .tip,.nonprojective .label": ("#c2340c", "#ff9466"),
        ".same .tip": ("#aab4bf", "#5f6b7a"),
        ".first .tip,.first .label": ("#0b62a4", "#6cb8f5"),
        ".second .tip,.second .label": ("#b3420a", "#ffa45c"),
        ".relabelled .tip,.relabelled .label": ("#7a3db8", "#cda3ff"),
        ".candidate .tip,.candidate .label": ("#5c6878", "#9aa7b8"),
    },
    "stroke": {
        ".line,.bar": ("#7b8794", "#8896a8"),
        ".nonprojective .line": ("#c2340c", "#ff9466"),
        ".same .line": ("#aab4bf", "#5f6b7a"),
        ".first .line": ("#0b62a4", "#6cb8f5"),
        ".second .line": ("#b3420a", "#ffa45c"),
        ".relabelled .line": ("#7a3db8", "#cda3ff"),
    },
}


@cache
def stylesheet(theme: Theme, *, switch: bool = False) -> str:
    """The rules of a drawing.

    Args:
        theme: "auto" follows the surroundings.
        switch: whether a `data-theme` on the page overrules what is automatic, and print is light.
    """
    base = f".crossarc.{theme}"
    if theme != "auto":
        return _SHAPES + _paint(base, theme == "dark")
    light = _SHAPES + _paint(base, False)
    if not switch:
        return f"{light}@media (prefers-color-scheme:dark){{\n{_paint(base, True)}}}\n"
    automatic = _paint(f":root:not([data-theme=light]) {base}", True)
    chosen = _paint(f":root[data-theme=dark] {base}", True)
    return (
        f"{light}@media screen and (prefers-color-scheme:dark){{\n{automatic}}}\n"
        f"@media screen{{\n{chosen}}}\n"
    )


def _paint(scope: str, is_dark: bool) -> str:
    rules = []
    for attribute, colours in _PAINT.items():
        for selectors, pair in colours.items():
            scoped = ",".join(f"{scope} {selector}" for selector in selectors.split(","))
            rules.append(f"{scoped}{{{attribute}:{pair[is_dark]}}}\n")
    return "".join(rules)
