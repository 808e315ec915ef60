"""Distances within bounds, without a refit: held against refits of everybody."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import seepage
from seepage.linear.information import _information
from seepage.linear.objective import Logistic, Squared, Tweedie

TIGHT = {"tol": 1e-10, "max_iter": 10_000}


@pytest.fixture(autouse=True)
def _never_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_information, "_FEW", 0)


def _data(seed: int, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return people of whom a few are alone, or nearly, in their ward, and one is far from all others."""
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(6, 0.5))
    frame = pd.DataFrame(
        {
            "age": random.normal(50, 10, rows),
            "dose": random.standard_t(3, rows),
            "ward": random.choice(list("abcdef"), rows, p=shares),
            "sex": random.choice(["f", "m"], rows),
        }
    )
    frame.loc[0, "dose"] = 12.0
    effect = dict(zip("abcdef", random.normal(size=6), strict=True))
    return frame, 0.05 * (frame["age"] - 50) + 0.4 * frame["dose"] + frame["ward"].map(effect).to_numpy()


def _pipeline(model: Any) -> Any:
    return make_pipeline(
        make_column_transformer((StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["ward", "sex"])), model
    )


MODELS = {
    "logistic": LogisticRegression(C=1.0, **TIGHT),
    "hardly penalized": LogisticRegression(C=50.0, **TIGHT),
    "much penalized": LogisticRegression(C=0.02, **TIGHT),
    "poisson": PoissonRegressor(alpha=0.01, **TIGHT),
    "gamma": GammaRegressor(alpha=0.01, **TIGHT),
    "between both": TweedieRegressor(power=1.5, alpha=0.01, **TIGHT),
}


