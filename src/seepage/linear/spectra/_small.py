"""The largest eigenvalue of many small symmetric matrices: three diagonals, and a root that counting certifies.

Householder's reflections turn a matrix into one of three diagonals with the same eigenvalues; many matrices go side by
side, number by number, so that each instruction works on several of them. Of that, the signs of the
pivots d_i = a_i - mu - b_i^2 / d_(i-1) say how many eigenvalues lie above mu; Laguerre's steps come down to the largest
from above, three digits becoming nine, and the counts on both sides of where they end certify it.
"""

import numba
import numpy as np
from numpy.typing import NDArray

# The certified relative width of the bracket that ends a search.
_TOLERANCE = 1e-13
_MOST_STEPS = 40
# Matrices side by side.
_LANES = 64
# Reassociation lets the sums use vector instructions; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _tridiagonal(matrix, beside, v, w, total, inner):  # type: ignore[no-untyped-def]
    """Overwrite symmetric matrices, shape (m, m, lanes), of which one triangle is there, by their three diagonals."""
    m, lanes = matrix.shape[0], matrix.shape[2]
    for k in range(m - 2):
        # v = x - root e_1 for x below the diagonal of column k: |v|^2 / 2 = squares - root x_1.
        for lane in range(lanes):
            total[lane] = 0.0
        for i in range(k + 1, m):
            for lane in range(lanes):
                total[lane] += matrix[i, k, lane] * matrix[i, k, lane]
        for lane in range(lanes):
            first = matrix[k + 1, k, lane]
            root = -np.sqrt(total[lane]) if first > 0.0 else np.sqrt(total[lane])
            beside[k, lane] = root
            half = total[lane] - root * first
            # Nothing below the diagonal: nothing to reflect.
            inner[lane] = 1.0 / half if half > 0.0 else 0.0
            v[k + 1, lane] = first - root
        for i in range(k + 2, m):
            for lane in range(lanes):
                v[i, lane] = matrix[i, k, lane]
        for i in range(k + 1, m):
            for lane in range(lanes):
                w[i, lane] = matrix[i, i, lane] * v[i, lane]
        for i in range(k + 1, m):
            for j in range(k + 1, i):
                for lane in range(lanes):
                    w[i, lane] += matrix[i, j, lane] * v[j, lane]
                    w[j, lane] += matrix[i, j, lane] * v[i, lane]
        for lane in range(lanes):
            total[lane] = 0.0
        for i in range(k + 1, m):
            for lane in range(lanes):
                w[i, lane] *= inner[lane]
                total[lane] += w[i, lane] * v[i, lane]
        for lane in range(lanes):
            total[lane] *= 0.5 * inner[lane]
        for i in range(k + 1, m):
            for lane in range(lanes):
                w[i, lane] -= total[lane] * v[i, lane]
        for i in range(k + 1, m):
            for j in range(k + 1, i + 1):
                for lane in range(lanes):
                    matrix[i, j, lane] -= v[i, lane] * w[j, lane] + w[i, lane] * v[j, lane]
    for lane in range(lanes):
        beside[m - 2, lane] = matrix[m - 1, m - 2, lane]


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
def top_of_diagonals(diagonal, beside):  # type: ignore[no-untyped-def]
    """Return the largest eigenvalue of a matrix with these three diagonals, zero where all are below."""
    m = diagonal.shape[0]
    lower, upper, total, squares = diagonal[0], 0.0, 0.0, 0.0
    for i in range(m):
        left = abs(beside[i - 1]) if i > 0 else 0.0
        right = abs(beside[i]) if i < m - 1 else 0.0
        lower = max(lower, diagonal[i])
        upper = max(upper, diagonal[i] + left + right)
        total += diagonal[i]
        squares += diagonal[i] * diagonal[i] + 2.0 * right * right
    if upper <= 0.0:
        return 0.0
    # Of all numbers with this sum and this sum of squares the largest is at most this: Laguerre's step from infinity.
    mean = total / m
    upper = min(upper, mean + np.sqrt(max((m - 1) * (squares / m - mean * mean), 0.0)) + 1e-15 * upper)
    lower = max(lower * (1.0 - 4e-16), 0.0)
    upper = max(upper * (1.0 + 4e-16), lower)
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
    matrix, seen = np.zeros((values, values, _LANES)), np.zeros((outputs, values, _LANES))
    turned, pulled = np.zeros((outputs, values, _LANES)), np.zeros((outputs, values, _LANES))
    beside, v, w = np.zeros((values, _LANES)), np.zeros((values, _LANES)), np.zeros((values, _LANES))
    total, inner, factor = np.zeros(_LANES), np.zeros(_LANES), np.zeros(_LANES)
    scale = np.zeros(_LANES)
    down, across = np.empty(values), np.empty(values)
    for start in range(0, n, _LANES):
        count = min(_LANES, n - start)
        for lane in range(count):
            for c in range(outputs):
                for j in range(values):
                    seen[c, j, lane] = s[start + lane, c, j]
                for j in range(k):
                    pulled[c, j, lane] = e[start + lane, c, j]
        # I = N + s (Q s^T + E) + E^T s^T.
        for c in range(outputs):
            turned[c] = pulled[c]
            for d in range(outputs):
                for lane in range(count):
                    factor[lane] = q[start + lane, c, d]
                for j in range(values):
                    for lane in range(_LANES):
                        turned[c, j, lane] += factor[lane] * seen[d, j, lane]
        matrix[:] = 0.0
        for c in range(outputs):
            for i in range(values):
                for j in range(i + 1):
                    for lane in range(_LANES):
                        matrix[i, j, lane] += (
                            seen[c, i, lane] * turned[c, j, lane] + pulled[c, i, lane] * seen[c, j, lane]
                        )
        for pair in range(pairs.shape[1]):
            for lane in range(count):
                factor[lane] = pairs[start + lane, pair]
            for i in range(k):
                for j in range(i + 1):
                    block = within[pair, i, j]
                    for lane in range(_LANES):
                        matrix[i, j, lane] += factor[lane] * block
        for lane in range(_LANES):
            total[lane] = 0.0
        for i in range(values):
            for lane in range(_LANES):
                total[lane] += matrix[i, i, lane]
        for lane in range(count):
            trace[start + lane] = total[lane]
            # No entry exceeds the trace: divided by it, squares neither vanish nor overflow.
            scale[lane] = 1.0 / total[lane] if total[lane] > 0.0 else 0.0
        if values == 1:
            for lane in range(count):
                top[start + lane] = matrix[0, 0, lane]
            continue
        for i in range(values):
            for j in range(i + 1):
                for lane in range(_LANES):
                    matrix[i, j, lane] *= scale[lane]
        _tridiagonal(matrix, beside, v, w, total, inner)
        for lane in range(count):
            for i in range(values):
                down[i] = matrix[i, i, lane]
                across[i] = beside[i, lane]
            top[start + lane] = top_of_diagonals(down, across) * trace[start + lane]


