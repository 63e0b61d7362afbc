"""`/process` with the parameters of UDPipe's REST service, for its clients.

https://lindat.mff.cuni.cz/services/udpipe/api-reference.php names them: `data`; `tokenizer`,
`tagger` and `parser`, each given for what is to be done, usually with an empty value; `input` for
data that is divided already. The result is CoNLL-U, or for `output=plaintext` a sentence a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from crossarc.app.server.answers import read_sentences
from crossarc.app.server.limits import Deadline, Limits, RefusalError
from crossarc.errors import ModelError
from crossarc.parser import Parser
from crossarc.parser.lines import line_sentences
from crossarc.treebank import Sentence

__all__ = ["PARAMETERS", "process"]

PARAMETERS = ("data", "model", "input", "tokenizer", "tagger", "parser", "output")
_INPUTS = ("conllu", "horizontal", "vertical", "generic_tokenizer")

# Sentences at a time, between looks at the clock; larger requests use all cores.
_CHUNK, _LARGE = 64, 32
_COLUMNS = 10


def process(
    parser: Parser, given: Mapping[str, str], limits: Limits, deadline: Deadline
) -> tuple[str, int, int]:
    """The CoNLL-U that a request asks for, and the number of its sentences and words.

    Raises:
        CrossarcError, RefusalError: parameters or data that cannot be used.
    """
    _check(given)
    sentences = list(limits.checked(_sentences(parser, given), deadline))
    threads = None if len(sentences) > _LARGE else 1
    parts = []
    if given.get("output", "").startswith("plaintext"):
        parts = [f"{sentence.text}\n" for sentence in sentences]
    else:
        for start in range(0, len(sentences), _CHUNK):
            deadline.check()
            part = _annotated(parser, sentences[start : start + _CHUNK], given, threads)
            parts += [sentence.to_conllu() for sentence in part]
    if "ranges" in _tokenizer_options(given):
        parts = list(_with_ranges(parts, given["data"].replace("\r\n", "\n")))
    return "".join(parts), len(sentences), sum(map(len, sentences))


def _check(given: Mapping[str, str]) -> None:
    for name in given:
        if name not in PARAMETERS:
            raise RefusalError(f"no parameter {name[:40]!r}: use {', '.join(PARAMETERS)}")
    if "data" not in given:
        raise RefusalError("the parameter data is missing")
    allowed = {
        "output": ("", "conllu", "plaintext", "plaintext=normalized_spaces"),
        "input": ("", *_INPUTS),
        "tokenizer": ("", "presegmented", "ranges", "presegmented;ranges", "ranges;presegmented"),
        "tagger": ("",),
        "parser": ("", "probabilities"),
    }
    for name, values in allowed.items():
        if given.get(name, "") not in values:
            shown = ", ".join(value or "nothing" for value in values)
            raise RefusalError(f"{name}={given[name][:40]}: the value must be {shown}")


def _tokenizer_options(given: Mapping[str, str]) -> list[str]:
    return given.get("tokenizer", "").split(";")


def _with_ranges(parts: Iterable[str], data: str) -> Iterator[str]:
    """Sentences with `TokenRange=first:end` in MISC of every token, in characters of the data."""
    offset = 0
    for part in parts:
        lines, last = [], 0
        for line in part.split("\n"):
            row = line.split("\t")
            first, _, end = row[0].partition("-")
            # Words of a multiword token are no tokens, and neither are empty nodes.
            if len(row) == _COLUMNS and first.isdigit() and int(first) > last:
                last = int(end or first)
                begin = data.find(row[1], offset)
                if begin >= 0:
                    offset = begin + len(row[1])
                    entry = f"TokenRange={begin}:{offset}"
                    row[-1] = entry if row[-1] == "_" else f"{row[-1]}|{entry}"
            lines.append("\t".join(row))
        yield "\n".join(lines)


def _sentences(parser: Parser, given: Mapping[str, str]) -> Iterable[Sentence]:
    data = given["data"].replace("\r\n", "\n")
    form = given.get("input") or "conllu"
    if "tokenizer" in given or form == "generic_tokenizer":
        tokenizer = parser.needed_tokenizer
        if "presegmented" in _tokenizer_options(given):
            return line_sentences(data.split("\n"), tokenizer)
        return tokenizer.tokenize(data)
    if form == "horizontal":
        return line_sentences(data.split("\n"), None)
    if form == "vertical":
        return _vertical(data)
    return read_sentences(data)


def _vertical(data: str) -> Iterator[Sentence]:
    """A word a line, and a blank line after each sentence; further columns are not read."""
    forms: list[str] = []
    for line in [*data.split("\n"), ""]:
        form = line.partition("\t")[0].strip()
        if form:
            forms.append(form)
        elif forms:
            yield Sentence.build(forms)
            forms = []


def _annotated(
    parser: Parser, sentences: list[Sentence], given: Mapping[str, str], threads: int | None
) -> Iterable[Sentence]:
    if "parser" not in given:
        if "tagger" not in given:
            return sentences
        if parser.tagger is None:
            raise ModelError("this model has no tagger: leave out the parameter tagger")
        return parser.tagger.tag(sentences, threads=threads)
    parsed = parser.parse(
        sentences,
        retag="tagger" in given,
        probabilities=given["parser"] == "probabilities",
        threads=threads,
    )
    return parsed if "tagger" in given else _with_tags_of(sentences, parsed)


def _with_tags_of(sentences: Iterable[Sentence], parsed: Iterable[Sentence]) -> Iterator[Sentence]:
    """Parsed sentences with the tags and lemmas of the input: no tagger was asked for."""
    for sentence, result in zip(sentences, parsed, strict=True):
        for name in ("lemmas", "upos", "xpos", "feats"):
            setattr(result, name, getattr(sentence, name))
        yield result
