"""The Jacobian against fitting again with one value moved: what a stranger would do to check us."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge

import seepage

ROWS = 30
STEP = 1e-3
TIGHT = {"tol": 1e-12, "max_iter": 10_000, "solver": "newton-cholesky"}


def _parameters(model: Any) -> np.ndarray:
    return np.concatenate([np.atleast_2d(model.coef_), np.reshape(model.intercept_, (-1, 1))], axis=1).ravel()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("make", "labels"),
    [
        (lambda: Ridge(alpha=2.0), "real"),
        (lambda: LogisticRegression(C=0.7, **TIGHT), "binary"),
        (lambda: LogisticRegression(C=0.7, **TIGHT), "three"),
        (lambda: PoissonRegressor(alpha=0.1, **TIGHT), "count"),
        (lambda: GammaRegressor(alpha=0.1, **TIGHT), "positive"),
    ],
    ids=["ridge", "logistic", "softmax", "poisson", "gamma"],
)
def test_eta_of_an_attribute_is_how_far_a_refit_moves(make: Any, labels: str, weighted: bool) -> None:
    random = np.random.default_rng(11)
    X = random.normal(size=(ROWS, 3)) * [1.0, 5.0, 0.2] + [0.0, 3.0, 1.0]
    signal = X @ [0.5, 0.1, -1.0] + random.normal(size=ROWS)
    y = {
        "real": signal,
        "binary": (signal > 0).astype(int),
        "three": np.digitize(signal, [-0.8, 0.5]),
        "count": 1.0 + random.poisson(np.exp(0.3 * signal)),
        "positive": np.exp(0.3 * signal),
    }[labels]
    weights = random.uniform(0.5, 2.0, ROWS) if weighted else None
    leak = seepage.measure(make().fit(X, y, weights), X, y, noise_scale=0.1, sample_weight=weights)
    eta = leak.information.attributes()

    def slope(row: int, column: int | None, step: float) -> np.ndarray:
        moved = []
        # The five-point stencil leaves an error of the fourth power of the step.
        for steps in (-2, -1, 1, 2):
            features, target = X.copy(), y.copy()
            if column is None:
                target[row] += steps * step
            else:
                features[row, column] += steps * step
            moved.append(_parameters(make().fit(features, target, weights)))
        return (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * step)

    for row in (0, 17):
        for column in range(3):
            distance = np.linalg.norm(slope(row, column, STEP * X[:, column].std()))
            np.testing.assert_allclose(eta[f"x{column}"][row], distance / 0.1, rtol=1e-6)
        if labels in ("real", "count", "positive"):
            np.testing.assert_allclose(eta["label"][row], np.linalg.norm(slope(row, None, STEP)) / 0.1, rtol=1e-6)
