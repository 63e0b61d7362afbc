"""Where data for tests lies."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TREEBANKS = ROOT.parent / "shared" / "treebanks"


def treebank_files() -> list[Path]:
    """The real treebanks, where they are at hand."""
    return sorted(TREEBANKS.glob("*/*.conllu.gz"))
