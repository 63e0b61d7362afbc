"""`crossarc combine`: one parser from several."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crossarc.app.files import OnError, OnErrorOption, WorkersOption, check_model_file, read_trees

__all__ = ["combine"]


def combine(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL MODEL...", help="Parsers to combine.")
    ],
    dev: Annotated[
        str, typer.Option(metavar="DEV", help="Held-out treebank: decides how much each counts.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")
    ],
    workers: WorkersOption = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Make one parser of several.

    They are combined by the probabilities that they give to arcs and labels.
    """
    from crossarc.models.combined.model import CombinedModel
    from crossarc.parser import Parser

    if len(models) < 2:
        raise typer.BadParameter("give two models or more", param_hint="MODEL")
    check_model_file(output, "-o", dev, *models)
    parsers = [Parser.load(model) for model in models]
    parser = Parser.combine(parsers, read_trees(dev, on_error), threads=workers)
    parser.save(output)
    assert isinstance(parser.model, CombinedModel)
    size = Path(output).stat().st_size / 1e6
    weights = zip(models, parser.model.arc_weights, parser.model.label_weights, strict=True)
    shown = ", ".join(f"{name} {arc:.2f} / {label:.2f}" for name, arc, label in weights)
    scores = f"dev UAS {parser.training['uas']:.2f}, LAS {parser.training['las']:.2f}"
    print(
        f"crossarc: {output}: {size:.1f} MB, {scores}; weights of arcs / labels: {shown}",
        file=sys.stderr,
    )
