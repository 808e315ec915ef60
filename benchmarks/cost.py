"""The cost model of files: what reading, adding up and scoring a row takes on one core, fitted over widths.

Each part is fitted as a + b p + c p^2 nanoseconds a row, none of them negative, to rows of 16 to 512 features; a width
that was not fitted tells how far the model can be trusted. Then the predictions for clusters.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.linear_model import Ridge

import seepage
from benchmarks._people import people
from seepage.engines import Engine
from seepage.execution._engine import one_thread

FITTED, HELD_OUT = (16, 32, 64, 128, 256, 512), 100
NUMBERS = 2**24
PARTS = ("reading", "adding up", "scoring")
# Of a node of a cluster, and of what connects them.
WORKERS, NETWORK = 32, 10e9 / 8


class Inline(Engine):
    """One thread of the calling process."""

    workers = 1

    def map(self, function: Callable[[Any], Any], units: Any) -> Iterator[tuple[int, Any]]:
        one_thread()
        for index, unit in enumerate(units):
            yield index, function(unit)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def measured(width: int) -> np.ndarray:
    """Return the nanoseconds a row of each part."""
    rows = NUMBERS // width
    names = tuple(f"x{i}" for i in range(width))
    with people(rows, 2, width) as folder:
        engine, data = Inline(), folder / "data"
        common = {"target": "outcome", "features": names, "job": seepage.engines.Job(engine, progress=False)}
        model = seepage.engines.fit(Ridge(), data, **common)

        def whole() -> seepage.Leakage:
            shutil.rmtree(folder / "leakage", ignore_errors=True)
            job = seepage.engines.Job(engine, folder / "leakage", progress=False)
            return seepage.measure(model, data, target="outcome", noise_scale=0.1, ids="person", job=job)

        information: Any = whole().information
        reader, units = information.rows.reader, information.rows.files.units

        def read() -> None:
            for unit in units:
                for _ in reader.batches(unit, None):
                    pass

        best = np.min(
            [
                [_seconds(read), _seconds(lambda: seepage.engines.fit(model, data, **common)), _seconds(whole)]
                for _ in range(3)
            ],
            axis=0,
        )
    reading, summed, both = best
    return np.array([reading, summed - reading, both - summed - reading]) / rows * 1e9


def _terms(widths: Any) -> np.ndarray:
    p = np.atleast_1d(np.asarray(widths, dtype=np.float64))
    return np.stack([np.ones_like(p), p, p**2], axis=1)


def fitted(times: np.ndarray) -> np.ndarray:
    """Return a, b, c of each part; relative errors count alike at every width."""
    terms = _terms(FITTED)
    return np.array([nnls(terms / column[:, None], np.ones(len(column)))[0] for column in times.T])


def main() -> None:
    times = np.array([measured(width) for width in FITTED])
    for width, row in zip(FITTED, times, strict=True):
        print(
            f"p = {width:>3}: " + ", ".join(f"{part} {value:,.0f} ns" for part, value in zip(PARTS, row, strict=True))
        )
    model = fitted(times)
    for part, (a, b, c) in zip(PARTS, model, strict=True):
        print(f"{part}: {a:.0f} + {b:.2f} p + {c:.4f} p^2 nanoseconds a row")
    expected, found = (_terms(HELD_OUT) @ model.T)[0], measured(HELD_OUT)
    errors = ", ".join(f"{part} {e / f:.2f}" for part, e, f in zip(PARTS, expected, found, strict=True))
    print(f"predicted / measured at p = {HELD_OUT}, which was not fitted: {errors}")
    for width in (100, 1000):
        reading, adding, scoring = (_terms(width) @ model.T)[0] * 1e-9 * 1e9 / 3600
        hours = 2 * reading + adding + scoring
        print(f"10^9 x {width}: {hours:.1f} core-hours ({2 * reading:.1f} of them reading)")
        for nodes in (10, 100):
            tree = 8 * width**2 * np.log(nodes * WORKERS) / np.log(8) / NETWORK
            wall = hours * 3600 / (nodes * WORKERS) + tree
            rate = 2 * 8 * width * 1e9 / wall / 1e9
            print(f"  {nodes} nodes of {WORKERS} workers: {wall:.0f} s, storage must give {rate:.0f} GB/s")
