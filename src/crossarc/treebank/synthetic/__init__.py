"""Seeded random treebanks, for load tests and for checking what learning recovers.

A sentence is made as in the grammatical bigram model (Paskin 2001; McDonald and Satta 2007, section
4.4), with tags between heads and words:

    n  ~  lengths              the number of words
    T  ~  p(T | n)             the bare tree, uniform among the projective trees of n words; for
                               sentences that have to cross, one subtree is then moved away
    t  ~  root                 the tag of a word that hangs from the artificial root
    t' ~  attachment[d, t]     the tag of a dependent on side d of a word with tag t
    w  ~  emission[t]          the form of a word with tag t

and relation[d, t, t'] is the label of an arc. The tree is drawn before the tags, so that lengths
and non-projectivity leave the probabilities of tags, labels and words as the grammar states them,
and counts converge to its parameters.
"""

from __future__ import annotations

from crossarc.treebank.synthetic.generate import generate
from crossarc.treebank.synthetic.grammar import LEFT, RIGHT, Grammar, random_grammar
from crossarc.treebank.synthetic.lengths import (
    geometric_lengths,
    poisson_lengths,
    uniform_lengths,
)

__all__ = [
    "LEFT",
    "RIGHT",
    "Grammar",
    "generate",
    "geometric_lengths",
    "poisson_lengths",
    "random_grammar",
    "uniform_lengths",
]
