"""Formulas that formulaic reads, against the same ones read by patsy, refits, and the procedure written anew."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula
import statsmodels.formula.api as smf
from lifelines import CoxPHFitter
from procedures import Expected, procedure

import seepage

RANDOM = np.random.default_rng(12)
N = 90
TABLE = pd.DataFrame(
    {
        "age": RANDOM.uniform(1.0, 3.0, N),
        "dose": RANDOM.gamma(4.0, 0.5, N) + 0.2,
        "ward": RANDOM.choice(["a", "b", "c"], N),
        "sex": RANDOM.choice(["f", "m"], N),
        "other": RANDOM.normal(size=N),
        "blood pressure": RANDOM.normal(size=N),
        "flag": RANDOM.random(N) < 0.5,
    }
)
MARGIN = 0.5 * np.log(TABLE["dose"]) + 0.3 * TABLE["age"] - 0.7 + 0.2 * (TABLE["ward"] == "b")
TABLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-MARGIN))).astype(int)
TABLE["visits"] = RANDOM.poisson(np.exp(MARGIN))
TABLE["cost"] = MARGIN + 0.3 * RANDOM.normal(size=N)
NOISE = 0.2


@pytest.fixture
def formulaic(monkeypatch):
    """Let statsmodels read formulas with formulaic, in the order in which they are written."""
    monkeypatch.setattr(statsmodels.formula.options, "_formula_engine", "formulaic")
    monkeypatch.setattr(statsmodels.formula.options, "_ordering", "none")


def _by(engine, formula, monkeypatch):
    monkeypatch.setattr(statsmodels.formula.options, "_formula_engine", engine)
    return smf.ols(formula, TABLE).fit()


@pytest.mark.parametrize(
    "formula",
    [
        "cost ~ age + dose",
        "cost ~ C(ward) + age",
        "cost ~ ward + age - 1",
        "cost ~ C(ward, Treatment('b')) + C(sex) + dose",
        "cost ~ C(ward, Sum) + C(sex, Helmert)",
        "cost ~ C(ward, Diff) * dose",
        "cost ~ np.log(dose) * C(ward) + I(age ** 2) + np.sqrt(age)",
        "cost ~ C(ward) * C(sex) + age:dose",
        "cost ~ C(ward):C(sex) + age",
        "cost ~ age:C(ward) + np.exp(other):dose",
        "cost ~ age * dose * other",
        "cost ~ bs(age, df=5) + cr(dose, df=4) - 1",
        "cost ~ bs(age, knots=[1.5, 2.0], lower_bound=0.5, upper_bound=3.5, degree=2) * sex",
        "cost ~ bs(age, df=6, include_intercept=True) - 1",
        "cost ~ center(age) + standardize(dose)",
        "cost ~ center(age) * standardize(dose)",
        "cost ~ Q('blood pressure') + C(Q('ward'))",
        "cost ~ np.log(dose + age ** 2)",
        "cost ~ age + C(flag)",
    ],
)
def test_the_same_design_has_the_same_answers_whoever_reads_it(formula, monkeypatch):
    ours = _by("formulaic", formula, monkeypatch)
    theirs = _by("patsy", formula, monkeypatch)
    np.testing.assert_allclose(ours.model.exog, theirs.model.exog, rtol=1e-9, atol=1e-12)
    leak = seepage.measure(ours, noise_scale=NOISE)
    expected = seepage.measure(theirs, noise_scale=NOISE)
    assert leak.information.attribute_names == expected.information.attribute_names
    assert leak.information.categorical == expected.information.categorical
    np.testing.assert_allclose(leak.examples, expected.examples, rtol=1e-10)
    np.testing.assert_allclose(leak.attributes, expected.attributes, rtol=1e-10)


def _columns(rows):
    return {"age": rows[:, 0], "dose": rows[:, 1], "other": rows[:, 2], "a": rows[:, 3], "b": rows[:, 4]}


WRITTEN = {
    "np.log(dose) * C(ward) + {age ** 2} + age": lambda c: [
        np.log(c["dose"]),
        c["b"],
        1 - c["a"] - c["b"],
        np.log(c["dose"]) * c["b"],
        np.log(c["dose"]) * (1 - c["a"] - c["b"]),
        c["age"] ** 2,
        c["age"],
    ],
    "age:dose:other + log(dose) + log(dose):C(ward, contr.sum)": lambda c: [
        c["age"] * c["dose"] * c["other"],
        np.log(c["dose"]),
        np.log(c["dose"]) * (2 * c["a"] + c["b"] - 1),
        np.log(c["dose"]) * (2 * c["b"] + c["a"] - 1),
    ],
    "poly(age, 3, raw=True) + other:age": lambda c: [c["age"], c["age"] ** 2, c["age"] ** 3, c["age"] * c["other"]],
}


@pytest.mark.parametrize("right", WRITTEN)
def test_a_formula_is_traced_to_its_columns_through_its_derivatives(right, formulaic):
    results = smf.logit(f"ill ~ {right}", TABLE).fit(disp=0, tol=1e-12)
    leak = seepage.measure(results, noise_scale=NOISE)

    def bend(rows):
        return np.column_stack(WRITTEN[right](_columns(rows)))

    levels = np.column_stack([TABLE["ward"] == each for each in "abc"]).astype(float)
    rows = np.column_stack([TABLE[["age", "dose", "other"]], levels])
    np.testing.assert_allclose(bend(rows), np.delete(results.model.exog, 0, axis=1), rtol=1e-12, atol=1e-14)
    labels = TABLE[["ill"]].to_numpy(dtype=float)
    expected = Expected(procedure(rows, labels, "logistic", features=bend, noise=NOISE))
    for at, name in enumerate(["age", "dose", "other"]):
        if name in leak.attributes:
            np.testing.assert_allclose(leak.attributes[name], expected.eta([at]), rtol=1e-8)


def _moved(results, person, column):
    """Return how the coefficients of least squares move with one value, by fitting again on the same design."""
    spec, frame = results.model.data.model_spec, TABLE.copy()
    exog, endog = np.asarray(results.model.exog), np.asarray(results.model.endog)
    ends = []
    for sign in (1.0, -1.0):
        changed = frame.copy()
        changed.loc[person, column] += sign * 1e-5
        design = exog.copy()
        design[person] = np.asarray(spec.get_model_matrix(changed.iloc[[person]], output="numpy"))[0]
        ends.append(np.linalg.lstsq(design, endog, rcond=None)[0])
    return (ends[0] - ends[1]) / 2e-5


@pytest.mark.parametrize(
    "right",
    [
        "poly(age, 3) + cr(dose, df=4) - 1",
        "cs(age, df=4):sex + `blood pressure` - 1",
        "cc(age, df=4) + flag:dose - 1",
        "bs(age, df=5, include_intercept=True) + C(ward)",
        "np.log(`blood pressure` ** 2 + age)",
        "2:age + exp(other)",
    ],
)
def test_refits_of_the_same_design_agree(right, formulaic):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = smf.ols(f"cost ~ {right}", TABLE).fit()
    leak = seepage.measure(results, noise_scale=NOISE)
    for person in (0, 51):
        for column in leak.attributes:
            if column in ("age", "dose", "other", "blood pressure"):
                moved = np.linalg.norm(_moved(results, person, column)) / NOISE
                assert leak.attributes[column][person] == pytest.approx(moved, rel=2e-6)


@pytest.mark.parametrize("formula", ["cost ~ scale(age) + dose", "cost ~ scale(age) + center(dose)"])
def test_a_column_that_is_scaled_by_these_rows_moves_with_them(formula, formulaic):
    leak = seepage.measure(smf.ols(formula, TABLE).fit(), noise_scale=NOISE)
    rows, labels = TABLE[["age", "dose"]].to_numpy(), TABLE[["cost"]].to_numpy()
    scaled = (0, 1) if "center" in formula else (0,)

    def shape(hessian, middle, deviation):
        # Formulaic takes a degree of freedom off; with the other deviation a coefficient, and its noise, is smaller.
        # A column that is only centered has noise in its own units.
        return NOISE**2 * np.diag(np.stack([(N - 1) / N, deviation[1] ** 2, 1.0]))

    expected = Expected(procedure(rows, labels, "squared", scaled=scaled, shape=shape))
    for at, name in enumerate(["age", "dose"]):
        np.testing.assert_allclose(leak.attributes[name], expected.eta([at]), rtol=1e-8)
    public = seepage.measure(smf.ols(formula, TABLE).fit(), noise_scale=NOISE, public_preprocessing=["formula"])
    assert np.abs(public.attributes["age"] / leak.attributes["age"] - 1).max() > 1e-3


@pytest.mark.parametrize(
    ("engine", "formula"),
    [
        ("formulaic", "cost ~ poly(age, 2)"),
        ("formulaic", "cost ~ scale(age) * dose"),
        ("formulaic", "cost ~ np.exp(center(age))"),
        ("patsy", "cost ~ standardize(age) * dose"),
        ("patsy", "cost ~ center(age) + bs(dose, df=4)"),
    ],
)
def test_other_constants_are_said_to_be_public(engine, formula, monkeypatch):
    leak = seepage.measure(_by(engine, formula, monkeypatch), noise_scale=NOISE)
    assert any("Taken as public" in one.sentence() for one in leak.information.assumptions)


@pytest.mark.parametrize("engine", ["formulaic", "patsy"])
def test_people_who_are_left_out_for_a_missing_value_are_left_out_here(engine, monkeypatch):
    monkeypatch.setattr(statsmodels.formula.options, "_formula_engine", engine)
    table = TABLE.copy()
    table.loc[[4, 9], "dose"] = np.nan
    table.loc[[7], "ward"] = None
    leak = seepage.measure(smf.ols("cost ~ age + np.sqrt(dose) + ward", table).fit(), noise_scale=NOISE)
    whole = table.drop(index=[4, 7, 9])
    again = seepage.measure(smf.ols("cost ~ age + np.sqrt(dose) + ward", whole).fit(), noise_scale=NOISE)
    np.testing.assert_allclose(leak.attributes, again.attributes, rtol=1e-10)
    assert leak.examples.index.tolist() == whole.index.tolist()


def test_what_cannot_be_traced_is_quoted(formulaic):
    def squared(x):
        return x**2

    factor = 2.0
    assert factor == squared(factor) / 2
    log = np.exp
    assert log(0) == 1
    for formula, said in {
        "cost ~ squared(age)": r"The term 'squared\(age\)' of the formula takes 'squared' from the program",
        "cost ~ {factor * age}": "takes 'factor' from the program",
        "cost ~ log(age)": "now makes other ones than when the model was fitted",
        "cost ~ C(np.round(age))": "makes levels of values",
        "cost ~ lag(age)": "a term takes several rows together",
        "cost ~ hashed(ward, levels=3)": "makes levels of values",
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = smf.ols(formula, TABLE).fit()
        with pytest.raises(seepage.errors.UnsupportedError, match=said):
            seepage.measure(results, noise_scale=NOISE)


@pytest.mark.parametrize("formula", ["age + poly(dose, 2)", "bs(age, df=4) + C(ward):dose", "np.log(dose) * age"])
def test_a_formula_of_lifelines(formula):
    table = TABLE.assign(week=RANDOM.exponential(np.exp(-0.3 * MARGIN)), arrest=(RANDOM.random(N) < 0.7).astype(int))

    def fit(rows, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"precision": 1e-12, "max_steps": 100}
            return CoxPHFitter().fit(rows, "week", "arrest", fit_options=options, **more)

    fitted = fit(table, formula=formula)
    leak = seepage.measure(fitted, table, noise_scale=NOISE)
    for column in ("age", "dose"):
        step, ends = 3e-4, []
        for sign in (1.0, -1.0):
            changed = table.copy()
            changed.loc[20, column] += sign * step
            made = fitted.regressors.transform_df(changed)["beta_"]
            ends.append(fit(made.assign(week=table["week"], arrest=table["arrest"])).params_.to_numpy())
        moved = np.linalg.norm(ends[0] - ends[1]) / (2 * step * NOISE)
        assert leak.attributes.loc[20, column] == pytest.approx(moved, rel=2e-6)


def test_hazard_regressions_of_statsmodels(formulaic):
    table = TABLE.assign(week=np.exp(TABLE["cost"]))
    formula = "week ~ age + np.log(dose) + ward"
    status = (TABLE["other"] > 0).to_numpy().astype(int)
    leak = seepage.measure(sm.PHReg.from_formula(formula, table, status=status).fit(), noise_scale=NOISE)
    own = pd.get_dummies(TABLE[["age", "ward"]].assign(log=np.log(TABLE["dose"])), drop_first=True, dtype=float)
    expected = seepage.measure(sm.PHReg(table["week"], own, status=status).fit(), noise_scale=NOISE)
    np.testing.assert_allclose(leak.attributes["age"], expected.attributes["age"], rtol=1e-7)
    np.testing.assert_allclose(leak.attributes["dose"], expected.attributes["log"] / TABLE["dose"], rtol=1e-7)
