"""Cost of the noise to the model that carries it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cost:
    """The mean loss of a model on its own rows, what noise adds to it, and the noise beside sampling error."""

    loss: str
    exact: bool
    """True if the added loss is exact, and not its second order."""
    without: float
    added: float
    names: tuple[str, ...]
    parameters: Array
    standard_errors: Array
    """As if the rows were a sample and the model true: of H^-1 H0 H^-1, times the residual variance if there is one."""
    noise: Array
    """The standard deviation of the noise on each parameter."""

    def sentence(self) -> str:
        """Return the noise in standard errors of the coefficients, and what it does to their intervals."""
        known = self.standard_errors > 0
        if not known.any():
            return "How large the noise is beside standard errors is not known: the fit has none."
        share = self.noise[known] / self.standard_errors[known]
        wider = np.sqrt(1.0 + share**2)
        much = wider.max() > 2
        intervals = f"up to {wider.max():.2g} times as wide" if much else f"{_range(100 * (wider - 1), '.2g')}% wider"
        return (
            f"The noise is {_range(share, '.2g')} standard errors of a coefficient: intervals that include it are "
            f"{intervals}."
        )


def _range(values: Array, form: str) -> str:
    low, high = f"{values.min():{form}}", f"{values.max():{form}}"
    return low if low == high else f"{low} to {high}"
