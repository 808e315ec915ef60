"""The exact minimizer near a fitted model, and the distance between the two.

Distances are in units that no column's scale changes. A *standard error* is the uncertainty of a parameter given the
data: other rows, weights or another penalty move a model by a good part of one. A *shift* is the change of predictions
in units of the scatter of the labels around them (for a classifier, in log odds): a solver's tolerance must leave
little of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, block_diag, cho_factor, cho_solve, eigh, lapack

from seepage._tables import Array
from seepage.errors import MinimizerError
from seepage.linear.objective._losses import Loss, NewtonSums
from seepage.linear.rows import Frame, Labels

# How far a model may be from the minimizer, in standard errors of its own parameters, before we say that it was not
# fitted on this data. A closed-form fit is off by rounding alone; one row too many moves it by 1/sqrt(n).
_ALLOWED = {"direct": 1e-4, "iterative": 0.05, "stochastic": 0.5}
# With very many rows a standard error is less than a solver's tolerance. A model that kept its solver's promise is
# taken if its predictions are right to a tenth of the scatter and it is nearer than one of other rows would be.
_PROMISED = 0.5
_SHIFT = 0.1


Precision = Literal["direct", "iterative", "stochastic"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The objective that an estimator minimized, and the parameters it came to."""

    estimator: str
    loss: Loss
    parameters: Array
    """theta, shape (p, outputs), the intercept last."""
    penalty: Array
    """P, shape (p, outputs)."""
    absolute: Array
    """L, the factor on the absolute value of each coefficient, shape (p, outputs); zero for most models."""
    intercept: bool
    labels: Labels
    basis: Array
    """What is published is parameters @ basis.T, shape (published outputs, outputs); it need not be orthonormal."""
    class_weight: Array | None = None
    """A factor for each class on the weight of its rows."""
    precision: Precision = "iterative"
    gradient_promise: float = 0.0
    """The largest entry of the mean gradient that the solver's tolerance admits; 0 when it promises none."""
    residual_promise: float = 0.0
    """The relative residual of least squares that the solver's tolerance admits; 0 when it promises none."""
    hint: str | None = None
    """What this estimator is known to do instead of minimizing, and the way out."""
    free: NDArray[np.bool_] | None = None
    """Which parameters are fitted, shape (p, outputs), if some are zero by what the model is."""
    beside: tuple[str, ...] = ()
    """What parameters beside the coefficients are called, one an output after the first."""
    intercept_in_norm: bool = True
    """Whether the intercept is a part of the norm that is least, where many parameters fit equally well."""

    @property
    def size(self) -> int:
        """The number of coefficients of one output, with its intercept."""
        return int(self.parameters.shape[0])

    @property
    def selects(self) -> bool:
        """Whether the penalty keeps coefficients at zero, so that the minimizer has kinks."""
        return bool(self.absolute.any())


@dataclass(frozen=True)
class Promise:
    """What solvers promise of the parameters that they return."""

    gradient: float
    """The largest entry of the mean gradient."""
    residual: float
    """The gradient of a least-squares problem, next to what an iterative solver measures it by."""

    @classmethod
    def kept(cls, gradient: Array, hessian: Array, position: Array, sums: NewtonSums, intercept: bool) -> "Promise":
        """Return what was kept at a position, where the objective has this gradient and Hessian."""
        q, outputs = gradient.shape
        largest = 0.0
        for c in range(outputs):
            block = hessian[c * q : (c + 1) * q, c * q : (c + 1) * q]
            here, start = gradient[:, c], gradient[:, c] - block @ position[:, c]
            if intercept and block[-1, -1] > 0:
                # These solvers center the columns, which takes the intercept out.
                share = block[:-1, -1] / block[-1, -1]
                here, start = here[:-1] - share * here[-1], start[:-1] - share * start[-1]
            unit = max(np.linalg.norm(start), np.sqrt(max(block.trace(), 0.0) * sums.slope_squares))
            largest = max(largest, float(np.linalg.norm(here) / unit) if unit > 0 else 0.0)
        return cls(float(np.abs(gradient).max()) / sums.weight, largest)


