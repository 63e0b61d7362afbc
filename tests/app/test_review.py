"""`crossarc review`, as a user runs it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
from support.shell import COMMAND, crossarc

from crossarc import Sentence, load, read_conllu, write_conllu
from crossarc.parser.review import find_doubts, ranked
from crossarc.treebank import sample


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learnt from some of the sample bank: wrong about much of the rest."""
    path = tmp_path_factory.mktemp("model") / "sample.crossarc"
    write_conllu(sample()[:60], path.with_name("some.conllu"))
    crossarc("train", path.with_name("some.conllu"), "-o", path, "--passes", 2)
    return path


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """Hand-annotated: the sample bank itself."""
    write_conllu(sample()[60:], tmp_path / "bank.conllu")
    return tmp_path / "bank.conllu"


def answered(
    bank: Path, model: Path, output: Path, *answers: str, options: tuple[str, ...] = ()
) -> str:
    """What a person sees who gives these answers."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "review", bank, "-m", model, "-o", output, *options],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "100"},
    )
    os.close(theirs)
    os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
    shown = b""
    while b"written to" not in shown:
        shown += os.read(ours, 65536)
    assert process.wait(timeout=60) == 0
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def changes(bank: Path, output: Path) -> list[tuple[int, int, str]]:
    """(sentence, word, column) of all that differs; MISC aside."""
    found = []
    for k, (old, new) in enumerate(zip(read_conllu(bank), read_conllu(output), strict=True)):
        for m in range(len(old)):
            if old.heads[m] != new.heads[m]:
                found.append((k, m + 1, "head"))
            if old.deprels[m] != new.deprels[m]:
                found.append((k, m + 1, "deprel"))
        assert old.forms == new.forms
    return found


def reviewed(output: Path) -> list[tuple[int, int]]:
    return [
        (k, m)
        for k, one in enumerate(read_conllu(output))
        for m, misc in enumerate(one.misc, 1)
        if "Reviewed=Yes" in misc.split("|")
    ]


def first_doubt(bank: Path, model: Path, order: str = "probability"):  # type: ignore[no-untyped-def]
    found = find_doubts(load(model), read_conllu(bank), order=order)  # type: ignore[arg-type]
    return ranked((doubt for own in found for doubt in own), order)[0]  # type: ignore[arg-type]


def test_review_is_a_table_without_a_terminal(model: Path, bank: Path) -> None:
    shown = crossarc("review", bank, "-m", model, "-n", 5).stdout.decode().splitlines()
    assert shown[0].split() == ["sentence", "word", "head", "relation", "probability", "rivals"]
    assert len(shown) == 6


def test_review_by_information(model: Path, bank: Path) -> None:
    done = crossarc("review", bank, "-m", model, "-n", 40, "--order", "information")
    shown = done.stdout.decode().splitlines()
    columns = ["sentence", "word", "head", "relation", "probability", "information", "rivals"]
    assert shown[0].split() == columns
    place = shown[0].index("information")
    found = [float(line[place:].split()[0]) for line in shown[1:]]
    assert len(found) == 40
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.0
    # The word of which most is found depends on the others: it need not be the least probable.
    by_probability = crossarc("review", bank, "-m", model, "-n", 40).stdout.decode()
    assert by_probability.splitlines()[1:] != shown[1:]


@pytest.mark.parametrize("order", ["probability", "information"])
def test_keeping_heads_changes_none(model: Path, bank: Path, tmp_path: Path, order: str) -> None:
    """A person's heads stay, though the parser would choose others."""
    output = tmp_path / "out.conllu"
    shown = answered(
        bank, model, output, "nonsense", "", "", "s", "", "q", options=("--order", order)
    )
    assert "please answer with one of these" in shown
    assert "3 settled; written to" in shown
    assert changes(bank, output) == []
    assert len(reviewed(output)) == 3
    doubt = first_doubt(bank, model, order)
    assert (doubt.sentence, doubt.word) in reviewed(output)
    # And the parser would choose others in these sentences.
    touched = {k for k, _ in reviewed(output)}
    old = list(read_conllu(bank))
    parsed = load(model).parse(old[k] for k in touched)
    assert any(
        new.heads.tolist() != old[k].heads.tolist() for k, new in zip(touched, parsed, strict=True)
    )


