"""Drawings are read back: the heads recovered from the lines are those of the tree."""

from __future__ import annotations

import itertools
import re
import unicodedata
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trees import all_trees, trees

from crossarc import CrossarcError, Sentence, Tree
from crossarc.draw import text as draw_text
from crossarc.draw.spans import stack
from crossarc.draw.terminal import stems
from crossarc.draw.widths import cut, display_width

UP, DOWN, LEFT, RIGHT = "up", "down", "left", "right"
CROSSINGS = "┼┿╬┾"
TRIANGLES = {"▲": UP, "▼": DOWN, "►": LEFT}
# By itself, a row shows to which sides the stem of the head goes on from here.
ENTRIES = {
    **dict.fromkeys("╭┬┍┮", (False, True)),
    **dict.fromkeys("╰┴┕┶", (True, False)),
    **dict.fromkeys("├╬┝┾", (True, True)),
}


@cache
def strokes(character: str) -> set[str]:
    """The sides to which a character of a drawing leads, by its Unicode name."""
    if character in TRIANGLES:
        return {RIGHT, TRIANGLES[character]}
    name = unicodedata.name(character)
    if not name.startswith("BOX DRAWINGS"):
        return set()
    sides = {side for side in (UP, DOWN, LEFT, RIGHT) if side.upper() in name.split()}
    sides |= {UP, DOWN} if "VERTICAL" in name else set()
    return sides | ({LEFT, RIGHT} if "HORIZONTAL" in name else set())


def arc_rows(drawing: str) -> list[str]:
    """The lines left of the forms, each of which must be `x`."""
    return [line[: line.index(" x")] for line in drawing.split("\n")]


def recovered_head(rows: list[str], word: int) -> int:
    """The head of a word, from nothing but the drawn lines."""
    columns = [column for column, character in enumerate(rows[word - 1]) if character in ENTRIES]
    if not columns:
        return 0
    (column,) = columns
    return _head_row(rows, word - 1, column) + 1


def _head_row(rows: list[str], row: int, column: int) -> int:
    """The end of a stem that is a triangle."""
    top = bottom = row
    while UP in strokes(rows[top][column]):
        top -= 1
        assert DOWN in strokes(rows[top][column])
    while DOWN in strokes(rows[bottom][column]):
        bottom += 1
        assert UP in strokes(rows[bottom][column])
    (head,) = (end for end in (top, bottom) if rows[end][column] in TRIANGLES)
    return head


def drawn(heads: list[int] | tuple[int, ...]) -> str:
    return draw_text(Tree(heads), forms=["x"] * len(heads))


def assert_faithful(heads: list[int] | tuple[int, ...]) -> None:
    drawing = drawn(heads)
    tree = Tree(heads)
    rows = arc_rows(drawing)
    assert [recovered_head(rows, word) for word in range(1, len(rows) + 1)] == list(heads)
    assert any(glyph in drawing for glyph in CROSSINGS) == (not tree.is_projective)
    for line, heavy in zip(drawing.split("\n"), tree.nonprojective_arcs, strict=True):
        assert bool(set(line) & set("┍┕┝┮┶┾")) == heavy


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_small_trees_are_read_back(n: int) -> None:
    for heads in all_trees(n):
        assert_faithful(heads)


@given(trees(max_words=40))
def test_random_trees_are_read_back(heads: list[int]) -> None:
    assert_faithful(heads)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_row_can_be_read_by_itself(n: int) -> None:
    """One arrow, at the end; a triangle for dependents on each side; at most one arc enters."""
    for heads in all_trees(n):
        for word, row in enumerate(arc_rows(drawn(heads)), 1):
            dependents = [m for m, head in enumerate(heads, 1) if head == word]
            assert row.endswith("►")
            assert row.count("►") == 1
            assert row.count("▲") == any(m < word for m in dependents)
            assert row.count("▼") == any(m > word for m in dependents)
            entries = [ENTRIES[c] for c in row if c in ENTRIES]
            head = heads[word - 1]
            if head == 0:
                assert entries == []
                assert row[0] in "─━"
                continue
            ((above, below),) = entries
            siblings = [
                m for m, h in enumerate(heads, 1) if h == head and (m > head) == (word > head)
            ]
            stem = [head, *siblings]
            assert (above, below) == (min(stem) < word, max(stem) > word)


