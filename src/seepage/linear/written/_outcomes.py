"""What a written model was fitted to predict, as the rows have it."""

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from seepage._tables import Column, Listed, Model, Table, column_values, default_library, plain
from seepage.errors import InputError
from seepage.linear.objective import GLM
from seepage.linear.survival import labels_of
from seepage.linear.written._roles import WrittenRoles

Array = NDArray[np.float64]


def numbers(rows: Table, name: str, role: str) -> Array:
    """Return a column of numbers."""
    values = rows.column(name)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{role} is {name!r}, which holds {values.tolist()[0]!r}: it must hold numbers.") from None


def outcomes(roles: WrittenRoles, rows: Table) -> Column:
    """Return the outcomes of a Cox model."""
    assert roles.time is not None
    time = numbers(rows, roles.time, "time")
    event = np.ones(len(rows)) if roles.status is None else numbers(rows, roles.status, "status")
    if np.isin(event, (1.0, 2.0)).all() and (event == 2).any():
        # As Surv() reads it: 2 is an event.
        event = event - 1
    strange = event[~np.isin(event, (0.0, 1.0))]
    if len(strange):
        raise InputError(
            f"status is {roles.status!r}, which holds {strange[0]:g}: it must be true or false, 1 or 0, or 2 (an "
            "event) and 1, in every row."
        )
    codes = None
    if roles.strata:
        levels = np.column_stack([rows.column(name).astype(str) for name in roles.strata])
        codes = np.unique(levels, axis=0, return_inverse=True)[1].ravel()
    return labels_of(event, time, (roles.status or "event", roles.time), codes)


def labels(roles: WrittenRoles, glm: GLM, rows: Table, weights: Array | None) -> tuple[Listed, Array | None]:
    """Return the labels and weights of a generalized linear model, and tell it of which classes these are."""
    name = roles.outcome[0]
    values = plain(rows.column(name))
    if len(roles.outcome) > 1:
        values, trials = _shares(roles, rows)
        weights = trials if weights is None else weights * trials
    elif roles.success is not None:
        values = _succeeded(values, roles)
    if roles.family == "binomial":
        set_classes(glm, values, name)
    else:
        values = numbers(rows, name, "outcome")
    if len(roles.outcome) == 1 and roles.success is None:
        # As it is, with its type.
        return nw.from_native(rows.native, eager_only=True)[name].to_native(), weights
    backend: str = rows.library or default_library()
    return nw.new_series(name, values, backend=backend).to_native(), weights  # type: ignore[arg-type]


def set_classes(glm: GLM, values: Column, name: str) -> None:
    """Say which outcomes there are, if they are two and not shares."""
    known = np.unique(values)
    if known.dtype.kind in "iufb" and not np.isin(known, (0, 1)).all():
        shares = known.astype(np.float64)
        if (shares < 0).any() or (shares > 1).any():
            raise InputError(
                f"outcome is {name!r}, which holds {known[:6].tolist()}: that of a binomial model is 0 or 1, true or "
                "false, one of two words, or a share between 0 and 1 (with the number of trials as weights). If it is "
                "one of two numbers, say which is the event: success = ..."
            )
        return
    if len(known) != 2:
        raise InputError(
            f"outcome is {name!r}, which holds {known[:6].tolist()}: that of a binomial model has two values."
        )
    glm.classes_ = known


def as_numbers(y: Listed, glm: Model) -> Array:
    """Return labels as the loss takes them."""
    values = plain(column_values(y))
    return np.asarray(values if values.dtype.kind in "iufb" else values == glm.classes_[-1], dtype=np.float64)


def offset_of(roles: WrittenRoles, rows: Table) -> Array | None:
    """Return what is added to each margin, if something is."""
    total = np.zeros(len(rows))
    if roles.offset is not None:
        total = total + numbers(rows, roles.offset, "offset")
    if roles.exposure is not None:
        exposure = numbers(rows, roles.exposure, "exposure")
        if not (exposure > 0).all():
            raise InputError(f"exposure is {roles.exposure!r}, which is {exposure.min():g} somewhere: not above 0.")
        total = total + np.log(exposure)
    return total if total.any() else None


def _shares(roles: WrittenRoles, rows: Table) -> tuple[Array, Array]:
    """Return the shares of successes, and the numbers of trials."""
    if roles.family != "binomial" or len(roles.outcome) != 2:
        raise InputError(f"outcome is {list(roles.outcome)}: two columns are the counts of a binomial model.")
    good, bad = (numbers(rows, each, "outcome") for each in roles.outcome)
    if (good < 0).any() or (bad < 0).any() or not (good + bad > 0).all():
        raise InputError(f"outcome is {list(roles.outcome)}: counts must not be negative, nor both zero.")
    return good / (good + bad), good + bad


def _succeeded(values: Column, roles: WrittenRoles) -> Array:
    known = np.unique(values).tolist()
    found = [value for value in known if value == roles.success or str(value) == str(roles.success)]
    if len(known) != 2 or len(found) != 1 or roles.family != "binomial":
        raise InputError(
            f"success is {roles.success!r}, and outcome {roles.outcome[0]!r} holds {known[:6]}: it must be one of the "
            "two values of a binomial model."
        )
    return np.asarray(values == found[0], dtype=np.float64)
