"""Preprocessing that was fitted on the same rows is part of the fit."""

import numpy as np
import pandas as pd
import pytest
from procedures import Expected, procedure
from scipy.linalg import eigh
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

import seepage

ROWS, COLUMNS = 30, 4


def _rows(random, *, columns=COLUMNS):
    return random.normal(size=(ROWS, columns)) * random.uniform(0.5, 3.0, columns) + random.normal(size=columns)


def test_people_with_several_rows_move_the_scaler_with_all_of_them():
    random = np.random.default_rng(3)
    X = _rows(random)
    y, estimator = (random.normal(size=ROWS) > 0).astype(int), LogisticRegression(C=0.5, tol=1e-10, max_iter=2000)
    ids = np.arange(ROWS)
    ids[7] = ids[19] = 4
    leak = seepage.measure(make_pipeline(StandardScaler(), estimator).fit(X, y), X, y, noise_scale=0.4, ids=ids)
    expected = Expected(procedure(X, y[:, None] * 1.0, "logistic", 2.0, scaled=range(COLUMNS), noise=0.4))
    found = leak.information.examples()
    person = list(leak.people.ids).index(4)
    assert found["eta"][person] == pytest.approx(expected.joint([4, 7, 19]), rel=1e-8)
    squares = (expected.roots[[4, 7, 19]] ** 2).sum() / (3 * (COLUMNS + 1))
    assert found["dfil"][person] == pytest.approx(np.sqrt(squares), rel=1e-8)


def _folded(model, X, y, scale, given):
    """Return parameters in raw units, output by output, and the covariance of their noise."""
    fitted = clone(model).fit(X, y, **given)
    scaler, estimator = fitted[-2], fitted[-1]
    coefficients = np.atleast_2d(estimator.coef_)
    theta = np.column_stack([coefficients, np.broadcast_to(estimator.intercept_, len(coefficients))])
    if estimator.__class__ is LogisticRegression and len(theta) > 1:
        theta = theta - theta.mean(axis=0)
    means = scaler.mean_ if scaler.with_mean else np.zeros(len(scaler.scale_))
    fold = np.diag([*(1 / scaler.scale_), 1.0])
    fold[-1, :-1] = -means / scaler.scale_
    whole = np.kron(np.eye(len(theta)), fold)
    noise = scale * np.eye(len(whole)) if np.ndim(scale) == 0 else scale
    return whole @ theta.ravel(), whole @ noise @ whole.T


def test_refits_of_classes_go_through_the_scaler():
    random = np.random.default_rng(5)
    frame = pd.DataFrame(_rows(random, columns=2), columns=["age", "dose"])
    frame["ward"] = random.choice(["north", "south", "west"], ROWS, p=[0.6, 0.3, 0.1])
    frame.loc[:2, "ward"] = ["north", "south", "west"]
    y = random.integers(0, 3, ROWS)
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encoder, StandardScaler(), LogisticRegression(C=0.5, tol=1e-10, max_iter=2000))
    weights = random.uniform(0.5, 2.0, ROWS)
    given = {"standardscaler__sample_weight": weights, "logisticregression__sample_weight": weights}
    model.fit(frame, y, **given)
    mix = random.normal(size=(15, 15))
    scale = 0.3 * (mix @ mix.T / 15 + 0.5 * np.eye(15))
    noise = seepage.release.GaussianNoise(covariance=scale)
    leak = seepage.measure(model, frame, y, noise_scale=noise, sample_weight=weights)
    values = ["north", "south", "west"]
    found = leak.information.distances("ward", values)
    parameters, noise_of = _folded(model, frame, y, scale, given)
    for person in (0, 2, 11):
        for j, value in enumerate(values):
            if frame.loc[person, "ward"] == value:
                continue
            other = frame.copy()
            other.loc[person, "ward"] = value
            moved, changed = _folded(model, other, y, scale, given)
            gap = moved - parameters
            far = gap @ np.linalg.solve((noise_of + changed) / 2, gap)
            middle = np.linalg.slogdet((noise_of + changed) / 2)[1]
            shape = 4 * (middle - 0.5 * (np.linalg.slogdet(noise_of)[1] + np.linalg.slogdet(changed)[1]))
            pair = found.unlike.pairs.take(found.unlike.places(found.distance.shape)[[person], [j]])
            assert pair.length()[0] ** 2 == pytest.approx(far + shape, rel=1e-5)
            assert pair.at(np.inf).length()[0] ** 2 == pytest.approx(shape, rel=1e-6)
            # The whole spectrum of one covariance in units of the other.
            ratio = np.sort(eigh(changed, noise_of, eigvals_only=True))
            apart = np.abs(ratio - 1) > 1e-9
            stated = np.sort(pair.ratio[0][np.abs(pair.ratio[0] - 1) > 1e-9])
            np.testing.assert_allclose(stated, ratio[apart], rtol=1e-6)


