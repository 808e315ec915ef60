"""A noise scale that the rows decide, with noise of its own: what it tells is counted.

Within public ranges the noise that is needed moves little with anybody's value (`_ranges`). Its logarithm gets noise of
deviation kappa, a margin, and is rounded up on a grid: of a person with slope s, the scale carries information
s^2 / kappa^2 about their value, which is added to what the parameters carry. The slope is that of the three people who
need most noise: an estimate, for who needs most may be somebody else with another value.
"""

from math import exp, inf, log

import numpy as np

from seepage._amounts import up_to_grid
from seepage.errors import PolicyError, UnsupportedError
from seepage.release._mechanism import mechanism
from seepage.release._ranges import Ranged

KAPPA = 0.1
"""The noise on the logarithm of a scale."""
MARGIN = 3 * KAPPA


def counted_scale(ranged: Ranged, measured: float) -> float:
    """Return a scale that is enough at every value in the ranges of a policy, what it tells itself counted.

    Parameters
    ----------
    ranged : Ranged
        A release that was measured with noise of one scale.
    measured : float
        That scale.
    """
    policy = ranged.policy
    if policy.quantile < 1:
        raise UnsupportedError("A calibrated scale is counted for policies that hold for everybody: quantile=1.")
    if ranged.information.stays:
        raise UnsupportedError(
            "A calibrated scale is not counted behind steps that were fitted on the same rows. Give a noise_scale of "
            "1, 2 or 5 times a power of ten, which publish judges; or state that their constants are public."
        )
    needed = ranged.factor
    if not 0 < needed < inf:
        raise PolicyError("Nobody leaks anything about these targets, so there is no scale to calibrate.", needed)
    told = ranged.slopes() ** 2 / KAPPA**2
    (noisy,) = mechanism(KAPPA)([log(measured * needed)])
    scale = up_to_grid(exp(noisy + MARGIN))
    # The share of each target that the parameters use at the worst of one's own values, and that the scale uses.
    used = (np.nanmax(ranged.needed, axis=1) * measured / scale) ** 2
    names = list(policy.ranges)
    shares = [told[:, names.index(name)] * floor**2 for name, floor in policy.error_floor.items()]
    if policy.eta is not None:
        shares.append(told.sum(axis=1) / policy.eta**2)
    if float((used + np.max(shares, axis=0)).max()) > 1 + 1e-9:
        raise PolicyError(
            "What the parameters and the choice of their noise tell together would miss the policy, so nothing was "
            "published: of few people the choice of a scale tells too much. Choose a scale without the data, set "
            "targets that are easier to meet, or fit on more people.",
            inf,
        )
    return scale
