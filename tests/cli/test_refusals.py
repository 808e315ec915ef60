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
    (folder / "logistic.toml").write_text('family = "logistic"\noutcome = "ill"\n[coefficients]\nage = 1.0\n')
    (folder / "published.certificate.json").write_text('{"schema": "urn:seepage:certificate:4"}')
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
    (folder / "report.json").write_text('{"schema": "urn:seepage:report:5"}')
    (folder / "certificate.json").write_text('{"schema": "urn:seepage:certificate:4", "people": "many"}')
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
CASES = {
    "no model file": (f"measure nope.skops {DATA} -t progression -n 1", ["no file nope.skops", "skops.io.dump"]),
    "a pickle": (
        f"measure model.pkl {DATA} -t progression -n 1",
        ["is a pickle", "skops.io.dump", "ModelTable.of(results)"],
    ),
    "a joblib file": (f"measure model.joblib {DATA} -t progression -n 1", ["is a pickle", "skops.io.dump"]),
    "rows for a model": (f"measure {DATA} {DATA} -t progression -n 1", ["the model comes first", "--formula"]),
    "model and rows swapped": (f"measure {DATA} {MODEL} -t progression -n 1", ["the model comes first", "skops"]),
    "half a model": (f"measure half.skops {DATA} -t progression -n 1", ["half.skops", "skops.io.dump"]),
    "a forest": (f"measure forest.skops {DATA} -t progression -n 1", ["RandomForestRegressor", "Ridge"]),
    "a mapping": (f"measure mapping.skops {DATA} -t progression -n 1", ["dict", "Ridge"]),
    "not fitted": (f"measure unfitted.skops {DATA} -t progression -n 1", ["not fitted yet"]),
    "a step without a derivative": (f"measure ranks.skops {DATA} -t progression -n 1", ["QuantileTransformer"]),
    "an unknown type": (f"measure unknown.skops {DATA} -t progression -n 1", ["joblib.hashing.hash", "--trust"]),
    "no data file": (f"measure {MODEL} nope.csv -t progression -n 1", ["no file nope.csv"]),
    "no match": (f"measure {MODEL} 'nope/*.parquet' -t progression -n 1", ["No file matches"]),
    "a spreadsheet": (f"measure {MODEL} sheet.xlsx -t progression -n 1", ["no format", "Parquet"]),
    "broken Parquet": (f"measure {MODEL} broken.parquet -t progression -n 1", ["cannot be read as Parquet"]),
    "ragged CSV": (f"measure {MODEL} ragged.csv -t age -n 1", ["cannot be read as CSV", "2 columns"]),
    "nobody": (f"measure {MODEL} nobody.csv -t progression -n 1", ["no rows"]),
    "wrong target": (f"measure {MODEL} {DATA} -t progresion -n 1", ["Did you mean 'progression'?"]),
    "wrong target among many": (f"measure {MODEL} wide.csv -t outcome -n 1", ["2,988 more"]),
    "wrong ids": (f"measure {MODEL} {DATA} -t progression -n 1 --ids patients", ["Did you mean 'patient'?"]),
    "wrong groups": (f"measure {MODEL} {DATA} -t progression -n 1 --groups gender", ["--groups is 'gender'"]),
    "wrong private column": (f"measure {MODEL} {DATA} -t progression -n 1 -p Age", ["Did you mean 'age'?"]),
    "private and public label": (
        f"measure {MODEL} {DATA} -t progression -n 1 -p age,progression --public-label",
        ["cannot be private and known"],
    ),
    "a column too few": (f"measure {MODEL} narrow.csv -t progression -n 1", ["column 'bmi'", "does not have"]),
    "a missing value": (f"measure {MODEL} holes.csv -t progression -n 1", ["NaN", "row 17", "'bmi'", "Drop or fill"]),
    "a missing label": (f"measure {MODEL} unlabeled.csv -t progression -n 1", ["y has a missing value", "row 3"]),
    "text for numbers": (f"measure {MODEL} text.csv -t progression -n 1", ["not numbers", "Pipeline"]),
    "other data": (f"measure {MODEL} others.csv -t progression -n 1", ["not the minimizer", "other rows"]),
    "no noise": (f"measure {MODEL} {DATA} -t progression -n 0", ["infinite information"]),
    "groups of people without noise": (
        f"measure {MODEL} {DATA} -t progression --groups sex",
        ["--groups", "nothing is bounded", "--noise"],
    ),
    "coefficients in CSV": (f"measure coefficients.csv {DATA} -n 1", ["as R and Stata print them", "--family"]),
    "another column of a classifier": (
        f"measure ill.skops {DATA} -t age -n 1",
        ["--target is 'age'", "holds 59", "tells apart: 0, 1"],
    ),
    "another column of a regression": (f"measure {MODEL} {DATA} -t bp -n 1", ["(--target)", "already carries noise"]),
    "a family by another name": (f"measure logistic.toml {DATA} -n 1", ["Did you mean 'binomial'?"]),
    "certificate and file swapped": (
        "certify published.certificate.json published.skops",
        ["published.certificate.json is the certificate", "seepage certify published.skops"],
    ),
    "noise in words": (f"measure {MODEL} {DATA} -t progression -n some", ["'some'"]),
    "no such command": (f"mesure {MODEL} {DATA}", ["measure"]),
    "no such option": (f"measure {MODEL} {DATA} -t progression -n 1 --privat age", ["--private"]),
    "no policy file": (
        f"check {MODEL} {DATA} -t progression -n 1 --policy nope.toml",
        ["no policy file", "[error_floor]"],
    ),
    "odd policy": (f"check {MODEL} {DATA} -t progression -n 1 --policy odd.toml", ["not TOML", "[error_floor]"]),
    "empty policy": (f"check {MODEL} {DATA} -t progression -n 1 --policy empty.toml", ["no target"]),
    "misspelled policy": (
        f"check {MODEL} {DATA} -t progression -n 1 --policy typo.toml",
        ["Did you mean 'error_floor'?"],
    ),
    "a word in a policy": (f"check {MODEL} {DATA} -t progression -n 1 --policy word.toml", ["must be a number"]),
    "a policy without column": (f"check {MODEL} {DATA} -t progression -n 1 --policy flat.toml", ["[error_floor]"]),
    "a policy about others": (f"check {MODEL} {DATA} -t progression -n 1 --policy stranger.toml", ["'income'"]),
    "a rate of a number": (f"check {MODEL} {DATA} -t progression -n 1 --policy rates.toml", ["'age' is a number"]),
    "no folder to write to": (f"measure {MODEL} {DATA} -t progression -n 1 --report no/where.html", ["no folder no"]),
    "a format without a place": (
        f"check {MODEL} {DATA} -t progression -n 1 --policy policy.toml -o out.json",
        ["--format"],
    ),
    "a rate of streamed rows": (
        f"check {MODEL} parts -t progression -n 1 --policy rates.toml --stream",
        ["'age' is a number", "error_floor()"],
    ),
    "people of a publishable report": (
        f"measure {MODEL} {DATA} -t progression -n 1 --edition publishable --people p.parquet",
        ["nothing about single people"],
    ),
    "groups of a publishable report": (
        f"measure {MODEL} {DATA} -t progression -n 1 --edition publishable --groups sex",
        ["verdicts, and compares nobody"],
    ),
    "names that are not UTF-8": (f"measure {MODEL} latin_names.csv -t progression -n 1", ["Save it as UTF-8"]),
    "values that are not UTF-8": (
        f"measure {MODEL} latin_values.csv -t progression -n 1 --ids patient",
        ["'patient'", "as UTF-8"],
    ),
    "lists": (
        f"measure {MODEL} lists.parquet -t progression -n 1 --groups visits",
        ["'visits'", "list<element: int64>"],
    ),
    "structs": (f"measure {MODEL} structs.parquet -t progression -n 1", ["'age'", "a column of its own"]),
    "streamed structs": (f"measure {MODEL} structs.parquet -t progression -n 1 --stream", ["'age'", "struct<years"]),
    "bytes": (f"measure {MODEL} bytes.parquet -t progression -n 1", ["'age'", "holds bytes"]),
    "files that differ in a type": (f"measure {MODEL} unlike -t progression -n 1", ["'age' holds", "the same type"]),
    "a deep model": (f"measure deep.skops {DATA} -t progression -n 1", ["nested more than 200 levels"]),
    "another deep model": (f"measure deeper_than_models.skops {DATA} -t progression -n 1", ["more than 200 levels"]),
    "an incomplete report": ("show report.json", ["is no report", "must have the entry"]),
    "an incomplete certificate": ("show certificate.json", ["is no certificate", "'created' is missing"]),
    "a document that is not UTF-8": ("show latin.json", ["not JSON"]),
    "a deep document": ("show deep.json", ["nested too deeply"]),
    "a deep policy": (f"check {MODEL} {DATA} -t progression -n 1 --policy deep.toml", ["is not TOML"]),
    "a policy of 5,000 digits": (
        f"check {MODEL} {DATA} -t progression -n 1 --policy long.toml",
        ["larger than 10^308"],
    ),
    "a policy of 400 digits": (f"check {MODEL} {DATA} -t progression -n 1 --policy large.toml", ["larger than 10^308"]),
    "a policy that is not UTF-8": (f"check {MODEL} {DATA} -t progression -n 1 --policy latin.toml", ["is not TOML"]),
    "a folder for a policy": (f"check {MODEL} {DATA} -t progression -n 1 --policy parts", ["Is a directory"]),
    "no certificate": (f"certify {MODEL} {DATA}", ["is no certificate"]),
    "no file to certify": ("certify nope.skops report.json", ["has the schema 'urn:seepage:report:5'"]),
    "streamed text": (f"measure {MODEL} {DATA} -t progression -n 1 --stream", ["only Parquet"]),
    "no such quantity": ("explain etta", ["Did you mean 'eta'?"]),
    "not a document": (f"show {DATA}", ["not JSON"]),
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
