"""`seepage show`."""

from pathlib import Path

from seepage.cli.commands._options import command


@command
def show(file: Path, *, html: Path | None = None, force: bool = False) -> None:
    """Show a report or a certificate that was written earlier.

    FILE
        A report or a certificate, as JSON.

    What comes out
    --------------
    --html FILE
        Write it as a page that opens on a phone, without network, and print nothing.
    --force
        Replace files that exist.
    """
    from seepage.cli.terminal import check_outputs, show_document

    check_outputs({"--html": html}, inputs={"FILE": file}, force=force)
    show_document(file, html)
