"""What a logistic gradient has beyond its linear part, over many rows and at many moves of the parameters.

With s the probability at a margin m, t = 1 - s and q = e^d - 1, a change d of the margin changes the slope of the loss
by s t q / (1 + s q), of which s t d is linear. The rest is a power series in d whose terms shrink by d / pi.
"""
# mypy: disable-error-code="no-untyped-def"

import numba
import numpy as np

_FAST = {"contract", "nsz", "arcp"}
# Where the series to the eighth power has all digits that matter: the rest is 1e-9 of what is small itself.
_NEAR = 0.2


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def beyond_linear(moved, bent, s, t, weight):
    """Write into `bent` what changes of one row's margin do to its slope beyond their linear part."""
    a, u, far = s * t, t - s, 0
    # The derivatives of the probability, from the second to the eighth, each over its factorial.
    scaled = weight * a
    c2, c3, c4 = scaled * u / 2, scaled * (1 - 6 * a) / 6, scaled * u * (1 - 12 * a) / 24
    c5, c6 = scaled * (1 - a * (30 - 120 * a)) / 120, scaled * u * (1 - a * (60 - 360 * a)) / 720
    c7 = scaled * (1 - a * (126 - a * (1680 - 5040 * a))) / 5040
    c8 = scaled * u * (1 - a * (252 - a * (5040 - 20160 * a))) / 40320
    # No branch here, so that the compiler does several at a time.
    for k in range(moved.shape[0]):
        d = moved[k]
        far += not (abs(d) <= _NEAR)
        bent[k] = d * d * (c2 + d * (c3 + d * (c4 + d * (c5 + d * (c6 + d * (c7 + d * c8))))))
    if far == 0:
        return
    for k in range(moved.shape[0]):
        d = moved[k]
        if not abs(d) <= _NEAR:
            fading = np.exp(-abs(d))
            rise = a * (1 - fading) / (s + t * fading) if d > 0 else -a * (1 - fading) / (t + s * fading)
            bent[k] = weight * (rise - a * d)


@numba.njit(cache=True, nogil=True)
def dense_beyond(moved, s, t, weights):
    """Do so for rows whose changes are there already, shape (n, m), in their place."""
    bent = np.empty(moved.shape[1])
    for i in range(moved.shape[0]):
        beyond_linear(moved[i], bent, s[i], t[i], weights[i])
        moved[i] = bent


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def sparse_beyond(starts, places, values, intercept, moves, s, t, weights, total):
    """Add slope (x) row of sparse rows at each of many moves to `total`; both have shape (p, m).

    A row's changes never leave the cache between being made, bent and added up.
    """
    last, size = moves.shape
    row, bent = np.empty(size), np.empty(size)
    for i in range(len(starts) - 1):
        at, end = starts[i], starts[i + 1]
        for k in range(size):
            row[k] = moves[last - 1, k] if intercept else 0.0
        while at + 1 < end:
            # Two at a time: what they are added to is read and written half as often.
            one, two, first, second = values[at], values[at + 1], moves[places[at]], moves[places[at + 1]]
            for k in range(size):
                row[k] += one * first[k] + two * second[k]
            at += 2
        if at < end:
            one, first = values[at], moves[places[at]]
            for k in range(size):
                row[k] += one * first[k]
        beyond_linear(row, bent, s[i], t[i], weights[i])
        for z in range(starts[i], end):
            one, part = values[z], total[places[z]]
            for k in range(size):
                part[k] += one * bent[k]
        if intercept:
            part = total[last - 1]
            for k in range(size):
                part[k] += bent[k]
