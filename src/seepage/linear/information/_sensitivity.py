"""How a mean of logarithms of information moves when anybody's value moves.

A number about the data that leaves is itself a release about everyone in it: a person's value moves it directly, and
through the fit, which moves what is said of everybody else. With the pull of coordinate m on the fit,

    v_im = rho_i (x) T_m + (S_i tau_m) (x) x_i,      I_im = v_im^T K v_im,      K = H^-1 Sigma^-1 H^-1,

the statistic is  F = sum_im c_im log I_im  with weights c that are fixed. One pass gathers its derivatives in theta and
in H; a second gives, for every person and value, the chain through both beside the direct part (eqs. 7.3 and 7.4). The
cost is that of a few passes over the rows, whatever the number of people and values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._geometry import Geometry
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Seen:
    """A batch in the coordinates of the minimizer's frame, with its derivatives there, weights included."""

    geometry: Geometry
    batch: Batch

    @cached_property
    def features(self) -> Array:
        return self.batch.augmented()

    @cached_property
    def margins(self) -> Array:
        return self.batch.project(self.geometry.position)

    @cached_property
    def _derivatives(self) -> tuple[Array, Array, Array]:
        return derivatives(self.batch, self.geometry.loss, self.margins)

    @property
    def slope(self) -> Array:
        return self._derivatives[0]

    @property
    def curvature(self) -> Array:
        return self._derivatives[1]

    @property
    def label_slope(self) -> Array:
        return self._derivatives[2]

    def bend(self, direction: Array) -> Array:
        found = self.geometry.loss.bend(self.margins, self.batch.labels, direction)
        return found if self.batch.weights is None else found * self.batch.weights[:, None, None]

    @cached_property
    def label_bend(self) -> Array:
        found = self.geometry.loss.label_bend(self.margins, self.batch.labels)
        return found if self.batch.weights is None else found * self.batch.weights[:, None]

    def contracted(self, matrices: Array) -> Array:
        """Return how  sum_cd S_cd M_cd  moves with each margin, shape (n, outputs)."""
        units = np.eye(matrices.shape[1])
        return np.stack([np.einsum("ncd,ncd->n", self.bend(unit), matrices) for unit in units], axis=1)


@dataclass(frozen=True, eq=False)
class ThroughFit:
    """The derivatives of a statistic in what was fitted."""

    steep: Array
    """In the position, also through the Hessian, shape (q, outputs)."""
    bent: Array
    """In the Hessian, shape (outputs * q, outputs * q)."""


