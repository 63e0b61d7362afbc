"""Addresses in a text: spans that stay one token, whatever characters they hold.

URLs, e-mail addresses, handles (`@name`) and hashtags (`#tag`) are found by the characters that
mark them and extended to both sides. Nothing longer than `LONGEST_SPAN` is a span, and an e-mail
address reaches at most `_LONGEST_LOCAL` characters to the left of its `@`, so a text may be cut
far enough from a span without changing it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["EMAIL", "HANDLE", "HASHTAG", "LONGEST_SPAN", "SPAN_KINDS", "URL", "Span", "find_spans"]

URL, EMAIL, HANDLE, HASHTAG = range(1, 5)
SPAN_KINDS = {"url": URL, "email": EMAIL, "handle": HANDLE, "hashtag": HASHTAG}

LONGEST_SPAN = 2048
_LONGEST_LOCAL = 40

_SCHEME = re.compile(r"[A-Za-z]{2,10}\Z")
_ADDRESS = re.compile(r"[^\s\u200b\ufeff<>\"“”«»„]+")
_LOCAL = re.compile(r"\w(?:[\w.+%'-]*[\w.])?\Z")
_DOMAIN = re.compile(r"(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}(?![\w@-])")
_MAIL_SCHEME = "mailto:"
_NAME = re.compile(r"[^\W\d]\w+")
_TRAILING = ".,;:!?'’*…"
_PAIRS = {")": "(", "]": "[", "}": "{"}


class Span(NamedTuple):
    """Characters from `start` up to `end` that are one token."""

    start: int
    end: int
    kind: int


def find_spans(text: str, begin: int = 0) -> list[Span]:
    """The addresses of a text from character `begin` on, in order, without overlaps.

    O(length), a few passes of `str.find` where there is none.
    """
    marks = sorted(
        {(at, mark) for mark in _FINDERS for at in _occurrences(text, mark, begin)},
    )
    spans: list[Span] = []
    for at, mark in marks:
        first = spans[-1].end if spans else begin
        if at < first:
            continue
        span = _FINDERS[mark](text, at, first)
        if span is not None and span.end - span.start <= LONGEST_SPAN:
            spans.append(span)
    return spans


def _occurrences(text: str, mark: str, begin: int) -> Iterator[int]:
    at = text.find(mark, begin)
    while at >= 0:
        yield at
        at = text.find(mark, at + 1)


def _after_scheme(text: str, at: int, first: int) -> Span | None:
    """`https://...`: the mark is `://`."""
    scheme = _SCHEME.search(text[max(first, at - 12) : at])
    if scheme is None:
        return None
    return _url(text, at - len(scheme[0]), at + len("://"))


def _after_www(text: str, at: int, first: int) -> Span | None:
    """`www.example.org`, at the beginning of a word."""
    return None if _follows_word(text, at, first) else _url(text, at, at + len("www."))


def _url(text: str, start: int, host: int) -> Span | None:
    """A URL whose host begins at `host`, without the punctuation of the sentence around it."""
    found = _ADDRESS.match(text, host, host + LONGEST_SPAN + 1)
    if found is None or not text[host].isalnum():
        return None
    end = found.end()
    while end > host:
        last = text[end - 1]
        opening = _PAIRS.get(last)
        unbalanced = opening is not None and text.count(last, start, end) > text.count(
            opening, start, end
        )
        if last not in _TRAILING and not unbalanced:
            break
        end -= 1
    return Span(start, end, URL)


def _around_at(text: str, at: int, first: int) -> Span | None:
    """`name@example.org` or `@name`."""
    before = max(first, at - _LONGEST_LOCAL)
    local = _LOCAL.search(text[before:at])
    domain = _DOMAIN.match(text, at + 1, at + 1 + LONGEST_SPAN)
    if local is None:
        named = _named(text, at, first, HANDLE)
        return named._replace(end=domain.end()) if named and domain else named
    start = before + local.start()
    if domain is None or _follows_word(text, start, first):
        return None
    scheme = max(first, start - len(_MAIL_SCHEME))
    if text[scheme:start].lower() == _MAIL_SCHEME:
        start = scheme
    return Span(start, domain.end(), EMAIL)


def _after_hash(text: str, at: int, first: int) -> Span | None:
    """`#tag`, but no entity such as `&#39;`."""
    return None if text[max(first, at - 1) : at] == "&" else _named(text, at, first, HASHTAG)


def _named(text: str, at: int, first: int, kind: int) -> Span | None:
    name = _NAME.match(text, at + 1, at + 1 + LONGEST_SPAN)
    if name is None or _follows_word(text, at, first):
        return None
    return Span(at, name.end(), kind)


def _follows_word(text: str, at: int, first: int) -> bool:
    """Whether the character before could be part of the same word."""
    before = text[at - 1] if at > first else " "
    return before.isalnum() or before in "_/@#.%"


_FINDERS: dict[str, Callable[[str, int, int], Span | None]] = {
    "://": _after_scheme,
    "www.": _after_www,
    "WWW.": _after_www,
    "@": _around_at,
    "#": _after_hash,
}
