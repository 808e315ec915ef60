"""Features that are sums of others with given factors: another basis of the same splines, a coding of levels."""
# mypy: disable-error-code="misc"

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from seepage._python import Self

Array = NDArray[np.float64]


class Recoded(TransformerMixin, BaseEstimator):
    """Multiplies features with a matrix that nobody's values are in, shape (what is made, features)."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def fit(self, X: Any, y: object = None) -> Self:
        """Return the step: there is nothing to learn."""
        return self

    def transform(self, X: Any) -> Array:
        """Return the sums."""
        return np.asarray(X, dtype=np.float64) @ self.matrix.T

    def __sklearn_is_fitted__(self) -> bool:
        return True
