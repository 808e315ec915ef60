"""How the minimizer of any objective moves with one person's values, without any of the library's formulas.

At the minimizer the gradient is zero whatever the data are, so that  d theta = -(d2F / dtheta2)^-1 d2F / dtheta dxi.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

Tensor = torch.Tensor


@dataclass
class Stationary:
    """An objective of parameters, rows of private values and labels, and a point near its minimizer."""

    objective: Callable[[Tensor, Tensor, Tensor], Tensor]
    """Of parameters of shape (p,), values of shape (n, k), and labels of shape (n, labels)."""
    start: np.ndarray
    values: np.ndarray
    labels: np.ndarray
    free: np.ndarray | None = None
    """Which parameters move at all; all by default."""

    def __post_init__(self) -> None:
        self.rows, self.outcomes = torch.tensor(self.values), torch.tensor(self.labels)
        self.at = torch.arange(len(self.start)) if self.free is None else torch.tensor(np.flatnonzero(self.free))
        self.theta = torch.tensor(np.asarray(self.start, dtype=np.float64))
        for _ in range(50):
            step = torch.linalg.solve(self.hessian, self._gradient(self.theta, self.rows, self.outcomes))
            self.theta[self.at] -= step
            if step.abs().max() < 1e-13 * (1 + self.theta.abs().max()):
                break
        assert step.abs().max() < 1e-10 * (1 + self.theta.abs().max())

    def _gradient(self, theta: Tensor, rows: Tensor, labels: Tensor) -> Tensor:
        return torch.func.grad(self.objective)(theta, rows, labels)[self.at]

    @property
    def hessian(self) -> Tensor:
        whole = torch.func.hessian(self.objective)(self.theta, self.rows, self.outcomes)
        return whole[self.at][:, self.at]

    def jacobian(self, person: int, directions: np.ndarray | None = None) -> np.ndarray:
        """Return how all parameters move with one person's values, then with their labels along some directions."""
        own, label = (each[:, person] for each in self._moved)
        if directions is not None:
            label = label @ torch.tensor(directions)
        found = np.zeros((len(self.theta), own.shape[1] + label.shape[1]))
        found[self.at] = torch.cat([own, label], 1).numpy()
        return found

    @cached_property
    def _moved(self) -> tuple[Tensor, Tensor]:
        """How the parameters move with everybody's values, shape (p, n, k), and labels."""
        pulled = torch.func.jacrev(lambda *data: self._gradient(self.theta, *data), argnums=(0, 1))
        hessian = self.hessian
        own, label = (
            -torch.linalg.solve(hessian, each.flatten(1)).reshape(each.shape)
            for each in pulled(self.rows, self.outcomes)
        )
        return own, label

    def agrees(self, leak, noise, *, directions=None, published=slice(None), sample=None, tolerance=1e-8) -> None:
        """Check eta, that of every attribute, and the joint one of all people against a measurement."""
        people = range(len(self.values))
        jacobians = [self.jacobian(i, directions)[published] / noise for i in people]
        k = self.values.shape[1]
        scores = leak.attributes.to_numpy()
        for i in people if sample is None else sample:
            information = jacobians[i].T @ jacobians[i]
            np.testing.assert_allclose(leak.examples["eta"].iloc[i] ** 2, _top(information), rtol=tolerance)
            np.testing.assert_allclose(scores[i, :k] ** 2, information.diagonal()[:k], rtol=tolerance, atol=1e-14)
            np.testing.assert_allclose(scores[i, -1] ** 2, _top(information[k:, k:]), rtol=tolerance)
        every = sum(jacobian @ jacobian.T for jacobian in jacobians)
        np.testing.assert_allclose(leak.joint() ** 2, _top(every), rtol=tolerance)


def _top(matrix: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(matrix)[-1])
