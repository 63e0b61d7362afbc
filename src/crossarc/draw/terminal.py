"""A tree in the terminal: one word a line, arcs as lines on the left.

A head has one vertical line, its stem, for its dependents on each side. Every row can be read by
itself: the arrow at its end is the arc that enters the word, a triangle is a stem of the word.

    ►         an arc enters the word: from the stem that the row touches, else from the root
    ▲ ▼       arcs leave the word, to words above it or below it
    ╭ ╰ ┬ ┴   where the entering arc comes from a stem: the last dependent on that side
    ├ ╬       the same, and the stem goes on to more dependents
    ┼         lines cross, without touching
    ━ ┝ ┿     the arrow of a non-projective arc is heavy

Lines cross if and only if the tree is not projective. Short stems stand near the words and share
columns where they can: a chain of any length takes two columns and a star one, sentences of real
treebanks up to ten. n words and L columns take O(n (L + log n)) time, without recursion, and 2 n L
characters; L is n only in trees that nest arc within arc all the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

from crossarc.draw import annotation
from crossarc.draw.picture import Arc, Contents, Drawable, Kind, Node, Picture, picture
from crossarc.draw.spans import stack
from crossarc.draw.widths import cut, display_width, isolated, printable
from crossarc.treebank import Sentence

__all__ = ["LEGEND", "Stem", "stems", "text"]

#: How to read a drawing, in one line.
LEGEND = "► arc into the word  ▲ ▼ arcs from it, up or down  ┼ crossing  ━ non-projective"

# Where the entering arc leaves its stem, which goes down from here, up, or both ways: with nothing
# on the left; with a line on the left; the same two for a heavy arrow.
_ENTRIES = {"down": "╭┬┍┮", "up": "╰┴┕┶", "through": "├╬┝┾"}
_OWN_STEMS = {"up": "▲", "down": "▼"}
_ARROW = "►"
_LIGHT = str.maketrans(" │", "─┼")
_HEAVY = str.maketrans(" │", "━┿")
_SHORTEST_FORM = 4

_RED, _CYAN, _DIM, _PLAIN = "\x1b[31m", "\x1b[36m", "\x1b[2m", "\x1b[0m"


def text(
    source: Drawable,
    *,
    color: bool = False,
    width: int | None = None,
    **contents: Unpack[Contents],
) -> str:
    """A sentence or tree as lines of text, the last without a line break.

    ► ends the arc that enters a word; ▲ and ▼ begin the arcs that leave it, to words above and
    below. A sentence has its id and text above, and its rank among the k best trees, if any. Words
    in right-to-left scripts are put between Unicode isolation marks, so that the order of the
    columns stays; control characters are replaced by a mark. The columns are the form, the
    multiword token, the tag, the label, the probability of the head, and notes, as far as they are
    known. Notes have the arcs of another tree after ≠, candidates with their probabilities, and
    enhanced arcs after +.

    Args:
        source: what to draw.
        color: whether to add terminal colours; non-projective arcs are red.
        width: columns of the terminal: forms are cut so that lines fit, though never below 4
            columns, and nothing else is cut.
        contents: forms, tags, probabilities, candidates, against, multiword_tokens, empty_nodes
            and enhanced, as for `svg`.

    Raises:
        TreebankError: a word has no head, or the options do not fit the sentence.
    """
    content = picture(source, **contents)
    lines = _header(source, width) if isinstance(source, Sentence) else []
    if color:
        lines = [f"{_DIM}{line}{_PLAIN}" for line in lines]
    heads = [node.arc.head if node.arc else None for node in content.nodes]
    marked = [node.is_nonprojective for node in content.nodes]
    by_head = stems(heads)
    columns = _columns(content)
    if width is not None:
        used = 3 + 2 * _count_levels(by_head)
        used += sum(2 + max(map(display_width, column)) for column in columns[1:])
        limit = max(width - used, _SHORTEST_FORM)
        columns[0] = [cut(form, limit) for form in columns[0]]
    arcs = _arcs(heads, marked, by_head, color)
    words = _aligned(columns, marked, color)
    lines += [f"{left} {right}".rstrip() for left, right in zip(arcs, words, strict=True)]
    return "\n".join(lines)


class Stem(NamedTuple):
    """The arcs from one head to its dependents on one side, as one line over `first` .. `last`.

    The head is one end of the line, its farthest dependent on that side the other.
    """

    head: int
    first: int
    last: int
    level: int


def stems(heads: Sequence[int | None]) -> dict[tuple[int, bool], Stem]:
    """The stems of a tree by (head, whether its dependents follow it); arcs from 0 have none.

    In a projective tree no line from a word to a stem meets another stem on the way; in any other
    tree some line does, if words that hang from 0 have a line to the far side of all stems.

    Args:
        heads: None for an empty node.
    """
    spans: dict[tuple[int, bool], tuple[int, int]] = {}
    for word, head in enumerate(heads, 1):
        if head:
            first, last = spans.get((head, word > head), (head, head))
            spans[head, word > head] = (min(first, word), max(last, word))
    levels = stack(list(spans.values()))
    return {
        key: Stem(key[0], *span, level)
        for (key, span), level in zip(spans.items(), levels, strict=True)
    }


def _header(sentence: Sentence, width: int | None) -> list[str]:
    lines = []
    known = {"sent_id": sentence.sent_id, **annotation.rank(sentence), "text": sentence.text}
    for key, value in known.items():
        if value:
            shown = printable(value)
            if width is not None:
                shown = cut(shown, max(width - len(f"# {key} = "), 1))
            lines.append(f"# {key} = {isolated(shown)}")
    return lines


def _columns(content: Picture) -> list[list[str]]:
    """What stands right of the arcs; columns that are empty throughout are left out."""
    nodes = content.nodes
    columns = [[_form(node) for node in nodes], _tokens(content)]
    columns.append([node.tag for node in nodes])
    columns.append([node.arc.label if node.arc else "" for node in nodes])
    columns.append([node.probability_text for node in nodes])
    notes: list[list[str]] = [[] for _ in nodes]
    for arc in content.arcs:
        if note := _note(content, arc):
            notes[arc.dependent - 1].append(note)
    columns.append([", ".join(parts) for parts in notes])
    return [column for index, column in enumerate(columns) if not index or any(column)]


def _form(node: Node) -> str:
    return node.form if node.arc else f"{node.id}:{node.form}"


def _tokens(content: Picture) -> list[str]:
    """A bracket beside the words of each multiword token, and its form where it begins."""
    brackets = [""] * len(content.nodes)
    for token in content.tokens:
        brackets[token.first - 1] = f"╮ {token.form}"
        brackets[token.first : token.last - 1] = ["│"] * (token.last - token.first - 1)
        brackets[token.last - 1] = "╯"
    return brackets


def _note(content: Picture, arc: Arc) -> str:
    """What an arc adds to the row of its dependent: another head, by number and form, or label."""
    if arc.kind is Kind.relabelled:
        return f"≠ {arc.other or '_'}"
    node = content.nodes[arc.head - 1] if arc.head else None
    head = f"{node.id}:{node.form}" if node else "root"
    if arc.kind is Kind.candidate:
        return f"{head} {arc.shown}"
    if arc.kind is Kind.second:
        return f"≠ {head} {arc.label}".rstrip()
    if arc.kind is Kind.enhanced:
        return f"+ {head} {arc.label}"
    return f"+ {arc.other}" if arc.other else ""


def _count_levels(by_head: dict[tuple[int, bool], Stem]) -> int:
    return 1 + max((stem.level for stem in by_head.values()), default=-1)


def _aligned(columns: list[list[str]], marked: Sequence[bool], color: bool) -> Iterator[str]:
    """Form, tag and label of each word, in aligned columns, the last one ragged."""
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
    heads: Sequence[int | None],
    marked: Sequence[bool],
    by_head: dict[tuple[int, bool], Stem],
    color: bool,
) -> Iterator[str]:
    """The lines on the left of each word, two characters a level, after two for the root."""
    levels = _count_levels(by_head)
    passing = [" "] * (2 * levels + 2)
    for word, head in enumerate(heads, 1):
        if head is None:
            yield "".join(passing)
            continue
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
    column = {stem: 2 * (levels - stem.level) for stem in ends if stem}
    entry = column[source] if source else 0
    start = min([entry, *column.values()])
    line = "".join(passing)
    cells = list(line[:start] + line[start:entry].translate(_LIGHT))
    cells += line[entry:].translate(_HEAVY if marked else _LIGHT)
    for stem, direction in ((before, "up"), (after, "down")):
        if stem:
            cells[column[stem]] = _OWN_STEMS[direction]
    if source:
        kind = "down" if word == source.first else "up" if word == source.last else "through"
        cells[entry] = _ENTRIES[kind][(entry > start) + 2 * marked]
    cells[-1] = _ARROW
    if color and marked:
        cells[entry] = _RED + cells[entry]
        cells[-1] += _PLAIN
    return "".join(cells)
