"""Sentences of a treebank chosen on the command line, and what is said about the others."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from crossarc.app.files import counted
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.treebank import Sentence, SentenceReader

    Pair = tuple[Sentence, Sentence | None]

__all__ = ["Headless", "Selection"]


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
        self.headless = Headless(reader.name)
        self.has_more = False

    def __iter__(self) -> Iterator[Pair]:
        chosen = self._chosen()
        for pair in islice(chosen, self.limit):
            self.drawn += 1
            self.drawn_names.add(pair[0].sent_id)
            yield pair
        self.has_more = self.limit is not None and next(chosen, None) is not None

    def _chosen(self) -> Iterator[Pair]:
        from crossarc.draw.gallery import paired
        from crossarc.draw.spans import nonprojective

        for sentence, twin in paired(self.reader, self.other):
            if self.names and sentence.sent_id not in self.names:
                continue
            missing = missing_head(sentence)
            if missing is None and twin is not None:
                missing = missing_head(twin)
            if missing is not None:
                if self.names:
                    raise missing
                self.headless.note(missing)
            elif not self.nonprojective or any(nonprojective(sentence.tree.heads.tolist())):
                yield sentence, twin

    @contextmanager
    def located(self, sentence: Sentence) -> Iterator[None]:
        """Add file and line to an error about a sentence."""
        try:
            yield
        except TreebankError as error:
            if error.source is not None:
                raise
            raise error_at(sentence, error.what, sentence.line) from None

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
        self.headless.report()
        messages = []
        if self.has_more and stopped_by_default:
            messages.append(
                f"{name}: drew the first {self.drawn} sentences; use --all for all of them, or -n"
            )
        if not self.drawn:
            messages.append(f"{name}: no such sentence to draw")
        for message in messages:
            print(f"crossarc: {message}", file=sys.stderr)


class Headless:
    """Sentences with a word without a head: how many, and where the first is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0
        self.first: TreebankError | None = None

    def watch(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Pass sentences through, and note those without a head."""
        for sentence in sentences:
            if (missing := missing_head(sentence)) is not None:
                self.note(missing)
            yield sentence

    def note(self, missing: TreebankError) -> None:
        """Count a sentence."""
        self._count += 1
        self.first = self.first or missing

    def report(self) -> None:
        """Say on stderr that they were left out, if there are any."""
        if self._count:
            sentences = counted(self._count, "sentence")
            print(
                f"crossarc: {self._name}: left out {sentences} with a word without a head; "
                f"the first: {self.first}",
                file=sys.stderr,
            )


def missing_head(sentence: Sentence) -> TreebankError | None:
    """What to say of a sentence if one of its words has no head."""
    absent = (sentence.heads < 0).nonzero()[0]
    if not len(absent):
        return None
    word = int(absent[0]) + 1
    what = f"word {word} has no head: fill in the HEAD column first"
    return error_at(sentence, what, sentence.line_of(word))


def error_at(sentence: Sentence, what: str, line: int | None) -> TreebankError:
    """An error about a line of a sentence."""
    return TreebankError(what, source=sentence.source, line=line, sent_id=sentence.sent_id)
