"""What is measured in files is what is measured in memory."""

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from here import Here
from people import People, write_people
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

import seepage
from seepage.engines import Local

ENGINE = Local(workers=2)
EXACT = {"rtol": 1e-10, "atol": 0}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    return write_people(tmp_path_factory.mktemp("people") / "data")


@pytest.fixture(scope="module")
def ridge(people: People) -> Ridge:
    return Ridge().fit(people.X, people.frame["outcome"])


@pytest.fixture(scope="module")
def whole(people: People, ridge: Ridge) -> seepage.Leakage:
    return seepage.measure(ridge, people.X, people.frame["outcome"], noise_scale=0.1, ids=people.frame["person"])


@pytest.fixture(scope="module")
def summarized(people: People, ridge: Ridge) -> seepage.Leakage:
    return seepage.measure(
        ridge,
        people.pattern,
        target="outcome",
        noise_scale=0.1,
        ids="person",
        groups="region",
        job=seepage.engines.Job(ENGINE),
    )


def test_medians_of_few_people_are_those_of_memory(people: People, tmp_path: Path) -> None:
    # Between two people's values there is room, and the median of four is in it.
    few = people.frame.iloc[:8].assign(pair=list("aabbccdd"))
    few.to_parquet(tmp_path / "few.parquet")
    model = Ridge().fit(few[people.features], few["outcome"])
    memory = seepage.measure(model, few[people.features], few["outcome"], noise_scale=0.1)
    common = {"target": "outcome", "groups": "pair", "noise_scale": 0.1, "job": seepage.engines.Job(Here())}
    leak = seepage.measure(model, tmp_path / "few.parquet", **common)
    ours, theirs = leak.by_group().frame.to_pandas(), memory.by_group(few["pair"]).frame
    np.testing.assert_allclose(ours["median"], theirs["median"], rtol=1e-3)
    assert (ours["median"] / ours["max"] < 0.99).all()
    for share in (0.5, 0.95):
        found, expected = (each.information.distributions("examples")["eta"] for each in (leak, memory))
        assert found.quantile(share) == pytest.approx(expected.quantile(share), rel=1e-3)


def test_without_an_output_nothing_of_each_person_is_kept(summarized: Any) -> None:
    with pytest.raises(seepage.errors.UnansweredError, match="output="):
        _ = summarized.examples
    with pytest.raises(seepage.errors.UnansweredError, match="100 most exposed"):
        summarized.most_exposed(1000)


def test_files_in_folders_keep_their_folders(people: People, ridge: Ridge, whole: Any, tmp_path: Path) -> None:
    for i, path in enumerate(sorted(people.folder.iterdir())):
        folder = tmp_path / "data" / f"year={2000 + i // 2}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path.name)
    leak = seepage.measure(
        ridge, tmp_path / "data", target="outcome", noise_scale=0.1, job=seepage.engines.Job(ENGINE, tmp_path / "out")
    )
    np.testing.assert_allclose(leak.examples.to_table().column("eta"), whole.examples["eta"], **EXACT)
    assert sorted(path.name for path in (tmp_path / "out" / "examples").iterdir()) == [
        "year=2000",
        "year=2001",
        "year=2002",
    ]


def measured(people: People, ridge: Ridge, output: Path | None, **options: Any) -> seepage.Leakage:
    job = seepage.engines.Job(engine=ENGINE, output=output, resume=options.pop("resume", False))
    arguments = {"target": "outcome", "noise_scale": 0.1, "job": job, **options}
    source = arguments.pop("X", people.pattern)
    return seepage.measure(ridge, source, **arguments)


def test_resuming_repeats_only_what_is_missing(people: People, ridge: Ridge, tmp_path: Path) -> None:
    output = tmp_path / "out"
    first = measured(people, ridge, output)
    files = sorted((output / "examples").iterdir())
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}
    files[1].unlink()
    again = measured(people, ridge, output, resume=True)
    assert {path: path.read_bytes() for path in files} == {path: content for path, (_, content) in before.items()}
    kept = [path for path in files if path.stat().st_mtime_ns == before[path][0]]
    assert kept == files[:1] + files[2:]
    ours, theirs = (leak.information.distributions("examples")["eta"] for leak in (again, first))
    assert (ours.count, ours.mean, ours.largest) == (theirs.count, theirs.mean, theirs.largest)
    assert not list((output / "_seepage").glob("*.unfinished"))
    assert not list((output / "_seepage" / "sums").iterdir())