@pytest.mark.parametrize("scale", [0.05, 0.2, 1.0])
def test_no_attacker_tells_levels_apart_more_often_than_stated(scale):
    """Whoever joins or leaves a small level changes the shape of the noise: the likelihood ratio knows both."""
    random, draws = np.random.default_rng(3), 200_000
    frame = pd.DataFrame({"ward": ["south"] * 4 + ["north"] * 36, "age": random.normal(size=40)})
    y = frame["age"] + 2 * (frame["ward"] == "south") + random.normal(size=40) / 2
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encoder, StandardScaler(), Ridge(alpha=2.0)).fit(frame, y)
    stated = seepage.measure(model, frame, y, noise_scale=scale).success_rate("ward")["success_rate"]
    for person in (0, 10):
        other = frame.copy()
        other.loc[person, "ward"] = {"south": "north", "north": "south"}[frame.loc[person, "ward"]]
        both = [multivariate_normal(*_folded(model, rows, y, scale**2, {}), seed=random) for rows in (frame, other)]
        seen = [each.rvs(draws) for each in both]
        right = [(both[i].logpdf(seen[i]) > both[1 - i].logpdf(seen[i])).mean() for i in (0, 1)]
        assert np.mean(right) <= stated[person] + 4 * np.sqrt(0.125 / draws)


def test_constants_of_other_rows_and_steps_declared_so_are_public():
    random = np.random.default_rng(2)
    X, others, y, estimator = _rows(random), _rows(random), random.normal(size=ROWS), Ridge(alpha=2.0)
    scaler = StandardScaler().fit(others)
    estimator.fit(scaler.transform(X), y)
    model = Pipeline([("standardscaler", scaler), ("ridge", estimator)])
    public = seepage.measure(model, X, y, noise_scale=0.2)
    fixed = procedure(X, y[:, None], "squared", 2.0, features=lambda z: (z - scaler.mean_) / scaler.scale_, noise=0.2)
    Expected(fixed).agrees(public, rtol=1e-9)
    (said,) = (one for one in public.information.assumptions if one.kind == "preprocessing")
    assert said.names == {"what": "the means and standard deviations of x0, x1, x2, x3"}
    fitted = make_pipeline(StandardScaler(), Ridge(1.0)).fit(X, y)
    through = seepage.measure(fitted, X, y, noise_scale=0.2)
    for name in ("standardscaler", "StandardScaler".lower()):
        declared = seepage.measure(fitted, X, y, noise_scale=0.2, public_preprocessing=[name])
        assert not np.allclose(declared.examples["eta"], through.examples["eta"], rtol=1e-3)
    with pytest.raises(seepage.errors.InputError, match="'minmaxscaler', which is no step before the model"):
        seepage.measure(fitted, X, y, noise_scale=0.2, public_preprocessing=["minmaxscaler"])
    with pytest.raises(seepage.errors.InputError, match=r"public_preprocessing=\['standardscaler'\]"):
        seepage.measure(fitted, X, y, noise_scale=0.2, public_preprocessing="standardscaler")


