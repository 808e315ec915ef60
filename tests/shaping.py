"""A release whose noise takes its shape from the rows, written down from its definition: fit, Hessian, covariance.

It shares nothing with the library: Newton's method with dense matrices, matrix roots by SciPy, and differences of the
whole procedure.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import sqrtm
from scipy.special import expit


@dataclass
class Procedure:
    """Everything from rows to the mean and the covariance of a release."""

    loss: str
    penalty: float
    weights: np.ndarray | None = None
    intercept: bool = True
    shape: dict = field(default_factory=dict)
    """Nothing for the inverse Hessian; else floors (by column), share and balance."""

    def fitted(self, X, y):
        """Return the minimizer and the Hessian there."""
        X = np.column_stack([X, np.ones(len(X))]) if self.intercept else X
        p = X.shape[1]
        P = np.diag([self.penalty] * (p - self.intercept) + [0.0] * self.intercept)
        w = np.ones(len(X)) if self.weights is None else self.weights
        theta = np.zeros(p)
        for _ in range(100):
            m = X @ theta
            if self.loss == "squared":
                slope, curvature = m - y, np.ones_like(m)
            elif self.loss == "logistic":
                slope, curvature = expit(m) - y, expit(m) * expit(-m)
            else:
                slope, curvature = np.exp(m) - y, np.exp(m)
            hessian = (X.T * (w * curvature)) @ X + P
            step = np.linalg.solve(hessian, X.T @ (w * slope) + P @ theta)
            theta = theta - step
            if np.abs(step).max() < 1e-15 * max(np.abs(theta).max(), 1):
                break
        return theta, hessian

    def covariance(self, hessian):
        """Return what the rule makes of a Hessian."""
        inverse = np.linalg.inv(hessian)
        if not self.shape:
            return inverse
        p, share, balance = len(hessian), self.shape["share"], self.shape["balance"]
        C = np.zeros((p, p))
        for column, floor in self.shape["floors"].items():
            C[column, column] = (inverse[column, column] * floor**2) ** balance * floor**2
        B = C + share * np.trace(inverse @ C) / p * hessian
        root = np.real(sqrtm(hessian))
        back = np.linalg.inv(root)
        mean = root @ np.real(sqrtm(back @ B @ back)) @ root
        return inverse @ mean @ inverse

    def release(self, X, y):
        theta, hessian = self.fitted(X, y)
        return theta, self.covariance(hessian)

    def information(self, X, y, row, scale, step=1e-4):
        """Return the information about all columns of a row and its label, by differences of the whole procedure."""
        _, sigma = self.release(X, y)
        sigma = sigma * scale**2
        inverse = np.linalg.inv(sigma)
        moves = []
        for column in range(X.shape[1] + 1):

            def at(h, column=column):
                X2, y2 = X.copy(), y.astype(float).copy()
                if column < X.shape[1]:
                    X2[row, column] += h
                else:
                    y2[row] += h
                theta, shape = self.release(X2, y2)
                return theta, shape * scale**2

            near = [at(h) for h in (step, -step, 2 * step, -2 * step)]
            # Of fourth order.
            moves.append([(8 * (near[0][i] - near[1][i]) - (near[2][i] - near[3][i])) / (12 * step) for i in range(2)])
        size = len(moves)
        found = np.zeros((size, size))
        for j in range(size):
            for k in range(size):
                found[j, k] = moves[j][0] @ inverse @ moves[k][0]
                found[j, k] += 0.5 * np.trace(inverse @ moves[j][1] @ inverse @ moves[k][1])
        return found
