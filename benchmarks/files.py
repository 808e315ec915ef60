"""Many small files: memory and time from a thousand to a hundred thousand of them, here and in an object store.

Each measurement is made in a process of its own. Its peak is that of the driver and those of all workers together,
whenever each of them was; the processor's time is what all of them used.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import Ridge

import seepage
from seepage.engines import Local

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from engines.store import BUCKET, client, filesystem, object_store

ROWS, FEATURES = 20, 8
NAMES = [f"x{i}" for i in range(FEATURES)]


@contextmanager
def people(files: int) -> Iterator[tuple[Path, np.ndarray, np.ndarray]]:
    """Write small files, and yield their folder and their rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(files * ROWS, FEATURES))
    y = X.sum(axis=1) + random.normal(size=len(X))
    folder = Path(mkdtemp(prefix="seepage-benchmark-"))
    try:
        (folder / "data").mkdir()
        for i in range(files):
            part = slice(i * ROWS, i * ROWS + ROWS)
            columns = {name: X[part, j] for j, name in enumerate(NAMES)}
            table = pa.table(columns | {"y": y[part], "person": np.arange(part.start, part.stop)})
            pq.write_table(table, folder / "data" / f"part-{i:06d}.parquet")
        yield folder, X, y
    finally:
        shutil.rmtree(folder)


def peak() -> int:
    """Return the most memory that this process ever held, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@dataclass(frozen=True)
class Noted:
    """Runs a function, and notes what its worker took."""

    function: Callable[[Any], Any]
    folder: str
    preload: str

    def __call__(self, unit: Any) -> Any:
        result = self.function(unit)
        Path(self.folder, str(os.getpid())).write_text(f"{peak()} {time.process_time()}")
        return result


@dataclass(frozen=True)
class Noting(Local):
    """Notes what its workers take."""

    folder: str = ""

    def total(self, function: Callable[[Any], Any], units: Sequence[Any], *watch: Any) -> Any:
        return super().total(Noted(function, self.folder, function.preload), units, *watch)


def alone(answer: Connection, model: Ridge, source: str, output: str, notes: str, address: str | None) -> None:
    """Measure, and send what this process took."""
    home = None if address is None else filesystem(address)
    job = seepage.engines.Job(Noting(workers=2, folder=notes), output, filesystem=home, progress=False)
    start = time.perf_counter()
    leak = seepage.measure(model, source, target="y", ids="person", noise_scale=0.5, job=job)
    took = time.perf_counter() - start, time.process_time(), peak()
    eta = leak.examples.to_table(columns=["person", "eta"]).sort_by("person").column("eta").to_numpy()
    answer.send((*took, eta))


def measured(files: int, address: str | None) -> None:
    with people(files) as (folder, X, y):
        model = Ridge().fit(X, y)
        expected = seepage.measure(model, X, y, noise_scale=0.5).information.examples()["eta"]
        notes = folder / "notes"
        notes.mkdir()
        source, output = str(folder / "data"), str(folder / "leakage")
        if address is not None:
            source, output = f"{BUCKET}/{files}/rows", f"{BUCKET}/{files}/leakage"
            store = client(address)
            for path in (folder / "data").iterdir():
                store.put_object(Bucket=BUCKET, Key=f"{files}/rows/{path.name}", Body=path.read_bytes())
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=alone, args=(theirs, model, source, output, str(notes), address))
        process.start()
        theirs.close()
        seconds, used, driver, eta = ours.recv()
        process.join()
        # A pass has workers of its own: two at a time.
        took = np.array([note.read_text().split() for note in notes.iterdir()], dtype=float)
        workers = 2 * took[:, 0].max()
        where = "on this machine" if address is None else "in an object store"
        print(
            f"{files:>7,} files {where}: {seconds:.0f} s, {used + took[:, 1].sum():.0f} s of processors; at most "
            f"{driver / 1e9:.2f} GB in the driver and {workers / 1e9:.2f} GB in two workers; eta within "
            f"{np.abs(eta / expected - 1).max():.0e} of memory",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks files")
    parser.add_argument("--here", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--stored", type=int, nargs="*", default=[1_000, 10_000])
    options = parser.parse_args(sys.argv[2:])
    for files in options.here:
        measured(files, None)
    if options.stored:
        os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
        with object_store() as store:
            for files in options.stored:
                measured(files, store)
