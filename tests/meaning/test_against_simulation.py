"""Each bound against attackers who do the best they can."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage import meaning

DRAWS = 20_000
NOISE = 0.0005
random = np.random.default_rng(9)
X = random.normal(size=(40, 3))
Y = X @ [1.0, -0.5, 0.2] + random.normal(size=40)


def _release(value: float, person: int, column: int) -> np.ndarray:
    changed = X.copy()
    changed[person, column] = value
    return Ridge(alpha=1.0, fit_intercept=False).fit(changed, Y).coef_


@pytest.fixture(scope="module")
def leak():
    return seepage.measure(Ridge(alpha=1.0, fit_intercept=False).fit(X, Y), X, Y, noise_scale=NOISE, public_label=True)


@pytest.mark.parametrize(("person", "column"), [(0, 0), (11, 1), (25, 2)])
def test_the_best_unbiased_attacker_is_at_the_floor(leak, person, column):
    truth, floor = X[person, column], leak.error_floor()[f"x{column}"][person]
    # Least squares on the curve of releases, tabulated by fitting again, as an attacker would.
    grid = truth + np.linspace(-6, 6, 241) * floor
    curve = np.array([_release(value, person, column) for value in grid])
    released = _release(truth, person, column) + NOISE * np.random.default_rng(1).normal(size=(DRAWS, 3))
    squares = (curve**2).sum(axis=1) - 2 * released @ curve.T
    best = squares.argmin(axis=1).clip(1, 239)
    rows = np.arange(DRAWS)
    left, middle, right = (squares[rows, best + k] for k in (-1, 0, 1))
    step = grid[1] - grid[0]
    guess = grid[best] + 0.5 * step * (left - right) / (left - 2 * middle + right)
    assert abs(guess.mean() - truth) < 0.05 * floor
    assert guess.std() == pytest.approx(floor, rel=0.05)
    assert guess.std() > floor * (1 - 3 / np.sqrt(2 * DRAWS))


@pytest.mark.parametrize("share", [0.3, 1.0, 3.0])
def test_an_attacker_with_a_prior_is_at_the_van_trees_floor(leak, share):
    person, column = 0, 0
    truth, floor = X[person, column], leak.error_floor()[f"x{column}"][person]
    prior = share * floor
    simulation = np.random.default_rng(2)
    values = truth + prior * simulation.normal(size=DRAWS)
    grid = truth + np.linspace(-6, 6, 121) * max(prior, floor)
    curve = np.array([_release(value, person, column) for value in grid])
    released = np.array([np.interp(values, grid, curve[:, j]) for j in range(3)]).T
    released += NOISE * simulation.normal(size=(DRAWS, 3))
    log = -((released[:, None, :] - curve) ** 2).sum(axis=2) / (2 * NOISE**2) - (grid - truth) ** 2 / (2 * prior**2)
    posterior = np.exp(log - log.max(axis=1, keepdims=True))
    guess = (posterior * grid).sum(axis=1) / posterior.sum(axis=1)
    error = np.sqrt(np.mean((guess - values) ** 2))
    bound = leak.error_floor(prior={"x0": prior**2})["x0"][person]
    assert error == pytest.approx(bound, rel=0.05)
    assert error > bound * (1 - 4 / np.sqrt(2 * DRAWS))
    left = leak.remaining_variance(prior={"x0": prior**2})["x0"][person]
    assert left == pytest.approx((bound / prior) ** 2)


@pytest.mark.parametrize("odds", [None, {"a": 0.2, "b": 0.5, "c": 0.3}])
@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_the_likelihood_ratio_attacker_succeeds_as_often_as_the_rate_says(kind, odds):
    table = pd.DataFrame({"x": X[:, 0], "level": np.array(["a", "b", "c"])[np.arange(40) % 3]})
    labels = Y if kind == "ridge" else Y > 0
    last = Ridge(alpha=1.0) if kind == "ridge" else LogisticRegression(C=1.0, tol=1e-10, max_iter=1000)
    encode = make_column_transformer((OneHotEncoder(), ["level"]), remainder="passthrough")
    model = make_pipeline(encode, last).fit(table, labels)
    scale = 0.02
    leak = seepage.measure(model, table, labels, noise_scale=scale, public_label=True)
    rates = leak.success_rate("level", prior=odds)
    simulation = np.random.default_rng(3)
    for person, other in ((0, "b"), (0, "c"), (7, "a")):
        mine = table["level"][person]
        changed = table.copy()
        changed.loc[person, "level"] = other
        points = []
        for frame in (table, changed):
            features = encode.fit(table).transform(frame)
            fitted = type(last)(**last.get_params()).fit(features, labels)
            points.append(np.append(fitted.coef_, fitted.intercept_))
        ratio = 1.0 if odds is None else odds[mine] / odds[other]
        is_mine = simulation.random(DRAWS) < ratio / (1 + ratio)
        released = np.where(is_mine[:, None], points[0], points[1]) + scale * simulation.normal(
            size=(DRAWS, len(points[0]))
        )
        evidence = ((released - points[1]) ** 2 - (released - points[0]) ** 2).sum(axis=1) / (2 * scale**2)
        success = np.mean((evidence + np.log(ratio) > 0) == is_mine)
        row = rates[(rates.index == person) & (rates["other"] == other)].iloc[0]
        assert row["value"] == mine
        assert success == pytest.approx(row["success_rate"], abs=3 * np.sqrt(0.25 / DRAWS))


def test_the_success_rate_is_the_overlap_of_two_gaussians():
    for distance in (0.3, 1.0, 4.0):
        for odds in (1.0, 0.1, 5.0):
            share = odds / (1 + odds)
            overlap, _ = quad(
                lambda t, share=share, d=distance: max(share * norm.pdf(t), (1 - share) * norm.pdf(t - d)),
                -12,
                16,
                limit=400,
            )
            assert meaning.success_rate(distance, odds) == pytest.approx(overlap, abs=1e-7)
            rate = float(meaning.success_rate(distance, odds))
            if rate > max(share, 1 - share) + 1e-6:
                assert meaning.distance_for(rate, odds) == pytest.approx(distance, rel=1e-6)


def test_a_biased_attacker_is_budget_by_its_bias_and_slope():
    # Shrinking an unbiased guess of one value by a factor: variance factor^2 / I, bias (factor - 1) z.
    information, z, factor = np.array([[4.0]]), 3.0, 0.7
    floor = meaning.biased_floor(information, np.array([[factor]]), np.array([(factor - 1) * z]))
    guess = factor * (z + 0.5 * np.random.default_rng(0).normal(size=400_000))
    assert np.mean((guess - z) ** 2) == pytest.approx(floor, rel=0.01)


def test_a_shrunk_guess_is_budget_by_its_slope_and_bias_from_renyi_privacy_too():
    # One value between 0 and M with noise: epsilon of order 2 is M^2 / sigma^2, and the guess is shrunk by a factor.
    sigma, factor, z = 1.0, 0.7, 0.4
    draws = np.random.default_rng(0).normal(size=400_000)
    for width in (0.1, 1.0, 3.0):
        error = np.mean((factor * (z * width + sigma * draws) - z * width) ** 2)
        off = (factor - 1) * z * width
        floor = meaning.reconstruction_floor((width / sigma) ** 2, [width], mean_slopes=factor, bias=off)
        information = meaning.biased_floor(np.array([[1 / sigma**2]]), np.array([[factor]]), np.array([off]))
        assert floor < information == pytest.approx(error, rel=0.02)
        # A guess without bias could not be as near as that for wide intervals: what is known of it counts.
        assert floor == pytest.approx(
            factor**2 * meaning.reconstruction_floor((width / sigma) ** 2, [width]) + off**2, rel=1e-12
        )


def test_a_floor_beyond_the_range_says_nothing(leak):
    wide = leak.error_floor(interval={"x0": (-1e-3, 1e-3)})
    assert np.isinf(wide["x0"]).all()
    assert np.isfinite(wide["x1"]).all()
    assert (leak.error_floor(interval={"x0": (-1e6, 1e6)})["x0"] == leak.error_floor()["x0"]).all()
    with pytest.raises(seepage.errors.InputError, match="'height'"):
        leak.error_floor(interval={"height": (0, 1)})
    with pytest.raises(seepage.errors.InputError, match='"data"'):
        leak.error_floor(prior="flat")
    with pytest.raises(seepage.errors.InputError, match="must be positive"):
        leak.error_floor(prior={"x0": 0.0})


def test_the_data_prior_never_promises_more_than_a_blind_guess(leak):
    floor = leak.error_floor(prior="data")
    assert (floor <= X.std(axis=0) + 1e-12).all(axis=None)
    assert (floor <= leak.error_floor()).all(axis=None)
