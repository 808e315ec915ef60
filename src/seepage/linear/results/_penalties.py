"""The penalty of fit_regularized: kept with the results, or read back from the coefficients that it led to.

statsmodels minimizes  sum of losses + P / 2 sum w^2 + L sum |w|,  so that with g the falling slope of the losses

    g_j = P w_j + L sign(w_j)  where w_j is not zero,     |g_j| <= L  where it is:

as many equations for two numbers as there are coefficients. One equation more than numbers tells whether they hold.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seepage.errors import UnsupportedError
from seepage.linear.objective import GLM

Array = NDArray[np.float64]

# What may be left of the equations, next to the largest of their sides: the numbers are right to as many digits.
_LEFT = 1e-5
# A slope that is this share of what it is the sum of is rounding: there was no penalty.
_NOTHING = 1e-9
# Families whose scale is estimated: their ridge is weighed by it.
_SCALED = ("Gaussian", "Gamma", "InverseGaussian", "Tweedie")
_WAY_OUT = (
    "Or fit seepage.models.GLM with penalty=, absolute= and penalize_intercept=, or a model of scikit-learn, which "
    "know their penalty, and measure that."
)


class Penalty(NamedTuple):
    """The factors on half of each square and on each absolute value, and whether the constant has them too."""

    squares: float
    absolute: float
    on_constant: bool


class LossPulls(NamedTuple):
    """What the losses of a fitted model pull at each coefficient with."""

    coefficients: Array
    slope: Array
    """g."""
    size: float
    """The largest sum of absolute values that it is a sum of."""
    constant: int | None
    """Which of them is the constant."""

    @classmethod
    def of(
        cls, glm: GLM, params: Array, exog: Array, y: Array, added: tuple[Array, Array], at: int | None
    ) -> "LossPulls":
        """Return those at some parameters; `added` are weights and offset."""
        loss, (weights, offset) = glm.loss, added
        pull = -weights * loss.slope(exog @ params + offset, y)
        return cls(params, exog.T @ pull, float((np.abs(exog).T @ np.abs(pull)).max()), at)


def is_regularized(results: Any) -> bool:
    """Return whether some results are of fit_regularized."""
    name = type(results).__name__
    return "Regularized" in name or name.startswith("L1")


def penalty_of(results: Any, slopes: LossPulls) -> Penalty:
    """Return the penalty that results of fit_regularized were fitted with, or refuse to guess it."""
    settings = getattr(results, "mle_settings", None) or {}
    if "alpha" in settings:
        return _kept(np.asarray(settings["alpha"], dtype=np.float64), slopes)
    found = _read_back(slopes)
    family = type(getattr(results.model, "family", None)).__name__
    if found.squares and not found.absolute and family in _SCALED:
        raise UnsupportedError(
            f"fit_regularized of a GLM of the {family} family with L1_wt=0 weighs its penalty by the scale that it "
            f"estimates from the same rows, which is no penalty that is known. {_WAY_OUT}"
        )
    return found


def _kept(alpha: Array, slopes: LossPulls) -> Penalty:
    """Return a penalty on absolute values that the results know."""
    each = np.broadcast_to(alpha, slopes.coefficients.shape)
    others = np.delete(each, slopes.constant) if slopes.constant is not None else each
    constant = None if slopes.constant is None else float(each[slopes.constant])
    if np.ptp(others) or constant not in (None, 0.0, float(others[0])):
        raise UnsupportedError(
            f"This model was fitted with alpha={each.tolist()}: a penalty of its own for each coefficient is not "
            "measured. Fit with one alpha for all, and that or zero for the constant."
        )
    return Penalty(0.0, float(others[0]), bool(constant))


def _read_back(slopes: LossPulls) -> Penalty:
    w, g = slopes.coefficients, slopes.slope
    largest = float(np.abs(g).max())
    zeros = w == 0
    if largest <= _NOTHING * slopes.size and not zeros.any():
        return Penalty(0.0, 0.0, False)
    # Whether the constant was left free, as a vector of alphas says it; one that is free is not zero.
    at, there, free = slopes.constant, np.ones(len(w), dtype=bool), False
    if at is not None and w[at] != 0 and abs(g[at]) <= _LEFT * largest:
        free, there[at] = True, False
    active = there & ~zeros
    signs = np.sign(w[active])
    held = np.abs(g[zeros & there])
    beyond = False
    both = np.column_stack([w[active], signs])
    # Squares alone, absolute values alone, and both.
    for kinds in ([0], [1], [0, 1]):
        if active.sum() <= len(kinds):
            continue
        factors = np.zeros(2)
        factors[kinds] = np.linalg.lstsq(both[:, kinds], g[active], rcond=None)[0]
        if np.abs(both @ factors - g[active]).max() > _LEFT * largest or (factors < 0).any():
            continue
        squares, absolute = factors.tolist()
        if held.size and held.max() > absolute * (1 + _LEFT):
            beyond = True
            continue
        if at is not None and free and squares * abs(w[at]) + absolute <= 2 * _LEFT * largest:
            raise UnsupportedError(
                "This model was fitted with fit_regularized, whose results do not keep the penalty, and its constant "
                f"is so near zero ({w[at]:.2g}) that they do not tell whether it had one. Fit without a constant. "
                f"{_WAY_OUT}"
            )
        return Penalty(squares, absolute, at is not None and not free)
    raise UnsupportedError(_why(int(active.sum()), beyond))


def _why(active: int, beyond: bool) -> str:
    start = "This model was fitted with fit_regularized, whose results do not keep the penalty, and"
    if beyond:
        return (
            f"{start} it has a coefficient at zero that the penalty on the others would not keep there: it came to "
            "zero on the way and was left there, which is not the minimum. Fit with zero_tol=1e-12, or from other "
            f"start_params. {_WAY_OUT}"
        )
    if active < 3:
        return f"{start} with {active} coefficients that are not zero it cannot be told from them. {_WAY_OUT}"
    return (
        f"{start} no one alpha and L1_wt for all coefficients (and none, or the same, for the constant) lead to these "
        "coefficients: the solver stopped early, or each has an alpha of its own. Fit with cnvrg_tol=1e-12, "
        f"zero_tol=1e-12 and maxiter=10_000. {_WAY_OUT}"
    )
