"""The row-local pass through preprocessing that was fitted on the same rows.

In the pipeline's own units a model in raw units moves with a unit of feature f of row i by (eq. 2.16)

    -H^-1 [ (rho_i + 2 lambda_f theta_f d_if) (x) e_f + (S_i theta_f) (x) x_i + w_f ],

d_if = ds/s (a penalty on absolute values adds its L_f sign(theta_f) d_if), and its noise, whose covariance is
A Sigma A^T, by L Sigma + Sigma L^T, where L = b e_f^T and b has the entry -d_if at feature f and -m_if at the
intercept. What the shape of the noise tells is (eq. 2.17)

    I2_fg = [f = g] outputs d_if^2 + sum_cd Sigma_cf,dg b_f^T (Sigma^-1)_cd b_g,

which does not shrink when the noise grows. Columns of T turn features into coordinates. Information is no longer a
diagonal plus two rank-one terms: few values have a small matrix a row, many are searched by products alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._geometry import Geometry
from seepage.linear.information._lanczos import largest
from seepage.linear.information._one_margin import OneMargin
from seepage.linear.information._scales import NoiseShape, Scales
from seepage.linear.information._several_margins import SeveralMargins
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch

Array = NDArray[np.float64]

# Numbers in the matrices of the rows that are worked on at once.
_MOST_NUMBERS = 2**21
# Up to this many values a whole matrix is cheaper than a search by products with it.
_SMALL = 12


def at_rest(geometry: Geometry) -> OneMargin | SeveralMargins:
    """Return the row-local pass for a model with one output or with several, whose features nothing was fitted on."""
    geometry = replace(geometry, scales=None)
    return OneMargin(geometry) if geometry.outputs == 1 else SeveralMargins(geometry)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Some rows, and what the loss and the scaler have to say of them."""

    slopes: Array
    """rho + 2 lambda theta d (and the penalty's on the intercept), shape (n, outputs, features)."""
    curvature: Array
    label_slope: Array
    turned: Array
    """G (e_c (x) x), shape (n, outputs, published)."""
    deviation: Array
    mean: Array

    def __len__(self) -> int:
        return len(self.slopes)


