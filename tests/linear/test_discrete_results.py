"""Results of statsmodels with more than coefficients and labels, against their stationarity, differentiated."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
import torch
from stationary import Stationary

import seepage
from seepage.linear import GLM

RANDOM = np.random.default_rng(12)
N, NOISE = 70, 0.3
TABLE = pd.DataFrame({"age": RANDOM.uniform(1.0, 3.0, N), "dose": RANDOM.gamma(4.0, 0.4, N) + 0.2})
LENGTH = RANDOM.uniform(0.3, 2.0, N)
OFFSET = np.log(LENGTH)
MARGIN = 0.4 * TABLE["dose"] + 0.3 * TABLE["age"] - 1.0
TABLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-MARGIN - OFFSET))).astype(int)
TABLE["visits"] = RANDOM.poisson(np.exp(MARGIN + 0.7 + OFFSET + 0.5 * RANDOM.normal(size=N)))
TABLE["days"] = RANDOM.gamma(5.0, np.exp(MARGIN + OFFSET) / 5.0)
TABLE["cost"] = MARGIN + OFFSET + 0.3 * RANDOM.normal(size=N)
WEIGHTS = RANDOM.uniform(0.5, 2.0, N)
PLAIN = sm.add_constant(TABLE[["age", "dose"]])
VALUES = TABLE[["age", "dose"]].to_numpy()
families, links = sm.families, sm.families.links

# The mean of a margin, and the negative log likelihood of a mean, as textbooks state them.
MEANS = {
    "identity": lambda m: m,
    "log": torch.exp,
    "logit": torch.sigmoid,
    "probit": lambda m: 0.5 * (1 + torch.erf(m / 2**0.5)),
    "cauchit": lambda m: 0.5 + torch.atan(m) / torch.pi,
    "cloglog": lambda m: 1 - torch.exp(-torch.exp(m)),
    "loglog": lambda m: torch.exp(-torch.exp(-m)),
    "inverse": lambda m: 1 / m,
    "sqrt": lambda m: m**2,
}
LOSSES = {
    "gaussian": lambda mu, y: 0.5 * (y - mu) ** 2,
    "binomial": lambda mu, y: -y * torch.log(mu) - (1 - y) * torch.log(1 - mu),
    "poisson": lambda mu, y: mu - y * torch.log(mu),
    "gamma": lambda mu, y: y / mu + torch.log(mu),
    "inverse gaussian": lambda mu, y: y / (2 * mu**2) - 1 / mu,
    "negative binomial": lambda mu, y: (y + 1 / 0.6) * torch.log(1 + 0.6 * mu) - y * torch.log(mu),
    "tweedie": lambda mu, y: mu**0.5 / 0.5 + y * mu**-0.5 / 0.5,
}


def with_constant(values):
    return torch.cat([torch.ones(len(values), 1, dtype=torch.float64), values], 1)


def objective(family, link, offset=OFFSET, weights=None):
    """Return that of a generalized linear model whose constant comes first."""

    def found(theta, values, labels):
        margins = with_constant(values) @ theta + torch.tensor(np.asarray(offset))
        losses = LOSSES[family](MEANS[link](margins), labels[:, 0])
        return losses.sum() if weights is None else losses @ torch.tensor(weights)

    return found


SHIFTED = {
    "gaussian": (families.Gaussian(), "identity", "cost"),
    "gaussian log": (families.Gaussian(links.Log()), "log", "days"),
    "logit": (families.Binomial(), "logit", "ill"),
    "probit": (families.Binomial(links.Probit()), "probit", "ill"),
    "cauchit": (families.Binomial(links.Cauchy()), "cauchit", "ill"),
    "cloglog": (families.Binomial(links.CLogLog()), "cloglog", "ill"),
    "loglog": (families.Binomial(links.LogLog()), "loglog", "ill"),
    "poisson": (families.Poisson(), "log", "visits"),
    "poisson sqrt": (families.Poisson(links.Sqrt()), "sqrt", "visits"),
    "gamma": (families.Gamma(links.Log()), "log", "days"),
    "gamma inverse": (families.Gamma(links.InversePower()), "inverse", "days"),
    "inverse gaussian": (families.InverseGaussian(links.Log()), "log", "days"),
    "negative binomial": (families.NegativeBinomial(alpha=0.6), "log", "visits"),
    "tweedie": (families.Tweedie(links.Log(), var_power=1.5), "log", "days"),
}
NAMES = {"Gaussian": "gaussian", "Binomial": "binomial", "Poisson": "poisson", "Gamma": "gamma", "Tweedie": "tweedie"}
NAMES |= {"InverseGaussian": "inverse gaussian", "NegativeBinomial": "negative binomial"}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", SHIFTED)
# Links that may leave what a family can be.
@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
def test_an_offset_is_counted_in_every_family_and_link(name, weights):
    family, link, label = SHIFTED[name]
    # Margins of an inverse or a root must stay on their side of zero.
    offset = 0.1 * LENGTH if link in ("inverse", "sqrt") else OFFSET
    results = sm.GLM(TABLE[label], PLAIN, family=family, offset=offset, var_weights=weights).fit(tol=1e-12)
    leak = seepage.measure(results, noise_scale=NOISE)
    goal = objective(NAMES[type(family).__name__], link, offset, weights)
    oracle = Stationary(goal, results.params.to_numpy(), VALUES, TABLE[[label]].to_numpy(dtype=float))
    oracle.agrees(leak, NOISE, sample=(0, 13, 41))
    assert any("known to the attacker" in one and "offset" in one for one in leak.assumptions)


def test_models_of_one_family_take_an_offset_too():
    label = TABLE[["ill"]].to_numpy(dtype=float)
    for made, link in ((sm.Logit, "logit"), (sm.Probit, "probit")):
        results = made(TABLE["ill"], PLAIN, offset=OFFSET).fit(disp=0, tol=1e-12)
        oracle = Stationary(objective("binomial", link), results.params.to_numpy(), VALUES, label)
        oracle.agrees(seepage.measure(results, noise_scale=NOISE), NOISE, sample=(5, 60))
    results = smf.poisson("visits ~ age + dose", TABLE, exposure=LENGTH).fit(disp=0, tol=1e-12)
    oracle = Stationary(objective("poisson", "log"), results.params, VALUES, TABLE[["visits"]].to_numpy(dtype=float))
    oracle.agrees(seepage.measure(results, noise_scale=NOISE), NOISE, sample=(5, 60))


def test_an_offset_goes_with_a_formula():
    results = smf.logit("ill ~ np.log(age) + dose", TABLE, offset=OFFSET).fit(disp=0, tol=1e-12)

    def goal(theta, values, labels):
        features = torch.stack([torch.log(values[:, 0]), values[:, 1]], 1)
        return objective("binomial", "logit")(theta, features, labels)

    oracle = Stationary(goal, results.params.to_numpy(), VALUES, TABLE[["ill"]].to_numpy(dtype=float))
    oracle.agrees(seepage.measure(results, noise_scale=NOISE), NOISE, sample=(5, 60))


def test_an_offset_moves_along_in_refits_and_repeats():
    model = sm.GLM(TABLE["ill"], PLAIN, family=families.Binomial(links.CLogLog()), offset=OFFSET)
    results = model.fit(tol=1e-13, maxiter=200)
    leak = seepage.measure(results, noise_scale=NOISE)
    for person in (3, 22):
        others = TABLE["ill"].to_numpy().copy()
        others[person] = 1 - others[person]
        again = sm.GLM(others, PLAIN, family=families.Binomial(links.CLogLog()), offset=OFFSET)
        moved = np.asarray(again.fit(tol=1e-13, maxiter=200).params) - np.asarray(results.params)
        distance = leak.information.distances("ill", None).distance[person].max()
        assert distance == pytest.approx(np.linalg.norm(moved) / NOISE, rel=1e-7)
    # Two rows of one person are one person: what they tell together is what both tell at once.
    pairs = np.arange(N) // 2
    both = seepage.measure(results, noise_scale=NOISE, ids=pairs)
    oracle = Stationary(objective("binomial", "cloglog"), results.params, VALUES, TABLE[["ill"]].to_numpy(dtype=float))
    for pair in (0, 30):
        whole = np.hstack([oracle.jacobian(row) for row in (2 * pair, 2 * pair + 1)]) / NOISE
        assert both.examples["eta"].iloc[pair] == pytest.approx(np.linalg.norm(whole, 2), rel=1e-8)


def test_an_offset_stays_when_the_coefficients_leave():
    results = smf.glm("ill ~ age + dose", TABLE, family=families.Binomial(), offset=OFFSET).fit()
    floors = {"age": 0.05}
    scale = seepage.calibrate(seepage.measure(results, noise_scale=1.0), error_floor=floors)
    publication = seepage.publish(results, noise_scale=scale, accept={"error_floor": floors})
    found = publication.estimator.predict(TABLE[["age", "dose"]], OFFSET)
    margins = VALUES @ publication.estimator.coef_ + publication.estimator.intercept_ + OFFSET
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-margins)), rtol=1e-12)
    assert "offset" not in repr(vars(publication.estimator))
    assert any("offset" in one for one in publication.certificate.assumptions)


def test_a_model_of_our_own_is_fitted_and_matched_with_an_offset():
    rows = TABLE[["age", "dose"]]
    model = GLM("binomial", "probit").fit(rows, TABLE["ill"], WEIGHTS, OFFSET)
    theirs = sm.GLM(TABLE["ill"], PLAIN, family=families.Binomial(links.Probit()), offset=OFFSET, var_weights=WEIGHTS)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), theirs.fit(tol=1e-13).params, rtol=1e-8)
    given = {"sample_weight": WEIGHTS, "offset": OFFSET}
    publication = seepage.publish(model, rows, TABLE["ill"], noise_scale=0.5, accept=None, **given)
    assert publication.certificate.matches(model, rows, TABLE["ill"], key=publication.key, **given)
    other = given | {"offset": OFFSET + 1}
    with pytest.raises(seepage.MinimizerError, match="not the minimizer"):
        seepage.measure(model, rows, TABLE["ill"], noise_scale=0.5, **other)
    with pytest.raises(seepage.InputError, match="one entry for each"):
        seepage.measure(model, rows, TABLE["ill"], noise_scale=0.5, **given | {"offset": OFFSET[:3]})
    with pytest.raises(seepage.InputError, match="leave y, sample_weight and offset out"):
        seepage.measure(theirs.fit(), noise_scale=0.5, offset=OFFSET)


SHARES = np.exp(np.column_stack([np.zeros(N), 0.7 * VALUES[:, 0] - 1.2, 0.5 * VALUES[:, 1] - 1.0]))
KIND = (RANDOM.random((N, 1)) * SHARES.sum(axis=1, keepdims=True) > SHARES.cumsum(axis=1)).sum(axis=1)
TABLE["kind"] = np.array(["acute", "chronic", "none"])[KIND]


def classes(theta, values, labels):
    """Return the negative log likelihood of three classes, the first without coefficients."""
    beta = theta.reshape(2, -1).T
    margins = torch.cat([torch.zeros(len(values), 1, dtype=torch.float64), with_constant(values) @ beta], 1)
    return (torch.logsumexp(margins, 1) - (labels * margins).sum(1)).sum()


# Labels that stay shares move along two directions of the three.
ALONG = np.linalg.svd(np.ones((1, 3)))[2][1:].T


@pytest.mark.parametrize("kind", ["plain", "formula", "codes"])
def test_several_classes_are_compared_with_the_first(kind):
    if kind == "formula":
        results = smf.mnlogit("code ~ age + dose", TABLE.assign(code=KIND)).fit(disp=0, tol=1e-12)
    else:
        results = sm.MNLogit(TABLE["kind"] if kind == "plain" else KIND, PLAIN).fit(disp=0, tol=1e-12)
    leak = seepage.measure(results, noise_scale=NOISE)
    oracle = Stationary(classes, np.asarray(results.params).T.ravel(), VALUES, np.eye(3)[KIND])
    oracle.agrees(leak, NOISE, directions=ALONG, sample=(1, 33, 64))
    # Noise on coefficients of all classes alike is another release.
    assert leak.information.attribute_names[-1] in leak.information.categorical


def test_classes_are_refitted_and_grouped():
    results = sm.MNLogit(TABLE["kind"], PLAIN).fit(disp=0, tol=1e-12)
    leak = seepage.measure(results, noise_scale=NOISE)
    found = leak.information.distances("kind", None)
    assert found.values == ("acute", "chronic", "none")
    for person, other in ((4, 2), (50, 0)):
        codes = KIND.copy()
        codes[person] = other
        moved = np.asarray(sm.MNLogit(codes, PLAIN).fit(disp=0, tol=1e-12).params) - np.asarray(results.params)
        assert found.distance[person, other] == pytest.approx(np.linalg.norm(moved) / NOISE, rel=1e-6)
    oracle = Stationary(classes, np.asarray(results.params).T.ravel(), VALUES, np.eye(3)[KIND])
    both = seepage.measure(results, noise_scale=NOISE, ids=np.arange(N) // 2)
    whole = np.hstack([oracle.jacobian(row, ALONG) for row in (10, 11)]) / NOISE
    assert both.examples["eta"].iloc[5] == pytest.approx(np.linalg.norm(whole, 2), rel=1e-8)
    # What noise costs is the same whatever the coordinates: 1/2 tr(H Sigma) of what is published.
    expected = 0.5 * NOISE**2 * float(torch.trace(oracle.hessian))
    assert leak.information.excess_loss() == pytest.approx(expected, rel=1e-9)


def test_a_covariance_over_the_coefficients_of_all_classes():
    results = sm.MNLogit(TABLE["kind"], PLAIN).fit(disp=0, tol=1e-12)
    root = RANDOM.normal(size=(6, 6)) / 3 + np.eye(6)
    # The library has the constant last.
    order = np.array([1, 2, 0, 4, 5, 3])
    leak = seepage.measure(results, noise_scale=seepage.GaussianNoise(covariance=(root @ root.T)[np.ix_(order, order)]))
    oracle = Stationary(classes, np.asarray(results.params).T.ravel(), VALUES, np.eye(3)[KIND])
    moved = np.linalg.solve(root, oracle.jacobian(7, ALONG))
    assert leak.examples["eta"].iloc[7] == pytest.approx(np.linalg.norm(moved, 2), rel=1e-8)


def test_classes_behind_a_formula_that_standardizes():
    frame = TABLE.assign(code=KIND)
    results = smf.mnlogit("code ~ standardize(age) + dose", frame).fit(disp=0, tol=1e-12)
    scaled = seepage.measure(results, noise_scale=NOISE, public_preprocessing=["formula"])
    moving = seepage.measure(results, noise_scale=NOISE)
    assert (moving.attributes["age"] > 0).all()
    # In raw units the fit does not see the scaler; its noise does, which only adds.
    raw = smf.mnlogit("code ~ age + dose", frame).fit(disp=0, tol=1e-12)
    one = frame["age"].std(ddof=0)
    weaker = np.diag(np.tile([1 / one, 1.0, 1.0], 2))
    shift = frame["age"].mean() / one
    for at in (0, 3):
        weaker[at + 2, at] = -shift
    noise = seepage.GaussianNoise(covariance=NOISE**2 * weaker @ weaker.T)
    plain = seepage.measure(raw, noise_scale=noise)
    assert (moving.examples["eta"] >= plain.examples["eta"] * (1 - 1e-9)).all()
    np.testing.assert_allclose(moving.attributes["dose"], plain.attributes["dose"], rtol=1e-7)
    assert np.abs(scaled.attributes["age"] / moving.attributes["age"] - 1).max() > 1e-4


def test_classes_are_published_as_shares():
    results = smf.mnlogit("code ~ age + dose", TABLE.assign(code=KIND)).fit(disp=0, tol=1e-12)
    publication = seepage.publish(
        results, noise_scale=1e-6, noise_chosen_without_data=True, accept=None, smallest_group=5
    )
    names = publication.certificate.published["parameters"]
    assert names == [f"class {c}: {name}" for c in (1, 2) for name in ("age", "dose", "intercept")]
    shares = publication.estimator.predict(TABLE[["age", "dose"]])
    np.testing.assert_allclose(shares, results.predict(), atol=1e-4)
    own = GLM("multinomial").fit(TABLE[["age", "dose"]], TABLE["kind"])
    np.testing.assert_allclose(np.vstack([own.intercept_, own.coef_.T]), results.params, rtol=1e-7)
    same = seepage.measure(own, TABLE[["age", "dose"]], TABLE["kind"], noise_scale=NOISE)
    np.testing.assert_allclose(same.examples, seepage.measure(results, noise_scale=NOISE).examples, rtol=1e-8)
    with pytest.raises(seepage.InputError, match="With a penalty, fit LogisticRegression"):
        GLM("multinomial", penalty=1.0).fit(TABLE[["age", "dose"]], TABLE["kind"])
