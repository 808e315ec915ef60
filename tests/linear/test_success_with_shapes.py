"""How often labels and categories are told where the noise takes its shape from the rows: both releases made anew."""

import numpy as np
import pandas as pd
import pytest
from likelihoods import integrated, simulated
from shaping import Procedure
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.release import Balanced, GaussianNoise, InverseHessian, compose

LOSSES = ("squared", "logistic", "poisson")


class Setting:
    """A model with its rows and its noise, drawn at random, and its whole procedure written down once more."""

    def __init__(self, seed, columns=3, n=40, scaled=None, levels=True):
        random = np.random.default_rng(seed)
        self.random, self.loss = random, LOSSES[seed % 3]
        self.scaled = bool(seed % 2) if scaled is None else scaled
        self.names = [f"x{i}" for i in range(columns)]
        X = pd.DataFrame(random.normal(size=(n, columns)) @ random.normal(size=(columns, columns)), columns=self.names)
        if levels:
            X[self.names[-1]] = (random.uniform(size=n) < 0.3).astype(int)
            X.loc[:1, self.names[-1]] = [0, 1]
        margin = X.to_numpy() @ random.normal(size=columns) * 0.4
        self.y = {
            "squared": margin + random.normal(size=n),
            "logistic": (random.uniform(size=n) < 1 / (1 + np.exp(-margin))).astype(float),
            "poisson": random.poisson(np.exp(0.5 * np.clip(margin, -3, 3))).astype(float),
        }[self.loss]
        self.y[:2] = [0.0, 1.0]
        self.X, self.scale = X, float(10 ** random.uniform(-1, 0.7))
        self.penalty = float(10 ** random.uniform(-1, 0.5))
        self.rule = {}
        if random.uniform() < 0.6:
            floors = {i: float(np.exp(random.normal())) for i in range(columns - 1)}
            self.rule = {"floors": floors, "share": 0.3, "balance": 0.5}
        self.weights = random.uniform(0.5, 2.0, n) if seed % 5 == 0 and not self.scaled else None

    @property
    def noise(self):
        if not self.rule:
            return GaussianNoise(shape=InverseHessian(scale=self.scale))
        floors = {self.names[i]: floor for i, floor in self.rule["floors"].items()}
        return GaussianNoise(shape=Balanced(scale=self.scale, floors=floors, share=0.3, balance=0.5))

    def measured(self):
        alpha = self.penalty / (len(self.y) if self.weights is None else self.weights.sum())
        model = {
            "squared": Ridge(alpha=self.penalty),
            "logistic": LogisticRegression(C=1 / self.penalty, tol=1e-12, max_iter=10_000),
            "poisson": PoissonRegressor(alpha=alpha, tol=1e-12, max_iter=10_000),
        }[self.loss]
        model = make_pipeline(*[StandardScaler()] * self.scaled, model)
        given = {} if self.weights is None else {f"{model.steps[-1][0]}__sample_weight": self.weights}
        model.fit(self.X, self.y, **given)
        return seepage.measure(
            model, self.X, self.y, noise_scale=self.noise, sample_weight=self.weights, numbers=self.names[:-1]
        )

    def release(self, X, y):
        """Return mean and covariance of what is published, in raw units."""
        X = np.asarray(X, dtype=float)
        means, scales = (X.mean(axis=0), X.std(axis=0)) if self.scaled else (0.0, np.ones(X.shape[1]))
        rule = self.rule
        if rule:
            # Floors are in units of the raw columns, whatever the scaler makes of them.
            rule = {**rule, "floors": {}, "columns": {i: f / scales[i] for i, f in rule["floors"].items()}}
        procedure = _InRawUnits(self.loss, self.penalty, self.weights, shape=rule)
        theta, covariance = procedure.release((X - means) / scales, y)
        fold = np.diag([*(1 / scales), 1.0])
        fold[-1, :-1] = -means / scales
        return fold @ theta, self.scale**2 * fold @ covariance @ fold.T


class _InRawUnits(Procedure):
    def covariance(self, hessian):
        if not self.shape:
            return super().covariance(hessian)
        # T_j of a raw column is 1 / s_j: weights c_j T T^T, with h_j = H^-1_jj / s_j^2.
        raw, inverse = self.shape["columns"], np.linalg.inv(hessian)
        p, share, balance = len(hessian), self.shape["share"], self.shape["balance"]
        C = np.zeros((p, p))
        for column, floor in raw.items():
            C[column, column] = (inverse[column, column] * floor**2) ** balance * floor**2
        B = C + share * np.trace(inverse @ C) / p * hessian
        values, vectors = np.linalg.eigh(hessian)
        root, back = (vectors * values**0.5) @ vectors.T, (vectors / values**0.5) @ vectors.T
        inner, turn = np.linalg.eigh(back @ B @ back)
        return inverse @ root @ (turn * inner**0.5) @ turn.T @ root @ inverse


