"""What training takes from a treebank before its passes: arcs that survive pruning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.small_treebank import toy_treebank

from crossarc import Sentence
from crossarc.models.graph import GraphOptions
from crossarc.models.higher_order import training


@pytest.mark.parametrize("projective", [True, False])
def test_sentences_are_pruned_by_models_that_have_not_seen_them(
    projective: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = toy_treebank(22, seed=3)
    train_first, prune = training._train_first, training._pruned
    learnt: dict[int, list[int]] = {}
    pruned: dict[int, int] = {}

    def train(some: Sequence[Sentence], *rest: Any, **named: Any) -> Any:
        model = train_first(some, *rest, **named)
        learnt[id(model)] = [id(one) for one in some]
        return models.setdefault(id(model), model)

    def survive(pruner: Any, encoded: Any, options: GraphOptions) -> Any:
        pruned[id(pruner)] = len(encoded)
        return prune(pruner, encoded, options)

    models: dict[int, Any] = {}
    monkeypatch.setattr(training, "_train_first", train)
    monkeypatch.setattr(training, "_pruned", survive)
    options = GraphOptions(order=2, projective=projective, root="single")
    kept = training._fold_arcs(sentences, options, None)
    assert list(pruned.values()) == [6, 6, 5, 5]
    for fold, own in enumerate(pruned):
        unseen = {id(one) for one in sentences[fold::4]}
        assert unseen.isdisjoint(learnt[own])
        assert len(learnt[own]) == len(sentences) - len(unseen)
    for sentence, allowed in zip(sentences, kept, strict=True):
        words = np.arange(1, len(sentence) + 1)
        assert allowed[sentence.heads, words].all()
    assert 0 < sum(int(one.sum()) for one in kept) < sum(len(one) ** 2 for one in sentences)
