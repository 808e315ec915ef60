"""What the shape of a noise tells, bounded from above: models of more parameters than whose every entry is computed.

The length of each part of E (eq. 2.19) is known, or bounded, and so is their sum (eq. 2.21): what the shape tells about
one of many people is next to nothing beside what the parameters do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seepage.errors import UnansweredError
from seepage.linear.information._geometry import Geometry
from seepage.linear.information._one_margin import OneMargin
from seepage.linear.information._shape import MovingShape
from seepage.linear.objective import derivatives
from seepage.linear.rows import Batch

Array = NDArray[np.float64]

# Numbers in the largest temporary.
_MOST_NUMBERS = 2**21


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some rows in the coordinates of the shape."""

    rows: Array
    """x, shape (n, q)."""
    slope: Array
    curvature: Array
    label_slope: Array
    third: Array
    """a'."""
    label_third: Array


@dataclass(frozen=True, eq=False)
class Bounded:
    """Scores rows of a model with one output whose noise has a shape that moves with them, from above."""

    geometry: Geometry

    @property
    def _shape(self) -> MovingShape:
        assert self.geometry.shape is not None
        return self.geometry.shape

    @cached_property
    def _fixed(self) -> OneMargin:
        """What the parameters tell."""
        return OneMargin(self.geometry)

    @cached_property
    def _read(self) -> Array:
        """T, shape (q, k)."""
        return np.asarray(self._shape.axes.T @ self.geometry.read)

    @property
    def moves(self) -> int:
        """How many numbers say how a release moves; those of its shape are not counted."""
        return len(self.geometry.response)

    def examples(self, batch: Batch) -> tuple[Array, Array]:
        """Return no less than the largest eigenvalue and the trace of each row's information."""
        top, trace = self._fixed.examples(batch) if self._is_seen else (np.zeros(len(batch)), np.zeros(len(batch)))
        for at, rows in self._parts(batch):
            own = self._bounds(rows)
            trace[at] += own.sum(axis=1)
            top[at] += np.minimum(own.sum(axis=1), self._largest(rows))
        return top, trace

    def attributes(self, batch: Batch) -> Array:
        """Return no less than the largest eigenvalue of each attribute's block, then of the label's."""
        geometry = self.geometry
        blocks = [*geometry.blocks] + ([] if geometry.public_label else [np.array([geometry.reading.shape[1]])])
        found = self._fixed.attributes(batch) if self._is_seen else np.zeros((len(batch), len(blocks)))
        for at, rows in self._parts(batch):
            own = self._bounds(rows)
            for i, block in enumerate(blocks):
                found[at, i] += own[:, block].sum(axis=1)
        return np.maximum(found, 0.0)

    def jacobian(self, batch: Batch) -> Array:
        """Refuse: lengths are bounded, directions are not known."""
        raise UnansweredError(
            f"What the shape of this noise tells is bounded, person by person, for models of "
            f"{len(self._shape.roots)} parameters; what it tells about several rows together is not known. "
            "Measure with noise of one scale, or with a shape from public rows."
        )

    @cached_property
    def _is_seen(self) -> bool:
        """Whether anything is seen of the parameters: behind infinite noise it is not."""
        return bool(np.any(self.geometry.response))

    def _parts(self, batch: Batch) -> Iterator[tuple[slice, _Rows]]:
        """Yield rows a few at a time."""
        step = max(_MOST_NUMBERS // max(self.geometry.values, 1), 1)
        for start in range(0, len(batch), step):
            at = slice(start, min(start + step, len(batch)))
            yield at, self._rows(batch.take(at))

    def _rows(self, batch: Batch) -> _Rows:
        geometry = self.geometry
        rows = geometry.frame.rows(batch)
        margins = rows.margins(geometry.position)
        slope, curvature, label_slope = derivatives(rows, geometry.loss, margins)
        weight = 1.0 if rows.weights is None else rows.weights
        third = geometry.loss.bend(margins, rows.labels, np.ones(1))[:, 0, 0] * weight
        label_third = geometry.loss.label_bend(margins, rows.labels)[:, 0] * weight
        projected = rows.project(self._shape.axes)
        return _Rows(projected, slope[:, 0], curvature[:, 0, 0], label_slope[:, 0, 0], third, label_third)

    def _bounds(self, seen: _Rows) -> Array:
        """Return no less than what the shape tells about each value, shape (n, values): eq. 2.21."""
        shape, x, tau, read = self._shape, seen.rows, np.abs(self.geometry.tau[:, 0]), self._read
        bend, third = np.abs(seen.curvature)[:, None], np.abs(seen.third)[:, None]
        # |M o (t x^T + x t^T)|^2 <= 4 sum_ab M_ab^2 t_a^2 x_b^2, and |M o x x^T|^2 is a quarter of that with t = x.
        near = x**2 @ shape.factors**2
        square = np.sqrt(np.einsum("na,na->n", near, x**2))
        length = 2.0 * bend * np.sqrt(near @ read**2) + third * square[:, None] * tau
        # How t . dH t of each coordinate moves, in its weight: 2 a (t . t_j) (t . x) + a' tau (t . x)^2.
        along = x @ shape.columns
        product = (shape.columns.T @ read) * shape.weights[:, None]
        answered = np.sqrt(((along**2) ** 2) @ shape.weights**2)
        length += shape.answer * (2.0 * bend * np.sqrt(along**2 @ product**2) + third * answered[:, None] * tau)
        # And how the Hessian's own share does.
        turned = x @ shape.total
        shared = np.abs(np.einsum("na,na->n", turned, x))
        length += shape.total_answer * (2.0 * bend * np.abs(turned @ read) + third * shared[:, None] * tau)
        # Of the fit: |r t + a tau x| <= |r| |t| + |a tau| |x|.
        size = np.linalg.norm(x, axis=1)
        moved = np.abs(seen.slope)[:, None] * np.linalg.norm(read, axis=0) + bend * size[:, None] * tau
        if not self.geometry.public_label:
            label = square + shape.answer * answered + shape.total_answer * shared
            length = np.column_stack([length, np.abs(seen.label_third) * label])
            moved = np.column_stack([moved, np.abs(seen.label_slope) * size])
        return np.asarray(0.5 * (length + self._of_fit * moved) ** 2)

    def _largest(self, seen: _Rows) -> Array:
        """Return no less than what the shape tells about any combination of the values of each row."""
        shape, x = self._shape, seen.rows
        size, tau = np.linalg.norm(x, axis=1), float(np.linalg.norm(self.geometry.tau))
        read = float(np.linalg.norm(self._read, 2)) if self._read.size else 0.0
        change = 2.0 * np.abs(seen.curvature) * size * read + np.abs(seen.third) * tau * size**2
        moved = np.abs(seen.slope) * read + np.abs(seen.curvature) * tau * size
        if not self.geometry.public_label:
            change = change + np.abs(seen.label_third) * size**2
            moved = moved + np.abs(seen.label_slope) * size
        columns = shape.columns * np.sqrt(np.abs(shape.weights))
        weighted = float(np.linalg.norm(columns, 2)) ** 2 if columns.size else 0.0
        each = float(np.abs(shape.factors).max()) + shape.answer * weighted
        each += shape.total_answer * float(np.linalg.norm(shape.total))
        return np.asarray(0.5 * (each * change + self._of_fit * moved) ** 2)

    @cached_property
    def _of_fit(self) -> float:
        """No less than the length of E for a move of the fit of length 1."""
        shape = self._shape
        found = float(np.abs(shape.factors).max()) * shape.length
        if shape.columns.size:
            found += shape.answer * float(np.linalg.norm(shape.pulled * shape.weights[:, None], 2))
            count = np.diff(np.append(shape.starts, shape.columns.shape[1]))
            found += shape.total_answer * float(np.linalg.norm(np.repeat(shape.shared, count) @ shape.pulled))
        return found
