"""Sentences in batches: full ones from an input at hand, whatever is there from one that waits."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from crossarc.treebank import Sentence

__all__ = ["FULL", "full_batches", "ready_items", "ready_or_none"]

T = TypeVar("T")

# Sentences are parsed in batches of about so many arcs, which bounds memory and keeps threads busy.
_BATCH_ARCS = 400_000
_BATCH_SENTENCES = 256
#: So many items are read ahead of the parser.
FULL = 256
# How often, in seconds, a reader that waits for the parser looks whether it is still there.
_PATIENCE = 0.2


def full_batches(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """All sentences in order, in batches of bounded memory."""
    batch: list[Sentence] = []
    arcs = 0
    for sentence in sentences:
        batch.append(sentence)
        arcs += (len(sentence) + 1) ** 2
        if arcs >= _BATCH_ARCS or len(batch) >= _BATCH_SENTENCES:
            yield batch
            batch, arcs = [], 0
    if batch:
        yield batch


def ready_items(items: Iterable[T], on_wait: Callable[[], None] | None = None) -> Iterator[list[T]]:
    """All items in order, in lists of what has been read: only the first of a list is waited for.

    Items are read by a thread, a bounded number ahead. An error of the input is raised after the
    items before it. Where the input is faster, lists grow with the time that the caller takes.

    Args:
        on_wait: called when all items have been handed on and the input has no more yet.
    """
    for batch in ready_or_none(items):
        if batch:
            yield batch
        elif on_wait is not None:
            on_wait()


def ready_or_none(items: Iterable[T]) -> Iterator[list[T]]:
    """The same, with an empty list whenever all has been handed on and the input has no more yet.

    A list of `FULL` items may be followed by others without any wait.
    """
    reader = _Reader(items)
    try:
        while (batch := reader.ready()) is not None:
            if not batch:
                yield batch
                batch = reader.ready(wait=True)
                if batch is None:
                    return
            yield batch
    finally:
        reader.stop()


class _End:
    """The last entry of the queue, with the error that ended the input, if one did."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Reader(Generic[T]):
    """A thread that reads items into a bounded queue."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = items
        self._queue: queue.Queue[T | _End] = queue.Queue(FULL)
        self._stopped = threading.Event()
        self._end: _End | None = None
        threading.Thread(target=self._read, name="crossarc-reader", daemon=True).start()

    def ready(self, *, wait: bool = False) -> list[T] | None:
        """The items that are there, with `wait` at least one; None when the input has ended."""
        batch: list[T] = []
        while self._end is None and len(batch) < FULL:
            try:
                entry = self._queue.get(block=wait and not batch)
            except queue.Empty:
                return batch
            if isinstance(entry, _End):
                self._end = entry
            else:
                batch.append(entry)
        if batch:
            return batch
        if self._end is not None and self._end.error is not None:
            raise self._end.error
        return None

    def stop(self) -> None:
        """Let the thread end, at the latest with its next item."""
        self._stopped.set()

    def _read(self) -> None:
        try:
            for item in self._items:
                if not self._put(item):
                    return
            self._put(_End())
        except BaseException as error:
            self._put(_End(error))

    def _put(self, entry: T | _End) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(entry, timeout=_PATIENCE)
            except queue.Full:
                continue
            return True
        return False
