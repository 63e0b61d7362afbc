"""The server over a real connection: answers, constraints, UDPipe's parameters, limits, the end."""

from __future__ import annotations

import asyncio
import http.client
import json
import math
import re
import socket
import threading
import time
from collections.abc import Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="extra [web] is not installed")
pytest.importorskip("uvicorn", reason="extra [web] is not installed")

from support.server import Server, running
from support.shell import crossarc

import crossarc as ca
from crossarc.app.server.application import make_application
from crossarc.app.server.limits import Limits
from crossarc.treebank import sample

TEXT = "I saw the man with the telescope. He had stolen it."
SAW = "I saw the man with the telescope."


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def parser() -> ca.Parser:
    return ca.load("en")


def conllu(*sentences: ca.Sentence) -> str:
    return "".join(sentence.to_conllu() for sentence in sentences)


def test_odd_addresses_are_refused(server: Server) -> None:
    """Names that the file system has no room for, and queries that are not UTF-8."""
    assert server.get("/static/" + "a" * 5000).status == 404
    assert server.get("/static/..%2f__init__.py").status == 404
    assert server.get("/static/main.js").status == 200
    statuses: list[int] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        statuses.append(message.get("status", 0))

    scope = {"type": "http", "method": "GET", "path": "/health/", "query_string": b"\xff"}
    application = make_application({"none": None})  # type: ignore[dict-item]
    asyncio.run(application({**scope, "headers": []}, receive, send))
    assert statuses[0] == 404


# ---- /parse


def test_trees_and_probabilities_are_those_of_the_parser(server: Server, parser: ca.Parser) -> None:
    expected = list(parser.parse(TEXT, probabilities=True))
    found = server.parse(text=TEXT, probabilities=True)
    assert [one["text"] for one in found] == [one.text for one in expected]
    for one, sentence in zip(found, expected, strict=True):
        assert one["heads"] == sentence.heads.tolist()
        assert tuple(one["deprels"]) == sentence.deprels
        assert tuple(one["upos"]) == sentence.upos
        assert tuple(one["lemmas"]) == sentence.lemmas
        for name, key in (
            ("head_probabilities", "HeadProb"),
            ("deprel_probabilities", "DeprelProb"),
        ):
            written = [float(re.search(rf"{key}=([\d.]+)", misc)[1]) for misc in sentence.misc]
            np.testing.assert_allclose(one[name], written, atol=1.01e-4)
        [back] = ca.read_conllu([one["conllu"]])
        assert back.heads.tolist() == one["heads"]
        assert "HeadProb=" in back.misc[0]


def test_constraints_give_the_best_tree_that_satisfies_them(
    server: Server, parser: ca.Parser
) -> None:
    """Against `SpanningTrees.given` and against constrained scores of `distribution`."""
    [sentence] = parser.parse(SAW)
    trees = parser.distribution(sentence)
    [free] = server.parse(text=SAW)
    [forced] = server.parse(text=SAW, constraints=[{"heads": {"7": 4}}], candidates=9)
    given = trees.given({7: 4})
    assert forced["heads"] == given.argmax().heads.tolist()
    assert forced["heads"][6] == 4
    marginals = given.marginals().sum(axis=2)
    for word, heads in enumerate(forced["candidates"], 1):
        for one in heads:
            assert one["probability"] == pytest.approx(marginals[one["head"], word], abs=1.01e-4)
    [without] = server.parse(text=SAW, constraints=[{"forbidden": [[free["heads"][6], 7]]}])
    assert without["heads"][6] != free["heads"][6]
    [labelled] = server.parse(text=SAW, constraints=[{"labels": {"4": "nsubj"}}])
    assert labelled["deprels"][3] == "nsubj"


def test_relation_as_a_constraint_changes_the_tree_exactly(
    server: Server, parser: ca.Parser
) -> None:
    """p(tree | relation of word 7 is nmod), by the labelled distribution."""
    [sentence] = parser.parse(SAW)
    trees = parser.distribution(sentence)
    number = parser.labels.index("nmod")
    labelled = trees.marginals()[:, 7, number]
    [found] = server.parse(text=SAW, constraints=[{"labels": {"7": "nmod"}}], candidates=9)
    expected = labelled / labelled.sum()
    for one in found["candidates"][6]:
        assert one["probability"] == pytest.approx(expected[one["head"]], abs=1.01e-4)


