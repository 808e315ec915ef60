"""`seepage calibrate`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from seepage._python import StrEnum
from seepage.cli.commands import _options as options
from seepage.cli.terminal import Amount

if TYPE_CHECKING:
    from seepage.leakage import Leakage
    from seepage.release import Policy


class NoiseSpread(StrEnum):
    """How noise is spread over the coefficients."""

    standard_errors = "standard-errors"
    one_scale = "one-scale"


@dataclass(frozen=True, kw_only=True)
class _Calibrate(options.Measured):
    policy: options.PolicyOption = None
    shape: Annotated[
        NoiseSpread | None,
        typer.Option(
            "--shape",
            help="In standard errors of each coefficient, or one scale for all. By default standard errors, which cost "
            "the model less, where they are counted.",
            show_default=False,
            rich_help_panel=options.MEASURED,
        ),
    ] = None
    stream: options.Stream = None
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Print all digits, which depend on one person.", rich_help_panel=options.OUT),
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the number alone.", rich_help_panel=options.OUT)
    ] = False

    def check(self) -> None:
        """Refuse options about the noise for a policy where there is none."""
        for option, given in {"--shape": self.shape is not None, "--exact": self.exact, "--quiet": self.quiet}.items():
            if given and self.policy is None:
                raise typer.BadParameter(
                    "it is about the noise that a policy takes: name one with --policy.", param_hint=option
                )


@options.taking(_Calibrate)
def calibrate(asked: _Calibrate) -> None:
    """Find noise with which a model meets a policy; or show what some noises give and cost.

    Without --policy, a table says what noise of 0.1 to 1 standard errors gives about each column, and what it costs.
    The answer is what --noise takes, rounded up to 1, 2 or 5 times a power of ten: the most exposed person decides the
    digits.
    """
    from rich.text import Text

    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import Waiting, screen, shortened, show_people

    asked.check()
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = None if asked.policy is None else PolicyFile.read(asked.policy)
        question = asked.question(waiting, stream=asked.stream, file=file)
        leak = question.measured(Amount(1.0))
        table = _choices(leak) if file is None else None
        amount = None if file is None else _least(leak, file.policy, asked.shape, exact=asked.exact)
    console = screen()
    if file is None or amount is None:
        console.print(Text(str(table)))
        for each in leak.information.assumptions:
            if each.kind == "left out":
                console.print(Text(each.sentence()))
        return
    digits = "" if asked.exact else "g"
    if asked.quiet:
        typer.echo(amount.option(digits))
        return
    console.print(Text(f"{amount.words(digits)} meets:"))
    for sentence in file.policy.sentences():
        console.print(Text(f"- {sentence}"))
    if left := file.policy.attributes_without_target(leak).sentence(shortened):
        console.print(Text(left))
    show_people(console, asked.ids)
    if asked.exact:
        console.print(Text("All digits together tell how exposed the most exposed person is: keep them to yourself."))


def _choices(leak: "Leakage") -> str:
    """Return what some noises give and cost."""
    from seepage.release import suggest

    return repr(suggest(leak))


def _least(leak: "Leakage", targets: "Policy", shape: NoiseSpread | None, *, exact: bool) -> Amount:
    """Return the least noise of a shape, or of the first that is counted."""
    from seepage.errors import UnansweredError, UnsupportedError
    from seepage.release import calibrate as smallest

    for spread in NoiseSpread if shape is None else [shape]:
        try:
            noise = smallest(
                leak,
                error_floor=targets.error_floor,
                success_rate=targets.success_rate,
                eta=targets.eta,
                quantile=targets.quantile,
                shape="isotropic" if spread is NoiseSpread.one_scale else "standard errors",
                exact=exact,
            )
        except (UnansweredError, UnsupportedError):
            if spread is shape or spread is NoiseSpread.one_scale:
                raise
            continue
        return Amount.of(noise)
    raise AssertionError
