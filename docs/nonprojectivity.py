"""Write docs/nonprojectivity.md: the tables of Nivre (2006), and the same for other treebanks.

    .venv/bin/python docs/nonprojectivity.py [TREEBANKS]

TREEBANKS holds NAME/train.conllu.gz and NAME/dev.conllu.gz, Danish-DDT and Gothic-PROIEL among them.
The page holds counts only, no sentence of a treebank.
"""

from __future__ import annotations

import sys
from functools import reduce
from pathlib import Path

import numpy as np

from crossarc import read_conllu
from crossarc.analysis import ConstraintStudy, Examples, study_constraints
from crossarc.app.reports.formats import markdown_table
from crossarc.app.reports.tables import Table, fixed, study_tables
from crossarc.inference.transition import CONSTRAINTS, Order

DOCS = Path(__file__).resolve().parent
TREEBANKS = DOCS.parents[1] / "shared" / "treebanks"

# Nivre (2006), Table 1, DDT: percent of arcs, of graphs. All others are 100.
TABLE_1 = {
    "projectivity": (97.7754, 84.6259),
    "d<=1": (99.8940, 98.0272),
    "d<=2": (99.9751, 99.5238),
    "d<=3": (99.9975, 99.9546),
}
# Table 2, DDT: a, b, r2.
TABLE_2 = {
    "projectivity": (1.7591, 0.0108, 0.985),
    "d<=1": (2.2049, 0.0391, 0.969),
    "d<=2": (2.0273, 0.0680, 0.964),
    "acyclicity": (1.4285, 0.1106, 0.967),
    "single-head": (1.9003, 0.1149, 0.967),
    "none": (-0.5, 0.5, 1.0),
}
RESAMPLES = 1000

INTRODUCTION = """# Non-projectivity in treebanks

What constraints on trees cost and save, measured as in Nivre (2006), *Constraints on Non-Projective
Dependency Parsing*. [Analysis](analysis.md) says how to read the numbers. All tables are made by
one command:

```sh
.venv/bin/python docs/nonprojectivity.py TREEBANKS
```

## The Danish Dependency Treebank

The paper uses the training section, 80 % of the treebank: 4,410 sentences and 80,193 arcs. Here it
is the first 80 % in the order of the files: {sentences:,} sentences and {arcs:,} arcs. Which sentences
the paper's section holds is not known, so the last digits cannot agree.
"""

ACCOUNT = """
*sd* is the standard deviation of the figure to its left over {resamples:,} samples of the sentences
with replacement.

The reading that gives these figures: a pair is active if at least one of its two arcs is
permissible, tested on the graph plus that arc; constraints are cumulative; the artificial root is in
no pair; r2 is uncentred. The paper prints "i → j *and* j → i", but then a word with a head could not
be linked to any later word, and arcs would be lost under single-head already, where the paper loses
none. Punctuation counts: 80,193 arcs are 80 % of all 100,238 tokens that CoNLL-X has for this
treebank.

Two figures differ by more than 5 %: *a* under single-head ({single:+.1f} %) and under acyclicity
({acyclic:+.1f} %). Both are about one standard deviation away, and a few long sentences decide
them: one sentence of {words} words, present or absent, moves *a* under acyclicity by {change:.3f}, more
than half of the difference. What acyclicity saves beyond single-head comes out alike, {saved:.4f} *x*
here and 0.4718 *x* in print, so the sentences differ and not the way of counting.

r2 under acyclicity is {r2:.3f} here and 0.967 in print, {r2_sd:.1f} standard deviations away, while
the other rows differ by 0.001 or less. The printed value equals that of the row below it, so it may
be a slip.
"""

REMARKS = """
### Remarks of the paper's section 6

| remark | in print | here |
| --- | ---: | ---: |
| arcs lost under projectivity, per non-projective arc | about 2 | {lost:.2f} |
| sentences of up to 30 words | 86.0 % | {short:.1f} % |
| sentences of up to 50 words | 98.3 % | {medium:.1f} % |
| *ax* exceeds *bx²* up to, at d<=1 | 50 words | {first:.1f} words |
| *ax* exceeds *bx²* up to, at d<=2 | 30 words | {second:.1f} words |
"""

OTHER_ORDER = """
### Pairs by increasing length

The paper says that its results carry over to any algorithm that adds an arc after all arcs that it
covers, such as one that tries pairs by increasing length. What is found does carry over: under no
constraint do the numbers of arcs differ by more than {difference}, of {arcs:,}. The numbers of active pairs do
not: they are smaller throughout, because words find their heads before far words are tried.
"""

EVERY = """## Every treebank

Training and development sections together. Danish-DDT-UD is the same text as Danish-DDT in another
annotation, development section only. In Dutch-LassySmall, nine in ten non-projective arcs pass over
nothing but punctuation that hangs elsewhere. In Gothic-PROIEL one sentence of {words} words with
only {pairs} active pairs spoils the fits: without it, r2 under acyclicity would be {r2:.3f}.
"""


