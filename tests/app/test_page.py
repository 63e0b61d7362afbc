"""The page of `crossarc analyze`: whole by itself, and its numbers open their sentences."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from crossarc import Sentence
from crossarc.analysis import Examples, study_constraints
from crossarc.app.reports.page import page
from crossarc.app.reports.plots import _ticks
from crossarc.treebank import sample

CHROMIUM = shutil.which("chromium")
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
    return page(
        [
            ("sample", study_constraints(sample(), examples=Examples(limit=5))),
            ("<nasty>", study_constraints(nasty_bank())),
        ]
    )


def examples(text: str) -> list[dict]:
    found = re.search(r'<script type="application/json" id="examples">(.*?)</script>', text)
    assert found is not None
    return json.loads(found[1])


def test_every_number_has_its_sentences(shown: str) -> None:
    banks = examples(shown)
    outline = Outline(shown)
    assert {bank for bank, _ in outline.buttons} == {0, 1}
    for bank, key in outline.buttons:
        assert banks[bank]["numbers"][key]["list"] != []
    lost = banks[0]["numbers"]["projectivity"]
    assert (lost["count"], len(lost["list"])) == (70, 5)
    assert (0, "projectivity") in outline.buttons
    (first, *arcs) = banks[1]["numbers"]["projectivity"]["list"][0]
    assert banks[1]["sentences"][first] == ["#1", NASTY]
    assert arcs == ["d -> &", '<b> -> "', "<b> -> d"]


def test_the_page_needs_nothing_else(shown: str) -> None:
    """No address but places on the page; no text of a treebank becomes markup."""
    outline = Outline(shown)
    assert all(address.startswith("#bank") for address in outline.addresses)
    assert "url(" not in shown
    assert "@import" not in shown
    assert outline.tags.count("script") == 2
    assert "<nasty>" not in shown
    assert outline.tags.count("svg") == 2 * 6 + 1
    assert page([("x", study_constraints(sample()))]).count("<svg") == 6


def test_plots_hold_every_point(shown: str) -> None:
    study = study_constraints(sample())
    points = study.tallies["projectivity"].points
    panel = shown.split("<svg")[1 + 6]
    assert "<title>projectivity: active pairs against words</title>" in panel
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


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_click_in_a_browser(shown: str, tmp_path: Path) -> None:
    """Click the first number that opens sentences lost under d<=1, and read the page back."""
    click = "<script>document.querySelector('button[data-key=\"d<=1\"]').click()</script></html>"
    file = tmp_path / "page.html"
    file.write_text(shown.replace("</html>", click), encoding="utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    dialog = done.stdout.decode().split("<dialog")[1].split("</dialog>")[0]
    assert dialog.startswith(' id="list" open')
    assert "<h2>Lost under d ≤ 1</h2>" in dialog
    assert 'sample: the first 5 of 7 sentences. crossarc analyze FILE --show "d&lt;=1"' in dialog
    assert ">de-001</code>" in dialog
    assert ">Pilze -&gt; wenige</span>" in dialog
