"""evaluate against a literal reading of the definitions, word by word, and its laws."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

import crossarc as ca
from crossarc.evaluation import LENGTHS
from crossarc.treebank import sample

CONTENT = {"nsubj", "obj", "conj", "root", "advcl"}  # of the labels drawn below
FUNCTION = {"aux", "case", "det"}
LABELS = ["nsubj", "nsubj:pass", "obj", "conj", "root", "advcl", "aux", "aux:pass", "case", "det"]
FORMS = ["a", "B", ",", "«.»", "$", "x."]
FEATURES = [
    "_",
    "Case=Nom",
    "Case=Acc|Number=Sing",
    "Number=Sing|Case=Acc",
    "AdpType=Prep|Case=Nom",
    "InflClass=A",
    "Typo=Yes|Gender=Fem,Masc",
]


class Pair(NamedTuple):
    gold: list[ca.Sentence]
    system: list[ca.Sentence]


@st.composite
def heads(draw, n: int) -> list[int]:
    """Any tree, of one root or several: words in some order, each below an earlier one."""
    order = draw(st.permutations(range(1, n + 1)))
    result = [0] * n
    for k, word in enumerate(order):
        result[word - 1] = draw(st.sampled_from([0, *order[:k]]))
    return result


@st.composite
def analyses(draw, n: int) -> dict[str, list]:
    def column(values: list[str]) -> list[str]:
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    return {
        "heads": draw(heads(n)),
        "deprels": column([*LABELS, "punct", "made:up"]),
        "upos": column(["NOUN", "PUNCT", "_"]),
        "xpos": column(["x", "y"]),
        "feats": column(FEATURES),
        "lemmas": column(["_", "a", "b"]),
    }


@st.composite
def pairs(draw) -> Pair:
    """Sentences and what a system made of them: any column may be wrong or as in gold."""
    gold, system = [], []
    for _ in range(draw(st.integers(1, 3))):
        forms = draw(st.lists(st.sampled_from(FORMS), min_size=1, max_size=7))
        right, other = draw(analyses(len(forms))), draw(analyses(len(forms)))
        wrong = draw(st.sets(st.sampled_from(sorted(right))))
        mixed = {name: (other if name in wrong else right)[name] for name in right}
        gold.append(ca.Sentence.build(forms, **right))
        system.append(ca.Sentence.build(forms, **mixed))
    return Pair(gold, system)


def base(label: str) -> str:
    return label.split(":")[0]


def universal(features: str) -> set[str]:
    return {f for f in features.split("|") if f.split("=")[0] in {"Case", "Number", "Gender"}}


def below(word: int, heads: list[int]) -> set[int]:
    found = {word}
    for _ in heads:
        found |= {m for m, h in enumerate(heads, start=1) if h in found}
    return found


def crosses(word: int, heads: list[int]) -> bool:
    """The head does not dominate every word between it and the word."""
    head = heads[word - 1]
    between = range(min(word, head) + 1, max(word, head))
    return head > 0 and not set(between) <= below(head, heads)


class Word:
    """One word of one sentence, with everything that scores compare."""

    def __init__(self, sentence: ca.Sentence, i: int) -> None:
        self.number = i + 1
        self.head = int(sentence.heads[i])
        self.label = sentence.deprels[i]
        self.base = base(self.label)
        self.upos = sentence.upos[i]
        self.xpos = sentence.xpos[i]
        self.feats = universal(sentence.feats[i])
        self.lemma = sentence.lemmas[i]
        self.tags = (self.upos, self.feats)
        self.crosses = crosses(i + 1, sentence.heads.tolist())
        self.children = [
            (m, base(sentence.deprels[m]), sentence.upos[m], universal(sentence.feats[m]))
            for m, h in enumerate(sentence.heads)
            if h == i + 1 and base(sentence.deprels[m]) in FUNCTION
        ]
        form = sentence.forms[i]
        self.punctuation = self.upos == "PUNCT" or (self.upos == "_" and form in (",", "«.»"))

    def key(self, *names: str) -> tuple:
        return tuple(getattr(self, name) for name in names)


def percent(part: int, whole: int) -> float | None:
    return 100 * (part / whole) if whole else None


def reference(pair: Pair) -> dict[str, float | None]:
    """Every score by its definition."""
    both = [
        [(Word(g, i), Word(s, i)) for i in range(len(g))]
        for g, s in zip(pair.gold, pair.system, strict=True)
    ]
    words = [w for sentence in both for w in sentence]
    kept = [(g, s) for g, s in words if not g.punctuation]

    def right(words: list, *names: str) -> int:
        return sum(g.key(*names) == s.key(*names) for g, s in words)

    content = [(g, s) for g, s in words if g.base in CONTENT]
    total = len(content) + sum(s.base in CONTENT for _, s in words)

    def f1(correct: int) -> float | None:
        return percent(2 * correct, total)

    lemma_right = [(g, s) for g, s in words if g.lemma in ("_", s.lemma)]
    gold_crossing = [(g, s) for g, s in words if g.crosses]
    system_crossing = [(g, s) for g, s in words if s.crosses]
    precision = percent(right(system_crossing, "head"), len(system_crossing))
    recall = percent(right(gold_crossing, "head"), len(gold_crossing))
    harmonic = None
    if precision is not None and recall is not None:
        harmonic = 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def sentences(test) -> float:
        return 100 * (sum(map(test, both)) / len(both))

    return {
        "sentences": len(both),
        "words": len(words),
        "uas": percent(right(words, "head"), len(words)),
        "las": percent(right(words, "head", "base"), len(words)),
        "las_full": percent(right(words, "head", "label"), len(words)),
        "clas": f1(right(content, "head", "base")),
        "mlas": f1(right(content, "head", "base", "tags", "children")),
        "blex": f1(right([w for w in content if w in lemma_right], "head", "base")),
        "upos": percent(right(words, "upos"), len(words)),
        "xpos": percent(right(words, "xpos"), len(words)),
        "ufeats": percent(right(words, "feats"), len(words)),
        "alltags": percent(right(words, "tags", "xpos"), len(words)),
        "lemmas": percent(len(lemma_right), len(words)),
        "tokens_f1": 100.0,
        "sentences_f1": 100.0,
        "words_f1": 100.0,
        "elas": None,
        "eulas": None,
        "uem": sentences(lambda ws: all(g.head == s.head for g, s in ws)),
        "lem": sentences(
            lambda ws: all(g.key("head", "label") == s.key("head", "label") for g, s in ws)
        ),
        "root_accuracy": sentences(
            lambda ws: (
                {g.number for g, _ in ws if g.head == 0} == {s.number for _, s in ws if s.head == 0}
            )
        ),
        "uas_nopunct": percent(right(kept, "head"), len(kept)),
        "las_nopunct": percent(right(kept, "head", "base"), len(kept)),
        "las_full_nopunct": percent(right(kept, "head", "label"), len(kept)),
        "nonprojective_precision": precision,
        "nonprojective_recall": recall,
        "nonprojective_f1": harmonic,
    }


@given(pairs())
@settings(max_examples=300)
def test_every_score_is_its_definition(pair):
    assert ca.evaluate(*pair).to_dict() == reference(pair)


@given(pairs())
def test_tables_count_arcs_one_by_one(pair):
    arcs = [
        (Word(g, i), Word(s, i))
        for g, s in zip(pair.gold, pair.system, strict=True)
        for i in range(len(g))
    ]

    def length(word: Word) -> str:
        distance = abs(word.head - word.number)
        return "root" if not word.head else "3-6" if distance > 2 else str(distance)

    def expected(kind, correct) -> dict[str, tuple[int, int, int]]:
        names = {kind(word) for pair in arcs for word in pair}
        return {
            name: (
                sum(kind(g) == name for g, _ in arcs),
                sum(kind(s) == name for _, s in arcs),
                sum(kind(g) == kind(s) == name and correct(g, s) for g, s in arcs),
            )
            for name in names
        }

    scores = ca.evaluate(*pair)
    labels = {name: (c.gold, c.system, c.correct) for name, c in scores.per_label.items()}
    lengths = {name: (c.gold, c.system, c.correct) for name, c in scores.per_length.items()}
    head_right = lambda g, s: g.head == s.head  # noqa: E731
    assert labels == expected(lambda word: word.label, head_right)
    nothing = dict.fromkeys(LENGTHS, (0, 0, 0))
    assert lengths == nothing | expected(length, head_right)


def test_bounds_of_the_distances():
    """Word 1 heads all others: one arc each of length 1 to 16."""
    star = ca.Sentence.build(["w"] * 17, heads=[0] + [1] * 16)
    rows = ca.evaluate([star], [star]).per_length
    assert [rows[name].gold for name in LENGTHS] == [1, 1, 1, 4, 8, 2]


@given(pairs())
def test_gold_against_itself_is_perfect(pair):
    scores = ca.evaluate(pair.gold, pair.gold).to_dict()
    del scores["sentences"], scores["words"]
    content = {base(label) for sentence in pair.gold for label in sentence.deprels} & CONTENT
    for name in ("clas", "mlas", "blex"):
        # The official scorer gives 0 where there is no content word.
        assert scores.pop(name) == (100 if content else None)
    assert set(scores.values()) <= {100, None}
    assert all(scores[name] == 100 for name in ("uas", "las", "lem", "root_accuracy", "alltags"))


@given(pairs())
def test_stricter_scores_are_lower(pair):
    s = ca.evaluate(*pair)
    assert s.las_full <= s.las <= s.uas
    assert (s.mlas is None) == (s.blex is None) == (s.clas is None)
    if s.clas is not None:
        assert s.mlas <= s.clas
        assert s.blex <= s.clas
    assert s.lem <= s.uem <= s.root_accuracy
    assert s.alltags <= min(s.upos, s.xpos, s.ufeats)


@given(pairs(), st.randoms(use_true_random=False))
def test_order_of_features_is_irrelevant(pair, chance):
    shuffled = [sentence.copy() for sentence in pair.system]
    for sentence in shuffled:
        features = [f.split("|") for f in sentence.feats]
        for f in features:
            chance.shuffle(f)
        sentence.feats = ["|".join(f) for f in features]
    assert ca.evaluate(pair.gold, shuffled) == ca.evaluate(*pair)


@given(pairs())
@settings(max_examples=20)
def test_batches_leave_no_trace(pair):
    """Percentages of a treebank repeated over several batches are its own; a generator will do."""
    once = ca.evaluate(*pair)
    times = 5000 // once.words + 1
    again = ca.evaluate(iter(pair.gold * times), iter(pair.system * times))
    repeated = {"sentences": times * once.sentences, "words": times * once.words}
    assert again.to_dict() == once.to_dict() | repeated
    for name, counts in once.per_label.items():
        assert again.per_label[name].correct == times * counts.correct


def test_repr_and_notebook_table():
    scores = ca.evaluate(sample(), sample())
    assert repr(scores) == "<Scores UAS 100.00, LAS 100.00: 1,008 words, 126 sentences>"
    table = scores._repr_html_()
    assert table.count("<tr>") == len(scores.to_dict())
    assert '<td style="text-align: left">words</td><td>1,008</td>' in table
