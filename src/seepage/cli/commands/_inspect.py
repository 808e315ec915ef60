"""`seepage inspect`."""

from pathlib import Path

import typer

from seepage._python import StrEnum
from seepage.cli.commands._options import command


class InspectionFormat(StrEnum):
    """Formats of the findings."""

    text = "text"
    json = "json"
    sarif = "sarif"


@command
def inspect(
    path: list[Path],
    *,
    data: str | None = None,
    ids: str | None = None,
    format: InspectionFormat = InspectionFormat.text,  # noqa: A002
    out: Path | None = None,
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Compare files with people before they are published: exit code 0 if they pass, 1 if they need a review.

    Models, tables, notebooks, archives and folders are read; nothing in them is run. Values and ids of the people in
    `--data` are recognized as they are, in single precision, rounded, in other units, scaled and in another order.
    Without `--data` no file passes. A part that is not read, or not within 60 seconds and 256 MB of decoded values,
    needs a review. The output holds no value and no id.

    PATH...
        The files to be published, or folders of them.
    --data, -d FILE
        The rows that must not be in it: CSV or Parquet.
    --ids COLUMN
        The column of the rows' ids.

    What comes out
    --------------
    --format, -f
        For a pipeline.
    --out, -o FILE
        A file instead of standard output.
    --force
        Replace files that exist.
    --quiet, -q
        Print nothing but errors.
    """
    from seepage.cli.commands._endings import Ending
    from seepage.cli.input import whole_frame
    from seepage.cli.terminal import Waiting, check_outputs, print_or_write
    from seepage.inspection import Finder, as_sarif

    if ids is not None and data is None:
        raise typer.BadParameter("of which rows? Name their file: --data people.parquet.", param_hint="--ids")
    if format is InspectionFormat.json and len(path) > 1:
        raise typer.BadParameter("JSON is of one path: name a folder, or take sarif.", param_hint="--format")
    check_outputs({"--out": out}, inputs={"PATH": path[0], "--data": data}, force=force)
    with Waiting(quiet=quiet).shown() as waiting:
        finder = Finder.of(None if data is None else whole_frame(data), ids=ids)
        inspections = []
        for place in path:
            with waiting.doing(f"reading {place.name}"):
                inspections.append(finder.inspected(place))
    if format is InspectionFormat.sarif:
        document = as_sarif(inspections)
    else:
        document = inspections[0].to_json() if format is InspectionFormat.json else "\n\n".join(map(str, inspections))
    if out is not None or not quiet or format is not InspectionFormat.text:
        print_or_write(document, out)
    raise typer.Exit(Ending.DONE if all(one.verdict == "pass" for one in inspections) else Ending.MISSED)
