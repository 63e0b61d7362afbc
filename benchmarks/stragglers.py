"""A trillion words on a cluster: files, stragglers and failing nodes, simulated.

    python benchmarks/stragglers.py

Every core takes the next file when it has finished one, as `crossarc parse --ray` does. A file
takes its words by the rate, times a lognormal factor; one core in a hundred runs at a third of the
speed; nodes fail after exponential times, lose the files that they were at, and are back after a
while. The figures are hours from the first file to the last one, over the hours that the same cores
would need without any loss; medians of five runs.
"""

from __future__ import annotations

import heapq
import math
import random
import statistics
from typing import NamedTuple

WORDS = 1e12
RATE = 25_000.0  # words a second and core: measured, docs/scale.md
START = 3.0  # seconds until an actor has loaded its model
NODE = 32  # cores
SPREAD = 0.1  # standard deviation of the logarithm of a file's time
SLOW_SHARE, SLOW = 0.01, 3.0
REPAIR = 600.0


class Setting(NamedTuple):
    """What is simulated."""

    cores: int
    words_a_file: float
    hours_between_failures: float  # of one node


class Found(NamedTuple):
    """What came of it."""

    hours: float
    loss: float  # of time, over the ideal
    redone: float  # share of files begun more than once


def simulate(setting: Setting, seed: int) -> Found:
    """One run, file by file."""
    rng = random.Random(seed)
    files = round(WORDS / setting.words_a_file)
    nodes = setting.cores // NODE
    mean = setting.hours_between_failures * 3600.0
    failure = [rng.expovariate(1.0 / mean) for _ in range(nodes)]
    speed = [SLOW if rng.random() < SLOW_SHARE else 1.0 for _ in range(setting.cores)]
    free = [(START, core) for core in range(setting.cores)]
    heapq.heapify(free)
    waiting, lost, end = files, 0, 0.0
    # Files that a failure has interrupted are handed out again from that moment on.
    returned: list[float] = []
    while waiting or returned:
        begin, core = heapq.heappop(free)
        if not waiting and returned and returned[0] > begin:
            heapq.heappush(free, (heapq.heappop(returned), core))
            waiting += 1
            continue
        node = core // NODE
        if begin > failure[node] + REPAIR:
            failure[node] = begin + rng.expovariate(1.0 / mean)
        took = setting.words_a_file / RATE * speed[core] * math.exp(rng.gauss(0.0, SPREAD))
        if returned and returned[0] <= begin:
            heapq.heappop(returned)
        else:
            waiting -= 1
        if begin + took > failure[node]:
            lost += 1
            moment = max(begin, failure[node])
            heapq.heappush(returned, moment)
            heapq.heappush(free, (moment + REPAIR + START, core))
        else:
            end = max(end, begin + took)
            heapq.heappush(free, (begin + took, core))
    ideal = WORDS / RATE / setting.cores
    return Found(end / 3600.0, end / ideal - 1.0, lost / files)


def main() -> None:
    print("cores   words a file  node fails every   hours   over ideal  files begun again")
    for cores in (1024, 8192):
        for words in (1e7, 1e8, 1e9):
            for hours in (1000.0, 100.0):
                runs = [simulate(Setting(cores, words, hours), seed) for seed in range(5)]
                found = Found(*map(statistics.median, zip(*runs, strict=True)))
                print(
                    f"{cores:5}  {words:13,.0f} {hours:13,.0f} h {found.hours:9.2f} "
                    f"{100.0 * found.loss:10.1f}% {100.0 * found.redone:15.3f}%",
                    flush=True,
                )


if __name__ == "__main__":
    main()
