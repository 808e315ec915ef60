"""Weights and offsets of rows, checked."""

import numpy as np

from seepage._tables import Array, Listed, column_values
from seepage.errors import InputError
from seepage.linear.rows._rows import check_values


def checked_weights(sample_weight: Listed, count: int) -> Array | None:
    """Return one weight a row, none of them negative or missing."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(column_values(sample_weight), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numbers.") from None
    if weights.shape != (count,):
        raise InputError(f"sample_weight must have one entry for each of the {count} rows, not shape {weights.shape}.")
    check_values(weights[:, None], weights, 0, ("sample_weight",), "sample_weight")
    if (weights < 0).any():
        raise InputError(f"sample_weight is negative in row {int(np.argmax(weights < 0))}.")
    return weights


def checked_offset(offset: Listed, count: int) -> Array | None:
    """Return what is added to the margin of each row; None where that is nothing."""
    if offset is None:
        return None
    try:
        found = np.asarray(column_values(offset), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("offset must be numbers.") from None
    if found.shape != (count,):
        raise InputError(f"offset must have one entry for each of the {count} rows, not shape {found.shape}.")
    check_values(found[:, None], found, 0, ("offset",), "offset")
    return found if found.any() else None
