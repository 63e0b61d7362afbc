"""Multiword tokens, empty nodes, enhanced arcs, tooltips and ranks, in every kind of drawing.

The expected values are those of the rows in `support.annotated`, read by eye.
"""

from __future__ import annotations

import re

import pytest
from support.annotated import annotated
from support.drawings import NAMESPACE, Drawing

from crossarc import CrossarcError, Sentence, read_conllu
from crossarc.draw import html, latex, svg
from crossarc.draw import text as draw_text
from crossarc.draw.picture import picture

# Positions: the empty node 5.1 is the sixth, the words after it move by one.
TREE = [
    (2, 1), (0, 2), (2, 3), (5, 4), (2, 5), (5, 7), (9, 8), (2, 9), (9, 10), (9, 11), (2, 12),
]  # fmt: skip
NODE_ARCS = [(6, 4, "cc"), (6, 5, "nsubj"), (6, 7, "obj"), (2, 6, "conj:and")]


@pytest.mark.parametrize("width", [None, 1000, 330, 120])
def test_enhanced_arcs_are_drawn(width: int | None) -> None:
    drawing = Drawing(svg(annotated(), enhanced=True, width=width))
    drawing.check()
    assert [word.content for word in drawing.words][4:7] == ["Bill", "likes", "tea"]
    ends = list(drawing.ends())
    assert ends[:11] == TREE
    assert sorted(ends[11:]) == sorted([(2, 11), *(arc[:2] for arc in NODE_ARCS)])
    assert {arc.kind for arc in drawing.arcs[11:]} == {"enhanced"}
    names = [text.content for text in drawing.texts if text.kind == "name"]
    assert names == ["enhanced"]


def test_an_enhanced_label_replaces_the_basic_one() -> None:
    basic, enhanced = picture(annotated()), picture(annotated(), enhanced=True)
    assert [arc.shown for arc in basic.arcs if arc.label == "parataxis"] == ["parataxis"]
    assert [arc.shown for arc in enhanced.arcs if arc.label == "parataxis"] == ["parataxis:tag"]


def test_empty_nodes_have_only_their_own_arcs() -> None:
    drawn = picture(annotated(), empty_nodes=True)
    assert [node.id for node in drawn.nodes][4:7] == ["5", "5.1", "6"]
    found = [(arc.head, arc.dependent, arc.label) for arc in drawn.other_arcs]
    assert sorted(found) == sorted(NODE_ARCS)
    assert [arc.shown for arc in drawn.arcs if arc.label == "parataxis"] == ["parataxis"]
    assert len(picture(annotated()).nodes) == 11


def test_several_relations_between_two_nodes_are_one_arc() -> None:
    sentence = annotated()
    sentence.deps = ["2:nsubj|2:agent", *sentence.deps[1:]]
    assert picture(sentence, enhanced=True).arcs[0].shown == "nsubj, agent"


@pytest.mark.parametrize("deps", ["99:x", "2", "1:self", "5.2:x"])
def test_deps_that_cannot_be_read(deps: str) -> None:
    sentence = annotated()
    sentence.deps = [deps, *sentence.deps[1:]]
    with pytest.raises(CrossarcError, match=f"e1: DEPS of 1 has '{re.escape(deps)}'"):
        svg(sentence, enhanced=True)
    assert svg(sentence)


@pytest.mark.parametrize("width", [None, 200, 60])
@pytest.mark.parametrize("form", ["doesn't", "i" * 40])
def test_multiword_tokens_stand_below_their_words(form: str, width: int | None) -> None:
    """The bracket covers the words; a token that is wider moves them apart."""
    text = annotated().to_conllu().replace("doesn't\t", f"{form}\t")
    (sentence,) = read_conllu(text.splitlines(keepends=True))
    drawing = Drawing(svg(sentence, multiword_tokens=True, width=width))
    drawing.check()
    assert [t.content for t in drawing.texts if t.kind == "token"] == [form]
    spans = [e for e in drawing.root.iter(f"{NAMESPACE}path") if e.get("class") == "span"]
    if width is None:
        (span,) = spans
        left, right = map(float, re.match(r"M(\S+) \S+H?V\S+H(\S+)V", span.get("d")).groups())
        does, nt = drawing.words[7:9]
        assert left <= drawing.column(does).left + 0.1
        assert drawing.column(nt).right - 0.1 <= right
        (token,) = [t for t in drawing.texts if t.kind == "token"]
        assert left <= token.box.left
        assert token.box.right <= right
    assert "token" not in svg(annotated()).split("</style>")[1]


