"""`crossarc warmup`: compile now rather than at the first parse."""

from __future__ import annotations

__all__ = ["warmup"]


def warmup() -> None:
    """Compile all kernels, once per installation (for images, clusters and tests)."""
    from crossarc.kernels import warmup as compile_kernels

    print(f"kernels ready in {compile_kernels():.1f} s")
