"""What is published is the same model in raw units: it predicts as the pipeline does, and holds none of its steps."""

import pickle
import shlex

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import seepage
from seepage.release._publish import Terms, ready

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
TIGHT = {"tol": 1e-10, "max_iter": 100_000}
_RANDOM = np.random.default_rng(7)
PEOPLE = X[["age", "bmi", "bp", "s1"]].assign(
    ward=_RANDOM.choice(["east", "north", "south", "west"], len(X), p=[0.3, 0.3, 0.3, 0.1]),
    rare=_RANDOM.choice(["a", "b", "c", "d", "e", "f"], len(X), p=[0.48, 0.48, 0.01, 0.01, 0.01, 0.01]),
    grade=_RANDOM.integers(1, 4, len(X)),
    note="unused",
)
HOLED = PEOPLE.assign(bmi=PEOPLE["bmi"].where(_RANDOM.random(len(X)) > 0.1))
NUMBERS, WORDS = ["age", "bmi", "bp", "s1"], ["ward"]
WARDS = ["east", "north", "south", "west"]

ESTIMATORS = {
    "ridge": (Ridge(), Y),
    "ridge, two targets": (Ridge(), np.column_stack([Y, np.sqrt(Y)])),
    "ridge classifier": (RidgeClassifier(), pd.cut(Y, 3, labels=["low", "middle", "high"]).astype(str)),
    "logistic": (LogisticRegression(**TIGHT), Y > 140),
    "softmax": (LogisticRegression(**TIGHT), pd.cut(Y, 3, labels=["low", "middle", "high"]).astype(str)),
    "Poisson": (PoissonRegressor(**TIGHT), Y),
}
GATHERED = OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist")
STEPS = {
    "scaled": make_column_transformer((StandardScaler(), NUMBERS)),
    "scaled, in another order": make_column_transformer((StandardScaler(), ["s1", "age", "bp"])),
    "levels": make_column_transformer((OneHotEncoder(categories=[WARDS]), WORDS), (StandardScaler(), NUMBERS)),
    "levels, first dropped": make_column_transformer(
        (OneHotEncoder(categories=[WARDS], drop="first"), WORDS), remainder="drop"
    ),
    "some levels, others ignored": make_column_transformer(
        (OneHotEncoder(categories=[["a", "b"]], handle_unknown="ignore"), ["rare"]), (StandardScaler(), NUMBERS)
    ),
    "unknown levels ignored": make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["ward", "grade"]), (StandardScaler(), NUMBERS)
    ),
    "rare levels together": make_column_transformer((GATHERED, ["rare", "ward"]), ("passthrough", ["age", "bmi"])),
    "rare levels together, first dropped": make_column_transformer(
        (clone(GATHERED).set_params(drop="first"), ["rare", "ward"]), (StandardScaler(), NUMBERS)
    ),
    "two encoders of one column": make_column_transformer(
        (GATHERED, ["rare"]),
        (clone(GATHERED).set_params(drop="first"), ["rare"]),
        ("passthrough", ["bp"]),
    ),
    "levels of numbers, and the number": make_column_transformer(
        (OneHotEncoder(), ["grade"]), (StandardScaler(), ["grade", "age"])
    ),
    "levels that are scaled": make_column_transformer(
        (make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()), WORDS), ("passthrough", ["age"])
    ),
    "a union": FeatureUnion(
        [
            ("scaled", make_column_transformer((StandardScaler(), ["age", "bmi"]))),
            ("levels", make_column_transformer((OneHotEncoder(), WORDS))),
        ],
        transformer_weights={"scaled": 0.5},
    ),
    "by their type": make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")), (FunctionTransformer(), ["age"])
    ),
}
# What a mean was filled into, a constant, and a constant before an encoder.
IMPUTED = {
    "a mean": make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS)),
    "a constant": make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="constant", fill_value=25.0), StandardScaler()), NUMBERS),
        (OneHotEncoder(categories=[WARDS]), WORDS),
    ),
}


