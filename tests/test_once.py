"""Attributes computed once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from crossarc.once import once


class Word:
    def __init__(self, form: str) -> None:
        self.form, self.calls = form, 0

    @once
    def length(self) -> int:
        """How long it is."""
        self.calls += 1
        return len(self.form)


def test_is_computed_once_for_each_instance() -> None:
    words = Word("ab"), Word("abc")
    assert [words[0].length, words[1].length, words[0].length] == [2, 3, 2]
    assert [word.calls for word in words] == [1, 1]
    assert Word.length.__doc__ == "How long it is."


def test_threads_that_ask_different_objects_do_not_wait_for_each_other() -> None:
    meeting = threading.Barrier(2)

    class Guest:
        @once
        def place(self) -> int:
            """Known when both have come."""
            return meeting.wait(timeout=30)

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(lambda guest: guest.place, [Guest(), Guest()])) == [0, 1]
