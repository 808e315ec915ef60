"""The smallest noise that meets every target."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage._amounts import on_grid

random = np.random.default_rng(4)
TABLE = pd.DataFrame(
    {"age": random.normal(50, 12, 80), "bmi": random.normal(25, 4, 80), "diagnosis": random.choice(["a", "b", "c"], 80)}
)
Y = 0.1 * TABLE["age"] - 0.2 * TABLE["bmi"] + (TABLE["diagnosis"] == "b") + random.normal(size=80)
MODEL = make_pipeline(
    make_column_transformer((OneHotEncoder(drop="first"), ["diagnosis"]), remainder="passthrough"), Ridge(alpha=1.0)
).fit(TABLE, Y)


def _leak(noise_scale):
    return seepage.measure(MODEL, TABLE, Y, noise_scale=noise_scale)


LEAK = _leak(0.3)
FLOORS = LEAK.error_floor()["age"].to_numpy()
ETAS = LEAK.examples["eta"].to_numpy()
DISTANCES = LEAK.success_rate("diagnosis")["distance"].groupby(level=0).max().to_numpy()


@settings(max_examples=1000, deadline=None)
@given(
    age=st.none() | st.floats(0.01, 1000),
    rate=st.none() | st.floats(0.501, 0.999),
    eta=st.none() | st.floats(1e-4, 1e4),
    quantile=st.floats(0.01, 1.0),
)
def test_the_targets_are_met_exactly_and_by_no_smaller_noise(age, rate, eta, quantile):
    floors = {} if age is None else {"age": age}
    rates = {} if rate is None else {"diagnosis": rate}
    if not floors and not rates and eta is None:
        with pytest.raises(seepage.errors.InputError, match="needs a target"):
            seepage.calibrate(LEAK, shape="isotropic")
        return
    scale = seepage.calibrate(
        LEAK, error_floor=floors, success_rate=rates, eta=eta, quantile=quantile, exact=True, shape="isotropic"
    ).scale

    def shares(at: float) -> list[float]:
        met = []
        if floors:
            met.append(np.mean(FLOORS * (at / 0.3) >= age * (1 - 1e-9)))
        if rates:
            met.append(np.mean(seepage.meaning.success_rate(DISTANCES * 0.3 / at) <= rate + 1e-9))
        if eta is not None:
            met.append(np.mean(ETAS * 0.3 / at <= eta * (1 + 1e-9)))
        return met

    assert min(shares(scale)) >= quantile - 1e-9
    assert min(shares(scale * (1 - 1e-4))) < quantile


def test_a_measurement_at_the_calibrated_scale_meets_the_policy():
    targets = {"error_floor": {"age": 5.0, "bmi": 1.0}, "success_rate": {"diagnosis": 0.6}}
    safe = _leak(seepage.calibrate(LEAK, **targets, shape="isotropic").scale)
    assert seepage.Policy(**targets).violations(safe) == {}
    missed = seepage.Policy(**targets).violations(_leak(1e-3))
    assert {target.sentence().split(":")[0] for target in missed} == {
        "Everyone's age",
        "Everyone's bmi",
        "Everyone's diagnosis",
    }
    assert all(factor > 1 for factor in missed.values())


def test_a_covariance_is_scaled_as_a_whole():
    shape = np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
    leak = _leak(seepage.release.GaussianNoise(covariance=shape))
    noise = seepage.calibrate(leak, eta=0.5, exact=True)
    assert isinstance(noise, seepage.release.GaussianNoise)
    assert _leak(noise).examples["eta"].max() == pytest.approx(0.5)
    rounded = seepage.calibrate(leak, eta=0.5)
    assert on_grid(np.sqrt(np.asarray(rounded.covariance)[0, 0]))
    assert 0.2 <= _leak(rounded).examples["eta"].max() <= 0.5


@given(eta=st.floats(1e-3, 1e3), age=st.floats(0.01, 100))
@settings(max_examples=200, deadline=None)
def test_a_scale_that_may_leave_is_on_the_grid_and_never_too_small(eta, age):
    # Of one noise for all, eta falls and floors rise in proportion.
    exact = 0.3 * max(ETAS.max() / eta, age / FLOORS.min())
    found = seepage.calibrate(LEAK, eta=eta, error_floor={"age": age}, shape="isotropic").scale
    assert on_grid(found)
    assert exact * (1 - 1e-9) <= found <= 2.5 * exact * (1 + 1e-9)


RANDOM = np.random.default_rng(5)
NUMBERS = RANDOM.normal(size=(40, 3)) * [1.0, 5.0, 0.2]
CLASSES = (NUMBERS[:, 0] + RANDOM.normal(size=40) > 0).astype(int)


def _behind_a_scaler(noise_scale):
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.3, tol=1e-10)).fit(NUMBERS, CLASSES)
    return seepage.measure(model, NUMBERS, CLASSES, noise_scale=noise_scale)


@pytest.mark.parametrize("quantile", [1.0, 0.8])
@pytest.mark.parametrize(
    "targets",
    [{"eta": 3.0}, {"error_floor": {"x1": 8.0}}, {"error_floor": {"x0": 0.05}}, {"success_rate": {"label": 0.7}}],
    ids=str,
)
def test_noise_behind_a_scaler_meets_a_target_exactly_when_it_is_measured_again(targets, quantile):
    leak = _behind_a_scaler(0.3)
    scale = seepage.calibrate(leak, **targets, quantile=quantile, exact=True, shape="isotropic").scale
    policy = seepage.Policy(**targets, quantile=quantile)
    assert policy.violations(_behind_a_scaler(scale)) == {}
    assert policy.violations(_behind_a_scaler(scale * (1 - 1e-6))) != {}
    # From wherever one starts: nothing is merely scaled.
    other = seepage.calibrate(_behind_a_scaler(3.0), **targets, quantile=quantile, exact=True, shape="isotropic").scale
    assert other == pytest.approx(scale, rel=1e-8)


def test_what_a_scaler_tells_shrinks_with_no_noise_and_a_target_below_it_is_refused():
    leak = _behind_a_scaler(1e9)
    stays = leak.attributes["x1"].max()
    assert stays == pytest.approx(_behind_a_scaler(1e12).attributes["x1"].max(), rel=1e-6)
    enough = seepage.calibrate(leak, error_floor={"x1": 0.99 / stays}, shape="isotropic").scale
    assert _behind_a_scaler(enough).attributes["x1"].max() <= stays / 0.99
    for target in ({"error_floor": {"x1": 1.01 / stays}}, {"eta": stays / 2}):
        with pytest.raises(seepage.errors.PolicyError, match=r"(?s)No noise is enough: .*shape of the noise") as caught:
            seepage.calibrate(leak, **target, shape="isotropic")
        assert caught.value.factor == np.inf
        (factor,) = seepage.Policy(**target).violations(leak).values()
        assert factor == np.inf


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"error_floor": {"height": 1.0}}, "no private attribute 'height'"),
        ({"error_floor": {"diagnosis": 1.0}}, "success_rate for it instead"),
        ({"success_rate": {"age": 0.6}}, "is a number"),
        ({"success_rate": {"diagnosis": 0.5}}, "between 0.5"),
        ({"error_floor": {"age": -1}}, "must be positive"),
        ({"eta": 0}, "eta must be positive"),
        ({"eta": 1, "quantile": 0}, "share of people"),
    ],
)
def test_an_impossible_target_is_refused(targets, message):
    with pytest.raises(seepage.errors.InputError, match=message):
        seepage.calibrate(LEAK, **targets, shape="isotropic")


@pytest.mark.parametrize("shape", ["isotropic", "best"])
def test_where_a_loss_bends_down_there_is_noise_but_no_cheapest_shape(shape):
    """Squared errors of a logarithm are not convex: only with its penalty is the fit at a minimum."""
    random = np.random.default_rng(1983859311)
    X = random.normal(size=(15, 4))[random.integers(15, size=29)]
    y = 3.0 * np.exp(0.7 * X @ random.normal(size=4) / 2) * random.gamma(3, size=29) / 3
    model = TweedieRegressor(power=0, link="log", alpha=9.0, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    bare = np.linalg.inv(leak.information.geometry.minimizer.hessian_inverse) - 29 * 9.0 * np.eye(4)
    assert np.linalg.eigvalsh(bare)[0] < 0
    noise = seepage.calibrate(leak, eta=0.7, shape=shape)
    assert noise.gap is None
    assert seepage.measure(model, X, y, noise_scale=noise).examples["eta"].max() <= 0.7 * (1 + 1e-9)
