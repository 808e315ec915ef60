"""Noise that meets every target."""

from collections.abc import Mapping
from math import inf

from seepage._amounts import up_to_grid
from seepage._noise import GaussianNoise
from seepage.errors import InputError, PolicyError, UnansweredError
from seepage.leakage import Leakage, checked_leakage
from seepage.release._policy import Policy
from seepage.release._shaping import Wanted, shaped_noise


def calibrate(
    leak: Leakage,
    *,
    error_floor: Mapping[str, float] | None = None,
    success_rate: Mapping[str, float] | None = None,
    eta: float | None = None,
    quantile: float = 1.0,
    shape: Wanted | None = None,
    exact: bool = False,
) -> float | GaussianNoise:
    """Return a noise scale that meets all targets, rounded up to 1, 2 or 5 times a power of ten.

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
    shape : {"isotropic", "hessian", "best"}, Shape, mapping or (X, y), optional
        How the noise is spread over the parameters. Noise of a good shape costs a fraction of the accuracy at the same
        promise. "hessian" follows the inverse Hessian of what was minimized; "best" tries rules that are fixed
        beforehand and returns the one that costs the fit least; a mapping from features to units spreads it by given
        units; rows and labels that are nobody's secret make a shape that tells nothing about the private ones. What a
        shape that follows the private rows tells about them is counted, and does not shrink with the noise.
    exact : bool, default=False
        Return the smallest scale with all its digits, for experiments: it may not leave the house.

    Returns
    -------
    float or GaussianNoise
        The scale; with a `shape`, the noise, whose `covariance` is for the owner to read and whose `gap` says how many
        times the excess loss of the best of all shapes it costs at most; or, for a measurement with a noise covariance,
        that noise, its deviations multiplied by a factor of the grid.

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
    >>> seepage.calibrate(leak, error_floor={"age": 5.0}, shape="hessian")
    GaussianNoise(shape=InverseHessian(scale=5.0), gap=28.2)
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
    factors = policy.factors(leak)
    never = [target for target, factor in factors.items() if factor == inf]
    if never:
        raise PolicyError("\n".join([*(target.sentence() for target in never), never[0].missing(inf)]), inf)
    factor = max(factors.values())
    if factor == 0:
        raise InputError("Nobody leaks anything about these targets: any noise scale meets them.")
    if noise.scale is None:
        # Of a shape the scale is printed, so that is what must be on the grid; a covariance has none.
        scale = 1.0 if noise.shape is None else noise.shape.scale
        return noise.scaled(factor if exact else up_to_grid(scale * factor) / scale)
    return noise.scale * factor if exact else up_to_grid(noise.scale * factor)
