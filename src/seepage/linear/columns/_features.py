"""Features as a function of private attributes, with derivatives.

    f = T xi + t + sum over curves of  B phi(z)            (eq. 2.2 and 2.21)

where the inputs z of a smooth step are such features themselves. The coordinates xi of one person are that person's
raw columns: one number for a numeric column, one indicator for each encoded level of a categorical one. All coordinates
of a column form one attribute. A level is known by the values that it stands for, never by its place: two encoders of
one column may drop different ones.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from seepage.errors import UnsupportedError
from seepage.linear.columns._curve import SmoothFunction, called

Array = NDArray[np.float64]
Places = NDArray[np.intp]


class Coordinate(NamedTuple):
    """One private number: a raw column, or whether it has one of some values."""

    column: int
    level: tuple[Hashable, ...] | None = None


@dataclass(frozen=True)
class Claim:
    """Constants that a step took from the rows it was fitted on, to be compared with the rows at hand.

    The feature that the model sees is  factor z + shift, where z is what the step made.

    Attributes
    ----------
    step : str
        The path of the step, as `through` was given it.
    centers : bool
        Whether it took a mean away: z has mean zero over the rows it was fitted on.
    scales : bool
        Whether it divided by a standard deviation: z has variance one over them.
    fills : bool
        Whether it filled cells in.
    with_mean : bool
        Whether it filled them with the mean of the others.
    with_constant : bool
        Whether it filled them with a number that does not follow the rows it was fitted on.
    after_filling : bool
        Whether no cell was missing any more when the step came; the map that the claim is made of knows.
    factor, shift : float
        What later steps did; their maps know.

    Examples
    --------
    >>> from seepage.linear import Claim, Features
    >>> scaled = Features.raw(2).scaled([0.5, 2.0]).claimed(Claim("scaler", scales=True))
    >>> float(scaled.shifted(1.0).claims[0][0].shift)
    1.0
    """

    step: str
    centers: bool = False
    scales: bool = False
    fills: bool = False
    with_mean: bool = False
    with_constant: bool = False
    after_filling: bool = False
    factor: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, eq=False)
class Curve(SmoothFunction):
    """A smooth step, and the features that go into it."""

    incoming: "Features"
    """z, over the coordinates that reach it."""


@dataclass(frozen=True, eq=False)
class Features:
    """Features as an affine function of the coordinates of raw columns and of what smooth steps made of them."""

    weights: sparse.csr_array
    """T, then B of each curve: shape (features, coordinates + what the curves make)."""
    offset: Array
    """t, shape (features,); NaN where a feature says which cells are missing, which differs from row to row."""
    coordinates: tuple[Coordinate, ...]
    curves: tuple[Curve, ...] = ()
    markers: Mapping[int, tuple[Hashable, ...]] = field(default_factory=dict)
    """What stands for a missing value in a raw column, besides NaN and None."""
    claims: Mapping[int, tuple[Claim, ...]] = field(default_factory=dict)
    """What steps took from rows to make each feature, the first step's first."""

    @classmethod
    def raw(cls, columns: int) -> "Features":
        """Return the identity on so many raw columns."""
        coordinates = tuple(Coordinate(column) for column in range(columns))
        return cls(sparse.csr_array(sparse.eye(columns)), np.zeros(columns), coordinates)

    @property
    def count(self) -> int:
        """Number of features."""
        return int(self.weights.shape[0])

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """T, shape (features, coordinates)."""
        return self.weights[:, : len(self.coordinates)].tocsr() if self.curves else self.weights

    def take(self, features: Sequence[int] | Places) -> "Features":
        """Return some of the features, in the order given, over the coordinates that reach them."""
        index = np.asarray(features, dtype=np.intp)
        weights = self.weights[index]
        is_used = np.isin(np.arange(weights.shape[1]), weights.indices)
        spans = [(curve, span) for curve, span in self._spans if is_used[span].any()]
        entered = {coordinate for curve, _ in spans for coordinate in curve.incoming.coordinates}
        kept = [i for i, each in enumerate(self.coordinates) if is_used[i] or each in entered]
        columns = [*kept, *(i for _, span in spans for i in range(span.start, span.stop))]
        return replace(
            self,
            weights=weights[:, columns].tocsr(),
            offset=self.offset[index],
            coordinates=tuple(self.coordinates[i] for i in kept),
            curves=tuple(curve for curve, _ in spans),
            claims={i: self.claims[int(old)] for i, old in enumerate(index) if int(old) in self.claims},
        )

    def bent(
        self,
        function: Callable[[Any], Any],
        path: str,
        slopes: Callable[[Array], Array] | None = None,
        reach: ArrayLike | sparse.sparray | None = None,
    ) -> "Features":
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
        >>> from seepage.linear import Features
        >>> Features.raw(2).bent(lambda rows: np.log1p(rows.sum(axis=1, keepdims=True)), "total").count
        1
        """
        if reach is None:
            try:
                reach = np.ones((called(function, np.ones((1, self.count))).shape[1], self.count))
            except Exception as reason:
                raise UnsupportedError(f"The step {path!r} does not take one row of numbers: {reason}.") from reason
        curve = Curve(function, sparse.csr_array(reach), slopes, path, self)
        made, inputs = curve.reach.shape
        if inputs != self.count:
            raise ValueError(f"the step {path!r} takes {inputs} features, and {self.count} come in")
        weights = sparse.eye(made, len(self.coordinates) + made, len(self.coordinates))
        # What earlier steps took from rows is about other features.
        return Features(sparse.csr_array(weights), np.zeros(made), self.coordinates, (curve,), self.markers)

    def claimed(self, claim: Claim) -> "Features":
        """Return the features with what the step that made them took from rows: call it last."""
        found = {}
        for feature in range(self.count):
            before = self.claims.get(feature, ())
            found[feature] = (*before, replace(claim, after_filling=any(one.fills for one in before)))
        return replace(self, claims=found)

    def shifted(self, by: ArrayLike) -> "Features":
        """Return the features with `by` added to them."""
        return self._changed(1.0, by)

    def scaled(self, by: ArrayLike) -> "Features":
        """Return each feature multiplied by its entry of `by`."""
        return self._changed(by, 0.0)

    def _changed(self, factor: ArrayLike, shift: ArrayLike) -> "Features":
        a, b = (np.full(self.count, each, dtype=np.float64) for each in (factor, shift))
        claims = {
            i: tuple(replace(one, factor=one.factor * a[i], shift=one.shift * a[i] + b[i]) for one in each)
            for i, each in self.claims.items()
        }
        weights = sparse.csr_array(sparse.csr_array(sparse.diags(a)) @ self.weights)
        return replace(self, weights=weights, offset=self.offset * a + b, claims=claims)

    def mapped(self, matrix: ArrayLike) -> "Features":
        """Return a matrix times the features."""
        step = np.asarray(matrix, dtype=np.float64)
        # What is mixed is no longer what any step took from rows.
        weights = sparse.csr_array(step @ self.weights.toarray())
        return replace(self, weights=weights, offset=step @ self.offset, claims={})

    def raw_column(self, feature: int) -> int | None:
        """Return which raw column this feature is, untouched, or None."""
        row = self.weights[[feature]].tocoo()
        if row.nnz != 1 or row.data[0] != 1 or self.offset[feature] != 0 or row.col[0] >= len(self.coordinates):
            return None
        coordinate = self.coordinates[int(row.col[0])]
        return coordinate.column if coordinate.level is None else None

    def marked(self, columns: Sequence[int], marker: Hashable) -> "Features":
        """Return the features with one more value that stands for a missing one in some columns."""
        found = {column: (*self.markers.get(column, ()), marker) for column in columns}
        return replace(self, markers={**self.markers, **found})

    def noticing(self, count: int) -> "Features":
        """Return the features and so many more, which say whether a cell is missing: that is public."""
        more = sparse.csr_array((count, self.weights.shape[1]))
        weights = sparse.vstack([self.weights, more], format="csr")
        return replace(self, weights=weights, offset=np.concatenate([self.offset, np.full(count, np.nan)]))

    def encoded(self, columns: Sequence[int], levels: Sequence[Sequence[tuple[Hashable, ...]]]) -> "Features":
        """Return one-hot features of raw columns: for each column in turn, one for each of its levels.

        A level without values stands for a missing one.
        """
        listed = [Coordinate(column, level) for column, each in zip(columns, levels, strict=True) for level in each]
        known = [i for i, coordinate in enumerate(listed) if coordinate.level]
        matrix = sparse.csr_array(
            (np.ones(len(known)), (known, np.arange(len(known)))), shape=(len(listed), len(known))
        )
        offset = np.where([bool(coordinate.level) for coordinate in listed], 0.0, np.nan)
        return Features(matrix, offset, tuple(listed[i] for i in known), markers=self.markers)

    @classmethod
    def stacked(cls, parts: "Sequence[Features]") -> "Features":
        """Return the features of all parts one after the other, over all their coordinates."""
        every = dict.fromkeys(coordinate for part in parts for coordinate in part.coordinates)
        _refuse_overlaps(every)
        coordinates = tuple(sorted(every, key=lambda coordinate: coordinate.column))
        place = {coordinate: i for i, coordinate in enumerate(coordinates)}
        curves = tuple(curve for part in parts for curve in part.curves)
        width = len(coordinates) + sum(curve.outputs for curve in curves)
        blocks, claims, row, end = [sparse.csr_array((0, width))], {}, 0, len(coordinates)
        for part in parts:
            made = part.weights.shape[1] - len(part.coordinates)
            columns = np.array([*(place[each] for each in part.coordinates), *range(end, end + made)], dtype=np.intp)
            weights = part.weights.tocoo()
            where = (weights.row, columns[weights.col])
            blocks.append(sparse.csr_array((weights.data, where), shape=(part.count, width)))
            claims.update({row + feature: each for feature, each in part.claims.items()})
            row, end = row + part.count, end + made
        markers: dict[int, tuple[Hashable, ...]] = {}
        for part in parts:
            for column, found in part.markers.items():
                markers[column] = tuple(dict.fromkeys([*markers.get(column, ()), *found]))
        offset = np.concatenate([np.zeros(0), *(part.offset for part in parts)])
        return cls(sparse.vstack(blocks, format="csr"), offset, coordinates, curves, markers, claims)

    @cached_property
    def _spans(self) -> list[tuple[Curve, slice]]:
        """The curves, and which columns of `weights` are theirs."""
        ends = np.cumsum([len(self.coordinates), *(curve.outputs for curve in self.curves)]).tolist()
        return [(curve, slice(*span)) for curve, span in zip(self.curves, pairwise(ends), strict=True)]

    @cached_property
    def curved(self) -> "Features":
        """The features without their affine part, over the coordinates that reach a smooth step."""
        entered = {coordinate for curve in self.curves for coordinate in curve.incoming.coordinates}
        coordinates = tuple(coordinate for coordinate in self.coordinates if coordinate in entered)
        nothing = sparse.csr_array((self.count, len(coordinates)))
        weights = sparse.hstack([nothing, self.weights[:, len(self.coordinates) :]], format="csr")
        return Features(sparse.csr_array(weights), np.zeros(self.count), coordinates, self.curves)

    def reach(self) -> sparse.csr_array:
        """Return which coordinate moves which feature, shape (features, coordinates): one where it does."""
        return sparse.csr_array((np.ones(len(self.entries[0])), self.entries), (self.count, len(self.coordinates)))

    @property
    def slopes(self) -> int:
        """How many numbers say how the smooth steps move with what goes into them, for each row."""
        return sum(curve.incoming.slopes + int(curve.reach.nnz) for curve in self.curves)

    def of_columns(self, columns: Sequence[int]) -> "Features":
        """Return the affine part of the features over the coordinates of some columns: all else is public."""
        blocks = self.blocks()
        kept = [int(i) for column in columns for i in blocks.get(column, ())]
        return Features(self.matrix[:, kept].tocsr(), self.offset, tuple(self.coordinates[i] for i in kept))

    def blocks(self) -> dict[int, Places]:
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

    def values(self, known: Array, coordinates: Sequence[Coordinate]) -> Array:
        """Return the features of some rows, given their coordinates, shape (n, coordinates)."""
        place = {coordinate: i for i, coordinate in enumerate(coordinates)}
        inputs = [known[:, [place[each] for each in self.coordinates]]]
        inputs += [curve.values(curve.incoming.values(known, coordinates)) for curve in self.curves]
        with np.errstate(all="ignore"):
            return np.asarray((self.weights @ np.hstack(inputs).T).T) + self.offset

    @cached_property
    def entries(self) -> Places:
        """Which coordinate moves which feature: features and places of coordinates, shape (2, entries)."""
        return self._derivatives[0]

    def jacobian(self, known: Array, coordinates: Sequence[Coordinate]) -> Array:
        """Return the derivatives of these entries for some rows, shape (n, entries)."""
        _, total, products = self._derivatives
        found = [np.ones((len(known), 1))]
        for curve, outer, inner in products:
            with np.errstate(all="ignore"):
                slopes = curve.slopes(curve.incoming.values(known, coordinates))
            found.append(slopes[:, outer] * curve.incoming.jacobian(known, coordinates)[:, inner])
        return np.asarray((total @ np.hstack(found).T).T)

    @cached_property
    def _derivatives(self) -> tuple[Places, sparse.csr_array, list[tuple[Curve, Places, Places]]]:
        """The entries, each as a sum of products, and the slopes and inner derivatives of these products.

        The first product is the constant one: T is the same for all rows.
        """
        place = {coordinate: i for i, coordinate in enumerate(self.coordinates)}
        straight = self.matrix.tocoo()
        rows, columns = [straight.row.astype(np.intp)], [straight.col.astype(np.intp)]
        which = [np.zeros(straight.nnz, dtype=np.intp)]
        factors, products, start = [straight.data], [], 1
        for curve, span in self._spans:
            slopes, inner = curve.reach.tocoo(), curve.incoming.entries
            by_input = [
                sparse.csr_array((np.ones(len(at)), at, np.arange(len(at) + 1)), (len(at), curve.incoming.count))
                for at in (slopes.col, inner[0])
            ]
            outer, within = (by_input[0] @ by_input[1].T).nonzero()
            made = self.weights[:, span][:, slopes.row[outer]].tocoo()
            at = np.array([place[coordinate] for coordinate in curve.incoming.coordinates], dtype=np.intp)
            rows.append(made.row.astype(np.intp))
            columns.append(at[inner[1, within[made.col]]])
            which.append(start + made.col)
            factors.append(made.data)
            products.append((curve, outer, within))
            start += len(outer)
        # The entries in order, each once.
        width = max(len(self.coordinates), 1)
        keys, at = np.unique(np.concatenate(rows) * width + np.concatenate(columns), return_inverse=True)
        where = (at.ravel(), np.concatenate(which))
        total = sparse.csr_array((np.concatenate(factors), where), shape=(len(keys), start))
        return np.stack(np.divmod(keys, width)), total, products


@dataclass(frozen=True, eq=False)
class Curves:
    """The derivatives of features in private coordinates that differ from row to row."""

    curved: Features
    """The features without their affine part."""
    chosen: Places
    """Which of the entries they are."""
    features: Places
    """The feature of each."""
    coordinates: Places
    """The private coordinate of each, in order."""

    @classmethod
    def of(cls, features: Features, private: Sequence[Coordinate]) -> "Curves | None":
        """Return those of some coordinates, if any reaches a smooth step."""
        if not features.curves:
            return None
        curved, place = features.curved, {coordinate: i for i, coordinate in enumerate(private)}
        found = [
            (place[curved.coordinates[at]], feature, i)
            for i, (feature, at) in enumerate(curved.entries.T.tolist())
            if curved.coordinates[at] in place
        ]
        coordinates, rows, chosen = np.array(sorted(found), dtype=np.intp).reshape(-1, 3).T
        return cls(curved, chosen, rows, coordinates)

    def at(self, values: Array) -> Array:
        """Return the entries for some rows, shape (n, entries)."""
        return self.curved.jacobian(values, self.curved.coordinates)[:, self.chosen]

    def taken(self, coordinates: Places) -> "Curves":
        """Return those of some of the private coordinates, which are then counted in the order given."""
        place = {int(old): new for new, old in enumerate(coordinates)}
        moved = np.array([place.get(int(old), -1) for old in self.coordinates], dtype=np.intp)
        kept = np.argsort(moved, kind="stable")[(moved < 0).sum() :]
        return Curves(self.curved, self.chosen[kept], self.features[kept], moved[kept])


def _refuse_overlaps(coordinates: Mapping[Coordinate, None]) -> None:
    """Refuse encoders of one column that put different levels together."""
    known: dict[tuple[int, Hashable], Coordinate] = {}
    for coordinate in coordinates:
        for value in coordinate.level or ():
            if known.setdefault((coordinate.column, value), coordinate) != coordinate:
                raise UnsupportedError(
                    f"Two encoders of column {coordinate.column} put its rare levels together in different ways "
                    f"({value!r} is in both). Way out: one encoder, or the same min_frequency and max_categories."
                )
