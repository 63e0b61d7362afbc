"""Words aligned by characters: equality with the official scorer, and what alignment means."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.segmentations import versions

import crossarc as ca
from crossarc.evaluation import head_calibration, paired_bootstrap
from crossarc.treebank import SentenceReader

NAMES = (
    "tokens_f1 sentences_f1 words_f1 upos xpos ufeats alltags lemmas uas las clas mlas blex "
    "elas eulas"
).split()

# Correct, gold and system totals by udtools 0.2.9 (udeval) for `versions(seed)`, in the order of
# NAMES. 331 and 2147 hold sentences of equal words over different characters; in 8 and 64 the
# scorer compares words at the end of a sentence with a multiword token of the next.
# fmt: off
OFFICIAL = {
    0: [
        (12, 24, 17), (4, 8, 6), (22, 30, 33), (14, 30, 33), (13, 30, 33),
        (9, 30, 33), (3, 30, 33), (11, 30, 33), (6, 30, 33), (4, 30, 33),
        (4, 24, 27), (1, 24, 27), (0, 24, 27), (4, 36, 41), (4, 36, 41),
    ],
    1: [
        (20, 24, 21), (3, 6, 6), (28, 34, 40), (17, 34, 40), (18, 34, 40),
        (18, 34, 40), (5, 34, 40), (18, 34, 40), (3, 34, 40), (3, 34, 40),
        (3, 29, 32), (1, 29, 32), (2, 29, 32), (2, 45, 51), (2, 45, 51),
    ],
    2: [
        (20, 24, 23), (2, 8, 5), (26, 29, 35), (14, 29, 35), (21, 29, 35),
        (12, 29, 35), (6, 29, 35), (22, 29, 35), (7, 29, 35), (5, 29, 35),
        (5, 22, 26), (0, 22, 26), (5, 22, 26), (2, 38, 55), (2, 38, 55),
    ],
    3: [
        (21, 24, 24), (6, 6, 6), (24, 29, 39), (15, 29, 39), (16, 29, 39),
        (15, 29, 39), (7, 29, 39), (18, 29, 39), (2, 29, 39), (1, 29, 39),
        (1, 24, 30), (0, 24, 30), (0, 24, 30), (1, 33, 59), (1, 33, 59),
    ],
    4: [
        (11, 24, 15), (2, 2, 2), (22, 35, 35), (12, 35, 35), (18, 35, 35),
        (12, 35, 35), (6, 35, 35), (14, 35, 35), (2, 35, 35), (2, 35, 35),
        (2, 25, 24), (0, 25, 24), (1, 25, 24), (0, 44, 53), (1, 44, 53),
    ],
    5: [
        (20, 24, 21), (3, 6, 4), (24, 39, 31), (15, 39, 31), (17, 39, 31),
        (10, 39, 31), (3, 39, 31), (17, 39, 31), (5, 39, 31), (4, 39, 31),
        (4, 34, 23), (0, 34, 23), (2, 34, 23), (3, 57, 48), (4, 57, 48),
    ],
    8: [
        (17, 24, 21), (2, 5, 5), (18, 38, 30), (13, 38, 30), (16, 38, 30),
        (10, 38, 30), (6, 38, 30), (16, 38, 30), (1, 38, 30), (1, 38, 30),
        (1, 28, 25), (0, 28, 25), (1, 28, 25), (0, 55, 39), (0, 55, 39),
    ],
    64: [
        (18, 24, 20), (3, 7, 5), (23, 38, 29), (14, 38, 29), (21, 38, 29),
        (12, 38, 29), (8, 38, 29), (17, 38, 29), (1, 38, 29), (0, 38, 29),
        (0, 28, 23), (0, 28, 23), (0, 28, 23), (1, 52, 38), (1, 52, 38),
    ],
    331: [
        (14, 24, 17), (1, 5, 3), (20, 31, 32), (12, 31, 32), (9, 31, 32),
        (12, 31, 32), (3, 31, 32), (14, 31, 32), (0, 31, 32), (0, 31, 32),
        (0, 27, 23), (0, 27, 23), (0, 27, 23), (0, 48, 44), (0, 48, 44),
    ],
    2147: [
        (21, 24, 24), (3, 6, 6), (27, 37, 36), (19, 37, 36), (14, 37, 36),
        (15, 37, 36), (3, 37, 36), (22, 37, 36), (8, 37, 36), (6, 37, 36),
        (6, 32, 28), (1, 32, 28), (5, 32, 28), (6, 53, 50), (6, 53, 50),
    ],
}
# fmt: on


def read(text: str) -> SentenceReader:
    return ca.read_conllu(text.split("\n"))


@pytest.mark.parametrize("seed", OFFICIAL)
def test_equal_to_the_official_scorer_to_the_last_digit(seed: int) -> None:
    gold, system = versions(seed)
    scores = ca.evaluate(read(gold), read(system))
    expected = [100 * (2 * c / (g + s)) if g + s else None for c, g, s in OFFICIAL[seed]]
    assert [getattr(scores, name) for name in NAMES] == expected


def sentence(rows: str, **columns: list) -> ca.Sentence:
    """Words separated by spaces; `ab=a+b` is a multiword token."""
    lines, words = [], []
    for row in rows.split():
        token, _, parts = row.partition("=")
        if parts:
            size = len(parts.split("+"))
            lines.append((f"{len(words) + 1}-{len(words) + size}", token))
        for form in parts.split("+") if parts else [token]:
            words.append(form.replace("~", " "))
            lines.append((str(len(words)), words[-1]))
    heads = iter(columns.get("heads", range(len(words))))
    labels = iter(columns.get("deprels", ["nsubj"] * len(words)))
    misc = iter(columns.get("misc", ["_"] * len(words)))
    text = "".join(
        f"{name}\t{form}" + "\t_" * 8 + "\n"
        if "-" in name
        else f"{name}\t{form}\t_\tX\t_\t_\t{next(heads)}\t{next(labels)}\t_\t{next(misc)}\n"
        for name, form in lines
    )
    (built,) = ca.read_conllu([*text.split("\n")])
    return built


@pytest.mark.parametrize(
    ("gold", "system", "aligned", "tokens"),
    [
        # The cases of the official scorer's documentation and of Zeman et al. (2018), by hand.
        ("abcd", "a b c d", 0, 0),
        ("abc d", "a b c d", 1, 1),
        ("a bc d", "a b c d", 2, 2),
        ("abc=a+b+c", "a b c", 3, 0),
        ("a bc=b+c d", "a b cd", 2, 1),
        ("ab=a+b cd=bc+d", "a bc d", 2, 0),
        ("1~000", "1000", 1, 1),
        ("a b", "a\N{NO-BREAK SPACE} b", 2, 2),
        ("AB=A+b", "AB=a+B", 2, 1),
        ("Ab", "Ab=a+b", 0, 1),
        ("ab=x+y+x c", "ab=x+x c", 3, 2),
    ],
)
def test_which_words_are_aligned(gold: str, system: str, aligned: int, tokens: int) -> None:
    g, s = sentence(gold), sentence(system)
    scores = ca.evaluate([g], [s])
    assert scores.words_f1 == 100 * (2 * aligned / (len(g) + len(s)))
    count = len(gold.split()) + len(system.split())
    assert scores.tokens_f1 == 100 * (2 * tokens / count)


def test_case_counts_in_tokens_but_not_inside_multiword_tokens() -> None:
    with pytest.raises(ca.TreebankError, match="word 1 is 'Ab' in gold, and there is 'ab'"):
        ca.evaluate([sentence("Ab c")], [sentence("ab c")])


def test_sentences_split_elsewhere() -> None:
    """Counted by hand: one gold sentence of three is found; of six words d is wrong."""
    gold = [sentence("a b", heads=[0, 1]), sentence("c d", heads=[2, 0]), sentence("e f")]
    system = [sentence("a b c d", heads=[0, 1, 4, 1]), sentence("e f")]
    scores = ca.evaluate(gold, system)
    assert (scores.sentences, scores.words) == (3, 6)
    assert scores.words_f1 == 100
    assert scores.sentences_f1 == 100 * (2 * 1 / 5)
    assert scores.uas == 100 * (5 / 6)
    assert scores.uem == scores.root_accuracy == 100 * (2 * 1 / 5)
    # Gold has root arcs at a, d and e, the system at a and e.
    root = scores.per_length["root"]
    assert (root.gold, root.system, root.correct) == (3, 2, 2)


def test_exact_match_needs_all_words_of_both() -> None:
    gold = [sentence("a b c", heads=[0, 1, 1])]
    merged = [sentence("a bc", heads=[0, 1])]
    scores = ca.evaluate(gold, merged)
    assert scores.sentences_f1 == 100
    assert scores.uem == scores.lem == 0
    assert scores.root_accuracy == 100
    assert scores.uas == 100 * (2 * 1 / 5)
    assert ca.evaluate(merged, gold).uem == 0
    other_root = [sentence("a bc", heads=[2, 0])]
    assert ca.evaluate(gold, other_root).root_accuracy == 0
    assert ca.evaluate([sentence("ab c", heads=[0, 1])], [sentence("a bc")]).root_accuracy == 0


def test_punctuation_of_unaligned_words_is_their_own() -> None:
    """Gold keeps a, b (no `.`); the system keeps `ab` and, by its form, not `.`: F1 2 * 0 / 3."""
    gold, system = sentence("a b ."), sentence("ab .")
    gold.upos = ["X", "X", "PUNCT"]
    scores = ca.evaluate([gold], [system])
    assert scores.uas_nopunct == 0
    system.heads = gold.heads[:2]
    assert ca.evaluate([gold], [gold]).uas_nopunct == 100
    marked, merged = sentence("a . ."), sentence("a ..")
    marked.upos, merged.upos = ["X", "PUNCT", "PUNCT"], ["X", "_"]
    # Kept: a in gold, a in the system, where `..` is punctuation by its form.
    assert ca.evaluate([marked], [merged]).uas_nopunct == 100


def test_calibration_leaves_out_words_that_are_not_aligned() -> None:
    gold = [sentence("a b c d", heads=[0, 1, 1, 3])]
    system = [
        sentence("a bc d", heads=[0, 1, 2], misc=["HeadProb=0.9", "HeadProb=0.8", "HeadProb=0.7"])
    ]
    result = head_calibration(gold, system)
    assert result is not None
    # d is aligned, and its head is not: wrong.
    assert [(b.count, b.accuracy) for b in result.bins if b.count] == [(1, 0.0), (1, 1.0)]


def test_words_without_their_multiword_tokens_are_aligned_one_by_one() -> None:
    """The text of `du` is lost where its row is, but the words are the same."""
    gold = [sentence("du=de+le chat"), sentence("x y")]
    system = [gold[0].words_only(), gold[1]]
    scores = ca.evaluate(gold, system)
    assert scores.uas == scores.words_f1 == 100
    # Gold: du chat x y; system: de le chat x y; in common: chat x y.
    assert scores.tokens_f1 == 100 * (2 * 3 / 9)


def test_invalid_sentences_behind_lost_multiword_tokens_are_not_passed_over() -> None:
    """The text `dux` goes on behind `d u`, and so reading does."""
    gold = sentence("dux=d+u")
    lines = [*gold.words_only().to_conllu().split("\n"), "1 no tabs", ""]
    with pytest.raises(ca.TreebankError, match="expected 10 columns"):
        ca.evaluate([gold], ca.read_conllu(lines))
    assert ca.evaluate([gold], ca.read_conllu(lines[:-2])).words_f1 == 100


def test_significance_needs_the_same_words() -> None:
    gold, other = [sentence("a b c")], [sentence("a bc")]
    with pytest.raises(ca.TreebankError, match="gold has 3 words and system b has 2"):
        paired_bootstrap(gold, gold, other)
    with pytest.raises(ca.TreebankError, match="word 3 is 'c' in gold and 'C' in system a"):
        paired_bootstrap(gold, [sentence("a b C")], gold)


def test_differences_name_files_lines_and_code_points(tmp_path: Path) -> None:
    row = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t_\n"
    head = "# sent_id = s1\n# text = x\n" + row.format(1, "a", 0)
    (tmp_path / "gold").write_text(head + row.format(2, "\u00e9", 1) + "\n", encoding="utf-8")
    (tmp_path / "system").write_text("\n" + head + row.format(2, "e\u0301", 1) + "\n")
    with pytest.raises(ca.TreebankError) as caught:
        ca.evaluate(ca.read_conllu(tmp_path / "gold"), ca.read_conllu(tmp_path / "system"))
    assert str(caught.value) == (
        f"{tmp_path}/gold:4 (sentence s1): word 2 is 'é' (U+00E9) in gold, and there is "
        f"'e\u0301' (U+0065 U+0301) in system ({tmp_path}/system:5). "
        "Compare treebanks of the same text, spaces aside."
    )
    more = (tmp_path / "gold").read_text(encoding="utf-8") + head + "\n"
    (tmp_path / "more").write_text(more, encoding="utf-8")
    with pytest.raises(ca.TreebankError, match=rf"sentence 2 \(sent_id s1\) of gold \({tmp_path}/"):
        ca.evaluate(ca.read_conllu(tmp_path / "more"), ca.read_conllu(tmp_path / "gold"))


def test_enhanced_dependencies_that_cannot_be_read_are_named() -> None:
    for deps in ("obj", "x:obj", "1:obj|2"):
        broken = sentence("a b")
        broken.deps = ["_", deps]
        with pytest.raises(ca.TreebankError, match=r"^<stream>:2: word 2 has '.*' in DEPS"):
            ca.evaluate([sentence("a b")], [broken])
        with pytest.raises(ca.TreebankError, match=r"^<stream>:2: word 2 has '.*' in DEPS"):
            ca.evaluate([broken], [sentence("ab")])


def test_one_sentence_is_not_a_treebank() -> None:
    with pytest.raises(ca.TreebankError, match=r"gold must be sentences, not one Sentence"):
        ca.evaluate(sentence("a"), [sentence("a")])