def _ready(model, features, labels, **terms):
    return ready(model, features, labels, Terms(noise_scale=1.0, accept=None, **terms))


def _named(model, labels):
    """Return terms that give all names: the classes, and levels that an encoder was not given."""
    found = {"public_preprocessing": ["onehotencoder"]} if "OneHotEncoder" in repr(model) else {}
    is_text = np.asarray(labels).dtype.kind in "OU"
    return {**found, "classes": ["low", "middle", "high"]} if is_text else found


def _exact(found):
    """Return the published estimator without noise, to all digits."""
    return found.model.with_parameters(found.exact, digits=None)


def _minimizer(model, found):
    """Return the pipeline at the exact minimizer, which is what carries the noise."""
    again = pickle.loads(pickle.dumps(model))
    last = again[-1] if isinstance(again, Pipeline) else again
    features = last.coef_.shape[-1]
    last.coef_ = found.exact[:, :features].reshape(last.coef_.shape)
    if last.fit_intercept:
        last.intercept_ = found.exact[:, features].reshape(np.shape(last.intercept_))[()]
    return again


def _outputs(model, rows):
    if hasattr(model, "decision_function"):
        return model.decision_function(rows)
    # The Poisson model's margin is the logarithm of what it predicts.
    found = model.predict(rows)
    return np.log(found) if isinstance(model[-1] if isinstance(model, Pipeline) else model, PoissonRegressor) else found


def _assert_same(model, found, rows):
    published, pipeline = _exact(found), _minimizer(model, found)
    wanted = _outputs(pipeline, rows)
    np.testing.assert_allclose(_outputs(published, rows), wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    return published


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("steps", STEPS)
def test_it_predicts_as_the_pipeline_does(steps, kind):
    estimator, labels = ESTIMATORS[kind]
    model = make_pipeline(clone(STEPS[steps]), clone(estimator)).fit(PEOPLE, labels)
    listed = steps in ("levels", "levels, first dropped", "some levels, others ignored")
    terms = _named(model, labels)
    found = _ready(model, PEOPLE, labels, **({**terms, "public_preprocessing": ()} if listed else terms))
    published = _assert_same(model, found, PEOPLE)
    # Also for people whom nobody has seen, in other libraries, with columns in another order, and when read back.
    moved = PEOPLE.sample(frac=1, random_state=0).assign(age=np.linspace(0, 100, len(X)), ward="west", rare="a")
    _assert_same(model, found, moved)
    shuffled = pl.from_pandas(PEOPLE[PEOPLE.columns[::-1]])
    wanted = _outputs(published, PEOPLE)
    np.testing.assert_allclose(_outputs(published, shuffled), wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())
    again = skops.io.loads(
        skops.io.dumps(published), trusted=skops.io.get_untrusted_types(data=skops.io.dumps(published))
    )
    np.testing.assert_array_equal(_outputs(again, PEOPLE), wanted)


@pytest.mark.parametrize("kind", ["ridge", "softmax"])
def test_arrays_fold_like_frames(kind):
    estimator, labels = ESTIMATORS[kind]
    numbers = PEOPLE[[*NUMBERS, "grade"]].to_numpy()
    model = make_pipeline(StandardScaler(), clone(estimator)).fit(numbers, labels)
    published = _assert_same(model, _ready(model, numbers, labels, **_named(model, labels)), numbers)
    assert type(published) is type(estimator)
    mixed = PEOPLE[["ward", "age", "note", "bmi"]].to_numpy()
    steps = make_column_transformer((OneHotEncoder(drop="first"), [0]), (StandardScaler(), [3, 1]))
    model = make_pipeline(steps, clone(estimator)).fit(mixed, labels)
    _assert_same(model, _ready(model, mixed, labels, **_named(model, labels)), mixed)
    levels = make_column_transformer((OneHotEncoder(), [4]), (StandardScaler(), [0, 1]))
    model = make_pipeline(levels, clone(estimator)).fit(numbers, labels)
    _assert_same(model, _ready(model, numbers, labels, **_named(model, labels)), numbers)


def test_sparse_rows_fold_too():
    rows = sparse.random_array((300, 6), density=0.3, rng=np.random.default_rng(0), format="csr")
    labels = rows @ np.arange(6.0) + 1
    model = make_pipeline(StandardScaler(with_mean=False), Ridge()).fit(rows, labels)
    _assert_same(model, _ready(model, rows, labels), rows)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["ridge", "ridge, two targets", "softmax"])
