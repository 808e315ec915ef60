"""Losses of linear models, with the derivatives that information is made of.

A loss sees a row only through its margins (one number a model output) and its label. To add one, write a class with
the six methods of `Loss` for one margin, or subclass `VectorLoss` for several.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.special import expit, softmax

Array = NDArray[np.float64]


class Derivatives(NamedTuple):
    """What a batch of rows contributes: per row and output, in the margin m and the label y (eq. 2.3)."""

    slope: Array
    """d loss / d m, shape (n, outputs)."""
    curvature: Array
    """d2 loss / d m d m, shape (n, outputs, outputs)."""
    label_slope: Array
    """d2 loss / d m d y, shape (n, outputs, label values)."""


class PearsonSquares(NamedTuple):
    """Squares of residuals in units of the variance that the family says, whose mean is the dispersion, per row."""

    square: Array
    """Shape (n, dispersions)."""
    slope: Array
    """By the margins, shape (n, dispersions, outputs)."""
    label_slope: Array
    """By the label, shape (n, dispersions, label values)."""


class VectorLoss(ABC):
    """A loss of `outputs` margins; labels come as `label_values` numbers a row, most often one for each."""

    outputs: int
    quadratic: bool = False
    """Whether the curvature is the same everywhere, so that one Newton step is exact."""
    largest_slope: float | None = None
    """A bound on the length of the slope, where there is one."""
    self_concordant: bool = False
    """Whether the third derivative is nowhere larger than the curvature (eq. 4.8), of a loss of one margin."""

    @property
    def label_values(self) -> int:
        """How many numbers a label is."""
        return self.outputs

    @abstractmethod
    def value(self, margins: Array, labels: Array) -> Array:
        """Return the loss of each row."""

    @abstractmethod
    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        """Return slope, curvature and label slope of each row."""

    def slopes(self, margins: Array, labels: Array) -> Array:
        """Return the slope of each row at each of many margins, both of shape (n, m, outputs)."""
        flat, each = margins.reshape(-1, self.outputs), np.repeat(labels, margins.shape[1], axis=0)
        return self.derivatives(flat, each).slope.reshape(margins.shape)

    def curvatures(self, margins: Array, labels: Array) -> Array:
        """Return the curvature of each row at each of many margins, shape (n, m, outputs, outputs)."""
        flat, each = margins.reshape(-1, self.outputs), np.repeat(labels, margins.shape[1], axis=0)
        return self.derivatives(flat, each).curvature.reshape(*margins.shape, self.outputs)

    @abstractmethod
    def bend(self, margins: Array, labels: Array, direction: Array) -> Array:
        """Return how the curvature moves with the margins in a direction, shape (n, outputs, outputs).

        The direction is one for all rows, or one a row. Third derivatives do not care in which order they are taken.
        Few questions need them (a noise that is shaped by the Hessian does): a loss without them raises an
        `UnansweredError`.
        """

    @abstractmethod
    def label_bend(self, margins: Array, labels: Array) -> Array:
        """Return how each label slope moves with its own margin (d3 loss / d m2 d y), shape (n, outputs)."""

    def dispersed(self, margins: Array, labels: Array) -> PearsonSquares | None:
        """Return what the dispersion is the mean of; None where it is known to be one."""
        return None

    def falling(self, labels: Array) -> tuple[Array, NDArray[np.bool_]] | None:
        """Return which ways each row's margins can go such that its loss falls all the way, if that is known.

        A movement u of the margins is one if  cone u >= 0,  and  = 0  where that is held: shapes (n, sides, outputs)
        and (n, sides).
        """
        return None


class Loss(VectorLoss):
    """A loss of one margin: six elementwise functions of the margin m and the label y."""

    outputs = 1

    @abstractmethod
    def loss(self, m: Array, y: Array) -> Array:
        """Return the loss."""

    @abstractmethod
    def slope(self, m: Array, y: Array) -> Array:
        """Return d loss / d m."""

    @abstractmethod
    def curvature(self, m: Array, y: Array) -> Array:
        """Return d2 loss / d m^2."""

    @abstractmethod
    def label_slope(self, m: Array, y: Array) -> Array:
        """Return d2 loss / d m d y."""

    @abstractmethod
    def third(self, m: Array, y: Array) -> Array:
        """Return d3 loss / d m^3."""

    @abstractmethod
    def label_third(self, m: Array, y: Array) -> Array:
        """Return d3 loss / d m^2 d y."""

    def pearson(self, m: Array, y: Array) -> tuple[Array, Array, Array] | None:
        """Return the squared Pearson residual with its slopes by m and y; None where the dispersion is one."""
        return None

    def side(self, y: Array) -> Array | None:
        """Return 1 where the loss falls for every larger margin, -1 for every smaller one, 0 for neither.

        None if that is not known: then nobody looks for directions in which there is no minimizer.
        """
        return None

    def falling(self, labels: Array) -> tuple[Array, NDArray[np.bool_]] | None:
        side = self.side(labels[:, 0])
        return None if side is None else (np.where(side == 0, 1.0, side)[:, None, None], (side == 0)[:, None])

    def dispersed(self, margins: Array, labels: Array) -> PearsonSquares | None:
        found = self.pearson(margins[:, 0], labels[:, 0])
        if found is None:
            return None
        square, slope, label_slope = found
        return PearsonSquares(square[:, None], slope[:, None, None], label_slope[:, None, None])

    def value(self, margins: Array, labels: Array) -> Array:
        return self.loss(margins[:, 0], labels[:, 0])

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        m, y = margins[:, 0], labels[:, 0]
        return Derivatives(
            self.slope(m, y)[:, None], self.curvature(m, y)[:, None, None], self.label_slope(m, y)[:, None, None]
        )

    def slopes(self, margins: Array, labels: Array) -> Array:
        return self.slope(margins[:, :, 0], labels)[:, :, None]

    def curvatures(self, margins: Array, labels: Array) -> Array:
        return self.curvature(margins[:, :, 0], labels)[:, :, None, None]

    def bend(self, margins: Array, labels: Array, direction: Array) -> Array:
        return (self.third(margins, labels) * direction)[:, :, None]

    def label_bend(self, margins: Array, labels: Array) -> Array:
        return self.label_third(margins, labels)


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared error, (m - y)^2 / 2."""

    quadratic = True

    def loss(self, m: Array, y: Array) -> Array:
        return 0.5 * (m - y) ** 2

    def slope(self, m: Array, y: Array) -> Array:
        return m - y

    def pearson(self, m: Array, y: Array) -> tuple[Array, Array, Array]:
        return (m - y) ** 2, 2.0 * (m - y), -2.0 * (m - y)

    def curvature(self, m: Array, y: Array) -> Array:
        return np.ones_like(m)

    def label_slope(self, m: Array, y: Array) -> Array:
        return np.full_like(m, -1.0)

    def third(self, m: Array, y: Array) -> Array:
        return np.zeros_like(m)

    def label_third(self, m: Array, y: Array) -> Array:
        return np.zeros_like(m)


