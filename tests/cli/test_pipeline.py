"""The pipeline of a textbook, with gaps in its rows, from a file of Parquet to a published model."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from cli.terminal import Terminal

NUMBERS, WORDS = ["age", "hours"], ["work", "sex"]
ASKED = "pipeline.skops bank.parquet --target income"
STATED = (
    "--classes high,low --public-preprocessing columns.numbers.simpleimputer "
    "--public-preprocessing columns.words.simpleimputer --public-preprocessing columns.words.onehotencoder"
)


def fitted(people: pd.DataFrame, numbers: SimpleImputer, words: SimpleImputer) -> Pipeline:
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(numbers, StandardScaler()), NUMBERS),
            ("words", make_pipeline(words, OneHotEncoder(handle_unknown="ignore")), WORDS),
        ]
    )
    model = Pipeline([("columns", columns), ("model", LogisticRegression(tol=1e-8, max_iter=1000))])
    return model.fit(people[[*NUMBERS, *WORDS]], people["income"])


def medians_and_modes(**words: object) -> tuple[SimpleImputer, SimpleImputer]:
    return SimpleImputer(strategy="median"), SimpleImputer(strategy="most_frequent", **words)


def text_with_none(people: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as libraries have them whose text lacks a value as None."""
    found = people.copy()
    for name in WORDS:
        cells = [None if pd.isna(value) else value for value in people[name]]
        found[name] = pd.Series(cells, dtype=object)
    return found


@pytest.fixture(scope="module")
def people(terminal: Terminal) -> pd.DataFrame:
    random = np.random.default_rng(5)
    size = 600
    rows = pd.DataFrame(
        {
            "age": random.uniform(20, 70, size).round(),
            "hours": random.normal(40, 8, size).round(),
            "work": random.choice(["private", "public", "own"], size, p=[0.6, 0.3, 0.1]),
            "sex": random.choice(["f", "m"], size),
        }
    )
    margin = 0.05 * (rows["age"] - 45) + 0.5 * (rows["work"] == "own")
    rows["income"] = np.where(random.uniform(size=size) < 1 / (1 + np.exp(-margin)), "high", "low")
    rows.loc[random.uniform(size=size) < 0.1, "age"] = np.nan
    rows.loc[random.uniform(size=size) < 0.1, "work"] = None
    rows.to_parquet(terminal.folder / "bank.parquet")
    rows = pd.read_parquet(terminal.folder / "bank.parquet")
    skops.io.dump(fitted(rows, *medians_and_modes()), terminal.folder / "pipeline.skops")
    (terminal.folder / "bank.toml").write_text("[error_floor]\nage = 5\n")
    return rows


def words_of(answer: str) -> str:
    """Return what was printed as one line, without frames."""
    return " ".join(answer.replace("│", " ").split())


def test_five_commands_publish_it(terminal: Terminal, people: pd.DataFrame) -> None:
    measured = terminal.run(f"seepage measure {ASKED} --noise 0.1")
    assert (
        "Taken as public, though nobody stated it, and not part of what is measured: the medians that fill in age; "
        in (words_of(measured.text))
    )
    assert "the most frequent values that fill in work; which levels there are of work, sex." in words_of(measured.text)
    assert terminal.run(f"seepage calibrate {ASKED} --policy bank.toml").code == 0
    published = terminal.run(f"seepage publish {ASKED} --policy bank.toml {STATED} --out bank.skops")
    assert published.code == 0, published.text
    shown = words_of(terminal.run("seepage show bank.certificate.json").text)
    for what in (
        "The medians that fill in age, hours",
        "The most frequent values that fill in work, sex",
        "Which levels there are of work, sex",
    ):
        assert f"{what}: declared. Public, says whoever published this, and not part of what is measured." in shown
    assert "nobody stated" not in shown
    assert terminal.run("seepage certify bank.skops bank.certificate.json").code == 0


@pytest.mark.parametrize("noise", ["--noise 0.1", ""], ids=["with noise", "before noise is looked for"])
def test_medians_modes_levels_and_classes_do_not_leave_without_a_word(
    terminal: Terminal, people: pd.DataFrame, noise: str
) -> None:
    answer = terminal.run(f"seepage publish {ASKED} --policy bank.toml {noise} --out silent.skops")
    assert answer.code == 2
    said = words_of(answer.text)
    assert "4 things would be published with this model that nobody stated to be public" in said
    assert f"(on the command line, {STATED})" in said
    assert 'in Python with SimpleImputer(strategy="constant", fill_value=...)' in said
    assert "in R with factor(x, levels = c(...))" in said
    assert not (terminal.folder / "silent.skops").exists()
    assert not (terminal.folder / "silent.certificate.json").exists()


@pytest.mark.parametrize("step", ["columns.numbers.simpleimputer", "columns.words.simpleimputer"])
def test_each_of_them_is_refused_by_itself(terminal: Terminal, people: pd.DataFrame, step: str) -> None:
    stated = STATED.replace(f"--public-preprocessing {step} ", "")
    answer = terminal.run(f"seepage publish {ASKED} --noise 0.1 --without-policy {stated} --out silent.skops")
    assert answer.code == 2
    assert f"--public-preprocessing {step})" in words_of(answer.text)
    assert 'fit again: SimpleImputer(strategy="constant", fill_value=...)' in words_of(answer.text)
    assert not (terminal.folder / "silent.skops").exists()


