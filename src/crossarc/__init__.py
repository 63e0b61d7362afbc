"""crossarc: dependency parsing in which arcs may cross.

Public names are loaded when first used, so `import crossarc` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossarc.errors import (
        CrossarcError,
        InfeasibleError,
        ModelError,
        ScoreError,
        TreebankError,
    )
    from crossarc.evaluation import Scores, evaluate
    from crossarc.inference import (
        HigherOrderTrees,
        Parts,
        ProjectiveTrees,
        SpanningTrees,
        constrain,
        projective_log_prob,
    )
    from crossarc.parser import Parser, load
    from crossarc.transforms import deprojectivize, projectivize
    from crossarc.treebank import Sentence, read_conllu, write_conllu
    from crossarc.trees import Tree

__version__ = "0.1.0"

_HOMES = {
    "CrossarcError": "errors",
    "HigherOrderTrees": "inference",
    "InfeasibleError": "errors",
    "ModelError": "errors",
    "Parser": "parser",
    "Parts": "inference",
    "ProjectiveTrees": "inference",
    "ScoreError": "errors",
    "Scores": "evaluation",
    "Sentence": "treebank",
    "SpanningTrees": "inference",
    "Tree": "trees",
    "TreebankError": "errors",
    "constrain": "inference",
    "deprojectivize": "transforms",
    "evaluate": "evaluation",
    "load": "parser",
    "projective_log_prob": "inference",
    "projectivize": "transforms",
    "read_conllu": "treebank",
    "write_conllu": "treebank",
}

__all__ = [
    "CrossarcError",
    "HigherOrderTrees",
    "InfeasibleError",
    "ModelError",
    "Parser",
    "Parts",
    "ProjectiveTrees",
    "ScoreError",
    "Scores",
    "Sentence",
    "SpanningTrees",
    "Tree",
    "TreebankError",
    "__version__",
    "constrain",
    "deprojectivize",
    "evaluate",
    "load",
    "projective_log_prob",
    "projectivize",
    "read_conllu",
    "write_conllu",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'crossarc' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"crossarc.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
