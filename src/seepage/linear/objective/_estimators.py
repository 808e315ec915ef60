"""What a fitted scikit-learn estimator minimized, in one notation.

Every supported estimator minimizes sum_i w_i loss(theta . x_i, y_i) + 1/2 sum_j P_j theta_j^2  (eq. 2.1). `read` finds
loss, P, how labels and class weights enter, and how near to the minimizer the solver promises to come.
"""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.utils.validation import check_is_fitted

from seepage._errors import InputError, UnsupportedError
from seepage._tables import Array
from seepage.linear.objective._losses import (
    Logistic,
    Loss,
    Separate,
    Softmax,
    Squared,
    Tweedie,
    TweedieIdentity,
    VectorLoss,
)
from seepage.linear.rows import Balance, Labels

Precision = Literal["direct", "iterative", "stochastic"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The objective that an estimator minimized, and the parameters it came to."""

    estimator: str
    loss: VectorLoss
    parameters: Array
    """theta, shape (p, outputs), the intercept last."""
    penalty: Array
    """P, shape (p, outputs)."""
    intercept: bool
    labels: Labels
    class_weight: Array | None
    """A factor for each class on the weight of its rows."""
    basis: Array
    """What is published is parameters @ basis.T, shape (published outputs, outputs)."""
    precision: Precision
    gradient_promise: float
    """The largest entry of the mean gradient that the solver's tolerance admits; 0 when it promises none."""
    residual_promise: float
    """The relative residual of least squares that the solver's tolerance admits; 0 when it promises none."""
    hint: str | None
    """What this estimator is known to do instead of minimizing, and the way out."""

    @property
    def size(self) -> int:
        """The number of coefficients of one output, with its intercept."""
        return int(self.parameters.shape[0])


@dataclass(frozen=True, eq=False)
class Objective:
    """What an estimator minimizes: a loss of each row's margin, and a penalty.

    Attributes
    ----------
    loss : Loss or VectorLoss
        Of one row, given its margin and its label; a loss of one margin is that of every output.
    penalty : float or array
        The factor on half of each squared coefficient, where the objective is a sum over the rows, not a mean.
    precision : {"direct", "iterative", "stochastic"}
        How near to the minimizer the solver comes.
    intercept_penalty : float
        The same factor for the intercept.
    margin_codes : (float, float)
        For a classifier, the numbers that its loss takes for "not this class" and "this class".
    gradient_promise : float
        The largest entry of the mean gradient that the solver's tolerance admits; 0 when it promises none.
    balanced_by_weight : bool
        Whether `class_weight="balanced"` goes by the weight of each class, not by its number of rows.
    """

    loss: VectorLoss
    penalty: float | Array
    precision: Precision = "iterative"
    intercept_penalty: float = 0.0
    margin_codes: tuple[float, float] = (0.0, 1.0)
    gradient_promise: float = 0.0
    balanced_by_weight: bool = False
    residual_promise: float = 0.0
    hint: str | None = None


@singledispatch
def reader(model: object, total_weight: float, count: int, outputs: int) -> Objective:
    """Return what a fitted estimator minimized; registering a class makes its estimators measurable.

    A class inherits no reader: what a subclass minimizes may be something else.

    Parameters
    ----------
    model : estimator
        Fitted: it has `coef_`, `intercept_` and `fit_intercept`, and `classes_` if it is a classifier.
    total_weight : float
        The sum of all row weights.
    count : int
        The number of rows.
    outputs : int
        How many rows `coef_` has.

    Examples
    --------
    >>> from seepage.linear import Objective, Squared, reader
    >>> from sklearn.linear_model import LinearRegression
    >>> class MeanRidge(LinearRegression):
    ...     "Minimizes the mean of squared errors over two, plus half of squared coefficients."
    >>> @reader.register
    ... def _(model: MeanRidge, total_weight, count, outputs):
    ...     return Objective(Squared(), penalty=total_weight)
    """
    known = ", ".join(supported_names())
    raise UnsupportedError(
        f"{type(model).__name__} cannot be measured exactly. Supported: {known}, alone or at the end of a Pipeline."
    )


@reader.register
def _(model: LinearRegression, total: float, count: int, outputs: int) -> Objective:
    _refuse_positive(model)
    # Only the direct solver for dense features tells a rank.
    direct = hasattr(model, "rank_") or not hasattr(model, "tol")
    promise = 0.0 if direct else float(model.tol)
    hint = None
    if getattr(model, "rank_", np.inf) < np.atleast_2d(model.coef_).shape[1]:
        hint = (
            f"it left out directions of the columns that are less than tol={model.tol:g} of the largest (its rank_ is "
            f"{model.rank_}): scale the columns (StandardScaler), or fit with a smaller tol"
        )
    return Objective(Squared(), 0.0, "direct" if direct else "iterative", residual_promise=promise, hint=hint)


@reader.register
def _(model: Ridge, total: float, count: int, outputs: int) -> Objective:
    _refuse_positive(model)
    alpha = np.asarray(model.alpha, dtype=np.float64)
    precision, promise = _ridge_precision(model)
    return Objective(Squared(), alpha, precision, residual_promise=promise)


@reader.register
def _(model: RidgeClassifier, total: float, count: int, outputs: int) -> Objective:
    _refuse_positive(model)
    precision, promise = _ridge_precision(model)
    return Objective(Squared(), float(model.alpha), precision, margin_codes=(-1.0, 1.0), residual_promise=promise)


def _ridge_precision(model: Ridge | RidgeClassifier) -> tuple[Precision, float]:
    """Return how near a ridge solver comes, and the relative residual that it stops at."""
    # "auto" is a solver only after fitting: conjugate gradients for sparse features, Cholesky's for others.
    solver = getattr(model, "solver_", model.solver)
    if solver in ("auto", "svd", "cholesky"):
        return "direct", 0.0
    if solver in ("lsqr", "sparse_cg"):
        return "iterative", float(model.tol)
    return ("iterative" if solver == "lbfgs" else "stochastic"), 0.0


@reader.register
def _(model: LogisticRegression, total: float, count: int, outputs: int) -> Objective:
    if not np.isfinite(model.C):
        strength = 0.0
    elif getattr(model, "penalty", None) in ("l1", "elasticnet") or (model.l1_ratio or 0) != 0:
        raise _bad_penalty(model, "l1_ratio=0")
    else:
        strength = 0.0 if getattr(model, "penalty", "l2") is None else 1.0 / float(model.C)
    loss: VectorLoss = Logistic() if outputs == 1 else Softmax(outputs)
    # liblinear appends a constant feature and penalizes its coefficient like any other.
    liblinear = model.solver == "liblinear"
    return Objective(
        loss,
        strength,
        "stochastic" if model.solver in ("sag", "saga") else "iterative",
        intercept_penalty=strength / float(model.intercept_scaling) ** 2 if liblinear else 0.0,
        gradient_promise=0.0 if liblinear or model.solver in ("sag", "saga") else float(model.tol),
        balanced_by_weight=True,
    )


@reader.register
def _(model: PoissonRegressor | GammaRegressor | TweedieRegressor, total: float, count: int, outputs: int) -> Objective:
    if isinstance(model, PoissonRegressor):
        power, link = 1.0, "log"
    elif isinstance(model, GammaRegressor):
        power, link = 2.0, "log"
    else:
        power = float(model.power)
        link = ("identity" if power <= 0 else "log") if model.link == "auto" else model.link
    loss: Loss = Tweedie(power) if link == "log" else Squared() if power == 0 else TweedieIdentity(power)
    # These objectives are means over the weights.
    return Objective(loss, float(model.alpha) * total, "iterative", gradient_promise=float(model.tol))


@reader.register
def _(model: SGDRegressor | SGDClassifier, total: float, count: int, outputs: int) -> Objective:
    allowed = {"squared_error": Squared(), "log_loss": Logistic()}
    if model.loss not in allowed:
        raise UnsupportedError(
            f"{type(model).__name__}(loss={model.loss!r}) has no continuous second derivative, so the information is "
            f"not defined everywhere. Losses that can be measured: {sorted(allowed)}."
        )
    if model.penalty not in ("l2", None):
        raise _bad_penalty(model, "penalty='l2' or penalty=None")
    if outputs > 1 and getattr(model, "class_weight", None) is not None:
        raise UnsupportedError(
            f"{type(model).__name__} with class_weight and more than two classes weights each one-versus-rest problem "
            "differently, which is not supported. Use LogisticRegression, or sample_weight."
        )
    strength = float(model.alpha) * count if model.penalty == "l2" else 0.0
    codes = (-1.0, 1.0) if model.loss == "squared_error" else (0.0, 1.0)
    return Objective(allowed[model.loss], strength, "stochastic", margin_codes=codes)


def supported_names() -> tuple[str, ...]:
    """Return the classes of models that can be measured."""
    return tuple(kind.__name__ for kind in reader.registry if kind is not object)


def _objective(model: BaseEstimator, total_weight: float, count: int, outputs: int) -> Objective:
    """Return what the reader of this very class says."""
    found = reader.registry.get(type(model), reader.registry[object])(model, total_weight, count, outputs)
    if outputs > 1 and isinstance(found.loss, Loss):
        # Several outputs that share nothing but the rows.
        return replace(found, loss=Separate(found.loss, outputs))
    return found


def check_known(model: BaseEstimator) -> None:
    """Refuse a model that cannot be measured."""
    if type(model) not in reader.registry:
        reader.registry[object](model, 1.0, 1, 1)


def check_supported(model: BaseEstimator) -> None:
    """Refuse a model that cannot be measured, or is not fitted yet, before anything reads the data."""
    check_known(model)
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise InputError(
            f"This {type(model).__name__} is not fitted yet. Fit it first; seepage measures a trained model."
        ) from None


def labels_of(model: BaseEstimator) -> Labels:
    """Return how a fitted model's labels become numbers."""
    outputs = np.atleast_2d(model.coef_).shape[0]
    if not hasattr(model, "classes_"):
        return Labels(None, None, outputs)
    if isinstance(model.classes_, list) or np.ndim(model.classes_) != 1 or _is_multilabel(model):
        raise UnsupportedError(
            f"{type(model).__name__} with several labels a row is not supported. Fit one model for each label, measure "
            "each, and add them up with seepage.compose."
        )
    found = _objective(model, 1.0, 1, outputs)
    low, high = found.margin_codes
    if outputs == 1:
        codes = np.array([[low], [high]])
    else:
        codes = np.where(np.eye(outputs, dtype=bool), high, low)
        if isinstance(found.loss, Softmax):
            codes = codes @ found.loss.basis
    return Labels(np.asarray(model.classes_), codes, codes.shape[1])


def _is_multilabel(model: BaseEstimator) -> bool:
    binarizer = getattr(model, "_label_binarizer", None)
    return binarizer is not None and str(binarizer.y_type_).startswith("multilabel")


def class_weight_of(model: BaseEstimator, counts: Array | None, weighted: Array | None) -> Array | None:
    """Return the factor of each class.

    Parameters
    ----------
    model : estimator
        The fitted model.
    counts, weighted : ndarray
        The number of rows of each class, and the sum of their sample weights.
    """
    setting = getattr(model, "class_weight", None)
    if setting is None or counts is None or weighted is None:
        return None
    balance = balance_of(model, counts, weighted)
    if balance is not None:
        if not (balance.sizes > 0).all():
            empty = np.asarray(model.classes_).tolist()[int(np.argmin(balance.sizes))]
            raise InputError(
                f"class_weight='balanced' divides by the weight of each class, and that of {empty!r} is zero. Drop its "
                "rows, or give it a weight, and fit again."
            )
        return np.asarray(balance.sizes.sum() / (len(balance.sizes) * balance.sizes))
    return np.array([float(setting.get(label, 1.0)) for label in np.asarray(model.classes_).tolist()])


def balance_of(model: BaseEstimator, counts: Array | None, weighted: Array | None) -> Balance | None:
    """Return what a model's class weights are balanced by, if they are; arguments as of `class_weight_of`."""
    if counts is None or weighted is None or not isinstance(getattr(model, "class_weight", None), str):
        return None
    by_weight = _objective(model, 1.0, 1, len(np.atleast_2d(model.coef_))).balanced_by_weight
    return Balance(weighted if by_weight else counts, by_weight)


def read(model: BaseEstimator, labels: Labels, class_weight: Array | None, total_weight: float, count: int) -> Problem:
    """Return what a fitted estimator minimized.

    Parameters
    ----------
    model : estimator
        The fitted model.
    labels : Labels
        How its labels become numbers.
    class_weight : ndarray or None
        The factor of each class.
    total_weight : float
        The sum of all row weights.
    count : int
        The number of rows.
    """
    single = np.asarray(model.coef_).dtype == np.float32
    coefficients = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    found = _objective(model, total_weight, count, coefficients.shape[0])
    parameters = coefficients.T
    penalty = np.broadcast_to(np.asarray(found.penalty, dtype=np.float64), parameters.shape)
    if model.fit_intercept:
        last = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (1, parameters.shape[1]))
        parameters = np.vstack([parameters, last])
        penalty = np.vstack([penalty, np.full((1, penalty.shape[1]), found.intercept_penalty)])
    basis = np.eye(parameters.shape[1])
    if isinstance(found.loss, Softmax):
        basis = found.loss.basis
        # Dropping what all classes share changes no probability; the solver's own minimizer has none of it.
        parameters = parameters @ basis
        penalty = penalty[:, :1] * np.ones((1, basis.shape[1]))
    return Problem(
        estimator=type(model).__name__,
        loss=found.loss,
        parameters=parameters,
        penalty=np.array(penalty),
        intercept=bool(model.fit_intercept),
        labels=labels,
        class_weight=class_weight,
        basis=basis,
        # Single precision loses digits that a direct solver would have kept.
        precision="iterative" if found.precision == "direct" and single else found.precision,
        gradient_promise=found.gradient_promise,
        residual_promise=found.residual_promise,
        hint=found.hint,
    )


def _refuse_positive(model: BaseEstimator) -> None:
    if model.positive:
        raise UnsupportedError(
            f"{type(model).__name__}(positive=True) has a constrained minimizer, where coefficients at zero do not "
            "move with the data; this is not supported. Fit with positive=False."
        )


def _bad_penalty(model: BaseEstimator, way_out: str) -> UnsupportedError:
    return UnsupportedError(
        f"{type(model).__name__} was fitted with a penalty that is not plain L2, so its minimizer is not a smooth "
        f"function of the data. Fit it with {way_out}."
    )
