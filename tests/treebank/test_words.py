"""Words as views of a sentence's columns."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trees import trees

import crossarc as ca
from crossarc.treebank import EmptyNode, MultiwordToken, Word, sample


@pytest.fixture
def letter() -> ca.Sentence:
    """en-001: A letter finally arrived that nobody could read ."""
    return sample("en")[0]


def ids(words: tuple[Word, ...]) -> list[int]:
    return [word.id for word in words]


def test_every_column_of_every_word() -> None:
    for sentence in sample():
        words = list(sentence)
        assert [word.id for word in words] == list(range(1, len(sentence) + 1))
        assert tuple(word.form for word in words) == sentence.forms
        assert tuple(word.lemma for word in words) == sentence.lemmas
        assert tuple(word.upos for word in words) == sentence.upos
        assert tuple(word.xpos for word in words) == sentence.xpos
        assert tuple(word.feats for word in words) == sentence.feats
        assert tuple(word.feats_dict for word in words) == sentence.feats_dict
        assert [word.head for word in words] == sentence.heads.tolist()
        assert tuple(word.deprel for word in words) == sentence.deprels
        assert tuple(word.deps for word in words) == sentence.deps
        assert tuple(word.misc for word in words) == sentence.misc
        assert all(type(word.head) is int for word in words)


def test_indices_and_slices(letter: ca.Sentence) -> None:
    assert letter[0].form == "A"
    assert letter[0].id == 1
    assert letter[-1].form == "."
    assert ids(letter[1:3]) == [2, 3]
    assert ids(letter[::-4]) == [9, 5, 1]
    assert letter[5:2] == ()
    assert [word.form for word in reversed(letter)] == list(letter.forms)[::-1]
    for index in (9, -10):
        with pytest.raises(IndexError, match=f"index {index} is out of range: .* 9 words"):
            letter[index]
    with pytest.raises(TypeError):
        letter["form"]  # type: ignore[call-overload]


def test_relations_between_words(letter: ca.Sentence) -> None:
    """Read off the drawing of en-001: 2 -> 1, 4 -> 2, 4 -> 3, 8 -> 5, 6, 7, 2 -> 8, 4 -> 9."""
    arrived, read = letter[3], letter[7]
    assert letter.root == arrived
    assert letter.roots == (arrived,)
    assert arrived.is_root
    assert arrived.parent is None
    assert not read.is_root
    assert read.parent == letter[1]
    assert ids(arrived.children) == [2, 3, 9]
    assert ids(letter[0].children) == []
    assert ids(read.ancestors) == [2, 4]
    assert ids(letter[1].subtree) == [1, 2, 5, 6, 7, 8]
    assert ids(arrived.subtree) == list(range(1, 10))
    assert ids(letter[0].path(letter[5])) == [1, 2, 8, 6]
    assert ids(letter[5].path(letter[6])) == [6, 8, 7]
    assert ids(read.path(arrived)) == [8, 2, 4]
    assert ids(arrived.path(read)) == [4, 2, 8]
    assert ids(read.path(read)) == [8]


@given(trees(max_words=9), st.data())
def test_relations_follow_the_heads(heads: list[int], data: st.DataObject) -> None:
    """Against definitions over sets of arcs; a path is a walk without repetition."""
    sentence = ca.Sentence.build(["w"] * len(heads), heads=heads)
    below = {word: {word} for word in range(1, len(heads) + 1)}
    for _ in heads:
        for word, head in enumerate(heads, 1):
            if head:
                below[head] |= below[word]
    for word in sentence:
        assert ids(word.subtree) == sorted(below[word.id])
        assert ids(word.children) == [m for m, h in enumerate(heads, 1) if h == word.id]
        assert set(ids(word.ancestors)) == {
            u for u, under in below.items() if word.id in under and u != word.id
        }
    a, b = (data.draw(st.sampled_from(list(sentence))) for _ in range(2))
    path = ids(a.path(b))
    assert (path[0], path[-1]) == (a.id, b.id)
    assert len(set(path)) == len(path)
    for left, right in itertools.pairwise(path):
        joined = left == heads[right - 1] or right == heads[left - 1]
        assert joined or heads[left - 1] == heads[right - 1] == 0
    assert ids(b.path(a)) == path[::-1]


def test_assignment_writes_one_field(letter: ca.Sentence) -> None:
    before = bytes(letter).decode()
    letter[2].upos = "PART"
    letter[7].deprel = "acl"
    letter[7].head = 4
    letter[8].parent = letter[7]
    letter[0].misc = "Gloss=one"
    after = before.replace("\tfinally\tfinally\tADV\t", "\tfinally\tfinally\tPART\t")
    after = after.replace("\t2\tacl:relcl\t", "\t4\tacl\t")
    after = after.replace("\t4\tpunct\t", "\t8\tpunct\t")
    after = after.replace("\t2\tdet\t_\t_\n", "\t2\tdet\t_\tGloss=one\n")
    assert bytes(letter).decode() == after
    assert letter.upos[2] == "PART"
    assert letter.heads.tolist() == [2, 4, 4, 0, 8, 8, 8, 4, 8]
    letter[3].parent = None
    letter[8].head = -1
    assert letter[3].head == 0
    assert letter[8].parent is None
    assert not letter[8].is_root
    assert letter.to_conllu().split("\n")[-3].split("\t")[6] == "_"


def test_writing_around_ranges_and_empty_nodes() -> None:
    """The id of a word is not its row."""
    sentence = next(s for s in sample("fr") if s.multiword_tokens)
    old = sentence.to_conllu().split("\n")
    sentence[4].form = "voisins"
    new = sentence.to_conllu().split("\n")
    changed = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert [b.split("\t")[:2] for _, b in changed] == [["5", "voisins"]]


def test_refused_assignments(letter: ca.Sentence) -> None:
    before = bytes(letter)
    with pytest.raises(ca.TreebankError, match="a cycle: 2 -> 8 -> 2"):
        letter[1].head = 8
    with pytest.raises(ca.TreebankError, match="word 1 has head 10, but there are only 9 words"):
        letter[0].head = 10
    with pytest.raises(ca.TreebankError, match="whole numbers"):
        letter[0].head = 2.5  # type: ignore[assignment]
    with pytest.raises(ca.TreebankError, match="assign the Word to parent"):
        letter[0].head = letter[1]  # type: ignore[assignment]
    with pytest.raises(ca.TreebankError, match="a word of the same sentence"):
        letter[0].parent = sample("en")[0][3]
    with pytest.raises(ca.TreebankError, match="empty or holds a tab"):
        letter[0].upos = "a\tb"
    with pytest.raises(ca.TreebankError, match="must be a string: got 3"):
        letter[0].upos = 3  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        letter[0].id = 3  # type: ignore[misc]
    assert bytes(letter) == before


def test_equality(letter: ca.Sentence) -> None:
    assert letter[0] == letter[0]
    assert letter[0] is not letter[0]
    assert letter[0] != letter[1]
    assert letter[0] != letter.copy()[0]
    assert letter[0] != "A"
    assert len({letter[0], letter[0], letter[1]}) == 2
    assert letter[3] in letter
    assert letter.copy()[3] not in letter
    assert pickle.loads(pickle.dumps(letter[3])).form == "arrived"


def test_probabilities() -> None:
    sentence = ca.Sentence.build(
        ["a", "b", "c", "d"],
        heads=[0, 1, 1, 1],
        misc=["HeadProb=0.9731", "_", "SpaceAfter=No|HeadProb=1|X=2", "NoHeadProb=3"],
    )
    assert [word.probability for word in sentence] == [0.9731, None, 1.0, None]
    sentence[1].misc = "HeadProb=high"
    with pytest.raises(ca.TreebankError, match="word 2 has HeadProb=high, which is not a number"):
        _ = sentence[1].probability


def test_several_roots_and_missing_heads() -> None:
    sentence = ca.Sentence.build(["a", "b", "c", "d"], heads=[0, 1, 0, -1])
    assert ids(sentence.roots) == [1, 3]
    with pytest.raises(ca.TreebankError, match=r"2 words have head 0, not one: use sentence.roots"):
        _ = sentence.root
    assert ids(sentence[1].path(sentence[2])) == [2, 1, 3]
    with pytest.raises(ca.TreebankError, match="no path from word 2 to word 4: word 4 has no head"):
        sentence[1].path(sentence[3])
    with pytest.raises(ca.TreebankError, match="no path from word 4 to word 2: word 4 has no head"):
        sentence[3].path(sentence[1])
    with pytest.raises(ca.TreebankError, match="words of one sentence"):
        sentence[0].path(sentence.copy()[0])
    with pytest.raises(ca.TreebankError, match="0 words have head 0"):
        _ = ca.Sentence.build(["a"]).root


def test_multiword_tokens_and_empty_nodes() -> None:
    sentence = next(s for s in sample("fr") if s.multiword_tokens)
    assert sentence[1].multiword_token is None
    assert sentence[2].multiword_token == MultiwordToken(3, 4, "du", "_")
    assert sentence[3].multiword_token == MultiwordToken(3, 4, "du", "_")
    assert sentence[4].multiword_token is None
    elided = next(s for s in sample("en") if s.empty_nodes)
    assert isinstance(elided.empty_nodes[0], EmptyNode)
    assert (elided.empty_nodes[0].id, elided.empty_nodes[0].form) == ("5.1", "ordered")


def test_repr(letter: ca.Sentence) -> None:
    assert repr(letter[2]) == "<Word 3 'finally' ADV, advmod, head 4>"
    assert repr(ca.Sentence.build(["a"])[0]) == "<Word 1 'a', no head>"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("text", "use word.form"),
        ("i", "use word.id, which counts from 1"),
        ("ord", "use word.id"),
        ("dep_", "use word.deprel"),
        ("pos_", "use word.upos"),
        ("tag_", "use word.xpos"),
        ("lemma_", "use word.lemma"),
        ("morph", "use word.feats_dict"),
        ("descendants", "use word.subtree, which holds the word too"),
        ("lefts", "use [child for child in word.children if child.id < word.id]"),
        ("udeprel", "use word.deprel.partition(':')[0]"),
    ],
)
def test_names_of_other_libraries_are_explained(
    letter: ca.Sentence, name: str, advice: str
) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(letter[0], name)
    assert str(caught.value).startswith(f"Word has no attribute '{name}': {advice}")


def test_other_ways_to_ask_are_explained(letter: ca.Sentence) -> None:
    with pytest.raises(AttributeError, match=r"'metadata': use sentence.comments, or comment\('k"):
        _ = letter.metadata  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'words': use the sentence itself: for word in"):
        _ = letter.words  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"^Sentence has no attribute 'nonsense'$"):
        _ = letter.nonsense  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"^Word has no attribute 'nonsense'$"):
        _ = letter[0].nonsense  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"use word.form and so on, not 'form'"):
        letter[0]["form"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        letter[0].dep_ = "x"  # type: ignore[attr-defined]
    with pytest.raises(ca.TreebankError, match=r"Use \[sentence\]"):
        ca.write_conllu(letter, "nowhere.conllu")  # type: ignore[arg-type]


def test_every_advice_names_what_is_there(letter: ca.Sentence) -> None:
    from crossarc.treebank.hints import SENTENCE, WORD

    for value, table in ((letter[3], WORD), (letter, SENTENCE)):
        for name, used in table.items():
            assert not hasattr(type(value), name)
            start = used.partition(".")[0].partition("(")[0].partition(",")[0].partition("[")[0]
            if start.isidentifier() and start != "crossarc":
                assert hasattr(type(value), start), used


def test_lines_of_a_file() -> None:
    """Counted by hand: a blank line first, comments, a range, an empty node."""
    row = "{}\tw\t_\t_\t_\t_\t{}\t_\t_\t_\n"
    text = (
        "\n# sent_id = one\n" + row.format(1, 0) + "\n\n"
        "# sent_id = two\n# text = x\n"
        + row.format("1-2", "_")
        + row.format(1, 0)
        + row.format("1.1", "_")
        + row.format(2, "_")
        + "\n"
    )
    one, two = ca.read_conllu(text.splitlines())
    assert (one.source, one.line, one[0].line) == ("<stream>", 2, 3)
    assert (two.line, two[0].line, two[1].line) == (6, 9, 11)
    with pytest.raises(
        ca.TreebankError, match=r"^<stream>:11 \(sentence two\): word 2 has no head"
    ):
        _ = two.tree
    assert two.copy()[1].line == 11
    assert two.words_only().line is None
    built = ca.Sentence.build(["a"])
    assert (built.source, built.line, built[0].line) == (None, None, None)


def test_sentences_without_all_heads_are_tables_in_notebooks() -> None:
    sentence = ca.Sentence.build(["a<b", "c"], heads=[0, -1], deprels=["root", "_"])
    table = sentence._repr_html_()
    assert table is not None
    assert "<td>a&lt;b</td><td>_</td><td>0</td><td>root</td>" in table
    assert "<td>c</td><td>_</td><td>_</td><td>_</td>" in table
    assert table.count("<tr>") == 3
    sentence.heads = [0, 1]
    assert sentence._repr_html_() is None
