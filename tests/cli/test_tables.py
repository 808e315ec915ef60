"""Models that are written as tables, from the command line alone: what goes in, and what comes out for R."""

import json
import re
import tomllib

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression, Ridge

from cli.terminal import Terminal


def test_a_table_in_is_a_table_out(wards: Terminal) -> None:
    folder = wards.folder
    command = "seepage publish ill.toml wards.parquet -n 0.05 --without-policy --out ill-noisy.toml"
    refused = wards.run(command)
    assert refused.code == 2
    # What the refusal says is the line to add.
    line = "--categories ward=east,north,south"
    assert line in " ".join(refused.err.replace("│", "").split())
    assert wards.run(f"{command} --categories ward").code == 2
    assert wards.run(f"{command} --categories ward=east,north").code == 2
    published = wards.run(f"{command} {line}")
    assert published.code == 0, published.text
    text = (folder / "ill-noisy.toml").read_text()
    assert "noise of scale 0.05" in text
    found = tomllib.loads(text)
    exact = pd.read_csv(folder / "ill.csv", index_col=0)["Estimate"]
    assert (found["family"], found["link"], found["outcome"]) == ("binomial", "logit", "ill")
    coefficients = found["coefficients"]
    assert sorted(coefficients) == ["(Intercept)", "age", "dose", "ward"]
    assert coefficients["ward"]["east"] == 0
    flat = {f"ward{level}": value for level, value in coefficients.pop("ward").items() if level != "east"}
    for name, value in {**coefficients, **flat}.items():
        assert 0 < abs(value - exact[name]) < 6 * 0.05
    # Nothing is in it but names, numbers with noise, and what kind of model it is.
    assert set(tomllib.loads(text)) == {"family", "link", "outcome", "coefficients"}
    assert "300" not in text
    certified = wards.run("seepage certify ill-noisy.toml ill-noisy.certificate.json")
    assert (certified.code, "byte for byte" in certified.text) == (0, True)
    (folder / "edited.toml").write_text(text.replace('"age" = ', '"age" = 1'))
    assert wards.run("seepage certify edited.toml ill-noisy.certificate.json").code == 3


def test_without_noise_a_table_counts_as_many_digits_as_it_has_or_will_be_printed_with(wards: Terminal) -> None:
    rounded = wards.run("seepage measure ill.toml wards.parquet")
    assert rounded.code == 0, rounded.text
    assert "printed to 5 decimals" in rounded.out
    # Without printed numbers, what is measured is a rounded table.
    (wards.folder / "bare.toml").write_text('formula = "ill ~ age + dose + ward"\nfamily = "binomial"\n')
    whole = wards.run("seepage measure bare.toml wards.parquet")
    assert "printed to a tenth of a standard error" in " ".join(whole.out.split())
    asked = wards.run('seepage measure ill.toml wards.parquet --digits "2 significant"')
    assert "printed to 2 significant digits" in asked.out
    assert wards.run("seepage measure ill.toml wards.parquet --digits two").code == 2
    assert "--noise" in wards.run("seepage measure ill.toml wards.parquet --digits 2 -n 0.1").err


def test_a_model_of_scikit_learn_leaves_as_a_table_with_the_published_numbers(terminal: Terminal) -> None:
    ask = "model.skops people.csv --target progression -n 2 --without-policy"
    assert terminal.run(f"seepage publish {ask} --out ridge-noisy.toml").code == 0
    found = tomllib.loads((terminal.folder / "ridge-noisy.toml").read_text())
    coefficients = found["coefficients"]
    said = json.loads((terminal.folder / "ridge-noisy.certificate.json").read_text())
    assert [*list(coefficients)[1:], "intercept"] == said["published"]["parameters"]
    # The certificate's hash of the parameters is one of exactly these numbers.
    noisy = Ridge()
    noisy.coef_ = np.array(list(coefficients.values())[1:])
    noisy.intercept_ = coefficients["(Intercept)"]
    from seepage.release._seal import seal_of

    assert seal_of(noisy)["parameters"] == said["seal"]["parameters"]
    assert (found["family"], found["outcome"]) == ("gaussian", "progression")


def test_what_a_table_cannot_hold_is_said_before_anything_is_drawn(terminal: Terminal) -> None:
    people = pd.read_csv(terminal.folder / "people.csv")
    people["third"] = np.digitize(people["progression"], [100, 200])
    people.to_csv(terminal.folder / "thirds.csv", index=False)
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(people[["age", "bmi"]], people["third"])
    skops.io.dump(model, terminal.folder / "thirds.skops")
    ask = "thirds.skops thirds.csv --target third -n 2 --without-policy"
    assert "--classes 0,1,2" in " ".join(terminal.run(f"seepage publish {ask} --out t.skops").err.split())
    refused = terminal.run(f"seepage publish {ask} --out thirds.toml --classes 0,1,2")
    assert (refused.code, "several outcomes" in refused.text) == (2, True)
    assert not (terminal.folder / "thirds.toml").exists()
    assert not (terminal.folder / "thirds.toml.publishing").exists()


