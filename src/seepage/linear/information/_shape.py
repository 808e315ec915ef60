"""A covariance that is made from the Hessian, and how it moves when the Hessian does.

In coordinates in which the Hessian is the identity and B is diagonal, B = diag(lambda^2), the covariance of eq. 2.18 is
Sigma = s^2 diag(lambda). A change dH of the Hessian changes it, in units of itself, by (eq. 2.19)

    E = Sigma^(-1/2) dSigma Sigma^(-1/2) = M o dH - sum_j F_j <G_j, dH>,

o being the product of entries, with

    M_ab = ((kappa + l_a l_b) / (l_a + l_b) - l_a - l_b) / sqrt(l_a l_b),     l = lambda,
    G_j  = T_j T_j^T,     F_j = (balance c_j / h_j G_j + (1 + balance) share / p c_j Id) o W,
    W_ab = 1 / ((l_a + l_b) sqrt(l_a l_b)).

Noise in standard errors has the covariance  Sigma = s^2 H^-1 S H^-1  of the sandwich, S being the sum of the rows'
squared gradients. Where H is the identity and S = diag(lambda),

    E = (dS - (l_a + l_b) dH) / sqrt(l_a l_b)     (eq. 2.26).

Standard errors are read off the same matrix: the logarithm of the variance of a . theta moves by  u . E u,  with
u = diag(lambda)^(1/2) a  at length one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh

from seepage._facts import Assumption, given
from seepage._noise import GaussianNoise
from seepage._shapes import Balanced, PerUnit, RobustCovariance, Shape
from seepage.errors import InputError, UnansweredError, UnsupportedError
from seepage.linear.columns import Curves, Features, feature_names
from seepage.linear.information._preprocessing import columns_of, lacking
from seepage.linear.information._scales import Scales
from seepage.linear.objective import Derivatives, Loss, Minimizer, Problem, derivatives
from seepage.linear.rows import Batch, Frame, RowData

Array = NDArray[np.float64]

# E has about half as many entries as the square of this, for each person.
MOST_PARAMETERS = 40
# Numbers in the largest temporary.
_MOST_NUMBERS = 2**22
# A scatter of gradients, beside the largest, that is none but for rounding.
_NO_SCATTER = 1e-12


class Weighed(NamedTuple):
    """The weight c of each row in a sum of  c x x^T,  and how it moves with the row's margin and label."""

    value: Array
    """Shape (n,)."""
    slope: Array | None
    """None where it does not move."""
    label_slope: Array | None
    """Shape (n, label values), likewise."""


Weighing = Callable[[Batch, Loss, Array, Derivatives], Weighed]
"""Of rows, their loss, margins and derivatives, which have the rows' own weights in them."""


def by_curvature(rows: Batch, loss: Loss, margins: Array, found: Derivatives) -> Weighed:
    """Return the weights that make the Hessian."""
    if loss.quadratic:
        return Weighed(found.curvature[:, 0, 0], None, None)
    weight = 1.0 if rows.weights is None else rows.weights[:, None]
    third = loss.bend(margins, rows.labels, np.ones(1))[:, 0] * weight
    return Weighed(found.curvature[:, 0, 0], third[:, 0], loss.label_bend(margins, rows.labels)[:, 0, 0] * weight)


def by_squared_slope(rows: Batch, loss: Loss, margins: Array, found: Derivatives) -> Weighed:
    """Return the weights that make the sum of squared gradients."""
    slope = found.slope[:, 0]
    return Weighed(slope**2, 2.0 * slope * found.curvature[:, 0, 0], 2.0 * slope[:, None] * found.label_slope[:, 0])


@dataclass(frozen=True, eq=False)
class MovingSum:
    """How a sum of  c x x^T  over all rows moves with the fit, and with what was filled into cells."""

    weighing: Weighing
    third: Array | None
    """Sum of  c' x (x) x (x) x, shape (q, q, q); None where nothing moves."""
    filled: Array
    """How the sum moves with the mean that an imputer filled in, a unit of each of its features, (filled, q, q)."""

    def turned(self, turn: Array) -> "MovingSum":
        """Return the same in other coordinates."""
        third = self.third
        if third is not None:
            third = np.asarray(np.einsum("abc,ai,bj,ck->ijk", third, turn, turn, turn, optimize=True))
        return replace(self, third=third, filled=turn.T @ self.filled @ turn)


