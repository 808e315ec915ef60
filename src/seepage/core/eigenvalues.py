"""Largest eigenvalues of many symmetric matrices.

Small matrices: Householder's reflections turn a matrix into a tridiagonal one with the same eigenvalues; many matrices
are reduced together, entry by entry, so that each instruction works on several of them. The signs of the pivots
d_i = a_i - mu - b_i^2 / d_(i-1) of a tridiagonal matrix say how many eigenvalues lie above mu. Laguerre's steps come
down to the largest from above, and the counts on both sides of the result certify it.

Matrices known by their products with vectors: Lanczos's steps, each direction kept orthogonal to all before it. The
largest eigenvalue of the tridiagonal matrix is within the last residual of an eigenvalue, and below the largest.
"""

from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

Array = NDArray[np.float64]

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
def _look(diagonal, beside, mu, inverse, first, second, above, g, h):  # type: ignore[no-untyped-def]
    """Fill in whether an eigenvalue lies above each mu, and the first two derivatives of log |det(T - mu)|."""
    m, lanes = diagonal.shape
    for lane in range(lanes):
        d = diagonal[0, lane] - mu[lane]
        d = -1e-300 if d == 0.0 else d
        # The pivots' first two derivatives, each over the pivot: log |det| is the sum of their logarithms.
        inverse[lane] = 1.0 / d
        first[lane], second[lane] = -inverse[lane], 0.0
        above[lane] = d
        g[lane], h[lane] = first[lane], -first[lane] * first[lane]
    for i in range(1, m):
        for lane in range(lanes):
            ratio = beside[i - 1, lane] * beside[i - 1, lane] * inverse[lane]
            d = diagonal[i, lane] - mu[lane] - ratio
            d = -1e-300 if d == 0.0 else d
            over, slope = 1.0 / d, first[lane]
            bend = ratio * (second[lane] - 2.0 * slope * slope) * over
            slope = (ratio * slope - 1.0) * over
            inverse[lane], first[lane], second[lane] = over, slope, bend
            above[lane] = max(above[lane], d)
            g[lane] += slope
            h[lane] += bend - slope * slope


