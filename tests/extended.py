"""Information of linear models with more digits: 64 bits of mantissa instead of 53, or sixty decimal places.

Nothing is centered, scaled or factored cleverly here: the digits are what makes it an oracle.
"""

import mpmath
import numpy as np

Extended = np.longdouble


def solve(matrix, right):
    """Return the solution of a linear system by elimination with pivots."""
    a, b = np.array(matrix, Extended), np.array(right, Extended)
    unit = 1 / np.sqrt(np.abs(np.diag(a)))
    a, b = a * unit[:, None] * unit, b * unit[:, None]
    size = len(a)
    for k in range(size):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
        share = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= share[:, None] * a[k, k:]
        b[k + 1 :] -= share[:, None] * b[k]
    found = np.zeros_like(b)
    for k in range(size - 1, -1, -1):
        found[k] = (b[k] - a[k, k + 1 :] @ found[k + 1 :]) / a[k, k]
    return found * unit[:, None]


def jacobians(X, y, penalty, intercept, *, logistic=False, weights=None, steps=40):
    """Return how the minimizer moves with each row's columns and label: shape (n, parameters, columns + 1)."""
    n, k = X.shape
    features = np.column_stack([X, np.ones(n)]).astype(Extended) if intercept else np.asarray(X, Extended)
    labels = np.asarray(y, Extended)
    omega = np.ones(n, Extended) if weights is None else np.asarray(weights, Extended)
    pull = np.append(np.full(k, penalty), np.zeros(int(intercept))).astype(Extended)
    theta = np.zeros(features.shape[1], Extended)
    # The last pass takes no step: it is at the minimizer.
    for left in range(steps if logistic else 3, -1, -1):
        margin = features @ theta
        share = 1 / (1 + np.exp(-margin)) if logistic else margin
        slope, curvature = omega * (share - labels), omega * share * (1 - share) if logistic else omega
        hessian = features.T @ (features * curvature[:, None]) + np.diag(pull)
        if left:
            theta = theta - solve(hessian, (features.T @ slope + pull * theta)[:, None])[:, 0]
    found = []
    for i in range(n):
        moves = np.outer(features[i], np.append(theta[:k] * curvature[i], -omega[i]))
        moves[np.arange(k), np.arange(k)] += slope[i]
        found.append(np.asarray(-solve(hessian, moves), dtype=np.float64))
    return np.array(found)


def ridge_jacobians(X, y, penalty, intercept):
    """Return the same for squared loss in sixty decimal places, however ill conditioned the columns are."""
    n, k = X.shape
    features = np.column_stack([X, np.ones(n)]) if intercept else X
    with mpmath.workdps(60):
        rows, labels = mpmath.matrix(features.tolist()), mpmath.matrix(np.asarray(y).tolist())
        pull = mpmath.diag([mpmath.mpf(penalty)] * k + [mpmath.mpf(0)] * int(intercept))
        inverse = (rows.T * rows + pull) ** -1
        theta = inverse * (rows.T * labels)
        slope = rows * theta - labels
        found = []
        for i in range(n):
            moves = mpmath.matrix(features.shape[1], k + 1)
            for a in range(features.shape[1]):
                for j in range(k):
                    moves[a, j] = rows[i, a] * theta[j] + (slope[i] if a == j else 0)
                moves[a, k] = -rows[i, a]
            found.append([[float(value) for value in line] for line in (inverse * moves).tolist()])
    return -np.array(found)
