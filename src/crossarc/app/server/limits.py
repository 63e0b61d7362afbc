"""What a request may cost, and how one that costs more, or makes no sense, is refused."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus

from crossarc.treebank import Sentence

__all__ = ["Deadline", "Limits", "RefusalError"]


class RefusalError(Exception):
    """A request that is refused: a status from 400 to 499 and one line that says why."""

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        self.status = status
        self.message = " ".join(message.split())
        super().__init__(self.message)


def _too_large(message: str) -> RefusalError:
    return RefusalError(message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may ask for.

    Attributes:
        body: bytes of the request.
        sentences: in a request.
        words: in a sentence.
        seconds: to receive a request, and to answer it.
        requests: that are worked on or wait at a time.
    """

    body: int = 16 << 20
    sentences: int = 10_000
    words: int = 500
    seconds: float = 60.0
    requests: int = 256

    def check_body(self, size: int) -> None:
        """Refuse a body of more bytes than allowed."""
        if size > self.body:
            raise _too_large(f"the body is larger than the limit of {self.body:,} bytes")

    def check_requests(self, count: int) -> None:
        """Refuse a request when so many others wait."""
        if count >= self.requests:
            raise RefusalError(
                f"the limit of {self.requests} requests at a time is reached: try again later",
                HTTPStatus.TOO_MANY_REQUESTS,
            )

    def checked(self, sentences: Iterable[Sentence], deadline: Deadline) -> Iterator[Sentence]:
        """The sentences, as long as there are not too many and none is too long."""
        for number, sentence in enumerate(sentences, 1):
            if number > self.sentences:
                raise _too_large(
                    f"the request has more than the limit of {self.sentences:,} sentences"
                )
            if len(sentence) > self.words:
                raise _too_large(
                    f"sentence {number} has {len(sentence):,} words, and the limit is "
                    f"{self.words:,} words a sentence"
                )
            deadline.check()
            yield sentence


class Deadline:
    """The end of the time that a request has."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Refuse to go on once the time is over."""
        if time.monotonic() > self._end:
            raise self.refusal()

    def refusal(self) -> RefusalError:
        """What to say when the time is over."""
        return _too_large(
            f"the request takes longer than the limit of {self.seconds:g} s: send fewer sentences"
        )
