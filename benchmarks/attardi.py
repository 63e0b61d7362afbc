"""Attardi's system: time, memory and accuracy of the generative transition model.

    python benchmarks/attardi.py speed
    python benchmarks/attardi.py induction [TREEBANKS] [--names NAME ...] [--max-words 10]
    python benchmarks/attardi.py supervised [TREEBANKS]
    python benchmarks/attardi.py perplexities [TREEBANKS] [--names NAME ...]

`speed`: inside, and inside with outside, at 10 to 40 words: medians of five, peak memory,
exponents, time per product; two threads beside one; seconds to compile. `induction`: EM over the
tags of train, measured on dev, both up to 10 words without punctuation, beside chains of words, the
bigram model and the model with valence.
`supervised`: unlabelled attachment of the models on development sections up to 40 words, beside
first-order parsers. `perplexities`: of tags, sentences of up to 60 words, beside n-grams and the
model with valence.
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
from crossarc.models.generative import DMVModel
from crossarc.models.generative.accuracy import (
    Attachment,
    content_sentence,
    content_words,
    left_branching,
    parse_content,
    right_branching,
)
from crossarc.models.generative.corpus import UNKNOWN
from crossarc.models.generative.induction import Start
from crossarc.models.generative.ngrams import NgramModel, log_mixture, mixture_weights
from crossarc.models.transition import ConditionalTransitionModel
from crossarc.models.transition.decoding import Method

Floats = NDArray[np.float64]
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


def short_sentences(path: Path, longest: int) -> list[ca.Sentence]:
    """Sentences without punctuation, of up to so many other words."""
    pairs = [(one, content_words(one, punctuation=False)) for one in ca.read_conllu(path)]
    return [content_sentence(one, kept) for one, kept in pairs if len(kept) <= longest]


def attachment(gold: Sequence[ca.Sentence], heads: Sequence[Ints]) -> Attachment:
    pairs = zip(gold, heads, strict=True)
    return sum((Attachment.compare(one.heads, own) for one, own in pairs), Attachment())


def shown(found: Attachment) -> str:
    return f"{found.directed:.1f} / {found.undirected:.1f}"


def induction(folder: Path, names: Sequence[str], longest: int) -> None:
    for name in names:
        train, dev = (
            short_sentences(folder / name / f"{section}.conllu.gz", longest)
            for section in ("train", "dev")
        )
        print(f"{name}: {len(train)} and {len(dev)} sentences of up to {longest} words", flush=True)
        for title, chain in (("left", left_branching), ("right", right_branching)):
            found = attachment(dev, [chain(len(one)) for one in dev])
            print(f"   {title}-branching {shown(found)}", flush=True)
        for peer in (ca.BigramModel(), DMVModel()):
            peer.fit_em(train, start="uniform")
            found = attachment(dev, parse_content(peer, dev))
            print(f"   {peer.kind} from uniform {shown(found)}", flush=True)
        for start in ("uniform", "random"):
            induced(train, dev, start)


def induced(train: Sequence[ca.Sentence], dev: Sequence[ca.Sentence], start: Start) -> None:
    begin = time.process_time()
    found = ca.TransitionModel.fit_em(
        train,
        vocabulary=sorted({tag for one in (*train, *dev) for tag in one.upos}),
        unit="upos",
        start=start,
        prior=1.0,
        iterations=15,
        proper=True,
        root="single",
        threads=1,
    )
    seconds = time.process_time() - begin
    parse = partial(found.model.parse, root="single", threads=1)
    for method in METHODS:
        trees = attachment(dev, [parse(one, method=method).heads for one in dev])
        print(f"   from {start}, {method} {shown(trees)}", flush=True)
    print(
        f"   objective {found.objectives[0]:.0f} -> {found.objectives[-1]:.0f} in "
        f"{len(found.objectives)} iterations, {seconds:.0f} s of processor time",
        flush=True,
    )


def given_length(model: ca.TransitionModel, lengths: Floats, some: Sequence[ca.Sentence]) -> Floats:
    """log p(w | n), from log p(n)."""
    return np.array([model.log_prob(one, threads=1) - lengths[len(one)] for one in some])


def perplexities(folder: Path, names: Sequence[str]) -> None:
    """Per word given the length: a row a treebank, models learnt from nine tenths of train."""
    header = ["", "words", "3-gram", "transition", "+ 3-gram", "valence", "+ 3-gram"]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for name in names:
        train, dev = (
            [one for one in ca.read_conllu(folder / name / f"{part}.conllu.gz") if len(one) <= 60]
            for part in ("train", "dev")
        )
        held_out, learnt = train[::10], [one for k, one in enumerate(train) if k % 10]
        model = ca.TransitionModel.fit(
            learnt, unit="upos", proper=True, min_count=2, unknown=UNKNOWN, strength=5.0
        )
        valence = DMVModel(min_count=2).fit(learnt)
        ngrams = NgramModel("upos", valence.vocabularies).fit(learnt)
        own = partial(given_length, model, np.log(model.length_probs(60)))
        row = [name, f"{sum(map(len, dev)):,}"]
        for log_probs in (own, valence.log_prob_given_length):
            weights = mixture_weights(np.stack([ngrams.log_probs(held_out), log_probs(held_out)]))
            both = np.stack([ngrams.log_probs(dev), log_probs(dev)])
            means = [
                logs.sum() / sum(map(len, dev)) for logs in (*both, log_mixture(weights, both))
            ]
            cells = [f"{math.exp(-mean):.2f}" for mean in means]
            row += cells[1 if len(row) > 2 else 0 :]
            row[-1] += f" ({weights[0]:.2f})"
        print(f"| {' | '.join(row)} |", flush=True)


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
                heads = [model.parse(one, method=method, root="single").heads for one in dev]
                seconds = time.process_time() - begin
                score = attachment(dev, heads).directed
                print(f"   {title}, {method}: {score:.2f}  ({seconds:.0f} s)", flush=True)
        for title, projective in (("projective", True), ("non-projective", False)):
            parser = ca.Parser.train(train, text=False, projective=projective, seed=0)
            score = attachment(dev, [one.heads for one in parser.parse(dev)]).directed
            print(f"   first-order parser, {title}: {score:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("speed", "induction", "supervised", "perplexities"))
    parser.add_argument("treebanks", nargs="?", type=Path, default=default_treebanks())
    parser.add_argument("--names", nargs="+", default=INDUCED, help="treebanks")
    parser.add_argument("--max-words", type=int, default=10, help="of sentences of induction")
    options = parser.parse_args()
    if options.what == "speed":
        speed()
    elif options.what == "induction":
        induction(options.treebanks, options.names, options.max_words)
    elif options.what == "perplexities":
        perplexities(options.treebanks, options.names)
    else:
        supervised(options.treebanks)


if __name__ == "__main__":
    main()
