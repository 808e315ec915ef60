"""Arguments that mean nothing are refused with the way out; extreme ones that mean something have their limit."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage import Report

random = np.random.default_rng(0)
N = 60
X = pd.DataFrame(
    {"a": random.normal(size=N), "b": random.normal(3, 2, size=N), "k": random.choice(list("xyz"), N), "z": 1.0}
)
Y = X["a"].to_numpy() + random.normal(size=N)
STEPS = ColumnTransformer([("s", StandardScaler(), ["a"]), ("o", OneHotEncoder(drop="first"), ["k"])])
MODEL = make_pipeline(STEPS, Ridge(solver="cholesky")).fit(X, Y)
LEAK = seepage.measure(MODEL, X, Y, noise_scale=1.0)
CALIBRATED = partial(seepage.calibrate, LEAK, shape="isotropic")

REFUSED = {
    "a prior of a category": (lambda: LEAK.remaining_variance(prior={"k": 0.25}), "'k' is a category.*success_rate"),
    "a floor with a prior of a category": (lambda: LEAK.error_floor(prior={"k": 0.25}), "'k' is a category"),
    "a prior that is a number": (lambda: LEAK.error_floor(prior=2.0), "mapping from attribute to variance, not 2.0"),
    "a prior that is text": (lambda: LEAK.error_floor(prior={"a": "1"}), "must be a number, not '1'"),
    "a negative prior": (lambda: LEAK.error_floor(prior={"a": -1.0}), "must be positive, not -1.0"),
    "a prior of nothing": (lambda: LEAK.error_floor(prior={"q": 1.0}), "no private attribute 'q'"),
    "an interval that is a number": (lambda: LEAK.error_floor(interval={"a": 10}), r"\(low, high\), not 10"),
    "an interval of text": (lambda: LEAK.error_floor(interval={"a": "ab"}), r"\(low, high\), not 'ab'"),
    "a reversed interval": (lambda: LEAK.error_floor(interval={"a": (1e6, 0)}), "begin below its end"),
    "an empty interval": (lambda: LEAK.error_floor(interval={"a": (1, 1)}), "begin below its end"),
    "an interval of NaN": (lambda: LEAK.error_floor(interval={"a": (np.nan, 1)}), "begin below its end"),
    "intervals that are none": (lambda: LEAK.error_floor(interval=3), "mapping from attribute to"),
    "a translated reversed interval": (lambda: LEAK.privacy_measures(interval={"a": (2, 1)}), "begin below its end"),
    "a floor for all": (lambda: CALIBRATED(error_floor=5.0), "error_floor .*'age': 5.0.*, not 5.0"),
    "a floor as text": (lambda: CALIBRATED(error_floor={"a": "5"}), "must be a number, not '5'"),
    "a rate for all": (lambda: CALIBRATED(success_rate=0.6), "success_rate .*, not 0.6"),
    "eta as text": (lambda: CALIBRATED(eta="1"), "eta must be a number, not '1'"),
    "a share as text": (lambda: CALIBRATED(eta=1.0, quantile="all"), "quantile must be a number"),
    "several releases' noise": (lambda: seepage.calibrate(seepage.compose([LEAK, LEAK]), eta=1.0), "each release by"),
    "no resamples": (lambda: LEAK.by_group(X["k"], resamples=0), "resamples must be a positive whole number, not 0"),
    "a missing group": (lambda: LEAK.by_group(pd.Series(["u", pd.NA] * 30, dtype="string")), "missing group label"),
    "numbers as text": (lambda: seepage.measure(MODEL, X, Y, noise_scale=1.0, numbers="a"), r"write numbers=\['a'\]"),
    "numbers that are no columns": (
        lambda: seepage.measure(MODEL, X, Y, noise_scale=1.0, numbers=["q"]),
        "numbers names 'q', which is no column",
    ),
    "two columns of one name": (
        lambda: seepage.measure(
            Ridge().fit(X[["a", "b"]].to_numpy(), Y), X[["a", "b"]].set_axis(["a", "a"], axis=1), Y, noise_scale=1.0
        ),
        "two columns called 'a'",
    ),
    "several labels a row": (
        lambda: seepage.measure(
            RidgeClassifier().fit(X[["a", "b"]], np.column_stack([Y > 0, Y < 1])),
            X[["a", "b"]],
            np.column_stack([Y > 0, Y < 1]),
            noise_scale=1.0,
        ),
        "several labels a row.*seepage.compose",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_means_nothing_is_refused_with_the_way_out(what):
    ask, message = REFUSED[what]
    with pytest.raises(seepage.errors.SeepageError, match=message):
        ask()


def test_an_infinite_prior_is_no_prior():
    np.testing.assert_allclose(LEAK.error_floor(prior={"a": np.inf})["a"], LEAK.error_floor()["a"])
    np.testing.assert_array_equal(LEAK.remaining_variance(prior={"a": np.inf})["a"], 0.0)


@pytest.mark.parametrize("unused", [10, 40])
def test_a_summary_of_people_without_information_is_no_error(unused):
    weights = (np.arange(N) >= unused).astype(float)
    model = Ridge().fit(X[["a", "b"]], Y, sample_weight=weights)
    text = seepage.measure(model, X[["a", "b"]], Y, noise_scale=1.0, sample_weight=weights).summary()
    assert ("the median eta is 0" in text) == (unused > N / 2)


def test_nothing_private_and_a_column_that_the_model_never_sees():
    nothing = seepage.measure(MODEL, X, Y, noise_scale=1.0, attributes=[], public_label=True)
    assert "nobody has a value" in nothing.summary()
    dropped = seepage.measure(MODEL, X, Y, noise_scale=1.0, attributes=["a", "b"], public_label=True)
    assert "says nothing" in dropped.summary()
    alone = seepage.measure(MODEL, X, Y, noise_scale=1.0, attributes=["a"], public_label=True)
    # It is a private value all the same: the mean is over two.
    np.testing.assert_allclose(dropped.examples["dfil"], alone.examples["dfil"] / np.sqrt(2))


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)])
def test_columns_may_be_called_by_numbers(steps):
    numbered = pd.DataFrame(random.normal(size=(N, 3)))
    model = clone(make_pipeline(*steps, Ridge())).fit(numbered, Y)
    leak = seepage.measure(model, numbered, Y, noise_scale=1.0)
    named = numbered.rename(columns=lambda i: f"c{i}")
    same = seepage.measure(clone(make_pipeline(*steps, Ridge())).fit(named, Y), named, Y, noise_scale=1.0)
    np.testing.assert_allclose(leak.attributes, same.attributes)
    assert list(leak.attributes) == ["0", "1", "2", "label"]
    np.testing.assert_allclose(leak.remaining_variance(), same.remaining_variance())
    rates = leak.success_rate("1", values=[numbered[1][0], 2.5])
    np.testing.assert_allclose(rates["distance"], same.success_rate("c1", values=[numbered[1][0], 2.5])["distance"])
    assert Report.of(leak, "internal").markdown()


def test_what_the_model_never_sees_may_be_missing():
    noted = X.assign(note=[None] * (N - 1) + ["x"], z=np.nan)
    leak = seepage.measure(clone(MODEL).fit(noted, Y), noted, Y, noise_scale=1.0)
    np.testing.assert_allclose(leak.examples, LEAK.examples)


@pytest.mark.parametrize("codes", [(0, 1), (1, 2), (-1.0, 1.0), (False, True), (3.5, 40.0)])
def test_a_column_with_two_values_is_a_category_unless_it_is_called_a_number(codes):
    two = X[["a", "b"]].assign(two=np.array(codes)[random.integers(0, 2, N)])
    model = Ridge().fit(two, Y)
    leak = seepage.measure(model, two, Y, noise_scale=1.0)
    assert leak.information.categorical == {"two"}
    assert "two" not in leak.error_floor()
    assert "two" in leak.attributes
    assert re.search(r"^two +50%( +[\d.]+%){3}$", leak.summary(), re.MULTILINE)
    rates = leak.success_rate("two")
    assert set(rates["value"]) == set(codes)
    # One refit by hand.
    changed = two.copy()
    changed.loc[5, "two"] = codes[0] if two["two"][5] == codes[1] else codes[1]
    refit = Ridge().fit(changed, Y)
    moved = np.append(refit.coef_ - model.coef_, refit.intercept_ - model.intercept_)
    assert rates["distance"].iloc[5] == pytest.approx(np.linalg.norm(moved), rel=1e-6)
    number = seepage.measure(model, two, Y, noise_scale=1.0, numbers=["two"])
    assert number.information.categorical == frozenset()
    np.testing.assert_allclose(number.error_floor()["two"], 1 / leak.attributes["two"])


@pytest.mark.parametrize(
    ("column", "category"),
    [
        (np.eye(N)[0], False),
        (np.eye(N)[0].astype(int), True),
        (np.eye(N)[0].astype(bool), True),
        (np.eye(N)[0].astype(int) * 200, False),
        (np.eye(N)[0] + np.eye(N)[1], True),
        (np.arange(N) % 3, False),
    ],
)
def test_two_numbers_are_codes_if_they_look_like_codes_or_many_people_have_them(column, category):
    # With so many rows one person is less than one in a hundred.
    many = pd.DataFrame({"a": np.tile(X["a"], 3), "c": np.concatenate([column, np.zeros(2 * N, column.dtype)])})
    labels = random.normal(size=3 * N)
    found = seepage.measure(Ridge().fit(many, labels), many, labels, noise_scale=1.0).information.categorical
    assert (found == {"c"}) == category


def test_several_targets_have_a_variance_each():
    targets = np.column_stack([Y, 1000 + 5 * random.normal(size=N)])
    leak = seepage.measure(Ridge().fit(X[["a", "b"]], targets), X[["a", "b"]], targets, noise_scale=0.1)
    variances = targets.var(axis=0)
    np.testing.assert_allclose(leak.information.variances()["label"], variances)
    # What is told is about the target that can be guessed best, each by somebody who knows the other.
    each = [seepage.meaning.EmpiricalPrior.of(column) for column in targets.T]
    eta = leak.attributes["label"].to_numpy()
    floor = leak.error_floor(prior="data")["label"]
    np.testing.assert_allclose(floor, np.min([prior.floor(eta) for prior in each], axis=0))
    np.testing.assert_allclose(leak.remaining_variance()["label"], np.min([prior.left(eta) for prior in each], axis=0))
    assert (floor <= np.sqrt(variances.min())).all()


def test_releases_that_count_other_numbers_of_values_add_their_traces():
    frame = X[["a", "b", "k"]]
    private = ["a", "b", "k"]
    one = seepage.measure(
        make_pipeline(
            ColumnTransformer([("o", OneHotEncoder(), ["k"])], remainder="passthrough"), Ridge(solver="cholesky")
        ).fit(frame, Y),
        frame,
        Y,
        noise_scale=1.0,
        attributes=private,
    )
    two = seepage.measure(MODEL, frame.assign(z=1.0), Y, noise_scale=1.0, attributes=private)
    assert (one.information.private_values, two.information.private_values) == (6, 5)
    both = seepage.compose([one, two])
    trace = 6 * one.examples["dfil"] ** 2 + 5 * two.examples["dfil"] ** 2
    np.testing.assert_allclose(both.examples["dfil"], np.sqrt(trace / 6))


def test_labels_that_are_coded_in_other_numbers_are_not_added():
    frame, labels = X[["a", "b"]], (Y > 0).astype(int)
    models = RidgeClassifier(solver="svd").fit(frame, labels), LogisticRegression(tol=1e-10).fit(frame, labels)
    ridge, logistic = (seepage.measure(model, frame, labels, noise_scale=1.0) for model in models)
    with pytest.raises(
        seepage.errors.InputError, match=r"counted as -1 and 1 in release 1 and as 0 and 1 in release 2"
    ):
        seepage.compose([ridge, logistic])
    public = [seepage.measure(model, frame, labels, noise_scale=1.0, public_label=True) for model in models]
    assert len(seepage.compose(public).examples) == N
    assert len(seepage.compose([ridge, ridge]).examples) == N
