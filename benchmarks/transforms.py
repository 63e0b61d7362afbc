"""Crossing trees made projective, and back: what is lost, what comes back, words per second.

    .venv-bench/bin/python benchmarks/transforms.py [TREEBANKS]

Over the training part of each treebank: non-projective sentences and arcs; heads that minimum loss
and lifting change, and sentences of which minimum loss moves the root; for each encoding, the
share of non-projective sentences that come back whole, the share of lifted arcs that come back,
and the number of labels that it adds. No peer does all of this; what is compared are the methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from support.harness import medians, treebank_folder

from crossarc import Sentence, Tree, deprojectivize, projectivize, read_conllu
from crossarc.kernels.warmup import warmup
from crossarc.transforms.encoding import ENCODINGS, Encoding


class Recovery(NamedTuple):
    """What came back of the trees of a treebank."""

    sentences: int
    lifted: int
    restored: int
    new_labels: int


def changed(old: Tree, new: Tree) -> int:
    return int((old.heads != new.heads).sum())


def recovery(trees: list[Tree], known: set[object], encoding: Encoding) -> Recovery:
    whole = lifted_arcs = wrong = 0
    labels: set[object] = set()
    for tree in trees:
        lifted = projectivize(tree, "lifting", encoding=encoding)
        back = deprojectivize(lifted)
        labels.update(lifted.labels if lifted.labels is not None else ())
        whole += back == tree
        lifted_arcs += changed(tree, lifted)
        wrong += changed(tree, back)
    return Recovery(whole, lifted_arcs, lifted_arcs - wrong, len(labels - known))


def losses(trees: list[Tree]) -> tuple[int, int, int]:
    """Heads changed by minimum loss and by lifting; sentences with another root word."""
    by_loss = by_lifting = roots = 0
    for tree in trees:
        closest = projectivize(tree)
        lifted = projectivize(tree, "lifting", encoding="none")
        assert changed(tree, closest) <= changed(tree, lifted)
        by_loss += changed(tree, closest)
        by_lifting += changed(tree, lifted)
        roots += ((closest.heads == 0) != (tree.heads == 0)).any()
    return by_loss, by_lifting, roots


def show(name: str, forest: list[Tree]) -> None:
    trees = [tree for tree in forest if not tree.is_projective]
    arcs = sum(int(tree.nonprojective_arcs.sum()) for tree in trees)
    known = set(chain.from_iterable(t.labels for t in forest if t.labels is not None))
    by_loss, by_lifting, roots = losses(trees)
    cells = []
    for encoding in ENCODINGS:
        if encoding != "none":
            found = recovery(trees, known, encoding)
            cells.append(
                f"{100 * found.sentences / len(trees):>8.2f}"
                f"{100 * found.restored / found.lifted:>8.2f}{found.new_labels:>5}"
            )
    counts = f"{len(trees):>6,}{arcs:>7,}{by_loss:>7,}{by_lifting:>7,}{roots:>6}"
    print(f"{name:<22}{counts}{''.join(cells)}", flush=True)


def timed(sentences: list[Sentence]) -> Iterator[str]:
    """Words per second from sentences in memory; each asks for its tree, which is measured anew."""
    crossing = [sentence for sentence in sentences if not sentence.tree.is_projective]
    lifted = [projectivize(sentence.tree, "lifting") for sentence in sentences]
    seconds = medians(
        {
            "lifting": lambda: [projectivize(s.tree, "lifting") for s in sentences],
            "way back": lambda: [deprojectivize(tree) for tree in lifted],
            "loss": lambda: [projectivize(s.tree) for s in sentences],
            "lifting, crossing": lambda: [projectivize(s.tree, "lifting") for s in crossing],
            "loss, crossing": lambda: [projectivize(s.tree) for s in crossing],
        }
    )
    for name, value in seconds.items():
        words = sum(map(len, crossing if name.endswith("crossing") else sentences))
        yield f"  {name:<20}{words / value:>12,.0f} words/s"


def main() -> None:
    folder = treebank_folder(__doc__)
    warmup()
    treebanks = {
        path.parent.name: list(read_conllu(path))
        for path in sorted(folder.glob("*/train.conllu.gz"))
    }
    encoded = "".join(f"{encoding:>21}" for encoding in ENCODINGS if encoding != "none")
    print(f"{'':<22}{'non-projective':>13}{'heads changed':>14}{'roots':>6}{encoded}")
    columns = "   sent%    arc%  new" * (len(ENCODINGS) - 1)
    print(f"{'treebank':<22}{'sents':>6}{'arcs':>7}{'loss':>7}{'lift':>7}{'moved':>6}{columns}")
    for name, sentences in treebanks.items():
        show(name, [sentence.tree for sentence in sentences])
    everything = list(chain.from_iterable(treebanks.values()))
    show("all", [sentence.tree for sentence in everything])
    print(f"\n{len(everything):,} sentences, {sum(map(len, everything)):,} words")
    for line in timed(everything):
        print(line)


if __name__ == "__main__":
    main()
