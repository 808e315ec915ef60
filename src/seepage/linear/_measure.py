"""From a fitted scikit-learn model and its data to a `Leakage`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from seepage._errors import InputError
from seepage._noise import GaussianNoise, as_noise
from seepage._tables import People, Table, column_name, column_values
from seepage.leakage import Leakage
from seepage.linear._affine import Affine
from seepage.linear._estimators import Labels, Problem, check_supported, class_weight_of, labels_of, read
from seepage.linear._geometry import Geometry
from seepage.linear._information import LinearInformation
from seepage.linear._minimizer import Minimizer, minimize
from seepage.linear._rows import Batch, Reading, batch_rows, check_batch, check_values, stored
from seepage.linear._steps import through
from seepage.linear._sums import NewtonSums, newton_sums
from seepage.linear._threads import in_threads

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows that are in memory already, read a batch at a time."""

    table: Table
    labels: NDArray[Any]
    weights: Array | None
    reading: Reading
    batch_size: int

    @property
    def count(self) -> int:
        return len(self.table)

    def spans(self) -> list[slice]:
        return [slice(at, min(at + self.batch_size, self.count)) for at in range(0, self.count, self.batch_size)]

    def read(self, span: slice) -> Batch:
        weights = None if self.weights is None else self.weights[span]
        return self.reading.batch(self.table.rows(span.start, span.stop), self.labels[span], weights)

    def altered(self, span: slice, attribute: str | None, value: Any) -> Batch:
        weights = None if self.weights is None else self.weights[span]
        labels = self.labels[span]
        if attribute is None:
            # Class weights are public: they stay those of the true label.
            batch = self.read(span)
            return replace(batch, labels=self.reading.labels.encode(np.full(len(labels), value)))
        return self.reading.batch(self.table.rows_with(span.start, span.stop, attribute, value), labels, weights)

    def column(self, attribute: str | None) -> NDArray[Any]:
        return self.labels if attribute is None else self.table.column(attribute)


