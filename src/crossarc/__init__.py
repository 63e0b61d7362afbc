"""crossarc: dependency parsing in which arcs may cross.

Public names are loaded when first used, so `import crossarc` is quick. Nothing else is imported
here: until `crossarc.app` is loaded, an interrupt of the command line prints a traceback.
"""

# Type checkers take this name to be true, as that of `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from crossarc import (
        analysis as analysis,
    )
    from crossarc import (
        draw as draw,
    )
    from crossarc import (
        evaluation as evaluation,
    )
    from crossarc import (
        inference as inference,
    )
    from crossarc import (
        learning as learning,
    )
    from crossarc import (
        models as models,
    )
    from crossarc import (
        parser as parser,
    )
    from crossarc import (
        text as text,
    )
    from crossarc import (
        transforms as transforms,
    )
    from crossarc import (
        treebank as treebank,
    )
    from crossarc import (
        trees as trees,
    )
    from crossarc.errors import (
        CrossarcError,
        InfeasibleError,
        LimitError,
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
        list_parts,
        projective_log_prob,
        prune,
    )
    from crossarc.models.generative import BigramModel
    from crossarc.models.transition import TransitionModel
    from crossarc.parser import ParseOptions, Parser, load
    from crossarc.transforms import deprojectivize, projectivize
    from crossarc.treebank import Sentence, Word, read_conllu, write_conllu
    from crossarc.trees import Tree

__version__ = "0.1.0"

_HOMES = {
    "BigramModel": "models.generative",
    "CrossarcError": "errors",
    "HigherOrderTrees": "inference",
    "InfeasibleError": "errors",
    "LimitError": "errors",
    "ModelError": "errors",
    "ParseOptions": "parser",
    "Parser": "parser",
    "Parts": "inference",
    "ProjectiveTrees": "inference",
    "ScoreError": "errors",
    "Scores": "evaluation",
    "Sentence": "treebank",
    "SpanningTrees": "inference",
    "TransitionModel": "models.transition",
    "Tree": "trees",
    "TreebankError": "errors",
    "Word": "treebank",
    "constrain": "inference",
    "deprojectivize": "transforms",
    "evaluate": "evaluation",
    "list_parts": "inference",
    "load": "parser",
    "projective_log_prob": "inference",
    "projectivize": "transforms",
    "prune": "inference",
    "read_conllu": "treebank",
    "write_conllu": "treebank",
}

__all__ = [
    "BigramModel",
    "CrossarcError",
    "HigherOrderTrees",
    "InfeasibleError",
    "LimitError",
    "ModelError",
    "ParseOptions",
    "Parser",
    "Parts",
    "ProjectiveTrees",
    "ScoreError",
    "Scores",
    "Sentence",
    "SpanningTrees",
    "TransitionModel",
    "Tree",
    "TreebankError",
    "Word",
    "__version__",
    "constrain",
    "deprojectivize",
    "evaluate",
    "list_parts",
    "load",
    "projective_log_prob",
    "projectivize",
    "prune",
    "read_conllu",
    "write_conllu",
]


# Modules that are loaded when first used, as in `ca.draw.svg(tree)`.
_MODULES = {
    "analysis",
    "draw",
    "evaluation",
    "inference",
    "learning",
    "models",
    "parser",
    "text",
    "transforms",
    "treebank",
    "trees",
}
# What people look for here, and where it is.
_ELSEWHERE = {
    "parse": 'ca.load("en")(text), or the method parse of a Parser',
    "train": "ca.Parser.train(sentences)",
    "read": "ca.read_conllu(path)",
    "parse_conllu": "ca.read_conllu(path)",
    "write": "ca.write_conllu(sentences, path)",
    "sample": "ca.treebank.sample()",
    "svg": "ca.draw.svg(tree)",
    "Tokenizer": "ca.text.Tokenizer",
    "Tagger": "ca.models.tagger.Tagger",
    "Pipeline": 'ca.load("en")',
}


def __getattr__(name: str) -> object:
    if name not in _HOMES and name not in _MODULES:
        raise AttributeError(f"module 'crossarc' has no attribute '{name}'{_hint(name)}", name=name)
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"crossarc.{name}")
    value = getattr(importlib.import_module(f"crossarc.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def _hint(name: str) -> str:
    """What may have been meant."""
    if name in _ELSEWHERE:
        return f": use {_ELSEWHERE[name]}"
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches

    close = get_close_matches(name, __all__, n=1, cutoff=0.8)
    return f": did you mean {close[0]}?" if close else ""


def __dir__() -> list[str]:
    return sorted(__all__)
