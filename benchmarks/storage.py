"""Storage: the share of replaced files that a job notices."""

import argparse
import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
from sklearn.linear_model import Ridge

import seepage
from seepage.engines import Engine

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from engines.store import BUCKET, client, filesystem, object_store

FEATURES = [f"x{i}" for i in range(6)]


def people(rows: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, len(FEATURES)))
    columns = dict(zip(FEATURES, X.T, strict=True))
    return pa.table(columns | {"y": X.sum(axis=1) + random.normal(size=rows), "person": np.arange(rows)})


def write(table: pa.Table, path: Path) -> None:
    # Nothing but the values differs between two files that are written so: neither size nor footer.
    pq.write_table(
        table.replace_schema_metadata(None), path, use_dictionary=False, compression="none", write_statistics=False
    )


@dataclass(frozen=True)
class Here(Engine):
    """Runs units in this process; does something when rows were added up, or dies when the first were scored."""

    then: Callable[[], None] | None = None
    dies: bool = False
    workers = 2

    def map(self, function: Callable[[Any], Any], units: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        name = type(function).__name__
        for index, unit in enumerate(units):
            yield index, function(unit)
            if self.dies and name == "Scores":
                os.kill(os.getpid(), signal.SIGKILL)
        if self.then is not None and name == "Adding":
            self.then()


def doomed(model: Ridge, source: str, output: str, home: pyarrow.fs.FileSystem | None) -> None:
    """Be killed in the midst of a job."""
    measured(model, source, Here(dies=True), output, home, False)


def measured(
    model: Ridge, source: str, engine: Engine, output: str, home: pyarrow.fs.FileSystem | None, resume: bool
) -> None:
    job = seepage.engines.Job(engine, output, resume=resume, filesystem=home)
    seepage.measure(model, source, target="y", noise_scale=0.5, ids="person", job=job)


def replaced(tries: int, store: str | None) -> None:
    """Replace a file by another of equal size, between passes and between a kill and resuming."""
    noticed = {"between passes": 0, "between kill and resume": 0}
    with TemporaryDirectory() as made:
        folder = Path(made)
        tables = [people(400, seed) for seed in range(6)]
        whole = pa.concat_tables(tables).to_pandas().assign(person=np.arange(2400))
        model = Ridge().fit(whole[FEATURES], whole["y"])
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["seepage.linear._warm"])
        for number in range(tries):
            for case in noticed:
                place = folder / f"{number}" / case.replace(" ", "-")
                place.mkdir(parents=True)
                for i in range(6):
                    part = pa.Table.from_pandas(whole.iloc[400 * i : 400 * i + 400], preserve_index=False)
                    write(part, place / f"{i}.parquet")
                name = f"{number % 6}.parquet"
                other = people(400, 1000 + number).set_column(7, "person", [np.arange(400) + 400 * (number % 6)])
                write(other, folder / name)
                assert (folder / name).stat().st_size == (place / name).stat().st_size
                source, output = str(place), f"{folder}/{number}/out-{case.replace(' ', '-')}"
                home = None
                if store is not None:
                    home = filesystem(store)
                    prefix = f"{number}-{case.replace(' ', '-')}"
                    for path in place.iterdir():
                        client(store).upload_file(str(path), BUCKET, f"{prefix}/rows/{path.name}")
                    source, output = f"{BUCKET}/{prefix}/rows", f"{BUCKET}/{prefix}/out"

                def swap(name: str = name, place: Path = place, source: str = source) -> None:
                    if store is None:
                        shutil.copyfile(folder / name, place / name)
                    else:
                        client(store).upload_file(str(folder / name), BUCKET, f"{source.partition('/')[2]}/{name}")

                engine = Here(then=swap)
                resume = case == "between kill and resume"
                if resume:
                    process = context.Process(target=doomed, args=(model, source, output, home))
                    process.start()
                    process.join()
                    assert process.exitcode == -signal.SIGKILL
                    swap()
                    engine = Here()
                try:
                    measured(model, source, engine, output, home, resume)
                except seepage.errors.InputError as error:
                    noticed[case] += name in str(error) and "changed" in str(error)
            shutil.rmtree(folder / f"{number}", ignore_errors=True)
            if (number + 1) % 10 == 0 or number + 1 == tries:
                told = "; ".join(f"{case} {count}" for case, count in noticed.items())
                where = "a folder" if store is None else "an object store"
                print(
                    f"a file replaced by another of equal size in {where}, {number + 1} tries, noticed: {told}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks storage")
    parser.add_argument("--tries", type=int, default=100)
    options = parser.parse_args(sys.argv[2:])
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    with object_store() as store:
        replaced(options.tries, None)
        replaced(options.tries, store)
