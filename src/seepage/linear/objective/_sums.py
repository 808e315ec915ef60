"""The pass that adds: what Newton's method and joint information need of a batch, as sums over its rows."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import TypeVar

import numba
import numpy as np

from seepage._python import Self
from seepage._tables import Array
from seepage.linear.objective._losses import Derivatives, Loss
from seepage.linear.rows import Batch, Frame

# Up to this many columns, sums of several outputs are added in one pass over the rows.
_NARROW = 24
# A slope so small, next to one of the weight alone, is of a margin that may be on its way to infinity.
_FADED = 1e-3
Sums = TypeVar("Sums", "NewtonSums", "JointSums")
Other = TypeVar("Other")


class Additive:
    """Sums of two sets of rows add up to those of their union, field by field."""

    def __add__(self, other: Self) -> Self:
        if isinstance(other, Nothing):
            return self
        # Every subclass is a dataclass of numbers and arrays.
        pairs = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return type(self)(**pairs)


class Nothing:
    """The sum over no rows."""

    # Arrays would add it to each of their numbers.
    __array_ufunc__ = None

    def __add__(self, other: Other) -> Other:
        return other

    def __radd__(self, other: Other) -> Other:
        return other


@dataclass(frozen=True, eq=False)
class NewtonSums(Additive):
    """The objective's data term (eq. 2.1) with its two derivatives (the second is eq. 2.4), at some parameters."""

    value: float
    gradient: Array
    """Shape (p, outputs)."""
    hessian: Array
    """Shape (outputs * p, outputs * p), output by output."""
    slope_squares: float
    curvature: float
    weight: float
    count: int
    faded: int
    """Rows that hardly pull at any parameter: without any, there is a minimizer (eq. 4.7)."""


@dataclass(frozen=True, eq=False)
class JointSums(Additive):
    """What the joint information of a set of rows is made of (eq. 2.11)."""

    slope: Array
    """Sum of rho rho^T, shape (outputs, outputs)."""
    cross: Array
    """Sum of rho_c S_de x, shape (outputs, outputs, outputs, p)."""
    spread: Array
    """Sum of (S Tau S + B B^T)_cd x x^T, shape (outputs * p, outputs * p)."""


def derivatives(batch: Batch, loss: Loss, margins: Array) -> Derivatives:
    """Return the loss's derivatives, each multiplied by the row's weight."""
    found = loss.derivatives(margins, batch.labels)
    if batch.weights is None:
        return found
    weight = batch.weights
    return Derivatives(
        found.slope * weight[:, None],
        found.curvature * weight[:, None, None],
        found.label_slope * weight[:, None, None],
    )


def newton_sums(batch: Batch, loss: Loss, position: Array, frame: Frame) -> NewtonSums:
    """Add up value, gradient and Hessian over a batch, in the coordinates of a frame."""
    return _added(frame, batch, lambda part: _newton_sums(part, loss, position))


def _newton_sums(batch: Batch, loss: Loss, position: Array) -> NewtonSums:
    margins = batch.margins(position)
    slope, curvature, _ = derivatives(batch, loss, margins)
    values = loss.value(margins, batch.labels)
    weight = batch.weights
    return NewtonSums(
        value=float(values.sum() if weight is None else np.dot(weight[weight > 0], values[weight > 0])),
        gradient=batch.total(slope),
        hessian=_blocks(batch, curvature),
        slope_squares=float((slope**2).sum()),
        curvature=float(np.abs(np.einsum("ncc->n", curvature)).sum()),
        weight=float(len(batch) if weight is None else weight.sum()),
        count=len(batch),
        # Of several outputs, one that fades may be any combination.
        faded=int((np.abs(slope[:, 0]) <= (_FADED if weight is None else _FADED * weight)).sum())
        if loss.outputs == 1
        else len(batch),
    )


def joint_sums(
    batch: Batch, loss: Loss, position: Array, frame: Frame, tau_gram: Array, public_label: bool
) -> JointSums:
    """Add up what joint information needs over a batch; `tau_gram` is tau tau^T, shape (outputs, outputs)."""
    return _added(frame, batch, lambda part: _joint_sums(part, loss, position, tau_gram, public_label))


def _joint_sums(batch: Batch, loss: Loss, position: Array, tau_gram: Array, public_label: bool) -> JointSums:
    slope, curvature, label_slope = derivatives(batch, loss, batch.margins(position))
    outputs, p = loss.outputs, batch.width
    # Numbers commute; only for several outputs are these matrices.
    spread = curvature * tau_gram * curvature if outputs == 1 else curvature @ tau_gram @ curvature
    if not public_label:
        spread = spread + (label_slope**2 if outputs == 1 else label_slope @ label_slope.transpose(0, 2, 1))
    products = (slope[:, :, None, None] * curvature[:, None]).reshape(len(batch), -1)
    cross = batch.total(products).T.reshape(outputs, outputs, outputs, p)
    return JointSums(slope=slope.T @ slope, cross=cross, spread=_blocks(batch, spread))


def _added(frame: Frame, batch: Batch, of: Callable[[Batch], Sums]) -> Sums:
    """Add a function up over the rows of a batch in the coordinates of a frame; a batch without rows is one part."""
    return reduce(add, map(of, frame.parts(batch)))


def _blocks(batch: Batch, weights: Array) -> Array:
    """Return sum_i weights_i (x) x_i x_i^T for symmetric weights of shape (n, outputs, outputs)."""
    outputs, p = weights.shape[1], batch.width
    if outputs == 1:
        return batch.gram(weights[:, 0, 0])
    whole = np.zeros((outputs, p, outputs, p))
    if isinstance(batch.features, np.ndarray) and p <= _NARROW:
        # Reading a few columns once for all pairs of outputs is cheaper than a product for each.
        _add_blocks(batch.features, np.ascontiguousarray(weights), batch.intercept, whole)
        return whole.reshape(outputs * p, outputs * p)
    for c in range(outputs):
        for d in range(c + 1):
            whole[c, :, d, :] = batch.gram(weights[:, c, d])
            whole[d, :, c, :] = whole[c, :, d, :].T
    return whole.reshape(outputs * p, outputs * p)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_blocks(features, weights, intercept, whole):  # type: ignore[no-untyped-def]
    n, width = features.shape
    outputs, p = weights.shape[1], width + intercept
    # Whole vectors of eight numbers: loops without a remainder.
    padded = (p + 7) // 8 * 8
    x, half = np.zeros(padded), np.zeros((outputs, outputs, p, padded))
    if intercept:
        x[width] = 1.0
    for row in range(n):
        for j in range(width):
            x[j] = features[row, j]
        for c in range(outputs):
            for d in range(c + 1):
                weight = weights[row, c, d]
                for i in range(p):
                    scaled = weight * x[i]
                    for j in range(padded):
                        half[c, d, i, j] += scaled * x[j]
    for c in range(outputs):
        for d in range(c + 1):
            whole[c, :, d, :] = half[c, d, :, :p]
            whole[d, :, c, :] = half[c, d, :, :p]
