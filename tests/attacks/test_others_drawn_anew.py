"""Releases without noise whose others are drawn anew, against refits of other libraries; and what verify says."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from statsmodels.duration.hazard_regression import PHReg

import seepage
from seepage.attacks import AttributeInversion, MembershipScore
from seepage.errors import InputError, UnansweredError
from seepage.models import Cox
from seepage.others import Held, OthersLeakage

RANDOM = np.random.default_rng(3)
N = 240
X = pd.DataFrame({"age": RANDOM.normal(50, 10, N), "arm": RANDOM.integers(0, 2, N), "dose": RANDOM.gamma(4, 1, N)})
Y = pd.Series(0.1 * X["age"] + X["arm"] - 0.5 * X["dose"] + RANDOM.normal(size=N), name="score")
YES = pd.Series((RANDOM.random(N) < 1 / (1 + np.exp(-(Y - Y.mean()) / 2))).astype(int), name="yes")
EXACT = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
DRAWN = np.bincount(RANDOM.integers(0, N, N), minlength=N)


@pytest.fixture(scope="module")
def leak():
    return seepage.measure(LinearRegression().fit(X, Y), X, Y, others_known=120)


@pytest.mark.parametrize("kind", ["least squares", "logistic"])
def test_numbers_of_people_drawn_anew_are_those_that_statsmodels_prints(kind):
    model, y = (LinearRegression(), Y) if kind == "least squares" else (EXACT, YES)
    printed = seepage.measure(model.fit(X, y), X, y).information.printed
    found = printed.redrawn(DRAWN[None].astype(float), 0, None, None)[0]
    rows = np.repeat(np.arange(N), DRAWN)
    design = np.column_stack([X.to_numpy(float), np.ones(N)])[rows]
    family = sm.families.Gaussian() if kind == "least squares" else sm.families.Binomial()
    other = sm.GLM(y.to_numpy(float)[rows], design, family=family).fit(tol=1e-14)
    last = other.scale if kind == "least squares" else y.iloc[rows].sum()
    np.testing.assert_allclose(found, [*other.params, *other.bse, last], rtol=1e-7)


@pytest.mark.parametrize(("attribute", "value"), [(None, None), ("dose", 7.5), ("arm", 1)])
def test_hazards_of_people_drawn_anew_are_those_that_statsmodels_prints(attribute, value):
    weeks = np.random.default_rng(4).exponential(np.exp(-Y / 4))
    y = np.rec.fromarrays([YES == 1, weeks], names="event,time")
    model, person, drawn = Cox(ties="breslow"), int(np.flatnonzero(X["arm"] == 0)[0]), DRAWN.copy()
    drawn[person] = 1
    printed = seepage.measure(model.fit(X, y), X, y).information.printed
    found = printed.redrawn(drawn[None].astype(float), person, attribute, None if value is None else [value])[0]
    people = X.astype(float)
    if attribute is not None:
        people.loc[person, attribute] = value
    rows = np.repeat(np.arange(N), drawn)
    other = PHReg(weeks[rows], people.iloc[rows], status=YES.iloc[rows], ties="breslow").fit(disp=0)
    np.testing.assert_allclose(found, [*other.params, *other.bse, YES.iloc[rows].sum()], rtol=1e-6)


@pytest.mark.parametrize(("attribute", "value"), [("dose", 7.5), ("arm", 0), ("yes", 1)])
def test_a_person_with_another_value_is_fitted_with_it(attribute, value):
    person = int(np.flatnonzero((X["arm"] == 1) & (YES == 0))[0])
    model = LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000)
    printed = seepage.measure(model.fit(X, YES), X, YES).information.printed
    found = printed.redrawn(np.ones((1, N)), person, attribute, [value])[0]
    rows, y = X.copy().astype(float), YES.copy()
    if attribute == "yes":
        y[person] = value
    else:
        rows.loc[person, attribute] = value
    again = model.fit(rows, y)
    np.testing.assert_allclose(found, [*again.coef_[0], *again.intercept_, y.sum()], rtol=1e-6)


def test_attackers_who_learned_from_releases_are_as_far_off_as_was_said(leak):
    found = seepage.verify(leak, trials=400)
    assert found.holds
    assert found.quantity == "relative error"
    assert set(found.frame["attribute"]) == {"age", "arm", "dose", "score"}
    assert found.frame["over_answer"].between(0.9, 1.15).all()
    assert found.frame["linear_over_answer"].dropna().between(0.9, 1.25).all()
    assert "as far off as was said" in repr(found)


def test_an_answer_that_is_too_large_is_noticed(leak):
    printed = leak.information.printed
    louder = replace(
        printed,
        moves=Held(3 * printed.moves.values),
        elsewhere=lambda person: Held(3 * printed.elsewhere(person).values),
    )
    wrong = OthersLeakage(replace(leak.information, printed=louder))
    person = int(np.argmax(np.nan_to_num(leak.attributes["score"])))
    found = seepage.verify(wrong, trials=1500, people=[person])
    assert found.frame.set_index("attribute").loc["score", "linear_over_answer"] < 0.5
    assert not found.holds


def test_membership_is_told_as_often_as_refits_of_drawn_people_are():
    known, person = 120, 5
    rows, y = X.copy(), Y.copy()
    # How far off a person is depends on who is known: of somebody who is far off anyway, hardly.
    rows.loc[person, "age"], y[person] = 65.0, Y[person] + 5.0
    found = seepage.measure(LinearRegression().fit(rows, y), rows, y, others_known=known, published=["coefficients"])
    said = MembershipScore().fit(found).distance_[person]
    design, rest = np.column_stack([rows.to_numpy(float), np.ones(N)]), np.delete(np.arange(N), person)
    held, random = RANDOM.permutation(rest)[:known], np.random.default_rng(0)

    def fits(present):
        own, count = ([person], N - 1 - known) if present else ([], N - known)
        drawn = (np.concatenate([held, random.choice(rest, count), own]).astype(int) for _ in range(6000))
        return np.array([np.linalg.lstsq(design[at], y.to_numpy()[at], rcond=None)[0] for at in drawn])

    inside, outside = fits(True), fits(False)
    gap = inside.mean(axis=0) - outside.mean(axis=0)
    scatter = (np.cov(inside.T) + np.cov(outside.T)) / 2
    assert np.sqrt(gap @ np.linalg.solve(scatter, gap)) / said == pytest.approx(1.0, abs=0.12)


def test_membership_is_scored_and_verified_without_noise():
    small, y = X.iloc[:120], Y.iloc[:120]
    found = seepage.measure(LinearRegression().fit(small, y), small, y, published=["coefficients"])
    scores = MembershipScore().fit(found).evaluate(trials=100)
    assert scores["success"].mean() == pytest.approx(scores["best_success"].mean(), abs=0.02)
    assert seepage.verify(found, MembershipScore(), trials=300, people=[0, 1]).holds
    told = MembershipScore().fit(found.against("all"))
    assert np.isinf(told.distance_).all()


def test_who_cannot_be_drawn_anew_is_said(leak):
    with pytest.raises(InputError, match="needs an attack"):
        seepage.verify(seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=1.0))
    with pytest.raises(InputError, match="leave AttributeInversion out"):
        seepage.verify(leak, AttributeInversion("age"))
    with pytest.raises(UnansweredError, match="how many of the others are known"):
        seepage.verify(leak.against("covariates"), people=[0])
    clusters = seepage.measure(LinearRegression().fit(X, Y), X, Y, clusters=np.repeat(np.arange(N // 2), 2))
    with pytest.raises(UnansweredError, match="without clusters"):
        seepage.verify(clusters, people=[0])
