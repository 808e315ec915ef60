"""The best test between two normal distributions, from its definition: their densities, and which one is larger.

It shares nothing with the library: integration over two dimensions, the inner one of which is known, and simulation.
"""

from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm


def integrated(first, second, odds=1.0):
    """Return how often the best test between two normals over the plane is right, at odds of the first."""
    share = odds / (1 + odds)
    return share * _right(first, second, np.log(odds)) + (1 - share) * _right(second, first, -np.log(odds))


def _right(own, other, head_start):
    """Return how often own's density, with a head start, is the larger one where own is true."""
    # In coordinates in which own is standard and other's covariance is diagonal.
    (mean, covariance), (moved, changed) = own, other
    root = np.linalg.cholesky(covariance)
    seen = np.linalg.solve(root, np.linalg.solve(root, changed).T)
    ratio, turn = np.linalg.eigh(seen)
    d = turn.T @ np.linalg.solve(root, np.subtract(moved, mean))
    # log own - log other = sum_k a_k z_k^2 + b_k z_k + c_k
    a, b, c = 0.5 / ratio - 0.5, -d / ratio, 0.5 * d**2 / ratio + 0.5 * np.log(ratio)
    flat = int(np.abs(a).argmin())
    steep = 1 - flat

    def inner(z):
        return _above(a[steep], b[steep], c.sum() + head_start + a[flat] * z**2 + b[flat] * z) * norm.pdf(z)

    # Where the inner probability has a kink, its quadratic has one root.
    bend = -4 * a[steep]
    kinks = np.roots([bend * a[flat], bend * b[flat], b[steep] ** 2 + bend * (c.sum() + head_start)])
    ends = [*np.linspace(-12, 12, 13), *(k.real for k in kinks if abs(k.imag) < 1e-9 and abs(k.real) < 12)]
    exactly = {"epsabs": 1e-12, "epsrel": 1e-11, "limit": 200}
    return sum(quad(inner, low, high, **exactly)[0] for low, high in pairwise(np.unique(ends)))


def _above(a, b, c):
    """Return how often a z^2 + b z + c is above zero for a standard normal z."""
    if a == 0:
        return norm.cdf(c / abs(b)) if b else float(c > 0)
    discriminant = b * b - 4 * a * c
    if discriminant <= 0:
        return float(a > 0)
    q = -0.5 * (b + np.copysign(np.sqrt(discriminant), b))
    low, high = sorted([q / a, c / q])
    inside = norm.cdf(high) - norm.cdf(low)
    return inside if a < 0 else 1 - inside


def simulated(first, second, draws, random):
    """Return how often the likelier of two normals is the true one, at equal odds, and the error of that."""
    both = [multivariate_normal(*each, seed=random) for each in (first, second)]
    right = [both[i].logpdf(x := both[i].rvs(draws)) > both[1 - i].logpdf(x) for i in (0, 1)]
    rate = np.mean(right)
    return rate, np.sqrt(rate * (1 - rate) / (2 * draws))


def apart(one, other):
    """Return the root of eight times the Bhattacharyya distance of two normals, each a mean and a covariance."""
    middle, gap = (one[1] + other[1]) / 2, other[0] - one[0]
    sizes = [np.linalg.slogdet(covariance)[1] for covariance in (middle, one[1], other[1])]
    return float(np.sqrt(gap @ np.linalg.solve(middle, gap) + 4 * sizes[0] - 2 * sizes[1] - 2 * sizes[2]))


def length(found, record, value=0):
    """Return how far apart the library's two releases are by Bhattacharyya's distance, which formulas state."""
    place = -1 if found.unlike is None else found.unlike.places(found.distance.shape)[record, value]
    if place < 0:
        return found.distance[record, value]
    return found.unlike.pairs.take(np.array([place])).length()[0]
