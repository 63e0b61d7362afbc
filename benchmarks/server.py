"""The server under load: requests per second, latencies, answers that are lost or mixed up, limits.

    .venv-bench/bin/python benchmarks/server.py [FOLDER] [--requests N]

Starts `crossarc serve` on the loopback interface, and clients as processes of their own, each with
one connection that stays open. Every request has a sentence of its own, and its answer must have
the same words and the heads that the parser gives for it. Then requests that are malformed or too
large are sent while others are answered. The sentences come from the sample bank; the folder of
treebanks is not used.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import crossarc as ca
from crossarc.treebank import sample

SERVE = "from crossarc.app.cli import main; main()"
CLIENTS = (1, 8, 32)
MALFORMED = (
    b"",
    b"{",
    b"\xff\xfe",
    b'{"text": 1}',
    b"[" * 100_000,
    b'{"text": "\\ud800"}',
    b"x" * 70_000,
)


class Case(NamedTuple):
    """A request, and what its answer must have."""

    path: str
    body: bytes
    forms: tuple[str, ...]
    heads: list[int]


def cases(parser: ca.Parser, count: int, path: str) -> list[Case]:
    """Requests with sentences that are all different: the number of each is one of its words."""
    bank = sample("en")
    sentences = [
        ca.Sentence.build([str(number), ":", *bank[number % len(bank)].forms])
        for number in range(count)
    ]
    made = []
    for sentence, parsed in zip(sentences, parser.parse(sentences), strict=True):
        if path == "/parse":
            asked: object = {"conllu": sentence.to_conllu(), "probabilities": True}
            body = json.dumps(asked).encode()
        else:
            from urllib.parse import urlencode

            data = {"data": sentence.to_conllu(), "tagger": "", "parser": ""}
            body = urlencode(data).encode()
        made.append(Case(path, body, sentence.forms, parsed.heads.tolist()))
    return made


def is_right(case: Case, data: bytes) -> bool:
    answer = json.loads(data)
    if case.path == "/parse":
        [found] = answer["sentences"]
        return tuple(found["forms"]) == case.forms and found["heads"] == case.heads
    [sentence] = ca.read_conllu([answer["result"]])
    return sentence.forms == case.forms and sentence.heads.tolist() == case.heads


def client(
    port: int, own: list[Case], results: multiprocessing.Queue[tuple[int, int, list[float]]]
) -> None:
    """Send requests one after the other; report lost and wrong answers, and seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    lost = wrong = 0
    seconds = []
    answers = []
    for case in own:
        start = time.perf_counter()
        try:
            connection.request("POST", case.path, case.body, {"Connection": "keep-alive"})
            response = connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException):
            lost += 1
            connection.close()
            continue
        seconds.append(time.perf_counter() - start)
        if response.status != 200:
            lost += 1
        else:
            answers.append((case, data))
    # Answers are looked at in the end, so that the clients take as little time as they can.
    wrong = sum(not is_right(case, data) for case, data in answers)
    results.put((lost, wrong, seconds))


def measure(port: int, clients: int, all_cases: list[Case]) -> None:
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[tuple[int, int, list[float]]] = context.Queue()
    started = [
        context.Process(target=client, args=(port, all_cases[k::clients], results))
        for k in range(clients)
    ]
    start = time.perf_counter()
    for process in started:
        process.start()
    found = [results.get() for _ in started]
    for process in started:
        process.join()
    seconds = sorted(one for _, _, own in found for one in own)
    # The time that the answers took, without that for looking at them.
    busy = max(sum(own) for _, _, own in found)
    lost, wrong = sum(one[0] for one in found), sum(one[1] for one in found)
    cuts = statistics.quantiles(seconds, n=100)
    print(
        f"{all_cases[0].path:9} {clients:7} {len(all_cases):9,} {len(all_cases) / busy:12,.0f} "
        f"{1000 * cuts[49]:8.1f} {1000 * cuts[98]:8.1f} {lost:6} {wrong:9}"
        f"   {time.perf_counter() - start:.0f} s in all",
        flush=True,
    )
    assert lost == wrong == 0


def attack(port: int, count: int) -> None:
    """Requests that must be refused, with those that must not in between."""
    statuses: dict[int, int] = {}
    for number in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(
            "POST", ("/parse", "/process")[number % 2], MALFORMED[number // 2 % len(MALFORMED)]
        )
        status = connection.getresponse().status
        connection.close()
        statuses[status] = statuses.get(status, 0) + 1
        assert status == 200 or 400 <= status < 500, status
    shown = ", ".join(f"{n} x {status}" for status, n in sorted(statuses.items()))
    print(f"\n{count} malformed or oversized requests: {shown}; no other status")


def memory(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        found = re.search(r"VmRSS:\s+(\d+) kB", file.read())
    return int(found[1]) / 1024 if found else 0.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("treebanks", nargs="?")
    arguments.add_argument("--requests", type=int, default=10_000)
    requests = arguments.parse_args().requests
    parser = ca.load("en")
    parse, process = (cases(parser, requests, path) for path in ("/parse", "/process"))
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, "serve", "--port", "0", "--max-body", "65536"],
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert server.stderr is not None
    found = re.search(r":(\d+)/", server.stderr.readline())
    assert found is not None
    port = int(found[1])
    print(f"{os.cpu_count()} cores, which the clients share; memory {memory(server.pid):.0f} MB\n")
    print(f"{'':9} clients  requests  requests/s   p50 ms   p99 ms   lost  mixed up")
    try:
        for clients in CLIENTS:
            measure(port, clients, parse if clients == CLIENTS[-1] else parse[: requests // 10])
        measure(port, 8, process[: requests // 10])
        attack(port, 140)
        measure(port, 8, parse[: requests // 10])
        print(f"memory {memory(server.pid):.0f} MB")
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait(120)
        server.stderr.close()
    print(f"ended with status {status}")


if __name__ == "__main__":
    main()