def test_rare_levels_are_told_without_an_intercept_too(kind, fit_intercept):
    estimator, labels = ESTIMATORS[kind]
    estimator = clone(estimator).set_params(fit_intercept=fit_intercept)
    steps = make_column_transformer((GATHERED, ["rare"]), (StandardScaler(with_mean=False), ["age"]))
    model = make_pipeline(steps, estimator).fit(PEOPLE, labels)
    found = _ready(model, PEOPLE, labels, **_named(model, labels))
    published = _assert_same(model, found, PEOPLE)
    # Nobody's rare level is named anywhere, and one that nobody has seen counts as one of them.
    strange = PEOPLE.assign(rare="z")
    np.testing.assert_allclose(
        _outputs(published, strange), _outputs(_minimizer(model, found), strange), rtol=0, atol=1e-9
    )
    named = published[0].named_transformers_
    assert [each.categories[0] for name, each in named.items() if name.startswith("levels")] == [["a", "b"]]


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_what_was_filled_in(kind):
    estimator, labels = ESTIMATORS[kind]
    given = make_pipeline(clone(IMPUTED["a constant"]), clone(estimator)).fit(HOLED, labels)
    _assert_same(given, _ready(given, HOLED, labels), HOLED)
    mean = make_pipeline(clone(IMPUTED["a mean"]), clone(estimator)).fit(HOLED, labels)
    found = _ready(mean, HOLED, labels)
    assert set(found.draft.published["preprocessing"].values()) == {"fitted on these rows"}
    whole = HOLED.dropna()
    published = _assert_same(mean, found, whole)
    # The mean of these people is not there to be filled in.
    with pytest.raises(ValueError, match="contains NaN"):
        published.predict(HOLED)
    public = _ready(mean, HOLED, labels, public_preprocessing=["simpleimputer", "standardscaler"])
    _assert_same(mean, public, HOLED)


def test_numbers_stand_in_the_order_of_their_columns_whatever_fills_them_in():
    constant = {"age": 50.0, "bmi": 9.0, "bp": 25.0}
    steps = [(SimpleImputer(strategy="constant", fill_value=value), [name]) for name, value in constant.items()]
    model = make_pipeline(make_column_transformer(*steps), Ridge()).fit(X[list(constant)], Y)
    assert _ready(model, X[list(constant)], Y).draft.published["parameters"][:3] == list(constant)


def test_a_marker_of_missing_values_is_no_number():
    marked = HOLED.fillna({"bmi": -1.0})
    filling = SimpleImputer(missing_values=-1.0)
    model = make_pipeline(make_column_transformer((filling, NUMBERS)), Ridge()).fit(marked, Y)
    found = _ready(model, marked, Y)
    published = _assert_same(model, found, marked[marked["bmi"] != -1])
    with pytest.raises(ValueError, match="contains NaN"):
        published.predict(marked)
    named = clone(filling).set_params(strategy="constant", fill_value=20.0)
    model = make_pipeline(make_column_transformer((named, NUMBERS)), Ridge()).fit(marked, Y)
    _assert_same(model, _ready(model, marked, Y), marked)


