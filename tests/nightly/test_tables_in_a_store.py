"""Tables in an object store: read through the file system that reads their rows, however badly it answers."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from engines.store import BUCKET, Faults, client, faulty, filesystem, object_store
from engines.tables import FEATURES, arrow, catalog, people
from here import Here
from sklearn.linear_model import Ridge

import seepage
from seepage.engines import Local


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with object_store() as address:
        yield address


def upload(address: str, folder: Path, prefix: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            client(address).upload_file(str(path), BUCKET, f"{prefix}/{path.relative_to(folder)}")


def measured(source: Any, truth: pd.DataFrame, home: Any, engine: Any, output: str | None = None) -> Any:
    model = Ridge().fit(truth[FEATURES], truth["cost"])
    job = seepage.engines.Job(engine, output, filesystem=home)
    return seepage.measure(model, source, target="cost", ids="person", noise_scale=0.5, job=job)


def check(leak: seepage.Leakage, truth: pd.DataFrame) -> None:
    model = Ridge().fit(truth[FEATURES], truth["cost"])
    expected = seepage.measure(model, truth[FEATURES], truth["cost"], noise_scale=0.5)
    assert leak.information.count == len(truth)
    assert leak.joint() == pytest.approx(expected.joint(), rel=1e-9)


def test_a_delta_table_in_a_store(store: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    deltalake.write_deltalake(str(path), arrow(people(200)), partition_by=["region"])
    deltalake.DeltaTable(str(path)).delete("person < 50")
    upload(store, path, "delta")
    for version in (0, 1):
        truth = deltalake.DeltaTable(str(path), version=version).to_pandas()
        source = seepage.engines.Snapshot(f"s3://{BUCKET}/delta", version=version)
        check(measured(source, truth, filesystem(store), Local(workers=2)), truth)
    where = f"scheme=http&region=us-east-1&endpoint_override={store}"
    check(measured(f"s3://someone:secret@{BUCKET}/delta?{where}", truth, None, Here()), truth)


def test_an_iceberg_table_in_a_store(store: str, tmp_path: Path) -> None:
    with catalog(tmp_path / "lake") as lake:
        from pyiceberg.catalog.sql import SqlCatalog

        endpoint = {"s3.endpoint": f"http://{store}", "s3.access-key-id": "someone", "s3.secret-access-key": "secret"}
        remote = SqlCatalog(
            "remote",
            uri=f"sqlite:///{tmp_path}/remote.db",
            warehouse=f"s3://{BUCKET}/warehouse",
            **endpoint | {"s3.region": "us-east-1"},
        )
        assert lake is not remote
        remote.create_namespace("lake")
        table = remote.create_table("lake.people", schema=arrow(people(1)).schema)
        table.append(arrow(people(200)))
        table.delete("person < 50")
        truth = table.scan().to_pandas()
        remote.close()
    for source in (table.metadata_location, table.location()):
        check(measured(source, truth, filesystem(store), Here()), truth)


class Between(Here):
    """Does something after the pass that adds up."""

    def __init__(self, then: Callable[[], object]) -> None:
        self.then = then

    def total(self, function: Callable[[Any], Any], units: Sequence[Any], *watch: Any) -> Any:
        result = super().total(function, units, *watch)
        if "Adding(" in repr(function):
            self.then()
        return result


def test_an_object_that_is_replaced_by_another_of_equal_size_is_named(store: str, tmp_path: Path) -> None:
    truth = people(200)
    (tmp_path / "data").mkdir()
    options = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    truth = truth.assign(region="north")
    pq.write_table(arrow(truth), tmp_path / "data" / "x.parquet", **options)
    pq.write_table(arrow(people(200, seed=5).assign(region="north")), tmp_path / "other.parquet", **options)
    assert (tmp_path / "other.parquet").stat().st_size == (tmp_path / "data" / "x.parquet").stat().st_size
    upload(store, tmp_path / "data", "replaced")
    swap = Between(lambda: client(store).upload_file(str(tmp_path / "other.parquet"), BUCKET, "replaced/x.parquet"))
    with pytest.raises(seepage.errors.InputError, match=r"replaced/x\.parquet has changed since the job began"):
        measured(f"{BUCKET}/replaced", truth, filesystem(store), swap)


def test_a_store_that_misbehaves_gives_the_same_numbers(store: str, tmp_path: Path) -> None:
    truth = people(400)
    (tmp_path / "data").mkdir()
    for i in range(4):
        pq.write_table(arrow(truth.iloc[100 * i : 100 * i + 100]), tmp_path / "data" / f"{i}.parquet")
    upload(store, tmp_path / "data", "faults")
    faults = Faults(failing=0.30, cut=0.10, hanging=0.05)
    with faulty(store, faults) as address:
        leak = measured(f"{BUCKET}/faults", truth, filesystem(address), Local(workers=2, stall=10.0), f"{BUCKET}/out")
        found = leak.examples.to_table().to_pandas()
    assert faults.requests >= 20
    assert faults.spoiled >= 9 * (faults.requests // 20)
    model = Ridge().fit(truth[FEATURES], truth["cost"])
    expected = seepage.measure(model, truth[FEATURES], truth["cost"], noise_scale=0.5)
    assert found["person"].tolist() == truth["person"].tolist()
    np.testing.assert_allclose(found["eta"], expected.examples["eta"], rtol=1e-9)


def test_a_store_that_only_fails_ends_with_what_it_said(store: str) -> None:
    with (
        faulty(store, Faults(failing=1.0)) as address,
        pytest.raises(seepage.errors.StorageError, match=r"was asked 32 times in .* s; at last .*HTTP status 500"),
    ):
        seepage.engines.fit(
            Ridge(), f"{BUCKET}/faults", target="cost", job=seepage.engines.Job(Here(), filesystem=filesystem(address))
        )


NO_PERMISSION = "gives no permission for"
NO_CREDENTIALS = "does not accept the credentials, or the region, for"


def job(address: str, output: str | None = None) -> seepage.engines.Job:
    return seepage.engines.Job(Here(), output, filesystem=filesystem(address))


@pytest.fixture(scope="module")
def one_file(store: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("one")
    pq.write_table(arrow(people(50)), folder / "x.parquet")
    upload(store, folder, "one")
    return f"{BUCKET}/one"


@pytest.mark.parametrize(
    ("refusal", "opened", "listed"),
    [
        ((403, "AccessDenied"), NO_PERMISSION, NO_PERMISSION),
        ((401, "Unauthorized"), NO_PERMISSION, NO_PERMISSION),
        # Asked for a file, a store may send its status alone; asked for a list, it says why.
        ((403, "InvalidAccessKeyId"), NO_PERMISSION, NO_CREDENTIALS),
        ((403, "SignatureDoesNotMatch"), NO_PERMISSION, NO_CREDENTIALS),
        ((403, "RequestTimeTooSkewed"), NO_PERMISSION, NO_CREDENTIALS),
        ((400, "ExpiredToken"), NO_CREDENTIALS, NO_CREDENTIALS),
        ((301, "PermanentRedirect"), "is not where its region", "is not where its region"),
        ((405, "MethodNotAllowed"), "refuses", "refuses"),
    ],
    ids=lambda each: each[1] if isinstance(each, tuple) else "",
)
def test_what_a_store_refuses_is_not_called_damaged(
    store: str, one_file: str, refusal: tuple[int, str], opened: str, listed: str
) -> None:
    for word, told in (("one/x.parquet", opened), ("list-type=2", listed)):
        faults = Faults(refusal=refusal, refuses=lambda method, path, word=word: word in path)
        with (
            faulty(store, faults) as address,
            pytest.raises(seepage.errors.InputError, match=f"The store {told}") as caught,
        ):
            seepage.engines.fit(Ridge(), one_file, target="cost", features=FEATURES, job=job(address))
        # Not one of a damaged file, which would let another take its place when the job is resumed.
        assert type(caught.value) is seepage.errors.InputError
        assert one_file in str(caught.value)
        assert "Nothing is known to be wrong with the file" in str(caught.value)
        # Asking again would change nothing.
        assert faults.requests < 20


def test_what_is_missing_in_a_store_is_called_missing(store: str, one_file: str) -> None:
    gone = Faults(refusal=(404, "NoSuchKey"), refuses=lambda method, path: path.endswith(".parquet"))
    with faulty(store, gone) as address, pytest.raises(seepage.errors.InputError, match=r"one/x\.parquet is missing"):
        seepage.engines.fit(Ridge(), one_file, target="cost", features=FEATURES, job=job(address))
    for source in ("no-such-bucket/people/*.parquet", "no-such-bucket/people"):
        with pytest.raises(
            seepage.errors.InputError, match=r"no-such-bucket/people.* (is missing|does not exist)|No file matches"
        ):
            seepage.engines.fit(Ridge(), source, target="cost", features=FEATURES, job=job(store))


@pytest.mark.parametrize("refusal", [(503, "SlowDown"), (429, "TooManyRequests")])
def test_a_store_that_is_asked_too_often_is_asked_later(store: str, one_file: str, refusal: tuple[int, str]) -> None:
    with (
        faulty(store, Faults(refusal=refusal)) as address,
        pytest.raises(seepage.errors.StorageError, match=rf"asked 32 times .*HTTP status {refusal[0]}"),
    ):
        seepage.engines.fit(Ridge(), one_file, target="cost", features=FEATURES, job=job(address))


def test_who_may_read_and_not_write_is_told(store: str, one_file: str) -> None:
    truth = people(50)
    model = Ridge().fit(truth[FEATURES], truth["cost"])
    only_read = Faults(refusal=(403, "AccessDenied"), refuses=lambda method, path: method in ("POST", "PUT"))
    with (
        faulty(store, only_read) as address,
        pytest.raises(seepage.errors.InputError, match=f"{NO_PERMISSION} {BUCKET}/not_written"),
    ):
        seepage.measure(model, one_file, target="cost", noise_scale=0.5, job=job(address, f"{BUCKET}/not_written"))
