"""`seepage show`."""

from pathlib import Path
from typing import Annotated

import typer

from seepage.cli.commands._options import ARGUMENTS


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=ARGUMENTS["file"], show_default=False)],
) -> None:
    """Show a report or a certificate that was written earlier."""
    from seepage.cli.terminal import show_document

    show_document(file)
