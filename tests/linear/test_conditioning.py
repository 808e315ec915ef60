"""Columns far from zero, columns that are nearly one, fewer rows than columns: right, or stated, or refused."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from extended import jacobians, ridge_jacobians, solve
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage


def _stated(leak):
    """Return the error that the assumptions admit, relative to the median person or to one's own if that is more."""
    found = [re.search(r"error of up to (\S+) of the median", sentence) for sentence in leak.assumptions]
    return max([float(match[1]) for match in found if match], default=1e-8)


def _compare(leak, moves, *, rtol=1e-7):
    singular = np.linalg.svd(moves, compute_uv=False)[:, 0]
    np.testing.assert_allclose(leak.information.examples()["eta"], singular, rtol=rtol)
    lengths = np.linalg.norm(moves, axis=1)
    for j, eta in enumerate(leak.information.attributes().values()):
        np.testing.assert_allclose(eta, lengths[:, j], rtol=rtol, atol=rtol * singular.max())
    np.testing.assert_allclose(leak.joint_information_loss(), np.linalg.norm(np.hstack(list(moves)), 2), rtol=rtol)
    some = np.arange(len(moves)) % 3 == 0
    np.testing.assert_allclose(
        leak.joint_information_loss(some), np.linalg.norm(np.hstack(list(moves[some])), 2), rtol=rtol
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    means=st.lists(st.sampled_from([0.0, 30.0, 1e4, 1e6, 3e6, 1e8]), min_size=3, max_size=3),
    unit=st.sampled_from([1e-3, 1.0, 1e3]),
    alpha=st.sampled_from([0.0, 1e-3, 1.0]),
    logistic=st.booleans(),
)
def test_a_column_far_from_zero_loses_nothing_to_its_mean(seed, means, unit, alpha, logistic):
    random = np.random.default_rng(seed)
    spread = random.normal(size=(40, 3))
    X = (spread + means) * unit
    signal = spread @ [1.0, -0.5, 0.2]
    if logistic:
        y = (signal + random.logistic(size=40) > 0).astype(int)
        y[:4] = [0, 1, 0, 1]
        alpha = max(alpha, 1e-3) * unit**2
        centered = X - X.mean(axis=0)
        model = LogisticRegression(C=1 / alpha, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(centered, y)
        model.intercept_ = model.intercept_ - X.mean(axis=0) @ model.coef_[0]
    else:
        y = signal + random.normal(size=40)
        model = Ridge(alpha=alpha, solver="svd").fit(X, y) if alpha else LinearRegression(tol=1e-12).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    # The oracle sees the columns from their middle, where its digits suffice, and moves the intercept back.
    middle = np.asarray(X, dtype=np.longdouble).mean(axis=0)
    moves = jacobians(np.asarray(X, np.longdouble) - middle, y, alpha, True, logistic=logistic)
    moves[:, -1] -= np.einsum("j,njk->nk", np.asarray(middle, dtype=np.float64), moves[:, :-1])
    _compare(leak, moves)


@settings(max_examples=40, deadline=None)
@example(seed=4_294_967_294, apart=-6.0, intercept=True, alpha=0.0)
@given(
    seed=st.integers(0, 2**32 - 1),
    apart=st.floats(-13, 0),
    intercept=st.booleans(),
    alpha=st.sampled_from([0.0, 1e-9, 1e-3]),
)
def test_columns_that_are_nearly_one_are_right_or_stated_or_refused(seed, apart, intercept, alpha):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 3))
    X[:, 2] = X[:, 0] + X[:, 1] + 10**apart * random.normal(size=30)
    y = X[:, 0] + random.normal(size=30)
    model = Ridge(alpha=alpha, solver="svd", fit_intercept=intercept).fit(X, y)
    try:
        leak = seepage.measure(model, X, y, noise_scale=1.0)
    except seepage.errors.MinimizerError:
        assert apart < -5
        return
    singular = np.linalg.svd(ridge_jacobians(X, y, alpha, intercept), compute_uv=False)[:, 0]
    error = np.abs(leak.information.examples()["eta"] - singular)
    assert (error <= _stated(leak) * np.maximum(singular, np.median(singular))).all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 16),
    extra=st.integers(1, 14),
    unit=st.sampled_from([1.0, 30.0, 1e3, 1e4]),
    alpha=st.sampled_from([1e-2, 1.0]),
    intercept=st.booleans(),
)
def test_joint_information_with_fewer_rows_than_columns(seed, n, extra, unit, alpha, intercept):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n + extra)) * unit
    y = random.normal(size=n)
    leak = seepage.measure(Ridge(alpha, solver="svd", fit_intercept=intercept).fit(X, y), X, y, noise_scale=1.0)
    moves = jacobians(X, y, alpha, intercept)
    singular = np.linalg.svd(moves, compute_uv=False)[:, 0]
    # Where the model comes very near to the labels, what is left of them has as many digits less.
    rtol = max(1e-7, 1e-13 / leak.information.geometry.minimizer.scatter)
    np.testing.assert_allclose(leak.information.examples()["eta"], singular, rtol=rtol)
    np.testing.assert_allclose(leak.joint_information_loss(), np.linalg.norm(np.hstack(list(moves)), 2), rtol=rtol)
    lengths = np.linalg.norm(moves, axis=1)
    error = np.abs(np.column_stack(list(leak.information.attributes().values())) - lengths)
    assert (error <= max(1e-7, _stated(leak)) * np.maximum(lengths, np.median(lengths, axis=0))).all()
    half = np.arange(n) < n // 2
    np.testing.assert_allclose(
        leak.joint_information_loss(half), np.linalg.norm(np.hstack(list(moves[half])), 2), rtol=rtol
    )
    assert leak.joint_information_loss(half) >= leak.information.examples()["eta"][half].max() * (1 - 1e-9)


