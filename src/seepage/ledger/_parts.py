"""Parts of outputs held against parts of others: cells of tables, levels of categories.

Numbers of an output rest on parts of its people, and whoever reads it adds parts of one division up. So a part says
something about few people where it differs by few from a union of parts of another output; and where unions of parts of
two outputs make up a part of a third, but for few. Which parts are in a union, most of their people decide: nothing is
nearer. What is counted on some of the people is at most what is counted on all, so that most of what is nowhere near is
left out early.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.intp]
Flags = NDArray[np.bool_]

# Of how many people what makes up a part is looked at first.
_FIRST = 2**16
# More pairs of parts are counted by sorting.
_MOST_PAIRS = 2**24


@dataclass(frozen=True, eq=False)
class Divisions:
    """Ways in which outputs divide people, one row each: the part that everybody is in, from 1; 0 for nobody's.

    People stand in an order drawn once, so that the first of them are like all of them.
    """

    labels: NDArray[np.unsignedinteger]
    """Shape (divisions, people)."""
    owners: Places
    """The output of each."""
    place: Places
    """Where whoever has each place stands."""

    @classmethod
    def of(cls, outputs: Sequence[tuple[Places, Sequence[NDArray[np.unsignedinteger]]]], count: int) -> "Divisions":
        """Read outputs.

        Parameters
        ----------
        outputs : sequence of (places, divisions)
            Where the people of each stand, and the parts that they are in, from 0.
        count : int
            How many people there are.
        """
        rows = [(i, places, each) for i, (places, parts) in enumerate(outputs) for each in parts or (None,)]
        most = max((int(each.max(initial=0)) for _, _, each in rows if each is not None), default=0) + 1
        labels = np.zeros((len(rows), count), dtype=np.min_scalar_type(most))
        place = np.random.default_rng(0).permutation(count)
        for row, (_, places, each) in zip(labels, rows, strict=True):
            row[place[places]] = 1 if each is None else np.add(each, 1, dtype=labels.dtype)
        return cls(labels, np.array([owner for owner, _, _ in rows], dtype=np.intp), place)

    def followed_by(self, others: "Divisions") -> "Divisions":
        """Return these, and those of further outputs about the same people."""
        if not len(others.labels):
            return self
        owners = np.append(self.owners, others.owners + 1 + self.owners.max(initial=-1))
        return Divisions(np.concatenate([self.labels, others.labels]), owners, self.place)

    @cached_property
    def divided(self) -> Flags:
        """Which of them have more than one part."""
        return np.asarray(self._counts > 2)

    @cached_property
    def _counts(self) -> Places:
        return np.asarray(self.labels.max(axis=1, initial=0).astype(np.intp) + 1)

    @cached_property
    def _starts(self) -> Places:
        return np.append(0, np.cumsum(self._counts))

    def sizes(self, end: int) -> Places:
        """Return how many of the first people are in each part of each."""
        counted = [np.bincount(row[:end], minlength=most) for row, most in zip(self.labels, self._counts, strict=True)]
        return np.concatenate([np.empty(0, dtype=np.intp), *counted])

    @cached_property
    def _levels(self) -> list[tuple[int, Places]]:
        ends = [_FIRST, self.labels.shape[1]] if self.labels.shape[1] > _FIRST else [self.labels.shape[1]]
        return [(end, self.sizes(end)) for end in ends]

    @cached_property
    def people(self) -> Places:
        """How many people are in each."""
        sizes, starts = self._levels[-1][1], self._starts
        return np.add.reduceat(sizes, starts[:-1]) - sizes[starts[:-1]] if len(sizes) else np.empty(0, dtype=np.intp)

    def sizes_of(self, row: int) -> Places:
        """Return how many people are in each part of one, nobody's first."""
        return self._levels[-1][1][self._starts[row] : self._starts[row + 1]]

    def make_up(self, row: int, kept: Flags, new: Places, without: Flags, rows: Places, few: Places) -> Places:
        """Return which rows have a union of parts that is nearly what is left of some parts of a row.

        Parameters
        ----------
        row : int
        kept : ndarray of bool
            Which of its parts, nobody's first.
        new : ndarray of int
            The part of a new output that everybody is in.
        without : ndarray of bool
            Which of these are left out.
        rows : ndarray of int
            Which rows are asked.
        few : ndarray of int
            Of each, how many people may be in one of the two alone.
        """
        for end, sizes in self._levels:
            if not len(rows):
                break
            rest = np.empty(end, dtype=np.intp)
            rest = rest[: _left(self.labels[row], kept, new, without, rest)]
            like = self._like(rest, self.labels, rows, rows, sizes, few)
            rows, few = rows[like], few[like]
        return rows

    def _like(
        self, people: Places, labels: NDArray[np.unsignedinteger], at: Places, rows: Places, sizes: Places, few: Places
    ) -> Flags:
        """Return whether a union of parts of each row, which is one of some labels, is nearly some people."""
        found = np.empty(len(rows), dtype=np.bool_)
        _make_up(people, labels, at, self._starts[rows], self._counts[rows], sizes, few, found)
        return found

    def pairs(
        self, people: Places, rows: Places, inside: Places, few: Places, strangers: int
    ) -> Iterator[tuple[int, int]]:
        """Yield the pairs of rows that make up some people, of whom so many are in parts that lie in them.

        Parameters
        ----------
        people : ndarray of int
        rows : ndarray of int
            Which rows are asked.
        inside : ndarray of int
            Of each, how many of the people are in its parts that lie among them, but for few.
        few : ndarray of int
            Of each, by how many people it must differ.
        strangers : int
            How many more are in none of them.
        """
        # Row by row is far faster than all at once.
        labels, sizes = np.stack([self.labels[row].take(people) for row in rows]), self._levels[-1][1]
        for at, row in enumerate(rows.tolist()):
            left = np.maximum(few, few[at]) - strangers
            enough = (inside + inside[at] > len(people) - left) & (left > 0)
            others = np.flatnonzero((inside > 0) & enough & (rows != row))
            if few[at] <= inside[at] <= len(people) - few[at] and len(others):
                size = self.sizes_of(row)
                own = np.bincount(labels[at], minlength=len(size))
                within = (own > size - own) & (size - own < few[at])
                within[0] = False
                rest = np.flatnonzero(~within[labels[at]])
                found = self._like(rest, labels, others, rows[others], sizes, left[others])
                yield from ((row, int(rows[other])) for other in others[found])


