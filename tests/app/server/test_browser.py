"""The page in Chromium, as a person uses it: by mouse, by keyboard, with a screen reader's rules.

With CROSSARC_PICTURES=docs/pictures the pictures of the documentation are written anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="extra [web] is not installed")
pytest.importorskip("uvicorn", reason="extra [web] is not installed")

from support.browser import Browser, browser
from support.drawings import Drawing
from support.files import ROOT
from support.server import Server, running

import crossarc as ca
from crossarc.analysis import Examples, study_constraints
from crossarc.app.reports.report import EXAMPLES, report
from crossarc.treebank import sample

SAW = "I saw the man with the telescope."
TEXT = f"{SAW} Nobody believed the story that he told us about it."
AXE = ROOT / "tests" / "vendor" / "axe-core" / "axe.min.js"
LONG = (
    "The old committee that nobody in the town had ever trusted decided , after many meetings with "
    "lawyers and engineers , to sell the bridge which its founders had built across the river , "
)

HEADS = """[...document.querySelectorAll("#drawing .arc.basic, #drawing .arc.nonprojective")]
    .sort((a, b) => a.dataset.word - b.dataset.word).map((arc) => Number(arc.dataset.head))"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def parser() -> ca.Parser:
    return ca.load("en")


class Page:
    """The page of the server in a browser."""

    def __init__(self, chromium: Browser, server: Server) -> None:
        self.browser, self.server = chromium, server

    def open(self, address: str = "") -> None:
        self.browser.open(self.server.address + address)

    def parse(self, text: str) -> None:
        """Paste a text and parse it."""
        self.browser.run("document.getElementById('input').value = ''")
        self.browser.click("#input")
        self.browser.type(text)
        self.browser.click("#parse")
        self.settled()

    def load(self, path: Path) -> None:
        """Open a file."""
        document = self.browser.command("DOM.getDocument")["root"]["nodeId"]
        node = self.browser.command("DOM.querySelector", nodeId=document, selector="#file")
        self.browser.command("DOM.setFileInputFiles", files=[str(path)], nodeId=node["nodeId"])
        self.settled()

    def settled(self) -> None:
        """Wait until nothing has changed in the drawing for a while."""
        self.browser.wait("document.querySelector('#drawing svg')")
        self.browser.run(
            """new Promise((resolve) => {
                let timer = setTimeout(resolve, 350);
                const observer = new MutationObserver(() => {
                    clearTimeout(timer);
                    timer = setTimeout(() => { observer.disconnect(); resolve(); }, 350);
                });
                observer.observe(document.getElementById("bench"),
                    { childList: true, subtree: true, characterData: true });
            })"""
        )

    @property
    def heads(self) -> list[int]:
        return self.browser.run(HEADS)

    def wait_for_heads(self, heads: list[int]) -> None:
        """Wait for a tree, and until the panels beside it are made: they take clicks only then."""
        self.browser.wait(
            f"JSON.stringify({HEADS}) === '{json.dumps(heads, separators=(',', ':'))}'"
        )
        self.settled()

    @property
    def edits(self) -> dict[str, dict]:
        """What is kept in the browser, by sentence."""
        return json.loads(self.browser.run("localStorage.getItem('crossarc.edits')"))["edits"]

    def word(self, number: int) -> str:
        return f'#drawing .node[data-word="{number}"]'

    def text(self, selector: str) -> str:
        return self.browser.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def wait_for_text(self, selector: str, text: str) -> None:
        name = json.dumps(selector)
        self.browser.wait(
            f"document.querySelector({name}).textContent.includes({json.dumps(text)})"
        )

    def exported(self, kind: str, name: str) -> bytes:
        (self.browser.downloads / name).unlink(missing_ok=True)
        self.browser.click("#export summary")
        self.browser.click(f'[data-export="{kind}"]')
        return self.browser.downloaded(name)


@pytest.fixture
def page(chromium: Browser, server: Server) -> Iterator[Page]:
    chromium.screen(1400)
    chromium.command("Page.navigate", url="about:blank")
    chromium.command(
        "Storage.clearDataForOrigin", origin=server.address.rstrip("/"), storageTypes="all"
    )
    chromium.problems.clear()
    opened = Page(chromium, server)
    opened.open()
    yield opened
    assert chromium.problems == []


