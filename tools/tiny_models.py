"""Make a tiny model of each kind: the files that released versions are represented by in tests.

    python tools/tiny_models.py folder              # models, for tools/fuzz.py
    python tools/tiny_models.py folder --release    # compressed, with what each answers

Trained on a few sentences of the sample bank, so they know next to nothing. The folder of a
release, tests/models/released/VERSION, is made once, before the release, and never again.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import crossarc as ca
from crossarc.models.generative import BigramModel, DMVModel
from crossarc.treebank import Sentence, sample

_TRAINED_ON, _TRIED_ON = slice(0, 8), slice(8, 11)
_TEXT = "Nobody could read. Who arrived?"


def _trained(bank: list[Sentence], **options: Any) -> ca.Parser:
    chosen: dict[str, Any] = {"max_weights": 300, "text": False} | options
    return ca.Parser.train(bank, threads=1, **chosen)


def _neural(bank: list[Sentence]) -> ca.Parser:
    sizes: dict[str, Any] = {"hidden": 4, "layers": 1, "arc_size": 3, "label_size": 2}
    parser = ca.Parser.train(bank, kind="neural", passes=1, threads=1, text=False, **sizes)
    # Weights of few values, which take little room when they are compressed.
    model: Any = parser.model
    model.load_state({name: np.round(one * 2) / 2 for name, one in model.state().items()})
    return parser


def _combined(bank: list[Sentence]) -> ca.Parser:
    return ca.Parser.combine([_trained(bank, passes=2), _neural(bank)], bank[:2], threads=1)


def _bigram(bank: list[Sentence]) -> BigramModel:
    model = BigramModel("upos")
    model.fit(bank)
    return model


def _dmv(bank: list[Sentence]) -> DMVModel:
    model = DMVModel("upos")
    model.fit_em(bank, iterations=2, threads=1)
    return model


_MODELS: dict[str, Callable[[list[Sentence]], Any]] = {
    "graph": lambda bank: _trained(bank, passes=2, text=True),
    "projective": lambda bank: _trained(bank, passes=2, projective=True),
    "second-order": lambda bank: _trained(bank, passes=1, order=2, projective=False),
    "third-order": lambda bank: _trained(bank, passes=1, order=3, projective=True),
    "covington": lambda bank: _trained(bank, passes=2, kind="covington"),
    "covington-beam": lambda bank: _trained(bank, passes=1, kind="covington", beam=2),
    "neural": _neural,
    "combined": _combined,
    "bigram": _bigram,
    "dmv": _dmv,
    "transition": lambda bank: ca.TransitionModel.fit(bank, unit="upos"),
    # More than 200 symbols, so that it keeps counts with back-off.
    "transition-backoff": lambda bank: ca.TransitionModel.fit(sample()[:70], unit="form"),
}


def answers(model: Any) -> Any:
    """What a model says of some sentences, as JSON can hold it."""
    tried = sample()[_TRIED_ON]
    if isinstance(model, ca.Parser):
        found = list(model.parse(tried, threads=1))
        if model.tokenizer is not None:
            found += model.parse(_TEXT, threads=1)
        return "".join(one.to_conllu() for one in found)
    # Of what the model was trained on: it may know no other words.
    return [round(model.log_prob(one), 6) for one in sample()[_TRAINED_ON][:3]]


def main() -> None:
    """Make all models."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--release", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, make in _MODELS.items():
        path = given.folder / name
        model = make(sample()[_TRAINED_ON])
        model.save(path)
        if given.release:
            expected[name] = answers(model)
            packed = lzma.compress(path.read_bytes(), preset=9)
            path.with_name(f"{name}.xz").write_bytes(packed)
            path.unlink()
            print(f"{name}: {len(packed):,} bytes")
    if given.release:
        text = json.dumps(expected, ensure_ascii=False, indent=1)
        (given.folder / "answers.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
