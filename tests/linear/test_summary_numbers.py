"""Without noise the standard errors and the dispersion measured are those that the results themselves print."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter
from statsmodels.duration.hazard_regression import PHReg

import seepage
from seepage.errors import InputError, UnsupportedError

RANDOM = np.random.default_rng(0)
N = 300
PEOPLE = pd.DataFrame({"age": RANDOM.normal(50, 10, N), "dose": RANDOM.gamma(3, 1, N)})
MARGIN = 0.02 * (PEOPLE["age"] - 50) + 0.2 * PEOPLE["dose"] - 0.3
PEOPLE["cost"] = RANDOM.gamma(2, np.exp(MARGIN))
PEOPLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-MARGIN))).astype(int)
PEOPLE["family"] = np.arange(N) % 20
PEOPLE["weeks"] = RANDOM.exponential(np.exp(-MARGIN)) + 0.01
HAZARD = PEOPLE[["age", "dose", "weeks", "ill"]]
BY_FAMILY = {"cov_type": "cluster", "cov_kwds": {"groups": PEOPLE["family"]}}


def cost(**settings):
    return smf.ols("cost ~ age + dose", PEOPLE).fit(**settings)


def hazard(**settings):
    return PHReg(PEOPLE["weeks"], PEOPLE[["age", "dose"]], PEOPLE["ill"]).fit(**settings)


@pytest.mark.parametrize(
    ("results", "match"),
    [
        (cost(cov_type="HAC", cov_kwds={"maxlags": 2}), "cov_type='HAC'"),
        (cost(cov_type="cluster", cov_kwds={"groups": PEOPLE[["family", "ill"]].to_numpy()}), "clusters of two kinds"),
        (
            smf.glm("cost ~ age + dose", PEOPLE, family=sm.families.Gamma(sm.families.links.Log())).fit(scale="dev"),
            "The standard error of age is",
        ),
        (hazard(groups=PEOPLE["family"]), "The standard error of age is"),
    ],
)
def test_a_summary_of_other_standard_errors_is_refused_and_its_coefficients_are_measured(results, match):
    with pytest.raises(UnsupportedError, match=rf"{match}.*published=\[\"coefficients\"\]"):
        seepage.measure(results)
    alone = seepage.measure(results, published=["coefficients"]).information.printed
    assert not any(name.startswith("standard error") for name in alone.names)
    assert seepage.measure(results, noise_scale=0.1).assurance == "exact"


def test_robust_standard_errors_of_lifelines_are_refused():
    classical = CoxPHFitter().fit(HAZARD, "weeks", "ill")
    printed = seepage.measure(classical, HAZARD).information.printed
    np.testing.assert_allclose(printed.values[2:4], classical.standard_errors_, rtol=1e-5)
    robust = CoxPHFitter().fit(HAZARD, "weeks", "ill", robust=True)
    with pytest.raises(UnsupportedError, match="The standard error of age"):
        seepage.measure(robust, HAZARD)
    assert seepage.measure(robust, HAZARD, published=["coefficients"]).assurance == "approximate"


def test_clusters_of_robust_errors_are_the_units_of_the_attacker():
    leak = seepage.measure(cost(**BY_FAMILY))
    assert leak.against(5).information.attacker.others == 19
    with pytest.raises(InputError, match="rows in several clusters"):
        seepage.measure(cost(**BY_FAMILY), ids=np.arange(N) // 2)
