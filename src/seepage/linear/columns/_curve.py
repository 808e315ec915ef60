"""Steps that are smooth functions of each row, with their derivatives (eq. 2.21).

Derivatives are those that a step brings, or those of dual numbers through a function of NumPy, or differences that are
extrapolated to a step of zero (Ridders 1982). What is exact is compared with differences at some rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.interpolate import BSpline

from seepage._tables import default_library, frame
from seepage.core import derivative_along
from seepage.errors import UnsupportedError

Array = NDArray[np.float64]
Places = NDArray[np.intp]

# The first step of a difference, as a share of a value or of the spread of its column, and how often it is halved.
_FIRST, _HALVINGS = 0.02, 8
# Differences that disagree by more than this share of the derivative have no limit.
_AGREE = 1e-7
# The ends of a difference: two sides, or one at the edge of what a function takes.
_TWO_SIDES, _ONE_SIDE = (1.0, -1.0), ((1.0, 0.0), (-1.0, 0.0))
# The first steps next to a knot or an edge, where larger ones reach across it.
_NEARER = (2.0**-8, 2.0**-14, 2.0**-24)
# Exact derivatives may differ from plain differences by this share.
_ALIKE = 1e-5
# Rows that are looked at one by one.
_SOME = 16


@dataclass(frozen=True, eq=False)
class SmoothFunction:
    """A smooth function of each row, which can be pickled."""

    function: Callable[[Any], Any]
    """The features of some rows, such as the `transform` of a step."""
    reach: sparse.csr_array
    """An entry for each input that a feature depends on, shape (features, inputs)."""
    derivative: Callable[[Array], Array] | None
    """The derivatives of the entries of `reach`, feature by feature, shape (n, entries); None if the step has none."""
    path: str
    """The path of the step."""

    @property
    def outputs(self) -> int:
        """Number of features that it makes."""
        return int(self.reach.shape[0])

    def values(self, inputs: Array, known: Array | None = None) -> Array:
        """Return the features of some rows; NaN for rows that the function refuses, first those outside known ones."""
        try:
            return np.asarray(called(self.function, inputs), dtype=np.float64)
        except Exception:
            found = np.full((len(inputs), self.outputs), np.nan)
            if known is not None:
                inside = ((inputs >= known.min(axis=0)) & (inputs <= known.max(axis=0))).all(axis=1)
                found[inside] = self.values(inputs[inside])
            elif len(inputs) > 1:
                half = len(inputs) // 2
                found[:half], found[half:] = self.values(inputs[:half]), self.values(inputs[half:])
            return found

    def slopes(self, inputs: Array) -> Array:
        """Return the derivatives of the entries of `reach`, shape (n, entries); NaN where there is none."""
        if self.derivative is not None:
            with np.errstate(all="ignore"):
                return np.asarray(self.derivative(inputs))
        exact = self._by_duals(inputs)
        return exact if exact is not None and self._agrees(inputs, exact) else self._by_differences(inputs)

    def lost(self, inputs: Array) -> NDArray[np.bool_]:
        """Return the rows at a kink, an infinite slope or a flat piece; refuse functions of several rows."""
        if self.derivative is not None:
            slopes = self.slopes(inputs)
            if not self._agrees(inputs, slopes):
                raise UnsupportedError(
                    f"The step {self.path!r} does not do what its class says: its slopes are not those of its values. "
                    "A method may be overridden. Way out: measure after it, on its output."
                )
            return np.asarray(~np.isfinite(slopes).all(axis=1))
        whole, some = self.values(inputs), _some(len(inputs))
        alone = np.concatenate([self.values(inputs[row : row + 1]) for row in some])
        other = self.values(np.concatenate([inputs[-1:], inputs[1:]]))[1:], self.values(inputs[::-1])[::-1]
        if not (_same(alone, whole[some]) and _same(other[0], whole[1:]) and _same(other[1], whole)):
            raise UnsupportedError(
                f"The step {self.path!r} makes features of several rows together (a mean of them, a rank), so that one "
                "person's value moves everybody's. Way out: a step that keeps what it learned when it was fitted, such "
                "as StandardScaler, behind the functions of single rows."
            )
        return ~np.isfinite(self._by_differences(inputs)).all(axis=1) | self._is_flat(inputs, whole)

    @cached_property
    def _entries(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The feature and the input of each entry."""
        return np.repeat(np.arange(self.reach.shape[0]), np.diff(self.reach.indptr)), self.reach.indices

    @cached_property
    def _directions(self) -> list[NDArray[np.intp]]:
        """Entries that one move gives: no feature depends on two of the inputs that move."""
        shared = sparse.csr_array(self.reach.T @ self.reach)
        groups: list[set[int]] = []
        for i in range(self.reach.shape[1]):
            group = next((each for each in groups if not each.intersection(shared[[i]].indices.tolist())), None)
            if group is None:
                groups.append({i})
            else:
                group.add(i)
        return [np.flatnonzero(np.isin(self._entries[1], list(group))) for group in groups]

    def _by_duals(self, inputs: Array) -> Array | None:
        found = np.empty((len(inputs), self.reach.nnz))
        for entries in self._directions:
            features, at = (each[entries] for each in self._entries)
            tangent = np.zeros(inputs.shape)
            tangent[:, at] = 1.0
            try:
                found[:, entries] = derivative_along(partial(called, self.function), (inputs,), (tangent,))[1][
                    :, features
                ]
            except Exception:
                # A function that was written for arrays of numbers does anything with others.
                return None
        return found

    def _agrees(self, inputs: Array, exact: Array) -> bool:
        """Return whether derivatives are those of plain differences at some rows, on one side of a kink."""
        rows = _some(len(inputs))
        looked, size = inputs[rows], 1e-4 * _sizes(inputs)[rows]
        rounding = 1e-14 * np.abs(self.values(looked))
        for entries in self._directions:
            features, at = (each[entries] for each in self._entries)
            forward, back = (
                self._differences(looked, features, at, [size[:, at]], ends)[0] for ends in ((1.0, 0.0), (0.0, -1.0))
            )
            found = exact[np.ix_(rows, entries)]
            near = np.abs(forward - back) + _ALIKE * np.abs(found).max(axis=1, initial=0.0)[:, None]
            if (np.abs(found - (forward + back) / 2) > near + rounding[:, features] / size[:, at]).any():
                return False
        return True

    def _is_flat(self, inputs: Array, whole: Array) -> NDArray[np.bool_]:
        """Return the rows around which an input changes nothing, though it does elsewhere."""
        found = np.zeros(len(inputs), dtype=bool)
        size = 1e-3 * _sizes(inputs)
        for i in range(self.reach.shape[1]):
            features = self._entries[0][self._entries[1] == i]
            others = (inputs[:, i] + size[:, i], inputs[:, i] - size[:, i], np.roll(inputs[:, i], 1))
            moved = []
            for other in others:
                changed = inputs.copy()
                changed[:, i] = other
                moved.append((self.values(changed)[:, features] != whole[:, features]).any(axis=1))
            found |= ~moved[0] & ~moved[1] & moved[2]
        return found

    def _by_differences(self, inputs: Array) -> Array:
        """Return derivatives by differences whose steps shrink; NaN where these have no limit."""
        found = np.empty((len(inputs), self.reach.nnz))
        for entries in self._directions:
            features, at = (each[entries] for each in self._entries)
            best, error = np.full((len(inputs), len(entries)), np.nan), np.full((len(inputs), len(entries)), np.inf)
            attempts = [(ends, 1.0) for ends in (_TWO_SIDES, *_ONE_SIDE)] + [(_TWO_SIDES, step) for step in _NEARER]
            for ends, nearer in attempts:
                is_open = _is_doubtful(best, error) if ends == _TWO_SIDES else ~np.isfinite(best)
                rows = np.flatnonzero(is_open.any(axis=1))
                if len(rows):
                    again, less = self._extrapolated(inputs[rows], features, at, ends, nearer)
                    better = less < error[rows]
                    best[rows] = np.where(better, again, best[rows])
                    error[rows] = np.where(better, less, error[rows])
            found[:, entries] = np.where(_is_doubtful(best, error), np.nan, best)
        return found

    def _extrapolated(
        self, inputs: Array, features: Places, at: Places, ends: tuple[float, float], nearer: float
    ) -> tuple[Array, Array]:
        """Return derivatives by differences between two ends of a step that shrinks, and their uncertainty."""
        # Between two sides errors are of even powers of the step.
        rate = 4.0 if ends[1] else 2.0
        size = _sizes(inputs)[:, at] * _FIRST * nearer
        table: list[Array] = []
        best, error = np.full(size.shape, np.nan), np.full(size.shape, np.inf)
        for found in self._differences(inputs, features, at, [size / 2**level for level in range(_HALVINGS)], ends):
            row = [found]
            for k, before in enumerate(table):
                factor = rate ** (k + 1)
                row.append((factor * row[k] - before) / (factor - 1))
                gap = np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - before))
                better = gap < error
                best, error = np.where(better, row[-1], best), np.where(better, gap, error)
            table = row
        return best, error

    def _differences(
        self, inputs: Array, features: Places, at: Places, steps: list[Array], ends: tuple[float, float]
    ) -> Array:
        """Return a difference between two ends of each step, shape (steps, n, entries)."""
        # The copies of a row come one after the other, so that those which a function refuses are found together.
        moved = np.repeat(inputs[:, None, None], 2, axis=2).repeat(len(steps), axis=1)
        moved[..., at] += np.array(ends)[:, None] * np.stack(steps, axis=1)[:, :, None]
        values = self.values(moved.reshape(-1, inputs.shape[1]), inputs)[:, features].reshape(*moved.shape[:3], -1)
        gaps = moved[:, :, 0][..., at] - moved[:, :, 1][..., at]
        return np.asarray((values[:, :, 0] - values[:, :, 1]) / gaps).swapaxes(0, 1)


