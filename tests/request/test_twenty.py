"""Twenty requests of one output each, as they come to a checker: how many are decided, with a figure."""

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from requests_made import regression, said, table

from seepage.request import check

RNG = np.random.default_rng(1)
COUNT = 1500
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(COUNT),
        "age": RNG.integers(18, 90, COUNT),
        "sex": RNG.choice(["F", "M"], COUNT),
        "ward": RNG.choice(["north", "east", "south", "west"], COUNT),
        "income": np.round(RNG.lognormal(10, 0.4, COUNT)),
    }
)
PEOPLE["ill"] = (RNG.random(COUNT) < 1 / (1 + np.exp(-(PEOPLE["age"] - 60) / 15))).astype(int)
PEOPLE["weeks"] = np.round(RNG.exponential(40, COUNT) + 1 + RNG.random(COUNT), 3)
PEOPLE["died"] = (RNG.random(COUNT) < 0.5).astype(int)
PEOPLE["alone"] = np.where(np.arange(COUNT) == 3, "hermit", PEOPLE["ward"])


def _cox(folder):
    fit = sm.PHReg(PEOPLE["weeks"], PEOPLE[["age"]], status=PEOPLE["died"], ties="efron").fit()
    (folder / "cox.csv").write_text(f'"","coef"\n"age",{fit.params[0]:.5f}\n')
    said(folder / "cox", family="cox", formula="Surv(weeks, died) ~ age")


def _gee(folder):
    fit = smf.gee("ill ~ age", "ward", PEOPLE, family=sm.families.Binomial()).fit()
    fit.params.round(5).rename("Estimate").to_csv(folder / "gee.csv")
    said(folder / "gee", family="gee", formula="ill ~ age")


def _quantiles(folder, *statistics, **more):
    said(folder / "quantiles", of=["income"], statistics=list(statistics), **more)


def _file(name):
    return lambda folder: (folder / name).write_bytes(b"\x80\x04 not opened")


TABLES = {
    "means by sex": {"of": ["age", "income"], "by": ["sex"], "statistics": ["mean", "count"]},
    "counts": {"by": ["ward", "sex"], "statistics": ["count"]},
    "shares": {"of": ["ill"], "by": ["ward"], "statistics": ["share", "count"]},
    "deviations": {"of": ["age"], "by": ["sex"], "statistics": ["mean", "sd", "count"]},
    "of the old": {"of": ["ill"], "by": ["sex"], "statistics": ["share", "count"], "where": "age >= 65"},
    "one alone": {"of": ["income"], "by": ["alone"], "statistics": ["mean", "count"]},
    "totals": {"of": ["ill"], "statistics": ["sum", "count"]},
}
REQUESTS = {name: lambda folder, keys=keys: table(folder / "table", PEOPLE, **keys) for name, keys in TABLES.items()}
REQUESTS |= {
    "median": lambda folder: _quantiles(folder, "median"),
    "smallest and largest": lambda folder: _quantiles(folder, "min", "max", by=["ward"]),
    "percentiles": lambda folder: _quantiles(folder, "p5", "p95"),
    **{name: _file(name) for name in ("plot.png", "curve.svg", "figure.pdf", "map.jpg")},
    "ols": lambda folder: regression(folder / "ols", PEOPLE, "income ~ age", decimals=2),
    "glm of R": lambda folder: regression(folder / "glm", PEOPLE, "ill ~ age", "binomial"),
    "cox": _cox,
    "gee": _gee,
    "forest.pkl": _file("forest.pkl"),
    "session.log": _file("session.log"),
}
EXPECTED = dict.fromkeys(REQUESTS, "pass") | dict.fromkeys(
    ("median", "smallest and largest", "percentiles", "one alone"), "fail"
)
EXPECTED |= dict.fromkeys(
    ("plot.png", "curve.svg", "figure.pdf", "map.jpg", "gee", "forest.pkl", "session.log"), "not checked"
)
# Events and times of a Cox model are not assessed.
EXPECTED["cox"] = "review"


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    found = {}
    for name, write in REQUESTS.items():
        folder = tmp_path_factory.mktemp("request")
        write(folder)
        (found[name],) = check(folder, people=PEOPLE).outputs
    return found


def test_there_are_twenty():
    assert len(REQUESTS) == 20


@pytest.mark.parametrize("name", REQUESTS)
def test_each_is_decided_or_listed(decided, name):
    found = decided[name]
    assert (found.word if found.checked else "not checked") == EXPECTED[name], found.reasons


def test_at_least_twelve_are_decided_with_a_figure(decided):
    figures = [
        name
        for name, each in decided.items()
        if each.checked
        and each.word in ("pass", "fail")
        and (each.figure is not None or re.search(r"that of [\d,]+ pe", each.reasons[0]))
    ]
    assert len(figures) >= 12


def test_a_largest_value_rests_on_as_many_people_as_have_it(decided):
    by_ward = PEOPLE.groupby("ward")["income"]
    fewest = min(
        (PEOPLE["income"][PEOPLE["ward"] == ward] == value).sum()
        for edge in (by_ward.min(), by_ward.max())
        for ward, value in edge.items()
    )
    assert f"that of {'1 person' if fewest == 1 else f'{fewest} people'}" in decided["smallest and largest"].reasons[0]


def test_somebody_alone_in_a_cell_is_named(decided):
    assert [each.people for each in decided["one alone"].findings if each.attributes == ("income",)] == [(3,)]


def test_a_pickled_forest_is_asked_for_in_another_form(decided):
    assert "trees with skops" in decided["forest.pkl"].reasons[0]
