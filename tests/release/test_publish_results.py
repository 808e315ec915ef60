"""Results of statsmodels are published as the same model of scikit-learn's kind, without what else results hold."""

import numpy as np
import pandas as pd
import pytest
import skops.io
import statsmodels.api as sm
import statsmodels.formula
import statsmodels.formula.api as smf

import seepage
from seepage.linear.results import taken_apart, with_steps
from seepage.release._publish import Terms, ready

_RANDOM = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": _RANDOM.uniform(20, 80, 300),
        "dose": _RANDOM.gamma(3.0, 1.0, 300),
        "ward": _RANDOM.choice(["east", "north", "south"], 300),
    }
)
PEOPLE["ordered"] = pd.Categorical(PEOPLE["ward"], categories=["south", "east", "north"])
PEOPLE["height"] = 170 + 0.1 * PEOPLE["age"] + 5 * _RANDOM.normal(size=300)
PEOPLE["ill"] = (_RANDOM.random(300) < 1 / (1 + np.exp(2.5 - 0.05 * PEOPLE["age"]))).astype(int)
PEOPLE["sex"] = _RANDOM.choice([0, 1], 300)
PRODUCTS = [
    "age * dose",
    "age * C(ward)",
    "np.log(dose):C(ward)",
    "C(ward) + age:C(ward)",
    "np.sqrt(age):np.log(dose) + ordered",
    "C(ward, Treatment('north')) * C(sex)",
    "C(ward):C(sex):age",
    "age * dose * C(ward) - dose",
    "sex:ordered - 1",
]
# Large next to any noise.
POWERS = ["I(age ** 2)", "I(dose ** 2) * age + I(dose ** 3):C(sex)"]
LEVELS = {"ward": ["east", "north", "south"], "ordered": ["south", "east", "north"], "sex": [0, 1]}
# So little noise that nothing but rounding and the grid of the noise is seen of it.
TINY = {"noise_scale": 1e-9, "accept": None, "noise_chosen_without_data": True, "categories": LEVELS}


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("ill ~ age + dose", ["age", "dose"]),
        ("ill ~ dose + C(ward) + age", ["age", "dose", "ward"]),
        ("ill ~ ordered + age", ["ordered", "age"]),
        ("ill ~ C(ward, Treatment('north')) + age", ["ward", "age"]),
        ("ill ~ ward + age - 1", ["ward", "age"]),
        ("ill ~ age + np.log(dose) + np.sqrt(age)", ["age", "dose"]),
        ("ill ~ Q('age') + C(Q('ward'))", ["age", "ward"]),
        *[(f"ill ~ {right}", ["age", "dose", "ward", "ordered", "sex"]) for right in PRODUCTS],
    ],
)
def test_what_is_published_predicts_as_the_results_do(formula: str, columns: list[str]) -> None:
    results = smf.logit(formula, PEOPLE).fit(disp=0)
    published = seepage.publish(results, **TINY).estimator
    # Coefficients leave with eight digits, and of products of columns they add up to far more than the margin.
    np.testing.assert_allclose(published.predict(PEOPLE[columns]), results.predict(PEOPLE), rtol=3e-6)


def _by_hand(name: str, people: pd.DataFrame) -> np.ndarray:
    """Return what a coefficient of this name is multiplied with."""
    found = np.ones(len(people))
    for part in name.split(" * ") if " * " in name else name.split(" ") if "=" not in name else [name]:
        column, _, level = part.partition(" = ")
        if level:
            found = found * (people[column].astype(str) == level)
        elif "(" in part:
            found = found * getattr(np, part.split("(")[0])(people[part.split("(")[1][:-1]])
        elif part != "intercept":
            found = found * people[part.split("^")[0]] ** int(part.partition("^")[2] or 1)
    return np.asarray(found, dtype=float)


@pytest.mark.parametrize("engine", ["patsy", "formulaic"])
@pytest.mark.parametrize("right", PRODUCTS + POWERS)
def test_products_leave_as_data_and_predict_what_the_noised_formula_does(
    right: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statsmodels.formula.options, "_formula_engine", engine)
    results = smf.ols(f"height ~ {right}", PEOPLE).fit()
    publication = seepage.publish(results, noise_scale=0.5, accept=None, categories=LEVELS)
    estimator, names = publication.estimator, publication.certificate.published["parameters"]
    # Other people, who were not there when anything was fitted.
    others = PEOPLE.sample(50, random_state=1).assign(age=lambda rows: rows["age"] + 0.37)
    values = [*estimator[-1].coef_, *([estimator[-1].intercept_] if "intercept" in names else [])]
    expected = sum(value * _by_hand(name, others) for value, name in zip(values, names, strict=True))
    columns = [name for name in ("age", "dose", "ward", "ordered", "sex") if name in right]
    np.testing.assert_allclose(estimator.predict(others[columns]), expected, rtol=1e-12)
    # Every column of the formula's design has its coefficient; levels that stand for none have zero.
    given = [_by_hand(name, PEOPLE) for name, value in zip(names, values, strict=True) if value != 0]
    same = np.array([[np.allclose(one, other, rtol=1e-12) for one in given] for other in results.model.exog.T])
    assert (same.sum(axis=0) == 1).all()
    assert (same.sum(axis=1) == 1).all()
    content = skops.io.dumps(estimator)
    unknown = skops.io.get_untrusted_types(data=content)
    assert set(unknown) <= {"seepage.linear.objective._glm.GLM"}
    again = skops.io.loads(content, trusted=unknown)
    np.testing.assert_array_equal(again.predict(others[columns]), estimator.predict(others[columns]))
    for value in (*PEOPLE["age"].head(40), *PEOPLE["dose"].head(40)):
        assert np.float64(value).tobytes() not in content
        assert repr(float(value)).encode() not in content


