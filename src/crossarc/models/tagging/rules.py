"""How a form becomes its lemma: rules that cut and add at either end.

A rule takes the form as it stands or in lower case, takes off a beginning and an ending, and puts
others in their place: `running` loses `ning`, `gegangen` its `ge` and `angen`. Where form and lemma
share nothing, the rule is the lemma itself: `be` for `were`.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from crossarc.text.characters import lower_case

__all__ = ["Rule", "find_rule"]


class Rule(NamedTuple):
    """Cut and add at the beginning and the end of a form, or write `literal`."""

    keeps_case: bool
    cut_before: str
    add_before: str
    cut_after: str
    add_after: str
    literal: str = ""

    def apply(self, form: str) -> str | None:
        """The lemma of a form, or None if the rule does not fit it."""
        if self.literal:
            return self.literal
        base = form if self.keeps_case else lower_case(form)
        begin, end = len(self.cut_before), len(base) - len(self.cut_after)
        if end <= begin or not base.startswith(self.cut_before):
            return None
        if not base.endswith(self.cut_after):
            return None
        return f"{self.add_before}{base[begin:end]}{self.add_after}"

    @property
    def cost(self) -> int:
        """Characters that the rule names."""
        return len(self.literal) * 2 + sum(
            map(len, (self.cut_before, self.add_before, self.cut_after, self.add_after))
        )


def find_rule(form: str, lemma: str) -> Rule:
    """The cheapest rule that makes the lemma of the form; of equals, the one in lower case."""
    small = lower_case(form)
    rule = _edit(small, lemma, keeps_case=False)
    if small != form and rule.cost:
        rule = min(rule, _edit(form, lemma, keeps_case=True), key=lambda rule: rule.cost)
    return rule


def _edit(base: str, lemma: str, *, keeps_case: bool) -> Rule:
    """The rule that keeps the longest part that both share."""
    shared = 0
    while shared < min(len(base), len(lemma)) and base[shared] == lemma[shared]:
        shared += 1
    begin, there = 0, 0
    if 2 * shared < min(len(base), len(lemma)):
        begin, there, shared = SequenceMatcher(
            None, base, lemma, autojunk=False
        ).find_longest_match()
    if not shared:
        return Rule(False, "", "", "", "", lemma)
    end = begin + shared
    return Rule(keeps_case, base[:begin], lemma[:there], base[end:], lemma[there + shared :])
