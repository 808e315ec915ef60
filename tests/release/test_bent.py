"""Publishing models behind steps that are not affine."""

import io

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

import seepage

RANDOM = np.random.default_rng(5)
TABLE = pd.DataFrame(
    {
        "age": RANDOM.uniform(20, 80, 300),
        "dose": RANDOM.gamma(3.0, 1.0, 300),
        "bmi": RANDOM.normal(27.0, 3.0, 300),
        "ward": RANDOM.choice(["a", "b", "c"], 300),
    }
)
ILL = pd.Series(RANDOM.random(300) < 1 / (1 + np.exp(-(TABLE["age"] - 50) / 10)), name="ill")
KNOTS = [[15.0], [35.0], [55.0], [75.0], [95.0]]
STEPS = make_column_transformer(
    (SplineTransformer(knots=KNOTS, include_bias=False), ["age"]),
    (FunctionTransformer(np.log1p), ["dose"]),
    (PolynomialFeatures(2, interaction_only=True, include_bias=False), ["bmi", "dose"]),
    (OneHotEncoder(categories=[["a", "b", "c"]], drop="first"), ["ward"]),
)
# Next to no noise: what is published must be the model.
QUIET = {"noise_scale": 1e-9, "accept": None, "noise_chosen_without_data": True}


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_what_is_published_predicts_as_the_model_does(scaled, library):
    steps, rows = STEPS, TABLE
    if library == "numpy":
        rows = TABLE[["age", "dose", "bmi"]].to_numpy()
        steps = make_column_transformer(
            (make_pipeline(FunctionTransformer(np.sqrt), PolynomialFeatures(2)), [1, 0]), remainder="passthrough"
        )
    elif library == "polars":
        import polars

        rows = polars.from_pandas(TABLE)
    model = make_pipeline(steps, *([StandardScaler()] if scaled else []), Ridge()).fit(rows, ILL.astype(float))
    publication = seepage.publish(model, rows, ILL.astype(float), **QUIET)
    np.testing.assert_allclose(publication.estimator.predict(rows), model.predict(rows), atol=1e-5)


def test_coefficients_have_names_and_steps_have_origins():
    model = make_pipeline(STEPS, StandardScaler(), LogisticRegression(tol=1e-8)).fit(TABLE, ILL)
    published = seepage.publish(model, TABLE, ILL, **QUIET).certificate.published
    assert published["parameters"] == [
        *("ward = a", "ward = b", "ward = c"),
        *(f"age, spline {i}" for i in range(1, 7)),
        *("log1p(dose)", "bmi", "dose", "bmi dose"),
        "intercept",
    ]
    assert published["preprocessing"]["columntransformer.splinetransformer (SplineTransformer)"] == "given"
    assert published["preprocessing"]["standardscaler (StandardScaler)"] == "fitted on these rows"


def test_noise_of_the_pipeline_is_noise_of_what_is_published():
    model = make_pipeline(SplineTransformer(knots=KNOTS, include_bias=False), StandardScaler(), Ridge())
    age, y = TABLE[["age"]], TABLE["bmi"]
    model.fit(age, y)
    draws = [
        seepage.publish(model, age, y, noise_scale=0.5, accept=None).estimator[-1].coef_ * model[1].scale_
        for _ in range(40)
    ]
    assert np.sqrt(np.var(draws, axis=0).mean()) == pytest.approx(0.5, rel=0.2)


def test_knots_of_the_people_are_refused_unless_they_are_public():
    age, y = TABLE[["age"]], TABLE["bmi"]
    for knots in ("uniform", "quantile"):
        model = make_pipeline(SplineTransformer(knots=knots), Ridge()).fit(age, y)
        with pytest.raises(seepage.errors.UnsupportedError, match=r"took its knots from these people.*knots=\[\["):
            seepage.publish(model, age, y, noise_scale=1.0, accept=None)
        publication = seepage.publish(
            model, age, y, noise_scale=1.0, accept=None, public_preprocessing=["splinetransformer"]
        )
        assert publication.certificate.published["preprocessing"] == {"splinetransformer (SplineTransformer)": "public"}


