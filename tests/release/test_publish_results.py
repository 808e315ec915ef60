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
        ("ill ~ Q('age') + C(Q('ward'))", ["age", "ward"]),
    ],
)
def test_what_is_published_predicts_as_the_results_do(formula: str, columns: list[str]) -> None:
    results = smf.logit(formula, PEOPLE).fit(disp=0)
    published = seepage.publish(results, **TINY).estimator
    # Coefficients leave with eight digits.
    np.testing.assert_allclose(published.predict(PEOPLE[columns]), results.predict(PEOPLE), rtol=3e-6)


CODED = [
    "C(ward, Sum) + age",
    "C(ordered, Diff) + C(sex, Sum)",
    "age + C(ward, Helmert)",
]


@pytest.mark.parametrize("engine", ["patsy", "formulaic"])
@pytest.mark.parametrize("right", CODED)
def test_contrasts_leave_as_coefficients_of_levels(right: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statsmodels.formula.options, "_formula_engine", engine)
    results = smf.ols(f"height ~ {right}", PEOPLE).fit()
    parts = taken_apart(results)
    release = ready(with_steps(parts.model, parts.rows), parts.rows, parts.labels, Terms(0.5, None, categories=LEVELS))
    # Any parameters, as noise would make them.
    drawn = np.asarray(results.params) + 3 * _RANDOM.normal(size=len(results.params))
    names = list(results.params.index)
    order = [i for i, name in enumerate(names) if name != "Intercept"]
    order += [names.index("Intercept")] if "Intercept" in names else []
    estimator = release.model.with_parameters(drawn[order][None], digits=None)
    columns = [name for name in ("age", "dose", "ward", "ordered", "sex") if name in right]
    np.testing.assert_allclose(estimator.predict(PEOPLE[columns]), results.model.exog @ drawn, rtol=1e-12)
    content = skops.io.dumps(estimator)
    assert set(skops.io.get_untrusted_types(data=content)) <= {"seepage.linear.objective._glm.GLM"}
    leak = seepage.measure(results, noise_scale=0.5)
    for name in columns:
        np.testing.assert_allclose(release.leak.attributes[name], leak.attributes[name], rtol=1e-8)


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
        ("ill ~ I(age ** 2) + dose", r"term 'I\(age \*\* 2\)' .* Make its columns before"),
        ("ill ~ age * C(ward)", r"term '.*age.*' .* Make its columns before"),
        ("ill ~ bs(age, knots=[40, 60], lower_bound=10, upper_bound=90)", "term 'bs"),
        ("ill ~ center(age)", r"term 'center\(age\)'"),
        ("ill ~ 1", "no term but the constant"),
    ],
)
def test_terms_that_have_no_step_are_named(formula: str, said: str) -> None:
    results = smf.logit(formula, PEOPLE).fit(disp=0)
    with pytest.raises(seepage.errors.UnsupportedError, match=said):
        seepage.publish(results, noise_scale=0.1, accept=None)


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
