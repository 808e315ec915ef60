"""Results of statsmodels with more than coefficients and labels, against their stationarity, differentiated."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from procedures import Expected, likelihood, negative_binomial, procedure, sum_zero

import seepage
from seepage.models import GLM

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


def expected(label, loss, params, features=lambda z: z, **more):
    """Return the numbers of a model whose results have the constant first, by outputs if there are several."""
    labels = label if isinstance(label, np.ndarray) else TABLE[[label]].to_numpy(dtype=float)
    start = np.concatenate([np.roll(one, -1) for one in np.atleast_2d(np.asarray(params).T)])
    return procedure(VALUES, labels, loss, features=features, start=start, **{"noise": NOISE} | more)


SHIFTED = {
    "gaussian": (families.Gaussian(), "identity", "cost"),
    "gaussian log": (families.Gaussian(links.Log()), "log", "days"),
    "logit": (families.Binomial(), "logit", "ill"),
    "probit": (families.Binomial(links.Probit()), "probit", "ill"),
    "cauchit": (families.Binomial(links.Cauchy()), "cauchit", "ill"),
    "cloglog": (families.Binomial(links.CLogLog()), "cloglog", "ill"),
    "loglog": (families.Binomial(links.LogLog()), "loglog", "ill"),
    "poisson": (families.Poisson(), "log", "visits"),
    "poisson sqrt": (families.Poisson(links.Sqrt()), "power", "visits"),
    "gamma": (families.Gamma(links.Log()), "log", "days"),
    "gamma inverse": (families.Gamma(links.InversePower()), "power", "days"),
    "inverse gaussian": (families.InverseGaussian(links.Log()), "log", "days"),
    "negative binomial": (families.NegativeBinomial(alpha=0.6), "log", "visits"),
    "tweedie": (families.Tweedie(links.Log(), var_power=1.5), "log", "days"),
}
NAMES = {"Gaussian": "gaussian", "Binomial": "binomial", "Poisson": "poisson", "Gamma": "gamma", "Tweedie": "tweedie"}
NAMES |= {"InverseGaussian": "inverse gaussian", "NegativeBinomial": "negative binomial"}


@pytest.mark.parametrize("name", SHIFTED)
# Links that may leave what a family can be.
@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
def test_an_offset_is_counted_in_every_family_and_link(name):
    family, link, label = SHIFTED[name]
    weights = WEIGHTS if list(SHIFTED).index(name) % 2 else None
    # Margins of an inverse or a root must stay on their side of zero.
    offset = 0.1 * LENGTH if link == "power" else OFFSET
    results = sm.GLM(TABLE[label], PLAIN, family=family, offset=offset, var_weights=weights).fit(tol=1e-12)
    leak = seepage.measure(results, noise_scale=NOISE)
    parameter = {"negative binomial": 0.6, "tweedie": 1.5}.get(name, 1.0)
    loss = likelihood(NAMES[type(family).__name__], link, parameter, {"gamma inverse": -1.0}.get(name, 0.5))
    Expected(expected(label, loss, results.params, offset=offset, weights=weights)).agrees(leak)
    assert any("known to the attacker" in one and "offset" in one for one in leak.assumptions)


def test_models_of_one_family_take_an_offset_too():
    for made, link in ((sm.Logit, "logit"), (sm.Probit, "probit")):
        results = made(TABLE["ill"], PLAIN, offset=OFFSET).fit(disp=0, tol=1e-12)
        oracle = expected("ill", likelihood("binomial", link), results.params, offset=OFFSET)
        Expected(oracle).agrees(seepage.measure(results, noise_scale=NOISE))
    results = smf.poisson("visits ~ age + dose", TABLE, exposure=LENGTH).fit(disp=0, tol=1e-12)
    oracle = expected("visits", "poisson", results.params, offset=OFFSET)
    Expected(oracle).agrees(seepage.measure(results, noise_scale=NOISE))


def with_log_age(z):
    return np.stack([np.log(z[:, 0]), z[:, 1]], axis=1)


def test_an_offset_goes_with_a_formula():
    results = smf.logit("ill ~ np.log(age) + dose", TABLE, offset=OFFSET).fit(disp=0, tol=1e-12)
    oracle = expected("ill", "logistic", results.params, with_log_age, offset=OFFSET)
    Expected(oracle).agrees(seepage.measure(results, noise_scale=NOISE))


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
    moves = expected("ill", likelihood("binomial", "cloglog"), results.params, offset=OFFSET).information_roots()
    for pair in (0, 30):
        first, second = (moves[row].T for row in (2 * pair, 2 * pair + 1))
        eta = np.linalg.norm(np.hstack([first, second]), 2)
        if TABLE["ill"].iloc[2 * pair] == TABLE["ill"].iloc[2 * pair + 1]:
            # The same label twice may be one label; it comes last.
            one = np.hstack([first[:, :-1], second[:, :-1], (first + second)[:, -1:]])
            eta = max(eta, np.linalg.norm(one, 2))
        assert both.examples["eta"].iloc[pair] == pytest.approx(eta, rel=1e-8)


def test_an_offset_stays_when_the_coefficients_leave():
    results = smf.glm("ill ~ age + dose", TABLE, family=families.Binomial(), offset=OFFSET).fit()
    floors = {"age": 0.05}
    scale = seepage.calibrate(seepage.measure(results, noise_scale=1.0), error_floor=floors, shape="isotropic").scale
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
    with pytest.raises(seepage.errors.MinimizerError, match="not the minimizer"):
        seepage.measure(model, rows, TABLE["ill"], noise_scale=0.5, **other)
    with pytest.raises(seepage.errors.InputError, match="one entry for each"):
        seepage.measure(model, rows, TABLE["ill"], noise_scale=0.5, **given | {"offset": OFFSET[:3]})
    with pytest.raises(seepage.errors.InputError, match="leave y, sample_weight and offset out"):
        seepage.measure(theirs.fit(), noise_scale=0.5, offset=OFFSET)


SHARES = np.exp(np.column_stack([np.zeros(N), 0.7 * VALUES[:, 0] - 1.2, 0.5 * VALUES[:, 1] - 1.0]))
KIND = (RANDOM.random((N, 1)) * SHARES.sum(axis=1, keepdims=True) > SHARES.cumsum(axis=1)).sum(axis=1)
TABLE["kind"] = np.array(["acute", "chronic", "none"])[KIND]


def classes(m, y):
    """Return the negative log likelihood of three classes, the first without coefficients."""
    return np.log(1 + np.exp(m).sum(axis=1)) - (y[:, 1:] * m).sum(axis=1)


# Labels that stay shares move along two directions of the three.
def of_classes(results, **more):
    return expected(np.eye(3)[KIND], classes, results.params, outputs=2, axes=sum_zero(3), **more)


@pytest.mark.parametrize("kind", ["plain", "formula", "codes"])
def test_several_classes_are_compared_with_the_first(kind):
    if kind == "formula":
        results = smf.mnlogit("code ~ age + dose", TABLE.assign(code=KIND)).fit(disp=0, tol=1e-12)
    else:
        results = sm.MNLogit(TABLE["kind"] if kind == "plain" else KIND, PLAIN).fit(disp=0, tol=1e-12)
    leak = seepage.measure(results, noise_scale=NOISE)
    Expected(of_classes(results)).agrees(leak)
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
    oracle = of_classes(results)
    both = seepage.measure(results, noise_scale=NOISE, ids=np.arange(N) // 2)
    assert both.examples["eta"].iloc[5] == pytest.approx(Expected(oracle).joint([10, 11]), rel=1e-8)
    # What noise costs is the same whatever the coordinates: 1/2 tr(H Sigma) of what is published.
    assert leak.information.excess_loss() == pytest.approx(excess(oracle), rel=1e-9)


def test_classes_are_published_as_shares():
    results = smf.mnlogit("code ~ age + dose", TABLE.assign(code=KIND)).fit(disp=0, tol=1e-12)
    publication = seepage.publish(
        results, noise_scale=1e-6, noise_chosen_without_data=True, accept=None, classes=[0, 1, 2]
    )
    names = publication.certificate.published["parameters"]
    assert names == [f"class {c}: {name}" for c in (1, 2) for name in ("age", "dose", "intercept")]
    shares = publication.estimator.predict(TABLE[["age", "dose"]])
    np.testing.assert_allclose(shares, results.predict(), atol=1e-4)
    own = GLM("multinomial").fit(TABLE[["age", "dose"]], TABLE["kind"])
    np.testing.assert_allclose(np.vstack([own.intercept_, own.coef_.T]), results.params, rtol=1e-7)
    same = seepage.measure(own, TABLE[["age", "dose"]], TABLE["kind"], noise_scale=NOISE)
    np.testing.assert_allclose(same.examples, seepage.measure(results, noise_scale=NOISE).examples, rtol=1e-8)
    with pytest.raises(seepage.errors.InputError, match="With a penalty, fit LogisticRegression"):
        GLM("multinomial", penalty=1.0).fit(TABLE[["age", "dose"]], TABLE["kind"])


# Counts that vary more than Poisson's.
TABLE["falls"] = RANDOM.poisson(np.exp(MARGIN + 1.0 + OFFSET) * RANDOM.gamma(1.5, 1 / 1.5, N))
PRECISE = {"disp": 0, "maxiter": 500}


def of_falls(results, power=0.0, features=lambda z: z, **more):
    start = np.append(np.roll(results.params.iloc[:-1], -1), results.params.iloc[-1])
    return procedure(
        VALUES,
        TABLE[["falls"]].to_numpy(dtype=float),
        negative_binomial(power),
        features=features,
        alpha=True,
        start=start,
        **{"noise": NOISE} | more,
    )


def excess(outputs):
    """Return half the trace of the Hessian times the covariance of the noise."""
    return -0.5 * np.trace(np.linalg.solve(outputs.response, outputs.covariance(outputs.fitted)))


@pytest.mark.parametrize("published", [None, ["coefficients"]], ids=["alpha leaves", "alpha stays"])
@pytest.mark.parametrize("offset", [None, OFFSET], ids=["plain", "offset"])
@pytest.mark.parametrize(("method", "power"), [("nb2", 0.0), ("nb1", 1.0)])
def test_an_alpha_is_fitted_with_the_coefficients(method, power, offset, published):
    model = sm.NegativeBinomial(TABLE["falls"], PLAIN, loglike_method=method, offset=offset)
    results = model.fit(**PRECISE)
    leak = seepage.measure(results, noise_scale=NOISE, published=published)
    assert leak.information.attribute_names == ("age", "dose", "falls")
    more = {} if offset is None else {"offset": offset}
    Expected(of_falls(results, power, published=3 if published else None, **more)).agrees(leak)
    assert any("not published: alpha" in one for one in leak.assumptions) == bool(published)


def test_an_alpha_goes_with_a_formula_and_repeats():
    results = smf.negativebinomial("falls ~ np.log(age) + dose", TABLE).fit(**PRECISE)
    oracle = Expected(of_falls(results, features=with_log_age))
    oracle.agrees(seepage.measure(results, noise_scale=NOISE))
    both = seepage.measure(results, noise_scale=NOISE, ids=np.arange(N) // 2)
    assert both.examples["eta"].iloc[10] == pytest.approx(oracle.joint([20, 21]), rel=1e-8)


def test_an_alpha_is_refitted():
    results = sm.NegativeBinomial(TABLE["falls"], PLAIN).fit(**PRECISE)
    leak = seepage.measure(results, noise_scale=NOISE)
    kept = seepage.measure(results, noise_scale=NOISE, published=["coefficients"])
    most = int(TABLE["falls"].max())
    found, held = (each.information.distances("falls", [0, 3 * most]) for each in (leak, kept))
    rows = TABLE[["age", "dose"]]
    ours = GLM("negative binomial", parameter=None)
    start = ours.fit(rows, TABLE["falls"])
    before = np.array([start.intercept_, *start.coef_, start.parameter_])
    np.testing.assert_allclose(before, results.params, atol=1e-3)
    for person in (0, 40):
        for j, value in enumerate((0, 3 * most)):
            others = TABLE["falls"].to_numpy().copy()
            if others[person] == value:
                continue
            others[person] = value
            again = ours.fit(rows, others)
            moved = np.array([again.intercept_, *again.coef_, again.parameter_]) - before
            assert found.distance[person, j] == pytest.approx(np.linalg.norm(moved) / NOISE, rel=1e-6)
            assert held.distance[person, j] == pytest.approx(np.linalg.norm(moved[:-1]) / NOISE, rel=1e-6)
            # And by statsmodels, as near as it comes.
            theirs = sm.NegativeBinomial(others, PLAIN).fit(**PRECISE).params
            np.testing.assert_allclose(moved + before, theirs, atol=2e-3)


def test_noise_of_any_covariance_on_coefficients_and_alpha():
    results = sm.NegativeBinomial(TABLE["falls"], PLAIN).fit(**PRECISE)
    root = RANDOM.normal(size=(4, 4)) / 3 + np.eye(4)
    leak = seepage.measure(results, noise_scale=seepage.release.GaussianNoise(covariance=root @ root.T))
    oracle = of_falls(results, noise=root @ root.T)
    Expected(oracle).agrees(leak)
    assert leak.information.excess_loss() == pytest.approx(excess(oracle), rel=1e-8)
    white = seepage.measure(results, noise_scale=NOISE)
    assert white.information.excess_loss() == pytest.approx(excess(of_falls(results)), rel=1e-8)
    scale = seepage.calibrate(white, error_floor={"age": 1.0}, exact=True, shape="isotropic").scale
    floor = seepage.measure(results, noise_scale=scale).error_floor()["age"].min()
    assert floor == pytest.approx(1.0, rel=1e-6)


def test_counts_are_published_without_their_alpha():
    results = smf.negativebinomial("falls ~ age + dose", TABLE).fit(**PRECISE)
    exact = {"noise_scale": 1e-6, "noise_chosen_without_data": True, "accept": None}
    publication = seepage.publish(results, **exact)
    assert publication.certificate.published["parameters"] == ["age", "dose", "intercept"]
    means = publication.estimator.predict(TABLE[["age", "dose"]])
    np.testing.assert_allclose(means, results.predict(), rtol=1e-4)
    alpha = results.params["alpha"]
    assert not any(
        np.isclose(np.ravel(value), alpha).any()
        for value in vars(publication.estimator).values()
        if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f"
    )
    assert any("not published: alpha" in one for one in publication.certificate.assumptions)


def test_all_that_a_model_has_can_be_named():
    results = sm.NegativeBinomial(TABLE["falls"], PLAIN).fit(**PRECISE)
    expected = seepage.measure(results, noise_scale=NOISE).examples
    for names in (["coefficients", "alpha"], ["alpha", "coefficients"]):
        assert seepage.measure(results, noise_scale=NOISE, published=names).examples.equals(expected)
    plain = sm.OLS(TABLE["cost"], PLAIN).fit()
    expected = seepage.measure(plain, noise_scale=NOISE).examples
    assert seepage.measure(plain, noise_scale=NOISE, published=["coefficients"]).examples.equals(expected)


@pytest.mark.parametrize(
    ("published", "answer"),
    [
        ("coefficients", r"published lists what leaves: write published=\['coefficients'\]"),
        (["beta"], r"published names 'beta'; this model has \['coefficients', 'alpha', 'standard errors'\]"),
        (["alpha"], r"published=\['alpha'\] leaves out 'coefficients'.*published=\['coefficients', 'alpha'\]"),
        ([], r"published=\[\] leaves out 'coefficients'"),
    ],
)
def test_what_cannot_be_published_is_said(published, answer):
    results = sm.NegativeBinomial(TABLE["falls"], PLAIN).fit(**PRECISE)
    with pytest.raises(seepage.errors.InputError, match=answer):
        seepage.measure(results, noise_scale=NOISE, published=published)
    with pytest.raises(
        seepage.errors.InputError, match=r"'alpha'; this model has \['coefficients', 'standard errors'\]"
    ):
        seepage.measure(sm.OLS(TABLE["cost"], PLAIN).fit(), noise_scale=NOISE, published=["coefficients", "alpha"])


def test_an_alpha_stays_over_files_too(tmp_path):
    X, y = TABLE[["age", "dose"]], TABLE["falls"]
    model = GLM("negative binomial", parameter=None).fit(X, y)
    X.assign(falls=y).to_parquet(tmp_path / "people.parquet")
    for number, published in enumerate((None, ["coefficients"])):
        job = seepage.engines.Job(output=tmp_path / f"{number}", progress=False)
        given = {"noise_scale": NOISE, "published": published}
        leak = seepage.measure(model, tmp_path / "people.parquet", target="falls", job=job, **given)
        expected = seepage.measure(model, X, y, **given).examples["eta"]
        np.testing.assert_allclose(leak.examples.to_table()["eta"].to_numpy(), expected, rtol=1e-8)


def test_what_an_alpha_cannot_do_is_said():
    without = sm.NegativeBinomial(TABLE["falls"], TABLE[["age", "dose"]]).fit(**PRECISE)
    with pytest.raises(seepage.errors.UnsupportedError, match="with a constant"):
        seepage.measure(without, noise_scale=NOISE)
    scaled = smf.negativebinomial("falls ~ standardize(age) + dose", TABLE).fit(**PRECISE)
    counted = seepage.measure(scaled, noise_scale=NOISE)
    known = seepage.measure(scaled, noise_scale=NOISE, public_preprocessing=["formula"])
    assert (counted.attributes["age"] > known.attributes["age"]).all()
    with pytest.raises(seepage.errors.MinimizerError, match="Fit the Poisson family"):
        GLM("negative binomial", parameter=None).fit(TABLE[["age"]], np.full(N, 3))
    geometric = sm.NegativeBinomial(TABLE["falls"], PLAIN, loglike_method="geometric").fit(**PRECISE)
    known = sm.GLM(TABLE["falls"], PLAIN, family=families.NegativeBinomial(alpha=1.0)).fit(tol=1e-12)
    expected = seepage.measure(known, noise_scale=NOISE).examples
    np.testing.assert_allclose(seepage.measure(geometric, noise_scale=NOISE).examples, expected, rtol=1e-8)


EXACTLY = {"cnvrg_tol": 1e-13, "zero_tol": 1e-12, "maxiter": 10_000}
# Columns enough that some are kept at zero and some are not.
MANY = pd.DataFrame(RANDOM.normal(size=(N, 5)), columns=list("abcde"))
MANY["a"] += 0.5
MIXED = MANY.to_numpy() @ np.array([0.9, -0.5, 0.3, 0.02, 0.0]) + 0.6
MANY["cost"] = MIXED + 0.4 * RANDOM.normal(size=N)
MANY["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-MIXED))).astype(int)
MANY["visits"] = RANDOM.poisson(np.exp(0.5 * MIXED))
COLUMNS = sm.add_constant(MANY[list("abcde")])


def check_penalized(results, loss, label, squares, absolute, *, constant=True, **more):
    """Compare with the stationarity of a penalty of squares and absolute values, which may leave the constant out."""
    leak = seepage.measure(results, noise_scale=NOISE)
    params = np.roll(results.params, -1)
    support = np.flatnonzero(params[:-1])
    params = params[params != 0]
    own = np.append(np.ones(len(support)), float(constant))
    values, labels = MANY[list("abcde")].to_numpy(), MANY[[label]].to_numpy(dtype=float)
    more |= {"penalty": squares * own, "linear": absolute * own * np.sign(params), "start": params, "noise": NOISE}
    oracle = Expected(procedure(values, labels, loss, features=lambda z: z[:, support], **more))
    np.testing.assert_allclose(leak.examples["eta"], oracle.eta(), rtol=1e-8)
    for j, name in enumerate(leak.attributes):
        # A coefficient at zero is no safety: it is unanswered.
        answered = j in support or j == 5
        np.testing.assert_allclose(
            leak.attributes[name], oracle.eta([j]) if answered else np.full(N, np.nan), rtol=1e-8
        )
    assert leak.joint_information_loss() == pytest.approx(oracle.joint(), rel=1e-8)
    assert any("fit_regularized" in one for one in leak.assumptions)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0], ids=["squares", "elastic net", "absolute values"])
@pytest.mark.parametrize("kind", ["ols", "wls", "logit", "poisson"])
def test_the_penalty_of_regularized_results_is_read_back(kind, share):
    alpha = {"ols": 0.15, "wls": 0.15, "logit": 0.05, "poisson": 0.1}[kind]
    total = float(N)
    if kind in ("ols", "wls"):
        weights = WEIGHTS if kind == "wls" else None
        model = sm.OLS(MANY["cost"], COLUMNS) if weights is None else sm.WLS(MANY["cost"], COLUMNS, weights=weights)
        results, label = model.fit_regularized(alpha=alpha, L1_wt=share, **EXACTLY), "cost"
        total = total if weights is None else float(weights.sum())
        loss, more = "squared", {"weights": weights}
    else:
        loss, label = ("logistic", "ill") if kind == "logit" else ("poisson", "visits")
        made = families.Binomial() if kind == "logit" else families.Poisson()
        # Their solver for squares alone stops early: next to none is on absolute values.
        share = share or 1e-9
        model = sm.GLM(MANY[label], COLUMNS, family=made, offset=0.2 * OFFSET)
        results = model.fit_regularized(alpha=alpha, L1_wt=share, **EXACTLY)
        more = {"offset": 0.2 * OFFSET}
    check_penalized(results, loss, label, alpha * (1 - share) * total, alpha * share * total, **more)
    with pytest.raises(seepage.errors.UnsupportedError, match="measured, and not published"):
        seepage.publish(results, noise_scale=0.5, accept=None)


def test_a_constant_may_be_free_of_the_penalty_and_a_formula_given():
    alphas = np.array([0.0, *[0.12] * 5])
    model = smf.ols("cost ~ a + b + c + d + e", MANY)
    results = model.fit_regularized(alpha=alphas, L1_wt=0.7, **EXACTLY)
    check_penalized(results, "squared", "cost", 0.3 * 0.12 * N, 0.7 * 0.12 * N, constant=False)


@pytest.mark.parametrize(
    ("made", "loss", "label"),
    [
        (sm.Logit, "logistic", "ill"),
        (sm.Probit, likelihood("binomial", "probit"), "ill"),
        (sm.Poisson, "poisson", "visits"),
    ],
)
def test_discrete_results_keep_their_penalty(made, loss, label):
    results = made(MANY[label], COLUMNS).fit_regularized(alpha=2.5, disp=0, acc=1e-14, maxiter=5000)
    check_penalized(results, loss, label, 0.0, 2.5)


def test_a_model_of_our_own_has_the_same_penalties():
    for share in (0.0, 0.4, 1.0):
        results = sm.OLS(MANY["cost"], COLUMNS).fit_regularized(alpha=0.2, L1_wt=share, **EXACTLY)
        own = GLM(penalty=0.2 * (1 - share) * N, absolute=0.2 * share * N, penalize_intercept=True)
        own.fit(MANY[list("abcde")], MANY["cost"])
        np.testing.assert_allclose(np.append(own.intercept_, own.coef_), results.params, rtol=1e-8, atol=1e-12)
    logit = sm.GLM(MANY["ill"], COLUMNS, family=families.Binomial(links.Probit()))
    results = logit.fit_regularized(alpha=0.05, L1_wt=0.5, **EXACTLY)
    own = GLM("binomial", "probit", penalty=0.025 * N, absolute=0.025 * N, penalize_intercept=True)
    own.fit(MANY[list("abcde")], MANY["ill"])
    np.testing.assert_allclose(np.append(own.intercept_, own.coef_), results.params, rtol=1e-7, atol=1e-10)
    ours = seepage.measure(own, MANY[list("abcde")], MANY["ill"], noise_scale=NOISE)
    np.testing.assert_allclose(ours.examples, seepage.measure(results, noise_scale=NOISE).examples, rtol=1e-7)


def test_a_penalty_that_cannot_be_told_is_not_guessed():
    model = sm.OLS(MANY["cost"], COLUMNS)
    with np.errstate(all="ignore"):
        loose = model.fit_regularized(alpha=0.15, L1_wt=0.5, cnvrg_tol=1e-2)
    with pytest.raises(seepage.errors.UnsupportedError, match="cnvrg_tol=1e-12"):
        seepage.measure(loose, noise_scale=NOISE)
    apart = model.fit_regularized(alpha=np.linspace(0.05, 0.2, 6), L1_wt=0.5, **EXACTLY)
    with pytest.raises(seepage.errors.UnsupportedError, match="an alpha of its own"):
        seepage.measure(apart, noise_scale=NOISE)
    again = model.fit_regularized(alpha=0.15, L1_wt=1.0, refit=True, **EXACTLY)
    with pytest.raises(seepage.errors.MinimizerError, match="not the minimizer"):
        seepage.measure(again, noise_scale=NOISE)
    left = model.fit_regularized(alpha=0.02, L1_wt=0.5, **EXACTLY | {"zero_tol": 0.3})
    assert (np.asarray(left.params) == 0).any()
    with pytest.raises(seepage.errors.UnsupportedError, match="cannot be told from their"):
        seepage.measure(left, noise_scale=NOISE)
    centered = MANY[list("abcde")] - MANY[list("abcde")].mean()
    level = sm.OLS(MANY["cost"] - MANY["cost"].mean(), sm.add_constant(centered)).fit_regularized(alpha=0.1, L1_wt=0.0)
    with pytest.raises(seepage.errors.UnsupportedError, match="do not tell whether it had one"):
        seepage.measure(level, noise_scale=NOISE)
    few = model.fit_regularized(alpha=1.8, L1_wt=0.5, **EXACTLY)
    assert 0 < (np.asarray(few.params) != 0).sum() < 3
    with pytest.raises(seepage.errors.UnsupportedError, match="cannot be told"):
        seepage.measure(few, noise_scale=NOISE)
    each = sm.Logit(MANY["ill"], COLUMNS).fit_regularized(alpha=np.arange(6.0), disp=0)
    with pytest.raises(seepage.errors.UnsupportedError, match="a penalty of its own"):
        seepage.measure(each, noise_scale=NOISE)
    with pytest.raises(seepage.errors.UnsupportedError, match="A MNLogit of fit_regularized"):
        seepage.measure(sm.MNLogit(KIND, PLAIN).fit_regularized(alpha=1.0, disp=0), noise_scale=NOISE)


@pytest.mark.parametrize("kind", ["nb2", "nb1", "geometric"])
def test_a_level_without_counts_has_no_minimizer_though_alpha_is_fitted(kind):
    random = np.random.default_rng(3)
    people = pd.DataFrame({"a": random.normal(size=90), "g": random.choice(["u", "v", "w"], 90)})
    people["y"] = random.poisson(np.exp(0.5 + 0.3 * people["a"]) * random.gamma(2, 0.5, 90)).astype(float)
    people.loc[people["g"] == "w", "y"] = 0.0
    model = smf.negativebinomial("y ~ a + g", people, loglike_method=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = np.array(model.fit(disp=0, maxiter=500).params)
        start[2] = -25.0
        results = model.fit(disp=0, start_params=start, method="newton", maxiter=3)
    with pytest.raises(seepage.errors.MinimizerError, match="has no minimizer"):
        seepage.measure(results, noise_scale=0.1)


def test_classes_of_a_formula_keep_their_names():
    random = np.random.default_rng(5)
    people = pd.DataFrame({"a": random.normal(size=90), "y": random.integers(1, 4, 90)})
    leak = seepage.measure(smf.mnlogit("y ~ a", people).fit(disp=0), noise_scale=0.05)
    assert set(leak.success_rate("y")["value"]) == {1, 2, 3}


def test_a_ridge_that_is_weighed_by_an_estimated_scale_is_refused():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(80, 3)), columns=list("abc"))
    y = 2 + X["a"] - 0.7 * X["b"] + 0.4 * X["c"] + 2 * random.normal(size=80)
    model, at = sm.GLM(y, sm.add_constant(X)), None
    for _ in range(5):
        results = model.fit_regularized(alpha=0.08, L1_wt=0.0, opt_method="Newton-CG", start_params=at)
        at = np.asarray(results.params)
    with pytest.raises(seepage.errors.UnsupportedError, match="weighs its penalty by the scale"):
        seepage.measure(results, noise_scale=0.1)
