"""The counts and shares of a table, and how often each person's category is told by them."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.aggregates._chances import counted, linked, with_totals
from seepage.aggregates._numbers import Series
from seepage.aggregates._records import Records
from seepage.attackers import Attacker


class ToldApart(NamedTuple):
    """How far releases with a person's value and another one are apart, in total variation."""

    apart: Array
    """Shape (people, values)."""
    whole: bool
    """Whether all counts and shares that move with the value were looked at together."""


class CountedCells(NamedTuple):
    """Cells with their counts and shares."""

    by: tuple[str, ...]
    shares: tuple[str, ...]
    """The categories whose shares are printed in each cell."""
    margins: bool


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts and shares of a table."""

    records: Records
    cells: tuple[CountedCells, ...]
    totals: frozenset[str]
    """The columns of which everybody knows how many people have each value."""
    others: int
    """How many other people there are."""

    @classmethod
    def of(cls, records: Records, series: Sequence[Series]) -> "Counted | None":
        """Take the cells of counts and shares, without those that are margins of others; None if there are none."""
        shares: dict[tuple[str, ...], dict[str, None]] = {}
        for each in series:
            if each.discrete:
                of = shares.setdefault(each.grouping.by, {})
                of |= {} if each.level is None or each.column is None else {each.column: None}
        found = [
            CountedCells(by, tuple(of), any(set(other) < set(by) for other in shares))
            for by, of in shares.items()
            if not any(set(other) > set(by) and shares[other].keys() >= of.keys() for other in shares)
        ]
        return cls(records, tuple(found), frozenset(), len(records) - 1) if found else None

    @property
    def by(self) -> frozenset[str]:
        """The columns that make cells."""
        return frozenset(name for each in self.cells for name in each.by)

    @property
    def shares(self) -> frozenset[str]:
        """The categories whose shares are printed."""
        return frozenset(name for each in self.cells for name in each.shares)

    def told(self, attribute: str, values: Sequence[Hashable], attacker: Attacker) -> ToldApart:
        """Return how well the values of a category are told, given everything else about the person.

        Parameters
        ----------
        attribute : str
            One that the table is by, or prints the shares of.
        values : sequence
            The values in question.
        attacker : Attacker
        """
        places = np.array([self.records.place(attribute, value) for value in values], dtype=np.intp)
        about = [each for each in self.cells if attribute in (*each.by, *each.shares)]
        answers = [self._of_cells(each, attribute, places, attacker.unknown) for each in about]
        found = np.max([each.apart for each in answers], axis=0)
        # Nothing is inferred of a missing value.
        found[~self.records.present(attribute)] = 0.0
        return ToldApart(found, len(answers) == 1 and answers[0].whole)

    def _of_cells(self, cells: CountedCells, attribute: str, places: NDArray[np.intp], unknown: int) -> ToldApart:
        if attribute in cells.by:
            rest = tuple(name for name in cells.by if name != attribute)
            beside = [(*rest, each) for each in cells.shares] or [rest]
            whole = len(cells.shares) < 2
        else:
            beside, whole = [cells.by], len(cells.shares) == 1
        found = np.zeros((len(self.records), len(places)))
        for slices in beside:
            found = np.maximum(found, self._told(attribute, slices, places, unknown, margins=cells.margins))
        if attribute in cells.shares and not whole:
            further = self._linked(cells, attribute, places)
            whole = further is not None
            found = found if further is None else np.maximum(found, further)
        return ToldApart(found, whole)

    def _told(
        self, attribute: str, slices: Sequence[str], places: NDArray[np.intp], unknown: int, *, margins: bool
    ) -> Array:
        own, other, inverse = self._sizes(attribute, slices, places)
        first = np.unique(inverse, return_index=True)[1]
        # The distance of a value from itself is zero.
        differs = self.records.values[attribute][first][:, None] != places
        found = np.zeros(own.shape)
        found[differs] = counted(own[differs], other[differs], self.others, unknown)
        for wider in self._wider(attribute, slices, margins=margins):
            # People who are alike in the slice are alike in what is wider.
            more_own, more_other, at = self._sizes(attribute, wider, places)
            more_own, more_other = more_own[at[first]], more_other[at[first]]
            sizes = np.stack([own, other, more_own, more_other], axis=-1)[differs]
            unique, back = np.unique(sizes, axis=0, return_inverse=True)
            totals = np.array([with_totals(*each) for each in unique.tolist()])
            found[differs] = np.maximum(found[differs], totals[back.ravel()])
        return found[inverse]

    def _wider(self, attribute: str, slices: Sequence[str], *, margins: bool) -> Iterator[tuple[str, ...]]:
        """Yield the columns of margins that are known of a value."""
        if margins:
            for size in range(len(slices)):
                yield from combinations(slices, size)
        elif attribute in self.totals and slices:
            yield ()

    def _sizes(
        self, attribute: str, slices: Sequence[str], places: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return of how many others each kind of person is among, with their value and others, shape (kinds, values).

        Also which kind everybody is.
        """
        records = self.records
        slice_, width = records.together(slices), len(records.levels[attribute]) + 1
        own = records.values[attribute] % width
        table = np.zeros((int(slice_.max()) + 1, width), dtype=np.intp)
        np.add.at(table, (slice_, own), 1)
        kinds, inverse = np.unique(slice_ * width + own, return_inverse=True)
        at, level = np.divmod(kinds, width)
        mine = np.repeat(table[at, level][:, None] - 1, len(places), axis=1)
        return mine, table[at][:, places], inverse.ravel()

    def _linked(self, counted: CountedCells, attribute: str, places: NDArray[np.intp]) -> Array | None:
        """Return what several shares in a cell tell together; None where too many tables fit."""
        records = self.records
        if not all(records.present(name).all() for name in (*counted.shares, *counted.by)):
            return None
        rest = tuple(name for name in counted.shares if name != attribute)
        shape = tuple(len(records.levels[name]) for name in rest)
        kind = np.ravel_multi_index(tuple(records.values[name] for name in rest), shape)
        which = np.column_stack(np.unravel_index(np.arange(np.prod(shape)), shape))
        own, width = records.values[attribute], len(records.levels[attribute]) + 1
        found = np.zeros((len(records), len(places)))
        cells = records.together(counted.by)
        for cell in range(int(cells.max()) + 1):
            people = np.flatnonzero(cells == cell)
            table = np.zeros((width, len(which)), dtype=np.intp)
            np.add.at(table, (own[people], kind[people]), 1)
            for level, type_ in np.unique(np.column_stack([own[people], kind[people]]), axis=0).tolist():
                others = table.copy()
                others[level, type_] -= 1
                whom = people[(own[people] == level) & (kind[people] == type_)]
                for j, place in enumerate(places.tolist()):
                    if place != level:
                        told = linked(others, which, level, place)
                        if told is None:
                            return None
                        found[whom, j] = told
        return found
