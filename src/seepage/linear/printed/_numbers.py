"""Printed numbers of a fitted model, and their derivatives.

Besides the coefficients theta a table has standard errors, a dispersion, and the number of people in each class. Every
number is a function of sums over the rows: a row changes it by its own term, and by everybody's terms through theta.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.attackers import Composed, Formed, Slopes
from seepage.errors import UnsupportedError
from seepage.linear.information import ERRORS, Fit, Geometry, Reach, Release, Scorer, published_of
from seepage.linear.objective import Problem, Squares, derivatives, newton_sums
from seepage.linear.printed._errors import ErrorDerivatives, Errors
from seepage.linear.results import Covariance
from seepage.linear.rows import Batch

DISPERSION, COUNTS = "dispersion", "counts"
# Residuals that are so small a part of the outcomes are rounding errors.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers that leave, as functions of the rows."""

    geometry: Geometry
    """Of all columns, in the parameters' own units."""
    problem: Problem
    count: int
    """The number of rows."""
    published: tuple[str, ...]
    coordinate_columns: tuple[int, ...]
    """The raw column of each coordinate."""
    covariance: Covariance
    """The kind of standard errors."""
    terms: tuple[str, ...]
    """The coefficients of one output."""
    raw: Array | None = None
    """From the parameters to those in the units of the columns, shape (p, p), if these are printed."""
    errors: Errors | None = None
    """Standard errors, if they are printed."""
    sums: "PrintedSums | None" = None
    """What all rows add up to."""

    @classmethod
    def of(
        cls, fit: Fit, release: Release, published: tuple[str, ...], covariance: Covariance, *, raw: bool = False
    ) -> "Numbers":
        """Return what is printed of a model, whose release is about all of its columns."""
        scales = release.geometry.scales
        geometry = replace(
            release.geometry,
            whitening=1.0,
            scales=None if scales is None else scales.without_shape(),
            shape=None,
        )
        columns = fit.private_columns(None)
        owners = [np.full(len(block), column) for block, column in zip(geometry.blocks, columns, strict=True)]
        units = raw_units(fit) if scales is not None or raw else None
        places = np.concatenate([*geometry.blocks, np.empty(0, dtype=np.intp)])
        by_place = np.concatenate([*owners, np.empty(0)]).astype(int)[np.argsort(places)]
        bare = cls(
            geometry,
            fit.problem,
            fit.rows.count,
            published,
            tuple(by_place.tolist()),
            covariance,
            _names(fit, geometry.minimizer.names, units),
            units,
        )
        if ERRORS in published:
            bare = replace(bare, errors=bare._errors_over(fit))
        robust = covariance.is_robust
        sums = bare.added(_every(fit), np.arange(fit.rows.count)) if robust else fit.rows.total(bare.added)
        found = replace(bare, sums=sums)
        found._check_residuals(fit.called)
        return found

    def _errors_over(self, fit: Fit) -> Errors:
        """Return the standard errors, with what they sum over the rows."""
        geometry, loss = self.geometry, self.geometry.loss
        bread, inverse = loss, geometry.minimizer.inverse
        if self.covariance.expected and not self.covariance.is_robust:
            bread = loss.expectation
            total = fit.rows.total(partial(newton_sums, loss=bread, position=geometry.position, frame=geometry.frame))
            inverse = np.linalg.inv(total.hessian)
        matrix = np.kron(np.eye(geometry.outputs), geometry.frame.matrix(len(geometry.parameters)))
        errors = Errors(loss, bread, self.covariance, self.read @ matrix, inverse)
        if not self.covariance.is_robust:
            return errors
        rows = geometry.frame.rows(_every(fit))
        return errors.fitted(rows, rows.margins(geometry.position))

    def _check_residuals(self, called: str) -> None:
        """Refuse a fit whose residuals are rounding errors, and a dispersion without degrees of freedom."""
        people, size = self.count, self.geometry.minimizer.position.size
        residual, outcome = self._sums.residual
        if residual <= _ROUNDING * outcome:
            raise UnsupportedError(
                f"This {called} reproduces every outcome exactly (rows: {people:,}, coefficients: {size}), so that the "
                "other participants add no sampling noise. Fit fewer coefficients to an outcome that varies, or "
                "measure with noise_scale=."
            )
        if self._dispersions and self._free <= 0:
            raise UnsupportedError(
                f"No degree of freedom is left for a dispersion (rows: {people:,}, coefficients: {size}). Fit fewer "
                'coefficients to more people, or say published=["coefficients"] if nothing else is printed.'
            )

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer(self.geometry)

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.geometry.reading, self.geometry.curves)

    @cached_property
    def read(self) -> Array:
        """What is printed of the coefficients, shape (coefficients, outputs * p)."""
        problem = self.problem
        found = published_of(problem.basis, problem.size, self.geometry.minimizer.free)
        if self.raw is None:
            return found
        return np.asarray(found @ np.kron(np.eye(self.geometry.outputs), self.raw))

    @cached_property
    def _classes(self) -> Array | None:
        """From a label's numbers to which class it is, shape (label values, classes - 1), where classes are counted."""
        codes = self.problem.labels.codes
        if codes is None or COUNTS not in self.published:
            return None
        unit = np.eye(len(codes))[:, 1:]
        return np.asarray(np.linalg.lstsq(codes - codes.mean(axis=0), unit - unit.mean(axis=0), rcond=None)[0])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each number is."""
        found = self._coefficient_names
        if ERRORS in self.published:
            found += [f"standard error of {name}" for name in found]
        found += [DISPERSION] * self._dispersions
        if self._classes is not None:
            found += [f"number of {each}" for each in np.asarray(self.problem.labels.classes)[1:].tolist()]
        return tuple(found)

    @property
    def _coefficient_names(self) -> list[str]:
        names, beside, count = self.terms, self.problem.beside, len(self.read)
        if beside:
            return [*names, *beside]
        classes = self.problem.labels.classes
        if count == len(names) or classes is None:
            return [names[i % len(names)] for i in range(count)]
        shown = np.asarray(classes).tolist()[-(count // len(names)) :]
        return [f"{name} of {each}" for each in shown for name in names]

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which numbers are counts of people, and printed as they are."""
        counts = 0 if self._classes is None else self._classes.shape[1]
        return np.arange(len(self.names)) >= len(self.names) - counts

    @cached_property
    def _dispersions(self) -> int:
        classical = self.errors is not None and not self.covariance.is_robust
        if DISPERSION not in self.published and not classical:
            return 0
        return len(self._sums.square)

    @cached_property
    def _free(self) -> float:
        """The degrees of freedom of the residuals."""
        return float(self.count - self.geometry.minimizer.position.size)

    @property
    def _sums(self) -> "PrintedSums":
        assert self.sums is not None
        return self.sums

    def _squares(self, rows: Batch, margins: Array) -> Squares | None:
        """Return squared Pearson residuals, if a dispersion is estimated."""
        loss, estimated = self.geometry.loss, self.covariance.estimated
        if not (loss.estimates_dispersion if estimated is None else estimated):
            return None
        return loss.squares(margins, rows.labels)

    def added(self, batch: Batch, places: NDArray[np.intp] | None = None) -> "PrintedSums":
        """Return what some rows add to the sums that all numbers need."""
        rows, loss = self.geometry.frame.rows(batch), self.geometry.loss
        margins, weight = rows.margins(self.geometry.position), rows.every_weight
        size = self.geometry.position.size
        square, pulled, bent = np.zeros(0), np.zeros((0, size)), np.zeros((len(self.read), size))
        own = derivatives(rows, loss, margins)
        outcome = np.einsum("ncl,nl->nc", own.label_slope, rows.labels)
        residual = np.array([np.abs(own.slope).sum(), np.abs(outcome).sum()])
        found = self._squares(rows, margins)
        if found is not None:
            square = weight @ found.square
            pulled = np.stack([rows.total(weight[:, None] * each).T.ravel() for each in found.slope.swapaxes(0, 1)])
        if self.errors is not None:
            by_margin = self.errors.derivatives(rows, margins, places).margins
            bent = np.stack([rows.total(each).T.ravel() for each in by_margin.transpose(1, 0, 2)])
        counts = np.zeros(0)
        if self._classes is not None:
            # Labels are codes of classes.
            codes = np.asarray(self.problem.labels.codes)
            at = classes_of(batch, codes)
            counts = np.bincount(at, minlength=len(codes))[1:].astype(np.float64)
        return PrintedSums(residual, square, pulled, bent, counts, *self._filled(batch))

    def _filled(self, batch: Batch) -> tuple[Array, Array]:
        """Return the sums and the numbers of all features over rows that have a value of them."""
        if self.geometry.scales is None:
            return np.zeros(0), np.zeros(0)
        features, reach = self._reach.features, (np.abs(self._reach.straight) > 0).astype(float)
        lacks = np.zeros((len(batch), reach.shape[1]))
        for i, column in enumerate(self.coordinate_columns):
            if column in batch.missing:
                lacks[:, i] = batch.missing[column]
        has = (lacks @ reach.T == 0).astype(float)
        return (has * batch.columns(features)).sum(axis=0), has.sum(axis=0)

    @cached_property
    def _back(self) -> Array:
        """From the parameters to their place in the frame, shape (outputs * q, outputs * p)."""
        size, q = len(self.geometry.parameters), len(self.geometry.position)
        one = np.linalg.pinv(self.geometry.frame.matrix(size))
        return np.kron(np.eye(self.geometry.outputs), one).reshape(self.geometry.outputs * q, -1)

    @cached_property
    def _standard_errors(self) -> Array:
        assert self.errors is not None
        return np.asarray(np.sqrt(self.errors.values * self._factor))

    @property
    def _factor(self) -> float:
        """The squares of standard errors over v."""
        if self.covariance.is_robust:
            return self.covariance.factor(self.count, self.geometry.minimizer.position.size)
        return self._phi

    @property
    def _per_error(self) -> Array:
        """One by each standard error; zero for a coefficient that is zero whatever the rows are."""
        errors = self._standard_errors
        return np.divide(1.0, errors, out=np.zeros_like(errors), where=errors > 0)

    @property
    def _phi(self) -> float:
        return float(self._sums.square.mean() / self._free) if len(self._sums.square) else 1.0

    @cached_property
    def values(self) -> Array:
        """The numbers as they are."""
        parts = [self.read @ self.geometry.parameters.T.ravel()]
        if self.errors is not None:
            parts.append(self._standard_errors)
        if self._dispersions:
            parts.append(self._sums.square / self._free)
        if self._classes is not None:
            parts.append(self._sums.counts)
        return np.concatenate(parts)

    def at(self, position: Array) -> "Numbers":
        """Return the same numbers with rows looked at elsewhere in the frame; how numbers follow stays as it is."""
        minimizer = replace(self.geometry.minimizer, position=position)
        return replace(self, geometry=replace(self.geometry, minimizer=minimizer))

    def position_of(self, parameters: Array) -> Array:
        """Return where parameters are in the frame."""
        frame = self.geometry.frame
        centered = replace(frame, axes=None).position(parameters)
        return centered if frame.axes is None else np.asarray(np.linalg.lstsq(frame.axes, centered)[0], dtype=float)

    def moves(self, batch: Batch, places: NDArray[np.intp] | None = None) -> Array:
        """Return how much each row moves each number, to first order, shape (n, numbers)."""
        theta = -self._scorer.own(batch, self._sums.filled / np.maximum(self._sums.has, 1.0))
        rows = self.geometry.frame.rows(batch)
        margins, weight = rows.margins(self.geometry.position), rows.every_weight
        own = _Own(theta)
        dispersed = self._squares(rows, margins) if self._dispersions else None
        if dispersed is not None:
            own = replace(own, spread=weight[:, None] * dispersed.square / self._free)
        if self.errors is not None:
            own = replace(own, square=self.errors.terms(rows, margins, places))
        if self._classes is not None:
            own = replace(own, counted=batch.labels @ self._classes)
        return self._followed(own)

    def _followed(self, own: "_Own") -> Array:
        """Return how all numbers move, given what moves them directly, shape (n, numbers)."""
        parts, through = [own.theta @ self.read.T], own.theta @ self._back.T
        pulled, bent = self._sums.pulled / self._free, self._sums.bent
        spread: Array | float = 0.0
        if self._dispersions:
            spread = own.spread + through @ pulled.T
        if self.errors is not None:
            parts.append(self._errors_moved(own.square + through @ bent.T, np.atleast_2d(spread)))
        if self._dispersions:
            parts.append(np.asarray(spread))
        if self._classes is not None:
            parts.append(np.broadcast_to(own.counted, (len(own.theta), self._classes.shape[1])))
        return np.concatenate(parts, axis=1)

    def slopes(self, batch: Batch, places: NDArray[np.intp] | None = None) -> Slopes:
        """Return how each number moves with each row's values; the label's stand last."""
        geometry = self.geometry
        formed = geometry.outputs > 1 or geometry.scales is not None or geometry.curves is not None or batch.missing
        if formed or (self.errors is not None and self.errors.shifts is not None):
            return Formed(self.jacobian(batch, places))
        common, spread, reading = self._common
        rows = geometry.frame.rows(batch)
        margins, weight = rows.margins(geometry.position), rows.every_weight[:, None]
        found = derivatives(rows, geometry.loss, margins)
        pushed, curvature = rows.project(np.ascontiguousarray(geometry.response.T)), found.curvature[:, :, 0]
        by_margin, by_label = _Own(-curvature * pushed), _Own(-found.label_slope[:, :, 0] * pushed)
        dispersed = self._squares(rows, margins) if self._dispersions else None
        if dispersed is not None:
            share = weight / self._free
            by_margin = replace(by_margin, spread=share * dispersed.slope[:, :, 0])
            by_label = replace(by_label, spread=share * dispersed.label_slope[:, :, 0])
        weights = np.zeros((len(rows), 0))
        if self.errors is not None:
            by = self.errors.derivatives(rows, margins, places)
            by_margin = replace(by_margin, square=by.margins[:, :, 0])
            if by.labels.shape[2]:
                by_label = replace(by_label, square=by.labels[:, :, 0])
            weights = by.along[:, :, 0] if by.through is None else np.hstack([by.along[:, :, 0], by.through[:, :, 0]])
        if self._classes is not None:
            by_label = replace(by_label, counted=self._classes)
        values, labels = geometry.reading.shape[1], common.shape[1] - geometry.reading.shape[1]
        tau = self._reach.straight.T @ geometry.parameters[self._reach.features, 0]
        outer = [(self._followed(by_margin), np.pad(tau, (0, labels)))]
        if labels:
            outer.append((self._followed(by_label), np.eye(values + labels)[-1]))
        spans = tuple((p, np.broadcast_to(t, (len(rows), len(t)))) for p, t in outer)
        return Composed(found.slope[:, 0], common, weights, spread, reading, spans)

    def position_without(self, batch: Batch) -> Array:
        """Return where the others would have left the fit, whose rows are all but these: one step of Newton."""
        geometry = self.geometry
        own = newton_sums(batch, geometry.loss, geometry.position, geometry.frame)
        inverse, step = geometry.minimizer.inverse, np.zeros(geometry.position.size)
        # Parameters that are not fitted, such as slopes of a dispersion, have no variance and do not move.
        free = np.flatnonzero(inverse.diagonal())
        rest = np.linalg.inv(inverse[np.ix_(free, free)]) - own.hessian[np.ix_(free, free)]
        step[free] = np.linalg.solve(rest, own.gradient.T.ravel()[free])
        return np.asarray(geometry.position + step.reshape(geometry.outputs, -1).T)

    def leverage(self, batch: Batch) -> Array:
        """Return how much of its own fitted value each row is."""
        geometry = self.geometry
        rows = geometry.frame.rows(batch)
        found = derivatives(rows, geometry.loss, rows.margins(geometry.position))
        x, outputs = rows.augmented(), geometry.outputs
        inverse = geometry.minimizer.inverse.reshape(outputs, x.shape[1], outputs, x.shape[1])
        return np.asarray(np.einsum("ni,cidj,nj,ncd->n", x, inverse, x, found.curvature, optimize=True))

    def private(
        self, fit: Fit, attributes: Sequence[str] | None, label: str
    ) -> tuple[dict[str, NDArray[np.intp]], NDArray[np.intp]]:
        """Return which of the private values each attribute is, and which of all values the private ones are."""
        geometry, kept = self.geometry, list[int]()
        columns = fit.private_columns(None)
        wanted = columns if attributes is None else fit.private_columns(attributes)
        blocks: dict[str, NDArray[np.intp]] = {}
        for column, block in zip(columns, geometry.blocks, strict=True):
            if column in wanted:
                blocks[fit.table.names[column]] = np.arange(len(kept), len(kept) + len(block))
                kept += block.tolist()
        if not geometry.public_label:
            width, values = geometry.reading.shape[1], geometry.loss.label_values
            blocks[label] = np.arange(len(kept), len(kept) + values)
            kept += range(width, width + values)
        return blocks, np.array(kept, dtype=np.intp)

    @cached_property
    def _common(self) -> tuple[Array, Array, Array]:
        """How numbers move with values for a slope of one, and through a row's own part of v."""
        geometry, reach = self.geometry, self._reach
        labels = 0 if geometry.public_label else geometry.loss.label_values
        axes = geometry.frame.axes
        in_frame = np.eye(len(geometry.position))[reach.features] if axes is None else axes[reach.features]
        common = self._followed(_Own(-in_frame @ self.geometry.response.T)).T @ reach.straight
        vectors: list[Array] = []
        if self.errors is not None:
            vectors = [self.errors.along, self.errors.through] if self.covariance.is_robust else [self.errors.along]
        count, many = len(self.read), len(vectors)
        spread = np.zeros((len(common), many * count))
        reading = np.zeros((many * count, common.shape[1]))
        for i, each in enumerate(vectors):
            at = np.arange(count)
            spread[count + at, i * count + at] = 0.5 * self._factor * self._per_error
            reading[i * count + at] = each @ in_frame.T @ reach.straight
        return np.pad(common, ((0, 0), (0, labels))), spread, np.pad(reading, ((0, 0), (0, labels)))

    def _errors_moved(self, square: Array, spread: Array) -> Array:
        """Return how standard errors move with v and the dispersion, the coefficients last."""
        assert self.errors is not None
        moved = self._factor * square
        if self._dispersions and not self.covariance.is_robust:
            moved = moved + self.errors.values * spread.mean(axis=-1, keepdims=True)
        return np.asarray(moved * (0.5 * self._per_error))

    def jacobian(self, batch: Batch, places: NDArray[np.intp] | None = None) -> Array:
        """Return how each number moves with each row's values, shape (n, numbers, values)."""
        # The label's numbers stand last.
        theta = -self._scorer.jacobian(batch)
        n, _, values = theta.shape
        parts = [np.einsum("kp,npv->nkv", self.read, theta, optimize=True)]
        through = np.einsum("qp,npv->nqv", self._back, theta, optimize=True)
        rows = self.geometry.frame.rows(batch)
        margins, weight = rows.margins(self.geometry.position), rows.every_weight
        entries = self._reach.entries(batch.bent)
        slopes, width = self.geometry.parameters[self._reach.features], self.geometry.reading.shape[1]
        pulled, bent = self._sums.pulled / self._free, self._sums.bent
        spread = np.zeros((n, values, 1))
        dispersed = self._squares(rows, margins) if self._dispersions else None
        if dispersed is not None:
            direct = np.zeros((n, values, len(pulled)))
            by_feature = np.einsum("ndc,fc->nfd", dispersed.slope, slopes)
            direct[:, :width] = self._reach.each(by_feature, entries)
            if values > width:
                direct[:, width:] = dispersed.label_slope.swapaxes(1, 2)
            spread = weight[:, None, None] * direct / self._free + np.einsum("nqv,dq->nvd", through, pulled)
        if self.errors is not None:
            square = self._squares_moved(self.errors, self.errors.derivatives(rows, margins, places), entries, values)
            square += np.einsum("nqv,kq->nvk", through, bent, optimize=True)
            parts.append(self._errors_moved(square, spread).swapaxes(1, 2))
        if dispersed is not None:
            parts.append(spread.swapaxes(1, 2))
        if self._classes is not None:
            counted = np.zeros((n, self._classes.shape[1], values))
            if values > width:
                counted[:, :, width:] = self._classes.T
            parts.append(counted)
        return np.concatenate(parts, axis=1)

    def _squares_moved(self, errors: Errors, by: ErrorDerivatives, entries: Array | None, values: int) -> Array:
        """Return how each row's own part of v moves with its values, shape (n, values, coefficients)."""
        geometry, reach = self.geometry, self._reach
        axes, width = geometry.frame.axes, geometry.reading.shape[1]
        in_frame = np.eye(len(geometry.position))[reach.features] if axes is None else axes[reach.features]
        by_feature = np.einsum("nkc,fc->nfk", by.margins, geometry.parameters[reach.features], optimize=True)
        pairs = [(errors.along, by.along)]
        if by.through is not None:
            pairs.append((errors.through, by.through))
        for vectors, weights in pairs:
            unit = np.einsum("kcq,fq->fkc", vectors.reshape(len(self.read), geometry.outputs, -1), in_frame)
            by_feature += np.einsum("fkc,nkc->nfk", unit, weights, optimize=True)
        if by.rows is not None:
            by_feature += np.einsum("nkq,fq->nfk", by.rows, in_frame, optimize=True)
        found = np.zeros((len(by.margins), values, len(self.read)))
        found[:, :width] = reach.each(by_feature, entries)
        if values > width:
            found[:, width:] = by.labels.swapaxes(1, 2)
        return found


