"""A tree as SVG: arches over the words, in as many lines as its width asks for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import accumulate
from typing import NamedTuple, Unpack
from xml.sax.saxutils import escape

from crossarc.draw.layout import (
    CORNER,
    FORM_SIZE,
    LABEL_SIZE,
    TAG_SIZE,
    Arch,
    Layout,
    Line,
    Passing,
    Root,
    TokenSpan,
)
from crossarc.draw.picture import Arc, Contents, Drawable, Picture, picture
from crossarc.draw.style import Legend, Theme, arc_title, drawing_rules, number, text_element

__all__ = ["SVG", "WIDTH", "Figure", "element", "svg"]

#: Width of a drawing, in pixels, at which its words go on in another line.
WIDTH = 1000

_PAD = 14.0
_LOWEST, _LEVEL, _PASSING = 34.0, 21.0, 6.0
_WORD_TOP = 6.0
_ROOT_GAP = 6.0
# Legs that stand out so far from their word are joined by a bar.
_OVERHANG = 6.0
_ROW = 15.0
_BETWEEN_LINES = 26.0
_TIP = 6.5
# What a line break costs, besides 1 for each arc that it cuts.
_ANOTHER_LINE = 2.0
_EMPTINESS = 40.0
# Breaks inside a multiword token are avoided where another one will do.
_BROKEN_TOKEN = 15


class SVG(str):
    """SVG as a string, which notebooks show as a drawing."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def svg(
    source: Drawable,
    *,
    names: tuple[str, str] = ("first", "second"),
    width: float | None = WIDTH,
    theme: Theme = "auto",
    **contents: Unpack[Contents],
) -> SVG:
    """A sentence or tree as SVG, a file of its own.

    The result is a string that notebooks show as a drawing. Arcs that are not projective have
    another colour and are heavy; where arcs cross, one has a gap. Words in right-to-left scripts
    run from right to left. Text stays text. A tooltip on a word has its lemma, tags and features.

    Args:
        source: what to draw.
        forms: other words than those of the sentence; for a tree, by default their numbers.
        tags: other tags than UPOS, below the words.
        probabilities: of the heads, one a word, or of all arcs, (n+1, n+1), as `marginals()` gives
            them; by default those in MISC (`HeadProb=`), if any. Likely arcs are stronger.
        candidates: words whose other possible heads are drawn too, faintly, from 1% on; needs the
            probabilities of all arcs.
        against: another tree for the same words. Arcs in only one of the two are marked.
        names: what to call the two in the legend.
        multiword_tokens: whether surface tokens stand below the words into which they are split.
        empty_nodes: whether empty nodes stand among the words, with the enhanced arcs that enter
            and leave them.
        enhanced: whether the arcs of the enhanced graph that are not in the tree are drawn, with
            the empty nodes; where only the label differs, the arc has the enhanced label.
        width: where to go on in another line; None for never.
        theme: "light", "dark", or "auto" for what the reader's system prefers.

    Raises:
        TreebankError: a word has no head, or the options do not fit the sentence.
    """
    content = picture(source, names=names, **contents)
    return SVG(element(content, width=width, theme=theme, style=drawing_rules(theme)).text + "\n")


class Figure(NamedTuple):
    """An `svg` element and its size in pixels."""

    text: str
    width: float
    height: float


def element(
    content: Picture,
    *,
    width: float | None = WIDTH,
    theme: Theme = "auto",
    style: str = "",
    positions: bool = False,
) -> Figure:
    """A picture as an `svg` element, with rules of style where no page has them.

    Args:
        positions: whether words and arcs have `data-word`, and arcs `data-head`, for a script.
    """
    inner = None if width is None else width - 2 * _PAD
    lines = wrap(content, inner)
    legend = Legend(content)
    total = max([line.width for line in lines] + [legend.width]) + 2 * _PAD
    drawn = _Drawing(content, total, positions)
    top = _PAD
    for line in lines:
        drawn.add(line, top)
        top = drawn.bottom + _BETWEEN_LINES
    height = drawn.bottom + _PAD
    parts = [*drawn.arcs, *drawn.texts]
    if legend.width:
        parts.append(legend.element(_PAD, height + 2))
        height += _ROW + 6
    size = f"{number(total)} {number(height)}"
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="crossarc {theme}" role="img" '
        f'width="{number(total)}" height="{number(height)}" viewBox="0 0 {size}">'
        f"<title>{escape(content.text)}</title><desc>{drawn.description}</desc>"
        + (f"<style>{style}</style>" if style else "")
        + '<rect class="paper" width="100%" height="100%" rx="6"/>'
        + "".join(parts)
        + "</svg>"
    )
    return Figure(text, total, height)


