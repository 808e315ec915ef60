"""`seepage show`."""

from pathlib import Path
from typing import Annotated

import typer


def show(
    file: Annotated[Path, typer.Argument(help="A report or a certificate, as JSON.", show_default=False)],
) -> None:
    """Show a report or a certificate that was written earlier."""
    from seepage.cli._documents import show_document

    show_document(file)
