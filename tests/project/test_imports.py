"""Start-up: what is loaded when, and that the public names are all there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import crossarc as ca

HEAVY = ("numpy", "scipy", "numba", "torch", "spacy", "ray", "starlette", "uvicorn", "matplotlib")
OWN = {"crossarc"}
COMMAND_LINE = {
    "crossarc",
    "crossarc.app",
    "crossarc.app.cli",
    "crossarc.beside",
    "crossarc.app.commands",
    "crossarc.app.commands.combine",
    "crossarc.app.commands.completion",
    "crossarc.app.commands.demo",
    "crossarc.app.commands.explain",
    "crossarc.app.commands.induce",
    "crossarc.app.commands.parse",
    "crossarc.app.commands.perplexity",
    "crossarc.app.commands.review",
    "crossarc.app.commands.serve",
    "crossarc.app.commands.train",
    "crossarc.app.commands.treebanks",
    "crossarc.app.commands.treebanks.analyze",
    "crossarc.app.commands.treebanks.convert",
    "crossarc.app.commands.treebanks.draw",
    "crossarc.app.commands.treebanks.evaluate",
    "crossarc.app.commands.treebanks.split",
    "crossarc.app.commands.treebanks.stats",
    "crossarc.app.commands.warmup",
    "crossarc.app.files",
    "crossarc.app.induced",
    "crossarc.app.selection",
    "crossarc.app.status",
    "crossarc.app.tables",
    "crossarc.app.words",
    "crossarc.errors",
    "crossarc.models",
    "crossarc.models.combined",
    "crossarc.models.combined.kind",
    "crossarc.models.covington",
    "crossarc.models.covington.kind",
    "crossarc.models.graph",
    "crossarc.models.kinds",
    "crossarc.models.neural",
    "crossarc.models.neural.kind",
}


def loaded_after(code: str) -> set[str]:
    program = f"{code}\nimport sys; print('\\n'.join(['', '--', *sys.modules]))"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    return set(shown.rpartition("\n--\n")[2].split("\n"))


@pytest.mark.parametrize(
    ("code", "own"),
    [
        ("import crossarc", OWN),
        (
            "from crossarc.app.cli import app\ntry: app(['--help'])\nexcept SystemExit: pass",
            COMMAND_LINE,
        ),
    ],
    ids=["import", "help"],
)
def test_modules_loaded(code: str, own: set[str]) -> None:
    modules = loaded_after(code)
    assert {name for name in modules if name.partition(".")[0] == "crossarc"} == own
    assert not {name.partition(".")[0] for name in modules} & set(HEAVY)


def test_modules_are_attributes() -> None:
    """Without an import of their own; loaded when first used."""
    shown = "import crossarc as ca; print(ca.draw.text(ca.Tree([2, 0]), forms=['a', 'b']))"
    assert subprocess.run([sys.executable, "-c", shown], check=True, capture_output=True).stdout
    assert not {name for name in loaded_after("import crossarc as ca; ca.trees") if "draw" in name}


def test_names_that_are_elsewhere() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'parse': use ca\.load"):
        ca.parse  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        ca.nothing  # noqa: B018


def test_nothing_is_imported_before_interrupts_are_quiet() -> None:
    """`crossarc.app` lets an interrupt end the program; before that it would print a traceback."""
    before = loaded_after("")
    assert loaded_after("import crossarc.app") - before <= {
        "__future__",
        "crossarc",
        "crossarc.app",
    }


def test_reading_and_scoring_load_no_compiler() -> None:
    """Numba is loaded when a tree is measured, not before."""
    modules = loaded_after(
        "import crossarc as ca; from crossarc.treebank import sample; sample()[0].tree.heads"
    )
    assert "numpy" in modules
    assert not {"numba", "scipy"} & modules


@pytest.mark.parametrize("drawing", ["text", "svg", "html", "tex"])
def test_drawing_loads_no_compiler(drawing: str) -> None:
    modules = loaded_after(
        "from crossarc.app.cli import app\n"
        f"try: app(['draw', '@sample', '--format', '{drawing}', '--nonprojective', '-n', '2'])\n"
        "except SystemExit: pass"
    )
    assert "crossarc.draw" in modules
    assert not {"numba", "scipy", "crossarc.inference", "crossarc.evaluation"} & modules


def test_public_names() -> None:
    assert sorted(ca.__all__) == dir(ca)
    for name in ca.__all__:
        assert getattr(ca, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = ca.Nonsense
