"""Small sentences to learn from."""

from __future__ import annotations

import numpy as np

from crossarc import Sentence

WORKED = Sentence.build(
    ["Our", "dogs", "often", "chase", "cats", "."],
    lemmas=["we", "dog", "often", "chase", "cat", "."],
    upos=["PRON", "NOUN", "ADV", "VERB", "NOUN", "PUNCT"],
    xpos=["PRP$", "NNS", "RB", "VBP", "NNS", "."],
    feats=["Number=Plur|Poss=Yes", "Number=Plur", "_", "Tense=Pres", "Number=Plur", "_"],
    heads=[2, 4, 4, 0, 4, 4],
    deprels=["nmod:poss", "nsubj", "advmod", "root", "obj", "punct"],
)


def toy_treebank(sentences: int, seed: int) -> list[Sentence]:
    """Verbs take the noun before them as subject and the one behind as object; DETs precede.

    The language is unambiguous, so that a learner can get every arc right.
    """
    chance = np.random.default_rng(seed)
    result = []
    for _ in range(sentences):
        forms, upos, heads, deprels = [], [], [], []
        for relation in ("nsubj", "root", "obj"):
            if relation == "root":
                forms.append(f"v{chance.integers(5)}")
                upos.append("VERB")
                heads.append(0)
            else:
                if chance.random() < 0.5:
                    forms.append("the")
                    upos.append("DET")
                    heads.append(len(forms) + 1)
                    deprels.append("det")
                forms.append(f"n{chance.integers(8)}")
                upos.append("NOUN")
                heads.append(-1)
            deprels.append(relation)
        verb = upos.index("VERB") + 1
        result.append(
            Sentence.build(
                forms, upos=upos, heads=[verb if h < 0 else h for h in heads], deprels=deprels
            )
        )
    return result
