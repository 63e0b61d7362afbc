"""Models that released versions wrote: they load and answer as then; hostile ones are refused."""

from __future__ import annotations

import importlib.util
import json
import lzma
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crossarc as ca
from crossarc.models.generative.model import GenerativeModel
from crossarc.models.storage import read_model, write_model
from crossarc.treebank import sample

RELEASED = Path(__file__).with_name("released")
VERSIONS = sorted(path.name for path in RELEASED.iterdir())
FILES = [
    f"{version}/{path.stem}" for version in VERSIONS for path in (RELEASED / version).glob("*.xz")
]
TOOLS = Path(__file__).parents[2] / "tools"
LOADERS: list[Callable[[Path], Any]] = [
    ca.Parser.load,
    GenerativeModel.load,
    ca.TransitionModel.load,
]


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks run on NumPy, whatever is installed."""
    monkeypatch.setenv("CROSSARC_DEVICE", "numpy")


def unpacked(name: str, folder: Path) -> Path:
    path = folder / Path(name).name
    path.write_bytes(lzma.decompress((RELEASED / f"{name}.xz").read_bytes()))
    return path


def loader(name: str) -> Callable[[Path], Any]:
    kind = Path(name).name
    return LOADERS[1] if kind in ("bigram", "dmv") else LOADERS[kind.startswith("transition") * 2]


def answers(model: Any) -> Any:
    """As `tools/tiny_models.py` asked them."""
    if not isinstance(model, ca.Parser):
        return [round(model.log_prob(one), 6) for one in sample()[:3]]
    found = list(model.parse(sample()[8:11], threads=1))
    if model.tokenizer is not None:
        found += model.parse("Nobody could read. Who arrived?", threads=1)
    return "".join(one.to_conllu() for one in found)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_released_model_answers_as_then(name: str, tmp_path: Path) -> None:
    version, _, kind = name.partition("/")
    expected = json.loads((RELEASED / version / "answers.json").read_text(encoding="utf-8"))[kind]
    found = answers(loader(name)(unpacked(name, tmp_path)))
    assert found == (expected if isinstance(expected, str) else pytest.approx(expected, abs=2e-6))


# ---- Content that is not meant well; the checksum is right.


def changed(
    name: str, folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]
) -> Path:
    arrays, about = read_model(unpacked(name, folder))
    own = {key: array.copy() for key, array in arrays.items()}
    about = json.loads(json.dumps(about))
    change(own, about)
    write_model(folder / "hostile", own, about)
    return folder / "hostile"


def put(*path: str | int, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """A change of one value of the metadata."""

    def change(arrays: dict[str, Any], about: dict[str, Any]) -> None:
        node: Any = about
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value

    return change


def array(
    name: str, make: Callable[[Any], Any]
) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """A change of one array."""

    def change(arrays: dict[str, Any], about: dict[str, Any]) -> None:
        arrays[name] = make(arrays[name])

    return change


def check_message(error: Exception, path: Path | None = None) -> None:
    """One line, which begins with the file."""
    assert len(str(error).splitlines()) == 1
    assert path is None or str(error).startswith(f"{path}: ")


MODEL = ("parts", "model")
HOSTILE: list[tuple[str, Callable[[dict[str, Any], dict[str, Any]], None], str]] = [
    # Sizes that memory or kernels could not bear.
    ("graph", put(*MODEL, "arc_bits", value=62), "arc_bits .* whole number from 7 to 30"),
    ("graph", put(*MODEL, "arc_bits", value=30), r"arc_slots .*too short for 2\*\*30 weights"),
    ("graph", put(*MODEL, "label_bits", value=2), "label_bits"),
    ("covington", put(*MODEL, "bits", value=29), "slots is too short|array slots"),
    ("covington-beam", put(*MODEL, "beam", value=1 << 40), "beam"),
    ("neural", put(*MODEL, "shape", "hidden", value=1 << 19), "array .*weight"),
    ("neural", put(*MODEL, "shape", "layers", value=99), "context.weight_ih_l1 is missing"),
    ("neural", put(*MODEL, "vocabularies", "max_feats", value=1 << 40), "max_feats"),
    ("third-order", put(*MODEL, "bits", value=40), "bits"),
    (
        "dmv",
        put("vocabularies", value=[list(map(str, range(4000)))]),
        "are missing",
    ),
    # Indices that kernels would follow.
    (
        "graph",
        put("parts", "tagger", "lemmas", "uses", value={"NOUN": [-1]}),
        "NOUN .* below",
    ),
    ("graph", put("parts", "tagger", "emoticon", value=-1), "emoticon"),
    (
        "graph",
        put(*MODEL, "encoder", "attributes", value=["upos+9"]),
        "attributes",
    ),
    ("graph", put(*MODEL, "encoder", "columns", value=[["a"]]), "columns"),
    ("graph", array("tokenizer.pairs", lambda one: one[:9]), "tokeniser .*pairs"),
    ("graph", array("tokenizer.boundary", lambda one: one[:1]), "tokeniser .*boundary"),
    ("graph", array("tokenizer.words", lambda one: one[:0]), "tokeniser .*words"),
    ("graph", array("tagger.tag_values", lambda one: one.astype(np.int64)), "tagger"),
    ("graph", array("model.arc_weights", lambda one: one[:-1]), "do not fit its table"),
    ("neural", array("model.columns.0.weight", lambda one: one[:5]), "columns.0.weight"),
    # Numbers that are none.
    ("graph", array("model.arc_scale", lambda one: one * np.nan), "not finite"),
    ("graph", put(*MODEL, "arc_temperature", value=0.0), "arc_temperature .* above 0"),
    ("graph", put(*MODEL, "label_temperature", value=float("nan")), "label_temperature"),
    ("neural", array("model.arc_scores.weight", lambda one: one + np.inf), "not finite"),
    ("combined", put(*MODEL, "arc_weights", value=[1.0]), "arc_weights .* list of 2 numbers"),
    (
        "combined",
        put(*MODEL, "members", 0, "kind", value="combined"),
        "members is",
    ),
    ("bigram", array("modifiers0.0.counts", lambda one: -one), "negative"),
    ("transition", array("sh", lambda one: one + 1.0), "probabilities from 0 to 1"),
    # Tables that would not fit their sentences.
    ("bigram", put("tables", "modifiers", 0, "outcomes", value=1), "outcomes"),
    ("bigram", put("options", "distance", value={}), "distance"),
    ("transition-backoff", put("tables", "one", "outcomes", value=1), "outcomes"),
    ("bigram", put("options", "distance", value=False), "too many contexts"),
    ("graph", array("tagger.lemma_known", lambda one: one[:0]), "no bits"),
    # Text that would break the lines of the output, names of other things.
    ("graph", put(*MODEL, "labels", 0, value="x\n1\ty"), "text that a column can hold"),
    ("graph", put("parts", "tagger", "tags", 0, 0, value="a\tb"), "text that a column can hold"),
    ("graph", put("parts", "os", value={}), "KeyError"),
    ("graph", put("parts", value=[]), "parts of the model must be an object"),
    ("graph", put("kind", value="../../x"), "no parser of the kind"),
    ("graph", put("training", "words", value="many"), "words of the model must be a finite number"),
    ("graph", put(*MODEL, "format", value="a\nb"), "has format 'a.*nb', not 1"),
    ("graph", put("root", value=3), "root of the model must be single or multi"),
]


def test_half_of_what_is_known_of_the_training_is_not_shown(tmp_path: Path) -> None:
    path = changed("0.1.0/graph", tmp_path, put("training", value={"las": 90.0, "words": 3}))
    summary = ca.Parser.load(path).summary()
    assert not {"dev", "learnt from"} & summary.keys()


@pytest.mark.parametrize(("name", "change", "message"), HOSTILE)
def test_a_hostile_model_is_refused(
    name: str, change: Callable[[Any, Any], None], message: str, tmp_path: Path
) -> None:
    path = changed(f"0.1.0/{name}", tmp_path, change)
    with pytest.raises(ca.ModelError, match=message) as caught:
        loader(name)(path)
    check_message(caught.value, path)


@pytest.mark.parametrize("name", sorted(FILES))
def test_random_changes_are_refused_or_harmless(name: str, tmp_path: Path) -> None:
    """Those of `tools/fuzz.py`, in this process: whatever loads parses or refuses in one line."""
    spec = importlib.util.spec_from_file_location("mutations", TOOLS / "fuzzing" / "mutations.py")
    assert spec is not None
    assert spec.loader is not None
    mutations = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutations)
    arrays, about = read_model(unpacked(name, tmp_path))
    refused = 0
    for seed in range(20):
        rng = random.Random(f"{name}:{seed}")
        try:
            write_model(tmp_path / "x", *mutations.hostile_model(rng, arrays, about))
        except (TypeError, ValueError):  # what JSON cannot hold
            continue
        try:
            model = loader(name)(tmp_path / "x")
        except ca.ModelError as error:
            check_message(error, tmp_path / "x")
            refused += 1
            continue
        try:
            if isinstance(model, ca.Parser):
                list(model.parse(sample()[:1], threads=1))
            else:
                model.log_prob(sample()[0])
        except ca.CrossarcError as error:
            check_message(error)
    assert refused > 2


@pytest.mark.parametrize("name", ["0.1.0/covington", "0.1.0/bigram"])
def test_damaged_bytes_are_refused(name: str, tmp_path: Path) -> None:
    """One bit anywhere, or an end that is missing: nothing of it is used."""
    path = unpacked(name, tmp_path)
    data, rng = path.read_bytes(), random.Random(5)
    header = 8 + int.from_bytes(data[:8], "little")
    for trial in range(60):
        place = rng.randrange(header if trial % 2 else len(data))
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            loader(name)(path)
        except ca.ModelError:
            continue
        # Only where the header's JSON means the same, as in white space.
        assert place < header
    for size in rng.sample(range(1, len(data)), 20):
        path.write_bytes(data[:size])
        with pytest.raises(ca.ModelError, match="not a model file"):
            loader(name)(path)


def file_with(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: str, shape: list[Any], offsets: list[Any]) -> dict[str, Any]:
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def about(metadata: str) -> dict[str, Any]:
    return {
        "__metadata__": {"crossarc": f'{{"version": 1, "checksum": 1, "metadata": {metadata}}}'}
    }


@pytest.mark.parametrize(
    "content",
    [
        file_with(b"[" * 100_000 + b"]" * 100_000),
        file_with(entry("F64", [1 << 62], [0, 8]), bytes(8)),
        file_with(entry("F64", [-1], [0, 8]), bytes(8)),
        file_with(entry("F64", [1], [-8, 0]), bytes(8)),
        file_with(entry("F64", [1], [4, 12]), bytes(12)),
        file_with(entry("F64", [1], [0, 1 << 70]), bytes(8)),
        file_with(entry("O", [1], [0, 8]), bytes(8)),
        file_with(entry("F64", [1], [0, 8]), bytes(16)),
        file_with({f"x{k}": entry("U8", [8], [0, 8])["x"] for k in range(9)}, bytes(8)),
        file_with(about("[]")),
        file_with(about('{"a": "\\ud800"}')),
        file_with(
            {
                "__metadata__": {
                    "crossarc": '{"version": 1, "checksum": 1, "metadata": {"a": "\\ud800"}}'
                }
            }
        ),
    ],
)
def test_a_hostile_header_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ca.ModelError, match="not a model file of crossarc"):
        read_model(tmp_path / "x")


def test_loading_takes_no_more_memory_than_the_file_has(tmp_path: Path) -> None:
    """Of any declared size: the process has 1 GiB of address space beyond what it begins with."""
    paths = []
    for number, (name, change, _) in enumerate(HOSTILE[:10]):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths.append((LOADERS.index(loader(name)), str(changed(f"0.1.0/{name}", folder, change))))
    program = (
        "import json, os, resource, sys, crossarc as ca\n"
        "from crossarc.models.generative.model import GenerativeModel\n"
        "ca.Parser.load('en')\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 30),) * 2)\n"
        "for kind, path in json.loads(sys.argv[1]):\n"
        "    try: [ca.Parser, GenerativeModel, ca.TransitionModel][kind].load(path)\n"
        "    except ca.ModelError as error: print('MemoryError' in str(error))\n"
        "peak = open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]\n"
        "print(int(peak) < 1 << 20)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(paths)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={
            "CROSSARC_DEVICE": "numpy",
            "OPENBLAS_NUM_THREADS": "1",
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": ":".join(sys.path),
        },
    )
    assert done.stdout.split() == [*["False"] * len(paths), "True"]
