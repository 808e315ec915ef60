"""Verifying is a test: it seldom alarms where all is right, and does where it is not."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pages import ROOT
from scipy.stats import chi2
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage.attacks import AttributeInversion, MembershipScore, _verify
from seepage.linear.information._refit import Refit

random = np.random.default_rng(6)
ROWS = 60
TABLE = pd.DataFrame({"age": random.normal(size=ROWS), "ward": random.choice(["a", "b", "c"], ROWS)})
SIGNAL = TABLE["age"] + (TABLE["ward"] == "b") + random.normal(size=ROWS)
ENCODE = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
WEIGHTS = random.uniform(0.3, 3, ROWS)
TIGHT = {"tol": 1e-10, "max_iter": 10_000}
MODELS = {
    "ridge": (Ridge(), SIGNAL.to_numpy(), None),
    "logistic, weighted": (LogisticRegression(**TIGHT), (SIGNAL > 0).to_numpy(), WEIGHTS),
    "logistic, balanced": (LogisticRegression(class_weight="balanced", **TIGHT), (SIGNAL > 1).to_numpy(), None),
    "three classes": (LogisticRegression(**TIGHT), np.digitize(SIGNAL, [-0.5, 1]), None),
    "ridge classifier, balanced": (
        RidgeClassifier(class_weight="balanced"),
        np.digitize(SIGNAL, [-0.5, 1]),
        WEIGHTS,
    ),
    "poisson, weighted": (PoissonRegressor(alpha=0.1, **TIGHT), np.floor(np.exp(0.5 * SIGNAL.to_numpy())), WEIGHTS),
}


def _leak(name: str, noise_scale: float = 0.05) -> seepage.Leakage:
    model, y, weights = MODELS[name]
    pipeline = make_pipeline(ENCODE, model)
    pipeline.fit(TABLE, y, **{f"{type(model).__name__.lower()}__sample_weight": weights})
    return seepage.measure(pipeline, TABLE, y, noise_scale=noise_scale, sample_weight=weights)


def _alarms(errors: np.ndarray, understated: float) -> bool:
    """Return whether Gaussian guesses at a floor of one alarm if eta is said to be this much of what it is."""
    people, trials = errors.shape
    one = np.ones(people)
    test = _verify.ErrorTest(
        trials, errors.mean(axis=1), errors.var(axis=1, ddof=1), one, np.zeros(people), understated * one
    )
    return bool((test.p_values < test.level).any())


@pytest.mark.parametrize(("people", "trials", "seeds"), [(10, 100, 1000), (10, 1000, 1000), (1000, 100, 100)])
def test_an_attack_at_its_floor_seldom_alarms(people: int, trials: int, seeds: int) -> None:
    drawn = np.random.default_rng(people + trials)
    alarms = sum(_alarms(drawn.standard_normal((people, trials)), 1.0) for _ in range(seeds))
    # One percent, within three standard errors of as many seeds.
    assert alarms <= 0.01 * seeds + 3 * np.sqrt(0.01 * seeds)
    if seeds == 1000:
        assert alarms > 0


def test_an_eta_that_is_ten_percent_too_small_is_noticed() -> None:
    drawn = np.random.default_rng(1)
    noticed = sum(_alarms(drawn.standard_normal((10, 1000)), 0.9) for _ in range(500))
    assert noticed >= 0.99 * 500


def test_the_power_for_one_person_is_as_the_docstring_says() -> None:
    for people, power in ((10, 94), (200, 76), (10_000, 41)):
        limit = chi2.ppf(_verify.FALSE_ALARMS / people, 999)
        # At 0.9 of its eta a person's floor is 1 / 0.81 of what the guesses reach.
        assert round(100 * chi2.cdf(limit / 0.81, 999)) == power
        assert f"{power}% among" in " ".join(_verify.verify.__doc__.split())
        assert chi2.cdf(limit / 0.64, 999) > 0.99


def test_the_power_for_one_person_is_as_the_page_says() -> None:
    page = (ROOT / "docs" / "how-to" / "test-with-attacks.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\| (\d+)%, ([\d,]+) trials \| (\d+)% \| (\d+)% \| (\d+)% \|$", page, re.MULTILINE)
    assert len(stated) == 4
    for understated, trials, *powers in stated:
        draws, share = int(trials.replace(",", "")) - 1, (1 - int(understated) / 100) ** 2
        for people, power in zip((10, 200, 10_000), powers, strict=True):
            limit = chi2.ppf(_verify.FALSE_ALARMS / people, draws)
            assert round(100 * chi2.cdf(limit / share, draws)) == int(power)


def test_the_page_on_attacks_does_not_alarm() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X, y = X[:200], y[:200]
    leak = seepage.measure(Ridge(alpha=1.0).fit(X, y), X, y, noise_scale=0.05, public_label=True)
    attack = AttributeInversion("bmi").fit(leak)
    alarms = [not _verify._numbers(attack, 100, seed).holds for seed in range(6)]
    assert not any(alarms)
    leak.information.__dict__["_attributes"] = {k: 0.9 * v for k, v in leak.information.attributes().items()}
    assert not _verify._numbers(attack, 1000, 0).holds


def test_successes_at_the_best_rate_seldom_alarm() -> None:
    drawn = np.random.default_rng(0)
    for people, draws in ((10, 200), (300, 200), (50, 2000)):
        best = drawn.uniform(0.5, 1, people)
        alarms = 0
        for _ in range(600):
            alarms += not _verify._of_rates(dict, drawn.binomial(draws, best), best, draws).holds
        assert alarms <= 0.01 * 600 + 3 * np.sqrt(0.01 * 600)


@pytest.mark.parametrize("name", MODELS)
def test_models_that_scikit_learn_fits_anew_are_told_apart_as_often_as_was_said(name: str) -> None:
    leak = _leak(name)
    attacks: list[Any] = [AttributeInversion("ward"), MembershipScore()]
    if leak.information.attribute_names[-1] in leak.information.categorical:
        attacks.append(AttributeInversion("label"))
    for attack in attacks:
        found = seepage.verify(leak, attack, trials=300, seed=1)
        assert found.holds, found.verdict
        # The attack reaches its bound: the two are one number but for the draws.
        gap = (found.frame["success"] - found.frame["best"]) / np.maximum(found.frame["standard_error"], 1e-3)
        assert gap.abs().max() < 5
        assert abs(gap.mean()) < 0.6


@pytest.mark.parametrize("shrunk", [0.8, 0.1])
def test_distances_that_are_too_small_are_noticed(shrunk: float, monkeypatch: pytest.MonkeyPatch) -> None:
    moves = Refit.moves
    monkeypatch.setattr(Refit, "moves", lambda *arguments: shrunk * moves(*arguments))
    leak = _leak("logistic, weighted", 0.1)
    for attack in (AttributeInversion("ward"), AttributeInversion("label"), MembershipScore()):
        found = seepage.verify(leak, attack, trials=1000)
        assert not found.holds
        assert "does not describe this release" in found.verdict


def test_many_small_excesses_are_noticed_together() -> None:
    draws, people = 2000, 200
    right = np.full(people, 1040)
    found = _verify._of_rates(dict, right, np.full(people, 0.5), draws)
    assert not any(found.frame["above"])
    assert not found.holds
    assert found.verdict.startswith("Taken together")


def test_whom_to_attack_can_be_chosen() -> None:
    leak = _leak("ridge")
    found = seepage.verify(leak, MembershipScore(), trials=50, people=[3, 7])
    assert found.frame.index.tolist() == [3, 7]
    with pytest.raises(seepage.errors.InputError, match="row numbers"):
        seepage.verify(leak, MembershipScore(), people=[ROWS])
    with pytest.raises(seepage.errors.InputError, match="need no such fits"):
        seepage.verify(leak, AttributeInversion("age"), people=[1])
    with pytest.raises(seepage.errors.InputError, match="at least 2"):
        seepage.verify(leak, AttributeInversion("age"), trials=1)


def test_what_cannot_be_fitted_anew_is_said() -> None:
    X = TABLE[["age"]].to_numpy()
    y = (SIGNAL > 0).to_numpy()
    model = SGDClassifier(loss="log_loss", alpha=0.1, tol=1e-9, max_iter=100_000, learning_rate="optimal").fit(X, y)
    leak = seepage.measure(model, X, y, noise_scale=0.1)
    with pytest.raises(seepage.errors.UnansweredError, match="draws its steps at random"):
        seepage.verify(leak, MembershipScore())
    alone = np.where(np.arange(ROWS) == 5, 2, y.astype(int))
    leak = seepage.measure(LogisticRegression(**TIGHT).fit(X, alone), X, alone, noise_scale=0.1)
    unknown = MembershipScore().fit(leak).evaluate(trials=10)["success"]
    assert np.flatnonzero(np.isnan(unknown)).tolist() == [5]
    with pytest.raises(seepage.errors.UnansweredError, match="row 5"):
        seepage.verify(leak, MembershipScore(), trials=10)
    assert seepage.verify(leak, MembershipScore(), trials=10, people=np.delete(np.arange(ROWS), 5)).holds


@pytest.mark.parametrize("attack", [MembershipScore(), AttributeInversion("x0")])
def test_a_release_without_noise_is_not_attacked(attack: Any) -> None:
    X, y = np.random.default_rng(0).normal(size=(2, 40, 3))
    model = Ridge().fit(X, y[:, 0])
    with pytest.raises(seepage.errors.UnansweredError, match=r"one linear model with noise.*noise_scale="):
        seepage.verify(seepage.measure(model, X, y[:, 0]), attack)