def test_kbest_ranks_and_comparisons(server: Server, parser: ca.Parser) -> None:
    expected = list(parser.parse(SAW, kbest=5))
    [found] = server.parse(text=SAW, kbest=5, rank=3, compare="best")
    assert [one["heads"] for one in found["kbest"]] == [s.heads.tolist() for s in expected]
    assert [tuple(one["deprels"]) for one in found["kbest"]] == [s.deprels for s in expected]
    for one, sentence in zip(found["kbest"], expected, strict=True):
        assert one["log_prob"] == pytest.approx(float(sentence.comment("log_prob")), abs=1e-5)
    assert found["heads"] == expected[2].heads.tolist()
    assert found["compared"]["heads"] == expected[0].heads.tolist()
    # Of the heads alone, whatever the relations.
    trees = parser.distribution(expected[0])
    for one, sentence in ((found, expected[2]), (found["compared"], expected[0])):
        heads = dict(enumerate(sentence.heads.tolist(), 1))
        assert one["log_prob"] == pytest.approx(trees.log_prob(heads=heads), abs=1e-9)


def test_projective_beside_nonprojective(server: Server, parser: ca.Parser) -> None:
    text = "A letter finally arrived that nobody could read."
    [found] = server.parse(text=text, compare="nonprojective")
    [crossing] = parser.parse(text, projective=False)
    [nested] = parser.parse(text, projective=True)
    assert found["heads"] == nested.heads.tolist()
    assert found["compared"]["heads"] == crossing.heads.tolist()
    # The best of all trees is at least as probable as the best projective one.
    assert found["compared"]["log_prob"] >= found["log_prob"] - 1e-9


def test_information_is_that_of_the_parser(server: Server, parser: ca.Parser) -> None:
    sentences = list(parser.parse(TEXT))
    expected = [table for table, _ in parser.head_information(sentences)]
    found = server.parse(text=TEXT, information=True)
    for one, own in zip(found, expected, strict=True):
        np.testing.assert_allclose(one["information"], own, atol=1e-4)


def test_closest_to_input_changes_as_little_as_the_constraints_demand(server: Server) -> None:
    bank = sample("en")[:6]
    for sentence in bank:
        [same] = server.parse(conllu=conllu(sentence), closest_to_input=True)
        assert same["heads"] == sentence.heads.tolist()
        assert tuple(same["deprels"]) == sentence.deprels
    # A letter finally arrived that nobody could read: 8 hangs from 2; 2 from 8 would be a cycle.
    sentence = bank[0]
    [turned] = server.parse(
        conllu=conllu(sentence), closest_to_input=True, constraints=[{"heads": {"2": 8}}]
    )
    changed = [
        m for m, (a, b) in enumerate(zip(turned["heads"], sentence.heads, strict=True), 1) if a != b
    ]
    assert turned["heads"][1] == 8
    assert len(changed) == 2
    assert 8 in changed
    assert ca.Tree(turned["heads"]).is_single_root


def test_marks_of_a_person_are_in_misc(server: Server) -> None:
    constraints = {"heads": {"7": 4}, "forbidden": [[2, 8], [3, 8]], "labels": {"7": "nmod"}}
    [found] = server.parse(text=SAW, constraints=[constraints])
    [back] = ca.read_conllu([found["conllu"]])
    assert "Reviewed=Yes" in back.misc[6].split("|")
    assert "NotHead=2,3" in back.misc[7].split("|")
    assert sum("Reviewed" in misc for misc in back.misc) == 1


def test_drawings(server: Server) -> None:
    for form, beginning in (("svg", "<svg "), ("page", "<svg "), ("latex", "%"), ("text", "")):
        [found] = server.parse(text=SAW, drawing={"format": form})
        assert found["drawing"].startswith(beginning)
        assert "telescope" in found["drawing"]
        assert ("data-word=" in found["drawing"]) == (form == "page")


def test_contradictions_are_explained(server: Server) -> None:
    answer = server.refuse(text=SAW, constraints=[{"heads": {"2": 4, "4": 2}}])
    assert answer.status == 422
    assert answer.error.startswith("no tree satisfies the constraints")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "give either text or conllu"),
        ({"text": "a", "conllu": "b"}, "give either text or conllu"),
        ({"text": "a", "kbest": 101}, "kbest"),
        ({"text": "a", "colour": 1}, "colour"),
        ({"text": SAW, "constraints": [{"heads": {"99": 1}}]}, "word 99"),
        ({"text": SAW, "constraints": [{"heads": {"2": 2}}]}, "word 2 cannot have head 2"),
        ({"text": SAW, "constraints": [{"labels": {"99": "obj"}}]}, "no word 99 among 8 words"),
        ({"text": SAW, "constraints": [{}, {}]}, "constraints for 2 sentences, and 1 sentences"),
        ({"conllu": "1\tone\n"}, "line 1"),
    ],
)
def test_wrong_requests_are_explained(server: Server, asked: dict, message: str) -> None:
    answer = server.refuse(**asked)
    assert answer.status == 400
    assert message in answer.error
    assert "\n" not in answer.error


