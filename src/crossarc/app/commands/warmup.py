"""`crossarc warmup`: compile now rather than at the first parse."""

from __future__ import annotations

from crossarc.app.files import WorkersOption

__all__ = ["warmup"]


def warmup(workers: WorkersOption = None) -> None:
    """Compile all kernels, once per installation (for images, clusters and tests)."""
    import multiprocessing
    import time
    from concurrent.futures import ProcessPoolExecutor

    from crossarc.kernels import KERNEL_MODULES, compile_kernels
    from crossarc.parallel import thread_count

    start = time.perf_counter()
    # The compiler works for one thread at a time, so the work is shared by processes.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(thread_count(workers), mp_context=context) as pool:
        list(pool.map(compile_kernels, KERNEL_MODULES))
    print(f"kernels ready in {time.perf_counter() - start:.1f} s")
