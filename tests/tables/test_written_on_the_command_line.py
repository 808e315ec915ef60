"""Tables as TOML and as formulas, from the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
import statsmodels.formula.api as smf
from cli.terminal import Terminal
from lifelines.datasets import load_rossi
from sklearn.linear_model import Ridge

import seepage

RANDOM = np.random.default_rng(3)
N = 150
PEOPLE = pd.DataFrame(
    {
        "age": RANDOM.uniform(20.0, 80.0, N),
        "dose": RANDOM.gamma(4.0, 0.5, N) + 0.2,
        "ward": RANDOM.choice(["east", "north", "south"], N),
        "patient": [f"P{i:03d}" for i in range(N)],
    }
)
PEOPLE["ill"] = (RANDOM.random(N) < 1 / (1 + np.exp(2 - 0.04 * PEOPLE["age"]))).astype(int)
RESULTS = smf.logit("ill ~ age + np.log(dose) + ward", PEOPLE).fit(disp=0)


def written(path: Path, formula: str, family: str = "binomial") -> None:
    path.write_text(f'formula = "{formula}"\nfamily = "{family}"\n')


@pytest.fixture(scope="module")
def folder(terminal: Terminal) -> Path:
    folder = terminal.folder / "written"
    folder.mkdir()
    PEOPLE.to_parquet(folder / "people.parquet")
    PEOPLE.to_csv(folder / "people.csv", index=False)
    gaps = PEOPLE.copy()
    gaps.loc[[0, 1], "age"] = np.nan
    pd.concat([PEOPLE, gaps.iloc[:2]]).to_csv(folder / "gaps.csv", index=False, na_rep="NA")
    PEOPLE.to_csv(folder / "semicolons.csv", index=False, sep=";", decimal=",")
    load_rossi().to_parquet(folder / "rossi.parquet")
    written(folder / "model.toml", "ill ~ age + log(dose) + ward")
    with (folder / "model.toml").open("a") as file:
        file.write('numbers = "june.csv"\n')
    RESULTS.params.round(4).rename("coef").to_csv(folder / "june.csv")
    written(folder / "plain.toml", "ill ~ age + dose + ward")
    written(folder / "cox.toml", "Surv(week, arrest) ~ age + prio", "cox")
    (folder / "typo.toml").write_text((folder / "plain.toml").read_text().replace("formula", "formul"))
    (folder / "policy.toml").write_text("[error_floor]\nage = 5\n")
    return folder


@pytest.mark.parametrize("data", ["people.parquet", "people.csv", "gaps.csv"])
@pytest.mark.usefixtures("folder")
def test_the_numbers_are_those_of_the_fit(terminal: Terminal, data: str) -> None:
    command = f"seepage measure written/model.toml written/{data} --noise 0.05 --ids patient"
    answer = terminal.run(f"{command} --people out.parquet --force --quiet")
    assert answer.code == 0, answer.text
    found, wanted = pd.read_parquet(terminal.folder / "out.parquet"), seepage.measure(RESULTS, noise_scale=0.05)
    np.testing.assert_allclose(found["eta"], wanted.examples["eta"], rtol=1e-8)


@pytest.mark.usefixtures("folder")
def test_rows_that_were_left_out_are_told(terminal: Terminal) -> None:
    answer = terminal.run("seepage measure written/model.toml written/gaps.csv -n 0.05 --groups ward")
    assert answer.code == 0, answer.text
    assert "150 people" in answer.out
    assert "2 of 152 rows have a missing value" in answer.out


@pytest.mark.usefixtures("folder")
def test_every_command_takes_a_table(terminal: Terminal) -> None:
    given = "written/plain.toml written/people.parquet --policy written/policy.toml"
    assert terminal.run(f"seepage calibrate {given} -q").out.strip() != ""
    assert terminal.run(f"seepage check {given} -n 0.001").code == 1
    answer = terminal.run(f"seepage publish {given} --categories ward=east,north,south -n 0.1 -o written/noisy.skops")
    assert answer.code == 0, answer.text
    names = json.loads((terminal.folder / "written/noisy.certificate.json").read_text())["published"]["parameters"]
    assert sorted(names) == sorted(["age", "dose", "ward = east", "ward = north", "ward = south", "intercept"])


def test_from_nothing_as_a_user_does(folder: Path) -> None:
    answer = Terminal(folder, warm=False).run("seepage measure model.toml people.parquet -n 0.05")
    assert answer.code == 0, answer.text
    assert "150 people, 4 private attributes" in answer.out


REFUSED = {
    "a target besides": ("model.toml written/people.csv -t ill", "names its outcome, weights and family itself"),
    "weights besides": ("model.toml written/people.csv --sample-weight age", "leave --sample-weight out"),
    "a key that there is not": ("typo.toml written/people.csv", "Did you mean 'formula'?"),
    "semicolons": ("model.toml written/semicolons.csv", "write.csv, not write.csv2"),
    "other rows": ("model.toml written/rossi.parquet", "'ill', which is no column"),
    "no file": ("nothing.toml written/people.csv", "There is no file"),
    "streamed rows": ("cox.toml written/rossi.parquet --stream", "--in-memory"),
    "a policy": ("policy.toml written/people.csv", "sets 'error_floor', which no model has"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_on_one_screen(terminal: Terminal, case: str) -> None:
    arguments, words = REFUSED[case]
    answer = terminal.run(f"seepage measure written/{arguments} -n 0.05")
    assert answer.code == 2, answer.text
    assert "Traceback" not in answer.text
    assert "Unforeseen" not in answer.text
    assert len(answer.text.splitlines()) < 24
    assert words in " ".join(answer.err.replace("│", " ").split()), answer.err


def test_the_target_of_other_models_is_asked_for(terminal: Terminal) -> None:
    skops.io.dump(Ridge().fit([[1.0], [2.0]], [1.0, 2.0]), terminal.folder / "model.skops")
    answer = terminal.run("seepage measure model.skops people.csv -n 1")
    assert answer.code == 2
    assert "--target COLUMN" in answer.err
