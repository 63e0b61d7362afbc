"""A Ray cluster of two nodes on this machine, which loses actors and a node."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support.files import ROOT
from support.shell import crossarc

pytest.importorskip("ray", reason="extra [ray] is not installed")
pytest.importorskip("fsspec", reason="extra [ray] is not installed")

from support.poisoned import PoisonedShardParser

from crossarc import CrossarcError, Sentence, write_conllu
from crossarc.models.first_order.model import LinearModel
from crossarc.scale.cluster import ClusterMap, ShardParser, cluster, parse_on_cluster
from crossarc.scale.corpus import Outcome, Shard
from crossarc.scale.sums import arc_gradients, in_this_process
from crossarc.treebank import sample

FILES = 4


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A head without cores, and two nodes with one each."""
    from ray.cluster_utils import Cluster

    paths = [str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        try:
            started.add_node(num_cpus=1)
            started.add_node(num_cpus=1)
            yield started
        finally:
            started.shutdown()


@pytest.fixture(scope="module")
def ray(nodes: Any) -> Iterator[Any]:
    with cluster(nodes.address) as connected:
        yield connected


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Shard]:
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(FILES):
        write_conllu(sample()[number:], folder / f"{number}.conllu")
    (folder / "out").mkdir()
    return [
        Shard(str(folder / f"{number}.conllu"), str(folder / "out" / f"{number}.conllu"))
        for number in range(FILES)
    ]


@pytest.fixture(scope="module")
def expected(shards: list[Shard]) -> list[bytes]:
    done = [crossarc("parse", "-m", "en", shard.source) for shard in shards]
    return [one.stdout for one in done]


def actors() -> list[int]:
    """Processes that parse files."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"ray::_ParsingActor" in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def outputs(shards: list[Shard]) -> list[bytes]:
    return [Path(shard.target).read_bytes() for shard in shards]


def test_sums_are_those_of_one_process(ray: Any) -> None:
    """To the last digit, also after an actor has died."""
    bank = sample() * 5
    model = LinearModel.build(bank)
    pieces = arc_gradients(model, bank, projective=False)
    assert len(pieces) == 3
    weights = np.random.default_rng(5).normal(size=len(model.arcs.weights)).astype(np.float32)
    here = in_this_process(pieces)(weights)
    there: Any = ClusterMap(ray, pieces, actors=2)
    for _ in range(2):
        for (loss, slots, values), own in zip(here, there(weights), strict=True):
            assert loss == own[0]
            assert_array_equal(slots, own[1])
            assert_array_equal(values, own[2])
        ray.kill(there._actors[0], no_restart=False)
    there.close()


def test_a_poisoned_sentence_and_a_killed_actor(
    ray: Any, shards: list[Shard], expected: list[bytes]
) -> None:
    """The sentence is set aside with its reason; nothing else is lost, and nothing comes twice."""
    poison = Sentence.build(["kill", "it"], comments=["# sent_id = poison"])
    source = Path(shards[1].source)
    whole = source.read_bytes()
    source.write_bytes(whole + bytes(poison))
    outcomes: list[Outcome] = []

    def note(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if len(outcomes) == 1:
            os.kill(actors()[0], signal.SIGKILL)

    parser = PoisonedShardParser("en", {}, None, "recipe", skip=True)
    parse_on_cluster(ray, parser, shards, on_outcome=note)
    source.write_bytes(whole)
    assert outputs(shards) == expected
    assert sorted(one.name for one in outcomes) == [shard.source for shard in shards]
    assert [one.set_aside for one in outcomes if one.set_aside] == [1]
    errors = Path(shards[1].target).with_name("1.errors.conllu").read_bytes()
    assert errors.startswith(b"# sent_id = poison\n# error = it was the end of 2 processes")
    assert b"1\tkill\t" in errors


def test_what_cannot_be_read_is_said_last(ray: Any, shards: list[Shard], tmp_path: Path) -> None:
    """Or at once, unless errors are passed over."""
    (tmp_path / "bad.txt").write_bytes(b"\xff\n")
    bad = Shard(str(tmp_path / "bad.txt"), str(tmp_path / "bad.conllu"))
    good = Shard(shards[0].source, str(tmp_path / "0.conllu"))
    parser = ShardParser("en", {}, "lines", "recipe", skip=True)
    with pytest.raises(CrossarcError, match=r"1 of 2 inputs could not be parsed.*bad\.txt:1: byte"):
        parse_on_cluster(ray, parser, [bad, good])
    assert Path(good.target).exists()
    assert not Path(bad.target).exists()


def test_a_node_is_lost(
    nodes: Any, ray: Any, shards: list[Shard], expected: list[bytes], tmp_path: Path
) -> None:
    """And with it what it was doing: the other one does it again."""
    targets = [Shard(shard.source, str(tmp_path / Path(shard.target).name)) for shard in shards]
    seen: list[str] = []

    def lose_a_node(outcome: Outcome) -> None:
        seen.append(outcome.name)
        if len(seen) == 1:
            nodes.remove_node(next(iter(nodes.worker_nodes)), allow_graceful=False)

    parser = ShardParser("en", {}, None, "recipe", skip=False)
    parse_on_cluster(ray, parser, targets, actors=2, on_outcome=lose_a_node)
    assert sorted(seen) == [shard.source for shard in targets]
    assert outputs(targets) == expected


def test_the_command(
    nodes: Any, shards: list[Shard], expected: list[bytes], tmp_path: Path
) -> None:
    files = [f"file://{shards[0].source}", *(shard.source for shard in shards[1:])]
    arguments = ["parse", "-m", "en", *files, "-o", f"{tmp_path}/", "--ray", nodes.address]
    done = crossarc(*arguments)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"crossarc: " not in done.stderr  # Ray may speak of the node that was lost
    found = [(tmp_path / Path(shard.target).name).read_bytes() for shard in shards]
    assert found == expected
    done = crossarc(*arguments, "--resume")
    assert done.stderr == f"crossarc: {FILES} of {FILES} inputs are finished\n".encode()


def test_no_such_cluster(tmp_path: Path) -> None:
    arguments = ["parse", "-m", "en", "@sample", "-o", f"{tmp_path}/", "--ray", "nowhere"]
    done = crossarc(*arguments)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(b"crossarc: no Ray cluster at nowhere: ")
