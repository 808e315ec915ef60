"""The row-local pass through steps that are not affine.

How features move with a person's values then differs from row to row (eq. 2.22): with T_i in the place of T,

    J_i = -G [ rho_i (x) T_i + (S_i tau_i) (x) x_i ,  B_i (x) x_i ],     tau_i = T_i^T theta.

Nothing of T is the same for all rows, so each row's Jacobian is formed: of one output's products G T_i, coordinate by
coordinate, over the few features that a coordinate reaches. Behind a scaler that was fitted on the same rows it is that
of the features (eqs. 2.16 and 2.17) times T_i.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seepage.linear.columns import Curves
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._lanczos import largest
from seepage.linear.information._small_spectrum import tops_of_matrices
from seepage.linear.information._through_scaler import ThroughScaler
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch

Array = NDArray[np.float64]

# Numbers in the Jacobians of the rows that are worked on at once: they stay in a core's cache.
_MOST_NUMBERS = 2**18
# Up to this many values a whole matrix is cheaper than a search by products with it.
_SMALL = 64
# A change of the parameters that nothing decides, beside how the features move, that is more than rounding.
_TIED = 1e-9


@dataclass(frozen=True, eq=False)
class ThroughCurves:
    """Scores rows of a model whose features are no affine function of the raw columns."""

    geometry: Geometry

    @property
    def _curves(self) -> Curves:
        assert self.geometry.curves is not None
        return self.geometry.curves

    @cached_property
    def _spans(self) -> list[tuple[int, slice]]:
        """Each coordinate that something bends, and where its entries are."""
        at = self._curves.coordinates
        starts = np.flatnonzero(np.r_[True, np.diff(at) != 0]) if len(at) else np.empty(0, dtype=np.intp)
        return [(int(at[start]), slice(int(start), int(stop))) for start, stop in pairwise([*starts, len(at)])]

    @cached_property
    def _pulled(self) -> Array:
        """G (e_c (x) e_f), shape (outputs, features and intercept, published)."""
        geometry = self.geometry
        blocks = geometry.response.reshape(-1, geometry.outputs, len(geometry.position))
        axes = geometry.frame.axes
        if axes is not None:
            blocks = np.einsum("pcq,fq->pcf", blocks, axes, optimize=True)
        return np.ascontiguousarray(blocks.transpose(1, 2, 0))

    @cached_property
    def _straight(self) -> tuple[Array, Array]:
        """G T of what is affine, shape (outputs, k, published), and its tau, shape (k, outputs)."""
        reading = self.geometry.reading
        moved = np.stack([np.asarray(reading.T @ each) for each in self._pulled])
        return moved, np.asarray(reading.T @ self.geometry.parameters)

    @property
    def moves(self) -> int:
        """How many numbers say how a release, and its shape, move."""
        return len(self.geometry.response) if self._features is None else self._features.moves

    @cached_property
    def _features(self) -> ThroughScaler | None:
        """The pass of the features themselves, if a scaler was fitted on the same rows."""
        geometry = self.geometry
        if geometry.scales is None:
            return None
        width, p = len(geometry.scales.share), geometry.parameters.shape[0]
        reading = sparse.csr_array(sparse.eye_array(p, width))
        blocks = tuple(np.array([feature]) for feature in range(width))
        return ThroughScaler(replace(geometry, reading=reading, blocks=blocks, curves=None))

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return the largest eigenvalue and the trace of each row's information."""
        top, trace = np.zeros(len(batch)), np.zeros(len(batch))
        for at, moved in self._parts(batch):
            top[at] = tops(moved)
            trace[at] = np.einsum("nvp,nvp->n", moved, moved)
        return np.maximum(top, 0.0), trace

    def attributes(self, batch: Batch) -> Array:
        """Return the largest eigenvalue of each attribute's block of each row's information, then the label's."""
        geometry = self.geometry
        blocks = [*geometry.blocks]
        if not geometry.public_label:
            blocks.append(np.arange(geometry.reading.shape[1], geometry.values))
        found = np.zeros((len(batch), len(blocks)))
        for at, moved in self._parts(batch):
            squares = np.einsum("nvp,nvp->nv", moved, moved)
            for i, block in enumerate(blocks):
                if len(block) == 1:
                    found[at, i] = squares[:, block[0]]
                elif len(block):
                    found[at, i] = tops(moved[:, block])
        return np.maximum(found, 0.0)

    def jacobian(self, batch: Batch) -> Array:
        """Return how each row's values move the release, in units of its noise, and its shape, (n, moves, values)."""
        return self._moved(batch).transpose(0, 2, 1)

    def _parts(self, batch: Batch) -> Iterator[tuple[slice, Array]]:
        """Yield the Jacobians of a few rows at a time, shape (n, values, moves)."""
        step = max(_MOST_NUMBERS // max(self.moves * self.geometry.values, 1), 16)
        for start in range(0, len(batch), step):
            at = slice(start, min(start + step, len(batch)))
            yield at, self._moved(batch.take(at))

    def _moved(self, batch: Batch) -> Array:
        assert batch.bent is not None
        slopes = self._curves.at(batch.bent)
        self._check_ties(slopes)
        if self._features is not None:
            return self._behind_scaler(batch, self._features, slopes)
        geometry = self.geometry
        rows = geometry.frame.rows(batch)
        slope, curvature, label_slope = derivatives(rows, geometry.loss, rows.margins(geometry.position))
        blocks = geometry.response.reshape(-1, geometry.outputs, len(geometry.position))
        moved = np.empty((len(batch), geometry.values, len(blocks)))
        k = geometry.reading.shape[1]
        straight, tau = self._straight
        # rho (x) T_i, then (S tau_i) (x) x.
        moved[:, :k] = slope[:, 0, None, None] * straight[0]
        for c in range(1, geometry.outputs):
            moved[:, :k] += slope[:, c, None, None] * straight[c]
        tau = np.tile(tau, (len(batch), 1, 1))
        for coordinate, at in self._spans:
            features = self._curves.features[at]
            tau[:, coordinate] += slopes[:, at] @ geometry.parameters[features]
            for c in range(geometry.outputs):
                moved[:, coordinate] += (slope[:, c, None] * slopes[:, at]) @ self._pulled[c, features]
        bent = tau @ curvature
        for c in range(geometry.outputs):
            turned = rows.project(np.ascontiguousarray(blocks[:, c].T))
            moved[:, :k] += bent[:, :, c, None] * turned[:, None]
            if not geometry.public_label:
                label = label_slope[:, c, :, None] * turned[:, None]
                moved[:, k:] = label if c == 0 else moved[:, k:] + label
        return moved

    def _behind_scaler(self, batch: Batch, features: ThroughScaler, slopes: Array) -> Array:
        """Return the Jacobians of the features times T_i."""
        each = features.jacobian(batch).transpose(0, 2, 1)
        width, k = features.geometry.reading.shape[1], self.geometry.reading.shape[1]
        moved = np.empty((len(batch), self.geometry.values, each.shape[2]))
        straight = self.geometry.reading[:width].T.toarray()
        moved[:, :k] = straight @ each[:, :width]
        for coordinate, at in self._spans:
            reached = each[:, self._curves.features[at]]
            moved[:, coordinate] += np.einsum("nf,nfm->nm", slopes[:, at], reached)
        moved[:, k:] = each[:, width:]
        return moved

    def _check_ties(self, slopes: Array) -> None:
        """Refuse values that break a tie between columns which leaves directions of the parameters undecided."""
        undecided = self.geometry.minimizer.undecided
        if not undecided.size:
            return
        undecided = undecided / np.linalg.norm(undecided, axis=0)
        for _, at in self._spans:
            features = self._curves.features[at]
            broken = slopes[:, at] @ undecided[features]
            size = np.linalg.norm(slopes[:, at], axis=1, keepdims=True)
            if (np.abs(broken) > _TIED * size).any():
                raise self.geometry.minimizer.not_unique(np.abs(undecided).max(axis=1))


def tops(moved: Array) -> Array:
    """Return the largest eigenvalue of J^T J of each row, given J^T."""
    n, values, moves = moved.shape
    if not values or not moves:
        return np.zeros(n)
    if min(values, moves) <= _SMALL:
        flat = moved if values <= moves else np.ascontiguousarray(moved.transpose(0, 2, 1))
        return tops_of_matrices(flat @ flat.transpose(0, 2, 1))

    def product(vectors: Array) -> Array:
        return np.asarray(np.einsum("nvp,np->nv", moved, np.einsum("nvp,nv->np", moved, vectors)))

    return largest(product, n, values)
