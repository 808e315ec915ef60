"""A file is what it was when the job began, or the job says which one is not; each is read once."""

import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem
from here import Here
from sklearn.linear_model import Ridge

import seepage
from seepage.execution.storage import Files, _identity, naming

FEATURES = ["a", "b"]


def people(rows: int, seed: int = 0, start: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(rows, 2)), columns=FEATURES)
    return frame.assign(y=frame["a"] + random.normal(size=rows), person=np.arange(start, start + rows))


def write(frame: pd.DataFrame, path: Path, **options: Any) -> None:
    """Write a file of which nothing but the values differs from another: neither size nor footer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, path, use_dictionary=False, compression="none", write_statistics=False, **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(4):
        write(people(50, i, 50 * i), tmp_path / "data" / f"{i}.parquet")
    return tmp_path / "data"


@pytest.fixture
def model() -> Ridge:
    whole = pd.concat([people(50, i) for i in range(4)])
    return Ridge().fit(whole[FEATURES], whole["y"])


class Between(Here):
    """Does something after the pass that adds up."""

    def __init__(self, then: Callable[[], object]) -> None:
        self.then = then

    def total(self, function: Callable[[Any], Any], units: Sequence[Any], *watch: Any) -> Any:
        result = super().total(function, units, *watch)
        if "Adding(" in repr(function):
            self.then()
        return result


def measured(model: Ridge, source: Any, engine: Any = None, output: Path | None = None, **job: Any) -> seepage.Leakage:
    job = seepage.engines.Job(engine or Here(), output, **job)
    return seepage.measure(model, source, target="y", ids="person", noise_scale=0.5, job=job)


def replace(path: Path) -> None:
    """Put other people of equal size in the place of a file's."""
    size = path.stat().st_size
    write(people(50, 99, pq.read_table(path)["person"][0].as_py()), path)
    assert path.stat().st_size == size


# What is read of a file at first: all of a small one, or less than it.
AT_FIRST = {"it holds something else": 2**16, "it was written again": 2**8}


@pytest.mark.parametrize("filesystem", [None, pa.fs.PyFileSystem(pa.fs.FSSpecHandler(LocalFileSystem()))])
@pytest.mark.parametrize("what", AT_FIRST)
def test_a_file_that_is_replaced_between_passes_is_named(
    folder: Path, model: Ridge, filesystem: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_identity, "_TAIL", AT_FIRST[what])
    swap = Between(lambda: replace(folder / "3.parquet"))
    with pytest.raises(seepage.errors.InputError, match=rf"3\.parquet has changed since the job began: {what}"):
        measured(model, str(folder), swap, filesystem=filesystem)


@pytest.mark.parametrize("what", AT_FIRST)
def test_a_file_that_is_replaced_while_it_is_read_is_read_whole_or_named(
    folder: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_identity, "_TAIL", AT_FIRST[what])
    files = Files.of(folder)
    before = pq.read_table(folder / "1.parquet", columns=["a"])
    batches = files.store.read(files.units[1], ["a"], 10)
    found = [next(batches)]
    replace(folder / "1.parquet")
    if what == "it was written again":
        with pytest.raises(seepage.errors.InputError, match=rf"1\.parquet has changed since the job began: {what}"):
            list(batches)
        return
    assert pa.Table.from_batches([*found, *batches]).equals(before)


