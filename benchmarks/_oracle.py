"""What a drawn setting must give, computed in another way: nothing here is taken from the library.

Features are pushed through each step by its own arithmetic. The minimizer is found in 80-bit numbers; derivatives of
the gradient are taken by the complex step, and the implicit function theorem turns them into dense Jacobians, whose
singular values are the answers. Another value of somebody is a refit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import null_space
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

Numbers = NDArray[np.longdouble]
Complex = NDArray[np.clongdouble]
Slope = Callable[[Complex, Complex], Complex]

_STEP = np.longdouble(1e-40)
# Of the 19 digits of an 80-bit number as many are lost as the condition has, and seven must be left.
_MOST_CONDITION = 1e12


def squared(m: Complex, y: Complex) -> Complex:
    return m - y


def logistic(m: Complex, y: Complex) -> Complex:
    # Written so that nothing cancels on the far side: s (1 - y) - (1 - s) y.
    small = np.exp(-np.where(m.real >= 0, m, -m))
    near, far = 1 / (1 + small), small / (1 + small)
    s, t = np.where(m.real >= 0, near, far), np.where(m.real >= 0, far, near)
    return s * (1 - y) - t * y


def softmax(m: Complex, y: Complex) -> Complex:
    power = np.exp(m - m.real.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True) - y


def tweedie(power: float) -> Slope:
    return lambda m, y: np.exp((2 - power) * m) - y * np.exp((1 - power) * m)


def tweedie_identity(power: float) -> Slope:
    return lambda m, y: m**-power * (m - y)


@dataclass(frozen=True, eq=False)
class Column:
    """One column on its way through the steps: what it is for each of several inputs, and which levels it has."""

    values: NDArray[Any]
    """Shape (inputs,)."""
    levels: tuple[Any, ...] | None = None
    """Of a category that is not encoded yet; its values are then rows of numbers, one for each level."""


def push(step: Any, columns: list[Column]) -> list[Column]:
    """Return the columns after a fitted step."""
    if step is None or isinstance(step, str | FunctionTransformer):
        # Only steps that change nothing are drawn as text or functions.
        return columns
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            columns = push(inner, columns)
        return columns
    if isinstance(step, FeatureUnion):
        weights = step.transformer_weights or {}
        return [
            Column(column.values * weights.get(name, 1.0))
            for name, inner in step.transformer_list
            for column in push(inner, columns)
        ]
    if isinstance(step, ColumnTransformer):
        weights, found = step.transformer_weights or {}, []
        names = list(getattr(step, "feature_names_in_", range(step.n_features_in_)))
        for name, inner, chosen in step.transformers_:
            if not (isinstance(inner, str) and inner == "drop"):
                taken = [columns[names.index(c) if isinstance(c, str) else int(c)] for c in chosen]
                factor = weights.get(name, 1.0)
                found += [c if c.levels else Column(c.values * factor) for c in push(inner, taken)]
        return found
    if isinstance(step, OneHotEncoder):
        return [
            Column(column.values @ coded) for i, column in enumerate(columns) for coded in _codes(step, columns, i).T
        ]
    if isinstance(step, SimpleImputer):
        # Which cells are missing does not move with anybody's value.
        marks = step.indicator_.features_ if step.add_indicator else ()
        return [*columns, *(Column(0 * columns[0].values) for _ in marks)]
    if hasattr(step, "get_support"):
        return [columns[i] for i in step.get_support(indices=True)]
    return [Column(values) for values in _arithmetic(step, np.array([c.values for c in columns]).T).T]


def _codes(encoder: OneHotEncoder, columns: list[Column], at: int) -> NDArray[Any]:
    """Return what each level of one column becomes, by asking the encoder."""
    levels = columns[at].levels
    assert levels is not None
    rows = np.empty((len(levels), len(columns)), dtype=object)
    for i, column in enumerate(columns):
        assert column.levels is not None
        rows[:, i] = levels if i == at else column.levels[0]
    if hasattr(encoder, "feature_names_in_"):
        import pandas as pd

        rows = pd.DataFrame(rows, columns=encoder.feature_names_in_)
    coded = encoder.transform(rows)
    dense = coded.toarray() if sparse.issparse(coded) else np.asarray(coded)
    named = list(getattr(encoder, "feature_names_in_", [f"x{i}" for i in range(len(columns))]))
    mine = [i for i, name in enumerate(encoder.get_feature_names_out()) if str(name).startswith(f"{named[at]}_")]
    return np.asarray(dense[:, mine])


def _arithmetic(step: Any, x: NDArray[Any]) -> NDArray[Any]:
    if isinstance(step, StandardScaler):
        x = x - step.mean_ if step.with_mean else x
        return x / step.scale_ if step.with_std else x
    if isinstance(step, MinMaxScaler):
        low, high = step.feature_range
        span = np.where(step.data_range_ == 0, 1, step.data_range_)
        return (x - step.data_min_) / span * (high - low) + low
    if isinstance(step, RobustScaler):
        return (x - step.center_) / step.scale_
    if isinstance(step, MaxAbsScaler):
        return x / step.scale_
    if isinstance(step, PCA):
        turned = (x - step.mean_) @ step.components_.T
        # The floor is scikit-learn's own, for components without variance.
        scale = np.maximum(np.sqrt(step.explained_variance_), np.finfo(np.float64).eps)
        return turned / scale if step.whiten else turned
    if isinstance(step, TruncatedSVD):
        return x @ step.components_.T
    raise NotImplementedError(type(step).__name__)


def least_norm(
    features: Numbers, penalty: Numbers, matrix: Numbers, coordinates: tuple[tuple[str, int], ...], intercept: bool
) -> tuple[Numbers, Numbers, tuple[tuple[str, int], ...]]:
    """Return what decides between parameters that fit equally well, and the moves that leave that undecided.

    The solution of least norm is the limit of ever smaller penalties. Where columns are tied (the levels of a category
    add up to one), only values that keep the tie have a derivative.
    """
    scale = np.maximum(np.abs(features).max(axis=0), 1e-300)
    ties = null_space(np.asarray(features / scale, dtype=np.float64), rcond=1e-11) / np.asarray(scale)[:, None]
    if not ties.shape[1]:
        return penalty, matrix, coordinates
    tiny = np.full_like(penalty, 1e-8 * (features**2).sum(axis=0).min())
    if intercept:
        tiny[-1] = 0
    columns, kept = [], []
    for name in dict.fromkeys(name for name, _ in coordinates):
        mine = np.asarray(matrix[:, [other == name for other, _ in coordinates]], dtype=np.float64)
        length = np.linalg.norm(mine, axis=0)
        free = null_space(ties.T @ mine / length / np.linalg.norm(ties), rcond=1e-9) / length[:, None]
        axes = np.linalg.qr(free)[0]
        columns.append(mine @ axes)
        kept += [(name, i) for i in range(axes.shape[1])]
    return tiny, np.column_stack(columns).astype(np.longdouble), tuple(kept)


def solve(matrix: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the solution of linear equations in the precision of the input: LAPACK has no 80-bit numbers."""
    scale = 1 / np.sqrt(np.abs(matrix.diagonal()))
    scale[~np.isfinite(scale)] = 1
    a, b = matrix * scale[:, None] * scale, right * scale[:, None]
    size = len(a)
    for k in range(size):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
        factor = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= factor[:, None] * a[k, k:]
        b[k + 1 :] -= factor[:, None] * b[k]
    for k in range(size - 1, -1, -1):
        b[k] = (b[k] - a[k, k + 1 :] @ b[k + 1 :]) / a[k, k]
    return b * scale[:, None]