def best(parser: ca.Parser, text: str, **given: dict[int, int]) -> list[int]:
    [sentence] = parser.parse(text)
    trees = parser.distribution(sentence)
    return (trees.given(given["heads"]) if given else trees).argmax().heads.tolist()


# ---- By mouse


def test_first_visit(page: Page) -> None:
    page.browser.click("#bank")
    page.settled()
    assert page.text("#sentence-count") == str(len(sample()))
    assert page.heads == sample()[0].heads.tolist()
    assert page.browser.run("document.getElementById('welcome').hidden")
    page.browser.command(
        "Storage.clearDataForOrigin", origin=page.server.address.rstrip("/"), storageTypes="all"
    )
    page.open()
    page.browser.click("#example")
    page.settled()
    assert page.text("#text") == SAW


def test_paste_look_force_and_forbid(page: Page, parser: ca.Parser) -> None:
    page.parse(TEXT)
    assert page.heads == best(parser, SAW)
    assert page.text("#sentence-count") == "2"
    page.browser.hover(page.word(7))
    page.browser.wait("document.querySelectorAll('.candidate-head').length === 2")
    page.browser.click(page.word(7))
    assert page.text("#word-name") == "telescope"
    page.browser.click("#candidates li:nth-child(2) .head")
    forced = best(parser, SAW, heads={7: 4})
    page.wait_for_heads(forced)
    assert page.browser.run("document.querySelectorAll('#drawing .node.settled').length") == 1
    # The candidates are those that the word would have if it were not settled.
    page.wait_for_text("#candidates", "52%")
    page.browser.click("#undo")
    page.wait_for_heads(best(parser, SAW))
    page.browser.click("#redo")
    page.wait_for_heads(forced)
    page.browser.click("#release")
    page.wait_for_heads(best(parser, SAW))
    page.browser.click("#candidates li:nth-child(1) button:last-child")
    page.browser.wait("document.querySelector('#candidates .excluded')")
    page.settled()
    assert page.heads[6] != 2


def test_an_arc_is_chosen_by_a_click_and_a_head_by_dragging(page: Page, parser: ca.Parser) -> None:
    page.parse(SAW)
    page.browser.click('#drawing .arc[data-word="4"] .label')
    assert page.text("#word-name") == "man"
    page.browser.drag(page.word(7), page.word(4))
    page.wait_for_heads(best(parser, SAW, heads={7: 4}))
    assert page.text("#word-name") == "telescope"
    assert "You settled its head" in page.text("#word-note")


def test_k_best_trees_and_what_differs(page: Page, parser: ca.Parser) -> None:
    page.parse(SAW)
    trees = list(parser.parse(SAW, kbest=10))
    assert page.browser.run("document.getElementById('rank').max") == "10"
    for rank in (2, 3):
        page.browser.press("]")
        page.wait_for_text("#rank-text", f"{rank} of 10")
    page.settled()
    shown = page.browser.run(
        """[...document.querySelectorAll("#drawing .arc:not(.second)")]
        .sort((a, b) => a.dataset.word - b.dataset.word).map((arc) => Number(arc.dataset.head))"""
    )
    assert shown == trees[2].heads.tolist()
    different = sum(
        (a, c) != (b, d)
        for a, b, c, d in zip(
            trees[2].heads, trees[0].heads, trees[2].deprels, trees[0].deprels, strict=True
        )
    )
    marked = "document.querySelectorAll('#drawing .arc.first, #drawing .arc.relabelled').length"
    assert page.browser.run(marked) == different
    page.browser.press("[", "[")
    page.wait_for_heads(trees[0].heads.tolist())


