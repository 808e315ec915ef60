"""Fitted results of statsmodels as models and rows: a results object knows its data.

Nothing of statsmodels is imported: whoever has such an object has it already.
"""

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from seepage._facts import Assumption
from seepage._tables import Column, Data, Model
from seepage.errors import UnsupportedError
from seepage.linear.columns import columns_of, frame_of
from seepage.linear.objective import CANONICAL, GLM
from seepage.linear.results._covariance import Covariance, covariance_of
from seepage.linear.results._penalties import is_regularized, penalty_of

Array = NDArray[np.float64]

# What statsmodels calls them.
_FAMILIES = {family.title().replace(" ", ""): family for family in CANONICAL}
_LINKS = {
    "Identity": ("identity", 1.0),
    "Log": ("log", 1.0),
    "LogC": ("logc", 1.0),
    "Logit": ("logit", 1.0),
    "Probit": ("probit", 1.0),
    "Cauchy": ("cauchit", 1.0),
    "CLogLog": ("cloglog", 1.0),
    "LogLog": ("loglog", 1.0),
    "InversePower": ("power", -1.0),
    "InverseSquared": ("power", -2.0),
    "Sqrt": ("power", 0.5),
}
_DISCRETE = {"Logit": ("binomial", "logit"), "Probit": ("binomial", "probit"), "Poisson": ("poisson", "log")}
_INSTEAD = {
    "NegativeBinomialP": "NegativeBinomial, or GLM with families.NegativeBinomial(alpha=...), alpha being known",
    "GeneralizedPoisson": "NegativeBinomial",
    "GLS": "OLS, or WLS with known weights",
    "GLSAR": "OLS, or WLS with known weights",
    "QuantReg": "OLS",
    "RLM": "OLS",
    "MixedLM": "OLS, with ids= for people with several rows",
    "GLMGam": "GLM with a formula of splines, bs(x, knots=...)",
    "OrderedModel": "GLM with the binomial family, of one threshold",
}


_PENALTY = Assumption(
    "given penalty",
    "The penalty is that of fit_regularized, read from the results; it is taken as known and fixed, and what its "
    "choice tells about the rows is not counted.",
)


class Parts(NamedTuple):
    """A model as it can be measured, and its rows."""

    model: Model
    rows: Data
    labels: Column
    weights: Array | None
    offset: Array | None
    """What was added to each row's margin."""
    label: str
    remarks: tuple[Assumption, ...] = ()
    """What is taken for granted of a penalty that was read back."""
    counted: bool = False
    """Whether some rows stand for several people each."""
    summary: "SummaryErrors | None" = None


class SummaryErrors(NamedTuple):
    """Standard errors and dispersion, as results print them."""

    errors: Array
    """In the order of the coefficients, the intercept's last."""
    dispersion: float
    covariance: Covariance = Covariance()


def is_results(model: object) -> bool:
    """Return whether something is a fitted result of statsmodels."""
    return type(model).__module__.startswith("statsmodels.") and hasattr(model, "model") and hasattr(model, "params")


def taken_apart(results: Any, X: Data = None) -> Parts:
    """Return the model of some results, and the rows that it was fitted on.

    Parameters
    ----------
    results : results of statsmodels
        Fitted.
    X : data frame, optional
        The rows that the formula was given, if not those that the results hold.
    """
    fitted = results.model
    glm = _kind(results, fitted)
    params = np.asarray(results.params, dtype=np.float64)
    y = _labels(fitted)
    # Frequencies, variances and trials alike multiply the log likelihood of a row.
    several = _listed(
        fitted, *["weights"] * (type(fitted).__name__ == "WLS"), "freq_weights", "var_weights", "n_trials"
    )
    weights = prod(several, start=np.ones(len(y)))
    design = getattr(fitted.data, "model_spec", None)
    label = str(fitted.endog_names) if isinstance(fitted.endog_names, str) else "label"
    if design is None:
        rows, intercept = columns_of(fitted)
        model: Model = glm
        glm.feature_names_in_ = np.array([str(name) for name in rows.columns], dtype=object)
    else:
        rows, formula = frame_of(fitted, X, design)
        intercept = formula.intercept
        model = Pipeline([("formula", formula), ("glm", glm)])
    glm.fit_intercept = intercept is not None
    if glm.parameter is None:
        # Alpha comes last.
        glm.parameter_, params = float(params[-1]), params[:-1]
    # One row for each class but the first, of several.
    glm.coef_ = (params if intercept is None else np.delete(params, intercept, axis=0)).T
    glm.intercept_ = np.zeros(params.shape[1:])[()] if intercept is None else params[intercept]
    glm.n_features_in_ = glm.coef_.shape[-1]
    if glm.family == "multinomial" or (glm.family == "binomial" and np.isin(y, (0.0, 1.0)).all()):
        glm.classes_ = np.unique(y)
    offset = sum(_listed(fitted, "offset", "exposure"), start=np.zeros(len(y)))
    remarks: tuple[Assumption, ...] = ()
    if is_regularized(results):
        glm.penalty, glm.absolute, glm.penalize_intercept = penalty_of(
            results, glm, weights, offset, np.asarray(y, dtype=np.float64), intercept
        )
        remarks = (_PENALTY,)
    each = None if (weights == 1).all() else weights
    counted = any((frequencies != 1).any() for frequencies in _listed(fitted, "freq_weights"))
    summary = _summary(results, intercept, dispersed=glm.loss.estimates_dispersion)
    return Parts(model, rows, y, each, offset if offset.any() else None, label, remarks, counted, summary)