@dataclass(frozen=True, eq=False)
class ThroughScaler:
    """Scores rows of a model in raw units whose scaler, and imputer, were fitted on the same rows."""

    geometry: Geometry

    @property
    def _scales(self) -> Scales:
        assert self.geometry.scales is not None
        return self.geometry.scales

    @cached_property
    def _features(self) -> NDArray[np.intp]:
        """The features that some coordinate reaches."""
        return np.unique(self.geometry.reading.tocoo().coords[0]).astype(np.intp)

    @cached_property
    def _read(self) -> Array:
        """T of those features, shape (features, k)."""
        return np.asarray(self.geometry.reading[self._features].toarray())

    @cached_property
    def _theta(self) -> Array:
        return self.geometry.parameters[self._features]

    @cached_property
    def _blocks(self) -> Array:
        """G, shape (published, outputs, q)."""
        geometry = self.geometry
        return geometry.response.reshape(-1, geometry.outputs, len(geometry.position))

    @cached_property
    def _pulled(self) -> Array:
        """G (e_c (x) e_f), shape (outputs, features, published)."""
        axes = self.geometry.frame.axes
        if axes is None:
            return np.ascontiguousarray(self._blocks[:, :, self._features].transpose(1, 2, 0))
        return np.asarray(np.einsum("pcq,fq->cfp", self._blocks, axes[self._features], optimize=True))

    @cached_property
    def _leaning(self) -> Array | None:
        """What the intercept's penalty pulls at with each feature's mean, shape (features, published)."""
        lean = self._scales.lean
        if not lean.any():
            return None
        p = self.geometry.parameters.shape[0]
        intercept = np.einsum("pcq,q->cp", self._blocks, self.geometry.frame.matrix(p)[-1])
        return np.asarray((lean * self._theta) @ intercept)

    @cached_property
    def _filled(self) -> Array:
        """G w, shape (features, published)."""
        scales = self._scales
        found = np.zeros((len(self._features), len(self.geometry.response)))
        reached = np.isin(scales.filled, self._features)
        at = np.searchsorted(self._features, scales.filled[reached])
        found[at] = scales.filled_pull[reached] @ self.geometry.response.T
        return found

    @cached_property
    def _shape(self) -> NoiseShape | None:
        """What is needed of the noise's covariance; None for independent noise of one scale."""
        scales = self._scales
        if scales.covariance is None:
            return None
        return NoiseShape.of(scales.covariance, scales.published, self._features)

    @cached_property
    def _root(self) -> Array | None:
        return None if self._shape is None else self._shape.root()

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        top, trace = np.zeros(len(batch)), np.zeros(len(batch))
        geometry = self.geometry
        if not geometry.values:
            return top, trace
        every, label = np.arange(geometry.reading.shape[1]), not geometry.public_label
        if geometry.values <= _SMALL:
            for at, information in self._matrices(batch, every, label):
                top[at] = np.linalg.eigvalsh(information)[:, -1]
                trace[at] = np.trace(information, axis1=1, axis2=2)
            return np.maximum(top, 0.0), np.maximum(trace, 0.0)
        for at, seen in self._parts(batch, geometry.values * 64):
            top[at] = largest(partial(self._product, seen), len(seen), geometry.values)
            trace[at] = self._diagonal(seen, every).sum(axis=1)
            if label:
                trace[at] += (self._label_moves(seen) ** 2).sum(axis=(1, 2))
        return np.maximum(top, 0.0), np.maximum(trace, 0.0)

    def attributes(self, batch: Batch) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information, then the label's."""
        geometry = self.geometry
        # Categories and labels move no scaler.
        found = self._at_rest.attributes(batch)
        single = [i for i in self._moving if len(geometry.blocks[i]) == 1]
        at = np.concatenate([geometry.blocks[i] for i in single]) if single else np.empty(0, dtype=np.intp)
        for rows, seen in self._parts(batch, max(len(self._features), geometry.outputs * len(geometry.response))):
            found[rows, single] = self._diagonal(seen, at)
        for i in self._moving:
            if len(geometry.blocks[i]) > 1:
                for rows, information in self._matrices(batch, geometry.blocks[i], False):
                    found[rows, i] = np.linalg.eigvalsh(information)[:, -1]
        return np.maximum(found, 0.0)

    @cached_property
    def _at_rest(self) -> OneMargin | SeveralMargins:
        return at_rest(self.geometry)

    @cached_property
    def _moving(self) -> list[int]:
        """The attributes that reach a feature which something was fitted on."""
        fitted = self._scales.share != 0.0
        fitted[self._scales.filled] = True
        moves = self._read[fitted[self._features]].any(axis=0)
        return [i for i, block in enumerate(self.geometry.blocks) if moves[block].any()]

    def jacobian(self, batch: Batch) -> Array:
        """Return how each row's values move the release, in units of its noise, and its shape, (n, moves, values)."""
        label, every = not self.geometry.public_label, np.arange(self.geometry.reading.shape[1])
        seen, read = self._seen(batch), self._read.T
        moves = self._moves(seen, every, label)
        by_deviation, by_mean = read * seen.deviation[:, None], read * seen.mean[:, None]
        both = np.concatenate([by_deviation, by_mean], axis=2)
        if self._root is None:
            outputs = self._scales.published
            both *= np.sqrt(np.repeat([2 * outputs, outputs], len(self._features)))
        else:
            both = both @ self._root.T
        shape = np.zeros((len(seen), moves.shape[1], both.shape[2]))
        shape[:, : len(every)] = both
        return np.concatenate([moves, shape], axis=2).transpose(0, 2, 1)

    @property
    def moves(self) -> int:
        """How many numbers say how a release and its shape move."""
        return len(self.geometry.response) + 2 * len(self._features)

    def _parts(self, batch: Batch, numbers: int) -> Iterator[tuple[slice, _Seen]]:
        """Yield rows a few at a time, so that each may need so many numbers."""
        step = max(_MOST_NUMBERS // max(numbers, 1), 1)
        for start in range(0, len(batch), step):
            at = slice(start, min(start + step, len(batch)))
            yield at, self._seen(batch.take(at))

    def _seen(self, batch: Batch) -> _Seen:
        geometry, scales = self.geometry, self._scales
        rows = geometry.frame.rows(batch)
        slope, curvature, label_slope = derivatives(rows, geometry.loss, rows.margins(geometry.position))
        turned = np.stack(
            [rows.project(np.ascontiguousarray(self._blocks[:, c].T)) for c in range(geometry.outputs)], axis=1
        )
        deviation, mean = scales.moves(batch, self._features)
        slopes = slope[:, :, None] + scales.pull(self._theta, self._features).T * deviation[:, None, :]
        if self._leaning is not None:
            slopes += (scales.lean * geometry.parameters[-1])[:, None] * mean[:, None, :]
        return _Seen(slopes, curvature, label_slope, turned, deviation, mean)

    def _matrices(self, batch: Batch, coordinates: NDArray[np.intp], label: bool) -> Iterator[tuple[slice, Array]]:
        """Yield the information about some coordinates, and the label, of a few rows at a time."""
        reached = self._reached_by(coordinates)
        read = self._read[np.ix_(reached, coordinates)]
        size = max(len(coordinates) + label * self.geometry.outputs, len(reached))
        for at, seen in self._parts(batch, size * max(size, len(self.geometry.response))):
            moves = self._moves(seen, coordinates, label)
            information = moves @ moves.transpose(0, 2, 1)
            information[:, : len(coordinates), : len(coordinates)] += read.T @ self._own(seen, reached) @ read
            yield at, information

    def _reached_by(self, coordinates: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return which of the features some coordinates reach: a category's own levels, and nothing of the others."""
        return np.flatnonzero(self._read[:, coordinates].any(axis=1))

    def _moves(self, seen: _Seen, coordinates: NDArray[np.intp], label: bool) -> Array:
        """Return how the release moves with each value, in units of its noise, shape (n, values, published)."""
        at = self._reached_by(coordinates)
        found = np.einsum("ncf,cfp->nfp", seen.slopes[:, :, at], self._pulled[:, at], optimize=True)
        found += np.einsum("ncd,fd->nfc", seen.curvature, self._theta[at], optimize=True) @ seen.turned
        found += self._filled[at]
        if self._leaning is not None:
            found += seen.mean[:, at, None] * self._leaning[at]
        moved = self._read[np.ix_(at, coordinates)].T @ found
        return np.concatenate([moved, self._label_moves(seen)], axis=1) if label else moved

    def _label_moves(self, seen: _Seen) -> Array:
        return np.asarray(seen.label_slope.transpose(0, 2, 1) @ seen.turned)

    def _own(self, seen: _Seen, of: NDArray[np.intp]) -> Array:
        """Return what the noise's shape tells about some features (eq. 2.17), shape (n, features, features)."""
        shape, deviation, mean = self._shape, seen.deviation[:, of], seen.mean[:, of]
        own = np.zeros((len(seen), len(of), len(of)))
        at = np.arange(len(of))
        if shape is None:
            own[:, at, at] = self._scales.published * (2 * deviation**2 + mean**2)
            return own
        pairs = np.ix_(of, of)
        own += deviation[:, :, None] * shape.deviations[pairs] * deviation[:, None, :]
        mixed = deviation[:, :, None] * shape.mixed[pairs] * mean[:, None, :]
        own += mixed + mixed.transpose(0, 2, 1) + mean[:, :, None] * shape.means[pairs] * mean[:, None, :]
        own[:, at, at] += shape.outputs * deviation**2
        return own

    def _own_product(self, seen: _Seen, v: Array) -> Array:
        """Return that times a vector a row, shape (n, features)."""
        shape, d, m = self._shape, seen.deviation, seen.mean
        if shape is None:
            return np.asarray(self._scales.published * (2 * d**2 + m**2) * v)
        by_d, by_m = d * v, m * v
        found = d * (shape.outputs * by_d + by_d @ shape.deviations + by_m @ shape.mixed.T)
        return np.asarray(found + m * (by_d @ shape.mixed + by_m @ shape.means))

    def _product(self, seen: _Seen, values: Array) -> Array:
        """Return each row's information times a vector, shape (n, values)."""
        k = self._read.shape[1]
        v = values[:, :k] @ self._read.T
        bent = np.einsum("ncd,nd->nc", seen.curvature, v @ self._theta)
        if values.shape[1] > k:
            bent += np.einsum("ncd,nd->nc", seen.label_slope, values[:, k:])
        moved = np.einsum("nc,ncp->np", bent, seen.turned) + v @ self._filled
        for c in range(self.geometry.outputs):
            moved += (seen.slopes[:, c] * v) @ self._pulled[c]
        if self._leaning is not None:
            moved += (seen.mean * v) @ self._leaning
        # Back again, by the transpose.
        along = np.einsum("np,ncp->nc", moved, seen.turned)
        found = np.einsum("nc,ncd->nd", along, seen.curvature) @ self._theta.T + moved @ self._filled.T
        for c in range(self.geometry.outputs):
            found += seen.slopes[:, c] * (moved @ self._pulled[c].T)
        if self._leaning is not None:
            found += seen.mean * (moved @ self._leaning.T)
        found = (found + self._own_product(seen, v)) @ self._read
        if values.shape[1] == k:
            return np.asarray(found)
        return np.concatenate([found, np.einsum("nc,ncd->nd", along, seen.label_slope)], axis=1)

    def _diagonal(self, seen: _Seen, coordinates: NDArray[np.intp]) -> Array:
        """Return the information about single coordinates, shape (n, coordinates)."""
        read = self._read[:, coordinates]
        entries = np.count_nonzero(read, axis=0)
        found = np.zeros((len(seen), len(coordinates)))
        for i in np.flatnonzero(entries > 1):
            moves = self._moves(seen, coordinates[[i]], False)[:, 0]
            found[:, i] = np.einsum("np,np->n", moves, moves)
            found[:, i] += self._own_product(seen, np.tile(read[:, i], (len(seen), 1))) @ read[:, i]
        plain = np.flatnonzero(entries == 1)
        if not len(plain):
            return found
        features = np.abs(read[:, plain]).argmax(axis=0)
        found[:, plain] = self._of_features(seen, features) * read[features, plain] ** 2
        return found

    def _of_features(self, seen: _Seen, at: NDArray[np.intp]) -> Array:
        """Return the information about a unit of single features, shape (n, features)."""
        outputs = self.geometry.outputs
        slopes, pulled = seen.slopes[:, :, at], self._pulled[:, at]
        fixed = self._filled[at]
        bent = np.einsum("ncd,fd->ncf", seen.curvature, self._theta[at], optimize=True)
        if self._leaning is not None:
            # Rare: as if each were a coordinate of several features.
            moves = np.einsum("ncf,cfp->nfp", slopes, pulled) + np.einsum("ncf,ncp->nfp", bent, seen.turned) + fixed
            moves += seen.mean[:, at, None] * self._leaning[at]
            total = np.einsum("nfp,nfp->nf", moves, moves)
        else:
            # |sum_c slope_c G e_cf + bent_c G x_c + w|^2, each product once for all rows or all features.
            total = np.zeros((len(seen), len(at))) + np.einsum("fp,fp->f", fixed, fixed)
            for c in range(outputs):
                total += 2 * slopes[:, c] * np.einsum("fp,fp->f", pulled[c], fixed)
                total += 2 * bent[:, c] * (seen.turned[:, c] @ fixed.T)
                for d in range(outputs):
                    total += slopes[:, c] * slopes[:, d] * np.einsum("fp,fp->f", pulled[c], pulled[d])
                    total += 2 * slopes[:, c] * bent[:, d] * (seen.turned[:, d] @ pulled[c].T)
                    inner = np.einsum("np,np->n", seen.turned[:, c], seen.turned[:, d])
                    total += bent[:, c] * bent[:, d] * inner[:, None]
        shape, deviation, mean = self._shape, seen.deviation[:, at], seen.mean[:, at]
        if shape is None:
            return np.asarray(total + self._scales.published * (2 * deviation**2 + mean**2))
        own = (shape.outputs + shape.deviations[at, at]) * deviation**2 + 2 * shape.mixed[at, at] * deviation * mean
        return np.asarray(total + own + shape.means[at, at] * mean**2)
