"""What a fitted model of another library comes to as a table.

Nothing of these libraries is imported: whoever has such an object has it already.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from seepage.errors import InputError, UnsupportedError
from seepage.linear.results import is_regularized, is_results, taken_apart
from seepage.linear.survival import is_survival

# What results keep of the weights that they were given.
_WEIGHTS = ("freq_weights", "var_weights", "n_trials")


def keys_of(results: Any, columns: Mapping[str, str | None]) -> dict[str, object]:
    """Return what a table says about a fitted model of statsmodels or lifelines, key by key.

    Parameters
    ----------
    results : results of statsmodels, or CoxPHFitter of lifelines
        Fitted.
    columns : mapping
        What the columns are called that the results hold as numbers alone.
    """
    if type(results).__module__.startswith("lifelines."):
        return _of_lifelines(results)
    if is_results(results) and not is_survival(results):
        return _of_statsmodels(results, columns)
    raise UnsupportedError(
        f"ModelTable.of takes results of statsmodels (GLM, OLS, WLS, Logit, Probit, Poisson) and a CoxPHFitter of "
        f"lifelines, not {type(results).__name__}. Models of scikit-learn are written with skops: "
        'skops.io.dump(model, "model.skops")'
    )


def _of_statsmodels(results: Any, columns: Mapping[str, str | None]) -> dict[str, object]:
    fitted = results.model
    if is_regularized(results) or type(fitted).__name__ in ("MNLogit", "NegativeBinomial"):
        raise UnsupportedError(
            f"A table holds neither several classes, nor an alpha that was fitted, nor the penalty of fit_regularized, "
            f"and so no {type(results).__name__} of {type(fitted).__name__}. Measure it in Python: "
            "seepage.measure(results, noise_scale=...)"
        )
    parts = taken_apart(results)
    glm = parts.model[-1] if hasattr(parts.model, "steps") else parts.model
    found: dict[str, object] = {"family": glm.family, "link": glm.link, "parameter": float(glm.parameter)}
    if glm.link in ("power", "negative binomial"):
        found["link_parameter"] = float(glm.link_parameter)
    outcome = columns["outcome"] or fitted.endog_names
    if not isinstance(outcome, str):
        raise InputError(
            f"The outcome of these results is called {outcome!r}, which is no single column. Name the column of the "
            "rows, which holds 0 and 1 or numbers: ModelTable.of(results, outcome=...)"
        )
    found["outcome"] = outcome
    held = {"weights": _is_weighted(fitted), "offset": _has(fitted, "offset"), "exposure": _has(fitted, "exposure")}
    for role, is_there in held.items():
        name = columns[role]
        if is_there and name is None:
            raise InputError(
                f"These results hold {role} as numbers, not the name of their column. Name it: "
                f'ModelTable.of(results, {role}="...")'
            )
        if name is not None and not is_there:
            raise InputError(f"{role} is {name!r}, and these results were fitted without.")
        found[role] = name
    params = np.asarray(results.params, dtype=np.float64)
    return {**found, "coefficients": dict(zip(map(str, fitted.exog_names), params.tolist(), strict=True))}


def _is_weighted(fitted: Any) -> bool:
    names = ("weights",) if type(fitted).__name__ == "WLS" else _WEIGHTS
    each = [getattr(fitted, name, None) for name in names]
    return any(values is not None and (np.asarray(values) != 1).any() for values in each)


def _has(fitted: Any, name: str) -> bool:
    values = getattr(fitted, name, None)
    return values is not None and bool(np.asarray(values).any())


def _of_lifelines(model: Any) -> dict[str, object]:
    if type(model).__name__ != "CoxPHFitter":
        raise UnsupportedError(
            f"Of lifelines, a CoxPHFitter can be written as a table, and not a {type(model).__name__}."
        )
    if not hasattr(model, "params_"):
        raise InputError("This CoxPHFitter is not fitted: it has no params_.")
    if getattr(model, "baseline_estimation_method", "breslow") != "breslow" or model.entry_col is not None:
        raise UnsupportedError("Only a CoxPHFitter with the default baseline and without entry_col can be measured.")
    if np.any(model.penalizer):
        raise UnsupportedError(
            f"CoxPHFitter(penalizer={model.penalizer!r}) penalizes columns that it has scaled by itself, which has no "
            "place in a table. Measure and publish it in Python: seepage.publish(fitted, people, ...)"
        )
    strata = model.strata
    return {
        "family": "cox",
        "time": str(model.duration_col),
        "status": None if model.event_col is None else str(model.event_col),
        "ties": "efron",
        "strata": () if strata is None else (strata,) if isinstance(strata, str) else tuple(map(str, strata)),
        "weights": None if model.weights_col is None else str(model.weights_col),
        "coefficients": {str(name): float(value) for name, value in model.params_.items()},
    }