def called(function: Callable[[Any], Any], inputs: Any) -> Any:
    """Return the features that a function makes, given the names of its columns if it was fitted with names."""
    names = getattr(getattr(function, "__self__", None), "feature_names_in_", None)
    if names is not None:
        inputs = frame({str(name): inputs[:, i] for i, name in enumerate(names)}, default_library())
    with np.errstate(all="ignore"):
        made = function(inputs)
    if sparse.issparse(made):
        return made.toarray()
    return made.to_numpy() if hasattr(made, "to_numpy") else made


def _some(rows: int) -> Places:
    return np.unique(np.linspace(0, rows - 1, _SOME).astype(np.intp))


def _sizes(inputs: Array) -> Array:
    """Return the size of each number, or a thousandth of the spread of its column."""
    spread = np.ptp(inputs, axis=0) if len(inputs) else np.zeros(inputs.shape[1])
    size = np.maximum(np.abs(inputs), 1e-3 * spread)
    return np.where(size > 0, size, 1e-3)


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-10, atol=0.0, equal_nan=True))


def _is_doubtful(slopes: Array, error: Array) -> NDArray[np.bool_]:
    """Return the slopes that differences did not come to, next to the largest of each row."""
    largest = np.abs(slopes).max(axis=1, initial=0.0)[:, None]
    return np.asarray(~(error <= _AGREE * np.maximum(np.abs(slopes), 1e-6 * largest)))


