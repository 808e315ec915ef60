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
class Seen:
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

    @cached_property
    def shared(self) -> Array:
        """K_cd x of each row for each pair of outputs, shape (n, outputs, outputs, q)."""
        q, outputs = self.geometry.position.shape
        metric = _metric(self.geometry).reshape(outputs, q, outputs, q)
        return np.stack(
            [np.stack([self.features @ metric[c, :, d] for d in range(outputs)], 1) for c in range(outputs)], 1
        )

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
    """Statistics  F = sum_im c_im log I_im  over some coordinates of each person; the labels come after the columns."""

    geometry: Geometry

    def seen(self, batch: Batch) -> Seen:
        """Return rows as the methods take them: what is computed of them once serves every statistic."""
        return Seen(self.geometry, self.geometry.frame.rows(batch))

    def information(self, seen: Seen, coordinates: Sequence[int]) -> Array:
        """Return I of each row and coordinate, shape (n, coordinates)."""
        return np.stack([self._told(seen, each)[1] for each in coordinates], axis=1)

    def through_fit(self, rows: Sequence[Seen], coordinates: Sequence[int], weights: Sequence[Array]) -> ThroughFit:
        """Return how a statistic moves with the fit; weights have shape (n, coordinates) for each batch."""
        geometry, columns = self.geometry, self._columns
        q, outputs = geometry.position.shape
        steep, spread = np.zeros((q, outputs)), np.zeros((outputs, q, outputs, q))
        for seen, weight in zip(rows, weights, strict=True):
            # sum 2 c/I v v^T, of which the part along x is one product for all coordinates.
            along = np.zeros_like(seen.curvature)
            for i, coordinate in enumerate(coordinates):
                if not weight[:, i].any():
                    continue
                told, information = self._told(seen, coordinate)
                share = 2.0 * weight[:, i] / information
                turned, direct, column = self._parts(seen, coordinate)
                along += share[:, None, None] * turned[:, :, None] * turned[:, None, :]
                if column is not None:
                    mixed = np.einsum("nq,nc,nd->cqd", seen.features, share[:, None] * turned, direct, optimize=True)
                    cross = mixed[:, :, :, None] * column
                    square = (share[:, None] * direct).T @ direct
                    spread += cross + cross.transpose(2, 3, 0, 1)
                    spread += square[:, None, :, None] * np.outer(column, column)[:, None, :]
                margin, crossed = self._along(seen, coordinate, told * share[:, None, None])
                steep += seen.features.T @ margin
                if crossed is not None:
                    steep += np.outer(columns[:, coordinate], crossed.sum(axis=0))
            for c in range(outputs):
                for d in range(outputs):
                    spread[c, :, d] += seen.features.T @ (seen.features * along[:, c, d, None])
        half = geometry.minimizer.inverse @ spread.reshape(outputs * q, outputs * q) @ _metric(geometry)
        bent = -0.5 * (half + half.T)
        if not geometry.loss.quadratic:
            # The Hessian moves with theta as well, over all rows.
            for seen in rows:
                steep += seen.features.T @ seen.contracted(self._through_hessian(seen, bent)[0])
        return ThroughFit(steep, bent)

    def derivatives(self, seen: Seen, coordinates: Sequence[int], weight: Array, through: ThroughFit) -> Array:
        """Return dF of each person and value of a batch, shape (n, values): the labels' come last."""
        geometry, columns = self.geometry, self._columns
        q, outputs = geometry.position.shape
        # The fit moves by  -H^-1 v.
        pull = (geometry.minimizer.inverse @ through.steep.T.ravel()).reshape(outputs, q)
        pulled = seen.features @ pull.T
        # What belongs to a value through its column T, through its margins tau, and to a label.
        quadratic, on_columns = self._through_hessian(seen, through.bent)
        on_margins = -np.einsum("ncd,nc->nd", seen.curvature, pulled)
        if not geometry.loss.quadratic:
            on_margins += seen.contracted(quadratic)
        on_labels = -np.einsum("nco,nc->no", seen.label_slope, pulled)
        on_labels += seen.label_bend * np.einsum("noo->no", quadratic)
        for i, coordinate in enumerate(coordinates):
            if not weight[:, i].any():
                continue
            told, information = self._told(seen, coordinate)
            own = told * (2.0 * weight[:, i] / information)[:, None, None]
            turned, _, column = self._parts(seen, coordinate)
            # dv = (S tau) (x) T_m + (bend tau_m) (x) x + (S tau_m) (x) T, the first two through the margins.
            on_margins += self._along(seen, coordinate, own)[0]
            on_columns += np.einsum("nc,ncq->nq", turned, own)
            if column is not None:
                on_labels += np.einsum("nc,nco->no", own @ column, seen.label_slope)
                on_features = np.einsum("noq,nq->no", own, seen.features)
                on_labels += seen.label_bend * geometry.tau[coordinate] * on_features
        found = on_columns @ columns + on_margins @ geometry.tau.T - seen.slope @ (pull @ columns)
        return np.asarray(found) if geometry.public_label else np.concatenate([found, on_labels], axis=1)

    @cached_property
    def _columns(self) -> Array:
        """T in the frame, dense, shape (q, k)."""
        read = self.geometry.read
        return read if isinstance(read, np.ndarray) else np.asarray(read.toarray())

    def _parts(self, seen: Seen, coordinate: int) -> tuple[Array, Array, Array | None]:
        """Return v of one coordinate as  turned (x) x + direct (x) column  (no column for a label)."""
        k = self._columns.shape[1]
        if coordinate >= k:
            return seen.label_slope[:, :, coordinate - k], np.zeros_like(seen.slope), None
        return seen.curvature @ self.geometry.tau[coordinate], seen.slope, self._columns[:, coordinate]

    def _told(self, seen: Seen, coordinate: int) -> tuple[Array, Array]:
        """Return K v of one coordinate, shape (n, outputs, q), and I = v^T K v."""
        q, outputs = self.geometry.position.shape
        turned, direct, column = self._parts(seen, coordinate)
        found = np.einsum("nc,ncdq->ndq", turned, seen.shared)
        if column is not None:
            metric = _metric(self.geometry).reshape(outputs, q, outputs, q)
            found += np.einsum("nc,cdq->ndq", direct, np.einsum("a,cadq->cdq", column, metric))
        information = np.einsum("nd,nd->n", turned, np.einsum("ndq,nq->nd", found, seen.features))
        if column is not None:
            information += np.einsum("nd,nd->n", direct, found @ column)
        return found, information

    def _along(self, seen: Seen, coordinate: int, shared: Array) -> tuple[Array, Array | None]:
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

    def _through_hessian(self, seen: Seen, matrix: Array) -> tuple[Array, Array]:
        """Return x^T M_cd x of each row for each pair of outputs, and  2 sum_cd S_cd M_cd x."""
        q, outputs = self.geometry.position.shape
        blocks = matrix.reshape(outputs, q, outputs, q)
        quadratic = np.empty((len(seen.features), outputs, outputs))
        along = np.zeros((len(seen.features), q))
        for c in range(outputs):
            for d in range(outputs):
                turned = seen.features @ blocks[c, :, d]
                quadratic[:, c, d] = np.einsum("na,na->n", turned, seen.features)
                turned *= 2.0 * seen.curvature[:, c, d, None]
                along += turned
        return quadratic, along


def _metric(geometry: Geometry) -> Array:
    """Return K."""
    return np.asarray(geometry.response.T @ geometry.response)
