"""The certified top eigenvalue against a dense singular value decomposition."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seepage.linear.information import top_eigenvalues


def _kernel(diagonal, rows, fixed, scale, alpha, beta, row_is_g):
    count = len(rows)
    top, norms, inner = np.empty(count), np.empty(count), np.empty(count)
    top_eigenvalues(
        np.ascontiguousarray(diagonal),
        np.ascontiguousarray(rows),
        fixed,
        scale,
        alpha,
        beta,
        row_is_g,
        top,
        norms,
        inner,
    )
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
    found = _kernel(
        diagonal, u @ vectors, vectors.T @ (moved @ tau), r**2, a**2 * (tau @ tau) + b**2, a * r, row_is_g=True
    )
    # Where the two terms of the Jacobian cancel, both ways lose digits; the terms' own size is the honest unit.
    size = r**2 * diagonal.sum() + (a**2 * (tau @ tau) + b**2) * (u**2).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14 * size.max())

    if k:
        diagonal, vectors = _descending(moved.T @ moved)
        block = _kernel(
            diagonal, u @ moved @ vectors, vectors.T @ tau, r**2, a**2 * (u**2).sum(axis=1), a * r, row_is_g=False
        )
        expected = [np.linalg.norm(r[i] * moved + a[i] * np.outer(u[i], tau), 2) ** 2 for i in range(rows)]
        np.testing.assert_allclose(block, expected, rtol=1e-10, atol=1e-14 * size.max())
