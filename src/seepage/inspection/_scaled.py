"""Columns that were scaled, shifted, sorted or put in another order."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.inspection._exact import FEWEST, Hits
from seepage.inspection._people import TELLING, MeasuredColumn, decimals

_FEWEST_PEOPLE = 20
# Of an array of two dimensions, this many of its columns and rows are looked at.
_MOST_VECTORS = 24
_LONGEST = 1 << 20
# Among more others than this for each of them, people are not looked for.
_MOST_OTHERS = 10
# Values are compared to a share of their spread: what single precision keeps.
_NEAR = {4: 2e-6, 2: 2e-3}
_NEAR_DOUBLE = 1e-8
_CELLS = 1 << 20
_SURE = 60.0


class Shapes:
    """The shapes of columns: what is left of their values once places and scales are forgotten.

    Parameters
    ----------
    columns : tuple of MeasuredColumn
    budget : int
        The number of guesses of a scale before the search for parts of columns is given up.
    """

    def __init__(self, columns: tuple[MeasuredColumn, ...], budget: int = 100_000_000) -> None:
        self._columns = [column for column in columns if len(column.distinct) > 1]
        self._standard = [_standardized(column.values) for column in self._columns]
        self._cells: dict[int, NDArray[np.bool_]] = {}
        self.budget = budget

    def hits(self, array: "NDArray[Any]", *, parts: bool = True) -> Hits | None:
        """Return of which column an array holds a scaled or reordered copy, or, with `parts`, one of some people's."""
        least = _NEAR.get(array.dtype.itemsize, _NEAR_DOUBLE) if array.dtype.kind == "f" else _NEAR_DOUBLE
        lengths = {len(column.values) for column in self._columns}
        vectors = [(vector, _nearness(vector, least)) for vector in _vectors(array, lengths)]
        return self._whole(vectors) or (self._parts(vectors) if parts else None)

    def _whole(self, vectors: list[tuple[Array, float]]) -> Hits | None:
        names: dict[str, None] = {}
        people = 0
        for vector, near in vectors:
            scores = _standardized(vector)
            # Standardized, rounding counts for more than in values that lie between their ends.
            tolerance = min(100 * near, 0.01)
            for column, known in zip(self._columns, self._standard, strict=True):
                if known is None or scores is None or len(known) != len(scores):
                    continue
                # Two levels in another order are nobody's; in the same order they are everybody's.
                ordered = len(column.distinct) < FEWEST
                if ordered and column.bits * len(scores) < _SURE:
                    continue
                mine, theirs = (known, scores) if ordered else (np.sort(known), np.sort(scores))
                if _same(theirs, mine, tolerance) or _same(theirs, -mine if ordered else -mine[::-1], tolerance):
                    names[column.name], people = None, len(scores)
        return Hits(tuple(names), people) if names else None

    def _parts(self, vectors: list[tuple[Array, float]]) -> Hits | None:
        for vector, near in vectors:
            values = np.unique(vector[np.isfinite(vector)])
            if len(values) < FEWEST * 2 or len(vector) < _FEWEST_PEOPLE or len(vector) > _LONGEST:
                continue
            for place, column in enumerate(self._columns):
                if column.is_text or column.density > TELLING or len(column.distinct) < _FEWEST_PEOPLE:
                    continue
                if len(values) <= len(column.distinct):
                    same = self._contains(place, values, near)
                else:
                    few = len(values) <= _MOST_OTHERS * len(column.distinct)
                    chance = 2 * near * len(values)
                    same = few and self._match(column.distinct, values, _occupied(values), near, chance)
                if same:
                    return Hits((column.name,), min(len(vector), len(column.values)))
        return None

    def _contains(self, place: int, values: Array, near: float) -> bool:
        distinct = self._columns[place].distinct
        if place not in self._cells:
            self._cells[place] = _occupied(distinct)
        chance = max(self._columns[place].density, 2 * near * len(distinct))
        return self._match(values, distinct, self._cells[place], near, chance)

    def _match(self, few: Array, many: Array, cells: "NDArray[np.bool_]", near: float, chance: float) -> bool:
        """Return whether some scale and shift put all of a few values on some of many.

        The smallest of them is put on each of the smallest, the largest on each of the largest (or the other way
        round); where some between them fall upon somebody's value, all are held against it.
        """
        low, high = many[0], many[-1]
        inner = (few - few[0]) / (few[-1] - few[0])
        # Values that lie on each other, to the digits that count, are one.
        inner = inner[np.unique((inner / (8 * near)).astype(np.int64), return_index=True)[1]]
        inner[-1], count = 1.0, len(inner)
        if count < FEWEST * 2 or -np.log2(max(chance, 1e-12)) * (count - 2) < _SURE or high <= low:
            return False
        share = min(0.4, 12.0 / count)
        ends = min(max(int(np.ceil(share * len(many))), 2), len(many))
        if ends * ends * 2 > self.budget:
            self.budget = 0
            return False
        self.budget -= 2 * ends * ends
        first, last = (many[:ends] - low) / (high - low), (many[-ends:] - low) / (high - low)
        own = (many - low) / (high - low)
        for at in (inner, (1.0 - inner)[::-1]):
            probes = at[np.linspace(1, count - 2, 9).astype(int)]
            for start in range(0, ends, 1 + 1_000_000 // ends):
                some = first[start : start + 1 + 1_000_000 // ends, None]
                may = np.nonzero(cells[((some + probes[0] * (last - some)) * (_CELLS - 1)).astype(np.int32)])
                for probe in probes[1:]:
                    place = some[may[0], 0] + probe * (last[may[1]] - some[may[0], 0])
                    inside = cells[(place * (_CELLS - 1)).astype(np.int32)]
                    may = (may[0][inside], may[1][inside])
                for begin, end in zip(some[may[0], 0], last[may[1]], strict=True):
                    if end > begin and _upon(begin + at * (end - begin), own, near):
                        return True
        return False


def _nearness(vector: Array, least: float) -> float:
    """Return to what share of their spread values were rounded."""
    known = vector[np.isfinite(vector)]
    places = decimals(known) if len(known) else None
    spread = float(np.ptp(known)) if len(known) else 0.0
    return least if places is None or spread == 0 else max(least, 0.6 * 10.0**-places / spread)


def _occupied(values: Array) -> "NDArray[np.bool_]":
    """Return which cells between the smallest and the largest value hold one, or are next to one that does."""
    cells = np.zeros(_CELLS + 1, dtype=bool)
    places = ((values - values[0]) / max(values[-1] - values[0], 1e-300) * (_CELLS - 1)).astype(np.int64)
    for step in (-1, 0, 1):
        cells[np.clip(places + step, 0, _CELLS)] = True
    return cells


def _upon(points: Array, own: Array, near: float) -> bool:
    """Return whether nearly all points are as near to others as rounding is, each to one of its own."""
    places = np.clip(np.searchsorted(own, points), 1, len(own) - 1)
    nearest = places - (points - own[places - 1] < own[places] - points)
    hit = nearest[np.abs(own[nearest] - points) <= 3 * near]
    return len(np.unique(hit)) >= 0.95 * len(points)


def _standardized(values: Array) -> Array | None:
    known = values[np.isfinite(values)]
    if len(known) < _FEWEST_PEOPLE:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        spread = known.std()
        return (known - known.mean()) / spread if spread > 0 and np.isfinite(spread) else None


def _same(one: Array, other: Array, tolerance: float) -> bool:
    return bool(np.max(np.abs(one - other)) <= tolerance)


def _vectors(array: "NDArray[Any]", lengths: set[int]) -> Iterator[Array]:
    """Yield the columns and rows of an array that are long enough to be of people."""
    if array.ndim == 1:
        if len(array) >= _FEWEST_PEOPLE and (len(array) <= _LONGEST or len(array) in lengths):
            yield array.astype(np.float64)
        return
    table = array.reshape(len(array), -1) if array.ndim > 2 and len(array) else array
    if table.ndim != 2:
        return
    for side in (table, table.T):
        if len(side) >= _FEWEST_PEOPLE and (len(side) <= _LONGEST or len(side) in lengths):
            for i in np.unique(np.linspace(0, side.shape[1] - 1, min(_MOST_VECTORS, side.shape[1])).astype(int)):
                yield side[:, i].astype(np.float64)
