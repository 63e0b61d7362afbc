"""Drawing: sentences per second of each output, and SVG beside displaCy of spaCy.

The first 1,000 sentences of a treebank, read before the clock starts. displaCy draws what it is
given, in one line, without making room for labels or marking crossings; it is here for scale.

    .venv-bench/bin/python benchmarks/draw.py [TREEBANKS]
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from spacy import displacy
from support.harness import medians, treebank_folder

import crossarc as ca
from crossarc.draw import html, latex, svg, text

TREEBANK = "English-EWT/dev.conllu.gz"
SENTENCES = 1000


def displacy_input(sentence: ca.Sentence) -> dict[str, Any]:
    """A sentence as displaCy's manual mode takes it."""
    rows = zip(sentence.heads.tolist(), sentence.deprels, strict=True)
    return {
        "words": [
            {"text": form, "tag": tag}
            for form, tag in zip(sentence.forms, sentence.upos, strict=True)
        ],
        "arcs": [
            {
                "start": min(head, word) - 1,
                "end": max(head, word) - 1,
                "label": label,
                "dir": "left" if word < head else "right",
            }
            for word, (head, label) in enumerate(rows, 1)
            if head
        ],
    }


def main() -> None:
    path = treebank_folder(__doc__) / TREEBANK
    sentences = list(islice(ca.read_conllu(path), SENTENCES))
    prepared = [displacy_input(sentence) for sentence in sentences]
    words = sum(map(len, sentences))
    print(f"{TREEBANK}: {len(sentences):,} sentences, {words / len(sentences):.1f} words each")

    def each(draw: Callable[[ca.Sentence], str]) -> Callable[[], int]:
        return lambda: sum(len(draw(sentence).encode()) for sentence in sentences)

    jobs: dict[str, Callable[[], int]] = {
        "text": each(text),
        "svg": each(svg),
        "svg, one line": each(lambda sentence: svg(sentence, width=None)),
        "latex": each(latex),
        "html, one page": lambda: len(html(sentences).encode()),
        "displaCy svg": lambda: sum(
            len(displacy.render(one, style="dep", manual=True, jupyter=False).encode())
            for one in prepared
        ),
    }
    seconds = medians(jobs)
    for name, job in jobs.items():
        print(
            f"  {name:<16}{len(sentences) / seconds[name]:>8,.0f} sentences/s{job() / 1e6:>8.2f} MB"
        )
    ratio = seconds["displaCy svg"] / seconds["svg, one line"]
    print(f"  crossarc svg, one line / displaCy: {ratio:.2f}x")


if __name__ == "__main__":
    main()
