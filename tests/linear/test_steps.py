"""Preprocessing steps as affine maps, against the steps themselves."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import seepage
from seepage.linear.columns import Features, through

random = np.random.default_rng(5)
NUMBERS = random.normal(size=(50, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -2]
MIXED = pd.DataFrame(
    {
        "age": NUMBERS[:, 0],
        "ward": random.choice(["a", "b", "c"], 50),
        "dose": NUMBERS[:, 1],
        "sex": random.choice(["f", "m"], 50),
        "rare": random.choice(["x", "y", "u", "v"], 50, p=[0.5, 0.4, 0.06, 0.04]),
    }
)


def _dense(features):
    return features.toarray() if sparse.issparse(features) else np.asarray(features)


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-1, 2)),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False),
        RobustScaler(with_scaling=False),
        PCA(3),
        PCA(2, whiten=True),
        TruncatedSVD(2),
        SimpleImputer(),
        FunctionTransformer(),
        VarianceThreshold(0.5),
        SelectKBest(f_regression, k=2),
        "passthrough",
        make_pipeline(StandardScaler(), PCA(2)),
        FeatureUnion([("a", StandardScaler()), ("b", PCA(1))], transformer_weights={"b": 2.0}),
        ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", "drop", [1])], remainder="passthrough"),
        ColumnTransformer([("a", MinMaxScaler(), slice(1, 3))], transformer_weights={"a": 3.0}),
        ColumnTransformer([("a", MaxAbsScaler(), np.array([True, False, False, True]))]),
    ],
    ids=lambda step: str(step).split(", score_func")[0],
)
def test_a_numeric_step_is_its_affine_map(step):
    pipeline = Pipeline([("step", step)]).fit(NUMBERS, NUMBERS[:, 0])
    affine = through(pipeline, Features.raw(4), "")
    coordinates = NUMBERS[:, [c.column for c in affine.coordinates]]
    expected = _dense(pipeline.transform(NUMBERS))
    np.testing.assert_allclose(coordinates @ affine.matrix.toarray().T + affine.offset, expected, atol=1e-12)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first"),
        OneHotEncoder(drop="if_binary"),
        OneHotEncoder(min_frequency=8),
        OneHotEncoder(min_frequency=8, drop="first"),
        OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
    ],
    ids=lambda step: str(step).split(", score_func")[0],
)
@pytest.mark.parametrize("columns", [["ward", "sex", "rare"], make_column_selector(dtype_exclude=np.number)])
def test_an_encoded_column_is_one_attribute_of_indicators(encoder, columns):
    pipeline = make_pipeline(
        ColumnTransformer(
            [
                ("numbers", StandardScaler(), ["dose", "age"]),
                ("levels", make_pipeline(SimpleImputer(strategy="most_frequent"), encoder), columns),
            ]
        )
    ).fit(MIXED)
    affine = through(pipeline, Features.raw(5), "")
    hot = _dense(pipeline.transform(MIXED))[:, 2:]
    values = {0: MIXED["age"].to_numpy(), 2: MIXED["dose"].to_numpy()}
    by_column = [c for c in affine.coordinates if c.level is not None]
    coordinates = np.column_stack(
        [values[c.column] if c.level is None else hot[:, by_column.index(c)] for c in affine.coordinates]
    )
    np.testing.assert_allclose(
        coordinates @ affine.matrix.toarray().T + affine.offset, _dense(pipeline.transform(MIXED)), atol=1e-12
    )
    assert [affine.is_categorical(column) for column in range(5)] == [False, True, False, True, True]


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (QuantileTransformer(n_quantiles=5), "QuantileTransformer"),
        (Binarizer(), "Binarizer"),
        (SplineTransformer(degree=0, extrapolation="continue"), "SplineTransformer"),
        (KBinsDiscretizer(2, quantile_method="averaged_inverted_cdf"), "KBinsDiscretizer"),
        (MinMaxScaler(clip=True), "clip"),
        (FunctionTransformer(lambda X: X - X.mean(axis=0)), "several rows together"),
        (make_pipeline(StandardScaler(), OneHotEncoder(handle_unknown="ignore")), "before any step"),
    ],
    ids=lambda step: str(step).split(", score_func")[0].partition(" at 0x")[0],
)
def test_a_step_that_is_not_affine_is_refused_by_name_with_the_way_out(step, reason):
    model = make_pipeline(step, Ridge()).fit(NUMBERS, NUMBERS[:, 0])
    with pytest.raises(seepage.errors.UnsupportedError, match=reason) as raised:
        seepage.measure(model, NUMBERS, NUMBERS[:, 0], noise_scale=1.0)
    assert "Way out" in str(raised.value)
