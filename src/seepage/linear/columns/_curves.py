"""How features move with coordinates, row by row, through steps that bend (eq. 2.22).

    T_i = T + sum over bends of  B  dphi/dz (z_i)  dz/dxi,

and z may itself come from a step that bends. Which entries of T_i differ from row to row is the same for all rows, so
they are found once, and each batch is a table of numbers: one row a person, one column an entry.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage.linear.columns._affine import Affine, Bend, Coordinate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forward:
    """Evaluates a map at the values of the coordinates that reach its bends; holds no rows, so that it can travel."""

    affine: Affine
    coordinates: tuple[Coordinate, ...]
    """What the columns of the values are."""

    def features(self, values: Array) -> Array:
        """Return all features of some rows, of a map all of whose coordinates are among the values."""
        place = {coordinate: i for i, coordinate in enumerate(self.coordinates)}
        at = [place[coordinate] for coordinate in self.affine.coordinates]
        with np.errstate(all="ignore"):
            found = np.asarray((self.affine.matrix @ values[:, at].T).T) + self.affine.offset
        return found + self.bent(values)

    def bent(self, values: Array) -> Array:
        """Return what the bends add to the features, shape (n, features)."""
        found = np.zeros((len(values), self.affine.features))
        for bend in self.affine.bends:
            with np.errstate(all="ignore"):
                made = bend.curve.values(self.inputs(bend, values))
            found += np.asarray((bend.matrix @ made.T).T)
        return found

    def inputs(self, bend: Bend, values: Array) -> Array:
        """Return what goes into a bend."""
        return replace(self, affine=bend.incoming).features(values)

    @cached_property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """Which entries of T_i the bends make: feature, and place of the coordinate among those of the values."""
        return tuple(dict.fromkeys(entry for part in self._parts for entry in part.entries))

    def slopes(self, values: Array) -> Array:
        """Return these entries for some rows, shape (n, entries)."""
        place = {entry: i for i, entry in enumerate(self.entries)}
        if len(self._parts) == 1:
            return self._parts[0].slopes(values)
        found = np.zeros((len(values), len(place)))
        for part in self._parts:
            found[:, [place[entry] for entry in part.entries]] += part.slopes(values)
        return found

    @cached_property
    def _parts(self) -> tuple["_BendPart", ...]:
        return tuple(_BendPart(self, bend) for bend in self.affine.bends)


@dataclass(frozen=True, eq=False)
class _BendPart:
    """What one bend adds to T_i."""

    forward: Forward
    bend: Bend

    @cached_property
    def _inner(self) -> Forward:
        return replace(self.forward, affine=self.bend.incoming)

    @cached_property
    def _terms(self) -> tuple[dict[tuple[int, int], int], list[tuple[int, int, int, float]]]:
        """Each product B_fo (dphi_o/dz_i) (dz_i/dxi_j): its entry (f, j), slope (o, i), that of z or -1, and factor."""
        place = {coordinate: i for i, coordinate in enumerate(self.forward.coordinates)}
        matrix, straight = self.bend.matrix.tocsc(), self.bend.incoming.matrix.tocsr()
        at = [place[coordinate] for coordinate in self.bend.incoming.coordinates]
        bent: dict[int, list[tuple[int, int]]] = {}
        for number, (feature, coordinate) in enumerate(self._inner.entries):
            bent.setdefault(feature, []).append((number, coordinate))
        entries: dict[tuple[int, int], int] = {}
        terms = []
        for slope, (o, i) in enumerate(zip(*_listed(self.bend.curve.reach), strict=True)):
            reached = [(at[int(j)], -1, float(value)) for j, value in zip(*_row(straight, int(i)), strict=True)]
            reached += [(coordinate, number, 1.0) for number, coordinate in bent.get(int(i), ())]
            for f, factor in zip(*_row(matrix, int(o)), strict=True):
                for j, number, value in reached:
                    entry = entries.setdefault((int(f), j), len(entries))
                    terms.append((entry, slope, number, float(factor) * value))
        return entries, terms

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        return tuple(self._terms[0])

    def slopes(self, values: Array) -> Array:
        """Return its entries for some rows."""
        with np.errstate(all="ignore"):
            own = self.bend.curve.slopes(self.forward.inputs(self.bend, values))
        if self._plain:
            return own
        found = np.asarray((self._straight @ own.T).T)
        if self._crossed[0].shape[0]:
            outer, inner, total = self._crossed
            found += np.asarray((total @ (own[:, outer] * self._inner.slopes(values)[:, inner]).T).T)
        return found

    @cached_property
    def _plain(self) -> bool:
        """Whether each entry is one slope as it is."""
        entries, terms = self._terms
        slopes = self.bend.curve.reach.nnz
        return len(entries) == slopes and terms == [(i, i, -1, 1.0) for i in range(slopes)]

    @cached_property
    def _straight(self) -> sparse.csr_array:
        """From slopes of the curve to entries, where z is affine."""
        entries, terms = self._terms
        kept = [(entry, slope, factor) for entry, slope, number, factor in terms if number < 0]
        return _summing(kept, (len(entries), self.bend.curve.reach.nnz))

    @cached_property
    def _crossed(self) -> tuple[NDArray[np.intp], NDArray[np.intp], sparse.csr_array]:
        """Which slopes of the curve are multiplied with which of z, and from the products to entries."""
        entries, terms = self._terms
        kept = [(entry, slope, number, factor) for entry, slope, number, factor in terms if number >= 0]
        outer = np.array([slope for _, slope, _, _ in kept], dtype=np.intp)
        inner = np.array([number for _, _, number, _ in kept], dtype=np.intp)
        total = _summing(
            [(entry, i, factor) for i, (entry, _, _, factor) in enumerate(kept)], (len(entries), len(kept))
        )
        return outer, inner, total


def _listed(matrix: sparse.csr_array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the entries of a matrix, row by row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return rows, matrix.indices


def _row(matrix: sparse.csr_array, index: int) -> tuple[NDArray[np.intp], Array]:
    """Return places and numbers of a row, or of a column of a matrix by columns."""
    at = slice(matrix.indptr[index], matrix.indptr[index + 1])
    return matrix.indices[at], matrix.data[at]


def _summing(terms: Sequence[tuple[int, int, float]], shape: tuple[int, int]) -> sparse.csr_array:
    rows, columns, factors = zip(*terms, strict=True) if terms else ((), (), ())
    return sparse.csr_array((np.array(factors, dtype=np.float64), (rows, columns)), shape=shape)


@dataclass(frozen=True, eq=False)
class Curves:
    """The entries of T_i that differ from row to row, for some private coordinates."""

    forward: Forward
    chosen: NDArray[np.intp]
    """Which of the entries they are."""
    features: NDArray[np.intp]
    """The feature of each."""
    coordinates: NDArray[np.intp]
    """The private coordinate of each, in order."""
    factors: Array
    """What each is multiplied by."""

    @classmethod
    def of(cls, affine: Affine, private: Sequence[Coordinate]) -> "Curves | None":
        """Return those of some coordinates, if any reaches a step that bends."""
        if not affine.bends:
            return None
        forward = Forward(affine, affine.bent_coordinates)
        place = {coordinate: i for i, coordinate in enumerate(private)}
        found = [
            (place[forward.coordinates[at]], feature, i)
            for i, (feature, at) in enumerate(forward.entries)
            if forward.coordinates[at] in place
        ]
        coordinates, features, chosen = np.array(sorted(found), dtype=np.intp).reshape(-1, 3).T
        return cls(forward, chosen, features, coordinates, np.ones(len(chosen)))

    def at(self, values: Array) -> Array:
        """Return the entries for some rows, shape (n, entries)."""
        return np.asarray(self.forward.slopes(values)[:, self.chosen] * self.factors)

    def taken(self, coordinates: NDArray[np.intp]) -> "Curves":
        """Return those of some of the private coordinates, which are then counted in the order given."""
        place = {int(old): new for new, old in enumerate(coordinates)}
        kept = np.array([i for i, at in enumerate(self.coordinates) if int(at) in place], dtype=np.intp)
        moved = np.array([place[int(self.coordinates[i])] for i in kept], dtype=np.intp)
        kept = kept[np.argsort(moved, kind="stable")]
        return replace(
            self,
            chosen=self.chosen[kept],
            features=self.features[kept],
            coordinates=np.sort(moved),
            factors=self.factors[kept],
        )

    def scaled(self, by: Array) -> "Curves":
        """Return those of features that are each multiplied by a number."""
        return replace(self, factors=self.factors * by[self.features])
