"""The page is well-formed, whole without its script, and refers to nothing outside itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from support.drawings import Drawing

from crossarc import CrossarcError, Sentence, Tree
from crossarc.draw import html, svg
from crossarc.treebank import sample

VOID = {"meta", "input", "br", "link", "img"}


class Outline(HTMLParser):
    """Checks that elements close in order; keeps tags with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def articles(page: str) -> list[dict[str, str | None]]:
    return [attrs for tag, attrs in Outline(page).tags if tag == "article"]


def test_sample_bank() -> None:
    bank = sample()
    page = html(bank, title="A <bank>")
    assert "<title>A &lt;bank&gt;</title>" in page
    found = articles(page)
    assert len(found) == len(bank)
    crossing = ["data-crossing" in attrs for attrs in found]
    assert crossing == [not sentence.tree.is_projective for sentence in bank]
    assert [attrs["data-words"] for attrs in found] == [str(len(sentence)) for sentence in bank]


def test_drawings_are_those_of_svg() -> None:
    """The same elements; the style stands once, in the page."""
    bank = sample("cs")
    page = html(bank, narrow=None)
    drawn = re.findall(r"<svg .*?</svg>", page, re.DOTALL)
    for sentence, one in zip(bank, drawn, strict=True):
        alone = re.sub(r"<style>.*?</style>", "", svg(sentence), flags=re.DOTALL).strip()
        assert one == alone
        Drawing(one).check()


def test_wide_drawings_have_a_second_layout() -> None:
    """The same words and arcs, in lines of 320 pixels; what is no wider has one layout."""
    bank = [*sample("cs"), Sentence.build(["a", "b"], heads=[0, 1])]
    for sentence, article in zip(bank, html(bank).split("<article ")[1:], strict=True):
        first, *second = map(Drawing, re.findall(r"<svg .*?</svg>", article, re.DOTALL))
        assert len(second) == article.count('<div class="narrow">') == (first.width > 320)
        for narrow in second:
            narrow.check()
            assert narrow.width <= 320
            assert [word.content for word in narrow.words] == list(sentence.forms)
            assert list(narrow.ends()) == list(first.ends())


def test_nothing_is_fetched() -> None:
    page = html(sample())
    assert "default-src 'none'" in page
    for tag, attrs in Outline(page).tags:
        assert tag not in ("link", "img", "iframe", "object", "base")
        assert "src" not in attrs
        assert attrs.get("href", "#").startswith("#")
    frame = html([])
    for sign in ("://", "@import", "url(", "fetch(", "XMLHttpRequest", "import("):
        assert sign not in frame


def test_text_is_escaped() -> None:
    evil = "</article><script>alert(1)</script>"
    sentence = Sentence.build(
        [evil, "b"],
        upos=[evil, "X"],
        heads=[0, 1],
        deprels=["root", evil],
        comments=[f"# sent_id = {evil}", f"# text = {evil}", f"# note = {evil}"],
    )
    page = html([sentence], title=evil)
    assert page.count("<script>") == 1
    assert len(articles(page)) == 1


def test_facts_of_a_comparison_and_of_probabilities() -> None:
    first = Sentence.build(["a", "b", "c"], heads=[0, 1, 1], deprels=["r", "x", "y"])
    second = Sentence.build(["a", "b", "c"], heads=[0, 1, 2], deprels=["r", "z", "y"])
    same, different = articles(html([first, first], against=[first, second]))
    assert "data-different" not in same
    assert different["data-different"] == "2"
    first.misc = ["HeadProb=0.9", "_", "HeadProb=0.35"]
    (sure,) = articles(html([first]))
    assert sure["data-probability"] == "0.3500"
    with pytest.raises(CrossarcError, match="first treebank ends after 1 sentences"):
        html([first], against=[first, second])


def test_trees_without_words_and_themes() -> None:
    page = html([Tree([0, 1])], theme="dark")
    assert '<html lang="en" data-theme="dark">' in page
    assert "sentence 1" in page
    assert articles(html([])) == []
