"""Addresses in text: what is one, and where it ends. Expected spans are marked in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossarc.text.spans import EMAIL, HANDLE, HASHTAG, LONGEST_SPAN, URL, find_spans


@pytest.mark.parametrize(
    ("marked", "kind"),
    [
        ("see «https://example.com/a?x=1&y=2».", URL),
        ("(«http://example.org/Tea_(drink)»)", URL),
        ("«www.example.net/shop?id=7», then", URL),
        ("<«ftp://files.example.org/a.txt»>", URL),
        ("[«http://a.example.org/[x]»]", URL),
        ('at:"«HTTP://EXAMPLE.ORG»"', URL),
        ("to «mia.fox+tea@example.co.uk».", EMAIL),
        ("<«mailto:m_f@example.org»>", EMAIL),
        ("names...«a...b@example.org»", None),
        ("ask «@green_parrot»'s friend", HANDLE),
        ("name plus «@example.org».", HANDLE),
        ("my «#gardening» posts", HASHTAG),
        ("(«#ÉTÉ»)", HASHTAG),
        ("a@b and C# and #1 and &#39; and F%#king", None),
        ("no :// here, nor www. there, nor x://", None),
        ("one//two:three@four", None),
    ],
)
def test_spans(marked, kind):
    text = marked.replace("«", "").replace("»", "")
    found = find_spans(text)
    if kind is None:
        assert [span for span in found if span.kind != EMAIL] == []
    else:
        start = marked.index("«")
        assert found == [(start, marked.index("»") - 1, kind)]


def test_a_span_has_a_longest_length():
    assert find_spans("http://" + "a" * LONGEST_SPAN) == []
    assert len(find_spans("http://" + "a" * (LONGEST_SPAN - 7))) == 1


def test_a_text_is_searched_from_where_it_begins():
    text = "http://a.org b@example.org"
    assert [span.kind for span in find_spans(text)] == [URL, EMAIL]
    assert [span.kind for span in find_spans(text, 12)] == [EMAIL]


@given(st.text(alphabet="ab.:/@#w()<> \n", max_size=60))
def test_spans_are_in_order_and_hold_no_space(text):
    place = 0
    for span in find_spans(text):
        assert place <= span.start < span.end <= len(text)
        assert not any(map(str.isspace, text[span.start : span.end]))
        place = span.end
