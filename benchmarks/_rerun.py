"""The procedure of `publish` within ranges, written down once more by formulas: fit, noise, and what its scale tells.

For ridge regression and noise of one scale. With the row x of one person taken out and x' in its place everything is a
function of a few products of x, x' and the direction of the attribute with the inverse Hessian, so that all people and
values are asked about at once. Nothing here is the library's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRID = np.sort([digit * 10.0**power for power in range(-8, 6) for digit in (1, 2, 5)])
KAPPA, MARGIN = 0.1, 0.3
_POINTS, _LEADERS, _NEAR = 9, 3, 0.01


def _dot(one: Array, other: Array) -> Array:
    return np.asarray(np.einsum("ni,ni->n", one, other))


@dataclass(frozen=True, eq=False)
class Rows:
    """People as a model sees them, one attribute of whom is promised about."""

    design: Array
    labels: Array
    penalty: Array
    along: Array
    """How a row moves with the attribute."""
    values: Array
    """Of the attribute."""
    low: float
    high: float
    floor: float

    def with_value(self, person: int, value: float) -> "Rows":
        """Return the same people, one of whom has another value."""
        design, values = self.design.copy(), self.values.copy()
        design[person] += (value - values[person]) * self.along
        values[person] = value
        return replace(self, design=design, values=values)

    @cached_property
    def inverse(self) -> Array:
        """Of the Hessian."""
        return np.asarray(np.linalg.inv(self.design.T @ self.design + np.diag(self.penalty)))

    @cached_property
    def theta(self) -> Array:
        """The coefficients, the intercept last."""
        return np.asarray(self.inverse @ (self.design.T @ self.labels))

    def changed(self, people: NDArray[np.intp], values: Array, seen: int | None = None) -> Array:
        """Return the noise that each person needs with another value; or what one person needs who sees each of them.

        Parameters
        ----------
        people, values
            Whose value becomes which, each alone.
        seen
            Whose need is asked about: theirs, by default.
        """
        x, labels = self.design[people], self.labels[people]
        shift = (values - self.values[people])[:, None]
        moved, residual = x + shift * self.along, x @ self.theta - labels
        u = x @ self.inverse
        left = 1 / (1 - _dot(x, u))

        def others(vector: Array) -> Array:
            """Apply the inverse Hessian of everybody else: that of all without x x^T."""
            return self.inverse @ vector + (left * (u @ vector))[:, None] * u

        of_x, of_along = left[:, None] * u, others(self.along)
        of_moved = of_x + shift * of_along
        q = _dot(moved, of_moved)
        # The margin m of the new row solves m + q (m - y) = c.
        c = moved @ self.theta + residual * _dot(moved, of_x)
        after = (c + q * labels) / (1 + q) - labels
        theta = self.theta + residual[:, None] * of_x - after[:, None] * of_moved

        def solved(plain: Array) -> Array:
            return plain - (_dot(moved, plain) / (1 + q))[:, None] * of_moved

        if seen is None:
            of_row = of_moved
        else:
            of_row, after = others(self.design[seen]), theta @ self.design[seen] - self.labels[seen]
        # How the coefficients move with the value: along the row by the slope, along the attribute by the residual.
        move = (theta @ self.along)[:, None] * solved(of_row) + after[:, None] * solved(of_along)
        return np.asarray(self.floor * np.linalg.norm(move, axis=1))

    @cached_property
    def points(self) -> Array:
        """The values that everybody is asked about."""
        return np.linspace(self.low, self.high, _POINTS)

    @cached_property
    def needs(self) -> Array:
        """The noise that everybody needs at each point, and as they are."""
        everybody = np.arange(len(self.values))
        each = [self.changed(everybody, np.full(len(everybody), point)) for point in self.points]
        return np.stack([*each, self.changed(everybody, self.values)], axis=1)

    @property
    def as_they_are(self) -> float:
        """The noise that is enough for the values that people have."""
        return float(self.needs[:, -1].max())

    @property
    def needed(self) -> float:
        """The noise that is enough for everybody at every value of their own."""
        return float(self.needs.max())

    @cached_property
    def told(self) -> Array:
        """How fast the logarithm of the noise that the most exposed need moves with everybody's value, at most."""
        worst, found = self.needs.max(axis=1), np.zeros(len(self.values))
        for leader in np.argsort(-worst, kind="stable")[:_LEADERS].tolist():
            at = int(self.needs[leader].argmax())
            there = self.with_value(leader, self.points[at]) if at < _POINTS else self
            for people, values in self._steps(leader):
                moved = np.log(there.changed(people, values, leader) / worst[leader])
                np.maximum.at(found, people, np.abs(moved / (values - self.values[people])))
        return found

    def _steps(self, leader: int) -> Iterator[tuple[NDArray[np.intp], Array]]:
        little = _NEAR * (self.high - self.low)
        near = np.where(self.values + little <= self.high, self.values + little, self.values - little)
        for values in (np.full_like(near, self.low), np.full_like(near, self.high), near):
            kept = np.abs(values - self.values) > 1e-9 * (self.high - self.low)
            kept[leader] = False
            yield np.flatnonzero(kept), values[kept]

    @cached_property
    def published_at(self) -> NDArray[np.bool_]:
        """Whether a drawn scale, if it is this step of the grid, is published: parameters and scale meet the floor."""
        share = (self.told / KAPPA * self.floor) ** 2
        used = (self.needs.max(axis=1)[:, None] / GRID) ** 2
        return np.asarray((used + share[:, None]).max(axis=0) <= 1 + 1e-9)
