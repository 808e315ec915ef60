"""What leaves the house: a noisy copy and a certificate, and nothing besides."""

import json
import multiprocessing
import pickle
import struct
import sys
import time
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage._amounts import up_to_grid
from seepage.errors import PolicyError
from seepage.release._certificate import SCHEMA_FILE, Certificate
from seepage.release._mechanism import drawn, mechanism
from seepage.release._policy import Policy
from seepage.release._publish import Terms, publish, ready

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X = 10 * X
BINARY = (Y > 140).rename("ill")
IRIS, SPECIES = load_iris(return_X_y=True, as_frame=True)
SPECIES = pd.Series(np.array(["setosa", "versicolor", "virginica"])[SPECIES], name="species")
TIGHT = {"tol": 1e-10, "max_iter": 100_000}
RIDGE = Ridge().fit(X, Y)

MODELS = {
    "LinearRegression": (LinearRegression(), X, Y),
    "LinearRegression, two targets": (LinearRegression(), X, np.column_stack([Y, Y**2])),
    "LinearRegression, no intercept": (LinearRegression(fit_intercept=False), X, Y),
    "Ridge": (Ridge(), X, Y),
    "Ridge, lsqr": (Ridge(solver="lsqr", tol=1e-10), X, Y),
    "RidgeClassifier": (RidgeClassifier(), X, BINARY),
    "RidgeClassifier, three classes": (RidgeClassifier(), IRIS, SPECIES),
    "LogisticRegression": (LogisticRegression(**TIGHT), X, BINARY),
    "LogisticRegression, liblinear": (LogisticRegression(solver="liblinear", **TIGHT), X, BINARY),
    "LogisticRegression, no intercept": (LogisticRegression(fit_intercept=False, **TIGHT), X, BINARY),
    "LogisticRegression, three classes": (LogisticRegression(**TIGHT), IRIS, SPECIES),
    "LogisticRegression, balanced": (LogisticRegression(class_weight="balanced", **TIGHT), IRIS, SPECIES),
    "PoissonRegressor": (PoissonRegressor(**TIGHT), X, Y),
    "GammaRegressor": (GammaRegressor(**TIGHT), X, Y),
    "TweedieRegressor": (TweedieRegressor(power=1.5, **TIGHT), X, Y),
    "SGDRegressor": (SGDRegressor(alpha=0.1, random_state=0, average=True, max_iter=2000, tol=None), X, Y),
    "SGDClassifier": (
        SGDClassifier("log_loss", alpha=0.01, random_state=0, average=True, max_iter=2000, tol=None),
        X,
        BINARY,
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def released(request):
    """A fitted model, its data, and its publication."""
    model, features, labels = MODELS[request.param]
    model = clone(model).fit(features, labels)
    classes = sorted(set(SPECIES)) if labels is SPECIES else None
    return model, features, labels, publish(model, features, labels, noise_scale=1e-3, accept=None, classes=classes)


def _exact(model, features, labels):
    return seepage.measure(model, features, labels, noise_scale=1.0).information.exact


def test_every_supported_estimator_predicts_and_is_near_the_minimizer(released):
    model, features, labels, publication = released
    found = publication.estimator
    assert type(found) is type(model)
    assert found.predict(features).shape == np.shape(labels)
    assert found.coef_.shape == model.coef_.shape
    assert np.shape(found.intercept_) == np.shape(model.intercept_)
    exact = _exact(model, features, labels)
    published = np.column_stack([np.atleast_2d(found.coef_), np.atleast_1d(found.intercept_)])[:, : exact.shape[1]]
    assert 0 < np.abs(published - exact).max() < 7e-3
    assert (published != exact).all()
    if not model.fit_intercept:
        assert np.all(found.intercept_ == 0)
    if hasattr(model, "predict_proba"):
        assert found.predict_proba(features).shape == (len(features), len(model.classes_))


def test_nothing_else_of_the_fit_comes_along(released):
    model, _, _, publication = released
    found = vars(publication.estimator)
    kept = {"coef_", "intercept_", "n_features_in_", "feature_names_in_", "classes_", "_label_binarizer", "_base_loss"}
    assert set(found) <= set(model.get_params()) | kept
    for secret in ("singular_", "rank_", "t_", "n_iter_", "_average_coef", "_standard_coef", "_standard_intercept"):
        assert secret not in found


def test_no_exact_parameter_is_in_the_pickle(released):
    model, features, labels, publication = released
    stored = pickle.dumps(publication.estimator)
    exact = np.concatenate([np.ravel(model.coef_), _exact(model, features, labels).ravel()])
    for value in exact[np.abs(exact) > 1e-9]:
        assert struct.pack("<d", value) not in stored
        assert struct.pack(">d", value) not in stored


def test_the_estimator_survives_pickling(released):
    _, features, _, publication = released
    again = pickle.loads(pickle.dumps(publication.estimator))
    np.testing.assert_array_equal(again.predict(features), publication.estimator.predict(features))


def test_the_certificate_follows_its_schema(released):
    model, features, labels, publication = released
    schema = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    written = json.loads(publication.certificate.json())
    jsonschema.Draft202012Validator(schema).validate(written)
    names = written["published"]["parameters"]
    assert len(names) == len(set(names)) == written["published"]["count"] == _exact(model, features, labels).size


def test_the_model_given_is_left_alone():
    before = pickle.dumps(RIDGE)
    publish(RIDGE, X, Y, noise_scale=1.0, accept=None)
    assert pickle.dumps(RIDGE) == before


# The noise. It has no seed: thresholds are such that chance fails a test once in a million runs.

# Nineteen coefficients and an intercept: one publication draws twenty numbers.
SMALL = np.random.default_rng(5).normal(size=(60, 19))
SMALL_LABELS = SMALL @ np.linspace(-1.0, 1.0, 19)


def _publications(model, features, labels, noise, count):
    """Draw the noisy parameters of many publications of one model."""
    classes = getattr(model, "classes_", None)
    release = ready(model, features, labels, Terms(noise, accept=None, noise_chosen_without_data=True, classes=classes))
    found = []
    for _ in range(count):
        copy = release.model.with_parameters(drawn(release.exact, noise))
        found.append(np.column_stack([np.atleast_2d(copy.coef_), np.atleast_1d(copy.intercept_)]).ravel())
    return np.array(found)


def test_twenty_thousand_published_numbers_have_the_noise_that_is_stated():
    model = Ridge().fit(SMALL, SMALL_LABELS)
    exact, scale = _exact(model, SMALL, SMALL_LABELS), 0.3
    drawn = _publications(model, SMALL, SMALL_LABELS, seepage.release.GaussianNoise(scale=scale), 1000)
    assert len(np.unique(drawn, axis=0)) == 1000
    noise = (drawn - exact.ravel()) / scale
    # All numbers, those of each coefficient, and sums over all of a publication: the variance of draws is chi-squared.
    for values in (noise.ravel(), *noise.T, noise.sum(axis=1) / np.sqrt(20)):
        assert stats.kstest(values, "norm").pvalue > 1e-6
        count = len(values)
        assert stats.chi2(count).ppf(5e-7) < values @ values < stats.chi2(count).ppf(1 - 5e-7)
    # Products of two numbers of one publication are uncorrelated with variance one: so is their mean over all pairs.
    products = noise[:, :, None] * noise[:, None, :]
    assert abs(products[(slice(None), *np.triu_indices(20, 1))].mean()) < 5 / np.sqrt(1000 * 190)


def test_every_class_carries_noise_of_its_own():
    model = LogisticRegression(**TIGHT).fit(IRIS, SPECIES)
    exact = _exact(model, IRIS, SPECIES)
    assert exact.shape == (3, 5)
    np.testing.assert_allclose(exact.sum(axis=0), 0, atol=1e-9)
    noise = _publications(model, IRIS, SPECIES, seepage.release.GaussianNoise(scale=2.0), 300) - exact.ravel()
    np.testing.assert_allclose(np.cov(noise.T), 4 * np.eye(15), atol=1.7)
    # Also what all classes share, which changes no probability, is noisy: nothing tells the copy's noise apart.
    assert stats.kstest(noise.reshape(300, 3, 5).sum(axis=1).ravel() / np.sqrt(12), "norm").pvalue > 1e-6


def _child_coefficients(_):
    return publish(RIDGE, X, Y, noise_scale=1.0, accept=None).estimator.coef_.tolist()


def test_two_publications_never_share_noise():
    np.random.seed(0)  # noqa: NPY002 (a seed of NumPy's global state must have no say)
    first = publish(RIDGE, X, Y, noise_scale=1.0, accept=None)
    np.random.seed(0)  # noqa: NPY002
    second = publish(RIDGE, X, Y, noise_scale=1.0, accept=None)
    assert not np.isin(first.estimator.coef_, second.estimator.coef_).any()
    assert first.estimator.intercept_ != second.estimator.intercept_
    assert first.key != second.key


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_forked_processes_never_share_noise():
    _child_coefficients(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        drawn = pool.map(_child_coefficients, range(4), chunksize=1)
    assert len({tuple(one) for one in drawn}) == 4
    assert len(np.unique(drawn)) == 40


def test_the_noise_is_on_the_exact_minimizer_and_not_where_the_solver_stopped():
    loose = LogisticRegression(tol=1e-2).fit(X, BINARY)
    exact = _exact(loose, X, BINARY)
    gap = np.abs(exact[0, :-1] - loose.coef_[0]).max()
    drawn = publish(loose, X, BINARY, noise_scale=1e-3 * gap, accept=None, noise_chosen_without_data=True).estimator
    assert np.abs(drawn.coef_ - exact[:, :-1]).max() < 0.01 * gap


# Pipelines.


def test_a_published_model_opens_without_this_library():
    model = make_pipeline(StandardScaler(), LogisticRegression(**TIGHT)).fit(X, BINARY)
    stored = pickle.dumps(publish(model, X, BINARY, noise_scale=1.0, accept=None).estimator)
    assert b"seepage" not in stored
    assert b"opendp" not in stored


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda f: f.to_numpy(), lambda f: sparse.csr_array(f.to_numpy())])
def test_data_of_any_library_can_be_published(convert):
    features = convert(X)
    model = Ridge().fit(X if isinstance(features, pl.DataFrame) else features, Y)
    publication = publish(model, features, Y, noise_scale=1.0, accept=None)
    assert publication.certificate.matches(model, features, Y, key=publication.key)


# The policy.


def test_a_release_that_meets_its_policy_says_so():
    policy = Policy(error_floor={"age": 0.01}, quantile=0.9)
    certificate = publish(RIDGE, X, Y, noise_scale=50.0, accept=policy).certificate
    assert list(certificate.targets) == policy.sentences()
    assert certificate.policy == {"error_floor": {"age": 0.01}, "success_rate": {}, "eta": None, "quantile": 0.9}
    given = publish(RIDGE, X, Y, noise_scale=50.0, accept={"error_floor": {"age": 0.01}, "quantile": 0.9}).certificate
    assert given.policy == certificate.policy


def test_without_a_policy_the_certificate_says_that_there_is_none():
    certificate = publish(RIDGE, X, Y, noise_scale=1.0, accept=None).certificate
    assert certificate.targets == ("No target was set.",)
    assert certificate.policy is None


def test_the_policy_must_be_named():
    with pytest.raises(TypeError, match="accept"):
        publish(RIDGE, X, Y, noise_scale=1.0)


@pytest.mark.parametrize("scale", [1e-5, 0.037, 1.0, 123.4])
def test_a_release_that_misses_a_target_is_refused_with_the_noise_that_meets_it(scale):
    leak = seepage.measure(RIDGE, X, Y, noise_scale=scale)
    floors = leak.error_floor()
    accept = {"error_floor": {"age": 3 * floors["age"].min(), "bmi": 2 * floors["bmi"].min(), "bp": 1e-9}}
    own = {"accept": accept, "noise_chosen_without_data": True}
    with pytest.raises(PolicyError) as caught:
        publish(RIDGE, X, Y, noise_scale=scale, **own)
    message = str(caught.value)
    assert "misses its policy (2 of 3 targets)" in message
    assert message.count(" times the noise") == 2
    enough = float(message.rsplit("A noise scale of ", 1)[1].split()[0])
    assert enough == pytest.approx(up_to_grid(3 * scale), rel=1e-9)
    assert caught.value.factor == pytest.approx(enough / scale, rel=1e-9)
    publish(RIDGE, X, Y, noise_scale=enough, accept=accept)
    publish(RIDGE, X, Y, noise_scale=scale * caught.value.factor, **own)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.factor) == (message, caught.value.factor)