def measure(
    model: Any,
    X: Any,
    y: Any,
    *,
    noise_scale: float | GaussianNoise,
    sample_weight: ArrayLike | None = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    ids: Any = None,
) -> Leakage:
    """Measure what publishing a fitted linear model gives away about each person in its training data.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model of scikit-learn, alone or behind affine preprocessing.
    X : array, sparse matrix or data frame of shape (n, columns)
        The rows that it was fitted on.
    y : array-like of shape (n,) or (n, targets)
        The labels that it was fitted on.
    noise_scale : float or GaussianNoise
        The noise that is added to the published parameters (coefficients and intercept): a standard deviation, or a
        noise with a covariance.
    sample_weight : array-like of shape (n,), optional
        The weights that it was fitted with.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all that reach the model by default. The others are known to the attacker.
    ids : array-like of shape (n,), optional
        What to call the rows; a pandas index is kept by itself.

    Returns
    -------
    Leakage
        Exact, and in the units of the columns of `X`.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge(alpha=1.0).fit(X, y)
    >>> leak = seepage.measure(model, X, y, noise_scale=0.05)
    >>> leak
    Leakage(442 people, 11 private attributes, exact)
    >>> leak.error_floor()["age"].min() > 1
    np.True_
    """
    noise = as_noise(noise_scale)
    fit = Fit.of(model, X, y, sample_weight)
    minimizer = fit.minimize()
    names = fit.table.names
    columns = fit.private_columns(attributes)
    geometry = Geometry.of(fit.problem, minimizer, fit.affine, columns, noise, public_label)
    private = [names[column] for column in columns]
    categorical = {names[column] for column in columns if fit.affine.is_categorical(column)}
    if not public_label:
        label = _label_name(y, private)
        private.append(label)
        if fit.problem.labels.classes is not None:
            categorical.add(label)
    information = LinearInformation(
        rows=fit.rows,
        geometry=geometry,
        penalty=fit.problem.penalty,
        basis=fit.problem.basis,
        noise=noise,
        attribute_names=tuple(private),
        categorical=frozenset(categorical),
        assumptions=_assumptions(fit, noise, minimizer, private, public_label),
    )
    return Leakage(information, People.of(fit.table, ids))


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model with the rows it was fitted on, read into one notation."""

    problem: Problem
    affine: Affine
    table: Table
    rows: InMemory
    preprocessed: bool

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None) -> "Fit":
        """Check that model and data can belong together, and read them."""
        preprocess, estimator = _split(model)
        check_supported(estimator)
        table = Table.of(X, _fitted_columns(preprocess, estimator))
        labels = _labels(y, table)
        weights = _weights(sample_weight, table)
        affine = Affine.raw(len(table.names))
        if preprocess is not None:
            affine = through(preprocess, affine, "")
        if affine.features != np.atleast_2d(estimator.coef_).shape[1]:
            raise InputError(
                f"X has {len(table.names)} columns, which give {affine.features} features; the model was fitted on "
                f"{np.atleast_2d(estimator.coef_).shape[1]}."
            )
        coder = labels_of(estimator)
        class_weight = class_weight_of(estimator, *_class_counts(coder, labels, weights))
        reading = Reading(preprocess, coder, class_weight, bool(estimator.fit_intercept))
        rows = InMemory(table, labels, weights, reading, batch_rows(affine.features))
        total = _total_weight(rows)
        problem = read(estimator, coder, class_weight, total, len(table))
        return cls(problem, affine, table, rows, preprocess is not None)

    def minimize(self) -> Minimizer:
        """Return the exact minimizer near the model, or refuse a model that was not fitted on these rows."""
        features = feature_names(self.affine, self.table.names)
        names = (*features, "(intercept)") if self.problem.intercept else features
        if self.preprocessed:
            _check_raw(self.table)
        checked = False

        def evaluate(parameters: Array) -> NewtonSums:
            nonlocal checked

            def part(span: slice) -> NewtonSums:
                batch = self.rows.read(span)
                if not checked:
                    check_batch(batch, span.start, features)
                with np.errstate(over="ignore", invalid="ignore"):
                    return newton_sums(batch, self.problem.loss, parameters)

            sums = reduce(add, in_threads(part, self.rows.spans()))
            checked = True
            return sums

        return minimize(self.problem, evaluate, names)

    def private_columns(self, attributes: Sequence[str] | None) -> list[int]:
        """Return the raw columns that are private."""
        if attributes is None:
            return sorted({coordinate.column for coordinate in self.affine.coordinates})
        if isinstance(attributes, str):
            raise InputError(f"attributes must be a list of column names; write attributes=[{attributes!r}].")
        missing = [name for name in attributes if name not in self.table.names]
        if missing:
            raise InputError(f"attributes names {missing[0]!r}, which is no column of X: {list(self.table.names)}.")
        return [self.table.names.index(name) for name in dict.fromkeys(attributes)]


def _split(model: Any) -> tuple[Any, Any]:
    if not isinstance(model, Pipeline):
        return None, model
    before = model[:-1]
    return (before if len(before.steps) else None), model[-1]


def _fitted_columns(preprocess: Any, estimator: Any) -> list[str] | None:
    first = estimator if preprocess is None else preprocess
    try:
        names = first.feature_names_in_
    except AttributeError:
        return None
    return [str(name) for name in names]


def _labels(y: Any, table: Table) -> NDArray[Any]:
    labels = column_values(y)
    if labels.dtype == object and labels.ndim == 1:
        labels = np.array(labels.tolist())
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if len(table) == 0:
        raise InputError("X has no rows: nobody's leakage can be measured.")
    if labels.ndim not in (1, 2) or len(labels) != len(table):
        raise InputError(f"X has {len(table)} rows and y has shape {labels.shape}: one label a row is needed.")
    return labels


def _weights(sample_weight: ArrayLike | None, table: Table) -> Array | None:
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(column_values(sample_weight), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numbers.") from None
    if weights.shape != (len(table),):
        raise InputError(
            f"sample_weight must have one entry for each of the {len(table)} rows, not shape {weights.shape}."
        )
    check_values(weights[:, None], weights, 0, ("sample_weight",), "sample_weight")
    if (weights < 0).any():
        raise InputError(f"sample_weight is negative in row {int(np.argmax(weights < 0))}.")
    return weights


def _class_counts(
    labels: Labels, values: NDArray[Any], weights: Array | None
) -> tuple[Array, Array] | tuple[None, None]:
    if labels.classes is None:
        return None, None
    index = labels.positions(values)
    counts = np.bincount(index, minlength=len(labels.classes)).astype(np.float64)
    if weights is None:
        return counts, counts
    return counts, np.bincount(index, weights, minlength=len(labels.classes)).astype(np.float64)


def _total_weight(rows: InMemory) -> float:
    factor = rows.reading.class_weight
    if factor is None:
        return float(rows.count if rows.weights is None else rows.weights.sum())
    each = factor[rows.reading.labels.positions(rows.labels)]
    return float(each.sum() if rows.weights is None else each @ rows.weights)


def _check_raw(table: Table) -> None:
    """Refuse missing and extreme raw values, which preprocessing could hide."""
    import narwhals as nw

    if not table.is_frame:
        if not np.issubdtype(table.native.dtype, np.number):
            return
        check_values(table.native, stored(table.native), 0, table.names, "X")
        return
    frame = nw.from_native(table.native, eager_only=True)
    for name in frame.columns:
        column = frame[name]
        if column.null_count():
            raise InputError(f"X has a missing value in column {str(name)!r}. Drop or fill it before fitting.")
        if column.dtype.is_numeric():
            values = np.asarray(column.to_numpy(), dtype=np.float64)
            check_values(values[:, None], values, 0, (str(name),), "X")


def feature_names(affine: Affine, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name each feature after the columns that it is made of."""
    found = []
    for feature in range(affine.features):
        reached = [affine.coordinates[i] for i in affine.matrix[[feature]].tocoo().coords[1]]
        if len(reached) == 1:
            column, level = reached[0]
            found.append(names[column] if level is None else f"{names[column]} (level {level})")
        else:
            found.append(f"feature {feature}")
    return tuple(found)


