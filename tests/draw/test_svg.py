"""SVG is read back with an XML parser: what is drawn is the tree, and nothing overlaps."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.drawings import NAMESPACE, Drawing
from support.files import ROOT
from support.trees import all_trees, trees

from crossarc import Sentence, Tree
from crossarc.draw import svg
from crossarc.draw.layout import Layout
from crossarc.draw.picture import picture
from crossarc.draw.vector import element, wrap
from crossarc.treebank import sample

LABELS = st.sampled_from(["", "det", "nsubj:pass", "x", "compound:prt:xx", "漢字", "w" * 25])
FORMS = st.sampled_from(["a", "I", ".", "Donaudampfschiff", "日本語", "words", "e\u0301", "שלום"])


def heads_drawn(drawing: Drawing) -> list[int]:
    by_word = {word: head for head, word in drawing.ends()}
    return [by_word[word] for word in range(1, len(drawing.words) + 1)]


@pytest.mark.parametrize("sentence", sample(), ids=lambda s: s.sent_id)
@pytest.mark.parametrize("width", [None, 1000, 350])
def test_sample_bank(sentence: Sentence, width: int | None) -> None:
    drawing = Drawing(svg(sentence, width=width))
    drawing.check()
    assert [word.content for word in drawing.words] == list(sentence.forms)
    tags = [text.content for text in drawing.texts if text.kind == "tag"]
    assert tags == list(sentence.upos)
    assert heads_drawn(drawing) == sentence.heads.tolist()
    kinds = [arc.kind == "nonprojective" for arc in drawing.arcs]
    assert kinds == sentence.tree.nonprojective_arcs.tolist()
    for arc, label in zip(drawing.arcs, sentence.deprels, strict=True):
        assert {text.content.split()[0] for text in arc.labels} == {label}
    if width is None:
        assert all(len(arc.labels) == 1 for arc in drawing.arcs)
        assert len({word.y for word in drawing.words}) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_small_trees(n: int) -> None:
    for heads in all_trees(n):
        drawing = Drawing(svg(Tree(heads, ["label"] * n)))
        drawing.check()
        assert heads_drawn(drawing) == list(heads)


@settings(max_examples=60)
@given(trees(max_words=120), st.data())
def test_random_trees(heads: list[int], data: st.DataObject) -> None:
    """Any tree, labels and words, in any width: read back as it was, nothing overlaps."""
    n = len(heads)
    pick = data.draw(st.randoms(use_true_random=False))
    labels = [pick.choice(["", "det", "nsubj:pass", "漢字", "w" * 25]) for _ in range(n)]
    forms = [pick.choice(["a", ".", "Donaudampfschiff", "日本", "word", "שלום"]) for _ in range(n)]
    width = data.draw(st.sampled_from([None, 1000, 400]))
    drawing = Drawing(svg(Tree(heads, labels), forms=forms, width=width))
    drawing.check()
    assert heads_drawn(drawing) == heads


@settings(max_examples=50)
@given(trees(max_words=25), st.data())
def test_wrapped_lines_fit(heads: list[int], data: st.DataObject) -> None:
    forms = data.draw(st.lists(FORMS, min_size=len(heads), max_size=len(heads)))
    labels = data.draw(st.lists(LABELS, min_size=len(heads), max_size=len(heads)))
    drawing = Drawing(svg(Tree(heads, labels), forms=forms, width=500))
    drawing.check()
    for y in {word.y for word in drawing.words}:
        line = [word for word in drawing.words if word.y == y]
        columns = [drawing.column(word) for word in line]
        extent = max(box.right for box in columns) - min(box.left for box in columns)
        assert extent <= 500 or len(line) == 1


@pytest.mark.parametrize("width", [120, 200, 292])
def test_narrow_lines_are_not_broken_more_than_they_must_be(width: int) -> None:
    """Two words that fit in one line do not stand in two."""
    for sentence in sample():
        content = picture(sentence)
        for above, below in itertools.pairwise(wrap(content, width)):
            if above.first == above.last and below.first == below.last:
                assert Layout(content, above.first, below.last).width > width


def two_trees(n: int) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    return st.tuples(trees(n, n), trees(n, n))


@settings(max_examples=50)
@given(st.integers(1, 30).flatmap(two_trees), st.randoms(use_true_random=False))
def test_differences(both: tuple[list[int], list[int]], pick: random.Random) -> None:
    """Each arc is drawn once, and told apart by which tree it is in."""
    heads, other = both
    labels = [pick.choice("ab") for _ in heads]
    other_labels = [pick.choice("ab") for _ in heads]
    drawing = Drawing(svg(Tree(heads, labels), against=Tree(other, other_labels), width=800))
    drawing.check()
    found = {"same": set(), "relabelled": set(), "first": set(), "second": set()}
    for arc, ends in zip(drawing.arcs, drawing.ends(), strict=True):
        assert ends not in found[arc.kind]
        found[arc.kind].add(ends)
    first = {(h, m) for m, h in enumerate(heads, 1)}
    second = {(h, m) for m, h in enumerate(other, 1)}
    agree = {(h, m) for h, m in first & second if labels[m - 1] == other_labels[m - 1]}
    assert found["first"] == first - second
    assert found["second"] == second - first
    assert found["same"] == agree
    assert found["relabelled"] == (first & second) - agree


def test_difference_is_told_by_lines_and_legend() -> None:
    shown = svg(Tree([0, 1, 1]), against=Tree([0, 1, 2]), names=("gold", "parsed"))
    drawing = Drawing(shown)
    names = [text.content for text in drawing.texts if text.kind == "name"]
    assert names == ["only gold", "only parsed"]
    assert ".second .line{stroke-width:1.8;stroke-dasharray:6 4}" in shown
    assert [arc.title for arc in drawing.arcs][2:] == ["1 → 3: only gold", "2 → 3: only parsed"]


@settings(max_examples=50)
@given(trees(min_words=2, max_words=25), st.randoms(use_true_random=False))
def test_candidates(heads: list[int], pick: random.Random) -> None:
    """The other heads of a word, from 1% on, with their probabilities."""
    n = len(heads)
    marginals = np.zeros((n + 1, n + 1))
    for word in range(1, n + 1):
        weights = [0.0 if head == word else pick.random() ** 6 for head in range(n + 1)]
        weights[heads[word - 1]] += 1
        marginals[:, word] = np.array(weights) / sum(weights)
    words = pick.sample(range(1, n + 1), 2)
    drawing = Drawing(svg(Tree(heads), probabilities=marginals, candidates=words))
    drawing.check()
    ends = list(drawing.ends())
    assert ends[:n] == [(head, word) for word, head in enumerate(heads, 1)]
    assert set(ends[n:]) == {
        (head, word)
        for word in words
        for head in range(n + 1)
        if head not in (word, heads[word - 1]) and marginals[head, word] >= 0.01
    }
    for arc, (head, word) in zip(drawing.arcs[n:], ends[n:], strict=True):
        assert {text.content.split()[0] for text in arc.labels} == {f"{marginals[head, word]:.0%}"}


def test_probabilities_make_arcs_stronger() -> None:
    """From MISC or from an array, the same; a word without one is drawn as always."""
    sentence = Sentence.build(
        ["a", "b", "c"],
        heads=[2, 0, 2],
        misc=["HeadProb=0.2500", "HeadProb=1.0000|SpaceAfter=No", "_"],
    )
    drawing = Drawing(svg(sentence))
    groups = [g for g in drawing.root.iter(f"{NAMESPACE}g") if "arc" in g.get("class", "")]
    weak, sure = float(groups[0].get("stroke-width")), float(groups[1].get("stroke-width"))
    assert weak < sure
    assert float(groups[0].get("stroke-opacity")) < float(groups[1].get("stroke-opacity")) == 1
    assert groups[2].get("stroke-width") is None
    assert [t.content for t in drawing.texts if t.kind == "probability"] == ["25%", "100%"]
    given_array = Drawing(svg(sentence, probabilities=[0.25, 1, 0.5]))
    assert [t.content for t in given_array.texts if t.kind == "probability"] == [
        "25%",
        "100%",
        "50%",
    ]
    matrix = np.full((4, 4), 0.1)
    matrix[2, 1] = 0.75
    from_matrix = Drawing(svg(sentence, probabilities=matrix))
    assert [t.content for t in from_matrix.texts if t.kind == "probability"] == [
        "75%",
        "10%",
        "10%",
    ]


def test_right_to_left() -> None:
    """Arabic words run from right to left, also when Latin ones stand among them."""
    (sentence,) = [s for s in sample("ar") if s.sent_id == "ar-003"]
    places = [word.x for word in Drawing(svg(sentence)).words]
    assert places == sorted(places, reverse=True)
    mixed = Drawing(svg(Tree([0, 1, 1]), forms=["שלום", "NLP", "עולם"]))
    assert [word.x for word in mixed.words] == sorted((w.x for w in mixed.words), reverse=True)
    latin = Drawing(svg(Tree([0, 1, 1]), forms=["Hello", "עולם", "you"]))
    assert [word.x for word in latin.words] == sorted(word.x for word in latin.words)


@example('<a> & "b" \' ]]>')
@example("a\x00b\x1b\ufffe\ud800")
@given(st.text(st.characters(), min_size=1, max_size=12))
def test_any_text_is_well_formed(text: str) -> None:
    """Escaped always; what XML cannot hold becomes a replacement mark."""
    drawing = Drawing(svg(Tree([0, 1], [text, text]), forms=[text, text], tags=[text, text]))
    shown = drawing.words[0].content
    assert len(shown) == len(text)
    assert all(a == b for a, b in zip(shown, text, strict=True) if b.isprintable())


def test_accessible() -> None:
    """A name and the arcs in words, for those who hear the drawing; text stays text."""
    drawing = Drawing(svg(next(s for s in sample() if s.sent_id == "en-002")))
    assert drawing.root.get("role") == "img"
    assert drawing.root[0].tag == f"{NAMESPACE}title"
    assert drawing.root[0].text == "Who did you give the book to?"
    assert "Who → to: case, non-projective" in drawing.root[1].text
    assert "root → give: root" in drawing.root[1].text
    assert drawing.arcs[0].title == "give → Who: obl"


def test_themes_are_kept_apart() -> None:
    """Rules name their theme, so drawings with different ones can stand on one page."""
    light, dark, auto = (svg(Tree([0]), theme=theme) for theme in ("light", "dark", "auto"))
    assert ".crossarc.light .paper{fill:#ffffff}" in light
    assert "prefers-color-scheme" not in light + dark
    assert ".crossarc.dark .paper{fill:#14181f}" in dark
    assert "@media (prefers-color-scheme:dark)" in auto
    assert auto.index(".crossarc.auto .paper{fill:#ffffff}") < auto.index("@media")
    assert "var(" not in auto


def test_notebooks_show_drawings() -> None:
    sentence = sample("nl")[0]
    assert sentence._repr_svg_() == svg(sentence)
    assert sentence.tree._repr_svg_() == svg(sentence.tree)
    assert Sentence.build(["a"])._repr_svg_() is None


@pytest.mark.parametrize("name", ["crossing", "difference"])
def test_pictures_of_the_documentation(name: str) -> None:
    """One for light and one for dark pages, which differ in their colours only."""
    folder = ROOT / "docs" / "pictures"
    light, dark = (
        (folder / f"{name}-{theme}.svg").read_text(encoding="utf-8") for theme in ("light", "dark")
    )
    drawing = Drawing(light)
    drawing.check()
    assert len(list(drawing.ends())) == len(drawing.arcs)
    assert light.split("</style>")[1] == dark.split("</style>")[1]
    assert ".crossarc.dark .paper" in dark


@pytest.mark.parametrize("sentence", sample()[::20], ids=lambda s: s.sent_id)
def test_positions_for_scripts(sentence: Sentence) -> None:
    """Words and arcs say which they are, and nothing else of the drawing changes."""
    content = picture(sentence)
    plain, marked = element(content).text, element(content, positions=True).text
    words = re.findall(r'<g class="node" data-word="(\d+)"', marked)
    assert [int(word) for word in words] == list(range(1, len(sentence) + 1))
    arcs = re.findall(r'<g class="arc [^>]*data-word="(\d+)" data-head="(\d+)">', marked)
    assert [int(head) for _, head in arcs] == sentence.heads.tolist()
    without = re.sub(r' data-(word|head)="\d+"', "", marked)
    without = re.sub(r'<g class="node">((?:<text [^>]*>[^<]*</text>)+)</g>', r"\1", without)
    assert without == re.sub(r'<g class="node">((?:<text [^>]*>[^<]*</text>)+)</g>', r"\1", plain)
