"""Files: peak memory of a worker and time a row, from one million rows to sixteen."""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._people import people
from benchmarks.engines import fitted, ours
from seepage.engines import Local

_MILLION = 1_000_000


@dataclass(frozen=True)
class _Peak:
    """Runs a function, and notes the most memory that its worker ever held."""

    function: Callable[[Any], Any]
    folder: str
    preload: str

    def __call__(self, unit: Any) -> Any:
        result = self.function(unit)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with open(f"{self.folder}/peaks", "a") as note:
            note.write(f"{peak}\n")
        return result


@dataclass(frozen=True)
class _Watched(Local):
    folder: str = ""

    def total(self, function: Callable[[Any], Any], units: Sequence[Any], *watch: Any) -> Any:
        return super().total(_Peak(function, self.folder, function.preload), units, *watch)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks flat")
    parser.add_argument("--millions", type=int, nargs="*", default=[1, 4, 16])
    options = parser.parse_args(sys.argv[2:])
    first: tuple[float, float] | None = None
    for millions in options.millions:
        with people(millions * _MILLION, 8 * millions) as folder:
            model = fitted(folder)
            start = time.perf_counter()
            ours(_Watched(workers=2, folder=str(folder)), folder, model)
            each = (time.perf_counter() - start) / millions
            peak = max(np.loadtxt(folder / "peaks", ndmin=1)) / 1e3
            first = first or (peak, each)
            print(
                f"{millions:>3} million rows: worker at most {peak:.0f} MB ({peak / first[0]:.2f} x the first), "
                f"{each:.2f} microseconds a row ({each / first[1]:.2f} x)"
            )
