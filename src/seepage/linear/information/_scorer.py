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

import numpy as np
from numpy.typing import NDArray

from seepage.linear.information._geometry import Geometry
from seepage.linear.information._plain import Plain
from seepage.linear.information._scales import MovedScales
from seepage.linear.information._shape import MovingShape
from seepage.linear.objective import Derivatives, derivatives
from seepage.linear.rows import Batch
from seepage.linear.stack import Pushes, Reach

Array = NDArray[np.float64]

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
