"""Without noise the standard errors and the dispersion measured are those that the results themselves print."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter
from statsmodels.duration.hazard_regression import PHReg

import seepage
from seepage.errors import UnsupportedError

RANDOM = np.random.default_rng(0)
N = 300
PEOPLE = pd.DataFrame({"age": RANDOM.normal(50, 10, N), "dose": RANDOM.gamma(3, 1, N)})
MARGIN = 0.02 * (PEOPLE["age"] - 50) + 0.2 * PEOPLE["dose"] - 0.3
PEOPLE["cost"] = RANDOM.gamma(2, np.exp(MARGIN))
PEOPLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-MARGIN))).astype(int)
PEOPLE["visits"] = RANDOM.poisson(np.exp(MARGIN + 0.5 * RANDOM.normal(size=N)))
PEOPLE["ward"] = RANDOM.choice(3, N)
PEOPLE["family"] = np.arange(N) % 20
PEOPLE["weeks"] = RANDOM.exponential(np.exp(-MARGIN)) + 0.01
SHARES = RANDOM.uniform(0.5, 1.5, N)
FAMILIES, LINKS = sm.families, sm.families.links
HAZARD = PEOPLE[["age", "dose", "weeks", "ill"]]


def glm(outcome, family, **settings):
    return smf.glm(f"{outcome} ~ age + dose", PEOPLE, family=family).fit(**settings)


def cost(**settings):
    return smf.ols("cost ~ age + dose", PEOPLE).fit(**settings)


OTHER_TABLES = {
    "HC0": lambda: cost(cov_type="HC0"),
    "HC3": lambda: cost(cov_type="HC3"),
    "clusters": lambda: cost(cov_type="cluster", cov_kwds={"groups": PEOPLE["family"]}),
    "known variance": lambda: smf.wls("cost ~ age + dose", PEOPLE, weights=SHARES).fit(cov_type="fixed scale"),
    "HC0 of a GLM": lambda: glm("ill", FAMILIES.Binomial(), cov_type="HC0"),
    "HC1 of a logit": lambda: smf.logit("ill ~ age + dose", PEOPLE).fit(disp=0, cov_type="HC1"),
    "HC0 of classes": lambda: smf.mnlogit("ward ~ age + dose", PEOPLE).fit(disp=0, cov_type="HC0"),
    "quasi-Poisson": lambda: glm("visits", FAMILIES.Poisson(), scale="X2"),
    "gamma, log, expected information": lambda: glm("cost", FAMILIES.Gamma(LINKS.Log())),
    "probit, expected information": lambda: glm("ill", FAMILIES.Binomial(LINKS.Probit())),
    "clusters of PHReg": lambda: PHReg(PEOPLE["weeks"], PEOPLE[["age", "dose"]], PEOPLE["ill"]).fit(
        groups=PEOPLE["family"]
    ),
}
SAME_TABLES = {
    "OLS": cost,
    "WLS": lambda: smf.wls("cost ~ age + dose", PEOPLE, weights=SHARES).fit(),
    "GLM of counts": lambda: glm("visits", FAMILIES.Poisson()),
    "logit": lambda: smf.logit("ill ~ age + dose", PEOPLE).fit(disp=0),
    "logit by BFGS": lambda: smf.logit("ill ~ age + dose", PEOPLE).fit(disp=0, method="bfgs"),
    "classes": lambda: smf.mnlogit("ward ~ age + dose", PEOPLE).fit(disp=0),
    "gamma, log, observed information": lambda: glm("cost", FAMILIES.Gamma(LINKS.Log()), method="newton"),
    "gamma, log, by BFGS": lambda: glm("cost", FAMILIES.Gamma(LINKS.Log()), method="bfgs"),
    "PHReg": lambda: PHReg(PEOPLE["weeks"], PEOPLE[["age", "dose"]], PEOPLE["ill"]).fit(),
}


@pytest.mark.parametrize("kind", OTHER_TABLES)
def test_a_summary_of_other_standard_errors_is_refused_and_its_coefficients_are_measured(kind):
    results = OTHER_TABLES[kind]()
    with pytest.raises(UnsupportedError, match=r"The standard error of age is .* published=\[\"coefficients\"\]"):
        seepage.measure(results)
    alone = seepage.measure(results, published=["coefficients"]).information.printed
    assert not any(name.startswith("standard error") for name in alone.names)
    assert seepage.measure(results, noise_scale=0.1).assurance == "exact"


@pytest.mark.parametrize("kind", SAME_TABLES)
def test_standard_errors_measured_are_those_of_the_summary(kind):
    results = SAME_TABLES[kind]()
    printed = seepage.measure(results).information.printed
    errors = [name.startswith("standard error") for name in printed.names]
    np.testing.assert_allclose(np.sort(printed.values[errors]), np.sort(np.ravel(results.bse)), rtol=1e-4)


def test_another_dispersion_is_refused():
    with pytest.raises(UnsupportedError, match="The dispersion is 1 in the summary"):
        seepage.measure(glm("cost", FAMILIES.Gaussian(), scale=1.0), published=["coefficients", "dispersion"])


def test_a_count_model_with_a_fitted_alpha_is_measured():
    results = smf.negativebinomial("visits ~ age + dose", PEOPLE).fit(disp=0)
    assert seepage.measure(results).information.printed.values[3] == pytest.approx(results.params["alpha"], rel=1e-3)


def test_robust_standard_errors_of_lifelines_are_refused():
    classical = CoxPHFitter().fit(HAZARD, "weeks", "ill")
    printed = seepage.measure(classical, HAZARD).information.printed
    np.testing.assert_allclose(printed.values[2:4], classical.standard_errors_, rtol=1e-5)
    robust = CoxPHFitter().fit(HAZARD, "weeks", "ill", robust=True)
    with pytest.raises(UnsupportedError, match="The standard error of age"):
        seepage.measure(robust, HAZARD)
    assert seepage.measure(robust, HAZARD, published=["coefficients"]).assurance == "approximate"
