"""The largest eigenvalue of many small symmetric matrices: three diagonals, and a root that counting certifies.

Householder's reflections turn a matrix into one of three diagonals with the same eigenvalues. Of that, the signs of the
pivots d_i = a_i - mu - b_i^2 / d_(i-1) say how many eigenvalues lie above mu; Laguerre's steps come down to the largest
from above, three digits becoming nine, and the counts on both sides of where they end certify it.
"""

import numba
import numpy as np

# The certified relative width of the bracket that ends a search.
_TOLERANCE = 1e-13
_MOST_STEPS = 40
# Reassociation lets the sums use vector instructions; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _tridiagonal(matrix, diagonal, beside, v, w):  # type: ignore[no-untyped-def]
    """Overwrite a symmetric matrix; fill its three diagonals."""
    m = matrix.shape[0]
    for k in range(m - 2):
        diagonal[k] = matrix[k, k]
        scale = 0.0
        for j in range(k + 1, m):
            scale = max(scale, abs(matrix[k, j]))
        if scale == 0.0:
            beside[k] = 0.0
            continue
        inverse, squares = 1.0 / scale, 0.0
        for j in range(k + 1, m):
            v[j] = matrix[k, j] * inverse
            squares += v[j] * v[j]
        root = -np.sqrt(squares) if v[k + 1] > 0.0 else np.sqrt(squares)
        beside[k] = scale * root
        # v = x - root e_1, with |v|^2 / 2 = squares - root x_1.
        inverse = 1.0 / (squares - root * v[k + 1])
        v[k + 1] -= root
        inner = 0.0
        for i in range(k + 1, m):
            total = 0.0
            for j in range(k + 1, m):
                total += matrix[i, j] * v[j]
            w[i] = total * inverse
            inner += w[i] * v[i]
        inner *= 0.5 * inverse
        for i in range(k + 1, m):
            w[i] -= inner * v[i]
        for i in range(k + 1, m):
            x, y = v[i], w[i]
            for j in range(k + 1, m):
                matrix[i, j] -= x * w[j] + y * v[j]
    diagonal[m - 2], diagonal[m - 1] = matrix[m - 2, m - 2], matrix[m - 1, m - 1]
    beside[m - 2] = matrix[m - 1, m - 2]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _look(diagonal, beside, mu):  # type: ignore[no-untyped-def]
    """Return whether an eigenvalue lies above mu, and the first two derivatives of log |det(T - mu)|."""
    d = diagonal[0] - mu
    if d == 0.0:
        d = -1e-300
    # The pivots' first two derivatives, each over the pivot: log |det| is the sum of their logarithms.
    inverse = 1.0 / d
    first, second = -inverse, 0.0
    above, g, h = d > 0.0, first, -first * first
    for i in range(1, diagonal.shape[0]):
        ratio = beside[i - 1] * beside[i - 1] * inverse
        d = diagonal[i] - mu - ratio
        if d == 0.0:
            d = -1e-300
        inverse = 1.0 / d
        second = ratio * (second - 2.0 * first * first) * inverse
        first = (ratio * first - 1.0) * inverse
        above |= d > 0.0
        g += first
        h += second - first * first
    return above, g, h


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _top(diagonal, beside):  # type: ignore[no-untyped-def]
    """Return the largest eigenvalue of a matrix with these three diagonals, zero where all are below."""
    m = diagonal.shape[0]
    lower, upper = diagonal[0], 0.0
    for i in range(m):
        reach = (abs(beside[i - 1]) if i > 0 else 0.0) + (abs(beside[i]) if i < m - 1 else 0.0)
        lower = max(lower, diagonal[i])
        upper = max(upper, diagonal[i] + reach)
    if upper <= 0.0:
        return 0.0
    lower = max(lower * (1.0 - 4e-16), 0.0)
    upper *= 1.0 + 4e-16
    mu = guess = upper
    for step in range(_MOST_STEPS + 100):
        if upper - lower <= _TOLERANCE * upper:
            break
        above, g, h = _look(diagonal, beside, mu)
        if above:
            lower = max(lower, mu)
        else:
            upper = min(upper, mu)
            # Laguerre's step from above does not pass the largest root.
            inside = (m - 1) * (-m * h - g * g)
            reach = g + np.sqrt(inside) if inside > 0.0 else g
            guess = mu - m / reach if reach > 0.0 else np.nan
        if step >= _MOST_STEPS or not (lower <= guess <= upper):
            mu = 0.5 * (lower + upper)
        elif mu - guess > 1e-5 * mu:
            mu = guess
        elif upper > guess * (1.0 + 0.4 * _TOLERANCE):
            # Once a step hardly moves, counts close the bracket on both sides of where it ends.
            mu = guess * (1.0 + 0.4 * _TOLERANCE)
        else:
            mu = guess * (1.0 - 0.4 * _TOLERANCE)
    return 0.5 * (lower + upper)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def tops_of_all(pairs, within, s, e, q, top, trace):  # type: ignore[no-untyped-def]
    """Fill `top` and `trace` with the largest eigenvalue and the trace of each row's information.

    Parameters
    ----------
    pairs : ndarray of shape (n, pairs)
        rho_c rho_d.
    within : ndarray of shape (pairs, k, k)
        T^T A_cd T, added to its mirror image for c < d.
    s : ndarray of shape (n, outputs, values)
    e : ndarray of shape (n, outputs, k)
    q : ndarray of shape (n, outputs, outputs)
    top, trace : ndarray of shape (n,)
        Outputs.
    """
    n, outputs, values = s.shape
    k = e.shape[2]
    matrix, turned = np.empty((values, values)), np.empty((outputs, values))
    diagonal, beside, v, w = np.empty(values), np.zeros(values), np.empty(values), np.empty(values)
    for row in range(n):
        # I = N + s (Q s^T + E) + E^T s^T.
        seen = s[row]
        for c in range(outputs):
            for j in range(values):
                turned[c, j] = e[row, c, j] if j < k else 0.0
            for d in range(outputs):
                for j in range(values):
                    turned[c, j] += q[row, c, d] * seen[d, j]
        for i in range(values):
            for j in range(values):
                matrix[i, j] = 0.0
            for c in range(outputs):
                x, y = seen[c, i], e[row, c, i] if i < k else 0.0
                for j in range(values):
                    matrix[i, j] += x * turned[c, j] + y * seen[c, j]
        for pair in range(pairs.shape[1]):
            factor = pairs[row, pair]
            for i in range(k):
                for j in range(k):
                    matrix[i, j] += factor * within[pair, i, j]
        total = 0.0
        for i in range(values):
            total += matrix[i, i]
        trace[row] = total
        if values == 1:
            top[row] = matrix[0, 0]
            continue
        _tridiagonal(matrix, diagonal, beside, v, w)
        top[row] = _top(diagonal, beside)
