"""The terminal's face: `seepage --help`."""

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from seepage.cli._app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        print('The command line needs typer and rich. Install them with: pip install "seepage[cli]"', file=sys.stderr)
        sys.exit(2)
    run()
