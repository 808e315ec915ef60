"""Which objects are survival models, told without importing their libraries."""

from seepage.linear.columns import split
from seepage.linear.survival._cox import Cox

INSTEAD = {
    "lifelines": "CoxPHFitter, whose coefficients are hazard ratios too",
    "sksurv": "CoxPHSurvivalAnalysis, with alpha= for a penalty, behind splines or encoders if need be",
}
"""The libraries of survival models, and what of each can be measured."""


def is_survival(model: object) -> bool:
    """Return whether something is a survival model, of any kind and library."""
    if isinstance(model, Cox) or library_of(model) in INSTEAD or is_hazard_regression(model):
        return True
    if not hasattr(model, "steps") and not hasattr(model, "best_estimator_"):
        return False
    last = split(model)[1]
    return isinstance(last, Cox) or library_of(last) in INSTEAD


def library_of(model: object) -> str:
    """Return the name of the library that a model is of."""
    return type(model).__module__.partition(".")[0]


def is_hazard_regression(model: object) -> bool:
    """Return whether something is a fitted result of statsmodels' PHReg."""
    fitted = getattr(model, "model", None)
    return library_of(model) == "statsmodels" and type(fitted).__name__ == "PHReg" and hasattr(model, "params")
