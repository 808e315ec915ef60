"""The register of outputs: what was let out without noise, about whom, and which of it comes near a new one.

Of each output its files are kept, which say what it is (formula, filter, digits), a bitmap of its people, and how its
numbers divide them. People have places in the order in which they first come, and each output names its newcomers; all
of it is hidden by the ledger's key. Two outputs say something about few people where they, or parts of them, differ by
few, and so do three, where one is nearly the union or the difference of two others: a new one is read together with
those alone.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Column
from seepage.errors import InputError
from seepage.ledger._buckets import BucketSums
from seepage.ledger._names import BYTES, Names
from seepage.ledger._parts import Divisions, near_parts
from seepage.ledger._wholes import Places, Words, near_wholes

Parts = NDArray[np.unsignedinteger]

# The name of whoever is forgotten.
_NOBODY = np.void(bytes(BYTES))


@dataclass(frozen=True, eq=False)
class OutputPeople:
    """Whom an output is about, and how its numbers divide them.

    Attributes
    ----------
    ids : iterable
    divisions : iterable of sequences
        Ways in which its numbers rest on parts of the people, such as the cells of a table, or the levels of a category
        in a regression: of each way a value for each person, which people of one part have in common.
    hidden_by : int, default=0
        By how many people another output must differ from it for each of them to be hidden: more for many numbers.
    """

    ids: Iterable[object]
    divisions: Iterable[Column | Sequence[object]] = ()
    hidden_by: int = 0

    @classmethod
    def of(cls, given: "OutputPeople | Iterable[object]") -> "OutputPeople":
        """Return it as it is, or of ids alone."""
        return given if isinstance(given, OutputPeople) else cls(given)

    def named(self, names: Names) -> "NamedPeople":
        """Return the same by the names that people have in a ledger."""
        found = names.of(self.ids)
        parts = tuple(np.unique(np.asarray(each), return_inverse=True)[1].ravel() for each in self.divisions)
        for each in parts:
            if len(each) != len(found):
                raise InputError(f"divisions has {len(each):,} values for {len(found):,} people: give one for each.")
        smallest = tuple(each.astype(np.min_scalar_type(int(each.max(initial=0)))) for each in parts)
        return NamedPeople(found, smallest, self.hidden_by)


@dataclass(frozen=True, eq=False)
class NamedPeople:
    """Whom an output is about, by their names, and of each way in which they are divided the part of each, from 0."""

    names: NDArray[np.void]
    divisions: tuple[Parts, ...]
    hidden_by: int


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
    divisions: tuple[Parts, ...] = field(default=(), repr=False)
    """Ways in which its numbers divide them: the part of each of its people, in the order of their places."""
    hidden_by: int = 0
    """By how many people another output must differ from it for each of them to be hidden."""

    def content(self) -> bytes:
        """Return it as the bytes of a file."""
        told = {"name": self.name, "files": dict(self.files), "forgotten": self.forgotten, "hidden_by": self.hidden_by}
        counts = {"newcomers": len(self.newcomers), "bits": len(self.bits), "people": len(self.places())}
        head = json.dumps({**told, **counts, "divisions": [each.dtype.str for each in self.divisions]}).encode()
        parts = b"".join(each.tobytes() for each in self.divisions)
        # As it is: how short it packs would tell something about the values that people are divided by.
        return len(head).to_bytes(4, "little") + head + self.newcomers.tobytes() + self.bits + parts

    @classmethod
    def read(cls, whole: bytes, number: int) -> "Recorded":
        """Return what a file says."""
        size = 4 + int.from_bytes(whole[:4], "little")
        head = json.loads(whole[4:size])
        kinds = [f"V{BYTES}", "u1", *head["divisions"]]
        counts = [head["newcomers"], head["bits"], *[head["people"]] * len(head["divisions"])]
        found = []
        for kind, count in zip(kinds, counts, strict=True):
            found.append(np.frombuffer(whole, kind, count, size))
            size += found[-1].nbytes
        newcomers, bits, *divisions = found
        return cls(
            number,
            head["name"],
            head["files"],
            newcomers,
            bits.tobytes(),
            tuple(divisions),
            head["hidden_by"],
            forgotten=head["forgotten"],
        )

    def places(self) -> NDArray[np.intp]:
        """Return the places of its people."""
        bits = np.unpackbits(np.frombuffer(self.bits, dtype=np.uint8), bitorder="little")
        return np.flatnonzero(bits.view(np.bool_))

    def has(self, places: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether whoever has each place is in it."""
        held = np.frombuffer(self.bits, dtype=np.uint8)
        inside = places < 8 * len(held)
        inside[inside] = held[places[inside] // 8] >> (places[inside] % 8) & 1
        return inside

    def is_same(self, other: "Recorded") -> bool:
        """Return whether it is the same output about the same people, as far as it is known about whom it was."""
        # Of one that held people who are forgotten since, nobody knows whether it was the same.
        told = (self.name, dict(self.files), 0) == (other.name, dict(other.files), self.forgotten)
        parts, others = self.divisions, other.divisions
        return (
            told
            and np.array_equal(self.places(), other.places())
            and len(parts) == len(others)
            # Of whoever is one person with another by now, a part may be gone.
            and all(np.array_equal(_numbered(one), _numbered(two)) for one, two in zip(parts, others, strict=True))
        )

    def exchanged(self, leave: Places, to: Places) -> "Recorded":
        """Return it with others in the places of some of its people, or nobody: a few, of many who stay."""
        come = to >= 0
        bits = _exchanged(self.bits, leave, to[come])
        if not self.divisions:
            return replace(self, bits=bits)
        old, new = self.places(), replace(self, bits=bits).places()
        # Whoever comes into the place of somebody is in their part; who was there before stays in their own.
        from_ = dict(zip(to[come].tolist(), leave[come].tolist(), strict=True))
        stayed = np.isin(new, old)
        source = new.copy()
        source[~stayed] = [from_[place] for place in new[~stayed].tolist()]
        at = np.searchsorted(old, source)
        return replace(self, bits=bits, divisions=tuple(each[at] for each in self.divisions))


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
            if "_divisions" in self.__dict__:
                found.__dict__["_divisions"] = self._divisions.followed_by(found._divisions_of(outputs[count:]))
        return found

    def output(self, number: int, name: str, files: Mapping[str, str], people: NamedPeople) -> Recorded:
        """Return an output about some people, to be recorded after all others."""
        names = BucketSums.of(people.names, {}).names
        bare = Recorded(number, name, files, names[self.places_of(names) < 0], b"")
        # Where nobody comes anew, everybody has a place.
        whole = self.followed_by((*self.outputs, bare)) if len(bare.newcomers) else self
        # Two ids may be one person, who is in one part.
        places, first = np.unique(whole.places_of(people.names), return_index=True)
        divisions = tuple(each[first] for each in people.divisions)
        return replace(bare, bits=packed(places, len(whole.people)), divisions=divisions, hidden_by=people.hidden_by)

    def changed(self, who: Mapping[bytes, bytes]) -> Iterator[Recorded]:
        """Yield all outputs as they are when some people get the names of others, or none.

        Also those that stay as they are: which were written anew would tell in which these people were.
        """
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
            forgotten = each.forgotten + int((leave & nobody).sum())
            exchanged = each.exchanged(at[leave], to[leave]) if leave.any() else each
            yield replace(exchanged, newcomers=newcomers, forgotten=forgotten)
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

    @cached_property
    def _divisions(self) -> Divisions:
        """How each output divides its people."""
        return self._divisions_of(self.outputs)

    def _divisions_of(self, outputs: Sequence[Recorded]) -> Divisions:
        return Divisions.of([(each.places(), each.divisions) for each in outputs], len(self.people))

    def near(self, people: NamedPeople, fewer_than: int, beside: Iterable[NamedPeople] = ()) -> list[Recorded]:
        """Return the outputs that say something about fewer people than that, together with a new one.

        Such as differ from it, or it from the union or the difference of two, or one of them from the union or the
        difference of it and another, by fewer people; or parts of them do. Pairs are left out of which two come near by
        themselves. One of two may be an output that is let out beside the new one.
        """
        if not len(self.outputs):
            return []
        register = self
        for each in beside:
            register = register.followed_by((*register.outputs, register.output(-1, "", {}, each)))
        found = register._near(people, fewer_than)
        return [each for i, each in enumerate(self.outputs) if i in found]

    def _near(self, people: NamedPeople, fewer_than: int) -> set[int]:
        """Return which outputs come near a new one."""
        first = np.unique(_keys(people.names), return_index=True)[1]
        places = self.places_of(people.names[first])
        strangers = int((places < 0).sum())
        # No two of them differ by more people than there are.
        few = np.maximum([each.hidden_by for each in self.outputs], max(fewer_than, people.hidden_by))
        few = np.minimum(few, len(self.people) + strangers + 1)
        # Whoever is in no output before makes it differ from all of them.
        new = np.frombuffer(packed(places[places >= 0], 64 * self.words.shape[1]), dtype=np.uint64)
        # Outputs about the very same people come near together.
        _, firsts, same = np.unique(
            [blake2b(each.bits.rstrip(b"\0")).hexdigest() for each in self.outputs],
            return_index=True,
            return_inverse=True,
        )
        most = np.zeros(len(firsts), dtype=np.intp)
        np.maximum.at(most, same, few)
        wholes = near_wholes(self.words[firsts], new, strangers, most)
        found = {i for i, group in enumerate(same.tolist()) if group in wholes}
        divisions = [each[first] for each in people.divisions]
        if divisions or any(each.divisions for each in self.outputs):
            found |= near_parts(self._divisions, places, divisions, few)
        return found


def _numbered(parts: Parts) -> Places:
    """Return parts as they are numbered without gaps."""
    return np.unique(parts, return_inverse=True)[1]


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
