"""Models that were written down, against the fits that they were written from, measured as such."""

import tomllib
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter
from lifelines.datasets import load_rossi
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.tools.sm_exceptions import DomainWarning

import seepage
from seepage.models import ModelTable

RANDOM = np.random.default_rng(11)
N = 120
PEOPLE = pd.DataFrame(
    {
        "age": RANDOM.uniform(20.0, 80.0, N),
        "dose": RANDOM.gamma(4.0, 0.5, N) + 0.2,
        "ward": RANDOM.choice(["east", "north", "south"], N),
        "sex": RANDOM.choice(["female", "male"], N),
        "clinic": RANDOM.integers(1, 4, N),
        "smoker": RANDOM.random(N) < 0.4,
        "years": RANDOM.uniform(0.5, 3.0, N),
        "weight": RANDOM.uniform(0.5, 2.0, N),
    }
)
MARGIN = 0.02 * (PEOPLE["age"] - 50) + 0.5 * np.log(PEOPLE["dose"]) + 0.4 * (PEOPLE["sex"] == "male") - 0.3
PEOPLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-MARGIN))).astype(int)
PEOPLE["visits"] = RANDOM.poisson(PEOPLE["years"] * np.exp(MARGIN))
PEOPLE["cost"] = MARGIN + 2.0 + 0.3 * RANDOM.normal(size=N)
PEOPLE["days"] = RANDOM.gamma(5.0, np.exp(MARGIN) / 5.0)
PEOPLE["died"], PEOPLE["lived"] = RANDOM.binomial(5, 0.4, N), RANDOM.integers(1, 4, N)
NOISE = 0.1
warnings.filterwarnings("ignore", category=DomainWarning)
families, links = sm.families, sm.families.links


def same(found, wanted, names=None):
    """Hold two measurements against each other, eta by attribute and in all."""
    np.testing.assert_allclose(found.examples["eta"], wanted.examples["eta"], rtol=1e-8)
    names = list(wanted.attributes.columns) if names is None else names
    for name in names:
        np.testing.assert_allclose(found.attributes[name], wanted.attributes[name], rtol=1e-8, err_msg=name)


def table(results, **settings):
    """Return the table that R would write of a fit by statsmodels without factors."""
    names = {"Intercept": "(Intercept)"}
    return ModelTable(coefficients={names.get(name, name): value for name, value in results.params.items()}, **settings)


