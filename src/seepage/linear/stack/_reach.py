"""How features move with a person's private values: T, and behind a bend T_i, which differs from row to row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage.linear.columns import Curves

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    """The features that some private coordinates reach, and how.

    Everything that follows counts features by their place here: what no value reaches moves with nobody.
    """

    reading: sparse.csr_array
    """T of all parameters, shape (p, k)."""
    curves: Curves | None
    """The entries that differ from row to row, which are zero in `reading`."""

    @cached_property
    def features(self) -> NDArray[np.intp]:
        """The parameter of each feature; those of coordinates that reach one feature each, in their order."""
        reading = self.reading.tocoo()
        rows, columns = reading.row, reading.col
        if self.curves is None and len(rows) == self.reading.shape[1] == len(set(rows)) == len(set(columns)):
            return np.asarray(rows[np.argsort(columns)], dtype=np.intp)
        bent = np.empty(0, dtype=np.intp) if self.curves is None else self.curves.features
        return np.unique(np.concatenate([rows, bent])).astype(np.intp)

    @cached_property
    def straight(self) -> Array:
        """T of the features, shape (features, k)."""
        return np.asarray(self.reading[self.features].toarray())

    @cached_property
    def factors(self) -> Array | None:
        """The diagonal of T, where each coordinate reaches the feature of its own place."""
        straight = self.straight
        if self.curves is not None or straight.shape[0] != straight.shape[1]:
            return None
        diagonal = straight.diagonal()
        return diagonal.copy() if np.count_nonzero(straight) == np.count_nonzero(diagonal) == len(straight) else None

    @cached_property
    def spans(self) -> list[tuple[int, slice, NDArray[np.intp]]]:
        """Each coordinate that something bends, where its entries are, and the features that they are of."""
        if self.curves is None:
            return []
        at, places = self.curves.coordinates, np.searchsorted(self.features, self.curves.features)
        starts = np.flatnonzero(np.r_[True, np.diff(at) != 0]) if len(at) else np.empty(0, dtype=np.intp)
        return [
            (int(at[start]), slice(int(start), int(stop)), places[start:stop])
            for start, stop in pairwise([*starts.tolist(), len(at)])
        ]

    def at(self, bent: Array | None) -> "Reached":
        """Return T_i of some rows, given the coordinates of theirs that reach bends."""
        if self.curves is None:
            return Reached(self, None)
        assert bent is not None
        return Reached(self, self.curves.at(bent))

    def of(self, coordinates: Sequence[int] | NDArray[np.intp]) -> "Reach":
        """Return how some of the coordinates reach features."""
        chosen = np.asarray(coordinates, dtype=np.intp)
        curves = None if self.curves is None else self.curves.taken(chosen)
        return Reach(self.reading[:, chosen].tocsr(), curves)


@dataclass(frozen=True, eq=False)
class Reached:
    """T_i of some rows."""

    reach: Reach
    slopes: Array | None
    """The entries that differ from row to row, shape (n, entries)."""

    @property
    def coordinates(self) -> int:
        return int(self.reach.reading.shape[1])

    def fixed(self, matrix: Array) -> Array:
        """Return T_i^T times a matrix with a row a feature, shape (n, k, columns); one for all rows where T is."""
        found = (self.reach.straight.T @ matrix)[None]
        if self.slopes is None:
            return np.asarray(found)
        found = np.repeat(found, len(self.slopes), axis=0)
        for coordinate, at, features in self.reach.spans:
            found[:, coordinate] += self.slopes[:, at] @ matrix[features]
        return np.asarray(found)

    def add_scaled(self, by: Array, matrix: Array, total: Array) -> None:
        """Add T_i^T times a matrix with a row a feature, times a number a row, to `total`, shape (n, k, columns)."""
        straight = self.reach.straight.T @ matrix
        total += by[:, None, None] * straight
        if self.slopes is not None:
            for coordinate, at, features in self.reach.spans:
                total[:, coordinate] += (by[:, None] * self.slopes[:, at]) @ matrix[features]

    def each(self, values: Array) -> Array:
        """Return T_i^T times what belongs to each row and feature, from shape (n, features, m) to (n, k, m)."""
        if self.reach.factors is not None:
            return np.asarray(self.reach.factors[:, None] * values)
        found = self.reach.straight.T @ values
        if self.slopes is not None:
            for coordinate, at, features in self.reach.spans:
                found[:, coordinate] += np.einsum("nf,nfm->nm", self.slopes[:, at], values[:, features])
        return np.asarray(found)

    def to_features(self, vectors: Array) -> Array:
        """Return T times a vector a row, from shape (n, k) to (n, features), where T is the same for all rows."""
        assert self.slopes is None
        factors = self.reach.factors
        return np.asarray(vectors @ self.reach.straight.T if factors is None else vectors * factors)

    def to_coordinates(self, vectors: Array) -> Array:
        """Return T^T times a vector a row, where T is the same for all rows."""
        assert self.slopes is None
        factors = self.reach.factors
        return np.asarray(vectors @ self.reach.straight if factors is None else vectors * factors)
