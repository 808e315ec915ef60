"""Tables of people who are drawn anew: those of other libraries, and the errors of guesses from them beside answers."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.duration.hazard_regression import PHReg

from benchmarks._redrawn import THREE, Tables
from benchmarks.others import attacked, cases

RANDOM = np.random.default_rng(0)
N = 200
X = RANDOM.normal(size=(N, 2))
Z = np.column_stack([X, np.ones(N)])
DRAWN = RANDOM.integers(0, 4, N)
ROWS = np.repeat(np.arange(N), DRAWN)
NOBODY = np.empty(0, dtype=int)
OUTCOMES = {
    "squares": (X @ [1.0, -0.5] + RANDOM.normal(size=N), sm.families.Gaussian()),
    "logistic": ((RANDOM.random(N) < 0.4).astype(float), sm.families.Binomial()),
    "Poisson": (RANDOM.poisson(np.exp(0.3 * X[:, 0])).astype(float), sm.families.Poisson()),
    "gamma": (RANDOM.gamma(3.0, np.exp(X @ [0.3, -0.2]) / 3.0), sm.families.Gamma(sm.families.links.Log())),
}


@pytest.mark.parametrize("family", OUTCOMES)
def test_a_redrawn_table_is_that_of_statsmodels_on_repeated_rows(family):
    y, kind = OUTCOMES[family]
    tables = Tables(family, Z, y[:, None], np.zeros(3))
    found = tables(DRAWN[None].astype(float), NOBODY, tables.fitted())[0]
    other = sm.GLM(y[ROWS], Z[ROWS], family=kind).fit(tol=1e-14, maxiter=200)
    np.testing.assert_allclose(found[:3], other.params, atol=1e-9)
    if family != "gamma":
        # Of gamma outcomes statsmodels takes the curvature that is expected, and these tables the one there is.
        np.testing.assert_allclose(np.exp(found[3:6]), other.bse, rtol=1e-8)
    if family in ("squares", "gamma"):
        np.testing.assert_allclose(np.exp(found[6]), other.scale, rtol=1e-8)


def test_redrawn_classes_and_hazards_are_those_of_statsmodels():
    ward = RANDOM.integers(0, 3, N)
    tables = Tables("multinomial", Z, np.eye(3)[ward], np.zeros(3))
    found = tables(DRAWN[None].astype(float), NOBODY, tables.fitted())[0]
    other = sm.MNLogit(ward[ROWS], Z[ROWS]).fit(disp=0, tol=1e-12)
    coefficients = THREE @ found[:6].reshape(2, 3)
    np.testing.assert_allclose((coefficients[1:] - coefficients[0]).T, other.params, atol=1e-8)
    week, event = RANDOM.exponential(np.exp(-X[:, 0])), (RANDOM.random(N) < 0.7).astype(float)
    tables = Tables("Cox", X, np.column_stack([week, event]), np.zeros(2))
    found = tables(DRAWN[None].astype(float), NOBODY, tables.fitted())[0]
    other = PHReg(week[ROWS], X[ROWS], status=event[ROWS]).fit(disp=0)
    np.testing.assert_allclose(found[:2], other.params, atol=1e-8)
    np.testing.assert_allclose(np.exp(found[2:4]), other.bse, rtol=1e-8)


def test_the_error_of_guesses_from_redrawn_tables_is_the_answer():
    """Of a Cox model; at night, of classes with a penalty."""
    case = next(case for case in cases() if case.name == "drawn, Cox")
    found = [cell["ratio"] for cell in attacked(case, 0, 3, 1000, np.random.default_rng(0))]
    assert np.isfinite(found).all()
    assert 0.9 < np.median(found) < 1.1
    assert min(found) > 0.85
