"""Estimating equations as functions of rows, and how they move: nobody writes a derivative down.

Complex steps lose no digits and are taken where psi can be evaluated at complex numbers; elsewhere differences are
extrapolated from two steps, and psi of tensors is differentiated automatically. Each person's equations move with that
person's rows alone, so that one evaluation moves a value of everybody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from seepage._tables import Array, Column, Table
from seepage.errors import InputError

_TINY = 1e-30
_STEPS = (1e-3, 1e-4, 1e-2)
# How far a derivative may be from a plain difference, and from itself at half the step, of the largest.
_NEAR, _SURE = 1e-4, 1e-7


@dataclass(frozen=True)
class Differentiation:
    """How a derivative is taken: a complex step, differences of a step, or automatically."""

    size: float | None = None
    tensors: bool = False

    def slope(self, along: Callable[[Any], Any]) -> Array:
        """Return the derivative of a function of one number, at zero."""
        if self.tensors:
            import torch

            zero = torch.zeros((), dtype=torch.float64)
            return np.asarray(torch.func.jvp(along, (zero,), (torch.ones_like(zero),))[1].detach().numpy())
        if self.size is None:
            return np.asarray(along(1j * _TINY).imag / _TINY)
        whole, half = self.pair(along)
        return (4.0 * half - whole) / 3.0

    def pair(self, along: Callable[[Any], Any]) -> tuple[Array, Array]:
        """Return plain differences of the step, and of half of it."""
        h = self.size or _STEPS[0]
        whole, half = ((along(each) - along(-each)) / (2 * each) for each in (h, h / 2))
        return whole, half


@dataclass(frozen=True, eq=False)
class Psi:
    """Equations of rows: what is asked has shape (parameters, rows)."""

    function: Callable[[Any, Any], Any]
    names: tuple[str, ...]
    """Of the parameters."""
    tensors: bool

    def __call__(self, theta: Any, table: Table) -> Any:
        """Return psi of some rows."""
        if not self.tensors:
            return np.asarray(self.function(theta, table.native))
        import torch

        rows = torch.as_tensor(np.asarray(table.native, dtype=np.float64))
        return self.function(torch.as_tensor(theta), rows).detach().numpy()

    def numbers(self, theta: Array, table: Table, *, whose: str = "this frame") -> Array:
        """Return psi of some rows, or refuse what is no matrix of numbers."""
        try:
            found = self(theta, table)
        except Exception as error:
            raise InputError(
                f"psi(theta, frame) raised {type(error).__name__} on {whose}: {error}. It is asked about all rows and "
                "about some of them: all that it needs of a person must be in the frame, and nothing beside it."
            ) from error
        wanted = len(self.names), len(table)
        if found.shape != wanted or found.dtype.kind not in "iuf":
            turned = " Return its transpose, .T." if found.shape == wanted[::-1] else ""
            raise InputError(
                f"psi(theta, frame) must return numbers of shape {wanted}, one row for each parameter and one column "
                f"for each row of {whose}; it returned {found.dtype} of shape {found.shape}.{turned}"
            )
        if not np.isfinite(found).all():
            at, row = (int(each[0]) for each in np.nonzero(~np.isfinite(found)))
            raise InputError(
                f"psi is not finite: the equation of {self.names[at]!r} is {found[at, row]} in row {row} of {whose}. "
                "Drop rows with missing values first, or keep weights away from zero and logarithms above it."
            )
        return np.asarray(found, dtype=np.float64)

    def along_theta(self, theta: Array, table: Table, at: int) -> Callable[[Any], Any]:
        """Return psi as a function of how far one parameter is moved."""
        unit = np.eye(len(theta))[at] * max(abs(theta[at]), 1e-3)
        if not self.tensors:
            return lambda t: self(theta + t * unit, table) / unit[at]
        import torch

        rows, start, way = torch.as_tensor(np.asarray(table.native)), torch.as_tensor(theta), torch.as_tensor(unit)
        return lambda t: self.function(start + t * way, rows) / unit[at]

    def along_column(
        self, theta: Array, table: Table, at: int, moved: Array, *, automatic: bool = True
    ) -> Callable[[Any], Any]:
        """Return psi as a function of how far one column is moved, in a unit of each row."""
        if not (self.tensors and automatic):
            values = np.asarray(table.column_at(at), dtype=np.float64)
            return lambda t: self(theta, table.with_column(at, values + t * moved))
        import torch

        rows, start, way = (
            torch.as_tensor(np.asarray(each)) for each in (table.native, theta, np.zeros(table.native.shape))
        )
        way[:, at] = torch.as_tensor(moved)
        return lambda t: self.function(start, rows + t * way)

    def step(self, along: Callable[[Any], Any]) -> Differentiation | None:
        """Return how a derivative can be taken; None where there is none."""
        if self.tensors:
            return Differentiation(tensors=True)
        now, tried = along(0.0), [Differentiation(each) for each in _STEPS]
        size = np.abs(now).max(axis=1, keepdims=True) + _TINY
        with np.errstate(all="ignore"):
            try:
                pairs = [each.pair(along) for each in tried]
                # At zero itself a function that compares may be elsewhere than on both sides of it.
                beside = (along(_STEPS[1]) + along(-_STEPS[1]) - 2.0 * now) / _STEPS[1]
            except (TypeError, ValueError):
                return None
            largest = np.max([np.abs(half).max(axis=1, keepdims=True) for _, half in pairs], axis=0)
            if not largest.any() or not (np.abs(beside) <= 0.1 * largest.max() + 1e-6 * size).all():
                return None
            scale = np.maximum(largest, 1e-6 * size)
            try:
                real, exact = along(1j * _TINY).real, Differentiation().slope(along)
            except (TypeError, ValueError, NotImplementedError):
                real, exact = np.full_like(now, np.nan), np.zeros_like(now)
            # Whatever compares numbers, or takes the real part of them, shows in one of the two.
            if (np.abs(real - now) <= 1e-9 * size).all() and (np.abs(exact - pairs[1][1]) <= _NEAR * scale).all():
                return Differentiation()
            # What is left after the extrapolation goes with the square of how far the two steps are apart.
            doubts = [float(np.nan_to_num(np.abs(a - b) / scale, nan=np.inf).max()) ** 2 for a, b in pairs]
        best = int(np.argmin(doubts))
        return tried[best] if doubts[best] <= _SURE else None


def as_table(X: object) -> tuple[Table, bool]:
    """Return rows as a table, and whether they came as a tensor."""
    tensors = type(X).__module__.partition(".")[0] == "torch"
    return Table.of(np.asarray(X.detach().cpu().double()) if tensors else X), tensors  # type: ignore[attr-defined]


def same(one: Column, other: Column) -> bool:
    """Return whether two columns hold the same; missing is missing."""
    return one.shape == other.shape and bool(((one == other) | ((one != one) & (other != other))).all())