@pytest.mark.parametrize(
    ("steps", "fitted", "public"),
    [
        ([MinMaxScaler(), StandardScaler()], "standardscaler", "minmaxscaler"),
        ([StandardScaler(), PCA(2)], None, "standardscaler, pca"),
        ([StandardScaler(), MaxAbsScaler()], "standardscaler", "maxabsscaler"),
        ([RobustScaler()], None, "robustscaler"),
        ([StandardScaler(with_mean=False, with_std=False)], None, None),
        ([StandardScaler(), StandardScaler()], "standardscaler-2", None),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else "",
)
def test_steps_are_named_by_what_was_made_of_them(steps, fitted, public):
    random = np.random.default_rng(4)
    X, y = _rows(random), random.normal(size=ROWS)
    leak = seepage.measure(make_pipeline(*steps, Ridge()).fit(X, y), X, y, noise_scale=0.5)
    found = leak.information.preprocessing
    said = [", ".join(one.step for one in each) or None for each in (found.fitted, found.public)]
    assert said == [fitted, public]


def test_constants_of_nearly_these_rows_are_refused_until_they_are_declared():
    random = np.random.default_rng(4)
    X = pd.DataFrame(random.gamma(2.0, 1.0, (3000, 3)), columns=["a", "b", "c"])
    y = (random.random(3000) < 1 / (1 + np.exp(2 - X["a"]))).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10)).fit(X, y)
    kept = X.index != ((X - X.mean()) ** 2).sum(axis=1).idxmin()
    # So few missing rows move the model by less than a solver would.
    with pytest.raises(seepage.errors.InputError, match=r"step standardscaler are nearly.*=\['standardscaler'\]"):
        seepage.measure(model, X[kept], y[kept], noise_scale=0.1)
    seepage.measure(model, X[kept], y[kept], noise_scale=0.1, public_preprocessing=["standardscaler"])
    holed = X.mask(random.random(X.shape) < 0.2)
    filled = make_pipeline(SimpleImputer(), LogisticRegression(tol=1e-10)).fit(holed, y)
    seepage.measure(filled, holed, y, noise_scale=0.1)
    with pytest.raises(seepage.errors.InputError, match="step simpleimputer are nearly"):
        seepage.measure(filled, holed[kept], y[kept], noise_scale=0.1)


def test_what_other_scalers_do_after_and_before_is_counted():
    """Standardized, then divided by the largest: the noise of the folded model follows the first alone."""
    random = np.random.default_rng(9)
    X, y, estimator = _rows(random), random.normal(size=ROWS), Ridge(alpha=2.0)
    largest = MaxAbsScaler().fit(StandardScaler().fit_transform(X)).scale_
    model = make_pipeline(MinMaxScaler((3, 7)), StandardScaler(), MaxAbsScaler(), estimator).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.2, public_label=True)
    # With u = z / largest the penalty and the noise are those of a plain scaler, column by column.
    noise, penalty = 0.04 * np.diag(np.append(largest**-2, 1.0)), np.append(2.0 * largest**2, 0.0)
    expected = procedure(X, y[:, None], "squared", penalty, scaled=range(COLUMNS), noise=noise)
    Expected(expected, label=False).agrees(leak)


def test_many_values_are_searched_as_few_are_decomposed():
    random = np.random.default_rng(6)
    X = random.normal(size=(80, 60))
    y = (X[:, 0] + random.normal(size=80) > 0).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.2, tol=1e-10)).fit(X, y)
    size = 61
    mix = random.normal(size=(size, size))
    for noise in (0.3, seepage.release.GaussianNoise(covariance=mix @ mix.T / size + 0.2 * np.eye(size))):
        information = seepage.measure(model, X, y, noise_scale=noise).information
        batch = information.rows.read(slice(0, 80))
        moved = information.scorer.jacobian(batch)
        found = information.examples()
        whole = np.linalg.norm(moved, 2, axis=(1, 2))
        np.testing.assert_allclose(found["eta"], whole, rtol=1e-9)
        np.testing.assert_allclose(found["dfil"], np.sqrt((moved**2).sum(axis=(1, 2)) / 61), rtol=1e-9)


def test_means_without_an_intercept_are_stated_to_be_public():
    random = np.random.default_rng(8)
    X, y = _rows(random), random.normal(size=ROWS)
    leak = seepage.measure(make_pipeline(StandardScaler(), Ridge(fit_intercept=False)).fit(X, y), X, y, noise_scale=0.5)
    assert any("no intercept that would carry noise" in sentence for sentence in leak.assumptions)


def test_a_scaler_of_single_precision_rows_is_counted_and_one_of_fewer_rows_refused():
    """Steps round the mean that they take off: that is no sign of other people."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.normal(50, 10, 500), "year": random.integers(2010, 2020, 500)})
    y = X["age"] / 10 + 0.3 * (X["year"] - 2015) + random.normal(size=500)
    single = X.astype(np.float32)
    double = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y, noise_scale=1.0)
    leak = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(single, y), single, y, noise_scale=1.0)
    # The year is seen to about a ten thousandth of its deviation.
    np.testing.assert_allclose(leak.examples["eta"], double.examples["eta"], rtol=1e-3)
    others = StandardScaler().fit(single[2:])
    model = make_pipeline(others, Ridge().fit(others.transform(single), y))
    with pytest.raises(seepage.errors.InputError, match="nearly, and not exactly"):
        seepage.measure(model, single, y, noise_scale=1.0)