FITS = {
    "gaussian": (smf.ols("cost ~ age + dose", PEOPLE).fit(), {"family": "gaussian", "outcome": "cost"}),
    "binomial": (smf.logit("ill ~ age + dose", PEOPLE).fit(disp=0), {"family": "binomial", "outcome": "ill"}),
    "probit": (
        smf.probit("ill ~ age + dose", PEOPLE).fit(disp=0),
        {"family": "quasibinomial", "link": "probit", "outcome": "ill"},
    ),
    "cloglog": (
        smf.glm("ill ~ age + dose", PEOPLE, family=families.Binomial(links.CLogLog())).fit(tol=1e-13),
        {"family": "binomial", "link": "cloglog", "outcome": "ill"},
    ),
    "weighted": (
        smf.wls("cost ~ age + dose", PEOPLE, weights=PEOPLE["weight"]).fit(),
        {"family": "gaussian", "outcome": "cost", "weights": "weight"},
    ),
    "no intercept": (smf.ols("cost ~ age + dose - 1", PEOPLE).fit(), {"family": "gaussian", "outcome": "cost"}),
    "gamma": (
        smf.glm("days ~ age + dose", PEOPLE, family=families.Gamma(links.InversePower())).fit(tol=1e-13),
        {"family": "Gamma", "link": "inverse", "outcome": "days"},
    ),
    "inverse gaussian": (
        smf.glm("days ~ age + dose", PEOPLE, family=families.InverseGaussian(links.Log())).fit(tol=1e-13),
        {"family": "inverse.gaussian", "link": "log", "outcome": "days"},
    ),
    "square root": (
        smf.glm("visits ~ age + dose", PEOPLE, family=families.Poisson(links.Sqrt())).fit(tol=1e-13),
        {"family": "poisson", "link": "sqrt", "outcome": "visits"},
    ),
    "negative binomial": (
        smf.glm("visits ~ age + dose", PEOPLE, family=families.NegativeBinomial(alpha=0.5)).fit(tol=1e-13),
        {"family": "negative binomial", "parameter": 0.5, "outcome": "visits"},
    ),
    "exposure": (
        smf.glm("visits ~ age + dose", PEOPLE, family=families.Poisson(), exposure=PEOPLE["years"]).fit(tol=1e-13),
        {"family": "poisson", "outcome": "visits", "exposure": "years"},
    ),
    "offset": (
        smf.glm("ill ~ age + dose", PEOPLE, family=families.Binomial(), offset=PEOPLE["years"]).fit(tol=1e-13),
        {"family": "binomial", "outcome": "ill", "offset": "years"},
    ),
    "counts": (
        smf.glm("died + lived ~ age + dose", PEOPLE, family=families.Binomial()).fit(tol=1e-13),
        {"family": "binomial", "outcome": ["died", "lived"]},
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_a_table_is_the_fit_that_it_was_written_from(name):
    results, settings = FITS[name]
    found = seepage.measure(table(results, **settings), PEOPLE, noise_scale=NOISE)
    same(found, seepage.measure(results, noise_scale=NOISE), ["age", "dose"])
    # The label may be called otherwise; it is the last one.
    wanted = seepage.measure(results, noise_scale=NOISE).attributes.iloc[:, -1]
    np.testing.assert_allclose(found.attributes.iloc[:, -1], wanted, rtol=1e-8)


FORMULA = "ill ~ age * sex + np.log(dose) + C(clinic) + ward + smoker + I(age ** 2) + age:dose + ward:dose"
WRITINGS = {
    "R": {
        "Intercept": "(Intercept)",
        "sex[T.male]": "sexmale",
        "C(clinic)[T.2]": "factor(clinic)2",
        "C(clinic)[T.3]": "factor(clinic)3",
        "ward[T.north]": "wardnorth",
        "ward[T.south]": "wardsouth",
        "smoker[T.True]": "smokerTRUE",
        "age:sex[T.male]": "age:sexmale",
        "np.log(dose)": "log(dose)",
        "I(age ** 2)": "I(age^2)",
        "ward[north]:dose": "wardnorth:dose",
        "ward[south]:dose": "dose:wardsouth",
        "ward[east]:dose": "wardeast:dose",
    },
    "patsy": {},
    "Stata": {
        "Intercept": "_cons",
        "C(clinic)[T.2]": "2.clinic",
        "C(clinic)[T.3]": "3.clinic",
        "I(age ** 2)": "c.age#c.age",
        "age:dose": "c.age#c.dose",
        "smoker[T.True]": "1.smoker",
    },
}


@pytest.mark.parametrize("software", WRITINGS)
def test_terms_are_read_from_the_names_of_coefficients(software):
    results = smf.glm(FORMULA, PEOPLE, family=families.Binomial()).fit(tol=1e-13)
    names = WRITINGS[software]
    assert set(names) <= set(results.params.index)
    coefficients = {names.get(name, name): value for name, value in results.params.items()}
    if software == "Stata":
        # The base is listed too, with nothing.
        coefficients["1b.clinic"] = 0.0
    written = ModelTable(family="binomial", outcome="ill", coefficients=coefficients)
    same(seepage.measure(written, PEOPLE, noise_scale=NOISE), seepage.measure(results, noise_scale=NOISE))
    model = written.on(PEOPLE).model
    wanted = np.asarray(results.predict())
    np.testing.assert_allclose(model.predict(PEOPLE), wanted, rtol=1e-10)


def test_a_category_may_be_a_table_of_its_levels():
    results = smf.ols("cost ~ age + ward + C(clinic)", PEOPLE).fit()
    given = results.params
    coefficients = {
        "(Intercept)": given["Intercept"],
        "age": given["age"],
        "ward": {"north": given["ward[T.north]"], "south": given["ward[T.south]"]},
        "clinic": {"2": given["C(clinic)[T.2]"], "3": given["C(clinic)[T.3]"]},
    }
    written = ModelTable(family="gaussian", outcome="cost", coefficients=coefficients)
    same(seepage.measure(written, PEOPLE, noise_scale=NOISE), seepage.measure(results, noise_scale=NOISE))


def test_units_may_be_scaled_and_names_may_hold_anything():
    people = PEOPLE.rename(columns={"age": "age at entry", "dose": "blood.dose", "years": "x__y"})
    results = smf.ols("cost ~ I(Q('age at entry') / 10) + I(1 / Q('blood.dose')) + x__y", people).fit()
    values = list(results.params)
    names = ["(Intercept)", "I(`age at entry`/10)", "I(1/blood.dose)", "x__y"]
    written = ModelTable(family="gaussian", outcome="cost", coefficients=dict(zip(names, values, strict=True)))
    same(seepage.measure(written, people, noise_scale=NOISE), seepage.measure(results, noise_scale=NOISE))


def test_frames_of_any_library_and_categories_of_pandas():
    results = smf.ols("cost ~ age + ward", PEOPLE).fit()
    coefficients = {"Intercept": results.params["Intercept"], "age": results.params["age"]}
    coefficients |= {f"ward{level}": results.params[f"ward[T.{level}]"] for level in ("north", "south")}
    written = ModelTable(family="gaussian", outcome="cost", coefficients=coefficients)
    wanted = seepage.measure(results, noise_scale=NOISE).examples["eta"]
    frames = [pl.from_pandas(PEOPLE), pa.Table.from_pandas(PEOPLE), PEOPLE.convert_dtypes()]
    for people in (*frames, PEOPLE.astype({"ward": "category"})):
        np.testing.assert_allclose(seepage.measure(written, people, noise_scale=NOISE).examples["eta"], wanted)


def test_outcomes_in_words():
    results = smf.logit("ill ~ age + dose", PEOPLE).fit(disp=0)
    words = PEOPLE.assign(ill=np.where(PEOPLE["ill"] == 1, "yes", "no"))
    found = seepage.measure(table(results, family="binomial", outcome="ill"), words, noise_scale=NOISE)
    same(found, seepage.measure(results, noise_scale=NOISE))
    other = PEOPLE.assign(ill=np.where(PEOPLE["ill"] == 1, "dead", "well"))
    with pytest.raises(seepage.errors.MinimizerError, match='success = "dead"'):
        seepage.measure(table(results, family="binomial", outcome="ill"), other, noise_scale=NOISE)
    written = table(results, family="binomial", outcome="ill", success="dead")
    same(seepage.measure(written, other, noise_scale=NOISE), seepage.measure(results, noise_scale=NOISE))
    truth = PEOPLE.assign(ill=PEOPLE["ill"] == 1)
    same(
        seepage.measure(table(results, family="binomial", outcome="ill"), truth, noise_scale=NOISE),
        seepage.measure(results, noise_scale=NOISE),
    )


def test_rows_that_r_left_out_are_left_out_and_that_is_said():
    people = PEOPLE.copy()
    people.loc[[4, 9], "dose"] = np.nan
    people.loc[17, "ward"] = None
    people.loc[20, "ill"] = np.nan
    people.loc[21, "visits"] = -1
    whole = people.dropna(subset=["dose", "ward", "ill"])
    results = smf.logit("ill ~ age + dose + ward", whole).fit(disp=0)
    written = table(results, family="binomial", outcome="ill")
    found = seepage.measure(written, people, noise_scale=NOISE, ids=[f"P{i}" for i in range(N)], groups=people["sex"])
    same(found, seepage.measure(results, noise_scale=NOISE, ids=[f"P{i}" for i in whole.index]))
    assert "P9" not in found.examples.index
    assert found.assumptions[-1].startswith("4 of 120 rows have a missing value")
    assert found.by_group().frame["count"].sum() == N - 4


COX = CoxPHFitter().fit(load_rossi(), "week", "arrest")
STRATIFIED = CoxPHFitter().fit(load_rossi(), "week", "arrest", strata=["race", "mar"])


@pytest.mark.parametrize("fitted", [COX, STRATIFIED], ids=["plain", "strata"])
def test_a_cox_model(fitted):
    people = load_rossi()
    written = ModelTable(
        family="cox",
        time="week",
        status="arrest",
        strata=[] if fitted is COX else ["race", "mar"],
        coefficients=dict(fitted.params_),
    )
    wanted = seepage.measure(fitted, people, noise_scale=NOISE)
    found = seepage.measure(written, people, noise_scale=NOISE)
    same(found, wanted)
    np.testing.assert_allclose(
        found.success_rate("arrest")["success_rate"], wanted.success_rate("arrest")["success_rate"], rtol=1e-8
    )
    # As Surv() reads it: 2 is an event.
    same(seepage.measure(written, people.assign(arrest=people["arrest"] + 1), noise_scale=NOISE), wanted)


def test_a_cox_model_with_weights_and_a_factor():
    people = load_rossi().assign(weight=np.random.default_rng(0).uniform(0.5, 2.0, 432))
    people["work"] = np.where(people["wexp"] == 1, "yes", "no")
    fitted = CoxPHFitter().fit(
        people[["week", "arrest", "weight", "age", "wexp"]], "week", "arrest", weights_col="weight", robust=True
    )
    coefficients = {"age": fitted.params_["age"], "workyes": fitted.params_["wexp"]}
    written = ModelTable(family="cox", time="week", status="arrest", weights="weight", coefficients=coefficients)
    found = seepage.measure(written, people, noise_scale=NOISE)
    wanted = seepage.measure(fitted, people, noise_scale=NOISE)
    np.testing.assert_allclose(found.attributes["age"], wanted.attributes["age"], rtol=1e-8)
    np.testing.assert_allclose(found.attributes["work"], wanted.attributes["wexp"], rtol=1e-8)


def test_ties_that_were_counted_otherwise_are_named():
    people = load_rossi()
    people["week"] = np.ceil(people["week"] / 13)
    y = np.rec.fromarrays([people["arrest"] == 1, people["week"]], names="arrest,week")
    fitted = seepage.models.Cox(ties="breslow").fit(people[["age", "prio"]], y)
    coefficients = dict(zip(["age", "prio"], fitted.coef_, strict=True))
    settings = {"family": "cox", "time": "week", "status": "arrest", "coefficients": coefficients}
    with pytest.raises(seepage.errors.MinimizerError, match='ties = "breslow"'):
        seepage.measure(ModelTable(**settings), people, noise_scale=NOISE)
    same(
        seepage.measure(ModelTable(ties="breslow", **settings), people, noise_scale=NOISE),
        seepage.measure(fitted, people, y, noise_scale=NOISE),
    )


def glmnet(family, rows, y, strength, standardize, weights=None):
    """Minimize what glmnet says that it minimizes, column by column as it prepares them, without any of our code."""
    each = np.ones(len(y)) if weights is None else weights
    each = each / each.sum()
    deviation = np.sqrt(each @ (rows - each @ rows) ** 2) if standardize else np.ones(rows.shape[1])
    x = rows / deviation
    unit = np.sqrt(each @ (y - each @ y) ** 2) if family == "gaussian" else 1.0

    def objective(at):
        margin = at[0] + x @ at[1:]
        if family == "gaussian":
            loss = 0.5 * (y / unit - margin) ** 2
        elif family == "binomial":
            loss = np.logaddexp(0, margin) - y * margin
        else:
            loss = np.exp(margin) - y * margin
        # The strength is divided by the unit of the outcome as well.
        return each @ loss + 0.5 * strength / unit * at[1:] @ at[1:]

    def slope(at):
        margin = at[0] + x @ at[1:]
        means = {"gaussian": margin, "binomial": 1 / (1 + np.exp(-margin)), "poisson": np.exp(margin)}
        residual = each * (means[family] - y / unit)
        return np.append(residual.sum(), x.T @ residual + strength / unit * at[1:])

    found = minimize(objective, np.zeros(1 + rows.shape[1]), jac=slope, method="BFGS", options={"gtol": 1e-12}).x
    return unit * found[0], unit * found[1:] / deviation


@pytest.mark.parametrize("weights", [None, "weight"])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(("family", "outcome"), [("gaussian", "cost"), ("binomial", "ill"), ("poisson", "visits")])
def test_a_ridge_of_glmnet(family, outcome, standardize, weights):
    names = ["dose", "years"] if not standardize else ["age", "dose"]
    y = PEOPLE[outcome].to_numpy(dtype=float)
    given = None if weights is None else PEOPLE[weights].to_numpy()
    intercept, coefficients = glmnet(family, PEOPLE[names].to_numpy(), y, 0.07, standardize, given)
    written = ModelTable(
        family=family,
        outcome=outcome,
        weights=weights,
        coefficients={"(Intercept)": intercept, **dict(zip(names, coefficients, strict=True))},
        glmnet={"lambda": 0.07, "alpha": 0, "standardize": standardize},
    )
    found = seepage.measure(written, PEOPLE, noise_scale=NOISE)
    assert found.assumptions[-1 if family != "gaussian" else -2].startswith("The numbers hold at the exact minimizer")
    total = N if given is None else given.sum()
    deviation = np.sqrt(np.average((y - np.average(y, weights=given)) ** 2, weights=given))
    factor = total * 0.07 / (deviation if family == "gaussian" else 1.0)
    if family == "poisson":
        return
    other = Ridge(alpha=factor) if family == "gaussian" else LogisticRegression(C=1 / factor, tol=1e-10)
    steps = make_pipeline(StandardScaler(with_mean=False), other) if standardize else other
    settings = {f"{step}__sample_weight": given for step, _ in getattr(steps, "steps", ()) if given is not None}
    fitted = steps.fit(PEOPLE[names], y, **(settings if standardize else {"sample_weight": given}))
    same(found, seepage.measure(fitted, PEOPLE[names], PEOPLE[outcome], noise_scale=NOISE, sample_weight=given))


def test_a_cox_ridge_of_glmnet():
    people, strength = load_rossi(), 0.05
    n = len(people)
    # lifelines divides by n - 1 where glmnet divides by n.
    fitted = CoxPHFitter(penalizer=strength * (n - 1) / n).fit(people, "week", "arrest")
    written = ModelTable(
        family="cox",
        time="week",
        status="arrest",
        ties="efron",
        coefficients=dict(fitted.params_),
        glmnet={"lambda": strength, "alpha": 0},
    )
    same(seepage.measure(written, people, noise_scale=NOISE), seepage.measure(fitted, people, noise_scale=NOISE))
    assert ModelTable(family="cox", time="t", coefficients={"a": 1.0}, glmnet=written.glmnet).roles.ties == "breslow"


def test_a_plain_penalty():
    fitted = seepage.models.GLM("poisson", penalty=30.0).fit(PEOPLE[["dose", "years"]], PEOPLE["visits"])
    coefficients = {"(Intercept)": fitted.intercept_, "dose": fitted.coef_[0], "years": fitted.coef_[1]}
    written = ModelTable(family="poisson", outcome="visits", penalty=30, coefficients=coefficients)
    wanted = seepage.measure(fitted, PEOPLE[["dose", "years"]], PEOPLE["visits"], noise_scale=NOISE)
    same(seepage.measure(written, PEOPLE, noise_scale=NOISE), wanted)


def test_few_digits_are_told_from_other_rows():
    results = smf.logit("ill ~ age + dose + ward", PEOPLE).fit(disp=0)
    written = {"family": "binomial", "outcome": "ill"}
    rounded = ModelTable(coefficients={name: round(value, 5) for name, value in results.params.items()}, **written)
    leak = seepage.measure(rounded, PEOPLE, noise_scale=NOISE)
    # The exact minimizer is measured, and that the digits are fewer is said.
    np.testing.assert_allclose(
        leak.examples["eta"], seepage.measure(results, noise_scale=NOISE).examples["eta"], rtol=1e-8
    )
    assert "which rounds to them" in leak.assumptions[-1]
    few = ModelTable(coefficients={name: round(value, 1) for name, value in results.params.items()}, **written)
    with pytest.raises(seepage.errors.MinimizerError, match=r"have been rounded.*17 digits.*%\.17g") as told:
        seepage.measure(few, PEOPLE, noise_scale=NOISE)
    assert told.value.distance > 0.05
    wards = {"ward": ["east", "north", "south"]}
    with pytest.raises(seepage.errors.MinimizerError, match=r"17 digits"):
        seepage.publish(few, PEOPLE, noise_scale=NOISE, accept=None, categories=wards)
    with pytest.raises(seepage.errors.MinimizerError, match="fitted with other rows") as told:
        seepage.measure(table(results, **written), PEOPLE.iloc[:60], noise_scale=NOISE)
    assert "rounded" not in str(told.value)
    without = {name: value for name, value in results.params.items() if name != "Intercept"}
    with pytest.raises(seepage.errors.MinimizerError, match="an intercept, which the table does not have"):
        seepage.measure(ModelTable(coefficients=without, **written), PEOPLE, noise_scale=NOISE)


def test_rows_in_files(tmp_path):
    results = smf.logit("ill ~ age + np.log(dose) + ward + C(clinic)", PEOPLE).fit(disp=0)
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    written = table(results, family="binomial", outcome="ill")
    job = seepage.engines.Job(engine=seepage.engines.Local(workers=1), output=tmp_path / "out", progress=False)
    found = seepage.measure(written, str(tmp_path / "people.parquet"), noise_scale=NOISE, job=job)
    wanted = seepage.measure(written, PEOPLE, noise_scale=NOISE)
    np.testing.assert_allclose(found.examples.to_table().column("eta"), wanted.examples["eta"], rtol=1e-8)
    exposed = table(FITS["exposure"][0], **FITS["exposure"][1])
    with pytest.raises(seepage.errors.UnsupportedError, match="An offset cannot be taken from files"):
        seepage.measure(exposed, str(tmp_path / "people.parquet"), noise_scale=NOISE)


@pytest.mark.parametrize("kind", ["glm", "cox"])
def test_a_table_is_published(kind):
    if kind == "glm":
        results = smf.logit("ill ~ age + dose + ward", PEOPLE).fit(disp=0)
        written, people = table(results, family="binomial", outcome="ill"), PEOPLE
    else:
        people = load_rossi()
        written = ModelTable(family="cox", time="week", status="arrest", coefficients=dict(COX.params_))
    levels = {"ward": sorted(set(PEOPLE["ward"]))} if kind == "glm" else None
    publication = seepage.publish(
        written, people, noise_scale=1e-6, noise_chosen_without_data=True, accept=None, categories=levels
    )
    found = written.on(people)
    np.testing.assert_allclose(
        publication.estimator.predict(found.X), found.model.predict(found.X), rtol=1e-2, atol=1e-3
    )
    assert publication.certificate.matches(found.model, found.X, found.y, key=publication.key)


def test_a_product_of_a_category_is_measured_and_not_published():
    results = smf.ols("cost ~ age + age:sex", PEOPLE).fit()
    coefficients = {"(Intercept)": results.params["Intercept"], "age": results.params["age"]}
    coefficients["age:sexmale"] = results.params["age:sex[T.male]"]
    written = ModelTable(family="gaussian", outcome="cost", coefficients=coefficients)
    same(seepage.measure(written, PEOPLE, noise_scale=NOISE), seepage.measure(results, noise_scale=NOISE))
    with pytest.raises(seepage.errors.UnsupportedError, match="'age:sexmale' is of a product of a category"):
        seepage.publish(written, PEOPLE, noise_scale=NOISE, accept=None)


def test_levels_may_hold_what_separates_factors():
    people = PEOPLE.assign(ward=PEOPLE["ward"].replace("south", "so: uth"))
    results = smf.ols("cost ~ age * ward", people).fit()
    names = {"age:ward[T.north]": "age:wardnorth", "age:ward[T.so: uth]": "wardso: uth:age"}
    names |= {"ward[T.so: uth]": "wardso: uth"}
    coefficients = {names.get(name, name): value for name, value in results.params.items()}
    written = ModelTable(family="gaussian", outcome="cost", coefficients=coefficients)
    same(seepage.measure(written, people, noise_scale=NOISE), seepage.measure(results, noise_scale=NOISE))


def test_other_functions_say_how_they_take_a_table():
    written = ModelTable(family="gaussian", outcome="cost", coefficients={"age": 1.0})
    with pytest.raises(seepage.errors.UnsupportedError, match=r"found = table\.on\(people\)"):
        seepage.engines.fit(written, PEOPLE[["age"]], PEOPLE["cost"])


PLAIN = {"family": "gaussian", "outcome": "cost"}
ONE = {"(Intercept)": 1.0, "age": 0.1}
REFUSED = {
    "unknown family": ({"family": "gaussien"}, ONE, "Did you mean 'gaussian'"),
    "estimated theta": ({"family": "Negative Binomial(1.27)"}, ONE, "theta was estimated"),
    "unknown link": ({"link": "logt"}, ONE, "Did you mean 'logit'"),
    "no outcome": ({"outcome": None}, ONE, "outcome is missing"),
    "no time": ({"family": "cox", "outcome": None}, {"age": 0.1}, "time is missing"),
    "time of a glm": ({"time": "years"}, ONE, "has no time: it has outcome"),
    "outcome of a cox": ({"family": "cox", "time": "years"}, {"age": 0.1}, "has no outcome: it has time and status"),
    "offset of a cox": ({"family": "cox", "outcome": None, "time": "years", "offset": "dose"}, ONE, "has no offset"),
    "exact ties": ({"family": "cox", "outcome": None, "time": "years", "ties": "exact"}, {"age": 0.1}, "efron"),
    "no coefficient": ({}, {}, "no coefficient"),
    "no number": ({}, {"age": "0.1"}, "no number"),
    "NaN": ({}, {"age": np.nan}, "combination of others"),
    "no column": ({}, {"agee": 0.1}, "Did you mean 'age'"),
    "no outcome column": ({"outcome": "costs"}, ONE, "Did you mean 'cost'"),
    "no weights column": ({"weights": "wt"}, ONE, "weights is 'wt', which is no column"),
    "text as numbers": ({}, {**ONE, "ward": 0.1}, "holds none, but 'east'"),
    "a level that nobody has": ({}, {**ONE, "wardwest": 0.1}, "a value that nobody has"),
    "a level that nobody has, nested": ({}, {**ONE, "ward": {"wets": 0.1}}, "Did you mean 'east'|values are: east"),
    "a number that nobody has": ({}, {**ONE, "factor(clinic)7": 0.1}, "a value that nobody has"),
    "two bases": ({}, {**ONE, "wardnorth": 0.1}, "2 values of 'ward' have no coefficient: east, south"),
    "twice": ({}, {**ONE, "wardnorth": 0.1, "ward": {"north": 0.1}}, "of the same thing"),
    "a base with a number": ({}, {**ONE, "1b.clinic": 0.1}, "is a base"),
    "two bases of numbers": ({}, {**ONE, "clinic2": 0.1}, "Is 'clinic2' a column that is missing from the rows"),
    "the outcome itself": ({}, {**ONE, "cost": 0.1}, "would find it in itself"),
    "the constant alone": ({}, {"(Intercept)": 1.0}, "no coefficient but the constant"),
    "strata that are no names": (
        {"family": "cox", "outcome": None, "time": "years", "strata": 7},
        {"age": 1},
        "a list",
    ),
    "a gamma of zero": ({"family": "gamma", "link": "log", "outcome": "ill"}, ONE, "must be more than 0"),
    "a logarithm of nothing": ({}, {**ONE, "log(ill)": 0.1}, "'log\\(ill\\)' is -inf in row"),
    "a polynomial": ({}, {**ONE, "poly(age, 2)1": 0.1}, "Make its column before"),
    "a spline": ({}, {**ONE, "ns(dose, 3)1": 0.1}, "Make its column before"),
    "a sum": ({}, {**ONE, "I(age - 50)": 0.1}, "Make its column before"),
    "an ordered factor": ({}, {**ONE, "ward.L": 0.1}, "ordered = FALSE"),
    "a function of nothing": ({}, {**ONE, "log(height)": 0.1}, "names no column"),
    "an intercept of a cox": ({"family": "cox", "outcome": None, "time": "years"}, ONE, "has no intercept"),
    "a binomial of numbers": ({"family": "binomial"}, ONE, "a share between 0 and 1"),
    "a binomial of wards": ({"family": "binomial", "outcome": "ward"}, ONE, "has two values"),
    "a text outcome": ({"outcome": "ward"}, ONE, "must hold numbers"),
    "an elastic net": ({"glmnet": {"lambda": 0.1, "alpha": 0.5}}, ONE, "alpha = 0.5 has an L1 penalty"),
    "glmnet without alpha": ({"glmnet": {"lambda": 0.1}}, ONE, "glmnet needs alpha"),
    "glmnet's other settings": ({"glmnet": {"lambda": 0.1, "alpha": 0, "standardise": True}}, ONE, "'standardize'"),
    "two penalties": ({"penalty": 1.0, "glmnet": {"lambda": 0.1, "alpha": 0}}, ONE, "leave one out"),
    "exposure of nothing": ({"family": "poisson", "outcome": "visits", "exposure": "ill"}, ONE, "not above 0"),
    "success of a gaussian": ({"success": "yes"}, ONE, "two values of a binomial"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_with_the_way_out(case):
    settings, coefficients, words = REFUSED[case]
    with pytest.raises(seepage.errors.SeepageError, match=words):
        seepage.measure(ModelTable(**{**PLAIN, **settings}, coefficients=coefficients), PEOPLE, noise_scale=NOISE)


def test_the_table_names_its_outcome():
    written = ModelTable(**PLAIN, coefficients=ONE)
    with pytest.raises(seepage.errors.InputError, match="leave y, target, sample_weight and offset out"):
        seepage.measure(written, PEOPLE, PEOPLE["cost"], noise_scale=NOISE)
    with pytest.raises(seepage.errors.InputError, match="X is missing"):
        seepage.measure(written, noise_scale=NOISE)
    with pytest.raises(seepage.errors.InputError, match="as a data frame"):
        seepage.measure(written, PEOPLE[["age", "dose"]].to_numpy(), noise_scale=NOISE)
    packed = pd.DataFrame({"age;dose;cost": ["1,5;2,5;3"]})
    with pytest.raises(seepage.errors.InputError, match=r"write\.csv, not write\.csv2"):
        seepage.measure(written, packed, noise_scale=NOISE)
    missing = PEOPLE.assign(ward=PEOPLE["ward"].where(PEOPLE["age"] < 70, "NA"))
    levels = ModelTable(**PLAIN, coefficients={**ONE, "wardnorth": 0.1, "wardsouth": 0.1})
    with pytest.raises(seepage.errors.InputError, match="'NA' seems to stand for a missing value"):
        seepage.measure(levels, missing, noise_scale=NOISE)


def test_a_name_that_may_be_two_things_is_asked_about():
    people = PEOPLE.assign(a=np.where(PEOPLE["age"] > 50, "bc", "x"), ab=np.where(PEOPLE["dose"] > 2, "c", "y"))
    written = ModelTable(**PLAIN, coefficients={**ONE, "abc": 0.1})
    with pytest.raises(seepage.errors.InputError, match="may be of a = 'bc' or ab = 'c'"):
        seepage.measure(written, people, noise_scale=NOISE)


def test_names_with_spaces_are_suggested_as_toml_and_r_take_them():
    people = PEOPLE.assign(**{"blood pressure": np.where(PEOPLE["age"] > 50, "very high", "as usual")})
    of_a_word = ModelTable(**PLAIN, coefficients={**ONE, "blood pressure": 0.1})
    with pytest.raises(seepage.errors.InputError, match="takes the column") as told:
        seepage.measure(of_a_word, people, noise_scale=NOISE)
    line, _, by_r = str(told.value).partition("but one: ")[2].partition(" below [coefficients], or R's names, such as ")
    suggested = tomllib.loads(line.replace("...", "0.1"))
    assert suggested == {"blood pressure": {"very high": 0.1}}
    assert tomllib.loads(f"{by_r.removesuffix('.')} = 0.1") == {"blood pressurevery high": 0.1}
    for names in (suggested, {"blood pressurevery high": 0.1}):
        with pytest.raises(seepage.errors.MinimizerError, match="not those of these rows"):
            seepage.measure(ModelTable(**PLAIN, coefficients={**ONE, **names}), people, noise_scale=NOISE)
    twice = people.assign(**{"blood": np.where(PEOPLE["dose"] > 2, " pressurevery high", "y")})
    with pytest.raises(seepage.errors.InputError, match="may be of") as told:
        seepage.measure(
            ModelTable(**PLAIN, coefficients={**ONE, "blood pressurevery high": 0.1}), twice, noise_scale=1.0
        )
    line = str(told.value).partition("Write which: ")[2].partition(" below")[0]
    assert len(tomllib.loads(line.replace("...", "0.1"))) == 1
    strange = people.assign(**{"blood count": PEOPLE["age"]})
    for name, words in (("poly(`blood count`, 2)1", "I(`blood count`^2)"), ("blood pressure.L", "(`blood pressure`, ")):
        with pytest.raises(seepage.errors.UnsupportedError) as told:
            seepage.measure(ModelTable(**PLAIN, coefficients={**ONE, name: 0.1}), strange, noise_scale=NOISE)
        assert words in str(told.value)


FILES = {
    "a comma": ('family = "gaussian"\noutcome = "cost"\n[coefficients]\nage = 0,1\n', "decimal point, not a comma"),
    "R's NA": ('family = "gaussian"\noutcome = "cost"\n[coefficients]\n"age" = NA\n', "combination of others"),
    "no quotes": ('family = "gaussian"\noutcome = "cost"\n[coefficients]\nI(age^2) = 1.0\n', "stand in quotes"),
    "an unknown key": ('familly = "gaussian"\n[coefficients]\nage = 1\n', "Did you mean 'family'"),
    "no family": ("[coefficients]\nage = 1\n", "has no family"),
    "no coefficients": ('family = "gaussian"\noutcome = "cost"\n', "has no coefficients"),
    "a list": ('family = "gaussian"\noutcome = "cost"\ncoefficients = [1, 2]\n', "a table of numbers by name"),
    "too deep": ('family = "gaussian"\noutcome = "cost"\n[coefficients]\na.b.c = 1\n', "in quotes"),
    "a number for a name": ('family = 7\noutcome = "cost"\n[coefficients]\nage = 1\n', "family must be text"),
    "400 digits": (f'family = "gaussian"\noutcome = "y"\n[coefficients]\na = {"1" * 400}\n', r"larger than 10\^308"),
    "5,000 digits": (f'family = "gaussian"\noutcome = "y"\npenalty = {"1" * 5_000}\n', r"larger than 10\^308"),
    "many brackets": (f"a = {'[' * 20_000}", "nested too deeply"),
    "a word for a number": ('family = "gaussian"\noutcome = "y"\npenalty = "1"\n[coefficients]\na = 1\n', "a number"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_no_models(case, tmp_path):
    text, words = FILES[case]
    path = tmp_path / "model.toml"
    path.write_text(text)
    with pytest.raises(seepage.errors.SeepageError, match=words) as told:
        ModelTable.read(path)
    assert str(path) in str(told.value)


def test_a_file_is_the_model_that_it_says(tmp_path):
    path = tmp_path / "model.toml"
    text = 'family = "gaussian"\noutcome = "cost"\n\n[coefficients]\n"(Intercept)" = 1\nblood.dose = 2e-05\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = ModelTable.read(path)
    assert found.coefficients == {"(Intercept)": 1, "blood": {"dose": 2e-05}}
    # A dot that is not quoted is still the column that has one.
    model = found.on(PEOPLE.rename(columns={"dose": "blood.dose"})).model
    assert model.feature_names_in_.tolist() == ["blood.dose"]
    with pytest.raises(seepage.errors.InputError, match="There is no file"):
        ModelTable.read(tmp_path / "nothing.toml")
