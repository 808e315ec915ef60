"""The page for users of R and Stata: its files are written as its lines of R and Stata would, from fits by others.

Neither R nor Stata is here. What their lines write besides numbers is taken from the page itself.
"""

import contextlib
import io
import re
import tomllib
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
        "clinic": RANDOM.integers(1, 4, N),
    }
)
ODDS = 0.04 * (PEOPLE["age"] - 50) + np.log(PEOPLE["dose"]) - 1
PEOPLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(-ODDS))).astype(int)
DEATH = np.ceil(52 * RANDOM.exponential(np.exp(-0.5 * ODDS)))
PEOPLE["week"], PEOPLE["died"] = np.minimum(DEATH, 52), (DEATH <= 52).astype(int)

LOGIT = smf.logit("ill ~ age + np.log(dose) + ward", PEOPLE).fit(disp=0, tol=1e-12)
STATA = smf.logit("ill ~ age + I(age ** 2) + C(clinic)", PEOPLE).fit(disp=0, tol=1e-12)
DUMMIES = PEOPLE.assign(wardnorth=PEOPLE["ward"] == "north", wardsouth=PEOPLE["ward"] == "south").astype(
    {"wardnorth": float, "wardsouth": float}
)
COLUMNS = ["age", "dose", "wardnorth", "wardsouth"]
COX = CoxPHFitter().fit(DUMMIES[[*COLUMNS, "sex", "week", "died"]], "week", "died", strata="sex")
SCALER = StandardScaler().fit(DUMMIES[COLUMNS])
RIDGE = LogisticRegression(C=1 / (0.05 * N), tol=1e-10).fit(SCALER.transform(DUMMIES[COLUMNS]), PEOPLE["ill"])


def said(language: str, number: int) -> list[str]:
    """Return the lines without numbers that a block of the page writes; what only reads is no such block."""
    code = [text for name, text in blocks(PAGE) if name == language and "parseTOML" not in text][number]
    if language == "r":
        return re.findall(r"'([^'%]+)'", code)
    return [*re.findall(r"`\"([^`]+?\")\"'", code), "[coefficients]"]


def renamed(results, **others) -> dict[str, float]:
    names = {"Intercept": "(Intercept)", "np.log(dose)": "log(dose)", **others}
    return {re.sub(r"\[T\.(.*)\]", r"\1", names.get(name, name)): value for name, value in results.params.items()}


def ridge() -> dict[str, float]:
    coefficients = RIDGE.coef_[0] / SCALER.scale_
    intercept = RIDGE.intercept_[0] - coefficients @ SCALER.mean_
    return {"(Intercept)": intercept, **dict(zip(COLUMNS, coefficients, strict=True))}


def stata() -> dict[str, float]:
    names = {"I(age ** 2)": "c.age#c.age", "C(clinic)[T.2]": "2.clinic", "C(clinic)[T.3]": "3.clinic"}
    return {"1b.clinic": 0.0, **renamed(STATA, Intercept="_cons", **names)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("r")
    PEOPLE.to_parquet(folder / "people.parquet")
    PEOPLE.to_csv(folder / "people.csv", index=False)
    written = {
        "model.toml": (said("r", 0), renamed(LOGIT)),
        "cox.toml": (said("r", 1), dict(COX.params_)),
        "ridge.toml": (said("r", 2), ridge()),
        "stata.toml": (said("stata", 0), stata()),
    }
    for name, (head, coefficients) in written.items():
        assert head[-1] == "[coefficients]"
        lines = [f'"{each}" = {value:.17g}' for each, value in coefficients.items()]
        (folder / name).write_text("\n".join([*head, *lines]) + "\n")
    rounded = [f'"{each}" = {value:.1g}' for each, value in renamed(LOGIT).items()]
    (folder / "rounded.toml").write_text("\n".join([*said("r", 0), *rounded]) + "\n")
    (folder / "policy.toml").write_text("[error_floor]\nage = 5\ndose = 1\n")
    return folder


def test_what_the_lines_write_is_what_the_page_shows(folder: Path) -> None:
    (shown,) = (text for language, text in blocks(PAGE) if language == "toml")
    found, shown = (tomllib.loads(text) for text in ((folder / "model.toml").read_text(), shown))
    # To the last digit they may differ between processors.
    assert shown.pop("coefficients") == pytest.approx(found.pop("coefficients"), rel=1e-9)
    assert shown == found


def test_the_page_runs_and_its_numbers_are_those_of_the_fits(folder: Path) -> None:
    names = {"__name__": "page"}
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as printed:
        for language, text in blocks(PAGE):
            if language == "python":
                exec(compile(text, str(PAGE), "exec"), names)
    wanted = seepage.measure(LOGIT, noise_scale=0.05)
    np.testing.assert_allclose(names["leak"].examples["eta"], wanted.examples["eta"], rtol=1e-8)
    wanted = seepage.measure(COX, DUMMIES, noise_scale=0.05)
    for name in ("age", "dose"):
        np.testing.assert_allclose(names["cox"].attributes[name], wanted.attributes[name], rtol=1e-8)
    wanted = seepage.measure(STATA, noise_scale=0.05)
    np.testing.assert_allclose(names["clinics"].examples["eta"], wanted.examples["eta"], rtol=1e-8)
    # The names of parameters, what was measured of clinics, and one penalty twice.
    lines = printed.getvalue().splitlines()
    assert "['age', 'log_dose', 'ward = east', 'ward = north', 'ward = south', 'intercept']" in lines
    assert "['age', 'clinic', 'ill']" in lines
    assert "20.0 20.0" in lines
    ridged = names["ridge"]
    found = seepage.measure(ridged.model, ridged.X, ridged.y, noise_scale=0.05)
    assert found.information.assumptions[-1].numbers["distance"].value < 1e-5


def test_the_command_line_answers_as_the_page_shows(folder: Path) -> None:
    with contextlib.closing(Terminal(folder)) as terminal:
        for language, text in blocks(PAGE):
            if language == "console":
                typed, _, shown = text.partition("\n")
                assert terminal.run(typed.removeprefix("$ ")).text.strip() == shown.strip()
