"""Words as the tagger sees them: hashes of what surrounds each word, for many sentences at once.

What depends only on words is hashed once, before tagging; what depends on the tags that were
given to the words before is hashed on the way (`history_features`).

Words of some classes are alike but for their exact form: addresses such as URLs and handles, and
emoji together with emoticons. What is learned of one is learned of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.models.hashing import hash_code, hash_start
from crossarc.text.characters import DIGIT, EMOJI, JOINER, MARK, OUTSIDE, characters
from crossarc.text.spans import find_spans

__all__ = [
    "AFFIX",
    "EMOTICON",
    "EXACT",
    "FOLDED",
    "HISTORY_FEATURES",
    "PREFIX",
    "SHAPE",
    "SUFFIX",
    "WORD_FEATURES",
    "Words",
    "encode_words",
    "history_features",
    "mixed",
]

Array = NDArray[Any]

WORD_FEATURES = 31
HISTORY_FEATURES = 8
# Atoms: the form without and with case, its shape, suffixes and prefixes of one to six characters.
FOLDED, EXACT, SHAPE = 0, 1, 2
SUFFIX, PREFIX = 2, 8
_ATOMS = 15
AFFIX = 6
_LONGEST = 32
# Classes of words: 0, the kinds of addresses, and emoji or emoticons.
EMOTICON = 8
_EYES, _NOSES, _MOUTHS = (
    np.array([ord(c) for c in s]) for s in (":;=", "-'^", "()[]{}DdPpOo03*/\\|")
)

_READ_CODES = types.Array(types.int32, 1, "C", readonly=True)
_READ_KINDS = types.Array(types.uint8, 1, "C", readonly=True)
_READ_ATOMS = types.Array(types.uint64, 2, "C", readonly=True)


class Words(NamedTuple):
    """Sentences laid end to end; sentence k has the words from `firsts[k]` to `firsts[k + 1]`."""

    firsts: NDArray[np.int64]
    atoms: NDArray[np.uint64]  # (words, kinds of atom): what features are made of
    hashes: NDArray[np.uint64]  # (words, WORD_FEATURES)
    classes: NDArray[np.uint8]


def encode_words(sentences: Sequence[Sequence[str]]) -> Words:
    """The words of sentences, given by their forms; O(characters)."""
    firsts = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum([len(forms) for forms in sentences], out=firsts[1:])
    forms = [form for sentence in sentences for form in sentence]
    ends = np.cumsum([len(form) for form in forms], dtype=np.int64)
    chars = characters("".join(forms))
    classes = _address_kinds(forms)
    atoms = np.empty((len(forms), _ATOMS), np.uint64)
    _atoms(chars.codes, chars.folded, chars.kinds, ends, classes, atoms)
    hashes = np.empty((len(forms), WORD_FEATURES), np.uint64)
    _features(firsts, atoms, hashes)
    return Words(firsts, atoms, hashes, classes)


def _address_kinds(forms: Sequence[str]) -> NDArray[np.uint8]:
    """The kind of address that each word is, or 0."""
    kinds = np.zeros(len(forms), np.uint8)
    # A line break ends every address, so that words can be searched all at once.
    lines = "\n".join(form.replace("\n", " ") for form in forms)
    spans = find_spans(lines)
    if spans:
        starts = np.cumsum([0, *(len(form) + 1 for form in forms)])
        for span in spans:
            word = int(np.searchsorted(starts, span.start))
            if starts[word] == span.start and starts[word + 1] - 1 == span.end:
                kinds[word] = span.kind
    return kinds


@subkernel()
def mixed(template: int, first: Any, second: Any) -> np.uint64:
    """The hash of a template and two atoms."""
    return hash_code(hash_code(hash_start(template), first), second)


@subkernel()
def _is_emoticon(codes: Array, kinds: Array, start: int, end: int) -> bool:
    """Whether a word is made of emoji, or has eyes and a mouth as in `:-)`."""
    emoji = 0
    while start + emoji < end and kinds[start + emoji] in (EMOJI, MARK, JOINER):
        emoji += 1
    if start + emoji == end:
        return bool(kinds[start] == EMOJI)
    mouth = start + 1
    if mouth < end - 1 and codes[mouth] in _NOSES:
        mouth += 1
    while mouth < end - 1 and codes[mouth] == codes[end - 1]:
        mouth += 1
    return bool(mouth == end - 1 and codes[start] in _EYES and codes[mouth] in _MOUTHS)


@kernel(
    types.void(
        _READ_CODES,
        _READ_CODES,
        _READ_KINDS,
        READ_INT,
        types.uint8[::1],
        types.uint64[:, ::1],
    )
)
def _atoms(
    codes: Array, folded: Array, kinds: Array, ends: Array, classes: Array, atoms: Array
) -> None:
    """The atoms of each word; an affix longer than the word is the word.

    Emoji and emoticons are added to `classes`.
    """
    start = 0
    for w in range(len(ends)):
        end = ends[w]
        row = atoms[w]
        form, exact, shape = hash_start(1), hash_start(2), hash_start(3)
        before: Any = OUTSIDE
        run = 0
        for j in range(start, min(end, start + _LONGEST)):
            form = hash_code(form, folded[j])
            exact = hash_code(exact, codes[j])
            if j - start < AFFIX:
                row[PREFIX + 1 + j - start] = form
            kind: Any = np.int64(kinds[j])
            run = run + 1 if kind == before else 0
            before = kind
            # Runs count up to two; a mark stands for itself.
            if run < 2:
                shape = hash_code(shape, kind if kind <= DIGIT else folded[j] + 64)
        row[FOLDED], row[EXACT], row[SHAPE] = form, exact, shape
        for k in range(end - start, AFFIX):
            row[PREFIX + 1 + k] = form
        suffix = hash_start(4)
        for k in range(1, AFFIX + 1):
            if k <= end - start:
                suffix = hash_code(suffix, folded[end - k])
            row[SUFFIX + k] = suffix
        if classes[w] == 0 and _is_emoticon(codes, kinds, start, end):
            classes[w] = EMOTICON
        if classes[w]:
            # Kinds of addresses differ in one atom, the form without case.
            own: Any = np.int64(classes[w])
            group: Any = hash_code(hash_start(5), own == EMOTICON)
            for k in range(SHAPE, _ATOMS):
                row[k] = group
            row[FOLDED] = hash_code(hash_start(6), own)
        start = end


@kernel(types.void(READ_INT, _READ_ATOMS, types.uint64[:, ::1]))
def _features(firsts: Array, atoms: Array, hashes: Array) -> None:
    """What depends only on words; positions outside of a sentence have atoms of 0."""
    outside = np.zeros(_ATOMS, np.uint64)
    for s in range(len(firsts) - 1):
        for w in range(firsts[s], firsts[s + 1]):
            here = atoms[w]
            left = atoms[w - 1] if w - 1 >= firsts[s] else outside
            left2 = atoms[w - 2] if w - 2 >= firsts[s] else outside
            right = atoms[w + 1] if w + 1 < firsts[s + 1] else outside
            right2 = atoms[w + 2] if w + 2 < firsts[s + 1] else outside
            row = hashes[w]
            for k in range(_ATOMS):
                row[k] = hash_code(hash_start(10 + k), here[k])
            row[15] = hash_start(30)
            row[16] = mixed(31, here[SHAPE], np.uint64(w == firsts[s]))
            row[17] = hash_code(hash_start(32), left[FOLDED])
            row[18] = hash_code(hash_start(33), right[FOLDED])
            row[19] = hash_code(hash_start(34), left2[FOLDED])
            row[20] = hash_code(hash_start(35), right2[FOLDED])
            row[21] = mixed(36, left[FOLDED], here[FOLDED])
            row[22] = mixed(37, here[FOLDED], right[FOLDED])
            row[23] = mixed(38, left[FOLDED], right[FOLDED])
            row[24] = mixed(41, here[SUFFIX + 2], right[SUFFIX + 2])
            row[25] = mixed(42, here[SUFFIX + 3], here[SHAPE])
            row[26] = mixed(43, here[SUFFIX + 3], here[PREFIX + 2])
            row[27] = mixed(44, left[SUFFIX + 3], here[SUFFIX + 3])
            row[28] = mixed(45, here[SUFFIX + 3], right[SUFFIX + 3])
            row[29] = hash_code(hash_start(46), left[PREFIX + 5])
            row[30] = hash_code(hash_start(47), right[PREFIX + 5])


@subkernel()
def history_features(
    atoms: Array, w: int, first: int, end: int, tag: int, tag2: int, coarse: int, row: Array
) -> None:
    """What depends on the tags of the two words before word w, and on three coarse ones.

    Args:
        tag, tag2: of the word before and the one before that, -1 outside.
        coarse: the coarse tags of the three words before, as one number.
    """
    here = atoms[w]
    folded, suffix = here[FOLDED], here[SUFFIX + 3]
    after = atoms[w + 1][FOLDED] if w + 1 < end else np.uint64(0)
    after_suffix: Any = atoms[w + 1][SUFFIX + 2] if w + 1 < end else np.uint64(0)
    before: Any = np.uint64(tag + 1)
    before2: Any = np.uint64(tag2 + 1)
    row[0] = hash_code(hash_start(60), before)
    row[1] = mixed(61, before, before2)
    row[2] = mixed(62, before, folded)
    row[3] = mixed(63, before, suffix)
    row[4] = hash_code(hash_start(64), coarse)
    row[5] = mixed(65, before, after)
    row[6] = mixed(66, before2, folded)
    row[7] = hash_code(mixed(67, before, here[SUFFIX + 2]), after_suffix)
