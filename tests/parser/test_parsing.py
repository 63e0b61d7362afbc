"""Parsing: what is filled in, what is kept, and that the numbers agree with the distribution."""

from __future__ import annotations

import math
import threading
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import crossarc as ca
from crossarc import ModelError, Sentence
from crossarc.models.kinds import OptionError
from crossarc.parser import ParseOptions, Parser
from crossarc.parser.options import ParseKeywords

UNTAGGED = ["Who", "arrived", "?"]


def misc_value(sentence: Sentence, name: str) -> list[float]:
    entries = [dict(e.partition("=")[::2] for e in field.split("|")) for field in sentence.misc]
    return [float(entry[name]) for entry in entries]


def test_the_treebank_learnt_from_is_parsed_well(parser: Parser, bank: list[Sentence]) -> None:
    scores = ca.evaluate(bank, parser.parse(bank))
    assert scores.uas > 95
    assert scores.las > 95


def test_only_heads_and_relations_change(parser: Parser, bank: list[Sentence]) -> None:
    before = [bytes(sentence) for sentence in bank]
    parsed = list(parser.parse(bank))
    assert [bytes(sentence) for sentence in bank] == before
    for old, new in zip(bank, parsed, strict=True):
        for column in ("forms", "lemmas", "upos", "xpos", "feats", "misc", "deps"):
            assert getattr(new, column) == getattr(old, column)
        assert new.comments == old.comments
        assert new.multiword_tokens == old.multiword_tokens


def test_heads_of_the_input_do_not_matter(parser: Parser, bank: list[Sentence]) -> None:
    for sentence in bank[:10]:
        bare = sentence.copy()
        bare.heads = [-1] * len(bare)
        bare.deprels = ["_"] * len(bare)
        [one], [other] = parser.parse([sentence]), parser.parse([bare])
        assert one.to_conllu() == other.to_conllu()


def test_relations_of_the_root_stay_at_the_root(parser: Parser, bank: list[Sentence]) -> None:
    """In the sample bank as in all of UD: a word is labelled root iff it hangs from the root."""
    unseen = [Sentence.build([f"w{k}" for k in range(n)], upos=["X"] * n) for n in range(1, 20)]
    for parsed in parser.parse(unseen, kbest=3):
        assert [name == "root" for name in parsed.deprels] == (parsed.heads == 0).tolist()


def test_the_best_tree_is_the_distribution_s(parser: Parser, bank: list[Sentence]) -> None:
    for sentence in bank[:20]:
        [parsed] = parser.parse([sentence])
        best = parser.distribution(sentence).argmax()
        assert parsed.heads.tolist() == best.heads.tolist()
        assert parsed.deprels == tuple(parser.labels[label] for label in best.labels)


def test_probabilities_are_marginals(parser: Parser, bank: list[Sentence]) -> None:
    for sentence in bank[:20]:
        [parsed] = parser.parse([sentence], probabilities=True)
        trees = parser.distribution(sentence)
        marginals = trees.marginals()
        words = np.arange(1, len(sentence) + 1)
        heads = marginals.sum(axis=2)[parsed.heads, words]
        np.testing.assert_allclose(misc_value(parsed, "HeadProb"), heads, atol=6e-5)
        labels = [parser.labels.index(deprel) for deprel in parsed.deprels]
        joint = marginals[parsed.heads, words, labels]
        np.testing.assert_allclose(misc_value(parsed, "DeprelProb"), joint / heads, atol=6e-5)
        assert float(parsed.comment("entropy") or "nan") == pytest.approx(trees.entropy(), abs=6e-5)


def test_marks_of_an_earlier_parse_are_replaced(parser: Parser, bank: list[Sentence]) -> None:
    [once] = parser.parse(bank[:1], probabilities=True)
    [twice] = parser.parse([once], probabilities=True)
    assert once.to_conllu() == twice.to_conllu()
    [plain] = parser.parse([once])
    assert plain.to_conllu() == next(parser.parse(bank[:1])).to_conllu()


def test_min_risk_is_the_distribution_s(parser: Parser, bank: list[Sentence]) -> None:
    """Labels follow the head, so the tree of most expected right heads is that of the arcs."""
    for sentence in bank[:10]:
        [parsed] = parser.parse([sentence], min_risk=True)
        arcs = np.asarray(parser.distribution(sentence).marginals()).sum(axis=2)
        words = np.arange(1, len(sentence) + 1)
        best = ca.SpanningTrees(arcs, root=parser.root).argmax()
        assert arcs[parsed.heads, words].sum() == pytest.approx(arcs[best.heads, words].sum())


def test_kbest(parser: Parser, bank: list[Sentence]) -> None:
    [first, second, third] = parser.parse(bank[:1], kbest=3)
    assert [s.comment("kbest") for s in (first, second, third)] == ["1/3", "2/3", "3/3"]
    logs = [float(s.comment("log_prob") or "nan") for s in (first, second, third)]
    assert logs == sorted(logs, reverse=True)
    assert len({s.tree for s in (first, second, third)}) == 3
    trees = parser.distribution(bank[0])
    labels = [parser.labels.index(deprel) for deprel in second.deprels]
    assert logs[1] == pytest.approx(trees.log_prob(ca.Tree(second.heads, labels)), abs=1e-6)
    assert first.tree == next(parser.parse(bank[:1])).tree


