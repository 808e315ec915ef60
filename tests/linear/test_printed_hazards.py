"""Coefficients and standard errors of a Cox model move with a person's weight and values as those of a new fit do."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.linear_model import CoxPHSurvivalAnalysis
from statsmodels.duration.hazard_regression import PHReg

import seepage
from seepage.errors import InputError, UnansweredError
from seepage.linear.survival import SurvivalFit
from seepage.models import Cox

N = 60
RANDOM = np.random.default_rng(0)
X = pd.DataFrame({"age": RANDOM.normal(60, 10, N), "dose": RANDOM.gamma(2, 1, N), "arm": RANDOM.random(N) < 0.4})
X = X.astype(float)
WEEK = 20 * RANDOM.exponential(np.exp(-(0.03 * (X["age"] - 60) + 0.3 * X["dose"] - 0.5 * X["arm"])))
UNTIL = RANDOM.exponential(20, N)
OUTCOMES = {
    "no ties": np.minimum(WEEK, UNTIL) + 0.01,
    "ties": np.ceil(np.minimum(WEEK, UNTIL) / 2),
}


def outcome(times, strata=False):
    fields = [WEEK <= UNTIL, OUTCOMES[times]]
    names = "event,time" + ",stratum" * strata
    return np.rec.fromarrays([*fields, *([np.arange(N) % 2] if strata else [])], names=names)


def printed(X, y, ties, weights=None):
    """What a new fit prints."""
    minimum = SurvivalFit.of(Cox(ties=ties).fit(X, y, sample_weight=weights), X, y, weights).minimum
    return np.concatenate([minimum.beta, np.sqrt(minimum.inverse.diagonal())])


@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("times", OUTCOMES)
def test_what_a_person_moves_is_what_a_new_fit_shows(times, ties, strata):
    y = outcome(times, strata)
    found = seepage.measure(Cox(ties=ties).fit(X, y), X, y).information.printed
    slopes = found.jacobian(np.arange(N)).formed()
    np.testing.assert_allclose(found.values[:6], printed(X, y, ties), rtol=1e-12)
    for person in (0, 5, 17, 33):
        step = 1e-3 * np.eye(N)[person]
        more, less = (printed(X, y, ties, 1 + sign * step) for sign in (1, -1))
        moves = found.moves.of(np.array([person]))[0, :6]
        np.testing.assert_allclose(moves, (more - less) / 2e-3, rtol=1e-5, atol=1e-9)
        for name in ("age", "dose"):
            at, h = X.columns.get_loc(name), 1e-3 * X[name].std()
            ends = []
            for sign in (1, -1):
                moved = X.copy()
                moved.iloc[person, at] += sign * h
                ends.append(printed(moved, y, ties))
            along = slopes[person, :6, found.blocks[name][0]]
            np.testing.assert_allclose(along, (ends[0] - ends[1]) / (2 * h), rtol=1e-4, atol=1e-8)


def test_standard_errors_are_those_that_statsmodels_prints():
    y = outcome("ties")
    found = seepage.measure(Cox().fit(X, y), X, y).information.printed
    other = PHReg(y.time, X, status=y.event.astype(int), ties="efron").fit(disp=0)
    np.testing.assert_allclose(found.values[3:6], other.bse, rtol=1e-8)


def test_standard_errors_tell_more_and_can_be_left_out():
    y = outcome("no ties")
    model = Cox().fit(X, y)
    whole, less = seepage.measure(model, X, y), seepage.measure(model, X, y, published=["coefficients"])
    assert len(whole.information.printed.names) == 7
    assert less.information.printed.names == ("age", "dose", "arm", "number of events")
    told, left = (leak.against(0).information._answers.each[:, :3] for leak in (whole, less))
    assert (told >= left * (1 - 1e-9)).all()
    assert np.median(told / left) > 1.2


def test_standard_errors_that_nobody_prints_or_counts_are_refused_by_name():
    y = outcome("no ties")
    for model in (Cox(penalty=0.1), make_pipeline(StandardScaler(), Cox())):
        fitted = model.fit(X, y)
        assert "standard errors" not in seepage.measure(fitted, X, y).information.printed.names
        with pytest.raises(InputError, match="'standard errors'; of this Cox model"):
            seepage.measure(fitted, X, y, published=["coefficients", "standard errors"])


def _cox_results():
    frame = X.assign(week=OUTCOMES["no ties"], died=(WEEK <= UNTIL).astype(int))
    y = np.rec.fromarrays([WEEK <= UNTIL, OUTCOMES["no ties"]], names="died,week")
    yield CoxPHFitter().fit(frame, "week", "died"), (frame,), ["died", "week"]
    yield CoxPHSurvivalAnalysis().fit(X, y), (X, y), ["died", "week"]
    yield PHReg(frame["week"], X, status=frame["died"]).fit(disp=0), (), ["status", "week"]


@pytest.mark.parametrize(("model", "rows", "outcomes"), [*_cox_results()])
def test_events_and_times_are_listed_as_not_assessed(model, rows, outcomes):
    leak = seepage.measure(model, *rows)
    assert list(leak.not_assessed()) == ["age", "dose", "arm", *outcomes]
    assert leak.not_assessed()[outcomes].eq(leak.not_assessed()[outcomes].iloc[0]).all(axis=None)
    assert leak.not_assessed()[outcomes[0]][0].startswith("not assessed without noise")
    for known in (0, 0.5, "all"):
        assert leak.against(known).attributes[outcomes].isna().all(axis=None)
    assert f"Not assessed: {', '.join(outcomes)}; not_assessed() says why." in leak.statement().text()
    assert all(f"The outcome, {name}, is not assessed." in leak.statement().paper for name in outcomes)
    with pytest.raises(UnansweredError, match="'week' is not assessed without noise"):
        leak.success_rate("week", values=[1.0, 2.0])
    with pytest.raises(UnansweredError, match="is not assessed without noise"):
        leak.records_needed(success_rate={outcomes[0]: 0.9})
    with pytest.raises(UnansweredError, match="is not assessed without noise"):
        leak.joint_information_loss(attribute=outcomes[0])


def test_two_cox_models_together_assess_neither_events_nor_times():
    y = outcome("no ties")
    leaks = {str(size): seepage.measure(Cox().fit(X[:size], y[:size]), X[:size], y[:size]) for size in (N, 40)}
    assert seepage.compose(leaks).attributes[["event", "time"]].isna().all(axis=None)