def test_a_missed_target_with_a_covariance_names_the_factor():
    noise = seepage.release.GaussianNoise(covariance=4 * np.eye(11))
    floor = seepage.measure(RIDGE, X, Y, noise_scale=noise).error_floor()["age"].min()
    own = {"accept": {"error_floor": {"age": 3 * floor}}, "noise_chosen_without_data": True}
    with pytest.raises(PolicyError, match=r"covariance is multiplied by 25") as caught:
        publish(RIDGE, X, Y, noise_scale=noise, **own)
    publish(RIDGE, X, Y, noise_scale=noise.scaled(caught.value.factor), **own)


HARD = {
    "an unknown target": ({"accept": {"floor": 1}}, "error_floor, success_rate, eta, quantile and other_attributes"),
    "ranges": (
        {"accept": {"ranges": {"age": (0, 120)}}},
        "error_floor, success_rate, eta, quantile and other_attributes",
    ),
    "a scale to be found": ({"noise_scale": "calibrated"}, "write noise_scale=0.1"),
    "a number as policy": ({"accept": 5.0}, "error_floor, success_rate, eta, quantile and other_attributes"),
    "an empty policy": ({"accept": {}}, "accept=None"),
    "an unknown attribute": ({"accept": {"error_floor": {"height": 1.0}}}, "'height'"),
    "no noise": ({"noise_scale": 0.0}, "infinite information"),
    "a covariance of the wrong size": (
        {"noise_scale": seepage.release.GaussianNoise(covariance=np.eye(3)), "noise_chosen_without_data": True},
        "3 x 3",
    ),
    "a covariance": (
        {"noise_scale": seepage.release.GaussianNoise(covariance=np.eye(11))},
        "noise_chosen_without_data=True",
    ),
    "a scale off the grid": ({"noise_scale": 0.1 * 3}, "Round it up to 0.5"),
    "a step that is not there": ({"public_preprocessing": ["scaler"]}, "'scaler', which is no step"),
    "classes of numbers": ({"classes": ["a"]}, r"classes=\['a'\] was given, and the model tells apart \[\]"),
    "levels beside an encoder": ({"categories": {"ward": ["a", "b"]}}, r"OneHotEncoder\(categories=\[\['a', 'b'\]\]\)"),
    "other data": ({"y": Y.to_numpy()[::-1]}, "not the minimizer"),
}


