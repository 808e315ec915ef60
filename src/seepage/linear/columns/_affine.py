"""The map from private attributes to model features.

A feature vector is  T xi + t  (eq. 2.2), and steps that bend add terms  B phi(z)  of an affine map z of their own (eq.
2.21). The coordinates xi of one person are that person's raw columns: one number for
a numeric column, one indicator for each encoded level of a categorical one. All coordinates of a column form one
attribute. A level is known by the values that it stands for, never by its place: two encoders of one column may drop
and group different ones.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from seepage.errors import UnsupportedError
from seepage.linear.columns._claims import Claim
from seepage.linear.columns._curve import Curve, called

Array = NDArray[np.float64]


class Coordinate(NamedTuple):
    """One private number: a raw column, or whether it has one of some values."""

    column: int
    level: tuple[Hashable, ...] | None = None


@dataclass(frozen=True, eq=False)
class Bend:
    """What a step that is not affine adds to the features: B phi(z)."""

    matrix: sparse.csr_array
    """B, shape (features, what the step makes)."""
    curve: Curve
    """phi."""
    incoming: "Affine"
    """z, over the coordinates that reach it, in the order of the map that it is part of."""
    path: str
    """Where the step stands."""


@dataclass(frozen=True, eq=False)
class Affine:
    """Features as an affine function of the coordinates of raw columns, and of what some steps bent."""

    matrix: sparse.csr_array
    """T, shape (features, coordinates)."""
    offset: Array
    """t, shape (features,); NaN where a feature says which cells are missing, which differs from row to row."""
    coordinates: tuple[Coordinate, ...]
    markers: Mapping[int, tuple[Hashable, ...]] = field(default_factory=dict)
    """What stands for a missing value in a raw column, besides NaN and None."""
    claims: Mapping[int, tuple[Claim, ...]] = field(default_factory=dict)
    """What steps say of the features that they made, the first step's first."""
    bends: tuple[Bend, ...] = ()
    """What is not affine."""

    @classmethod
    def raw(cls, columns: int) -> "Affine":
        """Return the identity on so many raw columns."""
        coordinates = tuple(Coordinate(column) for column in range(columns))
        return cls(sparse.csr_array(sparse.eye(columns)), np.zeros(columns), coordinates)

    @property
    def features(self) -> int:
        return int(self.matrix.shape[0])

    def take(self, features: Sequence[int] | NDArray[np.intp]) -> "Affine":
        """Return the map of some of the features, in the order given, and of the coordinates that reach them."""
        index = np.asarray(features, dtype=np.intp)
        matrix = self.matrix[index]
        bends = tuple(replace(bend, matrix=bend.matrix[index]) for bend in self.bends)
        bends = tuple(bend for bend in bends if bend.matrix.nnz)
        entered = {coordinate for bend in bends for coordinate in bend.incoming.coordinates}
        straight = set(np.unique(matrix.tocoo().col).tolist())
        reached = [i for i, each in enumerate(self.coordinates) if i in straight or each in entered]
        coordinates = tuple(self.coordinates[i] for i in reached)
        claims = {i: self.claims[int(old)] for i, old in enumerate(index) if int(old) in self.claims}
        return replace(
            self,
            matrix=matrix[:, reached].tocsr(),
            offset=self.offset[index],
            coordinates=coordinates,
            claims=claims,
            bends=bends,
        )

    def bent(
        self,
        function: Callable[[Any], Any],
        path: str,
        slopes: Callable[[Array], Array] | None = None,
        reach: ArrayLike | sparse.sparray | None = None,
    ) -> "Affine":
        """Return the features of a step that is a smooth function of each row.

        Parameters
        ----------
        function : callable
            The features of some rows: the `transform` of the step.
        path : str
            The path of the step.
        slopes : callable, optional
            The derivatives of the features for some rows, shape (n, entries of `reach`), feature by feature. They are
            compared with the function. Otherwise the function is differentiated numerically, and refused if it is not
            smooth.
        reach : array or sparse array, optional
            An entry for each input that a feature depends on, shape (features, inputs): by default all.

        Examples
        --------
        >>> import numpy as np
        >>> from seepage.linear import Affine
        >>> Affine.raw(2).bent(lambda rows: np.log1p(rows.sum(axis=1, keepdims=True)), "total").features
        1
        """
        if reach is None:
            try:
                reach = np.ones((called(function, np.ones((1, self.features))).shape[1], self.features))
            except Exception as reason:
                raise UnsupportedError(f"The step {path!r} does not take one row of numbers: {reason}.") from reason
        curve = Curve(function, sparse.csr_array(reach), slopes)
        if curve.reach.shape[1] != self.features:
            raise ValueError(f"the step {path!r} takes {curve.reach.shape[1]} features, and {self.features} come in")
        made = curve.reach.shape[0]
        matrix = sparse.csr_array((made, len(self.coordinates)))
        own = Bend(sparse.csr_array(sparse.eye(made)), curve, self, path)
        # Claims of earlier steps are about other features.
        return Affine(matrix, np.zeros(made), self.coordinates, self.markers, bends=(own,))

    def claimed(self, claim: Claim) -> "Affine":
        """Return the map with what the step that made these features claims of each: call it last."""
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
        by_feature = sparse.csr_array(sparse.diags(factor))
        bends = tuple(replace(bend, matrix=(by_feature @ bend.matrix).tocsr()) for bend in self.bends)
        matrix = (by_feature @ self.matrix).tocsr()
        return replace(self, matrix=matrix, offset=self.offset * factor, claims=claims, bends=bends)

    def mapped(self, matrix: ArrayLike) -> "Affine":
        """Return the map followed by a matrix."""
        step = np.asarray(matrix, dtype=np.float64)
        matrix = sparse.csr_array(step @ self.matrix.toarray())
        bends = tuple(replace(bend, matrix=sparse.csr_array(step @ bend.matrix.toarray())) for bend in self.bends)
        # What is mixed is no longer what any step claimed it to be.
        return replace(self, matrix=matrix, offset=step @ self.offset, claims={}, bends=bends)

    def raw_column(self, feature: int) -> int | None:
        """Return which raw column this feature is, untouched, or None."""
        row = self.matrix[[feature]].tocoo()
        if row.nnz != 1 or row.data[0] != 1 or self.offset[feature] != 0:
            return None
        if any(bend.matrix[[feature]].nnz for bend in self.bends):
            return None
        coordinate = self.coordinates[int(row.col[0])]
        return coordinate.column if coordinate.level is None else None

    def marked(self, columns: Sequence[int], marker: Hashable) -> "Affine":
        """Return the map with one more value that stands for a missing one in some columns."""
        found = {column: (*self.markers.get(column, ()), marker) for column in columns}
        return replace(self, markers={**self.markers, **found})

    def noticing(self, count: int) -> "Affine":
        """Return the map with so many more features, which say whether a cell is missing: that is public."""
        matrix = _padded(self.matrix, 0, count)
        bends = tuple(replace(bend, matrix=_padded(bend.matrix, 0, count)) for bend in self.bends)
        return replace(self, matrix=matrix, offset=np.concatenate([self.offset, np.full(count, np.nan)]), bends=bends)

    def encoded(self, columns: Sequence[int], levels: Sequence[Sequence[tuple[Hashable, ...]]]) -> "Affine":
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
        blocks, bends, claims, start, features = [], [], {}, 0, sum(part.features for part in parts)
        for part in (part.over(finer) for part in parts):
            matrix, at = part.matrix.tocoo(), np.array([position[each] for each in part.coordinates], dtype=np.intp)
            shape = (part.features, len(coordinates))
            blocks.append(sparse.csr_array((matrix.data, (matrix.row, at[matrix.col])), shape=shape))
            after = features - start - part.features
            bends += [replace(bend, matrix=_padded(bend.matrix, start, after)) for bend in part.bends]
            claims.update({start + feature: each for feature, each in part.claims.items()})
            start += part.features
        matrix = sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array((0, 0))
        offset = np.concatenate([part.offset for part in parts]) if parts else np.zeros(0)
        markers: dict[int, tuple[Hashable, ...]] = {}
        for part in parts:
            for column, found in part.markers.items():
                markers[column] = tuple(dict.fromkeys([*markers.get(column, ()), *found]))
        return cls(matrix, offset, coordinates, markers, claims, tuple(bends))

    def over(self, finer: "Mapping[Coordinate, tuple[Coordinate, ...]]") -> "Affine":
        """Return the same map over coordinates that some of its own are sums of."""
        if all(finer[each] == (each,) for each in self.coordinates):
            return self
        coordinates = tuple(dict.fromkeys(piece for each in self.coordinates for piece in finer[each]))
        turn = sparse.lil_array((len(self.coordinates), len(coordinates)))
        for i, each in enumerate(self.coordinates):
            for piece in finer[each]:
                turn[i, coordinates.index(piece)] = 1.0
        bends = tuple(replace(bend, incoming=bend.incoming.over(finer)) for bend in self.bends)
        matrix = (self.matrix @ turn.tocsr()).tocsr()
        return replace(self, matrix=matrix, coordinates=coordinates, bends=bends)

    def reach(self) -> sparse.csr_array:
        """Return which coordinate moves which feature, shape (features, coordinates): positive where it does."""
        place = {coordinate: i for i, coordinate in enumerate(self.coordinates)}
        found = abs(self.matrix)
        for bend in self.bends:
            inner = bend.incoming.reach()
            at = [place[coordinate] for coordinate in bend.incoming.coordinates]
            turn = sparse.csr_array((np.ones(len(at)), (np.arange(len(at)), at)), shape=(len(at), len(place)))
            found = found + abs(bend.matrix) @ bend.curve.reach @ inner @ turn
        return sparse.csr_array(found)

    @property
    def bent_coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates that reach a step which is not affine."""
        entered = {coordinate for bend in self.bends for coordinate in bend.incoming.coordinates}
        return tuple(coordinate for coordinate in self.coordinates if coordinate in entered)

    @property
    def slopes(self) -> int:
        """How many numbers say how the steps that bend move with what goes into them, for each row."""
        return sum(bend.incoming.slopes + int(bend.curve.reach.nnz) for bend in self.bends)

    def of_columns(self, columns: Sequence[int]) -> "Affine":
        """Return the map cut to the coordinates of some columns: all else is public, so constant."""
        blocks = self.blocks()
        kept = [int(i) for column in columns for i in blocks.get(column, ())]
        # What is bent stays whole: the curve needs the public values too.
        return replace(self, matrix=self.matrix[:, kept].tocsr(), coordinates=tuple(self.coordinates[i] for i in kept))

    def blocks(self) -> dict[int, NDArray[np.intp]]:
        """Return the positions of each column's coordinates."""
        found: dict[int, list[int]] = {}
        for i, coordinate in enumerate(self.coordinates):
            found.setdefault(coordinate.column, []).append(i)
        return {column: np.array(positions, dtype=np.intp) for column, positions in found.items()}

    def is_categorical(self, column: int) -> bool:
        """Return whether a column enters as indicators of its levels."""
        return column in self._categorical

    @cached_property
    def _categorical(self) -> frozenset[int]:
        return frozenset(each.column for each in self.coordinates if each.level is not None)


