"""A report as a folder: the page and its twins, each complete by itself."""

import stat
from dataclasses import replace

import pytest
import twins
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import seepage
from seepage.report.write import finding_sentences, headline

X, Y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
LEAK = seepage.measure(Ridge().fit(X, Y), X, Y, noise_scale=2.0)
POLICY = {"error_floor": {"age": 5.0}}


@pytest.fixture(scope="module", params=["internal", "publishable"])
def written(request, tmp_path_factory):
    more = {"groups": X["sex"].map({1.0: "f", 2.0: "m"})} if request.param == "internal" else {}
    report = seepage.Report.of(LEAK, request.param, policy=POLICY, units={"age": "years"}, **more)
    folder = tmp_path_factory.mktemp("report") / "out"
    report.write(folder)
    return report, folder


def test_each_twin_is_complete(written):
    report, folder = written
    document = report.document
    found = twins.said(folder, "report")
    # The schema has numbers and words of its own; `Report.read` makes the same report of it.
    assert seepage.Report.read(folder / "report.json").document == document
    for name in ("html", "txt", "csv"):
        text = found[name]
        assert headline(document.verdict) in text, name
        assert "Everyone's age: no unbiased guess has a standard error below 5 years." in text, name
        for each in document.assumptions:
            assert each.sentence() in text, name
        if report.document.is_public:
            continue
        for sentence in finding_sentences(document):
            assert sentence in text, name
        for person in document.exposed:
            assert person.pseudonym in text, name
        for group in document.groupings[0].groups:
            assert f" {group.name} " in text, name
            assert f"{group.eta.count.value:.0f}" in text, name


def test_pictures_are_there_and_not_blank(written):
    report, folder = written
    names = {each.name for each in folder.glob("*.png")}
    assert names == (set() if report.document.is_public else {"report-attributes.png"})
    for name in names:
        twins.looked_at(folder / name)


def test_the_internal_edition_is_closed_to_others(written):
    report, folder = written
    for each in (folder, *folder.iterdir()):
        assert (stat.S_IMODE(each.stat().st_mode) & 0o077 == 0) != report.document.is_public


def test_other_rows_change_no_byte_of_what_is_for_everybody(tmp_path):
    found = []
    for name, rows in (("one", X), ("other", X * 1.1 + 1)):
        leak = seepage.measure(Ridge().fit(rows, Y), rows, Y, noise_scale=2.0)
        report = seepage.Report.of(leak, "publishable", policy=POLICY)
        still = replace(report, document=replace(report.document, created="2026-01-01T00:00:00Z"))
        still.write(tmp_path / name)
        found.append({each.name: each.read_bytes() for each in (tmp_path / name).iterdir()})
    assert found[0] == found[1]
    assert len(found[0]) == 4
