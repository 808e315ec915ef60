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


def is_regularized(results: Any) -> bool:
    """Return whether some results are of fit_regularized."""
    name = type(results).__name__
    return "Regularized" in name or name.startswith("L1")


def penalty_of(results: Any, glm: GLM, weights: Array, offset: Array, y: Array, constant: int | None) -> Penalty:
    """Return the penalty that results of fit_regularized were fitted with, or refuse to guess it.

    Parameters
    ----------
    results : results of statsmodels
    glm : GLM
        The same model, not fitted.
    weights, offset, y : ndarray of shape (n,)
        Of the rows.
    constant : int or None
        Which coefficient is the constant.
    """
    params, exog = (np.asarray(each, dtype=np.float64) for each in (results.params, results.model.exog))
    settings = getattr(results, "mle_settings", None) or {}
    if "alpha" in settings:
        return _kept(np.broadcast_to(np.asarray(settings["alpha"], dtype=np.float64), params.shape), constant)
    falling = -weights * glm.loss.slope(exog @ params + offset, y)
    size = float((np.abs(exog).T @ np.abs(falling)).max())
    found = _read_back(params, exog.T @ falling, size, constant)
    family = type(getattr(results.model, "family", None)).__name__
    if found.squares and not found.absolute and family in _SCALED:
        raise UnsupportedError(
            f"fit_regularized of a GLM of the {family} family with L1_wt=0 weighs its penalty by the scale that it "
            f"estimates from the same rows, which is no penalty that is known. {_WAY_OUT}"
        )
    return found


def _kept(alpha: Array, constant: int | None) -> Penalty:
    """Return a penalty on absolute values that the results know."""
    others = alpha if constant is None else np.delete(alpha, constant)
    on_constant = 0.0 if constant is None else float(alpha[constant])
    if np.ptp(others) or on_constant not in (0.0, float(others[0])):
        raise UnsupportedError(
            f"This model was fitted with alpha={alpha.tolist()}: a penalty of its own for each coefficient is not "
            "measured. Fit with one alpha for all, and that or zero for the constant."
        )
    return Penalty(0.0, float(others[0]), bool(on_constant))


def _read_back(w: Array, g: Array, size: float, constant: int | None) -> Penalty:
    largest = float(np.abs(g).max())
    if largest <= _NOTHING * size and w.all():
        return Penalty(0.0, 0.0, False)
    # A vector of alphas may leave the constant free; one that is free is not zero.
    free = constant is not None and w[constant] != 0 and abs(g[constant]) <= _LEFT * largest
    there = np.arange(len(w)) != (constant if free else -1)
    active, zeros, sides = there & (w != 0), there & (w == 0), np.column_stack([w, np.sign(w)])
    # Squares alone, absolute values alone, and both.
    for kinds in ([0], [1], [0, 1]):
        if active.sum() <= len(kinds):
            continue
        factors = np.zeros(2)
        factors[kinds] = np.linalg.lstsq(sides[active][:, kinds], g[active], rcond=None)[0]
        is_solved = np.abs(sides[active] @ factors - g[active]).max() <= _LEFT * largest
        squares, absolute = factors.tolist()
        if not is_solved or min(factors) < 0 or np.abs(g[zeros]).max(initial=0.0) > absolute * (1 + _LEFT):
            continue
        if constant is not None and free and squares * abs(w[constant]) + absolute <= 2 * _LEFT * largest:
            raise UnsupportedError(
                f"Results of fit_regularized do not keep the penalty, and the constant is so near zero "
                f"({w[constant]:.2g}) that they do not tell whether it had one. Fit without a constant. {_WAY_OUT}"
            )
        return Penalty(squares, absolute, constant is not None and not free)
    raise UnsupportedError(
        f"Results of fit_regularized do not keep the penalty, and it cannot be told from their {int(active.sum())} "
        "coefficients that are not zero: the solver stopped early, or each has an alpha of its own. Fit with "
        f"cnvrg_tol=1e-12, zero_tol=1e-12 and maxiter=10_000. {_WAY_OUT}"
    )