def test_relation_tag_lemma_and_head_are_edited_in_place(page: Page) -> None:
    page.parse(SAW)
    page.browser.click(page.word(4))
    first = page.browser.run("document.getElementById('relation').options[0].value")
    assert first == "obj"
    page.browser.run(
        """(() => { const box = document.getElementById("relation"); box.value = "iobj";
        box.dispatchEvent(new Event("change")); })()"""
    )
    page.browser.wait(
        "document.querySelector('#drawing .arc[data-word=\"4\"]').textContent.includes('iobj')"
    )
    page.browser.run("document.getElementById('table-box').open = true")
    for column, value in (("lemmas", "mann"), ("upos", "PROPN"), ("heads", "7")):
        page.browser.wait("document.querySelector('#words tr[data-row=\"4\"]')")
        page.settled()
        page.browser.run(
            f"""(() => {{
                const box = document.querySelector('[data-row="4"] [data-column={column}]');
                box.value = "{value}";
                box.dispatchEvent(new Event("change", {{ bubbles: true }}));
            }})()"""
        )
    page.browser.wait('document.querySelector(\'.arc[data-word="4"]\').dataset.head === "7"')
    [back] = ca.read_conllu([page.exported("conllu", "text-crossarc.conllu").decode()])
    assert back.lemmas[3] == "mann"
    assert back.upos[3] == "PROPN"
    assert back.upos[6] == "NOUN"
    assert back.heads[3] == 7
    assert "Reviewed=Yes" in back.misc[3].split("|")
    assert all("HeadProb=" in misc for misc in back.misc)
    # From the file, work goes on where it was.
    page.load(page.browser.downloads / "text-crossarc.conllu")
    page.browser.wait("document.querySelectorAll('#drawing .node.settled').length === 1")
    assert page.edits["0"]["heads"] == {"4": 7}
    assert page.heads == back.heads.tolist()


def test_what_no_tree_satisfies_is_taken_back(page: Page, parser: ca.Parser) -> None:
    page.parse(SAW)
    page.browser.click(page.word(4))
    page.browser.run("document.getElementById('table-box').open = true")
    for word, head in ((4, 2), (2, 4)):
        page.settled()
        page.browser.run(
            f"""(() => {{
                const box = document.querySelector('[data-row="{word}"] [data-column=heads]');
                box.value = "{head}";
                box.dispatchEvent(new Event("change", {{ bubbles: true }}));
            }})()"""
        )
    page.wait_for_text("#status", "no tree satisfies the constraints")
    page.settled()
    assert page.heads == best(parser, SAW, heads={4: 2})
    assert page.edits["0"]["heads"] == {"4": 2}
    # The browser itself notes the status 422.
    assert len(page.browser.problems) == 1
    page.browser.problems.clear()


def test_a_model_without_probabilities(chromium: Browser, tmp_path: Path) -> None:
    """Trees can be looked at and heads settled; what needs probabilities is not offered."""
    path = tmp_path / "greedy.crossarc"
    ca.Parser.train(sample()[:40], kind="covington", passes=1, text=False).save(path)
    with running("-m", path) as server:
        page = Page(chromium, server)
        chromium.problems.clear()
        page.open()
        page.parse(sample("en")[0].to_conllu())
        assert page.heads == sample("en")[0].heads.tolist()
        assert page.browser.run("document.getElementById('doubts-panel').hidden")
        page.browser.drag(page.word(8), page.word(4))
        page.browser.wait('document.querySelector(\'.arc[data-word="8"]\').dataset.head === "4"')
        assert chromium.problems == []


def test_exports(page: Page, tmp_path: Path) -> None:
    page.parse(TEXT)
    both = list(ca.read_conllu([page.exported("conllu", "text-crossarc.conllu").decode()]))
    assert [sentence.text for sentence in both] == [SAW, TEXT.removeprefix(f"{SAW} ")]
    drawing = Drawing(page.exported("svg", "text-crossarc-1.svg").decode())
    assert [word.content for word in drawing.words] == list(both[0].forms)
    assert page.exported("png", "text-crossarc-1.png").startswith(b"\x89PNG\r\n\x1a\n")
    assert rb"\begin{dependency}" in page.exported("latex", "text-crossarc-1.tex")


# ---- By keyboard