@dataclass(frozen=True, eq=False)
class _Overlap:
    """How many people are in each part of a new division and each of one that is held."""

    new: Places
    held: Places
    people: Places
    """Of the pairs of parts in which somebody is; 0 stands for whoever is in no part."""
    sizes: Places
    """Of the new parts, 0 first, with whoever is in no output that is held."""
    held_sizes: Places
    strangers: Places
    """How many people of each new part are in no output that is held."""
    few: int

    @classmethod
    def of(
        cls, labels: Places, strangers: Places, row: NDArray[np.unsignedinteger], held_sizes: Places, few: int
    ) -> "_Overlap":
        width = len(held_sizes)
        if len(strangers) * width <= _MOST_PAIRS:
            table = np.zeros((len(strangers), width), dtype=np.intp)
            _count(labels, row, table)
            new, held = np.nonzero(table)
            people = table[new, held]
        else:
            pairs, people = np.unique(labels * width + row.astype(np.intp), return_counts=True)
            new, held = np.divmod(pairs, width)
        sizes = np.bincount(new, people, len(strangers)).astype(np.intp) + strangers
        return cls(new, held, people, sizes, held_sizes, strangers, few)

    @property
    def turned(self) -> "_Overlap":
        """The same with the held parts as the new ones."""
        nobody = np.zeros(len(self.held_sizes), dtype=np.intp)
        return _Overlap(self.held, self.new, self.people, self.held_sizes, self.sizes, nobody, self.few)

    @property
    def whole(self) -> "_Overlap":
        """The same with all new parts as one."""
        sizes = np.array([self.sizes[0], self.sizes[1:].sum()])
        flat = np.minimum(self.new, 1) * len(self.held_sizes) + self.held
        pairs, at = np.unique(flat, return_inverse=True)
        people = np.bincount(at.ravel(), self.people).astype(np.intp)
        new, held = np.divmod(pairs, len(self.held_sizes))
        strangers = np.array([0, self.strangers.sum()])
        return _Overlap(new, held, people, sizes, self.held_sizes, strangers, self.few)

    def added(self, which: Flags, values: Places) -> Places:
        """Return the sum of values over some pairs, for each new part."""
        return np.bincount(self.new[which], values[which], len(self.sizes)).astype(np.intp)

    @cached_property
    def both(self) -> Flags:
        """The pairs of two parts."""
        return (self.new > 0) & (self.held > 0)

    @cached_property
    def beyond(self) -> Places:
        """How many people of the held part are not in the new one."""
        return self.held_sizes[self.held] - self.people

    @cached_property
    def missed(self) -> Places:
        """How many people of each new part are in no held part."""
        return self.added(self.held == 0, self.people) + self.strangers

    @cached_property
    def near(self) -> Flags:
        """Return which new parts differ by fewer people from a union of held parts."""
        apart = self.added(self.both, np.minimum(self.people, self.beyond)) + self.missed
        chosen = self.added(self.both & (self.people > self.beyond), self.people) > 0
        chosen[0] = False
        return (apart < self.few) & chosen

    @cached_property
    def within(self) -> Flags:
        """Return the pairs of which the held part lies in the new one, but for few."""
        return self.both & (self.people > self.beyond) & (self.beyond < self.few)

    @cached_property
    def touched(self) -> Flags:
        """Return the pairs of which the held part has people of the new one, but for those in which few are."""
        order = np.lexsort((self.people, self.people > self.beyond, self.new))
        new, people = self.new[order], np.where(self.both, self.people, 0)[order]
        so_far = np.cumsum(people)
        first = np.searchsorted(new, new)
        so_far = so_far - so_far[first] + people[first]
        found = np.empty(len(order), dtype=bool)
        found[order] = (people > 0) & ((so_far >= self.few) | (self.people > self.beyond)[order])
        return found

    @cached_property
    def several(self) -> Flags:
        """Return which new parts have several held parts within, and more people beside these."""
        count, people = self.added(self.within, np.ones_like(self.people)), self.added(self.within, self.people)
        return (count > 1) & (people >= self.few) & (self.sizes - people >= self.few)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """What sizes say of each held division beside each part of a new one, shape (divisions, parts) but for the last."""

    near: Flags
    """Whether a union of its parts is nearly the new part."""
    within: Places
    """How many people of the new part are in parts that lie in it."""
    missed: Places
    """How many people of the new part are in none of its parts."""
    apart: Places
    """How many people are in its parts that have few people of the new one."""
    beyond: Places
    """How many people of the parts that have people of the new one are not in it."""
    several: Flags
    """Whether parts of it, or all of it, have several new parts within, and more people beside these."""

    @classmethod
    def of(cls, overlaps: Iterable[_Overlap]) -> "_Sizes":
        rows = [cls._row(each) for each in overlaps]
        return cls(*(np.array(column) for column in zip(*rows, strict=True)))

    @staticmethod
    def _row(one: _Overlap) -> tuple[Flags | Places | bool, ...]:
        sizes = one.held_sizes[one.held]
        apart = one.held_sizes[1:].sum() - one.added(one.both & (one.people >= one.few), sizes)
        beyond = one.added(one.touched, one.beyond)
        several = bool(one.turned.several.any() or one.turned.whole.several.any())
        return one.near, one.added(one.within, one.people), one.missed, apart, beyond, several


