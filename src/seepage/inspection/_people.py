"""The people whose rows must not be in a file: their columns, and how much a value of each tells."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log2
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean, several
from seepage._tables import Array, Column, Data, Table, missing_in, read_frame
from seepage.errors import InputError

# Of a column whose values lie closer, a value says nothing: ages are numbers that everything holds.
TELLING = 0.1
_MOST_DECIMALS = 8
_BINS = 16
# Fewer people have a rare level.
RARE = 3


@dataclass(frozen=True, eq=False)
class MeasuredColumn:
    """A column of numbers."""

    name: str
    values: Array

    @cached_property
    def distinct(self) -> Array:
        """Its values, sorted, each once."""
        return np.unique(self.values[np.isfinite(self.values)])

    @cached_property
    def step(self) -> float:
        """What all its values are multiples of, from the smallest on; 0 if there is no such number."""
        places = decimals(self.distinct)
        if places is None or len(self.distinct) < 2 or abs(self.distinct[[0, -1]]).max() * 10.0**places > 2**53:
            return 0.0
        whole = np.rint(self.distinct * 10.0**places).astype(np.int64)
        return float(np.gcd.reduce(np.diff(whole))) / 10.0**places

    @cached_property
    def density(self) -> float:
        """The share of possible values that are somebody's, where they lie closest: the chance that a number is one."""
        if self.step == 0.0:
            return 0.0 if len(self.distinct) > 1 else 1.0
        return _densest(self.distinct, self.step)

    @cached_property
    def telling(self) -> "NDArray[np.bool_]":
        """Whose values are hardly anything else: not those that are rounder than others, as round ones lie closer."""
        found = np.isfinite(self.values)
        left = found.copy()
        for places in range(-6, _MOST_DECIMALS + 1):
            rounder = left & (np.round(self.values, places) == self.values)
            left &= ~rounder
            round_ones = np.unique(self.values[rounder])
            if len(round_ones) and _densest(round_ones, 10.0**-places) > TELLING:
                found &= ~rounder
        return found if self.density <= TELLING else np.zeros_like(found)

    def surprise(self, values: Array) -> float:
        """Return in bits how unlikely it is that sorted numbers, each of which is somebody's, are so by chance."""
        if self.step == 0.0:
            return float("inf")
        edges = _edges(self.distinct)
        shares = np.minimum(np.diff(edges) / (np.diff(self.distinct[edges]) / self.step), 1.0)
        places = np.clip(np.searchsorted(self.distinct[edges], values, "right") - 1, 0, len(shares) - 1)
        return float(-np.log2(shares[places]).sum())

    @cached_property
    def bits(self) -> float:
        """How much one value tells of whose it is: its entropy."""
        _, counts = np.unique(self.values, return_counts=True)
        shares = counts / counts.sum()
        return float(-(shares * np.log2(shares)).sum())

    @property
    def is_progression(self) -> bool:
        """Whether it counts its rows, which tells nothing."""
        gaps = np.diff(self.distinct)
        return len(self.distinct) == len(self.values) and bool(np.all(gaps == gaps[0])) if len(gaps) else True

    def rounded(self, places: int | None) -> "MeasuredColumn":
        """Return it with no more decimals than these."""
        if places is None or self.step >= 10.0**-places:
            return self
        return MeasuredColumn(self.name, np.round(self.values, places))


def _edges(distinct: Array) -> "NDArray[np.intp]":
    return np.unique(np.linspace(0, len(distinct) - 1, min(_BINS, len(distinct))).astype(np.intp))


def _densest(distinct: Array, step: float) -> float:
    """Return the largest share of the multiples of a step that are values, between some of them."""
    if len(distinct) < 2:
        # One round value is no one's.
        return 1.0
    edges = _edges(distinct)
    return float(np.max(np.diff(edges) / (np.diff(distinct[edges]) / step)))


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
    """The column that says who they are."""

    @classmethod
    def of(cls, data: Data, ids: str | None) -> "PeopleColumns":
        """Take rows as users have them."""
        from pathlib import Path

        table = Table.of(read_frame(Path(data), "data=") if isinstance(data, str | Path) else data)
        if ids is not None and ids not in table.names:
            raise InputError(
                f"ids is {ids!r}, which is no column of the data. {did_you_mean(ids, table.names)}Name the column that "
                f"says who each row is; the columns are: {several(list(table.names))}."
            )
        numbers, texts = [], {}
        for place, name in enumerate(table.names):
            column = table.column_at(place)
            if (found := as_numbers(column)) is not None:
                numbers.append(MeasuredColumn(name, found))
            else:
                gone = missing_in(column)
                texts[name] = ["" if no else str(each) for each, no in zip(column.tolist(), gone, strict=True)]
        return cls(len(table), tuple(numbers), texts, ids)

    @lru_cache(maxsize=16)  # noqa: B019
    def rounded(self, places: int | None) -> tuple[MeasuredColumn, ...]:
        """Return the columns of numbers with no more decimals than these."""
        return tuple(each.rounded(places) for each in self.numbers)

    @cached_property
    def named(self) -> dict[str, tuple[str, int]]:
        """What is one person's alone, or nearly, as text: the column and the person."""
        found: dict[str, tuple[str, int]] = {}
        for name, texts in self.texts.items():
            if name == self.ids or len(set(texts)) > 0.5 * len(texts):
                found |= {each: (name, i) for i, each in enumerate(texts) if len(each) >= 3}
            if name == self.ids:
                # Vectorizers of text lower all letters.
                found |= {each.lower(): (name, i) for i, each in enumerate(texts) if len(each) >= 3}
        for column in self.numbers:
            if column.name == self.ids:
                found |= {f"{each:.0f}": (column.name, i) for i, each in enumerate(column.values) if each == each // 1}
        return found

    @cached_property
    def levels(self) -> dict[str, dict[str, int]]:
        """How many people have each level of a category."""
        kept = {name: texts for name, texts in self.texts.items() if len(set(texts)) <= 0.5 * len(texts)}
        return {name: {each: texts.count(each) for each in set(texts)} for name, texts in kept.items()}

    @cached_property
    def coded(self) -> tuple[MeasuredColumn, ...]:
        """The columns of numbers, and those of texts as numbers, without ids."""
        texts = [each for each in self.texts.items() if each[0] != self.ids]
        return *self.numbers, *(MeasuredColumn(name, coded(each)) for name, each in texts)

    @cached_property
    def rows(self) -> Array:
        """Their numbers, a row each."""
        return np.column_stack([each.values for each in self.numbers]) if self.numbers else np.empty((self.count, 0))


def as_numbers(column: "Column | NDArray[np.generic]") -> Array | None:
    """Return numbers of any kind as floats; None if they are none."""
    if column.dtype.kind in "Mm":
        found = column.astype(f"{column.dtype.kind}8[ns]").astype(np.int64).astype(np.float64)
        found[np.isnat(column)] = np.nan
        return found
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    if column.dtype == object:
        try:
            return np.array([np.nan if each is None else each for each in column.tolist()], dtype=np.float64)
        except (TypeError, ValueError):
            return None
    return None


def coded(texts: Sequence[str]) -> Array:
    """Return a number for each text, equal for equal texts."""
    return np.array([crc32(each.encode("utf-8", "replace")) + 0.5 for each in texts])


def bits_of(chance: float) -> float:
    """Return how much it tells that something happened by such a chance."""
    return -log2(max(chance, 1e-12))
