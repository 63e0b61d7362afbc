"""Compilation: `crossarc warmup` knows every kernel; nobody waits for those that are not used."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import numpy as np
import pytest
from support.files import ROOT

import crossarc as ca
from crossarc.kernels import kernels_of
from crossarc.kernels.rooms import PARTS, ROOMS, kernel_modules, room_of
from crossarc.kernels.warmup import jobs
from crossarc.models.first_order.labels import log_softmax
from crossarc.parser import shipped_models

USED = """
import sys
import crossarc as ca
{program}
from crossarc.kernels import kernels_of
print(*(one.__module__ for name in sys.modules for one in kernels_of(name) if one.is_ready))
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
        if re.search(
            r"^@kernel\(|^\w+ = kernel\(|: kernel\(", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert set(kernel_modules()) == found
    used = modules_used("from crossarc.kernels.warmup import warmup; warmup(['stats'])")
    assert sorted(used) == [
        "crossarc.inference.transition.attardi.machine",
        "crossarc.inference.transition.covington",
        *["crossarc.trees.measures"] * 4,
    ]


def test_parsing_text_needs_few_kernels() -> None:
    """The first parse after an installation waits for these, and for no other.

    A projective parser of second order prunes by sums of first order and searches a forest, but
    needs no spanning tree; and no parser needs what learns: each kernel of scores is there for one
    kind of weights.
    """
    used = modules_used("assert ca.load('en')('Dogs bark.')")
    assert len(used) == 23
    assert set(used) <= set(kernel_modules(["parse"]))
    assert sorted(set(used)) == [
        "crossarc.inference.forest.viterbi",
        "crossarc.inference.part_lists",
        "crossarc.inference.projective.automata.layout",
        "crossarc.inference.projective.automata.rules",
        "crossarc.inference.projective.automata.system",
        "crossarc.inference.projective.first_order.best",
        "crossarc.inference.projective.first_order.lockstep",
        "crossarc.inference.runtime.packing",
        "crossarc.inference.runtime.scoring",
        "crossarc.models.first_order.arcs",
        "crossarc.models.first_order.labels",
        "crossarc.models.higher_order.kernels",
        "crossarc.models.tagging.lemma_kernels",
        "crossarc.models.tagging.perceptron",
        "crossarc.models.tagging.words",
        "crossarc.text.decisions",
    ]


@pytest.mark.parametrize("name", shipped_models())
def test_slow_kernels_are_kernels(name: str) -> None:
    """Each name is that of one kernel, of a part that parsing needs."""
    slow = ca.load(name).model.slow_kernels  # type: ignore[attr-defined]
    assert slow
    for module, _, own in (one.partition(":") for one in slow):
        importlib.import_module(module)
        assert [one.__qualname__ for one in kernels_of(module)].count(own) == 1
        assert PARTS["parse"].has(module)


def test_rooms_and_parts_have_kernels() -> None:
    modules = kernel_modules()
    assert {room_of(module) for module in modules} == ROOMS.keys() - {""}
    for part in PARTS.values():
        for name in part.names:
            alone = part._replace(names=(name,))
            assert any(alone.has(module) for module in modules), name


@pytest.mark.parametrize("workers", [1, 2, 16, 500])
def test_jobs(workers: int) -> None:
    """Every module once; two processes are given whole rooms, many are given parts of them."""
    modules = kernel_modules()
    made = jobs(modules, workers)
    assert sorted(module for job in made for module in job.modules) == modules
    assert [job.seconds for job in made] == sorted((job.seconds for job in made), reverse=True)
    assert all(len({room_of(module) for module in job.modules}) == 1 for job in made)
    rooms = len({room_of(module) for module in modules})
    if workers <= 2:
        assert len(made) == rooms
    elif workers == 500:
        assert len(made) == len(modules)
    else:
        assert rooms < len(made) < len(modules)


def test_importing_loads_no_kernel() -> None:
    assert modules_used("ca.Parser, ca.SpanningTrees, ca.ProjectiveTrees") == []


def test_a_kernel_is_one_version_of_its_function() -> None:
    assert log_softmax.__name__ == "log_softmax"
    assert (log_softmax.__doc__ or "").startswith("Scores to log-probabilities in place")
    assert log_softmax(np.zeros((1, 4)), np.array([2])) == pytest.approx(np.log(4))
    with pytest.raises(TypeError, match="No matching definition"):
        log_softmax(np.zeros(4), np.array([2]))
