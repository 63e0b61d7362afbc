"""`crossarc review`: go through the least certain heads of a parse."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from crossarc.app.commands.parse import chosen_parser
from crossarc.app.files import ModelOption, Progress, WorkersOption, open_treebank
from crossarc.app.tables import text_table

if TYPE_CHECKING:
    from crossarc.parser import Parser
    from crossarc.parser.review import Doubt, Order
    from crossarc.treebank import Sentence

__all__ = ["review"]

_KEYS = """\
  Enter keep   {rivals}N h: the head with number N   r RELATION: another relation
  o N N: choose the heads of these words anew   s: skip   q: quit"""
_ANSWER = re.compile(r"(?:(?P<number>\d+)\s*(?P<by_word>h)?)?\s*(?:r\s+(?P<deprel>\S+))?")
# Less is 0.0000 in print.
_LEAST_SHOWN = 5e-5
_OPEN = re.compile(r"o((?:\s+\d+)+)")


class ReviewOrder(StrEnum):
    """Which words come first."""

    PROBABILITY = "probability"
    INFORMATION = "information"


def review(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Parsed treebank.")],
    model: ModelOption = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Where to write the reviewed treebank."),
    ] = None,
    number: Annotated[
        int, typer.Option("--number", "-n", min=1, help="Go through so many words.")
    ] = 50,
    order: Annotated[
        ReviewOrder,
        typer.Option(
            "--order",
            help="The least probable heads first, or those with the most information about all "
            "heads of their sentence.",
        ),
    ] = ReviewOrder.PROBABILITY,
    reparse: Annotated[
        bool,
        typer.Option(
            "--reparse",
            help="After each answer, propose new heads for the words that are not reviewed.",
        ),
    ] = False,
    workers: WorkersOption = None,
) -> None:
    """The least certain heads first, with their rivals.

    With -o on a terminal, asks about each and changes what is answered; else prints a table.
    """
    from crossarc.parser.review import find_doubts, ranked

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if output is not None and not is_terminal:
        raise typer.BadParameter(
            f"{output} is not written: answers are asked for on a terminal, and this is none; "
            "leave -o out for a table",
            param_hint="-o",
        )
    parser = chosen_parser(model)
    sentences = list(Progress(open_treebank(file)))
    found = list(find_doubts(parser, sentences, order=order.value, threads=workers))
    if parser.is_approximate:
        print("crossarc: the probabilities are approximate", file=sys.stderr)
    if output is None:
        doubts = ranked((doubt for own in found for doubt in own), order.value)[:number]
        print(_table(sentences, doubts, order))
        return
    _Interview(parser, sentences, output, order.value, reparse).run(found, number)


def _table(sentences: list[Sentence], doubts: list[Doubt], order: ReviewOrder) -> str:
    rows: list[tuple[str, ...]] = [
        ("sentence", "word", "head", "relation", "probability", "rivals")
    ]
    for doubt in doubts:
        sentence = sentences[doubt.sentence]
        rivals = (
            f"{_named(sentence, head)} {deprel} {probability:.4f}"
            for head, probability, deprel in doubt.rivals
            if probability >= _LEAST_SHOWN
        )
        rows.append(
            (
                sentence.sent_id or f"#{doubt.sentence + 1}",
                _named(sentence, doubt.word),
                _named(sentence, doubt.head),
                sentence.deprels[doubt.word - 1],
                f"{doubt.probability:.4f}",
                ", ".join(rivals),
            )
        )
    if order is ReviewOrder.INFORMATION:
        column = ["information", *(f"{doubt.information:.4f}" for doubt in doubts)]
        rows = [(*row[:5], own, row[5]) for row, own in zip(rows, column, strict=True)]
    return text_table(rows, left=(0, 1, 2, 3, len(rows[0]) - 1))


def _named(sentence: Sentence, node: int) -> str:
    return "0 ROOT" if node == 0 else f"{node} {sentence.forms[node - 1]}"


class _Answer(NamedTuple):
    """A head, and a relation unless the default is meant."""

    head: int
    deprel: str | None


class _Interview:
    """Asks about one doubt after the other, and keeps the file up to date."""

    def __init__(
        self,
        parser: Parser,
        sentences: list[Sentence],
        output: str,
        order: Order,
        reparse: bool,
    ) -> None:
        self._parser, self._sentences, self._output = parser, sentences, output
        self._order: Order = order
        self._reparse = reparse

    def run(self, found: list[list[Doubt]], number: int) -> None:
        """Until all are answered, or the person leaves; what was answered is written each time.

        An answer changes the doubts about the rest of its sentence, which are ranked anew.
        """
        from crossarc.parser.review import ranked

        settled, seen = 0, set[tuple[int, int]]()
        self._save()
        number = min(number, sum(map(len, found)))
        try:
            while len(seen) < number:
                left = (d for own in found for d in own if (d.sentence, d.word) not in seen)
                doubt = ranked(left, self._order)[0]
                seen.add((doubt.sentence, doubt.word))
                print(f"\n{len(seen)}/{number}")
                settled += self._settle(doubt)
                found[doubt.sentence] = self._doubts(doubt.sentence)
        except (EOFError, KeyboardInterrupt):
            pass
        print(f"\n{settled} settled; written to {self._output}")

    def _doubts(self, index: int) -> list[Doubt]:
        """The doubts about a sentence as it is now."""
        from crossarc.parser.review import find_doubts

        [own] = find_doubts(self._parser, [self._sentences[index]], order=self._order)
        return [replace(doubt, sentence=index) for doubt in own]

    def _settle(self, doubt: Doubt) -> bool:
        """Ask until there is an answer that can be used; whether the word is settled.

        Raises:
            EOFError: the person leaves.
        """
        from crossarc.errors import TreebankError

        while True:
            print(self._shown(doubt))
            answer = input("> ").strip()
            if answer == "q":
                raise EOFError
            if answer == "s":
                return False
            if opened := _OPEN.fullmatch(answer):
                doubt = self._open(doubt, [int(word) for word in opened[1].split()])
                continue
            understood = self._understood(doubt, answer)
            if understood is None:
                print(f"  please answer with one of these:\n{_keys(doubt)}")
                continue
            try:
                self._change(doubt, understood)
            except TreebankError as error:
                print(f"  {error}; open a word of the cycle with o")
                continue
            return True

    def _understood(self, doubt: Doubt, answer: str) -> _Answer | None:
        match = _ANSWER.fullmatch(answer)
        if match is None:
            return None
        deprel = match["deprel"]
        if match["number"] is None:
            return _Answer(doubt.head, deprel)
        number = int(match["number"])
        if match["by_word"]:
            fits = number <= len(self._sentences[doubt.sentence]) and number != doubt.word
            return _Answer(number, deprel) if fits else None
        if not 1 <= number <= len(doubt.rivals):
            return None
        rival = doubt.rivals[number - 1]
        return _Answer(rival.head, deprel or rival.deprel)

    def _change(self, doubt: Doubt, answer: _Answer) -> None:
        from crossarc.parser.review import settle, unsettled

        before = self._sentences[doubt.sentence]
        arguments = self._parser, before, doubt.word, answer.head, answer.deprel
        others = [word for word in unsettled(before) if word != doubt.word]
        if self._reparse and others:
            after = settle(*arguments, open_words=others)
            if self._accepted(before, after, besides=doubt.word):
                self._store(doubt.sentence, after)
                return
        self._store(doubt.sentence, settle(*arguments))

    def _open(self, doubt: Doubt, words: list[int]) -> Doubt:
        """Choose heads of words anew, if the person agrees; the doubt as it is then."""
        from crossarc.parser.review import reparse

        before = self._sentences[doubt.sentence]
        if not all(1 <= word <= len(before) for word in words):
            print(f"  words have numbers from 1 to {len(before)}")
            return doubt
        after = reparse(self._parser, before, words)
        if not self._accepted(before, after):
            return doubt
        self._store(doubt.sentence, after)
        same = [own for own in self._doubts(doubt.sentence) if own.word == doubt.word]
        return same[0] if same else doubt

    def _accepted(self, before: Sentence, after: Sentence, besides: int = 0) -> bool:
        """Show what would change, and ask; without changes to other words there is no question."""
        changes = [
            f"  {_named(before, m)}: {_arc(before, m)} -> {_arc(after, m)}"
            for m in range(1, len(before) + 1)
            if m != besides and _arc(before, m) != _arc(after, m)
        ]
        if not changes:
            print("  no other head changes")
            return True
        print("\n".join(["  the parser would also change", *changes]))
        return input("  change them? [y/N] ").strip().lower() in ("y", "yes")

    def _shown(self, doubt: Doubt) -> str:
        from crossarc.draw import text

        sentence = self._sentences[doubt.sentence]
        width = shutil.get_terminal_size().columns
        word, now = _named(sentence, doubt.word), _arc(sentence, doubt.word)
        lines = [
            "" if sentence.sent_id else f"sentence {doubt.sentence + 1}",
            text(sentence, width=width, color="NO_COLOR" not in os.environ),
            f"\n  {word}",
            f"  now  {now}  {doubt.probability:.4f}",
            *(
                f"  {k:>3}  {_named(sentence, head)} ({deprel})  {probability:.4f}"
                for k, (head, probability, deprel) in enumerate(doubt.rivals, 1)
            ),
            _keys(doubt),
        ]
        return "\n".join(line for line in lines if line)

    def _store(self, index: int, sentence: Sentence) -> None:
        self._sentences[index] = sentence
        self._save()

    def _save(self) -> None:
        from crossarc.treebank import write_conllu

        write_conllu(self._sentences, self._output)


def _arc(sentence: Sentence, word: int) -> str:
    head, deprel = int(sentence.heads[word - 1]), sentence.deprels[word - 1]
    return f"{_named(sentence, head)} ({deprel})"


def _keys(doubt: Doubt) -> str:
    numbers = {0: "", 1: "1: that head   "}.get(len(doubt.rivals), "")
    if len(doubt.rivals) > 1:
        numbers = f"1-{len(doubt.rivals)}: that head   "
    return _KEYS.format(rivals=numbers)
