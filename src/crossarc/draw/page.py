"""Many trees on one HTML page: a single file that needs no network.

Every drawing is in the page as the SVG that `svg` gives, so the page can be read, searched and
printed without its script. The browser draws what comes into view (`content-visibility`), which
keeps pages of thousands of sentences quick to open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from crossarc.draw.picture import Drawable, Kind, Picture, in_step, picture
from crossarc.draw.style import FONTS, Theme, stylesheet
from crossarc.draw.vector import WIDTH, element
from crossarc.draw.width import printable
from crossarc.treebank import Sentence

__all__ = ["html", "page"]

_HERE = Path(__file__).parent
# Whatever a page may come to hold, the browser fetches nothing for it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def html(
    sentences: Iterable[Drawable],
    *,
    title: str = "Dependency trees",
    against: Iterable[Drawable] | None = None,
    names: tuple[str, str] = ("first", "second"),
    width: float | None = WIDTH,
    theme: Theme = "auto",
) -> str:
    """Sentences or trees as one HTML page, with search, filters and keys.

    The page is a single file without references to others. Sentences can be filtered by what they
    hold, to non-projective ones and to those that differ, and ordered by their least certain arc.

    Args:
        sentences: what to draw; probabilities in MISC (`HeadProb=`) are shown.
        title: of the page.
        against: other trees for the same sentences, in the same order.
        names, width, theme: as for `svg`.

    Raises:
        TreebankError: a word has no head, or the two treebanks do not match.
    """
    pictures = (
        (sentence, picture(sentence, against=other, names=names))
        for sentence, other in in_step(sentences, against)
    )
    return "".join(page(pictures, title=title, width=width, theme=theme))


def page(
    pictures: Iterable[tuple[Drawable, Picture]],
    *,
    title: str,
    width: float | None = WIDTH,
    theme: Theme = "auto",
) -> Iterator[str]:
    """A page piece by piece, for treebanks of any size."""
    yield _opening(title, theme)
    for number, (source, content) in enumerate(pictures, 1):
        yield _article(number, source, content, width)
    yield _closing()


def _opening(title: str, theme: Theme) -> str:
    shown = escape(printable(title))
    chosen = "" if theme == "auto" else f' data-theme="{theme}"'
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    style = style.replace("var(--fonts)", FONTS) + stylesheet("auto", switch=True)
    return f"""<!doctype html>
<html lang="en"{chosen}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="generator" content="crossarc">
<title>{shown}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{shown}</h1>
<div class="controls" role="search" hidden>
<input type="search" id="search" placeholder="Search words, tags, relations" aria-label="Search">
<label><input type="checkbox" id="nonprojective" data-filter="crossing"> non-projective</label>
<label><input type="checkbox" data-filter="different"> different</label>
<select id="order" aria-label="Order">
<option value="file">in order</option>
<option value="certain" data-needs="chance">least certain first</option>
<option value="differences" data-needs="different">most different first</option>
<option value="length">longest first</option>
</select>
<button type="button" id="theme" aria-label="Switch between light and dark">◐</button>
<span id="count" role="status"></span>
</div>
</header>
<main>
"""


def _article(number: int, source: Drawable, content: Picture, width: float | None) -> str:
    """A sentence: its id, what is special about it, its text, and its drawing."""
    name = (source.sent_id if isinstance(source, Sentence) else None) or f"sentence {number}"
    note = source.comment("note") if isinstance(source, Sentence) else None
    figure = element(content, width=width)
    direction = ' dir="rtl"' if content.is_right_to_left else ""
    facts = [f'data-words="{len(content.forms)}"']
    badges = []
    if not content.is_projective:
        facts.append("data-crossing")
        badges.append('<span class="badge crossing">non-projective</span>')
    different = sum(arc.kind in (Kind.first, Kind.relabelled) for arc in content.arcs)
    if different:
        facts.append(f'data-different="{different}"')
        badges.append(f'<span class="badge">{different} different</span>')
    least = min((p for p in content.probabilities or [] if p is not None), default=None)
    if least is not None:
        facts.append(f'data-chance="{least:.4f}"')
        badges.append(f'<span class="badge">least certain {least:.0%}</span>')
    return (
        f'<article id="s{number}" tabindex="-1" {" ".join(facts)} '
        f'style="contain-intrinsic-size:auto {figure.height + 75:.0f}px">'
        f'<h2><a href="#s{number}">{escape(printable(name))}</a></h2>{"".join(badges)}\n'
        f'<p class="text" dir="auto">{escape(content.text)}</p>\n'
        + (f'<p class="note" dir="auto">{escape(printable(note))}</p>\n' if note else "")
        + f'<div class="drawing"{direction}>{figure.text}</div></article>\n'
    )


def _closing() -> str:
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    return f"""</main>
<footer>Keys: <kbd>/</kbd> search, <kbd>j</kbd> <kbd>k</kbd> next and previous sentence,
<kbd>n</kbd> non-projective only, <kbd>t</kbd> light or dark, <kbd>Esc</kbd> clear the search.
Drawn by crossarc.</footer>
<script>
{script}</script>
</body>
</html>
"""
