"""A sentence with a multiword token, an empty node and enhanced arcs; made up for these tests."""

from __future__ import annotations

from crossarc import Sentence, read_conllu

ROWS = """\
# sent_id = e1
# text = Sue likes coffee and Bill tea, doesn't he?
1 Sue Sue PROPN NNP Number=Sing 2 nsubj 2:nsubj _
2 likes like VERB VBZ Mood=Ind|Tense=Pres 0 root 0:root _
3 coffee coffee NOUN NN Number=Sing 2 obj 2:obj _
4 and and CCONJ CC _ 5 cc 5.1:cc _
5 Bill Bill PROPN NNP Number=Sing 2 conj 5.1:nsubj _
5.1 likes like VERB VBZ Mood=Ind _ _ 2:conj:and _
6 tea tea NOUN NN Number=Sing 5 orphan 5.1:obj SpaceAfter=No
7 , , PUNCT , _ 8 punct 8:punct _
8-9 doesn't _ _ _ _ _ _ _ _
8 does do AUX VBZ _ 2 parataxis 2:parataxis:tag _
9 n't not PART RB _ 8 advmod 8:advmod _
10 he he PRON PRP Case=Nom 8 nsubj 8:nsubj|2:ref SpaceAfter=No
11 ? ? PUNCT . _ 2 punct 2:punct _
"""
CONLLU = (
    "\n".join(row if row.startswith("#") else row.replace(" ", "\t") for row in ROWS.splitlines())
    + "\n\n"
)


def annotated() -> Sentence:
    (sentence,) = read_conllu(CONLLU.splitlines(keepends=True))
    return sentence
