"""Noise of the best shape: chosen, published, certified and attacked."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage import release as shapes
from seepage._shapes import RobustCovariance
from seepage.release import GaussianNoise
from seepage.release._mechanism import drawn
from seepage.release._program import best_shape
from seepage.release._raw import DIGITS, _on_grid


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = (X - X.mean()) / X.std(ddof=0)
    model = Ridge(alpha=1.0).fit(X, y)
    return model, X, y, seepage.measure(model, X, y, noise_scale=1.0, numbers=["sex"])


@pytest.mark.parametrize("seed", range(8))
def test_the_best_shape_is_that_of_a_general_solver(seed):
    import cvxpy as cp

    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 8))
    moves = rng.normal(size=(int(rng.integers(p, 60)), p)) * np.exp(0.5 * rng.normal(size=p))
    square = rng.normal(size=(p + 3, p))
    hessian = square.T @ square + 0.3 * np.eye(p)
    found = best_shape(moves, hessian, tolerance=1e-9)
    inverse = cp.Variable((p, p), PSD=True)
    cost = cp.matrix_frac(np.linalg.cholesky(hessian), inverse)
    problem = cp.Problem(cp.Minimize(cost), [cp.sum(cp.multiply(moves @ inverse, moves), axis=1) <= 1])
    problem.solve(solver=cp.CLARABEL)
    assert found.cost == pytest.approx(problem.value, rel=1e-6)
    assert 0 <= found.gap + 1e-12 <= 2e-9
    assert np.trace(hessian @ found.covariance) == pytest.approx(found.cost, rel=1e-9)
    seen = np.einsum("na,ab,nb->n", moves, np.linalg.inv(found.covariance), moves)
    assert seen.max() <= 1 + 1e-9


def test_few_rounds_still_bound_every_shape():
    rng = np.random.default_rng(5)
    moves, hessian = rng.normal(size=(300, 6)) * rng.gamma(0.5, size=(300, 1)), np.diag(np.arange(1.0, 7.0))
    early, late = best_shape(moves, hessian, rounds=0), best_shape(moves, hessian)
    assert early.bound <= late.bound * (1 + 1e-12) <= late.cost * (1 + 1e-12) <= early.cost * (1 + 1e-9)
    assert late.gap < 1e-7 < early.gap


@pytest.mark.parametrize("floor", [0.5, 2.0])
def test_at_the_same_floor_for_everyone_a_shape_costs_a_fraction(diabetes, floor):
    model, X, y, leak = diabetes
    floors = dict.fromkeys(X, floor)
    costs = {}
    for shape in ("isotropic", "best"):
        noise = seepage.calibrate(leak, error_floor=floors, shape=shape, exact=True)
        again = seepage.measure(model, X, y, noise_scale=noise, numbers=["sex"])
        # What the shape tells is in the floors of the whole measurement.
        assert again.error_floor()[list(X)].min(axis=None) == pytest.approx(floor, rel=1e-9)
        costs[shape] = again.information.excess_loss()
        assert noise.gap >= 1
        # The excess loss is that of noisy models.
        white = np.random.default_rng(0).normal(size=(4000, 11))
        draws = white * noise.scale if shape == "isotropic" else white @ np.linalg.cholesky(noise.covariance).T
        features = np.column_stack([X, np.ones(len(X))])
        residual = model.predict(X) - y
        losses = 0.5 * ((residual.to_numpy() + draws @ features.T) ** 2).sum(axis=1)
        excess = losses.mean() - 0.5 * (residual**2).sum()
        assert excess == pytest.approx(costs[shape], abs=5 * losses.std() / np.sqrt(4000))
    assert costs["isotropic"] / costs["best"] > (550 if floor == 0.5 else 450)


def test_the_scale_is_on_the_grid_and_one_step_less_is_not_enough(diabetes):
    model, X, y, leak = diabetes
    noise = seepage.calibrate(leak, error_floor={"age": 1.0, "bmi": 0.5}, shape="best")
    assert noise.shape.scale in {float(f"{m}e{e}") for m in (1, 2, 5) for e in range(-6, 7)}
    floors = seepage.measure(model, X, y, noise_scale=noise).error_floor()
    assert floors["age"].min() >= 1.0
    assert floors["bmi"].min() >= 0.5
    less = seepage.measure(model, X, y, noise_scale=noise.scaled(0.5)).error_floor()
    assert less["age"].min() < 1.0 or less["bmi"].min() < 0.5


def test_targets_for_any_direction(diabetes):
    model, X, y, leak = diabetes
    noise = seepage.calibrate(leak, eta=1.0, shape="best", exact=True)
    isotropic = seepage.calibrate(leak, eta=1.0, exact=True, shape="isotropic").scale
    again = seepage.measure(model, X, y, noise_scale=noise, numbers=["sex"])
    assert again.examples["eta"].max() == pytest.approx(1.0, rel=1e-6)
    plain = leak.information.with_noise(GaussianNoise(scale=isotropic))
    assert plain.excess_loss() / again.information.excess_loss() > 100


def test_where_the_shape_alone_tells_too_much_no_noise_is_enough():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(14, 4)), columns=list("abcd"))
    y = X.sum(axis=1) + rng.normal(size=14)
    leak = seepage.measure(Ridge(alpha=0.1).fit(X, y), X, y, noise_scale=1.0)
    with pytest.raises(seepage.errors.PolicyError, match="noise"):
        seepage.calibrate(leak, error_floor={"a": 50.0}, shape=RobustCovariance(scale=1.0))
    # The same noise everywhere tells nothing by its shape, and is never beaten by less than itself.
    assert seepage.calibrate(leak, error_floor={"a": 50.0}, shape="best").scale is not None


def test_over_files_and_in_memory_the_same_noise_is_chosen(tmp_path, diabetes):
    model, X, y, leak = diabetes
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    files = seepage.measure(model, tmp_path, target="y", noise_scale=1.0)
    memory = seepage.calibrate(leak, error_floor={"age": 1.0}, shape=RobustCovariance(scale=1.0))
    stored = seepage.calibrate(files, error_floor={"age": 1.0}, shape=RobustCovariance(scale=1.0))
    assert stored.shape == memory.shape
    np.testing.assert_allclose(stored.covariance, memory.covariance, rtol=1e-9, atol=1e-12)
    assert seepage.calibrate(files, error_floor={"age": 1.0}, shape="best").shape.follows_rows


def test_rows_that_are_nobodys_secret_make_a_shape_that_tells_nothing(diabetes):
    _, X, y, _ = diabetes
    public, private = slice(0, 220), slice(220, None)
    fitted = Ridge(alpha=1.0).fit(X[private], y[private])
    leak = seepage.measure(fitted, X[private], y[private], noise_scale=1.0, numbers=["sex"])
    floors = dict.fromkeys(X, 1.0)
    noise = seepage.calibrate(leak, error_floor=floors, shape=(X[public], y[public]), exact=True)
    assert isinstance(noise.shape, shapes.FromPublicRows)
    again = seepage.measure(fitted, X[private], y[private], noise_scale=noise, numbers=["sex"])
    assert not again.information.stays
    assert again.error_floor()[list(X)].min(axis=None) == pytest.approx(1.0, rel=1e-9)
    isotropic = seepage.calibrate(leak, error_floor=floors, shape="isotropic", exact=True)
    gain = leak.information.with_noise(isotropic).excess_loss() / again.information.excess_loss()
    assert gain > 80
    # Public rows of something else do no harm.
    rng = np.random.default_rng(0)
    other = pd.DataFrame(rng.normal(size=(60, 10)), columns=X.columns)
    harmless = seepage.calibrate(leak, error_floor=floors, shape=(other, rng.normal(size=60)), exact=True)
    found = leak.information.with_noise(harmless).excess_loss()
    assert found <= leak.information.with_noise(isotropic).excess_loss() * (1 + 1e-12)


def test_public_rows_serve_a_model_behind_its_own_scaler():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X.drop(columns="sex")
    model = make_pipeline(StandardScaler(), Ridge()).fit(X[200:], y[200:])
    leak = seepage.measure(model, X[200:], y[200:], noise_scale=1.0)
    noise = seepage.calibrate(leak, error_floor={"age": 5.0, "bmi": 2.0}, shape=(X[:200], y[:200]))
    floors = seepage.measure(model, X[200:], y[200:], noise_scale=noise).error_floor()
    assert floors["age"].min() >= 5.0
    assert floors["bmi"].min() >= 2.0
    follows = seepage.calibrate(leak, error_floor={"age": 5.0}, shape=RobustCovariance(scale=1.0))
    assert seepage.measure(model, X[200:], y[200:], noise_scale=follows).error_floor()["age"].min() >= 5.0


def test_a_certificate_says_the_rule_and_no_entry_of_the_covariance(diabetes):
    model, X, y, leak = diabetes
    accept = {"error_floor": {"age": 1.0, "bmi": 1.0}}
    noise = seepage.calibrate(leak, **accept, shape="best")
    publication = seepage.publish(model, X, y, noise_scale=noise, accept=accept)
    certificate = publication.certificate
    assert certificate.noise["scale"] == noise.shape.scale
    assert certificate.noise["shape"] == noise.shape.rule()
    text = certificate.text()
    text = text.decode() if isinstance(text, bytes) else text
    for entry in {*np.abs(noise.covariance).ravel().tolist(), *np.sqrt(np.diag(noise.covariance)).tolist()}:
        assert f"{entry:.4g}" not in text
    assert f"{noise.gap:.3g}" not in text
    assert "The covariance is made from the rows, and what it tells is part of everybody's numbers" in text
    # Models that are published have the noise that was measured.
    moved = publication.estimator.coef_ - model.coef_
    assert np.abs(moved / np.sqrt(np.diag(noise.covariance))[:-1]).max() < 6
    with pytest.raises(seepage.errors.InputError, match="1, 2 or 5"):
        seepage.publish(model, X, y, noise_scale=noise.scaled(1.3), accept=accept)
    with pytest.raises(seepage.errors.PolicyError, match="noise scale of"):
        seepage.publish(model, X, y, noise_scale=noise.scaled(0.1), accept=accept)


def test_reports_say_the_rule(diabetes):
    model, X, y, leak = diabetes
    policy = {"error_floor": {"age": 1.0}}
    noise = seepage.calibrate(leak, **policy, shape="best")
    measured = seepage.measure(model, X, y, noise_scale=noise)
    page = seepage.Report.of(measured, edition="internal", policy=policy)
    assert noise.shape.rule() in page.json()
    assert "share 1 and balance 0.5" in page.markdown()


def test_every_point_of_the_grid_is_reached_from_every_true_value(diabetes):
    """The last product is rounded in floating point, and then to a grid on which that rounding cannot be seen."""
    model, _, _, leak = diabetes
    noise = seepage.calibrate(leak, error_floor={"age": 1.0}, shape="best")
    rng = np.random.default_rng(0)
    deviations = np.sqrt(np.diag(noise.covariance))
    root = np.linalg.cholesky(noise.covariance)
    theta = np.append(model.coef_, model.intercept_)

    def on_grid(row):
        return [_on_grid(value, 1e-3 * least, DIGITS) for value, least in zip(row, deviations, strict=True)]

    for shift in (np.zeros(11), 0.3 * deviations):
        # Points near the truth, far from it, and next to zero, where digits are finest.
        for size in (1.0, 1e-3, 1e-6, 0.0):
            points = np.where(rng.uniform(size=(200, 11)) < 0.2, size, 1.0) * (
                theta + shift + deviations * rng.normal(size=(200, 11))
            )
            grid = np.array([on_grid(row) for row in points])
            # What OpenDP would have to draw, a float like any other, and what becomes of it.
            whitened = np.linalg.solve(root, grid.T).T
            back = (root @ whitened[:, :, None])[:, :, 0]
            again = np.array([on_grid(row) for row in back])
            np.testing.assert_array_equal(again, grid)
    # And the grid is fine beside the noise: a hundred millionth of it at most, or of the number.
    assert np.all(np.abs(grid - points) <= 1e-7 * np.maximum(np.abs(points), deviations))


def test_draws_have_the_covariance_that_was_measured(diabetes):
    _, _, _, leak = diabetes
    noise = seepage.calibrate(leak, error_floor={"age": 1.0}, shape=RobustCovariance(scale=1.0))
    draws = np.array([drawn(np.zeros((1, 11)), noise).ravel() for _ in range(3000)])
    white = noise.whiten(draws.T)
    covariance = white @ white.T / len(draws)
    assert np.abs(covariance - np.eye(11)).max() < 6 / np.sqrt(3000)


def test_success_rates_are_met_by_noise_of_the_best_shape():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)) * [1.0, 30.0, 0.1], columns=list("abc"))
    y = (X["a"] + rng.normal(size=80) > 0).to_numpy().astype(int)
    model = LogisticRegression(max_iter=10_000, tol=1e-10).fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=1.0)
    for targets in ({"success_rate": {"label": 0.6}}, {"success_rate": {"label": 0.7}, "error_floor": {"b": 30.0}}):
        noise = seepage.calibrate(leak, **targets, shape="best", exact=True)
        again = seepage.measure(model, X, y, noise_scale=noise)
        reached = again.success_rate("label")["success_rate"].max()
        assert reached <= targets["success_rate"]["label"] + 1e-9
        if "error_floor" not in targets:
            assert reached == pytest.approx(0.6, abs=1e-6)
        white = seepage.calibrate(leak, **targets, shape="isotropic", exact=True)
        assert again.information.excess_loss() <= leak.information.with_noise(white).excess_loss()
    with pytest.raises(seepage.errors.InputError, match="not 'round'"):
        seepage.calibrate(leak, error_floor={"a": 1.0}, shape="round")


def test_what_may_leave_has_a_rule_that_was_fixed_beforehand():
    """Which of many rules is cheapest is a function of the rows: each of these people would be known by it."""
    random = np.random.default_rng(0)
    found = set()
    for _ in range(6):
        X = pd.DataFrame(random.normal(size=(60, 3)), columns=["a", "b", "c"])
        y = X["a"] + random.normal(size=60)
        leak = seepage.measure(Ridge().fit(X, y), X, y, noise_scale=1.0)
        noise = seepage.calibrate(leak, error_floor={"a": 1.0, "b": 1.0}, shape="best")
        found.add("isotropic" if noise.shape is None else (noise.shape.share, noise.shape.balance))
    assert found <= {"isotropic", (1.0, 0.5)}


@pytest.mark.parametrize("shapes", ["best", [], [({"a": [1.0]}, [2.0])]])
def test_shapes_to_compare_are_listed_by_name(diabetes, shapes):
    model, X, y, _ = diabetes
    with pytest.raises(seepage.errors.InputError, match="lists names of shapes"):
        seepage.release.frontier(model, X, y, X, y, noise_scales=[1.0], attribute="age", shapes=shapes)
