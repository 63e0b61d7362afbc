"""Small treebanks written as text: for tests of tokenisers and taggers."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

import crossarc as ca

# What tokenisers stumble over: joiners, marks, flags, odd spaces, scripts from the right.
ODD = (
    "aB1.,!?'\"()-@/_#|\\ \t\n\r\v\x00\x1c\x7f\x85\xa0\xad"
    "\u0301\u200b\u200d\u200f\u2028\u2029\u3000\ufeff"
)
# A family with joiners, two flags, a heart and a thumb with marks.
EMOJI = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 "
    "\u2764\ufe0f\U0001f44d\U0001f3fd"
)
SCRIPTS = "שלום مرحبا 私は学生です。 ไทย İıßǅ"

BLANK = "\t_" * 7 + "\t"


def texts(max_size: int = 60) -> st.SearchStrategy[str]:
    """Arbitrary Unicode text, rich in odd characters."""
    odd = st.sampled_from(sorted(set(ODD + EMOJI + SCRIPTS)))
    words = st.sampled_from(["Dr. ", "don't ", "end. ", "New", "\n\n", "\r\n\r\n", "...", "1 000"])
    return st.lists(st.one_of(odd, words, st.characters(codec="utf-8")), max_size=max_size).map(
        "".join
    )


_TOKEN = re.compile(r"\[(?P<form>[^:]+):(?P<words>[^\]]+)\]|(?P<plain>[^\s|\[]+)|(?P<touch>\|)")


def treebank(lines: Iterable[str], *, paragraphs: bool = False) -> list[ca.Sentence]:
    """Sentences from lines of tokens, `|` where tokens touch, `[du:de le]` for several words.

    With `paragraphs`, each sentence is a paragraph of its own.
    """
    blocks = []
    for line in lines:
        tokens: list[list[Any]] = []
        for match in _TOKEN.finditer(line):
            if match["touch"]:
                tokens[-1][2] = ""
            else:
                words = match["words"].split(" ") if match["words"] else []
                tokens.append([match["form"] or match["plain"], words, " "])
        text = "".join(form + space for form, _, space in tokens).strip()
        rows = ["# newpar"] * paragraphs + [f"# text = {text}"]
        n = 0
        for form, words, space in tokens:
            misc = "_" if space else "SpaceAfter=No"
            if words:
                rows.append(f"{n + 1}-{n + len(words)}\t{form}{BLANK}{misc}")
            for word in words or [form]:
                n += 1
                rows.append(f"{n}\t{word}{BLANK}{'_' if words else misc}")
        blocks.append("\n".join(rows) + "\n\n")
    return list(ca.read_conllu(io.StringIO("".join(blocks))))
