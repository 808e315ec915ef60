"""Coordinates in which sums over rows keep their digits.

A sum of products of features loses twice the digits that the features' own condition takes: a column whose mean is a
million times its spread, or two columns that are nearly one, cost twelve digits of sixteen. Seen from the middle of the
rows and along the axes of the Hessian they cost none, because the coordinates of each row are formed before anything is
multiplied. With a center c and axes M, rows and parameters are (eq. 2.14)

    x' = M^T (x - c),     theta = C M z,     C = [[1, 0], [-c^T, 1]]:     the intercept takes up the shift.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from seepage._tables import Array
from seepage.linear.rows._rows import Batch

# A column is seen from its mean when that is so many times its spread; nearer ones lose a digit or two.
_FAR = 10.0
_MOST_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class Frame:
    """A center and axes for rows; parameters go along."""

    center: Array | None = None
    """c, shape (features,); only where an intercept without a penalty takes up the shift."""
    axes: Array | None = None
    """M, shape (p, q), over the features and the intercept."""

    @classmethod
    def around(cls, batch: Batch) -> "Frame":
        """Return a frame in the middle of some rows, if any column is far from zero there."""
        features = batch.features
        if sparse.issparse(features) or not batch.intercept or not len(batch):
            return cls()
        with np.errstate(all="ignore"):
            mean, spread = features.mean(axis=0), features.std(axis=0)
            far = np.abs(mean) > _FAR * spread
        # Values that are no numbers are refused by name when all rows are read.
        return cls(center=np.where(far, mean, 0.0)) if far.any() and np.isfinite(mean[far]).all() else cls()

    def along(self, axes: Array) -> "Frame":
        """Return the same center with axes that are combinations of these."""
        return Frame(self.center, axes if self.axes is None else self.axes @ axes)

    def rows(self, batch: Batch) -> Batch:
        """Return rows in these coordinates."""
        if self.center is not None:
            features = batch.features - self.center
            batch = Batch(features, batch.labels, batch.weights, batch.intercept, offset=batch.offset)
        if self.axes is None:
            return batch
        return Batch(batch.project(self.axes), batch.labels, batch.weights, False, offset=batch.offset)

    def parts(self, batch: Batch) -> Iterator[Batch]:
        """Yield rows in these coordinates, a few at a time where sparse ones become dense."""
        step = len(batch) if self.axes is None else max(_MOST_NUMBERS // max(self.axes.shape), 1)
        if step >= len(batch):
            yield self.rows(batch)
            return
        for start in range(0, len(batch), step):
            yield self.rows(batch.take(slice(start, start + step)))

    def matrix(self, size: int) -> Array:
        """Return C M, from coordinates here to parameters."""
        found = np.eye(size) if self.axes is None else self.axes.copy()
        if self.center is not None:
            found[-1] -= self.center @ found[:-1]
        return found

    def parameters(self, position: Array) -> Array:
        """Return theta for a position z, shape (p, outputs)."""
        found = np.array(position) if self.axes is None else self.axes @ position
        if self.center is not None:
            found[-1] -= self.center @ found[:-1]
        return found

    def position(self, parameters: Array) -> Array:
        """Return the z of some parameters, in a frame without axes."""
        found = np.array(parameters)
        if self.center is not None:
            found[-1] += self.center @ found[:-1]
        return found