def near_parts(
    held: Divisions, places: Places, divisions: Sequence[NDArray[np.unsignedinteger]], few: Places
) -> set[int]:
    """Return the outputs that come near a new one by parts of some of them.

    Parameters
    ----------
    held : Divisions
    places : ndarray of int
        Those of the people of the new output; -1 for who is in no output that is held.
    divisions : sequence of ndarray of int
        The parts that they are in, from 0.
    few : ndarray of int
        By how many people each output must differ.
    """
    everybody, found = np.zeros(len(places), dtype=np.intp), set[int]()
    for parts in (everybody, *(each.astype(np.intp) for each in divisions if each.any())):
        known, count = places >= 0, int(parts.max(initial=0)) + 2
        labels = np.zeros(len(held.place), dtype=np.intp)
        labels[held.place[places[known]]] = parts[known] + 1
        strangers = np.bincount(parts[~known] + 1, minlength=count)
        if parts.any() or held.divided.any():
            found |= _Search(held, labels, strangers, few[held.owners]).found()
    return found


@dataclass(frozen=True, eq=False)
class _Search:
    """One new division, which is held against all others."""

    held: Divisions
    labels: Places
    strangers: Places
    few: Places
    """By how many people each of the others must differ."""

    @property
    def divided(self) -> bool:
        """Whether the new one has more than one part."""
        return len(self.strangers) > 2

    @cached_property
    def _sizes(self) -> Places:
        """How many people are in each part, nobody's first."""
        return np.bincount(self.labels, minlength=len(self.strangers)) + self.strangers

    def overlap(self, row: int) -> _Overlap:
        few = int(self.few[row])
        return _Overlap.of(self.labels, self.strangers, self.held.labels[row], self.held.sizes_of(row), few)

    def found(self) -> set[int]:
        """Return the outputs that come near."""
        rows = set[int]()

        def looked_at() -> Iterator[_Overlap]:
            for row in range(len(self.held.labels)):
                one = self.overlap(row)
                # Of two that are whole, sets are asked.
                if (self.divided or self.held.divided[row]) and self._near(one):
                    rows.add(row)
                yield one

        sizes, owners = _Sizes.of(looked_at()), self.held.owners
        found = np.isin(owners, owners[[*rows]])
        for one, other in self._made_of(sizes):
            if not (found[one] and found[other]):
                found |= np.isin(owners, owners[[one, other]])
        for row in range(len(owners)):
            # Two that come near already are not asked again.
            others = (np.arange(len(owners)) != row) & ~(found & found[row])
            for other in self._beside(row, others, sizes):
                found |= np.isin(owners, owners[[row, other]])
        return set(owners[found].tolist())

    def _near(self, one: _Overlap) -> bool:
        """Return whether a part of one of two, or all of it, is nearly a union of parts of the other."""
        turned = one.turned
        asked = (one, turned, turned.whole) if self.divided else (one, turned)
        return any(bool(each.near.any()) for each in asked)

    def _beside(self, row: int, others: Flags, sizes: _Sizes) -> Iterator[int]:
        """Yield which other rows leave few people, with parts of this one and of the new one."""
        if not self.divided and not self.held.divided[row]:
            others = others & self.held.divided
        few = np.maximum(self.few, self.few[row])
        # What is near by itself says nothing more with another.
        asked = ~sizes.near[row] & (sizes.missed[row] < np.minimum(few.max(), self._sizes))
        if not others.any() or not (asked[1:].any() or sizes.several[row]):
            return
        one = self.overlap(row)
        for part in (np.flatnonzero(asked[1:]) + 1).tolist():
            least = np.minimum(few, one.sizes[part])
            yield from self._making(row, one, part, least, others & ~sizes.near[:, part], sizes)
        if self.divided and sizes.several[row]:
            yield from self._several(row, one.turned, few, others, whole=False)
            yield from self._several(row, one.turned.whole, few, others, whole=True)

    def _made_of(self, sizes: _Sizes) -> Iterator[tuple[int, int]]:
        """Yield the pairs of rows of which parts make up a new part."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels, np.arange(len(self.strangers) + 1), sorter=order)
        for part in range(1, len(self.strangers)):
            people, strangers = order[starts[part] : starts[part + 1]], int(self.strangers[part])
            rows = np.flatnonzero((sizes.within[:, part] > 0) & ~sizes.near[:, part])
            if not self.divided and not self.held.divided[rows].any():
                continue
            few = np.minimum(self.few[rows], len(people) + strangers)
            if len(rows) > 1 and few.max() > strangers:
                yield from self.held.pairs(people, rows, sizes.within[rows, part], few, strangers)

    def _making(self, row: int, one: _Overlap, part: int, few: Places, others: Flags, sizes: _Sizes) -> Iterator[int]:
        """Yield the rows that, beside a new part, make up the parts of this one that have its people, or all of it."""
        missed, every = int(sizes.missed[row, part]), self._every(row)
        touched = np.zeros_like(every)
        touched[one.held[one.touched & (one.new == part)]] = True
        whole = int(self.held.people[row] - one.sizes[part]) + missed
        both = [(touched, int(sizes.beyond[row, part])), (every, whole)]
        for kept, rest in both[int((touched == every).all()) :]:
            like = self.held.divided | (self.held.people < rest + few)
            some = others & (few > missed) & (rest >= few)
            rows = np.flatnonzero(some & like & (sizes.apart[:, part] > rest - few))
            if len(rows):
                yield from self.held.make_up(row, kept, self.labels, self._only(part), rows, few[rows] - missed)

    def _several(self, row: int, one: _Overlap, few: Places, others: Flags, *, whole: bool) -> Iterator[int]:
        """Yield the rows that, beside several new parts, make up a part of this one, or all of it."""
        rest = one.sizes - one.added(one.within, one.people)
        for part in np.flatnonzero(one.several).tolist():
            without = np.zeros(len(self.strangers), dtype=bool)
            without[one.held[one.within & (one.new == part)]] = True
            rows, every = np.flatnonzero(others & (self.held.people > rest[part] - few)), self._every(row)
            kept = every if whole else np.arange(len(every)) == part
            yield from self.held.make_up(row, kept, self.labels, without, rows, few[rows])

    def _every(self, row: int) -> Flags:
        return np.asarray(np.arange(len(self.held.sizes_of(row))) > 0)

    def _only(self, part: int) -> Flags:
        return np.asarray(np.arange(len(self.strangers)) == part)


@numba.njit(cache=True, nogil=True)
def _count(one, other, table):  # type: ignore[no-untyped-def]
    """Count how many people are in each pair of parts."""
    for at in range(len(one)):
        table[one[at], other[at]] += 1


@numba.njit(cache=True, nogil=True)
def _left(labels, kept, new, without, found):  # type: ignore[no-untyped-def]
    """List who of the first people is in a part that is kept, and in no new one that is left out."""
    count = 0
    for person in range(len(found)):
        if kept[labels[person]] and not without[new[person]]:
            found[count] = person
            count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _make_up(people, labels, rows, starts, counts, sizes, few, found):  # type: ignore[no-untyped-def]
    """Say of which rows a union of parts is nearly some people."""
    inside = np.empty(counts.max(), dtype=np.intp)
    for i in range(len(rows)):
        row, start, count = rows[i], starts[i], counts[i]
        inside[:count] = 0
        apart = 0
        for person in people:
            part = labels[row, person]
            if part == 0:
                apart += 1
                if apart >= few[i]:
                    break
            else:
                inside[part] += 1
        if apart < few[i]:
            for part in range(1, count):
                apart += min(inside[part], sizes[start + part] - inside[part])
        found[i] = apart < few[i]
