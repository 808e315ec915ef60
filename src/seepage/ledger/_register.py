"""The register of outputs: what was let out without noise, about whom, and which of it comes near a new one.

Of each output its files are kept, which say what it is (formula, filter, digits), and a bitmap of its people. People
have places in the order in which they first come, and each output names its newcomers; all of it is hidden by the
ledger's key. Two outputs say something about few people where they differ by few, and so do three, where one is nearly
the union or the difference of two others: a new one is read together with those alone.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from seepage.errors import LedgerError
from seepage.ledger._buckets import BucketSums
from seepage.ledger._names import BYTES, Names

Words = NDArray[np.uint64]
Places = NDArray[np.intp]

# How many words are compared at first: people who differ are spread over all of them.
_FIRST_WORDS = 256
# How many pairs are compared at once.
_PAIRS = 65536
# The name of whoever is forgotten.
_NOBODY = np.void(bytes(BYTES))


@dataclass(frozen=True, eq=False)
class Recorded:
    """An output that was let out.

    Attributes
    ----------
    number : int
        Of its entry.
    name : str
    files : mapping from str to str
        What it consists of: texts by the names of their files.
    forgotten : int
        How many people were in it who are forgotten since: who, is not known any more.
    """

    number: int
    name: str
    files: Mapping[str, str]
    forgotten: int = field(default=0, kw_only=True)
    newcomers: NDArray[np.void] = field(repr=False)
    """Who is in no output before it, in the order of their places."""
    bits: bytes = field(repr=False)
    """Who is in it, by their places."""

    def content(self, names: Names) -> bytes:
        """Return it as a file that only whoever has the key can read."""
        told = {"name": self.name, "files": dict(self.files), "forgotten": self.forgotten}
        head = json.dumps({**told, "newcomers": len(self.newcomers)}).encode()
        whole = len(head).to_bytes(4, "little") + head + self.newcomers.tobytes() + self.bits
        return names.hidden(zlib.compress(whole, 1), f"output {self.number}")

    @classmethod
    def read(cls, content: bytes, number: int, names: Names, path: str) -> "Recorded":
        """Return what a file says."""
        shown = names.shown(content, f"output {number}")
        if shown is None:
            raise LedgerError(path, "is hidden by another key, or stands in the place of another")
        whole = zlib.decompress(shown)
        size = 4 + int.from_bytes(whole[:4], "little")
        head = json.loads(whole[4:size])
        after = size + BYTES * head["newcomers"]
        newcomers = np.frombuffer(whole[size:after], dtype=f"V{BYTES}")
        return cls(number, head["name"], head["files"], newcomers, whole[after:], forgotten=head["forgotten"])

    def places(self) -> NDArray[np.intp]:
        """Return the places of its people."""
        return np.flatnonzero(np.unpackbits(np.frombuffer(self.bits, dtype=np.uint8), bitorder="little"))

    def has(self, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether whoever has each place is in it."""
        held = np.frombuffer(self.bits, dtype=np.uint8)
        inside = places < 8 * len(held)
        inside[inside] = held[places[inside] // 8] >> (places[inside] % 8) & 1
        return inside


@dataclass(frozen=True, eq=False)
class Register:
    """All outputs that were let out."""

    outputs: tuple[Recorded, ...]

    @cached_property
    def people(self) -> NDArray[np.void]:
        """Everybody who is in some output, by their places; an empty name stands for whoever is forgotten."""
        found = [each.newcomers for each in self.outputs]
        return np.concatenate([np.empty(0, dtype=f"V{BYTES}"), *found])

    @cached_property
    def _order(self) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        keys = _keys(self.people)
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def places_of(self, names: NDArray[np.void]) -> NDArray[np.intp]:
        """Return the place of each person; -1 for who has none."""
        keys, order = self._order
        if not len(keys):
            return np.full(len(names), -1, dtype=np.intp)
        at = order[np.minimum(np.searchsorted(keys, _keys(names)), len(keys) - 1)]
        # Half of a name tells everybody apart: two of 10^9 people share one with a probability of 3%.
        return np.where(self.people[at] == names, at, -1)

    def followed_by(self, outputs: tuple[Recorded, ...]) -> "Register":
        """Return all outputs, of which these are the first; where nobody comes anew, everybody keeps their place."""
        found, count = Register(outputs), len(self.outputs)
        same = all(one is other for one, other in zip(self.outputs, outputs, strict=False)) and count <= len(outputs)
        if same and not any(len(each.newcomers) for each in outputs[count:]):
            # Sorted once for all of them.
            found.__dict__.update({name: self.__dict__[name] for name in ("people", "_order") if name in self.__dict__})
        return found

    def output(self, number: int, name: str, files: Mapping[str, str], names: NDArray[np.void]) -> Recorded:
        """Return an output about some people, to be recorded after all others."""
        names = BucketSums.of(names, {}).names
        places, count = self.places_of(names), len(self.people)
        new = places < 0
        places = np.concatenate([places[~new], count + np.arange(new.sum())])
        return Recorded(number, name, files, names[new], packed(places, count + int(new.sum())))

    def changed(self, who: Mapping[bytes, bytes]) -> Iterator[Recorded]:
        """Yield outputs that change when some people get the names of others, or none."""
        old, new = (np.frombuffer(b"".join(each), dtype=f"V{BYTES}") for each in (who.keys(), who.values()))
        at, nobody = self.places_of(old), new == _NOBODY
        to = np.where(nobody, -1, self.places_of(new))
        known = at >= 0
        at, to, new, nobody = at[known], to[known], new[known], nobody[known]
        moved = nobody | (to >= 0)
        start = 0
        for each in self.outputs:
            end, newcomers = start + len(each.newcomers), each.newcomers.copy()
            here = (at >= start) & (at < end)
            newcomers[at[here] - start] = np.where(moved, _NOBODY, new)[here]
            leave = moved & each.has(at)
            bits = _exchanged(each.bits, at[leave], to[leave & (to >= 0)])
            if bits != each.bits or here.any():
                forgotten = each.forgotten + int((leave & nobody).sum())
                yield replace(each, newcomers=newcomers, bits=bits, forgotten=forgotten)
            start = end

    def renamed(self, names: Names) -> Iterator[Recorded]:
        """Yield all outputs under the names that people have by a new key."""
        for each in self.outputs:
            newcomers = names.renamed(each.newcomers) if len(each.newcomers) else each.newcomers
            kept = each.newcomers != _NOBODY
            yield replace(each, newcomers=np.where(kept, newcomers, each.newcomers))

    @cached_property
    def words(self) -> Words:
        """Who is in which output: a row each, a bit a person."""
        wide = -(-max(len(self.people), 1) // 64) * 8
        found = np.zeros((len(self.outputs), wide), dtype=np.uint8)
        for row, each in zip(found, self.outputs, strict=True):
            row[: len(each.bits)] = np.frombuffer(each.bits, dtype=np.uint8)
        return found.view(np.uint64)

    def near(self, names: NDArray[np.void], fewer_than: int, beside: Iterable[NDArray[np.void]] = ()) -> list[Recorded]:
        """Return the outputs that say something about fewer people than that, together with a new one.

        Such as differ from it, or it from the union or the difference of two, or one of them from the union or the
        difference of it and another, by fewer people. Pairs are left out of which two come near by themselves. One of
        two may be an output that is let out beside the new one.
        """
        if not len(self.outputs):
            return []
        register = self
        for each in beside:
            register = register.followed_by((*register.outputs, register.output(-1, "", {}, each)))
        found = register._near(names, fewer_than)
        return [each for each, is_near in zip(self.outputs, found, strict=False) if is_near]

    def _near(self, names: NDArray[np.void], fewer_than: int) -> list[bool]:
        """Return which outputs come near a new one."""
        places = self.places_of(BucketSums.of(names, {}).names)
        # Whoever is in no output before makes it differ from all of them.
        new = packed(places[places >= 0], 64 * self.words.shape[1])
        # Outputs about the very same people come near together.
        _, firsts, same = np.unique(
            [blake2b(each.bits.rstrip(b"\0")).hexdigest() for each in self.outputs],
            return_index=True,
            return_inverse=True,
        )
        strangers = int((places < 0).sum())
        # No two of them differ by more people than there are.
        fewer_than = min(fewer_than, len(self.people) + strangers + 1)
        found = _near(self.words[firsts], np.frombuffer(new, dtype=np.uint64), strangers, fewer_than)
        return [group in found for group in same.tolist()]


def packed(places: NDArray[np.intp], count: int) -> bytes:
    """Return a bitmap with some places set."""
    bits = np.zeros(-(-count // 8) * 8, dtype=np.uint8)
    bits[places] = 1
    return np.packbits(bits, bitorder="little").tobytes()


def _exchanged(bits: bytes, leave: Places, come: Places) -> bytes:
    """Return a bitmap in which some places are not set any more, and others are: a few, of many that stay."""
    found = np.frombuffer(bits, dtype=np.uint8).copy()
    found.resize(max(len(found), int(come.max(initial=-1)) // 8 + 1))
    np.bitwise_and.at(found, leave // 8, ~(1 << (leave % 8)).astype(np.uint8))
    np.bitwise_or.at(found, come // 8, (1 << (come % 8)).astype(np.uint8))
    return found.tobytes()


def _keys(names: NDArray[np.void]) -> NDArray[np.uint64]:
    return np.ascontiguousarray(np.ascontiguousarray(names).view(np.uint64).reshape(len(names), 2)[:, 0])


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


def _near(held: Words, new: Words, strangers: int, few: int) -> set[int]:
    """Return the rows that come near a new one, alone or in pairs."""
    if not len(held):
        return set()
    sizes, inside, size = _counts(held), _counts(held & new), int(_counts(new[None])[0])
    beyond, rest = sizes - inside, size - inside
    close = beyond + rest + strangers < few
    found = set(np.flatnonzero(close).tolist())
    # Each output that is one of a pair lies in the new one, or holds it, or is apart from it, but for few. A pair that
    # comes near because one of the two does by itself says nothing more.
    within, around, apart = (beyond < few) & ~close, (rest + strangers < few) & ~close, inside < few
    every = np.ones(len(held), dtype=bool)
    relations = (
        _Relation(
            within, within, lambda i, j: inside[i] + inside[j] + few > size, lambda i, j, n: (n, i | j), strangers
        ),
        _Relation(around, apart, lambda i, j: beyond[i] < beyond[j] + few, lambda i, j, n: (n, i & ~j), strangers),
        _Relation(
            around, every, lambda i, j: abs(sizes[i] - size - beyond[j]) < few, lambda i, j, n: (i, n | j), strangers
        ),
        _Relation(within, every, lambda i, j: abs(sizes[i] - rest[j]) < few, lambda i, j, n: (i, n & ~j), strangers),
        _Relation(apart, every, lambda i, j: abs(sizes[i] - beyond[j]) < few, lambda i, j, n: (i, j & ~n), 0),
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
    held: Words, new: Words, one: Places, other: Places, relation: _Relation, few: int
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
        kept = differ < few
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
