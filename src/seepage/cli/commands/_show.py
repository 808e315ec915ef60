"""`seepage show`."""

from pathlib import Path
from typing import Annotated

import typer

from seepage.cli.commands._options import ARGUMENTS, OUT, Force, option


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=ARGUMENTS["file"], show_default=False)],
    html: Annotated[
        Path | None,
        option(OUT, "FILE", "Write it as a page that opens on a phone, without network, and print nothing."),
    ] = None,
    force: Force = False,
) -> None:
    """Show a report or a certificate that was written earlier."""
    from seepage.cli.terminal import check_outputs, show_document

    if html is not None:
        check_outputs({"--html": html}, inputs={"FILE": file}, force=force)
    show_document(file, html)
