"""Peers that parse: from a tagged CoNLL-U file to a CoNLL-U file.

Their models are trained in a moment, on a few sentences: what is measured is speed, which does not
depend on how good a model is.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import crossarc as ca

__all__ = ["peer_parsers"]

Job = Callable[[Path, Path], None]


def peer_parsers(sentences: Sequence[ca.Sentence]) -> dict[str, Job]:
    """Those that are installed, by name: jobs that parse one file into another."""
    running = {}
    for name, make in {"UDPipe 1": udpipe, "spaCy": spacy}.items():
        try:
            running[name] = make(sentences)
        except ImportError:
            print(f"{name} is not installed")
    return running


def udpipe(sentences: Sequence[ca.Sentence]) -> Job:
    """UDPipe with its own choice of features, network and transitions."""
    library = importlib.import_module("ufal.udpipe")
    failure = library.ProcessingError()
    reader = library.InputFormat.newConlluInputFormat()
    reader.setText("".join(sentence.to_conllu() for sentence in sentences))
    examples, one = library.Sentences(), library.Sentence()
    while reader.nextSentence(one, failure):
        examples.append(one)
    off = library.Trainer.NONE
    with _quiet():
        trained = library.Trainer.train(
            "morphodita_parsito", examples, library.Sentences(), off, off, "iterations=1", failure
        )
    with tempfile.NamedTemporaryFile() as file:
        file.write(trained)
        file.flush()
        model = library.Model.load(file.name)
    steps = library.Pipeline.NONE, library.Pipeline.DEFAULT

    def parse(source: Path, target: Path) -> None:
        # The pipeline does not keep its model alive.
        pipeline = library.Pipeline(model, "conllu", *steps, "conllu")
        target.write_text(pipeline.process(source.read_text("utf-8"), failure), "utf-8")
        if failure.occurred():
            raise RuntimeError(failure.message)

    return parse


def spacy(sentences: Sequence[ca.Sentence]) -> Job:
    """spaCy's parser with its usual network, which sees words only; crossarc reads and writes."""
    library = importlib.import_module("spacy")
    tokens, training = importlib.import_module("spacy.tokens"), library.training
    pipeline = library.blank("en")
    pipeline.add_pipe("parser")

    def document(sentence: ca.Sentence) -> Any:
        return tokens.Doc(pipeline.vocab, words=list(sentence.forms))

    examples = [
        training.Example.from_dict(
            document(one),
            {
                "heads": [h - 1 if h else m for m, h in enumerate(one.heads.tolist())],
                "deps": list(one.deprels),
            },
        )
        for one in sentences
    ]
    rule = pipeline.initialize(lambda: examples)
    pipeline.update(examples, sgd=rule)

    def parse(source: Path, target: Path) -> None:
        given = list(ca.read_conllu(source))
        parsed = pipeline.pipe(map(document, given))
        for sentence, words in zip(given, parsed, strict=True):
            sentence.heads = [0 if word.head.i == word.i else word.head.i + 1 for word in words]
            sentence.deprels = [word.dep_ or "dep" for word in words]
        ca.write_conllu(given, target)

    return parse


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing on standard error, not from compiled code either."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
