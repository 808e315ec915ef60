"""How features move with coordinates, row by row, through steps that bend (eq. 2.21).

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
    def entries(self) -> NDArray[np.intp]:
        """The entries of T_i that the bends make: feature, and place of the coordinate, shape (2, entries)."""
        return np.unique(np.hstack([np.empty((2, 0), np.intp), *(part.entries for part in self._parts)]), axis=1)

    def slopes(self, values: Array) -> Array:
        """Return these entries for some rows, shape (n, entries)."""
        if len(self._parts) == 1:
            return self._parts[0].slopes(values)
        place = {entry: i for i, entry in enumerate(zip(*self.entries, strict=True))}
        found = np.zeros((len(values), len(place)))
        for part in self._parts:
            found[:, [place[entry] for entry in zip(*part.entries, strict=True)]] += part.slopes(values)
        return found

    @cached_property
    def _parts(self) -> tuple["_BendPart", ...]:
        return tuple(_BendPart(self, bend) for bend in self.affine.bends)


@dataclass(frozen=True, eq=False)
class _BendPart:
    """The sum of products  B_fo (dphi_o/dz_i) (dz_i/dxi_j)  of one bend."""

    forward: Forward
    bend: Bend

    @cached_property
    def _inner(self) -> Forward:
        return replace(self.forward, affine=self.bend.incoming)

    @cached_property
    def _straight(self) -> tuple[NDArray[np.intp], Array]:
        """The entries of dz/dxi that are the same for all rows: input and coordinate, and the numbers."""
        place = {coordinate: i for i, coordinate in enumerate(self.forward.coordinates)}
        at = np.array([place[coordinate] for coordinate in self.bend.incoming.coordinates], dtype=np.intp)
        matrix = self.bend.incoming.matrix.tocoo()
        return np.stack([matrix.row, at[matrix.col]]).astype(np.intp), matrix.data

    @cached_property
    def _products(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], sparse.csr_array]:
        """The entries, the slope and the entry of dz/dxi of each product, and from the products to the entries."""
        slopes = self.bend.curve.reach.tocsr().tocoo()
        inner = np.hstack([self._straight[0], self._inner.entries])
        through = [
            sparse.csr_array((np.ones(len(at)), at, np.arange(len(at) + 1)), (len(at), self.bend.curve.reach.shape[1]))
            for at in (slopes.col, inner[0])
        ]
        outer, within = (through[0] @ through[1].T).nonzero()
        made = self.bend.matrix[:, slopes.row[outer]].tocoo()
        entries, which = np.unique(np.stack([made.row, inner[1, within[made.col]]]), axis=1, return_inverse=True)
        total = sparse.csr_array((made.data, (which.ravel(), made.col)), shape=(entries.shape[1], len(outer)))
        return entries.astype(np.intp), outer, within, total

    @property
    def entries(self) -> NDArray[np.intp]:
        return self._products[0]

    def slopes(self, values: Array) -> Array:
        """Return its entries for some rows."""
        _, outer, within, total = self._products
        with np.errstate(all="ignore"):
            own = self.bend.curve.slopes(self.forward.inputs(self.bend, values))
        inner = np.broadcast_to(self._straight[1], (len(values), len(self._straight[1])))
        inner = np.hstack([inner, self._inner.slopes(values)])
        return np.asarray((total @ (own[:, outer] * inner[:, within]).T).T)


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
            for i, (feature, at) in enumerate(forward.entries.T.tolist())
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
