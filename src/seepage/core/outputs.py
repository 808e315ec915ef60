"""Published numbers: their values, each row's influence, each private value's derivative, and their information.

With t all stages, R their response to a change of each stage's equation, s_i the terms of row i, g(t) the published
numbers and C(t) the covariance of their noise (eq. 1.7):

    influence of a row          g' R s_i
    derivative of the numbers   g' R ds_i/dz_i
    information of a person     J^T F J,  J = R ds_i/dz_i,  F = g'^T C^-1 g' + 1/2 tr(C^-1 dC C^-1 dC)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from seepage.core.dual import derivative_along, jacobian
from seepage.core.stages import Root, Rows, Sum, Values
from seepage.errors import MinimizerError

_STEPS = 100


@dataclass(frozen=True)
class Outputs:
    """Numbers that are published about rows.

    Attributes
    ----------
    stages : sequence of Sum
        In the order in which they are solved: terms may use the stages before their own.
    rows : Rows
    numbers : callable
        Of the stages' values: the published numbers, a vector.
    covariance : callable, optional
        Of the stages' values: the covariance of the noise; None without noise.
    private : sequence of str
        Columns of the rows that hold private values, each of shape (n, values).
    """

    stages: Sequence[Sum]
    rows: Rows
    numbers: Callable[[Values], Any]
    covariance: Callable[[Values], Any] | None = None
    private: Sequence[str] = ("x", "y")

    @cached_property
    def fitted(self) -> dict[str, Any]:
        """Values of all stages."""
        t: dict[str, Any] = {}
        for stage in self.stages:
            t[stage.name] = self._root(stage, t) if isinstance(stage, Root) else self._equation(stage, t)
        return t

    @cached_property
    def response(self) -> Any:
        """R: derivatives of all stages' values in what is added to each stage's equation."""
        sizes = [self.fitted[stage.name].size for stage in self.stages]
        ends = np.cumsum([0, *sizes])
        places = [slice(start, end) for start, end in pairwise(ends)]
        response = np.zeros((ends[-1], ends[-1]))
        for number, (stage, place) in enumerate(zip(self.stages, places, strict=True)):
            added = np.eye(ends[-1])[place]
            for earlier, above in zip(self.stages[:number], places[:number], strict=True):
                added = added + self._derivative(stage, earlier.name, self.fitted) @ response[above]
            if isinstance(stage, Root):
                added = -np.linalg.solve(self._derivative(stage, stage.name, self.fitted), added)
            response[place] = added
        return response

    def influence(self) -> Any:
        """Return the influence of each row on each number, shape (n, numbers)."""
        reading = self.gradient(self.numbers) @ self.response
        return self.rows.each(lambda rows: self._terms(rows) @ reading.T)

    def jacobians(self) -> Any:
        """Return the derivative of each number in each private value, shape (n, values, numbers)."""
        return self._moves(self.gradient(self.numbers) @ self.response)

    def information_roots(self) -> Any:
        """Return a matrix A of each row whose A A^T is the information about its private values."""
        return self._moves(self._fisher_root() @ self.response)

    def gradient(self, function: Callable[[Values], Any]) -> Any:
        """Return the derivatives of a function of the stages' values in all of them, shape (its size, all)."""
        return np.concatenate([_derivative(function, name, self.fitted) for name in self.fitted], axis=1)

    def _root(self, stage: Root, t: Values) -> Any:
        """Solve a stage's equation by Newton's method, with steps that are halved until the equation comes nearer."""
        value = np.asarray(stage.start, dtype=float)
        for _ in range(_STEPS):
            here = {**t, stage.name: value}
            equation = self._equation(stage, here)
            step = np.linalg.solve(self._derivative(stage, stage.name, here), equation).reshape(value.shape)
            share, settled = 1.0, np.abs(step).max() <= 1e-14 * (1 + np.abs(value).max())
            while not settled and share > 1e-6:
                tried = self._equation(stage, {**t, stage.name: value - share * step})
                if np.abs(tried).max() <= max(np.abs(equation).max(), 1e-9 * (1 + np.abs(value).max())):
                    break
                share /= 2
            value = value - share * step
            if settled:
                return value
        if np.abs(step).max() > 1e-9 * (1 + np.abs(value).max()):
            raise MinimizerError(f"The equations of {stage.name!r} have no root near their start.")
        return value

    def _equation(self, stage: Sum, t: Values) -> Any:
        total = self.rows.total(lambda rows: stage.terms(t, rows).sum(axis=0))
        return total if stage.constant is None else total + stage.constant(t)

    def _derivative(self, stage: Sum, name: str, t: Values) -> Any:
        """Return the derivatives of a stage's equation in the values of a stage, shape (size, size of that)."""
        total = self.rows.total(lambda rows: _derivative(lambda t: stage.terms(t, rows).sum(axis=0), name, t))
        return total if stage.constant is None else total + _derivative(stage.constant, name, t)

    def _terms(self, rows: Values) -> Any:
        """Return the terms of each row in all stages, shape (n, all)."""
        return np.concatenate([stage.terms(self.fitted, rows) for stage in self.stages], axis=1)

    def _moves(self, matrix: Any) -> Any:
        """Return the derivatives of all terms in each private value, times a matrix: shape (n, values, its rows)."""

        def of(rows: Values) -> Any:
            columns = []
            for name in self.private:
                for direction in np.eye(rows[name].shape[1]):
                    along = np.broadcast_to(direction, rows[name].shape)
                    _, tangent = derivative_along(
                        lambda values, name=name: self._terms({**rows, name: values}), (rows[name],), (along,)
                    )
                    columns.append(tangent @ matrix.T)
            return np.stack(columns, axis=1)

        return self.rows.each(of)

    def _fisher_root(self) -> Any:
        """Return a matrix B whose B^T B is the information F of the noisy numbers about all stages' values."""
        assert self.covariance is not None, "numbers without noise have no Fisher information"
        whitening = np.linalg.inv(np.linalg.cholesky(self.covariance(self.fitted)))
        mean = whitening @ self.gradient(self.numbers)
        size = len(whitening)
        changes = self.gradient(self.covariance).reshape(size, size, -1)
        shape = np.einsum("ab,bct,dc->adt", whitening, changes, whitening, optimize=True) / np.sqrt(2)
        return np.concatenate([mean, shape.reshape(size * size, -1)])


def _derivative(function: Callable[[Values], Any], name: str, t: Values) -> Any:
    return jacobian(lambda value: function({**t, name: value}), t[name])
