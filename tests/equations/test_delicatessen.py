"""Equations of delicatessen, through the three lines of the page."""

import numpy as np
import pandas as pd
import pytest
from delicatessen import MEstimator
from delicatessen.estimating_equations import ee_2sls, ee_aipw, ee_glm, ee_ipw

import seepage
from seepage.models import Equations

RANDOM = np.random.default_rng(2)
N = 300
FRAME = pd.DataFrame({"age": RANDOM.normal(size=N), "distance": RANDOM.normal(size=N)})
FRAME["treated"] = (RANDOM.random(N) < 1 / (1 + np.exp(-FRAME["age"] - FRAME["distance"]))).astype(float)
FRAME["y"] = FRAME["age"] + 2.0 * FRAME["treated"] + RANDOM.normal(size=N)
FRAME["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-FRAME["age"]))).astype(float)


def _columns(frame, *names):
    return np.column_stack([np.ones(len(frame)), *(frame[name] for name in names)])


def _glm(theta, frame):
    x = _columns(frame, "age", "treated")
    return ee_glm(theta, X=x, y=frame["ill"].to_numpy(), distribution="binomial", link="logit")


def _ipw(theta, frame):
    return ee_ipw(theta, y=frame["y"].to_numpy(), A=frame["treated"].to_numpy(), W=_columns(frame, "age"))


def _aipw(theta, frame):
    a, w = frame["treated"].to_numpy(), _columns(frame, "age")
    x, x1, x0 = (np.column_stack([each, w]) for each in (a, np.ones(len(frame)), np.zeros(len(frame))))
    return ee_aipw(theta, y=frame["y"].to_numpy(), A=a, W=w, X=x, X1=x1, X0=x0)


def _two_stages(theta, frame):
    w = _columns(frame, "age")
    a, z = frame[["treated"]].to_numpy(), frame[["distance"]].to_numpy()
    return ee_2sls(theta, y=frame["y"].to_numpy(), A=a[:, 0], Z=z, W=w)


def _fitted(psi, frame, start):
    estimator = MEstimator(lambda theta: psi(theta, frame), init=start)
    estimator.estimate(solver="lm", tolerance=1e-12)
    return estimator.theta


@pytest.mark.parametrize(
    ("psi", "start", "column"),
    [
        (_glm, [0.0] * 3, "age"),
        (_ipw, [0.0] * 5, "y"),
        (_aipw, [0.0] * 8, "age"),
        (_two_stages, [0.0] * 6, "distance"),
    ],
)
def test_equations_of_delicatessen_move_as_its_refits(psi, start, column):
    theta = _fitted(psi, FRAME, start)
    leak = seepage.measure(Equations(psi, theta), FRAME, published=["theta 0"], noise_scale=1.0, attributes=[column])
    for row in (1, 77):
        ends = []
        for sign in (1, -1):
            other = FRAME.copy()
            other.loc[row, column] += sign * 2e-3
            ends.append(_fitted(psi, other, theta)[0])
        assert leak.attributes[column][row] == pytest.approx(abs(ends[0] - ends[1]) / 4e-3, rel=1e-5)
