"""What labels add to entropies: as much as is printed, by the fewest arcs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from crossarc import SpanningTrees
from crossarc.models.protocol import ArcIndex, LabelEntropies
from crossarc.parser import entropy
from crossarc.parser.entropy import FINE, ROUGH, labelled_entropies, printed_entropy

COUNTS = 3, 40


class Recorded:
    """Entropies of labels that are given, a share of the largest; keeps what was asked."""

    def __init__(self, marginals: Sequence[np.ndarray], share: float, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.arcs = list(marginals)
        self.label_counts = COUNTS
        self.tables = [limits(len(one)) * rng.uniform(share, 1.0, one.shape) for one in marginals]
        self.asked: list[list[set[tuple[int, int]]]] = []

    def label_entropies(self, arcs: Sequence[ArcIndex]) -> list[np.ndarray]:
        self.asked.append([set(zip(h.tolist(), m.tolist(), strict=True)) for h, m in arcs])
        return [table[own] for table, own in zip(self.tables, arcs, strict=True)]

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[np.ndarray]:
        raise AssertionError("entropies are computed without probabilities")

    def exact(self, index: int) -> float:
        return float((self.arcs[index] * self.tables[index]).sum())


def limits(width: int) -> np.ndarray:
    """The most that the labels of each arc can have."""
    table = np.full((width, width), np.log(COUNTS[1]))
    table[0] = np.log(COUNTS[0])
    return table


def distributions(count: int, spread: float) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    sizes = rng.integers(1, 12, count).tolist()
    scores = [spread * rng.normal(size=(n + 1, n + 1)) for n in sizes]
    return SpanningTrees(scores).marginals()


@pytest.mark.parametrize("spread", [1.0, 4.0, 12.0])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_printed_digits_are_those_of_the_exact_entropy(spread: float, share: float) -> None:
    """Also where labels are as uncertain as the bound assumes: share 1."""
    marginals = distributions(200, spread)
    of_trees = np.random.default_rng(1).uniform(0.0, 5.0, 200).tolist()
    batch = Recorded(marginals, share)
    assert isinstance(batch, LabelEntropies)
    found = labelled_entropies(batch, 99, marginals, of_trees)
    for index, value in enumerate(found):
        exact = of_trees[index] + batch.exact(index)
        assert -1e-12 <= exact - value <= ROUGH + 1e-12
        assert printed_entropy(value) == printed_entropy(exact) or exact - value <= FINE
        first, *again = (one[index] for one in batch.asked)
        left = {arc for arc in np.ndindex(marginals[index].shape) if arc not in first}
        rest = sum(limits(len(marginals[index]))[arc] * marginals[index][arc] for arc in left)
        assert rest <= ROUGH * (1.0 + 1e-9)
        if again and again[0]:
            assert not again[0] & first
            assert exact - value <= FINE
    if spread > 1.0:
        asked = sum(len(one) for one in batch.asked[0])
        assert asked < sum(int((table > 0.0).sum()) for table in marginals)


def test_digits_that_hang_on_improbable_arcs_are_settled() -> None:
    """The rest might add 8e-6, and a millionth is missing to the next digit."""
    marginals = np.zeros((3, 3))
    marginals[1:, 1:] = [[0.0, 1e-6], [1e-6, 0.0]]
    marginals[0, 1:] = 1.0 - 1e-6
    batch = Recorded([marginals], 1.0)
    sure = float(marginals[0].sum()) * np.log(COUNTS[0])
    for missing, asks in ((1e-6, 2), (5e-5, 1)):
        batch.asked.clear()
        [found] = labelled_entropies(batch, 99, [marginals], [1.00005 - missing + 4.0 - sure])
        exact = 5.00005 - missing + 2e-6 * np.log(COUNTS[1])
        assert len(batch.asked) == asks
        assert printed_entropy(found) == printed_entropy(exact) == ("5.0001", "5.0000")[asks == 1]
        assert batch.asked[0] == [{(0, 1), (0, 2)}]


def test_arcs_with_one_label_are_not_asked_for() -> None:
    batch = Recorded(distributions(5, 1.0), 0.0)
    batch.label_counts = 1, 40
    labelled_entropies(batch, 99, batch.arcs, [0.0] * 5)
    assert all(h > 0 for sets in batch.asked for arcs in sets for h, _ in arcs)
    assert all(arcs for arcs in batch.asked[0][:1])


class Tables:
    """Log-probabilities of labels, as a model without entropies has them."""

    def __init__(self, marginals: Sequence[np.ndarray]) -> None:
        self.arcs = list(marginals)
        self.sizes: list[int] = []

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[np.ndarray]:
        self.sizes.append(sum(len(heads) for heads, _ in arcs))
        return [np.log(np.tile([0.25, 0.75, 1e-300], (len(heads), 1))) for heads, _ in arcs]


def test_without_entropies_probabilities_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some sentences at a time; each word has one head, whose labels have the same entropy."""
    monkeypatch.setattr(entropy, "_ARCS_AT_ONCE", 100)
    marginals = distributions(30, 1.0)
    batch = Tables(marginals)
    found = labelled_entropies(batch, 3, marginals, [2.0] * 30)
    each = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    expected = [2.0 + each * (len(table) - 1) for table in marginals]
    np.testing.assert_allclose(found, expected, atol=ROUGH)
    assert max(batch.sizes) < 250 < sum(batch.sizes)
