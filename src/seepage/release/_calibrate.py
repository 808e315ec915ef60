"""The smallest noise that meets every target."""

from collections.abc import Mapping

from seepage._errors import InputError, UnansweredError
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
) -> float | GaussianNoise:
    """Return the smallest noise scale that meets all targets.

    Every quantity scales with the inverse of the noise, so each target has a closed form.

    The exact answer depends on the most exposed person, and so gives that person away a little: round it up before you
    publish it.

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

    Returns
    -------
    float or GaussianNoise
        The scale; or, for a measurement with a noise covariance, that noise at the scale needed.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge().fit(X, y)
    >>> leak = seepage.measure(model, X, y, noise_scale=1.0)
    >>> scale = seepage.calibrate(leak, error_floor={"age": 5.0})
    >>> safe = seepage.measure(model, X, y, noise_scale=scale)
    >>> round(safe.error_floor()["age"].min(), 9)
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
    factor = max(policy.factors(leak).values())
    if factor == 0:
        raise InputError("Nobody leaks anything about these targets: any noise scale meets them.")
    scaled = noise.scaled(factor)
    return scaled if scaled.scale is None else scaled.scale