@dataclass(frozen=True, eq=False)
class PowerSlopes:
    """Derivatives of products of powers of the inputs."""

    powers: NDArray[np.int64]
    """Shape (features, inputs)."""

    def __call__(self, inputs: Array) -> Array:
        features, moved = np.nonzero(self.powers)
        found = np.empty((len(inputs), len(features)))
        for entry, (feature, at) in enumerate(zip(features, moved, strict=True)):
            powers = self.powers[feature].copy()
            powers[at] -= 1
            used = np.flatnonzero(powers)
            found[:, entry] = self.powers[feature, at] * np.prod(inputs[:, used] ** powers[used], axis=1)
        return found


@dataclass(frozen=True, eq=False)
class SplineSlopes:
    """Derivatives of B-splines of each input, as scikit-learn continues them beyond their knots."""

    knots: tuple[Array, ...]
    coefficients: Array
    """Shape (splines, splines that are features)."""
    degree: int
    extrapolation: str

    def __call__(self, inputs: Array) -> Array:
        found = []
        for knots, x in zip(self.knots, inputs.T, strict=True):
            inside = knots[self.degree : -self.degree]
            low, high = inside[0], inside[-1]
            at = low + (x - low) % (high - low) if self.extrapolation == "periodic" else x
            if self.extrapolation in ("linear", "constant"):
                at = np.clip(x, low, high)
            slopes = BSpline(knots, self.coefficients, self.degree)(at, nu=1)
            # Flat beyond the knots, a derivative of zero would look like safety; straight splines have kinks.
            flat = (at != x) & (self.extrapolation == "constant")
            slopes[flat | (np.isin(x, inside[1:-1]) & (self.degree == 1))] = np.nan
            found.append(slopes)
        return np.hstack(found)
