"""Many trees on one HTML page: a single file that needs no network.

Every drawing is in the page as the SVG that `svg` gives, so the page can be read, searched and
printed without its script; a second layout of wide drawings serves small screens. The browser draws
what comes into view (`content-visibility`), which keeps pages of thousands of sentences quick to
open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import zip_longest
from typing import TypeVar, Unpack

from crossarc.draw import annotation
from crossarc.draw.page import closing, opening
from crossarc.draw.picture import Annotations, Drawable, Kind, Picture, picture
from crossarc.draw.style import Theme
from crossarc.draw.vector import WIDTH, element
from crossarc.draw.widths import printable
from crossarc.errors import TreebankError
from crossarc.treebank import Sentence

__all__ = ["NARROW", "drawing", "gallery", "html", "paired"]

Source = TypeVar("Source", bound=Drawable)

#: Width of the second layout of a drawing, for screens of 360 pixels and more.
NARROW = 320

_CONTROLS = """\
<input type="search" id="search" placeholder="Search words, tags, relations" aria-label="Search">
<label><input type="checkbox" id="nonprojective" data-filter="crossing"> non-projective</label>
<label><input type="checkbox" data-filter="different"> different</label>
<label><input type="checkbox" data-filter="best"> best trees</label>
<select id="order" aria-label="Order">
<option value="file">in order</option>
<option value="certain" data-needs="probability">least certain first</option>
<option value="differences" data-needs="different">most different first</option>
<option value="length">longest first</option>
</select>
<span id="count" role="status"></span>
"""
_KEYS = """Keys: <kbd>/</kbd> search, <kbd>j</kbd> <kbd>k</kbd> next and previous sentence,
<kbd>n</kbd> non-projective only, <kbd>t</kbd> light or dark, <kbd>Esc</kbd> clear the search.
Drawn by crossarc."""


def html(
    sentences: Iterable[Drawable],
    *,
    title: str = "Dependency trees",
    against: Iterable[Drawable] | None = None,
    names: tuple[str, str] = ("first", "second"),
    width: float | None = WIDTH,
    narrow: float | None = NARROW,
    theme: Theme = "auto",
    **annotations: Unpack[Annotations],
) -> str:
    """Sentences or trees as one HTML page, with search, filters and keys.

    The page is a single file without references to others. Sentences can be filtered by what they
    hold, to non-projective ones and to those that differ, and ordered by their least certain arc.
    The rank of trees among the k best is shown.

    Args:
        sentences: what to draw; probabilities in MISC (`HeadProb=`) are shown.
        title: of the page.
        against: other trees for the same sentences, in the same order.
        names, width, theme: as for `svg`.
        narrow: the width of a second layout, which small screens show; None for no such layout.
        annotations: multiword_tokens, empty_nodes and enhanced, as for `svg`.

    Raises:
        TreebankError: a word has no head, or the two treebanks do not match.
    """
    pictures = (
        (sentence, picture(sentence, against=other, names=names, **annotations))
        for sentence, other in paired(sentences, against)
    )
    return "".join(gallery(pictures, title=title, width=width, narrow=narrow, theme=theme))


def paired(
    sentences: Iterable[Source], against: Iterable[Source] | None
) -> Iterator[tuple[Source, Source | None]]:
    """Each sentence with what it is compared with, if anything.

    Raises:
        TreebankError: one of the two has more sentences.
    """
    if against is None:
        yield from ((sentence, None) for sentence in sentences)
        return
    for number, (sentence, other) in enumerate(zip_longest(sentences, against)):
        if sentence is None or other is None:
            shorter = "second" if other is None else "first"
            raise TreebankError(
                f"the {shorter} treebank ends after {number} sentences: "
                "compare the same sentences, in the same order"
            )
        yield sentence, other


def gallery(
    pictures: Iterable[tuple[Drawable, Picture]],
    *,
    title: str,
    width: float | None = WIDTH,
    narrow: float | None = NARROW,
    theme: Theme = "auto",
) -> Iterator[str]:
    """A page piece by piece, for treebanks of any size."""
    yield opening(title, theme=theme, controls=_CONTROLS)
    for number, (source, content) in enumerate(pictures, 1):
        yield _article(number, source, content, width, narrow)
    yield closing(_KEYS)


def drawing(content: Picture, *, width: float | None, narrow: float | None) -> tuple[str, float]:
    """A picture for a page, in one layout or two, and the height of the first."""
    figure = element(content, width=width)
    direction = ' dir="rtl"' if content.is_right_to_left else ""
    if narrow is None or figure.width <= narrow:
        return f'<div class="drawing"{direction}>{figure.text}</div>', figure.height
    small = element(content, width=narrow).text
    layouts = f'<div class="wide">{figure.text}</div><div class="narrow">{small}</div>'
    return f'<div class="drawing"{direction}>{layouts}</div>', figure.height


def _article(
    number: int, source: Drawable, content: Picture, width: float | None, narrow: float | None
) -> str:
    """A sentence: its id, what is special about it, its text, and its drawing."""
    sentence = source if isinstance(source, Sentence) else None
    name = (sentence.sent_id if sentence else None) or f"sentence {number}"
    note = sentence.comment("note") if sentence else None
    facts, badges = _facts(content, annotation.rank(sentence) if sentence else {})
    shown, height = drawing(content, width=width, narrow=narrow)
    return (
        f'<article id="s{number}" tabindex="-1" {" ".join(facts)} '
        f'style="contain-intrinsic-size:auto {height + 75:.0f}px">'
        f'<div class="title"><h2><a href="#s{number}">{escape(printable(name))}</a></h2>'
        f"{''.join(badges)}</div>\n"
        f'<p class="text" dir="auto">{escape(content.text)}</p>\n'
        + (f'<p class="note" dir="auto">{escape(printable(note))}</p>\n' if note else "")
        + f"{shown}</article>\n"
    )


def _facts(content: Picture, rank: dict[str, str]) -> tuple[list[str], list[str]]:
    """Attributes by which the script filters and orders, and badges that say the same."""
    facts = [f'data-words="{sum(node.arc is not None for node in content.nodes)}"']
    badges = []
    if "kbest" in rank:
        index, _, total = rank["kbest"].partition("/")
        badges.append(f"rank {index} of {total}" if total else f"rank {index}")
        if index.strip() == "1":
            facts.append("data-best")
    if "log_prob" in rank:
        badges.append(f"log_prob {rank['log_prob']}")
    different = sum(arc.kind in (Kind.first, Kind.relabelled) for arc in content.arcs)
    if different:
        facts.append(f'data-different="{different}"')
        badges.append(f"{different} different")
    known = [node.probability for node in content.nodes if node.probability is not None]
    if known:
        facts.append(f'data-probability="{min(known):.4f}"')
        badges.append(f"least certain {min(known):.0%}")
    shown = [f'<span class="badge">{escape(badge)}</span>' for badge in badges]
    if not content.is_projective:
        facts.append("data-crossing")
        shown.insert(0, '<span class="badge crossing">non-projective</span>')
    return facts, shown