def study(paths: list[Path], order: Order = "incremental") -> ConstraintStudy:
    nothing = Examples(limit=0)
    return reduce(
        ConstraintStudy.__add__,
        (study_constraints(read_conllu(path), order=order, examples=nothing) for path in paths),
    )


def danish_tables(one: ConstraintStudy) -> str:
    """Tables 1 and 2 beside the printed ones."""
    rows = [("constraint", "arcs %", "in print", "graphs %", "in print")]
    for name in CONSTRAINTS:
        arcs, graphs = TABLE_1.get(name, (100.0, 100.0))
        rows.append(
            (
                name,
                fixed(one.percent_arcs(name), 4),
                fixed(arcs, 4),
                fixed(one.percent_graphs(name), 4),
                fixed(graphs, 4),
            )
        )
    fits = [("constraint", "a", "sd", "in print", "b", "sd", "in print", "r2", "sd", "in print")]
    for name, printed in TABLE_2.items():
        fit, spread = one.tallies[name].fit(), deviations(one, name)
        cells = []
        for value, sd, expected, digits in zip(
            (fit.a, fit.b, fit.r2), spread, printed, (4, 4, 3), strict=True
        ):
            cells += [fixed(value, digits), fixed(sd, digits), fixed(expected, digits)]
        fits.append((name, *cells))
    return "\n".join(
        (
            markdown_table(Table("Table 1: arcs and graphs found", rows)),
            markdown_table(Table("Table 2: active pairs, y = ax + bx²", fits)),
        )
    )


def sentences_of(one: ConstraintStudy, name: str) -> np.ndarray:
    """Length and active pairs, a row a sentence."""
    return np.array(sorted(one.tallies[name].points.elements()), float)


def curve(points: np.ndarray) -> tuple[float, float, float]:
    x, y = points.T
    design = np.stack([x, x * x], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, y, rcond=None)
    return a, b, 1 - ((y - design @ (a, b)) ** 2).sum() / (y @ y)


def deviations(one: ConstraintStudy, name: str) -> np.ndarray:
    """How a, b and r2 vary over samples of the sentences."""
    points = sentences_of(one, name)
    chance = np.random.default_rng(2006)
    fits = [curve(points[chance.integers(0, len(points), len(points))]) for _ in range(RESAMPLES)]
    return np.std(fits, axis=0)


def account(one: ConstraintStudy) -> str:
    """Why figures of Table 2 differ."""
    fits = {name: one.tallies[name].fit() for name in TABLE_2}
    a = {name: fit.a or 0.0 for name, fit in fits.items()}
    points = sentences_of(one, "acyclicity")
    longest = np.argsort(points[:, 0])[-100:]
    changes = {k: curve(np.delete(points, k, axis=0))[0] - a["acyclicity"] for k in longest}
    strongest = max(changes, key=lambda k: abs(changes[k]))
    r2 = fits["acyclicity"].r2 or 0.0
    return ACCOUNT.format(
        resamples=RESAMPLES,
        single=100 * (a["single-head"] / TABLE_2["single-head"][0] - 1),
        acyclic=100 * (a["acyclicity"] / TABLE_2["acyclicity"][0] - 1),
        words=int(points[strongest, 0]),
        change=abs(changes[strongest]),
        saved=a["single-head"] - a["acyclicity"],
        r2=r2,
        r2_sd=abs(TABLE_2["acyclicity"][2] - r2) / deviations(one, "acyclicity")[2],
    )


def danish(folder: Path) -> str:
    one = study([folder / "train.conllu.gz"])
    other = study([folder / "train.conllu.gz"], "shortest-first")
    differences = [other.tallies[name].arcs - one.tallies[name].arcs for name in CONSTRAINTS]
    tables = study_tables([("Danish-DDT", other)])[:2]
    return "\n".join(
        (
            INTRODUCTION.format(sentences=one.sentences, arcs=one.arcs),
            danish_tables(one),
            account(one).lstrip(),
            REMARKS.format(
                lost=one.lost_per_nonprojective_arc,
                short=one.profile.share_up_to(30),
                medium=one.profile.share_up_to(50),
                first=one.tallies["d<=1"].fit().linear_up_to,
                second=one.tallies["d<=2"].fit().linear_up_to,
            ).lstrip(),
            OTHER_ORDER.format(difference=max(map(abs, differences)), arcs=one.arcs).lstrip(),
            *map(markdown_table, tables),
        )
    )


def every(gothic: ConstraintStudy) -> str:
    points = sentences_of(gothic, "acyclicity")
    words, pairs = points[-1]
    return EVERY.format(words=int(words), pairs=int(pairs), r2=curve(points[:-1])[2])


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TREEBANKS
    studies = [
        (bank.name, study(sorted(bank.glob("*.conllu.gz"))))
        for bank in sorted(folder.iterdir())
        if list(bank.glob("*.conllu.gz"))
    ]
    parts = [
        danish(folder / "Danish-DDT"),
        every(dict(studies)["Gothic-PROIEL"]),
        *map(markdown_table, study_tables(studies)),
    ]
    (DOCS / "nonprojectivity.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
