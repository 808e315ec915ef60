"""People's values in arrays as they are, in single precision, rounded or in another unit; and runs of values."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
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
# In bits, how unlikely a coincidence has to be; of values without regard to their order it takes more.
SURE = 40.0
_SURE_OF_VALUES = 60.0
_LONGEST_RUN = 128
_FEW_COLUMNS = 64
_SINGLE = 2.0**-22
_FORMS = ("<f8", ">f8", "<f4", ">f4", "<i8", ">i8", "<i4", ">i4")
# The chance of a coincidence is taken from the first so many values.
_SAMPLE = 4 << 20


@dataclass(frozen=True, eq=False)
class Hits:
    """The columns whose values are in an array, and the number of people."""

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
        # Minus zero is zero.
        yield vector[start : start + _CHUNK].astype(np.float64) + 0.0


def _windows(data: memoryview, form: str, check: Callable[[], None]) -> Iterator[Array]:
    """Yield the numbers of a type that begin at any byte, part by part."""
    size = int(form[2])
    for start in range(0, len(data) - size + 1, _CHUNK):
        check()
        part = np.frombuffer(data[start : start + _CHUNK + size - 1], np.uint8)
        if not part.any():
            continue
        windows = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(part, size))
        with np.errstate(invalid="ignore"):
            yield windows.view(form)[:, 0].astype(np.float64) + 0.0


class KnownValues:
    """All values of some columns, in double and single precision, to be recognized among others."""

    def __init__(self, columns: tuple[MeasuredColumn, ...]) -> None:
        self.columns = [column for column in columns if not column.is_progression]
        values, numbers, people = [np.empty(0)], [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
        for place, column in enumerate(self.columns):
            known = np.flatnonzero(np.isfinite(column.values)).astype(np.int32)
            double = column.values[known]
            with np.errstate(over="ignore"):
                single = double.astype(np.float32).astype(np.float64)
            values += [double + 0.0, single + 0.0]
            numbers += [np.full(2 * len(known), place, dtype=np.int32)]
            people += [known, known]
        every = np.concatenate(values)
        order = np.argsort(every, kind="stable")
        self._values = every[order]
        self._numbers, self._people = np.concatenate(numbers)[order], np.concatenate(people)[order]
        self._sieve = Sieve(self._values.view(np.uint64))

    def hits(self, array: "NDArray[Any]", check: Callable[[], None]) -> Hits | None:
        """Return whose values an array holds, more of them than by coincidence."""
        sample = flat(array)[:_SAMPLE].astype(np.float64)
        is_single = array.dtype == np.float32
        return self._judged(chunks(flat(array), check), sample, array.size / max(len(sample), 1), is_single=is_single)

    def hits_in_bytes(self, data: memoryview, check: Callable[[], None]) -> Hits | None:
        """Return whose values some bytes hold, as numbers of any type at any place."""
        names, people = dict[str, None](), 0
        for form in _FORMS:
            if len(data) >= int(form[2]):
                first = next(_windows(data, form, check), np.empty(0))
                times, is_single = len(data) / max(len(first), 1), form[1:] == "f4"
                hits = self._judged(_windows(data, form, check), first, times, is_single=is_single)
                names |= dict.fromkeys(hits.columns if hits else ())
                people = max(people, hits.people if hits else 0)
        return Hits(tuple(names), people) if names else None

    def _judged(self, parts: Iterable[Array], some: Array, times: float, *, is_single: bool) -> Hits | None:
        """Return whose values are in some parts, more than by coincidence in so many times a sample of the numbers."""
        matched = [np.unique(part[self._sieve.passed(part.view(np.uint64))]) for part in parts]
        entries = self._entries(np.unique(np.concatenate(matched)) if matched else np.empty(0))
        if len(entries) < FEWEST:
            return None
        names, people, some = list[str](), list[NDArray[np.int32]](), np.unique(some)
        for place, column in enumerate(self.columns):
            mine = entries[self._numbers[entries] == place]
            values = np.unique(self._values[mine])
            if len(values) >= FEWEST and _surprise(column, values, some, times, is_single=is_single) >= _SURE_OF_VALUES:
                names.append(column.name)
                # Of a value that many share, it is hardly known whose it is.
                people.append(np.unique(self._people[mine])[: len(values) if column.density <= TELLING else None])
        return Hits(tuple(names), len(np.unique(np.concatenate(people)))) if names else None

    def _entries(self, values: Array) -> "NDArray[np.intp]":
        """Return the places of values among those that are known."""
        starts, stops = np.searchsorted(self._values, values, "left"), np.searchsorted(self._values, values, "right")
        counts = stops - starts
        return np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())

    def of_one_person(self, array: "NDArray[Any]") -> bool:
        """Return whether a short array holds several values of one person."""
        values = np.unique(flat(array).astype(np.float64))
        entries = self._entries(values)
        chances = np.ones(len(entries))
        for place, column in enumerate(self.columns):
            mine = self._numbers[entries] == place
            chances[mine] = column.chances(self._values[entries[mine]])
        rare = entries[chances * len(values) < 0.01]
        pairs = np.unique(np.column_stack([self._people[rare], self._numbers[rare]]), axis=0)
        return len(pairs) > 0 and int(np.unique(pairs[:, 0], return_counts=True)[1].max()) >= 2


def _surprise(column: MeasuredColumn, values: Array, some: Array, times: float, *, is_single: bool) -> float:
    """Return in bits how unlikely so many hits are among numbers on the column's grid (Chernoff's bound by chance)."""
    low, high = column.distinct[[0, -1]]
    some = some[(some >= low) & (some <= high)]
    if column.step > 0.0:
        steps = (some - low) / column.step
        # In single precision, numbers lie next to the grid.
        near = max(1e-6, _SINGLE * float(np.abs(column.distinct[[0, -1]]).max()) / column.step)
        some = some[np.abs(steps - np.rint(steps)) < near]
    # In single precision, there are 2^23 numbers between powers of two.
    least = min(len(column.distinct) * _SINGLE, 1.0) if is_single else 0.0
    tries, hits, bits = np.maximum(column.chances(some), least), np.maximum(column.chances(values), least), 0.0
    for chance in np.unique(hits):
        hit = int((hits == chance).sum())
        share = min(hit / max(times * int((tries == chance).sum()), hit), 1.0 - 1e-12)
        if share > chance:
            odds = share * np.log2(share / chance) + (1 - share) * np.log2((1 - share) / max(1 - chance, 1e-12))
            bits += hit / share * float(odds)
    return bits


class Runs:
    """Values that follow each other in the order of the rows, of columns whose single values say nothing."""

    def __init__(self, columns: tuple[MeasuredColumn, ...]) -> None:
        self._columns: list[tuple[str, int, NDArray[np.uint64], NDArray[np.intp]]] = []
        known = [np.empty(0)]
        for column in columns:
            length = max(FEWEST, int(np.ceil(SURE / column.bits))) if column.bits > 0 else _LONGEST_RUN + 1
            count, values = len(column.values) - length + 1, column.values
            if length > _LONGEST_RUN or count <= 0:
                continue
            known.append(column.distinct + 0.0)
            changes = np.concatenate([[0], np.cumsum(values[1:] != values[:-1])])
            varied = changes[length - 1 :] > changes[:count]
            hashes = hashed(values[i : i + count] for i in range(length))
            once, first, times = np.unique(hashes[varied], return_index=True, return_counts=True)
            places = np.flatnonzero(varied)[first[times == 1]]
            self._columns.append((column.name, length, once[times == 1], places))
        self._sieve = Sieve(np.concatenate(known).view(np.uint64))

    def hits(self, array: "NDArray[Any]", check: Callable[[], None]) -> Hits | None:
        """Return which columns have runs in an array, row by row or column by column."""
        people: set[int] = set()
        names: dict[str, None] = {}
        views = [array.reshape(-1)]
        if array.ndim > 1 and min(array.shape) > 1:
            # Of a long table no copy is made.
            views += list(array.T) if array.ndim == 2 and array.shape[1] <= _FEW_COLUMNS else [array.T.reshape(-1)]
        for part in (part for view in views for part in chunks(view, check)):
            inside = self._sieve.passed(part.view(np.uint64))
            sums = np.concatenate([[0], np.cumsum(inside, dtype=np.int32)])
            for name, length, hashes, places in self._columns:
                starts = np.flatnonzero(sums[length:] - sums[:-length] == length) if len(part) >= length else hashes[:0]
                if len(starts) and len(hashes):
                    mine = hashed(part[starts + i] for i in range(length))
                    at = np.minimum(np.searchsorted(hashes, mine), len(hashes) - 1)
                    hit = np.unique(places[at[hashes[at] == mine]])
                    if len(hit):
                        names[name] = None
                        people.update((hit[:, None] + np.arange(length)).reshape(-1).tolist())
        return Hits(tuple(names), len(people)) if names else None


def hashed(columns: "Iterable[NDArray[Any]]") -> "NDArray[np.uint64]":
    """Return one number for each sequence of floats, given value by value."""
    total: Any = np.uint64(7)
    with np.errstate(over="ignore"):
        for column in columns:
            total = (total ^ (column + 0.0).view(np.uint64)) * _ODD
            total = total ^ (total >> np.uint64(29))
    return np.asarray(total)
