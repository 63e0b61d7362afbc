"""Train a small neural scorer with PyTorch: crossarc sums over trees, autograd does the rest.

A biaffine scorer (Dozat & Manning 2017) in miniature, on the sample bank. First the trees'
log-probability is made large, then the expected number of wrong heads small. Then half of the heads
are hidden, and a new scorer learns from the others. Needs the extra `crossarc[torch]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

import crossarc.inference.torch as trees
from crossarc.treebank import Sentence, sample

TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()
STEPS = 12


class Scorer(nn.Module):
    """Scores of all arcs from tags in their context."""

    def __init__(self, size: int = 32) -> None:
        super().__init__()
        self.tags = nn.Embedding(len(TAGS) + 2, size)  # the root is 0, padding the last
        self.context = nn.GRU(size, size, batch_first=True, bidirectional=True)
        self.head, self.word = nn.Linear(2 * size, size), nn.Linear(2 * size, size)
        self.pairs = nn.Parameter(torch.randn(size + 1, size) / size)

    def forward(self, tags: Tensor) -> Tensor:
        """(batch, n+1) tags to (batch, n+1, n+1) scores."""
        states, _ = self.context(self.tags(tags))
        heads, words = torch.relu(self.head(states)), torch.relu(self.word(states))
        heads = torch.cat([heads, torch.ones_like(heads[..., :1])], -1)
        return heads @ self.pairs @ words.transpose(1, 2)


def padded(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    """Rows of different lengths as one tensor."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, value)


def gold_indicators(heads: Tensor, scores: Tensor) -> Tensor:
    """1 for gold arcs; heads are (batch, n), -1 in the padding."""
    gold = torch.zeros_like(scores)
    index, word = (heads >= 0).nonzero(as_tuple=True)
    gold[index, heads[index, word], word + 1] = 1.0
    return gold


def train(model: Scorer, tags: Tensor, name: str, loss_of: Callable[[Tensor], Tensor]) -> None:
    """A few steps over the whole bank; prints the loss at the beginning and at the end."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(STEPS):
        loss = loss_of(model(tags))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"{name:28} {losses[0]:8.3f} -> {losses[-1]:8.3f}")
    if not losses[-1] < losses[0]:
        raise SystemExit("the loss did not fall")


def main() -> None:
    """Three ways to learn from trees."""
    torch.manual_seed(0)
    bank: list[Sentence] = [one for one in sample() if one.tree.is_single_root]
    lengths = [len(sentence.heads) for sentence in bank]
    numbers = {tag: number for number, tag in enumerate(TAGS, 1)}
    tags = padded([[0, *(numbers[tag] for tag in one.upos)] for one in bank], len(TAGS) + 1)
    heads = padded([[int(head) for head in sentence.heads] for sentence in bank], -1)
    words = sum(lengths)
    model = Scorer()

    def log_loss(scores: Tensor) -> Tensor:
        gold = (scores * gold_indicators(heads, scores)).sum()
        return (trees.log_partition(scores, lengths).sum() - gold) / words

    def expected_errors(scores: Tensor) -> Tensor:
        right = trees.marginals(scores, lengths) * gold_indicators(heads, scores)
        return (words - right.sum()) / words

    known = heads.clone()
    known[:, ::2] = -1

    def hidden_loss(scores: Tensor) -> Tensor:
        """log Z of all trees less log Z of those that agree with the heads that are known."""
        gold = gold_indicators(known, scores) > 0
        forbidden = gold.any(1, keepdim=True) & ~gold
        agreeing = scores.masked_fill(forbidden, -torch.inf)
        everything = trees.log_partition(scores, lengths)
        return (everything - trees.log_partition(agreeing, lengths)).sum() / words

    train(model, tags, "log-probability, a word", log_loss)
    train(model, tags, "expected wrong heads, a word", expected_errors)
    train(Scorer(), tags, "half of the heads hidden", hidden_loss)

    with torch.no_grad():
        best = trees.argmax(model(tags), lengths)
    print(f"right heads after training   {(best.heads == heads)[heads >= 0].double().mean():.1%}")


if __name__ == "__main__":
    main()