def test_lines_are_not_broken_inside_a_token() -> None:
    """Between words 5 and 6 a break cuts one arc, elsewhere two or more; but 5-6 is a token."""
    heads = [5, 5, 5, 5, 0, 10, 10, 10, 10, 5]
    rows = [f"{m}\tword\t_\t_\t_\t_\t{h}\tx\t_\t_\n" for m, h in enumerate(heads, 1)]
    rows.insert(4, "5-6\ttoken" + "\t_" * 8 + "\n")
    (sentence,) = read_conllu([*rows, "\n"])
    for multiword_tokens in (False, True):
        drawing = Drawing(svg(sentence, multiword_tokens=multiword_tokens, width=430))
        fifth, sixth = drawing.words[4:6]
        assert (fifth.y == sixth.y) == multiword_tokens


def test_text() -> None:
    rows = draw_text(annotated(), multiword_tokens=True, enhanced=True).split("\n")
    assert rows[2:] == [
        "      ╭► Sue                   PROPN  nsubj",
        "──▼───▲► likes                 VERB   root",
        "  ├────► coffee                NOUN   obj",
        "  │   ╭► and                   CCONJ  cc         + 5.1:likes cc",
        "  ├─▼─▲► Bill                  PROPN  conj       + 5.1:likes nsubj",
        "  │ │    5.1:likes             VERB              + 2:likes conj:and",
        "  │ ╰──► tea                   NOUN   orphan     + 5.1:likes obj",
        "  │   ╭► ,                     PUNCT  punct",
        "  ├─▼─▲► does       ╮ doesn't  AUX    parataxis  + parataxis:tag",
        "  │ ├──► n't        ╯          PART   advmod",
        "  │ ╰──► he                    PRON   nsubj      + 2:likes ref",
        "  ╰────► ?                     PUNCT  punct",
    ]


def test_latex() -> None:
    shown = latex(annotated(), multiword_tokens=True, enhanced=True)
    assert shown.count("edge style={teal,dashed}") == 5
    assert r"{\itshape likes}" in shown
    (token,) = re.findall(r"\\draw\[gray\].*", shown)
    assert r"\wordref{2}{9}" in token
    assert r"\wordref{2}{10}" in token
    assert r"doesn\textquotesingle{}t" in token


def test_a_comparison_keeps_its_arcs() -> None:
    other = annotated()
    other.heads = [2, 0, 2, 5, 2, 2, 8, 2, 8, 8, 2]
    drawn = picture(annotated(), against=other, enhanced=True)
    assert [(arc.head, arc.dependent) for arc in drawn.arcs if arc.kind == "second"] == [(2, 7)]
    assert [(arc.head, arc.dependent) for arc in drawn.arcs if arc.kind == "first"] == [(5, 7)]
    Drawing(svg(annotated(), against=other, enhanced=True)).check()


def test_tooltips_have_lemma_tags_and_features() -> None:
    drawing = Drawing(svg(annotated()))
    titles = [
        group.findtext(f"{NAMESPACE}title")
        for group in drawing.root.iter(f"{NAMESPACE}g")
        if group.get("class") == "node"
    ]
    assert titles[1] == "likes\nlemma: like\ntags: VERB VBZ\nMood=Ind, Tense=Pres"
    assert titles[3] == "and\nlemma: and\ntags: CCONJ CC"
    assert len(titles) == 11
    assert 'class="node' not in svg(Sentence.build(["a"], upos=["X"], heads=[0]))


def ranked(rank: str, log_prob: str) -> Sentence:
    comments = ["# sent_id = s", f"# kbest = {rank}", f"# log_prob = {log_prob}"]
    return Sentence.build(["a", "b"], heads=[0, 1], comments=comments)


def test_ranks_are_shown() -> None:
    bank = [ranked("1/2", "-0.25"), ranked("2/2", "-1.5")]
    assert draw_text(bank[1]).split("\n")[:3] == [
        "# sent_id = s",
        "# kbest = 2/2",
        "# log_prob = -1.5",
    ]
    page = html(bank)
    assert re.findall(r'<span class="badge">(.*?)</span>', page) == [
        "rank 1 of 2",
        "log_prob -0.25",
        "rank 2 of 2",
        "log_prob -1.5",
    ]
    assert [" data-best" in article for article in page.split("<article")[1:]] == [True, False]


def test_notebooks_show_what_svg_returns() -> None:
    drawing = svg(annotated())
    assert isinstance(drawing, str)
    assert drawing._repr_svg_() == drawing
    assert type(drawing._repr_svg_()) is str
