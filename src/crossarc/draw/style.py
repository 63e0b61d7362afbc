"""How drawings and pages look: colours for light and dark surroundings, fonts, lines, a legend.

Colours have names in one palette. The rules of drawings name the colours outright, without CSS
variables, which many programs that show SVG do not know; the rules of pages use variables. What a
colour says is also said by the line: see `docs/drawing.md`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal
from xml.sax.saxutils import escape

from crossarc.draw.layout import FORM_SIZE, LABEL_SIZE, TAG_SIZE
from crossarc.draw.picture import Arc, Kind, Picture
from crossarc.draw.widths import advance

__all__ = [
    "FONTS",
    "MEANINGS",
    "Legend",
    "Theme",
    "arc_title",
    "coloured",
    "drawing_rules",
    "number",
    "text_element",
    "variables",
]

Theme = Literal["auto", "light", "dark"]

FONTS = '"Noto Sans","Segoe UI","Helvetica Neue",Arial,"DejaVu Sans",sans-serif'

# Light, dark. Text has a contrast of at least 4.5 to its paper.
_PALETTE = {
    "paper": ("#ffffff", "#14181f"),
    "ground": ("#f3f5f7", "#0b0e13"),
    "wash": ("#eef2f6", "#1d242e"),
    "ink": ("#1b2430", "#e8edf4"),
    "soft": ("#566273", "#9aa7b8"),
    "label": ("#45525f", "#b4c0ce"),
    "edge": ("#d5dbe2", "#2f3844"),
    "line": ("#7b8794", "#8896a8"),
    "pale": ("#aab4bf", "#5f6b7a"),
    "accent": ("#0b62a4", "#6cb8f5"),
    "crossing": ("#c2340c", "#ff9466"),
    "second": ("#b3420a", "#ffa45c"),
    "relabelled": ("#7a3db8", "#cda3ff"),
    "enhanced": ("#11736b", "#4fd1c1"),
    "level0": ("#b91c1c", "#f26b6b"),
    "level1": ("#ea7a1b", "#f59a4a"),
    "level2": ("#c49a00", "#ecd04e"),
    "level3": ("#4d9a3a", "#86cf74"),
    "level4": ("#218a7e", "#52c7b8"),
    "level5": ("#3b7dc4", "#72aef0"),
    "level6": ("#6d5bb5", "#a593ec"),
}

_SHAPES = f"""\
.crossarc{{font-family:{FONTS};font-size:{FORM_SIZE:g}px}}
.crossarc text{{text-anchor:middle}}
.crossarc .label,.crossarc .token{{font-size:{LABEL_SIZE:g}px}}
.crossarc .tag,.crossarc .probability{{font-size:{TAG_SIZE:g}px}}
.crossarc .legend text,.crossarc .caption{{font-size:{TAG_SIZE:g}px}}
.crossarc .legend text,.crossarc .caption{{text-anchor:start}}
.crossarc .empty .word{{font-style:italic}}
.crossarc .line,.crossarc .span{{fill:none;stroke-linecap:round}}
.crossarc .bar{{stroke-width:1.5}}
.crossarc .nonprojective .line{{stroke-width:2}}
.crossarc .first .line{{stroke-width:2.4}}
.crossarc .second .line{{stroke-width:1.8;stroke-dasharray:6 4}}
.crossarc .relabelled .line{{stroke-width:1.8}}
.crossarc .enhanced .line{{stroke-width:1.6;stroke-dasharray:9 3}}
.crossarc .candidate .line{{stroke-width:1.2;stroke-dasharray:1.5 4}}
.crossarc .candidate .tip{{fill-opacity:.5}}
.crossarc .arc .passing{{stroke-width:1;stroke-opacity:.6}}
"""

# Selectors within a drawing, and a colour of the palette.
_PAINT = {
    "fill": {
        ".paper": "paper",
        "text": "ink",
        ".tag,.probability,.token,.legend text,.caption,.empty .word": "soft",
        ".label": "label",
        ".tip": "line",
        ".nonprojective .tip,.nonprojective .label": "crossing",
        ".same .tip": "pale",
        ".first .tip,.first .label": "accent",
        ".second .tip,.second .label": "second",
        ".relabelled .tip,.relabelled .label": "relabelled",
        ".enhanced .tip,.enhanced .label": "enhanced",
        ".candidate .tip,.candidate .label": "soft",
    },
    "stroke": {
        ".line,.bar": "line",
        ".span": "pale",
        ".nonprojective .line": "crossing",
        ".same .line": "pale",
        ".first .line": "accent",
        ".second .line": "second",
        ".relabelled .line": "relabelled",
        ".enhanced .line": "enhanced",
    },
}


@cache
def drawing_rules(theme: Theme, *, switch: bool = False) -> str:
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
        for selectors, name in colours.items():
            scoped = ",".join(f"{scope} {selector}" for selector in selectors.split(","))
            rules.append(f"{scoped}{{{attribute}:{_PALETTE[name][is_dark]}}}\n")
    return "".join(rules)


def variables() -> str:
    """The palette as CSS variables of a page, light in print, with `data-theme` to overrule."""

    def block(selector: str, is_dark: bool) -> str:
        values = "".join(f"--{name}:{pair[is_dark]};" for name, pair in _PALETTE.items())
        return f"{selector}{{color-scheme:{'dark' if is_dark else 'light'};{values}}}\n"

    return (
        block(":root", False) + f"@media screen and (prefers-color-scheme:dark){{\n"
        f"{block(':root:not([data-theme=light])', True)}}}\n"
        f"@media screen{{\n{block(':root[data-theme=dark]', True)}}}\n"
    )


def coloured(rules: str, theme: Literal["light", "dark"]) -> str:
    """Rules of a page for an image of its own: variables replaced by the colours of a theme."""
    return re.sub(r"var\(--(\w+)\)", lambda match: _PALETTE[match[1]][theme == "dark"], rules)


def number(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def text_element(kind: str, x: float, y: float, text: str, attributes: str = "") -> str:
    """A `text` element of a class."""
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{attributes}>{escape(text)}</text>'


MEANINGS = {
    Kind.first: "only {0}",
    Kind.second: "only {1}",
    Kind.relabelled: "other label",
    Kind.enhanced: "enhanced",
}

_SAMPLE = 30.0


def arc_title(content: Picture, arc: Arc) -> str:
    """What an arc says, in words: its ends, label and kind."""
    head = content.nodes[arc.head - 1].form if arc.head else "root"
    about = [] if arc.kind is Kind.candidate else [arc.shown]
    if arc.probability is not None:
        about.append(f"{arc.probability:.1%}")
    if arc.kind is Kind.nonprojective:
        about.append("non-projective")
    elif arc.kind in MEANINGS and arc.kind is not Kind.relabelled:
        about.append(MEANINGS[arc.kind].format(*content.names or ("", "")))
    elif arc.kind is Kind.candidate:
        about.append("candidate")
    title = f"{head} → {content.nodes[arc.dependent - 1].form}"
    return f"{title}: {', '.join(filter(None, about))}" if any(about) else title


class Legend:
    """What the lines of a comparison or of enhanced arcs mean, in one row."""

    def __init__(self, content: Picture) -> None:
        kinds = {arc.kind for arc in content.arcs}
        names = content.names or ("", "")
        self.items = [(kind, MEANINGS[kind].format(*names)) for kind in MEANINGS if kind in kinds]
        self.widths = [_SAMPLE + 22 + advance(text) * TAG_SIZE for _, text in self.items]
        self.width = sum(self.widths)

    def element(self, x: float, y: float) -> str:
        """The row, its text centred on y."""
        parts = ['<g class="legend">']
        for (kind, text), width in zip(self.items, self.widths, strict=True):
            path = f"M{number(x)} {number(y)}h{_SAMPLE:g}"
            parts.append(f'<g class="{kind}"><path class="line" d="{path}"/></g>')
            parts.append(text_element("name", x + _SAMPLE + 6, y + TAG_SIZE * 0.35, text))
            x += width
        return "".join(parts) + "</g>"
