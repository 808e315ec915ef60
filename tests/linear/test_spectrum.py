"""The certified top eigenvalue against a dense singular value decomposition."""

import mpmath
import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seepage.core.secular import top_eigenvalues


def _kernel(diagonal, rows, fixed, scale, alpha, beta):
    top, norms, inner = np.empty((3, len(rows)))
    rows = np.ascontiguousarray(rows)
    top_eigenvalues(np.ascontiguousarray(diagonal), rows, fixed, scale, alpha, beta, top, norms, inner)
    return top


def _descending(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 24),
    k=st.integers(0, 24),
    spread=st.sampled_from([0.0, 1.0, 4.0]),
    label=st.booleans(),
    flaw=st.sampled_from(
        ["none", "r = 0", "a = 0", "repeated", "u = 0", "tau = 0", "first unreached", "tiny r", "collinear"]
    ),
)
@example(seed=0, p=1, k=1, spread=0.0, label=False, flaw="none")
@example(seed=0, p=5, k=0, spread=0.0, label=True, flaw="none")
def test_eta_is_the_largest_singular_value(seed, p, k, spread, label, flaw):
    random = np.random.default_rng(seed)
    rows = 6
    moved = random.normal(size=(p, k)) * np.exp(spread * random.normal(size=(p, 1)))
    if flaw == "repeated":
        moved = np.linalg.qr(random.normal(size=(p, max(p, 1))))[0][:, : min(p, k)]
    k = moved.shape[1]
    tau = random.normal(size=k) * np.exp(3 * random.normal()) * (flaw != "tau = 0")
    u = random.normal(size=(rows, p)) * np.exp(3 * random.normal(size=(rows, 1))) * (flaw != "u = 0")
    if flaw == "collinear" and k:
        u = np.outer(random.normal(size=rows), moved @ tau)
    r = random.normal(size=rows) * np.exp(3 * random.normal(size=rows)) * (flaw != "r = 0")
    r *= 1e-160 if flaw == "tiny r" else 1.0
    a = random.random(rows) * np.exp(3 * random.normal(size=rows)) * (flaw != "a = 0")
    if flaw == "first unreached" and k:
        direction = np.linalg.svd(moved)[0][:, 0]
        u -= np.outer(u @ direction, direction)
        tau = np.zeros(k)
    b = 1.0 * label

    expected = []
    for i in range(rows):
        whole = np.column_stack([r[i] * moved + a[i] * np.outer(u[i], tau), b * u[i]])
        expected.append(np.linalg.svd(whole, compute_uv=False)[0] ** 2)
    diagonal, vectors = _descending(moved @ moved.T)
    found = _kernel(diagonal, u @ vectors, vectors.T @ (moved @ tau), r**2, a**2 * (tau @ tau) + b**2, a * r)
    # Where the two terms of the Jacobian cancel, both ways lose digits; the terms' own size is the honest unit.
    size = r**2 * diagonal.sum() + (a**2 * (tau @ tau) + b**2) * (u**2).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14 * size.max())


def _top_in_fifty_digits(diagonal, g, f, alpha, beta):
    """Return the top eigenvalue of diag(D) + alpha g g^T + beta (f g^T + g f^T), as the numbers given stand."""
    with mpmath.workdps(50):
        g, f = mpmath.matrix(g.tolist()), mpmath.matrix(f.tolist())
        alpha, beta = mpmath.mpf(float(alpha)), mpmath.mpf(float(beta))
        whole = mpmath.diag(diagonal.tolist()) + alpha * g * g.T + beta * (f * g.T + g * f.T)
        return float(max(mpmath.eigsy(whole, eigvals_only=True)))


@settings(max_examples=400, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 7),
    tied=st.integers(1, 7),
    gap=st.sampled_from([0.0, 1e-16, 1e-15, 1e-14, 1e-12, 1e-9, 1e-6, 1e-3]),
    unit=st.sampled_from([-40, -12, -3, 0, 3, 12, 40]),
    inside=st.sampled_from(["any", "along one direction", "nearly along one direction", "none", "hardly any", "signs"]),
    balance=st.integers(-12, 12),
)
@example(seed=0, p=3, tied=2, gap=0.0, unit=0, inside="signs", balance=0)
def test_eta_is_certified_where_the_top_of_the_spectrum_is_tied(seed, p, tied, gap, unit, inside, balance):
    random = np.random.default_rng(seed)
    tied = min(tied, p)
    # Entries that are equal, or differ by a few roundings or by a little, and others below them.
    diagonal = np.append(1.0 - gap * random.random(tied), random.random(p - tied) ** 3)
    diagonal = np.sort(diagonal)[::-1] * 10.0**unit
    g, f = random.normal(size=(2, p)) * 10.0 ** random.uniform(-3, 3, size=(2, 1))
    if inside == "signs":
        # A balanced design: every entry has the same size.
        g, f = random.choice([-1.0, 1.0], size=(2, p))
    elif "along" in inside:
        f[:tied] = g[:tied] * random.normal()
        if inside.startswith("nearly"):
            f[:tied] *= 1 + 10.0 ** random.uniform(-16, -6) * random.normal(size=tied)
    elif inside in ("none", "hardly any"):
        g[:tied] *= 0.0 if inside == "none" else 1e-9
        f[:tied] *= 0.0 if inside == "none" else 1e-9
    alpha = 10.0 ** (balance + unit) * random.random() / max(g @ g, 1e-9)
    beta = random.normal() * np.sqrt(alpha) * 10.0 ** (unit / 2) / max(np.linalg.norm(f), 1e-9)
    found = _kernel(diagonal, g[None], f, np.ones(1), np.array([alpha]), np.array([beta]))[0]
    expected = _top_in_fifty_digits(diagonal, g, f, alpha, beta)
    # Rounding of the entries themselves: D, and the products of the two terms.
    size = diagonal[0] + alpha * (g @ g) + 2 * abs(beta) * np.linalg.norm(f) * np.linalg.norm(g)
    np.testing.assert_allclose(found, max(expected, 0.0), rtol=2e-12, atol=1e-15 * size)


def test_rows_that_need_one_look_two_or_a_search_are_told_apart_in_one_block():
    random = np.random.default_rng(5)
    rows, p, k = 201, 12, 9
    moved, tau = random.normal(size=(p, k)), random.normal(size=k)
    u = random.normal(size=(rows, p)) * np.exp(2 * random.normal(size=(rows, 1)))
    r = random.normal(size=rows) * 10.0 ** random.integers(-4, 5, rows)
    a = random.random(rows)
    u[random.choice(rows, 20, replace=False)] = 0.0
    r[random.choice(rows, 20, replace=False)] = 0.0
    a[random.choice(rows, 20, replace=False)] = 0.0
    expected = [np.linalg.norm(r[i] * moved + a[i] * np.outer(u[i], tau), 2) ** 2 for i in range(rows)]
    diagonal, vectors = _descending(moved @ moved.T)
    turned, fixed, squares, alphas, betas = u @ vectors, vectors.T @ (moved @ tau), r**2, a**2 * (tau @ tau), a * r
    found = _kernel(diagonal, turned, fixed, squares, alphas, betas)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    alone = [_kernel(diagonal, turned[[i]], fixed, squares[[i]], alphas[[i]], betas[[i]])[0] for i in range(rows)]
    np.testing.assert_allclose(found, alone, rtol=3e-12)
