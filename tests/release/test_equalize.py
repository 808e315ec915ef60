"""Equal leakage, on the data of the paper and as a well-behaved estimator."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from people import write_people
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import seepage
from seepage.datasets import iwpc_features, load_iwpc, load_mnist, unit_ball_components
from seepage.engines import Local

X, Y = load_diabetes(return_X_y=True)


@parametrize_with_checks(
    [
        seepage.release.EqualizedLeakage(Ridge(), noise_scale=1.0, tol=0.5),
        seepage.release.EqualizedLeakage(LogisticRegression(), noise_scale=1.0, tol=0.5),
    ],
    expected_failed_checks=lambda estimator: {"check_estimators_pickle": "once fitted, it holds the rows"},
)
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def digits(data_home):
    train, test = load_mnist(digits=(0, 1)), load_mnist(digits=(0, 1), subset="test")
    return *unit_ball_components(train.data, test.data), train.target, test.target


def test_linear_regression_on_mnist_becomes_equal(digits):
    train, test, y, z = digits
    model = seepage.release.EqualizedLeakage(LinearRegression(fit_intercept=False), noise_scale=1.0).fit(
        train, 2.0 * y - 1
    )
    eta = model.leakage_.examples["eta"]
    assert eta.mean() == pytest.approx(0.0470, abs=1e-4)
    assert eta.std() < 1e-4
    assert model.n_iter_ <= 15
    assert model.history_[-1] < 1e-3
    assert np.mean((model.predict(test) > 0) == z) >= 0.997


def test_logistic_regression_on_mnist_becomes_equal(digits):
    train, _, y, _ = digits
    inner = LogisticRegression(C=1 / (8e-4 * len(y)), fit_intercept=False, tol=1e-6)
    model = seepage.release.EqualizedLeakage(inner, noise_scale=1.0).fit(train, y)
    assert model.leakage_.examples["eta"].mean() == pytest.approx(0.0238, abs=1e-4)
    assert model.n_iter_ <= 15


@pytest.fixture(scope="module")
def warfarin(data_home):
    patients = load_iwpc()
    return patients.data, patients.target


def _white_box(leak, X, draws=100):
    """Return how often each person's VKORC1 is guessed from a noisy release by the exact refits."""
    information, levels = leak.information, ["CC", "CT", "TT"]
    truth = np.array([levels.index(value) for value in X["vkorc1"]])
    moves = np.zeros((len(X), 3, information.geometry.parameters.size))
    for j, level in enumerate(levels):
        for span in information.rows.spans():
            before, after = information.rows.read(span), information.rows.altered(span, "vkorc1", level)
            moves[span, j] = information.refit.moves(before, after)
    noise = information.noise.scale * np.random.default_rng(1).normal(size=(draws, len(X), moves.shape[2]))
    score = (moves**2).sum(axis=2) - 2 * np.einsum("dnp,njp->dnj", noise, moves)
    return (score.argmin(axis=2) == truth).mean(axis=0)


def _range_over_deciles(success, by):
    means = pd.Series(success).groupby(pd.qcut(by, 10, labels=False)).mean()
    return means.max() - means.min()


@pytest.mark.parametrize("dropped", ["first", "last"])
def test_equal_distances_flatten_the_white_box_attack_whichever_level_is_dropped(warfarin, dropped):
    X, y = warfarin
    ridge = Ridge(alpha=1e-2 * len(y), fit_intercept=False)
    inner = make_pipeline(iwpc_features(X, dropped=dropped), ridge)
    first = seepage.measure(inner.fit(X, y), X, y, noise_scale=1e-3)
    assert inner[:-1].transform(X).shape[1] == 14
    distance = first.information.distances("vkorc1", None).nearest()
    linearized = first.information.attributes()["vkorc1"]
    before = _white_box(first, X)

    with pytest.warns(ConvergenceWarning):
        exact = seepage.release.EqualizedLeakage(inner, noise_scale=1e-3, quantity="vkorc1", max_iter=11, tol=1e-6).fit(
            X, y
        )
    after = _white_box(exact.leakage_, X)
    assert _range_over_deciles(before, distance) == pytest.approx(0.5, abs=0.03)
    assert _range_over_deciles(after, distance) < 0.05

    weights = np.ones(len(y))
    for _ in range(11):
        fitted = clone(inner).fit(X, y, ridge__sample_weight=weights)
        leak = seepage.measure(fitted, X, y, noise_scale=1e-3, sample_weight=weights)
        eta = leak.information.attributes()["vkorc1"]
        weights = len(y) * (weights / eta) / (weights / eta).sum()
    old = _white_box(leak, X)
    print(
        f"{dropped} level dropped: exact distance {_range_over_deciles(before, distance):.2f} -> "
        f"{_range_over_deciles(after, distance):.2f}; linearized eta, by its own deciles "
        f"{_range_over_deciles(before, linearized):.2f} -> {_range_over_deciles(old, linearized):.2f}"
    )
    assert _range_over_deciles(old, linearized) > _range_over_deciles(after, distance)