def _label_name(y: Any, taken: Sequence[str]) -> str:
    name = column_name(y, "label")
    return name if name not in taken else f"{name} (label)"


def _assumptions(
    fit: Fit, noise: GaussianNoise, minimizer: Minimizer, private: Sequence[str], public_label: bool
) -> tuple[str, ...]:
    kind = f"noise of scale {noise.scale:g}" if noise.scale is not None else "noise of the given covariance"
    label = "is known to the attacker" if public_label else "is private and counts as one of the values"
    sentences = [
        f"Only the parameters of this {fit.problem.estimator} are published, once, with Gaussian {kind}.",
        "The attacker knows all but one person's private values: every other record, the weights and the penalty.",
        "The bounds hold for unbiased guesses; an attacker with a prior can be nearer by guessing the prior.",
        f"The label {label}.",
    ]
    if fit.preprocessed:
        sentences.append("Preprocessing is public: its means, scales and levels are not part of what is measured.")
    if fit.problem.class_weight is not None:
        sentences.append("Class weights are public and do not move with a person's label.")
    public = [name for name in fit.table.names if name not in private]
    if public:
        sentences.append(f"Known to the attacker besides: {', '.join(public[:8])}{', ...' if len(public) > 8 else ''}.")
    sentences.append(
        f"The numbers hold at the exact minimizer; the model was {minimizer.distance:.1g} standard errors from it."
    )
    return tuple(sentences)
