"""`crossarc demo`: the main job on the sample bank, a minute after installation."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from crossarc.treebank import Sentence

__all__ = ["demo", "write_page"]

_SHOWN = ("nl-001", "de-006", "la-003")
_TEXT = "A parser that shows its doubts is worth more than one that hides them. Which do you trust?"
_PAGE = "crossarc-demo.html"


def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The page of trees; by default a temporary file."
        ),
    ] = None,
) -> None:
    """Parse, measure and draw some sentences.

    A text, and the sample bank that comes with crossarc.
    """
    from crossarc.analysis import Profile, profile
    from crossarc.app.commands.treebanks.stats import profile_table
    from crossarc.draw import text
    from crossarc.parser import load
    from crossarc.treebank import sample

    parser = load("en")
    print("Two sentences, parsed by the English model:\n")
    parsed = list(parser.parse(_TEXT, probabilities=True))
    for sentence in parsed:
        print(text(sentence), end="\n\n")
    sentences = sample()
    languages = dict.fromkeys(sentence.comment("lang") or "" for sentence in sentences)
    profiles = [(language, profile(sample(language))) for language in languages]
    total = sum((one for _, one in profiles), Profile())
    print("The sample bank, by language:\n")
    print(profile_table([*profiles, ("total", total)]))
    print("\nThree of its trees; heavy arrows are non-projective arcs:\n")
    for sentence in sentences:
        if sentence.sent_id in _SHOWN:
            print(text(sentence), end="\n\n")
            print(f"  {sentence.comment('note')}\n")
    for sentence in parser.parse(sample("en"), probabilities=True):
        # Notes are about the trees of the sample bank, not about the parser's.
        sentence.comments = [one for one in sentence.comments if not one.startswith("# note")]
        parsed.append(sentence)
    page = write_page(parsed, "Parsed by crossarc", output)
    print(
        f"{len(parsed)} parsed sentences, with the probability of each arc, for a browser: "
        f"{page.resolve().as_uri()}\n"
    )
    print('Next: echo "Your text." | crossarc parse --text ; crossarc train YOUR.conllu -o MODEL')


def write_page(sentences: Iterable[Sentence], title: str, output: Path | None) -> Path:
    """Write a page of sentences, in a temporary folder of its own by default."""
    from crossarc.draw import html
    from crossarc.treebank import open_output

    path = Path(tempfile.mkdtemp(prefix="crossarc-")) / _PAGE if output is None else output
    with open_output(path) as write:
        write(html(sentences, title=title).encode())
    return path
