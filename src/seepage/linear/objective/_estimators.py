"""What a fitted scikit-learn estimator minimized, in one notation.

Every supported estimator minimizes sum_i w_i loss(theta . x_i, y_i) + 1/2 sum_j P_j theta_j^2 + sum_j L_j |theta_j|
(eqs. 2.1 and 2.25). `read` finds loss, P, L, how labels and class weights enter, and how near to the minimizer the
solver promises to come.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch
from os import PathLike
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LassoLars,
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

from seepage._tables import Array
from seepage.errors import InputError, UnsupportedError
from seepage.linear.objective._glm import GLM
from seepage.linear.objective._likelihoods import VARIANCE_POWERS, Likelihood, NegativeBinomial
from seepage.linear.objective._losses import Logistic, Loss, Softmax, Squared
from seepage.linear.objective._minimizer import Precision, Problem
from seepage.linear.rows import Balance, Labels


@dataclass(frozen=True, eq=False)
class Objective:
    """What an estimator minimizes: a loss of each row's margin, and a penalty.

    Attributes
    ----------
    loss : Loss
        Of one row, given its margin and its label; a loss of one margin is that of every output.
    penalty : float or array
        The factor on half of each squared coefficient, where the objective is a sum over the rows, not a mean.
    precision : {"direct", "iterative", "stochastic"}
        How near to the minimizer the solver comes.
    intercept_penalty : float
        The same factor for the intercept.
    absolute, intercept_absolute : float
        The factor on the absolute value of each coefficient (L1), and of the intercept.
    margin_codes : (float, float)
        For a classifier, the numbers that its loss takes for "not this class" and "this class".
    gradient_promise : float
        The largest entry of the mean gradient that the solver's tolerance admits; 0 when it promises none.
    balanced_by_weight : bool
        Whether `class_weight="balanced"` goes by the weight of each class, not by its number of rows.
    residual_promise : float
        The relative residual of least squares that the solver's tolerance admits; 0 when it promises none.
    hint : str, optional
        What this estimator is known to do instead of minimizing, and the way out.
    beside : dict
        What is fitted beside the coefficients of one output and is the same for all rows, by name; the loss has one
        more margin for each, in this order. They are published too, unless `published` leaves them out.
    """

    loss: Loss
    penalty: float | Array
    precision: Precision = "iterative"
    intercept_penalty: float = 0.0
    absolute: float = 0.0
    intercept_absolute: float = 0.0
    margin_codes: tuple[float, float] = (0.0, 1.0)
    gradient_promise: float = 0.0
    balanced_by_weight: bool = False
    residual_promise: float = 0.0
    hint: str | None = None
    beside: Mapping[str, float] = field(default_factory=dict)


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
    name, known = type(model).__name__, ", ".join(supported_names())
    if name in _ELSEWHERE:
        raise UnsupportedError(f"This is not done with a {name}. {_ELSEWHERE[name]}")
    raise UnsupportedError(
        f"{name} cannot be measured exactly. Supported: {known}, alone or at the end of a Pipeline.{_nearest(model)}"
    )


# What is measured, and not by everything.
_ELSEWHERE = {
    **dict.fromkeys(
        ("Cox", "CoxPHFitter", "CoxPHSurvivalAnalysis", "PHReg", "PHRegResultsWrapper"),
        "Cox models are measured in memory, by seepage.measure, and published by seepage.publish.",
    ),
    "ModelTable": "A table is measured by seepage.measure and published by seepage.publish; for anything else it is a "
    "model with rows: found = table.on(people), with found.model, found.X, found.y, found.sample_weight and "
    "found.offset.",
}
# What stands in for models that are no smooth function of their data, by a part of their class's name.
_NEAREST = {
    ("Forest", "Boost", "XGB", "LGBM", "Tree"): "Trees are measured without noise: seepage.measure(forest, X, y).",
    ("AFT", "Survival", "Weibull"): "Of survival models, Cox's proportional hazards are measured (CoxPHFitter).",
    ("GAM",): "Nearest: SplineTransformer before a linear model with a penalty, which is an additive model.",
    ("LassoLarsIC",): "It stops where a coefficient leaves zero or comes to it: at a kink, where the model has no "
    "derivative. Nearest: LassoLarsCV, or Lasso with a penalty of your own.",
    ("Lasso", "ElasticNet"): "Nearest: Lasso or ElasticNet, one model for each target.",
    ("SVC", "SVR"): "Nearest: LogisticRegression, or Ridge.",
    ("MLP", "Sequential", "Module"): "Networks are measured while they are trained with noise: seepage.network.",
    ("KNeighbors", "RadiusNeighbors"): "Neighbors are the records themselves, and nothing of them should be published. "
    "Nearest: splines before a linear model (SplineTransformer).",
    ("GaussianProcess", "KernelRidge"): "It holds the records themselves, and nothing of them should be published. "
    "Nearest: splines before Ridge (SplineTransformer).",
    ("NB", "Discriminant", "Perceptron", "PassiveAggressive"): "Nearest: LogisticRegression.",
    ("Huber", "Quantile", "TheilSen", "RANSAC", "BayesianRidge", "ARD", "Lars", "Pursuit"): "Nearest: Ridge.",
    ("Mixed", "Lmer"): "Nearest: linear or logistic regression, with ids= for people with several rows.",
    ("Bagging", "Voting", "Stacking", "Calibrated", "OneVs", "Multi", "Chain"): "It is made of other models. Measure "
    "each of those that would be published, and add them up with seepage.compose.",
}


def _nearest(model: object) -> str:
    """Return what comes nearest to a model that cannot be measured, if it is a well-known one."""
    name = type(model).__name__
    if isinstance(model, type):
        return f" {model.__name__} is a class: make a model of it, and fit that."
    if isinstance(model, str | bytes | PathLike):
        return (
            " Read the model first: skops.io.load(path), or seepage.models.ModelTable.read(path) for a table in TOML. "
            "Pickles run code when they are opened."
        )
    if any(kind.__module__.startswith("torch.") for kind in type(model).__mro__):
        name = "Module"
    if type(model).__module__.startswith("statsmodels."):
        if not hasattr(model, "params"):
            return f" This {name} is not fitted: pass what its fit() returns."
        return (
            " Results of statsmodels are measured by seepage.measure(results, noise_scale=...) alone; for anything "
            "else fit seepage.models.GLM with the same family and link."
        )
    return next((f" {told}" for parts, told in _NEAREST.items() if any(part in name for part in parts)), "")


@reader.register
def _(model: LinearRegression, total: float, count: int, outputs: int) -> Objective:
    _refuse_positive(model)
    # Only the direct solver for dense features tells a rank.
    direct = hasattr(model, "rank_") or not hasattr(model, "tol")
    promise = 0.0 if direct else float(model.tol)
    hint = None
    if getattr(model, "rank_", np.inf) < np.atleast_2d(model.coef_).shape[1]:
        hint = (
            f"it left out directions of the columns that are too small beside the largest (its rank_ is "
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
    strength, share = 1.0 / float(model.C), _share_of_absolute(model)
    if getattr(model, "penalty", "l2") is None:
        strength = 0.0
    loss: Loss = Logistic() if outputs == 1 else Softmax(outputs)
    # liblinear appends a constant feature and penalizes its coefficient like any other.
    liblinear, scaling = model.solver == "liblinear", float(model.intercept_scaling)
    return Objective(
        loss,
        strength * (1 - share),
        "stochastic" if model.solver in ("sag", "saga") else "iterative",
        intercept_penalty=strength * (1 - share) / scaling**2 if liblinear else 0.0,
        absolute=strength * share,
        intercept_absolute=strength * share / scaling if liblinear else 0.0,
        gradient_promise=0.0 if liblinear or model.solver in ("sag", "saga") else float(model.tol),
        balanced_by_weight=True,
    )


def _share_of_absolute(model: LogisticRegression) -> float:
    """Return how much of a penalty is on absolute values, from 0 to 1."""
    # Versions before 1.8 name the kind, and take the share of an elastic net only.
    kind = getattr(model, "penalty", "deprecated")
    if kind in ("l2", None):
        return 0.0
    return 1.0 if kind == "l1" else float(model.l1_ratio or 0.0)


@reader.register(Lasso)
@reader.register(ElasticNet)
def _(model: Lasso | ElasticNet, total: float, count: int, outputs: int) -> Objective:
    _refuse_positive(model)
    # These objectives are means over the weights.
    strength, share = float(model.alpha) * total, float(model.l1_ratio)
    return Objective(
        Squared(),
        strength * (1 - share),
        "iterative",
        absolute=strength * share,
        # They stop when no coefficient moves by more than a share `tol` of the largest. By how much the objective is
        # above its minimum then is of the order of its square, and more where columns are alike.
        residual_promise=100 * float(model.tol) ** 2,
    )


@reader.register
def _(model: LassoLars, total: float, count: int, outputs: int) -> Objective:
    _refuse_positive(model)
    alpha, hint = float(model.alpha), None
    reached = np.min(getattr(model, "alphas_", alpha))
    if model.jitter is not None:
        hint = f"jitter={model.jitter!r} fitted it to other labels than these: fit it with jitter=None"
    elif reached > alpha * (1 + 1e-9):
        hint = f"its path ended at alpha={reached:.3g}: fit it with a larger max_iter, or fit Lasso"
    # The same objective as Lasso's; the path comes to its minimizer but for rounding.
    return Objective(Squared(), 0.0, "direct", absolute=alpha * total, hint=hint)


@reader.register(PoissonRegressor)
@reader.register(GammaRegressor)
@reader.register(TweedieRegressor)
def _(model: PoissonRegressor | GammaRegressor | TweedieRegressor, total: float, count: int, outputs: int) -> Objective:
    if isinstance(model, TweedieRegressor):
        power = float(model.power)
        link = ("identity" if power <= 0 else "log") if model.link == "auto" else model.link
        squared = power == 0 and link == "identity"
        loss: Loss = Squared() if squared else Likelihood("tweedie", link, parameter=power)
    else:
        loss = Likelihood("poisson" if isinstance(model, PoissonRegressor) else "gamma", "log")
    # These objectives are means over the weights.
    return Objective(loss, float(model.alpha) * total, "iterative", gradient_promise=float(model.tol))


@reader.register(SGDRegressor)
@reader.register(SGDClassifier)
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


@reader.register
def _(model: GLM, total: float, count: int, outputs: int) -> Objective:
    if model.family == "multinomial" and not hasattr(model, "classes_"):
        raise UnsupportedError("A GLM of the multinomial family is fitted by its own fit(X, y), in memory.")
    squares, absolute, own = float(model.penalty), float(model.absolute), bool(model.penalize_intercept)
    return Objective(
        model.loss,
        squares,
        "iterative",
        intercept_penalty=squares if own else 0.0,
        absolute=absolute,
        intercept_absolute=absolute if own else 0.0,
        beside={"alpha": float(model.parameter_)} if isinstance(model.loss, NegativeBinomial) else {},
    )


def supported_names() -> tuple[str, ...]:
    """Return the classes of models that can be measured."""
    return tuple(kind.__name__ for kind in reader.registry if kind is not object)


def _objective(model: BaseEstimator, total_weight: float, count: int, outputs: int) -> Objective:
    """Return what the reader of this very class says."""
    found = reader.registry.get(type(model), reader.registry[object])(model, total_weight, count, outputs)
    if outputs > 1 and found.loss.margins == 1:
        # Several outputs that share nothing but the rows.
        return replace(found, loss=replace(found.loss, copies=outputs))
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


def _above_zero(model: BaseEstimator) -> Literal["at least", "more than"] | None:
    """Return what the deviance that a model minimizes asks of labels, as scikit-learn does when it fits."""
    powers = {PoissonRegressor: 1, GammaRegressor: 2, TweedieRegressor: getattr(model, "power", 0)}
    power = next((power for kind, power in powers.items() if isinstance(model, kind)), 0)
    if isinstance(model, GLM):
        counts = dict.fromkeys(("negative binomial", "negative binomial 1"), 1.0)
        known = {**VARIANCE_POWERS, **counts, "tweedie": model.parameter}
        power = known.get(model.family, 0)
    return None if power < 1 else "at least" if power < 2 else "more than"


def labels_of(model: BaseEstimator) -> Labels:
    """Return how a fitted model's labels become numbers."""
    outputs = np.atleast_2d(model.coef_).shape[0]
    if not hasattr(model, "classes_"):
        return Labels(None, None, outputs, _above_zero(model))
    if isinstance(model.classes_, list) or np.ndim(model.classes_) != 1 or _is_multilabel(model):
        raise UnsupportedError(
            f"{type(model).__name__} with several labels a row is not supported. Fit one model for each label, measure "
            "each, and add them up with seepage.compose."
        )
    found = _objective(model, 1.0, 1, outputs)
    low, high = found.margin_codes
    if outputs == 1:
        codes = np.array([[low], [high]])
    elif isinstance(found.loss, Softmax):
        codes = found.loss.basis
    else:
        codes = np.where(np.eye(outputs, dtype=bool), high, low)
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
    absolute = np.full(parameters.shape, float(found.absolute))
    if model.fit_intercept:
        last = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (1, parameters.shape[1]))
        parameters = np.vstack([parameters, last])
        penalty = np.vstack([penalty, np.full((1, penalty.shape[1]), found.intercept_penalty)])
        absolute = np.vstack([absolute, np.full((1, penalty.shape[1]), float(found.intercept_absolute))])
    if parameters.shape[1] > 1 and absolute.any():
        raise _several_outputs(model)
    basis = np.eye(parameters.shape[1])
    if isinstance(found.loss, Softmax):
        basis = found.loss.basis
        if parameters.shape[1] == len(basis):
            # Dropping what all classes share changes no probability; the solver's own minimizer has none of it.
            parameters = parameters @ basis
        else:
            # The first class has none, and the others are published as what they are beyond it.
            parameters, basis = parameters @ basis[1:], basis[1:] - basis[0]
        penalty = penalty[:, :1] * np.ones((1, basis.shape[1]))
        absolute = np.zeros_like(penalty)
    free: NDArray[np.bool_] | None = None
    if found.beside:
        if not model.fit_intercept or parameters.shape[1] > 1:
            raise UnsupportedError(
                f"A {type(model).__name__} that fits {', '.join(found.beside)} with its coefficients is measured with "
                "a constant and one output. Add a constant to its columns and fit one model for each output, or fit "
                f"with a known {' and '.join(found.beside)}."
            )
        # Each is the intercept of a margin that has no other coefficients.
        more = np.zeros((len(parameters), len(found.beside)))
        free = np.hstack([np.ones(parameters.shape, dtype=bool), more.astype(bool)])
        parameters, penalty, absolute = (np.hstack([each, more]) for each in (parameters, penalty, absolute))
        free[-1], parameters[-1, -len(found.beside) :] = True, list(found.beside.values())
        basis = np.eye(parameters.shape[1])
    return Problem(
        estimator=type(model).__name__,
        loss=found.loss,
        parameters=parameters,
        penalty=np.array(penalty),
        absolute=absolute,
        intercept=bool(model.fit_intercept),
        labels=labels,
        class_weight=class_weight,
        basis=basis,
        # Single precision loses digits that a direct solver would have kept.
        precision="iterative" if found.precision == "direct" and single else found.precision,
        gradient_promise=found.gradient_promise,
        residual_promise=found.residual_promise,
        hint=found.hint,
        free=free,
        beside=tuple(found.beside),
        # scikit-learn's least squares centers its columns first; descent from zero, and statsmodels, do not.
        intercept_in_norm=not found.loss.quadratic or isinstance(model, GLM),
    )


def _refuse_positive(model: BaseEstimator) -> None:
    if model.positive:
        raise UnsupportedError(
            f"{type(model).__name__}(positive=True) has a constrained minimizer, where coefficients at zero do not "
            "move with the data; this is not supported. Fit with positive=False."
        )


def _bad_penalty(model: BaseEstimator, way_out: str) -> UnsupportedError:
    return UnsupportedError(
        f"{type(model).__name__} was fitted with a penalty that is not plain L2, and steps of single rows never come "
        f"to rest at the kinks of any other. Fit it with {way_out}; or fit Lasso, ElasticNet, or LogisticRegression "
        "with an l1_ratio, which are measured."
    )


def _several_outputs(model: BaseEstimator) -> UnsupportedError:
    several = "several targets" if not hasattr(model, "classes_") else "more than two classes"
    return UnsupportedError(
        f"{type(model).__name__} with an L1 penalty and {several} is not supported: each output has coefficients of "
        "its own at zero. Fit one model for each, measure each, and add them up with seepage.compose; or fit with "
        "l1_ratio=0."
    )
