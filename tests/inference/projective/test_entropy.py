"""Entropy from log Z and marginals: as good as that of forests, and refused where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.forest_trees import ProjectiveForests

from crossarc import ProjectiveTrees
from crossarc.inference.questions import information

Floats = NDArray[np.float64]
ROOTS = ["single", "multi"]


def case(n: int, sd: float, peak: float, with_factor: bool, labels: int = 0) -> dict[str, Any]:
    """Random scores; the arcs of a chain are `peak` standard deviations above the others."""
    rng = np.random.default_rng([n, int(10 * sd), int(peak)])
    scores = rng.normal(0, sd, (n + 1, n + 1, labels) if labels else (n + 1, n + 1))
    scores[np.arange(n), np.arange(1, n + 1)] += peak * max(sd, 1.0)
    factor = rng.normal(0, sd, (n + 1,) * 3) if with_factor else None
    return {"scores": scores, "sibling": factor}


@pytest.mark.parametrize("with_factor", [False, True])
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("labels", [0, 2])
@pytest.mark.parametrize("sd", [0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0])
def test_against_forests(sd: float, labels: int, root: str, with_factor: bool) -> None:
    for n in (1, 2, 7, 20):
        for peak in (0.0, 3.0, 8.0, 20.0):
            arguments = case(n, sd, peak, with_factor, labels)
            expected = ProjectiveForests(**arguments, root=root).entropy()
            found = ProjectiveTrees(**arguments, root=root).entropy()
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-300), (n, peak)


@pytest.mark.parametrize("with_factor", [False, True])
@pytest.mark.parametrize(
    ("n", "sd", "peak", "accepted"),
    [
        (20, 0.0, 0.0, True),
        (20, 1.0, 0.0, True),
        (40, 3.0, 0.0, True),
        (20, 1.0, 5.0, True),
        (20, 1.0, 30.0, False),
        (20, 300.0, 20.0, True),  # nothing else has a probability above 1e-308
    ],
)
def test_the_rule(n: int, sd: float, peak: float, accepted: bool, with_factor: bool) -> None:
    trees = ProjectiveTrees(**case(n, sd, peak, with_factor))
    assert (trees._solver.entropy(0) is not None) == accepted


@pytest.mark.parametrize("with_factor", [False, True])
def test_what_the_rule_prevents(with_factor: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entropy of about 1e-9: the difference has lost six digits at least."""
    arguments = case(20, 1.0, 30.0, with_factor)
    expected = ProjectiveForests(**arguments).entropy()
    assert 0.0 < expected < 1e-8
    assert ProjectiveTrees(**arguments).entropy() == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr(information, "_ENOUGH", np.inf)
    without = ProjectiveTrees(**arguments)._solver.entropy(0)
    assert without is None or abs(without - expected) > 1e-10 * expected


def test_no_forest_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a batch of ordinary sentences, or of one whose heads are all given."""

    def refuse(self: Any, index: int) -> Any:
        raise AssertionError("a forest was asked for")

    monkeypatch.setattr(ProjectiveTrees, "_forest", refuse)
    scores = [np.random.default_rng(n).normal(0, 2, (n + 1, n + 1)) for n in (1, 5, 12, 30)]
    assert ProjectiveTrees(scores).entropy()[0] == 0.0
    given = ProjectiveTrees(scores[1]).given({m: m - 1 for m in range(1, 6)})
    assert given.entropy() == 0.0
