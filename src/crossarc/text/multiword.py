"""Tokens that stand for several words: French `du` for `de le`, English `don't` for `do n't`.

What a token becomes is a rule: how many characters to cut off its end, and what to write instead.
`don't` cuts `n't` and writes nothing on `do`, then `n't`; `du` cuts `u`, writes `e`, then `le`. A
known form has its rule. An unknown one takes the rule of the longest suffix that decides: one that
most forms with it follow. Forms seen both whole and split are asked of learned weights, in context.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crossarc.text.characters import lower_case

__all__ = ["ASKED", "SPLIT", "WHOLE", "Splitter"]

Rule = tuple[int, tuple[str, ...]]  # characters to cut, and what to write

WHOLE, SPLIT, ASKED = range(3)
_KEEP: Rule = (0, ())
_LONGEST_SUFFIX = 8
_ENOUGH_FORMS = 3
_MEMORY = 1 << 18


class Splitter:
    """The rules of a treebank.

    Args:
        forms: rules of whole forms, without case; `_KEEP` where a suffix would mislead.
        suffixes: rules of suffixes, likewise.
        asked: forms that are sometimes split.
    """

    def __init__(
        self, forms: Mapping[str, Rule], suffixes: Mapping[str, Rule], asked: Iterable[str]
    ) -> None:
        self._forms = dict(forms)
        self._suffixes = dict(suffixes)
        self._asked = frozenset(asked)
        self._known: dict[str, tuple[int, tuple[str, ...]]] = {}

    @classmethod
    def learn(cls, tokens: Sequence[tuple[str, tuple[str, ...]]]) -> Splitter:
        """From pairs of a form and the words that it stands for, none if it is a word itself."""
        seen: defaultdict[str, Counter[Rule]] = defaultdict(Counter)
        for form, words in tokens:
            lower = lower_case(form)
            seen[lower][_rule(lower, tuple(map(lower_case, words))) if words else _KEEP] += 1
        if all(set(rules) == {_KEEP} for rules in seen.values()):
            return cls({}, {}, ())
        best = {form: _best(rules) for form, rules in seen.items()}
        suffixes = _suffix_rules(best)
        plain = cls({}, suffixes, ())
        forms = {form: rule for form, rule in best.items() if plain._find(form) != rule}
        asked = [form for form, rules in seen.items() if len(rules) > 1 and _KEEP in rules]
        for form in asked:
            forms[form] = _best(Counter({r: n for r, n in seen[form].items() if r != _KEEP}))
        return cls(forms, suffixes, asked)

    def __bool__(self) -> bool:
        """Whether any token is ever split."""
        return bool(self._forms or self._suffixes)

    def look_up(self, form: str) -> tuple[int, tuple[str, ...]]:
        """WHOLE, SPLIT or ASKED, and the words that the token stands for if split."""
        known = self._known.get(form)
        if known is None:
            if len(self._known) >= _MEMORY:
                self._known.clear()
            known = self._known[form] = self._decide(form)
        return known

    def _decide(self, form: str) -> tuple[int, tuple[str, ...]]:
        lower = lower_case(form)
        rule = self._find(lower)
        if rule == _KEEP:
            return WHOLE, ()
        words = _apply(rule, form, lower)
        if "" in words:
            return WHOLE, ()
        return (ASKED if lower in self._asked else SPLIT), words

    def _find(self, lower: str) -> Rule:
        if (rule := self._forms.get(lower)) is not None:
            return rule
        for length in range(min(_LONGEST_SUFFIX, len(lower) - 1), 0, -1):
            if (rule := self._suffixes.get(lower[-length:])) is not None:
                return rule
        return _KEEP

    def metadata(self) -> dict[str, Any]:
        """What `restore` needs, as JSON can hold it."""
        rules = sorted({*self._forms.values(), *self._suffixes.values()})
        number = {rule: k for k, rule in enumerate(rules)}
        return {
            "rules": [[cut, *words] for cut, words in rules],
            "forms": {form: number[rule] for form, rule in sorted(self._forms.items())},
            "suffixes": {end: number[rule] for end, rule in sorted(self._suffixes.items())},
            "asked": sorted(self._asked),
        }

    @classmethod
    def restore(cls, metadata: Mapping[str, Any]) -> Splitter:
        """The splitter that gave this metadata."""
        rules: list[Rule] = [(cut, tuple(words)) for cut, *words in metadata["rules"]]
        return cls(
            {form: rules[k] for form, k in metadata["forms"].items()},
            {end: rules[k] for end, k in metadata["suffixes"].items()},
            metadata["asked"],
        )


def _best(rules: Counter[Rule]) -> Rule:
    """The most frequent rule; of equals, the first in order."""
    return min(rules, key=lambda rule: (-rules[rule], rule))


def _rule(form: str, words: tuple[str, ...]) -> Rule:
    kept = 0
    while kept < min(len(form), len(words[0])) and form[kept] == words[0][kept]:
        kept += 1
    return len(form) - kept, (words[0][kept:], *words[1:])


def _apply(rule: Rule, form: str, lower: str) -> tuple[str, ...]:
    """The words that a rule makes of a token, in the token's case."""
    cut, (tail, *others) = rule
    kept = len(form) - cut
    if lower[kept:] == "".join((tail, *others)):
        # The words are parts of the token: cut it as it stands.
        words, place = [], 0
        for length in (kept + len(tail), *map(len, others)):
            words.append(form[place : place + length])
            place += length
        return tuple(words)
    if len(form) > 1 and form.isupper():
        return (form[:kept] + tail.upper(), *(word.upper() for word in others))
    if kept == 0 and form[:1].isupper():
        return (tail[:1].upper() + tail[1:], *others)
    return (form[:kept] + tail, *others)


def _suffix_rules(best: Mapping[str, Rule]) -> dict[str, Rule]:
    """Suffixes that decide, from the rules of known forms.

    A suffix decides to split if most forms with it follow one rule and at least `_ENOUGH_FORMS`
    do; a longer one decides otherwise if most of its forms do not follow the shorter one's rule.
    """
    counts: defaultdict[str, Counter[Rule]] = defaultdict(Counter)
    for form, rule in best.items():
        for length in range(1, min(_LONGEST_SUFFIX, len(form) - 1) + 1):
            counts[form[-length:]][rule] += 1
    rules: dict[str, Rule] = {}
    for suffix in sorted(counts, key=lambda suffix: (len(suffix), suffix)):
        found = counts[suffix]
        rule = _best(found)
        shorter = next(
            (rules[suffix[k:]] for k in range(1, len(suffix)) if suffix[k:] in rules), _KEEP
        )
        decided = 2 * found[rule] > found.total() and found[rule] >= _ENOUGH_FORMS
        if rule != shorter and decided and rule[0] <= len(suffix):
            rules[suffix] = rule
    return rules