@pytest.mark.parametrize("what", HARD)
def test_a_hard_publication_is_refused_with_its_reason(what):
    arguments, message = HARD[what]
    with pytest.raises(seepage.errors.SeepageError, match=message):
        publish(RIDGE, **{"X": X, "y": Y, "noise_scale": 1.0, "accept": None, **arguments})


def test_a_missing_opendp_names_its_extra(monkeypatch):
    mechanism.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    with pytest.raises(seepage.errors.MissingExtraError, match=r'pip install "seepage\[publish\]"'):
        publish(RIDGE, X, Y, noise_scale=1.0, accept=None)


def test_the_features_of_opendp_that_others_rely_on_stay_as_they_were():
    from opendp.mod import GLOBAL_FEATURES

    before = set(GLOBAL_FEATURES)
    mechanism.cache_clear()
    publish(RIDGE, X, Y, noise_scale=0.1 * 2, accept=None)
    assert before == GLOBAL_FEATURES


# The certificate and the key.


def _numbers(entry):
    if isinstance(entry, dict):
        entry = list(entry.values())
    if isinstance(entry, list):
        return [number for part in entry for number in _numbers(part)]
    return [] if isinstance(entry, bool | str) or entry is None else [float(entry)]


def test_every_number_in_the_certificate_was_chosen_by_the_owner_or_is_a_count():
    certificate = publish(RIDGE, X, Y, noise_scale=5.0, accept={"error_floor": {"age": 1e-6}}).certificate
    # 442 people, alpha, 11 parameters, the noise, the target, everyone.
    assert _numbers(json.loads(certificate.json())) == [442.0, 1.0, 11.0, 5.0, 1e-6, 1.0]


