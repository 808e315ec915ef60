"""How far anybody's value moves a mean of logarithms of information: derivatives against refits."""

import numpy as np
import pytest
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)

import seepage
from seepage.linear.information._sensitivity import LogInformation
from seepage.linear.objective._losses import Logistic, Separate, Softmax, Squared, Tweedie, TweedieIdentity

RANDOM = np.random.default_rng(1)
N, COLUMNS = 30, 3
X = RANDOM.normal(size=(N, COLUMNS)) * [1.0, 2.0, 0.5] + [0.0, 1.0, 0.0]
SIGNAL = X @ [1.0, 0.5, 2.0] + RANDOM.normal(size=N)
WEIGHTS = RANDOM.uniform(0.5, 2.0, N)
SHARES = np.where(np.arange(N) < 7, RANDOM.uniform(0.1, 1.0, N), 0.0)
MODELS = {
    "ridge": (Ridge(alpha=2.0), SIGNAL),
    "two targets": (Ridge(alpha=2.0), np.column_stack([SIGNAL, SIGNAL**2])),
    "logistic": (LogisticRegression(C=0.5), (SIGNAL > 0).astype(int)),
    "three classes": (LogisticRegression(C=0.5), RANDOM.integers(0, 3, N)),
    "poisson": (PoissonRegressor(alpha=0.1), RANDOM.poisson(3, N).astype(float)),
    "gamma": (GammaRegressor(alpha=0.1), RANDOM.gamma(2.0, size=N) + 0.1),
    "tweedie": (TweedieRegressor(power=1.5, alpha=0.1), RANDOM.gamma(2.0, size=N) + 0.1),
    "identity link": (TweedieRegressor(power=2, link="identity", alpha=0.1), RANDOM.gamma(9.0, size=N) + 1.0),
}

# An exponential or an identity far from where it was fitted has no minimizer at all.
FRAGILE = ("poisson", "gamma", "tweedie", "identity link")


def _measured(model, rows, labels):
    fitted = seepage.fit(model, rows, labels, sample_weight=WEIGHTS)
    return seepage.measure(fitted, rows, labels, noise_scale=0.5, sample_weight=WEIGHTS).information


def _statistic(information, coordinates):
    found = LogInformation(information.geometry)
    seen = found.seen(information.rows.read(slice(0, N)))
    return float(SHARES @ np.log(found.information(seen, coordinates)).sum(axis=1))


@pytest.mark.parametrize("which", ["one attribute", "all values", "the label"])
@pytest.mark.parametrize(
    ("name", "far"), [*((name, 0.0) for name in MODELS), *((name, 60.0) for name in MODELS if name not in FRAGILE)]
)
def test_derivatives_agree_with_refits(name, which, far):
    """Columns far from zero are seen from a frame of their own."""
    model, y = MODELS[name]
    rows_at = X + np.array([0.0, far, 0.0])
    information = _measured(model, rows_at, y)
    assert (information.geometry.frame.center is not None) == (far > 0)
    values = information.geometry.values
    coordinates = {"one attribute": (1,), "all values": tuple(range(values)), "the label": (values - 1,)}[which]
    statistic = LogInformation(information.geometry)
    weight = np.repeat(SHARES[:, None], len(coordinates), axis=1)
    # Two batches add up to what one gives.
    rows_seen = [statistic.seen(information.rows.read(span)) for span in (slice(0, 11), slice(11, N))]
    parts = [weight[:11], weight[11:]]
    through = statistic.through_fit(rows_seen, coordinates, parts)
    found = np.concatenate(
        [statistic.derivatives(seen, coordinates, part, through) for seen, part in zip(rows_seen, parts, strict=True)]
    )
    assert found.shape == (N, values)

    def refitted(person, value, step):
        rows, labels = rows_at.copy(), y.copy()
        if value < COLUMNS:
            rows[person, value] += step
        elif y.ndim == 2:
            labels[person, value - COLUMNS] += step
        else:
            labels[person] += step
        return _statistic(_measured(model, rows, labels), coordinates)

    for person in (2, 20):
        for value in range(COLUMNS if y.dtype.kind == "i" else values):
            expected = (refitted(person, value, 1e-5) - refitted(person, value, -1e-5)) / 2e-5
            assert found[person, value] == pytest.approx(expected, rel=1e-6, abs=1e-7 * np.abs(found[person]).max())


@pytest.mark.parametrize(
    "loss",
    [
        Squared(),
        Logistic(),
        Tweedie(1.0),
        Tweedie(1.5),
        Tweedie(2.0),
        TweedieIdentity(2.0),
        Softmax(4),
        Separate(Logistic(), 2),
    ],
    ids=repr,
)
def test_third_derivatives_agree_with_differences_of_the_second(loss):
    margins = RANDOM.uniform(0.5, 2.0, (6, loss.outputs))
    labels = RANDOM.uniform(0.2, 0.8, (6, loss.outputs))
    direction = RANDOM.normal(size=loss.outputs)
    step = 1e-6 * direction
    above, below = loss.derivatives(margins + step, labels), loss.derivatives(margins - step, labels)
    np.testing.assert_allclose(
        loss.bend(margins, labels, direction), (above.curvature - below.curvature) / 2e-6, rtol=1e-7, atol=1e-8
    )
    slopes = np.einsum("ncc,c->nc", (above.label_slope - below.label_slope) / 2e-6, 1 / direction)
    np.testing.assert_allclose(loss.label_bend(margins, labels), slopes, rtol=1e-7, atol=1e-8)
