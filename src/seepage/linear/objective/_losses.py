"""Losses of linear models, with the derivatives that information is made of.

A loss sees a row only through its margins (one number a model output) and its label. To add one, write a class with
the four methods of `Loss` for one margin, or subclass `VectorLoss` for several.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.special import expit, logsumexp, softmax

Array = NDArray[np.float64]


class Derivatives(NamedTuple):
    """What a batch of rows contributes: per row and output, in the margin m and the label y (eq. 2.3)."""

    slope: Array
    """d loss / d m, shape (n, outputs)."""
    curvature: Array
    """d2 loss / d m d m, shape (n, outputs, outputs)."""
    label_slope: Array
    """d2 loss / d m d y, shape (n, outputs, outputs)."""


class VectorLoss(ABC):
    """A loss of `outputs` margins; labels come as `outputs` numbers a row."""

    outputs: int
    quadratic: bool = False
    """Whether the curvature is the same everywhere, so that one Newton step is exact."""
    largest_slope: float | None = None
    """A bound on the length of the slope, where there is one."""

    @abstractmethod
    def value(self, margins: Array, labels: Array) -> Array:
        """Return the loss of each row."""

    @abstractmethod
    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        """Return slope, curvature and label slope of each row."""

    def lead(self, margins: Array, labels: Array) -> Array | None:
        """Return by how much each row's label is ahead of any other, where a lead of all rows means no minimizer."""
        return None


class Loss(VectorLoss):
    """A loss of one margin: four elementwise functions of the margin m and the label y."""

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

    def value(self, margins: Array, labels: Array) -> Array:
        return self.loss(margins[:, 0], labels[:, 0])

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        m, y = margins[:, 0], labels[:, 0]
        return Derivatives(
            self.slope(m, y)[:, None], self.curvature(m, y)[:, None, None], self.label_slope(m, y)[:, None, None]
        )


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared error, (m - y)^2 / 2."""

    quadratic = True

    def loss(self, m: Array, y: Array) -> Array:
        return 0.5 * (m - y) ** 2

    def slope(self, m: Array, y: Array) -> Array:
        return m - y

    def curvature(self, m: Array, y: Array) -> Array:
        return np.ones_like(m)

    def label_slope(self, m: Array, y: Array) -> Array:
        return np.full_like(m, -1.0)


@dataclass(frozen=True)
class Logistic(Loss):
    """Log loss of a label in {0, 1}: log(1 + e^m) - y m."""

    largest_slope = 1.0

    def loss(self, m: Array, y: Array) -> Array:
        return np.logaddexp(0.0, m) - y * m

    def slope(self, m: Array, y: Array) -> Array:
        # s(m) - y, where 1 - s(m) = s(-m): far on the right side of a label nothing is left of the difference.
        return np.asarray((1.0 - y) * expit(m) - y * expit(-m))

    def curvature(self, m: Array, y: Array) -> Array:
        return np.asarray(expit(m) * expit(-m))

    def label_slope(self, m: Array, y: Array) -> Array:
        return np.full_like(m, -1.0)

    def lead(self, margins: Array, labels: Array) -> Array:
        return np.asarray(((2.0 * labels - 1.0) * margins).min(axis=1))


@dataclass(frozen=True)
class Tweedie(Loss):
    """Half the Tweedie deviance with a log link, up to a constant of y: Poisson is power 1, Gamma power 2."""

    power: float

    def loss(self, m: Array, y: Array) -> Array:
        q = self.power
        rise = m if q == 2 else np.exp((2 - q) * m) / (2 - q)
        fall = m if q == 1 else np.exp((1 - q) * m) / (1 - q)
        return rise - y * fall

    def slope(self, m: Array, y: Array) -> Array:
        return np.exp((2 - self.power) * m) - y * np.exp((1 - self.power) * m)

    def curvature(self, m: Array, y: Array) -> Array:
        q = self.power
        return (2 - q) * np.exp((2 - q) * m) - (1 - q) * y * np.exp((1 - q) * m)

    def label_slope(self, m: Array, y: Array) -> Array:
        return -np.exp((1 - self.power) * m)


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

    def curvature(self, m: Array, y: Array) -> Array:
        q = self.power
        return (1 - q) * m**-q + q * y * m ** (-q - 1)

    def label_slope(self, m: Array, y: Array) -> Array:
        return -(m**-self.power)


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
        return np.asarray(logsumexp(margins @ self.basis.T, axis=1) - (labels * margins).sum(axis=1))

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        rows, every = np.arange(len(margins)), margins @ self.basis.T
        share = softmax(every, axis=1)
        # One minus the share of the likeliest class is the sum of the others: the difference loses all digits of it.
        first = every.argmax(axis=1)
        rest = 1.0 - share
        rest[rows, first] = _without(share, first).sum(axis=1)
        own = self._own(labels)
        slope = share.copy()
        slope[rows, own] = -rest[rows, own]
        curvature = -share[:, :, None] * share[:, None, :]
        curvature[:, np.arange(self.classes), np.arange(self.classes)] = share * rest
        curvature = self.basis.T @ curvature @ self.basis
        label_slope = np.broadcast_to(-np.eye(self.outputs), curvature.shape)
        return Derivatives(slope @ self.basis, curvature, label_slope)

    def _own(self, labels: Array) -> NDArray[np.intp]:
        """Return the class that each label stands for."""
        return np.asarray((labels @ self.basis.T).argmax(axis=1))

    def lead(self, margins: Array, labels: Array) -> Array:
        every, own = margins @ self.basis.T, self._own(labels)
        rows = np.arange(len(every))
        mine = every[rows, own]
        every[rows, own] = -np.inf
        return np.asarray(mine - every.max(axis=1))


def _without(values: Array, column: NDArray[np.intp]) -> Array:
    """Return a copy in which one entry of each row is zero."""
    found = values.copy()
    found[np.arange(len(values)), column] = 0.0
    return found


@dataclass(frozen=True)
class Separate(VectorLoss):
    """The sum of one loss over several outputs, each with a label of its own."""

    each: Loss
    outputs: int

    @property
    def quadratic(self) -> bool:  # type: ignore[override]
        return self.each.quadratic

    def lead(self, margins: Array, labels: Array) -> Array | None:
        return self.each.lead(margins, labels)

    def value(self, margins: Array, labels: Array) -> Array:
        return np.asarray(self.each.loss(margins, labels).sum(axis=1))

    def derivatives(self, margins: Array, labels: Array) -> Derivatives:
        unit = np.eye(self.outputs)
        return Derivatives(
            self.each.slope(margins, labels),
            self.each.curvature(margins, labels)[:, :, None] * unit,
            self.each.label_slope(margins, labels)[:, :, None] * unit,
        )
