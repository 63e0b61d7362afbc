"""A random text in two versions: tokens, multiword tokens, sentences and analyses differ."""

from __future__ import annotations

import random

ALPHABET = ("a", "b", "A", "é", ".", "1 0", "b\N{NO-BREAK SPACE}a")
LABELS = ["nsubj", "nsubj:pass", "obj", "punct", "aux", "aux:pass", "case", "det", "made:up"]
FEATURES = ["_", "Case=Nom", "Number=Sing|Case=Acc", "Case=Acc|Number=Sing", "Typo=Yes|Case=Nom"]
DEPS = ["obj", "nsubj", "nsubj:pass", "conj:and>obj", "conj:or>obj:x"]

#: Surface form, and the words if there are several.
Token = tuple[str, list[str] | None]


def versions(seed: int, tokens: int = 24) -> tuple[str, str]:
    """Gold and system as CoNLL-U."""
    rng = random.Random(seed)
    gold = [_token(rng, rng.choice(ALPHABET), rng.random() < 0.3) for _ in range(tokens)]
    system = _other_tokens(rng, gold)
    cuts = {_length(gold[:k]) for k in range(1, tokens) if rng.random() < 0.15}
    ends = {_length(system[:k]) for k in range(1, len(system))}
    moved = {cut for cut in cuts if rng.random() < 0.8} | {e for e in ends if rng.random() < 0.03}
    return _conllu(rng, gold, cuts), _conllu(rng, system, moved & ends)


def _token(rng: random.Random, form: str, is_multiword: bool) -> Token:
    if not is_multiword:
        return form, None
    letters = [c for c in form if not c.isspace()] + [rng.choice("abE.")]
    return form, [rng.choice([c, c.upper()]) for c in letters]


def _other_tokens(rng: random.Random, gold: list[Token]) -> list[Token]:
    """Tokens merged, split, made multiword tokens or single words."""
    tokens: list[Token] = []
    k = 0
    while k < len(gold):
        form, words = gold[k]
        change = rng.random()
        if change < 0.15:
            size = rng.choice([2, 3, 4])
            form = "".join(other for other, _ in gold[k : k + size])
            tokens.append(_token(rng, form, rng.random() < 0.4))
            k += size
            continue
        if change < 0.3 and len(form) > 1:
            tokens += [_token(rng, c, rng.random() < 0.3) for c in form if not c.isspace()]
        elif change < 0.45:
            tokens.append(_token(rng, form, words is None))
        elif change < 0.55 and words is not None:
            tokens.append((form, words[1:] + words[:1]))
        else:
            tokens.append((form, words))
        k += 1
    return tokens


def _length(tokens: list[Token]) -> int:
    return sum(not c.isspace() for form, _ in tokens for c in form)


def _conllu(rng: random.Random, tokens: list[Token], cuts: set[int]) -> str:
    sentences: list[list[Token]] = [[]]
    for k, token in enumerate(tokens):
        if k and _length(tokens[:k]) in cuts:
            sentences.append([])
        sentences[-1].append(token)
    return "".join(_sentence(rng, sentence) for sentence in sentences)


def _sentence(rng: random.Random, tokens: list[Token]) -> str:
    n = sum(1 if words is None else len(words) for _, words in tokens)
    order = list(range(1, n + 1))
    if rng.random() < 0.5:
        rng.shuffle(order)
    heads = {word: order[rng.randrange(k)] if k else 0 for k, word in enumerate(order)}
    lines = []
    word = 0
    for form, words in tokens:
        if words is not None:
            lines.append(f"{word + 1}-{word + len(words)}\t{form}" + "\t_" * 8)
        for part in [form] if words is None else words:
            word += 1
            lines.append(f"{word}\t{part}\t" + "\t".join(_analysis(rng, heads[word], n)) + "\t_")
            if rng.random() < 0.05 and (words is None or part is words[-1]):
                lines.append(f"{word}.1\tx" + "\t_" * 8)
    return "\n".join(lines) + "\n\n"


def _analysis(rng: random.Random, head: int, n: int) -> list[str]:
    """Seldom other than the first value, so that two versions often agree."""

    def pick(values: list[str]) -> str:
        return rng.choice(values) if rng.random() < 0.4 else values[0]

    label = "root" if head == 0 else pick(LABELS)
    deps = [f"{head}:{label}"] + [
        f"{rng.choice([head, rng.randrange(n + 1)])}:{rng.choice(DEPS)}"
        for _ in range(rng.choice([0, 0, 1, 2]))
    ]
    if rng.random() < 0.1:
        deps.append("1.1:obj")
    return [
        pick(["x", "_", "y"]),
        pick(["NOUN", "PUNCT", "_"]),
        pick(["N", "_"]),
        pick(FEATURES),
        str(head),
        label,
        "|".join(deps) if rng.random() < 0.8 else "_",
    ]
