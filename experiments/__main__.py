"""Run an experiment by name as far as it has not been done, or all that have no results yet, and write the tables.

`all` runs those experiments whose results are not among the figures, or are of another version of their script. Then it
decides all verdicts anew from the results that are there, and writes them as data and as tables. Results of a full run
are never overwritten by those of a quick one, nor by a part of them.
"""

import argparse
import importlib
import time
from pathlib import Path

from experiments._made import commit, is_full, left_out, made, stored
from experiments._work import Work

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", choices=[*NAMES, "all"], metavar="NAME", help=f"{', '.join(NAMES)}, or all")
    parser.add_argument("--quick", action="store_true", help="fewer people, draws and settings: minutes for all")
    parser.add_argument(
        "--output", type=Path, default=Path("results"), metavar="DIR", help="where results and figures go"
    )
    parser.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        help="where pieces are kept as they are done, so that a run that was stopped goes on (results/state; "
        "nowhere with --quick)",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PIECE",
        help="do only the pieces whose name begins so, and show what is kept of the others; may be repeated",
    )
    given = parser.parse_args()
    state = given.state or (None if given.quick else Path("results/state"))
    names = NAMES if given.name == "all" else [given.name]
    full = [name for name in names if given.quick and is_full(given.output / f"{name}.json")]
    if full:
        parser.error(
            f"{given.output} holds full results of {', '.join(full)}, which a quick run would overwrite: name another "
            "folder with --output, or leave --quick out."
        )
    for name in names:
        start = time.perf_counter()
        script = importlib.import_module(f"experiments.{name}")
        before = stored(given.output / f"{name}.json", script, given.quick)
        if before and given.name == "all":
            print(f"{name}: as it is, version {script.VERSION} made at {before['made']['commit']}")
            continue
        work = Work(name, state, tuple(given.only), script.VERSION, commit(), before)
        result = script.run(quick=given.quick, work=work)
        missing = [] if given.quick else left_out(before, work)
        if missing:
            raise SystemExit(
                f"{given.output / f'{name}.json'} stays as it is: it holds what this run does not, {_listed(missing)}. "
                f"What was done is kept in {state}; name another folder with --output, or leave --only out to do the "
                "rest."
            )
        result.numbers.update(quick=given.quick, made=made(script, work))
        written = result.save(name, given.output)
        print(f"{name} ({time.perf_counter() - start:.0f} s): {', '.join(str(path) for path in written)}")
        for line in result.lines:
            print(f"  {line}")
    if given.name == "all":
        # Here, as the pages read the results of all of them.
        from experiments._table import write

        write(given.output)


def _listed(names: list[str]) -> str:
    """Return the first few of some names."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


if __name__ == "__main__":
    main()
