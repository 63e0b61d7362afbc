"""CoNLL-X, the ten columns of the 2006 and 2007 shared tasks.

The first eight columns are those of CoNLL-U. The last two, the projective head and its relation,
are kept in MISC as `PHead=` and `PDeprel=`, so that a CoNLL-X file survives the way to CoNLL-U and
back. The other way loses what CoNLL-X has no column for; `write_conllx` says what and how often.
A fine tag that is not known is written as the coarse one, as the format asks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from crossarc.treebank.plus import without_extra_columns
from crossarc.treebank.reader import OnError, SentenceReader
from crossarc.treebank.sentence import Sentence
from crossarc.treebank.source import Readable
from crossarc.treebank.writer import Writable, write_conllu

__all__ = ["ConllxReader", "read_conllx", "write_conllx"]

_PROJECTIVE = re.compile(r"PHead=(?P<head>[^|]+)\|PDeprel=(?P<deprel>.+)")
_SPACE = re.compile(r"\s")


def read_conllx(path_or_file: Readable, *, on_error: OnError = "raise") -> ConllxReader:
    """Iterate over the sentences of a CoNLL-X file; arguments and errors as for `read_conllu`."""
    return ConllxReader(path_or_file, on_error=on_error)


class ConllxReader(SentenceReader):
    """The iterator that `read_conllx` returns."""

    def __next__(self) -> Sentence:
        sentence = super().__next__()
        heads, deprels = sentence.deps, sentence.misc
        if any(value != "_" for value in heads + deprels):
            sentence.misc = [
                "_" if (head, deprel) == ("_", "_") else f"PHead={head}|PDeprel={deprel}"
                for head, deprel in zip(heads, deprels, strict=True)
            ]
            sentence.deps = ["_"] * len(sentence)
        return sentence


def write_conllx(sentences: Iterable[Sentence], path_or_file: Writable) -> Counter[str]:
    """Write sentences as CoNLL-X; returns counts of what it has no column for, by kind."""
    lost: Counter[str] = Counter()
    write_conllu(_converted(sentences, lost), path_or_file)
    return lost


def _converted(sentences: Iterable[Sentence], lost: Counter[str]) -> Iterator[Sentence]:
    for sentence in sentences:
        lost.update(_losses(sentence))
        yield _to_conllx(sentence)


def _losses(sentence: Sentence) -> dict[str, int]:
    others = [value for values in sentence.extra_columns.values() for value in values]
    return {
        "comments": len(sentence.comments),
        "multiword tokens": len(sentence.multiword_tokens),
        "empty nodes": len(sentence.empty_nodes),
        "enhanced dependencies": sum(value != "_" for value in sentence.deps),
        "MISC values": sum(
            value != "_" and not _PROJECTIVE.fullmatch(value) for value in sentence.misc
        ),
        "spaces inside values": sum(
            bool(_SPACE.search(value)) for value in sentence.forms + sentence.lemmas
        ),
        **({"values of other columns": sum(value != "_" for value in others)} if others else {}),
    }


def _to_conllx(sentence: Sentence) -> Sentence:
    projective = [_PROJECTIVE.fullmatch(value) for value in sentence.misc]
    columns = without_extra_columns(sentence).words_only()
    columns.comments = ()
    columns.deps = [match["head"] if match else "_" for match in projective]
    columns.misc = [match["deprel"] if match else "_" for match in projective]
    if "_" in columns.xpos:
        columns.xpos = [
            coarse if fine == "_" else fine
            for coarse, fine in zip(columns.upos, columns.xpos, strict=True)
        ]
    for name in ("forms", "lemmas"):
        values = getattr(columns, name)
        if any(_SPACE.search(value) for value in values):
            setattr(columns, name, [_SPACE.sub("_", value) for value in values])
    return columns