@given(trees(max_words=30))
def test_lines_join(heads: list[int]) -> None:
    """Where a line leaves a character, its neighbour takes it up."""
    rows = arc_rows(drawn(heads))
    assert len({len(row) for row in rows}) == 1
    for above, below in zip(["", *rows], [*rows, ""], strict=True):
        upper = {i for i, c in enumerate(above) if DOWN in strokes(c)}
        assert upper == {i for i, c in enumerate(below) if UP in strokes(c)}
    for row in rows:
        for a, b in itertools.pairwise(row):
            # A triangle may begin a line.
            joined = b in "▲▼" or LEFT in strokes(b)
            assert joined if RIGHT in strokes(a) else b in "▲▼" or not joined


def test_projective_example() -> None:
    tree = Tree([2, 3, 0, 5, 3, 3], labels=["det", "nsubj", "root", "det", "obj", "punct"])
    tags = ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"]
    assert draw_text(tree, forms=["The", "dog", "chased", "a", "cat", "."], tags=tags).split(
        "\n"
    ) == [
        "      ╭► The     DET    det",
        "    ╭─▲► dog     NOUN   nsubj",
        "──▼─▲──► chased  VERB   root",
        "  │   ╭► a       DET    det",
        "  ├───▲► cat     NOUN   obj",
        "  ╰────► .       PUNCT  punct",
    ]


def test_crossing_example() -> None:
    """The arc from `hearing` to `issue` passes over `scheduled`, whose line it crosses."""
    labels = ["det", "nsubj:pass", "aux:pass", "root", "case", "det", "nmod", "obl:tmod", "punct"]
    forms = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today", "."]
    tree = Tree([2, 4, 4, 0, 7, 7, 2, 4, 4], labels=labels)
    assert draw_text(tree, forms=forms).split("\n") == [
        "        ╭► A          det",
        "    ▼─┬─▲► hearing    nsubj:pass",
        "    │ ├──► is         aux:pass",
        "──▼─┼─▲──► scheduled  root",
        "  │ │   ╭► on         case",
        "  │ │   ├► the        det",
        "  │ ┕━━━▲► issue      nmod",
        "  ├──────► today      obl:tmod",
        "  ╰──────► .          punct",
    ]


def test_arc_over_the_root_crosses_its_line() -> None:
    assert drawn([2, 0, 1]).split("\n") == ["  ▼─┬► x", "──┼─▲► x", "  ┕━━► x"]


def test_a_chain_takes_two_columns() -> None:
    expected = ["────▼► x", "  ▼─┴► x", "  ╰─▼► x", "  ▼─┴► x", "  ╰──► x"]
    assert drawn([0, 1, 2, 3, 4]).split("\n") == expected


@pytest.mark.parametrize("shape", ["chain", "backward", "star", "comb"])
def test_long_sentences_stay_narrow(shape: str) -> None:
    n = 20_000
    heads = {
        "chain": list(range(n)),
        "backward": [*range(2, n + 1), 0],
        "star": [0] + [1] * (n - 1),
        "comb": [0, *(max(1, m - 2 + m % 2) for m in range(2, n + 1))],
    }[shape]
    rows = arc_rows(drawn(heads))
    assert max(map(len, rows)) <= 12
    assert all(recovered_head(rows, word) == heads[word - 1] for word in range(1, n + 1, 997))


def test_color_adds_nothing_but_codes() -> None:
    tree = Tree([2, 0, 1], labels=["a", "root", "b"])
    plain = draw_text(tree, forms=["x", "y", "z"], tags=["X", "Y", "Z"])
    colored = draw_text(tree, forms=["x", "y", "z"], tags=["X", "Y", "Z"], color=True)
    assert re.sub("\x1b\\[[0-9]*m", "", colored) == plain
    assert ["\x1b[31m" in line for line in colored.split("\n")] == [False, False, True]
    assert "\x1b" not in plain


