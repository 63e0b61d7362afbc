"""A small parser, trained once for all tests of this folder."""

from __future__ import annotations

import pytest

from crossarc.parser import Parser
from crossarc.treebank import Sentence, sample


@pytest.fixture(scope="session")
def bank() -> list[Sentence]:
    return sample()


@pytest.fixture(scope="session")
def parser(bank: list[Sentence]) -> Parser:
    """Learnt from the sample bank, so that it knows its own sentences by heart."""
    return Parser.train(bank, passes=8, threads=2)


@pytest.fixture(scope="session")
def projective_parser(bank: list[Sentence]) -> Parser:
    return Parser.train(bank, passes=4, projective=True, text=False, threads=2)
