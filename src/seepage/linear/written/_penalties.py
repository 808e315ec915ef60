"""glmnet's penalty as a factor beside the sum of losses.

glmnet minimizes  (1/W) sum_i w_i loss_i + lambda/2 |b|^2  over coefficients b of columns that it has divided by their
standard deviations (dividing by n, not n - 1). Beside the sum of losses that is a factor of  W lambda.  A Gaussian
outcome it has divided by its own standard deviation s before, and lambda with it: the factor is then  W lambda / s.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seepage._near import did_you_mean
from seepage.errors import InputError, UnsupportedError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Glmnet:
    """How glmnet was called."""

    strength: float
    """lambda."""
    standardize: bool

    @classmethod
    def of(cls, given: object) -> "Glmnet":
        """Read what the table says."""
        if not isinstance(given, Mapping):
            raise InputError(f"glmnet must be a table with lambda, alpha and perhaps standardize, not {given!r}.")
        known = ("lambda", "alpha", "standardize")
        for name in given:
            if name not in known:
                raise InputError(
                    f"glmnet sets {name!r}, which is not known. {did_you_mean(str(name), known)}It has lambda, alpha "
                    "and standardize; penalty.factor and limits are not measured."
                )
        numbers = {}
        for name in ("lambda", "alpha"):
            value = given.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
                raise InputError(f"glmnet needs {name}, a number that is at least 0, and not {value!r}.")
            numbers[name] = float(value)
        if numbers["alpha"] > 0:
            raise UnsupportedError(
                f"glmnet with alpha = {numbers['alpha']:g} has an L1 penalty, which tables are not measured with. Fit "
                "with alpha = 0 (ridge)."
            )
        standardize = given.get("standardize", True)
        if not isinstance(standardize, bool):
            raise InputError(f"glmnet's standardize is true or false, not {standardize!r}.")
        return cls(numbers["lambda"], standardize)

    def penalty(self, family: str, y: Array, weights: Array | None) -> float:
        """Return the factor on half of each squared coefficient, beside the sum of losses."""
        each = np.ones(len(y)) if weights is None else weights
        total = float(each.sum())
        if family != "gaussian":
            return total * self.strength
        mean = each @ y / total
        return float(total * self.strength / np.sqrt(each @ (y - mean) ** 2 / total))

    def penalty_of_cox(self, count: int) -> float:
        """Return the same for a Cox model, whose standard deviations divide by n - 1 where it standardizes itself."""
        return (count - 1 if self.standardize else count) * self.strength
