"""What noise costs: the expected loss of the noisy model, and noise beside each coefficient's standard error."""

import numpy as np

from seepage._facts import personal
from seepage.leakage import Information
from seepage.report._document import Coefficient, Utility
from seepage.report._edition import near

_MOST_COEFFICIENTS = 50


def utility(information: Information) -> Utility | None:
    """Return what the noise costs; None where it is not known.

    With the Hessian H0 of the data's part, noise of covariance Sigma adds  1/2 tr(H0 Sigma)  to the sum of losses in
    the mean over its draws: exactly for squared errors, to second order for others (eq. 7.3).
    """
    cost = information.cost()
    if cost is None:
        return None
    return Utility(
        loss=cost.loss,
        exact=cost.exact,
        without=personal(near(cost.without)),
        added=personal(near(cost.added)),
        coefficients=tuple(
            Coefficient(name, personal(near(value)), personal(near(error)), personal(near(noise / error)))
            for name, value, error, noise in zip(
                cost.names[:_MOST_COEFFICIENTS], cost.parameters, cost.standard_errors, cost.noise, strict=False
            )
            if np.isfinite(error) and error > 0
        ),
    )
