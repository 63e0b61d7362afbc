"""What users pass to questions, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crossarc.inference.runtime.batch import Batch

__all__ = ["one_each"]


def one_each(batch: Batch, values: Any, kind: type[Any]) -> list[Any]:
    """One value for each sentence."""
    listed = [values]
    if batch.is_batch:
        listed = list(values) if isinstance(values, Sequence) else []
    if len(listed) != len(batch) or not all(isinstance(one, kind) for one in listed):
        form = {"Tree": "a Tree, as Tree(heads)", "Mapping": "a dict {m: h}"}[kind.__name__]
        if batch.is_batch:
            form = f"a list of {len(batch)}, one for each sentence, each {form}"
        raise ValueError(f"expected {form}: got {values!r:.60}")
    return listed
