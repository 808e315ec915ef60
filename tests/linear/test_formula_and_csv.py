"""Models that come as a formula, or as coefficients in the CSV that R and Stata print."""

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter

import seepage
from seepage.models import ModelTable


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(0)
    n = 300
    found = pd.DataFrame(
        {
            "age": random.integers(20, 80, n).astype(float),
            "dose": random.exponential(size=n) + 0.1,
            "ward": random.choice(["east", "north", "south: new"], n),
            "sex": random.choice(["f", "m"], n),
            "stage": random.integers(1, 4, n),
        }
    )
    margin = found["age"] / 20 - 3 + np.log(found["dose"])
    found["ill"] = (random.random(n) < 1 / (1 + np.exp(-margin))).astype(int)
    found["visits"] = random.poisson(np.exp(margin / 3))
    found["cost"] = margin + random.normal(size=n)
    found["week"] = random.exponential(size=n) * np.exp(-margin / 3) + 0.01
    found["died"] = (random.random(n) < 0.7).astype(int)
    return found


FORMULAS = [
    ("ill ~ age + log(dose) + ward", "ill ~ age + np.log(dose) + C(ward)", "binomial"),
    ("ill ~ age * sex", "ill ~ age * sex", "binomial"),
    ("visits ~ age + I(age^2) + factor(stage)", "visits ~ age + I(age**2) + C(stage)", "poisson"),
    ("cost ~ sex * ward + dose", "cost ~ sex * ward + dose", "gaussian"),
    ('cost ~ relevel(ward, ref = "north") + age', "cost ~ C(ward, Treatment('north')) + age", "gaussian"),
    ("cost ~ C(stage, Treatment(2))*sex", "cost ~ C(stage, Treatment(2))*sex", "gaussian"),
    ("cost ~ relevel(factor(stage), '3') + sex", "cost ~ C(stage, Treatment(reference=3)) + sex", "gaussian"),
    ("cost ~ age + dose - 1", "cost ~ age + dose - 1", "gaussian"),
    ("cost ~ 0 + age:dose + `dose`", "cost ~ 0 + age:dose + dose", "gaussian"),
    ("cost ~ age*dose*sex", "cost ~ age*dose*sex", "gaussian"),
    (
        "cost ~ log1p(dose) + log1p(dose):sex + I(age/10)",
        "cost ~ np.log1p(dose) + np.log1p(dose):sex + I(age/10)",
        "gaussian",
    ),
]


@pytest.mark.parametrize(("written", "patsy", "family"), FORMULAS)
def test_a_formula_is_the_model_that_statsmodels_fits(people, written, patsy, family):
    kind = {"binomial": sm.families.Binomial(), "poisson": sm.families.Poisson(), "gaussian": sm.families.Gaussian()}
    results = smf.glm(patsy, people, family=kind[family]).fit(tol=1e-12, maxiter=200)
    table = ModelTable(formula=written, family=family)
    last = table.on(people).model
    last = last[-1] if hasattr(last, "steps") else last
    fitted = [*last.coef_, *([last.intercept_] if last.fit_intercept else [])]
    np.testing.assert_allclose(np.sort(fitted), np.sort(results.params.to_numpy()), rtol=1e-6, atol=1e-9)
    one, other = (seepage.measure(model, people, noise_scale=0.1) for model in (table, results))
    np.testing.assert_allclose(one.examples["eta"], other.examples["eta"], rtol=1e-6)


def test_a_dot_is_every_other_column(people):
    some = people[["age", "ward", "ill"]]
    names = ModelTable(formula="ill ~ .", family="binomial").on(some).names
    assert names == ("age", "ward = north", "ward = south: new")


def test_a_formula_of_times_is_a_cox_model(people):
    table = ModelTable(formula="Surv(week, died) ~ age + dose + strata(sex)", family="cox")
    fitted = CoxPHFitter().fit(
        people[["age", "dose", "week", "died", "sex"]], "week", "died", strata=["sex"], fit_options={"precision": 1e-12}
    )
    np.testing.assert_allclose(table.on(people).model.coef_, fitted.params_.to_numpy(), rtol=1e-5)
    assert table.roles.outcome == ("died", "week")


