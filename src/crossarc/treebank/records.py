"""Sentences for those who know no CoNLL-U: as JSON, one object a line, and as a table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from crossarc.treebank.columns import parsed_features

if TYPE_CHECKING:
    from crossarc.treebank.sentence import Sentence
    from crossarc.treebank.writer import Writable

__all__ = ["html_table", "record", "write_json"]


def record(sentence: Sentence) -> dict[str, Any]:
    """What a sentence says, as dicts, lists, strings and numbers.

    None stands for `_`. FEATS and MISC are dicts; multiword tokens, empty nodes and further columns
    are there where the sentence has some.
    """
    found: dict[str, Any] = {
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "comments": list(sentence.comments),
        "words": [
            {
                "id": word.id,
                "form": word.form,
                "lemma": _value(word.lemma),
                "upos": _value(word.upos),
                "xpos": _value(word.xpos),
                "feats": parsed_features(word.feats),
                "head": None if word.head < 0 else word.head,
                "deprel": _value(word.deprel),
                "deps": _value(word.deps),
                "misc": parsed_features(word.misc),
            }
            for word in sentence
        ],
    }
    for number, word in enumerate(found["words"]):
        word.update(
            {name: _value(values[number]) for name, values in sentence.extra_columns.items()}
        )
    if tokens := sentence.multiword_tokens:
        found["multiword_tokens"] = [
            {**token._asdict(), "misc": parsed_features(token.misc)} for token in tokens
        ]
    if nodes := sentence.empty_nodes:
        found["empty_nodes"] = [
            {
                **{name: _value(value) for name, value in node._asdict().items()},
                "form": node.form,
                "feats": parsed_features(node.feats),
                "misc": parsed_features(node.misc),
            }
            for node in nodes
        ]
    return found


def _value(field: str) -> str | None:
    return None if field == "_" else field


def write_json(sentences: Iterable[Sentence], path_or_file: Writable) -> int:
    """Write a JSON object a line, that of `Sentence.to_dict`; returns how many.

    A file appears under its name only when it is complete, as in `write_conllu`.
    """
    import msgspec

    from crossarc.treebank.writer import open_output

    encode = msgspec.json.Encoder().encode
    count = 0
    with open_output(path_or_file) as write:
        for sentence in sentences:
            write(encode(record(sentence)) + b"\n")
            count += 1
    return count


def html_table(sentence: Sentence) -> str:
    """The words with their heads, a row each; an unknown head is `_`."""
    rows = [("ID", "FORM", "UPOS", "HEAD", "DEPREL")] + [
        (str(word.id), word.form, word.upos, "_" if word.head < 0 else str(word.head), word.deprel)
        for word in sentence
    ]
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><caption>{escape(sentence.text)}</caption>{body}</table>"
