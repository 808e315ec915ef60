"""People's values in arrays and bytes as they are, in single precision, or rounded; and rows and runs of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.inspection._people import TELLING, MeasuredColumn

_CHUNK = 1 << 20
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SIZE = 22
# Fewer values may be a coincidence, or a minimum.
FEWEST = 6
# A run of values is none by chance from this many bits on.
_SURE = 40.0
_LONGEST_RUN = 128
_WIDTH = 6


@dataclass(frozen=True, eq=False)
class Hits:
    """Which columns' values were found, and of how many people."""

    columns: tuple[str, ...]
    people: int


class Sieve:
    """A table that tells at once of most numbers that they are none of some."""

    def __init__(self, patterns: "NDArray[np.uint64]") -> None:
        self._table = np.zeros(1 << _SIZE, dtype=bool)
        self._table[self._places(patterns)] = True

    def _places(self, patterns: "NDArray[np.uint64]") -> "NDArray[np.uint64]":
        return (patterns * _ODD) >> np.uint64(64 - _SIZE)

    def passed(self, patterns: "NDArray[np.uint64]") -> "NDArray[np.bool_]":
        """Return which may be some of them."""
        return self._table[self._places(patterns)]


def flat(array: "NDArray[Any]") -> "NDArray[Any]":
    """Return an array as one vector, without a copy if that can be."""
    return (array.T if array.flags.f_contiguous else array).reshape(-1)


def chunks(vector: "NDArray[Any]", check: Callable[[], None]) -> Iterator[Array]:
    """Yield a vector as floats, piece by piece, as long as a check allows."""
    for start in range(0, len(vector), _CHUNK):
        check()
        part = vector[start : start + _CHUNK]
        # Minus zero is zero.
        yield part.astype(np.float64) + 0.0


class Lookup:
    """The values of columns that tell whose they are, to be found among others."""

    def __init__(self, columns: tuple[MeasuredColumn, ...]) -> None:
        self.columns = [each for each in columns if each.telling.sum() >= FEWEST]
        values, numbers, people = [], [], []
        for place, column in enumerate(self.columns):
            known = np.flatnonzero(column.telling)
            single = column.values[known].astype(np.float32).astype(np.float64)
            for each in (column.values[known] + 0.0, single + 0.0):
                values.append(each)
                numbers.append(np.full(len(known), place, dtype=np.int32))
                people.append(known.astype(np.int32))
        self._values = np.concatenate(values) if values else np.empty(0)
        order = np.argsort(self._values, kind="stable")
        self._values = self._values[order]
        self._numbers = np.concatenate(numbers)[order] if values else np.empty(0, dtype=np.int32)
        self._people = np.concatenate(people)[order] if values else np.empty(0, dtype=np.int32)

    @cached_property
    def _sieve(self) -> Sieve:
        return Sieve(self._values.view(np.uint64))

    def found(self, array: "NDArray[Any]", check: Callable[[], None]) -> Hits | None:
        """Return whose values an array holds, more often than by chance."""
        if not self.columns:
            return None
        hit: list[Array] = []
        for part in chunks(flat(array), check):
            may = part[self._sieve.passed(part.view(np.uint64))]
            if len(may):
                places = np.searchsorted(self._values, may)
                near = self._values[np.minimum(places, len(self._values) - 1)]
                hit.append(np.unique(may[near == may]))
        return self._judged(np.unique(np.concatenate(hit)), array) if hit else None

    def _judged(self, values: Array, array: "NDArray[Any]") -> Hits | None:
        if len(values) < FEWEST:
            return None
        starts = np.searchsorted(self._values, values, "left")
        stops = np.searchsorted(self._values, values, "right")
        entries = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
        counts = np.zeros(len(self.columns), dtype=int)
        pairs = np.unique(np.column_stack([self._numbers[entries], np.repeat(values, stops - starts)]), axis=0)
        np.add.at(counts, pairs[:, 0].astype(int), 1)
        kept = [i for i, count in enumerate(counts) if count >= FEWEST and count >= self._needed(i, array)]
        if not kept:
            return None
        whose = entries[np.isin(self._numbers[entries], kept)]
        # A value that many share is hardly anybody's: people are no more than values.
        people = min(len(np.unique(self._people[whose])), int(counts[kept].sum()))
        return Hits(tuple(self.columns[i].name for i in kept), people)

    def _needed(self, place: int, array: "NDArray[Any]") -> float:
        """Return how many values must be found to be no chance: five times as many as lie on each other, and some."""
        column = self.columns[place]
        if column.density == 0.0:
            return FEWEST
        vector = flat(array)
        part = np.unique(vector[: 4 * _CHUNK].astype(np.float64))
        low, high = column.distinct[[0, -1]]
        part = part[(part >= low) & (part <= high)]
        steps = (part - low) / column.step
        possible = int((np.abs(steps - np.rint(steps)) < 1e-6).sum()) * max(len(vector) / (4 * _CHUNK), 1.0)
        return FEWEST + 5.0 * column.density * possible

    def few(self, array: "NDArray[Any]") -> bool:
        """Return whether a short array holds several values of one person, or the ends of columns."""
        vector = np.unique(flat(array).astype(np.float64))
        places = np.searchsorted(self._values, vector)
        hit = vector[self._values[np.minimum(places, len(self._values) - 1)] == vector] if self.columns else vector[:0]
        if not len(hit):
            return False
        entries = np.flatnonzero(np.isin(self._values, hit))
        certain = entries[[self.columns[i].density * len(vector) < 0.01 for i in self._numbers[entries]]]
        pairs = np.unique(np.column_stack([self._people[certain], self._numbers[certain]]), axis=0)
        return bool(len(pairs)) and int(np.unique(pairs[:, 0], return_counts=True)[1].max()) >= 2