def wrap(content: Picture, width: float | None) -> list[Line]:
    """The lines of a picture, none wider than `width` unless it holds a single word.

    None: one line, however wide.
    """
    n = len(content.nodes)
    whole = Layout(content, 1, n)
    if width is None or whole.width <= width or n == 1:
        return [whole.line()]
    # Lines that end with a word may not begin before this one.
    earliest = [1] * (n + 1)
    layout = cache(partial(Layout, content))
    while True:
        ends = _breaks(content, whole, width, earliest)
        starts = [1, *(end + 1 for end in ends[:-1])]
        lines = [layout(*line) for line in zip(starts, ends, strict=True)]
        # Words of a line may need more width than in the long one, for what leads to other lines.
        too_wide = [line for line in lines if line.width > width and line.first < line.last]
        if not too_wide:
            return [line.line() for line in lines]
        for line in too_wide:
            for end in range(line.last, n + 1):
                earliest[end] = min(max(earliest[end], line.first + 1), end)


def _breaks(content: Picture, whole: Layout, limit: float, earliest: list[int]) -> list[int]:
    """The last word of each line: the cheapest way to break the long line, by dynamic programming.

    A line costs the arcs that pass over its end and the square of its empty share. `earliest` is
    the first word that a line may begin with, by its last word.
    """
    n = len(content.nodes)
    cut = _cut_arcs(content)
    words = list(zip(whole.centres, whole.cells, strict=True))
    left = [centre - cell / 2 for centre, cell in words]
    right = [centre + cell / 2 for centre, cell in words]
    cost = [0.0] + [float("inf")] * n
    start = [0] * (n + 1)
    for end in range(1, n + 1):
        for first in range(end, earliest[end] - 1, -1):
            used = right[end - 1] - left[first - 1]
            if used > limit and first < end:
                break
            empty = max(0.0, 1 - used / limit)
            this = _ANOTHER_LINE + _EMPTINESS * empty * empty / (2 if end == n else 1) + cut[end]
            if cost[first - 1] + this < cost[end]:
                cost[end], start[end] = cost[first - 1] + this, first
    ends = []
    end = n
    while end:
        ends.append(end)
        end = start[end] - 1
    return ends[::-1]


def _cut_arcs(content: Picture) -> list[int]:
    """What a line break after word 0, 1, ... cuts: arcs, and tokens, which count as many arcs."""
    change = [0] * (len(content.nodes) + 1)
    for arc in content.arcs:
        if arc.head:
            change[min(arc[:2])] += 1
            change[max(arc[:2])] -= 1
    for token in content.tokens:
        change[token.first] += _BROKEN_TOKEN
        change[token.last] -= _BROKEN_TOKEN
    return list(accumulate(change))