def test_missing_words_are_a_level_once_they_are_named():
    holed = PEOPLE.assign(ward=PEOPLE["ward"].where(PEOPLE["age"] < 60, None).astype(object))
    direct = make_pipeline(make_column_transformer((OneHotEncoder(), WORDS), ("passthrough", ["age"])), Ridge())
    with pytest.raises(seepage.errors.UnsupportedError, match=r"a level for missing values of 'ward'.*SimpleImputer"):
        _ready(direct.fit(holed, Y), holed, Y)
    naming = SimpleImputer(strategy="constant", fill_value="missing")
    levels = OneHotEncoder(categories=[["missing", *WARDS]])
    steps = make_column_transformer((make_pipeline(naming, levels), WORDS), ("passthrough", ["age"]))
    model = make_pipeline(steps, Ridge()).fit(holed, Y)
    found = _ready(model, holed, Y)
    _assert_same(model, found, holed)
    assert "ward = missing" in found.draft.published["parameters"]


def _as_none(frame):
    """Return it with None where words are missing, as Parquet and older versions of pandas have them."""
    return frame.assign(ward=pd.Series([None if pd.isna(each) else each for each in frame["ward"]], dtype=object))


@pytest.mark.parametrize("made", [_as_none, lambda frame: pl.from_pandas(_as_none(frame))], ids=["objects", "polars"])
def test_the_way_out_for_words_that_are_none_is_another_than_what_was_done(made):
    holed = made(PEOPLE[["age", "ward"]].assign(ward=PEOPLE["ward"].where(PEOPLE["age"] < 60)))

    def model(*steps, levels="auto"):
        words = make_pipeline(*steps, OneHotEncoder(categories=levels))
        return make_pipeline(make_column_transformer((words, WORDS), ("passthrough", ["age"])), Ridge()).fit(holed, Y)

    for steps in ([], [SimpleImputer(strategy="constant", fill_value="missing")]):
        with pytest.raises(seepage.errors.UnsupportedError, match="a level for missing values") as told:
            _ready(model(*steps), holed, Y)
        way_out = eval(str(told.value).partition("with ")[2].partition(", and fit")[0])
        given = [["east", "missing", "north", "south", "west"]]
        found = _ready(model(way_out, levels=given), holed, Y)
        assert "ward = missing" in found.draft.published["parameters"]


def test_a_step_whose_name_has_a_space_is_named_so_that_a_shell_takes_it():
    model = Pipeline([("to the limits", MinMaxScaler()), ("ridge", Ridge())]).fit(X[NUMBERS], Y)
    with pytest.raises(seepage.errors.UnsupportedError, match="command line") as told:
        _ready(model, X[NUMBERS], Y)
    option, *name = shlex.split(str(told.value).partition("command line, ")[2].partition(").")[0])
    assert (option, name) == ("--public-preprocessing", ["to the limits"])
    assert _ready(model, X[NUMBERS], Y, public_preprocessing=name).draft.published


# What must not leave, and the way out.


