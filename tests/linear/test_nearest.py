"""Whatever cannot be measured is refused with the nearest thing that can."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
import torch
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import HuberRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from statsmodels.gam.api import BSplines, GLMGam

import seepage

RANDOM = np.random.default_rng(0)
N = 60
PEOPLE = pd.DataFrame({"age": RANDOM.normal(size=N), "dose": RANDOM.normal(size=N), "ward": np.repeat(range(6), 10)})
PEOPLE["cost"] = PEOPLE["age"] + 0.2 * PEOPLE["ward"] + RANDOM.normal(size=N)
PEOPLE["ill"] = (PEOPLE["cost"] > 0).astype(int)
X = PEOPLE[["age", "dose"]]


def _named(name):
    """Return an object of a class of this name, of a library that is not here."""
    return type(name, (), {})()


CASES = {
    "a forest": (RandomForestClassifier(3).fit(X, PEOPLE["ill"]), r"seepage.measure\(forest, X, y\)"),
    "XGBoost": (_named("XGBClassifier"), r"seepage.measure\(forest, X, y\)"),
    "LightGBM": (_named("LGBMRegressor"), r"seepage.measure\(forest, X, y\)"),
    "a GAM": (_named("LogisticGAM"), "Nearest: SplineTransformer"),
    "a mixed model": (_named("Lmer"), "with ids= for people with several rows"),
    "a support vector machine": (SVC().fit(X, PEOPLE["ill"]), "Nearest: LogisticRegression"),
    "neighbors": (KNeighborsClassifier().fit(X, PEOPLE["ill"]), "Neighbors are the records themselves"),
    "naive Bayes": (GaussianNB().fit(X, PEOPLE["ill"]), "Nearest: LogisticRegression"),
    "a robust regression": (HuberRegressor().fit(X, PEOPLE["cost"]), "Nearest: Ridge"),
    "several models": (BaggingClassifier(SVC(), n_estimators=2).fit(X, PEOPLE["ill"]), "seepage.compose"),
    "a network": (torch.nn.Linear(2, 1), "seepage.network"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_nearest_is_named(case):
    model, words = CASES[case]
    with pytest.raises(seepage.errors.UnsupportedError, match=words):
        seepage.measure(model, X, PEOPLE["ill"], noise_scale=1.0)


def test_the_nearest_to_results_of_statsmodels_is_named():
    mixed = smf.mixedlm("cost ~ age", PEOPLE, groups=PEOPLE["ward"]).fit()
    additive = GLMGam(PEOPLE["cost"], X[["age"]], smoother=BSplines(X[["dose"]], df=[6], degree=[3])).fit()
    for results, words in ((mixed, "OLS, with ids="), (additive, "GLM with a formula of splines")):
        with pytest.raises(seepage.errors.UnsupportedError, match=words):
            seepage.measure(results, noise_scale=1.0)
    with pytest.raises(seepage.errors.UnsupportedError, match="not fitted: pass what its"):
        seepage.measure(sm.OLS(PEOPLE["cost"], X), noise_scale=1.0)
