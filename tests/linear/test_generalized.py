"""Every family with every link, against automatic differentiation of its textbook likelihood."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from procedures import LINKS, Expected, likelihood, procedure

import seepage
from seepage.core import slope
from seepage.linear.objective import Likelihood
from seepage.models import GLM

RANDOM = np.random.default_rng(2)
ROWS = RANDOM.uniform(-1.0, 1.0, size=(60, 2))
NOISE = 0.2

# Family, link, the parameters of both, and margins as they should about be.
PAIRS = [
    ("gaussian", "identity", 1.0, 1.0, 0.0),
    ("gaussian", "log", 1.0, 1.0, 1.0),
    ("gaussian", "power", 1.0, -1.0, 2.0),
    ("binomial", "logit", 1.0, 1.0, 0.0),
    ("binomial", "probit", 1.0, 1.0, 0.0),
    ("binomial", "cauchit", 1.0, 1.0, 0.0),
    ("binomial", "cloglog", 1.0, 1.0, -0.5),
    ("binomial", "loglog", 1.0, 1.0, 0.5),
    ("binomial", "log", 1.0, 1.0, -1.5),
    ("binomial", "logc", 1.0, 1.0, -1.5),
    ("binomial", "identity", 1.0, 1.0, 0.55),
    ("poisson", "log", 1.0, 1.0, 1.0),
    ("poisson", "identity", 1.0, 1.0, 4.0),
    ("poisson", "power", 1.0, 0.5, 2.0),
    ("gamma", "power", 1.0, -1.0, 2.0),
    ("gamma", "log", 1.0, 1.0, 0.5),
    ("gamma", "identity", 1.0, 1.0, 3.0),
    ("inverse gaussian", "power", 1.0, -2.0, 2.0),
    ("inverse gaussian", "power", 1.0, -1.0, 2.0),
    ("inverse gaussian", "log", 1.0, 1.0, 0.5),
    ("inverse gaussian", "identity", 1.0, 1.0, 3.0),
    ("negative binomial", "log", 0.7, 1.0, 1.0),
    ("negative binomial", "negative binomial", 0.7, 0.7, -0.8),
    ("negative binomial", "identity", 0.7, 1.0, 4.0),
    ("negative binomial", "power", 0.7, 0.5, 2.0),
    ("tweedie", "log", 1.5, 1.0, 1.0),
    ("tweedie", "power", 1.5, -0.5, 1.0),
    ("tweedie", "identity", 1.5, 1.0, 4.0),
]
IDS = [f"{family}, {link} {q:g}" for family, link, _, q, _ in PAIRS]


def _labels(family, link, parameter, q, start):
    random = np.random.default_rng(4)
    m = start + ROWS @ [0.3, -0.2]
    mean = LINKS[link](m, q)
    if family == "gaussian":
        return mean + 0.1 * random.normal(size=60)
    if (family, link) == ("binomial", "identity"):
        # Shares: of labels of 0 and 1 the best means may be at the ends, where there is no minimizer.
        return np.clip(mean + 0.1 * random.normal(size=60), 0.05, 0.95)
    if family == "binomial":
        return (random.random(60) < mean).astype(float)
    if family == "poisson":
        return random.poisson(mean).astype(float)
    if family == "gamma":
        return random.gamma(20.0, mean / 20.0)
    if family == "inverse gaussian":
        return random.wald(mean, 20.0 * mean)
    if family == "negative binomial":
        return random.negative_binomial(1 / parameter, 1 / (1 + parameter * mean)).astype(float)
    return np.where(random.random(60) < 0.2, 0.0, random.gamma(5.0, mean / 5.0))


@pytest.mark.parametrize(("family", "link", "parameter", "q", "start"), PAIRS, ids=IDS)
def test_a_family_with_a_link(family, link, parameter, q, start):
    y = _labels(family, link, parameter, q, start)
    weights = RANDOM.uniform(0.5, 1.5, 60)
    model = GLM(family, link, parameter=parameter, link_parameter=q, penalty=5.0).fit(ROWS, y, weights)
    leak = seepage.measure(model, ROWS, y, noise_scale=NOISE, sample_weight=weights)
    theta = np.append(model.coef_, model.intercept_)
    loss = likelihood(family, link, parameter, q)
    oracle = procedure(ROWS, y[:, None], loss, 5.0, weights=weights, noise=NOISE, start=theta)
    np.testing.assert_allclose(theta, oracle.fitted["theta"], rtol=1e-8, atol=1e-10)
    Expected(oracle).agrees(leak)


# The logarithms of a share and of the rest, and how far out their margins are.
SHARES = {
    "logit": (lambda m: -mpmath.log1p(mpmath.exp(-m)), lambda m: -mpmath.log1p(mpmath.exp(m)), -100, 100),
    "probit": (lambda m: mpmath.log(mpmath.ncdf(m)), lambda m: mpmath.log(mpmath.ncdf(-m)), -12, 12),
    "cauchit": (lambda m: mpmath.log(mpmath.atan2(1, -m)), lambda m: mpmath.log(mpmath.atan2(1, m)), -1e6, 1e6),
    "cloglog": (lambda m: mpmath.log(-mpmath.expm1(-mpmath.exp(m))), lambda m: -mpmath.exp(m), -30, 5),
    "loglog": (lambda m: -mpmath.exp(-m), lambda m: mpmath.log(-mpmath.expm1(-mpmath.exp(-m))), -5, 30),
    "log": (lambda m: m, lambda m: mpmath.log(-mpmath.expm1(m)), -30, -1e-3),
    "logc": (lambda m: mpmath.log(-mpmath.expm1(m)), lambda m: m, -30, -1e-3),
}


@settings(max_examples=50, deadline=None)
@given(link=st.sampled_from(list(SHARES)), at=st.floats(0, 1), y=st.sampled_from([0.0, 0.3, 1.0]))
def test_likelihoods_keep_their_digits_far_out(link, at, y):
    of, rest, low, high = SHARES[link]
    m = low + at * (high - low)
    found = Likelihood("binomial", link).derivatives(np.array([[m]]), np.array([[y]]))
    with mpmath.workdps(200):
        step = mpmath.mpf(10) ** -40
        before, here, after = (np.array([-rest(m + k * step), -of(m + k * step)]) for k in (-1, 0, 1))
        shares = np.array([1 - mpmath.mpf(y), y])
        first, second = (after - before) / (2 * step), (after - 2 * here + before) / step**2
        # A sum loses what its terms cancel.
        size = shares @ np.abs(first)
        assert abs(found.slope[0, 0] - shares @ first) <= 1e-12 * size
        assert abs(found.curvature[0, 0, 0] - shares @ second) <= 1e-11 * (shares @ np.abs(second) + size + size**2)
        np.testing.assert_allclose(found.label_slope[0, 0, 0], float(first[1] - first[0]), rtol=1e-11)


def test_a_model_is_published_and_predicts():
    y = _labels("gamma", "log", 1.0, 1.0, 0.5)
    model = GLM("gamma", "log", penalty=0.1).fit(ROWS, y)
    publication = seepage.publish(model, ROWS, y, noise_scale=1e-9, accept=None, noise_chosen_without_data=True)
    np.testing.assert_allclose(publication.estimator.predict(ROWS), model.predict(ROWS), rtol=1e-6)


def test_names_that_nobody_knows_are_refused():
    with pytest.raises(seepage.errors.InputError, match="'gausian' is no family"):
        GLM("gausian").fit(ROWS, ROWS[:, 0])
    with pytest.raises(seepage.errors.InputError, match="'logg' is no link"):
        GLM("poisson", "logg").fit(ROWS, ROWS[:, 0])


@pytest.mark.parametrize(
    ("link", "q", "labels", "intercept"),
    [
        ("cauchit", 1.0, "zeros and ones", True),
        ("log", 1.0, "zeros and ones", False),
        ("logc", 1.0, "zeros and ones", False),
        ("probit", 1.0, "zeros and ones", True),
        ("power", -1.0, "positive", False),
        ("power", -2.0, "positive", False),
    ],
)
def test_labels_that_no_margin_reaches_have_a_fit(link, q, labels, intercept):
    for seed in range(5):
        random = np.random.default_rng(seed)
        rows = random.uniform(0.2, 1.5, size=(25, 2))
        y = random.uniform(0.3, 3.0, 25) if labels == "positive" else (random.random(25) < 0.4).astype(float)
        model = GLM("gaussian", link, link_parameter=q, penalty=0.3, fit_intercept=intercept).fit(rows, y)
        design = np.column_stack([rows, np.ones(25)]) if intercept else rows
        penalty = np.array([0.3, 0.3, 0.0] if intercept else [0.3, 0.3])
        theta = np.append(model.coef_, model.intercept_) if intercept else model.coef_
        first = slope(lambda m, y: 0.5 * (y - LINKS[link](m, q)) ** 2)
        np.testing.assert_allclose(design.T @ first(design @ theta, y) + penalty * theta, 0.0, atol=1e-8)
        hessian = (design.T * slope(first)(design @ theta, y)) @ design + np.diag(penalty)
        assert np.linalg.eigvalsh(hessian).min() > 0


@pytest.mark.parametrize(
    ("family", "link", "q"),
    [("poisson", "identity", 1.0), ("binomial", "log", 1.0), ("binomial", "identity", 1.0), ("gamma", "power", -1.0)],
)
@pytest.mark.parametrize("absolute", [0.0, 0.3])
def test_no_fit_is_outside_the_family(family, link, q, absolute):
    answered = 0
    for seed in range(6):
        random = np.random.default_rng(seed)
        rows = random.normal(size=(12, 2))
        y = {"poisson": random.poisson(1.0, 12), "binomial": random.integers(0, 2, 12)}.get(
            family, random.gamma(2, 1, 12)
        )
        model = GLM(family, link, link_parameter=q, absolute=absolute)
        try:
            model.fit(rows, y)
        except seepage.errors.MinimizerError:
            continue
        answered += 1
        margins = (rows @ model.coef_ + model.intercept_)[:, None]
        loss = Likelihood(family, link, link_parameter=q).value(margins, y[:, None].astype(float))
        assert np.isfinite(loss).all()
    assert answered
