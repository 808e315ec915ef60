"""Losses of linear models, and their derivatives, which information is made of.

A loss is one formula of the margins of a row (one number a model output) and of its label. All derivatives are those of
the formula, by dual numbers. Three losses have their slope and curvature by hand, because they are several times
faster.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property, reduce
from operator import add
from typing import Any, ClassVar, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.special import expit, softmax

from seepage._python import Self
from seepage._tables import Array
from seepage.core import derivative_along, slope
from seepage.linear.rows import Batch, Frame


class Derivatives(NamedTuple):
    """What a batch of rows contributes: per row and output, in the margin m and the label y (eq. 2.3)."""

    slope: Array
    """d loss / d m, shape (n, outputs)."""
    curvature: Array
    """d2 loss / d m d m, shape (n, outputs, outputs)."""
    label_slope: Array
    """d2 loss / d m d y, shape (n, outputs, label values)."""


class Squares(NamedTuple):
    """Squared Pearson residuals, whose mean is the dispersion, with their derivatives."""

    square: Array
    """Shape (n, outputs)."""
    slope: Array
    """By the margins, shape (n, outputs, outputs)."""
    label_slope: Array
    """By the label, shape (n, outputs, label values)."""


@dataclass(frozen=True)
class Loss(ABC):
    """A loss of the margins and the label of a row: a subclass is its `formula`.

    A formula of one margin serves models of several outputs too, as a sum over the outputs.

    Attributes
    ----------
    copies : int
        Outputs of the model, if the formula is of one margin. The library sets it.

    Examples
    --------
    >>> import numpy as np
    >>> from seepage.linear import Loss
    >>> class PseudoHuber(Loss):
    ...     def formula(self, m, y):
    ...         return np.sqrt(1 + (m - y) ** 2) - 1
    >>> PseudoHuber().slope(np.array([3.0]), np.array([1.0])).round(4)
    array([0.8944])
    """

    _: KW_ONLY
    copies: int = 1

    margins: ClassVar[int] = 1
    """Number of margins that the formula takes."""
    quadratic: ClassVar[bool] = False
    """Whether the curvature is the same everywhere, so that one Newton step is exact."""
    largest_slope: ClassVar[float | None] = None
    """A bound on the length of the slope, if there is one."""
    estimates_dispersion: ClassVar[bool] = False
    """Whether a table prints the mean of squared Pearson residuals."""
    self_concordant: ClassVar[bool] = False
    """Whether the third derivative is nowhere larger than the curvature, of a loss of one margin."""

    @property
    def outputs(self) -> int:
        """Number of margins of a row."""
        return self.copies if self.margins == 1 else self.margins

    @property
    def label_values(self) -> int:
        """Number of values of a label."""
        return self.copies if self.margins == 1 else 1

    @abstractmethod
    def formula(self, *arguments: Any) -> Any:
        """Return the loss, of arrays: one for each margin, then one for each value of the label.

        Written in functions of NumPy and ``scipy.special`` that `seepage.core` can differentiate. Outside of its domain
        the loss is infinite, or NaN.
        """

    @property
    def expectation(self) -> "Loss":
        """The same loss with the expected curvature of a likelihood."""
        return self

    def side(self, y: Array) -> Array | None:
        """Return 1 where the loss falls for every larger margin, -1 for every smaller one, 0 for neither.

        None if that is not known: then directions without a minimizer are not looked for.
        """
        return None

    def slope(self, *arguments: Any) -> Any:
        """Return the derivatives in the margins; those of several margins have a last axis."""
        return self._by(self.formula, range(self.margins), arguments)

    def curvature(self, *arguments: Any) -> Any:
        """Return the derivatives of the slope in the margins."""
        return self._by(self.slope, range(self.margins), arguments)

    def label_slope(self, *arguments: Any) -> Any:
        """Return the derivatives of the slope in the values of the label."""
        return self._by(self.slope, range(self.margins, len(arguments)), arguments)

    def label_curvature(self, *arguments: Any) -> Any:
        """Return the derivatives of the curvature in the values of the label."""
        return self._by(self.curvature, range(self.margins, len(arguments)), arguments)

    def _by(self, function: Callable[..., Any], places: range, arguments: tuple[Any, ...]) -> Any:
        with np.errstate(all="ignore"):
            parts = [slope(function, place)(*arguments) for place in places]
        return parts[0] if self.margins == 1 else np.stack(parts, axis=-1)

    def value(self, margins: Array, labels: Array) -> Array:
        """Return the loss of each row."""
        with np.errstate(all="ignore"):
            values = self.formula(*self._arguments(margins, labels)).reshape(len(margins), -1).sum(axis=1)
        # An infinite objective turns a Newton step back.
        return np.where(np.isnan(values), np.inf, values)

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        """Return slope, curvature and label slope of each row."""
        arguments = self._arguments(margins, labels)
        return Derivatives(
            self.slope(*arguments),
            self._of_outputs(self.curvature(*arguments)),
            self._of_outputs(self.label_slope(*arguments)),
        )

    def slopes(self, margins: Array, labels: Array) -> Array:
        """Return the slope of each row at each of many margins, both of shape (n, m, outputs)."""
        return np.asarray(self.slope(*self._arguments(margins, labels[:, None, :])))

    def bend(self, margins: Array, labels: Array, direction: Array) -> Array:
        """Return the derivative of the curvature as the margins move in a direction, shape (n, outputs, outputs).

        The direction is one for all rows, or one a row.
        """
        arguments = self._arguments(margins, labels)
        moves = self._arguments(np.broadcast_to(direction, margins.shape), labels)
        directions = [move if place < self.margins else None for place, move in enumerate(moves)]
        with np.errstate(all="ignore"):
            return self._of_outputs(derivative_along(self.curvature, arguments, directions)[1])

    def label_bend(self, margins: Array, labels: Array) -> Array:
        """Return the derivative of the curvature by the label, shape (n, outputs, outputs, label values)."""
        return self._of_outputs(self._of_outputs(self.label_curvature(*self._arguments(margins, labels))))

    def squares(self, margins: Array, labels: Array) -> Squares:
        """Return squared Pearson residuals."""

        def square(m: Any, y: Any) -> Any:
            # With mu the mean and V its variance, the slope is (mu - y) mu' / V, the expected curvature mu'^2 / V.
            return self.slope(m, y) ** 2 / self.expectation.curvature(m, y)

        with np.errstate(all="ignore"):
            by_margin, by_label = (slope(square, place)(margins, labels) for place in (0, 1))
            return Squares(square(margins, labels), self._of_outputs(by_margin), self._of_outputs(by_label))

    def falling(self, labels: Array) -> tuple[Array, NDArray[np.bool_]] | None:
        """Return which ways each row's margins can go such that its loss falls all the way, if that is known.

        A movement u of the margins is one if  cone u >= 0,  and  = 0  where that is held: shapes (n, sides, outputs)
        and (n, sides).
        """
        side = self.side(labels)
        return None if side is None else (self._of_outputs(np.where(side == 0, 1.0, side)), side == 0)

    def _arguments(self, margins: Array, labels: Array) -> tuple[Array, ...]:
        """Return what the formula takes: a formula of one margin takes all outputs at once."""
        if self.margins == 1:
            return margins, labels
        return (*np.moveaxis(margins, -1, 0), *np.moveaxis(labels, -1, 0))

    def _of_outputs(self, derivative: Array) -> Array:
        """Return a derivative with one more axis of outputs: each depends on its own margin and label alone."""
        if self.margins > 1:
            return derivative
        return derivative[..., None] if self.copies == 1 else derivative[..., None] * np.eye(self.copies)


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared error, (m - y)^2 / 2."""

    quadratic = True
    estimates_dispersion = True

    def formula(self, m: Any, y: Any) -> Any:
        return 0.5 * (m - y) ** 2

    def slope(self, m: Any, y: Any) -> Any:
        return m - y

    def curvature(self, m: Any, y: Any) -> Any:
        return np.ones(np.shape(m))


