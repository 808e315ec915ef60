"""The commands, and what becomes of everything that goes wrong in them."""

import errno
import os
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperGroup

from seepage._version import __version__
from seepage.cli.commands._calibrate import calibrate
from seepage.cli.commands._certify import certify
from seepage.cli.commands._check import check
from seepage.cli.commands._endings import WORDS, Ending, ending_of, interrupts
from seepage.cli.commands._explain import explain
from seepage.cli.commands._inspect import inspect
from seepage.cli.commands._ledger import ledger
from seepage.cli.commands._measure import measure
from seepage.cli.commands._options import ARGUMENTS
from seepage.cli.commands._publish import publish
from seepage.cli.commands._show import show
from seepage.cli.terminal import note, refuse
from seepage.errors import LedgerError, PolicyError, SeepageError, StorageError, UnansweredError


class _Commands(TyperGroup):
    """The commands in their order."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for parameter in [] if command is None else [*command.params, command.get_help_option(ctx)]:
            # Since click 8.5 an argument loses the help that older versions of typer gave it.
            if isinstance(parameter, TyperArgument) and not getattr(parameter, "help", None):
                parameter.help = ARGUMENTS.get(parameter.name or "")
            _takes_no_value(parameter)
        return command

    def get_params(self, ctx: Any) -> Any:
        found = super().get_params(ctx)
        for parameter in found:
            _takes_no_value(parameter)
        return found


def _takes_no_value(parameter: Any) -> None:
    """Let a flag show no type: newer versions of typer say <bool> of what takes no value."""
    if getattr(parameter, "is_flag", False) and parameter.metavar is None:
        parameter.metavar = ""


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    # Where typer has no click of its own, click makes suggestions already.
    suggest_commands=hasattr(typer, "_click"),
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=WORDS,
)
_PANELS = {
    "Measure": (measure,),
    "Decide": (calibrate, check, inspect, publish),
    "Understand": (certify, show, explain),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.add_typer(ledger, name="ledger", cls=_Commands, rich_help_panel="Decide")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"seepage {__version__}")
        raise typer.Exit


@app.callback()
def _seepage(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Measure what a trained model gives away about each person in its training data.

    Start with `seepage measure model.skops people.csv --target outcome --noise 0.1`
    """


def run() -> int:
    """Run a command and return its exit code; whatever goes wrong is said in a few lines, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # A terminal that cannot show a letter shows a question mark.
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    warnings.showwarning = lambda message, *_, **__: note(str(message))
    # Rows are given with their names also to models that were fitted without.
    warnings.filterwarnings("ignore", message="X has feature names")
    # Workers that are stopped in the middle leave semaphores behind, which are cleaned up without a word.
    others = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [others, "ignore:resource_tracker:UserWarning"]))
    try:
        app(prog_name="seepage")
    except SystemExit as end:
        interrupts.heed()
        return ending_of(end)
    except Exception as reason:
        interrupts.heed()
        if os.environ.get("SEEPAGE_DEBUG"):
            traceback.print_exc()
        return _refused(reason)
    return Ending.DONE


# The heading and the exit code of each kind of error, the narrower kinds first.
_ENDINGS: tuple[tuple[type[Exception], str, Ending], ...] = (
    (PolicyError, "Not published", Ending.MISSED),
    (LedgerError, "Error", Ending.MISMATCH),
    (StorageError, "Not finished", Ending.UNFINISHED),
    (SeepageError, "Error", Ending.UNUSABLE),
    (MemoryError, "Error", Ending.UNUSABLE),
    (OSError, "Not finished", Ending.UNFINISHED),
    (Exception, "Unforeseen error", Ending.UNFINISHED),
)


def _refused(reason: Exception) -> int:
    """Print what went wrong, and return the exit code for it."""
    title, ending = next((title, ending) for kind, title, ending in _ENDINGS if isinstance(reason, kind))
    refuse(_words(reason), title=title)
    return ending


def _words(reason: Exception) -> str:
    """Return the message of an error, with the way out on the command line."""
    if isinstance(reason, UnansweredError) and "memory" in str(reason):
        return f"{reason}\n\nHere, --in-memory reads all rows at once."
    if isinstance(reason, SeepageError):
        return str(reason)
    if isinstance(reason, MemoryError):
        return "There is not enough memory for these rows. Write them as Parquet and pass --stream: a batch at a time."
    if isinstance(reason, OSError):
        where = f" ({reason.filename})" if reason.filename else ""
        if reason.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"There is no space left to write to{where}. Make room, or write to another folder."
        return f"{reason.strerror or reason}{where}. Files could not be read or written; nothing else is wrong."
    return (
        f"{type(reason).__name__}: {reason}\n\nThis was not foreseen. If the input is correct, please report it with "
        "what SEEPAGE_DEBUG=1 before the command prints."
    )