def test_joint_information_of_people_in_files_with_fewer_rows_than_columns(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 60)) * 1e4, random.normal(size=30)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(60)])
    model = Ridge(1.0, solver="svd").fit(table, y)
    pq.write_table(pa.Table.from_pandas(table.assign(y=y, half=np.arange(30) < 15)), tmp_path / "people.parquet")
    leak = seepage.measure(model, str(tmp_path / "people.parquet"), target="y", noise_scale=1.0)
    moves = jacobians(X, y, 1.0, True)
    np.testing.assert_allclose(leak.joint_information_loss(), np.linalg.norm(np.hstack(list(moves)), 2), rtol=1e-6)
    np.testing.assert_allclose(
        leak.joint_information_loss({"half": True}), np.linalg.norm(np.hstack(list(moves[:15])), 2), rtol=1e-6
    )


def test_what_rounding_leaves_is_said():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3))
    X[:, 2] = X[:, 0] + 1e-9 * random.normal(size=50)
    y = random.normal(size=50)
    leak = seepage.measure(Ridge(0.0, solver="svd").fit(X, y), X, y, noise_scale=1.0)
    assert 1e-8 < _stated(leak) < 1e-4
    X, y = random.normal(size=(20, 40)) * 1e5, random.normal(size=20)
    leak = seepage.measure(Ridge(solver="svd").fit(X, y), X, y, noise_scale=1.0)
    assert any("as near to the labels" in sentence for sentence in leak.assumptions)


def _table(random, rows=40):
    table = pd.DataFrame(
        {
            "age": random.normal(50, 10, rows),
            "city": random.permutation(np.resize(list("abc"), rows)),
            "job": random.permutation(np.resize(list("xyz"), rows)),
        }
    )
    return table, 0.1 * table["age"].to_numpy() + random.normal(size=rows)


def _encoder(table, *, sparse=False):
    steps = [("n", StandardScaler(), ["age"]), ("o", OneHotEncoder(sparse_output=sparse), ["city", "job"])]
    return ColumnTransformer(steps, sparse_threshold=float(sparse)).fit(table)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_all_levels_without_a_penalty_move_as_the_fit_of_least_norm_does(intercept, weighted, sparse):
    random = np.random.default_rng(1)
    table, y = _table(random)
    weights = random.uniform(0.5, 2.0, len(y)) if weighted else None
    encoder = _encoder(table, sparse=sparse)
    estimator = LinearRegression(fit_intercept=intercept, tol=1e-14)
    model = make_pipeline(encoder, estimator).fit(table, y, linearregression__sample_weight=weights)
    known = ["standardscaler"]
    leak = seepage.measure(model, table, y, noise_scale=1.0, sample_weight=weights, public_preprocessing=known)
    found, eta = leak.information.attributes(), leak.information.examples()["eta"]
    features = encoder.transform(table)
    features = features.toarray() if sparse else features

    def fitted(rows, labels):
        again = LinearRegression(fit_intercept=intercept).fit(rows, labels, weights)
        return np.append(again.coef_, again.intercept_) if intercept else again.coef_

    def slope(row, direction, label=0.0, step=1e-4):
        moved = []
        for sign in (1, -1):
            rows, labels = features.copy(), y.copy()
            rows[row] += sign * step * direction
            labels[row] += sign * step * label
            moved.append(fitted(rows, labels))
        return (moved[0] - moved[1]) / (2 * step)

    # Only from one level to another: what adds up to one stays one, or the rank and with it the fit would jump.
    between = np.linalg.svd(np.ones((1, 3)))[2][1:]
    unit = 1 / encoder.named_transformers_["n"].scale_[0]
    for row in (0, 7):
        age = slope(row, np.array([unit, 0, 0, 0, 0, 0, 0]))[:, None]
        city = np.column_stack([slope(row, np.concatenate([[0], d, np.zeros(3)])) for d in between])
        job = np.column_stack([slope(row, np.concatenate([np.zeros(4), d])) for d in between])
        label = slope(row, np.zeros(7), 1.0)[:, None]
        for name, block in zip(found, (age, city, job, label), strict=True):
            np.testing.assert_allclose(found[name][row], np.linalg.norm(block, 2), rtol=1e-6)
        np.testing.assert_allclose(eta[row], np.linalg.norm(np.hstack([age, city, job, label]), 2), rtol=1e-6)
    assert any("of least norm" in sentence for sentence in leak.assumptions)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg"])
