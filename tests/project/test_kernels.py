"""Compilation ahead of time: `crossarc warmup` knows every kernel."""

from __future__ import annotations

from support.files import ROOT

from crossarc.kernels import KERNEL_MODULES


def test_every_kernel_is_compiled_by_warmup() -> None:
    source = ROOT / "src"
    found = {
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in source.rglob("*.py")
        if "\n@kernel(" in path.read_text(encoding="utf-8")
    }
    assert set(KERNEL_MODULES) == found
