"""What a parse gives: the options of `Parser.parse` and `crossarc parse`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self, TypeAlias, TypedDict

from crossarc.errors import LimitError
from crossarc.models.kinds import OptionError
from crossarc.treebank import Sentence

__all__ = ["OnLimit", "ParseKeywords", "ParseOptions"]

#: What is done with a sentence that is too long.
OnLimit: TypeAlias = Callable[[Sentence, LimitError], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """What a parse gives, and from which trees.

    Attributes:
        probabilities: HeadProb and DeprelProb (given the head) in MISC, and `# entropy`.
        kbest: the so many best trees of each sentence, as sentences of their own with
            `# kbest = i/k` and `# log_prob`.
        min_risk: the tree with the highest expected number of right heads, in place of the most
            probable one.
        keep_heads: every head that is given is a constraint, and its relation stays.
        retag: replace UPOS, XPOS, FEATS and LEMMA by those of the tagger.
        projective: whether trees must be projective; None as the parser was trained.
        threads: `CROSSARC_THREADS`, else all cores; the result does not depend on it.
        on_limit: called with a sentence that takes more memory or time than there is
            (docs/limits.md) and the error, and the sentence is left out; without it the error is
            raised.

    Raises:
        OptionError: a value out of range, or options at odds with each other.
    """

    probabilities: bool = False
    kbest: int | None = None
    min_risk: bool = False
    keep_heads: bool = False
    retag: bool = False
    projective: bool | None = None
    threads: int | None = None
    on_limit: OnLimit | None = None

    def __post_init__(self) -> None:
        if self.kbest is not None and self.kbest < 1:
            raise OptionError(f"must be at least 1: got {self.kbest}", "kbest")
        if self.kbest is not None and self.min_risk:
            raise OptionError(
                "the k best trees are ranked by probability, not by risk: give one of them",
                "kbest",
                "min_risk",
            )

    @classmethod
    def build(cls, given: dict[str, Any], *, text: bool = False) -> Self:
        """The options from keyword arguments.

        Args:
            text: whether the input is text, which has no heads to keep.

        Raises:
            OptionError: as for the class, or an unknown option.
        """
        known = [one.name for one in fields(cls)]
        for name in given:
            if name not in known:
                raise OptionError(f"no such option: use {', '.join(known)}", name)
        options = cls(**given)
        if text and options.keep_heads:
            raise OptionError("text has no heads: give a treebank", "keep_heads")
        return options


class ParseKeywords(TypedDict, total=False):
    """`ParseOptions` as keyword arguments, for type checkers."""

    probabilities: bool
    kbest: int | None
    min_risk: bool
    keep_heads: bool
    retag: bool
    projective: bool | None
    threads: int | None
    on_limit: OnLimit | None
