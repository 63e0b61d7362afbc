"""What is easily given in place of something else is refused by its name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import crossarc as ca
from crossarc.treebank import sample

SCORES = np.zeros((3, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ca.Parser("en"), TypeError, r"loaded by Parser\.load\('en'\)"),
        (lambda: ca.Parser.train("x.conllu"), ca.TreebankError, "not the path 'x.conllu'"),
        (lambda: ca.Parser.train(sample(), "dev"), ca.TreebankError, "^dev must be sentences"),
        (lambda: ca.Parser.train(3), ca.TreebankError, "must be sentences: got int"),
        (lambda: ca.Parser.train(["x"]), ca.TreebankError, "treebank must be sentences: got str"),
        (
            lambda: ca.Parser.train(sample(), ["x"]),
            ca.TreebankError,
            "^dev must be .* got str among",
        ),
        (
            lambda: ca.Parser.train(sample(), seed=-1),
            ValueError,
            "seed: must be at least 0: got -1",
        ),
        (
            lambda: ca.Parser.train(sample(), projective="no"),
            ValueError,
            "projective: must be .*'no'",
        ),
        (lambda: ca.Parser.combine(["a", "b"]), ca.ModelError, "got 'a'; Parser.load loads one"),
        (
            lambda: ca.evaluate(["x"], sample()),
            ca.TreebankError,
            "^gold must be sentences: got str",
        ),
        (
            lambda: ca.evaluate(sample(), [1]),
            ca.TreebankError,
            "^system must be sentences: got int",
        ),
        (lambda: ca.read_conllu(3), TypeError, "expected a path, a file or lines of text: got 3"),
        (lambda: ca.write_conllu([1], "y"), ca.TreebankError, "must be sentences: got int among"),
        (lambda: ca.write_conllu([], None), TypeError, "a path or a file to write to: got None"),
        (lambda: ca.BigramModel().fit([["a"]]), ca.TreebankError, "must be sentences: got list"),
        (
            lambda: ca.TransitionModel.fit([["a"]]),
            ca.ModelError,
            r"or \(words, heads\): got \['a'\]",
        ),
        (lambda: ca.projectivize([2, 0]), ca.TreebankError, r"expected a Tree, .*: got \[2, 0\]"),
        (lambda: ca.deprojectivize(None), ca.TreebankError, "expected a Tree, .*: got None"),
        (lambda: ca.write_conllu("x", "y"), ca.TreebankError, "not the path 'x'"),
        (lambda: ca.write_conllu(sample()[0], "y"), ca.TreebankError, r"Use \[sentence\]"),
        (lambda: ca.Sentence.build("a b"), ca.TreebankError, r"forms\.split\(\)"),
        (lambda: ca.draw.svg([2, 0]), ca.TreebankError, r"got list.* Tree\(heads\)"),
        (lambda: ca.constrain(SCORES, heads=[1]), ca.ScoreError, r"dict, \{m: h\}: got list"),
        (lambda: ca.constrain(SCORES, labels=[1]), ca.ScoreError, r"dict, \{m: l\}: got list"),
        (lambda: ca.SpanningTrees(SCORES).sample(1, seed="a"), ValueError, "seed must be a whole"),
        (lambda: ca.SpanningTrees(SCORES).sample(1, seed=-1), ValueError, "seed must be a whole"),
        (lambda: ca.SpaningTrees, AttributeError, "did you mean SpanningTrees"),
        (lambda: ca.Tagger, AttributeError, r"use ca\.models\.tagger\.Tagger"),
        (lambda: sample()[0].ents, AttributeError, "names are not marked"),
        (lambda: sample()[0][0].is_punct, AttributeError, r"use \(word\.upos == 'PUNCT'\)"),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
