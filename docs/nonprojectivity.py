"""Write docs/nonprojectivity.md: Nivre (2006) on its treebank and on others, tables and plots.

    .venv/bin/python docs/nonprojectivity.py [TREEBANKS]

TREEBANKS holds NAME/train.conllu.gz and NAME/dev.conllu.gz, Danish-DDT and Gothic-PROIEL among
them. The page holds counts only, no sentence of a treebank; its words are in templates/.
"""

from __future__ import annotations

import sys
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crossarc import read_conllu
from crossarc.analysis import ConstraintStudy, Examples, study_constraints
from crossarc.app.reports.plots import active_pair_plots, image, lost_graphs_plot
from crossarc.app.reports.tables import Table, fixed, markdown_table, study_tables
from crossarc.inference.transition import CONSTRAINTS, Order

Floats = NDArray[np.float64]

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


def study(paths: list[Path], order: Order = "incremental") -> ConstraintStudy:
    """Several sections as one treebank."""
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
    fits: list[tuple[str, ...]] = [
        ("constraint", "a", "sd", "in print", "b", "sd", "in print", "r2", "sd", "in print")
    ]
    for name, printed in TABLE_2.items():
        fit, deviation = one.tallies[name].fit(), deviations(one, name)
        cells = []
        for value, sd, expected, digits in zip(
            (fit.a, fit.b, fit.r2), deviation, printed, (4, 4, 3), strict=True
        ):
            cells += [fixed(value, digits), fixed(sd, digits), fixed(expected, digits)]
        fits.append((name, *cells))
    return "\n".join(
        (
            markdown_table(Table("Table 1: arcs and graphs found", rows)),
            markdown_table(Table("Table 2: active pairs, y = ax + bx²", fits)),
        )
    )


def sentences_of(one: ConstraintStudy, name: str) -> Floats:
    """Length and active pairs, a row a sentence."""
    return np.array(sorted(one.tallies[name].points.elements()), float)


def curve(points: Floats) -> tuple[float, float, float]:
    """a, b and r2, as `fit_quadratic` has them, but in floats and quick."""
    x, y = points.T
    design = np.stack([x, x * x], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, y, rcond=None)
    return a, b, 1 - ((y - design @ (a, b)) ** 2).sum() / (y @ y)


def deviations(one: ConstraintStudy, name: str) -> Floats:
    """How a, b and r2 vary over samples of the sentences."""
    points = sentences_of(one, name)
    rng = np.random.default_rng(2006)
    fits = [curve(points[rng.integers(0, len(points), len(points))]) for _ in range(RESAMPLES)]
    deviation: Floats = np.std(fits, axis=0)
    return deviation


def account(one: ConstraintStudy) -> dict[str, float]:
    """Figures that say why Table 2 differs."""
    fits = {name: one.tallies[name].fit() for name in TABLE_2}
    a = {name: fit.a or 0.0 for name, fit in fits.items()}
    points = sentences_of(one, "acyclicity")
    longest = np.argsort(points[:, 0])[-100:]
    changes = {k: curve(np.delete(points, k, axis=0))[0] - a["acyclicity"] for k in longest}
    strongest = max(changes, key=lambda k: abs(changes[k]))
    r2 = fits["acyclicity"].r2 or 0.0
    return {
        "resamples": RESAMPLES,
        "single": 100 * (a["single-head"] / TABLE_2["single-head"][0] - 1),
        "acyclic": 100 * (a["acyclicity"] / TABLE_2["acyclicity"][0] - 1),
        "words": int(points[strongest, 0]),
        "change": abs(changes[strongest]),
        "saved": a["single-head"] - a["acyclicity"],
        "r2": r2,
        "r2_sd": abs(TABLE_2["acyclicity"][2] - r2) / deviations(one, "acyclicity")[2],
    }


def danish(folder: Path) -> dict[str, object]:
    """What the page says about the treebank of the paper."""
    one = study([folder / "train.conllu.gz"])
    other = study([folder / "train.conllu.gz"], "shortest-first")
    differences = [other.tallies[name].arcs - one.tallies[name].arcs for name in CONSTRAINTS]
    return {
        **account(one),
        "sentences": one.sentences,
        "arcs": one.arcs,
        "danish_tables": danish_tables(one),
        "lost": one.lost_per_nonprojective_arc,
        "short": one.profile.share_up_to(30),
        "medium": one.profile.share_up_to(50),
        "first": one.tallies["d<=1"].fit().linear_up_to,
        "second": one.tallies["d<=2"].fit().linear_up_to,
        "difference": max(map(abs, differences)),
        "other_tables": "\n".join(map(markdown_table, study_tables([("", other)])[:2])),
    }


def gothic(one: ConstraintStudy) -> dict[str, float]:
    """What its longest sentence does to the fit."""
    points = sentences_of(one, "acyclicity")
    words, pairs = points[-1]
    return {
        "gothic_words": int(words),
        "gothic_pairs": int(pairs),
        "gothic_r2": curve(points[:-1])[2],
    }


def write_plots(name: str, plots: list[str], *, columns: int = 1) -> None:
    """An image for light pages and one for dark pages."""
    for theme in ("light", "dark"):
        path = DOCS / "pictures" / f"{name}-{theme}.svg"
        path.write_text(image(plots, theme, columns=columns), encoding="utf-8")


def main() -> None:
    """Fill the template."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TREEBANKS
    studies = [
        (bank.name, study(sorted(bank.glob("*.conllu.gz"))))
        for bank in sorted(folder.iterdir())
        if list(bank.glob("*.conllu.gz"))
    ]
    page = (DOCS / "templates" / "nonprojectivity.txt").read_text(encoding="utf-8")
    filled = page.format(
        **danish(folder / "Danish-DDT"),
        **gothic(dict(studies)["Gothic-PROIEL"]),
        tables="\n".join(map(markdown_table, study_tables(studies))),
    )
    danish_study = study([folder / "Danish-DDT" / "train.conllu.gz"])
    write_plots("danish", active_pair_plots("Danish-DDT", danish_study), columns=2)
    write_plots("treebanks", [lost_graphs_plot(studies)])
    (DOCS / "nonprojectivity.md").write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()
