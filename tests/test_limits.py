"""Sentences that are too long: refused in one line before the work, or passed over in a corpus."""

from __future__ import annotations

import io
import lzma
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.shell import crossarc

import crossarc as ca
from crossarc.limits import available_memory, require
from crossarc.treebank import sample


def long_sentence(n: int) -> ca.Sentence:
    forms = [form for one in sample() for form in one.forms]
    return ca.Sentence.build([forms[k % len(forms)] for k in range(n)], upos=["NOUN"] * n)


def test_memory_and_time_have_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSARC_MAX_MEMORY", "2G")
    assert available_memory() == 2 << 30
    require(2 << 30, 0.0, "it")
    with pytest.raises(ca.LimitError, match=r"^it takes about 2\.5 GB of memory, and 2\.0 GB are"):
        require(2.5 * (1 << 30), 0.0, "it")
    require(0.0, 3600.0, "it")
    with pytest.raises(
        ca.LimitError, match=r"takes about 3,601 s, and the limit is 3,600 s: split"
    ):
        require(0.0, 3601.0, "it")
    monkeypatch.setenv("CROSSARC_MAX_SECONDS", "1e5")
    require(0.0, 3601.0, "it")
    for wrong in ("much", "-1", "0"):
        monkeypatch.setenv("CROSSARC_MAX_SECONDS", wrong)
        with pytest.raises(ca.LimitError, match="CROSSARC_MAX_SECONDS must be a number above 0"):
            require(0.0, 3601.0, "it")


def test_what_the_system_leaves() -> None:
    """`ulimit -v` counts: here 600 MiB beyond what the process has."""
    program = (
        "import resource\n"
        "from crossarc.limits import available_memory\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + (600 << 20),) * 2)\n"
        "print(available_memory() / (1 << 20))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    assert 500 < float(done.stdout) <= 600


@pytest.mark.parametrize("family", [ca.SpanningTrees, ca.ProjectiveTrees, ca.HigherOrderTrees])
def test_arrays_of_long_sentences_are_refused_before_they_are_copied(
    family: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = np.broadcast_to(0.0, (50_001, 50_001))  # takes no memory
    monkeypatch.setenv("CROSSARC_MAX_MEMORY", "16G")
    with pytest.raises(ca.LimitError, match=rf"{family.__name__} for 50,000 words takes about"):
        family(scores)
    with pytest.raises(ca.LimitError, match=r"for sentence 1 of 50,000 words takes about"):
        family([np.zeros((3, 3)), scores])
    monkeypatch.setenv("CROSSARC_MAX_MEMORY", "100T")
    with pytest.raises(ca.LimitError, match=r"takes about .* s, and the limit is 3,600 s"):
        family(scores)


def test_forests_and_pairs_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSARC_MAX_MEMORY", "1G")
    trees = ca.ProjectiveTrees(np.zeros((701, 701)), threads=1)
    with pytest.raises(ca.LimitError, match=r"a packed forest of 700 words takes about 2\.2 GB"):
        trees.kbest(2).__next__()  # type: ignore[union-attr]
    with pytest.raises(ca.LimitError, match="mutual information of 700 words takes about 7,203 s"):
        trees.mutual_information()


@pytest.fixture(scope="module")
def parser() -> ca.Parser:
    return ca.load("en")


def test_a_parser_refuses_before_it_scores(
    parser: ca.Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSARC_MAX_MEMORY", "1G")
    sentence = long_sentence(10_000)
    sentence.comments = ["# sent_id = novel"]

    def scored(*arguments: object, **options: object) -> None:
        raise AssertionError("the sentence was scored")

    monkeypatch.setattr(type(parser.model), "score", scored)
    second = r"novel has 10,000 words, and a model of order 2 parses at most 1,200: .*'covington'"
    with pytest.raises(ca.LimitError, match=second):
        list(parser.parse([sentence]))
    with pytest.raises(ca.LimitError, match="has 10,000 words"):
        parser.distribution(sentence)
    first = ca.Parser(parser.model.first, True, "single")  # type: ignore[attr-defined]
    monkeypatch.setattr(type(first.model), "score", scored)
    with pytest.raises(ca.LimitError, match=r"novel.*: parsing 10,000 words takes .*'covington'"):
        list(first.parse([sentence]))
    with pytest.raises(ca.LimitError, match="parsing 10,000 words"):
        first.distribution(sentence)


def test_in_a_corpus_others_are_parsed(parser: ca.Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSARC_MAX_MEMORY", "1G")
    short, long = sample()[:3], long_sentence(8_000)
    refused: list[int] = []
    found = list(
        parser.parse([*short, long, *short], on_limit=lambda one, error: refused.append(len(one)))
    )
    assert refused == [8_000]
    expected = [one.heads.tolist() for one in parser.parse(short)]
    assert [one.heads.tolist() for one in found] == 2 * expected


def test_the_command_line_passes_over_a_long_sentence(tmp_path: Path) -> None:
    path = tmp_path / "in.conllu"
    ca.write_conllu([sample()[0], long_sentence(8_000), sample()[1]], path)
    environment = {"CROSSARC_MAX_MEMORY": "1G"}
    stopped = crossarc("parse", "-m", "en", path, env=environment)
    assert stopped.returncode == 1
    assert stopped.stderr.count(b"\n") == 1
    assert b"has 8,000 words, and a model of order 2 parses at most 1,200" in stopped.stderr
    done = crossarc("parse", "-m", "en", path, "--on-error", "skip", env=environment)
    assert done.returncode == 0
    assert b"passed over: " in done.stderr
    parsed = ca.read_conllu(io.BytesIO(done.stdout))
    assert [len(one) for one in parsed] == [len(one) for one in sample()[:2]]


def test_transitions_need_no_limit(tmp_path: Path) -> None:
    """Covington's parser: 10,000 words in memory that grows as they do."""
    packed = Path(__file__).parent / "models" / "released" / "0.1.0" / "covington.xz"
    (tmp_path / "model").write_bytes(lzma.decompress(packed.read_bytes()))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    [parsed] = ca.Parser.load(tmp_path / "model").parse([long_sentence(10_000)])
    assert parsed.tree.is_single_root
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10
