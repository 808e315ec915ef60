"""Survival models from a measurement to what leaves the house."""

import numpy as np
import pytest
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sksurv.linear_model import CoxPHSurvivalAnalysis
from statsmodels.duration.hazard_regression import PHReg

import seepage


@pytest.fixture(scope="module")
def frame():
    return load_rossi()


@pytest.fixture(scope="module")
def fitted(frame):
    return CoxPHFitter(penalizer=0.01).fit(frame, "week", "arrest")


@pytest.fixture(scope="module")
def leak(fitted, frame):
    return seepage.measure(fitted, frame, noise_scale=0.05)


def test_calibrated_noise_meets_its_targets_and_no_less_does(fitted, frame, leak):
    for target in ({"error_floor": {"age": 30.0, "prio": 20.0}}, {"success_rate": {"arrest": 0.6}}, {"eta": 0.5}):
        scale = seepage.calibrate(leak, **target, exact=True, shape="isotropic").scale
        policy = seepage.Policy(**target)
        assert not policy.violations(seepage.measure(fitted, frame, noise_scale=scale * 1.0001))
        assert policy.violations(seepage.measure(fitted, frame, noise_scale=scale * 0.999))
        assert seepage.calibrate(leak, **target, shape="isotropic").scale >= scale


def test_noise_is_spread_by_units_and_shapes_that_follow_the_rows_are_refused(fitted, frame, leak):
    target, units = {"error_floor": {"age": 20.0}}, {"age": 10.0, "prio": 5.0}
    noise = seepage.calibrate(leak, **target, shape=units, exact=True)
    np.testing.assert_allclose(
        np.sqrt(np.diag(noise.covariance)) / noise.shape.scale, [1.0, 0.1, 1.0, 1.0, 1.0, 1.0, 0.2]
    )
    same = seepage.measure(fitted, frame, noise_scale=seepage.release.GaussianNoise(covariance=noise.covariance))
    np.testing.assert_allclose(same.error_floor()["age"].min(), 20.0)
    assert seepage.calibrate(leak, **target, shape="isotropic").scale == seepage.calibrate(leak, **target).scale
    with pytest.raises(seepage.errors.UnansweredError, match="not counted for survival models"):
        seepage.calibrate(leak, **target, shape="best")


def test_coefficients_are_published_with_noise_and_nothing_else_of_the_fit(fitted, frame, tmp_path):
    policy = {"error_floor": {"age": 5.0}, "success_rate": {"arrest": 0.8}}
    publication = seepage.publish(fitted, frame, noise_scale=0.1, accept=policy)
    estimator, certificate = publication.estimator, publication.certificate
    assert certificate.published["parameters"] == list(fitted.params_.index)
    assert certificate.published["hyperparameters"] == {"penalty": 4.32, "standardized": True, "ties": "efron"}
    assert any("baseline hazard is not published" in each for each in certificate.assumptions)
    assert set(vars(estimator)) == {
        "ties", "penalty", "standardized", "coef_", "intercept_", "n_features_in_", "feature_names_in_"
    }  # fmt: skip
    off = (estimator.coef_ - fitted.params_.to_numpy()) / 0.1
    assert 0.01 < np.abs(off).max() < 8.0
    rows = frame[list(fitted.params_.index)]
    np.testing.assert_allclose(estimator.predict(rows), rows.to_numpy() @ estimator.coef_)
    assert certificate.matches(fitted, frame, key=publication.key)
    changed = frame.copy()
    changed.loc[5, "week"] += 1
    assert not certificate.matches(fitted, changed, key=publication.key)
    publication.write(tmp_path / "cox.skops")
    assert seepage.certify(tmp_path / "cox.skops", tmp_path / "cox.certificate.json").holds
    with pytest.raises(seepage.errors.PolicyError, match="arrest"):
        seepage.publish(fitted, frame, noise_scale=0.01, accept={"success_rate": {"arrest": 0.6}})


def test_steps_are_folded_into_what_is_published(frame):
    rows = frame[["age", "prio", "race"]].assign(ward=np.array(["a", "b", "c"])[frame.index % 3])
    y = np.rec.fromarrays([frame["arrest"] == 1, frame["week"]], names="arrest,week")
    levels = OneHotEncoder(categories=[["a", "b", "c"]], drop="first")
    steps = make_column_transformer((levels, ["ward"]), ("passthrough", ["age", "prio"]))
    model = make_pipeline(steps, CoxPHSurvivalAnalysis(alpha=2.0, tol=1e-12)).fit(rows, y)
    publication = seepage.publish(model, rows, y, noise_scale=1e-9, accept=None, noise_chosen_without_data=True)
    assert publication.certificate.published["parameters"] == ["age", "prio", "ward = a", "ward = b", "ward = c"]
    apart = publication.estimator.predict(rows) - model.predict(rows)
    np.testing.assert_allclose(apart - apart[0], 0.0, atol=1e-6)


def test_a_formula_is_not_published(frame):
    results = PHReg.from_formula("week ~ age + C(race)", frame, status="arrest").fit()
    assert seepage.measure(results, noise_scale=0.1).information.attribute_names == ("age", "race", "status", "week")
    for public in ([], ["formula"]):
        with pytest.raises(seepage.errors.UnsupportedError, match="formula is not published"):
            seepage.publish(results, frame, noise_scale=0.1, accept=None, public_preprocessing=public)


def test_the_frontier_of_a_survival_model_is_refused_by_name(fitted, frame):
    with pytest.raises(seepage.errors.UnsupportedError, match="survival model"):
        seepage.release.frontier(fitted, frame, frame["week"], frame, frame["week"], noise_scales=[0.1])


def test_reports_and_compositions_know_survival_models(leak):
    policy = {"error_floor": {"age": 10.0}}
    internal = seepage.Report.of(leak, edition="internal", policy=policy)
    assert "Attributes without numbers here: week." in internal.html()
    assert seepage.Report.of(leak, edition="publishable", policy=policy).html()
    twice = seepage.compose([leak, leak])
    np.testing.assert_allclose(twice.attributes["age"], np.sqrt(2) * leak.attributes["age"])
    assert twice.attributes["week"].isna().all()


def test_a_ledger_counts_columns_and_refuses_promises_about_times(fitted, frame, leak, tmp_path):
    ids = [f"person {i}" for i in frame.index]
    ledger = seepage.ledger.Ledger.create(
        tmp_path / "one", key=b"0" * 32, error_floor={"age": 5.0}, units={"age": "years"}
    )
    seepage.publish(fitted, frame, noise_scale=0.05, accept=None, ids=ids, ledger=ledger, units={"age": "years"})
    np.testing.assert_allclose(ledger.balance(ids)["age"], leak.error_floor()["age"])
    other = seepage.ledger.Ledger.create(
        tmp_path / "two", key=b"0" * 32, error_floor={"week": 5.0}, units={"week": "weeks"}
    )
    with pytest.raises(seepage.errors.UnansweredError, match="by jumps"):
        seepage.publish(fitted, frame, noise_scale=0.05, accept=None, ids=ids, ledger=other)
