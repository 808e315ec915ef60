"""Results of statsmodels are published as the same model of scikit-learn's kind, without what else results hold."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import seepage

_RANDOM = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": _RANDOM.uniform(20, 80, 300),
        "dose": _RANDOM.gamma(3.0, 1.0, 300),
        "ward": _RANDOM.choice(["east", "north", "south"], 300),
    }
)
PEOPLE["ordered"] = pd.Categorical(PEOPLE["ward"], categories=["south", "east", "north"])
PEOPLE["ill"] = (_RANDOM.random(300) < 1 / (1 + np.exp(2.5 - 0.05 * PEOPLE["age"]))).astype(int)
# So little noise that nothing but rounding and the grid of the noise is seen of it.
TINY = {"noise_scale": 1e-9, "accept": None, "noise_chosen_without_data": True}


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
    ],
)
def test_what_is_published_predicts_as_the_results_do(formula: str, columns: list[str]) -> None:
    results = smf.logit(formula, PEOPLE).fit(disp=0)
    published = seepage.publish(results, **TINY).estimator
    np.testing.assert_allclose(published.predict(PEOPLE[columns]), results.predict(PEOPLE), rtol=1e-6)


def test_it_is_measured_as_the_results_are() -> None:
    results = smf.glm("dose ~ age + C(ward)", PEOPLE, family=sm.families.Gamma(sm.families.links.Log())).fit()
    publication = seepage.publish(results, noise_scale=0.1, accept={"error_floor": {"age": 0.5}})
    assert publication.certificate.published["estimator"] == "GLM"
    worst = float(seepage.measure(results, noise_scale=0.1).error_floor()["age"].min())
    with pytest.raises(seepage.PolicyError):
        seepage.publish(results, noise_scale=0.1, accept={"error_floor": {"age": 1.01 * worst}})
    seepage.publish(results, noise_scale=0.1, accept={"error_floor": {"age": 0.99 * worst}})


def test_results_without_a_formula() -> None:
    columns = sm.add_constant(PEOPLE[["age", "dose"]])
    results = sm.WLS(PEOPLE["ill"], columns, weights=PEOPLE["dose"]).fit()
    published = seepage.publish(results, **TINY).estimator
    np.testing.assert_allclose(published.predict(PEOPLE[["age", "dose"]]), results.fittedvalues, rtol=1e-6)


def test_a_level_of_few_people_is_not_named() -> None:
    people = PEOPLE.assign(ward=np.where(np.arange(300) < 3, "attic", PEOPLE["ward"]))
    results = smf.ols("dose ~ age + C(ward)", people).fit()
    with pytest.raises(seepage.UnsupportedError, match="attic"):
        seepage.publish(results, noise_scale=0.1, accept=None)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("ill ~ age * dose", "product 'age:dose'"),
        ("ill ~ bs(age, df=4)", r"term 'bs\(age, df=4\)'"),
        ("ill ~ center(age)", r"term 'center\(age\)'"),
        ("ill ~ I(age ** 2)", "term 'I"),
        ("ill ~ 1", "no term but the constant"),
        ("ill ~ age + C(ward, Sum)", "contrasts that are no indicators"),
    ],
)
def test_terms_that_have_no_step_are_named(formula: str, said: str) -> None:
    results = smf.logit(formula, PEOPLE).fit(disp=0)
    with pytest.raises(seepage.UnsupportedError, match=said):
        seepage.publish(results, noise_scale=0.1, accept=None)


def test_labels_come_with_the_results() -> None:
    results = smf.ols("dose ~ age", PEOPLE).fit()
    with pytest.raises(seepage.InputError, match="leave y and sample_weight out"):
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