@dataclass(frozen=True, eq=False)
class PrintedSums:
    """What all rows add up to; in the frame where it is about parameters."""

    residual: Array
    """The sizes of the gradients by the margins, and of the part of them that is the outcome's own, shape (2,)."""
    square: Array
    """That of which the dispersions are means."""
    pulled: Array
    """How that moves with the parameters."""
    bent: Array
    """How v of each coefficient moves with the parameters."""
    counts: Array
    """How many people are in each class but the first."""
    filled: Array
    has: Array

    def __add__(self, other: "PrintedSums") -> "PrintedSums":
        return PrintedSums(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, eq=False)
class _Own:
    """What rows, or values, do directly."""

    theta: Array
    """To the parameters, shape (n, p)."""
    spread: Array | float = 0.0
    """To the dispersions, shape (n, dispersions)."""
    square: Array | float = 0.0
    """To v of each coefficient, shape (n, coefficients)."""
    counted: Array | float = 0.0
    """To the number of people in each class, shape (n, classes - 1)."""


def _every(fit: Fit) -> Batch:
    return cast(Batch, fit.rows.read(slice(0, fit.rows.count)))


def classes_of(batch: Batch, codes: Array) -> NDArray[np.intp]:
    """Return the class of each row."""
    return np.asarray(((batch.labels[:, None, :] - codes) ** 2).sum(axis=2).argmin(axis=1))


