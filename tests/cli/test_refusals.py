"""Whatever a new user gets wrong is answered on one screen, with the way out, and without a traceback."""

import pickle
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

from cli.terminal import Answer, Terminal


@pytest.fixture(scope="module")
def folder(terminal: Terminal) -> Path:
    """What goes wrong, in files."""
    folder = terminal.folder
    people = pd.read_csv(folder / "people.csv")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    holes = people.copy()
    holes.loc[17, "bmi"] = np.nan
    holes.to_csv(folder / "holes.csv", index=False)
    unlabeled = people.copy()
    unlabeled.loc[3, "progression"] = np.nan
    unlabeled.to_csv(folder / "unlabeled.csv", index=False)
    people.assign(bmi=people["bmi"].map(lambda value: f"{value} kg")).to_csv(folder / "text.csv", index=False)
    people.iloc[:300].to_csv(folder / "others.csv", index=False)
    people.drop(columns="bmi").to_csv(folder / "narrow.csv", index=False)
    people.iloc[:0].to_csv(folder / "nobody.csv", index=False)
    (folder / "ragged.csv").write_text("age,bmi\n1,2\n3\n")
    (folder / "broken.parquet").write_bytes((folder / "people.parquet").read_bytes()[:4000])
    (folder / "sheet.xlsx").write_bytes(b"PK")
    wide = pd.DataFrame(np.zeros((3, 3000)), columns=[f"a rather long name of column {i}" for i in range(3000)])
    wide.to_csv(folder / "wide.csv", index=False)
    exact = Ridge(alpha=1.0).fit(X, y)
    skops.io.dump(LogisticRegression().fit(X[["age", "bmi"]], (y > 140).astype(int)), folder / "ill.skops")
    (folder / "coefficients.csv").write_text("term,estimate\nage,0.1\n")
    (folder / "logistic.toml").write_text('family = "logistic"\nformula = "ill ~ age"\n')
    (folder / "published.certificate.json").write_text('{"schema": "urn:seepage:certificate:5"}')
    (folder / "published.skops").write_bytes(b"PK")
    (folder / "model.pkl").write_bytes(pickle.dumps(exact))
    joblib.dump(exact, folder / "model.joblib")
    skops.io.dump(RandomForestRegressor(3).fit(X, y), folder / "forest.skops")
    skops.io.dump(Ridge(), folder / "unfitted.skops")
    skops.io.dump({"not": "a model"}, folder / "mapping.skops")
    ranks = make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=9), Ridge()).fit(X, y)
    skops.io.dump(ranks, folder / "ranks.skops")
    skops.io.dump(make_pipeline(FunctionTransformer(joblib.hash), Ridge()), folder / "unknown.skops")
    (folder / "half.skops").write_bytes((folder / "model.skops").read_bytes()[:3000])
    text = (folder / "people.csv").read_text()
    (folder / "latin_names.csv").write_bytes(text.replace("age", "âge", 1).encode("latin-1"))
    (folder / "latin_values.csv").write_bytes(text.replace("P0017", "Pé17").encode("latin-1"))
    table = pa.Table.from_pandas(people)
    pq.write_table(table.append_column("visits", pa.array([[1, 2]] * 442)), folder / "lists.parquet")
    nested = table.set_column(0, "age", pa.array([{"years": age} for age in people["age"]]))
    pq.write_table(nested, folder / "structs.parquet")
    pq.write_table(table.set_column(0, "age", pa.array([b"x"] * 442)), folder / "bytes.parquet")
    (folder / "unlike").mkdir(exist_ok=True)
    pq.write_table(table, folder / "unlike" / "a.parquet")
    words = table.set_column(0, "age", pa.array([str(age) for age in people["age"]]))
    pq.write_table(words, folder / "unlike" / "b.parquet")
    for name, depth in (("deep", 100_000), ("deeper_than_models", 300)):
        with zipfile.ZipFile(folder / f"{name}.skops", "w") as archive:
            archive.writestr("schema.json", '{"__class__": "Ridge", "content": ' + "[" * depth + "]" * depth + "}")
    (folder / "report.json").write_text('{"schema": "urn:seepage:document:1"}')
    (folder / "certificate.json").write_text('{"schema": "urn:seepage:certificate:5", "people": "many"}')
    (folder / "latin.json").write_bytes(b'{"schema": "\xe9"}')
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "deep.toml").write_text("a = " + "[" * 20_000)
    (folder / "long.toml").write_text(f"eta = {'1' * 5_000}\n")
    (folder / "large.toml").write_text(f"[error_floor]\nage = {'1' * 400}\n")
    (folder / "latin.toml").write_bytes(b"[error_floor]\n\xe9 = 5\n")
    (folder / "typo.toml").write_text("[error_flor]\nage = 5\n")
    (folder / "word.toml").write_text('[error_floor]\nage = "five"\n')
    (folder / "flat.toml").write_text("error_floor = 5\n")
    (folder / "empty.toml").write_text("quantile = 0.9\n")
    (folder / "odd.toml").write_text("this is = not = toml\n")
    (folder / "stranger.toml").write_text("[error_floor]\nincome = 5\n")
    (folder / "rates.toml").write_text("[success_rate]\nage = 0.6\n")
    return folder