@dataclass(frozen=True)
class Logistic(Loss):
    """Log loss of a label in {0, 1}: log(1 + e^m) - y m."""

    largest_slope = 1.0
    self_concordant = True

    def loss(self, m: Array, y: Array) -> Array:
        return np.logaddexp(0.0, m) - y * m

    def slope(self, m: Array, y: Array) -> Array:
        # s(m) - y = (1 - y) s(m) - y s(-m): far on the right side of a label nothing is left of the difference.
        likely, unlikely = _shares(m)
        positive = m >= 0.0
        return np.asarray((1.0 - y) * np.where(positive, likely, unlikely) - y * np.where(positive, unlikely, likely))

    def curvature(self, m: Array, y: Array) -> Array:
        likely, unlikely = _shares(m)
        return likely * unlikely

    def label_slope(self, m: Array, y: Array) -> Array:
        return np.full_like(m, -1.0)

    def third(self, m: Array, y: Array) -> Array:
        return np.asarray(expit(m) * expit(-m) * (expit(-m) - expit(m)))

    def label_third(self, m: Array, y: Array) -> Array:
        return np.zeros_like(m)

    def side(self, y: Array) -> Array:
        return np.asarray((y >= 1.0) * 1.0 - (y <= 0.0))


def _shares(m: Array) -> tuple[Array, Array]:
    """Return s(|m|) and s(-|m|), the logistic function on both sides, each to its last digit."""
    power = np.exp(-np.abs(m))
    likely = 1.0 / (1.0 + power)
    return likely, power * likely


