"""A tree in the terminal: one word a line, arcs as lines on the left.

A head has one vertical line, its stem, for its dependents on each side. An arrow leads from the
stem to each dependent, and the one end of a stem without an arrow is the head. A word that hangs
from the root has an arrow from the left margin.

    ╭ ╰ ┬ ┴   ends of stems                    ┼       lines cross, without touching
    ├ ╬       a dependent on the way of a      ━ ┝ ┿   the arrow of a non-projective arc is heavy
              stem (╬ also crosses)

Lines cross if and only if the tree is not projective. Stems of short reach stand near the words and
share columns where they can: a chain of any length takes two columns and a star one, sentences of
real treebanks up to ten. n words and L columns take O(n (L + log n)) time, without recursion, and
2 n L characters; L is n only in trees that nest arc within arc all the way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from crossarc.draw.layout import Stem, stems
from crossarc.draw.picture import Arc, Drawable, Kind, Picture, picture
from crossarc.draw.width import cut, display_width, isolated, printable
from crossarc.treebank import Sentence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["text"]

# End of a stem below the row, end above it, stem passing by with a dependent here:
# with nothing on the left; with a line on the left; the same with a heavy line on the right.
_CORNERS = {"down": "╭┬┍┮", "up": "╰┴┕┶", "through": "├╬┝┾"}
_HEAVY_BRANCHES = {"down": "┯", "up": "┷"}
_ARROW = "►"
_LIGHT = str.maketrans(" │", "─┼")
_HEAVY = str.maketrans(" │", "━┿")
_SHORTEST_FORM = 4

_RED, _CYAN, _DIM, _PLAIN = "\x1b[31m", "\x1b[36m", "\x1b[2m", "\x1b[0m"


def text(
    source: Drawable,
    *,
    forms: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    probabilities: ArrayLike | None = None,
    candidates: Collection[int] = (),
    against: Drawable | None = None,
    color: bool = False,
    width: int | None = None,
) -> str:
    """A sentence or tree as lines of text, the last without a line break.

    A sentence has its id and text above. Words in right-to-left scripts are put between Unicode
    isolation marks, so that the order of the columns stays; control characters are replaced by a
    mark. The columns are the form, the tag, the label, the probability of the head, and what
    another tree or other candidates would say, as far as they are known.

    Args:
        source, forms, tags, probabilities, candidates, against: as for `svg`.
        color: whether to add terminal colours; non-projective arcs are red.
        width: columns of the terminal: forms are cut so that lines fit, though never below 4
            columns, and nothing else is cut.

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
    )
    lines = _header(source, width) if isinstance(source, Sentence) else []
    if color:
        lines = [f"{_DIM}{line}{_PLAIN}" for line in lines]
    marked = content.nonprojective
    by_head = stems(content.heads)
    columns = _columns(content)
    if width is not None:
        used = 3 + 2 * _count_levels(by_head)
        used += sum(2 + max(map(display_width, column)) for column in columns[1:])
        limit = max(width - used, _SHORTEST_FORM)
        columns[0] = [cut(form, limit) for form in columns[0]]
    arcs = _arcs(content.heads, marked, by_head, color)
    words = _aligned(columns, marked, color)
    lines += [f"{left} {right}".rstrip() for left, right in zip(arcs, words, strict=True)]
    return "\n".join(lines)


def _header(sentence: Sentence, width: int | None) -> list[str]:
    lines = []
    for key, value in (("sent_id", sentence.sent_id), ("text", sentence.text)):
        if value:
            shown = printable(value)
            if width is not None:
                shown = cut(shown, max(width - len(f"# {key} = "), 1))
            lines.append(f"# {key} = {isolated(shown)}")
    return lines


def _columns(content: Picture) -> list[list[str]]:
    """What stands right of the arcs; columns that are empty throughout are left out."""
    n = len(content.forms)
    columns = [list(content.forms), list(content.tags or [])]
    columns.append([arc.label for arc in content.arcs[:n]])
    columns.append(content.chances or [])
    notes: list[list[str]] = [[] for _ in range(n)]
    for arc in content.arcs:
        if arc.kind is Kind.relabelled:
            notes[arc.word - 1].append(f"≠ {arc.other or '_'}")
        elif arc.kind in (Kind.second, Kind.candidate):
            notes[arc.word - 1].append(_note(content, arc))
    columns.append([", ".join(parts) for parts in notes])
    return [column for place, column in enumerate(columns) if not place or any(column)]


def _note(content: Picture, arc: Arc) -> str:
    """Another head of a word, by number and form."""
    head = f"{arc.head}:{content.forms[arc.head - 1]}" if arc.head else "root"
    if arc.kind is Kind.candidate:
        return f"{head} {arc.shown}"
    return f"≠ {head} {arc.label}".rstrip()


def _count_levels(by_head: dict[tuple[int, bool], Stem]) -> int:
    return 1 + max((stem.level for stem in by_head.values()), default=-1)


def _aligned(columns: list[list[str]], marked: Sequence[bool], color: bool) -> Iterator[str]:
    """Form, tag and label of each word, in columns of equal width, the last one ragged."""
    widths = [max(map(display_width, column)) for column in columns]
    for row, values in enumerate(zip(*columns, strict=True)):
        cells = []
        for column, (value, width) in enumerate(zip(values, widths, strict=True)):
            padding = " " * (width - display_width(value)) if column < len(columns) - 1 else ""
            text = isolated(value)
            if color and column:
                text = f"{_RED if marked[row] else _CYAN}{text}{_PLAIN}"
            cells.append(text + padding)
        yield "  ".join(cells)


def _arcs(
    heads: list[int], marked: Sequence[bool], by_head: dict[tuple[int, bool], Stem], color: bool
) -> Iterator[str]:
    """The lines on the left of each word, two characters a level, after two for the root."""
    levels = _count_levels(by_head)
    passing = [" "] * (2 * levels + 2)
    for word, head in enumerate(heads, 1):
        before, after = by_head.get((word, False)), by_head.get((word, True))
        source = by_head[head, word > head] if head else None
        for stem in (before, source):
            if stem and stem.last == word:
                passing[2 * (levels - stem.level)] = " "
        yield _row(word, (before, after, source), passing, levels, marked[word - 1], color)
        for stem in (after, source):
            if stem and stem.first == word:
                passing[2 * (levels - stem.level)] = "│"


def _row(
    word: int,
    ends: tuple[Stem | None, Stem | None, Stem | None],
    passing: list[str],
    levels: int,
    marked: bool,
    color: bool,
) -> str:
    """The line from the stems of a word, and from the stem of its head, to the word."""
    before, after, source = ends
    place = {stem: 2 * (levels - stem.level) for stem in ends if stem}
    entry = place[source] if source else 0
    start = min([entry, *place.values()])
    line = "".join(passing)
    cells = list(line[:start] + line[start:entry].translate(_LIGHT))
    cells += line[entry:].translate(_HEAVY if marked else _LIGHT)
    for stem, kind in ((before, "up"), (after, "down")):
        if stem:
            heavy = marked and place[stem] > entry
            corner = _CORNERS[kind][place[stem] > start]
            cells[place[stem]] = _HEAVY_BRANCHES[kind] if heavy else corner
    if source:
        kind = "down" if word == source.first else "up" if word == source.last else "through"
        cells[entry] = _CORNERS[kind][(entry > start) + 2 * marked]
    tip = min((column for column in place.values() if column > entry), default=len(cells)) - 1
    cells[tip] = _ARROW
    if color and marked:
        cells[entry] = _RED + cells[entry]
        cells[-1] += _PLAIN
    return "".join(cells)
