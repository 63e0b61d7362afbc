"""One parser from several: `Parser.combine`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crossarc.errors import ModelError
from crossarc.models.combined.fitting import fit_weights
from crossarc.models.combined.model import CombinedModel, Member
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import Model, ScoringModel
from crossarc.parser.parser import Parser
from crossarc.treebank import Sentence

__all__ = ["combine"]


def combine(
    parsers: Sequence[Parser], dev: Sequence[Sentence], *, threads: int | None = None
) -> Parser:
    """A parser whose scores are the weighted log-probabilities that others give.

    The trees are projective if those of all members are, and have a single root if all do. The
    tokeniser and the tagger are those of the first parser that has them.

    Args:
        dev: held-out sentences, on which the weights are fitted; with none, members count alike.

    Raises:
        ModelError: there are fewer than two parsers, or one without probabilities.
    """
    if len(parsers) < 2:
        raise ModelError(f"a combination needs two parsers or more: got {len(parsers)}")
    members = [_member(parser) for parser in parsers]
    model = CombinedModel(members)
    projective = all(one.projective for one in members)
    root: RootRule = "single" if all(one.root == "single" for one in members) else "multi"
    training: dict[str, Any] = {"members": [dict(one.training) for one in parsers]}
    if dev:
        training |= fit_weights(model, dev, projective=projective, root=root, threads=threads)
    return Parser(
        model,
        projective,
        root,
        tagger=next((one.tagger for one in parsers if one.tagger is not None), None),
        tokenizer=next((one.tokenizer for one in parsers if one.tokenizer is not None), None),
        training=training,
    )


def _member(parser: Parser) -> Member:
    model: Model = parser.model
    if not isinstance(model, ScoringModel):
        raise ModelError(
            f"a parser of the kind {parser.kind!r} has no probabilities to combine: "
            "use one of the kind 'graph' or 'neural'"
        )
    scoring: Any = model
    return Member(scoring, parser.projective, parser.root)