@dataclass(frozen=True)
class Logistic(Loss):
    """Log loss of a label in {0, 1}: log(1 + e^m) - y m."""

    self_concordant = True

    @property
    def largest_slope(self) -> float:  # type: ignore[override]
        return float(np.sqrt(self.copies))

    def formula(self, m: Any, y: Any) -> Any:
        return np.logaddexp(0.0, m) - y * m

    def slope(self, m: Any, y: Any) -> Any:
        # Of s(m) - y nothing is left far on the right side of a label.
        return (1.0 - y) * expit(m) - y * expit(-m)

    def curvature(self, m: Any, y: Any) -> Any:
        return expit(m) * expit(-m)

    def side(self, y: Array) -> Array:
        return np.asarray((y >= 1.0) * 1.0 - (y <= 0.0))


@dataclass(frozen=True)
class Softmax(Loss):
    """Cross entropy of `classes` classes, in coordinates in which its minimizer is unique.

    Adding one number to all class margins changes nothing, so margins and labels are expressed in an orthonormal basis
    of the directions that sum to zero: `classes` - 1 outputs. One-hot labels differ only in those directions, and
    isotropic noise stays isotropic.
    """

    classes: int
    # Probabilities minus a one-hot vector are longest between two vertices of the simplex.
    largest_slope = float(np.sqrt(2.0))

    @property
    def margins(self) -> int:  # type: ignore[override]
        return self.classes - 1

    @property
    def label_values(self) -> int:
        return self.classes - 1

    @cached_property
    def basis(self) -> Array:
        """Orthonormal columns that span the class vectors with sum zero, shape (classes, classes - 1)."""
        return np.asarray(null_space(np.ones((1, self.classes))))

    def formula(self, *arguments: Any) -> Any:
        margins, labels = arguments[: self.margins], arguments[self.margins :]
        every = [sum(b * m for b, m in zip(row, margins, strict=True)) for row in self.basis]
        return reduce(np.logaddexp, every) - sum(m * y for m, y in zip(margins, labels, strict=True))

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        n = len(margins)
        slope, curvature = np.empty((n, self.outputs)), np.empty((n, self.outputs, self.outputs))
        _softmax_derivatives(margins @ self.basis.T, self._own(labels), self.basis, slope, curvature)
        return Derivatives(slope, curvature, np.broadcast_to(-np.eye(self.outputs), curvature.shape))

    def slopes(self, margins: Array, labels: Array) -> Array:
        return np.asarray(softmax(margins @ self.basis.T, axis=2) @ self.basis - labels[:, None, :])

    def falling(self, labels: Array) -> tuple[Array, NDArray[np.bool_]]:
        own = self._own(labels)
        others = np.array([[c for c in range(self.classes) if c != k] for k in range(self.classes)])
        cone = self.basis[own][:, None, :] - self.basis[others[own]]
        return cone, np.zeros(cone.shape[:2], dtype=bool)

    def _own(self, labels: Array) -> NDArray[np.intp]:
        """Return the class that each label stands for."""
        return np.asarray((labels @ self.basis.T).argmax(axis=1))


