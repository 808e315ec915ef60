"""What some noises give and cost, held against measurements at each of them."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.release import GaussianNoise, RobustCovariance, suggest

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "sex", "bmi"]]


def test_what_a_noise_gives_is_what_is_measured_at_it():
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e6, tol=1e-10)).fit(X, Y > 140)
    found = suggest(seepage.measure(model, X, Y > 140, noise_scale=3.0), standard_errors=[0.3, 2.0])
    assert set(found.floors) == {"age", "bmi"}
    for i, times in enumerate(found.standard_errors):
        again = seepage.measure(model, X, Y > 140, noise_scale=GaussianNoise(standard_errors=times))
        for name in found.floors:
            assert found.floors[name][i] == pytest.approx(again.error_floor()[name].min(), rel=1e-9)
        assert found.wider[i] == pytest.approx(np.sqrt(1 + times**2) - 1)


def test_the_frame_and_the_text_have_the_same_numbers():
    model = LinearRegression().fit(X, Y)
    found = suggest(seepage.measure(model, X, Y, noise_scale=1.0))
    frame = found.frame
    assert len(frame) == len(found.floors) * 4
    age = frame[frame["attribute"] == "age"]
    assert age["error_floor"].tolist() == list(found.floors["age"])
    assert age["baseline_guess"].tolist() == [pytest.approx(X["age"].std(ddof=0))] * 4
    lines = repr(found).splitlines()
    assert lines[0].split()[-4:] == ["0.1", "0.2", "0.5", "1"]
    assert lines[1].split()[-4:] == ["0.5%", "2%", "12%", "41%"]
    assert lines[2].split()[-4:] == [f"±{each:.3g}" for each in found.floors["age"]]


def test_the_noise_on_variances_is_that_of_the_measurement():
    model = LinearRegression().fit(X, Y)
    for variances in (0.1, 0.5):
        noise, both = RobustCovariance(scale=0.5, variances=variances), ["coefficients", "standard errors"]
        leak = seepage.measure(model, X, Y, noise_scale=GaussianNoise(shape=noise), published=both)
        floor = leak.error_floor()["age"].min()
        assert suggest(leak, standard_errors=[0.5]).floors["age"][0] == pytest.approx(floor, rel=1e-9)
        least = seepage.calibrate(leak, error_floor={"age": floor}, shape="standard errors", exact=True)
        assert (least.shape.variances, least.shape.scale) == (variances, pytest.approx(0.5, rel=1e-6))


def test_what_cannot_be_suggested_is_said():
    leak = seepage.measure(LinearRegression().fit(X, Y), X, Y, noise_scale=1.0)
    for wrong in ([], [0.0], [-1.0], [np.inf]):
        with pytest.raises(seepage.errors.InputError, match="standard_errors lists positive numbers"):
            suggest(leak, standard_errors=wrong)
    with pytest.raises(seepage.errors.UnansweredError, match="frontier"):
        suggest(seepage.measure(Lasso().fit(X, Y), X, Y, noise_scale=1.0))
    flowers, kinds = load_iris(return_X_y=True)
    three = LogisticRegression(max_iter=1000, tol=1e-8).fit(flowers, kinds)
    with pytest.raises(seepage.errors.UnsupportedError, match="one output"):
        suggest(seepage.measure(three, flowers, kinds, noise_scale=1.0))
