"""The ten columns of CoNLL-U and CoNLL-X, by position."""

from __future__ import annotations

__all__ = ["COLUMNS", "DEPREL", "DEPS", "FEATS", "FORM", "HEAD", "ID", "LEMMA", "MISC", "UPOS"]

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
COLUMNS = 10