@numba.njit(cache=True, nogil=True)
def _softmax_derivatives(margins, own, basis, slope, curvature):  # type: ignore[no-untyped-def]
    """Fill slope and curvature of cross entropy in the directions of `basis`."""
    classes, outputs = basis.shape
    share, rest, pull = np.empty(classes), np.empty(classes), np.empty(classes)
    bent = np.empty((classes, outputs))
    for row in range(margins.shape[0]):
        first, total = 0, 0.0
        for c in range(1, classes):
            if margins[row, c] > margins[row, first]:
                first = c
        for c in range(classes):
            share[c] = np.exp(margins[row, c] - margins[row, first])
            total += share[c]
        others = 0.0
        for c in range(classes):
            share[c] /= total
            rest[c] = 1.0 - share[c]
            if c != first:
                others += share[c]
        # One minus the share of the likeliest class is the sum of the others: the difference has no digits of it left.
        rest[first] = others
        for c in range(classes):
            pull[c] = share[c]
        pull[own[row]] = -rest[own[row]]
        # diag(share) - share share^T, its diagonal without a difference, times the basis.
        for c in range(classes):
            for a in range(outputs):
                value = rest[c] * basis[c, a]
                for d in range(classes):
                    if d != c:
                        value -= share[d] * basis[d, a]
                bent[c, a] = share[c] * value
        for a in range(outputs):
            value = 0.0
            for c in range(classes):
                value += pull[c] * basis[c, a]
            slope[row, a] = value
            for b in range(a + 1):
                value = 0.0
                for c in range(classes):
                    value += basis[c, a] * bent[c, b]
                curvature[row, a, b] = value
                curvature[row, b, a] = value


