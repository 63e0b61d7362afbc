"""Hard problems as parsing problems, with the way back from trees to solutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import Parts
from crossarc.inference.hardness.markov import Arc, vertical_weight
from crossarc.inference.hardness.vertical import solve_vertical
from crossarc.trees import Tree

__all__ = ["HamiltonianPath", "HorizontalMatching", "VerticalMatching"]

Floats = NDArray[np.float64]
Triple = tuple[int, int, int]


class HamiltonianPath:
    """Paths through all nodes of a directed graph, as trees in which no node has two modifiers.

    McDonald & Satta (2007), section 5.1. Under `scores`, with `max_modifiers` = 1 also for the
    root, the trees are 0 -> i -> j -> ... along the arcs of the graph: one for each Hamiltonian
    path, all with score 0. So log Z is the logarithm of their number, and the expectation of the
    arc 0 -> i times Z counts those that start at i, which is #P-hard.

    Args:
        n: nodes 1..n.
        edges: pairs (i, j), from i to j.
    """

    max_modifiers = 1

    def __init__(self, n: int, edges: Iterable[tuple[int, int]]) -> None:
        self.scores = np.full((n + 1, n + 1), -np.inf)
        self.scores[0, 1:] = 0.0
        for i, j in edges:
            self.scores[i, j] = 0.0

    def tree(self, path: Sequence[int]) -> Tree:
        """The tree of a path."""
        heads = [0] * len(path)
        for before, node in zip([0, *path], path, strict=False):
            heads[node - 1] = before
        return Tree(heads)

    def path(self, tree: Tree) -> list[int]:
        """The path of a tree."""
        following = {int(h): m for m, h in enumerate(tree.heads, 1)}
        path = [following[0]]
        while path[-1] in following:
            path.append(following[path[-1]])
        return path


class HorizontalMatching:
    """Three-dimensional matchings as trees under sibling factors.

    Given triples (x, y, z) over 1..m each, a matching is m of them that have each x, y and z once.
    Words are X, then Y, then Z; several roots are allowed. Arcs are 0 -> x, x -> y, x -> z, all
    with score 0. A sibling part scores 0 if it is (0, s, x), or (x, x, y), or (x, y, z) with the
    triple given; all others are forbidden. The trees that are left, all with score 0, are the
    matchings, so that there is a tree iff there is a matching:

    - Each x hangs from the root, in parts (0, s, x). All other modifiers are to the right of their
      head x, Y before Z. The first must be a y, for (x, x, z) is forbidden. After y may only come
      a z with (x, y, z) given, and after z nothing, for so are (x, y, y') and (x, z, z').
    - So each x has at most one y and one z. There are as many y as x, each with a head, so every x
      has exactly one y, and then also exactly one z: a matching, of given triples.
    - The tree of a matching has no other parts.

    McDonald & Pereira (2006) state that this is hard, and reduce from the same problem.
    """

    root = "multi"

    def __init__(self, m: int, triples: Iterable[Triple]) -> None:
        self._m = m
        width = 3 * m + 1
        self.scores = np.full((width, width), -np.inf)
        xs, ys, zs = (range(1 + k * m, 1 + (k + 1) * m) for k in range(3))
        self.scores[0, list(xs)] = 0.0
        for x in xs:
            self.scores[x, list(ys)] = self.scores[x, list(zs)] = 0.0
        good = {(x, y + m, z + 2 * m) for x, y, z in triples}
        parts = [(x, x, z) for x in xs for z in zs]
        parts += [(x, y, z) for x in xs for y in ys for z in zs if (x, y, z) not in good]
        parts += [(x, s, t) for x in xs for own in (ys, zs) for s in own for t in own if s < t]
        index = np.reshape(parts, (-1, 3)).astype(np.int64)
        self.sibling = Parts(index, np.full(len(parts), -np.inf))

    def tree(self, matching: Iterable[Triple]) -> Tree:
        """The tree of a matching."""
        heads = [0] * (3 * self._m)
        for x, y, z in matching:
            heads[y + self._m - 1] = heads[z + 2 * self._m - 1] = x
        return Tree(heads)

    def matching(self, tree: Tree) -> set[Triple]:
        """The matching of a tree."""
        m, heads = self._m, tree.heads.tolist()
        ys = {heads[m + y - 1]: y for y in range(1, m + 1)}
        return {(heads[2 * m + z - 1], ys[heads[2 * m + z - 1]], z) for z in range(1, m + 1)}


class VerticalMatching:
    """The same matchings as labelled trees under vertical Markovization of order 1.

    McDonald & Satta (2007), section 5.2. Nodes are 0', 0, A, B, C, and labels the elements of all
    three sets. Two arcs above one another weigh 1 if they are

        0' -k-> 0 -k'-> a,      0 -b-> a -c-> b,      a -c-> b -c-> c  with (a, b, c) given,

    else 0. Trees of weight 1 are the matchings: the label into a names the only modifier that it
    may have, and the label into b its own. The paper leaves k free, which counts each
    matching as often as there are labels; here it is fixed. 0' is not a node of trees in crossarc:
    its arc is the context of the arcs from 0.

    Attributes:
        arcs: (h, m, l) that stand in a part of weight 1.
        parts: pairs of them of weight 1, (g, h, k) above (h, m, l); arcs from 0 are free.
    """

    def __init__(self, m: int, triples: Iterable[Triple]) -> None:
        self._m, self._given = m, {(a, b + m, c + 2 * m) for a, b, c in triples}
        firsts = [(0, a, b) for a in range(1, m + 1) for b in range(m + 1, 2 * m + 1)]
        middle = {(a, b, c) for a, b, c in self._given}
        last = {(b, c, c) for _, b, c in self._given}
        self.arcs: list[Arc] = [*firsts, *sorted(middle), *sorted(last)]
        self.parts = [((0, a, b), (a, b, c)) for a, b, c in sorted(middle)]
        self.parts += [((a, b, c), (b, c, c)) for a, b, c in sorted(middle)]

    def _kind(self, node: int) -> int:
        """0 for the root, 1, 2, 3 for elements of A, B, C."""
        return 0 if node == 0 else 1 + (node - 1) // self._m

    def _term(self, before: tuple[Arc, ...], arc: Arc) -> float:
        head, node, label = arc
        if not before:
            return float(head == 0 and self._kind(node) == 1)
        ((above, _, upper),) = before
        if above == 0:
            return float(self._kind(node) == 2 and upper == node and self._kind(label) == 3)
        return float(upper == node == label and (above, head, node) in self._given)

    def weight(self, heads: Sequence[int], labels: Sequence[int]) -> float:
        """Of a labelled tree over the words A, B, C; labels are numbered as the words are."""
        return vertical_weight(heads, labels, 1, self._term)

    def tree(self, matching: Iterable[Triple]) -> tuple[list[int], list[int]]:
        """Heads and labels of a matching."""
        m = self._m
        heads, labels = [0] * (3 * m), [0] * (3 * m)
        for a, b, c in matching:
            labels[a - 1] = b + m
            heads[b + m - 1], labels[b + m - 1] = a, c + 2 * m
            heads[c + 2 * m - 1], labels[c + 2 * m - 1] = b + m, c + 2 * m
        return heads, labels

    def matching(self, heads: Sequence[int], labels: Sequence[int]) -> set[Triple]:
        """The matching of a labelled tree of weight 1."""
        m = self._m
        return {
            (heads[heads[2 * m + c - 1] - 1], heads[2 * m + c - 1] - m, c) for c in range(1, m + 1)
        }

    def solve(self) -> tuple[list[int], list[int]] | None:
        """Heads and labels of a tree of weight 1, by the integer programme; None without one."""
        return solve_vertical(3 * self._m, self.arcs, self.parts)

    def labelled_trees(self) -> Iterator[tuple[list[int], list[int]]]:
        """All labelled trees of weight 1, by choosing arcs word after word."""
        words = 3 * self._m
        heads, labels = [0] * words, [0] * words

        def extend(node: int) -> Iterator[tuple[list[int], list[int]]]:
            if node > words:
                yield heads.copy(), labels.copy()
                return
            kind = self._kind(node)
            above = range(1 + (kind - 2) * self._m, 1 + (kind - 1) * self._m) if kind > 1 else [0]
            for h in above:
                before = ((heads[h - 1], h, labels[h - 1]),) if h > 0 else ()
                for label in range(1, words + 1):
                    if self._term(before, (h, node, label)) > 0.0:
                        heads[node - 1], labels[node - 1] = h, label
                        yield from extend(node + 1)

        return extend(1)
