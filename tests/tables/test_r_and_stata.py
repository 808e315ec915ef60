"""The page for users of R and Stata: its files are written as its lines would, from fits by others."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from cli.terminal import Terminal
from lifelines import CoxPHFitter
from pages import ROOT, blocks
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import seepage

PAGE = ROOT / "docs" / "how-to" / "r-and-stata.md"
RANDOM = np.random.default_rng(1)
N = 400
PEOPLE = pd.DataFrame(
    {
        "age": RANDOM.uniform(20.0, 80.0, N),
        "dose": RANDOM.gamma(3.0, 1.0, N) + 0.1,
        "ward": RANDOM.choice(["east", "north", "south"], N),
        "sex": RANDOM.choice(["female", "male"], N),
    }
)
ODDS = 0.04 * (PEOPLE["age"] - 50) + np.log(PEOPLE["dose"]) - 1
PEOPLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-ODDS))).astype(int)
DEATH = np.ceil(52 * RANDOM.exponential(np.exp(-0.5 * ODDS)))
PEOPLE["week"], PEOPLE["died"] = np.minimum(DEATH, 52), (DEATH <= 52).astype(int)

LOGIT = smf.logit("ill ~ age + np.log(dose) + ward", PEOPLE).fit(disp=0, tol=1e-12)
DUMMIES = PEOPLE.assign(wardnorth=PEOPLE["ward"] == "north", wardsouth=PEOPLE["ward"] == "south").astype(
    {"wardnorth": float, "wardsouth": float}
)
COLUMNS = ["age", "dose", "wardnorth", "wardsouth"]
COX = CoxPHFitter().fit(DUMMIES[[*COLUMNS, "sex", "week", "died"]], "week", "died", strata="sex")
SCALER = StandardScaler().fit(DUMMIES[COLUMNS])
RIDGE = LogisticRegression(C=1 / (0.05 * N), tol=1e-10).fit(SCALER.transform(DUMMIES[COLUMNS]), PEOPLE["ill"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("r")
    PEOPLE.to_parquet(folder / "people.parquet")
    names = [re.sub(r"\[T\.(.*)\]", r"\1", name) for name in LOGIT.params.index]
    names = [{"Intercept": "(Intercept)", "np.log(dose)": "log(dose)"}.get(name, name) for name in names]
    numbers = (LOGIT.params, LOGIT.bse, LOGIT.tvalues, LOGIT.pvalues)
    summary = pd.DataFrame(dict(zip(("Estimate", "Std. Error", "z value", "Pr(>|z|)"), numbers, strict=True)))
    summary.set_axis(names).to_csv(folder / "june.csv", float_format="%.6g")
    wrong = summary.set_axis(names)
    wrong.loc["age", "Estimate"] += 0.001
    wrong.to_csv(folder / "wrong.csv", float_format="%.6g")
    (toml,) = (text for language, text in blocks(PAGE) if language == "toml")
    (folder / "june.toml").write_text(toml)
    (folder / "wrong.toml").write_text(toml.replace("june", "wrong"))
    coefficients = RIDGE.coef_[0] / SCALER.scale_
    ridge = {"(Intercept)": RIDGE.intercept_[0] - coefficients @ SCALER.mean_}
    ridge |= dict(zip(COLUMNS, coefficients, strict=True))
    pd.Series(ridge).rename("s0").to_csv(folder / "ridge.csv", float_format="%.7g")
    (folder / "policy.toml").write_text("[error_floor]\nage = 5\ndose = 1\n")
    return folder


def test_the_page_runs_and_its_numbers_are_those_of_the_fits(folder: Path) -> None:
    names = {"__name__": "page"}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as printed:
        for language, text in blocks(PAGE):
            if language == "python":
                exec(compile(text, str(PAGE), "exec"), names)
    wanted = seepage.measure(LOGIT, noise_scale=0.05)
    np.testing.assert_allclose(names["leak"].examples["eta"], wanted.examples["eta"], rtol=1e-8)
    wanted = seepage.measure(COX, DUMMIES, noise_scale=0.05)
    found = seepage.measure(names["cox"], PEOPLE, noise_scale=0.05)
    for name in ("age", "dose"):
        np.testing.assert_allclose(found.attributes[name], wanted.attributes[name], rtol=1e-8)
    # Twenty printed numbers, the names of parameters, and one penalty twice.
    lines = printed.getvalue().splitlines()
    assert "20 ()" in lines
    assert "['age', 'intercept', 'log_dose', 'ward = east', 'ward = north', 'ward = south']" in lines
    assert "20.0 20.0" in lines
    assert len(names["ridge"].comparison.matched) == 5


def test_the_command_line_answers_as_the_page_shows(folder: Path) -> None:
    with contextlib.closing(Terminal(folder)) as terminal:
        for language, text in blocks(PAGE):
            if language == "console":
                typed, _, shown = text.partition("\n")
                assert terminal.run(typed.removeprefix("$ ")).text.strip() == shown.strip()
