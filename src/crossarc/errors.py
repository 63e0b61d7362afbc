"""The exceptions that crossarc raises on purpose.

Every message is one line and says what was wrong, where, and what to do about it.
"""

from __future__ import annotations

__all__ = [
    "CrossarcError",
    "InfeasibleError",
    "LimitError",
    "ModelError",
    "ScoreError",
    "TreebankError",
]


class CrossarcError(Exception):
    """Base of all exceptions of crossarc."""


class TreebankError(CrossarcError, ValueError):
    """Sentences or trees that cannot be used as they are.

    Args:
        what: what is wrong and what to do about it.
        source: the file or stream it was found in.
        line: its line number there, counted from 1.
        sent_id: the sentence, where it has an id.
    """

    def __init__(
        self,
        what: str,
        *,
        source: str | None = None,
        line: int | None = None,
        sent_id: str | None = None,
    ) -> None:
        self.what = what
        self.source = source
        self.line = line
        self.sent_id = sent_id
        place = source or ""
        if line is not None:
            place = f"{place}:{line}" if place else f"line {line}"
        if sent_id is not None:
            place = f"{place} (sentence {sent_id})" if place else f"sentence {sent_id}"
        message = f"{place}: {what}" if place else what
        super().__init__(" ".join(message.split()))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.what, self.source, self.line, self.sent_id)


def _rebuild(what: str, source: str | None, line: int | None, sent_id: str | None) -> TreebankError:
    """Unpickle a TreebankError, so that it survives the way back from a worker process."""
    return TreebankError(what, source=source, line=line, sent_id=sent_id)


class ScoreError(CrossarcError, ValueError):
    """Score arrays with a wrong shape, NaN, or plus infinity."""


class InfeasibleError(CrossarcError):
    """No tree satisfies the scores and constraints."""


class LimitError(CrossarcError, ValueError):
    """A sentence that would take more memory or time than there is; see docs/limits.md."""


class ModelError(CrossarcError, ValueError):
    """A model file that cannot be read or does not fit."""