def test_annotators_loop_by_keyboard(page: Page, parser: ca.Parser) -> None:
    page.parse(TEXT)
    sure = [
        (float(misc.partition("HeadProb=")[2][:6]), number, word)
        for number, sentence in enumerate(parser.parse(TEXT, probabilities=True))
        for word, misc in enumerate(sentence.misc, 1)
    ]
    least = sorted(one for one in sure if one[0] < 0.95)
    page.browser.wait(f"document.querySelectorAll('#doubts li').length === {len(least)}")
    page.browser.run("document.activeElement.blur()")
    page.browser.press("n")
    _, number, word = least[0]
    assert (number, word) == (0, 7)
    page.browser.wait(f"document.activeElement.dataset.word === '{word}'")
    page.browser.press("2")
    page.browser.wait("document.querySelector('#drawing .node.settled')")
    page.settled()
    settled = page.browser.run("Number(document.querySelector('.node.settled').dataset.word)")
    assert settled == word
    page.browser.press("n")
    page.settled()
    before = page.browser.run("document.querySelectorAll('#doubts li').length")
    page.browser.press("a")
    page.browser.wait(f"document.querySelectorAll('#doubts li').length < {before}")
    page.settled()
    page.browser.press("u", "u")
    page.settled()
    assert page.edits == {}
    page.browser.press("y")
    page.settled()
    assert list(page.edits) == [str(number)]
    page.browser.press("k")
    page.settled()
    page.browser.press("ArrowRight", "ArrowRight")
    assert page.text("#word-name") == "saw"
    page.browser.press("x")
    page.settled()
    assert page.heads[1] != 0
    page.browser.press("c")
    page.wait_for_heads(best(parser, SAW, heads={7: 4}))
    page.browser.press("?")
    page.browser.wait("document.getElementById('help').open")
    page.browser.press("Escape")
    page.browser.wait("!document.getElementById('help').open")


def test_words_that_tell_most_come_first(page: Page, parser: ca.Parser) -> None:
    page.parse(TEXT)
    page.browser.run(
        """(() => { const box = document.getElementById("order"); box.value = "information";
        box.dispatchEvent(new Event("change")); })()"""
    )
    page.browser.wait("document.getElementById('doubts-count').textContent.match(/^[0-9]+$/)")
    page.settled()
    sentences = list(parser.parse(TEXT, probabilities=True))
    ranked = sorted(
        (-float(value), number, word)
        for number, (table, sentence) in enumerate(parser.head_information(sentences))
        for word, value in enumerate(table, 1)
        if float(sentence[word - 1].misc.partition("HeadProb=")[2][:6]) < 0.95
    )
    shown = page.browser.run(
        "[...document.querySelectorAll('#doubts .form')].map((one) => one.textContent)"
    )
    assert [text.partition(" ")[0] for text in shown] == [
        sentences[number].forms[word - 1] for _, number, word in ranked
    ]


def test_list_of_sentences_by_keyboard(page: Page) -> None:
    page.parse(TEXT)
    page.browser.run("document.getElementById('list').focus()")
    page.browser.press("ArrowDown")
    page.browser.wait("document.querySelector('#row1[aria-selected=true]')")
    page.wait_for_text("#text", "Nobody")
    assert (
        page.browser.run("document.getElementById('list').getAttribute('aria-activedescendant')")
        == "row1"
    )


# ---- Nothing is lost


def test_edits_survive_a_reload_and_the_server(
    page: Page, parser: ca.Parser, tmp_path: Path
) -> None:
    page.parse(SAW)
    page.browser.click(page.word(7))
    page.browser.press("2")
    forced = best(parser, SAW, heads={7: 4})
    page.wait_for_heads(forced)
    page.open()
    page.wait_for_heads(forced)
    assert page.text("#text") == SAW


def test_page_goes_on_when_the_server_comes_back(chromium: Browser, parser: ca.Parser) -> None:
    with running() as first:
        page = Page(chromium, first)
        page.open()
        page.parse(SAW)
        port = first.port
    page.browser.click(page.word(7))
    page.browser.press("2")
    page.wait_for_text("#status", "The server does not answer. Nothing is lost")
    forced = best(parser, SAW, heads={7: 4})
    assert page.heads != forced
    with running(port=port):
        page.wait_for_heads(forced)
        assert page.text("#text") == SAW
    chromium.problems.clear()


