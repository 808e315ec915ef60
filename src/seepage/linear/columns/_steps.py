"""Preprocessing steps of scikit-learn as maps of the raw columns.

`through(step, incoming, path)` continues a map through one fitted step. To support another step, register one function
for its class; a smooth step is `incoming.bent(step.transform, path)`, and one whose constants are means and
deviations of the rows claims it (`Claim`), so that they are not taken as public:

    @through.register
    def _(step: MyScaler, incoming: Affine, path: str) -> Affine:
        return incoming.shifted(-step.center_).scaled(1 / step.width_)

    @through.register
    def _(step: MyWarp, incoming: Affine, path: str) -> Affine:
        return incoming.bent(step.transform, path)
"""

from collections.abc import Hashable
from functools import partial, singledispatch

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from seepage._tables import is_missing
from seepage.core import slope
from seepage.core.dual import SLOPES
from seepage.errors import UnsupportedError
from seepage.linear.columns._affine import Affine
from seepage.linear.columns._claims import Claim
from seepage.linear.columns._curve import PowerSlopes, SplineSlopes
from seepage.linear.columns._recoded import Recoded

Array = NDArray[np.float64]


@singledispatch
def through(step: object, incoming: Affine, path: str) -> Affine:
    """Return the features after `step`, as a map of the raw columns.

    Parameters
    ----------
    step : object
        A fitted transformer.
    incoming : Affine
        The features before it.
    path : str
        Where the step stands, for error messages and claims.

    Notes
    -----
    What a step learned from rows is taken as public, unless it claims to have taken it from the rows at hand: see
    `Claim`.
    """
    if step == "passthrough":
        return incoming
    raise _not_affine(path, step, "it is neither known to be affine nor to have a derivative")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def is_called(step: object, path: str, name: str) -> bool:
    """Return whether a name is that of a step: all that lead to it, one of them, or its class in small letters."""
    return name in (path, *path.split("."), type(step).__name__.lower())


def learns(step: object) -> bool:
    """Return whether a step learned something from rows that could be told."""
    if isinstance(step, SimpleImputer):
        return bool(step.strategy != "constant")
    if isinstance(step, StandardScaler):
        return bool(step.with_mean or step.with_std)
    if isinstance(step, SplineTransformer):
        return isinstance(step.knots, str)
    if isinstance(step, OneHotEncoder):
        # Which levels are rare is a choice that the rows made, also among those that were listed.
        return isinstance(step.categories, str) or bool(step._infrequent_enabled)
    if hasattr(step, "stores_rows"):
        return bool(step.stores_rows)
    return not isinstance(step, FunctionTransformer | MissingIndicator | PolynomialFeatures | Recoded)


def _not_affine(path: str, step: object, reason: str) -> UnsupportedError:
    name = type(step).__name__
    return UnsupportedError(
        f"The step {path!r} ({name}) cannot be measured through: {reason}. Way out: measure after it, on its output, "
        "with seepage.measure(model[-1], model[:-1].transform(X), y, ...); its attributes are the transformed columns."
    )


@through.register
def _(step: Pipeline, incoming: Affine, path: str) -> Affine:
    for name, inner in step.steps:
        if inner is not None:
            incoming = through(inner, incoming, _below(path, name))
    return incoming


@through.register(FeatureUnion)
@through.register(ColumnTransformer)
def _(step: FeatureUnion | ColumnTransformer, incoming: Affine, path: str) -> Affine:
    parts = []
    for name, inner, columns in side_by_side(step):
        part = through(inner, incoming if columns is None else incoming.take(columns), _below(path, name))
        weight = (step.transformer_weights or {}).get(name, 1.0)
        parts.append(part if weight == 1.0 else part.scaled(weight))
    return Affine.stacked(parts)


def side_by_side(step: FeatureUnion | ColumnTransformer) -> list[tuple[str, object, NDArray[np.intp] | None]]:
    """Return the steps that another one holds side by side: their names, and their columns (None for all)."""
    if isinstance(step, FeatureUnion):
        return [(name, inner, None) for name, inner in step.transformer_list if not _is_dropped(inner)]
    held = [(name, inner, positions(columns, step)) for name, inner, columns in step.transformers_]
    return [(name, inner, at) for name, inner, at in held if len(at) and not _is_dropped(inner)]


