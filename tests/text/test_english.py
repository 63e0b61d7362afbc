"""The shipped English model on what its treebank seldom shows: clitics, addresses, signs, lines.

The sentences were made up for this test. Tokens and tags follow the guidelines of Universal
Dependencies and the practice of English-EWT, where addresses are proper nouns.
"""

from __future__ import annotations

import pytest

import crossarc as ca

# A text, its words, `|` between sentences, and the UPOS of some of them.
CASES = [
    ("The company's profit rose.", "The company 's profit rose .", {"'s": "PART"}),
    ("This marks its 11th increase.", "This marks its 11th increase .", {"its": "PRON"}),
    ("The dog wagged its tail.", "The dog wagged its tail .", {"its": "PRON"}),
    ("It's raining, and they're late.", "It 's raining , and they 're late .", {"'s": "AUX"}),
    (
        "We didn't see the neighbours' cat.",
        "We did n't see the neighbours ' cat .",
        {"n't": "PART"},
    ),
    ("Tomasz's brother can't swim.", "Tomasz 's brother ca n't swim .", {"'s": "PART"}),
    ("She'll call when you've eaten.", "She 'll call when you 've eaten .", {"'ll": "AUX"}),
    ("The zebras' stripes vary.", "The zebras ' stripes vary .", {"'": "PART"}),
    ("Don't touch the baker's bread!", "Do n't touch the baker 's bread !", {"'s": "PART"}),
    ("The firm’s shares aren’t cheap.", "The firm ’s shares are n’t cheap .", {"’s": "PART"}),
    (
        "Who's there? It isn't Anna's dog.",
        "Who 's there ? | It is n't Anna 's dog .",
        {"n't": "PART"},
    ),
    (
        "See https://example.com/a?x=1&y=2 for details.",
        "See https://example.com/a?x=1&y=2 for details .",
        {"https://example.com/a?x=1&y=2": "PROPN"},
    ),
    (
        "The page (https://example.org/wiki/Tea_(drink)) is long.",
        "The page ( https://example.org/wiki/Tea_(drink) ) is long .",
        {"https://example.org/wiki/Tea_(drink)": "PROPN"},
    ),
    (
        "Visit www.example.net/shop?id=7, then pay.",
        "Visit www.example.net/shop?id=7 , then pay .",
        {"www.example.net/shop?id=7": "PROPN"},
    ),
    (
        "Write to mia.fox+tea@example.co.uk today.",
        "Write to mia.fox+tea@example.co.uk today .",
        {"mia.fox+tea@example.co.uk": "PROPN"},
    ),
    (
        "Thanks @green_parrot for the help!",
        "Thanks @green_parrot for the help !",
        {"@green_parrot": "PROPN"},
    ),
    (
        "Her #gardening posts are great.",
        "Her #gardening posts are great .",
        {"#gardening": "PROPN"},
    ),
    ("The ticket costs £25.", "The ticket costs £ 25 .", {"£": "SYM", "25": "NUM"}),
    ("He paid €1,250.50 for it.", "He paid € 1,250.50 for it .", {"€": "SYM", "1,250.50": "NUM"}),
    ("Prices rose 3.5% to ¥900.", "Prices rose 3.5 % to ¥ 900 .", {"%": "SYM", "¥": "SYM"}),
    ("Great news 🎉🎉!", "Great news 🎉 🎉 !", {"🎉": "SYM"}),
    ("I love it 😀", "I love it 😀", {"😀": "SYM"}),
    ("Thanks so much 👍🏽.", "Thanks so much 👍🏽 .", {"👍🏽": "SYM"}),
    ("We won 🏆, at last :)", "We won 🏆 , at last :)", {"🏆": "SYM", ":)": "SYM"}),
    ("Train 42 leaves at 10:45.", "Train 42 leaves at 10:45 .", {"10:45": "NUM"}),
    ("Call 555-0142 before noon.", "Call 555-0142 before noon .", {"555-0142": "NUM"}),
    (
        "My aunt's letter is dated 3/14/2024.",
        "My aunt 's letter is dated 3/14/2024 .",
        {"'s": "PART"},
    ),
    ("The first part\n\nThe second part", "The first part | The second part", {"first": "ADJ"}),
    (
        "Fresh milk\nSix eggs\nBread and butter",
        "Fresh milk | Six eggs | Bread and butter",
        {"Six": "NUM"},
    ),
    (
        "The keeper of the old lighthouse on the northern coast wrote\n"
        "every evening to her sister in the city, who never answered.",
        "The keeper of the old lighthouse on the northern coast wrote every evening to her sister "
        "in the city , who never answered .",
        {"wrote": "VERB"},
    ),
]


ADJECTIVES = "Old New Small Quiet Red Heavy Broken Early".split()
NOUNS = "bridge market harbour garden station library tower mill".split()
PLACES = (
    "in the north,near Lisbon,by the river,for sale,of 1921,under snow,with a view,with stairs"
).split(",")


@pytest.fixture(scope="module")
def english() -> ca.Parser:
    return ca.load("en")


@pytest.mark.parametrize(("text", "words", "tags"), CASES)
def test_words_and_classes(english, text, words, tags):
    sentences = list(english.parse(text))
    assert " | ".join(" ".join(sentence.forms) for sentence in sentences) == words
    found = {f: u for s in sentences for f, u in zip(s.forms, s.upos, strict=True) if f in tags}
    assert found == tags


def test_many_lines_without_full_stops(english):
    """Of 500 titles, each on a line, at least 95 in 100 are sentences of their own."""
    titles = [f"{a} {b} {c}" for a in ADJECTIVES for b in NOUNS for c in PLACES][:500]
    found = [sentence.text for sentence in english.parse("\n".join(titles))]
    assert len(titles) == 500
    assert sum(title in set(found) for title in titles) >= 475
