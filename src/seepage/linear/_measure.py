"""From a fitted scikit-learn model and its data to a `Leakage`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from seepage._errors import InputError
from seepage._noise import GaussianNoise, as_noise
from seepage._tables import People, Table, column_name, column_values, plain
from seepage.engines import Engine, Local
from seepage.leakage import Leakage
from seepage.linear._affine import Affine
from seepage.linear._estimators import Labels, Problem, check_supported, class_weight_of, labels_of, read
from seepage.linear._geometry import Geometry
from seepage.linear._information import LinearInformation
from seepage.linear._minimizer import Minimizer, minimize
from seepage.linear._passes import OnEngine
from seepage.linear._rows import InMemory, Reading, batch_rows
from seepage.linear._steps import through
from seepage.linear._sums import NewtonSums, newton_sums
from seepage.linear._weights import checked_weights
from seepage.linear._width import check_width
from seepage.linear.files._roles import Job, Roles, are_paths, refuse_in_memory

Array = NDArray[np.float64]


def measure(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    noise_scale: float | GaussianNoise,
    target: str | Sequence[str] | None = None,
    sample_weight: Any = None,
    public_label: bool = False,
    attributes: Sequence[str] | None = None,
    ids: Any = None,
    groups: str | None = None,
    engine: Engine | None = None,
    output: Any = None,
    resume: bool = False,
    filesystem: Any = None,
    progress: bool | None = None,
) -> Leakage:
    """Measure what publishing a fitted linear model gives away about each person in its training data.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted linear model of scikit-learn, alone or behind affine preprocessing.
    X : array, sparse matrix or data frame of shape (n, columns), or paths of Parquet files
        The rows that it was fitted on. A path may be a folder, a pattern (``people/*.parquet``) or a URI (``s3://...``).
    y : array-like of shape (n,) or (n, targets), optional
        The labels that it was fitted on; for files, give `target` instead.
    noise_scale : float or GaussianNoise
        The noise that is added to the published parameters (coefficients and intercept): a standard deviation, or a
        noise with a covariance.
    target : str or sequence of str, optional
        The column of the files that holds the labels.
    sample_weight : array-like of shape (n,), str or StoredWeights, optional
        The weights that it was fitted with; for files, the column that holds them, or the weights of an
        `EqualizedLeakage` over them.
    public_label : bool, default=False
        Whether the attacker knows the labels.
    attributes : sequence of str, optional
        The columns that are private; all that reach the model by default. The others are known to the attacker.
    ids : array-like of shape (n,) or str, optional
        What to call the rows; a pandas index is kept by itself. For files, the column that names them.
    groups : str, optional
        For files, the column of the groups that `by_group()` compares.
    engine : Engine, optional
        Who reads the rows: one of `seepage.engines`. This process for data in memory, `Local()` for files by default.
    output : path, optional
        For files, a new folder for the per-person results, one file for each unit of work. Without it only summaries
        can be asked for.
    resume : bool, default=False
        Whether to continue the unfinished job in `output`.
    filesystem : pyarrow.fs.FileSystem, optional
        Where the paths of `X` and `output` are, when a URI cannot say it.
    progress : bool, optional
        Whether to print how far files have been read and the time left; by default if standard error is a terminal.

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
    if are_paths(X):
        from seepage.linear.files._measure import measure_files

        roles = Roles.of(y, target=target, sample_weight=sample_weight, ids=ids, groups=groups)
        job = Job(engine or Local(), output, resume, filesystem, progress)
        return measure_files(model, X, roles, noise, public_label, attributes, job)
    refuse_in_memory(y, target=target, groups=groups, output=output, resume=resume, filesystem=filesystem)
    fit = Fit.of(model, X, y, sample_weight, engine)
    release = Release.of(fit, fit.minimize(), noise, attributes, column_name(y, "label"), public_label)
    information = LinearInformation(
        rows=fit.rows,
        geometry=release.geometry,
        penalty=fit.problem.penalty,
        basis=fit.problem.basis,
        noise=noise,
        attribute_names=release.attribute_names,
        categorical=release.categorical,
        assumptions=release.assumptions,
    )
    return Leakage(information, People.of(fit.table, ids))


@dataclass(frozen=True, eq=False)
class Release:
    """What is published about whom, and how it moves with their values."""

    geometry: Geometry
    attribute_names: tuple[str, ...]
    categorical: frozenset[str]
    assumptions: tuple[str, ...]

    @classmethod
    def of(
        cls,
        fit: "Fit",
        minimizer: Minimizer,
        noise: GaussianNoise,
        attributes: Sequence[str] | None,
        label: str,
        public_label: bool,
    ) -> "Release":
        """Return the release of a model's parameters with some noise."""
        names = fit.table.names
        columns = fit.private_columns(attributes)
        geometry = Geometry.of(fit.problem, minimizer, fit.affine, columns, noise, public_label)
        private = [names[column] for column in columns]
        categorical = {names[column] for column in columns if fit.affine.is_categorical(column)}
        if not public_label:
            private.append(label if label not in private else f"{label} (label)")
            if fit.problem.labels.classes is not None:
                categorical.add(private[-1])
        assumptions = _assumptions(fit, noise, minimizer, private, public_label)
        return cls(geometry, tuple(private), frozenset(categorical), assumptions)


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model with the rows it was fitted on, read into one notation."""

    problem: Problem
    affine: Affine
    table: Table
    rows: Any
    """Where its rows are: `InMemory`, `OnEngine` or `FileRows`."""
    preprocessed: bool

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any, engine: Engine | None = None) -> "Fit":
        """Check that model and data can belong together, and read them."""
        preprocess, estimator = split(model)
        check_supported(estimator)
        table = Table.of(X, fitted_columns(preprocess, estimator))
        labels = _labels(y, table)
        weights = checked_weights(sample_weight, len(table))
        affine = affine_of(preprocess, estimator, table.names)
        coder = labels_of(estimator)
        class_weight = class_weight_of(estimator, *_class_counts(coder, labels, weights))
        reading = Reading(preprocess, coder, class_weight, bool(estimator.fit_intercept))
        rows = InMemory(table, labels, weights, reading, batch_rows(affine.features))
        total = _total_weight(rows)
        problem = read(estimator, coder, class_weight, total, len(table))
        shared = rows if engine is None else OnEngine(rows, engine)
        return cls(problem, affine, table, shared, preprocess is not None)

    def minimize(self, *, start_is_fit: bool = True) -> Minimizer:
        """Return the exact minimizer near the model, or refuse a model that was not fitted on these rows."""
        features = feature_names(self.affine, self.table.names)
        names = (*features, "(intercept)") if self.problem.intercept else features
        checked = False

        def evaluate(parameters: Array) -> NewtonSums:
            nonlocal checked
            of = partial(newton_sums, loss=self.problem.loss, parameters=parameters)
            sums: NewtonSums = self.rows.total(of, None if checked else features)
            checked = True
            return sums

        return minimize(self.problem, evaluate, names, start_is_fit=start_is_fit)

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


def split(model: Any) -> tuple[Any, Any]:
    """Return the preprocessing, or None, and the estimator behind it."""
    if not isinstance(model, Pipeline):
        return None, model
    before = model[:-1]
    return (before if len(before.steps) else None), model[-1]


def fitted_columns(preprocess: Any, estimator: Any) -> list[str] | None:
    """Return the columns that a model was fitted on by name, if it was."""
    first = estimator if preprocess is None else preprocess
    try:
        names = first.feature_names_in_
    except AttributeError:
        return None
    return [str(name) for name in names]


def features_of(preprocess: Any, names: Sequence[str]) -> int:
    """Return how many features the raw columns become."""
    return _through(preprocess, names).features


def _through(preprocess: Any, names: Sequence[str]) -> Affine:
    affine = Affine.raw(len(names))
    return affine if preprocess is None else through(preprocess, affine, "")


def affine_of(preprocess: Any, estimator: Any, names: Sequence[str]) -> Affine:
    """Return the features as an affine map of the raw columns."""
    affine = _through(preprocess, names)
    expected = np.atleast_2d(estimator.coef_).shape[1]
    if affine.features != expected:
        raise InputError(
            f"X has {len(names)} columns, which give {affine.features} features; the model was fitted on {expected}."
        )
    check_width(np.size(estimator.coef_))
    return affine


def _labels(y: Any, table: Table) -> NDArray[Any]:
    labels = plain(column_values(y))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if len(table) == 0:
        raise InputError("X has no rows: nobody's leakage can be measured.")
    if labels.ndim not in (1, 2) or len(labels) != len(table):
        raise InputError(f"X has {len(table)} rows and y has shape {labels.shape}: one label a row is needed.")
    return labels


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
