"""Scores of parts, and of labels in a tree, are sums of the weights of features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.features import meet, plain_hash
from support.higher_order_models import CROSSING, weighted_model
from support.small_treebank import WORKED

from crossarc import Sentence
from crossarc.models.encode import BOUNDARY, PADDING
from crossarc.models.features import expanded
from crossarc.models.higher_order.contexts import CONTEXT_ATOMS, with_contexts
from crossarc.models.higher_order.model import HigherOrderModel
from crossarc.models.higher_order.templates import TEMPLATES
from crossarc.models.protocol import Part

FACTORS = ("sibling", "grandchild", "grand_sibling", "tri_sibling")


def plain_keys(factor: str, part: tuple[int, ...]) -> tuple[int, int]:
    """The numbers of the order of a part's words, and of order and distances."""

    def distance(a: int, b: int) -> int:
        return {0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 2}.get(abs(a - b), 3)

    if factor in ("grandchild", "grand_sibling"):
        g, h, *siblings, m = part
        s = siblings[0] if siblings else h
        order = sum(2**k for k, true in enumerate([s == h, g < m, h < m, g < h]) if true)
        gaps = distance(g, h), distance(s, m)
    else:
        h, *inner, s, m = part
        order = 2 * (h < m) + (s == h)
        gaps = distance(s, m), distance(inner[0] if inner else h, s)
    return order, 16 + 16 * order + 4 * gaps[0] + gaps[1]


def plain_score(
    model: HigherOrderModel, sentence: Sentence, factor: str, part: tuple[int, ...]
) -> float:
    """The sum over all templates, spelt out."""
    encoder, scorer = model.first.encoder, model.parts[factor]
    codes = model.encode([sentence]).codes
    head = 1 if factor in ("grandchild", "grand_sibling") else 0
    order, distances = plain_keys(factor, part)
    total, number = 0.0, 0
    for is_first, table in enumerate(TEMPLATES[factor]):
        for template in (one for line in table for one in expanded(line, encoder.attributes)):
            halves = []
            for k, atoms in enumerate(template.split("|")):
                found = []
                for atom in atoms.split():
                    name, row = (atom[:-2], int(atom[-2:])) if atom[-2] in "+-" else (atom, 0)
                    i = part[k] + row
                    if k == len(part) - 2 > head and part[k] == part[head]:
                        # No word: one before the root.
                        i = -1 + row
                    found.append(int(codes[PADDING + i, encoder.atoms.index(name)]))
                halves.append(plain_hash((1 << 33) + 4 * number + k, *found) >> 32)
            for key in (order,) if is_first else (order, distances):
                key_half = plain_hash(1 << 34, key) >> 32
                slot = meet([*halves, key_half], scorer.bits)
                total += float(scorer.weights[(number % 4 << scorer.bits) + slot])
            number += 1
    return total


@pytest.mark.parametrize("factor", FACTORS)
def test_part_scores(factor: str) -> None:
    model = weighted_model()
    scores = model.score([WORKED, CROSSING])
    rng = np.random.default_rng(0)
    for sentence, parts in zip([WORKED, CROSSING], scores.factors[factor], strict=True):
        some = rng.choice(len(parts.index), 40)
        expected = [
            plain_score(model, sentence, factor, tuple(part)) for part in parts.index[some].tolist()
        ]
        assert_allclose(parts.score[some], expected, atol=1e-4)


@pytest.mark.parametrize("factor", FACTORS)
def test_single_features_sum_to_the_scores(factor: str) -> None:
    model = weighted_model()
    model.temperature = 1.7
    for scorer in model.scorers.values():
        scorer.freeze(scorer.thaw(), 10_000)
    [parts] = model.score([WORKED]).factors[factor]
    features = model.features(WORKED)
    for index, score in zip(parts.index[::7].tolist(), parts.score[::7], strict=True):
        weights = features.part_weights(Part(factor, tuple(index)))
        assert_allclose(sum(weights.values()), score, atol=1e-4)


def test_single_features_are_told_in_words() -> None:
    model = weighted_model()
    features = model.features(WORKED)
    said = features.part_weights(Part("sibling", (4, 3, 2)))
    assert (
        "head lemma=chase, sibling upos=ADV, modifier upos=NOUN, modifier < sibling < head" in said
    )
    said = features.part_weights(Part("grandchild", (0, 4, 5)))
    assert (
        "grandparent upos=<root>, head upos=VERB, modifier upos=NOUN, "
        "grandparent < head < modifier, distances 3-5, 1"
    ) in said
    said = features.part_weights(Part("grand_sibling", (0, 4, 4, 3)))
    assert any("sibling upos=<boundary>" in one and "no sibling between" in one for one in said)


def test_single_features_of_labels_in_a_tree() -> None:
    model = weighted_model()
    heads = np.array(WORKED.heads)
    arcs = model.tree_arcs(model.encode([WORKED]), heads)
    scores = model.label_scorer.scores(arcs)
    features = model.features(WORKED)
    for m, h in enumerate(heads.tolist(), 1):
        weights = features.label_weights(h, m, heads=heads)
        assert_allclose(sum(weights.values()), scores[m - 1], atol=1e-4)
    said = features.label_weights(4, 2, heads=heads)
    assert any("modifier upos=NOUN children=1 left, 0 right" in one for one in said)
    assert any("modifier upos=NOUN after.upos=ADV" in one for one in said)


def test_contexts_are_those_of_the_tree() -> None:
    model = weighted_model()
    sentences, atoms = [WORKED, CROSSING], model.first.encoder.atoms
    encoded = model.encode(sentences)
    heads = [[2, 4, 4, 0, 4, 4], [3, -1, 0, 2, 3]]
    found = with_contexts(encoded, np.concatenate(heads), atoms).codes
    for start, own in zip(encoded.starts.tolist(), heads, strict=True):
        for i in range(len(own) + 1):
            children = [m for m, h in enumerate(own, 1) if h == i]
            h = own[i - 1] if i else -1
            siblings = [m for m, head in enumerate(own, 1) if head == h >= 0]
            relatives = {
                "parent": h,
                "first": min([m for m in children if m < i], default=-1),
                "last": max([m for m in children if m > i], default=-1),
                "before": max([m for m in siblings if m < i], default=-1),
                "after": min([m for m in siblings if m > i], default=-1),
            }
            for column, name in enumerate(CONTEXT_ATOMS, len(atoms)):
                code = int(found[start + i, column])
                if name == "children":
                    left, right = (sum((m < i) == side for m in children) for side in (True, False))
                    assert code == 3 + 4 * min(left, 3) + min(right, 3)
                else:
                    who, what = name.split(".")
                    j = relatives[who]
                    row = encoded.codes[start + j, atoms.index(what)] if j >= 0 else BOUNDARY
                    assert code == row
