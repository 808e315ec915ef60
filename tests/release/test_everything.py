"""Everything that leaves beside the noisy coefficients is the same whatever one person's value is."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, SplineTransformer, StandardScaler

import seepage
from benchmarks import _everything
from benchmarks._everything import Attacked, Outcomes, one_person, person_of, texts_of
from seepage.release._file import as_skops
from seepage.release._publish import ready
from seepage.release._ranges import Ranged
from seepage.release._terms import Terms

RANDOM = np.random.default_rng(8)
COUNT = 120
NUMBERS = pd.DataFrame(RANDOM.normal([50, 25], [12, 4], (COUNT, 2)), columns=["age", "bmi"])
PEOPLE = NUMBERS.assign(ward=["south", *RANDOM.choice(["east", "west"], COUNT - 1)])
COST = pd.Series(NUMBERS.to_numpy() @ [0.3, 1.0] + RANDOM.normal(0, 5, COUNT), name="cost")
ILL = pd.Series(np.where(COST.median() < COST, "ill", "well"), name="status")
VISITS = pd.Series(RANDOM.poisson(3, COUNT), name="visits")
HOLES = NUMBERS.where(RANDOM.random(NUMBERS.shape) > 0.05)
KNOTS = SplineTransformer(knots=np.array([[20.0], [50.0], [80.0]]), degree=2, extrapolation="continue")
WARDS = make_column_transformer(
    (OneHotEncoder(categories=[["east", "west", "south"]], drop="first"), ["ward"]), remainder="passthrough"
)
TIGHT = {"tol": 1e-10, "max_iter": 10_000}
PUBLIC = seepage.Policy(error_floor={"age": 1e-6}, unnamed="public")
KINDS = {
    "ridge": (Ridge(), NUMBERS, COST, {}),
    "least squares": (LinearRegression(), NUMBERS, COST, {}),
    "a scaler of the same rows": (make_pipeline(StandardScaler(), Ridge()), NUMBERS, COST, {}),
    "extremes that are public": (
        make_pipeline(MinMaxScaler(), Ridge()),
        NUMBERS,
        COST,
        {"public_preprocessing": ["minmaxscaler"]},
    ),
    "means in missing cells": (make_pipeline(SimpleImputer(), Ridge()), HOLES, COST, {}),
    "splines": (make_pipeline(KNOTS, Ridge()), NUMBERS[["age"]], COST, {}),
    "levels, one of one person": (make_pipeline(WARDS, Ridge()), PEOPLE, COST, {}),
    "classes": (LogisticRegression(**TIGHT), NUMBERS, ILL, {"classes": ["ill", "well"]}),
    "balanced classes": (
        LogisticRegression(class_weight="balanced", **TIGHT),
        NUMBERS,
        ILL,
        {"classes": ["ill", "well"]},
    ),
    "counts": (PoissonRegressor(alpha=1.0, **TIGHT), NUMBERS, VISITS, {}),
    "weights": (Ridge(), NUMBERS, COST, {"sample_weight": np.linspace(1, 2, COUNT)}),
    "standard errors": (
        LinearRegression(),
        NUMBERS,
        COST,
        {
            "noise_scale": seepage.release.GaussianNoise(standard_errors=1.0),
            "published": ["coefficients", "standard errors"],
        },
    ),
}


def _others(X, y):
    """Yield the data with other values of one person: ordinary and far out ones, and another label."""
    yield X, y
    for value in (18.0, 49.5, 90.0, 50.0):
        yield X.assign(age=np.r_[X["age"][:4], value, X["age"][5:]]), y
    if "ward" in X:
        yield X.assign(ward=["east", *X["ward"][1:]]), y
    other = y.copy()
    other.iloc[4] = y[y != y.iloc[4]].iloc[0]
    yield X, other


def _fitted(model, X, y, terms):
    if terms.public_preprocessing:
        # What is public stays as it is, whoever has which value.
        before = clone(model[:-1]).fit(NUMBERS)
        return Pipeline([*before.steps, ("ridge", clone(model[-1]).fit(before.transform(X), y))])
    return model.fit(X, y, **({} if terms.sample_weight is None else {"sample_weight": terms.sample_weight}))


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_that_leaves_follows_one_persons_value(kind):
    model, X, y, more = KINDS[kind]
    terms, written, leaving = Terms(**{"noise_scale": 1.0, "accept": PUBLIC, **more}), [], None
    for rows, labels in _others(X, y):
        # Variances have noise of their own, drawn anew each time: what is compared is written without them.
        release = replace(ready(_fitted(model, rows, labels, terms), rows, labels, terms), errors=None)
        folding = release.model.rows()
        leaving = folding @ (release.exact.ravel() + 0.5) if leaving is None else leaving
        # The same coefficients leave, in raw units, whatever a scaler of the rows makes of those behind it.
        written.append(texts_of(release, np.linalg.lstsq(folding, leaving)[0], PUBLIC))
    assert len(written) >= 6
    follow = [name for name in written[0] if len({each.get(name) for each in written}) > 1]
    assert not follow, _first_difference(written, follow[0])


def _first_difference(written, name):
    one, other = next((a[name], b[name]) for a in written for b in written if a[name] != b[name])
    at = next(i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y)
    return f"{name}: {one[max(at - 80, 0) : at + 80]!r} and {other[max(at - 80, 0) : at + 80]!r}"


def test_the_file_of_a_model_is_a_function_of_the_model_alone():
    """No addresses in memory, and no time: the same numbers make the same bytes, which load."""
    model = make_pipeline(WARDS, Ridge()).fit(PEOPLE, COST)
    one, other = as_skops(model), as_skops(clone(model).fit(PEOPLE, COST))
    assert one == other
    with zipfile.ZipFile(io.BytesIO(one)) as archive:
        assert archive.namelist()[-1] == "schema.json"
        assert all(name.partition(".")[0].isdigit() and len(name) < 12 for name in archive.namelist()[:-1])
    read = skops.io.loads(one, trusted=skops.io.get_untrusted_types(data=one))
    np.testing.assert_array_equal(read.predict(PEOPLE), model.predict(PEOPLE))
    assert as_skops(Ridge().fit(NUMBERS, COST)) != as_skops(Ridge().fit(NUMBERS, COST + 1))


@pytest.fixture(scope="module")
def small():
    """Return people, one attribute with a range, and a promise about it."""
    X = NUMBERS.clip([0, 8], [100, 42], axis=1)
    return Attacked(Ridge(alpha=2.0), X, COST, "age", 5.0, 0.0, 100.0)


def test_the_procedure_that_an_attacker_reruns_is_that_of_publish(small):
    """Formulas that share nothing with the library find the same noise at every value, and the same slopes."""
    rows, model = small.rows(), small.model.fit(small.X, small.y)
    np.testing.assert_allclose(rows.theta, [*model.coef_, model.intercept_], rtol=1e-9)
    leak = seepage.measure(model, small.X, small.y, noise_scale=1.0, attributes=["age"])
    ranged = Ranged.of(leak, small.policy)
    np.testing.assert_allclose(rows.needs, ranged.needed, rtol=1e-9)
    np.testing.assert_allclose(rows.told, ranged.slopes()[:, 0], rtol=1e-6, atol=1e-12)
    assert rows.needed == pytest.approx(ranged.factor, rel=1e-9)


def test_everything_that_leaves_tells_no_more_than_the_coefficients(small):
    found = [one_person(small, person_of(small, number), number, draws=40) for number in range(10)]
    alone, together = (sum(each["counted"][what] for each in found) for what in ("alone", "together"))
    assert together <= alone + 2
    assert not any(each["differ"] for each in found)
    assert sum(each["counted"]["refused"] for each in found) < 400


def test_within_ranges_the_noise_that_is_needed_hangs_less_on_ones_own_value(small):
    left = [Outcomes.of(small.rows(), person_of(small, number)) for number in range(0, 10, 2)]
    own, ranged = (
        np.array([np.ptp(np.log(getattr(each, name))) for each in left]) for name in ("as_they_are", "needed")
    )
    assert own.max() > 0.05
    assert ranged.max() < own.max() / 2
    for each in left:
        steps = each.chances("counted")
        np.testing.assert_allclose(steps.sum(axis=1), 1.0)
        assert (steps[:, steps.sum(axis=0).argmax()] > 0.001).all()


def test_a_text_that_follows_a_value_is_found(small, monkeypatch):
    honest = _everything.texts_of

    def leaking(release, noisy, policy):
        return {**honest(release, noisy, policy), "note": f"{release.leak.information.examples()['eta'].max():.3g}"}

    monkeypatch.setattr(_everything, "texts_of", leaking)
    assert one_person(small, 0, 0, draws=1)["differ"] == ["note"]
