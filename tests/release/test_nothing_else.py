"""Files that leave hold nothing of the rows but what carries noise: looked for byte by byte, and attacked."""

import io
import pickle
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage._amounts import up_to_grid

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
TIGHT = {"tol": 1e-10, "max_iter": 100_000}
_RANDOM = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "income": _RANDOM.lognormal(10, 1, 400),
        "age": _RANDOM.integers(18, 90, 400) + _RANDOM.random(400),
        "ward": _RANDOM.choice(["east wing", "north wing", "south wing"], 400),
        "job": _RANDOM.choice(
            ["nurse", "porter", "chief of neurosurgery", "the only beekeeper"], 400, p=[0.6, 0.38, 0.01, 0.01]
        ),
        "pressure": np.where(_RANDOM.random(400) < 0.1, np.nan, _RANDOM.normal(120, 15, 400)),
    }
)
ILL = pd.Series(_RANDOM.random(400) < 1 / (1 + np.exp(-(TABLE["age"] - 50) / 20)), name="ill")
NUMBERS = ["income", "age", "pressure"]
LEVELS = [["east wing", "north wing", "south wing"], ["nurse", "porter"]]
COLUMNS = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
    (OneHotEncoder(categories=LEVELS, handle_unknown="ignore"), ["ward", "job"]),
)
MODELS = {
    "diabetes": (make_pipeline(StandardScaler(), Ridge()), X, Y),
    "diabetes, two classes": (make_pipeline(StandardScaler(), LogisticRegression(**TIGHT)), X, Y > 140),
    "a table with categories": (make_pipeline(COLUMNS, LogisticRegression(**TIGHT)), TABLE, ILL),
}


def _personal(frame):
    """Yield what must be nowhere: values, sums, means, deviations, extremes and quantiles of every private number."""
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            continue
        values = frame[name].dropna().to_numpy(dtype=np.float64)
        yield from values
        yield from (values.sum(), values.mean(), values.std(), values.var(), values.std(ddof=1), values.var(ddof=1))
        yield from (values.min(), values.max(), 1 / values.std(), values.mean() / values.std(), np.ptp(values))
        yield from np.quantile(values, [0.25, 0.5, 0.75])
        # The sums of squares of which variances are made.
        yield from (values @ values, values.var() * len(values), np.square(values - values.mean()).sum())


def _stored(estimator):
    """Return the bytes of an estimator as it leaves: pickled, and all entries of its skops file."""
    archive = zipfile.ZipFile(io.BytesIO(skops.io.dumps(estimator)))
    return [pickle.dumps(estimator, protocol=p) for p in (2, 5)] + [archive.read(each) for each in archive.namelist()]


def _traces(frame, contents):
    """Return the private numbers that are in some bytes: as 64-bit floats of either order, or in decimal digits."""
    found = []
    # Small whole numbers and halves are everywhere.
    for value in {value for value in _personal(frame) if len(repr(float(value)).replace(".0", "").strip("-0.")) > 3}:
        forms = [
            struct.pack("<d", value),
            struct.pack(">d", value),
            repr(float(value)).encode(),
            f"{value:.8g}".encode(),
        ]
        forms = [form for form in forms if len(form) > 4]
        found += [value for form in forms if any(form in content for content in contents)]
    return found


@pytest.mark.parametrize("what", MODELS)
def test_no_private_number_is_in_the_files(what):
    model, rows, labels = MODELS[what]
    model.fit(rows, labels)
    publication = seepage.publish(model, rows, labels, noise_scale=1.0, accept=None)
    contents = [*_stored(publication.estimator), publication.certificate.json().encode()]
    assert _traces(rows, contents) == []
    for word in (b"beekeeper", b"neurosurgeon"):
        assert not any(word in content for content in contents)
    # The search would find them: with the scaler left in, and with the exact pipeline.
    left_in = Pipeline([("scaler", StandardScaler().fit(rows[["age"]])), ("model", publication.estimator)])
    assert len(_traces(rows[["age"]], _stored(left_in))) >= 2
    assert _traces(rows, _stored(model))


def test_the_grid_tells_less_than_the_digits_of_a_scale():
    """An attacker who knows all but one age computes the scale for each that is possible, and compares."""

    def scale(ages, person, age):
        moved = X.assign(age=ages)
        moved.loc[person, "age"] = age
        leak = seepage.measure(Ridge().fit(moved, Y), moved, Y, noise_scale=1.0)
        return max(seepage.Policy(error_floor={"age": 5.0, "bmi": 2.0}).factors(leak).values())

    candidates = np.arange(19.0, 80.0, 6.0)
    for person in (0, 57, 123, 256):
        true = scale(X["age"], person, X.loc[person, "age"])
        found = [scale(X["age"], person, age) for age in candidates]
        others = np.abs(candidates - X.loc[person, "age"]) > 1e-9
        assert all(f"{one:.12g}" != f"{true:.12g}" for one in np.array(found)[others])
        with pytest.raises(seepage.errors.InputError, match="1, 2 or 5 times a power of ten"):
            seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=true, accept=None)
        # What publish takes is the same whatever the age is.
        assert {up_to_grid(one) for one in found} == {up_to_grid(true)}
