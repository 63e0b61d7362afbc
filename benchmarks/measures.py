"""All measures of all trees of all treebanks: words per second, and growth on long sentences.

    .venv-bench/bin/python benchmarks/measures.py [TREEBANKS]

No peer computes these measures as a set; udapi and conllu stop at projectivity of a node. What is
compared is the compiled code with the definitions of the papers in plain Python.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import pairwise

from support.harness import medians, treebank_folder

from crossarc import Tree, read_conllu
from crossarc.kernels.warmup import warmup


def measure_all(tree: Tree) -> int:
    return sum(
        (
            int(tree.nonprojective_arcs.sum()),
            tree.degree,
            tree.gap_degree,
            tree.is_well_nested,
            tree.crossings,
            tree.is_planar,
            tree.is_single_root,
        )
    )


def plain_projectivity(tree: Tree) -> int:
    """Non-projective arcs by their definition, in Python: one of the seven measures."""
    parents = [0, *tree.heads.tolist()]
    found = 0
    for word, head in enumerate(parents[1:], 1):
        for between in range(min(word, head) + 1, max(word, head)):
            while between and between != head:
                between = parents[between]
            if between != head:
                found += 1
                break
    return found


def chain(n: int) -> list[int]:
    return list(range(n))


def star(n: int) -> list[int]:
    return [0] + [1] * (n - 1)


def shuffled_chain(n: int) -> list[int]:
    order = list(range(1, n + 1))
    random.Random(1).shuffle(order)
    heads = [0] * n
    for parent, child in pairwise(order):
        heads[child - 1] = parent
    return heads


def random_tree(n: int) -> list[int]:
    chance = random.Random(1)
    order = list(range(1, n + 1))
    chance.shuffle(order)
    heads = [0] * n
    for place in range(1, n):
        heads[order[place] - 1] = order[chance.randrange(place)]
    return heads


def main() -> None:
    folder = treebank_folder(__doc__)
    warmup()
    forest = [s for path in sorted(folder.glob("*/*.gz")) for s in read_conllu(path)]
    words = sum(map(len, forest))
    print(f"{len(forest):,} trees, {words:,} words")
    seconds = medians(
        {
            "all seven measures, compiled": lambda: [measure_all(s.tree) for s in forest],
            "projectivity alone, plain Python": lambda: [
                plain_projectivity(s.tree) for s in forest
            ],
        }
    )
    for name, value in seconds.items():
        print(f"  {name:<34}{words / value:>12,.0f} words/s")
    print("\none long sentence, seconds for all measures")
    shapes: dict[str, Callable[[int], list[int]]] = {
        "chain": chain,
        "star": star,
        "shuffled chain": shuffled_chain,
        "random tree": random_tree,
    }
    sizes = (5_000, 20_000, 80_000)
    print(f"  {'words':<16}" + "".join(f"{n:>10,}" for n in sizes))
    for name, shape in shapes.items():
        row = ""
        for n in sizes:
            tree = Tree(shape(n))
            start = time.perf_counter()
            measure_all(tree)
            row += f"{time.perf_counter() - start:>10.3f}"
        print(f"  {name:<16}{row}")


if __name__ == "__main__":
    main()
