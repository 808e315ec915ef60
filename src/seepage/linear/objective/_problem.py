"""What is minimized: a loss of each row's margins, penalties, and the parameters to begin with (eqs. 2.1 and 2.25)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seepage._tables import Array
from seepage.linear.objective._losses import Loss
from seepage.linear.rows import Labels

Precision = Literal["direct", "iterative", "stochastic"]


@dataclass(frozen=True, eq=False)
class Problem:
    """The objective that an estimator minimized, and the parameters it came to."""

    estimator: str
    loss: Loss
    parameters: Array
    """theta, shape (p, outputs), the intercept last."""
    penalty: Array
    """P, shape (p, outputs)."""
    absolute: Array
    """L, the factor on the absolute value of each coefficient, shape (p, outputs); zero for most models."""
    intercept: bool
    labels: Labels
    basis: Array
    """What is published is parameters @ basis.T, shape (published outputs, outputs); it need not be orthonormal."""
    class_weight: Array | None = None
    """A factor for each class on the weight of its rows."""
    precision: Precision = "iterative"
    gradient_promise: float = 0.0
    """The largest entry of the mean gradient that the solver's tolerance admits; 0 when it promises none."""
    residual_promise: float = 0.0
    """The relative residual of least squares that the solver's tolerance admits; 0 when it promises none."""
    hint: str | None = None
    """What this estimator is known to do instead of minimizing, and the way out."""
    free: NDArray[np.bool_] | None = None
    """Which parameters are fitted, shape (p, outputs), if some are zero by what the model is."""
    beside: tuple[str, ...] = ()
    """What parameters beside the coefficients are called, one an output after the first."""
    intercept_in_norm: bool = True
    """Whether the intercept is a part of the norm that is least, where many parameters fit equally well."""

    @property
    def size(self) -> int:
        """The number of coefficients of one output, with its intercept."""
        return int(self.parameters.shape[0])

    @property
    def selects(self) -> bool:
        """Whether the penalty keeps coefficients at zero, so that the minimizer has kinks."""
        return bool(self.absolute.any())
