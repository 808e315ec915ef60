"""Tables of a formula and a family, against the fits of statsmodels, lifelines and scikit-learn, measured as such."""

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


BINOMIAL, POISSON = families.Binomial, families.Poisson
FITS = {
    "gaussian": (smf.ols("cost ~ age + dose", PEOPLE).fit(), {"family": "gaussian"}),
    "binomial": (smf.logit("ill ~ age + dose", PEOPLE).fit(disp=0), {"family": "binomial"}),
    "probit": (smf.probit("ill ~ age + dose", PEOPLE).fit(disp=0), {"family": "quasibinomial", "link": "probit"}),
    "cloglog": (
        smf.glm("ill ~ age + dose", PEOPLE, family=BINOMIAL(links.CLogLog())).fit(tol=1e-13),
        {"family": "binomial", "link": "cloglog"},
    ),
    "weighted": (
        smf.wls("cost ~ age + dose", PEOPLE, weights=PEOPLE["weight"]).fit(),
        {"family": "gaussian", "weights": "weight"},
    ),
    "no intercept": (
        smf.ols("cost ~ age + dose - 1", PEOPLE).fit(),
        {"family": "gaussian", "formula": "cost ~ age + dose - 1"},
    ),
    "gamma": (
        smf.glm("days ~ age + dose", PEOPLE, family=families.Gamma(links.InversePower())).fit(tol=1e-13),
        {"family": "Gamma", "link": "inverse"},
    ),
    "inverse gaussian": (
        smf.glm("days ~ age + dose", PEOPLE, family=families.InverseGaussian(links.Log())).fit(tol=1e-13),
        {"family": "inverse.gaussian", "link": "log"},
    ),
    "square root": (
        smf.glm("visits ~ age + dose", PEOPLE, family=POISSON(links.Sqrt())).fit(tol=1e-13),
        {"family": "poisson", "link": "sqrt"},
    ),
    "negative binomial": (
        smf.glm("visits ~ age + dose", PEOPLE, family=families.NegativeBinomial(alpha=0.5)).fit(tol=1e-13),
        {"family": "negative binomial", "parameter": 0.5},
    ),
    "exposure": (
        smf.glm("visits ~ age + dose", PEOPLE, family=POISSON(), exposure=PEOPLE["years"]).fit(tol=1e-13),
        {"family": "poisson", "formula": "visits ~ age + dose + offset(log(years))"},
    ),
    "offset": (
        smf.glm("ill ~ age + dose", PEOPLE, family=BINOMIAL(), offset=PEOPLE["years"]).fit(tol=1e-13),
        {"family": "binomial", "formula": "ill ~ age + offset(years) + dose"},
    ),
    "counts": (
        smf.glm("died + lived ~ age + dose", PEOPLE, family=BINOMIAL()).fit(tol=1e-13),
        {"family": "binomial", "formula": "cbind(died, lived) ~ age + dose"},
    ),
}


def measured(people=PEOPLE, **settings):
    return seepage.measure(ModelTable(**settings), people, noise_scale=NOISE)


@pytest.mark.parametrize("name", FITS)
def test_a_table_is_the_fit_of_its_formula(name):
    results, settings = FITS[name]
    found, wanted = (
        measured(**{"formula": results.model.formula, **settings}),
        seepage.measure(results, noise_scale=NOISE),
    )
    same(found, wanted, ["age", "dose"])
    # The label may be called otherwise; it is the last one.
    np.testing.assert_allclose(found.attributes.iloc[:, -1], wanted.attributes.iloc[:, -1], rtol=1e-8)


@pytest.mark.parametrize("name", [name for name in FITS if "offset" not in name])
def test_standard_errors_are_those_of_the_fit(name, tmp_path):
    results, settings = FITS[name]
    if name in ("cloglog", "gamma", "inverse gaussian", "square root", "negative binomial"):
        results = results.model.fit(method="newton", tol=1e-13, cov_type="nonrobust")
    rows = [f"{term},{results.params[term]:.9f},{results.bse[term]:.9f}" for term in results.params.index]
    (tmp_path / "june.csv").write_text("\n".join(["term,estimate,std.error", *rows]))
    table = ModelTable(**{"formula": results.model.formula, **settings}, numbers=tmp_path / "june.csv")
    kinds = {each.kind for each in table.on(PEOPLE).comparison.matched}
    assert kinds == {"coefficient", "standard error"}