def test_all_levels_without_a_penalty_move_as_descent_from_zero_does(solver):
    random = np.random.default_rng(2)
    table, y = _table(random, 60)
    labels = (y + random.normal(size=60) * 3 > np.median(y)).astype(int)
    encoder = _encoder(table)
    tight = {"C": np.inf, "tol": 1e-11, "max_iter": 100_000, "solver": solver}
    model = make_pipeline(encoder, LogisticRegression(**tight)).fit(table, labels)
    leak = seepage.measure(model, table, labels, noise_scale=1.0, public_label=True)
    features = encoder.transform(table)

    def slope(row, direction, step=1e-2):
        moved = []
        for steps in (-2, -1, 1, 2):
            rows = features.copy()
            rows[row] += steps * step * direction
            again = LogisticRegression(**tight).fit(rows, labels)
            moved.append(np.append(again.coef_, again.intercept_))
        return (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * step)

    between = np.linalg.svd(np.ones((1, 3)))[2][1:]
    found = leak.information.attributes()
    for row in (0, 7):
        city = np.column_stack([slope(row, np.concatenate([[0], d, np.zeros(3)])) for d in between])
        np.testing.assert_allclose(found["city"][row], np.linalg.norm(city, 2), rtol=1e-4)


def test_one_of_many_minimizers_that_is_not_of_least_norm_is_refused():
    random = np.random.default_rng(3)
    table, y = _table(random)
    model = make_pipeline(_encoder(table), LinearRegression()).fit(table, y)
    model[-1].coef_[1:4] += 1.0
    model[-1].intercept_ -= 1.0
    with pytest.raises(seepage.errors.MinimizerError, match="not unique"):
        seepage.measure(model, table, y, noise_scale=1.0)


def test_a_whitened_direction_without_variance_is_refused():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(7, 8)), random.normal(size=7)
    model = make_pipeline(StandardScaler(), PCA(7, whiten=True), Ridge()).fit(X, y)
    with pytest.raises(seepage.errors.UnsupportedError, match="Feature 6 of the model is nothing but rounding"):
        seepage.measure(model, X, y, noise_scale=1.0)
    seepage.measure(make_pipeline(StandardScaler(), PCA(6, whiten=True), Ridge()).fit(X, y), X, y, noise_scale=1.0)


def test_steps_in_single_precision_are_said_to_round():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 3)), random.normal(size=40)
    steps = {"public_preprocessing": ["standardscaler"], "noise_scale": 1.0}
    exact = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X, y, **steps)
    single = X.astype(np.float32)
    rounded = seepage.measure(make_pipeline(StandardScaler(), Ridge()).fit(single, y), single, y, **steps)
    assert _stated(exact) == 1e-8
    assert 1e-6 < _stated(rounded) < 1e-4
    np.testing.assert_allclose(rounded.examples["eta"], exact.examples["eta"], rtol=_stated(rounded))
    # Rows that are given so, and go into the model as they are, are exactly what they are.
    assert _stated(seepage.measure(Ridge().fit(single, y), single, y, noise_scale=1.0)) == 1e-8


