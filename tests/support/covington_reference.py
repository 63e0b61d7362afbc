"""The greedy Covington parser by its definition, in plain Python: graphs are sets of arcs.

So is the perceptron that learns it along the gold tree, adding up the weights at each step.
Constraints are tested on the whole graph by `covington_definitions`, and features are read from the
graph afresh for every choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy

import numpy as np

from crossarc.models.covington import templates
from crossarc.models.covington.model import CovingtonModel
from crossarc.models.encode import Encoded
from support import covington_definitions as definitions
from support.features import plain_hash

NO_ARC, LEFT_ARC, RIGHT_ARC, SHIFT = range(4)
BOUNDARY = 1


class PlainParser:
    """One sentence, the arcs and labels so far, and what the model makes of them."""

    def __init__(self, model: CovingtonModel, encoded: Encoded, sentence: int) -> None:
        self.model = model
        self.n = int(encoded.sizes[sentence])
        self.row = int(encoded.starts[sentence])
        self.codes = encoded.codes
        self.heads: dict[int, int] = {}
        self.labels: dict[int, int] = {}
        self.asked = 0
        attributes = model.encoder.attributes
        self.templates = [
            [
                template.replace("@", name)
                for template in kind
                for name in (attributes if "@" in template else ("",))
            ]
            for kind in (templates.ACTIONS, templates.LABELS, templates.ROOTS)
        ]

    def parse(self) -> tuple[list[int], list[int], int]:
        """Heads, labels and the number of active pairs."""
        for i in range(1, self.n + 1):
            for j in range(i - 1, 0, -1):
                allowed = self.allowed(i, j)
                if not allowed:
                    continue
                self.asked += 1
                scores = self.scores(0, self.pair_numbers(i, j), self.places(i, j), 4)
                action = max(allowed, key=lambda a: (scores[a], -a))
                if action == SHIFT:
                    break
                if action == LEFT_ARC:
                    self.attach(i, j)
                elif action == RIGHT_ARC:
                    self.attach(j, i)
        self.finish()
        words = range(1, self.n + 1)
        return [self.heads[m] for m in words], [self.labels[m] for m in words], self.asked

    def derivations(self, i: int = 1, j: int = 0) -> Iterator[tuple[int, PlainParser]]:
        """All ways to parse on from the pair (i, j), with the summed score of their actions."""
        if i > self.n:
            yield 0, self
            return
        if j == 0:
            yield from self.derivations(i + 1, i)
            return
        allowed = self.allowed(i, j)
        if not allowed:
            yield from self.derivations(i, j - 1)
            return
        scores = self.scores(0, self.pair_numbers(i, j), self.places(i, j), 4)
        for action in allowed:
            twin = copy(self)
            twin.heads, twin.labels = dict(self.heads), dict(self.labels)
            if action == LEFT_ARC:
                twin.attach(i, j)
            elif action == RIGHT_ARC:
                twin.attach(j, i)
            for rest, end in twin.derivations(i, 0 if action == SHIFT else j - 1):
                yield scores[action] + rest, end

    def allowed(self, i: int, j: int) -> list[int]:
        arcs = frozenset((h, m) for m, h in self.heads.items())
        found = [
            action
            for action, arc in ((LEFT_ARC, (i, j)), (RIGHT_ARC, (j, i)))
            if definitions.obeys(arcs | {arc}, self.n, self.constraint)
        ]
        return [NO_ARC, *found, SHIFT] if found else []

    @property
    def constraint(self) -> str:
        degree = self.model.max_degree
        return "acyclicity" if degree is None else f"d<={degree}" if degree else "projectivity"

    def attach(self, h: int, m: int) -> None:
        self.labels[m] = self.label(h, m)
        self.heads[m] = h

    def label(self, h: int, m: int) -> int:
        numbers = self.numbers(h, m, int(h < m), 0)
        scores = self.scores(1, numbers, self.places(h, m), len(self.model.labels))
        permitted = self.model.permitted[int(h > 0)]
        return max((k for k in range(len(scores)) if permitted[k]), key=lambda k: (scores[k], -k))

    def finish(self) -> None:
        """Of the words without head, one is the root if it must be single; others hang from it."""
        free = [m for m in range(1, self.n + 1) if m not in self.heads]
        root = 0
        if self.model.root == "single":
            scores = {
                m: self.scores(2, self.numbers(m, 0, 0, 0), self.places(m, 0), 1)[0] for m in free
            }
            root = max(free, key=lambda m: (scores[m], -m))
        new = {m: 0 if m == root else root for m in free}
        for m, h in new.items():
            self.labels[m] = self.label(h, m)
        self.heads |= new

    def scores(
        self, kind: int, numbers: Mapping[str, int], places: Mapping[str, int], outcomes: int
    ) -> list[int]:
        slots = self.slots(kind, numbers, places)
        return [sum(int(self.model.weights[s + k]) for s in slots) for k in range(outcomes)]

    def slots(self, kind: int, numbers: Mapping[str, int], places: Mapping[str, int]) -> list[int]:
        before = sum(len(one) for one in self.templates[:kind])
        return [
            plain_hash(number, *self.atoms(template, numbers, places)) >> (64 - self.model.bits)
            for number, template in enumerate(self.templates[kind], before)
        ]

    def atoms(
        self, template: str, numbers: Mapping[str, int], places: Mapping[str, int]
    ) -> Iterator[int]:
        for atom in template.split():
            if atom in numbers:
                yield numbers[atom]
                continue
            place, _, column = atom.partition(".")
            name, shift = column, 0
            for offset in ("-2", "-1", "+1", "+2"):
                if column.endswith(offset):
                    name, shift = column.removesuffix(offset), int(offset)
            word = places[place]
            index = self.model.encoder.atoms.index(name)
            yield (BOUNDARY if word < 0 else int(self.codes[self.row + word + shift, index]))

    def places(self, i: int, j: int) -> dict[str, int]:
        """Words at places, -1 where there is none."""
        hj = self.heads.get(j, -1)
        return {
            "i": i,
            "j": j,
            "hi": self.heads.get(i, -1),
            "hj": hj,
            "gj": self.heads.get(hj, -1),
            "fi": min(self.children(i), default=-1),
            "li": max(self.children(i), default=-1),
            "fj": min(self.children(j), default=-1),
            "lj": max(self.children(j), default=-1),
        }

    def children(self, h: int) -> list[int]:
        return [m for m, own in self.heads.items() if own == h]

    def pair_numbers(self, i: int, j: int) -> dict[str, int]:
        state = (i in self.heads) + 2 * (j in self.heads)
        return self.numbers(i, j, state, self.pieces(i, j))

    def pieces(self, i: int, j: int) -> int:
        """Roots strictly between i and j that neither dominates."""
        count = 0
        for word in range(j + 1, i):
            if j < self.heads.get(word, 0) < i:
                continue
            above = word
            while above in self.heads and above not in (i, j):
                above = self.heads[above]
            count += above not in (i, j)
        return count

    def numbers(self, i: int, j: int, state: int, pieces: int) -> dict[str, int]:
        gap = abs(i - j)
        found = {
            "distance": next(k for k, top in enumerate([0, 1, 2, 3, 4, 6, 10, 9**9]) if gap <= top),
            "state": state,
            "pieces": min(pieces, 3),
            "i.lefts": min(3, sum(m < i for m in self.children(i))),
            "j.lefts": min(3, sum(m < j for m in self.children(j))),
            "j.rights": min(3, sum(m > j for m in self.children(j))),
        }
        for place, word in self.places(i, j).items():
            found[f"{place}.label"] = self.labels.get(word, -1) + 1
        return found


class PlainLearner(PlainParser):
    """Learns one sentence, whose gold tree obeys the constraint: its arcs are made one by one.

    The model's weights change; `used` is the sum, over decisions, of those that each was made with.
    """

    def __init__(self, model: CovingtonModel, encoded: Encoded, sentence: int) -> None:
        super().__init__(model, encoded, sentence)
        words = slice(encoded.words[sentence], encoded.words[sentence] + self.n)
        self.gold = dict(enumerate(encoded.heads[words].tolist(), 1))
        self.gold_labels = dict(enumerate(encoded.labels[words].tolist(), 1))
        self.used, self.steps = np.zeros_like(model.weights), 0

    def learn(self) -> None:
        for i in range(1, self.n + 1):
            for j in range(i - 1, 0, -1):
                allowed = self.allowed(i, j)
                if not allowed:
                    continue
                right = self.oracle(i, j)
                asked = self.pair_numbers(i, j), self.places(i, j)
                scores = self.scores(0, *asked, 4)
                found = max(allowed, key=lambda a: (scores[a], -a))
                self.step([(slot + right, slot + found) for slot in self.slots(0, *asked)])
                if right == SHIFT:
                    break
                if right != NO_ARC:
                    self.learn_label(*((i, j) if right == LEFT_ARC else (j, i)))
        [root] = [m for m in self.gold if m not in self.heads]
        self.step([])  # no other word is left
        self.learn_label(0, root)

    def oracle(self, i: int, j: int) -> int:
        """The transition that loses no arc, and of these the one that asks least."""
        if self.gold[j] == i:
            return LEFT_ARC
        if self.gold[i] == j:
            return RIGHT_ARC
        later = any(self.gold[k] == i or self.gold[i] == k for k in range(1, j))
        return NO_ARC if later else SHIFT

    def learn_label(self, h: int, m: int) -> None:
        """Raise the right label; the arc gets the one that was best before."""
        asked = self.numbers(h, m, int(h < m), 0), self.places(h, m)
        right, found = self.gold_labels[m], self.label(h, m)
        self.step([(slot + right, slot + found) for slot in self.slots(1, *asked)])
        self.heads[m], self.labels[m] = h, found

    def step(self, features: list[tuple[int, int]]) -> None:
        """Raise weights of the right outcome, and lower those of the one that was found."""
        self.used += self.model.weights
        self.steps += 1
        for right, found in features:
            self.model.weights[right] += 1
            self.model.weights[found] -= 1
