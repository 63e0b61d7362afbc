"""Sentences of a treebank chosen on the command line, and what is said about the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from crossarc.app.files import counted
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.treebank import Sentence, SentenceReader

    Pair = tuple[Sentence, Sentence | None]

__all__ = ["Selection"]


class Selection:
    """The sentences to draw, and what is to be said about those that are not."""

    def __init__(
        self,
        reader: SentenceReader,
        other: SentenceReader | None,
        names: list[str] | None,
        nonprojective: bool,
        limit: int | None,
    ) -> None:
        self.reader, self.other = reader, other
        self.names, self.nonprojective, self.limit = names, nonprojective, limit
        self.drawn = 0
        self.drawn_names: set[str | None] = set()
        self.incomplete = 0
        self.first_incomplete: TreebankError | None = None
        self.has_more = False
        self.location = Location(reader)

    def __iter__(self) -> Iterator[Pair]:
        chosen = self._chosen()
        for pair in islice(chosen, self.limit):
            self.drawn += 1
            self.drawn_names.add(pair[0].sent_id)
            yield pair
        self.has_more = self.limit is not None and next(chosen, None) is not None

    def _chosen(self) -> Iterator[Pair]:
        from crossarc.draw.picture import paired
        from crossarc.draw.spans import nonprojective

        other = None if self.other is None else Location(self.other)
        for sentence, twin in paired(self.location, other):
            if self.names and sentence.sent_id not in self.names:
                continue
            missing = self.location.missing_head(sentence)
            if missing is None and twin is not None and other is not None:
                missing = other.missing_head(twin)
            if missing is not None:
                if self.names:
                    raise missing
                self.incomplete += 1
                self.first_incomplete = self.first_incomplete or missing
            elif not self.nonprojective or any(nonprojective(sentence.tree.heads.tolist())):
                yield sentence, twin

    @contextmanager
    def located(self, sentence: Sentence) -> Iterator[None]:
        """Add file and line to an error about the last sentence."""
        try:
            yield
        except TreebankError as error:
            if error.source is not None:
                raise
            raise self.location.error(error.what, sentence) from None

    def check(self) -> None:
        """Raise an error if a sentence that was asked for is not there."""
        absent = [name for name in self.names or [] if name not in self.drawn_names]
        if absent:
            raise TreebankError(
                f"no sentence {', '.join(absent)}; check --sent-id", source=self.reader.name
            )

    def report(self, *, stopped_by_default: bool) -> None:
        """Say on stderr which sentences were left out."""
        name = self.reader.name
        messages = []
        if self.incomplete:
            left_out = counted(self.incomplete, "sentence")
            messages.append(
                f"{name}: left out {left_out} with a word without a head; "
                f"the first: {self.first_incomplete}"
            )
        if self.has_more and stopped_by_default:
            messages.append(
                f"{name}: drew the first {self.drawn} sentences; use --all for all of them, or -n"
            )
        if not self.drawn:
            messages.append(f"{name}: no such sentence to draw")
        for message in messages:
            print(f"crossarc: {message}", file=sys.stderr)


class Location(Iterator["Sentence"]):
    """Sentences of a reader, with the line at which the last one begins."""

    def __init__(self, reader: SentenceReader) -> None:
        self.reader = reader
        self.line = self._next = 1

    def __next__(self) -> Sentence:
        sentence = next(self.reader)
        self.line = self._next
        self._next += bytes(sentence).count(b"\n")
        return sentence

    def missing_head(self, sentence: Sentence) -> TreebankError | None:
        """What to say of the last sentence if one of its words has no head."""
        absent = (sentence.heads < 0).nonzero()[0]
        if not len(absent):
            return None
        word = str(absent[0] + 1)
        rows = bytes(sentence).decode().split("\n")
        offset = next(i for i, row in enumerate(rows) if row.partition("\t")[0] == word)
        what = f"word {word} has no head: fill in the HEAD column first"
        return self.error(what, sentence, offset)

    def error(self, what: str, sentence: Sentence, offset: int = 0) -> TreebankError:
        """An error about the last sentence, with file and line.

        Lines cannot be counted past sentences that were skipped.
        """
        line = None if self.reader.skipped else self.line + offset
        return TreebankError(what, source=self.reader.name, line=line, sent_id=sentence.sent_id)
