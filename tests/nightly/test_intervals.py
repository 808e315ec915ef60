"""Intervals of published tables hold the truth as often as they say, over draws of people and of noise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

import seepage
from seepage.release import GaussianNoise

TRUTH = np.array([0.5, -0.3, 0.2])
DRAWS, PEOPLE = 1000, 150


@pytest.mark.parametrize("family", ["squared", "logistic", "poisson"])
@pytest.mark.parametrize("added", [0.2, 1.0])
def test_intervals_hold_the_truth_as_often_as_they_say(family, added):
    random, held = np.random.default_rng(11), []
    for _ in range(DRAWS):
        X = pd.DataFrame(random.normal(size=(PEOPLE, 2)), columns=["a", "b"])
        margin = X.to_numpy() @ TRUTH[:2] + TRUTH[2]
        if family == "squared":
            y, model = margin + random.normal(size=PEOPLE) * (0.5 + X["a"].abs()), LinearRegression()
        elif family == "logistic":
            y = (random.uniform(size=PEOPLE) < 1 / (1 + np.exp(-margin))).astype(float)
            model = LogisticRegression(C=np.inf, tol=1e-8)
        else:
            y, model = random.poisson(np.exp(margin)).astype(float), PoissonRegressor(alpha=0.0, tol=1e-8)
        publication = seepage.publish(
            model.fit(X, y),
            X,
            y,
            noise_scale=GaussianNoise(standard_errors=added),
            accept=None,
            published=["coefficients", "standard errors"],
            classes=[0.0, 1.0] if family == "logistic" else None,
        )
        found = publication.table().frame()
        held += ((found["low"] <= TRUTH) & (found["high"] >= TRUTH)).tolist()
    assert 0.93 <= np.mean(held) <= 0.97
