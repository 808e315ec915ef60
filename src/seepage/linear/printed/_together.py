"""Several models of people in files: outputs that are filters of one table are looked at in the same passes over it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage._tables import Array
from seepage._where import either
from seepage.attackers import Layout, Slopes
from seepage.errors import InputError, UnansweredError
from seepage.execution.storage import Files, FileStore, Filter, Unit
from seepage.linear.files import FileReader, FileRows, PeopleInFiles, Where
from seepage.linear.information import WARM
from seepage.linear.printed._guess import Guess
from seepage.linear.printed._numbers import Numbers
from seepage.linear.rows import Batch, one_thread

Result = TypeVar("Result")
Sums = TypeVar("Sums")
# Rows that are worked on at once: their matrices stay in a core's cache.
_ROWS = 1024
_BATCH = 2**17
# Outputs whose bits are written into one number, beside a number for each row.
_OUTPUTS = 32


@dataclass(frozen=True, eq=False)
class OutputPart:
    """One of several outputs about people in files."""

    rows: FileRows
    kept: NDArray[np.intp]
    """The private values among all."""
    guesses: Callable[[], Mapping[str, Guess]]


@dataclass(frozen=True, eq=False)
class SharedTable:
    """One table, and which rows of it each output is about."""

    parts: tuple[OutputPart, ...]
    files: Files
    """The rows that are in one of them."""
    inside: NDArray[np.bool_]
    """Shape (rows, outputs)."""

    @classmethod
    def of(cls, parts: Mapping[str, OutputPart]) -> "SharedTable":
        """Find out who is in which output, by the columns that filters look at."""
        each, names = tuple(parts.values()), tuple(parts)
        whole = [part.rows.files.whole or part.rows.files for part in each]
        for name, files in zip(names, whole, strict=True):
            if files.paths != whole[0].paths or files.known() != whole[0].known():
                raise UnansweredError(
                    f"{names[0]} and {name} are about rows of different files, where it is not known who is the same "
                    "person. Read the rows into memory, and name people alike: seepage.measure(model, frame, y, "
                    "ids=...)."
                )
        filters = tuple(part.rows.files.where for part in each)
        union = either(None if each is None else str(each) for each in filters)
        if all(one == filters[0] for one in filters):
            files = each[0].rows.files
            return cls(each, files, np.ones((files.count, len(each)), dtype=bool))
        files = whole[0] if union is None else whole[0].filtered(Where(union))
        runs = replace(each[0].rows, files=files).each(_Inside(files.store, filters), "who is in which output")
        units = [unit for run in runs for unit in run]
        if union is not None:
            files = files.counted([len(unit) for unit in units])
        inside = np.concatenate(units)
        if not (inside.sum(axis=1) > 1).any():
            raise InputError(
                f"Nobody of {names[0]} (where={str(filters[0])!r}) is in another release (where={str(filters[1])!r}): "
                "each of them tells what it tells by itself."
            )
        return cls(each, files, inside)

    @property
    def people(self) -> PeopleInFiles:
        """Whoever is in one of the outputs."""
        roles = [part.rows.reader.roles for part in self.parts]
        ids = next((each.ids for each in roles if each.ids is not None), None)
        groups = next((each.groups for each in roles if each.groups is not None), None)
        return PeopleInFiles(self.files, ids, groups)

    @cached_property
    def rows(self) -> tuple[NDArray[np.intp], ...]:
        """Of each output the place in it of everybody; -1 for who is not in it."""
        return tuple(np.where(one, np.cumsum(one) - 1, -1) for one in self.inside.T)

    def alike(self, one: int, other: int) -> bool:
        """Return whether whoever is in two outputs has the same features and outcome in both."""
        first, second = self.parts[one].rows.reader, self.parts[other].rows.reader
        if one == other or not (self.inside[:, one] & self.inside[:, other]).any():
            return True
        bare = first.reading.preprocess is None and second.reading.preprocess is None
        if bare and (first.features, first.roles.target) == (second.features, second.roles.target):
            return True
        work = _Alike(self._reader((one, other)))
        return all(replace(self.parts[0].rows, files=self.files).each(work, "outputs of one form"))

    def _reader(self, some: Sequence[int]) -> "_SharedReader":
        readers = tuple(self.parts[i].rows.reader for i in some)
        return _SharedReader(self.files.store, readers, tuple(self.parts[i].rows.files.where for i in some))

    def joined(self, moves: Sequence[Any], layout: Layout) -> "JoinedMoves":
        """Return what everybody moves, given what they move in each output."""
        return JoinedMoves(self, tuple(moves), layout)


def _columns(each: Filter | None) -> tuple[str, ...]:
    return () if each is None else each.columns


def _meets(each: Filter | None, rows: pa.RecordBatch) -> NDArray[np.bool_]:
    return np.ones(rows.num_rows, dtype=bool) if each is None else each(rows)


@dataclass(frozen=True, eq=False)
class _Inside:
    """Finds out which filters rows meet."""

    preload: ClassVar[str] = WARM

    store: FileStore
    filters: tuple[Filter | None, ...]

    def __call__(self, run: Sequence[Unit]) -> list[NDArray[np.bool_]]:
        columns = list(dict.fromkeys(name for each in self.filters for name in _columns(each)))
        return [self._of(unit, columns) for unit in run]

    def _of(self, unit: Unit, columns: Sequence[str]) -> NDArray[np.bool_]:
        batches = self.store.kept(unit, columns, _BATCH)
        found = [np.column_stack([_meets(each, batch) for each in self.filters]) for batch in batches]
        return np.concatenate([np.zeros((0, len(self.filters)), dtype=bool), *found])


@dataclass(frozen=True, eq=False)
class _SharedReader:
    """Reads rows once for all outputs that they are in."""

    store: FileStore
    readers: tuple[FileReader, ...]
    filters: tuple[Filter | None, ...]

    def read(self, unit: Unit) -> Iterator[tuple[list[Batch], list[NDArray[np.intp]], int]]:
        """Yield batches of each output, the places of their rows among some, and how many these are."""
        columns = [name for reader in self.readers for name in reader.columns]
        columns += [name for each in self.filters for name in _columns(each)]
        size = max(reader.read_at_once for reader in self.readers)
        for rows in self.store.read(unit, list(dict.fromkeys(columns)), size):
            inside = [_meets(each, rows) for each in self.filters]
            batches = [
                reader.batch(rows if one.all() else rows.filter(one), unit.start) if one.any() else None
                for reader, one in zip(self.readers, inside, strict=True)
            ]
            starts = [np.concatenate([[0], np.cumsum(one)]) for one in inside]
            for low in range(0, rows.num_rows, _ROWS):
                high = min(low + _ROWS, rows.num_rows)
                some = [
                    None if batch is None else batch.take(slice(int(start[low]), int(start[high])))
                    for batch, start in zip(batches, starts, strict=True)
                ]
                yield some, [np.flatnonzero(one[low:high]) for one in inside], high - low  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class _Alike:
    """Compares the rows of two outputs."""

    preload: ClassVar[str] = WARM

    reader: _SharedReader

    def __call__(self, run: Sequence[Unit]) -> bool:
        return all(self._same(*read) for unit in run for read in self.reader.read(unit))

    @staticmethod
    def _same(batches: list[Batch], at: list[NDArray[np.intp]], count: int) -> bool:
        both = np.intersect1d(at[0], at[1])
        if not len(both):
            return True
        one, other = (
            np.column_stack([batch.dense(), batch.labels])[np.searchsorted(places, both)]
            for batch, places in zip(batches, at, strict=True)
        )
        return one.shape == other.shape and bool((one == other).all())


def _pattern_of(inside: NDArray[np.bool_], patterns: Mapping[frozenset[int], int]) -> NDArray[np.intp]:
    """Return the place of each row's pattern, given the outputs that it is in, shape (rows, outputs)."""
    kind = np.zeros(len(inside), dtype=np.int64)
    # A number has no bits for all outputs of a long paper: some at a time.
    for first in range(0, inside.shape[1], _OUTPUTS):
        some = inside[:, first : first + _OUTPUTS]
        bits = some @ (1 << np.arange(some.shape[1]))
        _, one_of_each, kind = np.unique(kind << _OUTPUTS | bits, return_index=True, return_inverse=True)
    outputs = (frozenset(np.flatnonzero(inside[row]).tolist()) for row in one_of_each)
    return np.array([patterns[each] for each in outputs], dtype=np.intp)[kind]


