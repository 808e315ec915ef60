"""How a small change of one person's values moves the published parameters, in units of the noise.

With G = Sigma^(-1/2) H^-1, the release moves by -G M_i for row i (eqs. 2.5, 2.6 and 2.12), where the columns of

    M_i = [ rho (x) T + (S tau) (x) x ,  B (x) x ]

belong to the private coordinates and the label. Everything that does not depend on the row is computed here, once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from seepage._noise import GaussianNoise
from seepage.core.eigenvalues import largest_of_sandwich
from seepage.errors import UnsupportedError
from seepage.linear.columns import Curves, Features
from seepage.linear.information._scales import Scales
from seepage.linear.information._shape import MovingShape
from seepage.linear.objective import JointSums, Loss, Minimizer, Problem, joint_sums
from seepage.linear.rows import Batch, Frame

Array = NDArray[np.float64]

# Products with G^T G lose the digits of the Hessian's condition squared: up to here they are not missed.
_SQUARED = 1e3
# And, where outputs cancel each other, those of how uneven they are squared: up to here they are not.
_UNEVEN = 1e4
# A cosine between a column and an undecided direction that is more than rounding.
_TIED = 1e-9


@dataclass(frozen=True, eq=False)
class Geometry:
    """The row-independent part of the information about a set of private columns."""

    loss: Loss
    minimizer: Minimizer
    whitening: Array | float
    """Sigma^(-1/2) as a matrix from parameters to what is published, or one over the scale of white noise."""
    reading: sparse.csr_array
    """T with a zero row for the intercept, shape (p, k)."""
    blocks: tuple[NDArray[np.intp], ...]
    """The coordinates of each attribute, in order."""
    columns: tuple[int, ...]
    """The raw column of each attribute."""
    public_label: bool
    scales: Scales | None = None
    """The scaler and the imputer that were fitted on the same rows, if any were."""
    shape: MovingShape | None = None
    """How the noise's covariance moves with the rows, if it does."""
    curves: Curves | None = None
    """The entries of T that differ from row to row, which are zero in `reading`, if any do."""

    @classmethod
    def of(
        cls,
        problem: Problem,
        minimizer: Minimizer,
        affine: Features,
        columns: Sequence[int],
        noise: GaussianNoise,
        public_label: bool,
        scales: Scales | None = None,
        shape: MovingShape | None = None,
    ) -> "Geometry":
        """Return the geometry of the information about some raw columns."""
        cut = affine.of_columns(columns)
        reading = cut.matrix
        if problem.intercept:
            reading = sparse.vstack([reading, sparse.csr_array((1, reading.shape[1]))], format="csr")
        found = cut.blocks()
        blocks = tuple(found.get(column, np.empty(0, dtype=np.intp)) for column in columns)
        curves = Curves.of(affine, cut.coordinates)
        if curves is not None:
            _check_decided(reading, minimizer)
        elif minimizer.undecided.size:
            reading, blocks = _decided(reading, blocks, minimizer)
        whitening = _whitening(noise, problem.basis, problem.size, minimizer.free)
        return cls(
            problem.loss, minimizer, whitening, reading, blocks, tuple(columns), public_label, scales, shape, curves
        )

    def with_noise(self, noise: GaussianNoise, basis: Array, shape: MovingShape | None) -> "Geometry":
        """Return the same with another noise, whose covariance is known."""
        scales = self.scales
        if scales is not None:
            scales = replace(scales, covariance=None if noise.scale is not None else noise.known())
        whitening = _whitening(noise, basis, len(self.parameters), self.minimizer.free)
        return replace(self, whitening=whitening, scales=scales, shape=shape)

    def at(self, factor: float) -> "Geometry":
        """Return the same with noise multiplied by a factor, which may be infinite."""
        return replace(self, whitening=self.whitening / factor)

    @property
    def stays(self) -> bool:
        """Whether a part of the information does not shrink when the noise grows: what its shape tells."""
        return self.scales is not None or self.shape is not None

    @property
    def cancels(self) -> bool:
        """Whether Jacobians must be formed, because their terms would cancel if they were multiplied out.

        Where a level lacks a class, the penalty alone holds that class there: G is largest along both together. Rows of
        that level have next to no part in it, which is a sum over their outputs: no axes of the features show it.
        """
        found = self.minimizer
        return self.curves is None and found.condition > _SQUARED and found.unevenness > _UNEVEN

    @property
    def stacked(self) -> bool:
        """Whether rows need a Jacobian of the whole stack: something beside the model moves, bends, or would cancel."""
        return self.stays or self.cancels or self.curves is not None

    def without_shape(self) -> "Geometry":
        """Return the same without what the shape of the noise tells."""
        scales = None if self.scales is None else self.scales.without_shape()
        return replace(self, scales=scales, shape=None)

    @property
    def parameters(self) -> Array:
        """Theta at the minimizer, shape (p, outputs)."""
        return self.minimizer.parameters

    @property
    def hessian_inverse(self) -> Array:
        """H^-1, shape (outputs * p, outputs * p), output by output."""
        return self.minimizer.hessian_inverse

    @property
    def frame(self) -> Frame:
        """The coordinates in which rows are looked at; a `position` is the minimizer there."""
        return self.minimizer.frame

    @property
    def position(self) -> Array:
        """The minimizer in the coordinates of the frame, shape (q, outputs)."""
        return self.minimizer.position

    def of_attribute(self, index: int) -> "Geometry":
        """Return the geometry of the information about one attribute alone, the label being public."""
        block, column = self.blocks[index], self.columns[index]
        return replace(self._cut(block), blocks=(np.arange(len(block)),), columns=(column,), public_label=True)

    def _cut(self, coordinates: NDArray[np.intp]) -> "Geometry":
        """Return the geometry of some of the coordinates, whose blocks are still those of all."""
        curves = None if self.curves is None else self.curves.taken(coordinates)
        return replace(self, reading=self.reading[:, coordinates].tocsr(), curves=curves)

    def of_label(self) -> "Geometry":
        """Return the geometry of the information about the label alone."""
        return replace(self._cut(np.empty(0, dtype=np.intp)), blocks=(), columns=(), public_label=False)

    @cached_property
    def still(self) -> tuple[int, ...]:
        """The attributes that reach the model, but no coefficient that a penalty does not keep at zero."""
        active = self.minimizer.active
        if active is None:
            return ()
        moves = abs(self.reading[active.indices]).sum(axis=0) > 0
        if self.curves is not None:
            moves[self.curves.coordinates[np.isin(self.curves.features, active.indices)]] = True
        return tuple(i for i, block in enumerate(self.blocks) if len(block) and not moves[block].any())

    @property
    def outputs(self) -> int:
        return int(self.parameters.shape[1])

    @property
    def values(self) -> int:
        """The number of private values of one person, the label's included unless it is public."""
        return int(self.reading.shape[1]) + (0 if self.public_label else self.loss.label_values)

    def private_values(self) -> int:
        """Return how many private values of a person are answered.

        An attribute that the model never sees is one; one that is still has no slope, so that it is none.
        """
        sizes = [max(len(block), 1) for i, block in enumerate(self.blocks) if i not in self.still]
        return sum(sizes) + (0 if self.public_label else self.loss.label_values)

    @cached_property
    def response(self) -> Array:
        """G = Sigma^(-1/2) H^-1, from pulls on rows in the frame to what is published, (published, outputs * q)."""
        return self._seen(self.frame, self.minimizer.inverse)

    def _seen(self, frame: Frame, inverse: Array) -> Array:
        """Return Sigma^(-1/2) times the inverse of a Hessian, which is symmetric: its rows are its columns."""
        if frame.center is None and frame.axes is None:
            return self.in_noise_units(inverse).T
        p, outputs = self.parameters.shape
        columns = inverse.reshape(outputs, -1, inverse.shape[1])
        moved = np.matmul(frame.matrix(p), columns).reshape(outputs * p, -1)
        return self.in_noise_units(moved.T).T

    @cached_property
    def read(self) -> sparse.csr_array | Array:
        """T in the coordinates of the frame, shape (q, k)."""
        self._check_straight()
        # The center is a constant: it moves no feature.
        return self.reading if self.frame.axes is None else np.asarray(self.frame.axes.T @ self.reading)

    def in_noise_units(self, moves: Array) -> Array:
        """Return each row of `moves`, a change of the parameters, in units of the noise on what is published."""
        if isinstance(self.whitening, float):
            return np.asarray(moves * self.whitening)
        return np.asarray(moves @ self.whitening.T)

    def lengths(self, moves: Array) -> Array:
        """Return how long each of them is in these units."""
        return np.asarray(np.linalg.norm(self.in_noise_units(moves), axis=1))

    @cached_property
    def tau(self) -> Array:
        """T^T theta: how each coordinate moves the margins, shape (k, outputs)."""
        self._check_straight()
        return np.asarray(self.reading.T @ self.parameters)

    @cached_property
    def moved(self) -> Array:
        """G T for one output: how the release moves with each coordinate at unit slope, shape (published, k)."""
        return np.asarray(self.response @ self.read)

    def _check_straight(self) -> None:
        """Keep whoever takes T for the same in all rows from a model where it is not."""
        if self.curves is not None:
            raise UnsupportedError("This is not answered for models behind steps that are not affine.")

    @cached_property
    def sharp(self) -> "Coordinates":
        """The coordinates in which products with G^T G keep their digits."""
        return Coordinates.of(self)

    @property
    def joint_sums(self) -> Callable[[Batch], JointSums]:
        """What joint information adds up over batches; a function that can travel."""
        return partial(
            joint_sums,
            loss=self.loss,
            position=self.sharp.position,
            frame=self.sharp.frame,
            tau_gram=self.tau.T @ self.tau,
            public_label=self.public_label,
        )

    def joint_eta(self, sums: JointSums) -> float:
        """Return eta of the joint release about the rows that were added up (eq. 2.11)."""
        read = self.sharp.read
        # (sum rho rho^T) (x) T T^T  +  cross terms  +  sum (S Tau S + B B^T) (x) x x^T
        own = read @ read.T
        total = np.einsum("cd,ab->cadb", sums.slope, own if isinstance(own, np.ndarray) else own.toarray())
        turned = (read @ self.tau).T
        cross = np.einsum("cdeb,ea->cadb", sums.cross, turned)
        total += cross + cross.transpose(2, 3, 0, 1)
        matrix = total.reshape(sums.spread.shape) + sums.spread
        return float(np.sqrt(largest_of_sandwich(self.sharp.response, 0.5 * (matrix + matrix.T))))


