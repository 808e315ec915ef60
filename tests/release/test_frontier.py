"""Accuracy against the floor, over noise and penalties."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.display import FrontierDisplay
from seepage.release._frontier import frontier

mpl.use("Agg")

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
TRAIN, TEST, TRAIN_Y, TEST_Y = X[:300], X[300:], Y[:300], Y[300:]
RIDGE = Ridge().fit(TRAIN, TRAIN_Y)
DATA = (TRAIN, TRAIN_Y, TEST, TEST_Y)
CANCER, MALIGNANT = load_breast_cancer(return_X_y=True, as_frame=True)
SCALES = [1e-3, 1e-2, 1e-1]


def test_the_floor_is_the_one_that_measuring_gives():
    found = frontier(RIDGE, *DATA, noise_scales=SCALES, penalties=[1.0, 300.0], draws=2, attribute="bmi").frame
    assert found["penalty"].tolist() == [1, 1, 1, 300, 300, 300]
    for row in found.itertuples():
        leak = seepage.measure(Ridge(row.penalty).fit(TRAIN, TRAIN_Y), TRAIN, TRAIN_Y, noise_scale=row.noise_scale)
        assert row.error_floor == pytest.approx(leak.error_floor()["bmi"].min(), rel=1e-9)


def test_noise_is_in_standard_errors_unless_scales_are_given():
    found = frontier(RIDGE, *DATA, penalties=[1.0, 300.0], draws=2, attribute="bmi")
    assert found.frame["standard_errors"].tolist() == [0.1, 0.2, 0.5, 1.0] * 2
    for row in found.frame.iloc[[1, 6]].itertuples():
        noise = seepage.release.GaussianNoise(standard_errors=row.standard_errors)
        leak = seepage.measure(Ridge(row.penalty).fit(TRAIN, TRAIN_Y), TRAIN, TRAIN_Y, noise_scale=noise)
        assert row.error_floor == pytest.approx(leak.error_floor()["bmi"].min(), rel=1e-6)
    only = frontier(RIDGE, *DATA, standard_errors=[0.1, 0.5], draws=2).plot().ax_
    assert "numbers: noise, in standard errors" in [each.get_text() for each in only.get_legend().get_texts()]


def test_noise_in_standard_errors_scores_as_its_covariance_says():
    found = frontier(RIDGE, *DATA, standard_errors=[0.5], draws=400, scoring="neg_mean_squared_error").frame
    rows = np.column_stack([TRAIN, np.ones(300)])
    hessian = rows.T @ rows + np.diag([1.0] * 10 + [0.0])
    gradients = rows * (RIDGE.predict(TRAIN) - TRAIN_Y).to_numpy()[:, None]
    inner = np.linalg.solve(hessian, gradients.T)
    covariance = 0.25 * 300 / 289 * inner @ inner.T
    test = np.column_stack([TEST, np.ones(len(TEST))])
    added = np.einsum("ij,jk,ik->i", test, covariance, test).mean()
    assert found["exact_score"][0] - found["score"][0] == pytest.approx(added, rel=0.2)


def test_without_an_attribute_the_floor_is_that_of_any_direction():
    found = frontier(RIDGE, *DATA, noise_scales=[0.5], draws=2, quantile=0.9).frame
    eta = seepage.measure(RIDGE, TRAIN, TRAIN_Y, noise_scale=0.5).examples["eta"].to_numpy()
    assert (1 / eta >= found["error_floor"][0] * (1 - 1e-9)).mean() == pytest.approx(0.9, abs=0.002)


def test_a_category_has_a_success_rate():
    frame = TRAIN.assign(sex=np.where(TRAIN["sex"] > 1, "f", "m"))
    test = TEST.assign(sex=np.where(TEST["sex"] > 1, "f", "m"))
    columns = make_column_transformer((OneHotEncoder(drop="first"), ["sex"]), remainder=StandardScaler())
    model = make_pipeline(columns, Ridge()).fit(frame, TRAIN_Y)
    found = frontier(model, frame, TRAIN_Y, test, TEST_Y, noise_scales=SCALES, draws=2, attribute="sex")
    leak = seepage.measure(model, frame, TRAIN_Y, noise_scale=1.0)
    distance = leak.information.distances("sex", None).farthest().max()
    expected = [norm.cdf(distance / scale / 2) for scale in SCALES]
    np.testing.assert_allclose(found.frame["success_rate"], expected, rtol=1e-9)
    assert "success rate on sex" in found.plot().ax_.get_xlabel()


def _errors(scale, draws, seed):
    """The mean squared error of each noisy copy, by hand."""
    noise = scale * np.random.default_rng(seed).normal(size=(draws, 11))
    moved = TEST.to_numpy() @ noise[:, :-1].T + noise[:, -1]
    return ((RIDGE.predict(TEST) - TEST_Y.to_numpy())[:, None] + moved) ** 2


def test_the_score_is_the_mean_over_noisy_copies():
    arguments = {"noise_scales": [0.01, 0.05], "scoring": "neg_mean_squared_error", "draws": 40, "seed": 3}
    found = frontier(RIDGE, *DATA, **arguments).frame
    for row in found.itertuples():
        each = _errors(row.noise_scale, 40, 3).mean(axis=0)
        assert -row.score == pytest.approx(each.mean(), rel=1e-9)
        assert [-row.score_high, -row.score_low] == pytest.approx(np.quantile(each, [0.025, 0.975]), rel=1e-9)
    np.testing.assert_allclose(-found["exact_score"], ((RIDGE.predict(TEST) - TEST_Y) ** 2).mean(), rtol=1e-9)


WEIGHTS = np.linspace(0.5, 2, 300)
PENALIZED = {
    "Ridge": (Ridge(), TRAIN_Y, lambda p: Ridge(alpha=p)),
    "RidgeClassifier": (RidgeClassifier(), TRAIN_Y > 140, lambda p: RidgeClassifier(alpha=p)),
    "LogisticRegression": (
        LogisticRegression(max_iter=10_000),
        TRAIN_Y > 140,
        lambda p: LogisticRegression(C=1 / p, max_iter=10_000),
    ),
    "PoissonRegressor": (
        PoissonRegressor(max_iter=10_000),
        TRAIN_Y,
        lambda p: PoissonRegressor(alpha=p / WEIGHTS.sum(), max_iter=10_000),
    ),
    "SGDClassifier": (
        SGDClassifier("log_loss", random_state=0, average=True, max_iter=3000, tol=None),
        TRAIN_Y > 140,
        lambda p: SGDClassifier("log_loss", alpha=p / 300, random_state=0, average=True, max_iter=3000, tol=None),
    ),
}


@pytest.mark.parametrize("kind", PENALIZED)
def test_a_penalty_means_the_same_for_every_estimator(kind):
    estimator, labels, with_penalty = PENALIZED[kind]
    features = StandardScaler().fit_transform(TRAIN)
    model = estimator.fit(features, labels, sample_weight=WEIGHTS)
    found = frontier(
        model, features, labels, features, labels, noise_scales=[0.1], penalties=[7.0], draws=1, sample_weight=WEIGHTS
    ).frame
    assert found["penalty"][0] == pytest.approx(7.0)
    expected = with_penalty(7.0).fit(features, labels, sample_weight=WEIGHTS).score(features, labels)
    assert found["exact_score"][0] == pytest.approx(expected, abs=2e-3)


def test_a_pipeline_is_scored_with_its_preprocessing_and_fitted_with_weights():
    labels = MALIGNANT[:400]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(CANCER[:400], labels)
    found = frontier(
        model,
        CANCER[:400],
        labels,
        CANCER[400:],
        MALIGNANT[400:],
        noise_scales=[1e-6],
        penalties=[1.0, 10.0],
        draws=2,
        sample_weight=np.ones(400),
    )
    assert found.metric == "accuracy"
    assert found.frame["score"][0] == pytest.approx(model.score(CANCER[400:], MALIGNANT[400:]))


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda f: f.to_numpy(), lambda f: sparse.csr_array(f.to_numpy())])
def test_the_frame_comes_in_the_library_of_the_data(convert):
    train, test = convert(TRAIN), convert(TEST)
    model = Ridge().fit(train, TRAIN_Y)
    found = frontier(model, train, TRAIN_Y, test, TEST_Y, noise_scales=SCALES, penalties=[1, 2], draws=2)
    assert type(found.frame) is (pl.DataFrame if isinstance(train, pl.DataFrame) else pd.DataFrame)
    expected = frontier(RIDGE, *DATA, noise_scales=SCALES, penalties=[1, 2], draws=2).frame
    np.testing.assert_allclose(found.frame["score"].to_numpy(), expected["score"], rtol=1e-6)
    assert len(found.plot().ax_.lines) == 4


def test_any_scorer_will_do():
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    found = frontier(RIDGE, *DATA, noise_scales=[1e-6], draws=2, scoring=scorer).frame
    assert -found["score"][0] == pytest.approx(np.abs(RIDGE.predict(TEST) - TEST_Y).mean(), rel=1e-4)


def test_a_picture_can_be_drawn_anywhere():
    from matplotlib import pyplot

    found = frontier(RIDGE, *DATA, noise_scales=SCALES, draws=3, attribute="age", scoring="neg_mean_squared_error")
    figure, ax = pyplot.subplots()
    display = found.plot(ax)
    assert type(display) is FrontierDisplay
    assert (display.ax_, display.figure_) == (ax, figure)
    assert ax.get_ylabel() == "Mean squared error on test data"
    assert "of age" in ax.get_xlabel()
    assert (ax.lines[-1].get_ydata() > 0).all()
    assert [text.get_text() for text in ax.texts] == ["0.001", "0.01", "0.1"]
    assert found.plot().ax_ is not ax
    pyplot.close("all")


def test_a_frontier_says_what_it_compares():
    assert "2 settings, r2 against the floor of bp" in repr(
        frontier(RIDGE, *DATA, noise_scales=[1, 2], draws=1, attribute="bp")
    )
    assert frontier(RIDGE, *DATA, noise_scales=1.0, draws=1, scoring=lambda *_: 1.0).metric == "<lambda>"


HARD = {
    "shapes without the scales they are compared at": (
        {"noise_scales": None, "shapes": ["best"]},
        r"give noise_scales=\[...\] too",
    ),
    "no scales": ({"noise_scales": []}, "noise_scales must be one or more positive"),
    "a negative scale": ({"noise_scales": [1.0, -1.0]}, "noise_scales must be one or more positive"),
    "words as scales": ({"noise_scales": ["low"]}, "noise_scales must be positive numbers, not \\['low'\\]"),
    "a zero penalty": ({"penalties": [0.0]}, "penalties must be one or more positive"),
    "no draws": ({"draws": 0}, "at least 1"),
    "an impossible confidence": ({"confidence": 1.0}, "between 0 and 1"),
    "an unknown attribute": ({"attribute": "height"}, "'height'"),
    "no test data": ({"X_test": TEST[:0], "y_test": TEST_Y[:0]}, "one label a row"),
    "a missing test label": ({"y_test": TEST_Y[1:]}, "142 rows and y_test 141"),
    "a missing test column": ({"X_test": TEST.drop(columns="bmi")}, "no column 'bmi'"),
    "test data of another width": ({"X_test": TEST.to_numpy()[:, 1:]}, "9 columns; X has 10"),
    "a model without a penalty": (
        {"model": LinearRegression().fit(TRAIN, TRAIN_Y), "penalties": [1.0]},
        "LinearRegression has no penalty",
    ),
}


@pytest.mark.parametrize("what", HARD)
def test_a_hard_frontier_is_refused_with_its_reason(what):
    arguments, message = HARD[what]
    data = {"model": RIDGE, "X": TRAIN, "y": TRAIN_Y, "X_test": TEST, "y_test": TEST_Y, "noise_scales": SCALES}
    with pytest.raises(seepage.errors.SeepageError, match=message):
        frontier(**{**data, **arguments})


def test_shapes_are_compared_at_the_same_floors():
    found = frontier(RIDGE, *DATA, noise_scales=[0.05, 0.2], shapes=["isotropic", "best"], draws=20)
    table = found.frame
    assert table["shape"].tolist() == ["isotropic", "best"] * 2
    for _, rows in table.groupby("error_floor"):
        assert len(rows) == 2
        by_shape = rows.set_index("shape")
        assert by_shape["score"]["best"] > by_shape["score"]["isotropic"]
    # The floor of a shape is that of a measurement with its noise, what the shape tells counted.
    train, labels = DATA[0], DATA[1]
    leak = seepage.measure(RIDGE, train, labels, noise_scale=1.0)
    floor = float(table["error_floor"].iloc[0])
    noise = seepage.calibrate(leak, eta=1 / floor, shape="best", exact=True)
    assert noise.shape.scale == pytest.approx(table["noise_scale"].iloc[1], rel=1e-9)
    again = seepage.measure(RIDGE, train, labels, noise_scale=noise)
    assert 1 / again.examples["eta"].max() == pytest.approx(floor, rel=1e-6)
    assert [line.get_label() for line in found.plot().ax_.get_lines() if "_" not in line.get_label()] == [
        "isotropic",
        "best",
    ]
