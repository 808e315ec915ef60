"""`seepage inspect`."""

from pathlib import Path
from typing import Annotated

import typer

from seepage._python import StrEnum
from seepage.cli.commands._options import ARGUMENTS, OUT, Force, Quiet, option


class InspectionFormat(StrEnum):
    """Formats of the findings."""

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
        InspectionFormat, typer.Option("--format", "-f", help="For a pipeline.", rich_help_panel=OUT)
    ] = InspectionFormat.text,
    out: Annotated[Path | None, option(OUT, "FILE", "A file instead of standard output.", "--out", "-o")] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Compare files with people before they are published: exit code 0 if they pass, 1 if they need a review.

    Models, tables, notebooks, archives and folders are read; nothing in them is run. Values and ids of the people in
    `--data` are recognized as they are, in single precision, rounded, in other units, scaled and in another order.
    Without `--data` no file passes. A part that is not read, or not within 60 seconds and 256 MB of decoded values,
    needs a review. The output holds no value and no id.
    """
    from seepage._writing import write_file
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import whole_frame
    from seepage.cli.terminal import Waiting, check_outputs, printable, screen
    from seepage.inspection import Finder, as_sarif

    if ids is not None and data is None:
        raise typer.BadParameter("of which rows? Name their file: --data people.parquet.", param_hint="--ids")
    if form is InspectionFormat.json and len(paths) > 1:
        raise typer.BadParameter("JSON is of one path: name a folder, or take sarif.", param_hint="--format")
    check_outputs({"--out": out}, inputs={"PATH": paths[0], "--data": data}, force=force)
    with Waiting(quiet=quiet).shown() as waiting:
        finder = Finder.of(None if data is None else whole_frame(data), ids=ids)
        inspections = []
        for path in paths:
            with waiting.doing(f"reading {path.name}"):
                inspections.append(finder.inspected(path))
    if form is InspectionFormat.sarif:
        document = as_sarif(inspections)
    else:
        document = inspections[0].to_json() if form is InspectionFormat.json else "\n\n".join(map(str, inspections))
    if out is not None:
        write_file(out, document + "\n")
    elif not quiet or form is not InspectionFormat.text:
        screen().print(printable(document), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(Ending.DONE if all(one.verdict == "pass" for one in inspections) else Ending.MISSED)