@dataclass(frozen=True)
class Departure:
    """How far a model is from the minimizer."""

    distance: float
    """In standard errors (eq. 4.2)."""
    shift: float
    """Of its predictions, in units of the scatter of the labels (eq. 4.6)."""

    @classmethod
    def of(cls, decrement: float, size: float, parameters: int, sums: NewtonSums) -> "Departure":
        """Return the departure with this Newton decrement; `size` is theta^T H theta, whose rounding is no distance."""
        noise = sums.slope_squares / sums.curvature * parameters if sums.curvature > 0 else 0.0
        return cls(
            _over(decrement, np.sqrt(noise + 1e-12 * size)), _over(decrement, np.sqrt(sums.slope_squares + 1e-8 * size))
        )


def _over(decrement: float, unit: float) -> float:
    if unit > 0:
        return float(decrement / unit)
    return 0.0 if decrement == 0 else np.inf


def check_fit(problem: Problem, departure: Departure, promise: Promise) -> None:
    """Refuse a model that is further from the minimizer than its solver explains."""
    allowed = _ALLOWED[problem.precision]
    if departure.distance <= allowed:
        return
    kept = promise.gradient <= 2 * problem.gradient_promise or promise.residual <= 2 * problem.residual_promise
    if kept and departure.distance <= _PROMISED and departure.shift <= _SHIFT:
        return
    way_out = problem.hint or "fit again with a smaller tol and a larger max_iter"
    if kept:
        way_out = (
            "its tolerance is reached early where columns are small: scale them (StandardScaler), or fit again with a "
            "smaller tol"
        )
    raise MinimizerError(
        f"This {problem.estimator} is not the minimizer of its objective on this data: its parameters are "
        f"{departure.distance:.3g} standard errors away (allowed: {allowed:g}). Either it was fitted on other rows, "
        "with other weights or another penalty (pass X, y and sample_weight exactly as in fit), or it already carries "
        f"noise, or its solver stopped early: {way_out}.",
        departure.distance,
    )


Place = TypeVar("Place")

_MOST_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class UnitFactor:
    """The Cholesky factor of a matrix whose diagonal is scaled to one."""

    unit: Array
    """The scaled matrix, without a shift."""
    scale: Array
    lower: Array

    @classmethod
    def of(cls, matrix: Array, shift: float = 0.0) -> "UnitFactor":
        """Return the factor of a matrix, with a shift of the scaled one; LinAlgError where that is not positive."""
        unit, scale = in_units(matrix)
        return cls(unit, scale, cho_factor(unit + shift * np.eye(len(unit)) if shift else unit, lower=True)[0])

    def solve(self, right: Array) -> Array:
        """Return what the matrix makes the right side of."""
        return np.asarray(self.scale * cho_solve((self.lower, True), self.scale * right))

    def inverse(self) -> Array:
        """Return the inverse of the matrix, symmetric to the last digit."""
        found = self.scale[:, None] * cho_solve((self.lower, True), np.diag(self.scale))
        return np.asarray(0.5 * (found + found.T))


def in_units(matrix: Array, diagonal: Array | None = None) -> tuple[Array, Array]:
    """Return a matrix in units of a diagonal, its own unless another is given, and the scale; zeros stay zero."""
    size = matrix.diagonal() if diagonal is None else diagonal
    scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
    return np.asarray(matrix * scale[:, None] * scale), scale


def descended(
    at: Callable[[Array], tuple[float, Place]], start: Array, target: Array, highest: float, slope: float = 0.0
) -> tuple[Array, Place] | None:
    """Return where a step toward a target, halved as often as it takes, is low enough; None if it is nowhere.

    Parameters
    ----------
    at : callable
        Returns the objective somewhere, and whatever else the caller wants to keep of that place.
    start, target : ndarray
        A whole step ends at the target to the last digit.
    highest : float
        What is low enough beside the start.
    slope : float, default=0.0
        How much lower it must be after a whole step, below zero; after a share of it, by that share.
    """
    share, there = 1.0, target
    for _ in range(_MOST_HALVINGS):
        value, place = at(there)
        if value <= highest + share * slope:
            return there, place
        # The step overshot, or left where the objective is defined.
        share *= 0.5
        there = start + share * (target - start)
    return None