def test_a_certificate_is_read_back_as_it_was_written(tmp_path):
    publication = publish(RIDGE, X, Y, noise_scale=5.0, accept={"error_floor": {"age": 1e-6}})
    publication.certificate.write(tmp_path / "certificate.json")
    again = Certificate.read(tmp_path / "certificate.json")
    assert again == publication.certificate
    assert again.matches(RIDGE, X, Y, key=publication.key)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("[]", "schema None"), ('{"schema": "urn:seepage:certificate:9"}', "certificate:9")],
)
def test_what_is_no_certificate_is_refused(tmp_path, text, message):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(seepage.errors.InputError, match=message):
        Certificate.read(tmp_path / "other.json")


def test_the_fingerprints_know_the_model_and_the_data():
    publication = publish(RIDGE, X, Y, noise_scale=1.0, accept=None)
    certificate, key = publication.certificate, publication.key
    assert certificate.matches(RIDGE, X, Y, key=key)
    assert certificate.matches(RIDGE, X[X.columns[::-1]], Y, key=key)
    assert certificate.matches(RIDGE, pl.from_pandas(X), Y.to_numpy(), key=key)
    assert not certificate.matches(RIDGE, X, Y, key=b"x" * 32)
    assert not certificate.matches(RIDGE, X[::-1], Y[::-1], key=key)
    assert not certificate.matches(RIDGE, X, Y.where(Y.index != 3, Y + 1e-9), key=key)
    assert not certificate.matches(RIDGE, X, Y, key=key, sample_weight=np.ones(442))
    assert not certificate.matches(publication.estimator, X, Y, key=key)
    assert not certificate.matches(Ridge(2.0).fit(X, Y), X, Y, key=key)
    with pytest.raises(seepage.errors.InputError, match="key must be the bytes"):
        certificate.matches(RIDGE, X, Y, key="x")


