"""In a real browser: texts are no wider than estimated, and nothing overlaps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.browser import result_of
from support.drawings import ASCENT, DESCENT, SIZES, Box, Drawing, meetings

from crossarc import Tree
from crossarc.draw import html, svg
from crossarc.draw.widths import advance
from crossarc.treebank import sample

EXTENTS = """
return JSON.stringify([...document.querySelectorAll("svg")].map((drawing) =>
    [...drawing.querySelectorAll("text")].map((text) => {
        const box = text.getBBox();
        return [text.getAttribute("class"), text.textContent, box.x, box.width,
                Number(text.getAttribute("y"))];
    })));
"""


def drawings() -> list[str]:
    """The sample bank, in lines of two widths, and drawings of each other kind."""
    bank = sample()
    shown = [svg(sentence) for sentence in bank] + [svg(sentence, width=400) for sentence in bank]
    for sentence in bank[::9]:
        n = len(sentence)
        marginals = np.full((n + 1, n + 1), 1 / (n + 1))
        shown.append(svg(sentence, probabilities=marginals, candidates=[1, n]))
        shown.append(svg(sentence, against=Tree([0, *range(1, n)], ["x"] * n)))
    return shown


@pytest.mark.parametrize("font", ["", "DejaVu Sans", "Liberation Sans"])
def test_extents(font: str, tmp_path: Path) -> None:
    shown = drawings()
    # The fonts of a reader are not known; where a font is absent, the browser takes another.
    style = f'<style>svg.crossarc{{font-family:"{font}",sans-serif}}</style>' if font else ""
    page = f'<!doctype html><meta charset="utf-8"><body>{"".join(shown)}{style}</body>'
    measured = json.loads(result_of(page, EXTENTS, tmp_path))
    assert len(measured) == len(shown)
    for drawing, texts in zip(map(Drawing, shown), measured, strict=True):
        boxes = []
        for kind, content, x, width, y in texts:
            size = SIZES[kind]
            assert width <= advance(content) * size + 0.5, (content, kind)
            boxes.append(Box(x, y - ASCENT * size, x + width, y + DESCENT * size))
        assert all(i == j for i, j in meetings(boxes, boxes)), texts
        assert min(box.left for box in boxes) >= 0
        assert max(box.right for box in boxes) <= drawing.width


PAGE = """
const visible = () => [...document.querySelectorAll("article")]
    .filter((article) => !article.hidden).map((article) => article.querySelector("h2").textContent);
const act = (id, change, event) => {
    const element = document.getElementById(id);
    change(element);
    element.dispatchEvent(new Event(event));
};
const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key }));
const seen = { all: visible().length, status: document.getElementById("count").textContent };
act("search", (box) => { box.value = "BOOK obl"; }, "input");
seen.search = visible();
act("search", (box) => { box.value = ""; }, "input");
press("n");
seen.nonprojective = visible().length;
press("n");
act("order", (box) => { box.value = "length"; }, "change");
seen.longest = visible()[0];
act("order", (box) => { box.value = "certain"; }, "change");
seen.uncertain = visible()[0];
press("j");
press("j");
seen.focus = document.activeElement.querySelector("h2").textContent;
const before = getComputedStyle(document.querySelector("svg .paper")).fill;
press("t");
seen.switched = before !== getComputedStyle(document.querySelector("svg .paper")).fill;
seen.filters = [...document.querySelectorAll(".controls label")].map((label) => label.hidden);
return JSON.stringify(seen);
"""


LAYOUTS = """
const right = (one) => one.getBoundingClientRect().right;
const drawn = [...document.querySelectorAll("article svg")].filter((one) => one.clientWidth);
const badges = [...document.querySelectorAll(".badge")];
return JSON.stringify([
    drawn.length,
    Math.max(...drawn.map(right), ...badges.map(right), document.documentElement.scrollWidth),
    innerWidth,
]);
"""


@pytest.mark.parametrize("width", [400, 500, 1200])
def test_small_screens_show_the_narrow_layout(width: int, tmp_path: Path) -> None:
    """One layout of each drawing at a time, and nothing is wider than the screen."""
    bank = sample("cs")
    for sentence in bank:
        rank = ["# kbest = 1/4", "# log_prob = -1.802343"]
        sentence.comments = [*sentence.comments, *rank]
        sentence.misc = ["HeadProb=0.8412"] * len(sentence)
    page = html(bank).replace("content-visibility: auto", "")
    found = json.loads(result_of(page, LAYOUTS, tmp_path, width=width))
    count, right, screen = found
    assert screen == width
    assert count == len(bank)
    assert right <= width


def test_page(tmp_path: Path) -> None:
    """Search, filters, order, keys and the colour switch do what they say."""
    bank = sample("en")
    for index, sentence in enumerate(bank):
        probability = 0.2 if index == 5 else 0.9
        sentence.misc = [f"HeadProb={probability:.4f}"] * len(sentence)
    seen = json.loads(result_of(html(bank), PAGE, tmp_path))
    longest = max(bank, key=len)
    assert seen["all"] == len(bank)
    assert seen["status"] == f"{len(bank)} sentences"
    assert seen["search"] == [
        s.sent_id for s in bank if "book" in s.text.lower() and "obl" in " ".join(s.deprels)
    ]
    assert seen["nonprojective"] == sum(not s.tree.is_projective for s in bank)
    assert seen["longest"] == longest.sent_id
    assert seen["uncertain"] == bank[5].sent_id
    assert seen["focus"] == bank[0].sent_id
    assert seen["switched"]
    assert seen["filters"] == [False, True, True]