# Up to this many columns, sums of several outputs are added in one pass over the rows.
_NARROW = 24
# A slope so small, next to one of the weight alone, is of a margin that may be on its way to infinity.
_FADED = 1e-3
Sums = TypeVar("Sums", "NewtonSums", "JointSums")
Other = TypeVar("Other")


class Additive:
    """Sums of two sets of rows add up to those of their union, field by field."""

    def __add__(self, other: Self) -> Self:
        if isinstance(other, Nothing):
            return self
        # Every subclass is a dataclass of numbers and arrays.
        pairs = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return type(self)(**pairs)


class Nothing:
    """The sum over no rows."""

    # Arrays would add it to each of their numbers.
    __array_ufunc__ = None

    def __add__(self, other: Other) -> Other:
        return other

    def __radd__(self, other: Other) -> Other:
        return other


@dataclass(frozen=True, eq=False)
class NewtonSums(Additive):
    """The objective's data term (eq. 2.1) with its two derivatives (the second is eq. 2.4), at some parameters."""

    value: float
    gradient: Array
    """Shape (p, outputs)."""
    hessian: Array
    """Shape (outputs * p, outputs * p), output by output."""
    slope_squares: float
    curvature: float
    weight: float
    count: int
    faded: int
    """Rows that hardly pull at any parameter: without any, there is a minimizer (eq. 4.7)."""


@dataclass(frozen=True, eq=False)
class JointSums(Additive):
    """What the joint information of a set of rows is made of (eq. 2.11)."""

    slope: Array
    """Sum of rho rho^T, shape (outputs, outputs)."""
    cross: Array
    """Sum of rho_c S_de x, shape (outputs, outputs, outputs, p)."""
    spread: Array
    """Sum of (S Tau S + B B^T)_cd x x^T, shape (outputs * p, outputs * p)."""


def derivatives(batch: Batch, loss: Loss, margins: Array) -> Derivatives:
    """Return the loss's derivatives, each multiplied by the row's weight."""
    found = loss.derivatives(margins, batch.labels)
    if batch.weights is None:
        return found
    weight = batch.weights
    return Derivatives(
        found.slope * weight[:, None],
        found.curvature * weight[:, None, None],
        found.label_slope * weight[:, None, None],
    )


def newton_sums(batch: Batch, loss: Loss, position: Array, frame: Frame) -> NewtonSums:
    """Add up value, gradient and Hessian over a batch, in the coordinates of a frame."""
    return _added(frame, batch, lambda part: _newton_sums(part, loss, position))


