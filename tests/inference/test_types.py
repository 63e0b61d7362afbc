"""What type checkers infer for the answers of distributions: never Any."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.files import ROOT

from crossarc.inference import SpanningTrees

FLOATS = "ndarray[tuple[Any, ...], dtype[float64]]"

# Method calls, and the type of the answer for one sentence.
ANSWERS = {
    "log_partition()": "float",
    "marginals()": FLOATS,
    "log_marginals()": FLOATS,
    "max_marginals()": FLOATS,
    "log_prob(heads={{1: 2}})": "float",
    "expected_attachment({tree})": "float",
    "argmax()": "Tree",
    "min_risk()": "Tree",
    "sample(2, seed=0)": "list[Tree]",
    "entropy()": "float",
    "cross_entropy({self})": "float",
    "kl({self})": "float",
    "entropy_drop()": FLOATS,
    "mutual_information()": FLOATS,
    "hessian_product(array)": FLOATS,
    "covariance(array, array)": "float",
    "variance(array)": "float",
    "entropy_gradient()": FLOATS,
}
SETUP = """
import numpy as np
import crossarc as ca

array = np.zeros((3, 3))
tree = ca.Tree([2, 0])
one, many = ca.{kind}(array), ca.{kind}([array, array])
padded = ca.{kind}(np.zeros((2, 3, 3)), lengths=[2, 2], root="multi", threads=1)
"""


def revealed(folder: Path, setup: str, expressions: list[str]) -> list[str]:
    """The types of expressions by mypy, names of modules left out."""
    file = folder / "typed.py"
    file.write_text("\n".join([setup, *(f"reveal_type({one})" for one in expressions)]))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        folder.parent / "mypy",
        file,
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    types = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert len(types) == len(expressions), done.stdout + done.stderr
    assert " error: " not in done.stdout
    return [re.sub(r"\b[a-z_]+\.(?=[\w.]*\w)", "", one) for one in types]


@pytest.fixture(autouse=True)
def source(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mypy")
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))


@pytest.mark.parametrize("kind", ["SpanningTrees", "ProjectiveTrees"])
def test_answers_for_one_sentence_and_for_a_batch(kind: str, tmp_path: Path) -> None:
    expressions, expected = [], []
    for call, answer in ANSWERS.items():
        expressions.append(f"one.{call.format(tree='tree', self='one')}")
        expressions.append(f"many.{call.format(tree='[tree, tree]', self='many')}")
        expected += [answer, f"list[{answer}]"]
    shorter = {
        "one": f"{kind}[One]",
        "many": f"{kind}[Many]",
        "padded": f"{kind}[Many]",
        "padded.entropy()": "list[float]",
        "one.given({1: 2}).argmax()": "Tree",
        "many.given([{1: 2}, {}]).argmax()": "list[Tree]",
        "one.kbest(2)": "Iterator[Tree]",
        "many.kbest(2)": "list[list[Tree]]",
        "one.within(1.0)": "Iterator[Tree]",
        "many.within(1.0)": "list[list[Tree]]",
        "one.joint((2, 1), (0, 2))": "float",
        "one.conditional(array, array)": FLOATS,
        "many.joint([(2, 1), (2, 1)], [(0, 2), (0, 2)])": "list[float]",
        "many.conditional([array, array], [array, array])": f"list[{FLOATS}]",
    }
    found = revealed(tmp_path, SETUP.format(kind=kind), [*expressions, *shorter])
    assert found == [*expected, *shorter.values()]


def test_other_public_names(tmp_path: Path) -> None:
    cases = {
        "ca.ProjectiveTrees(array, sibling=np.zeros((3, 3, 3))).marginals('sibling')": FLOATS,
        "ca.projective_log_prob(array)": "float",
        "ca.projective_log_prob([array])": "list[float]",
        "ca.constrain(array, heads={1: 2})": FLOATS,
        "ca.load('en').distribution(next(ca.read_conllu('x'))).entropy()": "float",
        "ca.load('en')('A text.')": "list[Sentence]",
        "ca.load('en')(['A text.'])": "list[list[Sentence]]",
    }
    assert revealed(tmp_path, SETUP.format(kind="SpanningTrees"), [*cases]) == [*cases.values()]


def test_annotations_without_brackets_are_of_one_sentence(tmp_path: Path) -> None:
    setup = "import crossarc as ca\ndef make() -> ca.SpanningTrees: ...\n"
    setup = setup.replace("...", "raise NotImplementedError")
    assert revealed(tmp_path, setup, ["make().argmax()", "make().kbest(1)"]) == [
        "Tree",
        "Iterator[Tree]",
    ]


def test_wrong_arguments_are_found(tmp_path: Path) -> None:
    """The checker knows the arguments of methods, too."""
    with pytest.raises(AssertionError, match="error"):
        revealed(tmp_path, SETUP.format(kind="SpanningTrees"), ["one.sample('two')"])


def test_at_run_time_methods_are_functions() -> None:
    """With their docstrings, which `help` and editors show."""
    assert SpanningTrees.entropy.__doc__ == "Entropy in nats."
    assert SpanningTrees.entropy.__qualname__ == "TreeDistribution.entropy"
