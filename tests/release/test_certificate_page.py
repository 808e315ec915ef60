"""The page of a certificate, and its text: what they are about, for somebody who has nothing else."""

import hashlib
import html
import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE, Checker
from matplotlib import pyplot
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import seepage
from seepage.release import Certificate

RANDOM = np.random.default_rng(11)
COUNT = 400
DECISION = {"policy": "Release of models", "version": "3.1", "approver": "Data access committee", "date": "2026-11-12"}
POLICY = {"error_floor": {"age": 5.0}}


def people() -> pd.DataFrame:
    # Values that nobody has by chance, to look for afterward.
    age = 40 + 10 * RANDOM.normal(size=COUNT)
    return pd.DataFrame({"age": age, "ward": RANDOM.integers(1, 4, COUNT)})


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A folder with a release of a pipeline, its rows, and what was measured."""
    folder, rows = tmp_path_factory.mktemp("page"), people()
    ill = pd.Series(np.where(rows["age"] + 5 * RANDOM.normal(size=COUNT) > 42, "ill", "well"), name="diagnosis")
    wards = OneHotEncoder(categories=[[1, 2, 3]], drop="first")
    columns = make_column_transformer((StandardScaler(), ["age"]), (wards, ["ward"]))
    model = make_pipeline(columns, LogisticRegression(tol=1e-10, max_iter=1000)).fit(rows, ill)
    publication = seepage.publish(
        model, rows, ill, noise_scale=0.5, accept=POLICY, classes=["ill", "well"], decision=DECISION
    )
    publication.write(folder / "model.skops")
    leak = seepage.measure(model, rows, ill, noise_scale=0.5)
    return folder, rows, leak


@pytest.fixture(scope="module")
def certificate(release) -> Certificate:
    return Certificate.read(release[0] / "model.certificate.json")


def terms(page: str) -> dict[str, str]:
    """Return the terms of a page, and what stands beside each."""
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page, re.DOTALL)
    return {html.unescape(term): html.unescape(text) for term, text in found}


def test_the_page_says_what_the_file_says(release, certificate):
    written = json.loads((release[0] / "model.certificate.json").read_text())
    page = certificate.html()
    shown = terms(page)
    assert "<h1>Certificate of a logistic regression</h1>" in page
    assert shown["Model"] == f"LogisticRegression, {written['published']['count']} parameters"
    assert shown["Predicts"] == "diagnosis (private)"
    assert shown["Parameters"] == "age, ward = 1, ward = 2, ward = 3, intercept"
    assert shown["Fitted on"] == "400 people"
    assert shown["Private"] == ", ".join(written["private"]["attributes"])
    assert shown["Noise"] == "Gaussian, scale 0.5 (OpenDP make_gaussian)"
    assert shown["Published"].replace(" UTC", "Z").replace(" ", "T") == written["created"]
    text = " ".join(Checker(page).text)
    for sentence in (*written["targets"], *written["qualifications"], *written["assumptions"]):
        assert sentence in text
    assert certificate.left_open() in text
    assert "Approved by Data access committee on 2026-11-12, under Release of models, version 3.1." in text


def test_files_are_named_by_the_hashes_that_everybody_can_compute(release, certificate):
    folder, _, _ = release
    shown = terms(certificate.html())
    for term, name in {"Model file": "model.skops", "Certificate": "model.certificate.json"}.items():
        assert shown[term] == f"SHA-256 {hashlib.sha256((folder / name).read_bytes()).hexdigest()}"


def test_the_policy_is_named_with_its_version_and_the_same_fingerprint_as_in_the_report(release, certificate):
    _, _, leak = release
    named = terms(certificate.html())["Policy"]
    assert named.startswith("Release of models, version 3.1;")
    report = seepage.Report.of(leak, "publishable", policy=POLICY, certificate=certificate)
    shown = terms(report.html())
    targets = {"error_floor": {"age": 5.0}, "eta": None, "quantile": 1.0, "success_rate": {}}
    digits = hashlib.sha256(json.dumps(targets, separators=(",", ":")).encode()).hexdigest()
    assert shown["Fingerprint of the policy's targets"].replace(" ", "") == digits[:32]
    assert named.endswith(shown["Fingerprint of the policy's targets"])
    other = seepage.Report.of(leak, "publishable", policy={"error_floor": {"age": 4.0}})
    assert not named.endswith(terms(other.html())["Fingerprint of the policy's targets"])


@pytest.mark.parametrize("edition", ["internal", "publishable"])
def test_a_report_names_the_certificate_and_what_the_model_predicts(release, certificate, edition, tmp_path):
    folder, _, leak = release
    report = seepage.Report.of(leak, edition, policy=POLICY, certificate=certificate)
    digits = hashlib.sha256((folder / "model.certificate.json").read_bytes()).hexdigest()
    assert terms(report.html())["Certificate of this release"] == f"SHA-256 {digits}"
    assert terms(report.html())["The model predicts"] == "diagnosis"
    report.write_json(tmp_path / "report.json")
    assert seepage.Report.read(tmp_path / "report.json").document == report.document
    without = seepage.Report.of(leak, edition, policy=POLICY)
    assert "Certificate of this release" not in terms(without.html())


def test_no_value_of_anybody_and_no_name_of_a_step_is_on_the_page(release, certificate):
    _, rows, leak = release
    page = certificate.html()
    numbers = {f"{value:.4g}" for value in rows["age"]} | {f"{value:.4g}" for value in leak.examples["eta"]}
    words = set(re.findall(r"[0-9]+\.[0-9]+", " ".join(Checker(page).text)))
    assert not words & numbers
    assert "columntransformer" not in page
    assert "Sigma" not in page


def test_the_page_needs_nothing_from_outside(certificate):
    page = certificate.html()
    assert Checker(page)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=|url\(|@import|https?:", page)
    assert 'name="viewport" content="width=device-width' in page


def test_a_public_outcome_and_an_unnamed_policy_are_named_too():
    rows = people()
    dose = pd.Series(rows["age"] + RANDOM.normal(size=COUNT), name="dose")
    found = seepage.publish(Ridge().fit(rows, dose), rows, dose, noise_scale=5.0, accept=POLICY, public_label=True)
    facts = found.certificate.facts()
    assert found.certificate.title == "Certificate of a ridge regression"
    assert facts["predicts"] == "dose (public)"
    assert facts["policy"].startswith("not named; its targets have the fingerprint ")
    assert facts["model file"].startswith("not named")


def test_names_from_the_data_are_shown_and_never_obeyed():
    X = pd.DataFrame(RANDOM.normal(size=(COUNT, len(HOSTILE))), columns=HOSTILE)
    y = pd.Series(X.sum(axis=1) + RANDOM.normal(size=COUNT), name=HOSTILE[0] + "y")
    page = seepage.publish(Ridge().fit(X, y), X, y, noise_scale=1.0, accept=None).certificate.html()
    assert "<script>alert(1)</script>" in " ".join(Checker(page).text)
    assert "<script" not in page
    assert not {"\u202e", "\x00", "\x1b", "\ud800"} & set(page)


@pytest.mark.browser
def test_nothing_stands_out_of_the_screen_of_a_phone(certificate, tmp_path):
    long = "a_column_whose_name_has_no_place_to_break_" * 3
    certificate = replace(certificate, private={**certificate.private, "attributes": [long, "age"]})
    page = tmp_path / "page.html"
    certificate.write_html(page)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    subprocess.run(
        [browser, *options, "--window-size=360,3600", f"--screenshot={tmp_path / 'page.png'}", page.as_uri()],
        check=True,
        capture_output=True,
    )
    ink = np.abs(pyplot.imread(tmp_path / "page.png")[..., :3] - 1).max(axis=2) > 0.1
    assert ink.shape[1] == 360
    assert ink[:, 180:].any()
    # The margin on the right is empty, all the way down.
    assert not ink[:, -8:].any()
