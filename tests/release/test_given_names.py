"""Names of classes and levels that leave are the same, whatever one person's value is."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import seepage
from seepage.release._names import read_names, same_names, written

RANDOM = np.random.default_rng(0)
COUNT = 300
AGE = RANDOM.normal(50.0, 10.0, COUNT)
OUTCOME = pd.Series(0.02 * AGE + RANDOM.normal(size=COUNT), name="outcome")
TIGHT = {"tol": 1e-10, "max_iter": 10_000}


def _shares(names: str, rare: int) -> np.ndarray:
    """Return a value for each person, the last one being that of so many, the first person among them."""
    return np.array([names[-1]] * rare + [names[0]] * 150 + [names[1]] * (150 - rare))


def _names(certificate) -> tuple[str, ...]:
    return tuple(certificate.published["parameters"])


def _over_candidates(release, values, candidates) -> list[object]:
    """Run the whole procedure for each value that the first person could have."""
    found = []
    for candidate in candidates:
        changed = values.copy()
        changed[0] = candidate
        try:
            found.append(_names(release(changed).certificate))
        except (seepage.errors.InputError, seepage.errors.UnsupportedError):
            found.append("refused")
    return found


def _release_of_levels(encoder):
    def release(cities):
        people = pd.DataFrame({"age": AGE, "city": cities})
        model = make_pipeline(make_column_transformer((encoder, ["city"]), remainder="passthrough"), Ridge())
        return seepage.publish(model.fit(people, OUTCOME), people, OUTCOME, noise_scale=1.0, accept=None)

    return release


@pytest.mark.parametrize("rare", [1, 2, 9, 10, 11])
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(min_frequency=10, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(categories=[["A", "B", "C"]], min_frequency=10, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(categories=[["A", "B", "C"]], max_categories=2, handle_unknown="ignore"),
        OneHotEncoder(categories=[["A", "B", "C"]]),
        OneHotEncoder(categories=[["A", "B"]], handle_unknown="ignore"),
    ],
)
def test_levels_are_the_same_whatever_one_person_has(encoder, rare):
    found = _over_candidates(_release_of_levels(encoder), _shares("ABC", rare), "ABC")
    assert len(set(found)) == 1
    given = encoder.min_frequency is None and encoder.max_categories is None and encoder.categories != "auto"
    assert (found[0] != "refused") == given


@pytest.mark.parametrize("rare", [2, 9, 10, 11])
@pytest.mark.parametrize("estimator", [LogisticRegression(C=0.1, **TIGHT), RidgeClassifier()])
@pytest.mark.parametrize("given", [{}, {"classes": ["a", "b", "c"]}], ids=["found", "given"])
def test_classes_are_the_same_whatever_one_person_has(given, estimator, rare):
    rows = pd.DataFrame({"age": (AGE - 50) / 10})

    def release(labels):
        model = estimator.fit(rows, labels)
        return seepage.publish(model, rows, labels, noise_scale=1.0, accept=None, **given)

    found = _over_candidates(release, _shares("abc", rare), "abc")
    assert len(set(found)) == 1
    assert (found[0] == "refused") == (not given)


def test_the_line_of_the_refusal_is_the_way_out():
    people = pd.DataFrame({"age": AGE, "city": _shares("ABC", 10), "sex": np.where(AGE > 50, "m", "f")})

    def release(encoder):
        steps = make_column_transformer((encoder, ["city", "sex"]), remainder="passthrough")
        model = make_pipeline(steps, LinearRegression()).fit(people, OUTCOME)
        return seepage.publish(model, people, OUTCOME, noise_scale=1.0, accept=None)

    with pytest.raises(seepage.errors.UnsupportedError) as refused:
        release(OneHotEncoder(drop="first", sparse_output=False))
    line = str(refused.value).split("fit again: ")[1].split(". If")[0]
    assert line == "OneHotEncoder(drop='first', sparse_output=False, categories=[['A', 'B', 'C'], ['f', 'm']])"
    assert release(eval(line)).certificate.published["count"] == 7


def test_classes_that_nobody_found_in_the_rows_need_no_word():
    rows, ill = pd.DataFrame({"age": (AGE - 50) / 10}), OUTCOME > 1
    release = {"noise_scale": 1.0, "accept": None}
    seepage.publish(LogisticRegression(**TIGHT).fit(rows, ill), rows, ill, **release)
    seepage.publish(seepage.models.GLM("binomial").fit(rows, ill.astype(int)), rows, ill.astype(int), **release)
    words = ill.map({True: "ill", False: "well"})
    for model, labels in ((LogisticRegression(**TIGHT), ill.astype(int)), (LogisticRegression(**TIGHT), words)):
        with pytest.raises(seepage.errors.InputError, match="can tell who has it"):
            seepage.publish(model.fit(rows, labels), rows, labels, **release)
        found = seepage.publish(model, rows, labels, **release, classes=model.classes_.tolist()).certificate
        assert any(one.kind == "classes" and "Given by whoever" in one.how for one in found.chosen())
        with pytest.raises(seepage.errors.InputError, match="and the model tells apart"):
            seepage.publish(model, rows, labels, **release, classes=[*model.classes_.tolist(), "other"])


@pytest.mark.parametrize("names", [["a", "b"], ["yes, often", 'so "so"', "no"], [0.0, 1.0, 2.0], ["x=y", "Straße"]])
def test_names_are_typed_and_read_back(names):
    assert same_names(names, read_names(written(names)))