@dataclass(frozen=True, eq=False)
class Point:
    """The objective (eq. 2.1) with its two derivatives at a position."""

    sums: NewtonSums
    """Its part that is of rows."""
    value: float
    gradient: Array
    """Shape (q, outputs)."""
    hessian: Array
    """Shape (outputs * q, outputs * q), output by output."""

    @classmethod
    def of(
        cls,
        sums: NewtonSums,
        position: Array,
        penalty: Array,
        *,
        axes: Array | None = None,
        push: Array | float = 0.0,
        free: NDArray[np.bool_] | None = None,
    ) -> "Point":
        """Add a penalty to sums over rows.

        Parameters
        ----------
        sums : NewtonSums
        position : ndarray of shape (q, outputs)
        penalty : ndarray of shape (p, outputs)
            P, the factor on half of each square.
        axes : ndarray of shape (p, q), optional
            Those of the frame that the position is in.
        push : ndarray of shape (p, outputs), optional
            What penalties on absolute values add to the gradient while no sign changes.
        free : ndarray of bool, shape (p, outputs), optional
            Which parameters move, in a frame without axes, if not all do.
        """
        plain = position if axes is None else axes @ position
        value = sums.value + float(((0.5 * penalty * plain + push) * plain).sum())
        pull = penalty * plain + push
        gradient = sums.gradient + (pull if axes is None else axes.T @ pull)
        return cls(sums, value, *held_still(gradient, sums.hessian + penalty_hessian(penalty, axes), free))


def penalty_hessian(penalty: Array, axes: Array | None) -> Array:
    """Return what a penalty of shape (p, outputs) adds to the Hessian in a frame of some axes."""
    if axes is None:
        return np.diag(penalty.T.ravel())
    return np.asarray(block_diag(*(axes.T @ (column[:, None] * axes) for column in penalty.T)))


def held_still(gradient: Array, hessian: Array, free: NDArray[np.bool_] | None) -> tuple[Array, Array]:
    """Return a gradient of shape (p, outputs) and a Hessian by which no parameter moves that is not free."""
    if free is None:
        return gradient, hessian
    flat = free.T.ravel()
    return np.where(free, gradient, 0.0), np.where(np.outer(flat, flat), hessian, np.diag(~flat))


Evaluate = Callable[[Array, Frame], NewtonSums]

