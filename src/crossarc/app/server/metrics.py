"""Counts of what the server did, as Prometheus reads them."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter

__all__ = ["Metrics"]

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counters, which threads may share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start = time.time()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._sentences: Counter[str] = Counter()
        self._words: Counter[str] = Counter()
        self.in_progress = 0

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        with self._lock:
            self._requests[path, status] += 1
            counts = self._buckets.setdefault(path, [0] * (len(_BOUNDS) + 1))
            counts[bisect_left(_BOUNDS, seconds)] += 1
            self._seconds[path] = self._seconds.get(path, 0.0) + seconds

    def parsed(self, model: str, sentences: int, words: int) -> None:
        """Count sentences and words."""
        with self._lock:
            self._sentences[model] += sentences
            self._words[model] += words

    def text(self) -> str:
        """The exposition format of Prometheus, version 0.0.4."""
        with self._lock:
            lines = [
                *_metric("crossarc_start_time_seconds", "gauge", [("", f"{self._start:.3f}")]),
                *_metric("crossarc_requests_in_progress", "gauge", [("", self.in_progress)]),
                *_metric(
                    "crossarc_requests_total",
                    "counter",
                    [
                        (f'{{path="{path}",status="{status}"}}', count)
                        for (path, status), count in sorted(self._requests.items())
                    ],
                ),
                *_metric("crossarc_sentences_total", "counter", _by_model(self._sentences)),
                *_metric("crossarc_words_total", "counter", _by_model(self._words)),
                "# TYPE crossarc_request_seconds histogram",
            ]
            for path, counts in sorted(self._buckets.items()):
                lines += self._histogram(path, counts)
        return "\n".join(lines) + "\n"

    def _histogram(self, path: str, counts: list[int]) -> list[str]:
        lines, total = [], 0
        for bound, count in zip([*map(str, _BOUNDS), "+Inf"], counts, strict=True):
            total += count
            lines.append(f'crossarc_request_seconds_bucket{{path="{path}",le="{bound}"}} {total}')
        lines.append(f'crossarc_request_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}')
        lines.append(f'crossarc_request_seconds_count{{path="{path}"}} {total}')
        return lines


def _by_model(counts: Counter[str]) -> list[tuple[str, object]]:
    escaped = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return [
        (f'{{model="{name.translate(escaped)}"}}', count) for name, count in sorted(counts.items())
    ]


def _metric(name: str, kind: str, values: list[tuple[str, object]]) -> list[str]:
    return [f"# TYPE {name} {kind}", *(f"{name}{labels} {value}" for labels, value in values)]
