"""A tree as SVG: arches over the words, crossings plain to see."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from crossarc.draw.elements import number, text_element
from crossarc.draw.legend import MEANINGS, Legend
from crossarc.draw.line import CORNER, FORM_SIZE, LABEL_SIZE, TAG_SIZE, Arch, Line, Passing, Root
from crossarc.draw.picture import Arc, Drawable, Kind, Picture, picture
from crossarc.draw.style import Theme, stylesheet
from crossarc.draw.wrapping import wrap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["WIDTH", "Figure", "element", "svg"]

#: Width of a drawing, in pixels, at which its words go on in another line.
WIDTH = 1000

_PAD = 14.0
_LOWEST, _LEVEL, _PASSING = 34.0, 21.0, 6.0
_WORD_TOP = 6.0
_ROOT_GAP = 6.0
# Legs that stand out so far beyond their word are tied together by a bar.
_OVERHANG = 6.0
_ROW = 15.0
_BETWEEN_LINES = 26.0
_TIP = 6.5


def svg(
    source: Drawable,
    *,
    forms: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    probabilities: ArrayLike | None = None,
    candidates: Collection[int] = (),
    against: Drawable | None = None,
    names: tuple[str, str] = ("first", "second"),
    width: float | None = WIDTH,
    theme: Theme = "auto",
) -> str:
    """A sentence or tree as SVG, a file of its own.

    Arcs that are not projective have another colour and are heavy; where arcs cross, one has a gap.
    Words in right-to-left scripts run from right to left. Text stays text.

    Args:
        source: what to draw; only basic dependencies are.
        forms: other words than those of the sentence; for a tree, by default their numbers.
        tags: other tags than UPOS, below the words.
        probabilities: of the heads, one a word, or of all arcs, (n+1, n+1), as `marginals()` gives
            them; by default those in MISC (`HeadProb=`), if any. Likely arcs are stronger.
        candidates: words whose other possible heads are drawn too, faintly, from 1% on; needs the
            probabilities of all arcs.
        against: another tree for the same words. Arcs in only one of the two are marked.
        names: what to call the two in the legend.
        width: where to go on in another line; None for never.
        theme: "light", "dark", or "auto" for what the reader's system prefers.

    Raises:
        TreebankError: a word has no head, or the options do not fit the sentence.
    """
    content = picture(
        source,
        forms=forms,
        tags=tags,
        probabilities=probabilities,
        candidates=candidates,
        against=against,
        names=names,
    )
    return element(content, width=width, theme=theme, style=stylesheet(theme)).text + "\n"


class Figure(NamedTuple):
    """An `svg` element and its size in pixels."""

    text: str
    width: float
    height: float


def element(
    content: Picture, *, width: float | None = WIDTH, theme: Theme = "auto", style: str = ""
) -> Figure:
    """A picture as an `svg` element, with rules of style if it is not given them by a page."""
    inner = None if width is None else width - 2 * _PAD
    lines = wrap(content, inner)
    legend = Legend(content)
    total = max([line.width for line in lines] + [legend.width]) + 2 * _PAD
    drawn = _Drawing(content, total)
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


def _told(content: Picture, arc: Arc) -> str:
    head = content.forms[arc.head - 1] if arc.head else "root"
    about = [] if arc.kind is Kind.candidate else [arc.shown]
    if arc.probability is not None:
        about.append(f"{arc.probability:.1%}")
    if arc.kind is Kind.nonprojective:
        about.append("non-projective")
    elif arc.kind in MEANINGS and arc.kind is not Kind.relabelled and content.names:
        about.append(MEANINGS[arc.kind].format(*content.names))
    elif arc.kind is Kind.candidate:
        about.append("candidate")
    told = f"{head} → {content.forms[arc.word - 1]}"
    return f"{told}: {', '.join(filter(None, about))}" if any(about) else told


class _Drawing:
    """Lines of a picture, as elements; `mirror` turns places for words from right to left."""

    def __init__(self, content: Picture, total: float) -> None:
        self.content = content
        self.total = total
        self.mirrored = content.is_right_to_left
        self.pieces: dict[Arc, list[str]] = {arc: [] for arc in content.arcs}
        self.titles = {arc: escape(_told(content, arc)) for arc in content.arcs}
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
            yield f'<g class="arc {arc.kind}"{_strength(arc)}><title>{self.titles[arc]}</title>'
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
        word_is_left = arch.arc.word < arch.arc.head
        left, right = arch.left, arch.right
        corner = min(CORNER, (right - left) / 2)
        sign = -1 if self.mirrored else 1
        path = ""
        start = left
        if arch.left_open:
            path += f"M{number(self._x(left))} {number(y)}"
        else:
            rise = foot - (_TIP - 1 if word_is_left else 0)
            x = self._x(left)
            path += f"M{number(x)} {number(rise)}V{number(y + corner)}Q{number(x)} {number(y)} "
            path += f"{number(x + sign * corner)} {number(y)}"
            start = left + corner
        end = right if arch.right_open else right - corner
        path += self._top(arch.gaps, start, end, y)
        if not arch.right_open:
            fall = foot - (0 if word_is_left else _TIP - 1)
            x = self._x(right)
            path += f"Q{number(x)} {number(y)} {number(x)} {number(y + corner)}V{number(fall)}"
        parts = [f'<path class="line" d="{path}"/>']
        if not (arch.left_open if word_is_left else arch.right_open):
            parts.append(_tip(self._x(left if word_is_left else right), foot))
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
        content = self.content
        y = foot + _WORD_TOP + FORM_SIZE * 0.8
        chances = content.chances
        direction = ' direction="rtl"' if self.mirrored else ""
        for word, centre in enumerate(line.centres, line.first):
            x = self._x(centre)
            self.texts.append(text_element("word", x, y, content.forms[word - 1], direction))
            if line.cells[word - line.first] > line.text_widths[word - line.first] + _OVERHANG:
                half = line.cells[word - line.first] / 2
                bar = f"M{number(x - half)} {number(foot + 2)}h{number(2 * half)}"
                self.texts.append(f'<path class="bar" d="{bar}"/>')
            below = y
            if content.tags is not None:
                below += _ROW
                self.texts.append(text_element("tag", x, below, content.tags[word - 1]))
            if chances is not None:
                below += _ROW
                if chances[word - 1]:
                    self.texts.append(text_element("chance", x, below, chances[word - 1]))
        rows = (content.tags is not None) + (chances is not None)
        self.bottom = y + rows * _ROW + (TAG_SIZE if rows else FORM_SIZE) * 0.3


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
    return f' stroke-width="{0.9 + 0.9 * share:.2f}" stroke-opacity="{0.35 + 0.65 * share:.2f}"'
