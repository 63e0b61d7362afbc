"""Random trees by the block: heads of many sentences at once, uniform, projective or not.

The sentences of a block are laid end to end: words count from 1 to W through the whole block, and
all functions take and give arrays of W + 1 heads in which entry 0 is the artificial root, its own
head. Chance enters through `Generator.random` alone, so that trees do not depend on how a release
of numpy samples other distributions.
"""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# In the arcs 2 -> 1, 1 -> 3 the second covers the root, word 2. Two words have nothing in between,
# and the artificial root dominates all that its arcs cover.
SHORTEST_NONPROJECTIVE = 3


def offsets(lengths: Ints) -> Ints:
    """Words before each sentence; word i of sentence s is offsets(lengths)[s] + i."""
    return np.cumsum(lengths) - lengths


def uniform_heads(rng: np.random.Generator, lengths: Ints, *, single: bool) -> Ints:
    """Trees drawn uniformly among all trees of each length, crossing or not, O(W log n).

    Joyal's bijection: a random map f from the words to the words (for several roots: to the words
    and 0) is a uniform tree with one marked node. Let c_1 < ... < c_k be the words on cycles of f:
    the path from the mark up to the root is f(c_1), ..., f(c_k), 0; the other words keep head f(m).
    """
    first, owner = offsets(lengths), np.repeat(np.arange(lengths.size), lengths)
    choice = (rng.random(owner.size) * (lengths + (not single))[owner]).astype(np.int64)
    heads = np.zeros(owner.size + 1, dtype=np.int64)
    heads[1:] = np.where(choice < lengths[owner], first[owner] + choice + 1, 0)
    far = heads
    for _ in range(int(lengths.max()).bit_length()):
        far = far[far]
    on_cycle = np.unique(far)
    on_cycle = on_cycle[on_cycle > 0]
    path = heads[on_cycle]
    if path.size:
        follows = np.append(path[1:], 0)
        same = np.append(owner[path[1:] - 1] == owner[path[:-1] - 1], False)
        heads[path] = np.where(same, follows, 0)
    return heads


def projective_heads(rng: np.random.Generator, lengths: Ints, *, single: bool) -> Ints:
    """Trees drawn uniformly among the projective trees of each length, O(W log W).

    A projective tree is a word over {child, end}: every node owns a list of left children and a
    list of right ones, the artificial root owns one list, and reading the lists depth first, left
    before right, gives one `child` per node and one `end` per list. By the cycle lemma, of the
    rotations of c children and 2c + s ends in any order exactly s keep a list open to the last
    letter, if s are open at the start (2 below a single root, else 1). So a random order, rotated,
    is a uniform tree.
    """
    lists = 2 if single else 1
    children = lengths - single
    sizes = 3 * children + lists
    first, owner = offsets(sizes), np.repeat(np.arange(sizes.size), sizes)
    order = np.argsort(owner + rng.random(owner.size), kind="stable")
    is_child = np.zeros(owner.size, dtype=np.bool_)
    is_child[order] = (np.arange(owner.size) - first[owner]) < children[owner]
    walk = np.cumsum(np.where(is_child, 2, -1))
    target = np.minimum.reduceat(walk, first) + (rng.random(sizes.size) * lists).astype(np.int64)
    hits = np.flatnonzero(walk == target[owner])
    starts = hits[np.searchsorted(owner[hits], np.arange(sizes.size))] + 1

    letters: list[bool] = is_child.tolist()
    heads, positions = [0], [0]
    for begin, size, start in zip(first.tolist(), sizes.tolist(), starts.tolist(), strict=True):
        end = begin + size
        _read_word(letters[start:end] + letters[begin:start], heads, positions, single)
    position = np.array(positions)
    result = np.zeros_like(position)
    result[position] = position[heads]
    return result


