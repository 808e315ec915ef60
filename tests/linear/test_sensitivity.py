"""How far anybody's value moves a mean of logarithms of information: derivatives against refits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

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


def _ranges():
    """Return a scaler that learned from other rows."""
    return MinMaxScaler((2, 3)).fit(np.array([[-4.0, -3.0, -2.0], [4.0, 3.0, 5.0]]))


BEFORE = {
    "standardized": lambda: [StandardScaler()],
    "without means": lambda: [StandardScaler(with_mean=False)],
    "means alone": lambda: [StandardScaler(with_std=False)],
    "then by other ranges": lambda: [StandardScaler(), _ranges()],
    "without means, then by other ranges": lambda: [StandardScaler(with_mean=False), _ranges()],
    "some columns": lambda: [make_column_transformer((StandardScaler(), [0, 2]), remainder="passthrough")],
}
BEHIND = [(before, "ridge", True, 0.0) for before in BEFORE] + [
    *(("without means", "ridge", False, 0.0), ("then by other ranges", "logistic", True, 0.0)),
    *(("without means", "logistic", True, 60.0), ("some columns", "ridge", True, 60.0)),
    *(("standardized", name, True, 0.0) for name in ("two targets", "logistic", "three classes", "poisson", "gamma")),
]


def _behind(before, model, rows, labels, noise, weighted):
    steps, seen = BEFORE[before](), rows
    for step in steps:
        if not isinstance(step, MinMaxScaler):
            given = {"sample_weight": WEIGHTS} if weighted and isinstance(step, StandardScaler) else {}
            step.fit(seen, **given)
        seen = step.transform(seen)
    last = seepage.fit(clone(model), seen, labels, sample_weight=WEIGHTS)
    return seepage.measure(make_pipeline(*steps, last), rows, labels, noise_scale=noise, sample_weight=WEIGHTS)


@pytest.mark.parametrize("covariance", [False, True], ids=["white", "covariance"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(("before", "name", "intercept", "far"), BEHIND)
def test_derivatives_through_a_scaler_agree_with_the_whole_procedure(
    before, name, intercept, far, weighted, covariance
):
    """Scaler, fit, and what is measured: all of it anew, and the measurement itself says what the information is."""
    model, y = MODELS[name]
    model = clone(model).set_params(fit_intercept=intercept)
    size = (COLUMNS + intercept) * {"two targets": 2, "three classes": 3}.get(name, 1)
    mix = np.random.default_rng(4).normal(size=(size, size))
    noise = seepage.GaussianNoise(covariance=mix @ mix.T / size + 0.5 * np.eye(size)) if covariance else 0.5
    rows_at = X + np.array([0.0, far, 0.0])
    information = _behind(before, model, rows_at, y, noise, weighted).information
    assert information.geometry.scales is not None
    assert (information.geometry.frame.center is not None) == (far > 0 or "other ranges" in before)
    values = information.geometry.values
    statistic = LogInformation(information.geometry)
    coordinates = (0, 2) if y.ndim == 2 or name == "three classes" else (0, 2, COLUMNS)
    names = [information.attribute_names[i] for i in coordinates]
    weight = np.outer(SHARES, [1.0, 0.6, 0.3][: len(coordinates)])
    spans = slice(0, 11), slice(11, N)
    rows_seen = [statistic.seen(information.rows.read(span)) for span in spans]
    parts = [weight[span] for span in spans]
    through = statistic.through_fit(rows_seen, coordinates, parts)
    found = np.concatenate(
        [statistic.derivatives(seen, coordinates, part, through) for seen, part in zip(rows_seen, parts, strict=True)]
    )

    def anew(person, value, step):
        rows, labels = rows_at.copy(), y.copy()
        if value < COLUMNS:
            rows[person, value] += step
        elif y.ndim == 2:
            labels[person, value - COLUMNS] += step
        else:
            labels[person] += step
        known = _behind(before, model, rows, labels, noise, weighted).attributes
        return float((weight * 2 * np.log(known[names].to_numpy())).sum())

    for person in (2, 20):
        for value in range(COLUMNS if y.dtype.kind == "i" else values):
            expected = (anew(person, value, 1e-4) - anew(person, value, -1e-4)) / 2e-4
            assert found[person, value] == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(found[person]).max())


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