@dataclass(frozen=True, eq=False)
class Coordinates:
    """What a geometry is made of, in coordinates of the rows.

    Rows that add up to the same in every one of them (the indicators of all levels) leave a direction to the penalty
    alone. G is largest there, and no row has a part in it: of a product x^T G^T G x nearly everything cancels. Along
    the axes of the Hessian nothing does: those of M with M M^T = H^-1 make every row as long as its leverage.
    """

    frame: Frame
    position: Array
    """The minimizer, shape (q, outputs)."""
    response: Array
    """G, shape (published, outputs * q)."""
    read: sparse.csr_array | Array
    """T, shape (q, k)."""

    @classmethod
    def of(cls, geometry: Geometry) -> "Coordinates":
        """Choose those of the minimizer, or the axes of the Hessian where digits would be missed."""
        found = geometry.minimizer
        if found.condition <= _SQUARED or found.frame.axes is not None:
            return cls(found.frame, found.position, geometry.response, geometry.read)
        q, outputs = found.position.shape
        blocks = found.inverse.reshape(outputs, q, outputs, q)
        # One set of axes for all outputs: those of the mean over them.
        values, vectors = eigh(np.einsum("cicj->ij", blocks) / outputs)
        root = np.sqrt(np.maximum(values, 1e-300))
        frame = found.frame.along(vectors * root)
        position = (vectors / root).T @ found.position
        turned = np.einsum("qi,cqds,sj->cidj", vectors / root, blocks, vectors / root, optimize=True)
        inverse = np.asarray(turned).reshape(outputs * q, outputs * q)
        return cls(frame, position, geometry._seen(frame, inverse), np.asarray((vectors * root).T @ geometry.read))


