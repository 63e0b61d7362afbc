"""The JSON of `/parse`: what a client may ask for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from crossarc.app.server.limits import RefusalError

__all__ = ["Constraints", "Drawing", "ParseRequest", "read_request"]

Count = Annotated[int, msgspec.Meta(ge=0, le=100)]
Rank = Annotated[int, msgspec.Meta(ge=1, le=100)]
Width = Annotated[float, msgspec.Meta(ge=200, le=20_000)]


class Constraints(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a person has fixed in one sentence; words are counted from 1, and head 0 is the root.

    Attributes:
        heads: the head of some words, {word: head}.
        forbidden: arcs [head, word] that are not allowed.
        labels: the relation of some words, {word: relation}.
    """

    heads: dict[int, int] = {}
    forbidden: list[tuple[int, int]] = []
    labels: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self.heads or self.forbidden or self.labels)


class Drawing(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How to draw each sentence.

    Attributes:
        format: an element for a page, with `data-word` and `data-head`, or a file of its own.
        width: where the drawing goes on in another line.
        theme: of SVG.
    """

    format: Literal["page", "svg", "latex", "text"] = "svg"
    width: Width = 1000
    theme: Literal["auto", "light", "dark"] = "auto"


class ParseRequest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What to parse, under which constraints, and what to say about it.

    Attributes:
        text: raw text; or
        conllu: sentences, whose tags are used as they are, if they have any.
        model: by default the first one of the server.
        constraints: for the first sentence, the second, ...; fewer than there are will do.
        closest_to_input: the tree with the most heads of the input that the constraints allow, in
            place of the most probable one; among several such trees, the most probable.
        retag: replace tags and lemmas of the input.
        projective: whether trees must be projective; by default as the model was trained.
        rank: which of the k best trees to give, in place of the best one.
        compare: a second tree of each sentence, to be compared.
        probabilities: of heads and relations.
        candidates: for each word so many heads, the most probable first, with their relations.
        relations: for each word so many relations to its head, the most probable first.
        marginals: the probability of every arc.
        kbest: the so many best trees.
        entropy: of the trees, in nats, relations not counted.
        information: what each word's head says about all heads of its sentence, in nats.
        hints: where rules of Universal Dependencies are broken.
        drawing: none by default.
    """

    text: str | None = None
    conllu: str | None = None
    model: str | None = None
    constraints: list[Constraints] = []
    closest_to_input: bool = False
    retag: bool = False
    projective: bool | None = None
    rank: Rank | None = None
    compare: Literal["input", "projective", "nonprojective", "best"] | None = None
    probabilities: bool = False
    candidates: Count = 0
    relations: Count = 0
    marginals: bool = False
    kbest: Count = 0
    entropy: bool = False
    information: bool = False
    hints: bool = False
    drawing: Drawing | None = None

    @property
    def needs_probabilities(self) -> bool:
        """Whether one tree a sentence is not enough."""
        counts = (self.candidates, self.relations, self.kbest, self.rank)
        tables = (self.probabilities, self.marginals, self.entropy, self.information)
        return any(counts) or any(tables)

    @property
    def trees_a_sentence(self) -> int:
        """How many of the k best trees are needed."""
        return max(self.kbest, self.rank or 0)


_DECODER = msgspec.json.Decoder(ParseRequest)


def read_request(body: bytes) -> ParseRequest:
    """The request in a body.

    Raises:
        RefusalError: no JSON, or JSON that does not say what to do.
    """
    try:
        request = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise RefusalError(f"the body is no request to parse: {error}") from None
    if (request.text is None) == (request.conllu is None):
        raise RefusalError("give either text or conllu")
    return request