def test_an_output_is_never_overwritten(people: People, ridge: Ridge, tmp_path: Path) -> None:
    measured(people, ridge, tmp_path / "out")
    with pytest.raises(seepage.errors.InputError, match="resume=True"):
        measured(people, ridge, tmp_path / "out")
    with pytest.raises(seepage.errors.InputError, match="noise"):
        measured(people, ridge, tmp_path / "out", resume=True, noise_scale=0.2)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("precious")
    with pytest.raises(seepage.errors.InputError, match="not an empty folder"):
        measured(people, ridge, tmp_path / "other")


def test_a_job_is_continued_only_for_the_same_numbers_that_leave(people: People, tmp_path: Path) -> None:
    model = LinearRegression().fit(people.X, people.frame["outcome"])
    noise = seepage.release.GaussianNoise(standard_errors=0.25)
    alone, beside = ["coefficients"], ["coefficients", "standard errors"]
    measured(people, model, tmp_path / "out", published=alone, noise_scale=noise)
    with pytest.raises(seepage.errors.InputError, match="differs from this one in its standard errors"):
        measured(people, model, tmp_path / "out", published=beside, noise_scale=noise, resume=True)
    found = measured(people, model, tmp_path / "other", published=beside, noise_scale=noise)
    expected = seepage.measure(model, people.X, people.frame["outcome"], noise_scale=noise, published=beside)
    np.testing.assert_allclose(found.examples.to_table().column("eta"), expected.examples["eta"], rtol=1e-9)


