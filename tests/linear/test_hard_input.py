"""Input that no number can be computed from: each line is refused with an error of our own that names the reason."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, MultiTaskLasso, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

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
    # what is wrong: (what the message must say, what differs from a measurement that succeeds)
    "NaN in X": ("missing value .* row 7, column 'bmi'", {"X": _with(np.nan)}),
    "infinity in X": ("infinite in row 7, column 'bmi'", {"X": _with(np.inf)}),
    "NaN in y": ("y has a missing value .* row 3", {"y": np.where(np.arange(442) == 3, np.nan, B)}),
    "strings in X": ("not numbers", {"X": X.astype({"age": str})}),
    "strings in y": ("target of a regression must be numbers, not \\['a'\\]", {"y": np.array(["a"] * 442)}),
    "None in X behind a pipeline": (
        "missing value in column 'bmi'",
        {"model": make_pipeline(StandardScaler(), Ridge()).fit(X, Y), "X": X.assign(bmi=X["bmi"].where(X.index != 7))},
    ),
    "one row less in y": ("442 rows and y has shape \\(441,\\)", {"y": B[1:]}),
    "one column less in X": ("9 columns.*fitted on 10", {"X": A[:, 1:]}),
    "a missing column": ("no column 'bmi'", {"X": X.drop(columns="bmi")}),
    "X with one dimension": ("two dimensions", {"X": B}),
    "no rows": ("no rows", {"X": A[:0], "y": B[:0]}),
    "an unfitted model": ("not fitted", {"model": Ridge()}),
    "a tree model": ("not answered for trees", {"model": RandomForestRegressor(2).fit(A, B)}),
    "an L1 penalty of single steps": (
        "not plain L2.*LogisticRegression with an l1_ratio",
        {"model": SGDClassifier(loss="log_loss", penalty="l1").fit(A, BINARY), "y": BINARY},
    ),
    "an L1 penalty and positive coefficients": ("positive=False", {"model": Lasso(positive=True).fit(A, B)}),
    "an L1 penalty on several targets": (
        "several targets.*one model for each",
        {"model": Lasso().fit(A, np.column_stack([B, -B])), "y": np.column_stack([B, -B])},
    ),
    "an L1 penalty on tasks": (
        "MultiTaskLasso cannot be measured.*one model for each target",
        {"model": MultiTaskLasso().fit(A, np.column_stack([B, -B])), "y": np.column_stack([B, -B])},
    ),
    "an L1 penalty and three classes": (
        "more than two classes.*l1_ratio=0",
        {
            "model": LogisticRegression(l1_ratio=0.5, C=1e-3, solver="saga", tol=0.1).fit(A, BINARY + (B > 250)),
            "y": BINARY + (B > 250),
        },
    ),
    "an L1 penalty that leaves nothing": (
        "All coefficients of this Lasso are zero",
        {"model": Lasso(alpha=1e9, fit_intercept=False).fit(A, B)},
    ),
    "a lasso of other rows": ("not the minimizer", {"model": Lasso(alpha=3.0).fit(A[:380], B[:380])}),
    "a lasso at a kink": (
        "'x1'.*no derivative",
        {
            "model": Lasso(alpha=1.0, fit_intercept=False, tol=1e-12).fit(np.eye(4), [8.0, 4.0, 1.0, -7.0]),
            "X": np.eye(4),
            "y": np.array([8.0, 4.0, 1.0, -7.0]),
        },
    ),
    "a lasso of two equal columns": (
        "not unique",
        {"model": Lasso(alpha=1.0, selection="random", random_state=0).fit(A[:, [2, 2]], B), "X": A[:, [2, 2]]},
    ),
    "a hinge loss": ("hinge.*second derivative", {"model": SGDClassifier().fit(A, BINARY), "y": BINARY}),
    "positive coefficients": ("positive=False", {"model": LinearRegression(positive=True).fit(A, B)}),
    "an unknown class": (
        "none of the model's classes \\[0, 1\\]",
        {"model": LogisticRegression().fit(A, BINARY), "y": BINARY * 2},
    ),
    "zero noise": ("infinite information", {"X": X, "noise_scale": 0}),
    "negative noise": ("positive finite number, not -1", {"X": X, "noise_scale": -1}),
    "NaN noise": ("positive finite number", {"X": X, "noise_scale": np.nan}),
    "a word as noise": ("not 'low'", {"X": X, "noise_scale": "low"}),
    "a covariance of the wrong size": (
        "3 x 3.*11 parameters",
        {"X": X, "noise_scale": seepage.release.GaussianNoise(covariance=np.eye(3))},
    ),
    "an unknown attribute": ("'height', which is no column", {"X": X, "attributes": ["height"]}),
    "an attribute as a string": ("attributes=\\['age'\\]", {"X": X, "attributes": "age"}),
    "negative weights": ("negative in row 0", {"X": X, "sample_weight": -np.ones(442)}),
    "NaN weights": ("sample_weight has a missing value", {"X": X, "sample_weight": np.full(442, np.nan)}),
    "too few weights": ("442 rows, not shape \\(3,\\)", {"X": X, "sample_weight": np.ones(3)}),
    "only zero weights": ("weights are zero", {"X": X, "sample_weight": np.zeros(442)}),
    "too few ids": ("each of the 442 rows", {"X": X, "ids": [1, 2]}),
    "values of 1e150": ("column 'bp'.*float64. Rescale", {"X": _scaled(1e152)}),
    "values of 1e-150": ("column 'bp'.*float64. Rescale", {"X": _scaled(1e-149)}),
    "labels of 1e150": ("y holds .*Rescale", {"y": B * 1e148}),
    "weights of 1e150": ("sample_weight holds", {"sample_weight": np.full(442, 1e150)}),
}


@pytest.mark.parametrize("what", HARD)
def test_hard_input_is_refused_with_its_reason(what):
    message, changes = HARD[what]
    with pytest.raises(seepage.errors.SeepageError, match=message):
        seepage.measure(**{"model": RIDGE, "X": A, "y": B, "noise_scale": 1.0, **changes})


QUESTIONS = {
    "an empty set of people": (lambda leak: leak.joint_information_loss(np.zeros(442, dtype=bool)), "empty set"),
    "a set by number": (lambda leak: leak.joint_information_loss([0, 1, 2]), "True or False for each of the 442"),
    "an unknown attribute": (
        lambda leak: leak.joint_information_loss(attribute="height"),
        "no private attribute 'height'",
    ),
    "groups of the wrong length": (lambda leak: leak.by_group(["a"]), "each of the 442 people"),
    "a person without a group": (lambda leak: leak.by_group([None] + ["a"] * 441), "missing group"),
    "an impossible confidence": (lambda leak: leak.by_group(["a"] * 442, confidence=2), "between 0 and 1"),
    "an unknown statistic": (lambda leak: leak.by_group(["a"] * 442).ratio("mode"), "'mean', 'median', 'max'"),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_a_hard_question_is_refused_with_its_reason(what):
    ask, message = QUESTIONS[what]
    with pytest.raises(seepage.errors.SeepageError, match=message):
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
    with pytest.raises(seepage.errors.InputError, match=message):
        seepage.release.GaussianNoise(**arguments)


def test_an_extreme_scale_is_refused_before_a_scaler_can_hide_it():
    changed = X.assign(bp=X["bp"] * 1e152)
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    with pytest.raises(seepage.errors.InputError, match="column 'bp'"):
        seepage.measure(model, changed, Y, noise_scale=1.0)


def test_a_person_of_weight_zero_leaks_nothing_and_has_no_floor():
    weights = np.ones(442)
    weights[5] = 0
    model = Ridge().fit(X, Y, weights)
    leak = seepage.measure(model, X, Y, noise_scale=1.0, sample_weight=weights)
    assert leak.examples["eta"][5] == 0
    assert np.isinf(leak.error_floor()["age"][5])
    assert pd.api.types.is_float_dtype(leak.error_floor()["age"])


BORN = pd.DataFrame(
    {
        "age": X["age"],
        "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(np.random.default_rng(0).integers(0, 9000, 442), unit="D"),
        "stay": pd.to_timedelta(np.random.default_rng(1).integers(0, 90, 442), unit="D"),
        "y": Y,
    }
)


def _dated(frame, column):
    steps = make_column_transformer((StandardScaler(), [column]), ("passthrough", ["age"]))
    return make_pipeline(steps, Ridge()).fit(frame[["age", column]], Y)


@pytest.mark.parametrize("column", ["born", "stay"])
def test_dates_are_refused_in_ticks_and_measured_in_days(column, tmp_path):
    model = _dated(BORN, column)
    BORN.to_parquet(tmp_path / "people.parquet")
    for rows, given in (
        (BORN, {"y": Y}),
        (pl.from_pandas(BORN), {"y": Y}),
        (tmp_path / "people.parquet", {"target": "y"}),
    ):
        with pytest.raises(
            seepage.errors.InputError, match=f"column '{column}' holds dates or times.*ticks.*days"
        ) as told:
            seepage.measure(model, rows, noise_scale=1.0, **given)
    # The first way out is for dates, the second for lengths of time.
    start, end = {"born": ("measuring: ", ", or column"), "stay": (", or ", " for lengths")}[column]
    days = eval(str(told.value).partition(start)[2].partition(end)[0], {"pandas": pd, "column": BORN[column]})
    people = BORN.assign(**{column: days})
    floors = seepage.measure(_dated(people, column), people, Y, noise_scale=1.0).error_floor()[column]
    # A ridge behind a scaler is the same in every unit of a column: one of the two is known in standard deviations.
    units = (days - days.mean()) / days.std(ddof=0)
    same = BORN.assign(**{column: units})
    expected = seepage.measure(_dated(same, column), same, Y, noise_scale=1.0).error_floor()[column]
    np.testing.assert_allclose(floors, expected * days.std(ddof=0), rtol=1e-6)
    # What everybody knows has no floor, and a category no unit.
    public = seepage.measure(model, BORN, Y, noise_scale=1.0, attributes=["age"])
    assert public.information.attribute_names == ("age", "target")
    levels = BORN.assign(born=BORN["born"].dt.to_period("Y").dt.to_timestamp())
    encoded = make_pipeline(make_column_transformer((OneHotEncoder(), ["born"])), Ridge()).fit(levels[["born"]], Y)
    assert seepage.measure(encoded, levels, Y, noise_scale=1.0).information.categorical == {"born"}


def test_a_target_in_ticks_is_refused():
    model = Ridge().fit(X, BORN["stay"])
    with pytest.raises(seepage.errors.InputError, match=r"target holds dates or times.*days"):
        seepage.measure(model, X, BORN["stay"], noise_scale=1.0)


def test_wider_data_is_refused_with_the_memory_it_would_need() -> None:
    model = Ridge(fit_intercept=False)
    model.coef_, model.intercept_, model.n_features_in_ = np.zeros(30_000), 0.0, 30_000
    X = sparse.csr_array((10, 30_000))
    with pytest.raises(seepage.errors.InputError, match=r"30,000 parameters.* 29 GB"):
        seepage.measure(model, X, np.zeros(10), noise_scale=1.0)