class _Drawing:
    """Lines of a picture, as elements; `mirrored` where words run from right to left."""

    def __init__(self, content: Picture, total: float, positions: bool) -> None:
        self.content = content
        self.total = total
        self.positions = positions
        self.mirrored = content.is_right_to_left
        self.pieces: dict[Arc, list[str]] = {arc: [] for arc in content.arcs}
        self.titles = {arc: escape(arc_title(content, arc)) for arc in content.arcs}
        self.texts: list[str] = []
        self.bottom = 0.0

    @property
    def description(self) -> str:
        """The arcs in words, for those who do not see them."""
        return "; ".join(self.titles.values())

    @property
    def arcs(self) -> Iterator[str]:
        """One group an arc."""
        for arc, pieces in self.pieces.items():
            ends = f' data-word="{arc.dependent}" data-head="{arc.head}"' if self.positions else ""
            yield f'<g class="arc {arc.kind}"{_strength(arc)}{ends}>'
            yield f"<title>{self.titles[arc]}</title>"
            yield from pieces
            yield "</g>"

    def add(self, line: Line, top: float) -> None:
        """Draw a line of words whose arches may begin at `top`."""
        foot = top + (LABEL_SIZE + _ROOT_GAP if line.roots else 0.0)
        band = foot + _PASSING * len(line.passing)
        foot = (
            band
            + (_PASSING if line.passing else 0.0)
            + _LOWEST
            + _LEVEL * max(line.levels - 1, 0)
            + LABEL_SIZE / 2
        )
        for index, passing in enumerate(line.passing):
            self.pieces[passing.arc].append(self._passing(passing, line, band - _PASSING * index))
        for arch in line.arches:
            self.pieces[arch.arc].append(self._arch(arch, foot))
        for root in line.roots:
            self.pieces[root.arc].append(self._root(root, top, foot))
        self._words(line, foot)

    def _x(self, x: float) -> float:
        return self.total - _PAD - x if self.mirrored else _PAD + x

    def _arch(self, arch: Arch, foot: float) -> str:
        y = foot - _LOWEST - _LEVEL * arch.level
        dependent_is_left = arch.arc.dependent < arch.arc.head
        left, right = arch.left, arch.right
        corner = min(CORNER, (right - left) / 2)
        sign = -1 if self.mirrored else 1
        path = ""
        start = left
        if arch.left_open:
            path += f"M{number(self._x(left))} {number(y)}"
        else:
            rise = foot - (_TIP - 1 if dependent_is_left else 0)
            x = self._x(left)
            path += f"M{number(x)} {number(rise)}V{number(y + corner)}Q{number(x)} {number(y)} "
            path += f"{number(x + sign * corner)} {number(y)}"
            start = left + corner
        end = right if arch.right_open else right - corner
        path += self._top(arch.gaps, start, end, y)
        if not arch.right_open:
            fall = foot - (0 if dependent_is_left else _TIP - 1)
            x = self._x(right)
            path += f"Q{number(x)} {number(y)} {number(x)} {number(y + corner)}V{number(fall)}"
        parts = [f'<path class="line" d="{path}"/>']
        if not (arch.left_open if dependent_is_left else arch.right_open):
            parts.append(_tip(self._x(left if dependent_is_left else right), foot))
        if arch.label_width:
            parts.append(_label(self._x(arch.label_x), y, arch.label))
        return "".join(parts)

    def _passing(self, passing: Passing, line: Line, y: float) -> str:
        path = f"M{number(self._x(0))} {number(y)}" + self._top(passing.gaps, 0, line.width, y)
        return f'<path class="line passing" d="{path}"/>'

    def _top(self, gaps: list[tuple[float, float]], start: float, end: float, y: float) -> str:
        """A level line that begins where the path is, with gaps."""
        path = ""
        for low, high in gaps:
            if low > start:
                path += f"H{number(self._x(low))}"
            start = max(high, start)
            path += f"M{number(self._x(start))} {number(y)}"
        return path + f"H{number(self._x(end))}" if end > start else path

    def _root(self, root: Root, top: float, foot: float) -> str:
        x = self._x(root.x)
        start = top + LABEL_SIZE + 2 if root.arc.shown else top
        parts = [f'<path class="line" d="M{number(x)} {number(start)}V{number(foot - _TIP + 1)}"/>']
        parts.append(_tip(x, foot))
        if root.arc.shown:
            parts.append(_label(x, top + LABEL_SIZE / 2, root.arc.shown))
        return "".join(parts)

    def _words(self, line: Line, foot: float) -> None:
        y = foot + _WORD_TOP + FORM_SIZE * 0.8
        for index, centre in enumerate(line.centres):
            x = self._x(centre)
            if line.cells[index] > line.text_widths[index] + _OVERHANG:
                half = line.cells[index] / 2
                bar = f"M{number(x - half)} {number(foot + 2)}h{number(2 * half)}"
                self.texts.append(f'<path class="bar" d="{bar}"/>')
            self.texts.append(self._node(line.first + index, x, y))
        rows = self.content.has_tags + self.content.has_probabilities
        self.bottom = y + rows * _ROW + (TAG_SIZE if rows else FORM_SIZE) * 0.3
        if self.content.tokens:
            for token in line.tokens:
                self.texts.append(self._token(token, self.bottom + 4))
            self.bottom += 6 + LABEL_SIZE * 1.2

    def _node(self, position: int, x: float, y: float) -> str:
        """A word and what stands below it, with a tooltip if there is more to say."""
        node = self.content.nodes[position - 1]
        direction = ' direction="rtl"' if self.mirrored else ""
        parts = [text_element("word", x, y, node.form, direction)]
        if self.content.has_tags:
            y += _ROW
            if node.tag:
                parts.append(text_element("tag", x, y, node.tag))
        if node.probability_text:
            parts.append(text_element("probability", x, y + _ROW, node.probability_text))
        title = f"<title>{escape(node.details)}</title>" if node.details else ""
        kind = "node" if node.arc else "node empty"
        data = f' data-word="{position}"' if self.positions else ""
        if not (title or data) and node.arc:
            return "".join(parts)
        return f'<g class="{kind}"{data}>{title}{"".join(parts)}</g>'

    def _token(self, token: TokenSpan, y: float) -> str:
        """A bracket below the words of a multiword token, and its form."""
        left, right = sorted((self._x(token.left), self._x(token.right)))
        path = f"M{number(left)} {number(y - 3)}V{number(y)}H{number(right)}V{number(y - 3)}"
        bracket = f'<path class="span" d="{path}"/>'
        if not token.form:
            return bracket
        direction = ' direction="rtl"' if self.mirrored else ""
        baseline = y + LABEL_SIZE * 1.1
        return bracket + text_element("token", (left + right) / 2, baseline, token.form, direction)


def _label(x: float, y: float, text: str) -> str:
    """A label, centred on y by its baseline: not every program knows `dominant-baseline`."""
    return text_element("label", x, y + LABEL_SIZE * 0.35, text)


def _tip(x: float, y: float) -> str:
    half = _TIP / 2
    return f'<path class="tip" d="M{number(x)} {number(y)}l{-half:g} {-_TIP:g}h{_TIP:g}z"/>'


def _strength(arc: Arc) -> str:
    """Likely arcs are stronger than unlikely ones; without a probability, all are the same."""
    if arc.probability is None:
        return ""
    share = min(arc.probability, 1.0)
    return f' stroke-width="{0.9 + 0.9 * share:.2f}" stroke-opacity="{0.5 + 0.5 * share:.2f}"'
