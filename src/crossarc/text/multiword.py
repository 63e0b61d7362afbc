"""Tokens that stand for several words: French `du` for `de le`, English `don't` for `do n't`.

What a token becomes is a rule: which affixes to cut, and what words to write around the stem that
is left. `don't` loses `n't` and becomes the stem and `n't`; `du` loses `u`, and the words are the
stem with `e`, and `le`. Of the rules that fit a form, the one that most forms follow is its rule.

A form that the treebank always splits keeps to it, as does one that it never splits, often enough
to be sure. Any other form has candidates: the rules it was seen with, and those that a share of the
forms with its longest known affix follow. Learned weights choose among them and the form as it
stands, by its characters and its neighbours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import chain, pairwise
from typing import Any, NamedTuple

from crossarc.text.characters import lower_case
from crossarc.text.word_set import WordSet

__all__ = ["Candidates", "Rule", "Split", "Splitter", "find_rules"]

_STEM = "\t"  # stands for the stem; no word holds it
_LONGEST_AFFIX = 8
_ENOUGH_FORMS = 3  # distinct forms that make an affix decide
_ENOUGH_TOKENS = 3  # occurrences that make a form known
_SHARE = 0.1  # of the forms with an affix that follow a rule
_CACHED = 1 << 18


class Rule(NamedTuple):
    """Cut affixes, in lower case, and write words around the stem."""

    before: str
    after: str
    words: tuple[str, ...]

    def fits(self, lower: str) -> bool:
        """Whether a form has the affixes, and a stem if the words need one."""
        if not any(_STEM in word for word in self.words):
            return lower == self.before
        return (
            len(lower) > len(self.before) + len(self.after)
            and lower.startswith(self.before)
            and lower.endswith(self.after)
        )

    @property
    def holder(self) -> int:
        """The word that holds the stem, or the first."""
        return next((k for k, word in enumerate(self.words) if _STEM in word), 0)

    def apply(self, form: str) -> tuple[str, ...]:
        """The words of a token that the rule fits, in the token's case."""
        end = len(form) - len(self.after)
        lower = lower_case(form)
        parts = [word.replace(_STEM, lower[len(self.before) : end]) for word in self.words]
        if "".join(parts) == lower:
            # The words are parts of the token: cut it as it stands.
            cuts = [sum(map(len, parts[:k])) for k in range(len(parts) + 1)]
            return tuple(form[a:b] for a, b in pairwise(cuts))
        if len(form) > 1 and form.isupper():
            return tuple(part.upper() for part in parts)
        words = [word.replace(_STEM, form[len(self.before) : end]) for word in self.words]
        if form[:1].isupper() and words[0][:1].islower():
            words[0] = words[0][0].upper() + words[0][1:]
        return tuple(words)


# What no word can hold, besides the sign for the stem.
_ENDS = frozenset("\n\r\0")


class Split(NamedTuple):
    """A candidate: a rule, the words it makes, and how often the form was seen.

    Attributes:
        same, other: occurrences with this rule, and with another or whole.
        by_affix: whether the form's affixes suggest the rule.
        stem_known: whether the word with the stem occurs as a token of its own.
    """

    rule: int
    words: tuple[str, ...]
    same: int
    other: int
    by_affix: bool
    stem_known: bool

    def without(self, words: tuple[str, ...]) -> Split:
        """As if the form had occurred once less with these words, for learning."""
        same = self.words == words
        return self._replace(same=self.same - same, other=self.other - (not same))

    @property
    def evidence(self) -> int:
        """Occurrences, none, one or more of each, and the stem, as a class."""
        return 6 * min(self.same, 2) + 2 * min(self.other, 2) + self.stem_known


class Candidates(NamedTuple):
    """What a token may become.

    Attributes:
        certain: whether there is one candidate, right in any context.
        known: whether the form was seen often enough to have features of its own.
    """

    splits: tuple[Split, ...]
    certain: bool
    known: bool


_WHOLE = Candidates((), certain=True, known=True)


class _Cache(dict[str, Candidates | None]):
    """What was found of forms so far; looked up without a call of Python's."""

    def __init__(self, find: Callable[[str], Candidates]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, form: str) -> Candidates | None:
        if len(self) >= _CACHED:
            self.clear()
        found = self._find(form)
        self[form] = found if found.splits else None
        return self[form]


Counts = dict[int, int]  # occurrences by rule, _KEPT for whole
_KEPT = -1