def test_counts_and_an_offset_stand_in_a_formula(people):
    counted = people.assign(well=3, exposed=np.log(people["dose"]))
    assert ModelTable(formula="cbind(ill, well) ~ age", family="binomial").outcome == ("ill", "well")
    table = ModelTable(formula="visits ~ age + offset(exposed)", family="poisson")
    results = sm.GLM(
        people["visits"], sm.add_constant(people[["age"]]), family=sm.families.Poisson(), offset=counted["exposed"]
    ).fit(tol=1e-12)
    assert table.on(counted).model.coef_[0] == pytest.approx(results.params["age"], rel=1e-7)


def test_a_formula_is_written_and_read(people, tmp_path):
    table = ModelTable(formula="Surv(week, died) ~ age + strata(sex, ward)", family="cox")
    table.write(tmp_path / "model.toml")
    again = ModelTable.read(tmp_path / "model.toml")
    assert (again.formula, again.strata, again.time) == (table.formula, ("sex", "ward"), "week")


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("ill", "has the outcome, a tilde, and terms"),
        ("ill ~ age - dose", "takes 'dose' away again"),
        ("log(cost) ~ age", "which is no column"),
        ("ill ~ age + + dose", "nothing between two signs"),
        ("ill ~ age:sex", "and not 'age' by itself"),
        ("ill ~ sex + age:sex", "and not 'age' by itself"),
        ("ill ~ sex + ward + age*dose + age:sex:ward", "and not 'age:ward' by itself"),
        ("ill ~ sex - 1", "a category and no intercept"),
        ("ill ~ C(ward, Treatment)", "says 'coded as Treatment' of 'ward'"),
        ("ill ~ C(ward, Sum)", "a value that the others are compared with, one of east, north, south: new"),
        ("ill ~ relevel(ward, 'west')", "relevel(ward, 'south: new') as R has it"),
        ("ill ~ answer", "'NA' seems to stand for a missing value"),
        ("ill ~ agee", "Did you mean 'age'"),
        ("ill ~ factor(wardd)", "no column of the rows"),
        ("ill ~ spline(age)", "age"),
        # In R these are crossings and nestings, and no powers and ratios of numbers.
        ("ill ~ age + age^2", "stands in I("),
        ("ill ~ age + age**2", "stands in I("),
        ("ill ~ (age + dose)^2", "stands in I("),
        ("ill ~ age/10", "stands in I("),
        ("ill ~ 2*age", "stands in I("),
        ("ill ~ age + (1 | ward)", "stands in I("),
    ],
)
def test_what_a_formula_cannot_say_is_refused(people, formula, said):
    with pytest.raises(seepage.errors.SeepageError, match=re.escape(said)):
        ModelTable(formula=formula, family="binomial").on(
            people.assign(answer=np.where(people["sex"] == "f", "NA", "no"))
        )


def test_a_formula_has_no_coefficients_and_no_outcome_beside_it():
    with pytest.raises(seepage.errors.InputError, match="two ways to say one thing"):
        ModelTable(formula="ill ~ age", family="binomial", coefficients={"age": 1.0})
    with pytest.raises(seepage.errors.InputError, match="outcome stands in the formula"):
        ModelTable(formula="ill ~ age", family="binomial", outcome="died")


def _r(results):
    rows = zip(results.params.index, results.params, results.bse, strict=True)
    names = {"Intercept": "(Intercept)", "np.log(dose)": "log(dose)", "sex[T.m]": "sexm"}
    lines = [f'"{names.get(name, name)}",{value:.15g},{error:.15g},1,0.3' for name, value, error in rows]
    return "\n".join(['"","Estimate","Std. Error","z value","Pr(>|z|)"', *lines]) + "\n"


def _tidy(results):
    _, *lines = _r(results).splitlines()
    numbered = [f'"{i}",{line}' for i, line in enumerate(lines, 1)]
    return "\n".join(['"","term","estimate","std.error","statistic","p.value"', *numbered]) + "\n"


def _esttab(results):
    names = {"Intercept": "_cons", "np.log(dose)": "log(dose)", "sex[T.m]": "sexm"}
    body = [
        line
        for name, value in results.params.items()
        for line in (f'"{names.get(name, name)}","=""{value:.4f}***"""', '"","=""(5.23)"""')
    ]
    below = ['"N","300"', '"pseudo R2","0.21"', '"t statistics in parentheses"', '"* p<0.05, ** p<0.01"']
    return "\n".join(['"","(1)"', '"","ill"', '"ill",""', *body, *below]) + "\n"


@pytest.fixture(scope="module")
def results(people):
    return smf.logit("ill ~ age + np.log(dose) + sex", people).fit(disp=False, tol=1e-12)