def test_models_without_probabilities_give_trees(tmp_path) -> None:
    path = tmp_path / "greedy.crossarc"
    ca.Parser.train(sample()[:40], kind="covington", passes=1, text=False).save(path)
    with running("-m", path) as server:
        assert server.get("/models").json["models"] == {"greedy": ["parser"]}
        sentence = sample("en")[0]
        [found] = server.parse(conllu=conllu(sentence), constraints=[{"heads": {"8": 4}}])
        assert found["heads"][7] == 4
        assert "head_probabilities" not in found
        [same] = server.parse(conllu=conllu(sentence), closest_to_input=True)
        assert same["heads"] == sentence.heads.tolist()
        answer = server.refuse(conllu=conllu(sentence), kbest=2)
        assert "'covington' gives one tree and no probabilities" in answer.error


# ---- /process


def test_models(server: Server) -> None:
    answer = server.get("/models").json
    assert answer["models"] == {"en": ["tokenizer", "tagger", "parser"]}
    assert answer["default_model"] == "en"


def multipart(**parameters: str) -> tuple[bytes, dict[str, str]]:
    """As curl -F and UDPipe's clients send it."""
    parts = "".join(
        f'--limit\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parameters.items()
    )
    return f"{parts}--limit--\r\n".encode(), {"content-type": "multipart/form-data; boundary=limit"}


def test_process_by_get_by_form_and_by_multipart(server: Server, parser: ca.Parser) -> None:
    asked = {"data": TEXT, "model": "en", "tokenizer": "", "tagger": "", "parser": ""}
    expected = conllu(*parser.parse(TEXT))
    answers = [
        server.get("/process", **asked),
        server.form("/process", **asked),
        server.request("POST", "/process", *multipart(**asked)),
    ]
    for answer in answers:
        assert answer.json == {"model": "en", "acknowledgements": [], "result": expected}


def test_process_does_what_is_asked_for(server: Server, parser: ca.Parser) -> None:
    [words] = ca.read_conllu([server.form("/process", data=SAW, tokenizer="").json["result"]])
    assert set(words.upos) == {"_"}
    assert set(words.heads.tolist()) == {-1}
    given = words.to_conllu()
    [tagged] = ca.read_conllu([server.form("/process", data=given, tagger="").json["result"]])
    [parsed] = parser.parse(SAW)
    assert tagged.upos == parsed.upos
    assert set(tagged.heads.tolist()) == {-1}
    [tree] = ca.read_conllu([server.form("/process", data=given, parser="").json["result"]])
    assert tree.heads.tolist() == parsed.heads.tolist()
    assert set(tree.upos) == {"_"}
    both = server.form("/process", data=given, tagger="", parser="probabilities").json["result"]
    [sure] = ca.read_conllu([both])
    assert "HeadProb=" in sure.misc[0]


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("horizontal", "I saw it .\nHe ran .\n"),
        ("vertical", "I\nsaw\nit\n.\n\nHe\nran\n.\n"),
        ("vertical", "I\tx\r\nsaw\r\nit\r\n.\r\n\r\nHe\r\nran\r\n."),
    ],
)
def test_inputs_that_are_divided_already(server: Server, form: str, data: str) -> None:
    answer = server.form("/process", data=data, input=form, tagger="", parser="").json
    first, second = ca.read_conllu([answer["result"]])
    assert first.forms == ("I", "saw", "it", ".")
    assert second.forms == ("He", "ran", ".")
    assert second.heads.tolist() == [2, 0, 2]


def test_presegmented_text_has_a_sentence_a_line(server: Server) -> None:
    data = "He ran. She ran.\nThey ran.\n"
    answer = server.form("/process", data=data, tokenizer="presegmented", parser="").json
    assert [one.text for one in ca.read_conllu([answer["result"]])] == [
        "He ran. She ran.",
        "They ran.",
    ]