class Splitter:
    """The rules of a treebank.

    Args:
        rules: numbered from 0.
        forms: how often forms, in lower case, occur with each rule; those of one or two
            occurrences, those sometimes split, and those that affixes would split wrongly.
        affixes: candidates by suffix, `-ns`, or prefix, `w-`.
        words: of the treebank.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        forms: Mapping[str, Counts],
        affixes: Mapping[str, tuple[int, ...]],
        words: WordSet,
    ) -> None:
        self._rules = tuple(rules)
        self._words = words
        self._forms = dict(forms)
        self._affixes = dict(affixes)
        #: what a token of a form may become, None if it is a word
        self.look_up: Callable[[str], Candidates | None] = _Cache(self.candidates).__getitem__

    @classmethod
    def learn(cls, tokens: Sequence[tuple[str, tuple[str, ...]]]) -> Splitter:
        """From pairs of a form and the words that it stands for, none if it is a word itself."""
        seen: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for form, words in tokens:
            seen[lower_case(form)][tuple(map(lower_case, words))] += 1
        rule_of = _productive_rules((f, w) for f, found in seen.items() for w in found if w)
        if not rule_of:
            return cls((), {}, {}, WordSet.build(()))
        rules = sorted(set(rule_of.values()))
        number = {rule: k for k, rule in enumerate(rules)}
        counts = {
            form: {number[rule_of[form, w]] if w else _KEPT: n for w, n in found.most_common()}
            for form, found in seen.items()
        }
        whole = [form for form, found in counts.items() if _KEPT in found]
        splitter = cls(rules, {}, _affix_rules(counts, rules), WordSet.build(whole))
        for form, found in counts.items():
            if set(found) != {_KEPT} or splitter._by_affix(form):
                splitter._forms[form] = found
        return splitter

    def __bool__(self) -> bool:
        """Whether any token is ever split."""
        return bool(self._rules)

    def candidates(self, form: str) -> Candidates:
        """What a token of this form may become."""
        counts = self._forms.get(lower_case(form), {})
        known = sum(counts.values()) >= _ENOUGH_TOKENS
        if known and set(counts) == {_KEPT}:
            return _WHOLE
        splits = self.splits(form)
        if not splits:
            return _WHOLE
        certain = len(counts) == 1 and _KEPT not in counts
        return Candidates(splits[:1] if certain else splits, certain, known)

    def splits(self, form: str) -> tuple[Split, ...]:
        """All candidates of a form, even where one is certain, or none."""
        lower = lower_case(form)
        counts = self._forms.get(lower, {})
        total = sum(counts.values())
        by_affix = self._by_affix(lower)
        found = []
        for rule in dict.fromkeys((*(rule for rule in counts if rule != _KEPT), *by_affix)):
            words = self._rules[rule].apply(form)
            if all(words):
                same = counts.get(rule, 0)
                stem = lower_case(words[self._rules[rule].holder])
                known_stem = stem in self._words
                found.append(Split(rule, words, same, total - same, rule in by_affix, known_stem))
        return tuple(found)

    def words_of(self, split: Split) -> tuple[str, ...]:
        """The words of a split; of a form never seen, a stem that is always split is split again.

        So the rule of `'ve` makes three words of `they'd've`.
        """
        k = self._rules[split.rule].holder
        if split.same or split.other or not (stem := self.look_up(split.words[k])):
            return split.words
        if not stem.certain:
            return split.words
        return (*split.words[:k], *stem.splits[0].words, *split.words[k + 1 :])

    def _by_affix(self, lower: str) -> tuple[int, ...]:
        rules = [rule for side in _SIDES for rule in self._longest_affix(side, lower)]
        return tuple(rule for rule in rules if self._rules[rule].fits(lower))

    def _longest_affix(self, side: Side, lower: str) -> tuple[int, ...]:
        for length in range(min(_LONGEST_AFFIX, len(lower) - 1), 0, -1):
            if (rules := self._affixes.get(side(lower, length))) is not None:
                return rules
        return ()

    @property
    def words(self) -> WordSet:
        """The words of the treebank, the rest of what `restore` needs."""
        return self._words

    def metadata(self) -> dict[str, Any]:
        """What `restore` needs, as JSON can hold it."""
        return {
            "rules": [[rule.before, rule.after, *rule.words] for rule in self._rules],
            "forms": {form: list(found.items()) for form, found in sorted(self._forms.items())},
            "affixes": {affix: list(rules) for affix, rules in sorted(self._affixes.items())},
        }

    @classmethod
    def restore(cls, metadata: Mapping[str, Any], words: WordSet) -> Splitter:
        """The splitter that gave this metadata and these words."""
        rules = [Rule(before, after, tuple(own)) for before, after, *own in metadata["rules"]]
        forms: dict[str, Counts] = {form: dict(own) for form, own in metadata["forms"].items()}
        affixes = {affix: tuple(own) for affix, own in metadata["affixes"].items()}
        used = chain.from_iterable((*forms.values(), *affixes.values()))
        counts = chain.from_iterable(one.values() for one in forms.values())
        texts = [text for rule in rules for text in (rule.before, rule.after, *rule.words)]
        if (
            not all(type(rule) is int and _KEPT <= rule < len(rules) for rule in used)
            or any(_KEPT in one for one in affixes.values())
            or not all(type(count) is int and count > 0 for count in counts)
            or not all(isinstance(text, str) and not set(text) & _ENDS for text in texts)
            or not all(rule.words and all(rule.words) for rule in rules)
        ):
            raise ValueError("the rules of multiword tokens do not fit each other")
        return cls(rules, forms, affixes, words)


def find_rules(form: str, words: Sequence[str]) -> list[Rule]:
    """The rules that make these words of a form: one a word that may hold the stem, or none."""
    rules = []
    offset = 0
    parts = "".join(words) == form
    for k, word in enumerate(words):
        begin, there, size = offset, 0, len(word)
        if not parts:
            begin, there, size = SequenceMatcher(
                None, form, word, autojunk=False
            ).find_longest_match()
        offset += len(word)
        if size:
            holder = word[:there] + _STEM + word[there + size :]
            around = (*words[:k], holder, *words[k + 1 :])
            rules.append(Rule(form[:begin], form[begin + size :], around))
    return rules or [Rule(form, "", tuple(words))]


def _productive_rules(
    splits: Iterable[tuple[str, tuple[str, ...]]],
) -> dict[tuple[str, tuple[str, ...]], Rule]:
    """The rule of each pair of a form and its words: of those that fit, what most forms follow."""
    fitting = {(form, words): find_rules(form, words) for form, words in splits}
    followers: Counter[Rule] = Counter()
    for rules in fitting.values():
        followers.update(rules)
    return {
        pair: min(rules, key=lambda rule: (-followers[rule], len(rule.before + rule.after), rule))
        for pair, rules in fitting.items()
    }


def _suffix(text: str, length: int) -> str:
    return f"-{text[-length:]}"


def _prefix(text: str, length: int) -> str:
    return f"{text[:length]}-"


Side = Callable[[str, int], str]
_SIDES: tuple[Side, Side] = (_suffix, _prefix)


def _affix_rules(counts: Mapping[str, Counts], rules: Sequence[Rule]) -> dict[str, tuple[int, ...]]:
    """The rules to try on forms with an affix, where a shorter affix does not say the same.

    A rule is tried if at least `_ENOUGH_FORMS` forms with the affix follow it, and a share of them.
    """
    deciding: dict[str, tuple[int, ...]] = {}
    for side in _SIDES:
        forms: Counter[str] = Counter()
        followers: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for form, found in counts.items():
            best = max(found, key=found.__getitem__)
            for length in range(1, min(_LONGEST_AFFIX, len(form) - 1) + 1):
                affix = side(form, length)
                forms[affix] += 1
                if best != _KEPT and _holds(side, affix, rules[best]):
                    followers[affix][best] += 1
        often = [affix for affix, n in forms.items() if n >= _ENOUGH_FORMS]
        for affix in sorted(often, key=lambda affix: (len(affix), affix)):
            own = tuple(
                rule
                for rule, n in sorted(followers[affix].items(), key=lambda found: -found[1])
                if n >= max(_ENOUGH_FORMS, _SHARE * forms[affix])
            )
            if own != _shorter(deciding, side, affix):
                deciding[affix] = own
    return deciding


def _holds(side: Side, affix: str, rule: Rule) -> bool:
    """Whether an affix holds all that a rule cuts on its side, and the rule cuts there."""
    if side is _suffix:
        return bool(rule.after) and affix[1:].endswith(rule.after)
    return bool(rule.before) and not rule.after and affix[:-1].startswith(rule.before)


def _shorter(deciding: Mapping[str, tuple[int, ...]], side: Side, affix: str) -> tuple[int, ...]:
    """What the longest shorter affix on the same side decides."""
    letters = affix[1:] if side is _suffix else affix[:-1]
    for length in range(len(letters) - 1, 0, -1):
        if (rules := deciding.get(side(letters, length))) is not None:
            return rules
    return ()
