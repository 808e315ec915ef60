"""Run an experiment by name, or all of them."""

import argparse
import importlib
import time
from pathlib import Path

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", choices=[*NAMES, "all"], metavar="NAME", help=f"{', '.join(NAMES)}, or all")
    parser.add_argument("--quick", action="store_true", help="fewer people, draws and settings: minutes for all")
    parser.add_argument("--output", type=Path, default=Path("results"), metavar="DIR", help="where the figures go")
    given = parser.parse_args()
    for name in NAMES if given.name == "all" else [given.name]:
        start = time.perf_counter()
        result = importlib.import_module(f"experiments.{name}").run(quick=given.quick)
        seconds = time.perf_counter() - start
        result.numbers.update(quick=given.quick, seconds=round(seconds, 1))
        written = result.save(name, given.output)
        print(f"{name} ({seconds:.0f} s): {', '.join(str(path) for path in written)}")
        for line in result.lines:
            print(f"  {line}")


if __name__ == "__main__":
    main()
