"""The whole procedure as one analytic function of the rows, and its information by the complex step.

Impute with means, standardize, fit, fold everything into raw units, and the noise with it: written once more, without
any of the library's formulas. Every operation is analytic in the values of the rows, so adding an imaginary step of
1e-30 to one of them gives its derivative to the last bit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

STEP = 1e-30

Slope = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _sigmoid(m: np.ndarray) -> np.ndarray:
    positive = m.real >= 0
    small = np.exp(np.where(positive, -m, m))
    return np.where(positive, 1 / (1 + small), small / (1 + small))


def _outputs(values: np.ndarray) -> np.ndarray:
    return values[:, :, None] * np.eye(values.shape[1])


def _softmax(m: np.ndarray) -> np.ndarray:
    rises = np.exp(m - m.real.max(axis=1, keepdims=True))
    return rises / rises.sum(axis=1, keepdims=True)


LOSSES: dict[str, tuple[Slope, Slope]] = {
    "squared": (lambda m, y: m - y, lambda m, y: _outputs(np.ones_like(m))),
    "logistic": (lambda m, y: _sigmoid(m) - y, lambda m, y: _outputs(_sigmoid(m) * _sigmoid(-m))),
    "poisson": (lambda m, y: np.exp(m) - y, lambda m, y: _outputs(np.exp(m))),
    "gamma": (lambda m, y: 1 - y * np.exp(-m), lambda m, y: _outputs(y * np.exp(-m))),
    "softmax": (
        lambda m, y: _softmax(m) - y,
        lambda m, y: _outputs(_softmax(m)) - _softmax(m)[:, :, None] * _softmax(m)[:, None, :],
    ),
}


@dataclass
class Procedure:
    """Raw rows in, published parameters and the covariance of their noise out.

    Attributes
    ----------
    rows : ndarray of shape (n, columns)
        NaN where a value is missing: filled with the mean of the column.
    labels : ndarray of shape (n, outputs)
    loss : str
    penalty : float
        On the coefficients of standardized columns, summed over rows as `sum loss + penalty / 2 |coef|^2`.
    scaled : sequence of int
        The columns that are standardized by their own mean and standard deviation.
    weights, scaler_weights : ndarray of shape (n,), optional
        Of the fit, and of the scaler.
    """

    rows: np.ndarray
    labels: np.ndarray
    loss: str
    penalty: float
    scaled: tuple[int, ...]
    intercept: bool = True
    weights: np.ndarray | None = None
    scaler_weights: np.ndarray | None = None
    with_mean: bool = True
    with_std: bool = True
    intercept_penalty: float = 0.0
    penalties: np.ndarray | None = None
    """One for each coefficient, in place of `penalty`."""
    bend: Callable[[np.ndarray], np.ndarray] = field(default=lambda rows: rows)
    """An analytic function of each row, before anything else: `scaled` are then columns of what it makes."""
    noise: np.ndarray = field(default_factory=lambda: np.eye(1))
    """Covariance in the pipeline's units, over coefficients then intercept, output by output; or 1 x 1 for all."""

    def release(self, rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters in raw units, output by output, and the covariance of their noise."""
        rows = self.bend(rows)
        filled = rows.copy()
        for column in range(rows.shape[1]):
            missing = np.isnan(rows[:, column].real)
            filled[missing, column] = rows[~missing, column].mean()
        mean, scale = np.zeros(rows.shape[1], rows.dtype), np.ones(rows.shape[1], rows.dtype)
        weight = np.ones(len(rows)) if self.scaler_weights is None else self.scaler_weights
        for column in self.scaled:
            middle = (weight * filled[:, column]).sum() / weight.sum()
            spread = np.sqrt((weight * (filled[:, column] - middle) ** 2).sum() / weight.sum())
            mean[column] = middle if self.with_mean else 0.0
            scale[column] = spread if self.with_std else 1.0
        features = (filled - mean) / scale
        if self.intercept:
            features = np.hstack([features, np.ones((len(rows), 1))])
        theta = self._minimizer(features, labels)
        fold = np.diag(1 / scale)
        if self.intercept:
            fold = np.block([[fold, np.zeros((len(scale), 1))], [-(mean / scale)[None], np.ones((1, 1))]])
        whole = np.kron(np.eye(theta.shape[1]), fold)
        noise = self.noise * np.eye(len(whole)) if self.noise.shape == (1, 1) else self.noise
        return whole @ theta.T.ravel(), whole @ noise @ whole.T

    def _minimizer(self, features: np.ndarray, labels: np.ndarray) -> np.ndarray:
        slope, curvature = LOSSES[self.loss]
        weight = np.ones(len(features)) if self.weights is None else self.weights
        p, outputs = features.shape[1], labels.shape[1]
        penalty = np.full(p, self.penalty)
        if self.penalties is not None:
            penalty[: len(self.penalties)] = self.penalties
        if self.intercept:
            penalty[-1] = self.intercept_penalty
        theta = np.zeros((p, outputs), features.dtype)
        if self.loss in ("poisson", "gamma"):
            theta[-1] = np.log(labels.mean())
        for _ in range(60):
            margins = features @ theta
            gradient = features.T @ (weight[:, None] * slope(margins, labels)) + penalty[:, None] * theta
            bent = weight[:, None, None] * curvature(margins, labels)
            hessian = np.einsum("ncd,na,nb->cadb", bent, features, features).reshape(outputs * p, outputs * p)
            hessian = hessian + np.diag(np.tile(penalty, outputs))
            if self.loss == "softmax":
                # All classes may share anything in the intercept: keep what is orthogonal to it.
                shared = np.kron(np.ones(outputs), np.eye(p)[-1] if self.intercept else np.zeros(p))
                hessian = hessian + np.outer(shared, shared)
            step = np.linalg.solve(hessian, gradient.T.ravel()).reshape(outputs, p).T
            theta = theta - step
            # The imaginary part settles after the real one; both must.
            if np.abs(step.real).max() < 1e-14 * (1 + np.abs(theta.real).max()) and _settled(step, theta):
                break
        return theta

    def information(self, person: int, *, label: bool = False) -> np.ndarray:
        """Return the information about a person's observed values, then the label's: I = J' S^-1 J + own term of S."""
        return self.joint_information([person], label=label)

    def joint_information(self, people: list[int], *, label: bool = False) -> np.ndarray:
        """Return the information about several people's values together, one person's after the other's."""
        moves, shapes = [], []

        def note(rows: np.ndarray, labels: np.ndarray) -> None:
            published, covariance = self.release(rows, labels)
            moves.append(published.imag / STEP)
            shapes.append(covariance.imag / STEP)

        for person in people:
            for column in range(self.rows.shape[1]):
                if not np.isnan(self.rows[person, column]):
                    rows = self.rows.astype(np.complex128)
                    rows[person, column] += 1j * STEP
                    note(rows, self.labels.astype(np.complex128))
            for output in range(self.labels.shape[1] if label else 0):
                labels = self.labels.astype(np.complex128)
                labels[person, output] += 1j * STEP
                note(self.rows.astype(np.complex128), labels)
        _, covariance = self.release(self.rows.astype(np.complex128), self.labels.astype(np.complex128))
        inverse = np.linalg.pinv(covariance.real, rcond=1e-14, hermitian=True)
        first = np.array(moves) @ inverse @ np.array(moves).T
        turned = [inverse @ shape for shape in shapes]
        own = np.array([[0.5 * np.trace(one @ other) for other in turned] for one in turned])
        return first + own


def _settled(step: np.ndarray, theta: np.ndarray) -> bool:
    return bool(np.abs(step.imag).max() <= 1e-13 * np.abs(theta.imag).max() + 1e-300)
