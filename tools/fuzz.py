"""Fuzzing: damaged, random and hostile inputs for readers, models, the server and the command line.

    python tools/fuzz.py conllu --seconds 60 --seed 1
    python tools/fuzz.py model --models folder        # made by tools/tiny_models.py

An input is a function of the target, the seed and its number, so that a finding can be made again:
`--only NUMBER` does. Inputs are tried in forked processes with limited memory; whatever is neither
an answer nor a `CrossarcError` (for the server an answer below 500, for the command line an exit
status of 0, 1 or 2 and no traceback) is a finding: it is printed and kept in `--keep`. So are
crashes of the interpreter, more than 4 GiB of memory, and more than 20 seconds.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.fuzzing.mutations import mutated
from tools.fuzzing.targets import TARGETS, Target

_MEMORY, _SECONDS, _CHUNK = 4 << 30, 20, 200


def main() -> int:
    """Run one target; the exit status is 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="of processor time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one input, tried in this process")
    parser.add_argument("--models", type=Path, help="a folder of model files, for `model`")
    parser.add_argument("--keep", type=Path, help="a folder for inputs that are findings")
    given = parser.parse_args()
    target = TARGETS[given.target](given.models)
    seeds = target.seeds()

    def make(number: int) -> bytes:
        rng = random.Random(f"{given.target}:{given.seed}:{number}")
        return target.mutate(rng, seeds) if target.mutate else mutated(rng, seeds)

    if given.only is not None:
        data = make(given.only)
        print(repr(data[:2000]))
        target.check(data)
        return 0
    tried, findings = _run(target, make, given.seconds, given.keep)
    print(f"{given.target}: {tried:,} inputs, {len(findings)} findings", flush=True)
    return int(bool(findings))


def _run(
    target: Target, make: Callable[[int], bytes], seconds: float, keep: Path | None
) -> tuple[int, Sequence[int]]:
    """Try inputs one after the other until the time is spent."""
    shared = mmap.mmap(-1, 8)
    number, findings, spent = 0, [], 0.0
    seen: set[str] = set()
    while spent < seconds:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        reason, number = _chunk(target, make, number, shared)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if reason is None:
            continue
        findings.append(number - 1)
        # One of each kind: told by where it was raised.
        where = [line for line in reason.splitlines() if line.lstrip().startswith("File ")]
        kind = where[-1] if where else reason
        if kind not in seen:
            print(f"--- input {number - 1}\n{reason}", flush=True)
            seen.add(kind)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / str(number - 1)).write_bytes(make(number - 1))
    return number, findings


def _chunk(
    target: Target, make: Callable[[int], bytes], first: int, shared: mmap.mmap
) -> tuple[str | None, int]:
    """Try some inputs in a process of their own; why the last is a finding, and the next one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _limit_memory()
        status = 0
        for number in range(first, first + _CHUNK):
            shared[:] = number.to_bytes(8, "little")
            # Of processor time: the machine may be busy.
            signal.alarm(10 * _SECONDS)
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
            try:
                target.check(make(number))
            except BaseException:
                os.write(writing, traceback.format_exc()[-4000:].encode("utf-8", "replace"))
                status = 1
                break
        os._exit(status)
    os.close(writing)
    with open(reading, "rb") as pipe:
        reason = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    last = int.from_bytes(shared[:], "little")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return f"{reason}\nended by {name}", last + 1
    return (reason, last + 1) if reason else (None, first + _CHUNK)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    os.chdir(tempfile.gettempdir())


if __name__ == "__main__":
    sys.exit(main())
