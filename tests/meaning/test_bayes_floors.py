"""Floors with the data as prior are never above what the exact mean of the posterior errs by, for six spreads.

The error is found in a way of its own: what is seen runs over Gauss-Legendre panels that are a third of a noise wide,
and at each point the posterior is enumerated over all values, in logarithms.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.linear_model import Ridge

import seepage
from seepage.meaning import EmpiricalPrior

N = 400
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
# From noise that hides nearly everything to noise that hides next to nothing.
TIMES = np.geomspace(0.02, 300.0, 10)


def _values(spread: str, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return {
        "zero-inflated": lambda: np.where(random.random(N) < 0.8, 0.0, random.lognormal(3.0, 1.0, N)),
        "two humps": lambda: np.where(random.random(N) < 0.4, -20.0, 20.0) + random.normal(0.0, 1.0, N),
        "counts": lambda: random.poisson(3.0, N).astype(np.float64),
        "uniform": lambda: random.uniform(18.0, 90.0, N),
        "heavy-tailed": lambda: random.standard_t(1.5, N),
        "Gaussian": lambda: random.normal(1e4, 3.0, N),
    }[spread]()


def _exact(values: np.ndarray, eta: float) -> float:
    """Return the root mean square error of the posterior mean of  v + z / eta."""
    each, counts = np.unique((values - np.median(values)) * eta, return_counts=True)
    share = counts / counts.sum()
    # Only where something can be seen: within nine noises of some value.
    cells = np.unique(np.round(3 * (each[:, None] + np.arange(-27, 28) / 3)).astype(np.int64))
    total = 0.0
    for part in np.array_split(cells, max(len(cells) // 400, 1)):
        seen = ((part[:, None] + NODES / 2) / 3).ravel()
        log = np.log(share) - 0.5 * (seen[:, None] - each) ** 2
        density = logsumexp(log, axis=1)
        posterior = np.exp(log - density[:, None])
        mean = posterior @ each
        variance = (posterior * (each - mean[:, None]) ** 2).sum(axis=1)
        weights = np.tile(WEIGHTS / 6, len(part))
        total += weights @ (np.exp(density) / np.sqrt(2 * np.pi) * variance)
    return float(np.sqrt(total) / eta)


@pytest.mark.parametrize("spread", ["zero-inflated", "two humps", "counts", "uniform", "heavy-tailed", "Gaussian"])
@pytest.mark.parametrize("seed", [0, 1])
def test_over_five_orders_of_noise(spread: str, seed: int) -> None:
    values = _values(spread, seed)
    etas = TIMES / values.std()
    prior = EmpiricalPrior.of(values)
    alone = prior.floor(etas)
    # Of many it makes a table.
    among_many = prior.floor(np.concatenate([etas, np.geomspace(etas[0], etas[-1], 60)]))[: len(etas)]
    for eta, floors in zip(etas, zip(alone, among_many, strict=True), strict=True):
        exact = _exact(values, eta)
        for floor in floors:
            # Below a thousandth of the deviation errors are told as none.
            assert floor <= exact * (1 + 1e-6) + 1e-9 * values.std()
            assert floor >= 0.999 * exact - 1.1e-3 * values.std()


@pytest.mark.parametrize("spread", ["zero-inflated", "two humps", "counts", "uniform", "heavy-tailed", "Gaussian"])
def test_of_a_release(spread: str) -> None:
    """The label of least squares moves the release along a line: the channel is the release."""
    random, y = np.random.default_rng(7), _values(spread, 2)
    X = pd.DataFrame(random.normal(size=(N, 3)), columns=list("abc"))
    model = Ridge(alpha=1.0).fit(X, y)
    for scale in np.geomspace(1e-3, 1.0, 4) * y.std():
        leak = seepage.measure(model, X, y, noise_scale=float(scale))
        eta = leak.attributes["label"].to_numpy()
        floors = leak.error_floor(prior="data")["label"].to_numpy()
        for person in np.argsort(eta)[[0, N // 2, -1]]:
            assert floors[person] <= 1.01 * _exact(y, eta[person]) + 1e-9 * y.std()


def test_the_exact_error_of_what_is_known_in_closed_form() -> None:
    # Of two values, with t = eta times half their distance: t / eta times the root of 1 - E tanh(t^2 + t z).
    noise = np.linspace(-12, 12, 20_001)
    weights = np.exp(-0.5 * noise**2) / np.exp(-0.5 * noise**2).sum()
    for t in (0.1, 0.7, 2.0):
        left = np.sqrt(1 - weights @ np.tanh(t**2 + t * noise))
        assert _exact(np.array([-1.0, 1.0]), t) == pytest.approx(left, rel=1e-9)
