"""A parser of files that some sentences kill, for processes that import it by name."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

from crossarc import Parser, Sentence
from crossarc.scale.cluster import ShardParser
from crossarc.scale.corpus import Outcome, Shard

__all__ = ["PoisonedShardParser"]


class PoisonedShardParser(ShardParser):
    """Every process dies that parses a sentence with the word "kill"."""

    def __call__(self) -> Callable[[Shard], Outcome]:
        parse: Any = Parser.parse

        def poisoned(parser: Parser, sentences: list[Sentence], **options: Any) -> Iterator[Any]:
            if any("kill" in one.forms for one in sentences):
                os.kill(os.getpid(), signal.SIGKILL)
            found: Iterator[Any] = parse(parser, sentences, **options)
            return found

        Parser.parse = poisoned  # type: ignore[method-assign, assignment]
        return super().__call__()