def test_an_attribute_or_dfil_can_be_the_target():
    for target in ("dfil", "x2"):
        model = seepage.release.EqualizedLeakage(Ridge(alpha=0.1), noise_scale=1.0, quantity=target).fit(X, Y)
        values = model.leakage_.information.attributes() if target == "x2" else model.leakage_.information.examples()
        assert values[target].std() / values[target].mean() <= 1e-3
    with pytest.raises(seepage.errors.InputError, match="quantity must be"):
        seepage.release.EqualizedLeakage(Ridge(), noise_scale=1.0, quantity="height").fit(X, Y)


def test_it_says_when_it_did_not_converge_and_keeps_the_best():
    with pytest.warns(ConvergenceWarning, match="not equal yet: after 2 fits"):
        model = seepage.release.EqualizedLeakage(Ridge(alpha=1.0), noise_scale=1.0, max_iter=2).fit(X, Y)
    assert not model.converged_
    eta = model.leakage_.information.examples()["eta"]
    assert eta.std() / eta.mean() == pytest.approx(min(model.history_))
    assert model.weights_.mean() == pytest.approx(1.0)


def test_it_can_be_cloned_pickled_searched_and_piped():
    model = seepage.release.EqualizedLeakage(make_pipeline(StandardScaler(), Ridge()), noise_scale=1.0, tol=1e-2)
    assert clone(model).get_params()["tol"] == 1e-2
    again = pickle.loads(pickle.dumps(model)).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), model.fit(X, Y).predict(X))
    with pytest.raises(seepage.errors.UnsupportedError, match="holds the rows"):
        pickle.dumps(model)
    search = GridSearchCV(
        seepage.release.EqualizedLeakage(Ridge(), noise_scale=1.0, tol=0.05), {"estimator__alpha": [0.1, 10.0]}, cv=2
    ).fit(X, Y)
    assert search.best_params_["estimator__alpha"] in (0.1, 10.0)
    piped = make_pipeline(StandardScaler(), seepage.release.EqualizedLeakage(Ridge(), noise_scale=1.0, tol=0.05)).fit(
        X, Y
    )
    assert piped.score(X, Y) > 0.3


@pytest.fixture(scope="module")
def filed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("equal")
    people = write_people(folder / "data", rows=2001, files=2)
    inner = Ridge(alpha=3.0)
    memory = seepage.release.EqualizedLeakage(inner, noise_scale=0.1).fit(people.X, people.frame["outcome"])
    files = seepage.release.EqualizedLeakage(inner, noise_scale=0.1).fit(
        people.pattern,
        target="outcome",
        features=people.features,
        ids="person",
        job=seepage.engines.Job(Local(workers=2), folder / "equalized"),
    )
    return people, memory, files, folder


def test_rows_in_files_become_equal_just_as_rows_in_memory(filed):
    people, memory, files, _ = filed
    assert files.converged_
    np.testing.assert_allclose(files.history_, memory.history_, rtol=1e-6)
    np.testing.assert_allclose(files.estimator_.coef_, memory.estimator_.coef_, rtol=1e-9)
    stored = files.weights_.dataset.to_table().to_pandas()
    assert stored["person"].tolist() == people.frame["person"].tolist()
    np.testing.assert_allclose(stored["weight"], memory.weights_, rtol=1e-8)
    eta = files.leakage_.examples.to_table().to_pandas()["eta"]
    np.testing.assert_allclose(eta, memory.leakage_.information.examples()["eta"], rtol=1e-8)