def _newton_sums(batch: Batch, loss: Loss, position: Array) -> NewtonSums:
    margins = batch.margins(position)
    values, weight = loss.value(margins, batch.labels), batch.weights
    value = float(values.sum() if weight is None else np.dot(weight[weight > 0], values[weight > 0]))
    # A step to where the loss is infinite is turned back, whatever its derivatives are there.
    outside = np.full((*margins.shape, loss.outputs), np.nan)
    slope, curvature, _ = derivatives(batch, loss, margins) if np.isfinite(value) else (outside[..., 0], outside, None)
    return NewtonSums(
        value=value,
        gradient=batch.total(slope),
        hessian=_blocks(batch, curvature),
        slope_squares=float((slope**2).sum()),
        curvature=float(np.abs(np.einsum("ncc->n", curvature)).sum()),
        weight=float(len(batch) if weight is None else weight.sum()),
        count=len(batch),
        # Of several outputs, one that fades may be any combination.
        faded=int((np.abs(slope[:, 0]) <= (_FADED if weight is None else _FADED * weight)).sum())
        if loss.outputs == 1
        else len(batch),
    )


def joint_sums(
    batch: Batch, loss: Loss, position: Array, frame: Frame, tau_gram: Array, public_label: bool
) -> JointSums:
    """Add up what joint information needs over a batch; `tau_gram` is tau tau^T, shape (outputs, outputs)."""
    return _added(frame, batch, lambda part: _joint_sums(part, loss, position, tau_gram, public_label))


def _joint_sums(batch: Batch, loss: Loss, position: Array, tau_gram: Array, public_label: bool) -> JointSums:
    slope, curvature, label_slope = derivatives(batch, loss, batch.margins(position))
    outputs, p = loss.outputs, batch.width
    # Numbers commute; only for several outputs are these matrices.
    spread = curvature * tau_gram * curvature if outputs == 1 else curvature @ tau_gram @ curvature
    if not public_label:
        spread = spread + (label_slope**2 if outputs == 1 else label_slope @ label_slope.transpose(0, 2, 1))
    products = (slope[:, :, None, None] * curvature[:, None]).reshape(len(batch), -1)
    cross = batch.total(products).T.reshape(outputs, outputs, outputs, p)
    return JointSums(slope=slope.T @ slope, cross=cross, spread=_blocks(batch, spread))


def _added(frame: Frame, batch: Batch, of: Callable[[Batch], Sums]) -> Sums:
    """Add a function up over the rows of a batch in the coordinates of a frame; a batch without rows is one part."""
    return reduce(add, map(of, frame.parts(batch)))


def _blocks(batch: Batch, weights: Array) -> Array:
    """Return sum_i weights_i (x) x_i x_i^T for symmetric weights of shape (n, outputs, outputs)."""
    outputs, p = weights.shape[1], batch.width
    if outputs == 1:
        return batch.gram(weights[:, 0, 0])
    whole = np.zeros((outputs, p, outputs, p))
    if isinstance(batch.features, np.ndarray) and p <= _NARROW:
        # Reading a few columns once for all pairs of outputs is cheaper than a product for each.
        _add_blocks(batch.features, np.ascontiguousarray(weights), batch.intercept, whole)
        return whole.reshape(outputs * p, outputs * p)
    for c in range(outputs):
        for d in range(c + 1):
            whole[c, :, d, :] = batch.gram(weights[:, c, d])
            whole[d, :, c, :] = whole[c, :, d, :].T
    return whole.reshape(outputs * p, outputs * p)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_blocks(features, weights, intercept, whole):  # type: ignore[no-untyped-def]
    n, width = features.shape
    outputs, p = weights.shape[1], width + intercept
    # Whole vectors of eight numbers: loops without a remainder.
    padded = (p + 7) // 8 * 8
    x, half = np.zeros(padded), np.zeros((outputs, outputs, p, padded))
    if intercept:
        x[width] = 1.0
    for row in range(n):
        for j in range(width):
            x[j] = features[row, j]
        for c in range(outputs):
            for d in range(c + 1):
                weight = weights[row, c, d]
                for i in range(p):
                    scaled = weight * x[i]
                    for j in range(padded):
                        half[c, d, i, j] += scaled * x[j]
    for c in range(outputs):
        for d in range(c + 1):
            whole[c, :, d, :] = half[c, d, :, :p]
            whole[d, :, c, :] = half[c, d, :, :p]