def test_a_truncated_file_is_named(people: People, ridge: Ridge, tmp_path: Path) -> None:
    shutil.copytree(people.folder, tmp_path / "data")
    broken = tmp_path / "data" / "part-003.parquet"
    broken.write_bytes(broken.read_bytes()[: broken.stat().st_size // 2])
    with pytest.raises(seepage.errors.InputError, match=r"part-003\.parquet cannot be read"):
        measured(people, ridge, tmp_path / "out", X=f"{tmp_path}/data/*.parquet")


def test_a_damaged_page_is_named(people: People, ridge: Ridge, tmp_path: Path) -> None:
    shutil.copytree(people.folder, tmp_path / "data")
    broken = tmp_path / "data" / "part-002.parquet"
    content = bytearray(broken.read_bytes())
    content[4:20_000] = os.urandom(20_000 - 4)
    broken.write_bytes(content)
    with pytest.raises(seepage.errors.InputError, match=r"part-002\.parquet cannot be read"):
        measured(people, ridge, tmp_path / "out", X=f"{tmp_path}/data/*.parquet")
    shutil.copy(people.folder / "part-002.parquet", broken)
    leak = measured(people, ridge, tmp_path / "out", X=f"{tmp_path}/data/*.parquet", resume=True)
    assert leak.information.count == len(people.frame)


def test_a_missing_value_is_found_in_its_file(people: People, ridge: Ridge, tmp_path: Path) -> None:
    shutil.copytree(people.folder, tmp_path / "data")
    path = tmp_path / "data" / "part-001.parquet"
    frame = pd.read_parquet(path)
    frame.loc[17, "x3"] = np.nan
    frame.to_parquet(path)
    with pytest.raises(seepage.errors.InputError, match=r"part-001\.parquet: .*missing value.*'x3'"):
        measured(people, ridge, tmp_path / "out", X=f"{tmp_path}/data/*.parquet")


def test_an_output_that_cannot_be_written_is_named(people: People, ridge: Ridge) -> None:
    # Nobody, not even root, makes folders here.
    with pytest.raises(seepage.errors.InputError, match="/proc/nobody' cannot be written to"):
        measured(people, ridge, Path("/proc/nobody"))


FULL_DISK = """
import pickle, resource, sys
import seepage
# No file may grow beyond 8 kB: to the worker that writes it, a disk that is full.
resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))
model = pickle.loads(bytes.fromhex(sys.argv[3]))
engine = seepage.engines.Local(workers=2)
seepage.measure(model, sys.argv[1], target="outcome", noise_scale=0.1, job=seepage.engines.Job(engine, sys.argv[2]))
"""


def test_a_full_disk_is_named_and_leaves_nothing_behind(people: People, ridge: Ridge, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(FULL_DISK)
    command = [sys.executable, script, people.pattern, tmp_path / "out", pickle.dumps(ridge).hex()]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    # A plain script: nothing in it protects it from being imported by workers, and it need not be.
    assert failed.stderr.count("Traceback") == 1
    assert "seepage.errors.InputError" in failed.stderr
    assert "out' cannot be written to" in failed.stderr
    assert not (tmp_path / "out" / "examples").exists()
    assert not list((tmp_path / "out").rglob("*.unfinished"))
    leak = measured(people, ridge, tmp_path / "out", resume=True)
    assert leak.information.count == len(people.frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": None}, 'target="column"'),
        ({"y": [1.0]}, "leave y out"),
        ({"target": "income"}, "target is 'income', which is no column"),
        ({"ids": np.arange(3)}, "ids must be the name"),
        ({"X": "/nowhere/*.parquet"}, "No file matches"),
        ({"X": ["/nowhere/at/all.parquet"]}, "does not exist"),
        ({"X": "nothing://here/*.parquet"}, "no file system"),
        ({"sample_weight": "outcome"}, "negative"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    people: People, ridge: Ridge, tmp_path: Path, options: Any, message: str
) -> None:
    with pytest.raises(seepage.errors.InputError, match=message):
        measured(people, ridge, tmp_path / "out", **options)


def test_resuming_needs_an_output(people: People, ridge: Ridge) -> None:
    with pytest.raises(seepage.errors.InputError, match="output="):
        measured(people, ridge, None, resume=True)


@pytest.mark.parametrize(
    "options",
    [
        {"target": "y"},
        {"job": seepage.engines.Job(output="out")},
        {"job": seepage.engines.Job(output="out", resume=True)},
    ],
)
def test_what_is_for_files_is_refused_in_memory(people: People, ridge: Ridge, options: Any) -> None:
    with pytest.raises(seepage.errors.InputError, match="in memory"):
        seepage.measure(ridge, people.X, people.frame["outcome"], noise_scale=0.1, **options)


def test_the_job_note_holds_no_personal_data(people: People, ridge: Ridge, tmp_path: Path) -> None:
    measured(people, ridge, tmp_path / "out", ids="person")
    note = json.loads((tmp_path / "out" / "_seepage" / "job.json").read_text())
    asked = {"attributes", "noise", "public_label", "public_preprocessing", "standard errors"}
    assert set(note) == {*asked, "columns", "files", "model", "seepage", "weights"}
    assert "person 0" not in json.dumps(note)


def test_the_prior_of_the_data_and_differential_privacy_are_known_of_files(people: People, tmp_path: Path) -> None:
    y = people.frame["class"].to_numpy()
    model = LogisticRegression(C=0.1, fit_intercept=False, tol=1e-8).fit(people.X, y)
    expected = seepage.measure(model, people.X, y, noise_scale=0.1)
    job = seepage.engines.Job(ENGINE, tmp_path / "o")
    leak = seepage.measure(model, people.pattern, target="class", noise_scale=0.1, job=job)
    ours, theirs = leak.information.variances(), expected.information.variances()
    assert ours == pytest.approx(theirs, rel=1e-10)
    floors = leak.error_floor(prior="data").to_pandas()
    np.testing.assert_allclose(floors, expected.error_floor(prior="data"), **EXACT)
    one, other = leak.information.guarantee(1e-5, None), expected.information.guarantee(1e-5, None)
    assert one.epsilon == pytest.approx(other.epsilon, rel=1e-10)
    rows = leak.privacy_measures().to_pandas()
    np.testing.assert_allclose(rows["value"], expected.privacy_measures()["value"], rtol=1e-8)


def test_progress_says_how_much_is_left(people: People, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ridge = Ridge().fit(people.X, people.frame["outcome"])
    arguments = {"target": "outcome", "noise_scale": 0.1}
    seepage.measure(ridge, people.pattern, job=seepage.engines.Job(Local(workers=2), progress=True), **arguments)
    told = capsys.readouterr().err
    assert "adding up, 5 of 5 units, 0:00 left" in told
    assert "scoring examples, 5 units in" in told
    # The pass that is measured says how long the next will take.
    assert re.search(r"adding up, 5 of 5 units, 0:00 left, then about \d+:\d\d", told)
    assert not sys.stderr.isatty()
    seepage.measure(ridge, people.pattern, job=seepage.engines.Job(Local(workers=2)), **arguments)
    assert capsys.readouterr().err == ""
