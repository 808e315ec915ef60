"""What a model prints about people in files: what the rows add up to, in passes over them."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from seepage._baseline import bits_of
from seepage._tables import Array
from seepage.attackers import Level, Printed, Slopes
from seepage.attackers.owned import Owned
from seepage.attackers.rows import Extremes, Holders, TwoValues, levels_in, mixed, twice_of
from seepage.errors import UnsupportedError
from seepage.execution.storage import Unit
from seepage.linear.files import FileReader, FileRows
from seepage.linear.information import WARM, Fit, Release
from seepage.linear.printed._guess import RowGuess, guesses_of, record
from seepage.linear.printed._modeled import modeled
from seepage.linear.printed._numbers import Numbers, classes_of, in_columns
from seepage.linear.printed._of import PrintedRows
from seepage.linear.printed._together import SharedTable
from seepage.linear.results import Covariance
from seepage.linear.rows import Batch, one_thread

Result = TypeVar("Result")
# Rows that are worked on at once: their matrices stay in a core's cache.
_ROWS = 1024


@dataclass(frozen=True, eq=False)
class _Each:
    """Applies a function of batches to the rows of units, in order."""

    preload: ClassVar[str] = WARM

    reader: FileReader
    of: Callable[[Batch], Any]

    @one_thread()
    def __call__(self, run: Sequence[Unit]) -> list[tuple[int, Any]]:
        parts = (
            batch.take(slice(at, at + _ROWS)) for batch in self._batches(run) for at in range(0, len(batch), _ROWS)
        )
        return [(len(part), self.of(part)) for part in parts]

    def _batches(self, run: Sequence[Unit]) -> Iterator[Batch]:
        return (batch for unit in run for batch in self.reader.batches(unit, None))


@dataclass(frozen=True, eq=False)
class _FileTable:
    """Rows of files, and what is printed of them."""

    fit: Fit
    rows: FileRows
    numbers: Numbers
    kept: NDArray[np.intp]
    blocks: dict[str, NDArray[np.intp]]
    label: str | None
    """The name of the private label, if it is private."""
    categorical: frozenset[str]

    def each(self, of: Callable[[Batch], Result], what: str) -> Iterator[tuple[NDArray[np.intp], Result]]:
        """Yield a function of batches, with where their rows stand."""
        start = 0
        for part in self.rows.each(_Each(self.rows.reader, of), what):
            for count, result in part:
                yield np.arange(start, start + count), result
                start += count

    def asked(
        self, of: Callable[[Array, Slopes], Any], places: Sequence[tuple[str, float] | None], moves: Any
    ) -> Iterator[tuple[NDArray[np.intp], Sequence[Any]]]:
        at = tuple(None if place is None else (self.guesses[place[0]], place[1]) for place in places)
        return self.each(_Asked(self.numbers, moves.moved, self.kept, of, at), "people among others")

    @property
    def count(self) -> int:
        return self.rows.count

    def added(self, of: Callable[[Batch], Array]) -> Array:
        return np.asarray(self.rows.total(of))

    def listed(self, of: Callable[[Batch], Array], step: int = 1) -> Array:
        parts = self.each(of, "outcomes")
        return np.concatenate([part[-int(people[0]) % step :: step] for people, part in parts])

    def outcomes(self) -> "tuple[float, _OfRows] | None":
        """Return the bits of an outcome given the covariates, and how its scatter moves the numbers."""
        found = modeled(self.numbers, self.fit.problem.labels.codes, self)
        return None if found is None else (found[0], _OfRows(self, found[1].moves))

    def picked(self, people: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], Batch]]:
        """Yield the rows of some people, with where these stand among them."""
        start = 0
        for unit in self.rows.files.units:
            inside = (people >= start) & (people < start + unit.rows)
            for batch in self.rows.reader.batches(unit, None) if inside.any() else ():
                here = np.flatnonzero((people >= start) & (people < start + len(batch)))
                if len(here):
                    yield here, batch.take(people[here] - start)
                start += len(batch)
            start += 0 if inside.any() else unit.rows

    def person(self, people: NDArray[np.intp]) -> Batch:
        """Return the row of one person."""
        ((_, batch),) = self.picked(people)
        return batch

    def jacobian(self, people: NDArray[np.intp]) -> Slopes:
        return self.numbers.slopes(self.person(people)).of(self.kept)

    def elsewhere(self, person: int) -> "_FileMoves":
        position = self.numbers.position_without(self.person(np.array([person])))
        return _FileMoves(self, self.numbers.at(position).moves)

    def changed(self, people: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
        """Return how the numbers change if an attribute of some people takes a value."""
        name, start = None if attribute == self.label else attribute, 0
        found = np.zeros((len(people), len(self.numbers.names)))
        for unit in self.rows.files.units:
            inside = (people >= start) & (people < start + unit.rows)
            for rows in self.rows.reader.held(unit) if inside.any() else ():
                here = np.flatnonzero((people >= start) & (people < start + rows.count))
                if len(here):
                    at = people[here] - start
                    other = self.numbers.moves(rows.altered(at, name, value))
                    found[here] = other - self.numbers.moves(rows.picked(at))
                start += rows.count
            start += 0 if inside.any() else unit.rows
        return found

    @cached_property
    def guesses(self) -> dict[str, RowGuess]:
        """Guesses of each number from the person's other values."""
        single = {n: block for n, block in self.blocks.items() if n not in self.categorical and len(block) == 1}
        some = self.listed(record, max(self.count // 5_000, 1))
        return guesses_of(self.numbers, single, self.kept, self.label, some, {})

    def guessed(self) -> dict[str, tuple[Array, Array]]:
        """Return how far each number is from its guess, and the deviation of that."""
        work = partial(_rests, guesses=tuple(self.guesses.values()))
        whole = np.concatenate([part for _, part in self.each(work, "guesses")], axis=2)
        return {name: (rest, deviation) for name, (rest, deviation) in zip(self.guesses, whole, strict=True)}

    def shifted(self, people: NDArray[np.intp], attribute: str, by: Array) -> Slopes:
        return self.numbers.slopes(self.guesses[attribute].moved(self.person(people), by)).of(self.kept)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Asks a function of moves and slopes about batches."""

    numbers: Numbers
    moved: Callable[[Batch], Array]
    kept: NDArray[np.intp]
    of: Callable[[Array, Slopes], Any]
    at: tuple[tuple[RowGuess, float] | None, ...]

    def __call__(self, batch: Batch) -> list[Any]:
        moves = self.moved(batch)
        return [self.of(moves, self._slopes(batch, place)) for place in self.at]

    def _slopes(self, batch: Batch, place: tuple[RowGuess, float] | None) -> Slopes:
        if place is None:
            return self.numbers.slopes(batch).of(self.kept)
        guess, point = place
        return self.numbers.slopes(guess.at(batch, point)).of(self.kept[guess.block])


@dataclass(frozen=True, eq=False)
class _OfRows:
    """Numbers that are made of each row of files by itself."""

    table: _FileTable
    moved: Callable[[Batch], Array]

    @property
    def count(self) -> int:
        return self.table.count

    def of(self, people: NDArray[np.intp]) -> Array:
        parts = [(here, self.moved(batch)) for here, batch in self.table.picked(people)]
        places = np.concatenate([here for here, _ in parts])
        return np.asarray(np.concatenate([part for _, part in parts])[np.argsort(places)])

    def total(self, of: Callable[[Array], Result]) -> Result:
        found: Result = self.table.rows.total(partial(_of_rows, of=of, moved=self.moved))
        return found


class _FileMoves(_OfRows):
    """The influence of people in files on an output."""

    def shared(self, outputs: Mapping[str, Any]) -> SharedTable:
        """Return the table that several outputs are about."""
        return SharedTable.of({name: each.table.rows for name, each in outputs.items()})

    def gathered(self) -> Printed:
        """Return the output with its rows and their influence in memory."""
        table = self.table
        whole = joined([part for _, part in table.each(_itself, "rows into memory")])
        owned = Owned.of(None, table.count, table.blocks, {})
        names = {name: None if name == table.label else name for name in table.blocks}

        def altered(numbers: Numbers, rows: NDArray[np.intp], attribute: str, value: Hashable) -> Array:
            return replace(table, numbers=numbers).changed(rows, attribute, value)

        own = table.numbers, table.kept, table.blocks, table.categorical
        return PrintedRows(table.fit, *own, names, owned, whole, altered).printed(None)


def _in_columns(fit: Fit, at: tuple[int | None, float], level: Level) -> Level:
    """Return a level with its value in the units of the column."""
    feature, value = at
    if feature is None:
        return level
    values = np.full(fit.affine.matrix.shape[0], value)
    return replace(level, value=float(in_columns(fit, values)[feature]))


def joined(batches: Sequence[Batch]) -> Batch:
    """Return rows of several batches as one."""
    every = {each.name: [getattr(batch, each.name) for batch in batches] for each in fields(Batch)}
    every["features"] = [batch.dense() for batch in batches]
    arrays = {name: np.concatenate(parts) for name, parts in every.items() if isinstance(parts[0], np.ndarray)}
    missing = {column: np.concatenate([batch.missing[column] for batch in batches]) for column in batches[0].missing}
    return replace(batches[0], **arrays, missing=missing)  # type: ignore[arg-type]


def _itself(batch: Batch) -> Batch:
    return batch


def _of_rows(batch: Batch, *, of: Callable[[Array], Result], moved: Callable[[Batch], Array]) -> Result:
    return of(moved(batch))


def _rests(batch: Batch, *, guesses: Sequence[RowGuess]) -> Array:
    """Return distances from guesses and their deviations, shape (guesses, 2, rows)."""
    parts = [(guess.rest(batch), guess.deviations(batch)) for guess in guesses]
    return np.reshape(parts, (len(guesses), 2, len(batch)))


def _mixed(batch: Batch, *, sizes: Array) -> Array:
    return mixed(record(batch), sizes)


def _column(batch: Batch, *, at: int) -> Array:
    return np.asarray(record(batch)[:, at])


def printed_in_files(
    fit: Fit, release: Release, attributes: Sequence[str] | None, published: tuple[str, ...], label: str
) -> Printed:
    """Return what a model prints about people in files, and how it moves with their private values."""
    numbers = Numbers.of(fit, release, published, Covariance())
    geometry = numbers.geometry
    if geometry.curves is not None:
        raise UnsupportedError(
            "Behind splines and other bends, what a model gives away without noise is not answered over files. Read "
            "the rows into memory: seepage.measure(model, frame, y)."
        )
    blocks, kept = numbers.private(fit, attributes, label)
    private = None if geometry.public_label else label
    codes = None if fit.classes is None else np.asarray(fit.problem.labels.codes)
    table = _FileTable(fit, fit.rows, numbers, kept, blocks, private, release.categorical)
    records = _OfRows(table, record)
    extremes, values = records.total(Extremes.of), records.total(TwoValues.of)
    mixing = partial(_mixed, sizes=extremes.sizes)
    numbered = np.concatenate([part for _, part in table.each(mixing, "equal records")])

    def column(at: int) -> Array:
        return np.concatenate([part for _, part in table.each(partial(_column, at=at), "equal records")])

    features = extremes.sizes.size - geometry.loss.label_values
    levels = (
        *_outcomes(fit, codes, values.found[features:]),
        *levels_in(values.found[:features], geometry.minimizer.names, extremes, records.total, features),
    )
    # Not when it is asked for: several outputs together are asked in a few passes, however many they are.
    leverage = np.concatenate([part for _, part in table.each(numbers.leverage, "leverage")])
    return Printed(
        names=numbers.names,
        values=numbers.values,
        whole=numbers.whole,
        moves=_FileMoves(table, numbers.moves),
        blocks=blocks,
        jacobian=table.jacobian,
        shifted=table.shifted,
        changed=table.changed,
        elsewhere=table.elsewhere,
        guesses=table.guessed,
        levels=tuple(_in_columns(fit, *each) for each in levels),
        record_bits=bits_of(np.unique(numbered, return_counts=True)[1]),
        scatter=table.outcomes,
        parameters=int(geometry.position.size),
        leverages=lambda: leverage,
        twice=twice_of(numbered, (column(at) for at in range(extremes.sizes.size))),
        each=table.asked,
    )


def _outcomes(
    fit: Fit, codes: Array | None, labels: Sequence[Holders | None]
) -> Iterator[tuple[tuple[None, float], Level]]:
    """Yield the classes of an outcome by their number, or its two values."""
    if fit.classes is not None and codes is not None:
        counts = fit.rows.total(partial(_classes, codes=codes))
        for i, (value, count) in enumerate(zip(fit.classes.tolist(), counts.tolist(), strict=True)):
            yield (None, i), Level("the outcome", value, int(count), fit.problem.size)
    elif len(labels) == 1 and labels[0] is not None and len(labels[0].values) == 2:
        for value, count in zip(labels[0].values.tolist(), labels[0].counts.tolist(), strict=True):
            yield (None, value), Level("the outcome", value, int(count), fit.problem.size)


def _classes(batch: Batch, *, codes: Array) -> Array:
    return np.bincount(classes_of(batch, codes), minlength=len(codes)).astype(np.float64)
