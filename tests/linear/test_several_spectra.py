"""Largest eigenvalues for several outputs against dense decompositions."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seepage.linear.information._scorer import tops_and_traces


def _drawn(random, rows, k, outputs, label, sizes, flaw, balance=1.0):
    """Return pieces of information, and the Jacobians that they belong to."""
    values = k + (outputs if label else 0)
    factor = random.normal(size=(outputs * k + 3, outputs * k)) * np.exp(sizes[0] * random.normal(size=outputs * k))
    if flaw == "tied":
        factor = np.linalg.qr(factor)[0]
    blocks = (factor.T @ factor).reshape(outputs, k, outputs, k)
    rho = random.normal(size=(rows, outputs)) * np.exp(sizes[1] * random.normal(size=(rows, 1)))
    s = random.normal(size=(rows, outputs, values)) * np.exp(sizes[2] * random.normal(size=(rows, 1, 1))) * balance
    lift = random.normal(size=(rows, len(factor), outputs))
    if flaw == "perfect fit":
        rho[:] = 0.0
    if flaw == "no curvature":
        s[:] = 0.0
    if flaw == "one direction":
        s[:] = s[:, :1]
    slope = np.einsum("nc,fck->nfk", rho, factor.reshape(len(factor), outputs, k))
    e = np.einsum("nfo,nfk->nok", lift, slope)
    q = np.einsum("nfo,nfp->nop", lift, lift)
    jacobian = np.einsum("nfo,nov->nfv", lift, s)
    jacobian[:, :, :k] += slope
    first, second = np.triu_indices(outputs)
    within = np.array(
        [blocks[c, :, d] if c == d else blocks[c, :, d] + blocks[c, :, d].T for c, d in zip(first, second, strict=True)]
    )
    return rho, np.ascontiguousarray(within), s, e, q, jacobian


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(0, 12),
    outputs=st.integers(2, 4),
    label=st.booleans(),
    sizes=st.tuples(*[st.sampled_from([0.0, 1.0, 4.0])] * 3),
    flaw=st.sampled_from(["none", "tied", "perfect fit", "no curvature", "one direction"]),
)
@example(seed=0, k=1, outputs=2, label=False, sizes=(0.0, 0.0, 0.0), flaw="none")
@example(seed=0, k=0, outputs=2, label=True, sizes=(0.0, 0.0, 0.0), flaw="none")
def test_small_matrices(seed, k, outputs, label, sizes, flaw):
    if not k and not label:
        return
    random = np.random.default_rng(seed)
    rho, within, s, e, q, jacobian = _drawn(random, 5, k, outputs, label, sizes, flaw)
    top, trace = tops_and_traces(within, rho, s, e, q)
    singular = np.linalg.svd(jacobian, compute_uv=False)
    # The terms of the Jacobian may cancel; their own size is the honest unit.
    size = (np.abs(rho).max() ** 2 * np.abs(within).max(initial=0.0) + np.abs(s).max() ** 2 * np.abs(q).max()) * (k + 2)
    np.testing.assert_allclose(top, singular[:, 0] ** 2, rtol=1e-10, atol=1e-13 * size)
    np.testing.assert_allclose(trace, (singular**2).sum(axis=1), rtol=1e-10, atol=1e-13 * size)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(20, 90),
    outputs=st.integers(2, 5),
    label=st.booleans(),
    balance=st.sampled_from([-3.0, -1.0, 0.0, 1.0, 3.0]),
    flaw=st.sampled_from(["none", "tied", "perfect fit", "no curvature", "one direction"]),
)
def test_wide_matrices_whichever_part_is_larger(seed, k, outputs, label, balance, flaw):
    random = np.random.default_rng(seed)
    rho, within, s, e, q, jacobian = _drawn(random, 4, k, outputs, label, (0.5, 0.0, 0.0), flaw, 10**balance)
    top, trace = tops_and_traces(within, rho, s, e, q)
    singular = np.linalg.svd(jacobian, compute_uv=False)
    np.testing.assert_allclose(top, singular[:, 0] ** 2, rtol=2e-10)
    np.testing.assert_allclose(trace, (singular**2).sum(axis=1), rtol=1e-9)