@pytest.mark.parametrize("printed", [_r, _tidy, _esttab])
def test_coefficients_as_programs_print_them_are_the_model(people, results, tmp_path, printed):
    (tmp_path / "model.csv").write_text(printed(results))
    table = ModelTable.read(tmp_path / "model.csv", family="binomial", outcome="ill")
    assert len(table.coefficients) == 4
    found = seepage.measure(table, people, noise_scale=0.1)
    np.testing.assert_allclose(
        found.examples["eta"], seepage.measure(results, people, noise_scale=0.1).examples["eta"], rtol=1e-6
    )
    # A checksum: printed with few digits, they are those of these rows and of no others.
    with pytest.raises(seepage.errors.MinimizerError, match="not those of these rows"):
        seepage.measure(table, people[60:], noise_scale=0.1)


def test_that_coefficients_were_rounded_is_said_and_too_few_digits_are_refused(people, results):
    def table(digits):
        names = ["(Intercept)", "sexm", "age", "log(dose)"]
        order = ["Intercept", "sex[T.m]", "age", "np.log(dose)"]
        rounded = {name: round(results.params[key], digits) for name, key in zip(names, order, strict=True)}
        return ModelTable(family="binomial", outcome="ill", coefficients=rounded)

    said = [each.sentence() for each in seepage.measure(table(4), people, noise_scale=0.1).information.assumptions]
    assert any("which rounds to them" in sentence for sentence in said)
    with pytest.raises(seepage.errors.MinimizerError, match="too few digits are left"):
        seepage.measure(table(1), people, noise_scale=0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"a","c"\n1,2\n', "has no table of coefficients"),
        ('"","Estimate"\n"age",NA\n', "a combination of others"),
        ('"","Estimate"\n"age","0,12"\n', "which is no number"),
        ('"","(1)","(2)"\n"age","1","2"\n', "2 models side by side"),
        ('"","Estimate"\n"age",1\n"age",2\n', "two coefficients"),
    ],
)
def test_a_csv_that_is_no_table_of_one_model_is_refused(tmp_path, text, said):
    (tmp_path / "model.csv").write_text(text)
    with pytest.raises(seepage.errors.SeepageError, match=said):
        ModelTable.read(tmp_path / "model.csv", family="binomial", outcome="ill")


def test_a_csv_says_that_it_has_no_family(tmp_path):
    (tmp_path / "model.csv").write_text('"","Estimate"\n"age",1\n')
    with pytest.raises(seepage.errors.InputError, match='Say of what: family="binomial"'):
        ModelTable.read(tmp_path / "model.csv")


def test_rows_that_were_left_out_do_not_change_who_answers(people):
    missing = people.assign(age=people["age"].where(people.index > 4))
    table = ModelTable(formula="ill ~ age + dose", family="binomial")
    found = table.on(missing)
    leak = found.remarked(seepage.measure(found.model, found.X, found.y))
    assert isinstance(leak, seepage.measure(found.model, found.X, found.y).__class__)
    assert "295 people" in str(leak)


def test_who_each_row_is_may_be_a_column_and_goes_by_the_index_where_a_formula_left_rows_out(people):
    rows = people.assign(patient=[f"p{i // 2}" for i in range(len(people))])
    rows.loc[[3, 50, 51], "age"] = np.nan
    rows = rows.sample(frac=1, random_state=1)
    kept = rows[rows["age"].notna()]
    results = smf.logit("ill ~ age + np.log(dose)", rows).fit(disp=False)
    wanted = seepage.measure(results, noise_scale=0.1, ids=kept["patient"].to_numpy()).examples
    assert len(wanted) == 149
    for X, ids in ((None, "patient"), (rows, "patient"), (None, rows["patient"])):
        pd.testing.assert_frame_equal(seepage.measure(results, X, noise_scale=0.1, ids=ids).examples, wanted)
    table = ModelTable(formula="ill ~ age + log(dose)", family="binomial")
    found = seepage.measure(table, rows, noise_scale=0.1, ids="patient").examples
    np.testing.assert_allclose(found.loc[wanted.index, "eta"], wanted["eta"], rtol=1e-6)
    with pytest.raises(seepage.errors.InputError, match="Did you mean 'patient'"):
        seepage.measure(table, rows, noise_scale=0.1, ids="patients")
    with pytest.raises(seepage.errors.InputError, match="does not say which of them are meant"):
        seepage.measure(results, noise_scale=0.1, ids=rows["patient"].reset_index(drop=True).rename(lambda i: f"r{i}"))
