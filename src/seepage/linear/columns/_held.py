"""The rows that fitted results of statsmodels hold, with or without a formula."""

from typing import Any

import numpy as np

from seepage._errors import UnsupportedError
from seepage.linear.columns._formula import Formula


def columns_of(fitted: Any) -> tuple[Any, int | None]:
    """Return the columns of a model without a formula, without the constant, and where that was."""
    import pandas as pd

    values = np.asarray(fitted.exog)
    # Behind the columns there may be names of parameters that have none, such as alpha.
    frame = pd.DataFrame(values, columns=[str(name) for name in fitted.exog_names[: values.shape[1]]])
    intercept = fitted.data.const_idx
    if intercept is None or not (frame.iloc[:, intercept] == 1.0).all():
        return frame, None
    return frame.drop(columns=frame.columns[intercept]), int(intercept)


def frame_of(fitted: Any, X: Any, design: Any) -> tuple[Any, Formula]:
    """Return the rows of a model with a formula that it was fitted on, and the formula as a step."""
    if not hasattr(design, "factor_infos"):
        raise UnsupportedError(
            "Formulas of formulaic are not traced to their columns yet. Fit with those of patsy: "
            'statsmodels.formula.options.formula_engine = "patsy".'
        )
    frame = fitted.data.frame if X is None else X
    missing = fitted.data.missing_row_idx
    if missing is not None and np.any(missing):
        kept = ~np.asarray(missing) if np.asarray(missing).dtype == bool else None
        frame = frame[kept] if kept is not None else frame.drop(index=frame.index[np.asarray(missing, dtype=int)])
    formula = Formula(design, list(frame.columns))
    return frame[list(formula.feature_names_in_)], formula
