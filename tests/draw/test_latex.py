"""LaTeX: escaped, and compiled where LaTeX is at hand."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from crossarc import Sentence, Tree
from crossarc.draw import latex
from crossarc.draw.picture import picture
from crossarc.draw.tikz import document, environment, escaped
from crossarc.treebank import sample

SPECIAL = ["[a]", "\\x", "50%", "$", "a_b", "``", "''", "--", "{", "}", "~", "^", "#&|", "<<", "?`"]


def test_specials_are_escaped() -> None:
    assert escaped("a_b & 50% {x}") == r"a\_b \symbol{38} 50\% \{x\}"
    assert escaped("\\~^") == r"\textbackslash{}\textasciitilde{}\textasciicircum{}"
    assert escaped("--") == "{-}{-}"
    assert escaped("naïve") == "naïve"


def test_edges_are_those_of_the_tree() -> None:
    """Head, dependent and label of every arc; words in a right-to-left script count backwards."""
    for sentence in sample():
        shown = latex(sentence)
        n = len(sentence)
        mirrored = sentence.comment("lang") == "ar"
        edges = {
            (int(head), int(word), label)
            for head, word, label in re.findall(r"\\depedge\[.*\]\{(\d+)\}\{(\d+)\}\{(.*)\}", shown)
        }
        expected = {
            (n + 1 - h, n + 1 - m, label) if mirrored else (h, m, label)
            for m, (h, label) in enumerate(
                zip(sentence.heads.tolist(), sentence.deprels, strict=True), 1
            )
            if h
        }
        assert edges == expected
        roots = re.findall(r"\\draw\[->.*\\wordref\{1\}\{(\d+)\}", shown)
        assert len(roots) == 1
        assert shown.count("red!75!black,thick") == sum(sentence.tree.nonprojective_arcs)


def test_documents_name_their_program() -> None:
    latin, greek, japanese, arabic = (
        latex(sample(language)[0], document=True) for language in ("cs", "grc", "ja", "ar")
    )
    assert latin.startswith("% !TeX program = pdflatex\n")
    for shown in (greek, japanese, arabic):
        assert shown.startswith("% !TeX program = lualatex\n")
    assert "Script=Arabic" in arabic
    assert "CJK" in japanese
    assert "documentclass" not in latex(sample("cs")[0])


def test_it_compiles(tmp_path: Path) -> None:
    """Plain trees, a comparison, and every special character, without a complaint."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    n = len(SPECIAL)
    specials = Sentence.build(
        SPECIAL, upos=SPECIAL, heads=[0] + [1] * (n - 1), deprels=["root", *SPECIAL[1:]]
    )
    tree = sample("nl")[0].tree
    pictures = [picture(sentence) for sentence in sample() if len(sentence) == 9][:5]
    pictures += [
        picture(specials),
        picture(Tree([0])),
        picture(tree, against=Tree([0] + [1] * (len(tree) - 1))),
    ]
    pictures = [one for one in pictures if all(form.isascii() for form in one.forms)]
    (tmp_path / "trees.tex").write_text(document(map(environment, pictures)), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "trees.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=300,
    )
    log = (tmp_path / "trees.log").read_text(encoding="utf-8", errors="replace")
    if "standalone.cls' not found" in log or "tikz-dependency.sty' not found" in log:
        pytest.skip("LaTeX lacks standalone or tikz-dependency")
    assert done.returncode == 0, log[-3000:]
    assert f"({len(pictures)} page" in log.replace("\n", "")
    assert "Missing character" not in log