def _read_word(letters: list[bool], heads: list[int], positions: list[int], single: bool) -> None:
    """Append the nodes of one tree in the order of their `child` letters: head and position."""
    node = position = len(heads) - 1
    open_lists = [0]  # 2v + 1 is the left list of node v, 2v its right list
    if single:
        node += 1
        heads.append(0)
        positions.append(0)
        open_lists = [2 * node, 2 * node + 1]
    for is_child in letters:
        if is_child:
            node += 1
            heads.append(open_lists[-1] >> 1)
            positions.append(0)
            open_lists += (2 * node, 2 * node + 1)
        else:
            closed = open_lists.pop()
            if closed & 1:
                position += 1
                positions[closed >> 1] = position


def levels(heads: Ints) -> list[Ints]:
    """The words that hang from the artificial root, those one arc below them, and so on.

    Depths by pointer doubling, O(W log depth).
    """
    depth = (np.arange(heads.size) > 0).astype(np.int64)
    ancestor = heads
    while ancestor.any():
        depth = depth + depth[ancestor]
        ancestor = ancestor[ancestor]
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.cumsum(np.bincount(depth)))[1:-1]


def mixed_heads(rng: np.random.Generator, lengths: Ints, crossing: Bools, *, single: bool) -> Ints:
    """Projective trees, but non-projective ones where `crossing` says so, O(W log W + W depth).

    Where a tree has to cross, a random word m, with all below it, moves past a random number of the
    words outside the subtree of its head h, so that the arc h -> m covers a word that h does not
    dominate. Trees that have no such word, because all hangs from a single root, are drawn anew.
    Sentences in `crossing` must have `SHORTEST_NONPROJECTIVE` words or more.
    """
    heads = projective_heads(rng, lengths, single=single)
    if not crossing.any():
        return heads
    first, owner = offsets(lengths), np.repeat(np.arange(lengths.size), lengths)
    while True:
        left, right = _extents(heads)
        movable = crossing[owner] & (heads[1:] > 0)
        movable &= (right - left + 1)[heads[1:]] < lengths[owner]
        choices = np.add.reduceat(movable, first, dtype=np.int64)
        stuck = crossing & (choices == 0)
        if not stuck.any():
            break
        again = projective_heads(rng, lengths[stuck], single=single)[1:]
        shift = np.repeat(first[stuck] - offsets(lengths[stuck]), lengths[stuck])
        heads[1:][stuck[owner]] = np.where(again > 0, again + shift, 0)

    picks = offsets(choices) + (rng.random(lengths.size) * choices).astype(np.int64)
    words = np.flatnonzero(movable)[picks[crossing]] + 1
    before = left[heads[words]] - first[crossing] - 1
    after = (first + lengths)[crossing] - right[heads[words]]
    jumps = (rng.random(lengths.size)[crossing] * (before + after)).astype(np.int64)
    forward = jumps >= before
    # The words between the old position of the block left .. right and its new one step aside.
    begin = np.where(forward, right[words] + 1, left[heads[words]] - 1 - jumps)
    end = np.where(forward, right[heads[words]] + 1 + jumps - before, left[words] - 1)
    sign = np.where(forward, 1, -1)
    steps = np.zeros(heads.size + 1, dtype=np.int64)
    _add_over(steps, left[words], right[words], sign * (end - begin + 1))
    _add_over(steps, begin, end, -sign * (right - left + 1)[words])
    positions = np.arange(heads.size) + np.cumsum(steps[:-1])
    result = np.empty_like(heads)
    result[positions] = positions[heads]
    return result


def _add_over(steps: Ints, begin: Ints, end: Ints, amount: Ints) -> None:
    """Add amounts to the words begin .. end of an array that will be summed up."""
    np.add.at(steps, begin, amount)
    np.add.at(steps, end + 1, -amount)


def _extents(heads: Ints) -> tuple[Ints, Ints]:
    """The first and the last word of every word's subtree."""
    left, right = np.arange(heads.size), np.arange(heads.size)
    for level in reversed(levels(heads)[1:]):
        np.minimum.at(left, heads[level], left[level])
        np.maximum.at(right, heads[level], right[level])
    return left, right