FORMULAS = [
    ("ill ~ age + log(dose) + ward", "ill ~ age + np.log(dose) + C(ward)", "binomial"),
    ("ill ~ age * sex + factor(clinic) + ward:dose", "ill ~ age * sex + C(clinic) + ward:dose", "binomial"),
    ("visits ~ age + I(age^2) + as.factor(clinic)", "visits ~ age + I(age**2) + C(clinic)", "poisson"),
    ('cost ~ relevel(ward, ref = "north") + age', "cost ~ C(ward, Treatment('north')) + age", "gaussian"),
    ("cost ~ C(clinic, Treatment(2))*sex", "cost ~ C(clinic, Treatment(2))*sex", "gaussian"),
    ("cost ~ relevel(factor(clinic), '3') + age", "cost ~ C(clinic, Treatment(reference=3)) + age", "gaussian"),
    ("cost ~ C(ward, Sum) + age", "cost ~ C(ward, Sum) + age", "gaussian"),
    ("cost ~ ward - 1 + age", "cost ~ ward - 1 + age", "gaussian"),
    ("cost ~ 0 + age:dose + `dose`", "cost ~ 0 + age:dose + dose", "gaussian"),
    ("cost ~ (age + dose + sex)^2", "cost ~ (age + dose + sex)**2", "gaussian"),
    (
        "cost ~ log1p(dose):sex + I((age - 50)/10) + smoker",
        "cost ~ np.log1p(dose):sex + I((age-50)/10) + smoker",
        "gaussian",
    ),
]


@pytest.mark.parametrize(("written", "patsy", "family"), FORMULAS)
def test_a_formula_of_r_is_the_one_of_statsmodels(written, patsy, family):
    kind = {"binomial": BINOMIAL(), "poisson": POISSON(), "gaussian": families.Gaussian()}
    people = PEOPLE.assign(smoker=PEOPLE["smoker"].astype(float))
    results = smf.glm(patsy, people, family=kind[family]).fit(tol=1e-13)
    same(measured(formula=written, family=family), seepage.measure(results, noise_scale=NOISE))


def test_names_may_hold_anything():
    people = PEOPLE.rename(columns={"age": "age at entry", "dose": "blood.dose", "years": "log"})
    people["ward"] = people["ward"].replace("south", "so: uth")
    results = smf.ols("cost ~ Q('age at entry') + I(1 / Q('blood.dose')) * ward + Q('log')", people).fit()
    found = measured(people, formula="cost ~ `age at entry` + I(1/blood.dose) * ward + log", family="gaussian")
    same(found, seepage.measure(results, noise_scale=NOISE))


def test_a_dot_is_every_other_column():
    some = PEOPLE[["age", "ward", "ill"]]
    found = measured(some, formula="ill ~ .", family="binomial")
    same(found, measured(some, formula="ill ~ age + ward", family="binomial"))


def test_frames_of_any_library_and_categories_of_pandas():
    settings = {"formula": "cost ~ age + ward + clinic", "family": "gaussian"}
    wanted = measured(**settings).examples["eta"]
    frames = [pl.from_pandas(PEOPLE), pa.Table.from_pandas(PEOPLE), PEOPLE.convert_dtypes()]
    for people in (*frames, PEOPLE.astype({"ward": "category"})):
        np.testing.assert_allclose(measured(people, **settings).examples["eta"], wanted)


def test_outcomes_in_words():
    results = smf.logit("ill ~ age + dose", PEOPLE).fit(disp=0)
    wanted, settings = (
        seepage.measure(results, noise_scale=NOISE),
        {"formula": "ill ~ age + dose", "family": "binomial"},
    )
    same(measured(PEOPLE.assign(ill=np.where(PEOPLE["ill"] == 1, "yes", "no")), **settings), wanted)
    other = PEOPLE.assign(ill=np.where(PEOPLE["ill"] == 1, "dead", "well"))
    same(measured(other, success="dead", **settings), wanted)
    same(measured(PEOPLE.assign(ill=PEOPLE["ill"] == 1), **settings), wanted)


def test_rows_that_r_left_out_are_left_out_and_that_is_said():
    people = PEOPLE.copy()
    people.loc[[4, 9], "dose"] = np.nan
    people.loc[17, "ward"] = None
    people.loc[20, "ill"] = np.nan
    people.loc[21, "visits"] = -1
    whole = people.dropna(subset=["dose", "ward", "ill"])
    results = smf.logit("ill ~ age + dose + ward", whole).fit(disp=0)
    table = ModelTable(formula="ill ~ age + dose + ward", family="binomial")
    found = seepage.measure(table, people, noise_scale=NOISE, ids=[f"P{i}" for i in range(N)], groups=people["sex"])
    same(found, seepage.measure(results, noise_scale=NOISE, ids=[f"P{i}" for i in whole.index]))
    assert "P9" not in found.examples.index
    assert found.assumptions[-2].startswith("4 of 120 rows have a missing value")
    assert found.by_group().frame["count"].sum() == N - 4
    rows = people.assign(patient=[f"p{i // 2}" for i in range(N)]).sample(frac=1, random_state=1)
    by_column = seepage.measure(table, rows, noise_scale=NOISE, ids="patient")
    kept = rows.dropna(subset=["dose", "ward", "ill"])
    results = smf.logit("ill ~ age + dose + ward", kept).fit(disp=0)
    same(by_column, seepage.measure(results, noise_scale=NOISE, ids=kept["patient"].to_numpy()))
    with pytest.raises(seepage.errors.InputError, match="Did you mean 'patient'"):
        seepage.measure(table, rows, noise_scale=NOISE, ids="patients")


