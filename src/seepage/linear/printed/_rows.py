"""What the rows say of the people in them: rare values, how much of a record is new, how well a value is guessed."""

from collections.abc import Iterator, Sequence

import numpy as np

from seepage._tables import Array
from seepage.others import Level

_SOME = 10_000


def rare_values(design: Array, names: Sequence[str]) -> Iterator[Level]:
    """Yield the two values of each column that has two, and how many coefficients rest on people who have one."""
    if not design.size:
        return
    apart = design != np.array([_mode(column) for column in design.T])
    for feature, column in enumerate(design.T):
        if len(np.unique(column[:_SOME])) > 2:
            continue
        values, counts = np.unique(column, return_counts=True)
        if len(values) != 2:
            continue
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            alone = 1
            if count < len(column) / 2:
                # Columns that are the same for everybody else have nobody else's word for their coefficients.
                alone = max(int((~apart[column != value].any(axis=0) & apart.any(axis=0)).sum()), 1)
            yield Level(names[feature], value, count, alone)


def record_bits(rows: Array) -> float:
    """Return the entropy of one record, as far as these people show it."""
    _, counts = np.unique(np.ascontiguousarray(rows), axis=0, return_counts=True)
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum())


def left_of(target: Array, known: Array) -> tuple[Array, float]:
    """Return what a linear guess leaves of a column, and its deviation."""
    known = np.column_stack([known, np.ones(len(known))])
    scale = np.abs(known).max(axis=0)
    known = known / np.where(scale > 0, scale, 1.0)
    found, _, rank, _ = np.linalg.lstsq(known, target, rcond=None)
    rest = target - known @ found
    return rest, float(np.sqrt((rest**2).sum() / max(len(target) - rank, 1)))


def _mode(column: Array) -> float:
    values, counts = np.unique(column, return_counts=True)
    return float(values[np.argmax(counts)])
