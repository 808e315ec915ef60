"""Outputs held against others by who is in them: two or three that differ by few people.

One of three is nearly the union or the difference of the others.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Places = NDArray[np.intp]

# How many words are compared at first: people who differ are spread over all of them.
_FIRST_WORDS = 256
# How many pairs are compared at once.
_PAIRS = 65536


@dataclass(frozen=True)
class _Relation:
    """Two sets, made of a new output and two others, that may be nearly the same."""

    firsts: NDArray[np.bool_]
    seconds: NDArray[np.bool_]
    """Which outputs can be the one and the other at all."""
    may_be: Callable[[Places, Places], NDArray[np.bool_]]
    """Whether sizes alone allow it."""
    sides: Callable[[Words, Words, Words], tuple[Words, Words]]
    """The two sets, of the one, the other and the new output."""
    alone: int
    """How many people, who are in the new output and in no other, make them differ."""


def near_wholes(held: Words, new: Words, strangers: int, few: Places) -> set[int]:
    """Return the rows that come near a new one, alone or in pairs.

    Parameters
    ----------
    held : ndarray of shape (outputs, words)
    new : ndarray of shape (words,)
    strangers : int
        How many people of the new one are in none of them.
    few : ndarray of shape (outputs,)
        By how many people each must differ.
    """
    if not len(held):
        return set()
    most = int(few.max())
    sizes, inside, size = _counts(held), _counts(held & new), int(_counts(new[None])[0])
    beyond, rest = sizes - inside, size - inside
    close = beyond + rest + strangers < few
    found = set(np.flatnonzero(close).tolist())
    # Each output that is one of a pair lies in the new one, or holds it, or is apart from it, but for few. A pair that
    # comes near because one of the two does by itself says nothing more.
    within, around, apart = (beyond < most) & ~close, (rest + strangers < most) & ~close, inside < most
    every = np.ones(len(held), dtype=bool)
    relations = (
        _Relation(
            within, within, lambda i, j: inside[i] + inside[j] + most > size, lambda i, j, n: (n, i | j), strangers
        ),
        _Relation(around, apart, lambda i, j: beyond[i] < beyond[j] + most, lambda i, j, n: (n, i & ~j), strangers),
        _Relation(
            around, every, lambda i, j: abs(sizes[i] - size - beyond[j]) < most, lambda i, j, n: (i, n | j), strangers
        ),
        _Relation(within, every, lambda i, j: abs(sizes[i] - rest[j]) < most, lambda i, j, n: (i, n & ~j), strangers),
        _Relation(apart, every, lambda i, j: abs(sizes[i] - beyond[j]) < most, lambda i, j, n: (i, j & ~n), 0),
    )
    for relation in relations:
        for one, other in _pairs(relation):
            kept = (one != other) & relation.may_be(one, other)
            one, other = _differing_by_few(held, new, one[kept], other[kept], relation, few)
            # Two that were near each other before are so whatever the new one is.
            old = replace(relation, sides=lambda i, j, _: (i, j), alone=0)
            known = {*zip(*(each.tolist() for each in _differing_by_few(held, new, one, other, old, few)), strict=True)}
            found |= {
                each for pair in zip(one.tolist(), other.tolist(), strict=True) if pair not in known for each in pair
            }
    return found


def _differing_by_few(
    held: Words, new: Words, one: Places, other: Places, relation: _Relation, few: Places
) -> tuple[Places, Places]:
    """Return the pairs of which a relation nearly holds; those who differ in a part of the words are not read on."""
    start, end = 0, min(_FIRST_WORDS, held.shape[1])
    differ = np.full(len(one), relation.alone)
    while len(one) and start < held.shape[1]:
        # Some at a time: a few of many words, or many of a few.
        for some in np.array_split(np.arange(len(one)), len(one) * (end - start) // 2**20 + 1):
            i, j, n = held[one[some], start:end], held[other[some], start:end], new[start:end]
            left, right = relation.sides(i, j, n)
            differ[some] += _counts(left ^ right)
        kept = differ < np.maximum(few[one], few[other])
        one, other, differ = one[kept], other[kept], differ[kept]
        start, end = end, min(4 * end, held.shape[1])
    return one, other


def _pairs(relation: _Relation) -> Iterator[tuple[Places, Places]]:
    firsts, seconds = np.flatnonzero(relation.firsts), np.flatnonzero(relation.seconds)
    step = max(_PAIRS // max(len(seconds), 1), 1)
    for start in range(0, len(firsts), step):
        one, other = np.meshgrid(firsts[start : start + step], seconds, indexing="ij")
        yield one.ravel(), other.ravel()


def _counts(words: Words) -> Places:
    """Return how many bits of each row are set."""
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.intp))