class Sets:
    """Columns whose single values tell nothing, and all of them together do: the times of events, each once."""

    def __init__(self, columns: tuple[MeasuredColumn, ...]) -> None:
        self._columns = [each for each in columns if each.telling.sum() < FEWEST and not each.is_progression]

    def found(self, array: "NDArray[Any]") -> Hits | None:
        """Return of which column an array holds values and nothing else."""
        if not 2 * FEWEST <= array.size <= _CHUNK:
            return None
        values = np.unique(flat(array).astype(np.float64))
        for column in self._columns:
            if len(values) <= len(column.distinct) and column.distinct[0] <= values[0] <= column.distinct[-1]:
                inside = np.isin(values, column.distinct)
                if inside.mean() > 0.98 and column.surprise(values[inside]) >= _SURE + 20.0:
                    return Hits((column.name,), int(np.isin(column.values, values).sum()))
        return None


class Runs:
    """Parts of rows, and of columns in their order: what is telling together though no value is."""

    def __init__(self, rows: Array, columns: tuple[MeasuredColumn, ...]) -> None:
        known = np.concatenate([rows[np.isfinite(rows)], *(each.distinct for each in columns)]) + 0.0
        self._sieve = Sieve(known.view(np.uint64))
        self._columns: list[tuple[str, int, NDArray[np.uint64], NDArray[np.intp]]] = []
        width = rows.shape[1] - _WIDTH + 1
        if width > 0:
            # Where most values differ from the one before.
            changes = (rows[:, 1:] != rows[:, :-1]).astype(np.int8)
            varied = sum(changes[:, i : i + width] for i in range(_WIDTH - 1)) >= _WIDTH // 2
            hashes = hashed(rows[:, i : i + width] for i in range(_WIDTH))
            whose = np.broadcast_to(np.arange(len(rows))[:, None], hashes.shape)
            self._add("", _WIDTH, hashes[varied], whose[varied], shared=2)
        for column in columns:
            if column.density <= TELLING or column.is_progression or column.bits <= 0:
                continue
            length, values = max(_WIDTH, int(np.ceil(_SURE / column.bits))), column.values
            count = len(values) - length + 1
            if length <= _LONGEST_RUN and count > 0:
                changes = np.concatenate([[0], np.cumsum(values[1:] != values[:-1])])
                varied = changes[length - 1 :] > changes[:count]
                hashes = hashed(values[i : i + count] for i in range(length))
                self._add(column.name, length, hashes[varied], np.flatnonzero(varied), shared=1)

    def _add(
        self, name: str, length: int, hashes: "NDArray[np.uint64]", whose: "NDArray[np.intp]", *, shared: int
    ) -> None:
        found, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        kept = counts <= shared
        if kept.any():
            self._columns.append((name, length, found[kept], whose[first[kept]]))

    def found(self, array: "NDArray[Any]", check: Callable[[], None]) -> Hits | None:
        """Return whose rows, or runs of values, an array holds in their order."""
        # Row by row, and column by column: the memory may go either way.
        views = (
            [array.reshape(-1)] if array.ndim < 2 or min(array.shape) < 2 else [array.reshape(-1), array.T.reshape(-1)]
        )
        people: set[int] = set()
        names: dict[str, None] = {}
        for vector in views:
            for part in chunks(vector, check):
                inside = self._sieve.passed(part.view(np.uint64))
                if np.count_nonzero(inside) < _WIDTH:
                    continue
                for name, length, hashes, whose in self._columns:
                    hits = self._whose(part, inside, length, hashes, whose)
                    if len(hits) and (name or len(hits) >= FEWEST):
                        names[name or "several columns"] = None
                        people.update((hits[:, None] + np.arange(length if name else 1)).reshape(-1).tolist())
        return Hits(tuple(names), len(people)) if names else None

    @staticmethod
    def _whose(
        part: Array,
        inside: "NDArray[np.bool_]",
        length: int,
        hashes: "NDArray[np.uint64]",
        whose: "NDArray[np.intp]",
    ) -> "NDArray[np.intp]":
        if len(part) < length:
            return whose[:0]
        sums = np.concatenate([[0], np.cumsum(inside, dtype=np.int32)])
        starts = np.flatnonzero(sums[length:] - sums[:-length] == length)
        if not len(starts):
            return whose[:0]
        found = hashed(part[starts + i] for i in range(length))
        places = np.minimum(np.searchsorted(hashes, found), len(hashes) - 1)
        return np.unique(whose[places[hashes[places] == found]])


