"""The affine map from private attributes to model features.

A feature vector is  T xi + t  (eq. 2.2). The coordinates xi of one person are that person's raw columns: one number for
a numeric column, one indicator for each encoded level of a categorical one. All coordinates of a column form one
attribute. A level is known by the values that it stands for, never by its place: two encoders of one column may drop
and group different ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from seepage.linear.columns._claims import Claim

Array = NDArray[np.float64]


class Coordinate(NamedTuple):
    """One private number: a raw column, or whether it has one of some values."""

    column: int
    level: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class Affine:
    """Features as an affine function of the coordinates of raw columns."""

    matrix: sparse.csr_array
    """T, shape (features, coordinates)."""
    offset: Array
    """t, shape (features,); NaN where a feature says which cells are missing, which differs from row to row."""
    coordinates: tuple[Coordinate, ...]
    markers: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    """What stands for a missing value in a raw column, besides NaN and None."""
    claims: Mapping[int, tuple[Claim, ...]] = field(default_factory=dict)
    """What steps say of the features that they made, the first step's first."""

    @classmethod
    def raw(cls, columns: int) -> "Affine":
        """Return the identity on so many raw columns."""
        coordinates = tuple(Coordinate(column) for column in range(columns))
        return cls(sparse.eye_array(columns, format="csr"), np.zeros(columns), coordinates)

    @property
    def features(self) -> int:
        return int(self.matrix.shape[0])

    def take(self, features: Sequence[int] | NDArray[np.intp]) -> "Affine":
        """Return the map of some of the features, in the order given, and of the coordinates that reach them."""
        index = np.asarray(features, dtype=np.intp)
        matrix = self.matrix[index]
        reached = np.unique(matrix.tocoo().coords[1])
        coordinates = tuple(self.coordinates[int(i)] for i in reached)
        claims = {i: self.claims[int(old)] for i, old in enumerate(index) if int(old) in self.claims}
        return replace(
            self,
            matrix=matrix[:, reached].tocsr(),
            offset=self.offset[index],
            coordinates=coordinates,
            claims=claims,
        )

    def claimed(self, claim: Claim) -> "Affine":
        """Return the map with a step's claim about each of the features."""
        found = {}
        for feature in range(self.features):
            before = self.claims.get(feature, ())
            filled = any(one.fills for one in before)
            found[feature] = (*before, replace(claim, after_filling=filled))
        return replace(self, claims=found)

    def shifted(self, by: ArrayLike) -> "Affine":
        """Return the map with `by` added to the features."""
        added = np.broadcast_to(np.asarray(by, dtype=np.float64), (self.features,))
        claims = {i: tuple(one.shifted(float(added[i])) for one in each) for i, each in self.claims.items()}
        return replace(self, offset=self.offset + added, claims=claims)

    def scaled(self, by: ArrayLike) -> "Affine":
        """Return the map with each feature multiplied by its entry of `by`."""
        factor = np.broadcast_to(np.asarray(by, dtype=np.float64), (self.features,))
        claims = {i: tuple(one.scaled(float(factor[i])) for one in each) for i, each in self.claims.items()}
        matrix = (sparse.diags_array(factor) @ self.matrix).tocsr()
        return replace(self, matrix=matrix, offset=self.offset * factor, claims=claims)

    def mapped(self, matrix: ArrayLike) -> "Affine":
        """Return the map followed by a matrix."""
        step = np.asarray(matrix, dtype=np.float64)
        matrix = sparse.csr_array(step @ self.matrix.toarray())
        # What is mixed is no longer what any step claimed it to be.
        return replace(self, matrix=matrix, offset=step @ self.offset, claims={})

    def raw_column(self, feature: int) -> int | None:
        """Return which raw column this feature is, untouched, or None."""
        row = self.matrix[[feature]].tocoo()
        if row.nnz != 1 or row.data[0] != 1 or self.offset[feature] != 0:
            return None
        coordinate = self.coordinates[int(row.coords[1][0])]
        return coordinate.column if coordinate.level is None else None

    def marked(self, columns: Sequence[int], marker: Any) -> "Affine":
        """Return the map with one more value that stands for a missing one in some columns."""
        found = {column: (*self.markers.get(column, ()), marker) for column in columns}
        return replace(self, markers={**self.markers, **found})

    def noticing(self, count: int) -> "Affine":
        """Return the map with so many more features, which say whether a cell is missing: that is public."""
        matrix = sparse.vstack([self.matrix, sparse.csr_array((count, self.matrix.shape[1]))], format="csr")
        return replace(self, matrix=matrix, offset=np.concatenate([self.offset, np.full(count, np.nan)]))

    def encoded(self, columns: Sequence[int], levels: Sequence[Sequence[tuple[Any, ...]]]) -> "Affine":
        """Return one-hot features of raw columns: for each column in turn, one for each of its levels.

        A level without values stands for a missing one.
        """
        listed = [Coordinate(column, level) for column, each in zip(columns, levels, strict=True) for level in each]
        held = [i for i, coordinate in enumerate(listed) if coordinate.level]
        matrix = sparse.csr_array((np.ones(len(held)), (held, np.arange(len(held)))), shape=(len(listed), len(held)))
        offset = np.where([bool(coordinate.level) for coordinate in listed], 0.0, np.nan)
        return Affine(matrix, offset, tuple(listed[i] for i in held), self.markers)

    @classmethod
    def stacked(cls, parts: Sequence["Affine"]) -> "Affine":
        """Return the features of all parts one after the other, over all their coordinates."""
        every = [coordinate for part in parts for coordinate in part.coordinates]
        finer = _common(every)
        coordinates = tuple(sorted(dict.fromkeys(c for each in every for c in finer[each]), key=lambda c: c.column))
        position = {coordinate: i for i, coordinate in enumerate(coordinates)}
        blocks = []
        for part in parts:
            turn = sparse.lil_array((len(part.coordinates), len(coordinates)))
            for i, coordinate in enumerate(part.coordinates):
                for piece in finer[coordinate]:
                    turn[i, position[piece]] = 1.0
            blocks.append((part.matrix @ turn.tocsr()).tocsr())
        matrix = sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array((0, 0))
        offset = np.concatenate([part.offset for part in parts]) if parts else np.zeros(0)
        claims, start = {}, 0
        for part in parts:
            claims.update({start + feature: each for feature, each in part.claims.items()})
            start += part.features
        markers: dict[int, tuple[Any, ...]] = {}
        for part in parts:
            for column, found in part.markers.items():
                markers[column] = tuple(dict.fromkeys([*markers.get(column, ()), *found]))
        return cls(matrix, offset, coordinates, markers, claims)

    def of_columns(self, columns: Sequence[int]) -> "Affine":
        """Return the map cut to the coordinates of some columns: all else is public, so constant."""
        blocks = self.blocks()
        kept = [int(i) for column in columns for i in blocks.get(column, ())]
        return replace(self, matrix=self.matrix[:, kept].tocsr(), coordinates=tuple(self.coordinates[i] for i in kept))

    def blocks(self) -> dict[int, NDArray[np.intp]]:
        """Return the positions of each column's coordinates."""
        found: dict[int, list[int]] = {}
        for i, coordinate in enumerate(self.coordinates):
            found.setdefault(coordinate.column, []).append(i)
        return {column: np.array(positions, dtype=np.intp) for column, positions in found.items()}

    def is_categorical(self, column: int) -> bool:
        """Return whether a column enters as indicators of its levels."""
        return any(c.column == column and c.level is not None for c in self.coordinates)


def _common(coordinates: Sequence[Coordinate]) -> dict[Coordinate, tuple[Coordinate, ...]]:
    """Return each coordinate as the sum of coordinates that no two of which share a value.

    One encoder may put rare values together that another tells apart.
    """
    holders: dict[tuple[int, Any], set[Coordinate]] = {}
    for coordinate in coordinates:
        for value in coordinate.level or ():
            holders.setdefault((coordinate.column, value), set()).add(coordinate)
    pieces: dict[tuple[int, frozenset[Coordinate]], list[Any]] = {}
    for (column, value), sharing in holders.items():
        pieces.setdefault((column, frozenset(sharing)), []).append(value)
    found: dict[Coordinate, list[Coordinate]] = {c: [c] if c.level is None else [] for c in coordinates}
    for (column, among), values in pieces.items():
        for coordinate in among:
            found[coordinate].append(Coordinate(column, tuple(values)))
    return {coordinate: tuple(each) for coordinate, each in found.items()}
