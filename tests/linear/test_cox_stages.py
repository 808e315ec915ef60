"""Cox models behind scalers, against the stages of `procedures`, and their refits."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from likelihoods import apart, length
from procedures import Expected, hazards, released
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.core import Outputs

N, SIGMA, PERSON, OTHER = 50, 0.4, 23, 3
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(N, 3)) * [1.0, 4.0, 0.5] + [0.0, 20.0, 2.0]
FRAME = pd.DataFrame(X, columns=["age", "dose", "time"])
SIGNAL = X @ [0.6, 0.1, -0.8]
WEEK = np.ceil(8 * RANDOM.exponential(np.exp(-0.5 * (SIGNAL - SIGNAL.mean())))).clip(max=20.0)
DIED = WEEK < 20
OUTCOMES = np.rec.fromarrays([DIED, WEEK], names="event,time")


def test_a_cox_model_behind_a_scaler() -> None:
    model = make_pipeline(StandardScaler(), seepage.models.Cox(penalty=2.0, ties="breslow")).fit(FRAME, OUTCOMES)
    leak = seepage.measure(model, FRAME, OUTCOMES, noise_scale=SIGMA, public_label=True)

    def made(x: np.ndarray) -> Outputs:
        return hazards(x, WEEK, DIED, ties="breslow", penalty=2.0, scaled=True, noise=SIGMA)

    Expected(made(X)).agrees(leak, rtol=2e-8)
    # One person has another person's value, column by column.
    before = released(made(X))
    for place, column in enumerate(FRAME):
        changed = X.copy()
        changed[PERSON, place] = X[OTHER, place]
        distances = leak.information.distances(column, [X[OTHER, place]])
        assert length(distances, PERSON) == pytest.approx(apart(before, released(made(changed))), rel=1e-7)


def _published(model: Any) -> tuple[np.ndarray, np.ndarray]:
    units = np.diag(1 / model[0].scale_)
    return units @ model[1].coef_, SIGMA**2 * units @ units.T


@pytest.mark.parametrize("given", [SIGMA, seepage.release.GaussianNoise(covariance=SIGMA**2 * np.eye(3))], ids=str)
@pytest.mark.parametrize("standardized", [False, True])
def test_two_releases_are_as_far_apart_as_two_fits_of_the_whole_procedure(standardized: bool, given: Any) -> None:
    def fit(rows: pd.DataFrame) -> Any:
        cox = seepage.models.Cox(penalty=2.0, standardized=standardized)
        return make_pipeline(StandardScaler(with_mean=False), cox).fit(rows, OUTCOMES)

    flagged = FRAME.assign(time=(FRAME["time"] > 2).astype(float))
    model = fit(flagged)
    found = seepage.measure(model, flagged, OUTCOMES, noise_scale=given).information.distances("time", [0.0, 1.0])
    for person in range(0, N, 9):
        other = flagged.copy()
        other.loc[person, "time"] = 1 - other.loc[person, "time"]
        truth = apart(_published(model), _published(fit(other)))
        assert length(found, person, int(other.loc[person, "time"])) == pytest.approx(truth, rel=1e-7)
