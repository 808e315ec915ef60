"""The counts and shares of a table, and how often each person's category is told by them."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.aggregates._chances import counted, linked, with_totals
from seepage.aggregates._records import Records
from seepage.attackers import Attacker


class ToldApart(NamedTuple):
    """How far releases with a person's value and another one are apart, in total variation."""

    apart: Array
    """Shape (people, values)."""
    whole: bool
    """Whether all counts and shares that move with the value were looked at together."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What a table counts."""

    records: Records
    by: tuple[str, ...]
    shares: tuple[str, ...]
    """The categories whose shares are printed in each cell."""
    margins: bool
    totals: frozenset[str]
    """The columns of which everybody knows how many people have each value."""
    others: int
    """How many other people there are."""

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
        if attribute in self.by:
            rest = tuple(name for name in self.by if name != attribute)
            beside = [(*rest, each) for each in self.shares] or [rest]
            whole = len(self.shares) < 2
        else:
            beside, whole = [self.by], len(self.shares) == 1
        found = np.zeros((len(self.records), len(values)))
        for slices in beside:
            found = np.maximum(found, self._told(attribute, slices, places, attacker.unknown))
        if attribute in self.shares and not whole:
            further = self._linked(attribute, places)
            whole = further is not None
            found = found if further is None else np.maximum(found, further)
        return ToldApart(found, whole)

    def _told(self, attribute: str, slices: Sequence[str], places: NDArray[np.intp], unknown: int) -> Array:
        own, other, inverse = self._sizes(attribute, slices, places)
        first = np.unique(inverse, return_index=True)[1]
        # The distance of a value from itself is zero.
        differs = self.records.values[attribute][first][:, None] != places
        found = np.zeros(own.shape)
        found[differs] = counted(own[differs], other[differs], self.others, unknown)
        for wider in self._wider(attribute, slices):
            # People who are alike in the slice are alike in what is wider.
            more_own, more_other, at = self._sizes(attribute, wider, places)
            more_own, more_other = more_own[at[first]], more_other[at[first]]
            sizes = np.stack([own, other, more_own, more_other], axis=-1)[differs]
            unique, back = np.unique(sizes, axis=0, return_inverse=True)
            totals = np.array([with_totals(*each) for each in unique.tolist()])
            found[differs] = np.maximum(found[differs], totals[back.ravel()])
        return found[inverse]

    def _wider(self, attribute: str, slices: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield the columns of margins that are known of a value."""
        if self.margins:
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
        own, slice_ = records.values[attribute], records.together(slices)
        width = len(records.levels[attribute]) + 1
        table = np.zeros((int(slice_.max()) + 1, width), dtype=np.intp)
        np.add.at(table, (slice_, own), 1)
        kinds, inverse = np.unique(slice_ * width + own, return_inverse=True)
        at, level = np.divmod(kinds, width)
        mine = np.repeat(table[at, level][:, None] - 1, len(places), axis=1)
        return mine, table[at][:, places], inverse.ravel()

    def _linked(self, attribute: str, places: NDArray[np.intp]) -> Array | None:
        """Return what several shares in a cell tell together; None where too many tables fit."""
        records = self.records
        rest = tuple(name for name in self.shares if name != attribute)
        shape = tuple(len(records.levels[name]) for name in rest)
        kind = np.ravel_multi_index(tuple(records.values[name] for name in rest), shape)
        which = np.column_stack(np.unravel_index(np.arange(np.prod(shape)), shape))
        own, width = records.values[attribute], len(records.levels[attribute]) + 1
        found = np.zeros((len(records), len(places)))
        cells = records.together(self.by)
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
