"""The answer to `/parse`: sentences with their trees, as JSON can hold them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crossarc.app.server.decoded import Decoded, Ranked
from crossarc.app.server.decoding import decode
from crossarc.app.server.limits import Deadline, Limits, RefusalError
from crossarc.app.server.schema import Constraints, Drawing, ParseRequest
from crossarc.app.server.ud_rules import find_hints
from crossarc.draw import latex, svg, text
from crossarc.draw.picture import picture
from crossarc.draw.vector import element
from crossarc.parser import Parser
from crossarc.parser.marks import set_misc, write_probabilities, write_tree
from crossarc.treebank import Sentence, read_conllu

__all__ = ["input_sentences", "parse_answer", "read_sentences"]

# Sentences are parsed so many at a time; in between, the time that is left is looked at.
_CHUNK = 32
_NAMES = {
    "input": ("parser", "input"),
    "projective": ("non-projective", "projective"),
    "nonprojective": ("projective", "non-projective"),
    "best": ("this tree", "best tree"),
}


def read_sentences(conllu: str) -> Iterable[Sentence]:
    """The sentences of CoNLL-U in a request, with the line breaks of Unix."""
    lines = conllu.removeprefix("\ufeff").replace("\r\n", "\n")
    return read_conllu([lines if lines.endswith("\n") else f"{lines}\n"])


def input_sentences(parser: Parser, text: str | None, conllu: str | None) -> Iterable[Sentence]:
    """The sentences of a request, from text or from CoNLL-U."""
    if conllu is not None:
        return read_sentences(conllu)
    return parser.needed_tokenizer.tokenize(text or "")


def parse_answer(
    parser: Parser, request: ParseRequest, limits: Limits, deadline: Deadline
) -> list[dict[str, Any]]:
    """The sentences of a request with what was asked about them.

    Raises:
        CrossarcError, RefusalError: what cannot be parsed.
    """
    found = input_sentences(parser, request.text, request.conllu)
    sentences = list(limits.checked(found, deadline))
    if len(request.constraints) > len(sentences):
        raise RefusalError(
            f"there are constraints for {len(request.constraints)} sentences, "
            f"and {len(sentences)} sentences"
        )
    none = Constraints()
    given = [*request.constraints, *[none] * (len(sentences) - len(request.constraints))]
    answer = []
    for start in range(0, len(sentences), _CHUNK):
        part = slice(start, start + _CHUNK)
        deadline.check()
        for decoded in decode(parser, sentences[part], given[part], request):
            answer.append(_sentence(decoded, request))
    return answer


def _sentence(decoded: Decoded, request: ParseRequest) -> dict[str, Any]:
    parsed = _written(decoded)
    answer: dict[str, Any] = {
        "sent_id": parsed.sent_id,
        "text": parsed.text,
        "forms": parsed.forms,
        "lemmas": parsed.lemmas,
        "upos": parsed.upos,
        "xpos": parsed.xpos,
        "feats": parsed.feats,
        "heads": decoded.heads,
        "deprels": decoded.deprels,
        "nonprojective": (parsed.tree.nonprojective_arcs.nonzero()[0] + 1).tolist(),
        "log_prob": decoded.log_prob,
        "conllu": parsed.to_conllu(),
    }
    marginals = decoded.marginals
    if marginals is not None and decoded.deprel_probabilities is not None:
        words = range(1, len(decoded.heads) + 1)
        own = marginals[decoded.heads, words]
        answer["head_probabilities"] = own.round(4).tolist()
        answer["deprel_probabilities"] = decoded.deprel_probabilities.round(4).tolist()
        if request.marginals:
            answer["marginals"] = marginals[:, 1:].round(4).tolist()
    if decoded.candidates is not None:
        answer["candidates"] = [
            [{"head": h, "probability": round(p, 4), "deprel": label} for h, p, label in own]
            for own in decoded.candidates
        ]
    if decoded.relations is not None:
        answer["relations"] = [
            [{"deprel": label, "probability": round(p, 4)} for label, p in own]
            for own in decoded.relations
        ]
    if decoded.entropy is not None:
        answer["entropy"] = round(decoded.entropy, 4)
    if decoded.information is not None:
        answer["information"] = decoded.information.round(4).tolist()
    if decoded.kbest is not None:
        answer["kbest"] = [_tree(ranked) for ranked in decoded.kbest]
    if decoded.compared is not None:
        answer["compared"] = _tree(decoded.compared)
    if request.hints:
        answer["hints"] = [hint._asdict() for hint in find_hints(parsed)]
    if request.drawing is not None:
        answer["drawing"] = _drawing(parsed, decoded, request, request.drawing)
    return answer


def _tree(ranked: Ranked) -> dict[str, Any]:
    return {"heads": ranked.heads, "deprels": ranked.deprels, "log_prob": ranked.log_prob}


def _written(decoded: Decoded) -> Sentence:
    """The sentence with its tree, and in MISC how sure it is and what a person decided."""
    sentence, constraints = decoded.sentence.copy(), decoded.constraints
    write_tree(sentence, decoded.heads, decoded.deprels)  # type: ignore[arg-type]
    if decoded.marginals is not None and decoded.deprel_probabilities is not None:
        own = decoded.marginals[decoded.heads, range(1, len(decoded.heads) + 1)]
        write_probabilities(sentence, own, decoded.deprel_probabilities, decoded.entropy)
    marks: dict[str, list[str | None]] = {}
    words = range(1, len(decoded.heads) + 1)
    if constraints.heads:
        marks["Reviewed"] = ["Yes" if word in constraints.heads else None for word in words]
    if constraints.forbidden:
        excluded = {
            m: ",".join(str(h) for h, word in constraints.forbidden if word == m)
            for _, m in constraints.forbidden
        }
        marks["NotHead"] = [excluded.get(word) for word in words]
    if marks:
        set_misc(sentence, marks)
    return sentence


def _drawing(parsed: Sentence, decoded: Decoded, request: ParseRequest, how: Drawing) -> str:
    against = None
    if decoded.compared is not None:
        against = decoded.sentence.copy()
        against.heads = decoded.compared.heads
        against.deprels = decoded.compared.deprels
    names = _NAMES[request.compare or "best"]
    if how.format == "latex":
        return latex(parsed, against=against, document=True)
    if how.format == "text":
        return text(parsed, against=against)
    if how.format == "svg":
        return str(svg(parsed, against=against, names=names, width=how.width, theme=how.theme))
    content = picture(parsed, against=against, names=names, multiword_tokens=True)
    return element(content, width=how.width, positions=True).text
