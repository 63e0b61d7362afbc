"""Other libraries' objects: a component for spaCy, converters for conllu, pyconll and spaCy."""

from __future__ import annotations

from crossarc.integrations.converters import (
    from_conllu,
    from_pyconll,
    from_spacy,
    to_conllu,
    to_pyconll,
    to_spacy,
)

__all__ = ["from_conllu", "from_pyconll", "from_spacy", "to_conllu", "to_pyconll", "to_spacy"]
