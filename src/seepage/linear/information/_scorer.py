"""The row-local pass: eta, dfil and Jacobians of each row, from a fit that is a stack of equations.

A value of row i pulls at each block, and each block moves with those before it:

    moments        ds/s and dm of the scaler, and cells that hold a mean        (eq. 2.15)
    coefficients   -H^-1 [ rho (x) e_f + (S theta_f) (x) x + what the penalty, in raw units, does with ds/s ... ]
                                                                                (eqs. 2.5 and 2.16)
    curvature      dH, where the noise takes its shape from it                  (eq. 2.20)

What is published is a Gaussian, whose mean moves with the coefficients and whose covariance with the moments (eq. 2.17)
or with the curvature (eq. 2.19); the second half of its information does not shrink when the noise grows. Behind a bend
all of it is by features, times T_i (eq. 2.21). Models of which only the coefficients move have a faster pass (`Plain`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from seepage.core.eigenvalues import largest_by_products, tops_of_all
from seepage.core.secular import top_eigenvalues
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._pushes import Pushes, Reach
from seepage.linear.information._scales import MovedScales
from seepage.linear.information._shape import MovingShape
from seepage.linear.objective import Derivatives, derivatives
from seepage.linear.rows import Batch

Array = NDArray[np.float64]

# Numbers in the largest temporary, rows x outputs x outputs x features. The matrix that rows are multiplied by can be
# larger than any cache: few rows at a time would wait for it.
_PIECES = 2**23
# Up to this many values a whole matrix is cheaper than a search by products.
_SMALL = 64


class Pieces(NamedTuple):
    """What the information of some rows is made of."""

    rho: Array
    """Shape (n, outputs)."""
    s: Array
    """Of the coordinates, then of the label's, shape (n, outputs, values)."""
    e: Array
    """Shape (n, outputs, k)."""
    q: Array
    """Shape (n, outputs, outputs)."""


