"""What the lines of a comparison mean."""

from __future__ import annotations

from crossarc.draw.elements import number, text_element
from crossarc.draw.line import TAG_SIZE
from crossarc.draw.metrics import advance
from crossarc.draw.picture import Kind, Picture

__all__ = ["MEANINGS", "Legend"]

MEANINGS = {Kind.first: "only {0}", Kind.second: "only {1}", Kind.relabelled: "other label"}

_SAMPLE = 30.0


class Legend:
    """What the lines of a comparison mean, in one row."""

    def __init__(self, content: Picture) -> None:
        kinds = {arc.kind for arc in content.arcs}
        shown = [kind for kind in MEANINGS if kind in kinds] if content.names else []
        names = content.names or ("", "")
        self.items = [(kind, MEANINGS[kind].format(*names)) for kind in shown]
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
