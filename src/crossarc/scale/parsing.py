"""Sentences parsed by several processes, in order; what cannot be parsed is set aside."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import cast

from crossarc.errors import CrossarcError, TreebankError
from crossarc.parallel import thread_count
from crossarc.parser import Parser
from crossarc.parser.batches import FULL, full_batches, ready_or_none
from crossarc.parser.options import ParseKeywords
from crossarc.scale.processes import TemplateEndedError, WorkerDiedError, Workers
from crossarc.treebank import Sentence
from crossarc.treebank.writer import Serialized

__all__ = ["CorpusParser", "LoadParser", "SetAside"]

_Function = Callable[[list[Sentence]], list[Serialized]]
_Waiting = deque[tuple[list[Sentence], "Future[list[Serialized]]"]]


@dataclass(frozen=True, slots=True)
class SetAside:
    """A sentence that could not be parsed, and why."""

    sentence: Sentence
    reason: str

    def marked(self) -> Sentence:
        """A copy that says why, in a comment `# error`."""
        copy = self.sentence.copy()
        copy.comments = [*copy.comments, f"# error = {self.reason}"]
        return copy

    def error(self) -> TreebankError:
        """For those who want to stop at it."""
        one = self.sentence
        return TreebankError(
            f"cannot be parsed: {self.reason}; leave the sentence out, or use --on-error skip",
            source=one.source,
            line=one.line,
            sent_id=one.sent_id,
        )


@dataclass(frozen=True, slots=True)
class LoadParser:
    """Makes the function that workers compute, from the file of a model.

    Attributes:
        parser: where it is loaded already.
    """

    path_or_name: str | os.PathLike[str]
    options: ParseKeywords
    parser: Parser | None = None

    def __call__(self) -> _Function:
        """Load the parser and its kernels."""
        parser = self.parser or Parser.load(self.path_or_name)
        options = cast(ParseKeywords, {**self.options, "threads": 1})

        def parsed(batch: list[Sentence]) -> list[Serialized]:
            return [Serialized.of(one) for one in parser.parse(batch, **options)]

        # The kernels are loaded here, once for all workers.
        parsed([Sentence.build(["a", "b"])])
        return parsed


class CorpusParser:
    """Parses sentences in several processes; the output does not depend on their number.

        with CorpusParser("en", {"probabilities": True}, workers=4) as corpus:
            write_conllu(corpus.parse(sentences), "out.conllu")

    Sentences are handed out in batches of bounded size, of which a bounded number is under way:
    memory does not grow with the input, and a slow reader of the output slows everything down.
    Input that fits in one batch is parsed by this process.

    Args:
        path_or_name: of the parser.
        options: as of `Parser.parse`; `threads` does not count.
        workers: `CROSSARC_THREADS`, else one a core.
        parser: where it is loaded already.
        isolated: leave all work to worker processes, even if it is little: no sentence can end this
            process then.

    Raises:
        ModelError, ValueError: options that the parser cannot serve.
    """

    def __init__(
        self,
        path_or_name: str | os.PathLike[str],
        options: ParseKeywords,
        *,
        workers: int | None = None,
        parser: Parser | None = None,
        isolated: bool = False,
    ) -> None:
        count = thread_count(workers)
        self._isolated = isolated
        self._options = cast(ParseKeywords, {**options, "threads": count})
        self._workers: Workers[list[Sentence], list[Serialized]] | None = None
        self._parser = Parser.load(path_or_name) if parser is None else parser
        self._parser.parse([], **self._options)  # checks the options
        if isolated or (count > 1 and _can_fork()):
            self._workers = Workers(LoadParser(path_or_name, options, self._parser), count)

    @property
    def parser(self) -> Parser:
        """The parser, in this process."""
        return self._parser

    @property
    def keeps_heads(self) -> bool:
        """Whether the HEADs of the input are constraints."""
        return self._options.get("keep_heads", False)

    def __enter__(self) -> CorpusParser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        if self._workers is not None:
            self._workers.close()

    def parse(
        self,
        sentences: Iterable[Sentence],
        *,
        on_wait: Callable[[], None] | None = None,
        on_failure: Callable[[SetAside], None] | None = None,
    ) -> Iterator[Serialized]:
        """The parsed sentences, in order.

        Args:
            on_wait: the input may wait: then whatever has come is parsed at once, and this is
                called when all of it has been handed on.
            on_failure: given each sentence that cannot be parsed, which is then left out.

        Raises:
            CrossarcError: a sentence that cannot be parsed, unless there is `on_failure`.
        """
        waiting: _Waiting = deque()
        for batch, has_more in _batches(sentences, may_wait=on_wait is not None):
            if batch and self._workers is not None and (waiting or has_more or self._isolated):
                waiting.append((batch, self._workers.submit(batch)))
                if len(waiting) >= self._workers.window:
                    yield from self._settled(*waiting.popleft(), on_failure)
                continue
            while waiting:
                yield from self._settled(*waiting.popleft(), on_failure)
            if batch:
                yield from self._settled(batch, None, on_failure)
            elif on_wait is not None:
                on_wait()
        while waiting:
            yield from self._settled(*waiting.popleft(), on_failure)

    def _settled(
        self,
        batch: list[Sentence],
        future: Future[list[Serialized]] | None,
        on_failure: Callable[[SetAside], None] | None,
    ) -> Iterator[Serialized]:
        """The results of a batch; where it fails as a whole, sentence by sentence."""
        try:
            yield from self._parsed_here(batch) if future is None else future.result()
            return
        except Exception as error:
            if isinstance(error, TemplateEndedError) or (
                on_failure is None and not isinstance(error, WorkerDiedError)
            ):
                raise
        for one in batch:
            try:
                found = (
                    self._parsed_here([one])
                    if self._workers is None
                    else self._workers.submit([one]).result()
                )
            except TemplateEndedError:
                raise
            except Exception as error:
                failure = SetAside(one, _reason(error))
                if on_failure is None:
                    raise failure.error() from None
                on_failure(failure)
            else:
                yield from found

    def _parsed_here(self, batch: list[Sentence]) -> list[Serialized]:
        return [Serialized.of(one) for one in self._parser.parse(batch, **self._options)]


def _batches(
    sentences: Iterable[Sentence], *, may_wait: bool
) -> Iterator[tuple[list[Sentence], bool]]:
    """Batches, and whether there are more at hand; an empty one where the input has none yet."""
    if may_wait:
        for ready in ready_or_none(sentences):
            if not ready:
                yield [], False
            parts = list(full_batches(ready))
            for number, part in enumerate(parts, 1):
                yield part, len(ready) == FULL or number < len(parts)
        return
    batches = full_batches(sentences)
    batch = next(batches, None)
    while batch is not None:
        following = next(batches, None)
        yield batch, following is not None
        batch = following


def _can_fork() -> bool:
    """Whether a fork is safe: on Linux, without the threads and devices of PyTorch."""
    return sys.platform == "linux" and "torch" not in sys.modules


def _reason(error: Exception) -> str:
    text = str(error) if isinstance(error, CrossarcError) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
