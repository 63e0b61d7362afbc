"""Lemmas from forms and tags: a rule chosen by a perceptron, and a dictionary of exceptions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.models.checks import Fields, column_text, tensor
from crossarc.models.tagging.classes import Classes
from crossarc.models.tagging.lemma_kernels import (
    KNOWN_FEATURES,
    LEMMA_FEATURES,
    choose_rules,
    lemma_features,
)
from crossarc.models.tagging.rules import Rule, find_rule
from crossarc.models.tagging.sparse import pack, rounded, strongest, unpack
from crossarc.models.tagging.words import encode_words
from crossarc.text.characters import lower_case
from crossarc.text.word_set import WordSet

__all__ = ["Lemmatizer"]

Ints = NDArray[np.int64]
Pair = tuple[str, int]  # a form and the number of its tag

_BITS = 20
_KEPT = 100_000
_EPOCHS = 5
_ENOUGH_FORMS = 2
_LITERAL = "\0"  # no suffix; literal rules are looked up under it
_MEMORY = 1 << 18


class Lemmatizer:
    """Lemmas of forms whose tags are known.

    Args:
        uses: pairs of a UPOS tag and a rule that occurs with it; a rule is tried only there.
        exceptions: lemmas that the rules get wrong, by form in lower case and UPOS or tag.
        known: the lemmas of the treebank, each after its UPOS.
    """

    def __init__(
        self,
        classes: Classes,
        rules: Sequence[Rule],
        uses: Sequence[tuple[str, int]],
        exceptions: Mapping[tuple[str, str], str],
        known: WordSet,
        weights: NDArray[np.int16],
    ) -> None:
        self._classes = classes
        self._rules = tuple(rules)
        self._uses = tuple(uses)
        self._exceptions = dict(exceptions)
        self._weights = weights
        self._known = known
        self._cache: dict[Pair, str] = {}
        self._index: defaultdict[tuple[str, bool, str], list[int]] = defaultdict(list)
        for upos, number in self._uses:
            rule = self._rules[number]
            ending = _LITERAL if rule.literal else rule.cut_after
            self._index[upos, rule.keeps_case, ending].append(number)
        self._longest = max((len(rule.cut_after) for rule in self._rules), default=0)

    @classmethod
    def learn(
        cls,
        classes: Classes,
        forms: Iterable[str],
        tags: Iterable[int],
        lemmas: Iterable[str],
        *,
        seed: int,
    ) -> Lemmatizer:
        """From the words of a treebank; O(distinct words)."""
        seen: defaultdict[Pair, Counter[str]] = defaultdict(Counter)
        for form, tag, lemma in zip(forms, tags, lemmas, strict=True):
            seen[form, tag][lemma] += 1
        best = {pair: min(found, key=lambda x: (-found[x], x)) for pair, found in seen.items()}
        counts = {pair: found.total() for pair, found in seen.items()}
        found = {pair: find_rule(pair[0], lemma) for pair, lemma in best.items()}
        rules, uses = _productive(found, classes)
        known = WordSet.build(
            {_lemma_key(classes.tags[tag].upos, lemma) for (_, tag), lemma in best.items()}
        )
        model = cls(classes, rules, uses, {}, known, np.zeros(0, np.int16))
        model._weights = model._train(best, found, seed)
        model._exceptions = model._wrong(best, counts)
        return model

    def _train(
        self, best: Mapping[Pair, str], found: Mapping[Pair, Rule], seed: int
    ) -> NDArray[np.int16]:
        from crossarc.models.tagging.lemma_training import train_rules

        number = {rule: k for k, rule in enumerate(self._rules)}
        pairs = [pair for pair, rule in found.items() if rule in number]
        forms: defaultdict[str, set[str]] = defaultdict(set)
        for (form, tag), lemma in best.items():
            forms[_lemma_key(self._classes.tags[tag].upos, lemma)].add(lower_case(form))
        # A form tells nothing about itself: what counts is that others have the lemma.
        hashes, fit_ends, fits, known = self._questions(
            pairs, lambda key, form: not forms[key] <= {form}
        )
        gold = np.array(
            [
                first + fits[first:end].tolist().index(number[found[pair]])
                for pair, first, end in zip(pairs, [0, *fit_ends], fit_ends, strict=False)
            ],
            np.int64,
        )
        size = (1 << _BITS) + len(self._rules)
        kept = np.ones(size, np.bool_)
        average = np.zeros(size)
        random = np.random.default_rng(seed)
        # Once to see which weights matter, once more with only these.
        for _ in range(2):
            weights, sums, step = np.rint(average).astype(np.int32), np.zeros(size), 0
            for _ in range(_EPOCHS if pairs else 0):
                order = random.permutation(len(pairs))
                step = train_rules(
                    order, hashes, fit_ends, fits, known, gold, weights, sums, kept, _BITS, step
                )
            average = weights - sums / max(step, 1)
            kept = strongest(average, _KEPT)
            average[~kept] = 0
        return rounded(average)

    def _wrong(
        self, best: Mapping[Pair, str], counts: Mapping[Pair, int]
    ) -> dict[tuple[str, str], str]:
        """The lemmas of known words that the rules get wrong.

        By UPOS where a form has one lemma with it, so that other tags profit; else by tag.
        """
        votes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for pair, lemma in best.items():
            votes[self._keys(pair)[1]][lemma] += counts[pair]
        wrong: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for (pair, lemma), found in zip(best.items(), self._chosen(list(best)), strict=True):
            if lemma != found:
                by_tag, by_upos = self._keys(pair)
                key = by_upos if len(votes[by_upos]) == 1 else by_tag
                wrong[key][lemma] += counts[pair]
        return {key: min(wrong[key], key=lambda x: (-wrong[key][x], x)) for key in sorted(wrong)}

    def _keys(self, pair: Pair) -> tuple[tuple[str, str], tuple[str, str]]:
        """Where a word's exception may be: under its tag, or under its UPOS."""
        form, tag = lower_case(pair[0]), pair[1]
        return (form, str(tag)), (form, self._classes.tags[tag].upos)

    def lemmas(self, forms: Sequence[str], tags: Sequence[int]) -> list[str]:
        """The lemmas of words; each distinct form and tag is worked out once."""
        pairs = list(zip(forms, tags, strict=True))
        if len(self._cache) > _MEMORY:
            self._cache = {}
        cache = self._cache
        new = [pair for pair in dict.fromkeys(pairs) if pair not in cache]
        fresh = dict(zip(new, self._chosen(new), strict=True))
        for pair in new:
            for key in self._keys(pair):
                if key in self._exceptions:
                    fresh[pair] = self._exceptions[key]
                    break
        cache.update(fresh)
        return [cache[pair] for pair in pairs]

    def _chosen(self, pairs: Sequence[Pair]) -> list[str]:
        """The lemmas that the rules give; the form in lower case where none fits."""
        hashes, fit_ends, fits, known = self._questions(pairs, lambda key, _: key in self._known)
        chosen = np.empty(len(pairs), np.int64)
        choose_rules(hashes, fit_ends, fits, known, self._weights, _BITS, chosen)
        return [
            (self._rules[rule].apply(form) if rule >= 0 else None) or lower_case(form)
            for (form, _), rule in zip(pairs, chosen.tolist(), strict=True)
        ]

    def _questions(
        self, pairs: Sequence[Pair], is_known: Callable[[str, str], bool]
    ) -> tuple[NDArray[np.uint64], Ints, Ints, NDArray[np.uint8]]:
        """Features of the pairs, the rules that fit each, and whether their lemmas are known.

        Args:
            is_known: whether a lemma, after its UPOS, is known, given the form in lower case.
        """
        forms = [form for form, _ in pairs]
        tags = np.array([tag for _, tag in pairs], np.int64)
        hashes = np.empty((len(pairs), LEMMA_FEATURES + 2 * KNOWN_FEATURES), np.uint64)
        atoms = encode_words([forms]).atoms
        lemma_features(atoms, tags, self._classes.coarse, hashes)
        fits: list[int] = []
        ends: list[int] = []
        known: list[bool] = []
        for form, tag in pairs:
            upos, lower = self._classes.tags[tag].upos, lower_case(form)
            for number, lemma in self._fitting(form, upos):
                fits.append(number)
                known.append(is_known(_lemma_key(upos, lemma), lower))
            ends.append(len(fits))
        return (
            hashes,
            np.array(ends, np.int64),
            np.array(fits, np.int64),
            np.array(known, np.uint8),
        )

    def _fitting(self, form: str, upos: str) -> list[tuple[int, str]]:
        """The rules that fit a form, by number, and the lemmas that they make."""
        rules, index = self._rules, self._index
        literal = index.get((upos, False, _LITERAL), ())
        found = [(number, rules[number].literal) for number in literal]
        for keeps_case, base in ((False, lower_case(form)), (True, form)):
            for length in range(min(self._longest, len(base) - 1) + 1):
                end = len(base) - length
                for number in index.get((upos, keeps_case, base[end:]), ()):
                    rule = rules[number]
                    begin = len(rule.cut_before)
                    if begin < end and base.startswith(rule.cut_before):
                        lemma = f"{rule.add_before}{base[begin:end]}{rule.add_after}"
                        found.append((number, lemma))
        return found

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of a model file."""
        distances, values = pack(self._weights)
        return {"distances": distances, "values": values, "known": self._known.table}

    def metadata(self) -> dict[str, Any]:
        """The rest of a model file, as JSON can hold it."""
        by_upos: defaultdict[str, list[int]] = defaultdict(list)
        for upos, number in self._uses:
            by_upos[upos].append(number)
        exceptions: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for (form, upos), lemma in self._exceptions.items():
            exceptions[upos][form] = lemma
        return {"rules": [list(rule) for rule in self._rules], "uses": by_upos} | {
            "exceptions": exceptions
        }

    @classmethod
    def restore(
        cls, classes: Classes, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
    ) -> Lemmatizer:
        """The lemmatiser that gave these arrays and metadata."""
        about = Fields(metadata, "the lemmatiser")
        rules = [_restored_rule(rule) for rule in about.items("rules")]
        size = (1 << _BITS) + len(rules)
        uses = Fields(about.fields("uses"))
        exceptions = {
            (form, upos): column_text(lemma)
            for upos, lemmas in about.fields("exceptions").items()
            for form, lemma in lemmas.items()
        }
        return cls(
            classes,
            rules,
            [
                (upos, number)
                for upos in about.fields("uses")
                for number in uses.below(upos, len(rules)).tolist()
            ],
            exceptions,
            WordSet(tensor(tensors, "known", np.uint8, (None,))),
            unpack(tensors["distances"], tensors["values"], size),
        )


def _restored_rule(values: Any) -> Rule:
    keeps_case, *texts = values
    cut_before, add_before, cut_after, add_after, literal = (
        column_text(one, may_be_empty=True) for one in texts
    )
    return Rule(bool(keeps_case), cut_before, add_before, cut_after, add_after, literal)


def _lemma_key(upos: str, lemma: str) -> str:
    return f"{upos} {lemma}"


def _productive(
    found: Mapping[Pair, Rule], classes: Classes
) -> tuple[list[Rule], list[tuple[str, int]]]:
    """Rules that several forms follow, the most frequent first, and the UPOS tags of each."""
    forms: defaultdict[Rule, set[str]] = defaultdict(set)
    tags: defaultdict[Rule, set[str]] = defaultdict(set)
    for (form, tag), rule in found.items():
        forms[rule].add(lower_case(form))
        tags[rule].add(classes.tags[tag].upos)
    rules = [rule for rule in forms if len(forms[rule]) >= _ENOUGH_FORMS]
    rules.sort(key=lambda rule: (-len(forms[rule]), rule))
    uses = [(upos, number) for number, rule in enumerate(rules) for upos in sorted(tags[rule])]
    return rules, uses