def test_a_small_file_of_the_same_size_footer_and_time_is_known_by_what_it_holds(folder: Path, model: Ridge) -> None:
    def swap() -> None:
        path = folder / "1.parquet"
        before = path.stat()
        replace(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(seepage.errors.InputError, match=r"1\.parquet has changed .*: it holds something else"):
        measured(model, folder, Between(swap))


def test_a_file_that_is_replaced_before_resuming_is_named(folder: Path, model: Ridge, tmp_path: Path) -> None:
    measured(model, folder, output=tmp_path / "out")
    next((tmp_path / "out" / "examples").iterdir()).unlink()
    measured(model, folder, output=tmp_path / "out", resume=True)
    replace(folder / "2.parquet")
    with pytest.raises(seepage.errors.InputError, match=r"in its files\. .*2\.parquet has changed\."):
        measured(model, folder, output=tmp_path / "out", resume=True)
    (folder / "2.parquet").unlink()
    with pytest.raises(seepage.errors.InputError, match=r"2\.parquet is gone"):
        measured(model, folder, output=tmp_path / "out", resume=True)


def test_a_missing_result_is_named(folder: Path, model: Ridge, tmp_path: Path) -> None:
    leak = measured(model, folder, output=tmp_path / "out")
    (tmp_path / "out" / "examples" / "000002-2.parquet").unlink()
    with pytest.raises(seepage.errors.InputError, match=r"000002-2\.parquet is missing.*resume=True"):
        _ = leak.examples
    again = measured(model, folder, output=tmp_path / "out", resume=True)
    assert again.examples.count_rows() == 200


def test_a_damaged_result_is_named(folder: Path, model: Ridge, tmp_path: Path) -> None:
    measured(model, folder, output=tmp_path / "out")
    path = tmp_path / "out" / "examples" / "000001-1.parquet"
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes(content)
    with pytest.raises(seepage.errors.InputError, match=r"000001-1\.parquet is a result .* cannot be read.*Delete it"):
        measured(model, folder, output=tmp_path / "out", resume=True)
    path.unlink()
    assert measured(model, folder, output=tmp_path / "out", resume=True).information.count == 200


@pytest.mark.parametrize("place", ["{}/out", "{}/sub/../out", "{}", "{}/../data/out"])
def test_results_do_not_go_among_the_rows(folder: Path, model: Ridge, place: str) -> None:
    output = Path(place.format(folder))
    with pytest.raises(seepage.errors.InputError, match=r"is inside .* whose files are the rows"):
        measured(model, folder, output=output)
    with pytest.raises(seepage.errors.InputError, match="whose files are the rows"):
        measured(model, f"{folder}/**/*.parquet", output=output)


def test_results_may_stand_beside_a_pattern(folder: Path, model: Ridge) -> None:
    assert measured(model, f"{folder}/*.parquet", output=folder / "out").examples.count_rows() == 200
    assert measured(model, f"{folder}/*.parquet", output=folder / "out", resume=True).information.count == 200


@pytest.mark.parametrize("position", range(4, 1604, 97))
def test_a_flipped_bit_is_named_where_pages_have_checksums(folder: Path, model: Ridge, position: int) -> None:
    path = folder / "1.parquet"
    write(people(50, 1, 50), path, write_page_checksum=True)
    time.sleep(0.01)
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << position % 8
    path.write_bytes(content)
    with pytest.raises(seepage.errors.InputError, match=r"1\.parquet cannot be read"):
        measured(model, folder)


def counted(source: Any, **options: Any) -> int:
    return Files.of(source, **options).count


def test_each_file_is_read_once(folder: Path) -> None:
    one = folder / "1.parquet"
    assert counted([one, one]) == 50
    assert counted([folder, one, f"{folder}/[01].parquet"]) == 200
    os.symlink(folder, folder / "again")
    assert counted(folder) == counted(f"{folder}/**/*.parquet") == 200


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_two_names_of_one_file_are_refused(folder: Path, link: Callable[[Path, Path], None]) -> None:
    link(folder / "1.parquet", folder / "copy.parquet")
    with pytest.raises(seepage.errors.InputError, match=r"1\.parquet and .*copy\.parquet are two names of one file"):
        counted(folder)


def test_links_lead_to_other_folders_or_are_named(folder: Path, tmp_path: Path) -> None:
    write(people(7), tmp_path / "elsewhere" / "x.parquet")
    os.symlink(tmp_path / "elsewhere", folder / "more")
    assert counted(folder) == 207
    os.symlink(tmp_path / "nowhere", folder / "lost")
    with pytest.raises(seepage.errors.InputError, match="lost is a link to nothing"):
        counted(folder)


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """Files of 1, 2, 4, 8, ... rows: their sum tells which were read."""
    names = ["0.parquet", "sub/1.parquet", "sub/deep/2.parquet", "Z.PARQUET", "folder.parquet/part-0.parquet"]
    names += [
        "_hidden.parquet",
        "_temporary/q.parquet",
        ".dot/x.parquet",
        "br[1]acket.parquet",
        "sub/quest?ion.parquet",
    ]
    for i, name in enumerate(names):
        write(people(2**i), tmp_path / "data" / name)
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("", 1 + 2 + 4 + 8 + 16 + 256 + 512),
        ("*.parquet", 1 + 16 + 256),
        ("**/*.parquet", 1 + 2 + 4 + 16 + 256 + 512),
        ("*/*.parquet", 2 + 16 + 512),
        ("**.parquet", 1 + 16 + 256),
        ("sub/**", 2 + 4 + 512),
        ("**/deep/*", 4),
        ("s?b/[12].parquet", 2),
        ("_*.parquet", 32),
        ("br[1]acket.parquet", 256),
        ("sub/quest?ion.parquet", 512),
        ("folder.parquet", 16),
    ],
)
def test_patterns_mean_what_they_mean_elsewhere(nested: Path, pattern: str, rows: int) -> None:
    assert counted(f"{nested}/{pattern}") == rows
    # A store lists its files in another way, and finds the same.
    strange = pa.fs.PyFileSystem(pa.fs.FSSpecHandler(LocalFileSystem()))
    assert counted(f"{nested}/{pattern}", filesystem=strange) == rows