def test_fewer_trees_than_asked_for(parser: Parser) -> None:
    """A sentence of one word has one head, and as many trees as relations that fit a root."""
    found = list(parser.parse([Sentence.build(["Yes"], upos=["INTJ"])], kbest=1000))
    assert 1 <= len(found) <= len(parser.labels)
    assert found[-1].comment("kbest") == f"{len(found)}/{len(found)}"
    total = sum(math.exp(float(s.comment("log_prob") or "nan")) for s in found)
    assert total == pytest.approx(1.0, abs=1e-5)


def test_given_heads_are_kept(parser: Parser, bank: list[Sentence]) -> None:
    for sentence in bank[:20]:
        n = len(sentence)
        partial = sentence.copy()
        # The first word hangs from the last: seldom what the parser would choose.
        partial.heads = [n if m == 1 and n > 1 else -1 for m in range(1, n + 1)]
        partial.deprels = ["odd" if h >= 0 else "_" for h in partial.heads]
        [parsed] = parser.parse([partial], keep_heads=True)
        if n > 1:
            assert parsed.heads[0] == n
            assert parsed.deprels[0] == "odd"
        assert parsed.tree.is_single_root


def test_a_whole_tree_that_is_kept_stays(parser: Parser, bank: list[Sentence]) -> None:
    for sentence in bank[:20]:
        [parsed] = parser.parse([sentence], keep_heads=True)
        assert bytes(parsed) == bytes(sentence)


def test_kept_heads_count_more_than_the_rules(projective_parser: Parser) -> None:
    """1 <- 3 and 2 <- 4 cross; 1 and 2 are both roots."""
    crossing = Sentence.build(list("abcd"), upos=["NOUN"] * 4, heads=[3, 4, -1, -1])
    [parsed] = projective_parser.parse([crossing], keep_heads=True)
    assert parsed.heads[:2].tolist() == [3, 4]
    assert parsed.tree.is_single_root
    roots = Sentence.build(list("abc"), upos=["NOUN"] * 3, heads=[0, 0, -1])
    [parsed] = projective_parser.parse([roots], keep_heads=True)
    assert parsed.heads[:2].tolist() == [0, 0]


def test_a_projective_parser_gives_projective_trees(
    projective_parser: Parser, bank: list[Sentence]
) -> None:
    for parsed in projective_parser.parse(bank):
        assert parsed.tree.is_projective
        assert parsed.tree.is_single_root


def test_untagged_sentences_are_tagged(parser: Parser) -> None:
    [parsed] = parser.parse([Sentence.build(UNTAGGED)])
    assert "_" not in parsed.upos
    [again] = parser.parse([parsed])
    assert again.to_conllu() == parsed.to_conllu()


def test_tags_are_used_unless_told_otherwise(parser: Parser) -> None:
    given = Sentence.build(UNTAGGED, upos=["X", "X", "X"])
    [kept] = parser.parse([given])
    assert kept.upos == ("X", "X", "X")
    [replaced] = parser.parse([given], retag=True)
    assert replaced.upos != ("X", "X", "X")


def test_text(parser: Parser) -> None:
    sentences = parser("Who arrived? Nobody could read.")
    assert " ".join(sentence.text for sentence in sentences) == "Who arrived? Nobody could read."
    assert all((sentence.heads >= 0).all() for sentence in sentences)
    pieces = list(parser.parse_text(["Who arr", "ived? Nobo", "dy could read."]))
    assert [s.to_conllu() for s in pieces] == [s.to_conllu() for s in sentences]
    assert parser("") == []


def test_a_parser_without_its_parts_says_so(projective_parser: Parser) -> None:
    with pytest.raises(ModelError, match="no tokeniser: give sentences"):
        projective_parser("Some text.")
    with pytest.raises(ModelError, match="no tagger"):
        list(projective_parser.parse([Sentence.build(UNTAGGED)], retag=True))


@pytest.mark.parametrize("size", [1, 2, 500])
def test_short_and_long_sentences(parser: Parser, size: int) -> None:
    sentence = Sentence.build(["word"] * size, upos=["NOUN"] * size)
    [parsed] = parser.parse([sentence], probabilities=True)
    assert parsed.tree.is_single_root
    assert all(0.0 <= p <= 1.0 for p in misc_value(parsed, "HeadProb"))


def test_threads_and_batches_change_nothing(parser: Parser, bank: list[Sentence]) -> None:
    one = b"".join(map(bytes, parser.parse(bank, probabilities=True, threads=1)))
    two = b"".join(map(bytes, parser.parse(bank, probabilities=True, threads=2)))
    single = b"".join(bytes(next(parser.parse([s], probabilities=True))) for s in bank)
    assert one == two == single


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kbest": 0}, "kbest: must be at least 1: got 0"),
        ({"kbest": 2, "min_risk": True}, "kbest and min_risk: .* give one of them"),
        ({"probability": True}, "probability: no such option: use probabilities, kbest, min_risk"),
    ],
)
def test_wrong_options(
    parser: Parser, bank: list[Sentence], options: dict[str, Any], message: str
) -> None:
    """Refused by the call, not by the first sentence."""
    with pytest.raises(OptionError, match=message) as caught:
        parser.parse(bank, **options)
    assert "\n" not in str(caught.value)


