"""Results of statsmodels, with and without formulas, against refits by statsmodels and the procedure written anew."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from patsy import build_design_matrices
from procedures import Expected, procedure
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from statsmodels.tools.sm_exceptions import DomainWarning

import seepage

RANDOM = np.random.default_rng(8)
N = 80
TABLE = pd.DataFrame(
    {
        "age": RANDOM.uniform(1.0, 3.0, N),
        "dose": RANDOM.gamma(4.0, 0.5, N) + 0.2,
        "ward": RANDOM.choice(["a", "b", "c"], N),
        "other": RANDOM.normal(size=N),
    }
)
MARGIN = 0.5 * np.log(TABLE["dose"]) + 0.3 * TABLE["age"] - 0.7 + 0.2 * (TABLE["ward"] == "b")
TABLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-MARGIN))).astype(int)
TABLE["visits"] = RANDOM.poisson(np.exp(MARGIN))
TABLE["cost"] = MARGIN + 0.3 * RANDOM.normal(size=N)
TABLE["days"] = RANDOM.gamma(5.0, np.exp(MARGIN) / 5.0)
WEIGHTS = RANDOM.uniform(0.5, 2.0, N)
NOISE = 0.2
# The inverse link may leave the positive numbers, warns statsmodels.
warnings.filterwarnings("ignore", category=DomainWarning)
PLAIN = sm.add_constant(TABLE[["age", "dose"]])
families, links = sm.families, sm.families.links


def _refitted(results, family, person, frame, *, columns, **more):
    """Return the Jacobian of one person by refitting statsmodels on the design of the same formula."""
    step, moved = 1e-5, []
    design = results.model.data.model_spec
    for column in columns:
        ends = []
        for sign in (1.0, -1.0):
            changed = frame.copy()
            changed.loc[person, column] += sign * step
            (matrix,) = build_design_matrices([design], changed)
            again = sm.GLM(results.model.endog, np.asarray(matrix), family=family, **more)
            ends.append(again.fit(tol=1e-14, maxiter=100).params)
        moved.append((ends[0] - ends[1]) / (2 * step * NOISE))
    return np.array(moved)


def test_a_formula_is_traced_to_its_columns():
    results = smf.logit("ill ~ np.log(dose) * C(ward) + I(age ** 2) + age", TABLE).fit(disp=0)
    leak = seepage.measure(results, noise_scale=NOISE)
    assert leak.information.attribute_names == ("age", "dose", "ward", "ill")
    assert leak.information.categorical == {"ward", "ill"}
    levels = np.column_stack([TABLE["ward"] == each for each in "bc"]).astype(float)

    def bend(rows):
        age, log, b, c = rows[:, 0], np.log(rows[:, 1]), rows[:, 2], rows[:, 3]
        return np.column_stack([b, c, log, log * b, log * c, age**2, age])

    rows = np.column_stack([TABLE[["age", "dose"]], levels])
    labels = TABLE[["ill"]].to_numpy(dtype=float)
    expected = procedure(rows, labels, "logistic", features=bend, noise=NOISE)
    Expected(expected).agrees(leak, [[0], [1], [2, 3]])


def test_splines_and_standardized_columns_in_a_formula():
    family = families.Poisson()
    results = smf.glm("visits ~ bs(age, df=5) + standardize(dose) + dose:other", TABLE, family=family).fit()
    leak = seepage.measure(results, noise_scale=NOISE, public_label=True)
    for person in (0, 51):
        moved = _refitted(results, family, person, TABLE, columns=["age", "dose", "other"])
        np.testing.assert_allclose(leak.attributes.to_numpy()[person], np.linalg.norm(moved, axis=1), rtol=2e-6)
    assert any("formula" in one.sentence() for one in leak.information.assumptions)


NATURAL = "cost ~ cr(age, knots=[-0.5, 0.5], lower_bound=-5, upper_bound=5) + dose"


@pytest.mark.parametrize(
    "fit",
    [
        lambda rows: smf.ols(NATURAL, rows).fit(),
        lambda rows: smf.wls(NATURAL, rows, weights=WEIGHTS).fit(),
        lambda rows: smf.glm(NATURAL, rows).fit(),
    ],
    ids=["ols", "wls", "glm"],
)
@pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")
def test_natural_splines_beside_a_constant_are_the_least_norm_that_statsmodels_finds(fit):
    """Their columns add up to one. The norm that is least has the constant in it, and that of scikit-learn has not."""
    rows = TABLE[["age", "dose", "cost"]].assign(cost=TABLE["cost"] + 5.0)
    leak = seepage.measure(fit(rows), noise_scale=NOISE)
    for person in (0, 20, 51):
        for column in rows:
            ends = []
            for sign in (1, -1):
                moved = rows.copy()
                moved.loc[person, column] += sign * 1e-4
                ends.append(fit(moved).params.to_numpy())
            expected = np.linalg.norm(ends[0] - ends[1]) / 2e-4 / NOISE
            assert leak.attributes[column][person] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("formula", "steps"),
    [
        (
            "y ~ standardize(age) + center(dose) + visits",
            [(StandardScaler(), ["age"]), (StandardScaler(with_std=False), ["dose"]), ("passthrough", ["visits"])],
        ),
        ("y ~ scale(age) + np.log(dose)", [(StandardScaler(), ["age"]), (FunctionTransformer(np.log), ["dose"])]),
    ],
    ids=["standardize and center", "scale"],
)
def test_a_column_that_a_formula_scales_is_one_behind_a_scaler(formula, steps):
    random = np.random.default_rng(4)
    rows = pd.DataFrame(
        {"age": random.normal(50, 9, 70), "dose": random.gamma(2, 1, 70), "visits": random.poisson(3, 70) + 0.5}
    )
    y = pd.Series(0.05 * rows["age"] - rows["dose"] + random.normal(size=70), name="y")
    leak = seepage.measure(smf.ols(formula, rows.assign(y=y)).fit(), noise_scale=0.3)
    columns = [name for _, names in steps for name in names]
    twin = make_pipeline(make_column_transformer(*steps), LinearRegression()).fit(rows[columns], y)
    expected = seepage.measure(twin, rows[columns], y, noise_scale=0.3)
    np.testing.assert_allclose(leak.examples["eta"], expected.examples["eta"], rtol=1e-10)
    for name in columns:
        np.testing.assert_allclose(leak.error_floor()[name], expected.error_floor()[name], rtol=1e-10)
    # That the scaler moves with the rows is counted: with public constants the numbers are others.
    public = seepage.measure(
        smf.ols(formula, rows.assign(y=y)).fit(), noise_scale=0.3, public_preprocessing=["formula"]
    )
    assert np.abs(public.error_floor()["age"] / leak.error_floor()["age"] - 1).max() > 1e-3


def test_what_cannot_be_measured_names_the_nearest_that_can():
    refused = {
        "NegativeBinomial, or GLM": lambda: sm.NegativeBinomialP(TABLE["visits"], PLAIN).fit(disp=0, maxiter=200),
        "OLS, with ids=": lambda: sm.MixedLM(TABLE["cost"], PLAIN, groups=TABLE["ward"]).fit(),
        "cannot be told": lambda: sm.OLS(TABLE["cost"], PLAIN).fit_regularized(alpha=0.1, L1_wt=0.9),
        "no derivative": lambda: smf.ols("cost ~ C(np.round(age))", TABLE).fit(),
    }
    for reason, fit in refused.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = fit()
        with pytest.raises(seepage.errors.UnsupportedError, match=reason):
            seepage.measure(results, noise_scale=NOISE)
    with pytest.raises(seepage.errors.InputError, match="know their labels"):
        seepage.measure(sm.OLS(TABLE["cost"], PLAIN).fit(), PLAIN, TABLE["cost"], noise_scale=NOISE)


@pytest.mark.parametrize("kind", ["GLM", "Logit", "Poisson"])
def test_a_constrained_fit_is_refused_though_the_constraint_is_nearly_true(kind):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=400), "b": random.normal(size=400)})
    y = random.poisson(np.exp(0.3 * X["a"] + 0.3 * X["b"])) if kind == "Poisson" else random.integers(0, 2, 400)
    model = {
        "GLM": lambda: sm.GLM(y, sm.add_constant(X), family=sm.families.Binomial()),
        "Logit": lambda: sm.Logit(y, sm.add_constant(X)),
        "Poisson": lambda: sm.Poisson(y, sm.add_constant(X)),
    }[kind]()
    free = model.fit(**({} if kind == "GLM" else {"disp": 0}))
    seepage.measure(free, noise_scale=0.1)
    constrained = model.fit_constrained(f"a - b = {free.params['a'] - free.params['b']:.12f}")
    np.testing.assert_allclose(constrained.params, free.params, rtol=1e-5)
    with pytest.raises(seepage.errors.UnsupportedError, match="fitted by fit_constrained"):
        seepage.measure(constrained, noise_scale=0.1)