def test_ranges_and_plain_text(server: Server) -> None:
    """As udapi's client asks for them; the offsets are those of the words in the data."""
    data = "He  can't run.\nShe ran."
    answer = server.form("/process", data=data, tokenizer="ranges").json["result"]
    ranges = re.findall(r"^([\d-]+)\t(\S+)\t.*TokenRange=(\d+):(\d+)", answer, re.MULTILINE)
    assert [name for name, *_ in ranges] == ["1", "2-3", "4", "5", "1", "2", "3"]
    assert [data[int(a) : int(b)] for _, _, a, b in ranges] == [form for _, form, *_ in ranges]
    plain = server.form("/process", data=data, tokenizer="", output="plaintext=normalized_spaces")
    assert plain.json["result"] == "He can't run.\nShe ran.\n"


@pytest.mark.parametrize(
    ("parameters", "status", "message"),
    [
        ({"tokenizer": ""}, 400, "data is missing"),
        ({"data": "a", "model": "xx"}, 404, "no model 'xx': use en"),
        ({"data": "a", "output": "matxin"}, 400, "output=matxin"),
        ({"data": "a", "tokenizer": "range"}, 400, "tokenizer=range"),
        ({"data": "a", "taggger": ""}, 400, "no parameter 'taggger'"),
        ({"data": "no CoNLL-U", "parser": ""}, 400, "line 1"),
    ],
)
def test_process_explains_refusals(
    server: Server, parameters: dict[str, str], status: int, message: str
) -> None:
    answer = server.form("/process", **parameters)
    assert answer.status == status
    assert message in answer.error


# ---- The rest