def test_stored_weights_are_a_sample_weight(filed):
    people, memory, files, _ = filed
    options = {"target": "outcome", "sample_weight": files.weights_, "job": seepage.engines.Job(Local(workers=2))}
    model = seepage.engines.fit(Ridge(alpha=3.0), people.pattern, features=people.features, **options)
    np.testing.assert_allclose(model.coef_, memory.estimator_.coef_, rtol=1e-9)
    leak = seepage.measure(model, people.pattern, noise_scale=0.1, **options)
    again = memory.leakage_.joint((people.frame["region"] == "north").to_numpy())
    assert leak.joint({"region": "north"}) == pytest.approx(again, rel=1e-8)


def test_only_the_best_round_is_kept_and_a_cut_off_job_goes_on_at_its_round(filed, tmp_path):
    people, _, files, folder = filed
    kept = sorted(path.name for path in (folder / "equalized" / "rounds").iterdir())
    assert kept == [f"{files.n_iter_ - 1:02d}"] or len(kept) <= 2
    options = {
        "target": "outcome",
        "features": people.features,
        "ids": "person",
        "job": seepage.engines.Job(Local(workers=2), tmp_path / "equal"),
    }
    again = {**options, "job": seepage.engines.Job(Local(workers=2), tmp_path / "equal", resume=True)}
    with pytest.warns(ConvergenceWarning):
        seepage.release.EqualizedLeakage(Ridge(alpha=3.0), noise_scale=0.1, max_iter=2).fit(people.pattern, **options)
    with pytest.raises(seepage.errors.InputError, match="resume=True"):
        seepage.release.EqualizedLeakage(Ridge(alpha=3.0), noise_scale=0.1).fit(people.pattern, **options)
    rest = seepage.release.EqualizedLeakage(Ridge(alpha=3.0), noise_scale=0.1).fit(people.pattern, **again)
    assert rest.history_ == files.history_
    np.testing.assert_array_equal(rest.estimator_.coef_, files.estimator_.coef_)
    with pytest.warns(ConvergenceWarning):
        best = seepage.release.EqualizedLeakage(Ridge(alpha=3.0), noise_scale=0.1, max_iter=1).fit(
            people.pattern, **again
        )
    assert best.leakage_.information.count == len(people.frame)


def test_a_job_with_other_noise_is_not_continued(filed):
    people, _, _, folder = filed
    other = seepage.release.EqualizedLeakage(Ridge(alpha=3.0), noise_scale=seepage.release.GaussianNoise(0.2))
    with pytest.raises(seepage.errors.InputError, match="differs from this one in its noise"):
        other.fit(
            people.pattern,
            target="outcome",
            features=people.features,
            ids="person",
            job=seepage.engines.Job(output=folder / "equalized", resume=True),
        )


def test_files_say_what_they_need(filed, tmp_path):
    people, *_ = filed
    model = seepage.release.EqualizedLeakage(Ridge(), noise_scale=1.0)
    with pytest.raises(seepage.errors.InputError, match="output="):
        model.fit(people.pattern, target="outcome")
    with pytest.raises(seepage.errors.InputError, match="target="):
        model.fit(people.pattern, job=seepage.engines.Job(output=tmp_path / "o"))
    with pytest.raises(seepage.errors.InputError, match="give target= instead of y"):
        model.fit(people.pattern, people.frame["outcome"], job=seepage.engines.Job(output=tmp_path / "o"))
    with pytest.raises(seepage.errors.InputError, match="output= is for rows in Parquet files"):
        model.fit(X, Y, job=seepage.engines.Job(output=tmp_path / "o"))


# What the weights tell.

PEOPLE = pd.DataFrame(np.random.default_rng(3).normal(size=(60, 2)), columns=["a", "b"])
OUTCOME = (PEOPLE["a"] - PEOPLE["b"] + np.random.default_rng(4).standard_t(3, size=60)).rename("outcome")


