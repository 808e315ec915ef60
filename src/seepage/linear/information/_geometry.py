"""How a small change of one person's values moves the published parameters, in units of the noise.

With G = Sigma^(-1/2) H^-1, the release moves by -G M_i for row i (eqs. 2.5, 2.6 and 2.12), where the columns of

    M_i = [ rho (x) T + (S tau) (x) x ,  B (x) x ]

belong to the private coordinates and the label. Everything that does not depend on the row is computed here, once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from seepage._noise import GaussianNoise
from seepage.linear.columns._affine import Affine
from seepage.linear.objective._estimators import Problem
from seepage.linear.objective._losses import VectorLoss
from seepage.linear.objective._minimizer import Minimizer
from seepage.linear.rows._rows import Batch
from seepage.linear.rows._sums import JointSums, derivatives
from seepage.linear.rows._threads import one_threaded_blas

Array = NDArray[np.float64]

# Below this size a dense decomposition is cheaper than an iterative one.
_DENSE = 64


@dataclass(frozen=True, eq=False)
class Geometry:
    """The row-independent part of the information about a set of private columns."""

    loss: VectorLoss
    parameters: Array
    """theta at the minimizer, shape (p, outputs)."""
    hessian_inverse: Array
    """H^-1, shape (outputs * p, outputs * p), output by output."""
    whitening: Array | float
    """Sigma^(-1/2) as a matrix from parameters to what is published, or one over the scale of white noise."""
    reading: sparse.csr_array
    """T with a zero row for the intercept, shape (p, k)."""
    blocks: tuple[NDArray[np.intp], ...]
    """The coordinates of each attribute, in order."""
    public_label: bool

    @classmethod
    def of(
        cls,
        problem: Problem,
        minimizer: Minimizer,
        affine: Affine,
        columns: Sequence[int],
        noise: GaussianNoise,
        public_label: bool,
    ) -> "Geometry":
        """Return the geometry of the information about some raw columns."""
        cut = affine.of_columns(columns)
        reading = cut.matrix
        if problem.intercept:
            reading = sparse.vstack([reading, sparse.csr_array((1, reading.shape[1]))], format="csr")
        found = cut.blocks()
        blocks = tuple(found.get(column, np.empty(0, dtype=np.intp)) for column in columns)
        whitening: Array | float
        if noise.scale is not None:
            # White noise looks the same in every orthonormal basis: stay where the minimizer is unique.
            whitening = 1.0 / noise.scale
        else:
            # What is published is basis (x) identity times the parameters in which the minimizer is unique.
            whitening = noise.whiten(np.asarray(np.kron(problem.basis, np.eye(problem.size)), dtype=np.float64))
        return cls(
            problem.loss,
            minimizer.parameters,
            minimizer.hessian_inverse,
            whitening,
            reading,
            blocks,
            public_label,
        )

    def of_attribute(self, index: int) -> "Geometry":
        """Return the geometry of the information about one attribute alone, the label being public."""
        block = self.blocks[index]
        reading = self.reading[:, block].tocsr()
        return replace(self, reading=reading, blocks=(np.arange(len(block)),), public_label=True)

    def of_attributes(self, indices: Sequence[int]) -> "Geometry":
        """Return the geometry of the information about some of the attributes, and the label unless it is public."""
        kept = [self.blocks[i] for i in indices]
        at = np.concatenate([*kept, np.empty(0, dtype=np.intp)])
        ends = np.cumsum([0, *map(len, kept)])
        blocks = tuple(np.arange(start, stop) for start, stop in pairwise(ends))
        return replace(self, reading=self.reading[:, at].tocsr(), blocks=blocks)

    def of_label(self) -> "Geometry":
        """Return the geometry of the information about the label alone."""
        return replace(self, reading=self.reading[:, :0].tocsr(), blocks=(), public_label=False)

    @property
    def outputs(self) -> int:
        return int(self.parameters.shape[1])

    @property
    def values(self) -> int:
        """The number of private values of one person, the label's included unless it is public."""
        return int(self.reading.shape[1]) + (0 if self.public_label else self.outputs)

    def private_values(self, indices: Sequence[int] | None = None) -> int:
        """Return how many private values some of the attributes are; one that the model never sees is one."""
        chosen = range(len(self.blocks)) if indices is None else indices
        return sum(max(len(self.blocks[i]), 1) for i in chosen) + (0 if self.public_label else self.outputs)

    @cached_property
    def response(self) -> Array:
        """G = Sigma^(-1/2) H^-1, shape (published, outputs * p)."""
        # The inverse is symmetric, so its rows are its columns.
        return self.in_noise_units(self.hessian_inverse).T

    def in_noise_units(self, moves: Array) -> Array:
        """Return each row of `moves`, a change of the parameters, in units of the noise on what is published."""
        if isinstance(self.whitening, float):
            return np.asarray(moves * self.whitening)
        return np.asarray(moves @ self.whitening.T)

    @cached_property
    def tau(self) -> Array:
        """T^T theta: how each coordinate moves the margins, shape (k, outputs)."""
        return np.asarray(self.reading.T @ self.parameters)

    @cached_property
    def moved(self) -> Array:
        """G T for one output: how the release moves with each coordinate at unit slope, shape (published, k)."""
        return np.asarray(self.response @ self.reading)

    def jacobian(self, batch: Batch, attribute: int) -> Array:
        """Return how the parameters move with one attribute of a single coordinate, shape (n, outputs * p)."""
        (coordinate,) = self.blocks[attribute]
        slope, curvature, _ = derivatives(batch, self.loss, batch.project(self.parameters))
        direct = slope[:, :, None] * self.reading[:, [coordinate]].toarray()[:, 0]
        bent = (curvature @ self.tau[coordinate])[:, :, None] * batch.augmented()[:, None, :]
        return np.asarray(-(direct + bent).reshape(len(batch), -1) @ self.hessian_inverse)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """D in descending order and Q, with (G T)(G T)^T = Q diag(D) Q^T (eq. 3.1)."""
        values, vectors = eigh(self.moved @ self.moved.T)
        return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])

    def joint(self, sums: JointSums) -> float:
        """Return eta of the joint release about the rows that were added up (eq. 2.11)."""
        outputs, p = self.outputs, self.parameters.shape[0]
        # (sum rho rho^T) (x) T T^T  +  cross terms  +  sum (S Tau S + B B^T) (x) x x^T
        total = np.einsum("cd,ab->cadb", sums.slope, (self.reading @ self.reading.T).toarray())
        turned = (self.reading @ self.tau).T
        cross = np.einsum("cdeb,ea->cadb", sums.cross, turned)
        total += cross + cross.transpose(2, 3, 0, 1)
        matrix = total.reshape(outputs * p, outputs * p) + sums.spread
        return float(np.sqrt(max(_top_of_product(self.response, 0.5 * (matrix + matrix.T)), 0.0)))


def _top_of_product(outer: Array, inner: Array) -> float:
    """Return the largest eigenvalue of outer inner outer^T, without forming it when it is large."""
    size = len(outer)
    if size > _DENSE:
        product = LinearOperator((size, size), matvec=lambda w: outer @ (inner @ (outer.T @ w)), dtype=np.float64)
        start = np.random.default_rng(0).normal(size=size)
        try:
            with one_threaded_blas():
                return float(eigsh(product, k=1, which="LA", v0=start, ncv=14, tol=1e-13, return_eigenvectors=False)[0])
        except ArpackNoConvergence:
            pass
    return float(np.linalg.eigvalsh(outer @ inner @ outer.T)[-1])