def hashed(columns: Any) -> "NDArray[np.uint64]":
    """Return one number for each sequence of floats, given value by value."""
    total: Any = np.uint64(7)
    with np.errstate(over="ignore"):
        for each in columns:
            total = (total ^ (each + 0.0).view(np.uint64)) * _ODD
            total = total ^ (total >> np.uint64(29))
    return np.asarray(total)


_Known = dict[tuple[str, str, str], tuple[NDArray[Any], NDArray[np.intp]]]


class BytePatterns:
    """The bytes that telling values have in any type and byte order, to be found wherever they lie."""

    def __init__(self, columns: tuple[MeasuredColumn, ...], named: dict[str, tuple[str, int]]) -> None:
        self._eight: _Known = {}
        self._four: _Known = {}
        for name in {name for name, _ in named.values()}:
            ends = [(text.encode()[-8:], person) for text, (of, person) in named.items() if of == name]
            told = [(int.from_bytes(end, "little"), person) for end, person in ends if len(end) == 8]
            if told:
                ends_of = np.array([pattern for pattern, _ in told], dtype=np.uint64)
                self._eight[name, "text", "<"] = (ends_of, np.array([person for _, person in told]))
        for column in columns:
            values = np.where(column.telling, column.values, np.nan)
            whole = np.isfinite(values) & (np.abs(values) < 2**62) & (values == np.rint(values))
            for code in ("f8", "i8", "f4", "i4"):
                # Small whole numbers are everywhere.
                fits = np.isfinite(values) & (values != 0)
                if code[0] == "i":
                    fits = whole & (np.abs(values) >= 2**12) & (np.abs(values) < 2.0 ** (8 * int(code[1]) - 1))
                kept = np.flatnonzero(fits)
                if len(np.unique(values[kept])) < FEWEST:
                    continue
                for order in "<>":
                    into = self._eight if code[1] == "8" else self._four
                    patterns = values[kept].astype(f"{order}{code}").view(f"<u{code[1]}")
                    into[column.name, code, order] = (patterns, kept)

    def found(self, data: memoryview, check: Callable[[], None]) -> Hits | None:
        """Return whose values some bytes hold, at any place."""
        names: dict[str, None] = {}
        people: set[int] = set()
        for size, known in ((8, self._eight), (4, self._four)):
            if not known or len(data) < size:
                continue
            every = np.unique(np.concatenate([patterns for patterns, _ in known.values()]))
            sieve, hit = Sieve(every.astype(np.uint64)), [every[:0]]
            for start in range(0, len(data), 8 * _CHUNK):
                check()
                part = data[start : start + 8 * _CHUNK + size - 1]
                if not np.any(np.frombuffer(part, np.uint8)):
                    continue
                for offset in range(min(size, len(part) - size + 1)):
                    view = np.frombuffer(part, f"<u{size}", (len(part) - offset) // size, offset)
                    may = view[sieve.passed(view.astype(np.uint64))]
                    hit.append(np.unique(may[np.isin(may, every)]))
            values = np.unique(np.concatenate(hit))
            for (name, _, _), (patterns, kept) in known.items():
                inside = np.isin(patterns, values)
                # By chance, as many are found as patterns and places meet.
                chance = len(every) * len(data) / 2.0 ** (8 * size)
                if len(np.unique(patterns[inside])) >= FEWEST + 5 * chance:
                    names[name] = None
                    people.update(kept[inside].tolist())
        return Hits(tuple(names), len(people)) if names else None
