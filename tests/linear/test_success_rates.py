"""Success rates against scikit-learn, fitted again with one value of one person exchanged."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.errors import UnansweredError
from seepage.meaning import success_rate

TIGHT = {"tol": 1e-12, "max_iter": 10_000, "solver": "newton-cholesky"}


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