LIMITS = [10.0, 40.0, 60.0, 90.0]
CODED = [
    "bs(age, knots=[40, 60], lower_bound=10, upper_bound=90)",
    "bs(age, knots=[], lower_bound=10, upper_bound=90, degree=2) + np.log(age)",
    "bs(age, knots=(35,), lower_bound=10, upper_bound=90, include_intercept=True) - 1",
    "cr(age, knots=[33, 60], lower_bound=25, upper_bound=75) - 1",
    "bs(age, knots=[50], lower_bound=10, upper_bound=90) * C(ward)",
    "np.log(age):bs(age, knots=[50], lower_bound=10, upper_bound=90) + dose",
    "C(ward, Sum) + age",
    "age * C(ward, Helmert)",
    "C(ordered, Diff):C(sex, Sum)",
]


@pytest.mark.parametrize("engine", ["patsy", "formulaic"])
@pytest.mark.parametrize("right", CODED)
def test_splines_with_given_knots_and_contrasts_leave_in_another_basis(
    right: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statsmodels.formula.options, "_formula_engine", engine)
    results = smf.ols(f"height ~ {right}", PEOPLE).fit()
    release = ready(*with_steps(taken_apart(results))[:3], Terms(0.5, None, categories=LEVELS))
    # Any parameters, as noise would make them.
    drawn = np.asarray(results.params) + 3 * _RANDOM.normal(size=len(results.params))
    names = list(results.params.index)
    order = [i for i, name in enumerate(names) if name != "Intercept"]
    order += [names.index("Intercept")] if "Intercept" in names else []
    estimator = release.model.with_parameters(drawn[order][None], digits=None)
    columns = [name for name in ("age", "dose", "ward", "ordered", "sex") if name in right]
    np.testing.assert_allclose(estimator.predict(PEOPLE[columns]), results.model.exog @ drawn, rtol=1e-12)
    content = skops.io.dumps(estimator)
    harmless = ("seepage.linear.objective._glm.GLM", "scipy.interpolate._bsplines.BSpline", "array_api_compat")
    assert all(any(part in name for part in harmless) for name in skops.io.get_untrusted_types(data=content))
    leak = seepage.measure(results, noise_scale=0.5)
    for name in columns:
        np.testing.assert_allclose(release.leak.attributes[name], leak.attributes[name], rtol=1e-8)


def test_products_are_measured_as_the_results_are() -> None:
    results = smf.logit("ill ~ age * C(ward)", PEOPLE).fit(disp=0)
    worst = float(seepage.measure(results, noise_scale=0.1).error_floor()["age"].min())
    with pytest.raises(seepage.errors.PolicyError):
        seepage.publish(results, noise_scale=0.1, accept={"error_floor": {"age": 1.0001 * worst}}, categories=LEVELS)
    seepage.publish(results, noise_scale=0.1, accept={"error_floor": {"age": 0.9999 * worst}}, categories=LEVELS)


def test_a_level_that_is_only_in_a_product_is_held_to_the_same_rule() -> None:
    people = PEOPLE.assign(ward=np.where(np.arange(300) < 3, "attic", PEOPLE["ward"]))
    product = "dose ~ age:C(ward)"
    with pytest.raises(seepage.errors.UnsupportedError, match="attic"):
        seepage.publish(smf.ols(product, people).fit(), noise_scale=0.1, accept=None)
    estimator = seepage.publish(
        smf.ols(product, PEOPLE).fit(), noise_scale=0.1, accept=None, categories=LEVELS
    ).estimator
    with pytest.raises(ValueError, match="attic"):
        estimator.predict(people[["age", "ward"]])


def test_it_is_measured_as_the_results_are() -> None:
    results = smf.glm("dose ~ age + C(ward)", PEOPLE, family=sm.families.Gamma(sm.families.links.Log())).fit()
    publication = seepage.publish(results, noise_scale=0.1, accept={"error_floor": {"age": 0.5}}, categories=LEVELS)
    assert publication.certificate.published["estimator"] == "GLM"
    worst = float(seepage.measure(results, noise_scale=0.1).error_floor()["age"].min())
    with pytest.raises(seepage.errors.PolicyError):
        seepage.publish(results, noise_scale=0.1, accept={"error_floor": {"age": 1.01 * worst}}, categories=LEVELS)
    seepage.publish(results, noise_scale=0.1, accept={"error_floor": {"age": 0.99 * worst}}, categories=LEVELS)


