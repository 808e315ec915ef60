"""Delta and Iceberg tables are measured as the files that their own libraries name."""

from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pandas as pd
import pytest
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from sklearn.linear_model import Ridge

import seepage
from engines.tables import FEATURES, arrow, catalog, people
from seepage.engines import Job, Local


def check(source: Any, truth: pd.DataFrame, features: list[str], folder: Path) -> seepage.Leakage:
    """Compare a source with the same rows in memory."""
    model = seepage.engines.fit(Ridge(), source, target="cost", features=features, job=Job(Local(workers=1)))
    expected = seepage.measure(model, truth[features], truth["cost"], noise_scale=0.5, ids=truth["person"].to_numpy())
    job = Job(Local(workers=1), folder)
    leak = seepage.measure(model, source, target="cost", noise_scale=0.5, ids="person", groups="region", job=job)
    ours = leak.examples.to_table().to_pandas().set_index("person").sort_index()
    theirs = expected.examples.sort_index()
    assert ours.index.tolist() == theirs.index.tolist()
    np.testing.assert_allclose(ours[["eta", "dfil"]], theirs, rtol=1e-9)
    assert ours["region"].tolist() == truth.set_index("person")["region"].sort_index().tolist()
    return leak


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Create a table with deleted rows, a column of later rows alone and partitions; four versions."""
    path = str(tmp_path_factory.mktemp("delta") / "the people")
    deltalake.write_deltalake(path, arrow(people(300)), partition_by=["region", "year"])
    deltalake.DeltaTable(path).delete("person < 40 or year = 2021")
    wider = people(150, start=1000, seed=2).assign(visits=lambda frame: frame["person"] % 7)
    deltalake.write_deltalake(path, arrow(wider), mode="append", schema_mode="merge")
    deltalake.DeltaTable(path).optimize.compact()
    return path


@pytest.mark.parametrize("version", range(4))
def test_every_version_of_a_delta_table_is_measured(delta: str, version: int, tmp_path: Path) -> None:
    table = deltalake.DeltaTable(delta, version=version)
    leak = check(table, table.to_pandas(), ["age", "year"], tmp_path / "out")
    assert leak.assumptions[-1] == f"The people are the rows of version {version} of the Delta table the people."


def test_a_job_on_a_delta_table_resumes_on_the_same_version_only(delta: str, tmp_path: Path) -> None:
    rows = deltalake.DeltaTable(delta, version=1).to_pandas()
    model = Ridge().fit(rows[FEATURES], rows["cost"])
    for version, resume in ((1, False), (1, True)):
        job = Job(Local(workers=1), tmp_path / "out", resume=resume)
        table = deltalake.DeltaTable(delta, version=version)
        assert seepage.measure(model, table, target="cost", noise_scale=0.5, job=job).information.count == len(rows)
    with pytest.raises(seepage.errors.InputError, match="differs from this one in its files"):
        seepage.measure(model, deltalake.DeltaTable(delta, version=0), target="cost", noise_scale=0.5, job=job)


def test_a_column_that_came_later_is_missing_in_older_rows(delta: str) -> None:
    model = Ridge().fit(people(50).assign(visits=1.0)[["age", "visits"]], np.arange(50.0))
    with pytest.raises(seepage.errors.InputError, match="missing value in column 'visits'"):
        seepage.measure(model, deltalake.DeltaTable(delta), target="cost", noise_scale=1.0, job=Job(Local(workers=1)))


def test_deletion_vectors_are_refused_in_the_words_of_deltalake(tmp_path: Path) -> None:
    path = str(tmp_path / "people")
    configuration = {"delta.enableDeletionVectors": "true"}
    deltalake.write_deltalake(path, arrow(people(60)), configuration=configuration)
    with pytest.raises(deltalake.exceptions.DeltaProtocolError, match="deletionVectors"):
        seepage.engines.fit(Ridge(), deltalake.DeltaTable(path), target="cost", features=FEATURES)


@pytest.mark.parametrize("inside", ["", "**/*.parquet", "region=north", "region=north/*/*.parquet"])
def test_the_folder_of_a_delta_table_is_refused(delta: str, inside: str) -> None:
    with pytest.raises(seepage.errors.InputError, match=r"deleted or replaced\. Pass deltalake\.DeltaTable"):
        seepage.engines.fit(Ridge(), f"{delta}/{inside}", target="cost", features=FEATURES)


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Table:
    with catalog(tmp_path_factory.mktemp("iceberg") / "lake") as lake:
        table = lake.create_table("lake.people", schema=arrow(people(300)).schema)
        with table.update_spec() as spec:
            spec.add_field("region", IdentityTransform(), "region")
        table.append(arrow(people(300)))
        table.delete("person < 40")
        table.append(arrow(people(200, start=300, seed=1)))
    return table


def test_the_files_of_a_scan_are_an_iceberg_table(iceberg: Table, tmp_path: Path) -> None:
    tasks = list(iceberg.scan().plan_files())
    assert not any(task.delete_files for task in tasks)
    check([task.file.file_path for task in tasks], iceberg.scan().to_pandas(), FEATURES, tmp_path / "out")


@pytest.mark.parametrize("inside", ["", "/data", "/data/region=north"])
def test_an_iceberg_table_and_its_folder_are_refused_with_the_list_of_a_scan(iceberg: Table, inside: str) -> None:
    folder = iceberg.location().removeprefix("file://")
    for source, message in ((iceberg, r"scan\(\)\.plan_files\(\)"), (f"{folder}{inside}", "files that a scan plans")):
        with pytest.raises(seepage.errors.InputError, match=message):
            seepage.engines.fit(Ridge(), source, target="cost", features=FEATURES)
