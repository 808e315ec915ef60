"""What becomes of a noise that takes its shape from the rows when some of them take other values.

The Hessian of the changed data, at its own minimizer, is added up over all rows again: nothing is linearized. Where the
old one is the identity it is Id + D, with

    D = sum_k (a_k(theta') - a_k(theta)) x_k x_k^T - a_i(theta') x_i x_i^T + a_i'(theta') x_i' x_i'^T + penalties.

So is the sum of squared gradients where the shape is made of it, with squared slopes in the place of a, and no penalty.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._geometry import Geometry
from seepage.linear.information._shape import MovingShape
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch
from seepage.meaning import TwoNormals

Array = NDArray[np.float64]

# Numbers in the largest temporary.
_MOST_NUMBERS = 2**21
# With more directions than this each person's sum is made by itself.
_FEW_DIRECTIONS = 64


class ShapeRows(Protocol):
    """Rows of the data, at the minimizer from which moves are counted."""

    @property
    def batch(self) -> Batch: ...
    @property
    def margins(self) -> Array: ...
    @property
    def slope(self) -> Array: ...
    @property
    def curvature(self) -> Array: ...
    @property
    def classes(self) -> NDArray[np.intp] | None: ...


@dataclass(frozen=True, eq=False)
class Swapped:
    """Rows that leave and those that come in their place, in the data of some people."""

    before: Batch
    after: Batch
    person: NDArray[np.intp]
    """In whose data each of them is."""

    def of(self, people: NDArray[np.intp]) -> "Swapped":
        """Return those in the data of some people, who are counted anew."""
        rows = np.flatnonzero(np.isin(self.person, people))
        return Swapped(self.before.take(rows), self.after.take(rows), np.searchsorted(people, self.person[rows]))


@dataclass(frozen=True, eq=False)
class ChangedShape:
    """Makes the covariance of a release anew."""

    geometry: Geometry
    """Of the model as it was published."""
    around: Geometry
    """Where moves are counted from: another minimizer where cells that hold a mean have moved."""
    rows: Callable[[], Iterable[ShapeRows]]
    """All of them."""

    @property
    def _shape(self) -> MovingShape:
        assert self.geometry.shape is not None
        return self.geometry.shape

    @cached_property
    def _axes(self) -> Array:
        """From coordinates in which H is the identity to parameters, shape (p, q)."""
        return np.asarray(self.geometry.frame.matrix(len(self.geometry.parameters)) @ self._shape.axes)

    @cached_property
    def _apart(self) -> Array:
        """By how much each sum differs already where moves are counted from, shape (sums, q, q)."""
        q, found = len(self._shape.roots), np.zeros((len(self._shape.sums), *self._shape.factors.shape))
        if self.around is self.geometry:
            return found
        inverse = self.around.minimizer.inverse[:q, :q]
        found[0] = self._shape.axes.T @ np.linalg.inv(inverse) @ self._shape.axes - np.eye(q)
        if len(found) > 1:
            found[1] = -np.diag(self._shape.roots)
            for known in self.rows():
                x = self._seen(known.batch)
                found[1] += (x.T * known.slope[:, 0] ** 2) @ x
        return found

    @cached_property
    def _turn(self) -> Array:
        """From units of the noise to its axes, which the rows of a matrix with orthonormal ones are."""
        whitening, colored = self.geometry.whitening, self._axes * np.sqrt(self._shape.roots)
        q, p = len(self._shape.roots), len(self._axes)
        seen = colored * whitening if isinstance(whitening, float) else whitening[:p, :p] @ colored
        return np.asarray(seen.T / np.sqrt(np.einsum("pq,pq->", seen, seen) / q))

    @property
    def ready(self) -> bool:
        """Whether all that is the same for everybody is made."""
        return self._axes.size + self._apart.size + self._turn.size > 0

    def told_apart(
        self,
        swapped: Swapped,
        moves: Array,
        own: Array,
        factors: Array | None,
        penalties: Sequence[tuple[NDArray[np.intp], Array]] | None,
    ) -> TwoNormals:
        """Return the releases before and after, in units of the noise before.

        Parameters
        ----------
        swapped : Swapped
            Those that change.
        moves : ndarray of shape (n, outputs * p)
            How far the minimizer moves.
        own : ndarray of shape (n, outputs * p)
            The same from where moves are counted.
        factors : ndarray of shape (n, classes), optional
            By what the weight of each class is multiplied.
        penalties : sequence of (places, more), optional
            For each person, on which parameters the penalty grows and by how much.
        """
        n, q, outputs = len(moves), len(self._shape.roots), self._shape.outputs
        squares = len(self._shape.sums) > 1
        changes = np.zeros((len(self._shape.sums), n, q, q))
        changes += self._apart[:, None]
        with np.errstate(all="ignore"):
            if factors is not None or squares or not self.geometry.loss.quadratic:
                for known in self.rows():
                    self._add_moved(known, own, factors, changes)
            self._swap(swapped, own, changes)
        if penalties is not None:
            for i, (places, more) in enumerate(penalties):
                changes[0, i] += (self._axes[places].T * more) @ self._axes[places]
        found = self._covariances(changes)
        shift = self.geometry.in_noise_units(moves).reshape(n, outputs, -1) @ self._turn.T
        each = [TwoNormals.between(shift[:, c], found) for c in range(outputs)]
        whole = each[0]
        for more_of in each[1:]:
            whole = whole.beside(more_of)
        if self._shape.errors is not None:
            whole = whole.beside(TwoNormals.alike(self._shape.errors.anew(found)))
        return whole

    def _covariances(self, changes: Array) -> Array:
        """Return those of changed sums; NaN where there is none."""
        known = np.flatnonzero(np.isfinite(changes).all(axis=(0, 2, 3)))
        known = known[np.linalg.eigvalsh(np.eye(changes.shape[2]) + changes[0, known])[:, 0] > 0]
        found: Array = np.full_like(changes[0], np.nan)
        found[known] = self._shape.anew(*changes[:, known])
        return found

    def _add_moved(self, known: ShapeRows, own: Array, factors: Array | None, changes: Array) -> None:
        """Add what the weights of some rows change by when the fit moves."""
        (_, n, q, _), loss = changes.shape, self.geometry.loss
        a, b = np.triu_indices(q)
        few = q <= _FEW_DIRECTIONS
        step = max(_MOST_NUMBERS // max(n, len(a) if few else q), 1)
        for start in range(0, len(known.batch), step):
            at = slice(start, start + step)
            batch, weights = known.batch.take(at), known.batch.weights
            margins = known.margins[at, None, :] + batch.project(np.ascontiguousarray(own.T))[:, :, None]
            weight: Array | float = 1.0 if weights is None else weights[at, None]
            if factors is not None:
                assert known.classes is not None
                weight = weight * factors.T[known.classes[at]]
            each = [loss.curvatures(margins, batch.labels)[:, :, 0, 0] * weight - known.curvature[at, 0]]
            if len(changes) > 1:
                slope = loss.slopes(margins, batch.labels)[:, :, 0] * weight
                each.append(slope**2 - known.slope[at] ** 2)
            x = self._seen(batch)
            for change, bent in zip(changes, each, strict=True):
                if few:
                    total = (x[:, a] * x[:, b]).T @ bent
                    change[:, a, b] += total.T
                    beside = a != b
                    change[:, b[beside], a[beside]] += total[beside].T
                else:
                    for i in range(n):
                        change[i] += (x.T * bent[:, i]) @ x

    def _swap(self, swapped: Swapped, own: Array, changes: Array) -> None:
        """Take the rows that leave out, and those in that come."""
        geometry = self.around
        for batch, sign in ((swapped.before, -1.0), (swapped.after, 1.0)):
            moved = own[swapped.person].reshape(len(batch), geometry.outputs, -1)
            margins = batch.margins(geometry.parameters) + np.einsum("na,nca->nc", batch.augmented(), moved)
            found, x = derivatives(batch, geometry.loss, margins), self._seen(batch)
            step = max(_MOST_NUMBERS // changes[0, 0].size, 1)
            for moving, change in zip(self._shape.sums, changes, strict=True):
                weight = sign * moving.weighing(batch, geometry.loss, margins, found).value
                for start in range(0, len(x), step):
                    at = slice(start, start + step)
                    np.add.at(change, swapped.person[at], (weight[at, None] * x[at])[:, :, None] * x[at, None, :])

    def _seen(self, batch: Batch) -> Array:
        """Return rows where the Hessian is the identity."""
        if isinstance(batch.features, np.ndarray):
            return self.geometry.frame.rows(batch).project(self._shape.axes)
        return batch.project(self._axes)
