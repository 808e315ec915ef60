"""An independent way to the same numbers: automatic differentiation through the implicit function.

The objective is written down once more, in PyTorch and without any of the library's formulas. At its minimizer the
Jacobian of the parameters in the private values is  -(d2F/dtheta2)^+ d2F/dtheta dxi; singular values give the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

Tensor = torch.Tensor


def squared(m: Tensor, y: Tensor) -> Tensor:
    return (0.5 * (m - y) ** 2).sum(-1)


def logistic(m: Tensor, y: Tensor) -> Tensor:
    return (torch.nn.functional.softplus(m) - y * m).sum(-1)


def softmax(m: Tensor, y: Tensor) -> Tensor:
    return torch.logsumexp(m, -1) - (y * m).sum(-1)


def tweedie(power: float, link: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Half the deviance of the Tweedie family as a textbook states it, without the terms of y alone."""

    def loss(m: Tensor, y: Tensor) -> Tensor:
        mean = link(m)
        if power == 1:
            value = mean - y * torch.log(mean)
        elif power == 2:
            value = torch.log(mean) + y / mean
        else:
            value = mean ** (2 - power) / (2 - power) - y * mean ** (1 - power) / (1 - power)
        return value.sum(-1)

    return loss


@dataclass
class Oracle:
    """One training set and its objective."""

    loss: Callable[[Tensor, Tensor], Tensor]
    coordinates: np.ndarray
    """xi of every row, shape (n, k)."""
    matrix: np.ndarray
    """T, shape (p without intercept, k)."""
    offset: np.ndarray
    labels: np.ndarray
    """Shape (n, outputs)."""
    weights: np.ndarray
    penalty: np.ndarray
    """Shape (p,), with the intercept's if there is one."""
    intercept: bool

    def objective(self, theta: Tensor, coordinates: Tensor, labels: Tensor) -> Tensor:
        features = coordinates @ torch.tensor(self.matrix).T + torch.tensor(self.offset)
        if self.intercept:
            features = torch.cat([features, torch.ones(len(features), 1, dtype=torch.float64)], 1)
        losses = self.loss(features @ theta, labels)
        penalty = (torch.tensor(self.penalty)[:, None] * theta**2).sum() / 2
        return (torch.tensor(self.weights) * losses).sum() + penalty

    def minimizer(self, start: np.ndarray) -> np.ndarray:
        theta = torch.tensor(start)
        x, y = torch.tensor(self.coordinates), torch.tensor(self.labels)
        for _ in range(100):
            gradient = torch.func.grad(self.objective)(theta, x, y)
            hessian = torch.func.hessian(self.objective)(theta, x, y).reshape(theta.numel(), theta.numel())
            step = torch.linalg.lstsq(hessian, gradient.reshape(-1, 1), driver="gelsd").solution
            theta = theta - step.reshape(theta.shape)
            if step.abs().max() < 1e-13 * (1 + theta.abs().max()):
                break
        return theta.numpy()

    def jacobians(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return d parameters / d coordinates and d parameters / d labels of each row, (n, parameters, values).

        Parameters are laid out output by output.
        """
        t = torch.tensor(theta)
        p, outputs = theta.shape
        x, y = torch.tensor(self.coordinates), torch.tensor(self.labels)
        hessian = torch.func.hessian(self.objective)(t, x, y).permute(1, 0, 3, 2).reshape(p * outputs, p * outputs)
        gradient = torch.func.grad(self.objective)
        inverse = torch.linalg.pinv(hessian, hermitian=True, rtol=1e-13)

        def moved(argument: int) -> np.ndarray:
            mixed = torch.func.jacrev(gradient, argnums=argument)(t, x, y)
            n, values = mixed.shape[2], mixed.shape[3]
            return (-inverse @ mixed.permute(2, 1, 0, 3).reshape(n, outputs * p, values)).numpy()

        return moved(1), moved(2)


def sum_zero(size: int) -> np.ndarray:
    """Return an orthonormal basis of the vectors that sum to zero."""
    return np.linalg.qr(np.eye(size) - 1 / size)[0][:, : size - 1]