_MOST_STEPS = 60
_SETTLED = 1e-11
# Newton's steps shrink by squares until rounding stops them; from here on a step that does not shrink is rounding.
_NEAR = 1e-6
# Sums of products lose as many digits as the Hessian's condition has: up to here they are not missed.
_WELL_CONDITIONED = 1e-7
_MOST_FRAMES = 4
# An eigenvalue below this share of the largest is rounding: its direction is looked at again, in a frame of its own.
_UNCLEAR = 1e-14
# A combination of columns, next to the columns themselves: below this it is nothing but their rounding.
_NOTHING = 1e-13
# Along so many axes of the features outputs are held against each other.
_AXES = 64
# What rounding may leave of the numbers, relatively, before it is stated, and before nothing is said at all.
STATED = 1e-8
_REFUSED = 1e-3
_REFUSED_SINGLE = 0.1
# Of many people, the one with the most rounding: a few times what one product leaves.
A_FEW_TIMES = 32.0


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Which coefficients a penalty on absolute values leaves free, of a model with one output (eq. 2.25)."""

    indices: NDArray[np.intp]
    """The active ones: those that are not zero, and those without such a penalty."""
    signs: Array
    """Shape (p,); zero where the penalty is, or the coefficient."""
    absolute: Array
    """L, shape (p,)."""
    gradient: Array
    """Of all that is smooth, at the minimizer, shape (p,); -L times the sign on the active set."""
    hessian: Array
    """Of all that is smooth, over all parameters, shape (p, p)."""
    differing: int
    """How many coefficients of the given model are zero and should not be, or the other way round."""

    @cached_property
    def inactive(self) -> NDArray[np.intp]:
        """The coefficients that are kept at zero."""
        return np.setdiff1d(np.arange(len(self.signs)), self.indices)


@dataclass(frozen=True, eq=False)
class Minimizer:
    """The parameters at which the gradient vanishes, and the curvature there."""

    frame: Frame
    """The coordinates in which it was found."""
    position: Array
    """The minimizer in that frame, shape (q, outputs)."""
    inverse: Array
    """The inverse of the Hessian in that frame, shape (outputs * q, outputs * q), output by output."""
    distance: float
    """How far the given parameters were, in standard errors (eq. 4.2)."""
    steps: int
    condition: float
    """Of the Hessian, its diagonal scaled to one."""
    rounding: float
    """The relative error that float64 leaves in what is computed from this."""
    scatter: float
    """How large slopes are next to the margins and labels whose differences they are; 1 for slopes that are none."""
    undecided: Array
    """Directions in which the objective is constant, shape (p, r); the minimizer of least norm has no part in them."""
    units: Array
    """The size of each column, in the root of its curvature, shape (p,)."""
    names: tuple[str, ...]
    """What the parameters of one output are called."""
    estimator: str
    faded: bool
    """Whether some rows hardly pull at it, as those do whose margins go to infinity."""
    free: NDArray[np.bool_] | None = None
    """Which parameters are fitted, shape (p, outputs), if not all; the inverse is zero at the others."""
    beside: tuple[str, ...] = ()
    """What those beside the coefficients are called."""
    active: ActiveSet | None = None
    """Which coefficients are not kept at zero, if a penalty keeps some there; the frame has their columns alone."""

    def not_unique(self, direction: Array) -> MinimizerError:
        """Return the error that names the columns of an undecided direction."""
        return not_unique(self.units * direction, self.names, self.estimator)

    @cached_property
    def unevenness(self) -> float:
        """The condition that is left of the Hessian along axes of the features, if its outputs are not apart."""
        q, outputs = self.position.shape
        blocks = self.inverse.reshape(outputs, q, outputs, q)
        if outputs == 1 or self.free is not None or not blocks[0, :, 1].any():
            return 1.0
        values, vectors = eigh(np.einsum("cicj->ij", blocks) / outputs)
        # What a penalty alone holds is where the inverse is largest; all axes of many columns would take minutes.
        half = (vectors / np.sqrt(np.maximum(values, 1e-300)))[:, -_AXES:]
        turned = half.T @ (blocks @ half).transpose(0, 2, 1, 3).reshape(outputs * outputs, q, -1)
        whole = turned.reshape(outputs, outputs, -1, turned.shape[2]).transpose(0, 2, 1, 3)
        left = eigh(whole.reshape(outputs * len(half.T), -1), eigvals_only=True)
        return float(left[-1] / max(left[0], 1e-300))

    @cached_property
    def parameters(self) -> Array:
        """The published parameters, shape (p, outputs)."""
        return self.frame.parameters(self.position)

    @cached_property
    def hessian_inverse(self) -> Array:
        """H^-1 of the published parameters, shape (outputs * p, outputs * p), output by output."""
        if self.frame.center is None and self.frame.axes is None:
            return self.inverse
        q, outputs = self.position.shape
        matrix = self.frame.matrix(len(self.names))
        blocks = self.inverse.reshape(outputs, q, outputs, q)
        turned = np.einsum("iq,cqds,js->cidj", matrix, blocks, matrix, optimize=True)
        size = outputs * len(self.names)
        return np.asarray(turned).reshape(size, size)


@dataclass(frozen=True, eq=False)
class _Factor:
    """The factor of a Hessian (with a shift, where it is not positive definite), and how much is lost with it."""

    factor: UnitFactor
    reciprocal_condition: float
    shifted: bool

    @classmethod
    def of(cls, hessian: Array) -> "_Factor | None":
        """Return the factor, or None where an entry of the diagonal is zero."""
        diagonal, bends_down = hessian.diagonal(), False
        if (diagonal < 0).any():
            # Where a loss that is not convex bends down, a step goes down all the same.
            values, vectors = eigh(hessian)
            size = np.maximum(np.abs(values), 1e-12 * np.abs(values).max())
            hessian, bends_down = (vectors * size) @ vectors.T, True
            diagonal = hessian.diagonal()
        if not (diagonal > 0).all():
            return None
        unit = _finite(in_units(hessian)[0])
        shift = 0.0
        while True:
            try:
                factor = UnitFactor.of(hessian, shift)
            except LinAlgError:
                # Enough to be positive definite: a loss that is not convex bends down on the way.
                shift = max(1.5 * -float(eigh(unit, subset_by_index=[0, 0], eigvals_only=True)[0]), 1e-12, 10 * shift)
                continue
            condition, _ = lapack.dpocon(factor.lower, np.abs(unit).sum(axis=0).max(), uplo="L")
            return cls(factor, 0.0 if shift else float(condition), bends_down or shift > 1e-6)


class _Objective:
    """The objective (eq. 2.1) in a frame that changes when sums over the rows would lose their digits in it."""

    def __init__(self, problem: Problem, evaluate: Evaluate, frame: Frame, names: tuple[str, ...]) -> None:
        self.problem, self.evaluate, self.frame, self.names = problem, evaluate, frame, names
        self.undecided = np.empty((problem.size, 0))
        self.position = frame.position(problem.parameters)
        self.frames = 0
        self.units = np.ones(problem.size)
        """The root of the Hessian's diagonal for the columns as they are."""
        self.push = problem.absolute * np.sign(problem.parameters)
        """What penalties on absolute values add to the gradient while no sign changes."""

    def at(self, position: Array) -> Point:
        problem, sums = self.problem, self.evaluate(position, self.frame)
        return Point.of(sums, position, problem.penalty, axes=self.frame.axes, push=self.push, free=problem.free)

    def settle(self, point: Point) -> tuple[Point, _Factor]:
        """Return the point and its factor, in axes in which the Hessian is well conditioned."""
        while True:
            factor = _Factor.of(point.hessian)
            good = factor is not None and (factor.shifted or factor.reciprocal_condition >= _WELL_CONDITIONED)
            if good or self.frames == _MOST_FRAMES:
                break
            if self.problem.free is not None:
                raise MinimizerError(
                    f"The columns of this {self.problem.estimator} are nearly collinear or have very different scales, "
                    "and so its coefficients and what is fitted beside them, such as alpha, lose too many digits "
                    "together. Scale or drop columns, or fit with a known alpha."
                )
            self.frames += 1
            point = self._turn(point)
        if factor is None:
            flat = np.flatnonzero(~(point.hessian.diagonal() > 0)) % len(self.position)
            axes = np.eye(self.problem.size) if self.frame.axes is None else self.frame.axes
            raise self.not_unique(axes[:, flat[0]])
        return point, factor

    def _turn(self, point: Point) -> Point:
        """Take the axes of the Hessian, the mean over outputs, as the new ones, each scaled to have unit curvature."""
        q, outputs = point.gradient.shape
        mean = np.einsum("cicj->ij", point.hessian.reshape(outputs, q, outputs, q)) / outputs
        diagonal = np.maximum(mean.diagonal(), 0.0)
        if not diagonal.any():
            raise self.not_unique(np.ones(self.problem.size))
        if self.frame.axes is None:
            self.units = np.sqrt(diagonal)
        scale = 1.0 / np.sqrt(np.maximum(diagonal, _UNCLEAR * diagonal.max() + 1e-300))
        values, vectors = eigh(_finite(mean * scale[:, None] * scale))
        root = np.sqrt(np.maximum(values, _UNCLEAR * values[-1]))
        self.frame = self.frame.along(scale[:, None] * vectors / root)
        self.position = root[:, None] * (vectors.T @ (self.position / scale[:, None]))
        turned = self.at(self.position)
        check_sums(turned.sums)
        # A direction that was unclear has now been looked at by itself: what is nothing, is nothing.
        mean = np.einsum("cicj->ij", turned.hessian.reshape(outputs, q, outputs, q)) / outputs
        axes = self.frame.axes
        assert axes is not None
        columns = ((self.units[:, None] * axes) ** 2).sum(axis=0)
        nothing = np.maximum(mean.diagonal(), 0.0) <= _NOTHING**2 * columns
        if nothing.all():
            raise self.not_unique(np.ones(self.problem.size))
        return self._without(nothing) if nothing.any() else turned

    def _without(self, nothing: NDArray[np.bool_]) -> Point:
        """Leave out the directions in which the objective is constant: of all minimizers, the one of least norm."""
        axes = self.frame.axes
        assert axes is not None
        matrix = self.frame.matrix(self.problem.size)
        null = matrix[:, nothing]
        counted = np.ones(self.problem.size)
        if self.problem.intercept and not self.problem.intercept_in_norm:
            counted[-1] = 0.0
        size = np.linalg.norm(counted[:, None] * null, axis=0)
        null, lost = null / size, axes[:, nothing] / size
        weighted = counted[:, None] * null
        share = np.linalg.solve(null.T @ weighted, weighted.T @ matrix[:, ~nothing])
        self.undecided = null
        self.frame = Frame(self.frame.center, axes[:, ~nothing] - lost @ share)
        self.position = self.position[~nothing]
        return self.at(self.position)

    def weakest(self, inverse: Array) -> Array:
        """Return the direction that is least decided, in units of the columns."""
        q, outputs = self.position.shape
        mean = np.einsum("cicj->ij", inverse.reshape(outputs, q, outputs, q))
        found = eigh(mean, subset_by_index=[q - 1, q - 1])[1][:, 0]
        return np.asarray(self.units * (found if self.frame.axes is None else self.frame.axes @ found))

    def not_unique(self, direction: Array) -> MinimizerError:
        return not_unique(direction, self.names, self.problem.estimator)