def tops_of_matrices(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest eigenvalue of each of many positive semidefinite matrices, shape (n, m, m)."""
    top = np.empty(len(matrices))
    _tops_of_matrices(np.ascontiguousarray(matrices), top)
    return top


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _tops_of_matrices(matrices, top):  # type: ignore[no-untyped-def]
    n, values = matrices.shape[0], matrices.shape[1]
    matrix = np.zeros((values, values, _LANES))
    beside, v, w = np.zeros((values, _LANES)), np.zeros((values, _LANES)), np.zeros((values, _LANES))
    total, inner = np.zeros(_LANES), np.zeros(_LANES)
    down, across = np.empty(values), np.empty(values)
    for start in range(0, n, _LANES):
        count = min(_LANES, n - start)
        matrix[:] = 0.0
        for lane in range(count):
            trace = 0.0
            for i in range(values):
                trace += matrices[start + lane, i, i]
            top[start + lane] = trace
            scale = 1.0 / trace if trace > 0.0 else 0.0
            for i in range(values):
                for j in range(i + 1):
                    matrix[i, j, lane] = matrices[start + lane, i, j] * scale
        if values == 1:
            continue
        _tridiagonal(matrix, beside, v, w, total, inner)
        for lane in range(count):
            for i in range(values):
                down[i] = matrix[i, i, lane]
                across[i] = beside[i, lane]
            top[start + lane] *= top_of_diagonals(down, across)
