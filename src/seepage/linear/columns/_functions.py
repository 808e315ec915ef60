"""Functions of columns: those whose derivatives are known, and others, which are differentiated numerically.

A function that is not known may do anything. It is asked whether it takes each row on its own, and it is differentiated
by the complex step where it is analytic, else by differences that are extrapolated to a step of zero (Ridders 1982);
where those come to nothing, the row is refused.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from sklearn.base import TransformerMixin
from sklearn.preprocessing import FunctionTransformer

from seepage._tables import default_library, frame
from seepage.errors import UnsupportedError
from seepage.linear.columns._curve import Curve, Trouble

Array = NDArray[np.float64]

Function = Callable[[Array], Array]

SLOPES: dict[Any, Function] = {
    np.log: lambda x: 1 / x,
    np.log1p: lambda x: 1 / (1 + x),
    np.log2: lambda x: 1 / (x * np.log(2.0)),
    np.log10: lambda x: 1 / (x * np.log(10.0)),
    np.exp: np.exp,
    np.exp2: lambda x: np.exp2(x) * np.log(2.0),
    np.expm1: np.exp,
    np.sqrt: lambda x: 0.5 / np.sqrt(x),
    np.cbrt: lambda x: 1 / (3 * np.cbrt(x) ** 2),
    np.square: lambda x: 2 * x,
    np.reciprocal: lambda x: -1 / x**2,
    np.negative: lambda x: np.full_like(x, -1.0),
    np.positive: np.ones_like,
    np.sin: np.cos,
    np.cos: lambda x: -np.sin(x),
    np.tan: lambda x: 1 + np.tan(x) ** 2,
    np.sinh: np.cosh,
    np.cosh: np.sinh,
    np.tanh: lambda x: 1 - np.tanh(x) ** 2,
    np.arctan: lambda x: 1 / (1 + x**2),
    np.arcsinh: lambda x: 1 / np.sqrt(1 + x**2),
    np.arcsin: lambda x: 1 / np.sqrt(1 - x**2),
    np.arccos: lambda x: -1 / np.sqrt(1 - x**2),
    np.arccosh: lambda x: 1 / np.sqrt(x**2 - 1),
    np.arctanh: lambda x: 1 / (1 - x**2),
    np.deg2rad: lambda x: np.full_like(x, np.pi / 180),
    np.rad2deg: lambda x: np.full_like(x, 180 / np.pi),
    special.expit: lambda x: special.expit(x) * special.expit(-x),
    special.logit: lambda x: 1 / (x * (1 - x)),
    special.ndtr: lambda x: np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi),
    special.ndtri: lambda x: np.sqrt(2 * np.pi) * np.exp(0.5 * special.ndtri(x) ** 2),
}
"""What is known to be smooth, and its derivative."""

# An imaginary step that leaves no trace in the real part.
_TINY = 1e-30
# The first real step, as a share of a value or of the spread of its column, and how often it is halved.
_FIRST, _HALVINGS = 0.02, 8
# Differences that disagree by more than this share of the derivative say that there is none.
_AGREE = 1e-7
# What the first step is multiplied by where differences come to nothing.
_NEARER = (2.0**-8, 2.0**-14)
# Rows that are given to a function one by one, to see whether it takes them so.
_ALONE = 16


@dataclass(frozen=True, eq=False)
class Elementwise(Curve):
    """A function that is known, of each input on its own."""

    function: Any
    inputs: int

    def copy(self) -> TransformerMixin:
        return FunctionTransformer(self.function)

    def words(self, names: Sequence[str]) -> list[str]:
        return [f"{self.function.__name__}({name})" for name in names]

    @cached_property
    def reach(self) -> sparse.csr_array:
        return sparse.eye_array(self.inputs, format="csr")

    def values(self, inputs: Array) -> Array:
        return np.asarray(self.function(inputs))

    def slopes(self, inputs: Array) -> Array:
        return SLOPES[self.function](inputs)


@dataclass(frozen=True, eq=False)
class CalledFunction(Curve):
    """What a transformer does, differentiated by calling it."""

    transform: Callable[[Any], Any]
    inputs: int
    features: int
    names: tuple[str, ...] | None
    """What the function calls its columns, if it was fitted with names."""
    function: Callable[..., Any]
    """What the transformer calls."""
    settings: Mapping[str, object] | None
    """As scikit-learn's step was made; None for a term of a formula."""

    def copy(self) -> TransformerMixin:
        if self.settings is None:
            raise of_formula()
        return FunctionTransformer(**self.settings)

    def words(self, names: Sequence[str]) -> list[str]:
        called = getattr(self.function, "__name__", "function").replace("<lambda>", "function")
        return [f"{called} {i + 1} of {', '.join(names)}" for i in range(self.features)]

    @cached_property
    def reach(self) -> sparse.csr_array:
        return sparse.csr_array(np.ones((self.features, self.inputs)))

    def values(self, inputs: Array) -> Array:
        try:
            return np.asarray(self._called(inputs), dtype=np.float64)
        except Exception:
            # A function may refuse rows, such as those beyond the knots of a spline: find them.
            if len(inputs) == 1:
                return np.full((1, self.features), np.nan)
            half = len(inputs) // 2
            return np.concatenate([self.values(inputs[:half]), self.values(inputs[half:])])

    def _called(self, inputs: NDArray[Any]) -> NDArray[Any]:
        given: Any = inputs
        if self.names is not None:
            given = frame({name: inputs[:, i] for i, name in enumerate(self.names)}, default_library())
        with np.errstate(all="ignore"):
            found = self.transform(given)
        if sparse.issparse(found):
            found = found.toarray()
        return np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found)

    def slopes(self, inputs: Array) -> Array:
        return self._differentiated(inputs)[0]

    def _differentiated(self, inputs: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return all slopes, and at which rows they could not be found."""
        found = np.empty((len(inputs), self.features, self.inputs))
        lost = np.zeros(len(inputs), dtype=bool)
        for i in range(self.inputs):
            found[:, :, i], doubtful = self._along(inputs, i)
            lost |= doubtful
        return found.reshape(len(inputs), -1), lost

    def _along(self, inputs: Array, index: int) -> tuple[Array, NDArray[np.bool_]]:
        best, error = self._extrapolated(inputs, index, (1.0, -1.0))
        # At the edge of what a function takes there is one side only.
        for side in (1.0, -1.0):
            edge = ~np.isfinite(best).all(axis=1)
            if edge.any():
                best[edge], error[edge] = self._extrapolated(inputs[edge], index, (side, 0.0))
        # Next to a knot of a spline the first steps reach across it, where the function is another polynomial.
        for nearer in _NEARER:
            near = np.flatnonzero(_doubtful(best, error).any(axis=1))
            if len(near):
                again, less = self._extrapolated(inputs[near], index, (1.0, -1.0), nearer)
                better = less < error[near]
                best[near] = np.where(better, again, best[near])
                error[near] = np.where(better, less, error[near])
        exact = self._by_complex_step(inputs, index)
        agreed = np.abs(best).max(axis=1, initial=0.0)[:, None]
        doubtful = _doubtful(best, error)
        if exact is not None:
            # Where both are the same the complex step has all the digits.
            same = np.abs(exact - best) <= 1e-4 * np.maximum(agreed, np.abs(exact)) + error
            best = np.where(same, exact, best)
        return best, np.asarray(doubtful.any(axis=1))

    def _extrapolated(
        self, inputs: Array, index: int, ends: tuple[float, float], nearer: float = 1.0
    ) -> tuple[Array, Array]:
        """Return slopes by differences between two ends of a step that shrinks, and how uncertain they are."""
        column = inputs[:, index]
        # Between two sides errors are of even powers of the step.
        rate = 4.0 if ends[1] else 2.0
        size = np.maximum(np.abs(column), 1e-3 * max(float(np.ptp(column)) if len(column) else 0.0, 1e-12))
        table: list[Array] = []
        best = np.full((len(inputs), self.features), np.nan)
        error = np.full((len(inputs), self.features), np.inf)
        for level in range(_HALVINGS):
            step = size * _FIRST * nearer / 2**level
            found = []
            for sign in ends:
                moved = inputs.copy()
                moved[:, index] += sign * step
                found.append((self.values(moved), moved[:, index]))
            row = [(found[0][0] - found[1][0]) / (found[0][1] - found[1][1])[:, None]]
            for k, before in enumerate(table):
                factor = rate ** (k + 1)
                row.append((factor * row[k] - before) / (factor - 1))
                gap = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - before))
                better = gap < error
                best, error = np.where(better, row[-1], best), np.where(better, gap, error)
            table = row
        return best, error

    def _by_complex_step(self, inputs: Array, index: int) -> Array | None:
        moved = inputs.astype(np.complex128)
        moved[:, index] += 1j * _TINY
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                found = self._called(moved)
        except Exception:
            # Whatever a function that was written for real numbers does with others.
            return None
        return np.asarray(found.imag / _TINY) if found.dtype.kind == "c" else None

    def trouble(self, inputs: Array) -> Trouble | None:
        self._check_rows(inputs)
        slopes, lost = self._differentiated(inputs)
        if lost.any():
            return Trouble(lost, "differences of its function with smaller and smaller steps do not come to one slope")
        shaped = slopes.reshape(len(inputs), self.features, self.inputs)
        for i in range(self.inputs):
            still = (shaped[:, :, i] == 0.0).all(axis=1)
            if still.any():
                # Whether the function does not look at this column at all, or is flat here and not elsewhere.
                moved = inputs.copy()
                moved[:, i] = np.roll(inputs[:, i], 1)
                flat = still & (self.values(moved) != self.values(inputs)).any(axis=1)
                if flat.any():
                    return Trouble(
                        flat,
                        "its function is flat there and not elsewhere, as if it cut values off: a derivative of zero "
                        "would look like safety",
                    )
        return None

    def _check_rows(self, inputs: Array) -> None:
        """Refuse a function that makes a row of other rows."""
        whole = self.values(inputs)
        if whole.shape != (len(inputs), self.features):
            raise self._mixed()
        for row in np.unique(np.linspace(0, len(inputs) - 1, _ALONE).astype(int)):
            alone = self.values(inputs[row : row + 1])
            if alone.shape != (1, self.features) or not _alike(alone[0], whole[row]):
                raise self._mixed()
        if len(inputs) > 1:
            # With another first row, and in another order.
            other = np.concatenate([inputs[-1:], inputs[1:]])
            if not _alike(self.values(other)[1:], whole[1:]) or not _alike(self.values(inputs[::-1])[::-1], whole):
                raise self._mixed()

    def _mixed(self) -> UnsupportedError:
        return UnsupportedError(
            "The function of a FunctionTransformer makes features of several rows together (a mean of them, a rank), "
            "so that one person's value moves everybody's. Way out: a step that keeps what it learned when it was "
            "fitted, such as StandardScaler, behind the functions of single rows."
        )


def of_formula() -> UnsupportedError:
    """Return the refusal of a term that no step of scikit-learn stands for."""
    return UnsupportedError(
        "Terms of a formula that are not affine cannot be published yet. Write them as steps of a Pipeline "
        "(FunctionTransformer(np.log), PolynomialFeatures, SplineTransformer) before seepage.models.GLM, and publish "
        "that."
    )


def _alike(one: Array, other: Array) -> bool:
    return bool(np.allclose(one, other, rtol=1e-10, atol=0.0, equal_nan=True))


def _doubtful(slopes: Array, error: Array) -> NDArray[np.bool_]:
    """Return which slopes differences did not come to, beside the largest of each row."""
    largest = np.abs(slopes).max(axis=1, initial=0.0)[:, None]
    return np.asarray(~(error <= _AGREE * np.maximum(np.abs(slopes), 1e-6 * largest)))