@pytest.mark.parametrize("penalty", [1.0, 1e-3])
def test_indicators_of_all_levels_keep_their_digits_with_several_classes(penalty):
    """They add up to one in every row, so that the penalty alone says where along that the coefficients are."""
    random = np.random.default_rng(0)
    levels = random.integers(0, 5, 2000)
    X = np.column_stack([np.eye(5)[levels], random.normal(size=2000)])
    odds = X[:, 5] + 0.3 * (levels - 2)
    y = np.argmax(np.column_stack([odds, -odds, 0 * odds]) + random.gumbel(size=(2000, 3)), axis=1)
    model = seepage.engines.fit(SGDClassifier(loss="log_loss", alpha=penalty / 2000), X, y)
    leak = seepage.measure(model, X, y, noise_scale=1.0, public_label=True)
    features = np.column_stack([X, np.ones(2000)]).astype(np.longdouble)
    penalties = np.diag(np.append(np.full(6, np.longdouble(penalty)), np.longdouble(0)))
    who, total = np.arange(0, 2000, 40), np.zeros((50, 6), dtype=np.longdouble)
    for k in range(3):
        theta = np.append(model.coef_[k], model.intercept_[k]).astype(np.longdouble)
        for _ in range(6):
            share = 1 / (1 + np.exp(-features @ theta))
            hessian = (features * (share * (1 - share))[:, None]).T @ features + penalties
            theta -= solve(hessian, (features.T @ (share - (y == k)) + penalties @ theta)[:, None])[:, 0]
        for j in range(6):
            pulls = (share * (1 - share))[who, None] * theta[j] * features[who]
            pulls[:, j] += (share - (y == k))[who]
            total[:, j] += (solve(hessian, np.ascontiguousarray(pulls.T)) ** 2).sum(axis=0)
    np.testing.assert_allclose(leak.attributes.to_numpy()[who], np.sqrt(total).astype(float), rtol=1e-9)


def test_a_level_without_a_class_leaves_other_columns_their_digits(tmp_path):
    """The penalty alone holds that class there, and its coefficients cancel in what a row of the level pulls at."""
    random = np.random.default_rng(0)
    levels, number = random.integers(0, 4, 60), random.normal(size=60)
    y = np.argmax(np.column_stack([number, -number, 0 * number]) + random.gumbel(size=(60, 3)), axis=1)
    y[(levels == 0) & (y == 2)] = 1
    X = np.column_stack([np.eye(4)[levels], number])
    features, penalties = np.column_stack([X, np.ones(60)]).astype(np.longdouble), np.append(np.full(5, 1e-7), 0.0)
    # Differences of the classes, in an orthonormal basis.
    basis = np.array([[1, 1], [-1, 1], [0, -2]]) / np.sqrt(np.array([2, 6], dtype=np.longdouble))
    theta = np.zeros((6, 2), dtype=np.longdouble)
    for _ in range(40):
        powers = np.exp(features @ theta @ basis.T)
        share = powers / powers.sum(axis=1, keepdims=True)
        bent = (share[:, :, None] * (np.eye(3) - share[:, None, :])).transpose(0, 2, 1)
        curvature, slope = basis.T @ bent @ basis, (share - np.eye(3)[y]) @ basis
        hessian = np.einsum("ncd,na,nb->cadb", curvature, features, features).reshape(12, 12)
        hessian += np.diag(np.tile(penalties, 2))
        pull = slope.T @ features + penalties * theta.T
        theta = theta - solve(hessian, pull.reshape(12, 1)).reshape(2, 6).T
    moved = (curvature @ theta[4])[:, :, None] * features[:, None, :]
    moved[:, :, 4] += slope
    moves = solve(hessian, np.ascontiguousarray(moved.reshape(60, 12).T)).astype(float)
    model = LogisticRegression(C=1e7, solver="newton-cg", max_iter=1000).fit(X, y)
    model.coef_, model.intercept_ = (theta @ basis.T)[:5].T.astype(float), (theta @ basis.T)[5].astype(float)
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    np.testing.assert_allclose(leak.attributes["x4"], np.linalg.norm(moves, axis=0), rtol=1e-7)
    np.testing.assert_allclose(leak.joint_information_loss(attribute="x4"), np.linalg.norm(moves, 2), rtol=1e-7)
    columns = {f"x{j}": X[:, j] for j in range(5)}
    pq.write_table(pa.table(columns | {"class": y}), tmp_path / "people.parquet")
    job = seepage.engines.Job(seepage.engines.Local(workers=1), progress=False)
    leak = seepage.measure(model, tmp_path / "people.parquet", target="class", noise_scale=1.0, job=job)
    np.testing.assert_allclose(leak.joint_information_loss(attribute="x4"), np.linalg.norm(moves, 2), rtol=1e-7)
