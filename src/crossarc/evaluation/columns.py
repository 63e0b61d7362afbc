"""What Universal Dependencies says about the values of the columns that are scored.

The three sets are those of the CoNLL 2018 shared task (Zeman et al. 2018, section 5): relations
of content words, relations of function words, and the features that count as universal.
"""

from __future__ import annotations

import unicodedata

__all__ = [
    "CONTENT_RELATIONS",
    "FUNCTION_RELATIONS",
    "UNIVERSAL_FEATURES",
    "Codes",
    "FeatureCodes",
    "is_punctuation",
    "universal_features",
    "universal_relation",
]

_CONTENT = """
    acl advcl advmod amod appos ccomp compound conj csubj dep discourse dislocated expl fixed flat
    goeswith iobj list nmod nsubj nummod obj obl orphan parataxis reparandum root vocative xcomp
"""
_FUNCTION = "aux case cc clf cop det mark"
_UNIVERSAL = """
    Abbr Animacy Aspect Case Definite Degree Evident Foreign Gender Mood NumType Number Person
    Polarity Polite Poss PronType Reflex Tense VerbForm Voice
"""
CONTENT_RELATIONS = frozenset(_CONTENT.split())
FUNCTION_RELATIONS = frozenset(_FUNCTION.split())
UNIVERSAL_FEATURES = frozenset(_UNIVERSAL.split())


def universal_relation(label: str) -> str:
    """The relation without its subtype: `nsubj` for `nsubj:pass`."""
    return label.partition(":")[0]


def universal_features(features: str) -> str:
    """The universal features of a FEATS value, in alphabetical order; empty for `_`."""
    return "|".join(
        sorted(f for f in features.split("|") if f.partition("=")[0] in UNIVERSAL_FEATURES)
    )


def is_punctuation(form: str) -> bool:
    """Whether every character is in a Unicode punctuation category.

    This is what CoNLL-X left out of its scores (Buchholz and Marsi 2006).
    """
    return bool(form) and all(unicodedata.category(c).startswith("P") for c in form)


class Codes(dict[str, int]):
    """Numbers strings 0, 1, ... in the order in which they are first looked up."""

    def __missing__(self, key: str) -> int:
        code = self[key] = len(self)
        return code


class FeatureCodes(dict[str, int]):
    """Numbers FEATS values; two get the same number if their universal features are the same."""

    def __init__(self) -> None:
        super().__init__()
        self._universal = Codes()

    def __missing__(self, key: str) -> int:
        code = self[key] = self._universal[universal_features(key)]
        return code