def test_text_has_no_heads_to_keep(parser: Parser) -> None:
    for parse in (
        lambda: parser.parse("Who?", keep_heads=True),
        lambda: parser.parse_text(["Who?"], keep_heads=True),
    ):
        with pytest.raises(OptionError, match="keep_heads: text has no heads: give a treebank"):
            parse()


def test_keywords_are_those_of_the_options() -> None:
    """What a type checker allows, and what is there, by name and type."""
    keywords = ParseKeywords.__annotations__
    assert {one.name: one.type for one in fields(ParseOptions)} == {
        name: one.__forward_arg__ for name, one in keywords.items()
    }


def test_trees_may_be_chosen_by_the_parse(
    parser: Parser, projective_parser: Parser, bank: list[Sentence]
) -> None:
    """The best projective tree under scores of a parser of all trees, and the reverse."""
    crossing = 0
    for sentence in bank[:40]:
        [arcs] = parser.model.score([sentence]).arcs  # type: ignore[attr-defined]
        [parsed] = parser.parse([sentence], projective=True)
        assert parsed.heads.tolist() == ca.ProjectiveTrees(arcs).argmax().heads.tolist()
        [parsed] = projective_parser.parse([sentence], projective=False)
        [arcs] = projective_parser.model.score([sentence]).arcs  # type: ignore[attr-defined]
        assert parsed.heads.tolist() == ca.SpanningTrees(arcs).argmax().heads.tolist()
        crossing += not parsed.tree.is_projective
    assert crossing > 0


@pytest.mark.parametrize("options", [{"probabilities": True}, {"min_risk": True}])
def test_probabilities_and_risks_of_the_trees_that_are_asked_for(
    parser: Parser, bank: list[Sentence], options: dict[str, Any]
) -> None:
    """Those of `ProjectiveTrees` over the scores of a parser of all trees."""
    for sentence in bank[:20]:
        [arcs] = parser.model.score([sentence]).arcs  # type: ignore[attr-defined]
        trees = ca.ProjectiveTrees(arcs)
        expected = trees.min_risk() if "min_risk" in options else trees.argmax()
        [parsed] = parser.parse([sentence], projective=True, **options)
        assert parsed.heads.tolist() == expected.heads.tolist()
        if "probabilities" in options:
            words = np.arange(1, len(sentence) + 1)
            assert_allclose(
                misc_value(parsed, "HeadProb"), trees.marginals()[parsed.heads, words], atol=6e-5
            )


def test_k_best_of_the_trees_that_are_asked_for(parser: Parser, bank: list[Sentence]) -> None:
    crossing = 0
    for sentence in bank[:20]:
        trees = parser.distribution(sentence, projective=True)
        best = list(parser.parse([sentence], projective=True, kbest=5))
        assert len(best) == 5
        assert [one.heads.tolist() for one in best] == [
            tree.heads.tolist() for tree in trees.kbest(5)
        ]
        assert all(one.tree.is_projective for one in best)
        every = parser.parse([sentence], kbest=5)
        crossing += sum(not one.tree.is_projective for one in every)
    assert crossing > 0


def test_heads_are_kept_among_the_trees_that_are_asked_for(
    parser: Parser, bank: list[Sentence]
) -> None:
    """The best projective tree with the heads of the projective words, by `constrain`."""
    checked = 0
    for sentence in bank[:40]:
        crossing = sentence.tree.nonprojective_arcs
        partial = sentence.copy()
        partial.heads = np.where(crossing, -1, sentence.heads)
        [arcs] = parser.model.score([sentence]).arcs  # type: ignore[attr-defined]
        given = {m: h for m, h in enumerate(partial.heads.tolist(), 1) if h >= 0}
        trees = ca.ProjectiveTrees(ca.constrain(arcs, heads=given))
        [parsed] = parser.parse([partial], projective=True, keep_heads=True)
        assert parsed.heads.tolist() == trees.argmax().heads.tolist()
        assert parsed.tree.is_projective
        checked += bool(crossing.any())
    assert checked > 5


def test_threads_may_share_a_parser(parser: Parser, bank: list[Sentence]) -> None:
    """Eight threads, each with the bank in another order; every sentence is parsed as by one."""
    expected = [bytes(one) for one in parser.parse(bank, probabilities=True, threads=1)]
    fresh = Parser(parser.model, parser.projective, parser.root, parser.tagger)
    start, wrong = threading.Barrier(8), []

    def work(shift: int) -> None:
        start.wait(60)
        order = [*range(shift, len(bank)), *range(shift)]
        found = fresh.parse((bank[k] for k in order), probabilities=True, threads=1)
        wrong.extend(k for k, one in zip(order, found, strict=True) if bytes(one) != expected[k])

    threads = [threading.Thread(target=work, args=(15 * k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == []
