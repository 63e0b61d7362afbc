"""The page docs/reproduction/koo2007.md, from the result files of its cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import crossarc as ca
from crossarc.evaluation import sign_test_p

__all__ = ["write_page"]

Row = dict[str, Any]
LEARNERS = {"perceptron": "perceptron", "maxmargin": "max-margin", "loglinear": "log-linear"}
TREES = ("p", "np")
#: Koo et al. (2007), Tables 2 and 3: six languages, unlabelled; columns as of LEARNERS and TREES.
PRINTED = {
    "Arabic-PUD": (71.74, 71.84, 71.74, 72.99, 73.11, 73.67),
    "Dutch-LassySmall": (77.17, 78.83, 76.53, 79.69, 76.23, 79.55),
    "Japanese-GSD": (91.90, 91.78, 92.10, 92.18, 91.68, 91.49),
    "Slovenian-SSJ": (78.02, 78.66, 79.78, 80.10, 78.24, 79.66),
    "Spanish-AnCora": (81.19, 80.02, 81.71, 81.93, 81.75, 81.57),
    "Turkish-IMST": (71.22, 71.70, 72.83, 72.02, 72.26, 72.62),
}
#: Seconds by (n + 1)^2 of a log-linear cell, while none is measured: 110 iterations of conjugate
#: gradient at the pace of 30 on Latin-Perseus.
ASSUMED = 4.7e-4
HEAD = ["treebank", *(f"{name} {trees}" for name in LEARNERS.values() for trees in TREES)]


@dataclass
class Treebank:
    """What Table 1 says of a treebank, and what the time of a pass grows with."""

    crossing: float
    words: tuple[int, int, int]
    squares: int

    @classmethod
    def read(cls, folder: Path) -> Treebank:
        train = list(ca.read_conllu(folder / "train.conllu.gz"))
        dev = sum(map(len, ca.read_conllu(folder / "dev.conllu.gz")))
        count = len(train) - len(train) // 10
        known, validation = train[:count], train[count:]
        words = sum(map(len, known)), sum(map(len, validation)), dev
        crossing = sum(int(one.tree.nonprojective_arcs.sum()) for one in train)
        squares = sum((len(one) + 1) ** 2 for one in known)
        return cls(100.0 * crossing / (words[0] + words[1]), words, squares)


def write_page(results: Path, treebanks: Path, names: Sequence[str]) -> None:
    """Fill the template in with the cells that there are."""
    cells = {
        tuple(path.stem.rsplit("-", 2)): json.loads(path.read_text())
        for path in sorted(results.glob("*.json"))
    }
    known = {name: Treebank.read(treebanks / name) for name in names}
    template = (results.parent.parent / "templates" / "koo2007.txt").read_text(encoding="utf-8")
    parts = {
        "DATA": data_table(known),
        "TABLE_2": table_2(cells, names, "uas"),
        "BARE": table_2(cells, names, "uas_without_punctuation"),
        "TABLE_3": table_3(cells, names),
        "SIGNS": sign_table(cells, names),
        "FINDINGS": findings(cells, names),
        "CHOICES": choices(cells, names),
        "MISSING": missing(cells, known),
        "ROOTS": root_table(results),
    }
    for name, text in parts.items():
        template = template.replace(f"<!-- {name} -->", text)
    results.with_suffix(".md").write_text(template, encoding="utf-8")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def data_table(known: dict[str, Treebank]) -> str:
    rows = [
        (name, f"{one.crossing:.2f}", *(f"{words:,}" for words in one.words))
        for name, one in known.items()
    ]
    return markdown(("treebank", "crossing %", "train", "validation", "dev"), rows)


def table_2(cells: dict[Any, Row], names: Sequence[str], metric: str) -> str:
    rows = []
    for name in names:
        found = [cells.get((name, learner, trees)) for learner in LEARNERS for trees in TREES]
        if any(found):
            rows.append([name, *("-" if one is None else f"{one[metric]:.2f}" for one in found)])
            if metric == "uas" and name in PRINTED:
                rows.append(["*in print*", *(f"*{value:.2f}*" for value in PRINTED[name])])
    return markdown(HEAD, rows)


def chosen(cells: dict[Any, Row], name: str, learner: str) -> Row | None:
    """Of projective and non-projective training, the better one on the validation part."""
    both = [cells.get((name, learner, trees)) for trees in TREES]
    if any(one is None for one in both):
        return None
    return max((one for one in both if one is not None), key=lambda one: one["validation_uas"])


def whole(cells: dict[Any, Row], names: Sequence[str]) -> list[str]:
    """The treebanks with all six cells."""
    return [name for name in names if all(chosen(cells, name, learner) for learner in LEARNERS)]


def table_3(cells: dict[Any, Row], names: Sequence[str]) -> str:
    full = whole(cells, names)
    if not full:
        return "No treebank has all six cells yet."
    rows = []
    for learner, shown in LEARNERS.items():
        scores = [(chosen(cells, name, learner) or {})["uas"] for name in full]
        rows.append([shown, *(f"{score:.2f}" for score in scores), f"{np.mean(scores):.2f}"])
    return markdown(["learner", *full, "mean"], rows)


def sign_table(cells: dict[Any, Row], names: Sequence[str]) -> str:
    if not whole(cells, names):
        return "No treebank has all six cells yet."
    rows = []
    for learner in ("loglinear", "maxmargin"):
        for key, words in (("right", "all words"), ("right_without_punctuation", "no punctuation")):
            better, worse, total = compare(cells, whole(cells, names), learner, key)
            p = sign_test_p(better, worse)
            shown = "< 0.001" if p < 0.001 else f"{p:.3f}"
            rows.append((LEARNERS[learner], words, f"{total:,}", str(better), str(worse), shown))
    return markdown(("beside the perceptron", "", "sentences", "better", "worse", "p"), rows)


def compare(
    cells: dict[Any, Row], names: Sequence[str], learner: str, key: str
) -> tuple[int, int, int]:
    better = worse = total = 0
    for name in names:
        ours, theirs = chosen(cells, name, learner), chosen(cells, name, "perceptron")
        assert ours is not None
        assert theirs is not None
        difference = np.array(ours[key]) - np.array(theirs[key])
        better += int((difference > 0).sum())
        worse += int((difference < 0).sum())
        total += len(difference)
    return better, worse, total


def findings(cells: dict[Any, Row], names: Sequence[str]) -> str:
    """Where what the paper found holds, in numbers."""
    lines = []
    for learner in ("maxmargin", "loglinear"):
        gains = {}
        for name in names:
            ours, theirs = chosen(cells, name, learner), chosen(cells, name, "perceptron")
            if ours is not None and theirs is not None:
                gains[name] = ours["uas"] - theirs["uas"]
        lines.append(
            f"- {LEARNERS[learner].capitalize()} less perceptron (Table 3; in print "
            f"{'+0.84, on all six' if learner == 'maxmargin' else '+0.72, on five of six'}): "
            f"{signed(gains)}."
        )
    for learner, shown in LEARNERS.items():
        pairs = {
            name: cells[name, learner, "np"]["uas"] - cells[name, learner, "p"]["uas"]
            for name in names
            if all((name, learner, trees) in cells for trees in TREES)
        }
        printed = 2 * list(LEARNERS).index(learner)
        dutch = PRINTED["Dutch-LassySmall"][printed + 1] - PRINTED["Dutch-LassySmall"][printed]
        lines.append(
            f"- Non-projective less projective training, {shown} (in print Dutch {dutch:+.2f}, "
            f"others mixed): {signed(pairs)}."
        )
    return "\n".join(lines)


def signed(gains: dict[str, float]) -> str:
    """Differences by treebank, their mean, and how many are gains."""
    if not gains:
        return "not measured yet"
    listed = ", ".join(f"{name} {gain:+.2f}" for name, gain in gains.items())
    if len(gains) == 1:
        return listed
    better = sum(gain > 0.0 for gain in gains.values())
    mean = np.mean(list(gains.values()))
    return f"{listed}; mean {mean:+.2f}, better on {better} of {len(gains)}"


def root_table(results: Path) -> str:
    """Single root against several, where trees have several."""
    rows = []
    for path in sorted((results / "roots").glob("*.json")):
        name, learner, root = path.stem.rsplit("-", 2)
        one = json.loads(path.read_text())
        count = len(one["right"])
        rows.append(
            (
                name,
                LEARNERS[learner],
                root,
                f"{one['uas']:.2f}",
                f"{one['roots_right']} of {count}",
            )
        )
    if not rows:
        return "Not measured yet."
    return markdown(("treebank", "learner", "root", "UAS", "right number of roots"), rows)


def choices(cells: dict[Any, Row], names: Sequence[str]) -> str:
    rows = []
    for name in names:
        for learner, shown in LEARNERS.items():
            for trees in TREES:
                one = cells.get((name, learner, trees))
                if one is not None:
                    c = "-" if one["c"] is None else f"{one['c']:g}"
                    rows.append(
                        (
                            name,
                            f"{shown} {trees}",
                            c,
                            str(one["passes"]),
                            one["decoder"],
                            f"{one['validation_uas']:.2f}",
                            str(one["all_passes"]),
                            f"{one['seconds']:,.0f}",
                        )
                    )
    head = ("treebank", "training", "C", "T", "decoder", "validation UAS", "passes in all", "s")
    return markdown(head, rows)


def missing(cells: dict[Any, Row], known: dict[str, Treebank]) -> str:
    """The cells that are not there, and how long they would take."""
    rates: dict[tuple[str, str], float] = {}
    for learner in LEARNERS:
        for trees in TREES:
            done = [one for key, one in cells.items() if key[1:] == (learner, trees)]
            if done:
                seconds = sum(one["seconds"] for one in done)
                rates[learner, trees] = seconds / sum(one["squares"] for one in done)
    # Where only one of the two kinds of trees is measured, the other takes about as long.
    for learner in LEARNERS:
        either = [rates[learner, trees] for trees in TREES if (learner, trees) in rates]
        for trees in TREES:
            rates.setdefault((learner, trees), either[0] if either else ASSUMED)
    lines, total = [], 0.0
    for name, treebank in known.items():
        left = [
            (learner, trees)
            for learner in LEARNERS
            for trees in TREES
            if (name, learner, trees) not in cells
        ]
        if not left:
            continue
        hours = sum(rates[one] for one in left) * treebank.squares / 3600.0
        total += hours
        which = ", ".join(f"{LEARNERS[learner]} {trees}" for learner, trees in left)
        which = "all six" if len(left) == len(LEARNERS) * len(TREES) else which
        lines.append(f"- {name}: {which} (about {hours:.1f} h)")
    if not lines:
        return "All cells are there."
    count = sum(
        (name, learner, trees) not in cells
        for name in known
        for learner in LEARNERS
        for trees in TREES
    )
    return (
        f"**{count} of {6 * len(known)} cells are missing**, about {total:.1f} hours of one core "
        "in all, estimated from the cells measured (time grows with the sum over sentences of "
        "(n + 1)^2; log-linear, while no cell of it is there, from the pace of 30 iterations):\n\n"
        + "\n".join(lines)
    )
