"""How far what random directions say of a person's information can be from it.

Over k Gaussian directions, the mean of |A w|^2 divided by the trace of A^T A is Q = sum_i l_i chi2_k(i) / k, the l_i
being the shares of its eigenvalues. As prod (1 + a l_i) >= 1 + a, and prod (1 - a l_i) >= 1 - a, E exp(s Q) is at most
what it is for a single eigenvalue, and Chernoff's bound is the same for every A, on both sides of 1:

    P(Q <= x) for x < 1,  P(Q >= x) for x > 1:     at most (x exp(1 - x))^(k/2).
"""

import math

from scipy.special import lambertw

DOUBT = 0.01
"""The share of rounds, at most, in which a person's information is above its upper limit."""


def looks(directions: int) -> tuple[int, ...]:
    """Return after how many directions to ask who needs more: most people are far below their limits."""
    return tuple(sorted({max(1, directions // 16), max(1, directions // 4), directions}))


def factors(directions: int, doubt: float) -> tuple[float, float]:
    """Return by what a mean over directions is multiplied to be above the truth, or below it, but for this doubt."""
    at = -math.exp(2 * math.log(doubt) / directions - 1)
    return 1 / -float(lambertw(at, 0).real), 1 / -float(lambertw(at, -1).real)
