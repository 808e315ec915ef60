"""Every family with every link, against automatic differentiation of its textbook likelihood."""

import numpy as np
import pytest
import torch
from oracle import Oracle
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import seepage
from seepage.linear.objective import Generalized
from seepage.models import GLM

RANDOM = np.random.default_rng(2)
ROWS = RANDOM.uniform(-1.0, 1.0, size=(60, 2))
NOISE = 0.2

MEANS = {
    "identity": lambda m, q: m,
    "log": lambda m, q: torch.exp(m),
    "logc": lambda m, q: 1 - torch.exp(m),
    "logit": lambda m, q: 1 / (1 + torch.exp(-m)),
    "probit": lambda m, q: torch.special.ndtr(m),
    "cauchit": lambda m, q: 0.5 + torch.atan(m) / torch.pi,
    "cloglog": lambda m, q: 1 - torch.exp(-torch.exp(m)),
    "loglog": lambda m, q: torch.exp(-torch.exp(-m)),
    "power": lambda m, q: m ** (1 / q),
    "negative binomial": lambda m, q: 1 / (q * (torch.exp(-m) - 1)),
}


def likelihood(family, parameter):
    """Return minus the log density of a label with a mean, as a textbook states it, at dispersion one."""
    if family == "gaussian":
        return lambda mu, y: 0.5 * (y - mu) ** 2
    if family == "binomial":
        return lambda mu, y: -(y * torch.log(mu) + (1 - y) * torch.log(1 - mu))
    if family == "poisson":
        return lambda mu, y: mu - y * torch.log(mu) + torch.lgamma(y + 1)
    if family == "gamma":
        return lambda mu, y: torch.log(mu) + y / mu
    if family == "inverse gaussian":
        return lambda mu, y: (y - mu) ** 2 / (2 * mu**2 * y)
    if family == "negative binomial":
        return lambda mu, y: (
            -y * torch.log(parameter * mu / (1 + parameter * mu)) + torch.log(1 + parameter * mu) / parameter
        )
    power = parameter
    return lambda mu, y: mu ** (2 - power) / (2 - power) - y * mu ** (1 - power) / (1 - power)


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
    mean = MEANS[link](torch.tensor(m), q).numpy()
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
    density = likelihood(family, parameter)
    oracle = Oracle(
        lambda m, y: density(MEANS[link](m, q), y).sum(-1),
        *(ROWS, np.eye(2), np.zeros(2), y[:, None], weights, np.array([5.0, 5.0, 0.0]), True),
    )
    theta = oracle.minimizer(np.append(model.coef_, model.intercept_)[:, None])
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), theta[:, 0], rtol=1e-8, atol=1e-10)
    moved = np.concatenate(oracle.jacobians(theta), axis=2) / NOISE
    np.testing.assert_allclose(leak.examples["eta"], np.linalg.norm(moved, 2, axis=(1, 2)), rtol=1e-8)
    np.testing.assert_allclose(leak.attributes, np.linalg.norm(moved, axis=1), rtol=1e-8)
    together = moved.transpose(1, 0, 2).reshape(3, -1)
    assert leak.joint() == pytest.approx(np.linalg.norm(together, 2), rel=1e-8)
    some = together.reshape(3, 60, 3)[:, :9].reshape(3, -1)
    assert leak.joint(np.arange(60) < 9) == pytest.approx(np.linalg.norm(some, 2), rel=1e-8)


@pytest.mark.parametrize(("family", "link", "parameter", "q", "start"), PAIRS, ids=IDS)
def test_third_derivatives(family, link, parameter, q, start):
    loss = Generalized(family, link, parameter, q)
    y = torch.tensor(_labels(family, link, parameter, q, start))
    m = torch.tensor(start + ROWS @ [0.2, 0.1])
    density = likelihood(family, parameter)

    def value(m, y):
        return density(MEANS[link](m, q), y)

    first = torch.func.grad(value)
    second = torch.func.grad(first)
    expected = {
        "slope": first,
        "curvature": second,
        "label_slope": torch.func.grad(first, argnums=1),
        "third": torch.func.grad(second),
        "label_third": torch.func.grad(second, argnums=1),
    }
    for name, of in expected.items():
        found = getattr(loss, name)(m.numpy(), y.numpy())
        np.testing.assert_allclose(found, torch.func.vmap(of)(m, y), rtol=1e-9, atol=1e-11, err_msg=name)
    gap = loss.loss(m.numpy(), y.numpy()) - torch.func.vmap(value)(m, y).numpy()
    shifted = loss.loss(m.numpy() + 0.01, y.numpy()) - torch.func.vmap(value)(m + 0.01, y).numpy()
    np.testing.assert_allclose(gap, shifted, atol=1e-12)


@pytest.mark.parametrize("link", ["probit", "cloglog", "cauchit"])
def test_far_out_nothing_cancels(link):
    loss = Generalized("binomial", link)
    m = np.array([-30.0, -8.0, -3.0])
    found = loss.slope(m, np.zeros(3))
    assert (found >= 0).all()
    if link in ("probit", "cauchit"):
        expected = -loss.slope(-m, np.ones(3))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_behind_powers():
    y = _labels("binomial", "probit", 1.0, 1.0, 0.0)
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), GLM("binomial", "probit", penalty=1.0))
    leak = seepage.measure(model.fit(ROWS, y), ROWS, y, noise_scale=NOISE)
    refitted = leak.information.distances("x0", [0.5]).distance[:, 0]
    rows = ROWS.copy()
    rows[11, 0] = 0.5
    one, other = model[-1], GLM("binomial", "probit", penalty=1.0).fit(model[0].transform(rows), y)
    moved = np.append(one.coef_ - other.coef_, one.intercept_ - other.intercept_)
    assert refitted[11] == pytest.approx(np.linalg.norm(moved) / NOISE, rel=1e-7)


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
        design = torch.tensor(np.column_stack([rows, np.ones(25)]) if intercept else rows)
        held = torch.tensor([0.3, 0.3, 0.0] if intercept else [0.3, 0.3], dtype=torch.float64)

        def objective(theta, design=design, y=y, held=held):
            return 0.5 * ((torch.tensor(y) - MEANS[link](design @ theta, q)) ** 2).sum() + 0.5 * held @ theta**2

        found = np.append(model.coef_, model.intercept_) if intercept else model.coef_
        theta = torch.tensor(found, requires_grad=True)
        slope = torch.autograd.grad(objective(theta), theta)[0]
        np.testing.assert_allclose(slope, 0.0, atol=1e-8)
        assert torch.linalg.eigvalsh(torch.autograd.functional.hessian(objective, theta)).min() > 0


@pytest.mark.parametrize(
    ("family", "link", "q"),
    [("poisson", "identity", 1.0), ("binomial", "log", 1.0), ("binomial", "identity", 1.0), ("gamma", "power", -1.0)],
)
@pytest.mark.parametrize("absolute", [0.0, 0.3])
def test_no_fit_is_outside_the_family(family, link, q, absolute):
    answered = 0
    for seed in range(8):
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
        loss = Generalized(family, link, link_parameter=q).loss(rows @ model.coef_ + model.intercept_, y.astype(float))
        assert np.isfinite(loss).all()
    assert answered