@dataclass(frozen=True, eq=False)
class PrintedErrors:
    """Standard errors that are published beside the coefficients, each variance with a relative noise of its own."""

    readings: Array
    """u of each coefficient, as rows of length one, shape (coefficients, q)."""
    noise: float
    """The deviation of the noise on the logarithm of each variance."""

    def moved(self, entries: Array, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]) -> Array:
        """Return how the variances' logarithms move, in units of their noise, for entries of E, (..., pairs)."""
        a, b = pairs
        products = self.readings[:, a] * self.readings[:, b] * np.where(a == b, 1.0, 2.0)
        return np.asarray(entries @ products.T / self.noise)


@dataclass(frozen=True, eq=False)
class MovingShape:
    """How the covariance moves with the Hessian, and the Hessian with the fit."""

    axes: Array
    """From rows in the frame to coordinates in which H is the identity and B is diagonal, shape (q, q)."""
    roots: Array
    """lambda, shape (q,)."""
    factors: Array
    """M, shape (q, q)."""
    columns: Array
    """The T of all attributes that the shape is made for, side by side, shape (q, coordinates)."""
    starts: NDArray[np.intp]
    """The first coordinate of each attribute."""
    own: Array
    """balance c_j / h_j of each attribute."""
    shared: Array
    """(1 + balance) share / p c_j of each attribute."""
    sums: tuple[MovingSum, ...]
    """The Hessian, and the sum of squared gradients if the shape is made of that too."""
    outputs: int
    """How many outputs have a noise of this shape each."""
    errors: PrintedErrors | None = None
    """The standard errors that are published, if they are."""

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The entries of a symmetric matrix, each once."""
        return np.triu_indices(len(self.roots))

    @cached_property
    def spread(self) -> Array:
        """W, shape (q, q)."""
        return np.asarray(1.0 / ((self.roots[:, None] + self.roots) * np.sqrt(np.outer(self.roots, self.roots))))

    @cached_property
    def _answers(self) -> tuple[Array, Array]:
        """G_j, for a sum over pairs, and F_j, each of shape (attributes, pairs)."""
        a, b = self.pairs
        each = self.columns[a] * self.columns[b]
        grams = np.add.reduceat(each, self.starts, axis=1).T if len(self.starts) else np.empty((0, len(a)))
        answers = self.own[:, None] * grams + self.shared[:, None] * (a == b)
        return grams * np.where(a == b, 1.0, 2.0), answers * self.spread[a, b]

    @property
    def moves(self) -> int:
        """How many numbers say how the shape moves, and what is read off it."""
        return len(self.pairs[0]) + (0 if self.errors is None else len(self.errors.readings))

    def moved(self, *changes: Array) -> Array:
        """Return how the shape moves when its sums do: the squares add up to the information.

        Parameters
        ----------
        *changes : ndarray of shape (..., pairs)
            The entries of dH, and of dS if the shape is made of that too.

        Returns
        -------
        ndarray of shape (..., moves)
            E / sqrt(2), then standard errors in units of their noise.
        """
        a, b = self.pairs
        grams, answers = self._answers
        # 1/2 tr E^2 counts entries beside the diagonal twice.
        weights = np.sqrt(self.outputs) * np.where(a == b, np.sqrt(0.5), 1.0)
        found = changes[0] * self.factors[a, b]
        if len(answers):
            found -= (changes[0] @ grams.T) @ answers
        if len(changes) > 1:
            found += changes[1] / np.sqrt(self.roots[a] * self.roots[b])
        if self.errors is None:
            return np.asarray(found * weights)
        return np.concatenate([found * weights, self.errors.moved(found, self.pairs)], axis=-1)


@dataclass(frozen=True, eq=False)
class WeighedRows:
    """Sums over rows of  c x x^T, and their derivatives; holds no rows, so that it can travel."""

    loss: Loss
    frame: Frame
    position: Array
    axes: Array
    weighing: Weighing

    def _seen(self, batch: Batch) -> tuple[Array, Weighed]:
        rows = self.frame.rows(batch)
        margins = rows.margins(self.position)
        return rows.project(self.axes), self.weighing(rows, self.loss, margins, derivatives(rows, self.loss, margins))

    def squares(self, batch: Batch) -> Array:
        """Return the sum of  c x x^T."""
        x, weighed = self._seen(batch)
        return np.asarray((x.T * weighed.value) @ x)

    def third(self, batch: Batch) -> Array:
        """Return the sum of  c' x (x) x (x) x."""
        x, (_, bent, _) = self._seen(batch)
        assert bent is not None
        q = self.axes.shape[1]
        total = np.zeros((q, q * q))
        step = max(_MOST_NUMBERS // q**2, 1)
        for start in range(0, len(x), step):
            some = x[start : start + step]
            squares = (some[:, :, None] * some[:, None, :]).reshape(len(some), -1)
            total += (some * bent[start : start + step, None]).T @ squares
        return total.reshape(q, q, q)

    def filled(
        self, batch: Batch, features: NDArray[np.intp], columns: tuple[tuple[int, ...], ...], theta: Array
    ) -> Array:
        """Return the derivatives of the sum of  c x x^T  in the filled cells of some features, made of raw columns."""
        q = self.axes.shape[1]
        found = np.zeros((len(features), q, q))
        for i, lacks in enumerate(lacking(batch, columns).T):
            if not lacks.any():
                continue
            x, (value, slope, _) = self._seen(batch.take(lacks))
            feature = features[i]
            own = self.axes[feature] if self.frame.axes is None else self.frame.axes[feature] @ self.axes
            along = np.outer(own, value @ x)
            found[i] = along + along.T
            if slope is not None:
                found[i] += theta[i] * (x.T @ (x * slope[:, None]))
        return found


_WAY_OUT = "Noise of one scale, or a covariance that was made from public rows, can be measured here."


@dataclass(frozen=True, eq=False)
class Shaping:
    """A fitted model with the rows that it was fitted on, as far as the shape of its noise depends on them."""

    problem: Problem
    minimizer: Minimizer
    affine: Features
    names: tuple[str, ...]
    """The raw columns."""
    rows: RowData
    scales: Scales | None
    """How a scaler that was fitted on the same rows moves."""
    errors_of: Array | None = None
    """The coefficients in raw units of which standard errors are published, as rows of (coefficients, parameters)."""

    @property
    def _published(self) -> int:
        """Number of published outputs."""
        return len(self.problem.basis)

    def noise(self, noise: GaussianNoise) -> tuple[GaussianNoise, MovingShape | None]:
        """Return a noise with the covariance that its shape makes of the rows, and how that moves with them."""
        shape = noise.shape
        if self.errors_of is not None and not isinstance(shape, RobustCovariance):
            raise InputError(
                f"Standard errors leave beside noise that is in standard errors itself, so that both are told by one "
                f"covariance, and not beside {noise!r}. Give GaussianNoise(standard_errors=0.25) of seepage.release, "
                'or publish ["coefficients"] alone.'
            )
        if isinstance(shape, PerUnit):
            features = feature_names(self.affine, self.names)
            covariance = shape.covariance(features, self.problem.intercept, self._published)
            return replace(noise, covariance=covariance), None
        if shape is None or not shape.follows_rows:
            return noise, None
        self._check(shape)
        if len(self._root) > MOST_PARAMETERS:
            raise UnansweredError(
                f"What a shape that follows the rows ({shape.called}) tells is measured for up to {MOST_PARAMETERS} "
                f"parameters; this {self.minimizer.estimator} has {len(self._root)}. {_WAY_OUT}"
            )
        moving = self._made(shape)
        return replace(noise, covariance=self._covariance(shape, moving)), moving

    def covariance(self, shape: Shape) -> Array:
        """Return the covariance that a shape makes of rows that are public: how it moves with them is not asked."""
        self._check(shape)
        return self._covariance(shape, self._made(shape))

    def _covariance(self, shape: Shape, moving: MovingShape) -> Array:
        matrix = self.minimizer.frame.matrix(len(self.minimizer.parameters))
        root = matrix @ moving.axes * np.sqrt(moving.roots)
        covariance = shape.scale**2 * self._freedom(shape) * (root @ root.T)
        return np.asarray(np.kron(np.eye(self._published), 0.5 * (covariance + covariance.T)))

    @property
    def _outputs_are_alike(self) -> bool:
        """Whether the Hessian is the same block for each output."""
        if not self.problem.loss.quadratic or self.minimizer.free is not None:
            return False
        q, outputs = self.minimizer.position.shape
        blocks = self.minimizer.inverse.reshape(outputs, q, outputs, q)
        first = blocks[0, :, 0]
        return outputs == self._published and all(
            np.allclose(blocks[c, :, d], first if c == d else 0.0, rtol=1e-9, atol=1e-12 * np.abs(first).max())
            for c in range(outputs)
            for d in range(outputs)
        )

    @cached_property
    def _root(self) -> Array:
        """R with H^-1 = R R^T: rows times R have H = Id. Outputs of squared loss have the same."""
        q = len(self.minimizer.position)
        inverse = self.minimizer.inverse[:q, :q]
        return np.asarray(cholesky(0.5 * (inverse + inverse.T), lower=True))

    def _sums(self, weighing: Weighing) -> WeighedRows:
        """Return sums over rows times R."""
        return WeighedRows(self.problem.loss, self.minimizer.frame, self.minimizer.position, self._root, weighing)

    @cached_property
    def _curvature(self) -> MovingSum:
        """The Hessian of rows times R, which is the identity."""
        # Of more parameters the covariance is asked for, and not how it moves.
        still = self.problem.loss.quadratic or len(self._root) > MOST_PARAMETERS
        return MovingSum(
            by_curvature,
            None if still else np.asarray(self.rows.total(self._sums(by_curvature).third)),
            self._filled(by_curvature),
        )

    @cached_property
    def _squares(self) -> MovingSum:
        """The sum of squared gradients of rows times R."""
        return MovingSum(
            by_squared_slope,
            np.asarray(self.rows.total(self._sums(by_squared_slope).third)),
            self._filled(by_squared_slope),
        )

    def _filled(self, weighing: Weighing) -> Array:
        """Return how a sum moves with what was filled into cells, seen by rows times R, shape (filled, q, q)."""
        scales = self.scales
        if scales is None or not len(scales.filled):
            return np.empty((0, len(self._root), len(self._root)))
        columns, theta = columns_of(self.affine, scales.filled), self.minimizer.parameters[scales.filled, 0]
        adding = partial(self._sums(weighing).filled, features=scales.filled, columns=columns, theta=theta)
        return np.asarray(self.rows.total(adding)) / scales.having[scales.filled][:, None, None]

    def _made(self, shape: Shape) -> MovingShape:
        if isinstance(shape, Balanced):
            return self._balanced(shape)
        assert isinstance(shape, RobustCovariance)
        return self._robust(shape)

    def _freedom(self, shape: Shape) -> float:
        """Return by what squared residuals of a fit are too small to stand for those of the truth."""
        count, parameters = self.rows.count, len(self._root)
        return count / max(count - parameters, 1) if isinstance(shape, RobustCovariance) else 1.0

    def _robust(self, shape: RobustCovariance) -> MovingShape:
        found = self.minimizer
        squares = np.asarray(self.rows.total(self._sums(by_squared_slope).squares))
        roots, turn = eigh(squares)
        if roots[0] <= _NO_SCATTER * roots[-1]:
            raise UnsupportedError(
                "Some combination of the coefficients has a standard error of zero, and noise in standard errors would "
                "be none there. A category with an indicator for each of its values, beside an intercept and a "
                'penalty, does that: OneHotEncoder(drop="first"). So do as many coefficients as people. Noise of one '
                "scale can be measured here."
            )
        sums = roots[:, None] + roots
        moving = self._moving(turn, roots, -sums / np.sqrt(np.outer(roots, roots)), (self._curvature, self._squares))
        if self.errors_of is None:
            return moving
        matrix = found.frame.matrix(len(found.parameters))
        readings = (self.errors_of @ matrix @ moving.axes) * np.sqrt(roots)
        readings /= np.linalg.norm(readings, axis=1, keepdims=True)
        return replace(moving, errors=PrintedErrors(readings, shape.variances))

    def _balanced(self, shape: Balanced) -> MovingShape:
        blocks, floors = self._columns(shape)
        q, count = len(self._root), np.array([each.shape[1] for each in blocks])
        starts = np.cumsum(count) - count
        columns = np.hstack(blocks)
        size = np.add.reduceat((columns**2).sum(axis=0), starts)
        weight = (size * floors**2) ** shape.balance * floors**2
        kappa = shape.share * float(weight @ size) / q
        values, turn = eigh((columns * np.repeat(weight, count)) @ columns.T)
        roots = np.sqrt(np.maximum(values, 0.0) + kappa)
        sums = roots[:, None] + roots
        factors = ((kappa + np.outer(roots, roots)) / sums - sums) / np.sqrt(np.outer(roots, roots))
        made = self._moving(turn, roots, factors, (self._curvature,))
        return replace(
            made,
            columns=turn.T @ columns,
            starts=starts,
            own=shape.balance * weight / size,
            shared=(1 + shape.balance) * shape.share / q * weight,
        )

    def _moving(self, turn: Array, roots: Array, factors: Array, sums: tuple[MovingSum, ...]) -> MovingShape:
        """Return a shape, with all that was added up over the rows turned to where it is diagonal."""
        q, nothing = len(roots), np.empty(0)
        return MovingShape(
            axes=self._root @ turn,
            roots=roots,
            factors=factors,
            columns=np.empty((q, 0)),
            starts=nothing.astype(np.intp),
            own=nothing,
            shared=nothing,
            sums=tuple(each.turned(turn) for each in sums),
            outputs=self._published,
        )

    def _columns(self, shape: Balanced) -> tuple[list[Array], Array]:
        """Return T_j where H is the identity, for each attribute that reaches the model, and their floors."""
        found, floors, axes = [], [], self.minimizer.frame.axes
        for name, floor in shape.floors.items():
            cut = self.affine.of_columns([self.names.index(name)])
            bent = Curves.of(self.affine, cut.coordinates)
            if bent is not None and len(bent.chosen):
                raise UnsupportedError(
                    f"The noise's shape ({shape.called}) is made for {name!r}, which a step before this model bends: "
                    "how it reaches the features differs from row to row. Give a scale, or a "
                    "covariance that was made from public rows (FromPublicRows of seepage.release)."
                )
            matrix = cut.matrix.toarray()
            if self.problem.intercept:
                matrix = np.vstack([matrix, np.zeros((1, matrix.shape[1]))])
            if matrix.any():
                found.append(self._root.T @ (matrix if axes is None else axes.T @ matrix))
                floors.append(floor)
        if not found:
            raise InputError(f"None of {list(shape.floors)} reaches the model: there is nothing to hide from it.")
        return found, np.array(floors)

    def _check(self, shape: Shape) -> None:
        """Refuse what is not known how to count, and name the way out."""
        if isinstance(shape, RobustCovariance) and self.problem.loss.outputs > 1:
            raise UnsupportedError(
                "Noise in standard errors is measured for models with one output and nothing fitted beside their "
                f"coefficients; this {self.minimizer.estimator} has {self.problem.loss.outputs} outputs or such parts. "
                f"{_WAY_OUT}"
            )
        if self.problem.loss.outputs > 1 and not self._outputs_are_alike:
            raise UnsupportedError(
                f"A noise that takes its shape from the rows ({shape.called}) is measured for models with one output, "
                "or with several that have one Hessian (squared loss and one penalty), and the outputs of this "
                f"{self.minimizer.estimator} share theirs or have different ones. {_WAY_OUT}"
            )
        if self.minimizer.active is not None:
            raise UnsupportedError(
                f"A noise that takes its shape from the rows ({shape.called}) would have none for the coefficients "
                f"that the L1 penalty of this {self.minimizer.estimator} keeps at zero, and a zero without noise is a "
                f"release of its own. {_WAY_OUT}"
            )
        if self.minimizer.undecided.size:
            raise UnsupportedError(
                "Several parameters fit this data equally well, so the Hessian has no inverse that could shape the "
                f"noise. Fit with a penalty, or drop one level of each category. {_WAY_OUT}"
            )
        if self.scales is not None and self.scales.lean.any():
            raise UnsupportedError(
                f"This {self.minimizer.estimator} has a penalty on its intercept (liblinear has), behind steps that "
                "were fitted on the same rows: how their means enter the shape of the noise is not counted. Fit with "
                f'solver="lbfgs". {_WAY_OUT}'
            )
        if isinstance(shape, Balanced):
            unknown = [name for name in shape.floors if name not in self.names]
            if unknown:
                raise InputError(f"The noise's shape names {unknown[0]!r}, which is no column: {list(self.names)} are.")


def noise_assumptions(noise: GaussianNoise, shape: MovingShape | None, estimator: str) -> tuple[Assumption, ...]:
    """Return what is published with what noise, and where its shape comes from."""
    errors = shape is not None and shape.errors is not None
    what = (
        "the parameters of this {estimator} and their standard errors"
        if errors
        else "the parameters of this {estimator}"
    )
    published = f"Only {what} are published, once, with Gaussian noise of"
    names = {"estimator": estimator}
    if noise.scale is not None:
        return (Assumption("release", f"{published} scale {{scale}}.", {"scale": given(noise.scale, "g")}, names),)
    if noise.shape is None:
        return (Assumption("release", f"{published} the given covariance.", names=names),)
    scale, rule = {"scale": given(noise.shape.scale, "g")}, {**names, "rule": noise.shape.rule()}
    release = Assumption("release", f"{published} scale {{scale}} and this shape: {{rule}}", scale, rule)
    if shape is None:
        return (release,)
    return release, Assumption(
        "shape",
        "The covariance of the noise is made from the rows. It is used, not printed, and what it tells about them is "
        "counted.",
    )