@dataclass(frozen=True, eq=False)
class Objective:
    """sum_i w_i loss(x_i theta, y_i) + 1/2 sum P theta^2, by the slope of its loss."""

    slope: Slope
    features: Numbers
    """Shape (n, p), the constant included."""
    labels: Numbers
    """Shape (n, outputs)."""
    weights: Numbers
    penalty: Numbers
    """Shape (p, outputs)."""
    shared: bool = False
    """Whether adding the same to all outputs changes nothing."""

    def row_gradients(self, theta: NDArray[Any], features: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
        """Return each row's gradient, output by output, shape (n, outputs * p)."""
        margins = (features @ theta).astype(np.clongdouble)
        slope = self.slope(margins, labels.astype(np.clongdouble)) * self.weights[:, None]
        return (slope[:, :, None] * features[:, None, :]).reshape(len(features), -1)

    def gradient(self, theta: Numbers) -> Numbers:
        total = self.row_gradients(theta, self.features, self.labels).real.sum(axis=0)
        return total + (self.penalty * theta).T.ravel()

    def hessian(self, theta: Numbers) -> Numbers:
        p, outputs = theta.shape
        found = np.empty((p * outputs, p * outputs), dtype=np.longdouble)
        for j in range(p * outputs):
            moved = theta.astype(np.clongdouble)
            moved[j % p, j // p] += 1j * _STEP
            found[:, j] = self.row_gradients(moved, self.features, self.labels).imag.sum(axis=0) / _STEP
        return found + np.diag(self.penalty.T.ravel())

    def solve(self, hessian: Numbers, right: Numbers, p: int) -> Numbers:
        """Solve with the Hessian; what all outputs share is left at zero."""
        if not self.shared:
            return solve(hessian, right)
        outputs = len(hessian) // p
        scale = hessian.diagonal().reshape(outputs, p).max(axis=0)
        pinned = hessian + np.kron(np.ones((outputs, outputs)), np.diag(scale))
        found = solve(pinned, right).reshape(outputs, p, -1)
        return (found - found.mean(axis=0)).reshape(outputs * p, -1)

    def minimizer(self, start: NDArray[Any], steps: int = 60) -> Numbers:
        """Return where the gradient vanishes, by Newton's method."""
        theta = start.astype(np.longdouble)
        if self.shared:
            theta = theta - theta.mean(axis=1, keepdims=True)
        p, outputs = theta.shape
        for _ in range(steps):
            step = self.solve(self.hessian(theta), self.gradient(theta)[:, None], p)
            theta = theta - step.reshape(outputs, p).T
            if np.abs(step).max() <= 1e-17 * np.abs(theta).max():
                break
        return theta


@dataclass(frozen=True, eq=False)
class Expected:
    """The answers for one setting, from dense Jacobians of every person."""

    objective: Objective
    start: NDArray[Any]
    map: Numbers
    """T, shape (p, k), a zero row for the constant."""
    coordinates: tuple[tuple[str, int], ...]
    """Of each column of T: the attribute, and which of its coordinates."""
    attributes: tuple[str, ...]
    """Those that are private, without the label."""
    directions: NDArray[Any] | None
    """How a label may move, one row a direction; None if it is public."""
    whitening: NDArray[Any]
    """Of the published parameters, output by output."""
    known: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    """Who has a value of an attribute, where not everybody has."""

    @cached_property
    def theta(self) -> Numbers:
        return self.objective.minimizer(self.start)

    @property
    def is_sure(self) -> bool:
        """Whether 80 bits are enough: twelve columns far from zero, of five people, leave these equations no digits."""
        hessian = np.asarray(self.objective.hessian(self.theta), dtype=np.float64)
        scale = 1 / np.sqrt(np.maximum(np.abs(hessian.diagonal()), 1e-300))
        return bool(self.objective.shared or np.linalg.cond(hessian * scale[:, None] * scale) < _MOST_CONDITION)

    @cached_property
    def jacobians(self) -> tuple[NDArray[Any], list[str]]:
        """Each person's Jacobian in noise units, shape (n, parameters, values), and which attribute a value is of."""
        objective, theta = self.objective, self.theta
        moved, names = [], []
        for j, (name, _) in enumerate(self.coordinates):
            if name in self.attributes:
                features = objective.features + 1j * _STEP * self.map[:, j]
                part = objective.row_gradients(theta, features, objective.labels).imag / _STEP
                moved.append(np.where(self.known[name][:, None], part, 0) if name in self.known else part)
                names.append(name)
        for direction in () if self.directions is None else self.directions:
            labels = objective.labels + 1j * _STEP * direction
            moved.append(objective.row_gradients(theta, objective.features, labels).imag / _STEP)
            names.append("label")
        n, size = len(objective.labels), theta.size
        right = np.array(moved).reshape(-1, size).T
        found = -objective.solve(objective.hessian(theta), right, len(theta)).reshape(size, len(names), n)
        return np.einsum("ab,bvn->nav", self.whitening, np.asarray(found, dtype=np.float64)), names

    @property
    def values(self) -> NDArray[Any]:
        """How many private values each person has; a private attribute that the model never sees is one."""
        n = len(self.objective.labels)
        total = np.full(n, 0 if self.directions is None else len(self.directions))
        for name in self.attributes:
            size = max(sum(name == other for other, _ in self.coordinates), 1)
            total += np.where(self.known.get(name, np.ones(n, dtype=bool)), size, 0)
        return total

    def of(self, attribute: str | None) -> NDArray[Any]:
        """Return the Jacobians of all values, or of one attribute alone."""
        moved, names = self.jacobians
        return moved if attribute is None else moved[:, :, [name == attribute for name in names]]

    def eta(self, attribute: str | None = None) -> NDArray[Any]:
        found = top(self.of(attribute))
        has = self.values > 0 if attribute is None else self.known.get(attribute, True)
        return np.where(has, found, np.nan)

    def dfil(self) -> NDArray[Any]:
        total = (self.of(None) ** 2).sum(axis=(1, 2))
        return np.sqrt(np.divide(total, self.values, out=np.full(len(total), np.nan), where=self.values > 0))

    def joint_information_loss(self, people: NDArray[np.bool_], attribute: str | None = None) -> float:
        moved = self.of(attribute)[people]
        return float(top(moved.transpose(1, 0, 2).reshape(1, moved.shape[1], -1))[0])

    @property
    def smallest_distance(self) -> float:
        """How far apart two releases may be by rounding in the parameters alone."""
        return float(1e-12 * np.linalg.norm(self.whitening @ np.asarray(self.theta, np.float64).T.ravel()))

    def distance(self, changed: Objective) -> float:
        """Return how far a refit of a changed objective is, in noise units."""
        moved = np.asarray(changed.minimizer(self.theta) - self.theta, dtype=np.float64)
        return float(np.linalg.norm(self.whitening @ moved.T.ravel()))

    def with_features(self, person: int, features: Numbers) -> Objective:
        changed = self.objective.features.copy()
        changed[person] = features
        return replace(self.objective, features=changed)


def top(matrices: NDArray[Any]) -> NDArray[Any]:
    """Return the largest singular value of each matrix."""
    if 0 in matrices.shape[1:]:
        return np.zeros(len(matrices))
    return np.asarray(np.linalg.norm(matrices, ord=2, axis=(1, 2)))