def minimize(
    problem: Problem,
    evaluate: Evaluate,
    names: tuple[str, ...],
    frame: Frame,
    *,
    start_is_fit: bool = True,
    precision: type[np.float32] | type[np.float64] = np.float64,
) -> Minimizer:
    """Take Newton steps (eq. 4.1) from the given parameters to the exact minimizer.

    Coefficients with a penalty on their absolute value are taken to keep their signs.

    Parameters
    ----------
    problem : Problem
        The objective, and where to start.
    evaluate : callable
        Returns the sums over all rows at a position in a frame.
    names : tuple of str
        What the parameters of one output are called, for messages.
    frame : Frame
        Where to look at the rows from.
    start_is_fit : bool, default=True
        Whether the start claims to be the minimizer already, so that being far from it is an error.
    precision : type, default=np.float64
        In which the features were computed.
    """
    objective = _Objective(problem, evaluate, frame, names)
    point = objective.at(objective.position)
    check_sums(point.sums)
    gradient = point.gradient.copy()
    if frame.center is not None:
        gradient[:-1] += np.outer(frame.center, gradient[-1])
    kept = Promise.kept(point.gradient, point.hessian, objective.position, point.sums, problem.intercept)
    promise = replace(kept, gradient=float(np.abs(gradient).max()) / point.sums.weight)
    point, factor = objective.settle(point)
    if start_is_fit and objective.undecided.size:
        _check_least_norm(objective)
    departure: Departure | None = None
    began = point.hessian.diagonal()
    previous = np.inf
    for steps in range(1, _MOST_STEPS + 1):
        position = objective.position
        step = -factor.factor.solve(point.gradient.T.ravel()).reshape(position.T.shape).T
        decrement = np.sqrt(max(-float((step * point.gradient).sum()), 0.0))
        size = max(float(position.T.ravel() @ point.hessian @ position.T.ravel()), 0.0)
        if departure is None:
            departure = Departure.of(decrement, size, position.size, point.sums)
        noise = point.sums.slope_squares / point.sums.curvature * position.size if point.sums.curvature > 0 else 0.0
        whole = np.sqrt(size + noise)
        # Toward infinity the curvature fades and with it the decrement; a step measured where it began does not.
        stride = float(np.sqrt(np.abs(began) @ step.T.ravel() ** 2))
        settled = decrement <= _SETTLED * whole and stride <= 1e3 * _SETTLED * whole
        # Rounding: steps are small, and no longer get smaller.
        stuck = decrement <= _NEAR * whole and stride <= 1e3 * _NEAR * whole and decrement >= 0.3 * previous
        if not factor.shifted and (problem.loss.quadratic or settled or stuck):
            objective.position = position + step
            if start_is_fit:
                check_fit(problem, departure, promise)
            scatter = 1.0
            if problem.loss.quadratic:
                scatter = float(np.sqrt(point.sums.slope_squares / max(point.sums.slope_squares + size, 1e-300)))
            faded = bool(point.sums.faded)
            return _found(objective, factor, departure.distance, scatter, steps, precision, faded=faded)
        previous = decrement
        moved = _descend(objective, point, step)
        if moved is None:
            break
        check_sums(moved.sums)
        axes = objective.frame.axes
        point, factor = objective.settle(moved)
        if objective.frame.axes is not axes:
            began, previous = point.hessian.diagonal(), np.inf
    raise MinimizerError(
        f"Newton's method found no minimizer of this {problem.estimator}'s objective on this data within {_MOST_STEPS} "
        "steps. Most often the loss has no finite minimizer (the classes are separable in some direction, or a rare "
        "level has only zeros): add a penalty and fit again."
    )