def _labels(name: str, signal: np.ndarray, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if name in ("poisson", "between both"):
        return random.poisson(np.exp(np.clip(0.4 * signal, -3, 3))).astype(float)
    if name == "gamma":
        return random.gamma(2.0, np.exp(np.clip(0.4 * signal, -3, 3))) + 1e-3
    return (random.uniform(size=len(signal)) < expit(signal)).astype(int)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_for_everybody_and_the_largest_is_that_of_a_refit_of_everybody(name: str, seed: int) -> None:
    rows = (60, 150, 400)[seed]
    frame, signal = _data(seed, rows)
    y = _labels(name, signal.to_numpy(), seed)
    weights = np.random.default_rng(seed).uniform(0.2, 3, rows) if seed == 1 else None
    model = MODELS[name]
    pipeline = _pipeline(model).fit(frame, y, **{f"{type(model).__name__.lower()}__sample_weight": weights})
    leak = seepage.measure(pipeline, frame, y, noise_scale=0.1, sample_weight=weights)
    asked: list[tuple[str, Any]] = [("ward", None), ("sex", None)]
    asked.append((leak.information.attribute_names[-1], None if "penal" in name or name == "logistic" else [1.0, 3.0]))
    for attribute, values in asked:
        found, exact = (of(attribute, values) for of in (leak.information.ranked, leak.information.distances))
        assert found.low is not None
        assert exact.low is None
        distance = exact.distance
        known = ~np.isnan(distance)
        # Refits are found to 1e-9 of the move.
        slack = 1e-8 * np.maximum(distance, 1e-9)
        assert (found.low <= distance + slack)[known].all()
        assert (found.distance >= distance - slack)[known].all()
        assert np.nanmax(found.distance) == pytest.approx(np.nanmax(distance), rel=1e-9)
        best = np.unravel_index(np.nanargmax(found.distance), distance.shape)
        assert found.low[best] == found.distance[best]
        assert (found.truth == exact.truth).all()
        assert (found.distance[found.truth >= 0, found.truth[found.truth >= 0]] == 0).all()


def test_a_rare_outcome_takes_more_than_half_of_the_bound() -> None:
    """There the third derivative is nearly the curvature, and all rows bend alike: half of the bound would not hold."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"age": random.normal(0, 0.05, 1500), "sex": random.integers(0, 2, 1500)})
    y = (np.arange(1500) < 36).astype(int)
    leak = seepage.measure(LogisticRegression(C=5.0, **TIGHT).fit(frame, y), frame, y, noise_scale=0.1)
    found, exact = (of("label", None) for of in (leak.information.ranked, leak.information.distances))
    assert found.low is not None
    bounded = found.low < found.distance
    assert bounded.sum() > 1000
    middle, radius = (found.distance + found.low) / 2, (found.distance - found.low) / 2
    taken = np.abs(exact.distance - middle)[bounded] / radius[bounded]
    assert 0.5 < taken.max() < 1


def test_most_bounds_are_close() -> None:
    frame, signal = _data(5, 600)
    y = _labels("logistic", signal.to_numpy(), 5)
    leak = seepage.measure(_pipeline(MODELS["logistic"]).fit(frame, y), frame, y, noise_scale=0.1)
    found = leak.information.ranked("sex", None)
    assert found.low is not None
    others = found.truth[:, None] != np.arange(2)
    width = (found.distance - found.low)[others] / found.distance[others]
    refitted = (width == 0).mean()
    assert np.median(width) < 0.03
    assert refitted < 0.05


def test_a_change_that_reaches_many_features_is_bounded_too() -> None:
    random = np.random.default_rng(0)
    table = np.column_stack([random.normal(size=(150, 2)), random.integers(0, 2, 150)])
    y = (random.uniform(size=150) < expit(table[:, 0] + table[:, 2] * table[:, 1])).astype(int)
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), LogisticRegression(**TIGHT)).fit(table, y)
    leak = seepage.measure(model, table, y, noise_scale=0.2)
    for name, values in (("x2", [0.0, 1.0]), ("x0", [-2.0, 2.0])):
        found, exact = (of(name, values) for of in (leak.information.ranked, leak.information.distances))
        assert found.low is not None
        assert (found.low <= exact.distance + 1e-8).all()
        assert (found.distance >= exact.distance - 1e-8).all()
        assert found.distance.max() == pytest.approx(exact.distance.max(), rel=1e-9)


def test_where_more_than_coefficients_moves_everybody_is_refitted() -> None:
    frame, signal = _data(3, 80)
    y = _labels("logistic", signal.to_numpy(), 3)
    numbers = frame[["age", "dose"]].assign(smoker=(frame["sex"] == "m").astype(int))
    scaled = make_pipeline(StandardScaler(), LogisticRegression(**TIGHT)).fit(numbers, y)
    leak = seepage.measure(scaled, numbers, y, noise_scale=0.1)
    assert not leak.information.ranks("smoker")
    assert leak.information.ranked("smoker", None).low is None
    lasso = _pipeline(LogisticRegression(l1_ratio=1.0, solver="saga", C=0.3, **TIGHT)).fit(frame, y)
    assert not seepage.measure(lasso, frame, y, noise_scale=0.1).information.ranks("sex")
    balanced = _pipeline(LogisticRegression(class_weight="balanced", **TIGHT)).fit(frame, y)
    assert not seepage.measure(balanced, frame, y, noise_scale=0.1).information.ranks("sex")
    ridge = seepage.measure(_pipeline(Ridge()).fit(frame, y), frame, y, noise_scale=0.1).information
    # One step is the refit.
    assert ridge.ranks("sex")
    assert ridge.ranked("sex", None).low is None


def test_people_with_several_rows_are_refitted() -> None:
    frame, signal = _data(4, 90)
    frame["sex"] = np.repeat(frame["sex"].to_numpy()[:45], 2)
    y = _labels("logistic", signal.to_numpy(), 4)
    model = _pipeline(LogisticRegression(**TIGHT)).fit(frame, y)
    leak = seepage.measure(model, frame, y, noise_scale=0.1, ids=np.repeat(np.arange(45), 2))
    assert not leak.information.ranks("sex")
    assert leak.information.ranked("sex", None).low is None


def test_rates_say_where_they_are_bounds() -> None:
    frame, signal = _data(6, 300)
    y = pd.Series(_labels("logistic", signal.to_numpy(), 6), name="ill")
    leak = seepage.measure(_pipeline(MODELS["logistic"]).fit(frame, y), frame, y, noise_scale=0.5)
    rates = leak.success_rate("ward")
    exact = leak.information.distances("ward", None)
    assert (rates["success_rate_low"] <= rates["success_rate"]).all()
    assert rates["success_rate"].max() == pytest.approx(seepage.meaning.success_rate(exact.distance.max()), rel=1e-9)
    at = rates["success_rate"].to_numpy().argmax()
    assert rates["success_rate_low"].iloc[at] == rates["success_rate"].iloc[at]
    odds = leak.success_rate("sex", prior={"f": 0.2, "m": 0.8})
    assert (odds["success_rate_low"] <= odds["success_rate"]).all()


@pytest.mark.parametrize("loss", [Logistic(), Tweedie(1.0), Tweedie(1.3), Tweedie(2.0)])
def test_losses_that_say_so_bend_no_more_than_they_curve(loss: Any) -> None:
    assert loss.self_concordant
    m = np.linspace(-8, 8, 201)
    for y in (0.0, 0.3, 1.0, 7.0):
        label = np.full_like(m, y if not isinstance(loss, Logistic) else min(y, 1.0))
        curvature = loss.curvature(m, label)
        assert (np.abs(loss.third(m, label)) <= curvature * (1 + 1e-12)).all()
        # As it is used: far from a margin, the slope beyond its linear part.
        for t in (-2.0, -0.3, 0.5, 3.0):
            beyond = loss.slope(m + t, label) - loss.slope(m, label) - curvature * t
            assert (np.abs(beyond) <= curvature * (np.expm1(abs(t)) - abs(t)) + 1e-12 * np.exp(np.abs(m + t))).all()


def test_other_losses_do_not_say_so() -> None:
    assert not Squared().self_concordant
    assert not Tweedie(3.0).self_concordant
