"""A tokeniser follows the treebank it learned from; what to expect is plain from that treebank."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest
from support.compiled import from_python
from support.text import treebank

import crossarc as ca
from crossarc.text import Tokenizer, raw_text, read_text, rebuild_text
from crossarc.text.characters import characters
from crossarc.text.decisions import find_sentences
from crossarc.text.features import SPACED, mix
from crossarc.treebank import sample

NAMES = "Smith Jones Brown Miller Baker Cook Hill Wood".split()
VERBS = "came slept left waited sang cooked read wrote".split()
ENGLISH = treebank(
    [f"Dr. {name} {verb}|." for name in NAMES for verb in VERBS]
    + [
        f"{name} {verb}|, and Mr. {NAMES[k]} {verb}|!"
        for k, verb in enumerate(VERBS)
        for name in NAMES
    ]
    + [f"She [doesn't:does n't] know that {name} {verb}|." for name in NAMES for verb in VERBS]
    + [f"Is [{name}'s:{name} 's] letter (|here|)|?" for name in NAMES]
    + [f"It costs {k}.50 in the U.S. today|." for k in range(20, 60)]
    + [f"Write to {name.lower()}@example.org|, or see www.{name.lower()}.org|." for name in NAMES]
)


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return Tokenizer.learn(ENGLISH)


def forms(tokenizer: Tokenizer, text: str) -> list[list[str]]:
    return [list(sentence.forms) for sentence in tokenizer.tokenize(text)]


def test_abbreviations_stay_whole_and_end_no_sentence(english):
    """Hall is not in the treebank, Dr. and Mr. are."""
    assert forms(english, "Dr. Hall came. Mr. Hall left!") == [
        ["Dr.", "Hall", "came", "."],
        ["Mr.", "Hall", "left", "!"],
    ]


def test_addresses_and_numbers_stay_whole(english):
    assert forms(english, "It costs 47.50, or see www.hall.org. Write to hall@example.org.") == [
        ["It", "costs", "47.50", ",", "or", "see", "www.hall.org", "."],
        ["Write", "to", "hall@example.org", "."],
    ]


def test_multiword_tokens_are_ranges(english):
    """`doesn't` is known; `Hall's` follows the suffix rule of eight names."""
    (first, second) = english.tokenize("She doesn't know. Is Hall's letter here?")
    assert first.forms == ("She", "does", "n't", "know", ".")
    assert [tuple(token) for token in first.multiword_tokens] == [(2, 3, "doesn't", "_")]
    assert second.forms == ("Is", "Hall", "'s", "letter", "here", "?")
    assert first.text == "She doesn't know."


def test_split_words_keep_their_case(english):
    (sentence,) = english.tokenize("She DOESN'T know.")
    assert sentence.forms == ("She", "DOES", "N'T", "know", ".")


def test_words_that_are_no_parts_of_their_token():
    """French `du` is `de le`, whatever its case."""
    lines = [f"Le {a} [du:de le] {b} dort|." for a in NAMES for b in VERBS]
    lines += [f"[Au:À le] {a} dort {b}|." for a in NAMES for b in VERBS]
    french = Tokenizer.learn(treebank(lines))
    assert forms(french, "Le chat du voisin dort. Du lait. AU PORT. au port.") == [
        ["Le", "chat", "de", "le", "voisin", "dort", "."],
        ["De", "le", "lait", "."],
        ["À", "LE", "PORT", "."],
        ["à", "le", "port", "."],
    ]


def test_a_form_that_is_sometimes_split_is_decided_by_its_neighbours():
    """`des` is `de les` after a noun and whole after a verb, in this bank."""
    lines = [f"Le prix [des:de les] {name} monte|." for name in NAMES * 3]
    lines += [f"Il mange des {name} ici|." for name in NAMES * 3]
    french = Tokenizer.learn(treebank(lines))
    assert forms(french, "Le prix des pommes monte. Il mange des pommes ici.") == [
        ["Le", "prix", "de", "les", "pommes", "monte", "."],
        ["Il", "mange", "des", "pommes", "ici", "."],
    ]


def test_blank_lines_always_end_a_sentence(english):
    sentences = list(english.tokenize("Dr. \n\nSmith and\nJones\r\n\r\ncame"))
    assert [list(s.forms) for s in sentences] == [["Dr."], ["Smith", "and", "Jones"], ["came"]]
    assert [s.comments[0] for s in sentences] == ["# newpar"] * 3
    assert sentences[1].comment("text") == "Smith and Jones"
    assert sentences[1].misc == ("_", "SpacesAfter=\\n", "SpacesAfter=\\r\\n\\r\\n")


TITLES = [f"{a} {b}" for a in NAMES for b in ("came home", "sang loudly", "left early")]


@pytest.fixture(scope="module")
def lines() -> Tokenizer:
    return Tokenizer.learn(treebank([f"{title}|." for title in TITLES * 4]))


def test_short_lines_are_sentences(lines):
    """No line has a full stop, and none is long enough to be wrapped."""
    assert len(list(lines.tokenize("\n".join(TITLES)))) == len(TITLES)


def test_wrapped_lines_go_on(english):
    """The next word would not have fitted: a break like a space, as in the same text unwrapped."""
    text = (
        "She doesn't know that Dr. Smith and Mr. Jones and Dr. Brown and Mr. Miller came and\n"
        "that Dr. Baker and Mr. Cook and Dr. Hill and Mr. Wood and Dr. Smith and Mr. Miller\n"
        "slept. Mr. Hall left."
    )
    assert forms(english, text) == forms(english, text.replace("\n", " "))
    assert len(forms(english, text)) == 2


def test_a_long_sentence_is_cut_where_its_end_is_most_likely():
    """No token ends a sentence here; one in the second half is nearer to it than the others."""
    usual, likely, mixed = np.uint64(7), np.uint64(8), from_python(mix)
    forms = np.full(600, usual)
    forms[399] = likely
    weights = np.zeros(1 << 16, np.int16)
    for form, weight in ((usual, -200), (likely, -100)):
        feature = np.uint64(
            mixed(np.uint64(mixed(np.uint64(0), 101)), form)
        )  # the template of the form
        weights[feature >> 48] = weight
    same = np.zeros(600, np.uint64)
    marks, breaks = np.zeros(600, np.int64), np.full(600, SPACED)
    finals = np.zeros(600, np.bool_)
    inner = np.zeros(0, np.uint64)
    find_sentences(forms, same, same, marks, breaks, weights, weights, inner, 600, finals)
    assert np.flatnonzero(finals).tolist() == [399, 599]


def test_addresses_are_one_token(english):
    """Not one of these is in the bank, which has no address with these characters."""
    addresses = [
        "https://example.com/a?x=1&y=(2)",
        "www.example.org/~fox,tea",
        "mia.fox+tea@example.co.uk",
        "@green_parrot",
        "#gardening",
    ]
    for address in addresses:
        assert forms(english, f"Dr. Hall ({address}) came.") == [
            ["Dr.", "Hall", "(", address, ")", "came", "."]
        ]


def test_a_treebank_that_parts_hashtags_is_followed():
    lines = [f"See #|{name.lower()} today|." for name in NAMES * 3]
    assert forms(Tokenizer.learn(treebank(lines)), "See #gardening today.") == [
        ["See", "#", "gardening", "today", "."]
    ]


def test_emoji_are_parted(english):
    assert forms(english, "Dr. Hall came\U0001f389\U0001f389\U0001f600.") == [
        ["Dr.", "Hall", "came", "\U0001f389", "\U0001f389", "\U0001f600", "."]
    ]


def test_folding_removes_what_a_class_does_not_share():
    assert len(set(characters("$£€¥").folded.tolist())) == 1
    assert len(set(characters("\U0001f389\U0001f600\u2764").folded.tolist())) == 1
    assert characters("aA1٣").folded.tolist() == characters("aa00").codes.tolist()


def test_currencies_are_alike():
    """Only dollars are in the bank."""
    bank = treebank([f"It costs $|{k} today|." for k in range(20, 60)])
    assert forms(Tokenizer.learn(bank), "It costs £75 today.") == [
        ["It", "costs", "£", "75", "today", "."]
    ]


def test_comments_and_columns(english):
    (sentence, other) = english.tokenize("  Dr. Hall came.  She slept.")
    assert sentence.to_conllu() == (
        "# newpar\n# sent_id = 1\n# text = Dr. Hall came.\n"
        "1\tDr.\t_\t_\t_\t_\t_\t_\t_\tSpacesBefore=\\s\\s\n"
        "2\tHall\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "3\tcame\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "4\t.\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\s\\s\n\n"
    )
    assert other.comments == ("# sent_id = 2", "# text = She slept.")
    assert ca.Sentence.build(other.forms, misc=other.misc, comments=other.comments).to_conllu() == (
        other.to_conllu()
    )


def test_a_script_without_spaces_is_segmented():
    """Twelve nouns in `XはYです。`, in a bank that says nothing of spaces."""
    nouns = "学生 先生 医者 本 車 家 犬 猫 山 川 海 空".split()
    bank = [ca.Sentence.build([a, "は", b, "です", "。"]) for a in nouns for b in nouns if a != b]
    japanese = Tokenizer.learn(bank)
    assert raw_text(bank[:2]) == "学生は先生です。学生は医者です。"
    assert forms(japanese, "犬は学生です。先生は猫です。") == [
        ["犬", "は", "学生", "です", "。"],
        ["先生", "は", "猫", "です", "。"],
    ]


def test_a_bank_without_spacing_gets_the_spaces_of_print():
    bank = [ca.Sentence.build(["He", "said", '"', "no", '"', "(", "twice", ")", ",", "Al", "."])]
    assert raw_text(bank) == 'He said "no" (twice), Al. '
    learned = Tokenizer.learn(bank * 20)
    assert forms(learned, 'She said "yes" (once), Bo.') == [
        ["She", "said", '"', "yes", '"', "(", "once", ")", ",", "Bo", "."]
    ]


def test_tokens_with_a_space_inside():
    lines = [f"Il paie {k}@000 euros le {k} mai|." for k in range(1, 31)]
    bank = [
        ca.Sentence.build([form.replace("@", " ") for form in s.forms], misc=s.misc)
        for s in treebank(lines)
    ]
    french = Tokenizer.learn(bank)
    assert forms(french, "Il paie 17 000 euros le 17 mai.") == [
        ["Il", "paie", "17 000", "euros", "le", "17", "mai", "."]
    ]


def test_single_sentences_also_teach_where_sentences_end():
    bank = treebank([f"{a} {b}|." for a in NAMES for b in VERBS], paragraphs=True)
    assert forms(Tokenizer.learn(bank), "Hall came. Stone left.") == [
        ["Hall", "came", "."],
        ["Stone", "left", "."],
    ]


def test_running_text_of_a_treebank():
    bank = sample("en")
    assert raw_text(bank[:2]) == (
        "A letter finally arrived that nobody could read. Who did you give the book to? "
    )


def test_the_sample_bank_is_learned():
    """Tokenised as it was annotated, but for a few tokens: the text itself was learned from."""
    bank = sample()
    text = raw_text(bank)
    found = [form for s in Tokenizer.learn(bank).tokenize(text) for form in s.forms]
    expected = [form for s in bank for form in s.forms]
    assert len(set(expected) - set(found)) <= len(set(expected)) // 100


def test_restoring_gives_the_same_output(english):
    metadata = json.loads(json.dumps(english.metadata()))
    twin = Tokenizer.restore({k: v.copy() for k, v in english.tensors().items()}, metadata)
    text = raw_text(ENGLISH)
    assert [s.to_conllu() for s in twin.tokenize(text)] == [
        s.to_conllu() for s in english.tokenize(text)
    ]


def test_learning_twice_gives_the_same_tokeniser():
    one, two = (Tokenizer.learn(ENGLISH, seed=3) for _ in range(2))
    assert one.metadata() == two.metadata()
    for name, values in one.tensors().items():
        assert (values == two.tensors()[name]).all()


def test_models_are_small(english):
    assert sum(array.nbytes for array in english.tensors().values()) < 300_000


def test_restoring_something_else_is_refused(english):
    with pytest.raises(ca.ModelError, match=r"no tokeniser that can be read .* train it again"):
        Tokenizer.restore({}, english.metadata())
    with pytest.raises(ca.ModelError, match="train it again"):
        Tokenizer.restore(english.tensors(), {})
    older = {"multiword": english.metadata()["multiword"]}
    with pytest.raises(ca.ModelError, match="another version of crossarc"):
        Tokenizer.restore(english.tensors(), older)


def test_no_sentences_to_learn_from():
    with pytest.raises(ca.TreebankError, match="no sentences to learn from"):
        Tokenizer.learn([])


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbfDr. Hall came.\r\n", gzip.compress(b"Dr. Hall came.\r\n", mtime=0)],
    ids=["byte-order mark", "gzip"],
)
def test_reading_files(english, tmp_path, data):
    """A byte-order mark is no text; compression is recognised by content."""
    path = tmp_path / "text"
    path.write_bytes(data)
    (sentence,) = english.tokenize(read_text(path))
    assert sentence.forms == ("Dr.", "Hall", "came", ".")
    assert rebuild_text([sentence]) == "Dr. Hall came.\r\n"


def test_reading_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "latin1.txt"
    path.write_bytes(b"one\ntwo\nth\xe9 three")
    with pytest.raises(ca.TreebankError, match=r"latin1.txt:3: byte 0xe9 is not UTF-8: convert"):
        list(read_text(path))
    with pytest.raises(ca.TreebankError, match=r":1: byte 0xc3 is not UTF-8"):
        list(read_text(io.BytesIO(b"cut \xc3")))


def test_held_out_sentences_say_how_sure_an_end_must_be():
    """Half of the semicolons end a sentence here; held-out text says all, or none, should."""
    clauses = [f"{name} {verb}" for name in NAMES for verb in VERBS]
    joined = [f"{one}|; {other}|." for one, other in zip(clauses, reversed(clauses), strict=True)]
    parted = [part for one in joined for part in one.replace("|; ", "|;\n").split("\n")]
    bank = treebank(joined[::2] + parted)
    text = " ".join(f"{name} read; {name} cooked." for name in NAMES)
    found = {
        name: len(list(Tokenizer.learn(bank, dev=treebank(dev)).tokenize(text)))
        for name, dev in (("joined", joined), ("parted", parted))
    }
    assert found == {"joined": len(NAMES), "parted": 2 * len(NAMES)}
