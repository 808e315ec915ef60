"""Knowledge of a person before anything is printed: error of a guess, share of a record that is new."""

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array


def bits_of(counts: NDArray[np.intp]) -> float:
    """Return the entropy of one of so many."""
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