@pytest.mark.parametrize("strata", [[], ["race", "mar"]], ids=["plain", "strata"])
def test_a_cox_model(strata):
    people = load_rossi()
    fitted = CoxPHFitter().fit(people, "week", "arrest", strata=strata or None, fit_options={"precision": 1e-12})
    formula = f"Surv(week, arrest) ~ {' + '.join(fitted.params_.index)}"
    settings = {"formula": formula + (" + strata(race, mar)" if strata else ""), "family": "cox"}
    wanted, found = seepage.measure(fitted, people, noise_scale=NOISE), measured(people, **settings)
    same(found, wanted)
    np.testing.assert_allclose(
        found.success_rate("arrest")["success_rate"], wanted.success_rate("arrest")["success_rate"], rtol=1e-8
    )
    # As Surv() reads it: 2 is an event.
    same(measured(people.assign(arrest=people["arrest"] + 1), **settings), wanted)


def test_a_cox_model_with_weights_ties_and_a_factor():
    people = load_rossi().assign(weight=np.random.default_rng(0).uniform(0.5, 2.0, 432))
    people["work"] = np.where(people["wexp"] == 1, "yes", "no")
    people["week"] = np.ceil(people["week"] / 13)
    y = np.rec.fromarrays([people["arrest"] == 1, people["week"]], names="arrest,week")
    for ties in ("efron", "breslow"):
        fitted = seepage.models.Cox(ties=ties).fit(people[["age", "wexp"]], y, people["weight"])
        wanted = seepage.measure(fitted, people, y, noise_scale=NOISE, sample_weight=people["weight"])
        formula = "Surv(week, arrest) ~ age + work"
        found = measured(people, formula=formula, family="cox", weights="weight", ties=ties)
        np.testing.assert_allclose(found.attributes["age"], wanted.attributes["age"], rtol=1e-8)
        np.testing.assert_allclose(found.attributes["work"], wanted.attributes["wexp"], rtol=1e-8)


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
def test_a_ridge_of_glmnet(family, outcome, standardize, weights, tmp_path):
    names = ["dose", "years"] if not standardize else ["age", "dose"]
    y = PEOPLE[outcome].to_numpy(dtype=float)
    given = None if weights is None else PEOPLE[weights].to_numpy()
    numbers = glmnet(family, PEOPLE[names].to_numpy(), y, 0.07, standardize, given)
    rows = [f"{name},{value:.4f}" for name, value in zip(["(Intercept)", *names], np.hstack(numbers), strict=True)]
    (tmp_path / "june.csv").write_text("\n".join([",s0", *rows]))
    settings = {"formula": f"{outcome} ~ {' + '.join(names)}", "family": family, "weights": weights}
    settings["glmnet"] = {"lambda": 0.07, "alpha": 0, "standardize": standardize}
    table = ModelTable.read(tmp_path / "june.csv", **settings)
    assert len(table.on(PEOPLE).comparison.matched) == 3
    total = N if given is None else given.sum()
    deviation = np.sqrt(np.average((y - np.average(y, weights=given)) ** 2, weights=given))
    factor = total * 0.07 / (deviation if family == "gaussian" else 1.0)
    if family == "poisson":
        return
    other = Ridge(alpha=factor) if family == "gaussian" else LogisticRegression(C=1 / factor, tol=1e-10)
    steps = make_pipeline(StandardScaler(with_mean=False), other) if standardize else other
    settings = {f"{step}__sample_weight": given for step, _ in getattr(steps, "steps", ()) if given is not None}
    fitted = steps.fit(PEOPLE[names], y, **(settings if standardize else {"sample_weight": given}))
    wanted = seepage.measure(fitted, PEOPLE[names], PEOPLE[outcome], noise_scale=NOISE, sample_weight=given)
    same(seepage.measure(table, PEOPLE, noise_scale=NOISE), wanted)


