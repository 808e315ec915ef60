"""Survival models of lifelines, scikit-survival and statsmodels as a `Cox` model and its rows.

Nothing of these libraries is imported: whoever has such an object has it already.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from seepage._tables import Data, Listed, Model
from seepage.errors import InputError, UnsupportedError
from seepage.linear.columns import Formula, columns_of, frame_of, search_of, split
from seepage.linear.survival._cox import Cox
from seepage.linear.survival._kinds import INSTEAD, is_hazard_regression, library_of
from seepage.linear.survival._outcomes import labels_of

Array = NDArray[np.float64]


class Followed(NamedTuple):
    """A Cox model as it can be measured, and its rows."""

    model: Model
    rows: Data
    outcomes: Listed
    weights: Listed
    strata: str | None
    """What the strata are called."""
    everything: Data
    """The frame that holds the rows, with all its columns."""
    search: str | None = None
    """What chose the penalty by looking at the data, if something did."""


def followed(model: Any, X: Data, y: Listed, sample_weight: Listed) -> Followed:
    """Return a survival model as a `Cox` model, with its rows; refuse other kinds by name.

    Parameters
    ----------
    model : fitted model
        Of lifelines, scikit-survival (perhaps behind steps), statsmodels, or a `Cox`.
    X, y, sample_weight
        What `seepage.measure` was given.
    """
    if library_of(model) == "lifelines":
        _refuse(
            y, sample_weight, "A model of lifelines takes times, status and weights from the frame it was fitted on"
        )
        return _of_lifelines(model, X)
    if is_hazard_regression(model):
        _refuse(y, sample_weight, "Results of statsmodels know their times and status")
        return _of_statsmodels(model, X)
    if X is None:
        raise InputError("X is missing: give the rows that the model was fitted on.")
    (steps, last), search = split(model), search_of(model)
    if not isinstance(last, Cox):
        cox = _of_scikit_survival(last)
        model = cox if steps is None else Pipeline([*steps.steps, ("cox", cox)])
    return Followed(model, X, y, sample_weight, None, X, search)


def _refuse(y: Listed, sample_weight: Listed, why: str) -> None:
    if y is not None or sample_weight is not None:
        raise InputError(f"{why}: leave y and sample_weight out.")


def _unsupported(model: object) -> UnsupportedError:
    name, library = type(model).__name__, library_of(model)
    return UnsupportedError(
        f"{name} cannot be measured exactly: of survival models, Cox's proportional hazards are. The nearest that can: "
        f"{INSTEAD[library]}."
    )


def _of_lifelines(model: Any, X: Any) -> Followed:
    if type(model).__name__ != "CoxPHFitter":
        raise _unsupported(model)
    if getattr(model, "baseline_estimation_method", "breslow") != "breslow":
        raise UnsupportedError(
            f"CoxPHFitter(baseline_estimation_method={model.baseline_estimation_method!r}) is a parametric model, "
            'whose baseline is fitted too. Fit with the default, "breslow": its coefficients are measured.'
        )
    try:
        params = model.params_
    except AttributeError:
        raise InputError("This CoxPHFitter is not fitted: it has no params_.") from None
    if X is None or not hasattr(X, "columns"):
        raise InputError("Give the data frame that the CoxPHFitter was fitted on: seepage.measure(fitted, frame, ...).")
    if getattr(model, "entry_col", None) is not None:
        raise UnsupportedError(
            f"entry_col={model.entry_col!r} (left truncation) is not measured yet. Leave out people who entered late, "
            "or count their times from their entry."
        )
    penalizer = np.asarray(model.penalizer, dtype=np.float64)
    if penalizer.any() and float(model.l1_ratio) != 0:
        raise UnsupportedError(
            f"CoxPHFitter(penalizer={model.penalizer!r}, l1_ratio={model.l1_ratio!r}) has a softened L1 penalty, whose "
            "bend is not measured. Fit with l1_ratio=0."
        )
    strata = model.strata if model.strata is None or not isinstance(model.strata, str) else [model.strata]
    wanted = [model.duration_col, model.event_col, model.weights_col, *(strata or ())]
    missing = [name for name in wanted if name is not None and name not in X.columns]
    if missing:
        raise InputError(f"The frame has no column {missing[0]!r}, which the CoxPHFitter was fitted with.")
    count = len(X)
    event = np.ones(count) if model.event_col is None else np.asarray(X[model.event_col]).astype(float)
    names = (str(model.event_col or "event"), str(model.duration_col))
    codes = None
    if strata is not None:
        levels = np.column_stack([np.asarray(X[name]).astype(str) for name in strata])
        codes = np.unique(levels, axis=0, return_inverse=True)[1].ravel()
    outcomes = labels_of(event, np.asarray(X[model.duration_col], dtype=np.float64), names, codes)
    weights = None if model.weights_col is None else np.asarray(X[model.weights_col], dtype=np.float64)
    penalty, coefficients = count * penalizer, np.asarray(params, dtype=np.float64)
    called = None if strata is None else ", ".join(map(str, strata))
    features = [str(name) for name in params.index]
    if all(name in X.columns for name in features):
        cox = Cox(penalty=_plain(penalty), standardized=bool(penalizer.any()))
        return Followed(_filled(cox, coefficients, features), X[features], outcomes, weights, called, X)
    formula = Formula(model.regressors.mappings["beta_"], X)
    cox = Cox(penalty=_plain(penalty), standardized=bool(penalizer.any()))
    pipeline = Pipeline([("formula", formula), ("cox", _filled(cox, coefficients, None))])
    return Followed(pipeline, X[list(formula.feature_names_in_)], outcomes, weights, called, X)


def _of_scikit_survival(model: Any) -> Cox:
    if type(model).__name__ != "CoxPHSurvivalAnalysis":
        raise _unsupported(model)
    if not hasattr(model, "coef_"):
        raise InputError("This CoxPHSurvivalAnalysis is not fitted: it has no coef_.")
    cox = Cox(ties=model.ties, penalty=_plain(np.asarray(model.alpha, dtype=np.float64)))
    names = getattr(model, "feature_names_in_", None)
    return _filled(cox, np.asarray(model.coef_, dtype=np.float64), names)


def _of_statsmodels(results: Any, X: Data) -> Followed:
    fitted = results.model
    if "Regularized" in type(results).__name__:
        raise UnsupportedError(
            "This PHReg was fitted with fit_regularized, and its results do not keep the penalty. Fit "
            "seepage.models.Cox(penalty=...) with the same penalty, and measure that."
        )
    for name, what in (("entry", "entry times (left truncation)"), ("offset", "an offset")):
        if getattr(fitted, name, None) is not None:
            raise UnsupportedError(f"A PHReg with {what} is not measured yet. Fit it without.")
    cox = Cox(ties=fitted.ties)
    params = np.asarray(results.params, dtype=np.float64)
    codes = None if fitted.strata is None else np.unique(fitted.strata, return_inverse=True)[1].ravel()
    time = str(fitted.endog_names) if isinstance(fitted.endog_names, str) else "time"
    outcomes = labels_of(np.asarray(fitted.status), np.asarray(fitted.endog), ("status", time), codes)
    design = getattr(fitted.data, "model_spec", None)
    strata = None if codes is None else "strata"
    if design is None:
        rows, _ = columns_of(fitted)
        return Followed(_filled(cox, params, rows.columns), rows, outcomes, None, strata, rows)
    rows, formula = frame_of(fitted, X, design)
    model = Pipeline([("formula", formula), ("cox", _filled(cox, params, None))])
    return Followed(model, rows, outcomes, None, strata, rows)


def _filled(cox: Cox, coefficients: Array, names: Any) -> Cox:
    """Return a model with some coefficients, as if it had been fitted."""
    cox.coef_ = coefficients
    cox.n_features_in_ = len(coefficients)
    if names is not None:
        cox.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
    return cox


def _plain(penalty: Array) -> float | list[float]:
    """Return a penalty as a number if it is one."""
    return float(penalty) if penalty.ndim == 0 else penalty.tolist()