def test_results_without_a_formula() -> None:
    columns = sm.add_constant(PEOPLE[["age", "dose"]])
    results = sm.WLS(PEOPLE["ill"], columns, weights=PEOPLE["dose"]).fit()
    published = seepage.publish(results, **TINY).estimator
    np.testing.assert_allclose(published.predict(PEOPLE[["age", "dose"]]), results.fittedvalues, rtol=1e-6)


def test_levels_of_a_formula_are_named_if_they_were_given_whatever_rows_and_people_they_have() -> None:
    people = PEOPLE.assign(ward=np.where(np.arange(300) < 30, "attic", PEOPLE["ward"]))
    results = smf.ols("dose ~ age + C(ward)", people).fit()
    wards = ["attic", "east", "north", "south"]
    line = r"categories=\{'ward': \['attic', 'east', 'north', 'south'\]\} .*--categories ward=attic,east,north,south"
    # Thirty rows of three people.
    for ids in (None, np.where(np.arange(300) < 30, np.arange(300) % 3, np.arange(300))):
        with pytest.raises(seepage.errors.UnsupportedError, match=line):
            seepage.publish(results, noise_scale=0.1, accept=None, ids=ids)
        given = seepage.publish(results, noise_scale=0.1, accept=None, ids=ids, categories={"ward": wards}).certificate
        assert "ward = attic" in given.published["parameters"]
        assert any(one.kind == "levels" and "Given by whoever" in one.how for one in given.chosen())
    with pytest.raises(
        seepage.errors.InputError, match=r"\['east', 'north'\]\} was given, and the model has the levels"
    ):
        seepage.publish(results, noise_scale=0.1, accept=None, categories={"ward": ["east", "north"]})


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("ill ~ age:I(dose + 1)", r"term 'I\(dose \+ 1\)'"),
        ("ill ~ bs(age, df=4)", r"term 'bs\(age, df=4\)' .* single people for knots, lower_bound, upper_bound"),
        ("ill ~ center(age)", r"term 'center\(age\)'"),
        ("ill ~ I(age ** 0.5)", "term 'I"),
        ("ill ~ 1", "no term but the constant"),
        ("ill ~ bs(age, knots=[40, 60])", "single people for lower_bound, upper_bound"),
        ("ill ~ bs(age, df=4, lower_bound=10, upper_bound=90)", "single people for knots"),
        ("ill ~ dose:cr(age, knots=LIMITS[1:3], lower_bound=10, upper_bound=90)", "cannot be published as it is"),
    ],
)
def test_terms_that_have_no_step_are_named(formula: str, said: str) -> None:
    results = smf.logit(formula, PEOPLE).fit(disp=0)
    with pytest.raises(seepage.errors.UnsupportedError, match=said):
        seepage.publish(results, noise_scale=0.1, accept=None)


def test_splines_of_a_column_with_spaces_are_suggested_as_a_formula_takes_them() -> None:
    people = PEOPLE.rename(columns={"age": "age at entry"})
    results = smf.logit("ill ~ bs(Q('age at entry'), df=4)", people).fit(disp=0)
    with pytest.raises(seepage.errors.UnsupportedError, match="single people") as told:
        seepage.publish(results, noise_scale=0.1, accept=None)
    term = str(told.value).partition("of your own: ")[2].partition(", and fit again")[0]
    given = smf.logit(f"ill ~ {term}", people).fit(disp=0)
    assert seepage.publish(given, **TINY).certificate.published["parameters"][0] == "age at entry, spline 1"


def test_labels_come_with_the_results() -> None:
    results = smf.ols("dose ~ age", PEOPLE).fit()
    with pytest.raises(seepage.errors.InputError, match="leave y, sample_weight and offset out"):
        seepage.publish(results, None, PEOPLE["dose"], noise_scale=0.1, accept=None)


@pytest.mark.parametrize("formula", [True, False])
def test_the_outcome_is_called_by_its_column(formula: bool) -> None:
    people = PEOPLE.set_index(pd.Index([f"p{i}" for i in range(len(PEOPLE))]))
    results = smf.logit("ill ~ age + dose", people) if formula else sm.Logit(people["ill"], people[["age", "dose"]])
    fitted = results.fit(disp=0)
    certificate = seepage.publish(fitted, noise_scale=5.0, accept={"success_rate": {"ill": 0.9}}).certificate
    assert certificate.private["attributes"] == ["age", "dose", "ill"]
    assert certificate.targets[0].startswith("Everyone's ill:")
    assert list(seepage.measure(fitted, noise_scale=5.0).information.attribute_names) == ["age", "dose", "ill"]