def _equal_ridge(rows, outcome):
    """Return the parameters of a ridge regression in which everybody's first value leaks equally much (eq. 7.2)."""
    features, penalty = np.c_[rows, np.ones(len(rows))], np.diag([1.0, 1.0, 0.0])
    weights, exponent, before = np.ones(len(rows)), 1.0, np.inf
    for _ in range(400):
        inverse = np.linalg.inv(features.T @ (weights[:, None] * features) + penalty)
        found = inverse @ (features.T @ (weights * outcome))
        along = inverse[:, [0]] * (weights * (features @ found - outcome)) + inverse @ features.T * weights * found[0]
        stated = np.linalg.norm(along, axis=0)
        spread = stated.std() / stated.mean()
        if spread < 1e-11:
            break
        exponent, before = exponent / 2 if spread > before else exponent, spread
        weights = weights * stated**-exponent
        weights *= len(rows) / weights.sum()
    return found, stated


def test_an_attacker_who_knows_how_the_weights_are_made_comes_nearer_than_is_stated():
    found, stated = _equal_ridge(PEOPLE.to_numpy(), OUTCOME.to_numpy())
    equal = seepage.release.EqualizedLeakage(Ridge(), noise_scale=1.0, quantity="a", tol=1e-9, max_iter=400)
    equal.fit(PEOPLE, OUTCOME)
    np.testing.assert_allclose([*equal.estimator_.coef_, equal.estimator_.intercept_], found, atol=1e-7)
    np.testing.assert_allclose(equal.leakage_.attributes["a"], stated, rtol=1e-6)
    step, whole = 1e-5, []
    for person in range(0, 60, 6):
        ends = []
        for sign in (1, -1):
            rows = PEOPLE.to_numpy().copy()
            rows[person, 0] += sign * step
            ends.append(_equal_ridge(rows, OUTCOME.to_numpy())[0])
        whole.append(np.linalg.norm(ends[0] - ends[1]) / (2 * step))
    # So nothing that takes them as fixed may be promised to anybody.
    assert max(whole) > 1.5 * stated.max()
    assert any("comes nearer than these numbers say" in each for each in equal.leakage_.assumptions)


def _ways_to_publish(equal):
    own = Ridge().fit(PEOPLE, OUTCOME, equal.weights_)
    search = GridSearchCV(equal, {"estimator__alpha": [0.1, 1.0]}, cv=2).fit(PEOPLE, OUTCOME)
    piped = make_pipeline(StandardScaler(), clone(equal)).fit(PEOPLE, OUTCOME)
    scaled = clone(equal).set_params(estimator=make_pipeline(StandardScaler(), Ridge())).fit(PEOPLE, OUTCOME)
    return {
        "its estimator": (equal.estimator_, equal.weights_),
        "the mark alone": (equal.estimator_, None),
        "itself": (equal, None),
        "a pipeline that ends in it": (piped, None),
        "a pipeline in it": (scaled.estimator_, scaled.weights_),
        "the last step of that": (scaled.estimator_[-1], None),
        "a search over it": (search, None),
        "a file": (pickle.loads(pickle.dumps(equal.estimator_)), None),
        "its weights": (own, equal.weights_),
        "its weights in a column": (own, pd.Series(equal.weights_)),
        "its weights in another unit": (Ridge(3.0).fit(PEOPLE, OUTCOME, 3 * equal.weights_), 3 * equal.weights_),
    }


def test_equalized_weights_are_not_published_whatever_way_they_come():
    equal = seepage.release.EqualizedLeakage(Ridge(), noise_scale=1.0, tol=0.05).fit(PEOPLE, OUTCOME)
    for way, (model, weights) in _ways_to_publish(equal).items():
        with pytest.raises(seepage.errors.UnsupportedError, match=r"clone\(equal.estimator\).fit\(X, y\)"):
            pytest.fail(f"{seepage.publish(model, PEOPLE, OUTCOME, sample_weight=weights, **RELEASE)} through {way}")
    with pytest.raises(seepage.errors.UnsupportedError, match='the "internal" one there is'):
        seepage.Report.of(equal.leakage_, "publishable")
    # The way out, and weights that were given.
    seepage.publish(clone(equal.estimator).fit(PEOPLE, OUTCOME), PEOPLE, OUTCOME, **RELEASE)
    for given in (np.linspace(1, 2, 60), np.ones(60)):
        seepage.publish(Ridge().fit(PEOPLE, OUTCOME, given), PEOPLE, OUTCOME, sample_weight=given, **RELEASE)


RELEASE = {"noise_scale": 1.0, "accept": None}
