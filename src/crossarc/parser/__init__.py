"""Train on a treebank, parse sentences or text, and say how sure the parse is."""

from __future__ import annotations

from crossarc.parser.explanation import Explanation
from crossarc.parser.files import shipped_models
from crossarc.parser.options import ParseOptions
from crossarc.parser.parser import Parser, load

__all__ = ["Explanation", "ParseOptions", "Parser", "load", "shipped_models"]