@dataclass(frozen=True, eq=False)
class _LookedAt:
    """What is needed to look at rows wherever they are."""

    reader: _SharedReader
    numbers: tuple[Numbers, ...]
    kept: tuple[NDArray[np.intp], ...]
    layout: Layout
    before: Mapping[int, NDArray[np.intp]]
    """How many people of each pattern stand before each unit."""
    guesses: tuple[Mapping[str, Guess], ...] = ()

    def blocks(self, run: Sequence[Unit]) -> Iterator["_Block"]:
        """Yield the people of some units."""
        for unit in run:
            before = self.before[unit.index]
            for batches, at, count in self.reader.read(unit):
                inside = np.zeros((count, len(at)), dtype=bool)
                for i, some in enumerate(at):
                    inside[some, i] = True
                place = _pattern_of(inside, self.layout.patterns)
                yield _Block(self, tuple(batches), tuple(at), place, before)
                before = before + np.bincount(place, minlength=len(before))


@dataclass(frozen=True, eq=False)
class _Block:
    """Some people of a table, as all outputs see them."""

    looked: _LookedAt
    batches: tuple[Batch | None, ...]
    at: tuple[NDArray[np.intp], ...]
    place: NDArray[np.intp]
    before: NDArray[np.intp]

    @cached_property
    def moves(self) -> Array:
        numbers, layout = self.looked.numbers, self.looked.layout
        parts = [
            np.zeros((0, count)) if batch is None or not len(at) else one.moves(batch)
            for one, batch, at, count in zip(numbers, self.batches, self.at, layout.numbers, strict=True)
        ]
        return layout.moves(parts, self.at, len(self.place))

    def only(self, some: NDArray[np.intp]) -> "_Block":
        batches, at = [], []
        for batch, places in zip(self.batches, self.at, strict=True):
            kept = np.isin(places, some)
            batches.append(None if batch is None else batch.take(np.flatnonzero(kept)))
            at.append(np.searchsorted(some, places[kept]))
        found = _Block(self.looked, tuple(batches), tuple(at), self.place[some], self.before)
        if "moves" in vars(self):
            vars(found)["moves"] = self.moves[some]
        return found

    def slopes(self) -> Slopes:
        return self._slopes(self.batches)

    def _slopes(self, batches: Sequence[Batch | None]) -> Slopes:
        parts = [
            None if batch is None or not len(at) else numbers.slopes(batch).of(kept)
            for numbers, batch, at, kept in zip(self.looked.numbers, batches, self.at, self.looked.kept, strict=True)
        ]
        return self.looked.layout.beside(parts, self.at, len(self.place))

    def shifted(self, attribute: str, point: float) -> Slopes:
        guesses = [each.get(attribute) for each in self.looked.guesses]
        rest, known, least = np.zeros(len(self.place)), np.zeros(len(self.place), dtype=bool), np.inf
        for guess, batch, at in zip(guesses, self.batches, self.at, strict=True):
            if guess is None:
                continue
            if batch is not None and len(at):
                # Of whoever is only in an output that knows it less well, what that one lets expect.
                better = (guess.deviation < least) | ~known[at]
                rest[at[better]] = guess.rest(batch)[better]
                known[at] = True
            least = min(least, guess.deviation)
        by = point * least - rest
        moved = [
            None if guess is None or batch is None or not len(at) else guess.moved(batch, by[at])
            for guess, batch, at in zip(guesses, self.batches, self.at, strict=True)
        ]
        return self._slopes(moved).of(self.looked.layout.blocks[attribute])


