"""The page of `crossarc analyze`: whole by itself, and its numbers open their sentences."""

from __future__ import annotations

import json
import math
import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.browser import result_of
from support.drawings import Drawing

from crossarc import Sentence
from crossarc.analysis import Examples, QuadraticFit, study_constraints
from crossarc.app.reports.plots import _curve, _ticks, dot_plot, image, scatter_plot
from crossarc.app.reports.report import report
from crossarc.draw.widths import advance
from crossarc.treebank import sample

NASTY = 'a </script><script>alert("x")</script> <!-- & 1 < 2'


class Outline(HTMLParser):
    """The tags, the keys of buttons by treebank, and all addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.buttons: list[tuple[int, str]] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self._bank = -1
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self._bank = int(values.get("data-bank") or self._bank)
        if values.get("data-key"):
            self.buttons.append((self._bank, values["data-key"] or ""))
        self.addresses += [values[name] or "" for name in ("href", "src") if name in values]


def nasty_bank() -> list[Sentence]:
    return [
        Sentence.build(["<b>", "&", '"', "d"], heads=[0, 4, 1, 1], comments=[f"# text = {NASTY}"])
    ]


@pytest.fixture(scope="module")
def shown() -> str:
    return report(
        [
            ("sample", study_constraints(sample(), examples=Examples(limit=5))),
            ("<nasty>", study_constraints(nasty_bank())),
        ]
    )


def examples(text: str) -> list[dict]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found is not None
    return json.loads(found[1])


def test_every_number_has_its_sentences(shown: str) -> None:
    banks = examples(shown)
    outline = Outline(shown)
    assert {bank for bank, _ in outline.buttons} == {0, 1}
    for bank, key in outline.buttons:
        assert banks[bank][key]["list"] != []
    lost = banks[0]["projectivity"]
    assert lost["note"].startswith("sample: the first 5 of 70 sentences. ")
    assert len(lost["list"]) == 5
    assert (0, "projectivity") in outline.buttons
    (first, *words) = banks[1]["projectivity"]["list"][0]
    assert words == [2, 3, 4]
    opened = shown.split(f'<template id="bank1-{first}">')[1].split("</template>")[0]
    assert f'<p class="text" dir="auto">{escape(NASTY)}</p>' in opened
    drawn = Drawing(re.search("<svg .*?</svg>", opened, re.DOTALL)[0])
    assert [word.content for word in drawn.words] == ["<b>", "&", '"', "d"]
    assert list(drawn.ends()) == [(0, 1), (4, 2), (1, 3), (1, 4)]


def test_every_sentence_is_drawn_once(shown: str) -> None:
    """A template for each sentence that a number opens, however many open it."""
    for bank, numbers in enumerate(examples(shown)):
        opened = {index for number in numbers.values() for index, *_ in number["list"]}
        templates = re.findall(rf'<template id="bank{bank}-([0-9]+)">', shown)
        assert sorted(map(int, templates)) == list(range(len(templates)))
        assert opened == set(map(int, templates))


def test_the_page_needs_nothing_else(shown: str) -> None:
    """No address but places on the page; no text of a treebank becomes markup."""
    outline = Outline(shown)
    assert all(address.startswith("#bank") for address in outline.addresses)
    assert "url(" not in shown
    assert "@import" not in shown
    assert outline.tags.count("script") == 2
    assert "<nasty>" not in shown
    assert shown.count('<svg class="plot') == 2 * 6 + 1
    one = report([("x", study_constraints(sample(), examples=Examples(limit=0)))])
    assert one.count("<svg") == one.count('<svg class="plot') == 6


def test_plots_hold_every_point(shown: str) -> None:
    study = study_constraints(sample())
    points = study.tallies["projectivity"].points
    panel = shown.split("<svg")[1 + 6]
    assert "<title>sample, projectivity: active pairs against words</title>" in panel
    assert len(re.findall(r"M[0-9.]+ [0-9.]+h0", panel)) == len(points)


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (7, list(range(8))),
        (8, [0, 2, 4, 6, 8]),
        (87, [0, 20, 40, 60, 80, 100]),
    ],
)
def test_ticks(largest: int, ticks: list[int]) -> None:
    assert _ticks(largest) == ticks


def test_titles_name_the_treebank(shown: str) -> None:
    one = report([("Latin & more", study_constraints(sample("la"), examples=Examples(limit=0)))])
    title = "Latin &amp; more: what constraints on trees cost and save"
    assert f"<title>{title}</title>" in one
    assert f'<h1 dir="auto">{title}</h1>' in one
    assert "<title>sample, &lt;nasty&gt;: what constraints" in shown
    four = report([("x", study_constraints(nasty_bank()))] * 4)
    assert "<title>4 treebanks: what constraints" in four


def test_curve_ends_at_the_edge_of_its_panel() -> None:
    """y = x^2 - x from 0 to 50: from (0, 0), back to 0 at 1, to its end at (7.59, 50)."""
    curve = _curve(-1.0, 1.0, 10, 50)
    assert curve[0] == (0, 0)
    assert any(x == pytest.approx(1, abs=0.01) and y == 0 for x, y in curve)
    # The chord between the two points of the polyline around it.
    assert curve[-1] == (pytest.approx((1 + math.sqrt(201)) / 2, abs=0.01), 50)
    assert all(0 <= y <= 50 for _, y in curve)
    assert len(curve) == 1 + 79 + 2


def test_labels_of_plots_are_inside() -> None:
    """The longest tick and the longest name fit left of the axis."""
    panel = scatter_plot("x", "y", {(100, 1_234_567): 1}, QuadraticFit(0, 0, 1, 1), longest=100)
    ticks = re.findall(r'x="([0-9.]+)" y="[0-9.]+" text-anchor="end">([0-9,]+)<', panel)
    assert "1,400,000" in [text for _, text in ticks]
    assert all(float(x) - advance(text) * 10 >= 0 for x, text in ticks)
    name = "A treebank whose name is rather long, as names of folders go"
    (right,) = re.findall(r'class="row" x="([0-9.]+)"', dot_plot([(name, [1.0])], ["d"]))
    assert float(right) - advance(name) * 13 >= 0


def test_plots_as_images() -> None:
    """Two themes of the same plots, without variables, side by side."""
    plot = scatter_plot("x", "y", {(1, 2): 3}, QuadraticFit(1, 1, 1, 1), longest=5)
    light, dark = (image([plot] * 5, theme, columns=3) for theme in ("light", "dark"))
    assert light.split("</style>")[1] == dark.split("</style>")[1]
    assert light != dark
    assert "var(" not in light + dark
    places = re.findall(r'<svg x="(\d+)" y="(\d+)" width="340" height="240"', light)
    assert places == [("0", "0"), ("340", "0"), ("680", "0"), ("0", "240"), ("340", "240")]
    assert 'width="1020" height="480"' in light


def test_a_click_in_a_browser(shown: str, tmp_path: Path) -> None:
    """Click the first number that opens sentences lost under d<=1, and read the page back."""
    click = """document.querySelector('button[data-key="d<=1"]').click();
        return document.querySelector("dialog").outerHTML;"""
    dialog = result_of(shown, click, tmp_path).removeprefix("<dialog")
    assert dialog.startswith(' class="examples" open')
    assert "<h2>Lost under d ≤ 1</h2>" in dialog
    assert 'sample: the first 5 of 7 sentences. crossarc analyze FILE --show "d&lt;=1"' in dialog
    assert ">de-001</code>" in dialog
    lost = re.findall(r'<g class="arc \w+ lost"><title>(.*?)</title>', dialog)
    assert "Pilze → wenige: det, non-projective" in lost
