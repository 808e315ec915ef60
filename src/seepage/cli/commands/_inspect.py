"""`seepage inspect`."""

from pathlib import Path
from typing import Annotated

import typer

from seepage._python import StrEnum
from seepage.cli.commands._options import ARGUMENTS, OUT, Force, Quiet, option


class InspectionTold(StrEnum):
    """How it is told what was found."""

    text = "text"
    json = "json"
    sarif = "sarif"


def inspect(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help=ARGUMENTS["paths"], show_default=False)],
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", metavar="FILE", help="The rows that must not be in it: CSV, Parquet or Arrow."),
    ] = None,
    ids: Annotated[
        str | None, typer.Option("--ids", metavar="COLUMN", help="The column that says who each row is.")
    ] = None,
    form: Annotated[
        InspectionTold, typer.Option("--format", "-f", help="For a pipeline.", rich_help_panel=OUT)
    ] = InspectionTold.text,
    out: Annotated[Path | None, option(OUT, "FILE", "A file instead of standard output.", "--out", "-o")] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Look for people in files before they leave: exit code 0 if nothing was found, 1 if somebody should look.

    Models, tables, notebooks, archives and folders are looked into; nothing in them is run. With `--data` rows, columns
    and ids are found as they are, in single precision, rounded, scaled, sorted and in another order. Without it, files
    are judged by shapes, classes and names, and a table of 20 rows or more needs a review. A part that is not read, or
    not within 60 seconds and 256 MB of decoded values, needs one too. What it prints holds nobody's value, and can be
    sent to whoever made them.
    """
    from seepage._writing import write_file
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import whole_frame
    from seepage.cli.terminal import Waiting, check_outputs, printable, screen
    from seepage.inspection import Finder, as_sarif

    if ids is not None and data is None:
        raise typer.BadParameter("of which rows? Name their file: --data people.parquet.", param_hint="--ids")
    if form is InspectionTold.json and len(paths) > 1:
        raise typer.BadParameter("JSON is of one path: name a folder, or take sarif.", param_hint="--format")
    check_outputs({"--out": out}, inputs={"PATH": paths[0], "--data": data}, force=force)
    with Waiting(quiet=quiet).shown() as waiting:
        finder = Finder.of(None if data is None else whole_frame(data), ids=ids)
        found = []
        for path in paths:
            with waiting.doing(f"looking into {path.name}"):
                found.append(finder.inspected(path))
    if form is InspectionTold.sarif:
        document = as_sarif(found)
    else:
        document = found[0].to_json() if form is InspectionTold.json else "\n\n".join(each.text() for each in found)
    if out is not None:
        write_file(out, document + "\n")
    elif not quiet or form is not InspectionTold.text:
        screen().print(printable(document), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(Ending.DONE if all(each.verdict == "pass" for each in found) else Ending.MISSED)
