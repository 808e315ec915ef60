"""The rows of fitted results of statsmodels, with or without a formula."""

from typing import Any

import numpy as np

from seepage.errors import UnsupportedError
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
    frame = fitted.data.frame if X is None else X
    missing = fitted.data.missing_row_idx
    if missing is not None and np.any(missing):
        kept = ~np.asarray(missing) if np.asarray(missing).dtype == bool else None
        frame = frame[kept] if kept is not None else frame.drop(index=frame.index[np.asarray(missing, dtype=int)])
    formula = Formula(design, frame)
    rows = frame[list(formula.feature_names_in_)]
    if X is None:
        _check(fitted, formula, rows)
    return rows, formula


def _check(fitted: Any, formula: Formula, rows: Any) -> None:
    """Refuse a formula that does not make the columns of the model again."""
    try:
        again, why = formula.matrix(rows), "other ones than when the model was fitted"
    except Exception as reason:
        again, why = np.full((1, 1), np.nan), f"no columns any more ({reason})"
    own = np.asarray(fitted.data.orig_exog)
    if again.shape != own.shape or not np.allclose(again, own, rtol=1e-10, atol=0.0):
        raise UnsupportedError(
            f"Of the same rows the formula {fitted.formula!r} now makes {why}: a name in it means something else in "
            "the program around it, or a term takes several rows together. Make such columns before, and name them."
        )
