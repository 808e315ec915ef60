"""Noise that meets every target."""

from collections.abc import Mapping
from math import inf

from seepage._amounts import up_to_grid
from seepage._errors import InputError, PolicyError, UnansweredError
from seepage._noise import GaussianNoise
from seepage.leakage import Leakage
from seepage.release._policy import Policy


def calibrate(
    leak: Leakage,
    *,
    error_floor: Mapping[str, float] | None = None,
    success_rate: Mapping[str, float] | None = None,
    eta: float | None = None,
    quantile: float = 1.0,
    exact: bool = False,
) -> float | GaussianNoise:
    """Return a noise scale that meets all targets, rounded up to 1, 2 or 5 times a power of ten.

    The smallest such scale depends on the most exposed person: all its digits together have given away people's ages.
    On a grid that is fixed before the data are seen nothing is left of them but a step of the grid. The price is noise
    of up to 2.5 times the smallest scale.

    Information falls with the square of the noise, except for what a scaler or an imputer that was fitted on these rows
    does to the noise's shape. Where that alone misses a target no noise is enough, and `seepage.PolicyError` says so.

    Parameters
    ----------
    leak : Leakage
        A measurement at any noise scale.
    error_floor : mapping from attribute to float, optional
        The standard error, in the attribute's unit, that no unbiased guess may fall below.
    success_rate : mapping from attribute to float, optional
        For categories: how often the best attacker may tell the true value from any other at equal odds.
    eta : float, optional
        The largest information about any direction of a person's values.
    quantile : float, default=1.0
        The share of people for whom each target must hold.
    exact : bool, default=False
        Return the smallest scale with all its digits, for experiments: it may not leave the house.

    Returns
    -------
    float or GaussianNoise
        The scale; or, for a measurement with a noise covariance, that noise, its deviations multiplied by a factor of
        the grid.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge().fit(X, y)
    >>> leak = seepage.measure(model, X, y, noise_scale=1.0)
    >>> seepage.calibrate(leak, error_floor={"age": 5.0})
    0.5
    >>> scale = seepage.calibrate(leak, error_floor={"age": 5.0}, exact=True)
    >>> exposed = seepage.measure(model, X, y, noise_scale=scale)
    >>> round(exposed.error_floor()["age"].min(), 9)
    np.float64(5.0)
    """
    policy = Policy(error_floor or {}, success_rate or {}, eta, quantile)
    if policy.is_empty:
        raise InputError("calibrate needs a target: error_floor={...}, success_rate={...} or eta=...")
    noise = leak.information.noise
    if noise is None:
        raise UnansweredError(
            "The noise of this measurement cannot be chosen afterwards: it was spent while training, or each of "
            "several releases has its own. Calibrate each release by itself."
        )
    factors = policy.factors(leak)
    never = [target for target, factor in factors.items() if factor == inf]
    if never:
        raise PolicyError("\n".join([*(target.sentence() for target in never), never[0].missing(inf)]), inf)
    factor = max(factors.values())
    if factor == 0:
        raise InputError("Nobody leaks anything about these targets: any noise scale meets them.")
    if noise.scale is None:
        return noise.scaled(factor if exact else up_to_grid(factor))
    return noise.scale * factor if exact else up_to_grid(noise.scale * factor)
