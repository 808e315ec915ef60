"""How far what random directions say of a person's information can be from it.

Over k Gaussian directions, the mean of |A w|^2 divided by the trace of A^T A is Q = sum_i l_i G_i, the l_i being the
shares of its eigenvalues and G_i = chi2_k(i) / k. That Q is small is likeliest for a single eigenvalue, whatever A is:

    P(Q <= x) <= P(chi2_k / k <= x)     for x <= 1 - sqrt(3 (2 x / k + 8 x^2 / k^2)),

which quantiles of up to a hundredth are. For as share moves from l_2 to the largest, l_1, P(Q <= x) grows by
2/k (l_1 - l_2) times the slope at x of the density of R = Q + 2/k (l_1 E_1 + l_2 E_2), with exponential E_i: their
Laplace transforms show it. R is a sum of gammas, so it has one mode. Of its parts, l_1 (G_1 + 2/k E_1) has its mode at
l_1, and whatever is added moves that up: if l_1 is at least x, so is R's. Else no share is above x, the variance of R
is at most 2 x / k + 8 x^2 / k^2, its mean at least 1, and its mode within sqrt(3) deviations of that. Either way x is
below the mode, where densities rise.

That Q is large is bounded by Chernoff, as prod (1 - a l_i) >= 1 - a: P(Q >= x) <= (x exp(1 - x))^(k/2) for x > 1.
"""

import math

from scipy.special import lambertw
from scipy.stats import chi2

DOUBT = 0.01
"""The share of rounds, at most, in which a person's information is above its upper limit."""


def looks(directions: int) -> dict[int, float]:
    """Return after how many directions to ask who needs more, and what doubt each time is allowed.

    Most people are far below their limits, where a few directions tell: half of the doubt is for these.
    """
    first, *more = sorted({max(1, directions * share // 64) for share in (3, 5, 20, 64)})
    return {first: DOUBT / (2 if more else 1)} | {each: DOUBT / (2 * len(more)) for each in more}


def factors(directions: int, doubt: float) -> tuple[float, float]:
    """Return by what a mean over directions is multiplied to be above the truth, or below it, but for this doubt."""
    at = -math.exp(2 * math.log(doubt) / directions - 1)
    return directions / float(chi2.ppf(doubt, directions)), 1 / -float(lambertw(at, -1).real)
