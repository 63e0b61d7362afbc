"""Plain tables for the terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["text_table"]


def text_table(rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)) -> str:
    """Align columns: those with an index in `left` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
