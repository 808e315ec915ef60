"""Noise that meets every target."""

from collections.abc import Mapping
from math import inf

from seepage._amounts import up_to_grid
from seepage._noise import GaussianNoise
from seepage.errors import InputError, PolicyError, UnansweredError
from seepage.leakage import Leakage, checked_leakage
from seepage.release._policy import Policy
from seepage.release._shaping import Wanted, least_noise, shaped_noise


def calibrate(
    leak: Leakage,
    *,
    error_floor: Mapping[str, float] | None = None,
    success_rate: Mapping[str, float] | None = None,
    eta: float | None = None,
    quantile: float = 1.0,
    shape: Wanted | None = None,
    exact: bool = False,
) -> GaussianNoise:
    """Return noise that meets all targets at the least cost to the model, rounded up to 1, 2 or 5 times a power of ten.

    The smallest such scale depends on the most exposed person: all its digits together have given away people's ages.
    On a grid that is fixed before the data are seen nothing is left of them but a step of the grid. The price is noise
    of up to 2.5 times the smallest scale.

    Information falls with the square of the noise, except for what a scaler or an imputer that was fitted on these rows
    does to the noise's shape. Where that alone misses a target no noise is enough, and `seepage.errors.PolicyError`
    says so.

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
    shape : {"best", "isotropic", "standard errors"}, Shape, mapping or (X, y), optional
        How the noise is spread over the parameters. By default "best", or that of the noise which was measured with, if
        it is not one scale for all. "best" tries rules that are fixed beforehand, and noise of one scale, and returns
        what costs the fit least: a fraction of what noise of one scale ("isotropic") costs at the same promise. By
        default it is noise of one scale where shapes that follow the rows are not counted, such as behind an L1
        penalty. "standard errors" puts so many standard errors on each coefficient; a mapping from features to
        units spreads it by given units; rows and labels that are nobody's secret make a shape that tells nothing about
        the private ones. What a shape that follows the private rows tells about them is counted, and does not shrink
        with the noise.
    exact : bool, default=False
        Return the smallest scale with all its digits, for experiments: it may not leave the house.

    Returns
    -------
    GaussianNoise
        The noise, for `noise_scale=` of `seepage.measure` and `seepage.publish`. Its `covariance` is for the owner to
        read, and its `gap` says how many times the excess loss of the best of all shapes it costs at most. Noise of one
        scale has a `scale`.

    Examples
    --------
    >>> import seepage
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = Ridge().fit(X, y)
    >>> leak = seepage.measure(model, X, y, noise_scale=1.0)
    >>> noise = seepage.calibrate(leak, error_floor={"age": 5.0})
    >>> noise
    GaussianNoise(shape=Balanced(scale=100.0), gap=11.8)
    >>> kept = seepage.measure(model, X, y, noise_scale=noise)
    >>> bool(kept.error_floor()["age"].min() >= 5.0)
    True
    >>> seepage.calibrate(leak, error_floor={"age": 5.0}, shape="isotropic")
    GaussianNoise(scale=0.5, gap=8.54e+05)
    """
    policy = Policy(error_floor or {}, success_rate or {}, eta, quantile)
    if policy.is_empty:
        raise InputError("calibrate needs a target: error_floor={...}, success_rate={...} or eta=...")
    noise = checked_leakage(leak).information.noise
    if noise is None:
        raise UnansweredError(
            "The noise of this measurement cannot be chosen afterwards: it was spent while training, or each of "
            "several releases has its own. Calibrate each release by itself."
        )
    if shape is not None:
        return shaped_noise(leak, policy, shape, exact=exact)
    if noise.scale is not None:
        return least_noise(leak, policy, exact=exact)
    factors = policy.factors(leak)
    never = [target for target, factor in factors.items() if factor == inf]
    if never:
        raise PolicyError("\n".join([*(target.sentence() for target in never), never[0].missing(inf)]), inf)
    factor = max(factors.values())
    if factor == 0:
        raise InputError("Nobody leaks anything about these targets: any noise scale meets them.")
    # Of a shape the scale is printed, so that is what must be on the grid; a covariance has none.
    scale = 1.0 if noise.shape is None else noise.shape.scale
    return noise.scaled(factor if exact else up_to_grid(scale * factor) / scale)
