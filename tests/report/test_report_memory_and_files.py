"""One document: what a report says of people in memory and of people in files is the same, or refused alike."""

import json

import pytest
from people import write_people
from sklearn.linear_model import LogisticRegression, Ridge

import seepage
from seepage import Report
from seepage.engines import Local

# A median and its like may come to stand on the other side of a step of rounding, to three digits.
STEP = 0.011
OPTIONS = {"policy": {"error_floor": {"x0": 0.5}, "eta": 1.0, "quantile": 0.9}, "units": {"x0": "m"}, "key": b"key"}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "data", rows=2000)


@pytest.fixture(scope="module", params=["one release", "two releases"])
def both(request, people, tmp_path_factory):
    """The same measurement twice: from memory, and from files."""
    folder, found = tmp_path_factory.mktemp("leakage"), ([], [])
    for alpha in (1.0, 30.0) if request.param == "two releases" else (1.0,):
        model = Ridge(alpha).fit(people.X, people.frame["outcome"])
        frame, output = people.frame, folder / f"{alpha:g}"
        found[0].append(seepage.measure(model, frame, frame["outcome"], noise_scale=0.1, ids=frame["person"]))
        found[1].append(
            seepage.measure(
                model,
                people.pattern,
                target="outcome",
                noise_scale=0.1,
                ids="person",
                job=seepage.engines.Job(engine=Local(2), output=output),
            )
        )
    # Beside a release in files, one in memory is composed to bounds as well.
    memory, files = found
    return (memory[0], files[0]) if len(files) == 1 else [seepage.compose([each[0], files[1]]) for each in found]


def _paths(value, path=""):
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(each, f"{path}.{key}")
    else:
        yield path, value


@pytest.mark.parametrize("groups", ["region", ["region", "kind"]])
def test_the_document_is_the_same(both, groups):
    ours, theirs = (
        dict(_paths(json.loads(Report.of(leak, "internal", groups=groups, **OPTIONS).json()))) for leak in both
    )
    # What the noise costs is not added up over files.
    ours, theirs = ({p: v for p, v in each.items() if not p.startswith(".utility")} for each in (ours, theirs))
    assert theirs.keys() == ours.keys()
    for path, value in ours.items():
        if isinstance(value, float) and ".assumptions" not in path:
            assert theirs[path] == pytest.approx(value, rel=STEP), path
        elif ".assumptions" not in path and path != ".created":
            assert theirs[path] == value, path
    assert sum(isinstance(value, float) for value in ours.values()) > 50


def test_pseudonyms_and_people_are_the_same(both):
    exposed = [Report.of(leak, "internal", key=b"key").document.exposed for leak in both]
    assert len(exposed[0]) == 10
    assert [person.pseudonym for person in exposed[0]] == [person.pseudonym for person in exposed[1]]


def test_a_column_that_is_not_there_is_refused_alike(both):
    for leak in both:
        with pytest.raises(seepage.errors.InputError, match=r"'height'.*no column|no column 'height'"):
            Report.of(leak, "internal", groups="height")


def test_success_rates_of_people_in_files_are_said_to_be_unanswered(people, tmp_path):
    model = LogisticRegression(tol=1e-8).fit(people.X, people.frame["class"])
    files = seepage.measure(
        model,
        people.pattern,
        target="class",
        noise_scale=0.1,
        job=seepage.engines.Job(engine=Local(2), output=tmp_path / "leakage"),
    )
    report = Report.of(files, "internal", policy={"success_rate": {"class": 0.9}})
    with pytest.raises(seepage.errors.UnansweredError) as reason:
        files.success_rate("class")
    assert report.document.categories[0].silence.reason == str(reason.value)
    assert report.document.verdict.status == "withheld"
    assert report.document.verdict.silence.reason == str(reason.value)
