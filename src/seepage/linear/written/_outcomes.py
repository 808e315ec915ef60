"""The outcome of a table, as the rows have it."""

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from seepage._tables import Column, Listed, Model, Table, column_values, default_library, plain
from seepage.errors import InputError
from seepage.linear.objective import GLM
from seepage.linear.survival import labels_of
from seepage.linear.written._formula import TableFormula

Array = NDArray[np.float64]


def numbers(rows: Table, name: str, role: str) -> Array:
    """Return a column of numbers."""
    values = rows.column(name)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{role} is {name!r}, which holds {values.tolist()[0]!r}: it must hold numbers.") from None


def survival_outcomes(formula: TableFormula, rows: Table) -> Column:
    """Return the outcomes of a Cox model."""
    *status, name = formula.outcome
    time = numbers(rows, name, "time")
    event = np.ones(len(rows)) if not status else numbers(rows, status[0], "status")
    if np.isin(event, (1.0, 2.0)).all() and (event == 2).any():
        # As Surv() reads it: 2 is an event.
        event = event - 1
    strange = event[~np.isin(event, (0.0, 1.0))]
    if len(strange):
        raise InputError(
            f"status is {status[0]!r}, which holds {strange[0]:g}: it must be true or false, 1 or 0, or 2 (an event) "
            "and 1, in every row."
        )
    codes = None
    if formula.strata:
        levels = np.column_stack([rows.column(name).astype(str) for name in formula.strata])
        codes = np.unique(levels, axis=0, return_inverse=True)[1].ravel()
    return labels_of(event, time, (status[0] if status else "event", name), codes)


def labels(
    formula: TableFormula, success: object, glm: GLM, rows: Table, weights: Array | None
) -> tuple[Listed, Array | None]:
    """Return the labels and weights of a generalized linear model, and set its classes."""
    name, is_binomial = formula.outcome[0], glm.family == "binomial"
    values = plain(rows.column(name))
    if len(formula.outcome) > 1:
        values, trials = _shares(formula, rows, is_binomial=is_binomial)
        weights = trials if weights is None else weights * trials
    elif success is not None:
        values = _successes(values, name, success, is_binomial=is_binomial)
    if is_binomial:
        _set_classes(glm, values, name)
    else:
        values = numbers(rows, name, "outcome")
    if len(formula.outcome) == 1 and success is None:
        # As it is, with its type.
        return nw.from_native(rows.native, eager_only=True)[name].to_native(), weights
    backend: str = rows.library or default_library()
    return nw.new_series(name, values, backend=backend).to_native(), weights  # type: ignore[arg-type]


def as_numbers(y: Listed, glm: Model) -> Array:
    """Return labels as the loss takes them."""
    values = plain(column_values(y))
    return np.asarray(values if values.dtype.kind in "iufb" else values == glm.classes_[-1], dtype=np.float64)


def _set_classes(glm: GLM, values: Column, name: str) -> None:
    known = np.unique(values)
    if known.dtype.kind in "iufb" and not np.isin(known, (0, 1)).all():
        shares = known.astype(np.float64)
        if (shares < 0).any() or (shares > 1).any():
            raise InputError(
                f"The outcome {name!r} holds {known[:6].tolist()}: that of a binomial model is 0 or 1, true or false, "
                "one of two words, or a share between 0 and 1 (with the number of trials as weights). If it is one of "
                "two numbers, say which is the event: success = ..."
            )
        return
    if len(known) != 2:
        raise InputError(f"The outcome {name!r} holds {known[:6].tolist()}: that of a binomial model has two values.")
    glm.classes_ = known


def _shares(formula: TableFormula, rows: Table, *, is_binomial: bool) -> tuple[Array, Array]:
    """Return the shares of successes, and the numbers of trials."""
    if not is_binomial:
        raise InputError(f"The outcome is {list(formula.outcome)}: two columns are the counts of a binomial model.")
    good, bad = (numbers(rows, each, "outcome") for each in formula.outcome)
    if (good < 0).any() or (bad < 0).any() or not (good + bad > 0).all():
        raise InputError(f"The outcome is {list(formula.outcome)}: counts must not be negative, nor both zero.")
    return good / (good + bad), good + bad


def _successes(values: Column, name: str, success: object, *, is_binomial: bool) -> Array:
    known = np.unique(values).tolist()
    same = [value for value in known if value == success or str(value) == str(success)]
    if len(known) != 2 or len(same) != 1 or not is_binomial:
        raise InputError(
            f"success is {success!r}, and the outcome {name!r} holds {known[:6]}: it must be one of the two values of "
            "a binomial model."
        )
    return np.asarray(values == same[0], dtype=np.float64)
