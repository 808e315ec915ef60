"""A certificate belongs to one file, and whoever edits either is noticed."""

import hashlib
import json
import os
import pickle
import random
import struct
import subprocess
import zipfile
from contextlib import suppress
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
import skops.io
from pages import ROOT, blocks
from rocrate.rocrate import ROCrate
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import seepage
from seepage.release._certificate import SCHEMA_FILE
from seepage.release._seal import hash_of_parameters
from seepage.release._skops import SkopsFile

PAGE = ROOT / "docs" / "how-to" / "publish.md"
X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
DECISION = {
    "policy": "Release of models",
    "version": "3.1",
    "approver": "Data access committee, Dr. Søndergård",
    "date": "2026-11-12",
    "note": "Second reading.",
}
TARGETS = {"error_floor": {"age": 5.0, "bmi": 1.0}}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A folder with a release and its key."""
    folder = tmp_path_factory.mktemp("release")
    publication = seepage.publish(
        Ridge().fit(X, Y), X, Y, noise_scale=2.0, accept=TARGETS, decision=seepage.release.Decision(**DECISION)
    )
    publication.write(folder / "model.skops", key=folder / "owner.key")
    return folder


def _certified(folder, file="model.skops"):
    return seepage.certify(folder / file, folder / "model.certificate.json")


def test_a_release_is_what_its_certificate_says(release):
    found = _certified(release)
    assert found.holds
    assert found.is_file
    certificate = found.certificate
    jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text())).validate(json.loads(certificate.json()))
    assert certificate.decision == DECISION


def test_the_hashes_are_those_of_the_bytes_and_of_the_numbers(release):
    certificate = seepage.release.Certificate.read(release / "model.certificate.json")
    assert certificate.seal["file"] == hashlib.sha256((release / "model.skops").read_bytes()).hexdigest()
    model = skops.io.load(release / "model.skops")
    content = struct.pack("<q5sqq10d", 5, b"coef_", 1, 10, *model.coef_)
    content += struct.pack("<q10sqd", 10, b"intercept_", 0, model.intercept_)
    assert certificate.seal["parameters"] == hashlib.sha256(content).hexdigest()


# 1,000 edits each, of one character: replaced, left out, or put in.


def _edited(content, letters, draw):
    at, how = draw.randrange(len(content)), draw.randrange(3)
    if how == 0:
        return content[:at] + content[at + 1 :]
    letter = letters[draw.randrange(len(letters)) :][:1]
    if how == 1:
        return content[:at] + letter + content[at:]
    return content[:at] + letter + content[at + 1 :]


def _is_noticed(file, certificate):
    try:
        return not seepage.certify(file, certificate).holds
    except seepage.errors.InputError:
        return True


def test_every_edit_of_the_file_is_noticed(release, tmp_path):
    draw = random.Random(15)
    content = (release / "model.skops").read_bytes()
    letters = bytes(range(256))
    path, made = tmp_path / "edited.skops", 0
    while made < 1000:
        edited = _edited(content, letters, draw)
        if edited == content:
            continue
        made += 1
        path.write_bytes(edited)
        assert _is_noticed(path, release / "model.certificate.json")


def test_a_certificate_that_was_only_laid_out_anew_is_told_apart(release, tmp_path):
    (tmp_path / "flat.json").write_text(json.dumps(json.loads((release / "model.certificate.json").read_text())))
    found = seepage.certify(release / "model.skops", tmp_path / "flat.json")
    assert not found.holds
    assert "edited" in found.about_certificate()


SIGNING = [text for language, text in blocks(PAGE) if language == "sh" and "ssh-keygen" in text]


@pytest.mark.ssh
def test_the_lines_of_the_page_sign_a_certificate_and_notice_an_edit(release, tmp_path):
    path = tmp_path / "model.certificate.json"
    path.write_bytes((release / "model.certificate.json").read_bytes())
    sign, verify = (["bash", "-e", "-o", "pipefail", "-c", lines] for lines in SIGNING)
    subprocess.run(sign, cwd=tmp_path, check=True, capture_output=True)
    found = subprocess.run(verify, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert 'Good "seepage" signature for owner@hospital.example' in found.stdout
    path.write_text(path.read_text().replace('"scale": 2.0', '"scale": 20.0'))
    assert seepage.certify(release / "model.skops", path).holds
    assert subprocess.run(verify, cwd=tmp_path, capture_output=True).returncode != 0


def test_an_entry_that_is_there_twice_is_refused(release, tmp_path):
    text = (release / "model.certificate.json").read_text()
    (tmp_path / "twice.json").write_text(text.replace('"people": 442', '"people": 9, "people": 442'))
    with pytest.raises(seepage.errors.InputError, match="two entries 'people'"):
        seepage.release.Certificate.read(tmp_path / "twice.json")


# Which file it is.


def test_the_same_parameters_in_another_file_are_not_the_certified_file(release, tmp_path):
    model = skops.io.load(release / "model.skops")
    skops.io.dump(make_pipeline(StandardScaler().fit(X), model), tmp_path / "other.skops")
    verdict = _certified(release, tmp_path / "other.skops")
    assert (verdict.holds, verdict.is_file) == (False, False)
    assert verdict.about_file() == "This is not the certified file."


def test_a_certificate_without_a_file_never_holds(tmp_path):
    publication = seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=5.0, accept={"error_floor": {"age": 1.0}})
    publication.certificate.write(tmp_path / "certificate.json")
    skops.io.dump(make_pipeline(StandardScaler().fit(X), publication.estimator), tmp_path / "other.skops")
    with pytest.raises(seepage.errors.InputError, match="names no file"):
        seepage.certify(tmp_path / "other.skops", tmp_path / "certificate.json")
    publication.certificate.bound_to(tmp_path / "other.skops").write(tmp_path / "certificate.json")
    assert seepage.certify(tmp_path / "other.skops", tmp_path / "certificate.json").holds


def test_windows_line_ends_are_named(release, tmp_path):
    text = (release / "model.certificate.json").read_bytes()
    (tmp_path / "windows.json").write_bytes(text.replace(b"\n", b"\r\n"))
    verdict = seepage.certify(release / "model.skops", tmp_path / "windows.json")
    assert not verdict.holds
    assert "autocrlf" in verdict.about_certificate()


class _Trap:
    def __reduce__(self):
        return Path.touch, (Path("trapped"),)


def test_no_code_in_the_file_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    publication = seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=1.0, accept=None)
    Path("model.pkl").write_bytes(pickle.dumps(_Trap()))
    publication.certificate.bound_to("model.pkl").write("bound.json")
    assert seepage.certify("model.pkl", "bound.json").is_file
    with zipfile.ZipFile("trap.skops", "w") as archive:
        node = {"__class__": "touch", "__module__": "pathlib.Path", "__loader__": "ObjectNode", "content": 0}
        archive.writestr("schema.json", json.dumps(node))
    assert not seepage.certify("trap.skops", "bound.json").is_file
    assert not Path("trapped").exists()


def test_shapes_and_names_are_part_of_the_hash():
    one = np.arange(6.0)
    hashes = {
        hash_of_parameters(parameters)
        for parameters in (
            {"coef_": one},
            {"coef_": one.reshape(2, 3)},
            {"coef_": one.reshape(3, 2)},
            {"intercept_": one},
            {"coef_": one[:3], "intercept_": one[3:]},
            {"coef_": np.nextafter(one, 7)},
        )
    }
    assert len(hashes) == 6
    assert hash_of_parameters({"a": one[:2], "b": one}) == hash_of_parameters({"b": one.astype(">f8"), "a": one[:2]})


# Who decided, and what is said.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"approver": " "}, "needs its approver"),
        ({"date": "12.11.2026"}, "YEAR-MONTH-DAY"),
        ({"date": "20261112"}, "YEAR-MONTH-DAY"),
        ({"version": 3}, "is text"),
        ({"note": "x" * 3000}, "at most 2,000"),
        ({"who": "me"}, "A decision has policy"),
    ],
)
def test_a_decision_that_says_nothing_is_refused(change, words):
    with pytest.raises(seepage.errors.InputError, match=words):
        seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=1.0, accept=None, decision={**DECISION, **change})


def test_a_date_may_be_a_date():
    assert seepage.release.Decision(**{**DECISION, "date": pd.Timestamp("2026-11-12").date()}).date == "2026-11-12"


def test_no_target_stands_without_its_qualification():
    policy = {"error_floor": {"age": 1e-6}, "eta": 1e9, "quantile": 0.9}
    certificate = seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=1.0, accept=policy).certificate
    assert len(certificate.qualifications) == len(certificate.targets) == 2
    assert "prior" in certificate.qualifications[0]
    assert "1/eta" in certificate.qualifications[1]
    assert seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=1.0, accept=None).certificate.qualifications == (
        "Nothing is promised.",
    )


# All files, or none.


@pytest.mark.parametrize("fault", range(3))
def test_files_are_written_together_or_not_at_all(tmp_path, monkeypatch, fault):
    publication = seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=1.0, accept=None)
    before = {"model.certificate.json": "before", "model.skops": "exact"}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    moves, replace_file = [], os.replace

    def failing(source, target):
        # The place of a file fails once; taking the others back works.
        moves.append(target)
        if len(moves) == fault + 1:
            raise OSError(5, "Input/output error", str(target))
        replace_file(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="Input/output"):
        publication.write(tmp_path / "model.skops", key=tmp_path / "owner.key")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_one_file_is_not_two(tmp_path):
    publication = seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=1.0, accept=None)
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(seepage.errors.InputError, match="written twice"):
        publication.write(tmp_path / "a.skops", certificate=tmp_path / "two", key=tmp_path / "link" / "a.skops")
    with pytest.raises(seepage.errors.InputError, match="is a folder"):
        publication.write(tmp_path / "b.skops", certificate=tmp_path / "link")
    assert os.listdir(tmp_path) == ["link"]


def test_a_compressed_file_that_is_damaged_is_named(tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(Ridge().fit(np.eye(30), np.arange(30.0)), path, compression=zipfile.ZIP_DEFLATED)
    content = path.read_bytes()
    for at in range(0, len(content), 9):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        with suppress(seepage.errors.InputError):
            SkopsFile.of(path)


def test_a_record_describes_model_certificate_and_check(tmp_path):
    decision = seepage.release.Decision(**DECISION)
    publication = seepage.publish(Ridge().fit(X, Y), X, Y, noise_scale=2.0, accept=TARGETS, decision=decision)
    publication.write(tmp_path / "model.skops", key=tmp_path / "owner.key", record=True)
    crate = ROCrate(tmp_path)
    files = {entity.id: entity for entity in crate.data_entities}
    assert files.keys() == {"model.skops", "model.certificate.json"}
    for name, entity in files.items():
        content = (tmp_path / name).read_bytes()
        assert entity["sha256"] == hashlib.sha256(content).hexdigest()
        assert entity["contentSize"] == str(len(content))
    (check,) = crate.root_dataset["mentions"]
    assert check.type == "AssessAction"
    assert check["additionalType"] == "https://w3id.org/shp#DisclosureCheck"
    assert check["object"] == crate.root_dataset
    certificate = seepage.release.Certificate.read(tmp_path / "model.certificate.json")
    assert check["endTime"] == certificate.created
    for sentence in (*certificate.targets, *certificate.qualifications, DECISION["approver"]):
        assert sentence in check["description"]
    assert publication.key.hex() not in (tmp_path / "ro-crate-metadata.json").read_text()
    (tmp_path / "other").mkdir()
    with pytest.raises(seepage.errors.InputError, match="of its own folder"):
        publication.write(tmp_path / "a.skops", certificate=tmp_path / "other" / "a.json", record=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model.certificate.json",
        "model.skops",
        "other",
        "owner.key",
        "ro-crate-metadata.json",
    ]
