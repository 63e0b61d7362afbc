"""Reading CoNLL-U: crossarc beside conllu, pyconll, udapi and a plain split loop.

Two jobs on one treebank: use ids and heads; read all ten columns as strings. Then peak memory of
crossarc over streams of 10 MB and 1 GB.

    .venv-bench/bin/python benchmarks/io.py [TREEBANKS]
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import conllu
import pyconll
from support.harness import medians, treebank_folder
from udapi.core.document import Document

import crossarc as ca

TREEBANK = "English-EWT/train.conllu.gz"
COLUMNS = ("forms", "lemmas", "upos", "xpos", "feats", "deprels", "deps", "misc")
CONLLU_FIELDS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
PYCONLL_FIELDS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
UDAPI_FIELDS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "raw_deps", "misc")


def crossarc_heads(path: Path) -> int:
    return sum(int(sentence.heads.sum()) for sentence in ca.read_conllu(path))


def crossarc_columns(path: Path) -> int:
    total = 0
    for sentence in ca.read_conllu(path):
        for name in COLUMNS:
            total += len(getattr(sentence, name))
        total += int(sentence.heads.sum())
    return total


def conllu_heads(path: Path) -> int:
    total = 0
    with path.open(encoding="utf-8") as file:
        for sentence in conllu.parse_incr(file):
            for token in sentence:
                if isinstance(token["id"], int):
                    total += token["head"]
    return total


def conllu_columns(path: Path) -> int:
    total = 0
    with path.open(encoding="utf-8") as file:
        for sentence in conllu.parse_incr(file):
            for token in sentence:
                for name in CONLLU_FIELDS:
                    total += token[name] is not None
    return total


def pyconll_heads(path: Path) -> int:
    total = 0
    for sentence in pyconll.iter_from_file(str(path)):
        for token in sentence:
            if not (token.is_multiword() or token.is_empty_node()):
                total += int(token.head)
    return total


def pyconll_columns(path: Path) -> int:
    total = 0
    for sentence in pyconll.iter_from_file(str(path)):
        for token in sentence:
            for name in PYCONLL_FIELDS:
                total += getattr(token, name) is not None
    return total


def udapi_nodes(path: Path) -> Iterator[object]:
    document = Document()
    document.load_conllu(str(path))
    for bundle in document.bundles:
        for tree in bundle.trees:
            yield from tree.descendants


def udapi_heads(path: Path) -> int:
    return sum(node.parent.ord for node in udapi_nodes(path))  # type: ignore[attr-defined]


def udapi_columns(path: Path) -> int:
    total = 0
    for node in udapi_nodes(path):
        for name in UDAPI_FIELDS:
            total += str(getattr(node, name)) != ""
    return total


def split_heads(path: Path) -> int:
    total = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line[0].isdigit():
                fields = line.split("\t")
                if fields[0].isdigit():
                    total += int(fields[6])
    return total


def compare(
    title: str, words: int, jobs: Mapping[str, Callable[[Path], int]], path: Path, asked: float
) -> None:
    seconds = medians({name: lambda job=job: job(path) for name, job in jobs.items()})
    print(f"\n{title}")
    for name, value in seconds.items():
        print(f"  {name:<12}{words / value:>12,.0f} words/s")
    peer = min(
        (n for n in seconds if n not in ("crossarc", "plain split")), key=seconds.__getitem__
    )
    ratio = seconds[peer] / seconds["crossarc"]
    print(f"  crossarc / {peer} (the fastest peer): {ratio:.1f}x (asked: {asked}x)")


def peak_memory(data: bytes, size: int, *, through_pipe: bool) -> float:
    """MiB of a process that reads `size` bytes of treebank, from a pipe or a file."""
    code = (
        "import re, sys, crossarc as ca\n"
        "for s in ca.read_conllu(sys.argv[1]): s.heads, s.forms\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) / 1024)\n"
    )
    command = [sys.executable, "-c", code]
    copies = max(1, size // len(data)) if size > len(data) else 1
    part = data if size > len(data) else data[: data.rindex(b"\n\n", 0, size) + 2]
    if through_pipe:
        process = subprocess.Popen([*command, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(copies):
            process.stdin.write(part)
        process.stdin.close()
        return float(process.stdout.read())
    with tempfile.NamedTemporaryFile(suffix=".conllu") as file:
        for _ in range(copies):
            file.write(part)
        file.flush()
        shown = subprocess.run([*command, file.name], capture_output=True, check=True).stdout
    return float(shown)


def main() -> None:
    data = gzip.decompress((treebank_folder(__doc__) / TREEBANK).read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "treebank.conllu"
        path.write_bytes(data)
        words = sum(len(sentence) for sentence in ca.read_conllu(path))
        print(f"{TREEBANK}: {words:,} words, {len(data) / 1e6:.1f} MB")
        heads = {
            "crossarc": crossarc_heads,
            "conllu": conllu_heads,
            "pyconll": pyconll_heads,
            "udapi": udapi_heads,
            "plain split": split_heads,
        }
        expected = crossarc_heads(path)
        wrong = [name for name, job in heads.items() if job(path) != expected]
        print("sum of heads:", "all agree" if not wrong else f"differs: {wrong}")
        compare("ids and heads", words, heads, path, 5)
        columns = {
            "crossarc": crossarc_columns,
            "conllu": conllu_columns,
            "pyconll": pyconll_columns,
            "udapi": udapi_columns,
        }
        compare("all ten columns", words, columns, path, 2.5)
    print("\npeak memory, MiB")
    for through_pipe in (False, True):
        small, large = (
            peak_memory(data, size, through_pipe=through_pipe) for size in (10**7, 10**9)
        )
        way = "pipe" if through_pipe else "file"
        print(f"  {way}: {small:.0f} for 10 MB, {large:.0f} for 1 GB")


if __name__ == "__main__":
    main()
