"""Input that no number can be computed from: each line is refused with an error of our own that names the reason."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, MultiTaskLasso, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage

X, Y = load_diabetes(return_X_y=True, as_frame=True)
A, B = X.to_numpy(), Y.to_numpy()
RIDGE = Ridge().fit(X, Y)
BINARY = (B > 150).astype(int)


def _with(value, column=2):
    changed = A.copy()
    changed[7, column] = value
    return changed


def _scaled(factor):
    changed = A.copy()
    changed[:, 3] *= factor
    return changed


HARD = {
    # what is wrong: (model, X, y, further arguments, what the message must say)
    "NaN in X": (RIDGE, _with(np.nan), B, {}, "missing value .* row 7, column 'bmi'"),
    "infinity in X": (RIDGE, _with(np.inf), B, {}, "infinite in row 7, column 'bmi'"),
    "NaN in y": (RIDGE, A, np.where(np.arange(442) == 3, np.nan, B), {}, "y has a missing value .* row 3"),
    "strings in X": (RIDGE, X.astype({"age": str}), B, {}, "not numbers"),
    "strings in y": (RIDGE, A, np.array(["a"] * 442), {}, "target of a regression must be numbers, not \\['a'\\]"),
    "None in X behind a pipeline": (
        make_pipeline(StandardScaler(), Ridge()).fit(X, Y),
        X.assign(bmi=X["bmi"].where(X.index != 7)),
        B,
        {},
        "missing value in column 'bmi'",
    ),
    "one row less in y": (RIDGE, A, B[1:], {}, "442 rows and y has shape \\(441,\\)"),
    "one column less in X": (RIDGE, A[:, 1:], B, {}, "9 columns.*fitted on 10"),
    "a missing column": (RIDGE, X.drop(columns="bmi"), Y, {}, "no column 'bmi'"),
    "X with one dimension": (RIDGE, B, B, {}, "two dimensions"),
    "no rows": (RIDGE, A[:0], B[:0], {}, "no rows"),
    "an unfitted model": (Ridge(), A, B, {}, "not fitted"),
    "a tree model": (RandomForestRegressor(2).fit(A, B), A, B, {}, "RandomForestRegressor cannot be measured"),
    "an L1 penalty of single steps": (
        SGDClassifier(loss="log_loss", penalty="l1").fit(A, BINARY),
        A,
        BINARY,
        {},
        "not plain L2.*LogisticRegression with an l1_ratio",
    ),
    "an L1 penalty and positive coefficients": (Lasso(positive=True).fit(A, B), A, B, {}, "positive=False"),
    "an L1 penalty on several targets": (
        Lasso().fit(A, np.column_stack([B, -B])),
        A,
        np.column_stack([B, -B]),
        {},
        "several targets.*one model for each",
    ),
    "an L1 penalty on tasks": (
        MultiTaskLasso().fit(A, np.column_stack([B, -B])),
        A,
        np.column_stack([B, -B]),
        {},
        "MultiTaskLasso cannot be measured.*one model for each target",
    ),
    "an L1 penalty and three classes": (
        LogisticRegression(l1_ratio=0.5, C=1e-3, solver="saga", tol=0.1).fit(A, BINARY + (B > 250)),
        A,
        BINARY + (B > 250),
        {},
        "more than two classes.*l1_ratio=0",
    ),
    "an L1 penalty that leaves nothing": (
        Lasso(alpha=1e9, fit_intercept=False).fit(A, B),
        A,
        B,
        {},
        "All coefficients of this Lasso are zero",
    ),
    "a lasso of other rows": (Lasso(alpha=3.0).fit(A[:380], B[:380]), A, B, {}, "not the minimizer"),
    "a lasso at a kink": (
        Lasso(alpha=1.0, fit_intercept=False, tol=1e-12).fit(np.eye(4), [8.0, 4.0, 1.0, -7.0]),
        np.eye(4),
        np.array([8.0, 4.0, 1.0, -7.0]),
        {},
        "'x1'.*no derivative",
    ),
    "a lasso of two equal columns": (
        Lasso(alpha=1.0, selection="random", random_state=0).fit(A[:, [2, 2]], B),
        A[:, [2, 2]],
        B,
        {},
        "not unique",
    ),
    "a hinge loss": (SGDClassifier().fit(A, BINARY), A, BINARY, {}, "hinge.*second derivative"),
    "positive coefficients": (LinearRegression(positive=True).fit(A, B), A, B, {}, "positive=False"),
    "an unknown class": (
        LogisticRegression().fit(A, BINARY),
        A,
        BINARY * 2,
        {},
        "none of the model's classes \\[0, 1\\]",
    ),
    "zero noise": (RIDGE, X, Y, {"noise_scale": 0}, "infinite information"),
    "negative noise": (RIDGE, X, Y, {"noise_scale": -1}, "positive finite number, not -1"),
    "NaN noise": (RIDGE, X, Y, {"noise_scale": np.nan}, "positive finite number"),
    "a word as noise": (RIDGE, X, Y, {"noise_scale": "low"}, "not 'low'"),
    "a covariance of the wrong size": (
        RIDGE,
        X,
        Y,
        {"noise_scale": seepage.GaussianNoise(covariance=np.eye(3))},
        "3 x 3.*11 parameters",
    ),
    "an unknown attribute": (RIDGE, X, Y, {"attributes": ["height"]}, "'height', which is no column"),
    "an attribute as a string": (RIDGE, X, Y, {"attributes": "age"}, "attributes=\\['age'\\]"),
    "negative weights": (RIDGE, X, Y, {"sample_weight": -np.ones(442)}, "negative in row 0"),
    "NaN weights": (RIDGE, X, Y, {"sample_weight": np.full(442, np.nan)}, "sample_weight has a missing value"),
    "too few weights": (RIDGE, X, Y, {"sample_weight": np.ones(3)}, "442 rows, not shape \\(3,\\)"),
    "only zero weights": (RIDGE, X, Y, {"sample_weight": np.zeros(442)}, "weights are zero"),
    "too few ids": (RIDGE, X, Y, {"ids": [1, 2]}, "each of the 442 rows"),
    "values of 1e150": (RIDGE, _scaled(1e152), B, {}, "column 'bp'.*float64. Rescale"),
    "values of 1e-150": (RIDGE, _scaled(1e-149), B, {}, "column 'bp'.*float64. Rescale"),
    "labels of 1e150": (RIDGE, A, B * 1e148, {}, "y holds .*Rescale"),
    "weights of 1e150": (RIDGE, A, B, {"sample_weight": np.full(442, 1e150)}, "sample_weight holds"),
}


@pytest.mark.parametrize("what", HARD)
def test_hard_input_is_refused_with_its_reason(what):
    model, features, labels, arguments, message = HARD[what]
    with pytest.raises(seepage.SeepageError, match=message):
        seepage.measure(model, features, labels, **{"noise_scale": 1.0, **arguments})


QUESTIONS = {
    "an empty set of people": (lambda leak: leak.joint(np.zeros(442, dtype=bool)), "empty set"),
    "a set by number": (lambda leak: leak.joint([0, 1, 2]), "True or False for each of the 442"),
    "an unknown attribute": (lambda leak: leak.joint(attribute="height"), "no private attribute 'height'"),
    "groups of the wrong length": (lambda leak: leak.by_group(["a"]), "each of the 442 people"),
    "a person without a group": (lambda leak: leak.by_group([None] + ["a"] * 441), "missing group"),
    "an impossible confidence": (lambda leak: leak.by_group(["a"] * 442, confidence=2), "between 0 and 1"),
    "an unknown statistic": (lambda leak: leak.by_group(["a"] * 442).ratio("mode"), "'mean', 'median', 'max'"),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_a_hard_question_is_refused_with_its_reason(what):
    ask, message = QUESTIONS[what]
    with pytest.raises(seepage.SeepageError, match=message):
        ask(seepage.measure(RIDGE, X, Y, noise_scale=1.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one"),
        ({"scale": 1.0, "covariance": np.eye(2)}, "exactly one"),
        ({"covariance": np.ones((2, 3))}, "square"),
        ({"covariance": [[1.0, 2.0], [0.0, 1.0]]}, "symmetric"),
        ({"covariance": np.ones((2, 2))}, "without noise"),
        ({"covariance": [["a"]]}, "numbers"),
    ],
)
def test_a_noise_that_hides_nothing_is_refused(arguments, message):
    with pytest.raises(seepage.InputError, match=message):
        seepage.GaussianNoise(**arguments)


def test_an_extreme_scale_is_refused_before_a_scaler_can_hide_it():
    changed = X.assign(bp=X["bp"] * 1e152)
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    with pytest.raises(seepage.InputError, match="column 'bp'"):
        seepage.measure(model, changed, Y, noise_scale=1.0)


@pytest.mark.parametrize("rows", [1, 2])
def test_one_person_can_be_measured_with_a_penalty(rows):
    leak = seepage.measure(Ridge().fit(A[:rows], B[:rows]), A[:rows], B[:rows], noise_scale=1.0)
    assert np.isfinite(leak.examples.to_numpy()).all()


def test_a_perfect_fit_has_information_of_its_own():
    y = A @ np.arange(10.0)
    leak = seepage.measure(LinearRegression().fit(A, y), A, y, noise_scale=1.0)
    assert (leak.examples["eta"] > 0).all()


def test_equal_rows_leak_equally():
    features, labels = np.repeat(A[:1], 20, axis=0), np.repeat(B[:1], 20)
    leak = seepage.measure(Ridge().fit(features, labels), features, labels, noise_scale=1.0)
    assert leak.examples["eta"].std() == pytest.approx(0, abs=1e-12)


def test_a_person_of_weight_zero_leaks_nothing_and_has_no_floor():
    weights = np.ones(442)
    weights[5] = 0
    model = Ridge().fit(X, Y, weights)
    leak = seepage.measure(model, X, Y, noise_scale=1.0, sample_weight=weights)
    assert leak.examples["eta"][5] == 0
    assert np.isinf(leak.error_floor()["age"][5])
    assert pd.api.types.is_float_dtype(leak.error_floor()["age"])
