"""`seepage key`."""

from pathlib import Path
from typing import Annotated

import typer

key = typer.Typer(no_args_is_help=True, help="Make keys to sign certificates with.")


@key.callback()
def _key() -> None:
    """Make keys to sign certificates with."""


@key.command()
def new(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Where to write the secret key, such as signing.key.", show_default=False),
    ],
) -> None:
    """Make a pair of keys: a secret one to sign with, and a public one to check with.

    Only you can read the secret key; whoever has it can sign in your name. The public one is written beside it.
    """
    from rich.text import Text

    from seepage.cli.terminal import screen
    from seepage.release import new_key
    from seepage.release.sealing import called, public_key_of

    public = new_key(file)
    console = screen()
    console.print(Text.assemble("Stays with you        ", (str(file), "bold")))
    console.print(Text.assemble("For everybody         ", (str(public), "bold")))
    console.print()
    console.print(Text(f"Whoever checks can compare: {called(public_key_of(public))}"))
