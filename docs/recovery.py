"""Draw docs/pictures/recovery-*.svg: how EM finds the parameters of a bigram model again.

    .venv/bin/python docs/recovery.py

Sentences are drawn from a random model of six symbols whose modifiers depend on the direction.
Left: KL(truth || learnt) over all strings of four words, a word. Right: the same of the parameters
themselves, weighted by how often each context occurs. Both in nats.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc import BigramModel, Sentence
from crossarc.app.reports.plots import image
from crossarc.models.generative.corpus import UNKNOWN

Floats = NDArray[np.float64]
Curves = dict[str, list[float]]

PICTURES = Path(__file__).resolve().parent / "pictures"
KIND: dict[str, Any] = {"unit": "form", "distance": False}
LETTERS = "abcdef"
SYMBOLS = [*LETTERS, UNKNOWN]
COUNTS = (30, 100, 300, 1_000, 3_000, 10_000)
# Trees that EM starts from where parameters are compared: words alone do not tell which of two
# words is the head of the other.
SEED_TREES = 30

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 430, 300, 52, 16, 68, 40


def random_truth() -> BigramModel:
    """Counted on trees of sharply different words, so that there is something to learn."""
    rng = np.random.default_rng(19)
    rows = rng.dirichlet(np.full(len(LETTERS), 0.4), size=(len(LETTERS) + 1, 2))
    bank = []
    for head, side in itertools.product(range(len(LETTERS)), range(2)):
        for _ in range(300):
            first = LETTERS[head]
            other = LETTERS[int(rng.choice(len(LETTERS), p=rows[head, side]))]
            words, heads = ([first, other], [0, 1]) if side else ([other, first], [2, 0])
            bank.append(Sentence.build(words, heads=heads))
    return BigramModel(**KIND).fit(bank, smoothing="additive")


def parameters(model: BigramModel) -> Floats:
    """p(y | x, side) and p(y | root), rows that sum to 1."""
    pairs = [[x, y] for x, y in itertools.product(SYMBOLS, repeat=2)]
    (chunk,) = model._encoded(pairs).chunks()
    scores = model.arc_scores(chunk).reshape(len(SYMBOLS), len(SYMBOLS), 3, 3)
    right, left = scores[:, :, 1, 2], scores[:, :, 2, 1].T
    found: Floats = np.exp(np.concatenate([right, left, scores[:1, :, 0, 2]]))
    return found


def frequencies(sentences: Sequence[Sentence]) -> Floats:
    """How often each row of `parameters` is used, as a share."""
    counts = np.zeros(2 * len(SYMBOLS) + 1)
    for one in sentences:
        for m, h in enumerate(one.heads.tolist(), 1):
            side = 0 if h < m else len(SYMBOLS)
            counts[SYMBOLS.index(one.forms[h - 1]) + side if h else -1] += 1
    shares: Floats = counts / counts.sum()
    return shares


def measure(truth: BigramModel) -> tuple[Curves, Curves]:
    """Divergences by the number of sentences: of strings, of parameters."""
    lengths = np.random.default_rng(7).integers(3, 11, max(COUNTS)).tolist()
    bank = truth.generate(lengths, seed=1)
    strings = [list(words) for words in itertools.product(SYMBOLS, repeat=4)]
    logs, exact = np.array(truth.log_prob(strings)), parameters(truth)
    weights = frequencies(bank)

    def of_strings(model: BigramModel) -> float:
        return float(np.exp(logs) @ (logs - np.array(model.log_prob(strings)))) / 4

    def of_parameters(model: BigramModel) -> float:
        return float(weights @ (exact * np.log(exact / parameters(model))).sum(axis=1))

    start = BigramModel(**KIND).fit(truth.generate(lengths[:SEED_TREES], seed=2))
    left: Curves = {"trees known": [], "EM, random starts": []}
    right: Curves = {"trees known": [], f"EM from {SEED_TREES} trees": [], "those trees alone": []}
    for count in COUNTS:
        counted = BigramModel(**KIND).fit(bank[:count], smoothing="additive")
        free, seeded = BigramModel(**KIND), BigramModel(**KIND)
        free.fit_em(bank[:count], start="random", restarts=2, tolerance=1e-6, iterations=150)
        seeded.fit_em(bank[:count], start=start, tolerance=1e-6, iterations=150)
        for curve, value in zip(left.values(), map(of_strings, (counted, free)), strict=True):
            curve.append(value)
        values = map(of_parameters, (counted, seeded, start))
        for curve, value in zip(right.values(), values, strict=True):
            curve.append(value)
        print(count, {n: v[-1] for n, v in left.items()}, {n: v[-1] for n, v in right.items()})
    return left, right


def panel(title: str, curves: Mapping[str, Sequence[float]]) -> str:
    """Dots joined by lines, both axes logarithmic."""
    low = math.floor(math.log10(min(min(values) for values in curves.values())))
    high = math.ceil(math.log10(max(max(values) for values in curves.values())))

    def across(count: float) -> float:
        share = math.log(count / COUNTS[0]) / math.log(COUNTS[-1] / COUNTS[0])
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        share = (math.log10(value) - low) / (high - low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{title}</title>',
        f'<text class="name" x="{LEFT}" y="18">{title}</text>',
    ]
    for count in COUNTS:
        x = across(count)
        parts.append(f'<path class="rule" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        anchor = "end" if count == COUNTS[-1] else "middle"
        label = (
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="{anchor}">{count:,}</text>'
        )
        parts.append(label)
    for power in range(low, high + 1):
        y = up(10.0**power)
        parts.append(f'<path class="rule" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{10.0**power:g}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">sentences</text>')
    for level, (name, values) in enumerate(curves.items()):
        points = [(across(x), up(y)) for x, y in zip(COUNTS, values, strict=True)]
        line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path class="range" fill="none" d="{line}"/>')
        dots = [*points, (LEFT + 6 + 120 * level, 40)]
        colour = f"level{2 * level}"
        parts += [f'<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>' for x, y in dots]
        parts.append(f'<text x="{LEFT + 15 + 120 * level}" y="43.5">{name}</text>')
    return "".join([*parts, "</svg>"])


def main() -> None:
    """Write both pictures."""
    strings, values = measure(random_truth())
    plots = [panel("KL of strings, a word", strings), panel("KL of parameters", values)]
    for theme in ("light", "dark"):
        path = PICTURES / f"recovery-{theme}.svg"
        path.write_text(image(plots, theme, columns=2), encoding="utf-8")


if __name__ == "__main__":
    main()
