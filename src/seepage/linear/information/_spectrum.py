"""The largest eigenvalue of a diagonal matrix plus two rank-one terms, row by row.

Every row i asks for the top eigenvalue of (eq. 3.1)

    S_i = r_i^2 diag(D) + a_i g g^T + b_i (f g^T + g f^T)

where one of the two vectors g and f belongs to the row and the other to the whole dataset. Divided by r_i^2, with
h = (b_i / r_i^2) f and alpha = a_i / r_i^2, and for any mu that is no entry of D, Haynsworth's inertia formula
(eqs. 3.2 and 3.3) says

    #eigenvalues above mu = #{k : D_k > mu} + #positive eigenvalues of W(mu) - 1,
    W(mu) = [[-M_gg, -1 - M_gh], [-1 - M_gh, alpha - M_hh]],   M_xy = sum_k x_k y_k / (D_k - mu).

One sweep over the p entries gives W and its derivative, hence three things at once: on which side of mu the root lies
(exactly), a Rayleigh quotient (a lower bound of the root, cubically convergent), and the vector it belongs to. The
search keeps a bracket [lower, upper] that only inertia may move upward from below and downward from above, so what it
returns is certified whatever the Rayleigh steps did.
"""

import numba
import numpy as np

# The certified relative width of the bracket that ends a search.
TOLERANCE = 1e-12
# Rayleigh steps need three or four sweeps; past this many the search only bisects, which always ends.
_PATIENCE = 12
_MOST_SWEEPS = 200
# When the terms without r^2 are so many times larger, those with it are lost to rounding; and squares stay finite.
_NEGLIGIBLE = 1e60

# Reassociation lets the sums use vector instructions; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _sweep(diagonal, row, fixed, mu):  # type: ignore[no-untyped-def]
    rr = rf = ff = rr2 = rf2 = ff2 = 0.0
    for k in range(diagonal.shape[0]):
        t = 1.0 / (diagonal[k] - mu)
        x = row[k] * t
        y = fixed[k] * t
        rr += x * row[k]
        rf += x * fixed[k]
        ff += y * fixed[k]
        rr2 += x * x
        rf2 += x * y
        ff2 += y * y
    return rr, rf, ff, rr2, rf2, ff2


@numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _moments(diagonal, row, fixed):  # type: ignore[no-untyped-def]
    rr = rf = drr = drf = 0.0
    for k in range(diagonal.shape[0]):
        x = row[k]
        rr += x * x
        rf += x * fixed[k]
        drr += diagonal[k] * x * x
        drf += diagonal[k] * x * fixed[k]
    return rr, rf, drr, drf


@numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _length(x, y):  # type: ignore[no-untyped-def]
    squares = x * x + y * y
    # hypot never overflows but is slow; most numbers can be squared.
    return np.sqrt(squares) if 1e-200 < squares < 1e200 else np.hypot(x, y)


@numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _eigenpair(p, q, s, upper):  # type: ignore[no-untyped-def]
    """Return the larger or the smaller eigenvalue of [[p, q], [q, s]] with its unit vector."""
    middle = 0.5 * (p + s)
    half = 0.5 * (p - s)
    radius = _length(half, q)
    # The eigenvalue nearer to zero suffers cancellation; the determinant gives it back.
    large = middle + radius if middle >= 0.0 else middle - radius
    small = (p * s - q * q) / large if large != 0.0 else 0.0
    omega = max(large, small) if upper else min(large, small)
    if abs(p - omega) >= abs(s - omega):
        x, y = -q, p - omega
    else:
        x, y = s - omega, -q
    norm = _length(x, y)
    if norm == 0.0:
        return omega, 1.0, 0.0
    inverse = 1.0 / norm
    return omega, x * inverse, y * inverse


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _root_is_above_first(diagonal, row, fixed, alpha, beta, row_is_g):  # type: ignore[no-untyped-def]
    """Return whether the top eigenvalue exceeds D_1, by the inertia in the limit mu -> D_1 from above."""
    first = diagonal[0]
    b_gg = b_gh = b_hh = m_gg = m_gh = m_hh = 0.0
    for k in range(diagonal.shape[0]):
        g, h = (row[k], beta * fixed[k]) if row_is_g else (fixed[k], beta * row[k])
        distance = diagonal[k] - first
        if distance >= -1e-14 * first:
            b_gg += g * g
            b_gh += g * h
            b_hh += h * h
        else:
            m_gg += g * g / distance
            m_gh += g * h / distance
            m_hh += h * h / distance
    tied, x, y = _eigenpair(b_gg, b_gh, b_hh, False)
    if tied > 1e-12 * (b_gg + b_hh):
        return True
    if b_gg + b_hh == 0.0:
        return _eigenpair(-m_gg, -1.0 - m_gh, alpha - m_hh, False)[0] > 0.0
    return -m_gg * x * x + 2.0 * (-1.0 - m_gh) * x * y + (alpha - m_hh) * y * y > 0.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _search(diagonal, row, fixed, alpha, beta, row_is_g, moments, fixed_moments):  # type: ignore[no-untyped-def]
    """Return the top eigenvalue of diag(D) + alpha g g^T + beta (f g^T + g f^T)."""
    rr, rf, drr, drf = moments
    ff, dff = fixed_moments
    p = diagonal.shape[0]
    first = diagonal[0]
    second = diagonal[1] if p > 1 else 0.0
    # Rename the moments: g carries alpha, h = beta f.
    if row_is_g:
        gg, gh, hh = rr, beta * rf, beta * beta * ff
        dgg, dgh, dhh = drr, beta * drf, beta * beta * dff
        g0, h0 = row[0], beta * fixed[0]
    else:
        gg, gh, hh = ff, beta * rf, beta * beta * rr
        dgg, dgh, dhh = dff, beta * drf, beta * beta * drr
        g0, h0 = fixed[0], beta * row[0]

    # The top eigenvalue of the two rank-one terms alone, and the vector x g + y h it belongs to:
    # (alpha gg + gh) x + (alpha gh + hh) y = rank_two x,  gg x + gh y = rank_two y.
    middle = 0.5 * alpha * gg + gh
    rank_two = middle + np.sqrt(max(middle * middle + gg * hh - gh * gh, 0.0))
    lower = max(0.0, first + alpha * g0 * g0 + 2.0 * g0 * h0)
    x, y = rank_two - gh, gg
    norm = x * x * gg + 2.0 * x * y * gh + y * y * hh
    # Where x g and y h nearly cancel, the quotient is rounding error and bounds nothing.
    if norm > 1e-6 * (x * x * gg + y * y * hh):
        lower = max(lower, rank_two + (x * x * dgg + 2.0 * x * y * dgh + y * y * dhh) / norm)
    upper = first + max(rank_two, 0.0)
    # Rounding in the Rayleigh quotients must not push the bracket past the root.
    lower = max(lower * (1.0 - 4e-16), second)
    upper *= 1.0 + 4e-16

    mu = lower if lower > second * (1.0 + 1e-9) else 0.5 * (first + second)
    for sweep in range(_MOST_SWEEPS):
        if upper - lower <= TOLERANCE * upper:
            break
        if mu == first:
            # The limit from above: the terms of D_1 grow without bound, so only what is orthogonal to them decides.
            if _root_is_above_first(diagonal, row, fixed, alpha, beta, row_is_g):
                lower = first
            else:
                upper = first
            mu = 0.5 * (lower + upper)
            continue
        rr, rf, ff, rr2, rf2, ff2 = _sweep(diagonal, row, fixed, mu)
        if not np.isfinite(rr + ff + rr2 + ff2):
            # mu is an entry of D (or too near to divide by): step off it.
            mu += max(abs(mu) * 1e-15, 1e-300)
            continue
        if row_is_g:
            m_gg, m_gh, m_hh = rr, beta * rf, beta * beta * ff
            n_gg, n_gh, n_hh = rr2, beta * rf2, beta * beta * ff2
        else:
            m_gg, m_gh, m_hh = ff, beta * rf, beta * beta * rr
            n_gg, n_gh, n_hh = ff2, beta * rf2, beta * beta * rr2
        omega, x, y = _eigenpair(-m_gg, -1.0 - m_gh, alpha - m_hh, mu < first)
        # Above every D_k the root is to the right iff W is positive definite (its smaller eigenvalue is positive);
        # between D_2 and D_1 iff W has a positive eigenvalue (its larger one is).
        if omega > 0.0:
            lower = max(lower, mu)
        else:
            upper = min(upper, mu)
        cross = 2.0 * x * y * n_gh
        slope = x * x * n_gg + y * y * n_hh + cross
        # Next to an entry of D the slope can be lost to cancellation; its quotient then means nothing.
        trusted = slope > 1e-6 * (x * x * n_gg + y * y * n_hh + abs(cross))
        quotient = mu + omega * (1.0 + omega * (alpha * x * x + 2.0 * x * y)) / slope if trusted else mu
        if sweep < _PATIENCE and lower < quotient < upper:
            lower = max(lower, quotient * (1.0 - 4e-16))
            # Once the quotient hardly moves, look just above it: inertia then closes the bracket.
            if abs(quotient - mu) <= 1e-5 * quotient:
                mu = min(quotient * (1.0 + 0.4 * TOLERANCE), 0.5 * (quotient + upper))
            else:
                mu = quotient
        elif lower < first < upper:
            mu = first
        else:
            mu = 0.5 * (lower + upper)
    return 0.5 * (lower + upper)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def top_eigenvalues(diagonal, rows, fixed, scale, alpha, beta, row_is_g, top, row_norms, inner):  # type: ignore[no-untyped-def]
    """Fill `top` with each row's largest eigenvalue, `row_norms` with |row|^2 and `inner` with row . fixed.

    Parameters
    ----------
    diagonal : ndarray of shape (p,)
        D, in descending order, none negative.
    rows : ndarray of shape (n, p)
        The vector that changes from row to row.
    fixed : ndarray of shape (p,)
        The vector that all rows share.
    scale, alpha, beta : ndarray of shape (n,)
        r^2, a and b of the module's formula; `alpha` is the coefficient of g g^T, or of g g^T / |row|^2 when the row
        is f (the caller cannot know the norm before this sweep has measured it).
    row_is_g : bool
        Whether the row's vector is g (True) or f.
    top, row_norms, inner : ndarray of shape (n,)
        Outputs.
    """
    ff = dff = 0.0
    for k in range(diagonal.shape[0]):
        ff += fixed[k] * fixed[k]
        dff += diagonal[k] * fixed[k] * fixed[k]
    for i in range(rows.shape[0]):
        row = rows[i]
        moments = _moments(diagonal, row, fixed)
        row_norms[i] = moments[0]
        inner[i] = moments[1]
        r2 = scale[i]
        a = alpha[i] / r2 if r2 > 0.0 else np.inf
        b = beta[i] / r2 if r2 > 0.0 else np.inf
        if a < _NEGLIGIBLE and abs(b) < _NEGLIGIBLE:
            top[i] = r2 * _search(diagonal, row, fixed, a, b, row_is_g, moments, (ff, dff))
        elif row_is_g:
            # A perfect fit: r = 0 (or as good as), the slope terms vanish and a g g^T is what is left.
            top[i] = alpha[i] * moments[0]
        else:
            top[i] = alpha[i] * ff
