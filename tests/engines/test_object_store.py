"""Files in an object store are like any others."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from here import Here
from people import People, write_people
from sklearn.linear_model import Ridge

import seepage
from engines.store import BUCKET, client, filesystem, object_store
from seepage.engines import Local


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with object_store() as address:
        yield address


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, endpoint: str) -> People:
    made = write_people(tmp_path_factory.mktemp("people") / "data", rows=3_000, files=4)
    for path in made.folder.iterdir():
        client(endpoint).upload_file(str(path), BUCKET, f"people/{path.name}")
    return made


def test_an_object_store_gives_the_numbers_of_memory(people: People, endpoint: str) -> None:
    model = Ridge().fit(people.X, people.frame["outcome"])
    expected = seepage.measure(model, people.X, people.frame["outcome"], noise_scale=0.1)
    store = filesystem(endpoint)
    leak = seepage.measure(
        model,
        "s3://bucket/people/*.parquet",
        target="outcome",
        noise_scale=0.1,
        ids="person",
        job=seepage.engines.Job(Local(workers=2), "s3://bucket/leakage/", filesystem=store),
    )
    examples = leak.examples.to_table().to_pandas()
    assert examples["person"].tolist() == people.frame["person"].tolist()
    np.testing.assert_allclose(examples[["eta", "dfil"]], expected.examples, rtol=1e-10, atol=0)
    left = [info.path for info in store.get_file_info(pyarrow.fs.FileSelector("bucket/leakage", recursive=True))]
    assert not [path for path in left if path.endswith((".unfinished", ".npz"))]


def test_a_uri_says_where_its_store_is(people: People, endpoint: str) -> None:
    model = Ridge().fit(people.X, people.frame["outcome"])
    where = f"scheme=http&region=us-east-1&endpoint_override={endpoint}"
    source = f"s3://someone:secret@bucket/people/part-00[0-3].parquet?{where}"
    leak = seepage.measure(model, source, target="outcome", noise_scale=0.1, job=seepage.engines.Job(Local(workers=2)))
    expected = seepage.measure(model, people.X, people.frame["outcome"], noise_scale=0.1)
    np.testing.assert_allclose(leak.joint_information_loss(), expected.joint_information_loss(), rtol=1e-10)


class Between(Here):
    """An engine that replaces an object after the pass that adds up."""

    def __init__(self, replace: Callable[[], object]) -> None:
        self.replace = replace

    def total(self, function: Callable[[Any], Any], units: Sequence[Any], *watch: Any) -> Any:
        result = super().total(function, units, *watch)
        if "Adding(" in repr(function):
            self.replace()
        return result


def test_an_object_that_is_replaced_by_another_of_equal_size_is_named(
    people: People, endpoint: str, tmp_path: Path
) -> None:
    model = Ridge().fit(people.X, people.frame["outcome"])
    store = filesystem(endpoint)
    options = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    one = pa.Table.from_pandas(people.frame[[*people.X, "outcome"]], preserve_index=False)

    def put(table: pa.Table) -> None:
        pq.write_table(table, tmp_path / "x.parquet", **options)
        with store.open_output_stream("bucket/replaced/x.parquet") as sink:
            sink.write((tmp_path / "x.parquet").read_bytes())

    put(one)
    job = seepage.engines.Job(Between(lambda: put(one[::-1])), filesystem=store)
    with pytest.raises(seepage.errors.InputError, match=r"replaced/x\.parquet has changed since the job began"):
        seepage.measure(model, "bucket/replaced", target="outcome", noise_scale=0.1, job=job)