def test_a_cox_ridge_of_glmnet():
    people, strength = load_rossi(), 0.05
    n = len(people)
    # lifelines divides by n - 1 where glmnet divides by n.
    fitted = CoxPHFitter(penalizer=strength * (n - 1) / n).fit(
        people, "week", "arrest", fit_options={"precision": 1e-12}
    )
    formula = f"Surv(week, arrest) ~ {' + '.join(fitted.params_.index)}"
    found = measured(people, formula=formula, family="cox", ties="efron", glmnet={"lambda": strength, "alpha": 0})
    same(found, seepage.measure(fitted, people, noise_scale=NOISE))


def test_a_plain_penalty():
    fitted = seepage.models.GLM("poisson", penalty=30.0).fit(PEOPLE[["dose", "years"]], PEOPLE["visits"])
    wanted = seepage.measure(fitted, PEOPLE[["dose", "years"]], PEOPLE["visits"], noise_scale=NOISE)
    same(measured(formula="visits ~ dose + years", family="poisson", penalty=30), wanted)


@pytest.mark.parametrize("kind", ["glm", "cox"])
def test_a_table_is_published(kind):
    people, levels = PEOPLE, {"ward": sorted(set(PEOPLE["ward"]))}
    table = ModelTable(formula="ill ~ age + dose + ward", family="binomial")
    if kind == "cox":
        people, levels = load_rossi(), None
        table = ModelTable(formula="Surv(week, arrest) ~ age + prio + fin", family="cox")
    publication = seepage.publish(
        table, people, noise_scale=1e-6, noise_chosen_without_data=True, accept=None, categories=levels
    )
    found = table.on(people).with_steps()
    np.testing.assert_allclose(
        publication.estimator.predict(found.X), found.model.predict(found.X), rtol=1e-2, atol=1e-3
    )
    assert publication.certificate.matches(found.model, found.X, found.y, key=publication.key)


def test_a_product_of_a_category_is_measured_and_not_published():
    with pytest.raises(seepage.errors.UnsupportedError, match="'age:sex' of this formula is measured, and not pub"):
        seepage.publish(
            ModelTable(formula="cost ~ age * sex", family="gaussian"), PEOPLE, noise_scale=NOISE, accept=None
        )


def test_files_are_refused_with_the_way_out(tmp_path):
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    with pytest.raises(seepage.errors.UnsupportedError, match="Read the rows into memory"):
        measured(str(tmp_path / "people.parquet"), formula="cost ~ age", family="gaussian")


def test_other_functions_say_how_they_take_a_table():
    table = ModelTable(formula="cost ~ age", family="gaussian")
    with pytest.raises(seepage.errors.UnsupportedError, match=r"found = table\.on\(people\)"):
        seepage.engines.fit(table, PEOPLE[["age"]], PEOPLE["cost"])
    with pytest.raises(seepage.errors.InputError, match="leave y, target, sample_weight and offset out"):
        seepage.measure(table, PEOPLE, PEOPLE["cost"], noise_scale=NOISE)
    with pytest.raises(seepage.errors.InputError, match="X is missing"):
        seepage.measure(table, noise_scale=NOISE)