@numba.njit(cache=True, nogil=True, error_model="numpy")
def tops_of_diagonals(diagonal, beside, work, top):  # type: ignore[no-untyped-def]
    """Fill in the largest eigenvalues of matrices with these three diagonals, zero where all are below.

    Parameters
    ----------
    diagonal, beside : ndarray of shape (m, matrices)
    work : ndarray of shape (10, matrices)
        Overwritten.
    top : ndarray of shape (matrices,)
        Output.
    """
    m, lanes = diagonal.shape
    lower, upper, mu, guess = work[0], work[1], work[2], work[3]
    for lane in range(lanes):
        least, most, total, squares = diagonal[0, lane], 0.0, 0.0, 0.0
        for i in range(m):
            left = abs(beside[i - 1, lane]) if i > 0 else 0.0
            right = abs(beside[i, lane]) if i < m - 1 else 0.0
            least = max(least, diagonal[i, lane])
            most = max(most, diagonal[i, lane] + left + right)
            total += diagonal[i, lane]
            squares += diagonal[i, lane] * diagonal[i, lane] + 2.0 * right * right
        # Of all numbers with this sum and sum of squares the largest is at most this: Laguerre's step from infinity.
        mean = total / m
        most = min(most, mean + np.sqrt(max((m - 1) * (squares / m - mean * mean), 0.0)) + 1e-15 * most)
        lower[lane] = max(least * (1.0 - 4e-16), 0.0)
        upper[lane] = max(most * (1.0 + 4e-16), lower[lane])
        mu[lane] = guess[lane] = upper[lane]
    for step in range(_MOST_STEPS + 100):
        found = True
        for lane in range(lanes):
            found &= upper[lane] - lower[lane] <= _TOLERANCE * upper[lane]
        if found:
            break
        _look(diagonal, beside, mu, work[4], work[5], work[6], work[7], work[8], work[9])
        for lane in range(lanes):
            if upper[lane] - lower[lane] <= _TOLERANCE * upper[lane]:
                continue
            if work[7, lane] > 0.0:
                lower[lane] = max(lower[lane], mu[lane])
            else:
                upper[lane] = min(upper[lane], mu[lane])
                # Laguerre's step from above does not pass the largest root.
                g, h = work[8, lane], work[9, lane]
                inside = (m - 1) * (-m * h - g * g)
                reach = g + np.sqrt(inside) if inside > 0.0 else g
                guess[lane] = mu[lane] - m / reach if reach > 0.0 else np.nan
            if step >= _MOST_STEPS or not (lower[lane] <= guess[lane] <= upper[lane]):
                mu[lane] = 0.5 * (lower[lane] + upper[lane])
            elif mu[lane] - guess[lane] > 1e-5 * mu[lane]:
                mu[lane] = guess[lane]
            elif upper[lane] > guess[lane] * (1.0 + 0.4 * _TOLERANCE):
                # Once a step hardly moves, counts close the bracket on both sides of where it ends.
                mu[lane] = guess[lane] * (1.0 + 0.4 * _TOLERANCE)
            else:
                mu[lane] = guess[lane] * (1.0 - 0.4 * _TOLERANCE)
    for lane in range(lanes):
        top[lane] = 0.5 * (lower[lane] + upper[lane])


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
    down, work = np.empty((values, _LANES)), np.empty((10, _LANES))
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
        for i in range(values):
            for lane in range(_LANES):
                down[i, lane] = matrix[i, i, lane]
        tops_of_diagonals(down, beside, work, total)
        for lane in range(count):
            top[start + lane] = total[lane] * trace[start + lane]


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
    down, work = np.empty((values, _LANES)), np.empty((10, _LANES))
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
        for i in range(values):
            for lane in range(_LANES):
                down[i, lane] = matrix[i, i, lane]
        tops_of_diagonals(down, beside, work, total)
        for lane in range(count):
            top[start + lane] *= total[lane]


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def unpack(triangles, ends, others, matrices):  # type: ignore[no-untyped-def]
    """Fill in symmetric matrices from their lower triangles, with  e t^T + t e^T  added for each of a few e and t."""
    count, people, values = ends.shape
    for i in range(people):
        matrix, at = matrices[i], 0
        for v in range(values):
            row = matrix[v]
            for w in range(v + 1):
                row[w] = triangles[i, at + w]
            at += v + 1
            for b in range(count):
                e, t = ends[b, i], others[b, i]
                left, right = e[v], t[v]
                for w in range(v + 1):
                    row[w] += left * t[w] + right * e[w]
            for w in range(v):
                matrix[w, v] = row[w]


# A residual of this share of the eigenvalue leaves an error of about its square.
_RESIDUAL = 1e-8
# Directions that are made room for at a time.
_ROOM = 16