def _whitening(noise: GaussianNoise, basis: Array, size: int, free: NDArray[np.bool_] | None) -> Array | float:
    if free is not None:
        return noise.whiten(published_of(basis, size, free))
    if noise.scale is not None and np.allclose(basis.T @ basis, np.eye(basis.shape[1]), rtol=0.0, atol=1e-12):
        # White noise looks the same in every orthonormal basis: stay where the minimizer is unique.
        return 1.0 / noise.scale
    # What is published is basis (x) identity times the parameters in which the minimizer is unique.
    return noise.whiten(published_of(basis, size))


def published_of(basis: Array, size: int, free: NDArray[np.bool_] | None = None) -> Array:
    """Return what is published as a matrix of all parameters, output by output; what is zero for everybody is not."""
    whole = np.asarray(np.kron(basis, np.eye(size)), dtype=np.float64)
    return whole if free is None else whole[whole[:, free.T.ravel()].any(axis=1)]


def _check_decided(reading: sparse.csr_array, minimizer: Minimizer) -> None:
    """Refuse values that break a tie between columns; those that reach a bend are looked at row by row."""
    if not minimizer.undecided.size:
        return
    undecided = minimizer.undecided / np.linalg.norm(minimizer.undecided, axis=0)
    broken = undecided.T @ reading.toarray()
    if (np.abs(broken) > _TIED * np.maximum(np.linalg.norm(reading.toarray(), axis=0), 1e-300)).any():
        raise minimizer.not_unique(np.abs(undecided).max(axis=1))


def _decided(
    reading: sparse.csr_array, blocks: tuple[NDArray[np.intp], ...], minimizer: Minimizer
) -> tuple[sparse.csr_array, tuple[NDArray[np.intp], ...]]:
    """Cut each attribute's coordinates to the directions in which features keep to what ties them together.

    Columns that are tied (the indicators of all levels add up to one) leave directions of the parameters undecided.
    A value that breaks such a tie would decide them, and the minimizer of least norm would jump: only moves along the
    ties, such as from one level to another, have a derivative.
    """
    undecided = minimizer.undecided / np.linalg.norm(minimizer.undecided, axis=0)
    found, kept, start = [], [], 0
    for block in blocks:
        columns = reading[:, block].toarray()
        length = np.linalg.norm(columns, axis=0)
        length[length == 0] = 1.0
        # Directions d with N^T T d = 0, for unit vectors N and columns of unit length.
        broken = undecided.T @ (columns / length)
        _, sizes, directions = np.linalg.svd(broken)
        free = directions[int((sizes > _TIED).sum()) :].T
        if len(block) and not free.shape[1]:
            raise minimizer.not_unique(np.abs(undecided @ broken).max(axis=1))
        axes = np.linalg.qr(free / length[:, None])[0]
        found.append(columns @ axes)
        kept.append(np.arange(start, start + axes.shape[1]))
        start += axes.shape[1]
    whole = np.column_stack(found) if found else np.empty((reading.shape[0], 0))
    return sparse.csr_array(whole), tuple(kept)