MODEL, DATA = "model.skops", "people.csv"


def measured(model: str = MODEL, rows: str = DATA, more: str = "") -> str:
    return f"measure {model} {rows} -t progression -n 1 {more}".strip()


def checked(policy: str, more: str = "") -> str:
    return f"check {MODEL} {DATA} -t progression -n 1 --policy {policy}.toml {more}".strip()


CASES = {
    "no model file": (measured("nope.skops"), ["no file nope.skops", "skops.io.dump"]),
    "a pickle": (measured("model.pkl"), ["is a pickle", "skops.io.dump", "--formula and --family"]),
    "a joblib file": (measured("model.joblib"), ["is a pickle", "skops.io.dump"]),
    "rows for a model": (measured(DATA), ["the model comes first", "--formula"]),
    "model and rows swapped": (measured(DATA, MODEL), ["the model comes first", "skops"]),
    "half a model": (measured("half.skops"), ["half.skops", "skops.io.dump"]),
    "a forest that is not trusted": (measured("forest.skops"), ["--trust sklearn.tree._tree.Tree"]),
    "noise on a forest": (
        measured("forest.skops", more="--trust sklearn.tree._tree.Tree"),
        ["--noise is not supported for trees", "seepage measure forest.skops people.csv --target progression"],
    ),
    "a mapping": (measured("mapping.skops"), ["dict", "Ridge"]),
    "not fitted": (measured("unfitted.skops"), ["not fitted yet"]),
    "a step without a derivative": (measured("ranks.skops"), ["QuantileTransformer"]),
    "an unknown type": (measured("unknown.skops"), ["joblib.hashing.hash", "--trust"]),
    "a survival model without a status": (
        measured(more="--time age").replace("-t progression ", ""),
        ["--time COLUMN and --status COLUMN"],
    ),
    "a time and a target": (measured(more="--time age --status sex"), ["leave --target out"]),
    "no data file": (measured(rows="nope.csv"), ["no file nope.csv"]),
    "no match": (measured(rows="'nope/*.parquet'"), ["No file matches"]),
    "a spreadsheet": (measured(rows="sheet.xlsx"), ["no format", "Parquet"]),
    "broken Parquet": (measured(rows="broken.parquet"), ["cannot be read as Parquet"]),
    "ragged CSV": ("measure model.skops ragged.csv -t age -n 1", ["cannot be read as CSV", "2 columns"]),
    "nobody": (measured(rows="nobody.csv"), ["no rows"]),
    "wrong target": ("measure model.skops people.csv -t progresion -n 1", ["Did you mean 'progression'?"]),
    "wrong target among many": ("measure model.skops wide.csv -t outcome -n 1", ["2,988 more"]),
    "wrong ids": (measured(more="--ids patients"), ["Did you mean 'patient'?"]),
    "wrong groups": (measured(more="--groups gender"), ["--groups is 'gender'"]),
    "wrong private column": (measured(more="-p Age"), ["Did you mean 'age'?"]),
    "private and public label": (measured(more="-p age,progression --public-label"), ["cannot be private and known"]),
    "a column too few": (measured(rows="narrow.csv"), ["column 'bmi'", "does not have"]),
    "a missing value": (measured(rows="holes.csv"), ["NaN", "row 17", "'bmi'", "Drop or fill"]),
    "a missing label": (measured(rows="unlabeled.csv"), ["y has a missing value", "row 3"]),
    "text for numbers": (measured(rows="text.csv"), ["in row", "is no number", "leave the row out"]),
    "no ledger": ("ledger show nobooks --key people.csv", ["no ledger at nobooks", "seepage ledger create nobooks"]),
    "other data": (measured(rows="others.csv"), ["not the minimizer", "other rows"]),
    "no noise": ("measure model.skops people.csv -t progression -n 0", ["infinite information"]),
    "groups of people without noise": (
        "measure model.skops people.csv -t progression --groups sex",
        ["--groups", "nothing is bounded", "--noise"],
    ),
    "coefficients in CSV": (
        "measure coefficients.csv people.csv -n 1",
        ["is a formula: --formula, or in TOML", "numbers ="],
    ),
    "another column of a classifier": (
        "measure ill.skops people.csv -t age -n 1",
        ["--target is 'age'", "holds 59", "tells apart: 0, 1"],
    ),
    "another column of a regression": (
        "measure model.skops people.csv -t bp -n 1",
        ["(--target)", "already carries noise"],
    ),
    "a family by another name": ("measure logistic.toml people.csv -n 1", ["Did you mean 'binomial'?"]),
    "certificate and file swapped": (
        "certify published.certificate.json published.skops",
        ["published.certificate.json is the certificate", "seepage certify published.skops"],
    ),
    "noise in words": ("measure model.skops people.csv -t progression -n some", ["'some'"]),
    "no such command": ("mesure model.skops people.csv", ["measure"]),
    "no such option": (measured(more="--privat age"), ["--private"]),
    "no policy file": (checked("nope"), ["no policy file", "[error_floor]"]),
    "odd policy": (checked("odd"), ["not TOML", "[error_floor]"]),
    "empty policy": (checked("empty"), ["no target"]),
    "misspelled policy": (checked("typo"), ["Did you mean 'error_floor'?"]),
    "a word in a policy": (checked("word"), ["must be a number"]),
    "a policy without column": (checked("flat"), ["[error_floor]"]),
    "a policy about others": (checked("stranger"), ["'income'"]),
    "a rate of a number": (checked("rates"), ["'age' is a number"]),
    "no folder to write to": (measured(more="--report no/where.html"), ["no folder no"]),
    "a format without a place": (checked("policy", "-o out.json"), ["--format"]),
    "a rate of streamed rows": (
        "check model.skops parts -t progression -n 1 --policy rates.toml --stream",
        ["The success rate of 'age'", "--in-memory"],
    ),
    "people of a publishable report": (
        measured(more="--edition publishable --people p.parquet"),
        ["nothing about single people"],
    ),
    "groups of a publishable report": (
        measured(more="--edition publishable --groups sex"),
        ["verdicts, and compares nobody"],
    ),
    "names that are not UTF-8": (measured(rows="latin_names.csv"), ["Save it as UTF-8"]),
    "values that are not UTF-8": (measured(rows="latin_values.csv", more="--ids patient"), ["'patient'", "as UTF-8"]),
    "lists": (measured(rows="lists.parquet", more="--groups visits"), ["'visits'", "list<element: int64>"]),
    "structs": (measured(rows="structs.parquet"), ["'age'", "a column of its own"]),
    "streamed structs": (measured(rows="structs.parquet", more="--stream"), ["'age'", "struct<years"]),
    "bytes": (measured(rows="bytes.parquet"), ["'age'", "holds bytes"]),
    "files that differ in a type": (measured(rows="unlike"), ["'age' holds", "the same type"]),
    "a deep model": (measured("deep.skops"), ["nested more than 200 levels"]),
    "another deep model": (measured("deeper_than_models.skops"), ["more than 200 levels"]),
    "an incomplete report": ("show report.json", ["is no report", "must have the entry"]),
    "an incomplete certificate": ("show certificate.json", ["is no certificate", "'created' is missing"]),
    "a document that is not UTF-8": ("show latin.json", ["not JSON"]),
    "a deep document": ("show deep.json", ["nested too deeply"]),
    "a deep policy": (checked("deep"), ["is not TOML"]),
    "a policy of 5,000 digits": (checked("long"), ["larger than 10^308"]),
    "a policy of 400 digits": (checked("large"), ["larger than 10^308"]),
    "a policy that is not UTF-8": (checked("latin"), ["not saved as UTF-8"]),
    "a folder for a policy": ("check model.skops people.csv -t progression -n 1 --policy parts", ["Is a directory"]),
    "no certificate": ("certify model.skops people.csv", ["is no certificate"]),
    "no file to certify": ("certify nope.skops report.json", ["has the schema 'urn:seepage:document:1'"]),
    "streamed text": (measured(more="--stream"), ["only Parquet"]),
    "no such quantity": ("explain etta", ["Did you mean 'eta'?"]),
    "not a document": ("show people.csv", ["not JSON"]),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("case", CASES)
def test_one_screen_says_what_is_wrong_and_what_to_do(terminal: Terminal, case: str) -> None:
    command, words = CASES[case]
    answer = terminal.run(f"seepage {command}")
    assert answer.code == 2
    assert answer.out == ""
    _check_screen(answer)
    for word in words:
        assert word in _plain(answer), answer.err


def _check_screen(answer: Answer) -> None:
    assert "Traceback" not in answer.text
    assert "Unforeseen" not in answer.text
    assert len(answer.text.splitlines()) < 24
    assert max(map(len, answer.text.splitlines())) <= 80


def _plain(answer: Answer) -> str:
    """Return what an error says, without its frame and its line breaks."""
    return " ".join(answer.err.replace("│", " ").split())


@pytest.mark.usefixtures("folder")
def test_a_type_that_is_vouched_for_is_read(terminal: Terminal) -> None:
    answer = terminal.run(f"seepage measure unknown.skops {DATA} -t progression -n 1 --trust joblib.hashing.hash")
    assert answer.code == 2
    assert "not fitted yet" in _plain(answer)


@pytest.mark.usefixtures("folder")
def test_rows_that_a_step_of_the_model_will_not_take_are_named(terminal: Terminal) -> None:
    people = pd.read_csv(terminal.folder / DATA)
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    step = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    columns = ["sex", "age", "bmi"]
    skops.io.dump(make_pipeline(step, Ridge()).fit(people[columns], people["progression"]), terminal.folder / "c.skops")
    people.assign(sex=3.0).to_csv(terminal.folder / "third.csv", index=False)
    answer = terminal.run("seepage measure c.skops third.csv -t progression -n 1")
    assert answer.code == 2
    assert "Traceback" not in answer.text
    assert len(answer.text.splitlines()) < 24
    assert "unknown categories" in _plain(answer)
    assert "cannot be applied to the rows of third.csv" in _plain(answer)
