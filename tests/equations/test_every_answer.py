"""Whatever a measurement answers, equations answer: a logistic regression as psi says what it says as a model."""

import secrets

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import seepage
from seepage.errors import SeepageError
from seepage.models import Equations

RANDOM = np.random.default_rng(3)
N = 150
X = pd.DataFrame({"age": RANDOM.normal(50, 10, N), "dose": RANDOM.normal(size=N), "sex": RANDOM.integers(0, 2, N)})
MARGIN = (X["age"] - 50) / 10 + 0.5 * X["dose"] + 0.5 * X["sex"]
Y = pd.Series((RANDOM.random(N) < 1 / (1 + np.exp(-MARGIN))).astype(int), name="ill")
FRAME = X.assign(ill=Y)
MODEL = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(X, Y)
IDS = [f"patient {i}" for i in range(N)]
SOME = np.arange(N) < 30


def _psi(theta, frame):
    x = np.column_stack([frame["age"], frame["dose"], frame["sex"], np.ones(len(frame))])
    return x.T * (frame["ill"].to_numpy() - 1 / (1 + np.exp(-x @ theta)))


EQUATIONS = Equations(_psi, np.append(MODEL.coef_[0], MODEL.intercept_), names=["age", "dose", "sex", "(intercept)"])


def _both(**asked):
    """Measure the same twice; how many people have each of two values is always known beside equations."""
    alike = {} if "noise_scale" in asked and "known_records" not in asked else {"known_group_sizes": ["sex"]}
    if alike:
        alike["published"] = ["coefficients"]
    return seepage.measure(MODEL, X, Y, **asked, **alike), seepage.measure(EQUATIONS, FRAME, **asked)


@pytest.fixture(scope="module")
def noisy():
    return _both(noise_scale=0.3)


@pytest.fixture(scope="module")
def printed():
    return _both()


def _numbers(answer):
    frame = getattr(answer, "frame", answer)
    return frame.select_dtypes("number").to_numpy() if isinstance(frame, pd.DataFrame) else np.asarray(frame)


def _same(ask, pair, tolerance):
    one, other = (_numbers(ask(leak)) for leak in pair)
    assert one.size
    np.testing.assert_allclose(other, one, rtol=tolerance)


def _balance(leak, folder):
    limit = {"error_floor": {"age": 0.1}, "units": {"age": "years"}}
    ledger = seepage.ledger.Ledger.create(folder, key=secrets.token_bytes(32), **limit)
    ledger.post(leak, title="twice", units={"age": "years"})
    return ledger.history(IDS)["age"]


WITH_NOISE = {
    "examples": lambda leak: leak.examples[["eta", "dfil"]],
    "attributes": lambda leak: leak.attributes,
    "floors": lambda leak: leak.error_floor(),
    "floors with a prior": lambda leak: leak.error_floor(prior="data"),
    "floors in an interval": lambda leak: leak.error_floor(interval={"age": (20.0, 90.0)}),
    "variance left": lambda leak: leak.remaining_variance(),
    "success rates of the outcome": lambda leak: leak.success_rate("ill"),
    "success rates of a covariate": lambda leak: leak.success_rate("sex"),
    "success rates with a prior": lambda leak: leak.success_rate("sex", prior="data"),
    "success rates of a number": lambda leak: leak.success_rate("age", values=[float(X["age"][3]), 30.0, 70.0]),
    "groups": lambda leak: leak.by_group("sex"),
    "most exposed": lambda leak: leak.most_exposed(5),
    "joint": lambda leak: leak.joint_information_loss(),
    "joint of some": lambda leak: leak.joint_information_loss(SOME),
    "joint of an attribute": lambda leak: leak.joint_information_loss(SOME, attribute="age"),
    "noise for a floor": lambda leak: seepage.calibrate(leak, error_floor={"age": 20.0}, shape="isotropic").scale,
    "noise for eta": lambda leak: seepage.calibrate(leak, eta=0.1, shape="isotropic", exact=True).scale,
    "noise for a success rate": lambda leak: (
        seepage.calibrate(leak, success_rate={"ill": 0.6}, shape="isotropic", exact=True).scale
    ),
    "noise in units": lambda leak: (
        seepage.calibrate(leak, error_floor={"age": 20.0}, shape={"age": 10.0}, exact=True).shape.scale
    ),
    "two releases": lambda leak: seepage.compose([leak, leak]).examples[["eta", "dfil"]],
}