def test_the_published_model_fills_gaps_as_the_pipeline_did(terminal: Terminal, people: pd.DataFrame) -> None:
    answer = terminal.run(f"seepage publish {ASKED} --noise 1e-5 --without-policy {STATED} --out near.skops")
    assert answer.code == 0, answer.text
    models = [
        skops.io.load(terminal.folder / name, trusted=skops.io.get_untrusted_types(file=terminal.folder / name))
        for name in ("near.skops", "pipeline.skops")
    ]
    near, exact = (model.decision_function(people[[*NUMBERS, *WORDS]]) for model in models)
    gaps = people["age"].isna() | people["work"].isna()
    assert gaps.sum() > 50
    np.testing.assert_allclose(near[gaps], exact[gaps], atol=2e-3)
    assert np.abs(near[gaps] - exact[gaps]).max() > 0.0


def test_constants_need_no_word_and_the_certificate_says_that_they_were_given(
    terminal: Terminal, people: pd.DataFrame
) -> None:
    words = SimpleImputer(strategy="constant", fill_value="private")
    model = fitted(people, SimpleImputer(strategy="constant", fill_value=40), words)
    encoder = model["columns"].named_transformers_["words"][-1]
    encoder.categories = [list(levels) for levels in encoder.categories_]
    skops.io.dump(model, terminal.folder / "constants.skops")
    asked = "constants.skops bank.parquet --target income --noise 0.1"
    answer = terminal.run(f"seepage publish {asked} --without-policy --classes high,low --out given.skops")
    assert answer.code == 0, answer.text
    certificate = json.loads((terminal.folder / "given.certificate.json").read_text())
    filled = [one for one in certificate["choices"] if one["kind"] == "filled cells"]
    assert [one["what"] for one in filled] == [
        "the values that fill in age, hours",
        "the values that fill in work, sex",
    ]
    assert not any("says whoever published this, and not part" in one["how"] for one in certificate["choices"])


@pytest.mark.parametrize("with_none", [False, True], ids=["NaN", "None"])
def test_text_that_is_missing_reaches_the_model_as_it_did_in_its_fit(
    terminal: Terminal, people: pd.DataFrame, with_none: bool
) -> None:
    rows = text_with_none(people) if with_none else people
    model = fitted(rows, *medians_and_modes(**({"missing_values": None} if with_none else {})))
    skops.io.dump(model, terminal.folder / "either.skops")
    answer = terminal.run(
        "seepage measure either.skops bank.parquet --target income --noise 0.1 --people either.parquet --force"
    )
    assert answer.code == 0, answer.text
    here = seepage.measure(model, rows[[*NUMBERS, *WORDS]], rows["income"], noise_scale=0.1)
    found = pd.read_parquet(terminal.folder / "either.parquet")["eta"].to_numpy()
    np.testing.assert_allclose(found, here.examples["eta"].to_numpy(), rtol=1e-9)


def test_a_level_for_none_is_the_same_level_in_a_file(terminal: Terminal, people: pd.DataFrame) -> None:
    # An imputer of NaN passes over None, and the encoder after it gives None a level of its own.
    rows = text_with_none(people)
    model = fitted(rows, *medians_and_modes())
    assert None in model["columns"].named_transformers_["words"][-1].categories_[0].tolist()
    skops.io.dump(model, terminal.folder / "level.skops")
    answer = terminal.run("seepage measure level.skops bank.parquet --target income --noise 0.1")
    assert answer.code == 0, answer.text


def test_a_certificate_has_a_page_with_the_facts_of_the_screen(terminal: Terminal, people: pd.DataFrame) -> None:
    asked = f"{ASKED} --noise 0.1 --policy bank.toml {STATED} --out paged.skops --report paged.html"
    assert terminal.run(f"seepage publish {asked}").code == 0
    assert terminal.run("seepage show paged.certificate.json --html page.html").text == ""
    page = (terminal.folder / "page.html").read_text()
    shown = words_of(terminal.run("seepage show paged.certificate.json").text)
    for term, text in seepage.release.Certificate.read(terminal.folder / "paged.certificate.json").facts().items():
        assert f"{term.capitalize()}: {text}" in shown
        assert f"<dt>{term.capitalize()}</dt><dd>{text}</dd>" in page
    digits = hashlib.sha256((terminal.folder / "paged.certificate.json").read_bytes()).hexdigest()
    assert f"SHA-256 {digits}" in page
    assert f"SHA-256 {digits}" in (terminal.folder / "paged.html").read_text()
    again = terminal.run("seepage show paged.certificate.json --html page.html")
    assert again.code == 2
    assert "--force" in again.text
    assert terminal.run("seepage show paged.certificate.json --html paged.certificate.json --force").code == 2
