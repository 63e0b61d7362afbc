"""`crossarc induce` and `crossarc perplexity` as a user runs them."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.shell import crossarc

from crossarc import BigramModel, Sentence, TransitionModel, read_conllu, write_conllu
from crossarc.models.generative import DMVModel
from crossarc.models.generative.ngrams import NgramModel, log_mixture, mixture_weights
from crossarc.treebank import SAMPLE_PATH, sample


def chain_bank(count: int) -> list[Sentence]:
    """d n v: v heads n, n heads d; punctuation at the end of every other sentence."""
    found = []
    for k in range(count):
        tags, heads = ["DET", "NOUN", "VERB"], [2, 3, 0]
        if k % 3 == 0:
            tags, heads = ["DET", "NOUN", "VERB", "DET", "NOUN"], [2, 3, 0, 5, 3]
        if k % 2:
            tags, heads = [*tags, "PUNCT"], [*heads, 3]
        found.append(Sentence.build(list(map(str.lower, tags)), upos=tags, heads=heads))
    return found


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    write_conllu(chain_bank(30), tmp_path / "bank.conllu")
    return tmp_path / "bank.conllu"


@pytest.mark.parametrize("model", ["bigram", "dmv", "transition"])
def test_accuracy_beside_chains(model: str, bank: Path) -> None:
    """20 sentences of 3 words and 10 of 5: the chains have 2 of 3 and 2 of 5, or fewer, right."""
    shown = crossarc("induce", bank, "--model", model)
    assert shown.returncode == 0
    lines = [line.split() for line in shown.stdout.decode().splitlines()]
    assert lines[0] == ["words", "directed", "%", "undirected", "%"]
    # Left-branching: d <- n and n <- v of each clause; 60 right of 110, and v of the short ones.
    assert lines[1] == ["left-branching", "110", "81.82", "81.82"]
    assert lines[2][:2] == ["right-branching", "110"]
    assert lines[3][:2] == [model, "110"]
    assert shown.stderr.decode().startswith(f"crossarc: {model}: ")
    figures = json.loads(crossarc("induce", bank, "--model", model, "--format", "json").stdout)
    assert figures["words"] == 110
    assert f"{figures[f'{model}_directed']:.2f}" == lines[3][2]
    assert f"{figures['right_branching_undirected']:.2f}" == lines[2][3]


def test_trees_and_models_are_written(bank: Path, tmp_path: Path) -> None:
    done = crossarc("induce", bank, "-o", "out.conllu", "--save", "model", cwd=tmp_path)
    assert done.returncode == 0
    parsed = list(read_conllu(tmp_path / "out.conllu"))
    gold = list(read_conllu(bank))
    assert [one.forms for one in parsed] == [one.forms for one in gold]
    assert all(one.deprels == ("_",) * len(one) for one in parsed)
    model = BigramModel.load(tmp_path / "model")
    first = [tag for tag in gold[1].upos if tag != "PUNCT"]
    heads = model.parse(first).heads.tolist()
    assert parsed[1].heads.tolist() == [*heads, heads.index(0) + 1]
    piped = crossarc("induce", bank, "-o", "-", cwd=tmp_path)
    assert piped.stdout == (tmp_path / "out.conllu").read_bytes()
    assert b"left-branching" in piped.stderr


def test_text(tmp_path: Path) -> None:
    """Words divided by spaces: trees go to standard output, there being none to compare with."""
    text = b"the dog barks\nthe cat sleeps\n\nthe dog sleeps\n"
    done = crossarc("induce", "-", "--tokenized", "--projective", stdin=text)
    assert done.returncode == 0
    assert done.stdout.count(b"# text = ") == 3
    assert done.stdout.count(b"\t0\t_\t_\t_\n") == 3
    assert done.stderr.startswith(b"crossarc: bigram: ")


def test_workers_seeds_and_checkpoints(bank: Path, tmp_path: Path) -> None:
    command = ("induce", bank, "--start", "random", "--restarts", 2, "--iterations", 5)
    one, two = (
        crossarc(*command, "--save", name, "--workers", workers, cwd=tmp_path)
        for name, workers in (("one", 1), ("two", 2))
    )
    assert one.stdout == two.stdout
    assert b"5 iterations, not converged: raise --iterations" in one.stderr
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    crossarc(*command, "--seed", 1, "--save", "three", cwd=tmp_path)
    assert (tmp_path / "three").read_bytes() != (tmp_path / "one").read_bytes()
    kept = ("--checkpoint", "state")
    crossarc(*command[:-1], 3, *kept, cwd=tmp_path)
    crossarc(*command, *kept, "--save", "four", cwd=tmp_path)
    assert (tmp_path / "four").exists()
    refused = crossarc(*command, *kept, "--prior", 0.5, cwd=tmp_path)
    assert refused.returncode == 1
    assert b"state: a checkpoint of another run, or none: remove the file" in refused.stderr


def test_transition_models_are_written(bank: Path, tmp_path: Path) -> None:
    """With a checkpoint, and over forms of which some are unknown."""
    options = ("--unit", "form", "--min-count", 15, "--start", "harmonic", "--iterations", 3)
    command = ("induce", bank, "--model", "transition", *options, "--checkpoint", "state")
    done = crossarc(*command, "-o", "out.conllu", "--save", "model", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "state").exists()
    model = TransitionModel.load(tmp_path / "model")
    assert model.symbols.unknown == "<unk>"
    gold, parsed = list(read_conllu(bank)), list(read_conllu(tmp_path / "out.conllu"))
    tree = model.parse(gold[0], method="risk", root="single")
    assert parsed[0].heads.tolist() == tree.heads.tolist()


def test_transition_models_parse_what_they_did_not_learn_from(tmp_path: Path) -> None:
    """Longer sentences, with a tag that no other has; over 100 words only before learning."""
    bank = chain_bank(12)
    longer = ["X"] * 7
    bank.append(Sentence.build(longer, upos=longer, heads=[0, *range(1, 7)]))
    write_conllu(bank, tmp_path / "bank.conllu")
    command = ("induce", "bank.conllu", "--model", "transition", "--max-words", 6)
    done = crossarc(*command, "-o", "out.conllu", "--iterations", 2, cwd=tmp_path)
    assert done.returncode == 0
    *_, last = read_conllu(tmp_path / "out.conllu")
    assert (last.heads == 0).sum() == 1
    write_conllu([Sentence.build(["a"] * 101, upos=["X"] * 101)], tmp_path / "long.conllu")
    refused = crossarc(*command, "--test", "long.conllu", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert refused.stderr == (
        b"crossarc: long.conllu:1: 101 words, the transition model parses 100 at most: leave the "
        b"sentence out\n"
    )


def test_a_start_from_trees(bank: Path) -> None:
    """The first parameters after trees are those of the trees; later ones follow the words."""
    command = ("induce", bank, "--start-trees", bank, "--format", "json", "--iterations", 1)
    assert json.loads(crossarc(*command).stdout)["bigram_directed"] == 100.0


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--model", "trigram"), "'trigram' is not one of 'bigram', 'dmv', 'transition'"),
        (("--model", "transition", "--start-trees", "file"), "--start-trees"),
        (("--model", "transition", "--nonprojective"), "--projective"),
        (("--model", "transition", "--no-distance"), "--no-distance"),
        (("--model", "transition", "--root", "multi"), "--root multi"),
        (("--model", "transition", "--stop"), "--stop"),
        (("--model", "transition", "--unit", "lemma"), "form, upos or xpos"),
        (("--model", "dmv", "--nonprojective"), "--nonprojective"),
        (("--model", "dmv", "--root", "multi"), "--root multi"),
        (("--model", "dmv", "--no-distance"), "--no-distance"),
        (("--model", "dmv", "--prior", "0"), "must be above 0 for dmv"),
        (("--unit", "form+upos"), "EM needs one column"),
        (("--stop",), "add --no-direction and --no-distance"),
        (("--restarts", "2"), "several restarts need --start random"),
        (("--anneal", "2"), "--anneal"),
        (("--save", "absent/model"), "absent/model: cannot write a file there; check the path"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], what: str) -> None:
    refused = crossarc("induce", "@sample", *arguments)
    assert refused.returncode == 2
    assert what in " ".join(refused.stderr.decode().replace("│", " ").split())
    assert b"Traceback" not in refused.stderr


def test_bad_data(tmp_path: Path) -> None:
    write_conllu([Sentence.build(["a", "b"])], tmp_path / "untagged.conllu")
    refused = crossarc("induce", "untagged.conllu", cwd=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.decode() == (
        "crossarc: untagged.conllu:1: word 1 has no UPOS: tag the text first or use the unit form\n"
    )
    (tmp_path / "text.txt").write_text("a b\nc\n")
    text = crossarc("induce", "text.txt", cwd=tmp_path)
    assert (text.returncode, text.stderr.count(b"\n")) == (1, 1)
    assert text.stderr.startswith(b"crossarc: text.txt:1: ")
    assert text.stderr.endswith(b"or words divided by spaces, add --tokenized\n")
    (tmp_path / "empty.conllu").write_text("")
    for command in (
        ("induce", "empty.conllu"),
        ("perplexity", "empty.conllu", "--train", "@sample"),
    ):
        empty = crossarc(*command, cwd=tmp_path)
        assert (empty.returncode, empty.stderr.count(b"\n")) == (1, 1)
        assert b"empty.conllu: no sentences: check the file" in empty.stderr
    long = crossarc("induce", "untagged.conllu", "--unit", "form", "--max-words", 1, cwd=tmp_path)
    assert long.returncode == 1
    assert b"untagged.conllu: no sentence of at most 1 words: raise --max-words" in long.stderr
    other = crossarc("perplexity", "@sample", "-m", "empty.conllu", cwd=tmp_path)
    assert (other.returncode, other.stderr.count(b"\n")) == (1, 1)


def test_perplexity(tmp_path: Path) -> None:
    """The same figures by the library."""
    bank = chain_bank(60)
    write_conllu(bank, tmp_path / "train.conllu")
    write_conllu(sample("en"), tmp_path / "test.conllu")
    shown = crossarc("perplexity", "test.conllu", "--train", "train.conllu", cwd=tmp_path)
    held_out, learnt = bank[::10], [one for k, one in enumerate(bank) if k % 10]
    model = BigramModel(min_count=2).fit(learnt)
    ngrams = NgramModel("upos", model.vocabularies).fit(learnt)
    weights = mixture_weights(np.stack([ngrams.log_probs(held_out), model.log_prob(held_out)]))
    test = sample("en")
    both = np.stack([ngrams.log_probs(test), model.log_prob(test)])
    words = sum(map(len, test))
    expected = [
        f"{math.exp(-logs.sum() / words):.3f}" for logs in (*both, log_mixture(weights, both))
    ]
    lines = [line.split() for line in shown.stdout.decode().splitlines()]
    assert lines[0][:4] == [f"{len(test)}", "sentences,", f"{words}", "words"]
    assert [line[1] for line in lines[1:]] == expected
    assert [line[0] for line in lines[1:]] == ["3-gram", "bigram", "interpolated"]
    assert [line[2] for line in lines[1:]] == [f"{w:.3f}" for w in weights] + ["-"]


def test_perplexity_of_a_model_file(tmp_path: Path) -> None:
    bank = chain_bank(30)
    for make in (BigramModel, DMVModel):
        model = make().fit(bank)
        model.save(tmp_path / "model")
        shown = crossarc("perplexity", SAMPLE_PATH, "-m", "model", "--format", "json", cwd=tmp_path)
        figures = json.loads(shown.stdout)
        logs = model.log_prob_given_length(sample())
        words = sum(map(len, sample()))
        expected = math.exp(-math.fsum(logs) / words)
        assert figures[f"{model.kind}_perplexity"] == pytest.approx(expected)
        assert figures["words"] == words
    short = crossarc("perplexity", "@sample", "-m", "model", "--no-punctuation", cwd=tmp_path)
    kept = sum(tag != "PUNCT" for one in sample() for tag in one.upos)
    assert short.stdout.decode().startswith(f"{len(sample())} sentences, {kept} words ")


def test_perplexity_of_a_transition_model(tmp_path: Path) -> None:
    """p(x) of each sentence by the library, over the mass of all strings of its length."""
    bank = chain_bank(12)
    model = TransitionModel.fit(bank, unit="upos", proper=True, unknown="<unk>")
    model.save(tmp_path / "model")
    test = [["NOUN", "VERB"], ["VERB", "X"]]
    write_conllu([Sentence.build(tags, upos=tags) for tags in test], tmp_path / "test.conllu")
    mass = math.fsum(math.exp(model.log_prob(two)) for two in product(model.vocabulary, repeat=2))
    logs = [model.log_prob(tags) - math.log(mass) for tags in test]
    command = ("perplexity", "test.conllu", "-m", "model")
    figures = json.loads(crossarc(*command, "--format", "json", cwd=tmp_path).stdout)
    assert figures["transition_perplexity"] == pytest.approx(math.exp(-math.fsum(logs) / 4))
    write_conllu(bank, tmp_path / "train.conllu")
    shown = crossarc(*command, "--train", "train.conllu", cwd=tmp_path).stdout.decode()
    assert [line.split()[0] for line in shown.splitlines()[1:]] == [
        "3-gram",
        "transition",
        "interpolated",
    ]
    TransitionModel.fit(bank, unit="upos").save(tmp_path / "model")
    refused = crossarc(*command, cwd=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr == b"crossarc: only a proper model has lengths: give proper=True\n"


def test_impossible_words_have_infinite_perplexity(tmp_path: Path) -> None:
    BigramModel().fit(chain_bank(5), smoothing="additive", strength=0.0).save(tmp_path / "model")
    shown = crossarc("perplexity", "@sample", "-m", "model", cwd=tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.decode().split()[-2:] == ["inf", "-"]
    json_shown = crossarc("perplexity", "@sample", "-m", "model", "--format", "json", cwd=tmp_path)
    assert json.loads(json_shown.stdout)["bigram_perplexity"] is None


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "give a model with -m, or a text to learn from with --train"),
        (("-m", "x", "--held-out", "@sample"), "needs --train"),
        (("--train", "@sample", "--tokenized"), "lines of words teach no tree model"),
        (("-m", "absent"), "absent: No such file or directory; check the path"),
        (("--train", "@sample", "--order", "0"), "--order"),
    ],
)
def test_wrong_usage_of_perplexity(arguments: tuple[str, ...], what: str, tmp_path: Path) -> None:
    refused = crossarc("perplexity", "@sample", *arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert what in " ".join(refused.stderr.decode().replace("│", " ").split())
    assert b"Traceback" not in refused.stderr