class Links(HTMLParser):
    """Addresses that a page names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]


def test_page_needs_no_other_server(server: Server) -> None:
    answer = server.get("/")
    assert answer.status == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    links = Links(answer.body.decode()).found
    assert len(links) == 5
    seen = []
    while links:
        name = links.pop()
        if name in seen:
            continue
        seen.append(name)
        assert name.startswith("static/")
        file = server.get(f"/{name}")
        assert file.status == 200
        links += [f"static/{one}" for one in re.findall(r'from "\./(\w+\.js)"', file.body.decode())]
        assert not re.search(rb"https?://(?!www\.w3\.org)", file.body)
    assert "static/store.js" in seen
    assert server.get("/static/nothing.js").status == 404
    assert server.get("/static/..%2fapplication.py").status == 404


def test_treebank_report(server: Server) -> None:
    answer = server.form("/analyze", data=conllu(*sample("nl")), name="dutch")
    assert answer.status == 200
    page = answer.body.decode()
    assert "dutch: what constraints on trees cost and save" in page
    assert 'data-key="projectivity"' in page
    assert server.form("/analyze", data="1\tone\t_\t_\t_\t_\t_\t_\t_\t_\n\n").status == 400


def test_health_and_metrics(server: Server) -> None:
    assert server.get("/health").json["status"] == "ok"
    server.parse(text=TEXT)
    server.refuse()
    text = server.get("/metrics").body.decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert int(values['crossarc_requests_total{path="/parse",status="400"}']) >= 1
    assert int(values['crossarc_sentences_total{model="en"}']) >= 2
    counted = int(values['crossarc_request_seconds_count{path="/parse"}'])
    assert counted == int(values['crossarc_request_seconds_bucket{path="/parse",le="+Inf"}'])
    assert math.isclose(float(values["crossarc_requests_in_progress"]), 1.0)


def test_unknown_addresses_and_methods(server: Server) -> None:
    assert server.get("/nothing").status == 404
    assert server.get("/parse").status == 405


def test_requests_at_a_time_get_their_own_answers(server: Server) -> None:
    """Every request has a word of its own, which its answer must have."""

    def ask(number: int) -> bool:
        word = f"Word{number}"
        sentence = ca.Sentence.build([word, "saw", *["very"] * (number % 7), "old", "men"])
        [found] = server.parse(conllu=conllu(sentence))
        return tuple(found["forms"]) == sentence.forms and len(found["heads"]) == len(sentence)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(120)))


# ---- Limits


@pytest.fixture(scope="module")
def small_server() -> Iterator[Server]:
    options = ("--max-body", 5000, "--max-sentences", 3, "--max-words", 12, "--max-seconds", 1.5)
    with running(*options, "--access-log") as started:
        yield started


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * 6000, "larger than the limit of 5,000 bytes"),
        ("He ran. " * 4, "more than the limit of 3 sentences"),
        ("He saw " * 10 + ".", "the limit is 12 words a sentence"),
    ],
)
def test_limits_are_named(small_server: Server, text: str, message: str) -> None:
    for answer in (
        small_server.refuse(text=text),
        small_server.form("/process", data=text, tokenizer="", parser=""),
    ):
        assert answer.status == 413
        assert message in answer.error
    assert small_server.parse(text="He ran.")


def test_body_without_a_length_is_limited(small_server: Server) -> None:
    """Chunks that never end are cut off at the limit."""
    with socket.create_connection(("127.0.0.1", small_server.port), 30) as connection:
        connection.sendall(b"POST /parse HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.sendall(
            b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n"
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_body_that_does_not_come_is_limited(small_server: Server) -> None:
    with socket.create_connection(("127.0.0.1", small_server.port), 30) as connection:
        connection.sendall(b"POST /parse HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        received = b"".join(iter(lambda: connection.recv(4096), b""))
        assert received.startswith(b"HTTP/1.1 408 ")
        assert b"within the limit of 1.5 s" in received


MALFORMED = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"\xff\xfe",
    b'{"text": "\\ud800 saw ."}',
    b'{"text": 1}',
    b'{"text": null, "conllu": ""}',
    b'{"text": ""}',
    b'{"text": "\\u0000 \\u202e x"}',
    b'{"conllu": "\\n\\n\\n"}',
    b'{"conllu": "1\\ta\\n2\\n"}',
    b'{"text": "a", "constraints": [{"heads": {"a": "b"}}]}',
    b'{"text": "a", "constraints": [{"heads": {"-1": 99999999999999999999}}]}',
    b'{"text": "a", "drawing": {"width": -1}}',
    b'{"text": "a", "drawing": {"width": 1e400}}',
    b'{"text": "a", "rank": 0}',
    b"[" * 4000,
    b'{"text":' + b"[" * 4000,
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_requests_never_break_the_server(small_server: Server, body: bytes) -> None:
    answer = small_server.request("POST", "/parse", body)
    assert answer.status == 200 or 400 <= answer.status < 500
    kind = {"content-type": "multipart/form-data; boundary=limit"}
    for headers in ({}, kind, {"content-type": "text/plain"}):
        answer = small_server.request("POST", "/process", body, headers)
        assert answer.status == 200 or 400 <= answer.status < 500
    assert small_server.get("/health").status == 200


def test_time_is_limited() -> None:
    with running("--max-seconds", 0.01) as server:
        answer = server.refuse(text=TEXT * 200, kbest=50)
        assert answer.status == 413
        assert "longer than the limit of 0.01 s: send fewer sentences" in answer.error


def test_too_many_requests_at_a_time(parser: ca.Parser) -> None:
    application = make_application({"en": parser}, limits=Limits(requests=0))
    sent: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b'{"text": "He ran."}', "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/parse",
        "query_string": b"",
        "headers": [],
        "root_path": "",
    }
    asyncio.run(application(scope, receive, send))
    assert sent[0]["status"] == 429
    assert dict(sent[0]["headers"])[b"retry-after"] == b"1"
    assert b"the limit of 0 requests at a time" in sent[1]["body"]


def test_logs_have_no_content(small_server: Server) -> None:
    small_server.get("/process", data="Rumpelstiltskin ran.", tokenizer="", parser="")
    small_server.refuse(conllu="1\tRumpelstiltskin\n")
    small_server.get("/Rumpelstiltskin")
    for _ in range(100):
        if "GET other 404" in small_server.errors:
            break
        time.sleep(0.05)
    assert "GET /process 200" in small_server.errors
    assert "POST /parse 400" in small_server.errors
    assert "Rumpelstiltskin" not in small_server.errors


# ---- Beginning and end


def test_shutdown_finishes_what_was_accepted() -> None:
    with running() as server:
        text = "He saw the old man with the telescope on the hill. " * 400
        answers = []

        def ask() -> None:
            answers.append(server.form("/process", data=text, tokenizer="", tagger="", parser=""))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            if "crossarc_requests_in_progress 4" in server.get("/metrics").body.decode():
                break
            time.sleep(0.01)
        assert server.stop() == 0
        for thread in threads:
            thread.join()
    assert [answer.status for answer in answers] == [200] * 3
    for answer in answers:
        assert len(list(ca.read_conllu([answer.json["result"]]))) == 400


def test_a_connection_is_used_again(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for number in range(3):
        connection.request("POST", "/parse", json.dumps({"text": f"It is {number} ."}))
        assert str(number) in json.loads(connection.getresponse().read())["sentences"][0]["forms"]
    connection.close()


def test_wrong_usage(server: Server) -> None:
    taken = crossarc("serve", "--port", server.port)
    assert taken.returncode == 2
    assert b"cannot listen on 127.0.0.1" in taken.stderr
    unknown = crossarc("serve", "--port", 0, "-m", "nothing")
    assert unknown.returncode == 1
    assert b"nothing: no such model file" in unknown.stderr