@pytest.mark.parametrize("seed", range(50))
def test_no_best_test_is_right_more_often_than_stated(seed):
    setting = Setting(seed)
    leak = setting.measured()
    before = setting.release(setting.X, setting.y)
    label = leak.information.attribute_names[-1]
    categories = leak.success_rate(setting.names[-1])
    labels = leak.success_rate(label, values=[0.0, 1.0])
    for person in (0, 1, int(setting.random.integers(2, 40))):
        other = setting.X.copy()
        other.loc[person, setting.names[-1]] = 1 - other.loc[person, setting.names[-1]]
        stated = categories.loc[[person]]["success_rate"].iloc[0]
        rate, error = simulated(before, setting.release(other, setting.y), 20_000, setting.random)
        assert abs(stated - rate) <= 4.5 * error + 5 / 40_000
    for person in (0, 1):
        for value, stated in labels.loc[[person]][["other", "success_rate"]].itertuples(index=False):
            y = setting.y.copy()
            y[person] = value
            rate, error = simulated(before, setting.release(setting.X, y), 20_000, setting.random)
            assert abs(stated - rate) <= 4.5 * error + 5 / 40_000


@pytest.mark.parametrize("seed", range(6))
def test_of_two_parameters_the_rate_is_the_integral_to_a_millionth(seed):
    setting = Setting(seed, columns=1)
    setting.rule = {}
    leak = setting.measured()
    before, column = setting.release(setting.X, setting.y), setting.names[0]
    for prior, odds in ((None, 1.0), ({0: 0.8, 1: 0.2}, 4.0)):
        rates = leak.success_rate(column, prior=prior)
        for person in (0, 1, 5):
            other = setting.X.copy()
            other.loc[person, column] = 1 - other.loc[person, column]
            own = odds if setting.X.loc[person, column] == 0 else 1 / odds
            expected = integrated(before, setting.release(other, setting.y), own)
            assert -1e-9 <= rates.loc[person, "success_rate"] - expected <= 1e-6


def test_cells_that_hold_a_mean_move_along():
    random = np.random.default_rng(3)
    X = pd.DataFrame(random.normal(size=(40, 2)), columns=["age", "dose"])
    X.loc[[3, 9, 17, 30], "age"] = np.nan
    y = (random.uniform(size=40) < 0.5).astype(float)

    def fitted(frame):
        return make_pipeline(SimpleImputer(), LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000)).fit(frame, y)

    noise = GaussianNoise(shape=InverseHessian(scale=0.7))
    found = seepage.measure(fitted(X), X, y, noise_scale=noise).information.distances("age", [8.0])

    def release(frame):
        theta, covariance = Procedure("logistic", 0.5).release(fitted(frame)[0].transform(frame), y)
        return theta, 0.49 * covariance

    before = release(X)
    for person in (0, 12):
        other = X.copy()
        other.loc[person, "age"] = 8.0
        rate, error = simulated(before, release(other), 40_000, random)
        stated = found.success_rate(np.array([person]), np.array([0]), np.ones(1))[0]
        assert abs(stated - rate) <= 4.5 * error


def test_rows_of_one_person_change_together():
    setting = Setting(4, scaled=False)
    X = setting.X.copy()
    name = setting.names[-1]
    X.loc[[5, 6, 7], name] = 1
    ids = np.arange(40)
    ids[[6, 7]] = 5
    setting.X = X
    whole = setting.measured().information
    leak = seepage.measure(
        whole.estimator, X, setting.y, noise_scale=setting.noise, ids=ids, numbers=setting.names[:-1]
    )
    other = X.copy()
    other.loc[[5, 6, 7], name] = 0
    rate, error = simulated(setting.release(X, setting.y), setting.release(other, setting.y), 40_000, setting.random)
    rates = leak.success_rate(name)
    stated = rates[rates.index == 5]["success_rate"].iloc[0]
    assert abs(stated - rate) <= 4.5 * error


def test_balanced_weights_of_classes_move_with_a_label():
    random = np.random.default_rng(8)
    X = pd.DataFrame(random.normal(size=(30, 2)), columns=["a", "b"])
    y = (random.uniform(size=30) < 0.3).astype(int)
    model = LogisticRegression(C=1.0, class_weight="balanced", tol=1e-12, max_iter=10_000).fit(X, y)
    noise = GaussianNoise(shape=InverseHessian(scale=0.8))
    rates = seepage.measure(model, X, y, noise_scale=noise).success_rate("label")

    def release(labels):
        weights = len(labels) / (2 * np.bincount(labels))[labels]
        theta, covariance = Procedure("logistic", 1.0, weights).release(X.to_numpy(), labels)
        return theta, 0.64 * covariance

    for person in (0, 4, 11):
        labels = y.copy()
        labels[person] = 1 - labels[person]
        rate, error = simulated(release(y), release(labels), 40_000, random)
        assert abs(rates.loc[person, "success_rate"] - rate) <= 4.5 * error