def test_fingerprints_are_keyed_afresh():
    one, other = (publish(RIDGE, X, Y, noise_scale=1.0, accept=None).certificate for _ in range(2))
    assert one.fingerprints["data"] != other.fingerprints["data"]
    assert one.fingerprints["model"] != other.fingerprints["model"]


def test_the_key_stays_with_the_owner():
    publication = publish(RIDGE, X, Y, noise_scale=1.0, accept=None)
    key = publication.key
    assert len(key) == 32
    assert "stays with the owner" in repr(publication)
    for shown in (repr(publication), publication.certificate.json(), repr(publication.certificate)):
        assert key.hex() not in shown
        assert repr(key) not in shown
    assert key not in pickle.dumps((publication.estimator, publication.certificate))
    with pytest.raises(seepage.errors.UnsupportedError, match="owner's key"):
        pickle.dumps(publication)


def test_the_certificate_says_when_and_with_what():
    own = {"public_label": True, "attributes": ["age"], "noise_chosen_without_data": True}
    certificate = publish(RIDGE, X, Y, noise_scale=2.5, accept=None, **own).certificate
    assert certificate.noise["scale"] == 2.5
    assert any("without looking at the data, says" in one.how for one in certificate.chosen())
    assert certificate.versions["seepage"] == seepage.__version__
    assert set(certificate.versions) == {"seepage", "scikit-learn", "numpy", "opendp", "python"}
    assert certificate.private == {"attributes": ["age"], "label": "public"}
    assert certificate.published["hyperparameters"]["alpha"] == 1.0
    assert certificate.published["parameters"] == [*X.columns, "intercept"]
    assert certificate.created[:4] >= "2025"
    assert abs(time.time() - pd.Timestamp(certificate.created).timestamp()) < 60
    assert any("noise of scale 2.5" in sentence for sentence in certificate.assumptions)


HYPERPARAMETERS = {
    "class weights": (LogisticRegression(class_weight={False: 1, True: 2.5}, **TIGHT), BINARY, "class_weight"),
    "no penalty": (LogisticRegression(C=np.inf, **TIGHT), BINARY, "C"),
    "a penalty for each target": (Ridge(alpha=np.array([1.0, 2.0])), np.column_stack([Y, Y]), "alpha"),
    "a penalty of NumPy": (Ridge(alpha=np.float64(2.0)), Y, "alpha"),
}
AS_JSON = {
    "class weights": {"False": 1, "True": 2.5},
    "no penalty": "inf",
    "a penalty for each target": [1.0, 2.0],
    "a penalty of NumPy": 2.0,
}


@pytest.mark.parametrize("what", HYPERPARAMETERS)
def test_hyperparameters_are_written_as_json(what):
    model, labels, name = HYPERPARAMETERS[what]
    certificate = publish(model.fit(X, labels), X, labels, noise_scale=1.0, accept=None).certificate
    jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text())).validate(json.loads(certificate.json()))
    assert json.loads(certificate.json())["published"]["hyperparameters"][name] == AS_JSON[what]


def test_the_schema_ships_with_the_package():
    assert SCHEMA_FILE.parent == Path(seepage.__file__).parent / "release"
    assert json.loads(SCHEMA_FILE.read_text())["$id"].startswith("urn:seepage:certificate:")
