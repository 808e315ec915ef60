"""The affine map from private attributes to model features.

A feature vector is  T xi + t  (eq. 2.2). The coordinates xi of one person are that person's raw columns: one number for
a numeric column, one indicator for each encoded level of a categorical one. All coordinates of a column form one
attribute.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Array = NDArray[np.float64]


class Coordinate(NamedTuple):
    """One private number: a raw column, or one level of it."""

    column: int
    level: int | None = None


@dataclass(frozen=True, eq=False)
class Affine:
    """Features as an affine function of the coordinates of raw columns."""

    matrix: sparse.csr_array
    """T, shape (features, coordinates)."""
    offset: Array
    """t, shape (features,)."""
    coordinates: tuple[Coordinate, ...]

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
        return Affine(matrix[:, reached].tocsr(), self.offset[index], coordinates)

    def shifted(self, by: ArrayLike) -> "Affine":
        """Return the map with `by` added to the features."""
        return replace(self, offset=self.offset + np.asarray(by, dtype=np.float64))

    def scaled(self, by: ArrayLike) -> "Affine":
        """Return the map with each feature multiplied by its entry of `by`."""
        factor = np.broadcast_to(np.asarray(by, dtype=np.float64), (self.features,))
        return replace(self, matrix=(sparse.diags_array(factor) @ self.matrix).tocsr(), offset=self.offset * factor)

    def mapped(self, matrix: ArrayLike) -> "Affine":
        """Return the map followed by a matrix."""
        step = np.asarray(matrix, dtype=np.float64)
        return replace(self, matrix=sparse.csr_array(step @ self.matrix.toarray()), offset=step @ self.offset)

    def raw_column(self, feature: int) -> int | None:
        """Return which raw column this feature is, untouched, or None."""
        row = self.matrix[[feature]].tocoo()
        if row.nnz != 1 or row.data[0] != 1 or self.offset[feature] != 0:
            return None
        coordinate = self.coordinates[int(row.coords[1][0])]
        return coordinate.column if coordinate.level is None else None

    @classmethod
    def indicators(cls, columns: Sequence[int], levels: Sequence[int]) -> "Affine":
        """Return one-hot features: for each column in turn, one for each of its levels."""
        coordinates = tuple(
            Coordinate(column, level) for column, size in zip(columns, levels, strict=True) for level in range(size)
        )
        return cls(sparse.eye_array(len(coordinates), format="csr"), np.zeros(len(coordinates)), coordinates)

    @classmethod
    def stacked(cls, parts: Sequence["Affine"]) -> "Affine":
        """Return the features of all parts one after the other, over all their coordinates."""
        coordinates = tuple(sorted({c for part in parts for c in part.coordinates}, key=_order))
        position = {coordinate: i for i, coordinate in enumerate(coordinates)}
        blocks = []
        for part in parts:
            entries = part.matrix.tocoo()
            columns = np.array([position.get(c, 0) for c in part.coordinates], dtype=np.intp)
            kept = entries.data != 0
            blocks.append(
                sparse.csr_array(
                    (entries.data[kept], (entries.coords[0][kept], columns[entries.coords[1][kept]])),
                    shape=(part.features, len(coordinates)),
                )
            )
        matrix = sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array((0, 0))
        return cls(matrix, np.concatenate([part.offset for part in parts]) if parts else np.zeros(0), coordinates)

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


def _order(coordinate: Coordinate) -> tuple[int, int]:
    return coordinate.column, -1 if coordinate.level is None else coordinate.level
