"""The largest eigenvalue of a diagonal matrix plus two rank-one terms, row by row.

Every row i asks for the top eigenvalue of (eq. 3.1)

    S_i = r_i^2 diag(D) + a_i g g^T + b_i (f g^T + g f^T)

where g belongs to the row and f to the whole dataset. Divided by r_i^2, with
h = (b_i / r_i^2) f and alpha = a_i / r_i^2, and for any mu that is no entry of D, Haynsworth's inertia formula
(eqs. 3.2 and 3.3) says

    #eigenvalues above mu = #{k : D_k > mu} + #positive eigenvalues of W(mu) - 1,
    W(mu) = [[-M_gg, -1 - M_gh], [-1 - M_gh, alpha - M_hh]],   M_xy = sum_k x_k y_k / (D_k - mu).

One sweep over the p entries gives W and its derivative, hence two things at once: on which side of mu the root lies,
and a Rayleigh quotient that is nearer to the root (cubically so). Inertia moves the bracket [lower, upper], so what the
search returns is certified whatever the quotients did. Where nothing cancels, a quotient that hardly moves closes the
bracket by itself, as no Rayleigh quotient is above the largest eigenvalue, and by Temple's inequality none is further
below it than the square of its residual over the distance to the second eigenvalue, which is at most D_1 (two rank-one
terms, one of each sign). With the eigenvector (x, y) of W for omega, v = (mu - D)^-1 (x g + y h) leaves the residual

    (S - mu) v = omega ((alpha x + y) g + x h).

Next to an entry of D, or to several that are tied, one direction of W grows without bound and takes the digits of the
other with it, which is the one that decides. The sweep is then done once more in the axes of W: each entry's part in
the deciding direction is formed before anything is added, so no large number is ever subtracted.
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
# A determinant that is smaller than this share of its two products may have the wrong sign.
_CANCELLED = 1e-13
# The step from an entry of D to the numbers next to it.
_NEXT = 4e-16
# Rows that are looked at together, and how far from the root, where nothing cancels and Temple's inequality is sharp.
_BLOCK = 64
_ASIDE = 2e-7

# Reassociation lets the sums use vector instructions; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _sweep(diagonal, row, fixed, mu):  # type: ignore[no-untyped-def]
    rr = rf = ff = rr2 = rf2 = ff2 = 0.0
    for k in range(diagonal.shape[0]):
        t = 1.0 / (mu - diagonal[k])
        x = row[k] * t
        y = fixed[k] * t
        rr += x * row[k]
        rf += x * fixed[k]
        ff += y * fixed[k]
        rr2 += x * x
        rf2 += x * y
        ff2 += y * y
    return rr, rf, ff, rr2, rf2, ff2


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _turned_sweep(diagonal, row, fixed, mu, x_row, x_fixed, y_row, y_fixed):  # type: ignore[no-untyped-def]
    """Return the same sums for two combinations x and y of the vectors."""
    xx = xy = yy = xx2 = xy2 = yy2 = 0.0
    for k in range(diagonal.shape[0]):
        t = 1.0 / (mu - diagonal[k])
        x = x_row * row[k] + x_fixed * fixed[k]
        y = y_row * row[k] + y_fixed * fixed[k]
        xx += x * x * t
        xy += x * y * t
        yy += y * y * t
        xx2 += (x * t) * (x * t)
        xy2 += (x * t) * (y * t)
        yy2 += (y * t) * (y * t)
    return xx, xy, yy, xx2, xy2, yy2


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
def _look(diagonal, row, fixed, mu, alpha, to_row, to_fixed, s_g, s_h):  # type: ignore[no-untyped-def]
    """Return whether the root lies above mu, a Rayleigh quotient, and by how much the root may be above that.

    The quotient is NaN when it means nothing. The excess is infinite, and the root may be below a quotient that was
    rounded, unless no term of the sums cancelled another: mu is above every D_k, and the slope kept its digits.

    The vectors are x = `to_row` row and y = `to_fixed` fixed, which are s_g g and s_h h of unit length: W in their
    terms has the same inertia.
    """
    xx, xy, yy, xx2, xy2, yy2 = _sweep(diagonal, row, fixed, mu)
    both, bend, flat = to_row * to_fixed, -s_g * s_h, alpha * s_h * s_h
    p, q, s = to_row**2 * xx, bend + both * xy, flat + to_fixed**2 * yy
    n_xx, n_xy, n_yy = to_row**2 * xx2, both * xy2, to_fixed**2 * yy2
    cosine, sine = 1.0, 0.0
    is_firm = mu > diagonal[0]
    if abs(p * s - q * q) <= _CANCELLED * (abs(p * s) + q * q):
        is_firm = False
        _, cosine, sine = _eigenpair(p, q, s, p + s > 0.0)
        xx, xy, yy, n_xx, n_xy, n_yy = _turned_sweep(
            diagonal, row, fixed, mu, cosine * to_row, sine * to_fixed, -sine * to_row, cosine * to_fixed
        )
        p = 2.0 * bend * cosine * sine + flat * sine * sine + xx
        q = flat * cosine * sine + bend * (cosine - sine) * (cosine + sine) + xy
        s = flat * cosine * cosine - 2.0 * bend * cosine * sine + yy
    # Above every D_k the root is to the right iff W is positive definite (its smaller eigenvalue is positive);
    # between D_2 and D_1 iff W has a positive eigenvalue (its larger one is).
    omega, x, y = _eigenpair(p, q, s, mu < diagonal[0])
    cross = 2.0 * x * y * n_xy
    slope = x * x * n_xx + y * y * n_yy + cross
    # Next to an entry of D the slope can be lost to cancellation; its quotient then means nothing.
    whole = x * x * n_xx + y * y * n_yy + abs(cross)
    if not slope > 1e-6 * whole:
        return omega > 0.0, np.nan, np.inf
    x, y = cosine * x - sine * y, sine * x + cosine * y
    quotient = mu + omega * (1.0 + omega * (alpha * (x / s_g) ** 2 + 2.0 * x * y / (s_g * s_h))) / slope
    if not (is_firm and slope > 1e-3 * whole and quotient > diagonal[0]):
        return omega > 0.0, quotient, np.inf
    x, y = x / s_g, y / s_h
    residual = omega * (abs(alpha * x + y) / s_g + abs(x) / s_h)
    return omega > 0.0, quotient, residual * residual / (slope * (quotient - diagonal[0]))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _search(diagonal, row, fixed, alpha, beta, rr, rf, ff, mu):  # type: ignore[no-untyped-def]
    """Return the top eigenvalue of diag(D) + alpha g g^T + beta (f g^T + g f^T), beginning at mu if that can be it."""
    first = diagonal[0]
    second = diagonal[1] if diagonal.shape[0] > 1 else 0.0
    # Rename the moments: g carries alpha, h = beta f.
    gg, gh, hh = rr, beta * rf, beta * beta * ff
    g0, h0 = row[0], beta * fixed[0]
    s_g = 1.0 / np.sqrt(gg) if gg > 0.0 else 1.0
    s_h = 1.0 / np.sqrt(hh) if hh > 0.0 else 1.0
    to_row, to_fixed = s_g, s_h * beta

    # The top eigenvalue of the two rank-one terms alone.
    middle = 0.5 * alpha * gg + gh
    rank_two = max(middle + np.sqrt(max(middle * middle + gg * hh - gh * gh, 0.0)), 0.0)
    size = first + rank_two + alpha * gg + abs(gh)
    # Between the second entry (two terms, one of each sign, move no eigenvalue past its neighbor) and the sum of norms,
    # each widened by the rounding of its own terms.
    lower = max(second * (1.0 - _NEXT), first + alpha * g0 * g0 + 2.0 * g0 * h0 - 8.0 * _NEXT * size, 0.0)
    upper = first + rank_two + 8.0 * _NEXT * size
    for sweep in range(_MOST_SWEEPS):
        if upper - lower <= TOLERANCE * upper:
            break
        if not (lower < mu < upper):
            mu = 0.5 * (lower + upper)
        if mu == first or (sweep == _PATIENCE and lower < first < upper):
            # Which side of D_1 the root is on is asked next to it, where every quotient is still a number.
            mu = first * (1.0 + _NEXT)
        is_above, quotient, excess = _look(diagonal, row, fixed, mu, alpha, to_row, to_fixed, s_g, s_h)
        if is_above:
            lower = max(lower, mu)
        else:
            upper = min(upper, mu)
        if sweep >= _PATIENCE or not (lower <= quotient <= upper):
            mu = 0.5 * (lower + upper)
        elif abs(quotient - mu) > 1e-5 * quotient:
            mu = quotient
        else:
            # Once the quotient hardly moves, it closes the bracket, or inertia does on both sides of it.
            below, above = quotient * (1.0 - 0.4 * TOLERANCE), quotient * (1.0 + 0.4 * TOLERANCE)
            if excess < np.inf:
                lower = max(lower, below)
            if quotient + excess <= quotient * (1.0 + 0.2 * TOLERANCE):
                upper = min(upper, above)
            mu = above if upper > above else below
    return 0.5 * (lower + upper)


@numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _starts(moments, fixed_moments, alpha, beta, mu):  # type: ignore[no-untyped-def]
    """Fill `mu` with a Rayleigh quotient of each row: of the vector of its two rank-one terms alone."""
    ff, dff = fixed_moments
    for i in range(mu.shape[0]):
        a, b = alpha[i], beta[i]
        gg, gh, dgg, dgh = moments[0, i], b * moments[1, i], moments[2, i], b * moments[3, i]
        hh, dhh = b * b * ff, b * b * dff
        middle = 0.5 * a * gg + gh
        rank_two = max(middle + np.sqrt(max(middle * middle + gg * hh - gh * gh, 0.0)), 0.0)
        # (alpha gg + gh) x + (alpha gh + hh) y = rank_two x,  gg x + gh y = rank_two y.
        x, y = rank_two - gh, gg
        # Where x g and y h nearly cancel, the quotient is rounding error: a search begins elsewhere.
        norm = x * x * gg + 2.0 * x * y * gh + y * y * hh
        mu[i] = rank_two + (x * x * dgg + 2.0 * x * y * dgh + y * y * dhh) / norm


@numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _ends(first, moments, ff, sums, alpha, beta, mu, is_end):  # type: ignore[no-untyped-def]
    """Bring each row's mu nearer to the root, and say where that is the eigenvalue: as `_look` does, for many rows."""
    for i in range(mu.shape[0]):
        a, b, at = alpha[i], beta[i], mu[i]
        gg, hh = moments[0, i], b * b * ff
        s_g, s_h = 1.0 / np.sqrt(gg), 1.0 / np.sqrt(hh)
        to_row, to_fixed = s_g, s_h * b
        both, bend, flat = to_row * to_fixed, -s_g * s_h, a * s_h * s_h
        p, q, s = to_row**2 * sums[0, i], bend + both * sums[1, i], flat + to_fixed**2 * sums[2, i]
        n_xx, n_xy, n_yy = to_row**2 * sums[3, i], both * sums[4, i], to_fixed**2 * sums[5, i]
        determinant = p * s - q * q
        middle, half = 0.5 * (p + s), 0.5 * (p - s)
        radius = np.sqrt(half * half + q * q)
        large = middle + radius if middle >= 0.0 else middle - radius
        omega = min(large, determinant / large)
        by_p = abs(p - omega) >= abs(s - omega)
        x, y = -q if by_p else s - omega, p - omega if by_p else -q
        size = 1.0 / (abs(x) + abs(y))
        x, y = x * size, y * size
        cross = 2.0 * x * y * n_xy
        plain = x * x * n_xx + y * y * n_yy
        slope = plain + cross
        u, v = x / s_g, y / s_h
        quotient = at + omega * (x * x + y * y + omega * (a * u * u + 2.0 * u * v)) / slope
        residual = omega * (abs(a * u + v) / s_g + abs(u) / s_h)
        excess = residual * residual / (slope * (quotient - first))
        is_firm = (at > first) & (abs(determinant) > _CANCELLED * (abs(p * s) + q * q))
        is_firm &= (slope > 1e-3 * (plain + abs(cross))) & (quotient > first)
        is_end[i] = is_firm & (abs(quotient - at) <= 1e-5 * quotient) & (excess <= 0.2 * TOLERANCE * quotient)
        mu[i] = quotient