@dataclass(frozen=True)
class Tweedie(Loss):
    """Half the Tweedie deviance with a log link, up to a constant of y: Poisson is power 1, Gamma power 2."""

    power: float

    @property
    def self_concordant(self) -> bool:  # type: ignore[override]
        # A sum of e^((2 - q) m) and e^((1 - q) m) with weights that are not negative.
        return 1 <= self.power <= 2

    def loss(self, m: Array, y: Array) -> Array:
        q = self.power
        rise = m if q == 2 else np.exp((2 - q) * m) / (2 - q)
        fall = m if q == 1 else np.exp((1 - q) * m) / (1 - q)
        return rise - y * fall

    def slope(self, m: Array, y: Array) -> Array:
        return np.exp((2 - self.power) * m) - y * np.exp((1 - self.power) * m)

    def pearson(self, m: Array, y: Array) -> tuple[Array, Array, Array] | None:
        # A Poisson variable has no dispersion of its own.
        return None if self.power == 1 else _pearson(y, np.exp(m), np.exp(m), self.power)

    def curvature(self, m: Array, y: Array) -> Array:
        q = self.power
        return (2 - q) * np.exp((2 - q) * m) - (1 - q) * y * np.exp((1 - q) * m)

    def label_slope(self, m: Array, y: Array) -> Array:
        return -np.exp((1 - self.power) * m)

    def third(self, m: Array, y: Array) -> Array:
        q = self.power
        return (2 - q) ** 2 * np.exp((2 - q) * m) - (1 - q) ** 2 * y * np.exp((1 - q) * m)

    def label_third(self, m: Array, y: Array) -> Array:
        return -(1 - self.power) * np.exp((1 - self.power) * m)

    def side(self, y: Array) -> Array:
        return np.where(y <= 0.0, -1.0, 0.0)


@dataclass(frozen=True)
class TweedieIdentity(Loss):
    """Half the Tweedie deviance with the identity link (positive margins), up to a constant of y."""

    power: float

    def loss(self, m: Array, y: Array) -> Array:
        q = self.power
        with np.errstate(invalid="ignore"):
            rise = np.log(m) if q == 2 else m ** (2 - q) / (2 - q)
            fall = np.log(m) if q == 1 else m ** (1 - q) / (1 - q)
        # Outside the domain the objective is infinite, which is what turns a Newton step back.
        return np.where(m > 0, rise - y * fall, np.inf)

    def slope(self, m: Array, y: Array) -> Array:
        return m**-self.power * (m - y)

    def pearson(self, m: Array, y: Array) -> tuple[Array, Array, Array] | None:
        return None if self.power == 1 else _pearson(y, m, np.ones_like(m), self.power)

    def curvature(self, m: Array, y: Array) -> Array:
        q = self.power
        return (1 - q) * m**-q + q * y * m ** (-q - 1)

    def label_slope(self, m: Array, y: Array) -> Array:
        return -(m**-self.power)

    def third(self, m: Array, y: Array) -> Array:
        q = self.power
        return -q * (1 - q) * m ** (-q - 1) - q * (q + 1) * y * m ** (-q - 2)

    def label_third(self, m: Array, y: Array) -> Array:
        return self.power * m ** (-self.power - 1)


def _pearson(y: Array, mean: Array, rise: Array, power: float) -> tuple[Array, Array, Array]:
    """Return (y - mu)^2 / mu^power and its slopes, where the mean rises so with the margin."""
    gap, variance = y - mean, mean**power
    square = gap**2 / variance
    return square, -rise * (2.0 * gap / variance + power * square / mean), 2.0 * gap / variance