def _descend(objective: _Objective, point: Point, step: Array) -> Point | None:
    """Take as much of a step as lowers the objective, or return None."""

    def at(position: Array) -> tuple[float, Point]:
        moved = objective.at(position)
        return moved.value, moved

    start = objective.position
    found = descended(at, start, start + step, point.value + 1e-9 * abs(point.value) + 1e-300)
    if found is None:
        return None
    objective.position, moved = found
    return moved


def _found(
    objective: _Objective,
    factor: _Factor,
    distance: float,
    scatter: float,
    steps: int,
    precision: type[np.float32] | type[np.float64],
    *,
    faded: bool,
) -> Minimizer:
    inverse, axes, outputs = factor.factor.inverse(), objective.frame.axes, objective.position.shape[1]
    free = objective.problem.free
    if free is not None:
        inverse = inverse * np.outer(free.T.ravel(), free.T.ravel())
    condition, size = 1.0 / max(factor.reciprocal_condition, 1e-300), len(objective.position)
    rounding = condition * float(np.finfo(np.float64).eps)
    if axes is not None:
        # The largest variance, in units of the columns.
        scaled = objective.units[:, None] * axes
        blocks = (inverse[c * size : (c + 1) * size, c * size : (c + 1) * size] for c in range(outputs))
        condition = max(float(np.linalg.norm(scaled @ block @ scaled.T, 2)) for block in blocks)
    single = precision is not np.float64
    if axes is not None or single:
        # Rows lose the digits of their own condition only, its root.
        rounding = max(rounding, A_FEW_TIMES * float(np.finfo(precision).eps) * np.sqrt(size * condition))
    if rounding > (_REFUSED_SINGLE if single else _REFUSED):
        raise objective.not_unique(objective.weakest(inverse))
    return Minimizer(
        frame=objective.frame,
        position=objective.position,
        inverse=inverse,
        distance=distance,
        steps=steps,
        condition=condition,
        rounding=rounding,
        scatter=scatter,
        undecided=objective.undecided,
        units=objective.units,
        names=objective.names,
        estimator=objective.problem.estimator,
        free=free,
        beside=objective.problem.beside,
        faded=faded,
    )


