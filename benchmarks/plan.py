"""The plan of a job over files against what the job takes: processor time and memory of two workers."""

import argparse
import resource
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import seepage
from benchmarks._people import people
from benchmarks.engines import fitted, ours
from seepage.engines import Local


@dataclass(frozen=True)
class _Noting:
    """Runs a function, and notes how long its worker used the processor and the most memory that it ever held."""

    function: Callable[[Any], Any]
    folder: str
    preload: str

    def __call__(self, unit: Any) -> Any:
        start = time.process_time()
        result = self.function(unit)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with open(f"{self.folder}/notes", "a") as note:
            note.write(f"{time.process_time() - start} {peak * 1024}\n")
        return result


@dataclass(frozen=True)
class _Noted(Local):
    folder: str = ""

    def total(self, function: Callable[[Any], Any], units: Sequence[Any], *watch: Any) -> Any:
        return super().total(_Noting(function, self.folder, function.preload), units, *watch)


def _compared(rows: int, files: int) -> None:
    with people(rows, files) as folder:
        model = fitted(folder)
        engine = _Noted(workers=2, folder=str(folder))
        arguments = {"target": "outcome", "ids": "person", "groups": "region"}
        plan = seepage.engines.plan(model, folder / "data", **arguments, job=seepage.engines.Job(Local(workers=2)))
        start = time.perf_counter()
        ours(engine, folder, model)
        wall = time.perf_counter() - start
        shutil.rmtree(folder / "leakage")
        seconds, peaks = np.loadtxt(Path(folder) / "notes", ndmin=2).T
        planned = 3600 * plan.core_hours
        print(
            f"{rows:,} rows in {files} files: planned {planned:.1f} s, took {seconds.sum():.1f} s of the processor "
            f"({planned / seconds.sum():.2f} x, goal 0.5 to 2; {wall:.1f} s by the clock); planned "
            f"{plan.memory_per_worker / 1e6:.0f} MB, held {peaks.max() / 1e6:.0f} MB "
            f"({plan.memory_per_worker / peaks.max():.2f} x, goal 0.67 to 1.5)",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks plan")
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--files", type=int, nargs="*", default=[16, 2_000])
    options = parser.parse_args(sys.argv[2:])
    for rows in options.rows:
        for files in options.files:
            _compared(rows, files)