@given(trees(max_words=12), st.data())
def test_width_is_kept_and_columns_are_aligned(heads: list[int], data: st.DataObject) -> None:
    letters = "aZé漢字עبนำ한e\u0301"
    forms = [data.draw(st.text(letters, min_size=1, max_size=60)) for _ in heads]
    tree = Tree(heads, labels=["lbl"] * len(heads))
    lines = draw_text(tree, forms=forms, tags=["TAG"] * len(heads), width=60).split("\n")
    levels = 1 + max((stem.level for stem in stems(heads).values()), default=-1)
    assert all(display_width(line) <= max(60, 2 * levels + 3 + 4 + 10) for line in lines)
    assert len({display_width(line) for line in lines}) == 1
    assert all(line.endswith("  TAG  lbl") for line in lines)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("日本", 4),
        ("ｱ", 1),
        ("Ａ", 2),
        ("e\u0301", 1),
        ("สิ้น", 2),
        ("각", 2),
        ("\u1100\u1161\u11a8", 2),
        ("a\u200bb", 2),
        ("שלום", 4),
        ("a\u00adb", 3),
        ("", 0),
    ],
)
def test_display_width(text: str, width: int) -> None:
    assert display_width(text) == width


def test_cut_counts_columns_and_keeps_marks() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abc…"
    assert cut("日本語", 4) == "日…"
    assert cut("e\u0301e\u0301e\u0301", 2) == "e\u0301…"


def test_right_to_left_words_are_isolated_and_controls_replaced() -> None:
    lines = draw_text(Tree([0, 1, 1]), forms=["שלום", "a\x1b[2J\u202e", "b"]).split("\n")
    assert lines[0].endswith(" \u2068שלום\u2069")
    assert lines[1].endswith(" a\ufffd[2J\ufffd")
    assert lines[2].endswith(" b")


def test_sentence_has_a_header() -> None:
    sentence = Sentence.build(
        ["Dogs", "bark"],
        upos=["NOUN", "VERB"],
        heads=[2, 0],
        deprels=["nsubj", "root"],
        comments=["# sent_id = s1", "# text = Dogs bark"],
    )
    assert draw_text(sentence).split("\n") == [
        "# sent_id = s1",
        "# text = Dogs bark",
        "  ╭► Dogs  NOUN  nsubj",
        "──▲► bark  VERB  root",
    ]
    assert draw_text(sentence, width=14).split("\n")[1] == "# text = Dogs…"


def test_sentence_without_tags_or_heads() -> None:
    untagged = Sentence.build(["a", "b"], heads=[0, 1], deprels=["root", "x"])
    assert draw_text(untagged).split("\n")[1:] == ["──▼► a  root", "  ╰► b  x"]
    with pytest.raises(CrossarcError, match="word 1 has no head"):
        draw_text(Sentence.build(["a"]))


def test_difference_and_candidates_stand_beside_the_words() -> None:
    tree, other = Tree([0, 1, 1], "abc"), Tree([0, 1, 2], "axd")
    assert draw_text(tree, forms=["x", "y", "z"], against=other).split("\n") == [
        "──▼► x  a",
        "  ├► y  b  ≠ x",
        "  ╰► z  c  ≠ 2:y d",
    ]
    marginals = [[0, 0.9, 0.25, 0.005], [0, 0, 0.75, 0.6], [0, 0.1, 0, 0.395], [0, 0, 0, 0]]
    shown = draw_text(tree, forms=["x", "y", "z"], probabilities=marginals, candidates=[2, 3])
    assert shown.split("\n") == [
        "──▼► x  a  90%",
        "  ├► y  b  75%  root 25%",
        "  ╰► z  c  60%  2:y 40%",
    ]


def test_wrong_number_of_forms() -> None:
    with pytest.raises(CrossarcError, match="2 words need as many forms: got 1"):
        draw_text(Tree([0, 1]), forms=["a"])
    with pytest.raises(CrossarcError, match="2 words need as many tags: got 3"):
        draw_text(Tree([0, 1]), forms=["a", "b"], tags=["X", "X", "X"])


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 10)), max_size=30))
def test_spans_are_stacked_low_without_overlap(pairs: list[tuple[int, int]]) -> None:
    spans = [(first, first + more) for first, more in pairs]
    levels = stack(spans)
    placed = sorted(range(len(spans)), key=lambda i: (spans[i][1] - spans[i][0], spans[i]))
    for index, i in enumerate(placed):
        met = [
            j for j in placed[:index] if spans[j][0] <= spans[i][1] and spans[i][0] <= spans[j][1]
        ]
        assert levels[i] == min(set(range(len(spans) + 1)) - {levels[j] for j in met})
