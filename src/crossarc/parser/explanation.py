"""Why a word hangs from one head and not from another: the features that speak for each.

The score of an arc is a sum of weights of features, so the difference of two scores is a sum over
the features that only one of the arcs has. The same holds for two labels of an arc, whose
log-probabilities differ by the difference of their scores. The "features" of a combination are the
weighted log-probabilities that its members give.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["Alternative", "Contrast", "Explanation", "FeatureWeight", "named"]

# What notebooks show: further features add little.
_TOP = 20
# Seen on light and on dark pages; the opacity is the share of the largest difference.
_FOR, _AGAINST = "70, 140, 235", "230, 110, 60"


class FeatureWeight(NamedTuple):
    """What a feature adds to the scores of the two alternatives, 0 where it does not hold."""

    #: The kind of part that it is a feature of: "arc" or "label".
    part: str
    #: In words, as `crossarc.models.first_order.explain` writes them.
    feature: str
    weight: float
    rival_weight: float

    @property
    def difference(self) -> float:
        """What it says for the one and against the other."""
        return self.weight - self.rival_weight


@dataclass(frozen=True, slots=True)
class Alternative:
    """A head or a label of a word.

    Attributes:
        name: such as "2 saw" or "obl".
        score: of the arc, of a model with parts of several arcs that of the best tree with the arc;
            of a label, its log-probability given the arc.
        probability: of the arc among all trees; of a label given the arc.
    """

    name: str
    score: float
    probability: float


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two alternatives, and the features that speak for one of them against the other.

    Attributes:
        features: those that make a difference, the largest first. Differences sum to that of the
            scores.
        shared: how many features speak as much for the one as for the other, because both have
            them; they are left out.
        unweighted: how many other features have no weight; they are left out.
    """

    chosen: Alternative
    rival: Alternative
    features: tuple[FeatureWeight, ...]
    shared: int
    unweighted: int

    @property
    def difference(self) -> float:
        """The score of the one minus that of the other."""
        return self.chosen.score - self.rival.score

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        return {
            "chosen": _alternative_dict(self.chosen),
            "rival": _alternative_dict(self.rival),
            "difference": self.difference,
            "features": [{**one._asdict(), "difference": one.difference} for one in self.features],
            "shared": self.shared,
            "unweighted": self.unweighted,
        }

    def text(self, top: int | None = _TOP) -> str:
        """A table for the terminal, with the `top` features, or all."""
        rows = [
            ["difference", self.chosen.name, self.rival.name, "feature"],
            *([*_numbers(one), one.feature] for one in self.features[:top]),
            *([f"{value:+.4f}", "", "", said] for value, said in self._rest(top)),
        ]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        return "\n".join(
            "  ".join([*(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=False)), row[3]])
            for row in rows
        )

    def html(self, top: int | None = _TOP) -> str:
        """The same table for notebooks."""
        largest = max((abs(one.difference) for one in self.features), default=1.0)
        heading = ("difference", self.chosen.name, self.rival.name, "feature")
        rows = ["".join(f"<th>{escape(name)}</th>" for name in heading)]
        for one in self.features[:top]:
            colour = _FOR if one.difference > 0 else _AGAINST
            share = 0.8 * abs(one.difference) / largest
            first, *others = _numbers(one)
            rows.append(
                f'<td style="background:rgba({colour}, {share:.3f})">{first}</td>'
                + "".join(f"<td>{cell}</td>" for cell in others)
                + f'<td style="text-align:left">{escape(one.feature)}</td>'
            )
        rows += [
            f'<td>{value:+.4f}</td><td></td><td></td><td style="text-align:left">{said}</td>'
            for value, said in self._rest(top)
        ]
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    def _rest(self, top: int | None) -> list[tuple[float, str]]:
        """The last rows: the sum of what is not shown, and of everything."""
        left = self.features[len(self.features) if top is None else top :]
        rows = []
        if left:
            more = sum(one.difference for one in left)
            rows.append((more, f"{len(left)} more feature{'s' if len(left) > 1 else ''}"))
        rows.append((self.difference, "in all"))
        return rows


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Why a word has one head rather than another, in a linear model.

        explanation = parser.explain(sentence, 2, 7)
        print(explanation)
        explanation.arc.difference, explanation.arc.features[0]

    Attributes:
        sentence: with the tags that the parser saw.
        word, head, rival: counted from 1; a head of 0 is the root.
        tree, rival_tree: the best trees that have the one arc and the other. Where they differ in
            other words, too, an arc may win although its own score is the lower.
        arc: the arc from the head against that from the rival.
        label: the label of the arc from the head against the best other one; None where the arc can
            have one label only.
    """

    sentence: Sentence
    word: int
    head: int
    rival: int
    tree: Tree
    rival_tree: Tree
    arc: Contrast
    label: Contrast | None

    def __repr__(self) -> str:
        return f"<Explanation: {self._sentence()}>"

    def __str__(self) -> str:
        return self.text()

    def text(self, top: int | None = _TOP, *, label: bool = True) -> str:
        """Tables for the terminal.

        Args:
            top: how many features to show; None for all.
            label: whether to show those of the label, too.
        """
        arc = self.arc
        lines = [
            f"{self._sentence()}\n{self._tree_sentence()}",
            f"{len(arc.features)} features make the difference of the arcs; {arc.shared} are on "
            f"both, {arc.unweighted} have no weight\n{arc.text(top)}",
        ]
        if label and self.label is not None:
            lines += [self._label_sentence(self.label), self.label.text(top)]
        return "\n\n".join(lines)

    def _repr_html_(self) -> str:
        about = f"{escape(self._sentence())}<br>{escape(self._tree_sentence())}"
        parts = [f"<p>{about}</p>", self.arc.html()]
        if self.label is not None:
            parts += [f"<p>{escape(self._label_sentence(self.label))}</p>", self.label.html()]
        return "".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        return {
            "sent_id": self.sentence.sent_id,
            "word": self.word,
            "form": self.sentence.forms[self.word - 1],
            "head": self.head,
            "rival": self.rival,
            "tree": _tree_dict(self.tree),
            "rival_tree": _tree_dict(self.rival_tree),
            "arc": self.arc.to_dict(),
            "label": None if self.label is None else self.label.to_dict(),
        }

    def _sentence(self) -> str:
        return f"{named(self.sentence, self.word)} from {_against(self.arc)}"

    def _tree_sentence(self) -> str:
        pairs = zip(self.tree.heads.tolist(), self.rival_tree.heads.tolist(), strict=True)
        differing = [
            [named(self.sentence, node) for node in (word, h, r)]
            for word, (h, r) in enumerate(pairs, 1)
            if h != r and word != self.word
        ]
        others = [f"{word} ({h}, {r})" for word, h, r in differing]
        differ = f"heads that differ: {', '.join(others)}" if others else "no other head differs"
        scores = f"{self.tree.score:.4f} and {self.rival_tree.score:.4f}"
        return f"the best trees with the two arcs score {scores}; {differ}"

    def _label_sentence(self, label: Contrast) -> str:
        return f"{named(self.sentence, self.word)} from {self.arc.chosen.name}: {_against(label)}"


def _numbers(one: FeatureWeight) -> list[str]:
    weights = (one.weight, one.rival_weight)
    return [f"{one.difference:+.4f}", *(f"{value:.4f}" if value else "" for value in weights)]


def _against(contrast: Contrast) -> str:
    chosen, rival = (
        f"{one.name} (probability {one.probability:.4f}, score {one.score:.4f})"
        for one in (contrast.chosen, contrast.rival)
    )
    return f"{chosen} rather than {rival}: {contrast.difference:+.4f}"


def _tree_dict(tree: Tree) -> dict[str, Any]:
    return {"heads": tree.heads.tolist(), "score": tree.score}


def _alternative_dict(one: Alternative) -> dict[str, Any]:
    return {"name": one.name, "score": one.score, "probability": one.probability}


def named(sentence: Sentence, node: int) -> str:
    """A node by number and form."""
    return "0 ROOT" if node == 0 else f"{node} {sentence.forms[node - 1]}"