@dataclass(frozen=True)
class Softmax(VectorLoss):
    """Cross entropy of `classes` classes, in coordinates in which its minimizer is unique.

    Adding one number to all class margins changes nothing, so margins and labels are expressed in an orthonormal basis
    of the directions that sum to zero: `classes` - 1 outputs. One-hot labels differ only in those directions, and
    isotropic noise stays isotropic.
    """

    classes: int
    # Probabilities minus a one-hot vector are longest between two vertices of the simplex.
    largest_slope = np.sqrt(2.0)

    @property
    def outputs(self) -> int:  # type: ignore[override]
        return self.classes - 1

    @cached_property
    def basis(self) -> Array:
        """Orthonormal columns that span the class vectors with sum zero, shape (classes, classes - 1)."""
        return np.asarray(null_space(np.ones((1, self.classes))))

    def value(self, margins: Array, labels: Array) -> Array:
        found = np.empty(len(margins))
        _log_sums(margins @ self.basis.T, found)
        return np.asarray(found - np.einsum("nc,nc->n", labels, margins))

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        n = len(margins)
        slope, curvature = np.empty((n, self.outputs)), np.empty((n, self.outputs, self.outputs))
        _softmax_derivatives(margins @ self.basis.T, self._own(labels), self.basis, slope, curvature)
        return Derivatives(slope, curvature, np.broadcast_to(-np.eye(self.outputs), curvature.shape))

    def slopes(self, margins: Array, labels: Array) -> Array:
        return np.asarray(softmax(margins @ self.basis.T, axis=2) @ self.basis - labels[:, None, :])

    def bend(self, margins: Array, labels: Array, direction: Array) -> Array:
        share = softmax(margins @ self.basis.T, axis=1)
        along = np.broadcast_to(direction @ self.basis.T, share.shape)
        moved = share * (along - (share * along).sum(axis=1, keepdims=True))
        mean, shift = share @ self.basis, moved @ self.basis
        turned = np.einsum("nc,ca,cb->nab", moved, self.basis, self.basis)
        return np.asarray(turned - shift[:, :, None] * mean[:, None, :] - mean[:, :, None] * shift[:, None, :])

    def label_bend(self, margins: Array, labels: Array) -> Array:
        return np.zeros_like(margins)

    def falling(self, labels: Array) -> tuple[Array, NDArray[np.bool_]]:
        own = self._own(labels)
        others = np.array([[c for c in range(self.classes) if c != k] for k in range(self.classes)])
        cone = self.basis[own][:, None, :] - self.basis[others[own]]
        return cone, np.zeros(cone.shape[:2], dtype=bool)

    def _own(self, labels: Array) -> NDArray[np.intp]:
        """Return the class that each label stands for."""
        found = np.empty(len(labels), dtype=np.intp)
        _nearest(labels @ self.basis.T, found)
        return found


@numba.njit(cache=True, nogil=True)
def _nearest(values, found):  # type: ignore[no-untyped-def]
    """Fill `found` with the place of each row's largest value."""
    for row in range(values.shape[0]):
        first = 0
        for c in range(1, values.shape[1]):
            if values[row, c] > values[row, first]:
                first = c
        found[row] = first


@numba.njit(cache=True, nogil=True)
def _log_sums(margins, found):  # type: ignore[no-untyped-def]
    """Fill `found` with the logarithm of each row's sum of exponentials."""
    for row in range(margins.shape[0]):
        largest = margins[row].max()
        total = 0.0
        for c in range(margins.shape[1]):
            total += np.exp(margins[row, c] - largest)
        found[row] = largest + np.log(total)


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


@dataclass(frozen=True)
class Separate(VectorLoss):
    """The sum of one loss over several outputs, each with a label of its own."""

    each: Loss
    outputs: int

    @property
    def quadratic(self) -> bool:  # type: ignore[override]
        return self.each.quadratic

    def falling(self, labels: Array) -> tuple[Array, NDArray[np.bool_]] | None:
        side = self.each.side(labels)
        return None if side is None else (np.where(side == 0, 1.0, side)[:, :, None] * np.eye(self.outputs), side == 0)

    def dispersed(self, margins: Array, labels: Array) -> PearsonSquares | None:
        found, unit = self.each.pearson(margins, labels), np.eye(self.outputs)
        if found is None:
            return None
        return PearsonSquares(found[0], found[1][:, :, None] * unit, found[2][:, :, None] * unit)

    def value(self, margins: Array, labels: Array) -> Array:
        return np.asarray(self.each.loss(margins, labels).sum(axis=1))

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        unit = np.eye(self.outputs)
        return Derivatives(
            self.each.slope(margins, labels),
            self.each.curvature(margins, labels)[:, :, None] * unit,
            self.each.label_slope(margins, labels)[:, :, None] * unit,
        )

    def slopes(self, margins: Array, labels: Array) -> Array:
        return self.each.slope(margins, labels[:, None, :])

    def bend(self, margins: Array, labels: Array, direction: Array) -> Array:
        return np.asarray((self.each.third(margins, labels) * direction)[:, :, None] * np.eye(self.outputs))

    def label_bend(self, margins: Array, labels: Array) -> Array:
        return self.each.label_third(margins, labels)
