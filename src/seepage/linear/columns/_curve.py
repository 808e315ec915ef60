"""Steps that bend: smooth functions of each row, with their derivatives.

A step that is not affine makes features  phi(z)  of what goes into it, row by row. What the information needs of it is
its derivative at each row, T_i = dphi/dz (eq. 2.22), which is sparse: a spline of one column moves with no other.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.interpolate import BSpline
from sklearn.base import TransformerMixin
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from seepage._facts import Assumption
from seepage.errors import UnsupportedError

Array = NDArray[np.float64]


class Trouble(NamedTuple):
    """Rows at which a step has no derivative to be measured by."""

    rows: NDArray[np.bool_]
    why: str
    """What is the matter there, and the way out."""


class Curve(ABC):
    """A smooth function of each row on its own; holds no rows, and can be pickled.

    Examples
    --------
    A step of one's own is a class with its values and slopes, and one line that says so:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from sklearn.base import BaseEstimator, TransformerMixin
    >>> from seepage.linear import Affine, Curve, through
    >>> class Arctangent(TransformerMixin, BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         self.n_features_in_ = X.shape[1]
    ...         return self
    ...     def transform(self, X):
    ...         return np.arctan(X)
    >>> class Bent(Curve):
    ...     def __init__(self, inputs):
    ...         self.inputs = inputs
    ...     @property
    ...     def reach(self):
    ...         return sparse.eye_array(self.inputs, format="csr")
    ...     def values(self, inputs):
    ...         return np.arctan(inputs)
    ...     def slopes(self, inputs):
    ...         return 1 / (1 + inputs**2)
    >>> @through.register
    ... def _(step: Arctangent, incoming: Affine, path: str) -> Affine:
    ...     return incoming.bent(Bent(incoming.features), path)
    """

    @property
    @abstractmethod
    def reach(self) -> sparse.csr_array:
        """Which input moves which feature, shape (features, inputs): an entry where it does."""

    @abstractmethod
    def values(self, inputs: Array) -> Array:
        """Return the features of some rows, shape (n, features)."""

    @abstractmethod
    def slopes(self, inputs: Array) -> Array:
        """Return how features move with inputs, shape (n, entries): for each entry of `reach`, feature by feature."""

    def trouble(self, inputs: Array) -> Trouble | None:
        """Return at which rows there is no derivative, if there are any."""
        return None

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what its slopes take for granted."""
        return ()

    def copy(self) -> TransformerMixin:
        """Return a step that does the same and was fitted on nobody, to be part of a published model."""
        raise UnsupportedError(
            f"A model behind {type(self).__name__} cannot be published: nobody said how to copy the step without what "
            "it was fitted on. Give the curve a method copy() that returns such a step, not fitted."
        )

    def example(self) -> Array:
        """Return inputs of nobody that the step takes, shape (inputs,)."""
        return np.full(self.reach.shape[1], 0.5)

    def words(self, names: Sequence[str]) -> list[str]:
        """Return what each feature is called, given what the inputs are."""
        reach = self.reach
        found = []
        for feature in range(reach.shape[0]):
            among = ", ".join(names[i] for i in reach[[feature]].tocoo().coords[1])
            found.append(f"{type(self).__name__} {feature + 1} of {among}" if among else "1")
        return found


@dataclass(frozen=True, eq=False)
class Powers(Curve):
    """Products of powers of the inputs."""

    powers: NDArray[np.int64]
    """Shape (features, inputs)."""
    settings: Mapping[str, object] | None
    """As scikit-learn's step was made; None for an interaction in a formula."""

    def copy(self) -> TransformerMixin:
        return super().copy() if self.settings is None else PolynomialFeatures(**self.settings)

    def words(self, names: Sequence[str]) -> list[str]:
        found = []
        for powers in self.powers:
            held = [(name, power) for name, power in zip(names, powers.tolist(), strict=True) if power]
            factors = [name if power == 1 else f"{name}^{power}" for name, power in held]
            # Of levels and functions, whose names have spaces, one should see where they end.
            joint = " * " if any(" " in factor for factor in factors) else " "
            found.append(joint.join(factors) or "1")
        return found

    @cached_property
    def reach(self) -> sparse.csr_array:
        return sparse.csr_array(self.powers > 0, dtype=np.float64)

    def values(self, inputs: Array) -> Array:
        found = np.ones((len(inputs), len(self.powers)))
        for feature, powers in enumerate(self.powers):
            for i in np.flatnonzero(powers):
                found[:, feature] *= inputs[:, i] ** powers[i]
        return found

    def slopes(self, inputs: Array) -> Array:
        found = np.ones((len(inputs), self.reach.nnz))
        entry = 0
        for powers in self.powers:
            reached = np.flatnonzero(powers)
            for moved in reached:
                for i in reached:
                    power = powers[i] - (i == moved)
                    if power:
                        found[:, entry] *= inputs[:, i] ** power
                found[:, entry] *= powers[moved]
                entry += 1
        return found


@dataclass(frozen=True, eq=False)
class Splines(Curve):
    """B-splines of each input, as scikit-learn continues them beyond their knots."""

    knots: tuple[Array, ...]
    coefficients: Array
    """Of one input's splines in B-splines, shape (splines, splines kept)."""
    degree: int
    extrapolation: str
    kept: int
    """How many splines of each input are features: the last may be left out."""
    settings: Mapping[str, object]
    """As scikit-learn's step was made."""

    def copy(self) -> TransformerMixin:
        base = [knots[self.degree : -self.degree] for knots in self.knots]
        return SplineTransformer(**{**self.settings, "knots": np.column_stack(base)})

    def words(self, names: Sequence[str]) -> list[str]:
        return [f"{name}, spline {i + 1}" for name in names for i in range(self.kept)]

    def example(self) -> Array:
        return np.array([0.5 * sum(self._ends(i)) for i in range(len(self.knots))])

    @cached_property
    def reach(self) -> sparse.csr_array:
        inputs = len(self.knots)
        rows = np.arange(inputs * self.kept)
        return sparse.csr_array((np.ones(len(rows)), (rows, rows // self.kept)), shape=(len(rows), inputs))

    def values(self, inputs: Array) -> Array:
        return np.hstack([self._of(i, inputs[:, i], 0)[:, : self.kept] for i in range(len(self.knots))])

    def slopes(self, inputs: Array) -> Array:
        return np.hstack([self._of(i, inputs[:, i], 1)[:, : self.kept] for i in range(len(self.knots))])

    def _of(self, index: int, x: Array, order: int) -> Array:
        """Return the splines of one input, or their first derivatives."""
        spline = BSpline(self.knots[index], self.coefficients, self.degree)
        low, high = self._ends(index)
        if self.extrapolation == "periodic":
            return np.asarray(spline(low + (x - low) % (high - low), nu=order))
        if self.extrapolation in ("continue", "error"):
            return np.asarray(spline(x, nu=order))
        inside = np.clip(x, low, high)
        found = np.asarray(spline(inside, nu=order))
        if self.extrapolation == "linear":
            return found if order else found + (x - inside)[:, None] * spline(inside, nu=1)
        # Constant beyond the knots.
        return np.where((x == inside)[:, None], found, 0.0) if order else found

    def _ends(self, index: int) -> tuple[float, float]:
        knots = self.knots[index]
        return float(knots[self.degree]), float(knots[-self.degree - 1])

    def trouble(self, inputs: Array) -> Trouble | None:
        for i in range(len(self.knots)):
            low, high = self._ends(i)
            beyond = (inputs[:, i] < low) | (inputs[:, i] > high)
            if self.extrapolation == "constant" and beyond.any():
                return Trouble(
                    beyond,
                    f"its value {inputs[np.argmax(beyond), i]:g} is beyond the knots, {low:g} to {high:g}, where "
                    'extrapolation="constant" makes the spline flat: a derivative of zero would look like safety. Fit '
                    'with extrapolation="linear", or with knots that reach further',
                )
            if self.degree == 1:
                kinks = np.isin(inputs[:, i], self.knots[i][self.degree + 1 : -self.degree - 1])
                if kinks.any():
                    return Trouble(
                        kinks,
                        f"its value {inputs[np.argmax(kinks), i]:g} is a knot, where a spline of degree 1 has a kink. "
                        "Fit with degree=3",
                    )
        return None
