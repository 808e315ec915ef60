"""Printed tables, their influence and their Jacobians, against stages that dual numbers differentiate.

Where errors are by clusters, a row of the stages is a cluster. Every number is compared with statsmodels first.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.special import expit, gammaln, ndtr
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

import seepage
from seepage.core import Outputs, Root, Rows, Sum, derivative_along, slope
from seepage.errors import UnsupportedError

N, WIDTH, CLUSTER = 120, 3, 4
RANDOM = np.random.default_rng(3)
COLUMNS = RANDOM.normal(size=(N, WIDTH - 1)) * [0.6, 1.5] + [0, 1]
MARGIN = COLUMNS @ [0.5, -0.3] + 0.3
WEIGHTS = RANDOM.uniform(0.5, 2, N)
OUTCOMES = {
    "number": MARGIN + RANDOM.normal(size=N),
    "positive": RANDOM.gamma(3, np.exp(MARGIN) / 3),
    "ill": (RANDOM.random(N) < expit(MARGIN)).astype(float),
    "visits": RANDOM.poisson(np.exp(MARGIN) * RANDOM.gamma(2, 0.5, N)).astype(float),
}


class Family(NamedTuple):
    """A likelihood: its loss, its mean, and the variance of that mean."""

    outcome: str
    loss: Callable
    mean: Callable = lambda m: m
    variance: Callable = lambda mu: mu**0


SQUARES = Family("number", lambda m, y: 0.5 * (m - y) ** 2)
LOGIT = Family(
    "ill", lambda m, y: np.logaddexp(0.0, m) - y * m, lambda m: 1 / (1 + np.exp(-m)), lambda mu: mu * (1 - mu)
)
PROBIT = Family(
    "ill", lambda m, y: -y * np.log(ndtr(m)) - (1 - y) * np.log(1 - ndtr(m)), lambda m: ndtr(m), LOGIT.variance
)
POISSON = Family("visits", lambda m, y: np.exp(m) - y * m, lambda m: np.exp(m), lambda mu: mu)
GAMMA = Family("positive", lambda m, y: m + y * np.exp(-m), lambda m: np.exp(m), lambda mu: mu**2)
NEGATIVE_BINOMIAL = Family("visits", lambda m, y: (y + 2) * np.log(1 + 0.5 * np.exp(m)) - y * m)


class Table(NamedTuple):
    """A fit of statsmodels, and what its table prints."""

    family: Family
    fit: Callable
    errors: str = "observed"
    """The information of classical errors, "observed" or "expected"; or the kind of robust ones."""
    dispersion: bool = False
    weights: bool = False


def fitted(model, **settings):
    return lambda y, X: model(y, X).fit(disp=0, **settings)


def glm(family, **settings):
    return lambda y, X: sm.GLM(y, X, family=family).fit(tol=1e-12, maxiter=200, **settings)


FAMILIES, LINKS = sm.families, sm.families.links
CLUSTERS = {"cov_type": "cluster", "cov_kwds": {"groups": np.repeat(np.arange(N // CLUSTER), CLUSTER)}}
EXACT = {"method": "newton", "tol": 1e-12}
TABLES = {
    "least squares": Table(SQUARES, lambda y, X: sm.OLS(y, X).fit(), dispersion=True),
    "weights": Table(SQUARES, lambda y, X: sm.WLS(y, X, WEIGHTS).fit(), dispersion=True, weights=True),
    **{
        f"least squares, {kind}": Table(SQUARES, lambda y, X, k=kind: sm.OLS(y, X).fit(cov_type=k), kind, True)
        for kind in ("HC0", "HC1", "HC2", "HC3")
    },
    "weights, HC3": Table(SQUARES, lambda y, X: sm.WLS(y, X, WEIGHTS).fit(cov_type="HC3"), "HC3", True, True),
    "least squares, clusters": Table(SQUARES, lambda y, X: sm.OLS(y, X).fit(**CLUSTERS), "cluster", True),
    "logit": Table(LOGIT, fitted(sm.Logit, **EXACT)),
    "logit, HC0": Table(LOGIT, fitted(sm.Logit, **EXACT, cov_type="HC0"), "HC0"),
    "probit": Table(PROBIT, fitted(sm.Probit, **EXACT)),
    "probit, expected information": Table(PROBIT, glm(FAMILIES.Binomial(LINKS.Probit())), "expected"),
    "probit, HC1": Table(PROBIT, glm(FAMILIES.Binomial(LINKS.Probit()), cov_type="HC1"), "HC0"),
    "Poisson": Table(POISSON, fitted(sm.Poisson, **EXACT)),
    "Poisson, clusters": Table(POISSON, fitted(sm.Poisson, **EXACT, **CLUSTERS), "cluster"),
    "quasi-Poisson": Table(POISSON, glm(FAMILIES.Poisson(), scale="X2"), "expected", True),
    "negative binomial, known alpha": Table(
        NEGATIVE_BINOMIAL, glm(FAMILIES.NegativeBinomial(alpha=0.5), method="newton")
    ),
    "gamma, log": Table(GAMMA, glm(FAMILIES.Gamma(LINKS.Log())), "expected", True),
    "gamma, log, observed information": Table(
        GAMMA, glm(FAMILIES.Gamma(LINKS.Log()), method="newton"), "observed", True
    ),
    "gamma, log, clusters": Table(GAMMA, glm(FAMILIES.Gamma(LINKS.Log()), **CLUSTERS), "cluster", True),
    "gamma, log, known scale": Table(GAMMA, glm(FAMILIES.Gamma(LINKS.Log()), scale=1.0), "expected"),
}


def stages(table: Table, y, start) -> Outputs:
    """Return what a table prints as stages: coefficients, sums of products, squared residuals, people in classes."""
    family, members = table.family, CLUSTER if table.errors == "cluster" else 1
    robust, slopes = table.errors not in ("observed", "expected"), slope(family.loss)

    def rows(r):
        x = r["x"].reshape(-1, members, WIDTH - 1)
        ones = np.ones((*x.shape[:2], 1))
        return np.concatenate([x, ones], axis=2), r["y"], r["weight"]

    def curvature(m, y):
        if table.errors == "expected":
            return slope(family.mean)(m) ** 2 / family.variance(family.mean(m))
        return slope(slopes)(m, y)

    def score(t, r):
        x, y, w = rows(r)
        return np.einsum("nm,nmq->nq", w * slopes(x @ t["beta"], y), x)

    def bread(t, r):
        x, y, w = rows(r)
        return np.einsum("nm,nmq,nmr->nqr", w * curvature(x @ t["beta"], y), x, x).reshape(-1, WIDTH**2)

    def filling(t, r):
        s = score(t, r)
        found = np.einsum("nq,nr->nqr", s, s).reshape(-1, WIDTH**2)
        power = {"HC2": 1, "HC3": 2}.get(table.errors, 0)
        if power:
            x, _, w = rows(r)
            inverse = np.linalg.inv(t["bread"].reshape(WIDTH, WIDTH))
            share = 1 - w[:, 0] * np.einsum("nq,qr,nr->n", x[:, 0], inverse, x[:, 0])
            found = found * (share**-power)[:, None]
        return found

    def squares(t, r):
        x, y, w = rows(r)
        mu = family.mean(x @ t["beta"])
        return (w * (y - mu) ** 2 / family.variance(mu)).sum(axis=1)[:, None] / (N - WIDTH)

    def numbers(t):
        v = np.linalg.inv(t["bread"].reshape(WIDTH, WIDTH))
        if robust:
            v = v @ t["filling"].reshape(WIDTH, WIDTH) @ v
        factor = 1.0
        if table.errors == "HC1":
            factor = N / (N - WIDTH)
        if table.errors == "cluster":
            count = N // CLUSTER
            factor = count / (count - 1) * (N - 1) / (N - WIDTH)
        if table.dispersion and not robust:
            factor = t["squares"]
        parts = [t["beta"], np.sqrt(v.reshape(-1)[:: WIDTH + 1] * factor)]
        return np.concatenate([*parts, *(t[name] for name in ("squares", "classes") if name in t)])

    every = [Root("beta", score, start=start), Sum("bread", bread)]
    every += [Sum("filling", filling)] * robust + [Sum("squares", squares)] * table.dispersion
    every += [Sum("classes", lambda _, r: r["y"].sum(axis=1)[:, None])] * (family.outcome == "ill")
    weight = WEIGHTS if table.weights else np.ones(N)
    data = Rows.of(x=COLUMNS.reshape(N // members, -1), y=y.reshape(-1, members), weight=weight.reshape(-1, members))
    return Outputs(every, data, numbers)


@pytest.mark.parametrize("name", TABLES)
def test_printed_tables_change_with_rows_as_stages_do(name):
    table = TABLES[name]
    y = OUTCOMES[table.family.outcome]
    X = pd.DataFrame(np.column_stack([COLUMNS, np.ones(N)]), columns=["age", "dose", "const"])
    results = table.fit(pd.Series(y, name=table.family.outcome), X)
    printed = seepage.measure(results).information.printed
    outputs = stages(table, y, np.asarray(results.params))
    values = outputs.numbers(outputs.fitted)
    np.testing.assert_allclose(values[: 2 * WIDTH], np.append(results.params, results.bse), rtol=1e-6)
    np.testing.assert_allclose(printed.values, values, rtol=1e-8)
    members = CLUSTER if table.errors == "cluster" else 1
    moves = printed.moves.values.reshape(-1, members, len(values)).sum(axis=1)
    size = compare_influence(moves, outputs.influence())
    jacobians = outputs.jacobians()
    wide = jacobians[:, : members * (WIDTH - 1)].reshape(N, WIDTH - 1, -1)
    expected = np.concatenate([wide, jacobians[:, members * (WIDTH - 1) :].reshape(N, 1, -1)], axis=1)
    compare_jacobians(printed, expected, size)


def compare_influence(moves, influence):
    size = np.abs(influence).max(axis=0)
    moves, influence = (each - each.mean(axis=0) for each in (moves, influence))
    np.testing.assert_allclose(moves / size, influence / size, atol=1e-8)
    return size


def compare_jacobians(printed, expected, size):
    """Compare the derivatives by the features, and by the label if it is in the expected ones."""
    measured = printed.jacobian(np.arange(N)).formed().swapaxes(1, 2)[:, : expected.shape[1], : len(size)]
    np.testing.assert_allclose(measured / size, expected / size, atol=1e-8 * np.abs(expected / size).max())


def minus_log_likelihood_of_counts(m, alpha, y):
    return -(
        gammaln(y + 1 / alpha)
        - gammaln(1 / alpha)
        - (y + 1 / alpha) * np.log(1 + alpha * np.exp(m))
        + y * np.log(alpha)
        + y * m
    )


def scores_of_counts(theta, x, y):
    m, alpha = x @ theta[:WIDTH], theta[WIDTH] * np.ones(len(x))
    by_margin, by_alpha = (slope(minus_log_likelihood_of_counts, i)(m, alpha, y[:, 0]) for i in (0, 1))
    return np.concatenate([by_margin[:, None] * x, by_alpha[:, None]], axis=1)


def scores_of_classes(theta, x, y):
    first, second = np.exp(x @ theta[:WIDTH]), np.exp(x @ theta[WIDTH:])
    shares = (each / (1 + first + second) for each in (first, second))
    return np.concatenate([(p - y[:, i])[:, None] * x for i, p in enumerate(shares)], axis=1)


@pytest.mark.parametrize("kind", ["counts", "classes"])
def test_tables_of_several_margins_change_with_rows_as_stages_do(kind):
    X = np.column_stack([COLUMNS, np.ones(N)])
    y = RANDOM.choice(3, N) if kind == "classes" else OUTCOMES["visits"]
    model = (sm.MNLogit if kind == "classes" else sm.NegativeBinomial)(
        pd.Series(y, name="ward"), pd.DataFrame(X, columns=["age", "dose", "const"])
    )
    results = model.fit(disp=0, maxiter=500, **({"method": "newton"} if kind == "classes" else {}))
    scores = scores_of_classes if kind == "classes" else scores_of_counts
    theta = np.asarray(results.params).T.ravel()
    size = len(theta)

    def score(t, r):
        return scores(t["theta"], np.concatenate([r["x"], np.ones((len(r["y"]), 1))], axis=1), r["y"])

    def hessian(t, r):
        columns = [derivative_along(lambda v: score({"theta": v}, r), (t["theta"],), (e,))[1] for e in np.eye(size)]
        return np.stack(columns, axis=2).reshape(-1, size**2)

    def numbers(t):
        inverse = np.linalg.inv(t["hessian"].reshape(size, size))
        return np.concatenate([t["theta"], np.sqrt(inverse.reshape(-1)[:: size + 1])])

    labels = np.eye(3)[y][:, 1:] if kind == "classes" else y[:, None]
    every = [Root("theta", score, start=theta), Sum("hessian", hessian)]
    outputs = Outputs(every, Rows.of(x=COLUMNS, y=labels), numbers, private=("x",) if kind == "classes" else ("x", "y"))
    printed = seepage.measure(results).information.printed
    count = 2 * size
    np.testing.assert_allclose(printed.values[:count], outputs.numbers(outputs.fitted), rtol=1e-8)
    np.testing.assert_allclose(np.sort(printed.values[size:count]), np.sort(np.ravel(results.bse)), rtol=1e-4)
    influence = outputs.influence()
    scale = compare_influence(printed.moves.values[:, :count], influence)
    compare_jacobians(printed, outputs.jacobians(), scale)
    assert printed.names[:4] == (
        ("age of 1", "dose of 1", "(intercept) of 1", "age of 2")
        if kind == "classes"
        else ("age", "dose", "(intercept)", "alpha")
    )


@pytest.mark.parametrize(("family", "scaled"), [(SQUARES, False), (SQUARES, True), (LOGIT, True)])
def test_penalized_tables_change_with_rows_as_stages_do(family, scaled):
    y, penalty = OUTCOMES[family.outcome], 4.0
    model = Ridge(alpha=penalty) if family is SQUARES else LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=10_000)
    if scaled:
        model = make_pipeline(StandardScaler(), model)
    X = pd.DataFrame(COLUMNS, columns=["age", "dose"])
    printed = seepage.measure(model.fit(X, y), X, y).information.printed

    def score(t, r):
        x = np.concatenate([r["x"], np.ones((len(r["y"]), 1))], axis=1)
        return slope(family.loss)(x @ t["beta"], r["y"][:, 0])[:, None] * x

    def drawn(t):
        return penalty * np.concatenate([t["variance"] if scaled else np.ones(WIDTH - 1), np.zeros(1)]) * t["beta"]

    last = Sum("classes", lambda _, r: r["y"])
    if family is SQUARES:
        last = Sum(
            "squares",
            lambda t, r: (
                (r["y"] - (np.concatenate([r["x"], np.ones((len(r["y"]), 1))], axis=1) @ t["beta"])[:, None]) ** 2
                / (N - WIDTH)
            ),
        )
    every = [
        Sum("mean", lambda _, r: r["x"] / N),
        Sum("variance", lambda t, r: (r["x"] - t["mean"]) ** 2 / N),
        Root("beta", score, drawn, np.zeros(WIDTH)),
        last,
    ]
    outputs = Outputs(every, Rows.of(x=COLUMNS, y=y[:, None]), lambda t: np.concatenate([t["beta"], t[last.name]]))
    np.testing.assert_allclose(printed.values, outputs.numbers(outputs.fitted), rtol=1e-8)
    size = compare_influence(printed.moves.values, outputs.influence())
    compare_jacobians(printed, outputs.jacobians(), size)


@pytest.mark.parametrize("step", [MinMaxScaler(), MaxAbsScaler(), RobustScaler(), PCA(), PCA(whiten=True)])
def test_linear_steps_before_a_model_without_penalty_change_nothing_in_the_units_of_the_columns(step):
    X, y = pd.DataFrame(COLUMNS, columns=["age", "dose"]), OUTCOMES["number"]
    plain = seepage.measure(LinearRegression().fit(X, y), X, y)
    leak = seepage.measure(make_pipeline(step, LinearRegression()).fit(X, y), X, y)
    printed, expected = leak.information.printed, plain.information.printed
    assert printed.names == expected.names
    np.testing.assert_allclose(printed.values, expected.values, rtol=1e-10)
    compare_influence(printed.moves.values, expected.moves.values)
    np.testing.assert_allclose(leak.attributes["age"], plain.attributes["age"], rtol=1e-9)
    assert sum("units of the columns" in each for each in leak.assumptions) == 1
    for other in (make_pipeline(step, Ridge()), make_pipeline(step, LinearRegression(fit_intercept=False))):
        with pytest.raises(UnsupportedError, match="learned from these rows"):
            seepage.measure(other.fit(X, y), X, y)


def test_coefficients_have_the_names_of_their_terms():
    people = pd.DataFrame({"age": COLUMNS[:, 0], "bmi": np.exp(COLUMNS[:, 1]), "number": OUTCOMES["number"]})
    results = smf.ols("number ~ age + I(age ** 2) + np.log(bmi)", people).fit()
    assert seepage.measure(results).information.printed.names[:3] == ("age", "I(age ** 2)", "np.log(bmi)")
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), LinearRegression())
    leak = seepage.measure(
        model.fit(people[["age", "bmi"]], people["number"]), people[["age", "bmi"]], people["number"]
    )
    assert leak.information.printed.names[:5] == ("age", "bmi", "age^2", "age bmi", "bmi^2")
