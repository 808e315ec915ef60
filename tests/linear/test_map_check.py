"""What preprocessing does is compared with its map on every row: whatever it was fitted as, it is what it does."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

import seepage
from seepage._tables import Table
from seepage.linear.columns import Features, check_map, missing_cells, through

SCALERS = [StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA]


def _data(seed, n=60, p=3, spread=3):
    random = np.random.default_rng(seed)
    X = random.lognormal(size=(n, p)) * 10 ** random.uniform(-spread, spread, p)
    return X, random.normal(size=n)


def _altering(kind, alter):
    """Return a subclass whose transform does something else besides."""

    class Altered(kind):
        def transform(self, X):
            return alter(super().transform(X))

    return Altered


ALTERATIONS = {
    "a logarithm": lambda Z: np.sign(Z) * np.log1p(np.abs(Z)),
    "a cut": lambda Z: np.minimum(Z, np.quantile(Z, 0.98, axis=0)),
    "one value": lambda Z: Z + 1e-4 * np.abs(Z).max(axis=0) * (np.arange(len(Z)) == len(Z) - 1)[:, None],
    "another unit": lambda Z: 2 * Z,
}


@pytest.mark.parametrize("seed", range(8))
def test_a_step_that_does_something_else_than_its_class_is_refused_by_name(seed):
    random, (X, y) = np.random.default_rng(seed), _data(seed)
    step = _altering(SCALERS[seed % 5], ALTERATIONS[random.choice(list(ALTERATIONS))])()
    model = make_pipeline(MaxAbsScaler(), step, Ridge()).fit(X, y)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"'altered' \(Altered\) does not do what its class says"):
        seepage.measure(model, X, y, noise_scale=1.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_subclass_that_does_the_same_is_measured(seed):
    single = seed % 2 == 1
    # Of six orders of magnitude, single precision would lose the smaller ones in a turned column.
    X, y = _data(seed, spread=0.5 if single else 3)
    X = X.astype(np.float32) if single else X

    class Same(SCALERS[seed]):
        pass

    mine = seepage.measure(make_pipeline(Same(), Ridge()).fit(X, y), X, y, noise_scale=1.0)
    theirs = seepage.measure(make_pipeline(SCALERS[seed](), Ridge()).fit(X, y), X, y, noise_scale=1.0)
    np.testing.assert_array_equal(mine.examples["eta"], theirs.examples["eta"])


def test_a_changed_cell_is_found_wherever_it_is():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=40), "k": random.choice(list("xyz"), 40), "b": random.normal(size=40)})
    steps = make_pipeline(
        ColumnTransformer(
            [
                ("numbers", FeatureUnion([("s", StandardScaler()), ("m", MinMaxScaler())]), ["a", "b"]),
                ("levels", OneHotEncoder(), ["k"]),
            ]
        )
    ).fit(X)
    affine, table = through(steps, Features.raw(3), ""), Table.of(X)
    features = steps.transform(X)
    dense = features.toarray() if sparse.issparse(features) else np.array(features)
    check_map(affine, table, dense, missing_cells(affine, table), steps, 0)
    check_map(affine, table, sparse.csr_array(dense), {}, steps, 0)
    for row, feature in ((0, 0), (39, 3), (17, 4), (5, 6)):
        wrong = dense.copy()
        wrong[row, feature] += 1e-6
        for given in (wrong, sparse.csr_array(wrong)):
            with pytest.raises(seepage.errors.UnsupportedError, match=f"in row {row + 100} feature {feature} "):
                check_map(affine, table, given, {}, steps, 100)


@pytest.mark.parametrize("first", [None, "first", "if_binary"])
@pytest.mark.parametrize("second", [None, "first", ["b"]])
def test_levels_are_known_by_their_values_whatever_two_encoders_drop(first, second):
    random = np.random.default_rng(3)
    n = 90
    k = random.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1])
    X, y = pd.DataFrame({"k": k, "z": random.normal(size=n)}), (random.normal(size=n) + (k == "b") > 0).astype(int)
    before = ColumnTransformer(
        [
            ("one", OneHotEncoder(drop=first, sparse_output=False), ["k"]),
            ("two", OneHotEncoder(drop=second, sparse_output=False), ["k"]),
            ("z", "passthrough", ["z"]),
        ]
    )
    model = make_pipeline(before, LogisticRegression(tol=1e-10, max_iter=1000)).fit(X, y)
    found = np.asarray(seepage.measure(model, X, y, noise_scale=1.0, public_label=True).attributes["k"])
    # By hand: the derivative in each level's indicator, from what each level becomes.
    F = np.column_stack([model[:-1].transform(X), np.ones(n)])
    levels = pd.DataFrame({"k": list("abcd"), "z": 0.0})
    T = np.column_stack([model[:-1].transform(levels), np.zeros(4)]).T
    T = np.unique(T[:, T.any(axis=0)], axis=1)
    theta = np.append(model[-1].coef_[0], model[-1].intercept_)
    P = np.diag([1.0] * (F.shape[1] - 1) + [0.0])
    for _ in range(20):
        s = 1 / (1 + np.exp(-F @ theta))
        H = (F * (s * (1 - s))[:, None]).T @ F + P
        theta = theta - np.linalg.solve(H, F.T @ (s - y) + P @ theta)
    moved = [np.linalg.solve(H, (s[i] - y[i]) * T + s[i] * (1 - s[i]) * np.outer(F[i], theta @ T)) for i in range(n)]
    np.testing.assert_allclose(found, [np.linalg.norm(each, 2) for each in moved], rtol=1e-8)


def test_two_encoders_of_one_column_with_other_rare_levels_are_refused():
    X, y = pd.DataFrame({"k": list("aaaabbbccd")}), np.arange(10.0)
    before = ColumnTransformer([("one", OneHotEncoder(), ["k"]), ("two", OneHotEncoder(min_frequency=3), ["k"])])
    model = make_pipeline(before, Ridge()).fit(X, y)
    with pytest.raises(seepage.errors.UnsupportedError, match=r"Two encoders .* in both.*Way out: one encoder"):
        seepage.measure(model, X, y, noise_scale=1.0)