def test_folders_name_columns(tmp_path: Path) -> None:
    for year in (2020, 2021):
        for region in ("north", "s%C3%BCd", "__HIVE_DEFAULT_PARTITION__"):
            write(people(5, year), tmp_path / "data" / f"year={year}" / f"region={region}" / "x.parquet")
    table = Files.of(tmp_path / "data").table(["year", "region"])
    assert table["year"].to_pylist() == [2020] * 15 + [2021] * 15
    assert table["region"].to_pylist() == 2 * ([None] * 5 + ["north"] * 5 + ["süd"] * 5)
    assert Files.of(f"{tmp_path}/data/year=2020/*/*.parquet").schema.names[-1] == "region"
    write(people(5), tmp_path / "data" / "year=2022" / "y.parquet")
    with pytest.raises(seepage.errors.InputError, match=r"differ in their columns: .* has 'region'"):
        Files.of(tmp_path / "data").require(["region"], "groups")


def test_values_that_folders_name_are_kept_as_they_are_written(tmp_path: Path) -> None:
    rows = {"01234": 30, "1234": 50, "-0": 20, "0": 40}
    frames = [people(count, seed, 1000 * seed).assign(zip=name) for seed, (name, count) in enumerate(rows.items())]
    for frame in frames:
        write(frame.drop(columns="zip"), tmp_path / "data" / f"zip={frame['zip'].iloc[0]}" / "x.parquet")
    whole = pd.concat(frames, ignore_index=True)
    model = Ridge().fit(whole[FEATURES], whole["y"])
    expected = seepage.measure(model, whole[FEATURES], whole["y"], noise_scale=1.0, groups=whole["zip"].to_numpy())
    leak = seepage.measure(
        model,
        tmp_path / "data",
        target="y",
        ids="person",
        groups="zip",
        noise_scale=1.0,
        job=seepage.engines.Job(Here()),
    )
    groups, theirs = leak.by_group().frame.to_pandas(), expected.by_group().frame
    assert dict(zip(groups["group"], groups["count"], strict=True)) == rows
    means = dict(zip(theirs["group"], theirs["mean"], strict=True))
    assert dict(zip(groups["group"], groups["mean"], strict=True)) == pytest.approx(means, rel=1e-9)
    assert leak.joint_information_loss({"zip": "01234"}) == pytest.approx(
        expected.joint_information_loss(whole["zip"].to_numpy() == "01234"), rel=1e-9
    )


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (["7", "-12", "0"], [-12, 0, 7]),
        (["01", "02", "12"], ["01", "02", "12"]),
        (["9223372036854775807", "9223372036854775808"], ["9223372036854775807", "9223372036854775808"]),
        (["1", "1.0"], ["1", "1.0"]),
        (["3", "٣"], ["3", "٣"]),
    ],
)
def test_folders_name_numbers_only_as_numbers_are_written(tmp_path: Path, values: list[str], held: list[Any]) -> None:
    for value in values:
        write(people(1), tmp_path / f"code={value}" / "x.parquet")
    assert sorted(Files.of(tmp_path).table(["code"])["code"].to_pylist()) == held


@pytest.mark.parametrize(
    ("source", "message"), [("", "empty"), ([], "No file was given"), ("*.parq", "No file matches")]
)
def test_no_file_is_refused(source: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(seepage.errors.InputError, match=message):
        seepage.engines.fit(Ridge(), f"{tmp_path}/{source}" if source else source, target="y")


def test_a_uri_is_unquoted(tmp_path: Path) -> None:
    write(people(5), tmp_path / "with space#and ü" / "x y.parquet")
    for source in ((tmp_path / "with space#and ü").as_uri(), f"file://{tmp_path}/with space#and ü/*.parquet"):
        assert counted(source) == 5
    shutil.rmtree(tmp_path / "with space#and ü")


def test_a_file_that_may_not_be_read_is_not_called_damaged() -> None:
    with pytest.raises(seepage.errors.InputError, match="people may not be read") as caught, naming("people"):
        raise PermissionError("Permission denied")
    assert not isinstance(caught.value, seepage.errors.UnreadableError)
