"""The people whose rows must not be in a file: their columns, and the chance that a number is one of their values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean, several
from seepage._tables import Array, Column, Data, Table, missing_in, read_frame
from seepage.errors import InputError

# In a column whose values lie closer, a single value says nothing: ages are numbers that every file has.
TELLING = 0.1
_MOST_DECIMALS = 8
_BINS = 16
_RAREST = 1e-12


@dataclass(frozen=True, eq=False)
class MeasuredColumn:
    """A column of numbers."""

    name: str
    values: Array
    is_text: bool = False
    """Whether its numbers stand for texts."""

    @cached_property
    def distinct(self) -> Array:
        """Its different values, sorted."""
        return np.unique(self.values[np.isfinite(self.values)])

    @cached_property
    def step(self) -> float:
        """The largest number of which all distances of values are multiples; 0 if there is none."""
        places = decimals(self.distinct)
        if places is None or len(self.distinct) < 2 or abs(self.distinct[[0, -1]]).max() * 10.0**places > 2**53:
            return 0.0
        whole = np.rint(self.distinct * 10.0**places).astype(np.int64)
        return float(np.gcd.reduce(np.diff(whole))) / 10.0**places

    @cached_property
    def density(self) -> float:
        """The share of multiples of the step that are values, where they lie closest."""
        if self.step == 0.0:
            return 0.0 if len(self.distinct) > 1 else 1.0
        return _densest(self.distinct, self.step)

    @cached_property
    def _round_chances(self) -> list[tuple[int, float]]:
        """The number of decimals of round values, and the density of values that are as round; the roundest first."""
        rounder = [(places, _rounded_to(self.distinct, places)) for places in range(-6, _MOST_DECIMALS + 1)]
        return [(places, _densest(some, 10.0**-places)) for places, some in rounder if len(some)]

    def chances(self, values: Array) -> Array:
        """Return the chance of each number to be one of the column's by coincidence: round ones have a larger one."""
        chance, left = np.full(len(values), self.density), np.ones(len(values), dtype=bool)
        for places, density in self._round_chances:
            rounder = left & (np.round(values, places) == values)
            chance[rounder] = max(density, self.density)
            left &= ~rounder
        return np.asarray(np.maximum(chance, _RAREST))

    @cached_property
    def bits(self) -> float:
        """The entropy of its values, in bits."""
        _, counts = np.unique(self.values, return_counts=True)
        shares = counts / counts.sum()
        return float(-(shares * np.log2(shares)).sum())

    @cached_property
    def is_progression(self) -> bool:
        """Whether it counts the rows, which says nothing."""
        gaps = np.diff(self.distinct)
        return len(self.distinct) == len(self.values) and bool(np.all(gaps == gaps[0])) if len(gaps) else True

    def scaled(self, scale: float, places: int | None) -> "MeasuredColumn":
        """Return its values times a scale, with no more decimals than these."""
        if scale == 1.0 and (places is None or self.step >= 10.0**-places):
            return self
        values = self.values if scale == 1.0 else np.round(self.values * scale, _MOST_DECIMALS)
        return MeasuredColumn(self.name, values if places is None else np.round(values, places))


def _rounded_to(values: Array, places: int) -> Array:
    return np.asarray(values[np.round(values, places) == values])


def _densest(distinct: Array, step: float) -> float:
    """Return the largest share of the multiples of a step that are values, between some of them."""
    if len(distinct) < 2:
        # One round value is no one's.
        return 1.0
    edges = np.unique(np.linspace(0, len(distinct) - 1, min(_BINS, len(distinct))).astype(np.intp))
    return min(float(np.max(np.diff(edges) / (np.diff(distinct[edges]) / step))), 1.0)


def decimals(values: Array) -> int | None:
    """Return the fewest decimals that write all values; None if that takes too many."""
    if len(values) > 4096:
        values = values[:: len(values) // 2048]
    return next(
        (places for places in range(_MOST_DECIMALS + 1) if np.array_equal(np.round(values, places), values)), None
    )


@dataclass(frozen=True, eq=False)
class PeopleColumns:
    """All people, by column."""

    count: int
    numbers: tuple[MeasuredColumn, ...]
    texts: dict[str, list[str]]
    ids: str | None = None
    """The column of their ids."""

    @classmethod
    def of(cls, data: Data, ids: str | None) -> "PeopleColumns":
        """Take rows as users have them."""
        table = Table.of(read_frame(Path(data), "data=") if isinstance(data, str | Path) else data)
        if ids is not None and ids not in table.names:
            raise InputError(
                f"ids is {ids!r}, which is no column of the data. {did_you_mean(ids, table.names)}Name the column that "
                f"says who each row is; the columns are: {several(list(table.names))}."
            )
        numbers, texts = [], {}
        for place, name in enumerate(table.names):
            column = table.column_at(place)
            if (values := as_numbers(column)) is not None:
                numbers.append(MeasuredColumn(name, values))
            else:
                gone = missing_in(column)
                texts[name] = ["" if no else str(text) for text, no in zip(column.tolist(), gone, strict=True)]
        return cls(len(table), tuple(numbers), texts, ids)

    @lru_cache(maxsize=16)  # noqa: B019
    def scaled(self, scale: float, places: int | None) -> tuple[MeasuredColumn, ...]:
        """Return the columns of numbers times a scale, with no more decimals than these."""
        return tuple(column.scaled(scale, places) for column in self.numbers)

    @cached_property
    def named(self) -> dict[str, tuple[str, int]]:
        """The texts that are one person's alone, or nearly: the column and the person, without regard to case."""
        named: dict[str, tuple[str, int]] = {}
        for name, texts in self.texts.items():
            if name == self.ids or len(set(texts)) > 0.5 * len(texts):
                named |= {text.lower(): (name, i) for i, text in enumerate(texts) if len(text) >= 3}
        for column in self.numbers:
            # Ids that count the rows from a small number are any small numbers.
            counts_rows = column.is_progression and column.distinct[0] < max(1000, 2 * self.count)
            if column.name == self.ids and not counts_rows:
                whole = enumerate(column.values)
                named |= {f"{value:.0f}": (column.name, i) for i, value in whole if value == value // 1}
        return named

    @cached_property
    def levels(self) -> dict[str, dict[str, int]]:
        """The number of people with each level of a category."""
        chosen = {name: texts for name, texts in self.texts.items() if len(set(texts)) <= 0.5 * len(texts)}
        return {name: {level: texts.count(level) for level in set(texts)} for name, texts in chosen.items()}

    @cached_property
    def coded(self) -> tuple[MeasuredColumn, ...]:
        """The columns of numbers, and those of texts as numbers, without ids; without columns that count the rows."""
        texts = [MeasuredColumn(name, coded(texts), True) for name, texts in self.texts.items() if name != self.ids]
        return tuple(column for column in (*self.numbers, *texts) if not column.is_progression)


def as_numbers(column: "Column | NDArray[np.generic]") -> Array | None:
    """Return numbers of any kind as floats; None if they are none."""
    if column.dtype.kind in "Mm":
        numbers = column.astype(f"{column.dtype.kind}8[ns]").astype(np.int64).astype(np.float64)
        numbers[np.isnat(column)] = np.nan
        return numbers
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    if column.dtype == object:
        try:
            return np.array([np.nan if value is None else value for value in column.tolist()], dtype=np.float64)
        except (TypeError, ValueError):
            return None
    return None


def coded(texts: Sequence[str]) -> Array:
    """Return a number for each text, equal for equal texts."""
    return np.array([crc32(text.encode("utf-8", "replace")) + 0.5 for text in texts])