@numba.njit(cache=True, nogil=True, error_model="numpy")
def top_eigenvalues(  # type: ignore[no-untyped-def]
    diagonal, rows, fixed, scale, alpha, beta, top, row_norms, inner
):
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
        r^2, a and b of the module's formula.
    top, row_norms, inner : ndarray of shape (n,)
        Outputs.
    """
    ff = dff = 0.0
    for k in range(diagonal.shape[0]):
        ff += fixed[k] * fixed[k]
        dff += diagonal[k] * fixed[k] * fixed[k]
    first = diagonal[0]
    moments, sums = np.empty((4, _BLOCK)), np.empty((6, _BLOCK))
    a, b, mu = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    who, is_end = np.empty(_BLOCK, dtype=np.int64), np.empty(_BLOCK, dtype=np.bool_)
    for start in range(0, rows.shape[0], _BLOCK):
        count = 0
        for i in range(start, min(start + _BLOCK, rows.shape[0])):
            rr, rf, drr, drf = _moments(diagonal, rows[i], fixed)
            row_norms[i] = rr
            inner[i] = rf
            r2 = scale[i]
            # The terms with r^2, and those without, in the same units.
            without = max(alpha[i] * rr, abs(beta[i]) * np.sqrt(rr) * np.sqrt(ff))
            if without < _NEGLIGIBLE * r2 * first:
                who[count] = i
                moments[0, count], moments[1, count], moments[2, count], moments[3, count] = rr, rf, drr, drf
                a[count], b[count] = alpha[i] / r2, beta[i] / r2
                count += 1
            else:
                # A perfect fit: r = 0 (or as good as), the slope terms vanish and a g g^T is what is left.
                top[i] = alpha[i] * rr
        _starts(moments, (ff, dff), a, b, mu[:count])
        for again in range(2):
            for j in range(count):
                (sums[0, j], sums[1, j], sums[2, j], sums[3, j], sums[4, j], sums[5, j]) = _sweep(
                    diagonal, rows[who[j]], fixed, mu[j]
                )
            _ends(first, moments, ff, sums, a, b, mu[:count], is_end)
            left = 0
            for j in range(count):
                i = who[j]
                if is_end[j]:
                    top[i] = scale[i] * mu[j]
                elif not again and mu[j] > first:
                    who[left], a[left], b[left], mu[left] = i, a[j], b[j], mu[j] * (1.0 + _ASIDE)
                    for k in range(4):
                        moments[k, left] = moments[k, j]
                    left += 1
                else:
                    rr, rf = moments[0, j], moments[1, j]
                    top[i] = scale[i] * _search(diagonal, rows[i], fixed, a[j], b[j], rr, rf, ff, mu[j])
            count = left