def largest_by_products(product: Callable[[Array], Array], count: int, size: int) -> Array:
    """Return the largest eigenvalue of each of `count` positive semidefinite matrices of shape (size, size).

    Parameters
    ----------
    product : callable
        Takes a vector for each matrix, shape (count, size), and returns each matrix times its vector.
    count, size : int
    """
    # The same directions for everybody: the result of a row does not depend on who is scored with it.
    start = np.random.default_rng(0).normal(size=size)
    basis = np.empty((min(_ROOM, size + 1), count, size))
    basis[0] = start / np.linalg.norm(start)
    diagonal, beside = np.zeros((count, size)), np.zeros((count, size))
    found, residual = np.zeros(count), np.empty(count)
    for step in range(size):
        if step + 1 == len(basis):
            basis = np.concatenate([basis, np.empty((min(len(basis), size + 1 - len(basis)), count, size))])
        image = np.ascontiguousarray(product(basis[step]))
        _next(image, basis, step, diagonal, beside)
        if step % 2 or step + 1 == size:
            _ritz(diagonal, beside, step + 1, found, residual)
            if (residual <= _RESIDUAL * found).all():
                break
    return np.maximum(found, 0.0)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _next(image, basis, step, diagonal, beside):  # type: ignore[no-untyped-def]
    """Add what is orthogonal to all directions so far of each image to the basis, and note the three diagonals."""
    n, size = image.shape
    for i in range(n):
        row = image[i]
        for again in range(2):
            for j in range(step, -1, -1):
                known = basis[j, i]
                inner = 0.0
                for k in range(size):
                    inner += row[k] * known[k]
                if again == 0 and j == step:
                    diagonal[i, step] = inner
                for k in range(size):
                    row[k] -= inner * known[k]
        total = 0.0
        for k in range(size):
            total += row[k] * row[k]
        length = np.sqrt(total)
        beside[i, step] = length
        inverse = 1.0 / length if length > 0.0 else 1.0
        following = basis[step + 1, i]
        for k in range(size):
            following[k] = row[k] * inverse


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _ritz(diagonal, beside, m, found, residual):  # type: ignore[no-untyped-def]
    """Fill in the largest eigenvalue of each one's three diagonals, and how far it may be from one of the matrix."""
    n = diagonal.shape[0]
    down, across, scales = np.zeros((m, n)), np.zeros((m, n)), np.zeros(n)
    for i in range(n):
        for j in range(m):
            scales[i] = max(scales[i], diagonal[i, j] + beside[i, j])
        if scales[i] > 0.0:
            for j in range(m):
                down[j, i], across[j, i] = diagonal[i, j] / scales[i], beside[i, j] / scales[i]
    tops_of_diagonals(down, across, np.empty((10, n)), found)
    for i in range(n):
        if not scales[i] > 0.0:
            found[i], residual[i] = 0.0, 0.0
            continue
        top = found[i] * scales[i]
        # Its vector, from the last entry up: the pivots on the way are those of what lies below, and positive.
        pivot, entry, total = top - diagonal[i, m - 1], 1.0, 1.0
        for j in range(m - 2, -1, -1):
            if not beside[i, j] > 0.0 or total > 1e200:
                # Nothing of it reaches the last entry.
                total = np.inf
                break
            entry *= pivot / beside[i, j]
            total += entry * entry
            pivot = top - diagonal[i, j] - beside[i, j] * beside[i, j] / pivot
        found[i], residual[i] = top, beside[i, m - 1] / np.sqrt(total)


# Up to this size whole matrices, side by side, are cheaper than a search by products.
_WHOLE = 64


def largest_of_factors(moved: Array) -> Array:
    """Return the largest eigenvalue of each J^T J, from all J^T of shape (n, values, numbers)."""
    n, values, moves = moved.shape
    if not values or not moves:
        return np.zeros(n)
    if min(values, moves) <= _WHOLE:
        flat = moved if values <= moves else np.ascontiguousarray(moved.transpose(0, 2, 1))
        return np.maximum(tops_of_matrices(flat @ flat.transpose(0, 2, 1)), 0.0)

    def product(vectors: Array) -> Array:
        return np.asarray(np.einsum("nvp,np->nv", moved, np.einsum("nvp,nv->np", moved, vectors)))

    return largest_by_products(product, n, values)


def largest_of_sandwich(outer: Array, inner: Array) -> float:
    """Return the largest eigenvalue of  outer inner outer^T, which is not formed where it is large."""
    size = len(outer)
    if size > _WHOLE:
        product = LinearOperator((size, size), matvec=lambda w: outer @ (inner @ (outer.T @ w)), dtype=np.float64)
        start = np.random.default_rng(0).normal(size=size)
        try:
            return float(eigsh(product, k=1, which="LA", v0=start, ncv=14, tol=1e-13, return_eigenvectors=False)[0])
        except ArpackNoConvergence:
            pass
    return max(float(np.linalg.eigvalsh(outer @ inner @ outer.T)[-1]), 0.0)
