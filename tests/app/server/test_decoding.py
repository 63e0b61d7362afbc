"""Trees of the server under models of higher order, against those of the parser."""

from __future__ import annotations

import numpy as np
import pytest
from support.higher_order_models import CROSSING, weighted_model
from support.small_treebank import toy_treebank

from crossarc import Parser, Sentence
from crossarc.app.server.decoded import Decoded
from crossarc.app.server.decoding import decode
from crossarc.app.server.limits import RefusalError
from crossarc.app.server.schema import Constraints, ParseRequest

BANK = [CROSSING, *toy_treebank(2, seed=3)]


@pytest.fixture(scope="module", params=[False, True], ids=["crossing", "projective"])
def parser(request: pytest.FixtureRequest) -> Parser:
    projective = bool(request.param)
    model = weighted_model(2, projective=projective, threshold=None)
    model.first_share, model.first_temperature = 0.4, 3.0
    return Parser(model, projective, "single")


def decoded(parser: Parser, own: Constraints | None = None, **asked: object) -> list[Decoded]:
    constraints = [own or Constraints(), *[Constraints()] * (len(BANK) - 1)]
    request = ParseRequest(conllu="unread", **asked)  # type: ignore[arg-type]
    return decode(parser, BANK, constraints, request)


def with_heads(heads: dict[int, int]) -> Sentence:
    sentence = CROSSING.copy()
    sentence.heads = [heads.get(word, -1) for word in range(1, len(sentence) + 1)]
    return sentence


def test_trees_are_those_of_the_parser(parser: Parser) -> None:
    expected = list(parser.parse(BANK, probabilities=True))
    for found, sentence in zip(decoded(parser), expected, strict=True):
        assert found.heads == sentence.heads.tolist()
        assert tuple(found.deprels) == sentence.deprels
        assert found.marginals is not None
        own = found.marginals[found.heads, range(1, len(sentence) + 1)]
        written = [float(misc.split("HeadProb=")[1].split("|")[0]) for misc in sentence.misc]
        np.testing.assert_allclose(own, written, atol=1e-4)


def test_heads_that_are_fixed_survive_pruning(parser: Parser) -> None:
    [free, *_] = decoded(parser)
    for head in (h for h in range(6) if h not in (4, free.heads[3])):
        [found, *_] = decoded(parser, Constraints(heads={4: head}))
        [expected] = parser.parse([with_heads({4: head})], keep_heads=True)
        assert found.heads == expected.heads.tolist()
        assert found.heads[3] == head
    with pytest.raises(RefusalError, match="no tree satisfies the constraints"):
        decoded(parser, Constraints(heads={1: 2, 2: 1}))


def test_k_best_and_compared_trees(parser: Parser) -> None:
    [found, *_] = decoded(parser, kbest=3, compare="best", rank=2)
    expected = list(parser.parse([CROSSING], kbest=3))
    assert found.kbest is not None
    assert [one.heads for one in found.kbest] == [one.heads.tolist() for one in expected]
    assert [tuple(one.deprels) for one in found.kbest] == [one.deprels for one in expected]
    log_probs = [float(one.comment("log_prob") or "nan") for one in expected]
    np.testing.assert_allclose([one.log_prob for one in found.kbest], log_probs, atol=1e-5)
    assert found.compared is not None
    assert found.compared.heads == decoded(parser)[0].heads


def test_the_tree_closest_to_the_input_has_its_heads(parser: Parser) -> None:
    [found, *_] = decoded(parser, closest_to_input=True)
    assert found.heads == CROSSING.heads.tolist()
    [fixed, *_] = decoded(parser, Constraints(heads={1: 5}), closest_to_input=True)
    assert fixed.heads[0] == 5


def test_questions_of_approximate_distributions(parser: Parser) -> None:
    [found, *_] = decoded(parser, entropy=True, information=True, compare="projective")
    assert found.entropy is not None
    assert found.entropy >= 0.0
    assert found.information is not None
    assert found.information.shape == (5,)
    assert (found.information >= -1e-12).all()
