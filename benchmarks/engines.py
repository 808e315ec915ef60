"""Engines: the same numbers as memory, and the cost as a ratio to the same engine run bare.

The bare kernels only read (the same columns), and do B^T B in pass one; X @ Q and one written column in pass two.
Rounds are interleaved. Beside the seconds of a clock stand those of processors, of this process and all below it: on a
machine that others use they are what can be compared. Rows that take more than a third of the free memory are not held
against memory.
"""

import argparse
import contextlib
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import Ridge

import seepage
from benchmarks._people import FEATURES, people
from seepage.engines import Engine
from seepage.execution import in_runs
from seepage.execution.storage import Files, FileStore, Unit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from engines.clusters import started

NAMES = tuple(f"x{i}" for i in range(FEATURES))
# What each pass cannot do without reading.
SUMMED = (*NAMES, "outcome")
SCORED = (*SUMMED, "person", "region")
BATCH = 4096
GOALS = {"local": 1.3, "ray": 1.35, "spark": 1.35}


def _matrix(batch: pa.RecordBatch) -> np.ndarray:
    whole = np.empty((FEATURES, batch.num_rows))
    for i, name in enumerate(NAMES):
        whole[i] = batch.column(name).to_numpy()
    return whole.T


@dataclass(frozen=True)
class BareSum:
    """Reads, and does B^T B."""

    store: FileStore

    def __call__(self, run: Sequence[Unit]) -> np.ndarray:
        total = np.zeros((FEATURES, FEATURES))
        for unit in run:
            for batch in self.store.read(unit, SUMMED, BATCH):
                X = _matrix(batch)
                total += X.T @ X
        return total


@dataclass(frozen=True)
class BareScores:
    """Reads, does X @ Q and writes one column."""

    store: FileStore
    square: np.ndarray
    folder: Path

    def __call__(self, run: Sequence[Unit]) -> int:
        for unit in run:
            columns = [(_matrix(batch) @ self.square)[:, 0] for batch in self.store.read(unit, SCORED, BATCH)]
            pq.write_table(pa.table({"score": np.concatenate(columns)}), self.folder / f"{unit.index}.parquet")
        return len(run)


def bare(engine: Engine, folder: Path) -> None:
    output = folder / "bare"
    output.mkdir()
    files = Files.of(folder / "data")
    runs = in_runs(files.units, engine.workers)
    total = engine.total(BareSum(files.store), runs)
    engine.total(BareScores(files.store, total / np.abs(total).max(), output), runs)
    shutil.rmtree(output)


def ours(engine: Engine, folder: Path, model: Ridge) -> seepage.Leakage:
    return seepage.measure(
        model,
        folder / "data",
        target="outcome",
        ids="person",
        groups="region",
        noise_scale=0.1,
        job=seepage.engines.Job(engine, folder / "leakage", progress=False),
    )


def processors() -> float:
    """Return the seconds of processors that this process, those below it and those that ended there have used."""
    below = psutil.Process()
    used = 0.0
    for process in (below, *below.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            used += sum(process.cpu_times()[:4])
    return used


def seconds(run: Any, *arguments: Any) -> np.ndarray:
    """Return how long a run takes, by a clock and by processors."""
    start = np.array([time.perf_counter(), processors()])
    run(*arguments)
    return np.array([time.perf_counter(), processors()]) - start


def fitted(folder: Path) -> Ridge:
    """Return the exact minimizer on the numeric columns."""
    return seepage.engines.fit(Ridge(), folder / "data", target="outcome", features=NAMES)


def in_memory(folder: Path, model: Ridge) -> tuple[np.ndarray, float]:
    # File by file: all rows twice are too many.
    files = sorted((folder / "data").rglob("*.parquet"))
    counts = [pq.read_metadata(file).num_rows for file in files]
    X, y = np.empty((len(NAMES), sum(counts))), np.empty(sum(counts))
    for file, start, count in zip(files, np.cumsum([0, *counts]), counts, strict=False):
        table = pq.read_table(file, columns=[*NAMES, "outcome"])
        for i, name in enumerate(NAMES):
            X[i, start : start + count] = table.column(name).to_numpy()
        y[start : start + count] = table.column("outcome").to_numpy()
    plain = Ridge(alpha=model.alpha)
    plain.coef_, plain.intercept_, plain.n_features_in_ = model.coef_, model.intercept_, len(NAMES)
    leak = seepage.measure(plain, X.T, y, noise_scale=0.1)
    return leak.information.examples()["eta"], leak.joint_information_loss()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks engines")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", nargs="*", default=list(GOALS))
    options = parser.parse_args(sys.argv[2:])
    with people(options.rows, options.files) as folder:
        model = fitted(folder)
        fits = 3 * 8 * FEATURES * options.rows < psutil.virtual_memory().available
        expected, joint = in_memory(folder, model) if fits else (None, np.nan)
        for name in options.engines:
            with started(name, folder / f"cluster-{name}") as engine:
                leak = ours(engine, folder, model)
                if expected is not None:
                    eta = leak.examples.to_table(columns=["eta"]).column("eta").to_numpy()
                    apart = float(np.abs(eta / expected - 1).max())
                    print(
                        f"{name}: eta within {apart:.0e} of memory, "
                        f"joint within {abs(leak.joint_information_loss() / joint - 1):.0e}"
                    )
                shutil.rmtree(folder / "leakage")
                bare(engine, folder)
                works, bases = [], []
                for _ in range(options.rounds):
                    works.append(seconds(ours, engine, folder, model))
                    shutil.rmtree(folder / "leakage")
                    bases.append(seconds(bare, engine, folder))
                ratio = np.median(np.array(works) / bases, axis=0)
                work, base = np.median(works, axis=0), np.median(bases, axis=0)
                for i, what in enumerate(("by the clock", "of processors")):
                    took = f"{work[i]:.1f} s against {base[i]:.1f} s"
                    print(f"{name}: {ratio[i]:.2f} x bare {what}, goal {GOALS[name]} ({took})", flush=True)