def test_a_link_has_the_sentence_as_it_is(page: Page, parser: ca.Parser) -> None:
    page.parse(TEXT)
    page.browser.click(page.word(7))
    page.browser.press("2")
    forced = best(parser, SAW, heads={7: 4})
    page.wait_for_heads(forced)
    page.browser.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.browser.press("l")
    page.browser.wait("window.copied")
    address = page.browser.run("window.copied")
    page.browser.command(
        "Storage.clearDataForOrigin", origin=page.server.address.rstrip("/"), storageTypes="all"
    )
    page.browser.open(address)
    page.wait_for_heads(forced)
    assert page.text("#word-name") == "telescope"
    assert page.text("#sentence-count") == "1"


def test_a_file_is_dropped(page: Page) -> None:
    page.browser.run(
        """(() => {
            const carried = new DataTransfer();
            const options = { dataTransfer: carried, bubbles: true, cancelable: true };
            carried.items.add(new File(["She sings. He ran."], "dropped.txt"));
            for (const type of ["dragover", "drop"]) {
                document.body.dispatchEvent(new DragEvent(type, options));
            }
        })()"""
    )
    page.settled()
    assert page.text("#text") == "She sings."
    assert page.text("#sentence-count") == "2"


def test_document_before_can_be_taken_back(page: Page) -> None:
    page.parse(SAW)
    page.parse("He ran.")
    page.wait_for_text("#text", "He ran.")
    page.browser.click("#previous")
    page.wait_for_text("#text", SAW)
    page.settled()
    assert page.text("#text") == SAW
    assert page.text("#sentence-count") == "1"


# ---- Treebanks


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    path = tmp_path / "bank.conllu"
    ca.write_conllu(sample("en"), path)
    return path


def test_trees_of_a_file_are_kept_and_compared(page: Page, parser: ca.Parser, bank: Path) -> None:
    sentences = sample("en")
    page.load(bank)
    assert page.heads == sentences[0].heads.tolist()
    page.browser.wait("document.getElementById('doubts-count').textContent.match(/^[0-9]+$/)")
    page.browser.run(
        """(() => { const box = document.getElementById("compare"); box.value = "input";
        box.dispatchEvent(new Event("change")); })()"""
    )
    scores = ca.evaluate(sentences, parser.parse(sentences))
    shown = f"of {len(sentences)} parsed sentences: UAS {scores.uas:.1f}, LAS {scores.las:.1f}"
    page.browser.wait("document.getElementById('doubts-count').textContent.match(/^[0-9]+$/)")
    page.browser.press("j")
    page.wait_for_text("#facts", shown)


@pytest.mark.parametrize(
    ("text", "nested"),
    [
        ("A letter finally arrived that nobody could read.", True),
        ("A man arrived yesterday who nobody knew.", False),
    ],
)
def test_projective_beside_nonprojective(
    page: Page, parser: ca.Parser, text: str, nested: bool
) -> None:
    """The best tree is projective, so that there is one only, or it is not."""
    page.parse(text)
    page.browser.run(
        """(() => { const box = document.getElementById("compare"); box.value = "other";
        box.dispatchEvent(new Event("change")); })()"""
    )
    [one], [other] = (parser.parse(text, projective=only) for only in (True, False))
    assert one.tree.is_projective
    assert other.tree.is_projective == nested
    different = int((one.heads != other.heads).sum())
    said = "the heads are the same" if nested else f"{different} heads differ"
    page.wait_for_text("#facts", said)
    assert said in page.text("#facts").removesuffix(".").split("; ")


def test_hints_name_broken_rules(page: Page) -> None:
    sentence = ca.Sentence.build(
        ["He", "ran", "."],
        upos=["PRON", "VERB", "PUNCT"],
        heads=[2, 0, 2],
        deprels=["det", "root", "obj"],
    )
    page.parse(sentence.to_conllu().replace("\tdet\t", "\tdett\t"))
    assert page.browser.run(
        "[...document.querySelectorAll('#hints li')].map((one) => one.textContent)"
    ) == ["He: dett is no universal relation", ".: punctuation has the relation punct, not obj"]