def in_columns(fit: Fit, features: Array) -> Array:
    """Return features that are made of one column in the units of that."""
    matrix, offset = fit.affine.matrix.tocsr(), fit.affine.offset
    one = np.diff(matrix.indptr) == 1
    factor = np.where(one, np.asarray(matrix.sum(axis=1)).ravel(), 1.0)
    return np.asarray((features - np.where(one & np.isfinite(offset), offset, 0.0)) / factor)


def raw_units(fit: Fit) -> Array | None:
    """Return the map to coefficients of the columns themselves, if features are one-to-one; None elsewhere."""
    matrix, size = fit.affine.matrix.toarray(), fit.problem.size
    features, columns = matrix.shape
    if fit.affine.curves or features != columns or np.isnan(fit.affine.offset).any():
        return None
    found = np.eye(size)
    if ((matrix != 0).sum(axis=0) == 1).all() and ((matrix != 0).sum(axis=1) == 1).all():
        found[np.arange(features), np.arange(features)] = matrix.sum(axis=1)
    elif np.linalg.matrix_rank(matrix) == columns:
        found[:features, :features] = matrix.T
    else:
        return None
    if fit.problem.intercept:
        found[-1, :features] = fit.affine.offset
    return found


def _names(fit: Fit, names: tuple[str, ...], units: Array | None) -> tuple[str, ...]:
    """Return the names of the coefficients: those of columns, or those that the steps give to their features."""
    columns = tuple(fit.table.names)
    if units is not None and np.count_nonzero(units[: len(columns), : len(columns)]) > len(columns):
        return (*columns, *names[len(columns) :])
    made = [i for i, name in enumerate(names) if name.startswith("feature ")]
    if made and fit.preprocess is not None:
        with suppress(AttributeError, ValueError):
            given = fit.preprocess.get_feature_names_out()
            return tuple(str(given[i]) if i in made else name for i, name in enumerate(names))
    return names
