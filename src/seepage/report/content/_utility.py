"""What noise costs: the expected loss of the noisy model, and noise beside each coefficient's standard error."""

import numpy as np

from seepage._facts import personal, public
from seepage.errors import MinimizerError, UnansweredError, UnsupportedError
from seepage.leakage import Leakage
from seepage.report._document import Alternative, Alternatives, Coefficient, Utility
from seepage.report._edition import near

_MOST_COEFFICIENTS = 50
# Everybody is measured anew for other noises, and whoever has a category is fitted again.
_MOST_ALTERNATIVES = 1_000


def utility(leak: Leakage) -> Utility | None:
    """Return what the noise costs; None where it is not known.

    With the Hessian H0 of the data's part, noise of covariance Sigma adds  1/2 tr(H0 Sigma)  to the sum of losses in
    the mean over its draws: exactly for squared errors, to second order for others (eq. 7.3).
    """
    cost = leak.information.cost()
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
        alternatives=_alternatives(leak),
    )


def _alternatives(leak: Leakage) -> Alternatives | None:
    """Return what noises in standard errors would leave."""
    from seepage.release import suggest

    if leak.information.count > _MOST_ALTERNATIVES:
        return None
    try:
        found = suggest(leak)
    except (UnansweredError, UnsupportedError, MinimizerError):
        return None
    floors = (
        Alternative(name, tuple(personal(near(each)) if np.isfinite(each) else None for each in values))
        for name, values in found.floors.items()
    )
    return Alternatives(
        tuple(public(each) for each in found.standard_errors),
        tuple(public(each) for each in found.wider),
        tuple(floors),
    )