def test_a_large_file_is_parsed_where_it_is_looked_at(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "large.conllu"
    words = [ca.Sentence.build(["Sentence", str(k), "is", "here", "."]) for k in range(5000)]
    ca.write_conllu(words, path)
    page.load(path)
    assert page.text("#sentence-count") == "5,000"
    rows = "document.querySelectorAll('#list .row').length"
    assert page.browser.run(rows) < 60
    page.browser.run("document.getElementById('list').focus()")
    page.browser.command(
        "Input.dispatchKeyEvent", type="keyDown", key="End", windowsVirtualKeyCode=35
    )
    page.wait_for_text("#text", "Sentence 4999 is here .")
    page.settled()
    assert page.browser.run(rows) < 60
    known = page.text("#doubts-count")
    assert known.endswith("of 5,000 sentences parsed")
    assert int(known.partition(" ")[0].replace(",", "")) < 200
    page.open()
    page.wait_for_text("#text", "Sentence 4999 is here .")


def test_report_of_the_treebank_opens(page: Page, bank: Path) -> None:
    page.load(bank)
    page.browser.run("document.getElementById('analyze').removeAttribute('target')")
    page.browser.click("#analyze button")
    page.browser.wait("document.querySelector('h1').textContent.startsWith('bank.conllu: what')")
    study = study_constraints(sample("en"), examples=Examples(limit=EXAMPLES))
    numbers = report([("bank.conllu", study)]).count('<button type="button" data-key=')
    assert page.browser.run("document.querySelectorAll('button[data-key]').length") == numbers


# ---- What it looks like


def documents() -> dict[str, str]:
    return {
        "arabic": "".join(one.to_conllu() for one in sample("ar")),
        "japanese": "".join(one.to_conllu() for one in sample("ja")),
        "long": f"{LONG * 3}.",
    }


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", documents())
def test_scripts_and_long_sentences_fit(page: Page, name: str, width: int, tmp_path: Path) -> None:
    """Nothing is wider than the screen; every word is in the drawing; Arabic runs to the left."""
    page.browser.screen(width, dark=width == 400)
    page.open()
    page.parse(documents()[name])
    page.browser.click(page.word(3))
    page.settled()
    page.browser.picture(tmp_path / f"{name}-{width}.png")
    assert page.browser.run("document.documentElement.scrollWidth") == width
    overflow = page.browser.run(
        "(() => { const box = document.getElementById('drawing');"
        "return box.scrollWidth - box.clientWidth; })()"
    )
    assert overflow <= 0
    count = page.browser.run("document.querySelectorAll('#drawing .node').length")
    if name == "long":
        assert count > 100
    first, second = (page.browser.centre(page.word(number))[0] for number in (1, 2))
    assert (second < first) == (name == "arabic")


AUDIT = """axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(
    found.violations.filter((one) => one.impact === "serious" || one.impact === "critical")
        .map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 200))])))"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_no_serious_accessibility_fault(page: Page, width: int, dark: bool) -> None:
    """By axe-core, before and after a parse, with everything open."""
    page.browser.screen(width, dark=dark)
    page.open()
    page.browser.run(AXE.read_text(encoding="utf-8"))
    assert json.loads(page.browser.run(AUDIT)) == []
    page.parse(TEXT)
    page.browser.click(page.word(7))
    page.browser.press("2")
    page.browser.run(
        "for (const one of document.querySelectorAll('.sentence details')) one.open = true"
    )
    page.browser.wait("document.getElementById('heat').height !== 150")
    page.settled()
    assert json.loads(page.browser.run(AUDIT)) == []
    page.browser.press("?")
    assert json.loads(page.browser.run(AUDIT)) == []


def test_pictures_of_the_documentation(page: Page, tmp_path: Path) -> None:
    folder = Path(os.environ.get("CROSSARC_PICTURES", tmp_path)).absolute()
    page.browser.screen(1200, 640)
    page.parse(TEXT)
    page.browser.click(page.word(7))
    page.settled()
    page.browser.picture(folder / "page-word.png")
    page.browser.press("2")
    page.settled()
    page.browser.picture(folder / "page-forced.png")
    page.browser.run("document.getElementById('heat-box').open = true")
    page.browser.wait("document.getElementById('heat').height !== 150")
    page.settled()
    page.browser.run("document.getElementById('heat-box').scrollIntoView({block: 'end'})")
    page.browser.picture(folder / "page-heat.png")
    for name in ("page-word", "page-forced", "page-heat"):
        assert (folder / f"{name}.png").stat().st_size > 10_000
