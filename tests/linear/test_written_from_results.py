"""Results of statsmodels and lifelines as tables, measured alike."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter

import seepage


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    random = np.random.default_rng(5)
    found = pd.DataFrame(
        {
            "age": random.uniform(20, 80, 200).round(),
            "dose": random.gamma(3.0, 1.0, 200),
            "ward": random.choice(["east", "north", "south"], 200),
            "years": random.uniform(0.5, 3, 200),
            "twice": random.choice([1.0, 2.0], 200),
        }
    )
    margin = 0.03 * (found["age"] - 50) + np.log(found["dose"]) - 1
    found["ill"] = (random.uniform(size=200) < 1 / (1 + np.exp(-margin))).astype(int)
    found["visits"] = random.poisson(found["years"] * np.exp(0.01 * found["age"]))
    found["cost"] = random.gamma(2.0, np.exp(0.01 * found["age"] + 0.2))
    found["time"] = random.exponential(np.exp(-0.02 * (found["age"] - 50))).round(2) + 0.01
    found["died"] = random.uniform(size=200) < 0.7
    return found


FITS = {
    "binomial formula": lambda p: (
        smf.glm("ill ~ age + np.log(dose) + C(ward)", p, family=sm.families.Binomial()).fit(tol=1e-14),
        {},
    ),
    "logit formula": lambda p: (smf.logit("ill ~ age + ward", p).fit(disp=False, tol=1e-12), {}),
    "poisson with exposure": lambda p: (
        smf.glm("visits ~ age + dose", p, family=sm.families.Poisson(), exposure=p["years"]).fit(tol=1e-14),
        {"exposure": "years"},
    ),
    "a power link, without a formula": lambda p: (
        sm.GLM(
            p["visits"],
            sm.add_constant(p[["age", "dose"]]),
            family=sm.families.Poisson(sm.families.links.Sqrt()),
        ).fit(tol=1e-14),
        {},
    ),
    "weighted": lambda p: (
        smf.glm("cost ~ age", p, family=sm.families.Gaussian(), freq_weights=p["twice"].to_numpy()).fit(),
        {"weights": "twice"},
    ),
    "ols": lambda p: (smf.ols("cost ~ age + I(age ** 2)", p).fit(), {}),
    "wls": lambda p: (sm.WLS(p["cost"], sm.add_constant(p[["age"]]), weights=p["twice"]).fit(), {"weights": "twice"}),
}


@pytest.mark.filterwarnings("ignore:The Sqrt link function")
@pytest.mark.parametrize("name", list(FITS))
def test_results_and_their_table_are_measured_alike(people, tmp_path, name):
    results, columns = FITS[name](people)
    seepage.models.ModelTable.of(results, **columns).write(tmp_path / "model.toml")
    table = seepage.models.ModelTable.read(tmp_path / "model.toml")
    found = seepage.measure(table, people, noise_scale=0.1).attributes
    wanted = seepage.measure(results, noise_scale=0.1).attributes
    for column in set(wanted) - {"ward"}:
        np.testing.assert_allclose(found[column], wanted[column], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("strata", [None, ["ward"]])
def test_a_cox_model_of_lifelines_and_its_table_are_measured_alike(people, tmp_path, strata):
    columns = ["time", "died", "age", "dose", *(strata or [])]
    fitted = CoxPHFitter().fit(people[columns], "time", "died", strata=strata, fit_options={"precision": 1e-12})
    seepage.models.ModelTable.of(fitted).write(tmp_path / "cox.toml")
    table = seepage.models.ModelTable.read(tmp_path / "cox.toml")
    found = seepage.measure(table, people[columns], noise_scale=0.1).attributes
    wanted = seepage.measure(fitted, people[columns], noise_scale=0.1).attributes
    for column in ("age", "dose"):
        np.testing.assert_allclose(found[column], wanted[column], rtol=1e-8)


def test_a_column_that_results_know_by_its_numbers_alone_is_asked_for(people):
    results, _ = FITS["poisson with exposure"](people)
    with pytest.raises(seepage.errors.InputError, match='exposure="'):
        seepage.models.ModelTable.of(results)
    results, _ = FITS["weighted"](people)
    with pytest.raises(seepage.errors.InputError, match='weights="'):
        seepage.models.ModelTable.of(results)
    results, _ = FITS["ols"](people)
    with pytest.raises(seepage.errors.InputError, match="fitted without"):
        seepage.models.ModelTable.of(results, weights="twice")


def test_others_are_told_how_they_are_written():
    from sklearn.linear_model import Ridge

    with pytest.raises(seepage.errors.UnsupportedError, match=r"skops\.io\.dump"):
        seepage.models.ModelTable.of(Ridge())
    people = pd.DataFrame({"time": [1.0, 2, 3, 4], "x": [1.0, 3, 2, 5]})
    penalized = CoxPHFitter(penalizer=0.1).fit(people, "time")
    with pytest.raises(seepage.errors.UnsupportedError, match="has no place in a table"):
        seepage.models.ModelTable.of(penalized)


def test_a_table_that_was_written_is_read_as_the_same(tmp_path):
    table = seepage.models.ModelTable(
        family="cox",
        time='a "time"',
        status="née",
        strata=("x\\y", "z"),
        coefficients={"bé\n": 0.1 + 0.2, "ward": {"2": -1e-300, "a.b": 5.0}},
        glmnet={"lambda": 0.05, "alpha": 0, "standardize": False},
    )
    table.write(tmp_path / "t.toml")
    again = seepage.models.ModelTable.read(tmp_path / "t.toml")
    assert again.coefficients == table.coefficients
    assert (again.time, again.status, tuple(again.strata)) == (table.time, table.status, table.strata)
    assert again.glmnet == table.glmnet
    # Coefficients without noise are as private as the rows.
    assert (tmp_path / "t.toml").stat().st_mode & 0o077 == 0
