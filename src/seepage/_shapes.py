"""The shapes that noise can have: rules by which its covariance is made, fixed before anybody looks at the rows.

A rule may be told to everybody. What it makes of private rows may not: those covariances are used and never printed.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seepage._python import Self
from seepage.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Shape(ABC):
    """A rule that makes a covariance: `scale` squared, times what the rule makes of model and rows.

    Parameters
    ----------
    scale : float
        What the deviations that the rule makes are multiplied by.
    """

    follows_rows: ClassVar[bool]
    """True if the covariance is a function of the private rows, so that it reveals something about them."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(self.scale))

    def at(self, scale: float) -> Self:
        """Return the same shape at another scale."""
        return replace(self, scale=scale)

    @property
    @abstractmethod
    def called(self) -> str:
        """The name of the rule."""

    @abstractmethod
    def rule(self) -> str:
        """Return the rule in words, without anything that it made of rows."""


@dataclass(frozen=True, kw_only=True)
class PerUnit(Shape):
    """Noise on each coefficient in the unit of its column: of deviation `scale` / unit.

    Parameters
    ----------
    scale : float
        The deviation of a coefficient times the unit of its column, and of the intercept.
    units : mapping from feature to float
        What counts as one step of a column, such as 10 years; 1 for those that are not named.

    Examples
    --------
    >>> from seepage.release import PerUnit
    >>> PerUnit(scale=0.5, units={"age": 10.0}).rule()
    'Independent noise on each coefficient, in units of its column that were given (age: 10).'
    """

    follows_rows: ClassVar[bool] = False

    units: Mapping[str, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("unit", self.units)
        object.__setattr__(self, "units", MappingProxyType(dict(self.units)))

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views cannot be pickled; what they show can.
        return _per_unit, (self.scale, dict(self.units))

    @property
    def called(self) -> str:
        return "per unit"

    def rule(self) -> str:
        units = ", ".join(f"{name}: {unit:g}" for name, unit in self.units.items())
        return f"Independent noise on each coefficient, in units of its column that were given ({units})."

    def covariance(self, names: tuple[str, ...], intercept: bool, outputs: int) -> NDArray[np.float64]:
        """Return the covariance over the parameters of each output in turn, the intercept last."""
        unknown = [name for name in self.units if name not in names]
        if unknown:
            raise InputError(f"units names {unknown[0]!r}, which is no feature of the model: {list(names)} are.")
        each = [1.0 / self.units.get(name, 1.0) for name in names] + [1.0] * intercept
        return np.diag(np.tile(np.square(each), outputs)) * self.scale**2


def _per_unit(scale: float, units: dict[str, float]) -> PerUnit:
    return PerUnit(scale=scale, units=units)


@dataclass(frozen=True, kw_only=True, eq=False)
class FromPublicRows(Shape):
    """A covariance that was made from rows that are nobody's secret.

    Parameters
    ----------
    scale : float
        What its deviations are multiplied by.
    base : array-like of shape (m, m)
        The covariance at scale 1, over all published parameters.

    Examples
    --------
    >>> import seepage
    >>> from seepage.release import FromPublicRows
    >>> seepage.release.GaussianNoise(
    ...     shape=FromPublicRows(scale=2.0, base=[[1.0, 0.5], [0.5, 1.0]])
    ... ).covariance.tolist()
    [[4.0, 2.0], [2.0, 4.0]]
    """

    follows_rows: ClassVar[bool] = False

    base: ArrayLike

    @property
    def called(self) -> str:
        return "public rows"

    def rule(self) -> str:
        return "A covariance that was made from other rows, which are nobody's secret, says whoever published this."


@dataclass(frozen=True, kw_only=True)
class RobustCovariance(Shape):
    """Noise in standard errors: `scale` squared times the model's own robust covariance (the sandwich).

    Every coefficient, and every combination of them, has noise of `scale` times its standard error.

    Parameters
    ----------
    scale : float
        How many standard errors.
    variances : float, default=0.1
        Where standard errors are published too, the noise on the logarithm of each variance: at 0.1 a standard error
        is told to within 5%.

    Examples
    --------
    >>> from seepage.release import GaussianNoise, RobustCovariance
    >>> GaussianNoise(shape=RobustCovariance(scale=0.25, variances=0.2))
    GaussianNoise(standard_errors=0.25)
    """

    follows_rows: ClassVar[bool] = True

    variances: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("noise", {"variances": self.variances})

    @property
    def called(self) -> str:
        return "standard errors"

    def rule(self) -> str:
        return (
            "The robust covariance of the coefficients, so that each has so many of its own standard errors. Where "
            f"standard errors are published, each variance carries a relative noise of {self.variances:g}."
        )


@dataclass(frozen=True, kw_only=True)
class Balanced(Shape):
    """Noise that hides some attributes at the least cost to the fit.

    With H the Hessian and T_j the columns by which attribute j reaches the features, it is

        H^-1 (B # H) H^-1,    B = sum_j c_j T_j T_j^T + share tr(H^-1 C) / p  H     (eq. 2.18),

    where # is the geometric mean of two matrices, C the sum without its last term, and attribute j has the weight
    c_j = (h_j floor_j^2)^balance floor_j^2 with h_j = tr(T_j^T H^-1 T_j).

    Parameters
    ----------
    scale : float
        What deviations are multiplied by.
    floors : mapping from attribute to float
        The standard error that guesses of each attribute are to have, or any multiple of all of them.
    share : float
        How much of B is the Hessian, which protects from what a person's features tell beside their residual.
    balance : float
        How much more weight attributes get that the data say little about.

    Examples
    --------
    >>> from seepage.release import Balanced
    >>> Balanced(scale=20.0, floors={"age": 5.0}, share=0.01, balance=1.0).called
    'best'
    """

    follows_rows: ClassVar[bool] = True

    floors: Mapping[str, float]
    share: float
    balance: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("floor", self.floors)
        if not self.floors:
            raise InputError("A balanced shape hides some attributes: name them in floors={...}.")
        numbers = isinstance(self.share, Real) and isinstance(self.balance, Real)
        if not numbers or not 0 < self.share < np.inf or not -2 <= self.balance <= 2:
            raise InputError(
                f"share must be positive and balance within -2 and 2, not {self.share!r}, {self.balance!r}."
            )
        object.__setattr__(self, "floors", MappingProxyType(dict(self.floors)))

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views cannot be pickled; what they show can.
        return _balanced, (self.scale, dict(self.floors), self.share, self.balance)

    @property
    def called(self) -> str:
        return "best"

    def rule(self) -> str:
        floors = ", ".join(f"{name}: {floor:g}" for name, floor in self.floors.items())
        return (
            f"H^-1 (B # H) H^-1 with the Hessian H at the minimizer (eq. 2.18), for floors of {{{floors}}}, share "
            f"{self.share:g} and balance {self.balance:g}."
        )


def _balanced(scale: float, floors: dict[str, float], share: float, balance: float) -> Balanced:
    return Balanced(scale=scale, floors=floors, share=share, balance=balance)


def _check_positive(what: str, numbers: object) -> None:
    """Refuse what is no mapping from names to positive numbers."""
    if not isinstance(numbers, Mapping):
        raise InputError(f"{what}s are given by name, such as {{'age': 10.0}}, not {numbers!r}.")
    for name, number in numbers.items():
        if not isinstance(number, Real) or not 0 < float(number) < np.inf:
            raise InputError(f"The {what} of {name!r} must be a positive number, not {number!r}.")


def checked_scale(scale: object) -> float:
    """Return the scale of a noise as a number, or refuse it."""
    if isinstance(scale, str | bytes | bool):
        raise InputError(
            f"noise_scale is a number, the standard deviation of the noise, and not {scale!r}: write noise_scale=0.1, "
            "without quotes."
        )
    try:
        value = float(scale)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"noise_scale must be a positive number or a GaussianNoise, not {scale!r}.") from None
    if value == 0:
        raise InputError(
            "noise_scale is 0: to somebody who knows everybody else, a release without noise carries infinite "
            "information about everyone in the data. Give the standard deviation of the noise you will add to the "
            "published parameters (measured at any noise, seepage.release.suggest(leak) shows what some give), or "
            "leave noise_scale out of seepage.measure to ask about attackers who know less."
        )
    # Beyond these bounds the square of the scale, which every number contains, leaves float64.
    if not 1e-75 < value < 1e75:
        raise InputError(f"noise_scale must be a positive finite number, not {scale!r}.")
    return value