def _is_dropped(step: object) -> bool:
    return isinstance(step, str) and step == "drop"


def positions(columns: slice | ArrayLike, step: ColumnTransformer) -> NDArray[np.intp]:
    """Return the places of columns that a ColumnTransformer names in any of its ways."""
    every = np.arange(step.n_features_in_)
    if isinstance(columns, str):
        columns = [columns]
    if isinstance(columns, slice) and isinstance(columns.start or columns.stop, str):
        names = list(step.feature_names_in_)
        start = names.index(columns.start) if columns.start is not None else 0
        stop = names.index(columns.stop) + 1 if columns.stop is not None else len(names)
        return every[start:stop]
    if isinstance(columns, slice):
        return every[columns]
    listed = np.atleast_1d(np.asarray(columns))
    if listed.size and listed.dtype.kind in "OUT":
        names = list(step.feature_names_in_)
        return np.array([names.index(str(column)) for column in listed], dtype=np.intp)
    return every[listed] if listed.size else every[:0]


@through.register
def _(step: StandardScaler, incoming: Affine, path: str) -> Affine:
    if step.with_mean:
        incoming = incoming.shifted(-step.mean_)
    if step.with_std:
        incoming = incoming.scaled(1 / step.scale_)
    return incoming.claimed(Claim(path, centers=step.with_mean, scales=step.with_std))


@through.register
def _(step: MinMaxScaler, incoming: Affine, path: str) -> Affine:
    if step.clip:
        raise _not_affine(path, step, "clip=True cuts values off")
    return incoming.scaled(step.scale_).shifted(step.min_)


@through.register
def _(step: MaxAbsScaler, incoming: Affine, path: str) -> Affine:
    if getattr(step, "clip", False):
        raise _not_affine(path, step, "clip=True cuts values off")
    return incoming.scaled(1 / step.scale_)


@through.register
def _(step: RobustScaler, incoming: Affine, path: str) -> Affine:
    if step.with_centering:
        incoming = incoming.shifted(-step.center_)
    return incoming.scaled(1 / step.scale_) if step.with_scaling else incoming


@through.register
def _(step: PCA, incoming: Affine, path: str) -> Affine:
    turned = incoming.shifted(-step.mean_).mapped(step.components_)
    if step.whiten:
        # The floor on the scale is scikit-learn's own, for components without variance.
        scale = np.sqrt(step.explained_variance_)
        turned = turned.scaled(1 / np.maximum(scale, np.finfo(scale.dtype).eps))
    return turned


@through.register
def _(step: TruncatedSVD, incoming: Affine, path: str) -> Affine:
    return incoming.mapped(step.components_)


@through.register
def _(step: Recoded, incoming: Affine, path: str) -> Affine:
    return incoming.mapped(step.matrix)


@through.register
def _(step: SelectorMixin, incoming: Affine, path: str) -> Affine:
    return incoming.take(step.get_support(indices=True))


@through.register
def _(step: FunctionTransformer, incoming: Affine, path: str) -> Affine:
    if step.func is None:
        return incoming
    elementwise = isinstance(step.func, np.ufunc) and step.func.nin == step.func.nout == 1
    slopes = partial(_slopes_of, step.func) if step.func in SLOPES and elementwise else None
    return incoming.bent(step.transform, path, slopes, sparse.eye(incoming.features) if elementwise else None)


def _slopes_of(function: np.ufunc, inputs: Array) -> Array:
    return np.asarray(slope(function)(inputs))


@through.register
def _(step: PolynomialFeatures, incoming: Affine, path: str) -> Affine:
    return incoming.bent(step.transform, path, PowerSlopes(step.powers_), step.powers_ > 0)


@through.register
def _(step: PowerTransformer, incoming: Affine, path: str) -> Affine:
    return incoming.bent(step.transform, path, reach=sparse.eye(incoming.features))


