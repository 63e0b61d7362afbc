"""`crossarc warmup`: compile now rather than at the first parse."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from crossarc.app.files import WorkersOption

__all__ = ["warmup"]


def _part_names() -> list[str]:
    from crossarc.kernels.rooms import PARTS

    return list(PARTS)


def warmup(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PART",
            help="What to compile for: parse, train, stats (and analyze) or inference; "
            "by default everything.",
            show_default=False,
            autocompletion=_part_names,
        ),
    ] = None,
    workers: WorkersOption = None,
) -> None:
    """Compile kernels ahead of time.

    Once per installation: for images, clusters and tests.
    """
    from crossarc.kernels.rooms import PARTS, kernel_modules
    from crossarc.kernels.warmup import warmup as compile_kernels
    from crossarc.parallel import thread_count

    chosen = parts or []
    for part in chosen:
        if part not in PARTS:
            raise typer.BadParameter(f"no part {part!r}: choose from {', '.join(PARTS)}")
    start = time.perf_counter()
    progress = _Progress(kernel_modules(chosen))
    compile_kernels(chosen, workers=thread_count(workers), on_progress=progress)
    print(f"kernels ready in {time.perf_counter() - start:.1f} s")


class _Progress:
    """Says on stderr how far it has come: on a terminal after each module, else after each room."""

    def __init__(self, modules: list[str]) -> None:
        from crossarc.kernels.rooms import ROOMS, room_of

        self._titles = {module: ROOMS[room_of(module)].title for module in modules}
        self._open = list(self._titles.values())
        self._start = time.perf_counter()
        self._on_terminal = sys.stderr.isatty()

    def __call__(self, module: str) -> None:
        title = self._titles[module]
        self._open.remove(title)
        is_last = title not in self._open
        if not (is_last or self._on_terminal):
            return
        total = len(self._titles)
        done = f"{total - len(self._open):{len(str(total))}}"
        line = f"[{done}/{total}] {title} ... {time.perf_counter() - self._start:.0f} s"
        if self._on_terminal:
            line = f"\r\x1b[K{line}"
        print(line, end="\n" if is_last else "", file=sys.stderr, flush=True)