@dataclass(frozen=True, eq=False)
class _Added:
    """Adds a function of blocks up over a unit."""

    preload: ClassVar[str] = WARM

    looked: _LookedAt
    of: Callable[["_Block"], Any]

    @one_thread()
    def __call__(self, unit: Unit) -> Any:
        return reduce(add, map(self.of, self.looked.blocks([unit])))


@dataclass(frozen=True, eq=False)
class _EachUnit:
    """Applies a function of blocks to units, in order."""

    preload: ClassVar[str] = WARM

    looked: _LookedAt
    of: Callable[["_Block"], Any]

    @one_thread()
    def __call__(self, run: Sequence[Unit]) -> list[tuple[int, Any]]:
        return [(len(block.place), self.of(block)) for block in self.looked.blocks(run)]


@dataclass(frozen=True, eq=False)
class JoinedMoves:
    """What people of a table move in all outputs."""

    table: SharedTable
    each_of: tuple[Any, ...]
    """What they move in each."""
    layout: Layout

    @property
    def count(self) -> int:
        return self.table.files.count

    @property
    def _rows(self) -> FileRows:
        return replace(self.table.parts[0].rows, files=self.table.files)

    @cached_property
    def _looked(self) -> _LookedAt:
        place = _pattern_of(self.table.inside, self.layout.patterns)
        before, start, seen = {}, 0, np.zeros(len(self.layout.patterns), dtype=np.intp)
        for unit in self.table.files.units:
            before[unit.index] = seen
            seen = seen + np.bincount(place[start : start + unit.rows], minlength=len(seen))
            start += unit.rows
        return _LookedAt(
            self.table._reader(range(len(self.table.parts))),
            tuple(each.numbers for each in self.each_of),
            tuple(part.kept for part in self.table.parts),
            self.layout,
            before,
        )

    def of(self, people: NDArray[np.intp]) -> Array:
        at = [np.flatnonzero(rows[people] >= 0) for rows in self.table.rows]
        parts = [
            each.of(rows[people][some]) if len(some) else np.zeros((0, count))
            for each, rows, some, count in zip(self.each_of, self.table.rows, at, self.layout.numbers, strict=True)
        ]
        return self.layout.moves(parts, at, len(people))

    def total(self, of: Callable[[Array], Sums]) -> Sums:
        found: Sums = self.added(_OfMoves(of))
        return found

    def added(self, of: Callable[["_Block"], Sums]) -> Sums:
        found: Sums = self._rows.add(_Added(self._looked, of), "all outputs together")
        return found

    def each(
        self, of: Callable[["_Block"], Result], shifting: Sequence[str] = ()
    ) -> Iterator[tuple[NDArray[np.intp], Result]]:
        looked = self._looked
        if shifting:
            guesses = (part.guesses() for part in self.table.parts)
            looked = replace(
                looked, guesses=tuple({n: g for n, g in each.items() if n in shifting} for each in guesses)
            )
        start = 0
        for part in self._rows.each(_EachUnit(looked, of), "people among others"):
            for count, result in part:
                yield np.arange(start, start + count), result
                start += count


@dataclass(frozen=True, eq=False)
class _OfMoves:
    """Applies a function of moves to blocks."""

    of: Callable[[Array], Any]

    def __call__(self, block: _Block) -> Any:
        return self.of(block.moves)
