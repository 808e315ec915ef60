"""How a mean of logarithms of information moves when anybody's value moves.

A number about the data that leaves is itself a release about everyone in it: a person's value moves it directly, and
through the fit, which moves what is said of everybody else. With the pull of coordinate m on the fit,

    v_im = rho_i (x) T_m + (S_i tau_m) (x) x_i,      I_im = v_im^T K v_im,      K = H^-1 Sigma^-1 H^-1,

the statistic is  F = sum_im c_im log I_im  with weights c that are fixed. One pass gathers its derivatives in theta and
in H; a second gives, for every person and value, the chain through both beside the direct part (eqs. 7.3 and 7.4). The
cost is that of a few passes over the rows, whatever the number of people and values.

Behind a scaler that was fitted on the same rows, v and I are those of eqs. 2.16 and 2.17. In the pipeline's own units
all of it is a function of the features u and of the scaler's deviations s alone, so a third pass gathers its partial
derivatives by the features, and a value moves F through its own feature and, as the scaler follows, through those of
everybody (eq. 7.6).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._geometry import Geometry
from seepage.linear.information._scales import NoiseShape, Scales
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Seen:
    """A batch in the coordinates of the minimizer's frame, with its derivatives there, weights included."""

    geometry: Geometry
    given: Batch
    """The same rows as they are."""
    batch: Batch

    @cached_property
    def moves(self) -> tuple[Array, Array]:
        """By how much a row's value moves the scaler of each feature, and the intercept with it, (n, features)."""
        assert self.geometry.scales is not None
        return self.geometry.scales.moves(self.given, np.arange(len(self.geometry.scales.share)))

    @cached_property
    def features(self) -> Array:
        return self.batch.augmented()

    @cached_property
    def margins(self) -> Array:
        return self.batch.margins(self.geometry.position)

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
    scaler: "ThroughFeatures | None" = None


class ThroughFeatures(NamedTuple):
    """The derivatives of a statistic in a scaler's means and deviations, which everybody's features follow."""

    deviation: Array
    """As  ds / s  grows, shape (features,)."""
    mean: Array
    """As what is taken away grows, shape (features,)."""
    center: Array
    """As a mean moves that is not taken away, and that deviations are from, shape (features,)."""


class _Partial(NamedTuple):
    """The derivatives of a statistic in what one row is, the fit included."""

    on_columns: Array
    """By the features in the frame, at fixed margins, shape (n, q)."""
    on_margins: Array
    on_labels: Array
    on_deviations: dict[int, Array]
    """By  ds / s  for a unit of some features, each of shape (n,)."""
    pull: Array
    """Of the fit, shape (outputs, q)."""


