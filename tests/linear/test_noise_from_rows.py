"""Noise that takes its shape from the rows: what it tells is counted, against differences of the whole procedure."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from shaping import Procedure
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

import seepage
from seepage import release as shapes
from seepage.linear.information import _shape
from seepage.release import GaussianNoise

NAMES = ["a", "b", "c", "d"]
RULES = {
    "hessian": {},
    "balanced": {"floors": {0: 2.0, 1: 0.5, 2: 1.0, 3: 1.0}, "share": 0.1, "balance": 1.0},
    "one floor": {"floors": {2: 1.0}, "share": 0.3, "balance": -0.5},
    "plain": {"floors": {0: 1.0, 3: 3.0}, "share": 0.01, "balance": 0.0},
}


def _shape_of(rule, scale):
    if not rule:
        return shapes.InverseHessian(scale=scale)
    floors = {NAMES[column]: floor for column, floor in rule["floors"].items()}
    return shapes.Balanced(scale=scale, floors=floors, share=rule["share"], balance=rule["balance"])


def _data(loss, seed, n=40, far=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) * 0.5 + far
    margin = (X - far) @ np.array([0.5, -0.4, 0.3, 0.2])
    if loss == "squared":
        y = margin + rng.normal(size=n)
    elif loss == "logistic":
        y = (rng.uniform(size=n) < 1 / (1 + np.exp(-margin))).astype(float)
    else:
        y = rng.poisson(np.exp(0.5 * margin)).astype(float)
    return pd.DataFrame(X, columns=NAMES), y, rng.uniform(0.5, 2.0, n)


def _model(loss, X, y, weights):
    if loss == "squared":
        return Ridge(alpha=0.7).fit(X, y, sample_weight=weights), 0.7
    if loss == "logistic":
        return LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000).fit(X, y, sample_weight=weights), 0.5
    total = len(y) if weights is None else weights.sum()
    return PoissonRegressor(alpha=0.02, tol=1e-12, max_iter=10_000).fit(X, y, sample_weight=weights), 0.02 * total


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_what_the_shape_tells_is_that_of_the_whole_procedure(loss, weighted, rule):
    X, y, weights = _data(loss, 3)
    weights = weights if weighted else None
    model, penalty = _model(loss, X, y, weights)
    shape = _shape_of(RULES[rule], 0.8)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=shape), sample_weight=weights)
    procedure = Procedure(loss, penalty, weights, shape=RULES[rule])
    eta, every = leak.attributes.to_numpy(), leak.examples
    np.testing.assert_allclose(
        leak.information.noise.covariance, procedure.release(X.to_numpy(), y)[1] * 0.8**2, rtol=1e-9, atol=1e-12
    )
    for row in (0, 7, 23):
        expected = procedure.information(X.to_numpy(), y, row, 0.8)
        np.testing.assert_allclose(eta[row] ** 2, np.diag(expected), rtol=1e-6)
        np.testing.assert_allclose(every["eta"][row] ** 2, np.linalg.eigvalsh(expected)[-1], rtol=1e-6)
        np.testing.assert_allclose(every["dfil"][row] ** 2, np.trace(expected) / 5, rtol=1e-6)


def test_what_stays_is_the_second_term():
    X, y, _ = _data("logistic", 5)
    model, penalty = _model("logistic", X, y, None)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=_shape_of(RULES["balanced"], 1.0)))
    huge = Procedure("logistic", penalty, shape=RULES["balanced"]).information(X.to_numpy(), y, 4, 1e9)
    stays = [leak.information.column_at("attributes", name, np.inf)[4] for name in leak.information.attribute_names]
    np.testing.assert_allclose(np.square(stays), np.diag(huge), rtol=1e-5)
    np.testing.assert_allclose(
        leak.information.column_at("examples", "eta", np.inf)[4] ** 2, np.linalg.eigvalsh(huge)[-1], rtol=1e-5
    )
    # Another scale is another measurement.
    other = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=_shape_of(RULES["balanced"], 3.0)))
    for name in leak.information.attribute_names:
        np.testing.assert_allclose(
            leak.information.column_at("attributes", name, 3.0), other.attributes[name], rtol=1e-9
        )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_public_label_and_some_columns(loss):
    X, y, _ = _data(loss, 8)
    model, penalty = _model(loss, X, y, None)
    noise = GaussianNoise(shape=_shape_of(RULES["plain"], 0.5))
    leak = seepage.measure(model, X, y, noise_scale=noise, public_label=True, attributes=["b", "d"])
    expected = Procedure(loss, penalty, shape=RULES["plain"]).information(X.to_numpy(), y, 2, 0.5)[
        np.ix_([1, 3], [1, 3])
    ]
    np.testing.assert_allclose(leak.attributes.to_numpy()[2] ** 2, np.diag(expected), rtol=1e-6)
    np.testing.assert_allclose(leak.examples["eta"][2] ** 2, np.linalg.eigvalsh(expected)[-1], rtol=1e-6)


def test_columns_far_from_zero_and_in_other_units():
    X, y, _ = _data("squared", 9, far=300.0)
    scaled = X * [1.0, 100.0, 0.01, 1.0]
    model = Ridge(alpha=1e-9).fit(scaled, y)
    rule = {"floors": {0: 1.0, 1: 100.0, 2: 0.01, 3: 1.0}, "share": 0.1, "balance": 1.0}
    leak = seepage.measure(model, scaled, y, noise_scale=GaussianNoise(shape=_shape_of(rule, 0.8)))
    # The geometric mean follows a change of units and of origin: the same release, seen from the middle.
    plain = {**rule, "floors": dict.fromkeys(range(4), 1.0)}
    expected = Procedure("squared", 1e-9, shape=plain).information((X - 300.0).to_numpy(), y, 5, 0.8)
    units = np.array([1.0, 100.0, 0.01, 1.0, 1.0])
    np.testing.assert_allclose((leak.attributes.to_numpy()[5] * units) ** 2, np.diag(expected), rtol=1e-5)


def test_a_bound_is_never_below_and_near(monkeypatch):
    for loss in ("squared", "logistic", "poisson"):
        for rule in RULES.values():
            X, y, weights = _data(loss, 11, n=60)
            model, _ = _model(loss, X, y, weights)
            noise = GaussianNoise(shape=_shape_of(rule, 2.0))
            exact = seepage.measure(model, X, y, noise_scale=noise, sample_weight=weights)
            own = {name: exact.information.column_at("attributes", name, np.inf) for name in exact.attributes}
            attributes, examples = exact.attributes, exact.examples
            monkeypatch.setattr(_shape, "MOST_PARAMETERS", 2)
            bounded = seepage.measure(model, X, y, noise_scale=noise, sample_weight=weights)
            assert "rounded up to a bound" in " ".join(bounded.assumptions)
            assert (bounded.attributes >= attributes * (1 - 1e-12)).all(axis=None)
            assert (bounded.examples >= examples * (1 - 1e-12)).all(axis=None)
            for name, values in own.items():
                bound = bounded.information.column_at("attributes", name, np.inf)
                assert (bound >= values * (1 - 1e-12)).all()
                assert np.median(bound) <= 30 * np.median(values) + 1e-12
            monkeypatch.undo()


def test_over_files_it_is_the_same(tmp_path):
    X, y, weights = _data("logistic", 13, n=200)
    model, _ = _model("logistic", X, y, weights)
    frame = X.assign(y=y, w=weights)
    rows = tmp_path / "rows"
    rows.mkdir()
    frame[:90].to_parquet(rows / "1.parquet")
    frame[90:].to_parquet(rows / "2.parquet")
    noise = GaussianNoise(shape=_shape_of(RULES["balanced"], 0.8))
    memory = seepage.measure(model, X, y, noise_scale=noise, sample_weight=weights)
    files = seepage.measure(
        model, rows, target="y", sample_weight="w", noise_scale=noise, job=seepage.engines.Job(output=tmp_path / "out")
    )
    np.testing.assert_allclose(files.information.noise.covariance, memory.information.noise.covariance, rtol=1e-10)
    attributes, examples = files.attributes.to_table().to_pandas(), files.examples.to_table().to_pandas()
    np.testing.assert_allclose(np.sort(attributes["b"]), np.sort(memory.attributes["b"]), rtol=1e-9)
    np.testing.assert_allclose(np.sort(examples["eta"]), np.sort(memory.examples["eta"]), rtol=1e-9)
    np.testing.assert_allclose(files.joint(), memory.joint(), rtol=1e-8)


def test_rows_of_one_person_are_told_about_together():
    X, y, _ = _data("squared", 17)
    model, _ = _model("squared", X, y, None)
    noise = GaussianNoise(shape=_shape_of(RULES["balanced"], 0.8))
    owner = np.arange(40)
    owner[1] = 0
    leak = seepage.measure(model, X, y, noise_scale=noise, ids=owner)
    alone = seepage.measure(model, X, y, noise_scale=noise)
    # Moving the same column of both rows, in the direction that tells most, tells at least what either alone does.
    assert leak.examples["eta"].iloc[0] >= alone.examples["eta"][:2].max()
    mask = np.zeros(40, dtype=bool)
    mask[:2] = True
    np.testing.assert_allclose(leak.examples["eta"].iloc[0], alone.joint(mask), rtol=1e-9)


def test_what_cannot_be_counted_is_refused_by_name():
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    X, y, _ = _data("logistic", 19)
    noise = GaussianNoise(shape=shapes.InverseHessian(scale=1.0))
    behind = make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear")).fit(X, y)
    with pytest.raises(seepage.errors.UnsupportedError, match="penalty on its intercept"):
        seepage.measure(behind, X, y, noise_scale=noise)
    seepage.measure(behind, X, y, noise_scale=noise, public_preprocessing=["standardscaler"])
    both = np.column_stack([y, 2.0 * y])
    with pytest.raises(seepage.errors.UnsupportedError, match="have different ones"):
        seepage.measure(Ridge(alpha=[1.0, 2.0]).fit(X, both), X, both, noise_scale=noise)
    squares = make_pipeline(PolynomialFeatures(2, include_bias=False), Ridge(alpha=1.0)).fit(X, y)
    hiding = GaussianNoise(shape=shapes.Balanced(scale=1.0, floors={"a": 1.0}, share=0.1, balance=0.0))
    with pytest.raises(seepage.errors.UnsupportedError, match="bends: how it reaches"):
        seepage.measure(squares, X, y, noise_scale=hiding)
    classes = np.arange(40) % 3
    with pytest.raises(seepage.errors.UnsupportedError, match="one output"):
        seepage.measure(LogisticRegression().fit(X, classes), X, classes, noise_scale=noise)
    twice = X.assign(e=X["a"])
    from sklearn.linear_model import LinearRegression

    with pytest.raises(seepage.errors.UnsupportedError, match="equally well"):
        seepage.measure(LinearRegression().fit(twice, y), twice, y, noise_scale=noise)
    wrong = GaussianNoise(shape=shapes.Balanced(scale=1.0, floors={"z": 1.0}, share=0.1, balance=0.0))
    with pytest.raises(seepage.errors.InputError, match="'z'"):
        seepage.measure(LogisticRegression().fit(X, y), X, y, noise_scale=wrong)


def test_shapes_that_were_given_cost_nothing():
    X, y, _ = _data("squared", 21)
    model, _ = _model("squared", X, y, None)
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=shapes.PerUnit(scale=0.5, units={"b": 10.0})))
    same = seepage.measure(model, X, y, noise_scale=GaussianNoise(covariance=np.diag([0.25, 0.0025, 0.25, 0.25, 0.25])))
    pd.testing.assert_frame_equal(leak.attributes, same.attributes)
    assert not leak.information.stays
    base = np.eye(5) + 0.3
    public = GaussianNoise(shape=shapes.FromPublicRows(scale=2.0, base=base))
    pd.testing.assert_frame_equal(
        seepage.measure(model, X, y, noise_scale=public).attributes,
        seepage.measure(model, X, y, noise_scale=GaussianNoise(covariance=4 * base)).attributes,
    )
    with pytest.raises(seepage.errors.InputError, match="no feature"):
        seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=shapes.PerUnit(scale=0.5, units={"z": 10.0})))


def test_a_shape_follows_its_scale():
    shape = _shape_of(RULES["balanced"], 0.8)
    noise = GaussianNoise(shape=shape).scaled(2.0)
    assert noise.shape.scale == 1.6
    assert noise.shape.floors == shape.floors
    assert replace(noise, gap=1.2).gap == 1.2
    with pytest.raises(seepage.errors.InputError, match="measure them"):
        noise.whiten(np.eye(5))


def test_the_score_of_simulated_releases_has_the_information_that_was_measured():
    """Twenty thousand releases: the variance of the likelihood's slope in one person's values is the information."""
    X, y, _ = _data("logistic", 23, n=25)
    model, penalty = _model("logistic", X, y, None)
    rule = {"floors": {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, "share": 0.03, "balance": 1.0}
    # So much noise that half of what is told is told by its shape.
    scale = 40.0
    leak = seepage.measure(model, X, y, noise_scale=GaussianNoise(shape=_shape_of(rule, scale)))
    procedure, values, row = Procedure("logistic", penalty, shape=rule), X.to_numpy(), 6
    theta, sigma = procedure.release(values, y)
    draws = np.random.default_rng(0).multivariate_normal(theta, sigma * scale**2, size=20_000, method="cholesky")

    def log_likelihood(values):
        mean, covariance = procedure.release(values, y)
        covariance = covariance * scale**2
        gap = np.linalg.solve(np.linalg.cholesky(covariance), (draws - mean).T)
        return -0.5 * (gap**2).sum(axis=0) - 0.5 * np.linalg.slogdet(covariance)[1]

    scores = []
    for column in range(4):
        up, down = values.copy(), values.copy()
        up[row, column] += 1e-4
        down[row, column] -= 1e-4
        scores.append((log_likelihood(up) - log_likelihood(down)) / 2e-4)
    found = np.cov(scores)
    measured = leak.attributes.to_numpy()[row, :4] ** 2
    stays = [leak.information.column_at("attributes", name, np.inf)[row] ** 2 for name in NAMES]
    assert max(np.divide(stays, measured)) > 0.3
    # A variance of n draws of a quadratic form has a relative error of about sqrt(14 / n) at most.
    np.testing.assert_allclose(np.diag(found), measured, rtol=5 * np.sqrt(14 / 20_000))
