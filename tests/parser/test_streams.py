"""Texts, lines and sentences that come one by one, and how parsers show themselves."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from itertools import count, islice

import pytest

from crossarc import Sentence, load
from crossarc.parser import Parser
from crossarc.parser.batches import FULL, full_batches, ready_items
from crossarc.parser.lines import line_sentences, split_lines


def conllu(sentences: list[Sentence]) -> list[str]:
    return [sentence.to_conllu() for sentence in sentences]


def test_several_texts(parser: Parser) -> None:
    texts = ["Who arrived? Nobody could read.", "", "Who?"]
    expected = [conllu(parser(text)) for text in texts]
    assert [len(own) for own in expected] == [2, 0, 1]
    assert [conllu(own) for own in parser(texts)] == expected
    assert [conllu(own) for own in parser.pipe(iter(texts))] == expected
    assert parser([]) == []
    [one, none, other] = parser(texts, kbest=2)
    assert [s.comment("kbest") for s in one] == ["1/2", "2/2"] * 2
    assert none == []
    assert len(other) == 2
    [marked] = parser(("Who?",), probabilities=True)
    assert "HeadProb=" in marked[0].misc[0]


def test_sentences_through_a_pipe_are_as_parsed(parser: Parser, bank: list[Sentence]) -> None:
    assert conllu(list(parser.pipe(bank))) == conllu(list(parser.parse(bank)))
    best = list(parser.pipe(bank[:5], kbest=2))
    assert conllu(best) == conllu(list(parser.parse(bank[:5], kbest=2)))
    assert list(parser.pipe([])) == []


def test_texts_are_not_taken_for_sentences(parser: Parser) -> None:
    with pytest.raises(TypeError, match="got text where sentences are expected: use"):
        list(parser.parse(["Who?"]))  # type: ignore[list-item]


def test_a_result_never_waits_for_later_input(parser: Parser, bank: list[Sentence]) -> None:
    """The input gives a sentence only when the parser waits: the ones before have come out."""
    may_go_on = threading.Semaphore(0)
    found: list[Sentence] = []
    waits = []

    def slowly() -> Iterator[Sentence]:
        for sentence in bank[:4]:
            assert may_go_on.acquire(timeout=60)
            yield sentence

    def on_wait() -> None:
        waits.append(len(found))
        may_go_on.release()

    found.extend(parser.pipe(slowly(), on_wait=on_wait))
    assert conllu(found) == conllu(list(parser.parse(bank[:4])))
    assert waits[:4] == [0, 1, 2, 3]


def test_an_endless_input_is_read_a_bounded_number_ahead() -> None:
    read = []

    def endless() -> Iterator[int]:
        for number in count():
            read.append(number)
            yield number

    batches = ready_items(endless())
    taken = [number for batch in islice(batches, 20) for number in batch]
    assert taken == list(range(len(taken)))
    # The queue, a batch that has left it, and the item that waits to enter it.
    time.sleep(0.05)
    assert len(read) <= len(taken) + FULL + 1
    batches.close()  # type: ignore[attr-defined]


def test_the_reader_ends_with_its_caller() -> None:
    batches = ready_items(count())
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 30
    while any(thread.name == "crossarc-reader" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_error_of_the_input_comes_after_its_items() -> None:
    def failing() -> Iterator[int]:
        yield from range(600)
        raise RuntimeError("no more")

    found: list[int] = []
    batches = (found.extend(batch) for batch in ready_items(failing()))
    with pytest.raises(RuntimeError, match="no more"):
        list(batches)
    assert found == list(range(600))


def test_full_batches_are_bounded_by_arcs() -> None:
    """Sentences of 99 words have 10,000 arcs: 40 of them are a batch; of 1 word, 256."""
    long, short = (Sentence.build(["w"] * n) for n in (99, 1))
    assert [len(batch) for batch in full_batches([long] * 100)] == [40, 40, 20]
    assert [len(batch) for batch in full_batches([short] * 300)] == [256, 44]


def test_an_endless_parse_needs_no_more_memory(parser: Parser) -> None:
    """Sentences that have been handed on are gone."""

    def endless() -> Iterator[Sentence]:
        for number in count():
            yield Sentence.build(["Who", f"w{number}", "?"], upos=["PRON", "X", "PUNCT"])

    def alive() -> int:
        gc.collect()
        # isinstance would ask objects of other libraries for their class, and some warn then.
        return sum(type(one) is Sentence for one in gc.get_objects())

    parsed = parser.pipe(endless())
    for _ in islice(parsed, 300):
        pass
    before = alive()
    for _ in islice(parsed, 1500):
        pass
    assert alive() <= before + 3 * FULL


def test_lines_come_as_soon_as_they_are_complete() -> None:
    pieces = iter(["one\ntw", "o", "\n\nthree"])
    lines = split_lines(pieces)
    assert next(lines) == "one"
    assert next(pieces) == "o"
    assert list(lines) == ["tw", "", "three"]
    assert list(split_lines(["a\n"])) == ["a"]
    assert list(split_lines([])) == []


def test_lines_are_sentences(parser: Parser) -> None:
    lines = ["Who arrived? Nobody could read.", "  ", "Who ?"]
    first, second = parser.parse_lines(lines)
    words = [form for one in parser(lines[0]) for form in one.forms]
    assert first.forms == tuple(words)
    assert (first.sent_id, second.sent_id) == ("1", "2")
    first, second = parser.parse_lines(lines, tokenized=True)
    assert first.forms == ("Who", "arrived?", "Nobody", "could", "read.")
    assert first.text == lines[0]
    assert [one.forms for one in line_sentences(["a\u00a0b c"], None)] == [("a", "b", "c")]


def test_how_a_parser_shows_itself(parser: Parser, projective_parser: Parser) -> None:
    labels = len(parser.labels)
    assert repr(parser) == (
        f"<Parser kind: graph; trees: non-projective, single root; relations: {labels}; "
        "reads: text and sentences; tagger: yes; learnt from: 126 sentences, 1,008 words>"
    )
    assert "reads: sentences; tagger: no" in repr(projective_parser)
    shown = parser._repr_html_()
    assert shown.count("<tr>") == 6
    assert '<td style="text-align:left">126 sentences, 1,008 words</td>' in shown
    model = parser.model
    assert repr(model).startswith(f"<LinearModel labels: {labels}; weights: ")
    assert "<caption>LinearModel</caption>" in model._repr_html_()  # type: ignore[attr-defined]
    measured = Parser(model, False, "single", training={"uas": 90.0, "las": 81.256})
    assert repr(measured).endswith("; dev: UAS 90.00, LAS 81.26>")


def test_a_string_is_split_into_lines() -> None:
    found = load("en").parse_lines("I saw it.\n\nYou too.")
    assert [sentence.text for sentence in found] == ["I saw it.", "You too."]


def test_bytes_are_no_text() -> None:
    with pytest.raises(TypeError, match="decode the bytes"):
        load("en")(b"I saw it.")  # type: ignore[call-overload]
