"""What labels say about lifting: any label can be written and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossarc.transforms.marks import Mark, read_mark, write_mark

# Labels as they are, and labels made of little but what has a meaning in marks.
LABELS = st.text() | st.text(alphabet="↑↓\\_1a:|", max_size=6)
NONE, ONE = st.none(), st.just(1)
MARKS = (
    st.builds(Mark, LABELS, st.just(True), LABELS, st.integers(1, 30), st.booleans())
    | st.builds(Mark, LABELS, st.just(True), NONE, ONE, st.booleans())
    | st.builds(Mark, LABELS, st.just(False), NONE, ONE, st.booleans())
)


@given(MARKS)
def test_marks_are_read_as_they_were_written(mark: Mark) -> None:
    assert read_mark(write_mark(mark)) == mark


@given(st.text(alphabet=st.characters(exclude_characters="↑↓\\")))
def test_ordinary_labels_are_left_as_they_are(label: str) -> None:
    assert write_mark(Mark(label)) == label
    assert read_mark(label) == Mark(label)


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        (Mark("nsubj:pass"), "nsubj:pass"),
        (Mark("obj", on_path=True), "obj↓"),
        (Mark("obj", lifted=True), "obj↑"),
        (Mark("obj", lifted=True, on_path=True), "obj↑↓"),
        (Mark("AuxP", lifted=True, head_label="Sb"), "AuxP↑Sb"),
        (Mark("obl", lifted=True, head_label="acl:relcl", rank=2), "obl↑acl:relcl↑2"),
        (Mark("a|b", lifted=True, head_label="c↑2", on_path=True), "a|b↑c\\↑2↓"),
        (Mark("", lifted=True, head_label=""), "↑\\_"),
        (Mark("a\\", lifted=True, head_label="↓"), "a\\\\↑\\↓"),
    ],
)
def test_text_of_marks(mark: Mark, text: str) -> None:
    assert write_mark(mark) == text
    assert read_mark(text) == mark


@pytest.mark.parametrize("text", ["a↓b", "↓↓", "a↑b↑c", "a↑b↑0", "a↑b↑", "a↓↑b", "a\\", "a↑b\\"])
def test_what_follows_no_rule_is_a_plain_label(text: str) -> None:
    assert read_mark(text) == Mark(text)
