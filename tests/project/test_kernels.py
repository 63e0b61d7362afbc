"""Compilation: `crossarc warmup` knows every kernel; nobody waits for those that are not used."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from support.files import ROOT

from crossarc.kernels import KERNEL_MODULES
from crossarc.models.labels import log_softmax

USED = """
from crossarc import kernels
import crossarc as ca
{program}
print(*(one.__module__ for own in kernels._KERNELS.values() for one in own if one._compiled))
"""


def modules_used(program: str) -> list[str]:
    """The module of every kernel that is ready after a program, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", USED.format(program=program)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_every_kernel_is_compiled_by_warmup() -> None:
    source = ROOT / "src"
    found = {
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in source.rglob("*.py")
        if re.search(r"^@kernel\(|: kernel\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert set(KERNEL_MODULES) == found
    for name in ("crossarc.trees.measures", "crossarc.models.arcs"):
        assert modules_used(f"kernels.compile_kernels({name!r})").count(name) >= 2


def test_parsing_text_needs_few_kernels() -> None:
    """The first parse after an installation waits for these, and for no other.

    A projective parser needs no spanning tree, and no parser what learns: each kernel of scores
    is there for one kind of weights.
    """
    used = modules_used("assert ca.load('en')('Dogs bark.')")
    assert len(used) == 15
    assert sorted(set(used)) == [
        "crossarc.inference.runtime.packing",
        "crossarc.inference.projective.eisner_best",
        "crossarc.inference.spanning.edmonds.argmax",
        "crossarc.models.arcs",
        "crossarc.models.labels",
        "crossarc.models.tagging.lemma_kernels",
        "crossarc.models.tagging.perceptron",
        "crossarc.models.tagging.words",
        "crossarc.text.decisions",
    ]


def test_importing_loads_no_kernel() -> None:
    assert modules_used("ca.Parser, ca.SpanningTrees, ca.ProjectiveTrees") == []


def test_a_kernel_is_one_version_of_its_function() -> None:
    assert log_softmax.__name__ == "log_softmax"
    assert (log_softmax.__doc__ or "").startswith("Scores to log-probabilities in place")
    assert log_softmax(np.zeros((1, 4)), np.array([2])) == pytest.approx(np.log(4))
    with pytest.raises(TypeError, match="No matching definition"):
        log_softmax(np.zeros(4), np.array([2]))
