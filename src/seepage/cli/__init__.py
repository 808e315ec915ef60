"""The terminal's face: `seepage --help`."""

import sys

from seepage.cli.commands._endings import Ending, interrupts, keep_interrupts, leave


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        keep_interrupts()
        code = _run()
    except KeyboardInterrupt:
        code = Ending.STOPPED
    leave(code)


def _run() -> int:
    try:
        from seepage.cli._app import run
    except ImportError as error:
        interrupts.heed()
        if (error.name or "").partition(".")[0] in ("rich", "typer"):
            needs = 'The command line needs typer and rich. Install them with: pip install "seepage[cli]"'
            print(needs, file=sys.stderr)
            return Ending.UNUSABLE
        import traceback

        traceback.print_exc()
        return Ending.UNFINISHED
    return run()
