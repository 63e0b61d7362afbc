"""A parser in several processes: the sentences of one process, and what cannot be parsed aside."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from itertools import chain, cycle, islice
from typing import Any

import pytest

from crossarc import Parser, Sentence, TreebankError, load, read_conllu, write_conllu
from crossarc.scale.parsing import CorpusParser, SetAside
from crossarc.treebank import sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")


@pytest.fixture(autouse=True)
def processes_whatever_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of this process may have imported PyTorch, beside which parsers use threads."""
    monkeypatch.setattr("crossarc.scale.parsing._can_fork", lambda: True)


def written(sentences: Any) -> bytes:
    file = io.BytesIO()
    write_conllu(sentences, file)
    return file.getvalue()


@pytest.fixture(scope="module")
def bank() -> list[Sentence]:
    """Several batches, of sentences of very different length."""
    long = Sentence.build([f"w{k}" for k in range(200)], upos=["NOUN"] * 200)
    return [*sample() * 3, long, *sample()]


@pytest.mark.parametrize("options", [{}, {"kbest": 2}])
@pytest.mark.parametrize("may_wait", [False, True])
def test_the_number_of_workers_changes_nothing(
    bank: list[Sentence], may_wait: bool, options: dict[str, Any]
) -> None:
    bank = bank[-160:] if options else bank
    expected = written(load("en").parse(bank, **options))
    waits: list[int] = []
    for workers in (1, 3):
        with CorpusParser("en", options, workers=workers) as corpus:  # type: ignore[arg-type]
            on_wait = (lambda: waits.append(1)) if may_wait else None
            assert written(corpus.parse(iter(bank), on_wait=on_wait)) == expected


def test_columns_of_conllu_plus_come_back() -> None:
    row = b"1\tDogs\t_\tNOUN\t_\t_\t_\t_\t_\t_\textra%d\n\n"
    names = b"# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC X:Y\n"
    data = names + b"".join(row % number for number in range(600))
    expected = written(load("en").parse(read_conllu(io.BytesIO(data))))
    with CorpusParser("en", {}, workers=2) as corpus:
        assert written(corpus.parse(read_conllu(io.BytesIO(data)))) == expected
    assert expected.count(b"\textra599\n") == 1


def test_endless_input_is_read_a_little_ahead() -> None:
    taken = 0

    def endless() -> Iterator[Sentence]:
        nonlocal taken
        for sentence in cycle(sample()):
            taken += 1
            yield sentence

    with CorpusParser("en", {}, workers=2) as corpus:
        most = 256 * 8  # the window, what is looked at beyond it, and the batch that is written
        for number, _ in enumerate(islice(corpus.parse(endless()), 3000)):
            assert taken - number <= most


class Poisoned:
    """A parser to which some sentences are poison."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser

    def parse(self, sentences: list[Sentence], **options: Any) -> Iterator[Sentence]:
        forms = set(chain.from_iterable(one.forms for one in sentences))
        if "kill" in forms:
            os.kill(os.getpid(), signal.SIGKILL)
        if "fail" in forms:
            raise ZeroDivisionError("by design")
        return self._parser.parse(sentences, **options)


def with_poison(forms: list[str]) -> list[Sentence]:
    bank = [one.copy() for one in sample() * 6]
    for form, index in zip(forms, (300, 700), strict=False):
        own = list(bank[index].forms)
        bank[index] = Sentence.build([form, *own[1:]], comments=[f"# sent_id = {form}"])
    return bank


def test_what_cannot_be_parsed_is_set_aside() -> None:
    """Nothing is lost, nothing comes twice."""
    parser = load("en")
    bank = with_poison(["kill", "fail"])
    rest = [one for one in bank if one.sent_id not in ("kill", "fail")]
    found: list[SetAside] = []
    poisoned: Any = Poisoned(parser)
    with CorpusParser("en", {}, workers=2, parser=poisoned) as corpus:
        assert written(corpus.parse(bank, on_failure=found.append)) == written(parser.parse(rest))
    assert [one.sentence.sent_id for one in found] == ["kill", "fail"]
    assert "it was the end of 2 processes" in found[0].reason
    assert found[1].marked().comments[-1] == "# error = ZeroDivisionError: by design"


@pytest.mark.parametrize("form", ["kill", "fail"])
def test_without_a_place_for_it_the_sentence_is_named(form: str) -> None:
    poisoned: Any = Poisoned(load("en"))
    bank = with_poison([form])
    error = TreebankError if form == "kill" else ZeroDivisionError
    with (
        CorpusParser("en", {}, workers=2, parser=poisoned) as corpus,
        pytest.raises(error, match=r"sentence kill\): cannot be parsed|sentence kill|by design"),
    ):
        written(corpus.parse(bank))


def test_options_are_checked_before_the_work() -> None:
    with pytest.raises(ValueError, match="kbest"):
        CorpusParser("en", {"kbest": 0}, workers=2)
