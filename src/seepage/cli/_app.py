"""The commands, and what becomes of everything that goes wrong in them."""

import os
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperGroup

from seepage._errors import PolicyError, SeepageError, UnansweredError
from seepage._version import __version__
from seepage.cli.commands._calibrate import calibrate
from seepage.cli.commands._check import check
from seepage.cli.commands._explain import explain
from seepage.cli.commands._measure import measure
from seepage.cli.commands._options import ARGUMENTS
from seepage.cli.commands._plan import plan
from seepage.cli.commands._publish import publish
from seepage.cli.commands._show import show
from seepage.cli.terminal import aside, note, refuse

_MISSED, _UNUSABLE, _STOPPED = 1, 2, 130


class _Commands(TyperGroup):
    """The commands in their order; a command that was stopped is no missed policy."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for parameter in [] if command is None else command.params:
            # Since click 8.5 an argument loses the help that older versions of typer gave it.
            if isinstance(parameter, TyperArgument) and not getattr(parameter, "help", None):
                parameter.help = ARGUMENTS.get(parameter.name or "")
        return command

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            aside().print("Stopped.")
            raise typer.Exit(_STOPPED) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    # Where typer has no click of its own, click makes suggestions already.
    suggest_commands=hasattr(typer, "_click"),
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit code: 0 done, 1 a policy is missed, 2 the input cannot be used.",
)
_BEFORE, _DECIDE, _UNDERSTAND = "Measure", "Decide", "Understand"
app.command(rich_help_panel=_BEFORE)(measure)
app.command(rich_help_panel=_BEFORE)(plan)
app.command(rich_help_panel=_DECIDE)(calibrate)
app.command(rich_help_panel=_DECIDE)(check)
app.command(rich_help_panel=_DECIDE)(publish)
app.command(rich_help_panel=_UNDERSTAND)(show)
app.command(rich_help_panel=_UNDERSTAND)(explain)


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

    Start with `seepage measure model.skops people.csv --target outcome --noise-scale 0.1`
    """


def run() -> None:
    """Run a command; whatever goes wrong is said in a few lines, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows a question mark.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    warnings.showwarning = lambda message, *_, **__: note(str(message))
    # Rows are given with their names also to models that were fitted without.
    warnings.filterwarnings("ignore", message="X has feature names")
    # Workers that are stopped in the middle leave semaphores behind, which are cleaned up without a word.
    others = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [others, "ignore:resource_tracker:UserWarning"]))
    if os.environ.get("SEEPAGE_DEBUG"):
        app(prog_name="seepage")
    try:
        app(prog_name="seepage")
    except PolicyError as reason:
        refuse(str(reason), title="The policy is missed")
        sys.exit(_MISSED)
    except UnansweredError as reason:
        refuse(f"{reason}\n\nRows that are streamed cannot answer everything: --in-memory reads them at once.")
        sys.exit(_UNUSABLE)
    except SeepageError as reason:
        refuse(str(reason))
        sys.exit(_UNUSABLE)
    except MemoryError:
        refuse("There is not enough memory for these rows. See what they take with: seepage plan")
        sys.exit(_UNUSABLE)
    except Exception as reason:
        refuse(
            f"{type(reason).__name__}: {reason}\n\nThis was not foreseen. If it is no mistake in the input, please "
            "report it with what SEEPAGE_DEBUG=1 before the command prints.",
            title="Unforeseen error",
        )
        sys.exit(_UNUSABLE)
