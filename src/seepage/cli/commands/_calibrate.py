"""`seepage calibrate`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from seepage.cli.commands import _options as options


@dataclass(frozen=True, kw_only=True)
class _Calibrate(options.Measured):
    policy: options.Policy
    stream: options.Stream = None
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Print all digits, which depend on one person.", rich_help_panel=options.OUT),
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the number alone.", rich_help_panel=options.OUT)
    ] = False


@options.taking(_Calibrate)
def calibrate(asked: _Calibrate) -> None:
    """Find noise with which a model meets a policy.

    The answer is rounded up to 1, 2 or 5 times a power of ten: the most exposed person decides the digits.
    """
    from rich.text import Text

    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import Waiting, screen, shortened, show_people

    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = PolicyFile.read(asked.policy)
        question = asked.measured(waiting, stream=asked.stream)
        leak = question.measured(1.0)
        from seepage.release import calibrate as smallest

        targets = file.policy
        scale = smallest(
            leak,
            error_floor=targets.error_floor,
            success_rate=targets.success_rate,
            eta=targets.eta,
            quantile=targets.quantile,
            # A scale is all that --noise-scale takes.
            shape="isotropic",
            exact=asked.exact,
        ).scale
    assert scale is not None
    digits = repr(scale) if asked.exact else f"{scale:g}"
    if asked.quiet:
        typer.echo(digits)
        return
    console = screen()
    console.print(Text.assemble("A noise scale of ", (digits, "bold"), " meets:"))
    for sentence in targets.sentences():
        console.print(Text(f"- {sentence}"))
    if left := targets.untargeted(leak).sentence(shortened):
        console.print(Text(left))
    show_people(console, asked.ids)
    if asked.exact:
        console.print(Text("All digits together tell how exposed the most exposed person is: keep them to yourself."))
