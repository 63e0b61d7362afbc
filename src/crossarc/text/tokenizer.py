"""Raw text to sentences of words, learned from a treebank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError, TreebankError
from crossarc.text.characters import CLASSES
from crossarc.text.emission import build_sentence, escape_spaces
from crossarc.text.features import NOTHING, PARAGRAPH
from crossarc.text.learned import Learned
from crossarc.text.multiword import Splitter
from crossarc.text.running import running_text
from crossarc.text.segmentation import CONTEXT, Portion, segment
from crossarc.text.spans import SPAN_KINDS
from crossarc.text.word_set import WordSet
from crossarc.treebank import Sentence

__all__ = ["Tokenizer"]

_FORMAT = 2
_PORTION = 1 << 18
_TENSORS = {"pairs": np.uint8, "gaps": np.uint8, "inner": np.uint64} | dict.fromkeys(
    ("boundary", "end", "line", "split"), np.int16
)


class Tokenizer:
    """Splits text into sentences and words as a treebank does.

    For instance:

        tokenizer = Tokenizer.learn(read_conllu("train.conllu"))
        for sentence in tokenizer.tokenize("Some text. More of it."):
            print(sentence.forms)
    """

    def __init__(self, learned: Learned) -> None:
        """For `learn` and `restore`."""
        self._learned = learned

    @classmethod
    def learn(
        cls, sentences: Iterable[Sentence], *, dev: Iterable[Sentence] = (), seed: int = 0
    ) -> Tokenizer:
        """Learn from a treebank: its text, `SpaceAfter=No`, multiword tokens and paragraphs.

        Held-out sentences, `dev`, say how sure an end of a sentence must be. The same sentences
        and seed give the same tokeniser.

        Raises:
            TreebankError: there are no sentences.
        """
        # What only learning needs is not loaded to tokenise.
        from crossarc.text.training.learning import learn

        text = running_text(sentences)
        if not text.words:
            raise TreebankError("no sentences to learn from: check the treebank")
        return cls(learn(text, running_text(dev), seed=seed))

    def tokenize(self, text: str | Iterable[str]) -> Iterator[Sentence]:
        """The sentences of a text, given whole or in pieces, in bounded memory.

        A blank line always ends a sentence. How the text is cut into pieces changes nothing.
        No character is lost: MISC says what space stands between tokens (docs/text.md), and
        `rebuild_text` gives the text back.

        Raises:
            TreebankError: the text is not valid Unicode.
        """
        return _Stream(self._learned).sentences([text] if isinstance(text, str) else text)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of a model file."""
        arrays = {name: getattr(self._learned, name) for name in _TENSORS}
        return arrays | {"words": self._learned.splitter.words.table}

    def metadata(self) -> dict[str, Any]:
        """The rest of a model file, as JSON can hold it."""
        protected = [name for name, kind in SPAN_KINDS.items() if kind in self._learned.protected]
        return {
            "format": _FORMAT,
            "multiword": self._learned.splitter.metadata(),
            "protected": protected,
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Tokenizer:
        """The tokeniser that gave these arrays and metadata.

        Raises:
            ModelError: something is missing or of the wrong kind.
        """
        if metadata.get("format") != _FORMAT:
            raise ModelError(
                "the model has no tokeniser that can be read (of another version of crossarc): "
                "train it again"
            )
        try:
            arrays: dict[str, Any] = {
                name: _array(tensors, name, kind) for name, kind in _TENSORS.items()
            }
            words = WordSet(_array(tensors, "words", np.uint8))
            splitter = Splitter.restore(metadata["multiword"], words)
            protected = frozenset(SPAN_KINDS[name] for name in metadata["protected"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"the model has no tokeniser that can be read ({error}): train it again"
            ) from None
        return cls(Learned(**arrays, splitter=splitter, protected=protected))


def _array(tensors: Mapping[str, NDArray[Any]], name: str, kind: Any) -> NDArray[Any]:
    """A tensor, as kernels may index it: of this type, and large enough."""
    array = tensors[name]
    least = {"pairs": CLASSES**2, "gaps": CLASSES**2, "inner": 0, "words": 1}.get(name, 2)
    if array.dtype != kind or array.ndim != 1 or len(array) < least:
        raise ValueError(f"{name} is {array.dtype} {array.shape}")
    return array


class _Stream:
    """Goes through a text portion by portion and numbers its sentences."""

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self._count = 0
        self._new_paragraph = True

    def sentences(self, pieces: Iterable[str]) -> Iterator[Sentence]:
        text, begin, enough = "", 0, _PORTION
        for piece in _even(pieces):
            text += piece
            if len(text) < enough:
                continue
            portion = segment(self._learned, text, begin, complete=False)
            yield from self._built(portion, text)
            rest = portion.firsts[-1]
            if rest:
                cut = portion.starts[rest]
                begin = min(cut, CONTEXT)
                text, enough = text[cut - begin :], _PORTION
            else:
                enough = 2 * len(text)
        yield from self._built(segment(self._learned, text, begin, complete=True), text)

    def _built(self, portion: Portion, text: str) -> Iterator[Sentence]:
        misc = portion.misc
        if self._count == 0 and portion.forms and (before := text[: portion.starts[0]]):
            spaces = f"SpacesBefore={escape_spaces(before)}"
            misc[0] = spaces if misc[0] == "_" else f"{misc[0]}|{spaces}"
        split = sorted(portion.splits)
        used = 0
        for first, end in pairwise(portion.firsts):
            self._count += 1
            ranges = []
            while used < len(split) and split[used] < end:
                ranges.append((split[used] - first, portion.splits[split[used]]))
                used += 1
            head = "# newpar\n" if self._new_paragraph else ""
            yield build_sentence(
                f"{head}# sent_id = {self._count}\n# text = {_line(portion, text, first, end)}\n",
                portion.forms[first:end],
                misc[first:end],
                ranges,
            )
            self._new_paragraph = portion.breaks[end - 1] == PARAGRAPH


def _even(pieces: Iterable[str]) -> Iterator[str]:
    """The text in pieces of the same size, whatever they were before."""
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        for k in range(0, len(piece), _PORTION):
            waiting.append(piece[k : k + _PORTION])
            size += len(waiting[-1])
            if size >= _PORTION:
                yield "".join(waiting)
                waiting, size = [], 0
    yield "".join(waiting)


def _line(portion: Portion, text: str, first: int, end: int) -> str:
    """The text of a sentence on one line, with single spaces."""
    if not portion.odd[first : end - 1].any():
        return text[portion.starts[first] : portion.ends[end - 1]]
    tokens = zip(portion.forms[first:end], portion.breaks[first:end], strict=True)
    return "".join(form if gap == NOTHING else f"{form} " for form, gap in tokens).rstrip(" ")
