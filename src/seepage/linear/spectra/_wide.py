"""The largest eigenvalue of wide matrices that are a small one and a few large directions.

The information of a row with several outputs is (eq. 2.13)

    I = N + s E + E^T s^T + s Q s^T = V V^T + (N - E^T Q^-1 E),     Q = L L^T,     V = s L + E^T L^-T,

where N = sum_cd rho_c rho_d T^T A_cd T is as wide as the row has values and V has one column an output. What is in
brackets is N without its part along x: not negative, and at most N. Let f_j be the first few eigenvectors of the matrix
of all blocks T^T A_cd T, and kappa the largest eigenvalue of what is left of it without them. Where a vector is
orthogonal to V and to each f_j^T rho, all of I that is left is at most

    cap = |rho|^2 kappa.

(Often V is so large that the f_j need not be held: kappa is then the largest eigenvalue of all.) In a subspace Z that
holds these few directions, with T = Z^T I Z, B = (1 - Z Z^T) I Z and theta the largest eigenvalue
of T (eq. 3.5),

    theta <= largest eigenvalue <= largest eigenvalue of T + B^T B / (theta - cap)     if theta > cap,

and Z grows by what is left over of its top vectors until the two agree: two or three products with N instead of a
decomposition. Rows whose theta does not exceed the cap are decomposed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor
from scipy.sparse.linalg import eigsh

Array = NDArray[np.float64]
Tiles = list[tuple[slice, slice, Array]]

# The certified relative width between the two bounds of an eigenvalue.
TOLERANCE = 1e-10
# Beyond this share of theta the cap leaves too little room to converge quickly.
_ROOM = 0.9
_PLENTY = 0.2
_MOST_ROUNDS = 12
# The matrices N of a few rows at once, in tiles of one triangle: enough rows to be worth reading all blocks for.
_MOST_NUMBERS = 2**25
_TILE = 264


@dataclass(frozen=True, eq=False)
class Wide:
    """Finds largest eigenvalues of rows with many values."""

    tiles: Tiles
    """T^T A_cd T for c <= d, added to their mirror images for c < d; each tile of shape (pairs, rows * columns)."""
    traces: Array
    """Of each block, shape (pairs,)."""
    leading: Array
    """f_j, shape (count, outputs, k)."""
    kappa: tuple[float, float]
    """Bounds on what is left of all blocks, with and without the f_j held."""

    @classmethod
    def of(cls, within: Array, outputs: int) -> "Wide":
        """Prepare for rows with these blocks, shape (pairs, k, k)."""
        k = within.shape[1]
        cuts = [slice(start, min(start + _TILE, k)) for start in range(0, k, _TILE)]
        tiles = [
            (rows, columns, np.ascontiguousarray(within[:, rows, columns]).reshape(len(within), -1))
            for i, rows in enumerate(cuts)
            for columns in cuts[: i + 1]
        ]
        return cls(tiles, np.trace(within, axis1=1, axis2=2), *_leading(within, outputs))

    def tops(self, rho: Array, s: Array, e: Array, q: Array) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information.

        Parameters
        ----------
        rho : ndarray of shape (n, outputs)
        s : ndarray of shape (n, outputs, values)
        e : ndarray of shape (n, outputs, k)
        q : ndarray of shape (n, outputs, outputs)
        """
        count, k = len(rho), e.shape[2]
        pairs = products_of_pairs(rho)
        caps = np.outer((rho**2).sum(axis=1), self.kappa)
        trace = ((q @ s) * s).sum(axis=(1, 2)) + 2.0 * (s[:, :, :k] * e).sum(axis=(1, 2)) + pairs @ self.traces
        leading = np.tensordot(rho, self.leading, ([1], [1]))
        top = np.empty(count)
        step = min(max(_MOST_NUMBERS // k**2, 1), count)
        # The same memory for all: a fresh piece would have to be handed out and cleared each time.
        room = [np.empty((step, tile.shape[1])) for _, _, tile in self.tiles]
        for start in range(0, count, step):
            some = pairs[start : start + step]
            for product, (_, _, tile) in zip(room, self.tiles, strict=True):
                np.matmul(some, tile, out=product[: len(some)])
            for i, row in enumerate(range(start, start + len(some))):
                inner = [
                    (rows, columns, product[i].reshape(rows.stop - rows.start, columns.stop - columns.start))
                    for product, (rows, columns, _) in zip(room, self.tiles, strict=True)
                ]
                matrix = WideMatrix(inner, s[row].T, e[row], q[row])
                found = search(matrix, leading[row], *caps[row])
                top[row] = matrix.decomposed() if found is None else found
        return top, trace


def products_of_pairs(rho: Array) -> Array:
    """Return rho_c rho_d for c <= d, shape (n, pairs)."""
    first, second = np.triu_indices(rho.shape[1])
    return np.asarray(rho[:, first] * rho[:, second])


@dataclass(frozen=True, eq=False)
class WideMatrix:
    """The information of one row: N in tiles of its lower triangle, and the few directions."""

    inner: Tiles
    s: Array
    """Shape (values, outputs)."""
    e: Array
    """Shape (outputs, k)."""
    q: Array
    """Shape (outputs, outputs)."""

    def few(self) -> Array | None:
        """Return V, or None where x is too small to tell it."""
        try:
            factor = np.linalg.cholesky(self.q)
            inverse = np.linalg.inv(factor)
        except np.linalg.LinAlgError:
            return None
        found = self.s @ factor
        found[: self.e.shape[1]] += self.e.T @ inverse.T
        return np.asarray(found)

    def times(self, vectors: Array) -> Array:
        """Return the information times some vectors."""
        k = self.e.shape[1]
        seen = self.s.T @ vectors
        found = self.s @ (self.q @ seen + self.e @ vectors[:k])
        found[:k] += self.e.T @ seen
        for rows, columns, tile in self.inner:
            found[rows] += tile @ vectors[columns]
            if rows != columns:
                found[columns] += tile.T @ vectors[rows]
        return np.asarray(found)

    def decomposed(self) -> float:
        """Return the largest eigenvalue from a decomposition."""
        return float(np.linalg.eigvalsh(self.times(np.eye(len(self.s))))[-1])


def search(matrix: WideMatrix, leading: Array, cap: float, cap_of_all: float) -> float | None:
    """Return the largest eigenvalue within its two bounds, or None where they do not meet.

    Parameters
    ----------
    matrix : Information
        Of one row.
    leading : ndarray of shape (count, k)
        f_j^T rho.
    cap, cap_of_all : float
        What is left at most outside of V and these, and outside of V alone.
    """
    few = matrix.few()
    if few is None:
        return None
    if cap_of_all < _PLENTY * (few**2).sum(axis=0).max():
        # V alone is so much larger than all that is left that the rest need not be held.
        cap = cap_of_all
    else:
        more = np.zeros((len(few), len(leading)))
        more[: leading.shape[1]] = leading.T
        few = np.column_stack([few, more])
    basis = np.linalg.qr(few)[0]
    image = matrix.times(basis)
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
        # What is left over of the vectors that could still be the largest, made orthogonal twice.
        added = left @ vectors[:, values > 0.5 * theta][:, -4:]
        for _ in range(2):
            added = np.linalg.qr(added)[0]
            added -= basis @ (basis.T @ added)
        added = np.linalg.qr(added)[0]
        basis = np.column_stack([basis, added])
        image = np.column_stack([image, matrix.times(added)])
    return None


def _leading(within: Array, outputs: int) -> tuple[Array, tuple[float, float]]:
    """Return the first eigenvectors of [T^T A_cd T]_cd, and bounds on its eigenvalues without and with them."""
    k = within.shape[1]
    whole = np.empty((outputs, k, outputs, k))
    for pair, (c, d) in enumerate(zip(*np.triu_indices(outputs), strict=True)):
        # Of a block and its mirror image only the sum counts, for vectors rho (x) v as these are.
        block = within[pair] if c == d else 0.5 * within[pair]
        whole[c, :, d, :] = whole[d, :, c, :] = block
    matrix = whole.reshape(outputs * k, outputs * k)
    start = np.random.default_rng(0).normal(size=len(matrix))
    values, vectors = eigsh(matrix, k=outputs + 1, which="LA", v0=start, tol=1e-4)
    order = np.argsort(-values)
    bound, largest, found = values[order[-1]], values[order[:-1]], np.linalg.qr(vectors[:, order[:-1]])[0]
    # That what is left nowhere exceeds the bound is what a Cholesky factor proves, however the iterations went.
    rest = (found * largest) @ found.T - matrix
    diagonal = rest.diagonal().copy()
    while True:
        bound = 1.01 * float(bound)
        np.fill_diagonal(rest, diagonal + bound)
        try:
            cho_factor(rest, lower=True, check_finite=False)
        except LinAlgError:
            continue
        # The sum of two matrices is at most the sum of their bounds.
        return np.ascontiguousarray(found.T).reshape(outputs, outputs, k), (bound, bound + float(largest[0]))