def test_the_prompt_shows_the_tree_and_the_rivals(model: Path, bank: Path, tmp_path: Path) -> None:
    shown = answered(bank, model, tmp_path / "out", "q")
    doubt = first_doubt(bank, model)
    sentence = list(read_conllu(bank))[doubt.sentence]
    drawing = crossarc("draw", bank, "--sent-id", sentence.sent_id).stdout.decode().rstrip()
    plain = re.sub("\x1b\\[[0-9;]*m", "", shown)
    assert drawing in plain
    for k, (head, probability, deprel) in enumerate(doubt.rivals, 1):
        name = "ROOT" if head == 0 else sentence.forms[head - 1]
        assert f"  {k}  {head} {name} ({deprel})  {probability:.4f}" in plain
    # The relation of each rival is the most probable one for that arc.
    trees = load(model).distribution(sentence)
    for head, _, deprel in doubt.rivals:
        best = trees.marginals()[head, doubt.word].argmax()
        assert load(model).labels[best] == deprel


def test_a_rival_and_another_relation(model: Path, bank: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.conllu"
    doubt = first_doubt(bank, model)
    answered(bank, model, output, "r strange", "q")
    assert changes(bank, output) == [(doubt.sentence, doubt.word, "deprel")]
    assert list(read_conllu(output))[doubt.sentence].deprels[doubt.word - 1] == "strange"
    usable = next(
        k
        for k, rival in enumerate(doubt.rivals, 1)
        if fits(list(read_conllu(bank))[doubt.sentence], doubt.word, rival.head)
    )
    answered(bank, model, output, f"{usable} r odd", "q")
    new = list(read_conllu(output))[doubt.sentence]
    assert new.heads[doubt.word - 1] == doubt.rivals[usable - 1].head
    assert new.deprels[doubt.word - 1] == "odd"
    assert {(k, m) for k, m, _ in changes(bank, output)} == {(doubt.sentence, doubt.word)}


def fits(sentence: Sentence, word: int, head: int) -> bool:
    """Whether the head is not below the word."""
    while head not in (0, word):
        head = int(sentence.heads[head - 1])
    return head == 0


def test_a_cycle_is_refused_and_words_can_be_opened(
    model: Path, bank: Path, tmp_path: Path
) -> None:
    """A word below the doubtful one becomes its head, once its own head is open."""
    output = tmp_path / "out.conllu"
    sentences = list(read_conllu(bank))
    found = find_doubts(load(model), sentences)
    order = ranked(doubt for own in found for doubt in own)
    place, doubt, child = next(
        (k, d, sentences[d.sentence].heads.tolist().index(d.word) + 1)
        for k, d in enumerate(order)
        if d.word in sentences[d.sentence].heads
    )
    answers = ["s"] * place + [f"{child} h", f"o {child} {doubt.word}", "y", "q"]
    shown = answered(bank, model, output, *answers)
    assert f"word {doubt.word} cannot hang from {child}: " in shown
    assert "open a word of the cycle with o" in shown
    # Nothing but the two words that were opened has changed.
    opened = {(doubt.sentence, child), (doubt.sentence, doubt.word)}
    assert {(k, m) for k, m, _ in changes(bank, output)} <= opened
    assert reviewed(output) == []
    refused = answered(bank, model, output, "o 99", "q")
    assert "words have numbers from 1 to" in refused


@pytest.mark.parametrize("agreed", [True, False])
def test_reparse_asks_before_it_changes_others(
    model: Path, bank: Path, tmp_path: Path, agreed: bool
) -> None:
    output = tmp_path / "out.conllu"
    doubt = first_doubt(bank, model)
    answers = ["", "y" if agreed else "", "q"]
    shown = answered(bank, model, output, *answers, options=("--reparse",))
    proposed = re.findall(r"^  (\d+) .*: .* -> .*$", shown, re.MULTILINE)
    assert "the parser would also change" in shown
    assert proposed
    words = {(k, m) for k, m, _ in changes(bank, output)}
    expected = {(doubt.sentence, int(word)) for word in proposed} if agreed else set()
    assert words == expected
    assert reviewed(output) == [(doubt.sentence, doubt.word)]


def test_without_a_terminal_the_output_is_refused(model: Path, bank: Path, tmp_path: Path) -> None:
    done = crossarc("review", bank, "-m", model, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "out is not written: answers are asked for on a terminal" in " ".join(
        done.stderr.decode().split()
    )
    assert not (tmp_path / "out").exists()