def _summary(results: Any, intercept: int | None, *, dispersed: bool) -> SummaryErrors | None:
    """Return the printed standard errors and dispersion; None of fit_regularized.

    Parameters
    ----------
    results : results of statsmodels
    intercept : int or None
        The place of the intercept.
    dispersed : bool
        Whether the family has a dispersion.
    """
    if not hasattr(results, "bse"):
        return None
    errors = np.asarray(results.bse, dtype=np.float64)
    if intercept is not None:
        # A fitted alpha comes last.
        width = results.model.exog.shape[1]
        errors = np.concatenate([np.delete(errors[:width], intercept, axis=0), errors[[intercept]], errors[width:]])
    return SummaryErrors(errors.T.ravel(), float(results.scale), covariance_of(results, dispersed=dispersed))


def _kind(results: Any, fitted: Any) -> GLM:
    """Return a model of the same family and link, not fitted; refuse others by name."""
    name = type(fitted).__name__
    if getattr(results, "k_constr", 0):
        raise UnsupportedError(
            f"This {name} was fitted by fit_constrained, and is not the minimizer over all its coefficients. Put the "
            "constraint into the columns (one column of a + b where the coefficients of a and b are equal, an offset "
            "where one is given), and fit without it."
        )
    if is_regularized(results) and name not in ("OLS", "WLS", "GLM", *_DISCRETE):
        raise UnsupportedError(
            f"A {name} of fit_regularized cannot be measured exactly. Those that can: OLS, WLS, GLM, Logit, Probit and "
            "Poisson; of several classes, LogisticRegression of scikit-learn with an L2 penalty."
        )
    if name in ("OLS", "WLS"):
        return GLM("gaussian", "identity")
    if name == "MNLogit":
        return GLM("multinomial")
    if name in _DISCRETE:
        return GLM(*_DISCRETE[name])
    if name == "NegativeBinomial":
        if fitted.loglike_method == "geometric":
            return GLM("negative binomial", "log", parameter=1.0)
        return GLM("negative binomial" if fitted.loglike_method == "nb2" else "negative binomial 1", parameter=None)
    if name != "GLM":
        nearest = _INSTEAD.get(name, "GLM, which has OLS, logit, probit and Poisson models among its families")
        raise UnsupportedError(f"A {name} of statsmodels cannot be measured exactly. The nearest that can: {nearest}.")
    family, link = type(fitted.family).__name__, type(fitted.family.link).__name__
    parameter = float(getattr(fitted.family, "var_power", getattr(fitted.family, "alpha", 1.0)))
    if family not in _FAMILIES:
        raise UnsupportedError(f"The family {family} is not supported. Those that are: {sorted(_FAMILIES)}.")
    if link in ("Power", "NegativeBinomial"):
        of = fitted.family.link
        known = ("power", float(of.power)) if link == "Power" else ("negative binomial", float(of.alpha))
    elif link in _LINKS:
        known = _LINKS[link]
    else:
        raise UnsupportedError(f"The link {link} is not supported. Those that are: {sorted(_LINKS)}.")
    return GLM(_FAMILIES[family], known[0], parameter=parameter, link_parameter=known[1])


def _labels(fitted: Any) -> Column:
    """Return the labels; of several classes as they were given, if those are in the order of their names."""
    if type(fitted).__name__ != "MNLogit":
        return np.asarray(fitted.endog, dtype=np.float64)
    codes, given = np.asarray(fitted.endog), np.asarray(fitted.data.orig_endog)
    if given.ndim == 2 and given.shape[1] == 1:
        # As formulas have them, in which whole numbers are floats.
        given = given[:, 0]
        if given.dtype.kind == "f" and (given == np.rint(given)).all():
            given = given.astype(np.int64)
    if given.ndim == 1 and len(given) == len(codes) and all(isinstance(each, str) for each in given):
        given = given.astype(str)
    plain = given.ndim == 1 and len(given) == len(codes) and given.dtype.kind in "biufU"
    return given if plain and (np.unique(given, return_inverse=True)[1] == codes).all() else codes


def _listed(fitted: Any, *names: str) -> list[Array]:
    """Return those of some numbers of each row that a model has."""
    found = [getattr(fitted, name, None) for name in names]
    return [np.asarray(each, dtype=np.float64) for each in found if each is not None]
