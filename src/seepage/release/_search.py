"""The smallest noise that is enough, where a part of the information does not shrink with it."""

from collections.abc import Callable
from math import inf, sqrt

# Of the squared limit; what is returned meets it.
_SETTLED = 1e-11
_MOST_STEPS = 80
# Beyond so little noise nothing is asked for.
_LARGEST = 1e100


def smallest_factor(reached: Callable[[float], float], now: float, limit: float) -> float:
    """Return the smallest factor on the noise at which `reached` is within a limit; infinite if there is none.

    The square of what is reached is  I1 t + I2  for t = 1 / factor^2 and one person, and the largest of such lines, or
    a share of them, for many: it grows with t. False position, one of whose ends is halved when it stays, finds where
    it crosses the limit.

    Parameters
    ----------
    reached : callable
        Takes a factor, which may be infinite, and returns what the stated share of people do not exceed.
    now : float
        The same at the noise that was measured.
    limit : float
        What it must not exceed.
    """
    stays = reached(inf)
    if stays >= limit:
        return inf
    if now == 0.0:
        return 0.0
    square = limit**2
    low, below = 0.0, stays**2 - square
    high, above = 1.0, now**2 - square
    while above < 0.0 and high < _LARGEST:
        low, below = high, above
        high *= 4.0
        above = reached(1.0 / sqrt(high)) ** 2 - square
    if above < 0.0:
        return 0.0
    side = 0
    weight_below, weight_above = below, above
    for _ in range(_MOST_STEPS):
        if -_SETTLED * square <= below or high - low <= 1e-14 * high:
            break
        # A little short of where it should cross, so that the side which counts comes near too.
        middle = low + (high - low) * weight_below / (weight_below - weight_above) * (1.0 - 1e-12)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        gap = reached(1.0 / sqrt(middle)) ** 2 - square
        if gap <= 0.0:
            low, below, weight_below = middle, gap, gap
            weight_above *= 0.5 if side < 0 else 1.0
            side = -1
        else:
            high, weight_above = middle, gap
            weight_below *= 0.5 if side > 0 else 1.0
            side = 1
    return 1.0 / sqrt(low) if low > 0.0 else inf
