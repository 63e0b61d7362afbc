"""Parse a text with the model that comes with crossarc, print the trees, and draw them."""

from __future__ import annotations

from pathlib import Path

import crossarc as ca
from crossarc.draw import html, text

TEXT = """The committee that she had chaired for years finally met again. Nobody knew
what it would decide, but everyone had an opinion."""


def main() -> None:
    """Text in, trees out."""
    parser = ca.load("en")
    sentences = parser(TEXT)
    for sentence in sentences:
        print(text(sentence), end="\n\n")
        subject = [m for m, name in enumerate(sentence.deprels) if name == "nsubj"]
        print("subjects:", ", ".join(sentence.forms[m] for m in subject), end="\n\n")

    Path("first_parse.html").write_text(html(sentences, title="First parse"), encoding="utf-8")
    ca.write_conllu(sentences, "first_parse.conllu")


if __name__ == "__main__":
    main()