def test_in_files_it_is_the_same(tmp_path):
    setting = Setting(3, scaled=False)
    leak = setting.measured()
    rows = tmp_path / "rows"
    rows.mkdir()
    frame = setting.X.assign(y=setting.y)
    frame[:25].to_parquet(rows / "1.parquet")
    frame[25:].to_parquet(rows / "2.parquet")
    files = seepage.measure(
        leak.information.estimator,
        rows,
        target="y",
        noise_scale=setting.noise,
        numbers=setting.names[:-1],
        job=seepage.engines.Job(output=tmp_path / "out"),
    )
    name = setting.names[-1]
    np.testing.assert_allclose(
        np.sort(files.success_rate(name, values=[0, 1])["success_rate"]),
        np.sort(leak.success_rate(name)["success_rate"]),
        rtol=1e-9,
    )


def test_several_outputs_have_a_noise_of_the_shape_each():
    random = np.random.default_rng(9)
    X = pd.DataFrame(random.normal(size=(40, 2)), columns=["a", "b"])
    X["ward"] = random.choice([0.0, 1.0], 40)
    y = np.column_stack([X["a"], X["b"]]) + random.normal(size=(40, 2))
    noise = GaussianNoise(shape=InverseHessian(scale=0.5))
    leak = seepage.measure(Ridge(alpha=1.0).fit(X, y), X, y, noise_scale=noise, numbers=["a", "b"])
    rates = leak.success_rate("ward", values=[0.0, 1.0])

    def release(frame):
        each = [Procedure("squared", 1.0).release(frame.to_numpy(), column) for column in y.T]
        mean = np.concatenate([theta for theta, _ in each])
        return mean, 0.25 * np.kron(np.eye(2), each[0][1])

    other = X.copy()
    other.loc[7, "ward"] = 1 - other.loc[7, "ward"]
    rate, error = simulated(release(X), release(other), 40_000, random)
    assert abs(rates.loc[7, "success_rate"] - rate) <= 4.5 * error


def test_two_releases_together_are_one_of_both():
    setting = Setting(9, scaled=True)
    first = setting.measured()
    name = setting.names[-1]
    second = seepage.measure(
        Ridge(alpha=1.0).fit(setting.X, setting.y), setting.X, setting.y, noise_scale=0.5, numbers=setting.names[:-1]
    )
    rates = compose([first, second]).success_rate(name)
    person, other = 3, setting.X.copy()
    other.loc[person, name] = 1 - other.loc[person, name]

    def release(frame):
        mean, covariance = setting.release(frame, setting.y)
        theta, _ = Procedure("squared", 1.0).release(frame.to_numpy(float), setting.y)
        size = len(mean)
        whole = np.zeros((2 * size, 2 * size))
        whole[:size, :size], whole[size:, size:] = covariance, 0.25 * np.eye(size)
        return np.concatenate([mean, theta]), whole

    rate, error = simulated(release(setting.X), release(other), 40_000, setting.random)
    assert abs(rates.loc[person, "success_rate"] - rate) <= 4.5 * error


def test_levels_behind_a_scaler_are_told_as_often_as_the_whole_procedure_says():
    random = np.random.default_rng(12)
    X = pd.DataFrame({"ward": random.choice(["a", "b", "c"], 40), "age": random.normal(size=40)})
    X.loc[:2, "ward"] = ["a", "b", "c"]
    y = X["age"] + (X["ward"] == "b") + random.normal(size=40)
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first"), ["ward"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encoder, StandardScaler(), Ridge(alpha=2.0)).fit(X, y)
    noise = GaussianNoise(shape=InverseHessian(scale=0.6))
    rates = seepage.measure(model, X, y, noise_scale=noise).success_rate("ward")

    def release(frame):
        levels = pd.get_dummies(frame["ward"], drop_first=True, dtype=float)
        rows = np.hstack([levels, frame[["age"]]])
        setting = Setting(0, columns=3)
        setting.scaled, setting.loss, setting.penalty, setting.weights = True, "squared", 2.0, None
        setting.rule, setting.scale = {}, 0.6
        return setting.release(rows, y.to_numpy())

    other = X.assign(ward=["b", *X["ward"][1:]])
    rate, error = simulated(release(X), release(other), 40_000, random)
    stated = rates[(rates.index == 0) & (rates["other"] == "b")]["success_rate"].iloc[0]
    assert abs(stated - rate) <= 4.5 * error
