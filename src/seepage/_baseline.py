"""Knowledge of a person before anything is printed: error of a guess, share of a record that is new."""

import numpy as np
from numpy.typing import NDArray


def bits_of(counts: NDArray[np.intp]) -> float:
    """Return the entropy of one of so many."""
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum())
