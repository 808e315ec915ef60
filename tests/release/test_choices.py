"""What the rows decided: every choice is counted, declared or refused, and what nobody classified is refused."""

import ast
import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

import seepage
from seepage._choices import KINDS, Choice, choices_in
from seepage._facts import Assumption, personal
from seepage.errors import UnsupportedError
from seepage.linear.information import _fitted
from seepage.release._certificate import SCHEMA_FILE

RANDOM = np.random.default_rng(4)
COUNT = 300
NUMBERS = pd.DataFrame(RANDOM.normal([50, 25], [12, 4], (COUNT, 2)), columns=["age", "bmi"])
PEOPLE = NUMBERS.assign(ward=RANDOM.choice(["east", "west"], COUNT))
COST = pd.Series(NUMBERS.to_numpy() @ [0.3, 1.0] + RANDOM.normal(0, 5, COUNT), name="cost")
ILL = pd.Series(np.where(COST.median() < COST, "ill", "well"), name="status")
TIGHT = {"tol": 1e-10, "max_iter": 10_000}


def _kinds_of_assumptions():
    """Yield every kind of assumption that the source makes."""
    for path in Path(seepage.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Assumption"):
                continue
            kind = node.args[0] if node.args else None
            if isinstance(kind, ast.Constant):
                yield kind.value


def test_every_assumption_of_the_library_is_classified():
    kinds = set(_kinds_of_assumptions())
    assert len(kinds) > 30
    assert not [kind for kind in kinds for one in choices_in([Assumption(kind, "")]) if "Nobody said" in one.how]


def test_what_nobody_classified_is_refused(monkeypatch):
    """Somebody adds an assumption, and does not say whether the rows decide it."""
    model = Ridge().fit(NUMBERS, COST)
    seepage.publish(model, NUMBERS, COST, noise_scale=1.0, accept=None)
    leak = seepage.measure(model, NUMBERS, COST, noise_scale=1.0)
    unknown = Assumption("bandwidth", "The bandwidth of the kernel is taken as known.")
    monkeypatch.setattr(_fitted, "ATTACKER", (*_fitted.ATTACKER, unknown))
    with pytest.raises(UnsupportedError, match="'bandwidth', which a measurement takes for granted: refused"):
        seepage.publish(model, NUMBERS, COST, noise_scale=1.0, accept=None)
    with pytest.raises(UnsupportedError, match=r"no publishable edition.*\n.*'bandwidth'"):
        seepage.Report.of(seepage.measure(model, NUMBERS, COST, noise_scale=1.0), "publishable")
    assert seepage.Report.of(leak, "publishable")
    with pytest.raises(ValueError, match="anybody classified"):
        Choice("bandwidth", "the bandwidth", "declared", "Known.")


def _listed(model, X, y, **terms):
    certificate = seepage.publish(model.fit(X, y), X, y, noise_scale=1.0, accept=None, **terms).certificate
    read = json.loads(certificate.json())["choices"]
    assert [Choice(**one) for one in read] == list(certificate.chosen())
    for one in certificate.chosen():
        assert one.sentence() in unescape(certificate.html())
    return {one.kind: one for one in certificate.chosen()}


HOLES = NUMBERS.where(RANDOM.random(NUMBERS.shape) > 0.05)
LEVELS = OneHotEncoder(categories=[["east", "west"]], drop="first")
RELEASES = {
    "means": (make_pipeline(StandardScaler(), Ridge()), NUMBERS, {}, {"means": "counted", "penalty": "declared"}),
    "levels": (
        make_pipeline(make_column_transformer((LEVELS, ["ward"]), remainder="passthrough"), Ridge()),
        PEOPLE,
        {},
        {"levels": "declared"},
    ),
    "filled cells": (
        make_pipeline(SimpleImputer(), Ridge()),
        HOLES,
        {},
        {"filled cells": "counted", "missing cells": "declared"},
    ),
    "medians": (
        make_pipeline(SimpleImputer(strategy="median"), Ridge()),
        HOLES,
        {"public_preprocessing": ["simpleimputer"]},
        {"medians": "declared", "missing cells": "declared"},
    ),
    "quantiles": (
        make_pipeline(RobustScaler(), Ridge()),
        NUMBERS,
        {"public_preprocessing": ["robustscaler"]},
        {"medians": "declared"},
    ),
    "extremes": (
        make_pipeline(MinMaxScaler(), Ridge()),
        NUMBERS,
        {"public_preprocessing": ["minmaxscaler"]},
        {"extremes": "declared"},
    ),
    "kept columns": (
        make_pipeline(SelectKBest(f_regression, k=1), Ridge()),
        NUMBERS,
        {"public_preprocessing": ["selectkbest"]},
        {"kept columns": "declared"},
    ),
    "weights": (Ridge(), NUMBERS, {"sample_weight": np.ones(COUNT)}, {"weights": "declared"}),
    "no penalty": (LinearRegression(), NUMBERS, {}, {}),
}


@pytest.mark.parametrize("what", RELEASES)
def test_each_release_lists_its_choices(what):
    model, X, terms, wanted = RELEASES[what]
    found = _listed(model, X, COST, **terms)
    assert {kind: found[kind].status for kind in wanted} == wanted
    assert found["scale"].status == found["publication"].status == "declared"
    assert ("penalty" in found) == (what != "no penalty")
    assert set(found) - {"scale", "publication", "penalty", *wanted} == {"missing cells"} - wanted.keys()
    for one in found.values():
        # Read aloud: a name for what was chosen, what became of it, and a sentence about it.
        print(one.sentence())
        assert re.fullmatch(r"[A-Z][^.:]+: (counted|declared)\. [A-Z].*\.", one.sentence())
        assert "It is not published" not in one.how


def test_classes_and_class_weights_are_choices():
    model = LogisticRegression(class_weight="balanced", **TIGHT)
    found = _listed(model, NUMBERS, ILL, classes=["ill", "well"])
    assert found["classes"].how.startswith("Given by whoever published this")
    assert found["weights"].status == "counted"
    assert "whatever the rows have" in _listed(model, NUMBERS, ILL == "ill")["classes"].how


def test_a_shape_that_follows_the_rows_is_counted():
    noise = seepage.release.GaussianNoise(standard_errors=1.0)
    certificate = seepage.publish(LinearRegression().fit(NUMBERS, COST), NUMBERS, COST, noise_scale=noise, accept=None)
    found = {one.kind: one for one in certificate.certificate.chosen()}
    assert found["shape"].status == "counted"
    assert "does not shrink with the noise" in found["shape"].how


def test_the_certificate_says_that_the_scale_is_not_counted():
    model, accept = Ridge().fit(NUMBERS, COST), {"error_floor": {"age": 1.0}}
    found = seepage.publish(model, NUMBERS, COST, noise_scale=1.0, accept=accept).certificate
    said = {one.kind: one.how for one in found.chosen()}
    assert "The choice of the scale is not counted" in said["scale"]
    assert "What that tells is not counted" in said["publication"]
    given = seepage.publish(
        model, NUMBERS, COST, noise_scale=1.3, accept=accept, noise_chosen_without_data=True
    ).certificate
    assert "without looking at the data, says" in {one.kind: one.how for one in given.chosen()}["scale"]
    page = seepage.Report.of(
        seepage.measure(model, NUMBERS, COST, noise_scale=1.0), "publishable", policy=accept
    ).markdown()
    assert "The choice of the scale is not counted" in " ".join(page.split())
    assert "What that tells is not counted" in " ".join(page.split())


SEARCHES = {
    "RidgeCV": RidgeCV([0.1, 10.0]),
    "GridSearchCV": GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}),
    "LogisticRegressionCV": LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=3, scoring="neg_log_loss", use_legacy_attributes=False, l1_ratios=(0.0,), **TIGHT
    ),
}


