"""What noise costs the model that carries it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cost:
    """The mean loss of a model on its own rows, what noise adds to it, and the noise beside sampling error."""

    loss: str
    exact: bool
    """Whether what noise adds is exact, or the second order of it."""
    without: float
    added: float
    names: tuple[str, ...]
    parameters: Array
    standard_errors: Array
    """As if the rows were a sample and the model true: of H^-1 H0 H^-1, times the residual variance if there is one."""
    noise: Array
    """The standard deviation of the noise on each parameter."""
