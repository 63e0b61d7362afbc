"""`crossarc review`: go through the least certain heads of a parse."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.commands.parse import chosen_parser
from crossarc.app.files import ModelOption, Progress, WorkersOption, open_treebank
from crossarc.app.tables import text_table

if TYPE_CHECKING:
    from crossarc.parser import Parser
    from crossarc.parser.review import Doubt, Order
    from crossarc.treebank import Sentence

__all__ = ["review"]

_KEYS = (
    "Enter: keep   1-{rivals}: take that head   NUMBER h: head by its number   s: skip   q: quit"
)


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
            help="The least probable heads first, or those that would tell most about all heads "
            "of their sentence.",
        ),
    ] = ReviewOrder.PROBABILITY,
    workers: WorkersOption = None,
) -> None:
    """The least certain heads first, with their rivals.

    With -o on a terminal, asks for each and parses the rest of the sentence again around the
    answers; else prints a table.
    """
    from crossarc.parser.review import find_doubts, ranked

    parser = chosen_parser(model)
    sentences = list(Progress(open_treebank(file)))
    found = list(find_doubts(parser, sentences, order=order.value, threads=workers))
    if output is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        doubts = ranked((doubt for own in found for doubt in own), order.value)[:number]
        print(_table(sentences, doubts, order))
        return
    _Interview(parser, sentences, output, order.value).run(found, number)


def _table(sentences: list[Sentence], doubts: list[Doubt], order: ReviewOrder) -> str:
    rows: list[tuple[str, ...]] = [
        ("sentence", "word", "head", "relation", "probability", "rivals")
    ]
    for doubt in doubts:
        sentence = sentences[doubt.sentence]
        rows.append(
            (
                sentence.sent_id or f"#{doubt.sentence + 1}",
                _named(sentence, doubt.word),
                _named(sentence, doubt.head),
                sentence.deprels[doubt.word - 1],
                f"{doubt.probability:.4f}",
                ", ".join(f"{_named(sentence, h)} {p:.4f}" for h, p in doubt.rivals),
            )
        )
    if order is ReviewOrder.INFORMATION:
        told = ["information", *(f"{doubt.information:.4f}" for doubt in doubts)]
        rows = [(*row[:5], own, row[5]) for row, own in zip(rows, told, strict=True)]
    return text_table(rows)


def _named(sentence: Sentence, node: int) -> str:
    return "0 ROOT" if node == 0 else f"{node} {sentence.forms[node - 1]}"


class _Interview:
    """Asks about one doubt after the other, and keeps the file up to date."""

    def __init__(
        self, parser: Parser, sentences: list[Sentence], output: str, order: Order
    ) -> None:
        self._parser, self._sentences, self._output = parser, sentences, output
        self._order: Order = order

    def run(self, found: list[list[Doubt]], number: int) -> None:
        """Until all are answered, or the person leaves; what was answered is written each time.

        An answer changes the doubts about the rest of its sentence, which are ranked anew.
        """
        from crossarc.parser.review import find_doubts, ranked

        settled, asked = 0, set[tuple[int, int]]()
        self._save()
        number = min(number, sum(map(len, found)))
        while len(asked) < number:
            left = (d for own in found for d in own if (d.sentence, d.word) not in asked)
            current = ranked(left, self._order)[0]
            place = current.sentence
            asked.add((place, current.word))
            print(f"\n{len(asked)}/{number}  {self._shown(current)}")
            try:
                answer = self._ask(current)
            except (EOFError, KeyboardInterrupt):
                answer = "q"
            if answer == "q":
                break
            if answer == "s" or not self._settle(current, answer):
                continue
            settled += 1
            [own] = find_doubts(self._parser, [self._sentences[place]], order=self._order)
            found[place] = [replace(doubt, sentence=place) for doubt in own]
        print(f"\n{settled} settled; written to {self._output}")

    def _shown(self, doubt: Doubt) -> str:
        sentence = self._sentences[doubt.sentence]
        words = [
            f"[{form}]" if k == doubt.word else form for k, form in enumerate(sentence.forms, 1)
        ]
        now = f"{_named(sentence, doubt.head)} ({sentence.deprels[doubt.word - 1]})"
        lines = [
            sentence.sent_id or f"#{doubt.sentence + 1}",
            "  " + " ".join(words),
            f"  now  {now}  {doubt.probability:.4f}",
            *(
                f"  {k:>3}  {_named(sentence, h)}  {p:.4f}"
                for k, (h, p) in enumerate(doubt.rivals, 1)
            ),
            "  " + _KEYS.format(rivals=len(doubt.rivals)),
        ]
        return "\n".join(lines)

    def _ask(self, doubt: Doubt) -> str:
        """A valid answer: "" to keep, "s", "q", or the number of a head."""
        size = len(self._sentences[doubt.sentence])
        while True:
            answer = input("> ").strip()
            if answer in ("", "s", "q"):
                return answer or str(doubt.head)
            choice, by_number = answer.removesuffix("h").strip(), answer.endswith("h")
            if choice.isdecimal():
                if by_number and int(choice) <= size and int(choice) != doubt.word:
                    return choice
                if not by_number and 1 <= int(choice) <= len(doubt.rivals):
                    return str(doubt.rivals[int(choice) - 1][0])
            print("  please answer with one of these: " + _KEYS.format(rivals=len(doubt.rivals)))

    def _settle(self, doubt: Doubt, head: str) -> bool:
        from crossarc.errors import TreebankError
        from crossarc.parser.review import settle

        sentence = self._sentences[doubt.sentence]
        kept = sentence.deprels[doubt.word - 1] if int(head) == doubt.head else None
        try:
            changed = settle(self._parser, sentence, doubt.word, int(head), kept)
        except TreebankError as error:
            print(f"  {error}")
            return False
        self._sentences[doubt.sentence] = changed
        self._save()
        return True

    def _save(self) -> None:
        from crossarc.treebank import write_conllu

        write_conllu(self._sentences, self._output)