@dataclass(frozen=True, eq=False)
class Plain:
    """Scores rows of a model whose features nothing was fitted on.

    With A = G^T G in blocks A_cd (q x q) for each pair of outputs, and s_j = S tau_j, the information about the
    coordinates j and l is (eq. 2.13)

        I_jl = sum_cd (rho_c T_j + s_jc x)^T A_cd (rho_d T_l + s_ld x),

    and a coordinate of the label has s = a column of B and no T. No Jacobian is formed: x enters only through
    Q_cd = x^T A_cd x  and  E_c = sum_d rho_d T^T A_dc x,  as

        I = sum_cd rho_c rho_d T^T A_cd T  +  E^T s^T + s E  +  s Q s^T.

    For eta of models with one output, J_i = [ r K + a u tau^T ,  b u ]  (eq. 2.7), with K = G T  and  tau = T^T theta
    the same for all rows: one compiled search gives the largest eigenvalue.
    """

    geometry: Geometry

    @cached_property
    def _metric(self) -> Array:
        """A, shape (outputs, q, outputs, q)."""
        response, (q, outputs) = self.geometry.sharp.response, self.geometry.sharp.position.shape
        return (response.T @ response).reshape(outputs, q, outputs, q)

    @cached_property
    def _products(self) -> Array:
        """A, shape (q, outputs * outputs * q): turns x into every A_dc x at once."""
        outputs, q = self._metric.shape[:2]
        return np.ascontiguousarray(self._metric.transpose(1, 0, 2, 3).reshape(q, outputs * outputs * q))

    @cached_property
    def _within(self) -> Array:
        """T^T A_cd T for c <= d, the second added to its mirror image, shape (pairs, k, k)."""
        outputs, read = self.geometry.outputs, self.geometry.sharp.read
        found = []
        for c in range(outputs):
            for d in range(c, outputs):
                block = np.asarray((read.T @ (read.T @ self._metric[c, :, d, :]).T).T)
                found.append(block if c == d else block + block.T)
        return np.array(found)

    @cached_property
    def _read(self) -> Any:
        """T, dense where it is small: there a sparse product costs more than it computes."""
        read = self.geometry.sharp.read
        return read.toarray() if not isinstance(read, np.ndarray) and max(read.shape) <= _SMALL else read

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        values = self.geometry.values
        if self.geometry.outputs == 1:
            return self._examples_of_one_margin(batch)
        top, trace = np.zeros(len(batch)), np.zeros(len(batch))
        if not values:
            return top, trace
        for rows, pieces in self._pieces(batch):
            top[rows], trace[rows] = tops_and_traces(self._within, *pieces)
        return np.maximum(top, 0.0), np.maximum(trace, 0.0)

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """D in descending order and Q, with K K^T = Q diag(D) Q^T (eq. 3.1)."""
        moved = self.geometry.moved
        values, vectors = eigh(moved @ moved.T)
        return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])

    @cached_property
    def _turning(self) -> tuple[Array, Array]:
        """The matrix that turns x into Q^T G x, and Q^T K tau."""
        geometry, vectors = self.geometry, self._spectrum[1]
        fixed = vectors.T @ (geometry.moved @ geometry.tau[:, 0])
        return np.ascontiguousarray(geometry.response.T @ vectors), fixed

    def _examples_of_one_margin(self, batch: Batch) -> tuple[Array, Array]:
        """Return the same of a model with one output, by one product of the rows and one compiled search."""
        geometry, (diagonal, _), (turning, fixed) = self.geometry, self._spectrum, self._turning
        batch = geometry.frame.rows(batch)
        slope, curvature, label_slope = derivatives(batch, geometry.loss, batch.margins(geometry.position))
        r, a, b = slope[:, 0], curvature[:, 0, 0], 0.0 if geometry.public_label else label_slope[:, 0, 0]
        c = a**2 * float(geometry.tau[:, 0] @ geometry.tau[:, 0]) + b**2
        top, norms, inner = np.empty(len(batch)), np.empty(len(batch)), np.empty(len(batch))
        turned = np.ascontiguousarray(batch.project(turning))
        top_eigenvalues(diagonal, turned, fixed, r**2, c, a * r, top, norms, inner)
        trace = r**2 * diagonal.sum() + 2.0 * a * r * inner + c * norms
        return np.maximum(top, 0.0), np.maximum(trace, 0.0)

    def attributes(self, batch: Batch) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information, then the label's."""
        geometry = self.geometry
        k = geometry.reading.shape[1]
        found = np.zeros((len(batch), len(geometry.blocks) + (not geometry.public_label)))
        single = [i for i, block in enumerate(geometry.blocks) if len(block) == 1]
        at = np.concatenate([geometry.blocks[i] for i in single]) if single else np.empty(0, dtype=np.intp)
        for rows, pieces in self._pieces(batch):
            found[rows, single] = self._diagonal(pieces, at)
            for i, block in enumerate(geometry.blocks):
                if len(block) > 1:
                    found[rows, i] = self._block(pieces, i)
            if not geometry.public_label:
                found[rows, -1] = self._label(pieces, k)
        return np.maximum(found, 0.0)

    def _pieces(self, batch: Batch) -> Iterator[tuple[slice, Pieces]]:
        """Yield slices of rows with what their information is made of."""
        geometry, at = self.geometry, self.geometry.sharp
        q, outputs = at.position.shape
        batch = at.frame.rows(batch)
        slope, curvature, label_slope = derivatives(batch, geometry.loss, batch.margins(at.position))
        s = np.tensordot(curvature, geometry.tau, ([2], [1]))
        if not geometry.public_label:
            s = np.concatenate([s, label_slope], axis=2)
        step = max(_PIECES // (outputs**2 * q), 1)
        for start in range(0, len(batch), step):
            rows = slice(start, start + step)
            part = batch.take(rows)
            products = part.project(self._products).reshape(len(part), outputs, outputs, q)
            turned = slope[rows, :1, None] * products[:, :, 0]
            for d in range(1, outputs):
                turned += slope[rows, d, None, None] * products[:, :, d]
            e = np.asarray(turned.reshape(-1, q) @ self._read).reshape(len(part), outputs, -1)
            quadratic = _row_products(part, products.reshape(len(part), -1, q)).reshape(len(part), outputs, outputs)
            yield rows, Pieces(slope[rows], s[rows], e, quadratic)

    def _block(self, pieces: Pieces, attribute: int) -> Array:
        """Return the largest eigenvalue of the information about one attribute."""
        at = self.geometry.blocks[attribute]
        s, e = np.ascontiguousarray(pieces.s[:, :, at]), np.ascontiguousarray(pieces.e[:, :, at])
        return tops_and_traces(np.ascontiguousarray(self._within[:, at[:, None], at]), pieces.rho, s, e, pieces.q)[0]

    def _diagonal(self, pieces: Pieces, at: NDArray[np.intp]) -> Array:
        """Return the diagonal entries of the coordinates `at`, shape (n, len(at))."""
        # Taking columns out copies them: rarely are they not all there are, and in order.
        whole = len(at) == pieces.e.shape[2] and (at == np.arange(len(at))).all()
        s, e = (pieces.s[:, :, : len(at)], pieces.e) if whole else (pieces.s[:, :, at], pieces.e[:, :, at])
        found = _products_of_pairs(pieces.rho) @ self._within[:, at, at]
        for c in range(s.shape[1]):
            # Q s + 2 E, output by output: products of small matrices for each row cost more than they compute.
            turned = 2.0 * e[:, c]
            for d in range(s.shape[1]):
                turned += pieces.q[:, c, d, None] * s[:, d]
            turned *= s[:, c]
            found += turned
        return np.asarray(found)

    def _label(self, pieces: Pieces, k: int) -> Array:
        """Return the largest eigenvalue of the information about the label, whose coordinates begin at k."""
        none, blocks = np.empty((len(pieces.s), self.geometry.outputs, 0)), np.empty((len(self._within), 0, 0))
        return tops_and_traces(blocks, pieces.rho, np.ascontiguousarray(pieces.s[:, :, k:]), none, pieces.q)[0]


def tops_and_traces(within: Array, rho: Array, s: Array, e: Array, q: Array) -> tuple[Array, Array]:
    """Return the largest eigenvalue and the trace of each row's information.

    Parameters
    ----------
    within : ndarray of shape (pairs, k, k)
    rho, s, e, q : ndarray
        As in `Pieces`.
    """
    pairs, (count, _, values), k = _products_of_pairs(rho), s.shape, within.shape[1]
    top, trace = np.empty(count), np.empty(count)
    if values <= _SMALL:
        tops_of_all(pairs, within, s, e, q, top, trace)
        return top, trace
    trace = ((q @ s) * s).sum(axis=(1, 2)) + 2.0 * (s[:, :, :k] * e).sum(axis=(1, 2))
    trace += pairs @ np.trace(within, axis1=1, axis2=2)
    step = max(_PIECES // k**2, 1)
    for start in range(0, count, step):
        some = slice(start, start + step)
        inner, own, reached = np.tensordot(pairs[some], within, 1), s[some], e[some]

        def product(
            vectors: Array, inner: Array = inner, s: Array = own, e: Array = reached, q: Array = q[some]
        ) -> Array:
            seen, column = s @ vectors[:, :, None], vectors[:, :k, None]
            found = s.transpose(0, 2, 1) @ (q @ seen + e @ column)
            found[:, :k] += e.transpose(0, 2, 1) @ seen + inner @ column
            return np.asarray(found[:, :, 0])

        top[some] = largest_by_products(product, len(inner), values)
    return top, trace


def _products_of_pairs(rho: Array) -> Array:
    """Return rho_c rho_d for c <= d, shape (n, pairs)."""
    first, second = np.triu_indices(rho.shape[1])
    return np.asarray(rho[:, first] * rho[:, second])


def _row_products(batch: Batch, vectors: Array) -> Array:
    """Return the inner products of each [x, 1] with its own vectors, shape (n, vectors)."""
    return np.asarray((vectors @ batch.augmented()[:, :, None])[:, :, 0])


# Numbers of the rows that are worked on at once: Jacobians that are formed stay in a core's cache.
_FORMED, _MOST_NUMBERS = 2**18, 2**21
# Numbers in the largest Jacobians that are asked for whole.
_MOST_FORMED = 2**22
# A change of the parameters that nothing decides, beside how the features move, that is more than rounding.
_TIED = 1e-9


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores rows. Holds none, so that it can travel."""

    geometry: Geometry

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        if not self.geometry.stacked and not batch.missing:
            return self._plain.examples(batch)
        top, trace = np.zeros(len(batch)), np.zeros(len(batch))
        if self.geometry.values:
            for at, found in self._parts(batch):
                top[at], trace[at] = found.examples()
        return top, trace

    def attributes(self, batch: Batch) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information, then the label's."""
        if not self.geometry.stacked:
            return self._plain.attributes(batch)
        found = np.zeros((len(batch), len(self.geometry.blocks) + (not self.geometry.public_label)))
        for at, part in self._parts(batch):
            found[at] = part.attributes(self.geometry.blocks)
        return found

    def scores(self, batch: Batch) -> tuple[Array, Array]:
        """Return eta and dfil of each row (eqs. 1.3 and 1.4); NaN where no value of it has a slope."""
        (top, trace), counts, geometry = self.examples(batch), self.counts(batch), self.geometry
        answered = counts > 0
        if geometry.still and geometry.public_label:
            moving = [i for i, block in enumerate(geometry.blocks) if len(block) and i not in geometry.still]
            answered &= ~self._lacks(batch)[:, moving].all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(answered, np.sqrt(top), np.nan), np.where(answered, np.sqrt(trace / counts), np.nan)

    def attribute_scores(self, batch: Batch) -> Array:
        """Return eta of each attribute of each row, then of the label; NaN where there is no value, or no slope."""
        found = np.sqrt(self.attributes(batch))
        found[:, self.geometry.still] = np.nan
        found[:, : len(self.geometry.blocks)][self._lacks(batch)] = np.nan
        return found

    def counts(self, batch: Batch) -> NDArray[np.int64]:
        """Return how many private values each row has."""
        sizes = np.array(
            [0 if i in self.geometry.still else max(len(b), 1) for i, b in enumerate(self.geometry.blocks)]
        )
        return self.geometry.private_values() - self._lacks(batch) @ sizes.astype(np.int64)

    def _lacks(self, batch: Batch) -> NDArray[np.bool_]:
        """Return which attributes each row lacks: a cell that was filled in is nobody's value."""
        found = np.zeros((len(batch), len(self.geometry.columns)), dtype=bool)
        for i, column in enumerate(self.geometry.columns):
            found[:, i] = batch.missing.get(column, False)
        return found

    def _lacking(self, batch: Batch) -> NDArray[np.bool_] | None:
        """Return which coordinates each row lacks."""
        if not batch.missing:
            return None
        found = np.zeros((len(batch), self.geometry.reading.shape[1]), dtype=bool)
        for mask, block in zip(self._lacks(batch).T, self.geometry.blocks, strict=True):
            found[np.ix_(mask, block)] = True
        return found

    def jacobians(self, batch: Batch) -> Iterator[Array]:
        """Yield each row's Jacobian (eq. 2.5) in units of the noise, a few rows at a time, (n, numbers, values).

        Columns of values that a person lacks are zero.
        """
        step = max(_MOST_FORMED // max(self.moves * max(self.geometry.values, self.geometry.outputs), 1), 1)
        for start in range(0, len(batch), step):
            part = batch.take(slice(start, start + step))
            yield replace(self.of(part), lacking=self._lacking(part)).whole().transpose(0, 2, 1)

    def joint_gram(self, batch: Batch) -> Array:
        """Return the sum of J J^T over the rows: squares only, so that nothing cancels."""
        total = np.zeros((self.moves, self.moves))
        for part in self.jacobians(batch):
            flat = part.transpose(1, 0, 2).reshape(len(total), -1)
            total += flat @ flat.T
        return total

    def jacobian(self, batch: Batch) -> Array:
        """Return how each row's values move the release, in units of its noise, and its shape, (n, moves, values)."""
        return self.of(batch).whole().transpose(0, 2, 1)

    def own(self, batch: Batch, fill: Array) -> Array:
        """Return what each row itself adds to the coefficients' equations, as `jacobian` has it, shape (n, published).

        Parameters
        ----------
        batch : Batch
        fill : ndarray of shape (features,)
            What cells without a value were filled in with, of all features that a value reaches.
        """
        scales, rows = self.geometry.scales, self.geometry.frame.rows(batch)
        slope = derivatives(rows, self.geometry.loss, rows.margins(self.geometry.position)).slope
        found = np.zeros((len(batch), len(self.geometry.response)))
        for c, block in enumerate(self._blocks.transpose(1, 0, 2)):
            found += slope[:, c, None] * rows.project(np.ascontiguousarray(block.T))
        if scales is None:
            return found
        moved = scales.own(batch, self._features, fill)
        nothing = Derivatives(np.zeros_like(slope), np.empty(0), np.empty(0))
        slopes = self._slopes(nothing, moved, batch.columns(self._features) - fill)
        return np.asarray(found + np.einsum("nkf,kfp->np", slopes, self._columns, optimize=True))

    @cached_property
    def moves(self) -> int:
        """How many numbers say how the release, and its shape, move."""
        scales, shape = self.geometry.scales, self.geometry.shape
        found = len(self.geometry.response)
        if shape is not None:
            return found + shape.moves
        return found + (2 * len(self._features) if scales is not None and scales.published else 0)

    @property
    def _forms(self) -> bool:
        """Whether each row's Jacobian is formed: more than a scaler makes it another, or its terms would cancel."""
        geometry = self.geometry
        return geometry.curves is not None or geometry.shape is not None or geometry.cancels

    @cached_property
    def _plain(self) -> Plain:
        return Plain(self.geometry)

    def _parts(self, batch: Batch) -> Iterator[tuple[slice, Pushes]]:
        """Yield rows a few at a time."""
        values = max(self.geometry.values, len(self._features))
        # Behind a bend alone there is little to a Jacobian, and splines are made anew for each part.
        formed = _MOST_NUMBERS if self.geometry.shape is None else _FORMED
        numbers = formed // (self.moves * values) if self._forms else _MOST_NUMBERS // (64 * max(values, 1))
        step = max(numbers, 16)
        for start in range(0, len(batch), step):
            part = batch.take(slice(start, start + step))
            yield slice(start, start + len(part)), replace(self.of(part), lacking=self._lacking(part))

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.geometry.reading, self.geometry.curves)

    @property
    def _features(self) -> NDArray[np.intp]:
        return self._reach.features

    @cached_property
    def _theta(self) -> Array:
        return self.geometry.parameters[self._features]

    @cached_property
    def _blocks(self) -> Array:
        """G, shape (published, outputs, q)."""
        geometry = self.geometry
        return geometry.response.reshape(-1, geometry.outputs, len(geometry.position))

    @cached_property
    def _in_frame(self) -> Array:
        """e_f in the coordinates of the frame, shape (features, q)."""
        axes, q = self.geometry.frame.axes, len(self.geometry.position)
        return np.eye(q)[self._features] if axes is None else axes[self._features]

    @cached_property
    def _columns(self) -> Array:
        """G (e_c (x) e_f), then what means do to a penalty on the intercept, and filled cells to the gradient."""
        columns = [each @ self._in_frame.T for each in self._blocks.transpose(1, 0, 2)]
        found = [np.ascontiguousarray(each.T) for each in columns]
        scales = self.geometry.scales
        if scales is not None and scales.lean.any():
            p = self.geometry.parameters.shape[0]
            intercept = np.einsum("pcq,q->cp", self._blocks, self.geometry.frame.matrix(p)[-1])
            found.append((scales.lean * self._theta) @ intercept)
        if scales is not None and len(scales.filled):
            found.append(self._filled @ self.geometry.response.T)
        return np.stack(found)

    @cached_property
    def _filled(self) -> Array:
        """What a unit of each feature does to the gradient through filled cells, in the frame, (features, ...)."""
        scales = self.geometry.scales
        assert scales is not None
        found = np.zeros((len(self._features), scales.filled_pull.shape[1]))
        for feature, pull in zip(scales.filled, scales.filled_pull, strict=True):
            found[self._features == feature] = pull
        return found

    def of(self, batch: Batch) -> Pushes:
        """Return the Jacobians of some rows."""
        geometry, scales, shape = self.geometry, self.geometry.scales, self.geometry.shape
        entries = self._reach.entries(batch.bent)
        self._check_ties(entries)
        rows = geometry.frame.rows(batch)
        found = derivatives(rows, geometry.loss, rows.margins(geometry.position))
        moved = None if scales is None else scales.moves(batch, self._features)
        slopes = self._slopes(found, moved)
        pushed = np.stack(
            [rows.project(np.ascontiguousarray(block.T)) for block in self._blocks.transpose(1, 0, 2)], axis=1
        )
        moves = Pushes(
            self._reach,
            entries,
            self._columns,
            slopes,
            self._theta,
            found.curvature,
            pushed,
            found.label_slope[:, :, : 0 if geometry.public_label else geometry.loss.label_values],
            is_formed=geometry.cancels,
        )
        if shape is not None:
            formed, formed_label = self._curvature(rows, found, slopes, moved, shape)
            return replace(moves, formed=formed, formed_label=formed_label)
        if moved is None or scales is None or not scales.published:
            return moves
        if self._root is None:
            sizes = np.sqrt([2.0 * scales.published, scales.published])
            return replace(
                moves, apart=np.stack([size * each for size, each in zip(sizes, moved, strict=True)], axis=1)
            )
        width = len(self._features)
        root = np.stack([self._root[:, :width].T, self._root[:, width:].T])
        return moves.beside(root, np.stack(moved, axis=1))

    def _slopes(self, found: Derivatives, moved: MovedScales | None, filled: Array | float = 1.0) -> Array:
        """Return what the columns are multiplied by, shape (n, K, features or 1).

        Parameters
        ----------
        found : Derivatives
        moved : Moved or None
        filled : ndarray of shape (n, features), or float
            By how much each row moves what is filled in, for one over the number of rows that have a value.
        """
        geometry, scales = self.geometry, self.geometry.scales
        slopes = found.slope[:, :, None]
        if scales is None or moved is None:
            return slopes
        slopes = slopes + scales.pull(self._theta, self._features).T * moved.deviation[:, None, :]
        more = []
        if scales.lean.any():
            slopes += (scales.lean * geometry.parameters[-1])[:, None] * moved.mean[:, None, :]
            more.append(moved.mean[:, None])
        if len(scales.filled):
            more.append(np.broadcast_to(filled, (len(slopes), slopes.shape[2]))[:, None])
        return np.concatenate([slopes, *more], axis=1)

    @cached_property
    def _root(self) -> Array | None:
        """Of the noise's own information about all ds/s and dm (eq. 2.17); None for noise of one scale."""
        scales = self.geometry.scales
        assert scales is not None
        shape = scales.noise_shape(self._features)
        return None if shape is None else shape.root()

    def _curvature(
        self, rows: Batch, found: Derivatives, slopes: Array, moved: MovedScales | None, shape: MovingShape
    ) -> tuple[Array, Array]:
        """Return how the covariance of a noise that is made from the Hessian moves with features, and with labels."""
        geometry, scales, loss = self.geometry, self.geometry.scales, self.geometry.loss
        x, axes, (a, b) = rows.project(shape.axes), self._in_frame @ shape.axes, shape.pairs
        margins, square, own = rows.margins(geometry.position), x[:, a] * x[:, b], axes[:, a] * axes[:, b]
        across = axes[:, a] * x[:, None, b] + x[:, None, a] * axes[:, b]
        fit = self._fit_moved(x, axes, slopes, found, shape)
        changes, labels = [], []
        for each in shape.sums:
            value, slope, label_slope = each.weighing(rows, loss, margins, found)
            change, label = across * value[:, None, None], np.zeros((len(x), loss.label_values, len(a)))
            if slope is not None and label_slope is not None:
                change += (slope[:, None] * self._theta[:, 0])[:, :, None] * square[:, None]
                label += label_slope[:, :, None] * square[:, None]
            if scales is not None:
                for feature, by in zip(scales.filled, each.filled, strict=True):
                    change[:, self._features == feature] += by[a, b]
            if each.third is not None:
                change -= fit @ each.third[:, a, b]
                label -= (found.label_slope[:, 0, :, None] * x[:, None]) @ each.third[:, a, b]
            changes.append(change)
            labels.append(label)
        if scales is not None and moved is not None:
            # The penalty is the Hessian's alone.
            changes[0] += (2.0 * scales.penalty[self._features, 0] * moved.deviation)[:, :, None] * own
        return shape.moved(*changes), shape.moved(*labels)

    def _fit_moved(self, x: Array, axes: Array, slopes: Array, found: Derivatives, shape: MovingShape) -> Array:
        """Return how the fit moves, which all sums of one output move with."""
        scales = self.geometry.scales
        if all(each.third is None for each in shape.sums):
            return np.empty(0)
        fit = slopes[:, 0, :, None] * axes + (found.curvature[:, 0] * self._theta.T)[:, :, None] * x[:, None]
        if scales is not None and len(scales.filled):
            fit = fit + self._filled @ shape.axes
        return np.asarray(fit)

    def _check_ties(self, entries: Array | None) -> None:
        """Refuse values that break a tie between columns which leaves directions of the parameters undecided."""
        minimizer = self.geometry.minimizer
        if not minimizer.undecided.size or entries is None:
            return
        undecided = minimizer.undecided / np.linalg.norm(minimizer.undecided, axis=0)
        size = np.linalg.norm(entries, axis=1, keepdims=True)
        if any((np.abs(broken) > _TIED * size).any() for broken in self._reach.broken(undecided, entries)):
            raise minimizer.not_unique(np.abs(undecided).max(axis=1))