@through.register
def _(step: SplineTransformer, incoming: Affine, path: str) -> Affine:
    if step.degree == 0:
        raise _without_slope(path, step)
    knots = tuple(np.asarray(spline.t, dtype=np.float64) for spline in step.bsplines_)
    features = step.n_features_out_ // len(knots)
    coefficients = np.asarray(step.bsplines_[0].c, dtype=np.float64)[:, :features]
    slopes = SplineSlopes(knots, coefficients, step.degree, step.extrapolation)
    return incoming.bent(step.transform, path, slopes, np.repeat(np.eye(len(knots)), features, axis=0))


@through.register(QuantileTransformer)
@through.register(KBinsDiscretizer)
@through.register(Binarizer)
@through.register(OrdinalEncoder)
def _(step: QuantileTransformer | KBinsDiscretizer | Binarizer | OrdinalEncoder, incoming: Affine, path: str) -> Affine:
    raise _without_slope(path, step)


def _without_slope(path: str, step: object) -> UnsupportedError:
    what = "ranks" if isinstance(step, QuantileTransformer) else "bins or codes"
    return UnsupportedError(
        f"The step {path!r} ({type(step).__name__}) makes {what} of values: their derivative is zero almost everywhere,"
        " which would look like safety and is none. Way out: a smooth step (SplineTransformer) in its place; or make "
        "the bins before the pipeline, as a column of names, and encode it (OneHotEncoder): then it is a category, for "
        "which success_rate() and calibrate() refit exactly."
    )


@through.register
def _(step: SimpleImputer, incoming: Affine, path: str) -> Affine:
    # A cell that is filled in is nobody's value: whoever has one passes unchanged.
    if not is_missing(step.missing_values):
        columns = _raw_columns(step, incoming, path, "replaces a number, which an earlier step may have changed")
        incoming = incoming.marked(columns, step.missing_values)
    kept = [not is_missing(statistic) for statistic in np.asarray(step.statistics_).tolist()]
    filled = incoming if all(kept) or step.keep_empty_features else incoming.take(np.flatnonzero(kept))
    strategy = step.strategy
    filled = filled.claimed(Claim(path, fills=True, with_mean=strategy == "mean", with_constant=strategy == "constant"))
    return filled.noticing(len(step.indicator_.features_)) if step.add_indicator else filled


@through.register
def _(step: MissingIndicator, incoming: Affine, path: str) -> Affine:
    if not is_missing(step.missing_values):
        columns = _raw_columns(step, incoming, path, "looks for a number, which an earlier step may have changed")
        incoming = incoming.marked(columns, step.missing_values)
    return incoming.take([]).noticing(len(step.features_))


@through.register
def _(step: OneHotEncoder, incoming: Affine, path: str) -> Affine:
    columns = _raw_columns(step, incoming, path, "a one-hot encoder must come before any step that changes its columns")
    return incoming.encoded(columns, _levels(step))


def _raw_columns(step: object, incoming: Affine, path: str, reason: str) -> list[int]:
    columns = [incoming.raw_column(feature) for feature in range(incoming.features)]
    found = [column for column in columns if column is not None]
    if len(found) < len(columns):
        raise _not_affine(path, step, reason)
    return found


def _levels(step: OneHotEncoder) -> list[list[tuple[Hashable, ...]]]:
    """Return the values that each feature of each column stands for."""
    found = []
    rare = step.infrequent_categories_ if step._infrequent_enabled else [None] * len(step.categories_)
    dropped = [None] * len(step.categories_) if step.drop_idx_ is None else step.drop_idx_
    for categories, few, drop in zip(step.categories_, rare, dropped, strict=True):
        values = categories.tolist()
        together = [] if few is None else few.tolist()
        groups = [[value] for value in values if value not in together]
        if together:
            groups.append(together)
        if drop is not None:
            groups = [group for group in groups if values[int(drop)] not in group]
        found.append([tuple(value for value in group if not is_missing(value)) for group in groups])
    return found