@dataclass(frozen=True, eq=False)
class LogInformation:
    """Statistics  F = sum_im c_im log I_im  over some coordinates of each person."""

    geometry: Geometry
    coordinates: tuple[int, ...]
    """Which of a person's values I is about; the labels come after the columns."""

    def information(self, batch: Batch) -> Array:
        """Return I of each row and coordinate, shape (n, coordinates)."""
        seen = self._seen(batch)
        found = np.empty((len(batch), len(self.coordinates)))
        for i, coordinate in enumerate(self.coordinates):
            moved = self._pulls(seen, coordinate) @ self.geometry.response.T
            found[:, i] = np.einsum("ni,ni->n", moved, moved)
        return found

    def through_fit(self, batches: Sequence[Batch], weights: Sequence[Array]) -> ThroughFit:
        """Return how a statistic moves with the fit; weights have shape (n, coordinates) for each batch."""
        geometry = self.geometry
        q, outputs = geometry.position.shape
        steep, spread = np.zeros((q, outputs)), np.zeros((outputs * q, outputs * q))
        for batch, weight in zip(batches, weights, strict=True):
            for i, coordinate in enumerate(self.coordinates):
                chosen = np.flatnonzero(weight[:, i])
                if not len(chosen):
                    continue
                seen = self._seen(batch.take(chosen))
                pulls = self._pulls(seen, coordinate)
                shared = pulls @ self._metric
                share = 2.0 * weight[chosen, i] / np.einsum("ni,ni->n", pulls, shared)
                spread += pulls.T @ (pulls * share[:, None])
                shared *= share[:, None]
                along, crossed = self._along(seen, coordinate, shared.reshape(-1, outputs, q))
                steep += seen.features.T @ along
                if crossed is not None:
                    steep += np.outer(self._columns[:, coordinate], crossed.sum(axis=0))
        half = geometry.minimizer.inverse @ spread @ self._metric
        bent = -0.5 * (half + half.T)
        if not geometry.loss.quadratic:
            # The Hessian moves with theta as well, over all rows.
            for batch in batches:
                seen = self._seen(batch)
                steep += seen.features.T @ seen.contracted(self._quadratic(seen, bent))
        return ThroughFit(steep, bent)

    def derivatives(self, batch: Batch, weight: Array, through: ThroughFit) -> Array:
        """Return dF of each person and value of a batch, shape (n, values): the labels' come last."""
        geometry, seen = self.geometry, self._seen(batch)
        q, outputs = geometry.position.shape
        columns = self._columns
        k = columns.shape[1]
        # The fit moves by  -H^-1 v.
        pull = (geometry.minimizer.inverse @ through.steep.T.ravel()).reshape(outputs, q)
        pulled = seen.features @ pull.T
        # What belongs to a value through its column T, and through its margins tau.
        blocks = through.bent.reshape(outputs, q, outputs, q)
        quadratic = np.empty((len(batch), outputs, outputs))
        on_columns = np.zeros((len(batch), q))
        for c in range(outputs):
            for d in range(outputs):
                turned = seen.features @ blocks[c, :, d]
                quadratic[:, c, d] = np.einsum("na,na->n", turned, seen.features)
                on_columns += 2.0 * seen.curvature[:, c, d, None] * turned
        on_margins = -np.einsum("ncd,nc->nd", seen.curvature, pulled)
        if not geometry.loss.quadratic:
            on_margins += seen.contracted(quadratic)
        on_labels = np.zeros((len(batch), outputs))
        for i, coordinate in enumerate(self.coordinates):
            chosen = np.flatnonzero(weight[:, i])
            if not len(chosen):
                continue
            part = self._seen(batch.take(chosen))
            pulls = self._pulls(part, coordinate)
            shared = pulls @ self._metric
            shared *= (2.0 * weight[chosen, i] / np.einsum("ni,ni->n", pulls, shared))[:, None]
            own = shared.reshape(-1, outputs, q)
            # dv = (S tau) (x) T_m + (bend tau_m) (x) x + (S tau_m) (x) T, the first two through the margins.
            on_margins[chosen] += self._along(part, coordinate, own)[0]
            if coordinate < k:
                tau = geometry.tau[coordinate]
                on_columns[chosen] += np.einsum("nc,ncq->nq", part.curvature @ tau, own)
                on_labels[chosen] += np.einsum("nc,nco->no", own @ columns[:, coordinate], part.label_slope)
                on_labels[chosen] += part.label_bend * tau * np.einsum("noq,nq->no", own, part.features)
            else:
                on_columns[chosen] += np.einsum("nc,ncq->nq", part.label_slope[:, :, coordinate - k], own)
        found = on_columns @ columns + on_margins @ geometry.tau.T - seen.slope @ (pull @ columns)
        if geometry.public_label:
            return np.asarray(found)
        on_labels -= np.einsum("nco,nc->no", seen.label_slope, pulled)
        on_labels += seen.label_bend * np.einsum("noo->no", quadratic)
        return np.concatenate([found, on_labels], axis=1)

    @cached_property
    def _columns(self) -> Array:
        """T in the frame, dense, shape (q, k)."""
        read = self.geometry.read
        return read if isinstance(read, np.ndarray) else np.asarray(read.toarray())

    @cached_property
    def _metric(self) -> Array:
        """K."""
        return np.asarray(self.geometry.response.T @ self.geometry.response)

    def _seen(self, batch: Batch) -> _Seen:
        return _Seen(self.geometry, self.geometry.frame.rows(batch))

    def _pulls(self, seen: _Seen, coordinate: int) -> Array:
        """Return v of one coordinate, shape (n, outputs * q)."""
        k = self._columns.shape[1]
        if coordinate >= k:
            found = seen.label_slope[:, :, coordinate - k, None] * seen.features[:, None, :]
        else:
            found = (seen.curvature @ self.geometry.tau[coordinate])[:, :, None] * seen.features[:, None, :]
            found += seen.slope[:, :, None] * self._columns[:, coordinate]
        return np.asarray(found.reshape(len(found), -1))

    def _along(self, seen: _Seen, coordinate: int, shared: Array) -> tuple[Array, Array | None]:
        """Return what  shared . dv  is per change of the margins, and per change of tau, each (n, outputs)."""
        k = self._columns.shape[1]
        on_features = np.einsum("nca,na->nc", shared, seen.features)
        if coordinate >= k:
            margin, output = np.zeros_like(on_features), coordinate - k
            margin[:, output] = on_features[:, output] * seen.label_bend[:, output]
            return margin, None
        on_column = shared @ self._columns[:, coordinate]
        margin = np.einsum("ncd,nd->nc", seen.curvature, on_column)
        if not self.geometry.loss.quadratic:
            margin += np.einsum("ncd,nd->nc", seen.bend(self.geometry.tau[coordinate]), on_features)
        return margin, np.einsum("ncd,nd->nc", seen.curvature, on_features)

    def _quadratic(self, seen: _Seen, matrix: Array) -> Array:
        """Return x^T M_cd x of each row for each pair of outputs, shape (n, outputs, outputs)."""
        q, outputs = self.geometry.position.shape
        blocks = matrix.reshape(outputs, q, outputs, q)
        found = np.empty((len(seen.batch), outputs, outputs))
        for c in range(outputs):
            for d in range(outputs):
                found[:, c, d] = np.einsum("na,na->n", seen.features @ blocks[c, :, d], seen.features)
        return found