@pytest.mark.parametrize("name", ["unwritten.pkl", "unwritten.csv", "unwritten"])
def test_another_ending_is_refused_by_name(terminal: Terminal, name: str) -> None:
    answer = terminal.run(f"seepage publish model.skops people.csv -t progression -n 2 --without-policy --out {name}")
    assert answer.code == 2
    assert name in answer.text
    assert "unwritten.toml" in answer.text.replace("\n", "")
    assert not (terminal.folder / name).exists()


def test_a_formula_is_a_model_and_printed_numbers_are_compared_with_it(wards: Terminal) -> None:
    ask = "-n 0.05 --policy formula.toml --format json"
    (wards.folder / "formula.toml").write_text("[error_floor]\nage = 0.5\n")
    formula = '--formula "ill ~ age + dose + ward" --family binomial wards.parquet'
    answers = [wards.run(f"seepage check {given} {ask}") for given in ("ill.toml wards.parquet", formula)]
    assert [answer.code for answer in answers] == [answers[0].code] * 2, [answer.text for answer in answers]
    told = [json.loads(answer.out) for answer in answers]
    for each in told:
        each.pop("model")
    assert told[0] == told[1]
    printed = (wards.folder / "ill.csv").read_text()
    (wards.folder / "wrong.csv").write_text(re.sub(r'("dose",\d\.)\d', r"\g<1>0", printed))
    (wards.folder / "wrong.toml").write_text((wards.folder / "ill.toml").read_text().replace("ill.csv", "wrong.csv"))
    refused = wards.run("seepage measure wrong.toml wards.parquet -n 0.05")
    assert (refused.code, "row 4, column 2 prints" in " ".join(refused.err.replace("│", "").split())) == (2, True)
    names = "--categories ward=east,north,south"
    published = wards.run(f"seepage publish {formula} -n 0.05 --without-policy --out formula-noisy.toml {names}")
    assert published.code == 0, published.text
    assert wards.run(f"seepage measure {formula}").out.startswith("300 people")


def test_what_is_missing_beside_a_formula_or_a_csv_is_asked_for(wards: Terminal) -> None:
    for given, said in {
        '--formula "ill ~ age" wards.parquet': "Of which family is the formula?",
        '--formula "ill ~ age" --family binomial wards.parquet --target ill': "leave --target out",
        "ill.toml wards.parquet --family binomial": "leave --family out",
        "ill.toml": "which rows was the model fitted on?",
    }.items():
        answer = wards.run(f"seepage measure {given}")
        assert answer.code == 2
        assert said in " ".join(answer.err.replace("│", "").split())


def test_without_a_scale_the_noise_is_the_least_that_keeps_the_policy(wards: Terminal) -> None:
    (wards.folder / "least.toml").write_text("[error_floor]\nage = 2.0\n")
    ask = "seepage publish ill.toml wards.parquet --categories ward=east,north,south"
    least = wards.run(f"{ask} --policy least.toml --out least-noise.toml")
    assert least.code == 0, least.text
    said = json.loads((wards.folder / "least-noise.certificate.json").read_text())
    assert "shape" in said["noise"]
    assert f"and shape {said['noise']['shape']!r}" in (wards.folder / "least-noise.toml").read_text()
    assert "standard errors of a coefficient: intervals that include it are" in " ".join(least.out.split())
    # Neither the certificate nor the model says what only the owner may know.
    assert "standard errors of a coefficient" not in json.dumps(said)
    refused = wards.run(f"{ask} --without-policy --out nothing.toml")
    assert refused.code == 2
    assert "how much noise will the published coefficients carry?" in " ".join(refused.err.replace("│", "").split())


def test_a_text_that_is_missing_in_a_csv_is_missing(wards: Terminal) -> None:
    rows = pd.read_parquet(wards.folder / "wards.parquet")
    rows.loc[::7, "ward"] = None
    rows.loc[1::9, "age"] = np.nan
    rows.to_parquet(wards.folder / "gaps.parquet")
    rows.to_csv(wards.folder / "gaps.csv", index=False)
    # As write.csv of R writes them.
    rows.to_csv(wards.folder / "gaps-of-r.csv", index=False, na_rep="NA")
    found = []
    for name in ("gaps.parquet", "gaps.csv", "gaps-of-r.csv"):
        answer = wards.run(f'seepage measure --formula "ill ~ age + ward" --family binomial {name} -n 0.1')
        assert answer.code == 0, answer.text
        found.append(answer.out)
    assert found[0] == found[1] == found[2]
    assert "rows have a missing value" in " ".join(found[0].split())