@pytest.mark.parametrize("what", SEARCHES)
def test_a_penalty_that_a_search_chose_is_refused_unless_it_is_declared(what):
    labels = ILL == "ill" if "Logistic" in what else COST
    model = SEARCHES[what].fit(NUMBERS, labels)
    with pytest.raises(UnsupportedError, match=r"(?s)penalty is: refused.*public_penalty=True"):
        seepage.publish(model, NUMBERS, labels, noise_scale=1.0, accept=None)
    found = _listed(SEARCHES[what], NUMBERS, labels, public_penalty=True)
    assert found["penalty"].status == "declared"
    assert "not counted" in found["penalty"].how
    with pytest.raises(UnsupportedError, match="penalty"):
        seepage.Report.of(seepage.measure(model, NUMBERS, labels, noise_scale=1.0), "publishable")


def test_numbers_about_the_rows_are_not_in_a_certificate(monkeypatch):
    """How many digits rounding left tells about the rows, and so does that anybody mentions it."""
    noted = Assumption("rounding", "Rounding leaves {error}.", {"error": personal(0.012345)})
    monkeypatch.setattr(_fitted, "ATTACKER", (*_fitted.ATTACKER, noted))
    found = seepage.publish(Ridge().fit(NUMBERS, COST), NUMBERS, COST, noise_scale=1.0, accept=None)
    assert "Rounding leaves" not in found.certificate.json()


def test_the_schema_knows_the_same_kinds():
    entry = json.loads(SCHEMA_FILE.read_text())["properties"]["choices"]["items"]["properties"]
    assert entry["kind"]["enum"] == list(KINDS)
    assert entry["status"]["enum"] == ["counted", "declared"]