def test_a_fitted_scaler_in_front_is_refused():
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), Ridge())
    rows, y = TABLE[["age", "dose"]], TABLE["bmi"]
    model.fit(rows, y)
    with pytest.raises(seepage.errors.UnsupportedError, match="behind splines, powers and functions"):
        seepage.publish(model, rows, y, noise_scale=1.0, accept=None)
    with pytest.raises(seepage.errors.UnsupportedError, match="put the other steps behind it"):
        seepage.publish(model, rows, y, noise_scale=1.0, accept=None, public_preprocessing=["standardscaler"])


def test_a_file_holds_nothing_of_the_rows_and_opens():
    model = make_pipeline(STEPS, StandardScaler(), LogisticRegression(tol=1e-8)).fit(TABLE, ILL)
    publication = seepage.publish(model, TABLE, ILL, noise_scale=0.1, accept=None)
    content = skops.io.dumps(publication.estimator)
    unknown = skops.io.get_untrusted_types(data=content)
    assert set(unknown) <= {
        "scipy.interpolate._bsplines.BSpline",
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
    }
    again = skops.io.loads(content, trusted=unknown)
    np.testing.assert_array_equal(again.predict_proba(TABLE), publication.estimator.predict_proba(TABLE))
    for name in ("age", "dose", "bmi"):
        for value in (*TABLE[name].head(40), TABLE[name].mean(), TABLE[name].std(ddof=0), TABLE[name].min()):
            assert np.float64(value).tobytes() not in content
            assert repr(float(value)).encode() not in content


def test_a_page_about_curves_holds_verdicts_alone():
    people = pd.concat([TABLE] * 4, ignore_index=True)
    people["age"] += RANDOM.normal(size=len(people)) * 0.1
    y = people["bmi"] + RANDOM.normal(size=len(people))
    model = make_pipeline(SplineTransformer(knots=KNOTS, include_bias=False), Ridge()).fit(people[["age"]], y)
    leak = seepage.measure(model, people[["age"]], y, noise_scale=5.0)
    page = io.StringIO(seepage.Report.of(leak, "publishable", policy={"error_floor": {"age": 0.5}}).html()).read()
    assert "age" in page
    assert "0.5" in page
    internal = seepage.Report.of(leak, "internal").html()
    assert len(internal) > len(page)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_products_of_levels_numbers_and_functions(library):
    levels = OneHotEncoder(categories=[["a", "b", "c"]], drop="first")
    factors = make_column_transformer(
        (levels, ["ward"]), ("passthrough", ["age"]), (FunctionTransformer(np.log1p), ["dose"])
    )
    products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    rows, y = TABLE[["ward", "age", "dose"]], TABLE["bmi"]
    if library == "polars":
        import polars

        rows = polars.from_pandas(rows)
    model = make_pipeline(factors, products, StandardScaler(), Ridge()).fit(rows, y)
    publication = seepage.publish(model, rows, y, **QUIET)
    np.testing.assert_allclose(publication.estimator.predict(rows), model.predict(rows), rtol=1e-6)
    assert publication.certificate.published["parameters"] == [
        *("ward = b", "ward = c", "age", "log1p(dose)", "ward = b * ward = c"),
        *("ward = b * age", "ward = b * log1p(dose)", "ward = c * age", "ward = c * log1p(dose)"),
        *("age log1p(dose)", "intercept"),
    ]


def test_products_of_levels_that_were_put_together_are_refused():
    rows = TABLE[["ward", "age"]].assign(ward=np.where(np.arange(300) < 5, "attic", TABLE["ward"]))
    factors = make_column_transformer(
        (OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"), ["ward"]), ("passthrough", ["age"])
    )
    model = make_pipeline(factors, PolynomialFeatures(2, interaction_only=True, include_bias=False), Ridge())
    public = {"noise_scale": 1.0, "accept": None, "public_preprocessing": ["onehotencoder"]}
    with pytest.raises(seepage.errors.UnsupportedError, match="put together for being rare"):
        seepage.publish(model.fit(rows, TABLE["bmi"]), rows, TABLE["bmi"], **public)
