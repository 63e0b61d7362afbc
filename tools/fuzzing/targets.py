"""What is fuzzed: where inputs start from, and what must hold for each."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import crossarc as ca
from crossarc.errors import CrossarcError
from crossarc.treebank import (
    SAMPLE_PATH,
    Sentence,
    read_conllu,
    read_conllx,
    sample,
    write_conllu,
    write_conllx,
)
from tools.fuzzing.mutations import hostile_model, mutated

__all__ = ["TARGETS", "Target"]

_EDGES = Path(__file__).parents[2] / "tests" / "treebank" / "edge_cases.conllu"
_FEW = 6


class Target:
    """Inputs to start from, and what must hold for any input."""

    #: Of inputs; None for changes of bytes.
    mutate: Callable[[random.Random, Sequence[bytes]], bytes] | None = None

    def __init__(self, models: Path | None) -> None:
        self.models = models

    def seeds(self) -> list[bytes]:
        """Inputs that are good, or nearly."""
        raise NotImplementedError

    def check(self, data: bytes) -> None:
        """Raise for a finding."""
        raise NotImplementedError


def _paragraphs(path: Path) -> list[bytes]:
    found = path.read_bytes().split(b"\n\n")
    return [b"\n\n".join(found[at : at + 2]) + b"\n\n" for at in range(0, len(found) - 1, 2)]


class Conllu(Target):
    """CoNLL-U: what is read is written back byte for byte, and has answers to all questions."""

    def seeds(self) -> list[bytes]:
        """Sentences of the sample bank, and edge cases."""
        return [*_paragraphs(SAMPLE_PATH)[:40], *_paragraphs(_EDGES), _EDGES.read_bytes()]

    def check(self, data: bytes) -> None:
        """Lossless, and every attribute works."""
        try:
            reader = read_conllu(io.BytesIO(data))
            sentences = list(reader)
        except CrossarcError as error:
            _check_message(error)
            with contextlib.suppress(CrossarcError):  # of the file, not of a sentence
                list(read_conllu(io.BytesIO(data), on_error="skip"))
            return
        if data[:2] not in (b"\x1f\x8b", b"BZ") and data[:6] != b"\xfd7zXZ\0":
            output = io.BytesIO()
            write_conllu(read_conllu(io.BytesIO(data)), output)
            assert output.getvalue() == data, "other bytes are written than were read"
        for sentence in sentences[:_FEW]:
            _ask(sentence)


class Plus(Conllu):
    """CoNLL-U Plus, with columns in any order."""

    def seeds(self) -> list[bytes]:
        """The sample bank in other columns."""
        columns = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC X:ONE".split()
        orders = [columns, columns[::-1], [*columns[3:], *columns[:3]]]
        return [_in_columns(one, order) for one in sample()[:12] for order in orders]


def _in_columns(sentence: Sentence, order: list[str]) -> bytes:
    names = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC".split()
    lines = [f"# global.columns = {' '.join(order)}"]
    for line in sentence.to_conllu().strip("\n").split("\n"):
        if line.startswith("#"):
            lines.append(line)
        else:
            fields = dict(zip(names, line.split("\t"), strict=True)) | {"X:ONE": "*"}
            lines.append("\t".join(fields[name] for name in order))
    return ("\n".join(lines) + "\n\n").encode()


class Conllx(Target):
    """CoNLL-X: what is read can be written as both formats and read again."""

    def seeds(self) -> list[bytes]:
        """The sample bank, converted."""
        found = []
        for sentence in sample()[:40]:
            output = io.BytesIO()
            write_conllx([sentence], output)
            found.append(output.getvalue())
        return found

    def check(self, data: bytes) -> None:
        """Both ways."""
        try:
            sentences = list(read_conllx(io.BytesIO(data)))
        except CrossarcError as error:
            _check_message(error)
            return
        first, again = io.BytesIO(), io.BytesIO()
        try:
            write_conllx(sentences, first)
        except CrossarcError as error:
            _check_message(error)
            return
        write_conllx(read_conllx(io.BytesIO(first.getvalue())), again)
        assert first.getvalue() == again.getvalue(), "converted twice is not converted once"
        for sentence in sentences[:_FEW]:
            _ask(sentence)


def _ask(sentence: Sentence) -> None:
    """Read all that a sentence has, and draw it; only CrossarcErrors may come."""
    from crossarc import draw

    for name in ("forms", "lemmas", "upos", "xpos", "feats", "deprels", "misc", "text", "sent_id"):
        getattr(sentence, name)
    for read in (
        lambda: sentence.tree,
        lambda: [word.feats_dict for word in sentence],
        lambda: [list(word.children) for word in sentence],
        lambda: ca.projectivize(sentence.tree, by="lifting"),
        lambda: draw.text(sentence),
        lambda: draw.svg(sentence),
        lambda: ca.evaluate([sentence], [sentence]),
    ):
        try:
            read()
        except CrossarcError as error:
            _check_message(error)


def _check_message(error: CrossarcError) -> None:
    assert len(str(error).splitlines()) == 1, f"not one line: {error!r}"


class Text(Target):
    """Raw text: the tokeniser loses no character, and what it gives can be parsed."""

    def __init__(self, models: Path | None) -> None:
        super().__init__(models)
        self._parser = ca.load("en")

    def seeds(self) -> list[bytes]:
        """Texts of the sample bank."""
        texts = [one.text for one in sample()]
        return [" ".join(texts[at : at + 5]).encode() for at in range(0, len(texts), 5)] + [
            b"Mr. O'Neil's $3.50 (see http://a.b/c?d=e_f)...\n\nA\tnew one\r\n  \n",
        ]

    def check(self, data: bytes) -> None:
        """Text comes back, in whatever pieces it is read."""
        from crossarc.text import read_text, rebuild_text

        try:
            text = "".join(read_text(io.BytesIO(data)))
            sentences = list(self._parser.needed_tokenizer.tokenize(text))
        except CrossarcError as error:
            _check_message(error)
            return
        if sentences:
            assert rebuild_text(sentences) == text, "the text does not come back"
        step = 1 + len(data) % 7
        pieces = [text[at : at + step] for at in range(0, len(text), step)]
        again = list(self._parser.needed_tokenizer.tokenize(pieces))
        assert list(map(str, again)) == list(map(str, sentences)), "pieces change sentences"
        for sentence in self._parser.parse(islice(iter(sentences), _FEW)):
            _ask(sentence)


class Model(Target):
    """Model files: a ModelError, or a model that answers or refuses in one line."""

    def __init__(self, models: Path | None) -> None:
        super().__init__(models)
        if models is None:
            raise SystemExit("model: give --models, a folder made by tools/tiny_models.py")
        # PyTorch's threads do not survive a fork.
        os.environ["CROSSARC_DEVICE"] = "numpy"
        self._file = Path(tempfile.mkdtemp()) / "model"
        self._sentences = sample()[:2]
        self._content: list[tuple[Any, Any]] = []
        self.mutate = self._changed
        for data in self.seeds():
            self._try(data, is_good=True)

    def seeds(self) -> list[bytes]:
        """The files of the folder."""
        assert self.models is not None
        return [path.read_bytes() for path in sorted(self.models.iterdir()) if path.is_file()]

    def _changed(self, rng: random.Random, seeds: Sequence[bytes]) -> bytes:
        from crossarc.models.storage import read_model, write_model

        if rng.random() < 0.15:
            return mutated(rng, seeds)
        if not self._content:
            for data in seeds:
                self._file.write_bytes(data)
                arrays, about = read_model(self._file)
                self._content.append(({k: a.copy() for k, a in arrays.items()}, about))
        changed = hostile_model(rng, *rng.choice(self._content))
        path = self._file.with_name(f"{os.getpid()}")
        try:
            write_model(path, *changed)
        except (ValueError, TypeError):
            return b""
        data = path.read_bytes()
        path.unlink()
        return data

    def check(self, data: bytes) -> None:
        """See the class."""
        self._try(data)

    def _try(self, data: bytes, *, is_good: bool = False) -> None:
        path = self._file.with_name(f"tried-{os.getpid()}")
        path.write_bytes(data)
        refused = 0
        for load, use in self._uses:
            try:
                model = load(path)
            except ca.ModelError as error:
                _check_message(error)
                refused += 1
                continue
            try:
                use(self, model)
            except CrossarcError as error:
                _check_message(error)
                refused += is_good
        assert not is_good or refused == len(self._uses) - 1
        path.unlink()

    def _parse(self, parser: ca.Parser) -> None:
        repr(parser)
        trees = list(parser.parse(self._sentences, retag=parser.tagger is not None))
        if parser.tokenizer is not None:
            trees += parser.parse("Nobody could read. Who's there?")
        for sentence in trees:
            list(read_conllu(io.BytesIO(bytes(sentence))))

    def _generate(self, model: Any) -> None:
        model.log_prob(self._sentences)
        model.parse(self._sentences)

    def _transitions(self, model: ca.TransitionModel) -> None:
        model.log_prob(self._sentences[0])
        model.parse(self._sentences[0])

    _uses: ClassVar[tuple[tuple[Callable[[Path], Any], Callable[[Any, Any], None]], ...]] = (
        (ca.Parser.load, _parse),
        (lambda path: _generative().load(path), _generate),
        (ca.TransitionModel.load, _transitions),
    )


def _generative() -> Any:
    from crossarc.models.generative.model import GenerativeModel

    return GenerativeModel


class Server(Target):
    """Requests: an answer below 500."""

    def __init__(self, models: Path | None) -> None:
        super().__init__(models)
        from crossarc.app.server.application import make_application
        from crossarc.app.server.limits import Limits

        self._limits = Limits(body=1 << 16, sentences=50, words=80, seconds=10.0)
        self._make = make_application
        self._parsers = {"en": ca.load("en")}

    def seeds(self) -> list[bytes]:
        """Requests as a line of method, path, type, and a body."""
        block = sample()[3].to_conllu().encode()
        json_, form = b"application/json", b"application/x-www-form-urlencoded"
        multi = b"multipart/form-data; boundary=xx"
        return [
            b"POST /parse " + json_ + b'\n{"text": "I saw it. He left.", "probabilities": true}',
            b"POST /parse "
            + json_
            + b'\n{"text": "I saw the man.", "kbest": 3, "rank": 2, "candidates": 4, "compare":'
            b' "best", "constraints": [{"heads": {"4": 2}, "forbidden": [[2, 1]], "labels": '
            b'{"4": "obj"}}], "information": true}',
            b"POST /process "
            + form
            + b"\ntokenizer=&tagger=&parser=&model=en&data=I+saw+it.&output=conllu",
            b"POST /process " + form + b"\ninput=conllu&parser&data=1%09a%09_%09_",
            b"GET /process?tokenizer&tagger&parser&data=A+b. x\n",
            b"POST /process "
            + multi
            + b'\n--xx\r\nContent-Disposition: form-data; name="data"\r\n\r\nSome text.\r\n--xx\r\n'
            b'Content-Disposition: form-data; name="tokenizer"\r\n\r\n\r\n--xx--\r\n',
            b"POST /analyze " + multi + b'\n--xx\r\nContent-Disposition: form-data; name="data"'
            b"\r\n\r\n" + block + b"\r\n--xx--\r\n",
            b"GET /static/main.js x\n",
            b"GET /models x\n",
            b"GET /metrics x\n",
            b"GET /health x\n",
            b"GET / x\n",
        ]

    def check(self, data: bytes) -> None:
        """One request to the application, without a socket."""
        head, _, body = data.partition(b"\n")
        method, _, rest = head.partition(b" ")
        target, _, kind = rest.partition(b" ")
        path, _, query = target.partition(b"?")
        application = self._make(self._parsers, limits=self._limits, workers=1)
        status = asyncio.run(_request(application, method, path, query, kind, body))
        assert 200 <= status < 500, f"status {status}"


async def _request(
    application: Any, method: bytes, path: bytes, query: bytes, kind: bytes, body: bytes
) -> int:
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method.decode("latin-1").upper() or "GET",
        "scheme": "http",
        "path": path.decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", b"x"), (b"content-type", kind)],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    parts = [body[: len(body) // 2], body[len(body) // 2 :]]
    messages: Iterator[dict[str, Any]] = iter(
        {"type": "http.request", "body": part, "more_body": more}
        for part, more in zip(parts, (True, False), strict=True)
    )
    statuses = []

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await application(scope, receive, send)
    return int(statuses[0])


_COMMANDS = """\
parse -m en F
parse -m en --text F
parse -m en --lines --probabilities F
parse -m en --tokenized --kbest 3 F
parse -m en --keep-heads --min-risk --workers 1 --on-error skip F
parse -m en --projective -o out F
evaluate F @sample
evaluate @sample F --format json
evaluate F F --on-error skip
stats F
analyze F --format csv
analyze --attardi F
draw F --format svg
draw F --format tex
draw F --format html -o out.html
draw F
convert --from conllx F
convert --to conllx F
convert --projectivize lifting F
convert --deprojectivize F
review F -m en
explain -m en F --word 2 --sentence 1 --label
perplexity -m F @sample
parse -m F @sample
completion bash
stats -
--help
"""


class CommandLine(Target):
    """Arguments and a file: status 0, 1 or 2, and no traceback."""

    def __init__(self, models: Path | None) -> None:
        super().__init__(models)
        import importlib
        import pkgutil

        # Imported once, before the forks.
        for module in pkgutil.walk_packages(ca.__path__, "crossarc."):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
        list(ca.load("en").parse("It is warm."))

    def seeds(self) -> list[bytes]:
        """A line of arguments each, and a treebank or text."""
        bodies = [*_paragraphs(SAMPLE_PATH)[:6], b"Some text. And more.\n\nHere.\n", b""]
        return [line.encode() + b"\n" + body for line in _COMMANDS.splitlines() for body in bodies]

    def check(self, data: bytes) -> None:
        """One command in a fork, in a folder of its own."""
        head, _, body = data.partition(b"\n")
        arguments = head.replace(b"\0", b"").replace(b"/", b"").decode("utf-8", "surrogateescape")
        if any(one in arguments for one in ("serve", "warmup", "train", "demo", "induce")):
            return
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "F").write_bytes(body)
            child = os.fork()
            if child == 0:
                _become(arguments.split(" "), folder)
            _, status = os.waitpid(child, 0)
            said = Path(folder, "stderr").read_text(encoding="utf-8", errors="replace")
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, 1, 2), f"{arguments!r}: exit status {code}\n{said[-2000:]}"
        assert "Traceback" not in said, f"{arguments!r}:\n{said[-3000:]}"
        if code == 1:
            assert said.strip().count("\n") == 0, f"{arguments!r}: not one line:\n{said}"


def _become(arguments: list[str], folder: str) -> None:
    """Run a command line in this process, which ends with it."""
    import sys

    from crossarc.app.cli import main

    os.chdir(folder)
    for name, number, flags in (
        ("F", 0, os.O_RDONLY),
        ("stdout", 1, os.O_WRONLY | os.O_CREAT),
        ("stderr", 2, os.O_WRONLY | os.O_CREAT),
    ):
        os.dup2(os.open(name, flags, 0o600), number)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["crossarc", *arguments]
    status = 99
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


TARGETS: dict[str, type[Target]] = {
    "conllu": Conllu,
    "plus": Plus,
    "conllx": Conllx,
    "text": Text,
    "model": Model,
    "server": Server,
    "cli": CommandLine,
}
