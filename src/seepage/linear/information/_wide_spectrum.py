"""The largest eigenvalue of wide matrices that are a small one and a few large directions.

The information of a row with several outputs is N + U C U^T: N = sum_cd rho_c rho_d T^T A_cd T is as wide as the row
has values, and U = [s, E^T] has two columns an output. Most of eta comes from U. In a subspace Z that holds U, with
T = Z^T I Z and B = (1 - Z Z^T) I Z, all that is left outside is N, whose eigenvalues are at most

    cap = |rho|^2 kappa,     kappa = the largest eigenvalue of [T^T A_cd T]_cd.

So, where theta, the largest eigenvalue of T, exceeds the cap (eq. 3.5),

    theta <= largest eigenvalue <= largest eigenvalue of T + B^T B / (theta - cap),

and Z grows by what is left over of its top vectors until the two agree: three or four products with N instead of a
decomposition. Rows whose theta does not exceed the cap are decomposed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor
from scipy.sparse.linalg import eigsh

Array = NDArray[np.float64]

# The certified relative width between the two bounds of an eigenvalue.
TOLERANCE = 1e-10
# Beyond this share of theta the cap leaves too little room to converge quickly.
_ROOM = 0.9
_MOST_ROUNDS = 12
# Numbers in the matrices N of a few rows: enough rows to be worth reading all blocks for.
_MOST_NUMBERS = 2**24


@dataclass(frozen=True, eq=False)
class Wide:
    """Finds largest eigenvalues of rows with many values."""

    within: Array
    """T^T A_cd T for c <= d, those with c < d added to their mirror images, shape (pairs, k * k)."""
    kappa: float

    @classmethod
    def of(cls, within: Array, outputs: int) -> "Wide":
        """Prepare for rows with these blocks, shape (pairs, k, k)."""
        return cls(within.reshape(len(within), -1), _largest(within, outputs))

    def tops(self, pairs: Array, s: Array, e: Array, q: Array) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information.

        Parameters
        ----------
        pairs : ndarray of shape (n, pairs)
            rho_c rho_d for c <= d.
        s : ndarray of shape (n, outputs, values)
        e : ndarray of shape (n, outputs, k)
        q : ndarray of shape (n, outputs, outputs)
        """
        count, k, outputs = len(pairs), e.shape[2], s.shape[1]
        first, second = np.triu_indices(outputs)
        cap = self.kappa * pairs[:, first == second].sum(axis=1)
        top, trace = np.empty(count), np.empty(count)
        trace[:] = ((q @ s) * s).sum(axis=(1, 2)) + 2.0 * (s[:, :, :k] * e).sum(axis=(1, 2))
        trace += pairs @ np.trace(self.within.reshape(-1, k, k), axis1=1, axis2=2)
        step = max(_MOST_NUMBERS // k**2, 1)
        for start in range(0, count, step):
            inner = (pairs[start : start + step] @ self.within).reshape(-1, k, k)
            for i, row in enumerate(range(start, min(start + step, count))):
                found = _search(inner[i], s[row].T, e[row], q[row], cap[row])
                top[row] = _decomposed(inner[i], s[row].T, e[row], q[row]) if found is None else found
        return top, trace


def _search(inner: Array, s: Array, e: Array, q: Array, cap: float) -> float | None:
    """Return the largest eigenvalue within its two bounds, or None where they do not meet."""
    k = len(inner)
    basis = np.zeros((len(s), 2 * s.shape[1]))
    basis[:, : s.shape[1]] = s
    basis[:k, s.shape[1] :] = e.T
    basis = np.linalg.qr(basis)[0]
    image = _times(inner, s, e, q, basis)
    for _ in range(_MOST_ROUNDS):
        small = basis.T @ image
        small = 0.5 * (small + small.T)
        values, vectors = np.linalg.eigh(small)
        theta = values[-1]
        if not cap < _ROOM * theta:
            return None
        left = image - basis @ small
        bound = np.linalg.eigvalsh(small + left.T @ left / (theta - cap))[-1]
        if bound - theta <= TOLERANCE * theta:
            return float(0.5 * (bound + theta))
        # What is left over of the vectors that could still be the largest.
        near = left @ vectors[:, values > 0.5 * theta][:, -4:]
        near = near / np.maximum(np.linalg.norm(near, axis=0), 1e-300)
        near -= basis @ (basis.T @ near)
        added = np.linalg.qr(near)[0]
        added -= basis @ (basis.T @ added)
        added = np.linalg.qr(added)[0]
        basis = np.column_stack([basis, added])
        image = np.column_stack([image, _times(inner, s, e, q, added)])
    return None


def _times(inner: Array, s: Array, e: Array, q: Array, vectors: Array) -> Array:
    """Return the information times some vectors."""
    k = len(inner)
    seen = s.T @ vectors
    found = s @ (q @ seen + e @ vectors[:k])
    found[:k] += inner @ vectors[:k] + e.T @ seen
    return np.asarray(found)


def _decomposed(inner: Array, s: Array, e: Array, q: Array) -> float:
    k = len(inner)
    whole = s @ q @ s.T
    whole[:k, :k] += inner
    mixed = s @ e
    whole[:, :k] += mixed
    whole[:k] += mixed.T
    return float(np.linalg.eigvalsh(whole)[-1])


def _largest(within: Array, outputs: int) -> float:
    """Return a number that no eigenvalue of [T^T A_cd T]_cd exceeds."""
    k = within.shape[1]
    whole = np.empty((outputs, k, outputs, k))
    pair = 0
    for c in range(outputs):
        for d in range(c, outputs):
            # The two triangles of the sum are all that is known of A_cd: as a quadratic form they are all there is.
            block = within[pair] if c == d else 0.5 * within[pair]
            whole[c, :, d, :], whole[d, :, c, :] = block, block.T
            pair += 1
    matrix = whole.reshape(outputs * k, outputs * k)
    start = np.random.default_rng(0).normal(size=len(matrix))
    bound = float(eigsh(matrix, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)[0])
    while True:
        # Iterations come from below; that the matrix nowhere exceeds the bound is what a Cholesky factor proves.
        bound *= 1.01
        try:
            cho_factor(bound * np.eye(len(matrix)) - matrix, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return bound