ELSEWHERE = StandardScaler().fit(1.1 * X[NUMBERS] + 1.0)
REFUSED = {
    "the smallest and the largest": (MinMaxScaler(), NUMBERS, "single people.*public_preprocessing="),
    "the largest": (MaxAbsScaler(), NUMBERS, "single people.*public_preprocessing="),
    "quantiles": (RobustScaler(), NUMBERS, "single people.*public_preprocessing="),
    "directions": (PCA(4), NUMBERS, "single people.*public_preprocessing="),
    "chosen columns": (SelectKBest(k=2), NUMBERS, "chose its columns.*public_preprocessing="),
    "a median": (SimpleImputer(strategy="median"), NUMBERS, "medians of age.*public_preprocessing=.*fill_value"),
    "the most frequent": (
        SimpleImputer(strategy="most_frequent"),
        NUMBERS,
        "most frequent.*public_preprocessing=.*fill_value",
    ),
    "levels": (OneHotEncoder(), ["rare"], r"as it found them in the rows.*OneHotEncoder\(categories=\[\['a', 'b', 'c'"),
    "frequent levels": (GATHERED, ["rare"], r"OneHotEncoder\(handle_unknown='ignore', categories=\[\['a', 'b'\]\]\)"),
    "frequent levels of a list": (
        clone(GATHERED).set_params(categories=[["a", "b", "c", "d", "e", "f"]]),
        ["rare"],
        r"OneHotEncoder\(categories=\[\['a', 'b'\]\], handle_unknown='ignore'\)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_values_of_single_people_are_refused_unless_they_are_public(what):
    step, columns, message = REFUSED[what]
    rows = HOLED if isinstance(step, SimpleImputer) else PEOPLE
    model = make_pipeline(make_column_transformer((clone(step), columns)), Ridge()).fit(rows, Y)
    with pytest.raises(seepage.errors.UnsupportedError, match=message):
        _ready(model, rows, Y)
    for name in (type(step).__name__.lower(), "columntransformer", f"columntransformer.{type(step).__name__.lower()}"):
        found = _ready(model, rows, Y, public_preprocessing=[name])
        assert list(found.draft.published["preprocessing"].values()) == ["public"]
    _assert_same(model, found, rows)
    # What was taken from columns that are public is public.
    found = _ready(model, rows, Y, attributes=["note"])
    assert list(found.draft.published["preprocessing"].values()) == ["public"]


def test_constants_of_other_rows_must_be_declared():
    model = Pipeline([("elsewhere", ELSEWHERE), ("ridge", Ridge().fit(ELSEWHERE.transform(X[NUMBERS]), Y))])
    with pytest.raises(seepage.errors.UnsupportedError, match=r"other constants.*public_preprocessing=\['elsewhere'"):
        _ready(model, X[NUMBERS], Y)
    found = _ready(model, X[NUMBERS], Y, public_preprocessing=["elsewhere"])
    assert found.draft.published["preprocessing"] == {"elsewhere (StandardScaler)": "public"}
    near = SimpleImputer().fit(HOLED[NUMBERS].iloc[:-1])
    model = Pipeline([("imputer", near), ("ridge", Ridge().fit(near.transform(HOLED[NUMBERS]), Y))])
    with pytest.raises(seepage.errors.InputError, match="are nearly, and not exactly, those of these rows"):
        _ready(model, HOLED[NUMBERS], Y)
    imputer = SimpleImputer().fit(1.1 * HOLED[NUMBERS])
    model = Pipeline([("imputer", imputer), ("ridge", Ridge().fit(imputer.transform(HOLED[NUMBERS]), Y))])
    with pytest.raises(seepage.errors.UnsupportedError, match=r"other constants than these"):
        _ready(model, HOLED[NUMBERS], Y)
    # A mean that was filled in for nobody has no part in the fit.
    _ready(Pipeline([("imputer", imputer), ("ridge", Ridge().fit(X[NUMBERS], Y))]), X[NUMBERS], Y)


def test_steps_fitted_on_these_rows_are_known_by_any_name():
    numbers = Pipeline([("means", SimpleImputer()), ("unit", StandardScaler())])
    model = Pipeline([("columns", make_column_transformer((numbers, NUMBERS))), ("fit", Ridge())])
    found = _ready(model.fit(HOLED, Y), HOLED, Y).draft.published["preprocessing"]
    assert set(found.values()) == {"fitted on these rows"}
    assert list(found) == ["columns.pipeline.means (SimpleImputer)", "columns.pipeline.unit (StandardScaler)"]


def test_a_scaler_that_was_weighted_is_of_these_rows():
    weights = np.linspace(0.5, 2, len(X))
    model = make_pipeline(StandardScaler(), Ridge())
    model.fit(X, Y, standardscaler__sample_weight=weights, ridge__sample_weight=weights)
    found = _ready(model, X, Y, sample_weight=weights)
    assert set(found.draft.published["preprocessing"].values()) == {"fitted on these rows"}


@pytest.mark.parametrize("step", [SimpleImputer(add_indicator=True), FeatureUnion([("missing", MissingIndicator())])])
def test_indicators_of_missing_cells_are_refused_by_name(step):
    model = make_pipeline(step, Ridge()).fit(HOLED[NUMBERS], Y)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"simpleimputer \(Simple|featureunion.missing \(Missing"):
        _ready(model, HOLED[NUMBERS], Y)


SPANS = {
    "means without an intercept": make_pipeline(StandardScaler(), Ridge(fit_intercept=False)),
    "means of levels without an intercept": make_pipeline(
        make_column_transformer((OneHotEncoder(sparse_output=False), WORDS)),
        StandardScaler(),
        Ridge(fit_intercept=False),
    ),
    "scales before fewer directions": make_pipeline(StandardScaler(), PCA(2), Ridge()),
}


@pytest.mark.parametrize("what", SPANS)
def test_more_parameters_than_carry_noise_would_tell_the_constants(what):
    rows = PEOPLE[WORDS] if "levels" in what else PEOPLE[NUMBERS]
    model = clone(SPANS[what]).fit(rows, Y)
    terms = {"public_preprocessing": ["pca"]} if "pca" in model.named_steps else {}
    # What other steps hide of a scaler is not measured in the first place.
    why = "standardscaler .* is not measured" if "pca" in model.named_steps else "would tell the constants of standard"
    if "levels" in what:
        terms = {"public_preprocessing": ["onehotencoder"]}
    with pytest.raises(seepage.errors.UnsupportedError, match=why):
        _ready(model, rows, Y, **terms)
    # Where they are public there is nothing to tell.
    _ready(model, rows, Y, public_preprocessing=[*terms.get("public_preprocessing", []), "standardscaler"])


def test_as_many_parameters_as_carry_noise_are_fine():
    for model in (
        make_pipeline(StandardScaler(with_mean=False), Ridge(fit_intercept=False)),
        make_pipeline(PCA(2), StandardScaler(), Ridge()),
        make_pipeline(StandardScaler(), SelectKBest(k=2), Ridge()),
    ):
        found = _ready(
            model.fit(PEOPLE[NUMBERS], Y),
            PEOPLE[NUMBERS],
            Y,
            public_preprocessing=[name for name in ("pca", "selectkbest") if name in model.named_steps],
        )
        _assert_same(model, found, PEOPLE[NUMBERS])


# What is drawn.


def test_the_noise_in_raw_units_has_the_covariance_that_is_stated():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X[["age", "bmi"]], Y)
    found, scaler = _ready(model, X[["age", "bmi"]], Y), model[0]
    drawn = [found.draw().estimator for _ in range(4000)]
    raw = np.array([[*one.coef_, one.intercept_] for one in drawn])
    # A of the explanation, written out.
    turn = np.array([[1 / scaler.scale_[0], 0, 0], [0, 1 / scaler.scale_[1], 0], [*(-scaler.mean_ / scaler.scale_), 1]])
    wanted = turn @ turn.T
    spread = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    assert np.abs(np.cov(raw.T) - wanted).max() / spread.max() < 0.12
    np.testing.assert_allclose(np.corrcoef(raw.T), wanted / spread, atol=0.08)
    center = turn @ np.append(found.exact[0, :2], found.exact[0, 2])
    assert (np.abs(raw.mean(axis=0) - center) < 5.5 * np.sqrt(np.diag(wanted) / 4000)).all()


def test_eight_digits_are_published():
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    found = _ready(model, X, Y).draw().estimator
    for value in [*found.coef_, found.intercept_]:
        assert float(f"{value:.8g}") == value


@pytest.mark.parametrize(
    "step", [SplineTransformer(knots=[[15.0], [50.0], [85.0]]), PolynomialFeatures(2), FunctionTransformer(np.log)]
)
def test_behind_steps_that_are_not_affine_nothing_is_published(step):
    ages, y = X[["age"]], Y
    model = make_pipeline(step, Ridge()).fit(ages, y)
    assert seepage.measure(model, ages, y, noise_scale=1.0).error_floor()["age"].min() > 0
    with pytest.raises(seepage.errors.UnsupportedError, match="make these columns before, fit the model on them"):
        seepage.publish(model, ages, y, noise_scale=1.0, accept=None)