@dataclass(frozen=True, eq=False)
class LogInformation:
    """Statistics  F = sum_im c_im log I_im  over some coordinates of each person; the labels come after the columns."""

    geometry: Geometry

    def seen(self, batch: Batch) -> Seen:
        """Return rows as the methods take them: what is computed of them once serves every statistic."""
        return Seen(self.geometry, batch, self.geometry.frame.rows(batch))

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
                feature = self._scaled(coordinate)
                if feature is not None:
                    pulled = (share * seen.moves[0][:, feature]) @ (told @ columns[:, coordinate])
                    steep += np.outer(self._units[:, feature], 2.0 * self._scales.penalty[feature] * pulled)
            for c in range(outputs):
                for d in range(outputs):
                    spread[c, :, d] += seen.features.T @ (seen.features * along[:, c, d, None])
        half = geometry.minimizer.inverse @ spread.reshape(outputs * q, outputs * q) @ _metric(geometry)
        bent = -0.5 * (half + half.T)
        if not geometry.loss.quadratic:
            # The Hessian moves with theta as well, over all rows.
            for seen in rows:
                steep += seen.features.T @ seen.contracted(self._through_hessian(seen, bent)[0])
        found = ThroughFit(steep, bent)
        return (
            found
            if geometry.scales is None
            else replace(found, scaler=self._gathered(rows, coordinates, weights, found))
        )

    def _gathered(
        self, rows: Sequence[Seen], coordinates: Sequence[int], weights: Sequence[Array], through: ThroughFit
    ) -> ThroughFeatures:
        """Return how a statistic moves with the scaler, by which everybody's features move."""
        scales = self._scales
        width = len(scales.share)
        deviation, mean, center = np.zeros(width), np.zeros(width), np.zeros(width)
        every = np.arange(width)
        for seen, weight in zip(rows, weights, strict=True):
            partial = self._partial(seen, coordinates, weight, through)
            found = self._by_features(seen, partial)
            # A unit of ds / s takes u from a feature u, and a unit of the mean takes one.
            deviation -= np.einsum("nf,nf->f", found, seen.given.augmented()[:, :width])
            mean -= found.sum(axis=0)
            for feature, each in partial.on_deviations.items():
                if scales.deviates[feature] and not scales.centered[feature]:
                    share = scales.weights(seen.given, every[[feature]])[:, 0] * scales.share[feature]
                    center[feature] -= each @ share / scales.factor[feature]
            for i, coordinate in enumerate(coordinates):
                # A unit of the value is less of a feature that is divided by more.
                if (divided := self._scaled(coordinate)) is not None:
                    deviation[divided] -= 2.0 * weight[:, i].sum()
        # That mean is one of the features themselves.
        deviation -= center * (scales.center + scales.shift / scales.factor)
        mean -= center / scales.factor
        return ThroughFeatures(deviation, mean, center)

    def derivatives(self, seen: Seen, coordinates: Sequence[int], weight: Array, through: ThroughFit) -> Array:
        """Return dF of each person and value of a batch, shape (n, values): the labels' come last."""
        geometry, scales = self.geometry, self.geometry.scales
        partial = self._partial(seen, coordinates, weight, through)
        if scales is None or through.scaler is None:
            found = _reached(seen, partial, self._columns, geometry.tau)
        else:
            deviation, mean = seen.moves
            found = self._by_features(seen, partial)
            found += deviation * through.scaler.deviation + mean * through.scaler.mean
            every = np.arange(found.shape[1])
            found += scales.weights(seen.given, every) * scales.share / scales.factor * through.scaler.center
            found = found @ geometry.reading[: found.shape[1]]
        return np.asarray(found) if geometry.public_label else np.concatenate([found, partial.on_labels], axis=1)

    def _partial(self, seen: Seen, coordinates: Sequence[int], weight: Array, through: ThroughFit) -> _Partial:
        """Return the derivatives in what each row is, all scalers standing still."""
        geometry = self.geometry
        on_deviations: dict[int, Array] = {}
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
            feature = self._scaled(coordinate)
            if column is not None and feature is not None:
                pulled = 2.0 * self._scales.penalty[feature] * geometry.parameters[feature]
                moved = (own @ column) @ pulled + weight[:, i] / information * self._own(seen, coordinate, feature)[1]
                on_deviations[feature] = on_deviations.get(feature, 0.0) + moved
        return _Partial(on_columns, on_margins, on_labels, on_deviations, pull)

    def _by_features(self, seen: Seen, partial: _Partial) -> Array:
        """Return them as derivatives in the features, but for the part of means that deviations are from."""
        scales = self._scales
        found = _reached(seen, partial, self._units, self.geometry.parameters[: self._units.shape[1]])
        for feature, each in partial.on_deviations.items():
            if scales.deviates[feature]:
                weight = scales.weights(seen.given, np.array([feature]))[:, 0]
                found[:, feature] += each * weight * scales.share[feature] / scales.factor[feature] ** 2
        return found

    @property
    def _scales(self) -> Scales:
        assert self.geometry.scales is not None
        return self.geometry.scales

    @cached_property
    def _units(self) -> Array:
        """A unit of each feature in the frame, shape (q, features)."""
        width, axes = len(self._scales.share), self.geometry.frame.axes
        return np.eye(len(self.geometry.position))[:, :width] if axes is None else axes[:width].T

    def _scaled(self, coordinate: int) -> int | None:
        """Return the feature that a coordinate moves, if it was scaled with these rows."""
        reading, scales = self.geometry.reading, self.geometry.scales
        if scales is None or coordinate >= reading.shape[1]:
            return None
        features = np.flatnonzero(reading[:, [coordinate]].toarray()[:, 0])
        assert len(features) <= 1, "a number in several features moves several deviations"
        return int(features[0]) if len(features) and scales.share[features[0]] else None

    def _own(self, seen: Seen, coordinate: int, feature: int) -> tuple[Array, Array]:
        """Return what the noise's shape tells about a coordinate (eq. 2.17), and its derivative by  ds / s."""
        deviations, mixed, means = self._shapes
        d, m = (each[:, feature] for each in seen.moves)
        follows = -self._scales.shift[feature] if seen.given.intercept else 0.0
        size = self.geometry.reading[feature, coordinate] ** 2
        found = deviations[feature] * d**2 + 2.0 * mixed[feature] * d * m + means[feature] * m**2
        slope = deviations[feature] * d + mixed[feature] * (m + d * follows) + means[feature] * m * follows
        return size * found, 2.0 * size * slope

    @cached_property
    def _shapes(self) -> tuple[Array, Array, Array]:
        """The weights of squared deviations, of products, and of squared means of each feature in eq. 2.17."""
        scales, width = self._scales, len(self._scales.share)
        if scales.covariance is None:
            every = np.full(width, float(scales.published))
            return 2.0 * every, np.zeros(width), every
        shape = NoiseShape.of(scales.covariance, scales.published, np.arange(width))
        return shape.outputs + shape.deviations.diagonal(), shape.mixed.diagonal(), shape.means.diagonal()

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
        direct, feature = seen.slope, self._scaled(coordinate)
        if feature is not None:
            pulled = 2.0 * self._scales.penalty[feature] * self.geometry.parameters[feature]
            direct = direct + pulled * seen.moves[0][:, [feature]]
        return seen.curvature @ self.geometry.tau[coordinate], direct, self._columns[:, coordinate]

    def _told(self, seen: Seen, coordinate: int) -> tuple[Array, Array]:
        """Return K v of one coordinate, shape (n, outputs, q), and I = v^T K v (and what the noise's shape tells)."""
        q, outputs = self.geometry.position.shape
        turned, direct, column = self._parts(seen, coordinate)
        found = np.einsum("nc,ncdq->ndq", turned, seen.shared)
        if column is not None:
            metric = _metric(self.geometry).reshape(outputs, q, outputs, q)
            found += np.einsum("nc,cdq->ndq", direct, np.einsum("a,cadq->cdq", column, metric))
        information = np.einsum("nd,nd->n", turned, np.einsum("ndq,nq->nd", found, seen.features))
        if column is not None:
            information += np.einsum("nd,nd->n", direct, found @ column)
        feature = self._scaled(coordinate)
        if feature is not None:
            information += self._own(seen, coordinate, feature)[0]
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


def _reached(seen: Seen, partial: _Partial, columns: Array, tau: Array) -> Array:
    """Return derivatives in what moves the features by some columns, and the margins by tau."""
    return np.asarray(partial.on_columns @ columns + partial.on_margins @ tau.T - seen.slope @ (partial.pull @ columns))


def _metric(geometry: Geometry) -> Array:
    """Return K."""
    return np.asarray(geometry.response.T @ geometry.response)
