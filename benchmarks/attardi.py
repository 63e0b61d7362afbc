"""Attardi's system: time, memory and accuracy of the generative transition model.

    python benchmarks/attardi.py speed
    python benchmarks/attardi.py induction [TREEBANKS]
    python benchmarks/attardi.py supervised [TREEBANKS]

`speed`: inside, and inside with outside, at 10 to 40 words: medians of five, peak memory,
exponents, time per product; two threads beside one; seconds to compile. `induction`: EM over the
tags of train, measured on dev, both up to 10 words without punctuation, beside chains of words.
`supervised`: unlabelled attachment of the models on development sections up to 40 words, beside
first-order parsers.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.harness import default_treebanks, medians

import crossarc as ca
from crossarc.inference.transition.attardi import Computations, TransitionScores
from crossarc.models.generative.induction import Start
from crossarc.models.transition import ConditionalTransitionModel
from crossarc.models.transition.decoding import Method

Ints = NDArray[np.int64]
SIZES = (10, 20, 30, 40)
INDUCED = (
    "Gothic-PROIEL",
    "Turkish-IMST",
    "Portuguese-Bosque",
    "Dutch-LassySmall",
    "Japanese-GSD",
    "English-EWT",
)
METHODS: tuple[Method, ...] = ("computation", "risk")
SUPERVISED = ("Latin-Perseus", "Slovenian-SSJ", "Danish-DDT", "Turkish-IMST", "Gothic-PROIEL")


# Speed.


def drawn(words: int) -> TransitionScores:
    rng = np.random.default_rng(words)
    return TransitionScores(*(rng.normal(size=(words + 1,) * rank) for rank in (2, 2, 2, 3, 3)))


def inside(scores: TransitionScores, threads: int) -> None:
    Computations(scores, threads=threads).log_total()


def both(scores: TransitionScores, threads: int) -> None:
    Computations(scores, threads=threads).expectations()


def products(words: int) -> int:
    """Of the three O(n^7) joins: M, the partial sums of la2, and la2 itself."""
    return 3 * math.comb(words + 2, 7)


def speed() -> None:
    before: dict[str, float] = {}
    for words in SIZES:
        scores = drawn(words)
        jobs = {"inside": partial(inside, scores, 1), "with outside": partial(both, scores, 1)}
        if words >= 30:
            jobs |= {
                "inside, 2 threads": partial(inside, scores, 2),
                "with outside, 2 threads": partial(both, scores, 2),
            }
        for job in jobs.values():
            job()
        seconds = medians(jobs)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        shown = "  ".join(f"{name} {value * 1e3:.2f} ms" for name, value in seconds.items())
        per_product = seconds["inside"] / products(words) * 1e9
        print(f"n={words}: {shown}  peak {peak:.0f} MB  {per_product:.2f} ns a product")
        if before:
            ratio = math.log(words / (words - 10))
            grown = {name: math.log(seconds[name] / before[name]) / ratio for name in before}
            print("      exponents: " + "  ".join(f"{k} {v:.1f}" for k, v in grown.items()))
        before = {name: seconds[name] for name in ("inside", "with outside")}
    compile_times()


def compile_times() -> None:
    """Processor seconds of each kernel, in a fresh process with an empty cache."""
    code = (
        "import time, crossarc.inference.transition.attardi.inside as i, "
        "crossarc.inference.transition.attardi.outside as o, "
        "crossarc.inference.transition.attardi.derivations as d, "
        "crossarc.inference.forest.viterbi as v\n"
        "v.best_parts.compile()\n"
        "for one in (i.inside, o.outside, d.trace):\n"
        "    start = time.process_time(); one.compile()\n"
        "    print(f'compile {one.__name__}: {time.process_time() - start:.1f} s')"
    )
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"NUMBA_CACHE_DIR": folder}
        subprocess.run([sys.executable, "-c", code], env=env, check=True)


# Accuracy.


def content(sentence: ca.Sentence) -> tuple[list[str], Ints]:
    """Tags and heads without punctuation: what hangs from it hangs from the next word above."""
    kept = [m for m, tag in enumerate(sentence.upos, 1) if tag != "PUNCT"]
    number = {m: at for at, m in enumerate(kept, 1)} | {0: 0}
    heads = []
    for m in kept:
        h = int(sentence.heads[m - 1])
        while h not in number:
            h = int(sentence.heads[h - 1])
        heads.append(number[h])
    return [sentence.upos[m - 1] for m in kept], np.array(heads, np.int64)


def attachment(pairs: Sequence[tuple[Ints, Ints]]) -> tuple[float, float]:
    """Directed and undirected, in percent of the words."""
    words = sum(len(gold) for gold, _ in pairs)
    directed = sum(int((gold == own).sum()) for gold, own in pairs)
    undirected = 0
    for gold, own in pairs:
        place = np.arange(1, len(gold) + 1)
        is_reversed = (own > 0) & (np.append(-1, gold)[own] == place)
        undirected += int(((gold == own) | is_reversed).sum())
    return 100 * directed / words, 100 * undirected / words


def shown(scores: tuple[float, float]) -> str:
    return f"{scores[0]:.1f} / {scores[1]:.1f}"


def short_sentences(path: Path) -> list[tuple[list[str], Ints]]:
    """Tags and heads of sentences of up to 10 words, without punctuation."""
    sentences = map(content, ca.read_conllu(path))
    return [(tags, heads) for tags, heads in sentences if 1 <= len(tags) <= 10]


def induction(folder: Path) -> None:
    starts: tuple[Start, ...] = ("uniform", "random")
    for start in starts:
        for name in INDUCED:
            train, dev = (
                short_sentences(folder / name / f"{section}.conllu.gz")
                for section in ("train", "dev")
            )
            right = [(heads, np.arange(len(heads))) for _, heads in dev]
            left = [(heads, np.append(np.arange(2, len(heads) + 1), 0)) for _, heads in dev]
            begin = time.process_time()
            found = ca.TransitionModel.fit_em(
                [tags for tags, _ in train],
                vocabulary=sorted({tag for tags, _ in (*train, *dev) for tag in tags}),
                start=start,
                prior=1.0,
                iterations=15,
                proper=True,
                root="single",
                threads=1,
            )
            trees: dict[Method, tuple[float, float]] = {}
            for method in METHODS:
                parse = partial(found.model.parse, method=method, root="single", threads=1)
                trees[method] = attachment([(heads, parse(tags).heads) for tags, heads in dev])
            print(
                f"{name}: {len(train)} and {len(dev)} sentences; left-branching "
                f"{shown(attachment(left))}, right-branching {shown(attachment(right))}\n"
                f"   EM from {start}: best computation {shown(trees['computation'])}, "
                f"least risk {shown(trees['risk'])}; objective {found.objectives[0]:.0f} -> "
                f"{found.objectives[-1]:.0f} in {len(found.objectives)} iterations, "
                f"{time.process_time() - begin:.0f} s",
                flush=True,
            )


def supervised(folder: Path) -> None:
    for name in SUPERVISED:
        train = list(ca.read_conllu(folder / name / "train.conllu.gz"))
        held_out = ca.read_conllu(folder / name / "dev.conllu.gz")
        dev = [one for one in held_out if len(one) <= 40]
        print(f"{name}: {len(train)} sentences, {len(dev)} to parse", flush=True)
        tags = sorted({tag for one in (*train, *dev) for tag in one.upos})
        short = [one for one in train if len(one) <= 20]
        fit = partial(ca.TransitionModel.fit, unit="upos", vocabulary=tags, strength=5.0)
        models: dict[str, ca.TransitionModel | ConditionalTransitionModel] = {
            "tags": fit(train),
            "tags, EM over each tree's computations, up to 20 words": fit(short, iterations=2),
            "forms": ca.TransitionModel.fit(train, unit="form", min_count=3, strength=5.0),
            "conditional, from up to 10 words": ConditionalTransitionModel.fit(
                [one for one in train if len(one) <= 10],
                unit="upos",
                vocabulary=tags,
                iterations=20,
            ),
        }
        for title, model in models.items():
            if isinstance(model, ca.TransitionModel):
                print(f"   {title}: {model.set_aside}")
            for method in METHODS if title != "forms" else METHODS[:1]:
                begin = time.process_time()
                pairs = [(s.heads, model.parse(s, method=method, root="single").heads) for s in dev]
                seconds = time.process_time() - begin
                shown_score = f"{attachment(pairs)[0]:.2f}"
                print(f"   {title}, {method}: {shown_score}  ({seconds:.0f} s)", flush=True)
        for title, projective in (("projective", True), ("non-projective", False)):
            parser = ca.Parser.train(train, text=False, projective=projective, seed=0)
            parsed = [one.heads for one in parser.parse(dev)]
            pairs = [(s.heads, own) for s, own in zip(dev, parsed, strict=True)]
            print(f"   first-order parser, {title}: {attachment(pairs)[0]:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("speed", "induction", "supervised"))
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    options = parser.parse_args()
    if options.what == "speed":
        speed()
    else:
        {"induction": induction, "supervised": supervised}[options.what](options.treebanks)


if __name__ == "__main__":
    main()