def _padded(matrix: sparse.csr_array, before: int, after: int) -> sparse.csr_array:
    """Return a matrix with empty rows around it."""
    width = matrix.shape[1]
    return sparse.vstack([sparse.csr_array((before, width)), matrix, sparse.csr_array((after, width))], format="csr")


def _common(coordinates: Sequence[Coordinate]) -> dict[Coordinate, tuple[Coordinate, ...]]:
    """Return each coordinate as the sum of coordinates that no two of which share a value.

    One encoder may put rare values together that another tells apart.
    """
    holders: dict[tuple[int, Hashable], set[Coordinate]] = {}
    for coordinate in coordinates:
        for value in coordinate.level or ():
            holders.setdefault((coordinate.column, value), set()).add(coordinate)
    pieces: dict[tuple[int, frozenset[Coordinate]], list[Hashable]] = {}
    for (column, value), sharing in holders.items():
        pieces.setdefault((column, frozenset(sharing)), []).append(value)
    found: dict[Coordinate, list[Coordinate]] = {c: [c] if c.level is None else [] for c in coordinates}
    for (column, among), values in pieces.items():
        for coordinate in among:
            found[coordinate].append(Coordinate(column, tuple(values)))
    return {coordinate: tuple(each) for coordinate, each in found.items()}
