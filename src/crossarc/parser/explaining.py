"""Why a word hangs from one head and not from another: finding the features, and comparing them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError, ModelError
from crossarc.inference import constrain
from crossarc.inference.factors import Given
from crossarc.inference.higher.problem import FACTORS
from crossarc.models.distributions import terms_of, terms_of_sentence
from crossarc.models.kinds import OptionError
from crossarc.models.protocol import (
    BatchScores,
    FeatureModel,
    Model,
    Part,
    PruningModel,
    SentenceFeatures,
    factors_of,
    tree_label_log_probs,
)
from crossarc.parser.decoding import ScoreDecoder
from crossarc.parser.explanation import Alternative, Contrast, Explanation, FeatureWeight, named
from crossarc.parser.options import ParseOptions
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["explain", "features_of"]

Floats = NDArray[np.float64]
# A distribution, given scores of arcs.
Search = Callable[[Floats], Any]


def explain(
    model: FeatureModel,
    decoder: ScoreDecoder,
    sentence: Sentence,
    h: int | None,
    m: int,
    *,
    rival: int | None = None,
    deprel: str | None = None,
    rival_deprel: str | None = None,
) -> Explanation:
    """The features for an arc against its rival's; see `Parser.explain`.

    Args:
        decoder: of the same model.
        sentence: with tags.

    Raises:
        OptionError: no such word, head or label.
    """
    if not 1 <= m <= len(sentence):
        raise OptionError(f"must be from 1 to {len(sentence)}: got {m}", "word")
    if len(sentence) == 1:
        raise OptionError("the only word of a sentence has no other head than the root", "word")
    batch = model.score([sentence])
    [scores], factors = batch.arcs, _factors(batch)
    search = partial(decoder.trees, options=ParseOptions())
    marginals = search(scores, terms=terms_of_sentence(terms_of(batch), 0)).marginals()
    try:
        heads, trees = _compared(partial(search, terms=factors), scores, m, h, rival)
    except InfeasibleError:
        if not isinstance(model, PruningModel):
            raise OptionError(f"no tree has the heads of word {m} that are asked for") from None
        # One of the heads was pruned: too improbable to be scored by default.
        batch = model.score_unpruned([sentence])
        [scores], factors = batch.arcs, _factors(batch)
        heads, trees = _compared(partial(search, terms=factors), scores, m, h, rival)
    features = model.features(sentence)
    if factors:
        arc = _tree_contrast(marginals, factors, features, sentence, m, trees)
    else:
        arc = _arc_contrast(marginals, scores, features, sentence, m, *heads)
    [logs] = tree_label_log_probs(batch, [trees[0].heads])
    label = _label_contrast(
        logs[m - 1], features, model.labels, trees[0].heads, m, deprel, rival_deprel
    )
    return Explanation(sentence, m, *heads, *trees, arc, label)


def _factors(batch: BatchScores) -> dict[str, Given]:
    """Those of the only sentence of a batch."""
    return {name: parts[0] for name, parts in factors_of(batch).items()}


def features_of(model: Model) -> FeatureModel:
    """The model, if its scores are sums of weights of features.

    Raises:
        ModelError: they are not.
    """
    if not isinstance(model, FeatureModel):
        raise ModelError(
            f"a parser of the kind {model.kind!r} has no weights of features to show: explain one "
            "of the kind 'graph'"
        )
    return model


def _compared(
    search: Search, scores: Floats, m: int, h: int | None, rival: int | None
) -> tuple[tuple[int, int], tuple[Tree, Tree]]:
    """The two heads, by default those of the best tree and of the best without that arc; the trees.

    Raises:
        InfeasibleError: no tree has one of the heads.
    """
    nodes = range(len(scores))
    for name, node in (("head", h), ("rival", rival)):
        if node is not None and (node not in nodes or node == m):
            raise OptionError(
                f"must be 0 or another word, up to {len(scores) - 1}: got {node}", name
            )
    if h is None:
        h = int(search(scores).argmax().heads[m - 1])
    if rival is None:
        without = search(constrain(scores, forbidden=[(h, m)])).argmax()
        rival = int(without.heads[m - 1])
    if h == rival:
        raise OptionError(f"must be two heads: got {h} twice", "head", "rival")
    tree, rival_tree = (search(constrain(scores, heads={m: node})).argmax() for node in (h, rival))
    return (h, rival), (tree, rival_tree)


def _arc_contrast(
    marginals: Floats,
    scores: Floats,
    features: SentenceFeatures,
    sentence: Sentence,
    m: int,
    h: int,
    rival: int,
) -> Contrast:
    chosen, other = (
        Alternative(named(sentence, node), float(scores[node, m]), float(marginals[node, m]))
        for node in (h, rival)
    )
    weights, rival_weights = (
        _part_weights(features, [Part("arc", (node, m))]) for node in (h, rival)
    )
    return _contrast(chosen, other, weights, rival_weights, weights.keys() & rival_weights.keys())


def _tree_contrast(
    marginals: Floats,
    factors: Mapping[str, Given],
    features: SentenceFeatures,
    sentence: Sentence,
    m: int,
    trees: Sequence[Tree],
) -> Contrast:
    """Parts of several arcs depend on all of a tree: the parts that only one of two trees has."""
    alternatives, parts = [], []
    for tree in trees:
        h, score = int(tree.heads[m - 1]), float(tree.score or 0.0)
        alternatives.append(Alternative(named(sentence, h), score, float(marginals[h, m])))
        own = [Part("arc", (int(g), word)) for word, g in enumerate(tree.heads.tolist(), 1)]
        for factor in FACTORS:
            if factor.name in factors:
                own += [Part(factor.name, tuple(p)) for p in factor.parts_of(tree.heads).tolist()]
        parts.append(own)
    first, second = (
        _part_weights(features, [part for part in own if part not in others])
        for own, others in (parts, parts[::-1])
    )
    chosen, rival = alternatives
    return _contrast(chosen, rival, first, second, first.keys() & second.keys())


def _part_weights(
    features: SentenceFeatures, parts: Sequence[Part]
) -> dict[tuple[str, str], float]:
    """The weights of the features of some parts, by the kind of part and the feature."""
    weights: dict[tuple[str, str], float] = {}
    for part in parts:
        for feature, weight in features.part_weights(part).items():
            key = part.kind, feature
            weights[key] = weights.get(key, 0.0) + weight
    return weights


def _label_contrast(
    logs: Floats,
    features: SentenceFeatures,
    labels: Sequence[str],
    heads: NDArray[np.int64],
    m: int,
    deprel: str | None,
    rival: str | None,
) -> Contrast | None:
    possible = [labels[k] for k in np.argsort(-logs, kind="stable") if logs[k] > -np.inf]
    for name, given in (("deprel", deprel), ("rival_deprel", rival)):
        if given is not None and given not in possible:
            raise OptionError(f"no label of this arc: got {given!r}; use {possible}", name)
    first = deprel or next(name for name in possible if name != rival)
    others = [rival] if rival else [name for name in possible if name != first]
    if first == rival:
        raise OptionError(f"must be two labels: got {first!r} twice", "deprel", "rival_deprel")
    if not others:
        return None
    numbers = [labels.index(name) for name in (first, others[0])]
    chosen, other = (
        Alternative(labels[k], float(logs[k]), float(np.exp(logs[k]))) for k in numbers
    )
    table = features.label_weights(int(heads[m - 1]), m, heads=heads)
    weights, rival_weights = (
        {("label", feature): float(window[k]) for feature, window in table.items()} for k in numbers
    )
    return _contrast(chosen, other, weights, rival_weights, ())


def _contrast(
    chosen: Alternative,
    rival: Alternative,
    weights: Mapping[tuple[str, str], float],
    rival_weights: Mapping[tuple[str, str], float],
    shared: Collection[tuple[str, str]],
) -> Contrast:
    """The features that make a difference, and how many of both and of none there are."""
    every = [
        FeatureWeight(*key, weights.get(key, 0.0), rival_weights.get(key, 0.0))
        for key in {**weights, **rival_weights}
    ]
    listed = sorted(
        (one for one in every if one.difference != 0.0),
        key=lambda one: (-abs(one.difference), one.feature),
    )
    zeros = [one for one in every if one.difference == 0.0]
    both = sum((one.part, one.feature) in shared for one in zeros)
    return Contrast(chosen, rival, tuple(listed), both, len(zeros) - both)
