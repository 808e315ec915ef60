"""Everything that leaves beside the noisy coefficients is the same whatever one person's value is."""

import io
import tempfile
import zipfile
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import seepage
from seepage.release import _publish
from seepage.release._file import as_skops
from seepage.release._publish import ready
from seepage.release._terms import Terms

RANDOM = np.random.default_rng(8)
COUNT = 120
NUMBERS = pd.DataFrame(RANDOM.normal([50, 25], [12, 4], (COUNT, 2)), columns=["age", "bmi"])
PEOPLE = NUMBERS.assign(ward=["south", *RANDOM.choice(["east", "west"], COUNT - 1)])
COST = pd.Series(NUMBERS.to_numpy() @ [0.3, 1.0] + RANDOM.normal(0, 5, COUNT), name="cost")
ILL = pd.Series(np.where(COST.median() < COST, "ill", "well"), name="status")
VISITS = pd.Series(RANDOM.poisson(3, COUNT), name="visits")
HOLES = NUMBERS.where(RANDOM.random(NUMBERS.shape) > 0.05)
WARDS = make_column_transformer(
    (OneHotEncoder(categories=[["east", "west", "south"]], drop="first"), ["ward"]), remainder="passthrough"
)
TIGHT = {"tol": 1e-10, "max_iter": 10_000}
NOW = "2000-01-01T00:00:00Z"
PUBLIC = seepage.Policy(error_floor={"age": 1e-6}, other_attributes="public")
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


def _texts_of(release, noisy, policy):
    """Return each text of a measured release, with these noisy coefficients, without its time and fingerprints."""
    with patch.object(_publish, "drawn", lambda *_: noisy.reshape(release.exact.shape)):
        publication = release.draw()
    fingerprints = {"algorithm": publication.certificate.fingerprints["algorithm"]}
    certificate = replace(publication.certificate, created=NOW, fingerprints=fingerprints)
    publication, files = replace(publication, certificate=certificate), {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("model.toml", "model.skops"):
            try:
                certificate = publication.write(Path(folder, name))
                files[name] = Path(folder, name).read_bytes().hex()
            except seepage.errors.SeepageError as refusal:
                files[name] = f"{type(refusal).__name__}: {refusal}"
    found = {"certificate": certificate.json(), "its page": certificate.html(), "table": str(publication.table())}
    try:
        with patch("seepage.report._report._now", lambda: datetime(2026, 1, 1, tzinfo=timezone.utc)):
            report = seepage.Report.of(release.leak, "publishable", policy=policy, key=b"k" * 32)
        found |= {"report": report.html(), "its text": report.markdown(), "its JSON": report.json()}
    except seepage.errors.SeepageError as refusal:
        found["report"] = f"{type(refusal).__name__}: {refusal}"
    return {**found, **files, "shown": repr(publication) + publication._repr_html_()}


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
        written.append(_texts_of(release, np.linalg.lstsq(folding, leaving)[0], PUBLIC))
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