COX = {"formula": "Surv(years, smoker) ~ age", "family": "cox"}
REFUSED = {
    "unknown family": ({"family": "gaussien"}, "Did you mean 'gaussian'"),
    "estimated theta": ({"family": "Negative Binomial(1.27)"}, "theta was estimated"),
    "unknown link": ({"link": "logt"}, "Did you mean 'logit'"),
    "no time": ({"family": "cox"}, "A Cox model has a time"),
    "time of a glm": ({"formula": COX["formula"]}, "A Cox model has a time"),
    "link of a cox": ({**COX, "link": "log"}, "has no link"),
    "offset of a cox": ({**COX, "formula": "Surv(years) ~ age + offset(dose)"}, "no offset here"),
    "strata of a glm": ({"formula": "cost ~ age + strata(ward)"}, "has no strata"),
    "exact ties": ({**COX, "ties": "exact"}, "efron"),
    "no outcome column": ({"formula": "costs ~ age"}, "Did you mean 'cost'"),
    "no weights column": ({"weights": "wt"}, "weights is 'wt', which is no column"),
    "a gamma of zero": ({"family": "gamma", "link": "log", "formula": "ill ~ age"}, "must be more than 0|No minimizer"),
    "a logarithm of nothing": ({"formula": "cost ~ age + log(ill)"}, r"'log\(ill\)' is -inf in a row with ill = 0"),
    "a binomial of numbers": ({"family": "binomial"}, "a share between 0 and 1"),
    "a binomial of wards": ({"family": "binomial", "formula": "ward ~ age"}, "has two values"),
    "a text outcome": ({"formula": "ward ~ age"}, "must hold numbers"),
    "an elastic net": ({"glmnet": {"lambda": 0.1, "alpha": 0.5}}, "alpha = 0.5 has an L1 penalty"),
    "glmnet without alpha": ({"glmnet": {"lambda": 0.1}}, "glmnet needs alpha"),
    "glmnet's other settings": ({"glmnet": {"lambda": 0.1, "alpha": 0, "standardise": True}}, "'standardize'"),
    "two penalties": ({"penalty": 1.0, "glmnet": {"lambda": 0.1, "alpha": 0}}, "leave one out"),
    "an offset of nothing": ({"family": "poisson", "formula": "visits ~ age + offset(log(ill))"}, "not finite"),
    "success of a gaussian": ({"success": "yes"}, "two values of a binomial"),
    "a key of another type": ({"penalty": "1"}, "penalty must be a number"),
}
FORMULAS_REFUSED = {
    "cost": "has the outcome, a tilde, and terms",
    "log(cost) ~ age": "which is no column",
    "cost ~ 1": "no term but the constant",
    "cost ~ age + cost": "is the outcome",
    "cost ~ relevel(ward, 'west')": "cannot be read",
    "cost ~ answer": "'NA', which seems to stand for a missing value",
    "cost ~ agee": "Did you mean 'age'",
    "cost ~ factor(wardd)": "no column of the rows",
    "cost ~ ns(age, 3)": r"has ns\(\), which is not read here",
    "cost ~ age + (1 | ward)": "'|', which is not read",
    "cost ~ I(age^9^9^9)": "a power that is no whole number from 1 to 20",
    "cost ~ age.__class__": "no column of the rows",
    "cost ~ I((age).__class__)": "no column of the rows",
    "cost ~ eval('1')": r"has eval\(\)",
    "cost ~ I([x for x in age])": "which is not read here",
    "cost ~ __import__('os')": r"has __import__\(\)",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_with_the_way_out(case):
    settings, words = REFUSED[case]
    with pytest.raises(seepage.errors.SeepageError, match=words):
        measured(**{"formula": "cost ~ age", "family": "gaussian", **settings})


@pytest.mark.parametrize("formula", FORMULAS_REFUSED)
def test_a_formula_that_is_not_read_is_refused(formula):
    people = PEOPLE.assign(answer=np.where(PEOPLE["sex"] == "female", "NA", "no"))
    with pytest.raises(seepage.errors.SeepageError, match=FORMULAS_REFUSED[formula].replace("'|'", r"'\|'")):
        measured(people, formula=formula, family="gaussian")


HEAD = 'formula = "cost ~ age"\nfamily = "gaussian"\n'
FILES = {
    "an unknown key": (HEAD.replace("family", "familly"), "Did you mean 'family'"),
    "no family": (HEAD.partition("\n")[0], "has no family"),
    "no formula": ('family = "gaussian"\n', "has no formula"),
    "a number for a name": (HEAD.replace('"gaussian"', "7"), "family must be text"),
    "5,000 digits": (f"{HEAD}penalty = {'1' * 5_000}\n", r"larger than 10\^308"),
    "many brackets": (f"a = {'[' * 20_000}", "nested too deeply"),
    "no such numbers": (f'{HEAD}numbers = "june.csv"\n', "There is no file"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_no_models(case, tmp_path):
    text, words = FILES[case]
    path = tmp_path / "model.toml"
    path.write_text(text)
    with pytest.raises(seepage.errors.SeepageError, match=words) as told:
        ModelTable.read(path)
    assert str(tmp_path) in str(told.value)


def test_a_file_is_the_model_that_it_says(tmp_path):
    path = tmp_path / "model.toml"
    path.write_bytes(b"\xef\xbb\xbf" + f'{HEAD}numbers = "june.csv"\n'.encode())
    (tmp_path / "june.csv").write_text("term,estimate\nage,0.02\n")
    found = ModelTable.read(path)
    assert (found.formula, found.family, found.numbers) == ("cost ~ age", "gaussian", tmp_path / "june.csv")
    with pytest.raises(seepage.errors.InputError, match="says family itself"):
        ModelTable.read(path, family="binomial")
    with pytest.raises(seepage.errors.InputError, match="There is no file"):
        ModelTable.read(tmp_path / "nothing.toml")
    (tmp_path / "june.csv").write_text("nothing\n")
    with pytest.raises(seepage.errors.InputError, match="has no numbers"):
        ModelTable.read(path)
