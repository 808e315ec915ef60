"""Success rates against scikit-learn, fitted again with one value of one person exchanged."""

import numpy as np
import pandas as pd
import pytest
from likelihoods import apart, length
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.errors import UnansweredError
from seepage.meaning import success_rate

TIGHT = {"tol": 1e-12, "max_iter": 10_000, "solver": "newton-cholesky"}
KINDS = ("squared", "logistic", "softmax", "poisson")


def drawn(seed):
    """Return a drawn pipeline that is fitted, its rows, its weights, and the arguments of fit."""
    random = np.random.default_rng(seed)
    rows = 70
    X = pd.DataFrame({"a": random.normal(40, 10, rows), "b": random.normal(size=rows)})
    X["k"] = random.choice([0.0, 1.0, 2.0], rows, p=[0.6, 0.3, 0.1])
    signal = 0.05 * (X["a"] - 40) + 0.5 * X["b"] + 0.4 * X["k"]
    noisy = signal + random.logistic(size=rows)
    balance = random.choice([None, "balanced"])
    kind = KINDS[seed % 4]
    model, y = {
        "squared": (Ridge(alpha=3.0), noisy),
        "logistic": (LogisticRegression(C=3.0, class_weight=balance, **TIGHT), (noisy > 0.3).astype(int)),
        "softmax": (LogisticRegression(tol=1e-12, max_iter=10_000, solver="newton-cg"), np.digitize(noisy, [0, 1.5])),
        "poisson": (PoissonRegressor(alpha=0.05, **TIGHT), random.poisson(np.exp(0.4 * signal)).astype(float)),
    }[kind]
    steps = [StandardScaler(with_mean=bool(seed % 3))] if random.random() < 0.7 else []
    if random.random() < 0.6:
        X.loc[random.choice(rows, 9, replace=False), "b"] = np.nan
        X.loc[random.choice(rows, 9, replace=False), "k"] = np.nan
        steps.insert(0, SimpleImputer())
    weights = random.uniform(0.3, 2, rows) if random.random() < 0.5 else None
    given = {f"{type(step).__name__.lower()}__sample_weight": weights for step in (model, *steps[-1:])}
    given = {} if weights is None else {k: v for k, v in given.items() if "imputer" not in k}
    return make_pipeline(*steps, model).fit(X, y, **given), X, np.asarray(y), weights, given, random


def released(pipeline, X, scale):
    """Return the parameters in raw units and the covariance of their noise."""
    model = pipeline[-1]
    theta = np.column_stack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)])
    theta = theta - theta.mean(axis=0) if len(theta) > 1 else theta
    fold = np.eye(theta.shape[1])
    for step in pipeline[:-1]:
        if isinstance(step, StandardScaler):
            fold[:-1, :-1] = np.diag(1 / step.scale_)
            fold[-1, :-1] = -step.mean_ / step.scale_ * step.with_mean
    fold = np.kron(np.eye(len(theta)), fold)
    return fold @ theta.ravel(), scale**2 * fold @ fold.T


@pytest.mark.parametrize("seed", range(16))
def test_refits_solve_all_stages_again(seed):
    pipeline, X, y, weights, given, random = drawn(seed)
    leak = seepage.measure(pipeline, X, y, noise_scale=0.1, sample_weight=weights)
    label = leak.information.attribute_names[-1]
    before = released(pipeline, X, 0.1)
    for attribute, values in (("k", [0.0, 2.0]), ("b", [0.0, 4.0]), (label, [1.0, 0.0])):
        found = leak.information.distances(attribute, values)
        assert found.exact.all()
        for person in random.choice(len(y), 2, replace=False):
            if attribute != label and np.isnan(X.loc[person, attribute]):
                assert np.isnan(found.distance[person]).all()
                continue
            for place, value in enumerate(values):
                rows, labels = X.copy(), y.copy()
                if attribute == label:
                    labels[person] = value
                else:
                    rows.loc[person, attribute] = value
                after = released(clone(pipeline).fit(rows, labels, **given), rows, 0.1)
                assert length(found, person, place) == pytest.approx(apart(before, after), rel=1e-6, abs=2e-6)


def wards(rows, model):
    random = np.random.default_rng(2)
    X = pd.DataFrame({"age": random.normal(size=rows), "ward": random.choice(list("abcdef"), rows)})
    X.loc[:4, "ward"] = "g"
    y = (random.uniform(size=rows) < expit(X["age"] + (X["ward"] > "c"))).astype(int)
    encode = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["ward"]))
    pipeline = make_pipeline(encode, model).fit(X, y)
    return seepage.measure(pipeline, X, y, noise_scale=0.3)


def test_one_step_ranks_everybody_and_the_most_exposed_are_refitted():
    leak = wards(600, LogisticRegression(**TIGHT))
    rates = leak.success_rate("ward")
    assert 200 <= rates["exact"].sum() < 600
    assert rates.loc[rates["success_rate"].idxmax(), "exact"].all()
    step = leak.information.distances("ward", None)
    exact = leak.information.refitted("ward", np.arange(600))
    np.testing.assert_allclose(success_rate(step.farthest()), success_rate(exact.farthest()), atol=0.02)
    assert exact.farthest_is_exact().all()
    assert exact.farthest().max() == pytest.approx(step.farthest().max(), rel=1e-9)


def test_one_step_is_the_refit_for_squared_loss():
    assert wards(300, Ridge()).success_rate("ward")["exact"].all()


def test_a_policy_is_decided_by_refits():
    leak = wards(600, LogisticRegression(**TIGHT))
    scale = seepage.calibrate(leak, success_rate={"ward": 0.8}, shape="isotropic", exact=True).scale
    refitted = seepage.Policy(success_rate={"ward": 0.8}).people_refitted(leak)["ward"]
    everybody = leak.information.refitted("ward", np.arange(600)).at(scale / 0.3)
    assert success_rate(everybody.farthest().max()) == pytest.approx(0.8, abs=1e-9)
    assert 200 <= refitted < 600
    # All rates of people who were not refitted are above 0.5, and a limit of 0.51 leaves no room below it.
    leak = wards(600, LogisticRegression(**TIGHT))
    seepage.calibrate(leak, success_rate={"ward": 0.51}, shape="isotropic", exact=True)
    assert seepage.Policy(success_rate={"ward": 0.51}).people_refitted(leak)["ward"] == 600


def test_a_certificate_says_nothing_about_how_many_people_lack_a_value():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"sex": random.choice([0.0, 1.0, np.nan], 3000), "age": random.normal(50, 10, 3000)})
    y = X["age"] / 10 + random.normal(size=3000)
    leak = seepage.measure(make_pipeline(SimpleImputer(), StandardScaler(), Ridge()).fit(X, y), X, y, noise_scale=0.5)
    assert seepage.Policy(success_rate={"sex": 0.9}).people_refitted(leak) == {"sex": 200}


def test_a_policy_about_rates_that_nobody_refits_is_refused():
    leak = seepage.compose([wards(600, LogisticRegression(C=c, **TIGHT)) for c in (0.5, 2.0)])
    with pytest.raises(UnansweredError, match="is not known: others may be as exposed"):
        seepage.Policy(success_rate={"ward": 0.51}).violations(leak)