@pytest.mark.parametrize("name", WITH_NOISE)
def test_with_noise(name, noisy):
    _same(WITH_NOISE[name], noisy, 1e-6)


def test_a_model_and_equations_are_composed(noisy):
    both = seepage.compose([*noisy])
    np.testing.assert_allclose(both.examples["eta"], np.sqrt(2.0) * noisy[0].examples["eta"], rtol=1e-9)


def test_a_ledger_and_a_report_take_them(noisy, tmp_path):
    pair = _both(noise_scale=0.3, ids=IDS)
    left = [_balance(leak, tmp_path / str(i)) for i, leak in enumerate(pair)]
    np.testing.assert_allclose(left[1], left[0], rtol=1e-9)
    for edition in ("internal", "publishable"):
        page = seepage.Report.of(noisy[1], edition).markdown()
        assert "estimating equations" in page
        assert "all but one person's private values" in page


WITHOUT_NOISE = {
    "attributes": lambda leak: leak.attributes,
    "floors": lambda leak: leak.error_floor(prior="data"),
    "success rates of the outcome": lambda leak: leak.success_rate("ill"),
    "success rates of a covariate": lambda leak: leak.success_rate("sex"),
    "groups": lambda leak: leak.by_group("sex"),
    "joint": lambda leak: leak.joint_information_loss(SOME),
    "two tables": lambda leak: seepage.compose({"May": leak, "June": leak}).attributes,
    "as printed": lambda leak: leak.rounded_table()[["value", "step"]][:4],
}


@pytest.mark.parametrize("name", WITHOUT_NOISE)
def test_without_noise(name, printed):
    """Others are looked at where the fit is without people of large leverage, by one rule in both rooms."""
    _same(WITHOUT_NOISE[name], printed, 1e-6)


@pytest.mark.parametrize("known", [0.5, 100])
@pytest.mark.parametrize("noise", [{}, {"noise_scale": 0.3}])
def test_attackers_who_hold_some_of_the_others(known, noise):
    pair = _both(known_records=known, **noise)
    for ask in (lambda leak: leak.attributes, lambda leak: leak.success_rate("ill")):
        _same(ask, pair, 1e-6)


def test_how_many_others_are_needed(printed):
    one, other = (leak.records_needed(error_floor={"age": 5.0}) for leak in printed)
    np.testing.assert_allclose(_numbers(other), _numbers(one), atol=1)
    assert "150 people" in printed[1].statement().text()


REFUSED = {
    "shapes that follow the rows": (
        lambda leak: seepage.calibrate(leak, error_floor={"age": 9.0}, shape="best"),
        "Give units of columns",
    ),
    "what some noises cost": (lambda leak: seepage.release.suggest(leak), "For others, try a few scales"),
    "attacks": (lambda leak: seepage.attacks.verify(leak, seepage.attacks.MembershipScore()), "linear"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_answered_names_the_way_out(name, noisy):
    ask, says = REFUSED[name]
    with pytest.raises(SeepageError, match=says):
        ask(noisy[1])


def test_what_is_not_answered_without_noise_names_the_way_out(printed):
    with pytest.raises(SeepageError, match="Ask known_records=0, or a number"):
        _ = seepage.measure(EQUATIONS, FRAME, known_records="covariates").attributes
    for ask in (seepage.calibrate, lambda leak, **_: leak.privacy_measures()):
        with pytest.raises(SeepageError, match=r"leak.statement\(\) along instead"):
            ask(printed[1], error_floor={"age": 5.0})