def _check_least_norm(objective: _Objective) -> None:
    """Refuse parameters that are one of many minimizers and not the one of least norm."""
    given, null = objective.problem.parameters, objective.undecided
    counted = given.copy()
    if objective.problem.intercept and not objective.problem.intercept_in_norm:
        counted[-1] = 0.0
    if np.abs(null.T @ counted).max() > 1e-5 * np.linalg.norm(counted):
        raise objective.not_unique(objective.units * np.abs(null).max(axis=1))


def check_sums(sums: NewtonSums) -> None:
    """Refuse sums over rows from which no minimizer can be found."""
    if sums.weight <= 0:
        raise MinimizerError("All sample weights are zero: no row was used, so there is nothing to measure.")
    if not (np.isfinite(sums.gradient).all() and np.isfinite(sums.hessian).all()):
        raise _overflow()


def _finite(matrix: Array) -> Array:
    if not np.isfinite(matrix).all():
        raise _overflow()
    return matrix


def _overflow() -> MinimizerError:
    return MinimizerError(
        "The sums over the rows overflow float64 at the model's parameters: the values of X, y or the coefficients are "
        "too large for this loss. Rescale the columns and fit again."
    )


def not_unique(direction: Array, names: tuple[str, ...], estimator: str) -> MinimizerError:
    """Return an error that names the columns that make up a direction in which nothing is decided."""
    size = np.abs(direction) / max(float(np.linalg.norm(direction)), 1e-300)
    guilty = [names[i] for i in np.argsort(-size) if size[i] > 0.1]
    listed = ", ".join(repr(column) for column in list(dict.fromkeys(guilty))[:6])
    return MinimizerError(
        f"The minimizer of this {estimator}'s objective is not unique: the features {listed} are exactly or nearly "
        "collinear (or constant), and no penalty decides between their coefficients. Drop one of them (a one-hot "
        "encoder with an intercept needs drop='first'), or fit with a penalty."
    )
