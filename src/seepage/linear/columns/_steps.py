"""Preprocessing steps of scikit-learn as features of the raw columns.

`through(step, incoming, path)` continues features through one fitted step. To support another step, register one
function for its class; a smooth step is `incoming.bent(step.transform, path)`, and one whose constants are means and
deviations of the rows claims it (`Claim`), so that they are not taken as public:

    @through.register
    def _(step: MyScaler, incoming: Features, path: str) -> Features:
        return incoming.shifted(-step.center_).scaled(1 / step.width_)

    @through.register
    def _(step: MyWarp, incoming: Features, path: str) -> Features:
        return incoming.bent(step.transform, path)
"""
# mypy: disable-error-code="misc"

from collections.abc import Hashable
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
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

from seepage._python import Self
from seepage._tables import is_missing
from seepage.core import slope
from seepage.core.dual import SLOPES
from seepage.errors import UnsupportedError
from seepage.linear.columns._curve import PowerSlopes, SplineSlopes
from seepage.linear.columns._features import Claim, Features

Array = NDArray[np.float64]


class Recoded(TransformerMixin, BaseEstimator):
    """Multiplies features with a matrix that nobody's values are in, shape (what is made, features).

    It is another basis of the same splines, or a coding of levels.
    """

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def fit(self, X: Any, y: object = None) -> Self:
        """Return the step: there is nothing to learn."""
        return self

    def transform(self, X: Any) -> Array:
        """Return the sums."""
        return np.asarray(X, dtype=np.float64) @ self.matrix.T

    def __sklearn_is_fitted__(self) -> bool:
        return True


@singledispatch
def through(step: object, incoming: Features, path: str) -> Features:
    """Return the features after `step`, as a map of the raw columns.

    Parameters
    ----------
    step : object
        A fitted transformer.
    incoming : Features
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


def _not_affine(path: str, step: object, reason: str) -> UnsupportedError:
    name = type(step).__name__
    return UnsupportedError(
        f"The step {path!r} ({name}) cannot be measured through: {reason}. Way out: measure after it, on its output, "
        "with seepage.measure(model[-1], model[:-1].transform(X), y, ...); its attributes are the transformed columns."
    )


@through.register
def _(step: StandardScaler, incoming: Features, path: str) -> Features:
    if step.with_mean:
        incoming = incoming.shifted(-step.mean_)
    if step.with_std:
        incoming = incoming.scaled(1 / step.scale_)
    return incoming.claimed(Claim(path, centers=step.with_mean, scales=step.with_std))


@through.register
def _(step: MinMaxScaler, incoming: Features, path: str) -> Features:
    if step.clip:
        raise _not_affine(path, step, "clip=True cuts values off")
    return incoming.scaled(step.scale_).shifted(step.min_)


@through.register
def _(step: MaxAbsScaler, incoming: Features, path: str) -> Features:
    if getattr(step, "clip", False):
        raise _not_affine(path, step, "clip=True cuts values off")
    return incoming.scaled(1 / step.scale_)


@through.register
def _(step: RobustScaler, incoming: Features, path: str) -> Features:
    if step.with_centering:
        incoming = incoming.shifted(-step.center_)
    return incoming.scaled(1 / step.scale_) if step.with_scaling else incoming


@through.register
def _(step: PCA, incoming: Features, path: str) -> Features:
    turned = incoming.shifted(-step.mean_).mapped(step.components_)
    if step.whiten:
        # The floor on the scale is scikit-learn's own, for components without variance.
        scale = np.sqrt(step.explained_variance_)
        turned = turned.scaled(1 / np.maximum(scale, np.finfo(scale.dtype).eps))
    return turned


@through.register
def _(step: TruncatedSVD, incoming: Features, path: str) -> Features:
    return incoming.mapped(step.components_)


@through.register
def _(step: Recoded, incoming: Features, path: str) -> Features:
    return incoming.mapped(step.matrix)


@through.register
def _(step: SelectorMixin, incoming: Features, path: str) -> Features:
    return incoming.take(step.get_support(indices=True))


@through.register
def _(step: FunctionTransformer, incoming: Features, path: str) -> Features:
    if step.func is None:
        return incoming
    elementwise = isinstance(step.func, np.ufunc) and step.func.nin == step.func.nout == 1
    slopes = partial(_slopes_of, step.func) if step.func in SLOPES and elementwise else None
    return incoming.bent(step.transform, path, slopes, sparse.eye(incoming.count) if elementwise else None)


def _slopes_of(function: np.ufunc, inputs: Array) -> Array:
    return np.asarray(slope(function)(inputs))


@through.register
def _(step: PolynomialFeatures, incoming: Features, path: str) -> Features:
    return incoming.bent(step.transform, path, PowerSlopes(step.powers_), step.powers_ > 0)


@through.register
def _(step: PowerTransformer, incoming: Features, path: str) -> Features:
    return incoming.bent(step.transform, path, reach=sparse.eye(incoming.count))


@through.register
def _(step: SplineTransformer, incoming: Features, path: str) -> Features:
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
def _(
    step: QuantileTransformer | KBinsDiscretizer | Binarizer | OrdinalEncoder, incoming: Features, path: str
) -> Features:
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
def _(step: SimpleImputer, incoming: Features, path: str) -> Features:
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
def _(step: MissingIndicator, incoming: Features, path: str) -> Features:
    if not is_missing(step.missing_values):
        columns = _raw_columns(step, incoming, path, "looks for a number, which an earlier step may have changed")
        incoming = incoming.marked(columns, step.missing_values)
    return incoming.take([]).noticing(len(step.features_))


@through.register
def _(step: OneHotEncoder, incoming: Features, path: str) -> Features:
    columns = _raw_columns(step, incoming, path, "a one-hot encoder must come before any step that changes its columns")
    return incoming.encoded(columns, _levels(step))


def _raw_columns(step: object, incoming: Features, path: str, reason: str) -> list[int]:
    columns = [incoming.raw_column(feature) for feature in range(incoming.count)]
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
