"""`seepage calibrate`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from seepage._python import StrEnum
from seepage.cli.commands._options import Measured, command, refuse_options
from seepage.cli.terminal import Amount

if TYPE_CHECKING:
    from seepage.leakage import Leakage
    from seepage.release import Policy


class NoiseSpread(StrEnum):
    """Noise in standard errors of each coefficient, or of one scale for all."""

    standard_errors = "standard-errors"
    one_scale = "one-scale"


@dataclass(frozen=True, kw_only=True)
class _Calibrate(Measured):
    """Options of one command.

    What is measured
    ----------------
    --shape
        In standard errors of each coefficient, or one scale for all. By default standard errors, which cost the model
        less, where they are supported.

    What comes out
    --------------
    --exact
        Print all digits, which depend on one person.
    --quiet, -q
        Print the number alone.
    """

    policy: Path | None = None
    shape: NoiseSpread | None = None
    stream: bool | None = None
    exact: bool = False
    quiet: bool = False


@command
def calibrate(asked: _Calibrate) -> None:
    """Find noise with which a model meets a policy; or show what some noises give and cost.

    Without --policy, a table states what noise of 0.1 to 1 standard errors gives about each column, and what it costs.
    The answer is what --noise takes, rounded up to 1, 2 or 5 times a power of ten: the most exposed person decides the
    digits.
    """
    from seepage.cli.input import PolicyFile
    from seepage.cli.terminal import Waiting, screen, shortened, show, show_people
    from seepage.pages import wrapped
    from seepage.release import suggest

    if asked.policy is None:
        why = "it is about the noise that a policy takes: name one with --policy."
        refuse_options(asked, why, "shape", "exact", "quiet")
    with Waiting(quiet=asked.quiet).shown() as waiting:
        file = None if asked.policy is None else PolicyFile.read(asked.policy)
        question = asked.question(waiting, stream=asked.stream, file=file)
        leak = question.measured(Amount(1.0))
        if file is None:
            said = repr(suggest(leak)).splitlines()
            said += [each.sentence() for each in leak.information.assumptions if each.kind == "left out"]
        else:
            amount = _least(leak, file.policy, asked.shape, exact=asked.exact)
            digits = "" if asked.exact else "g"
            said = [f"{amount.words(digits)} meets:", *(f"- {sentence}" for sentence in file.policy.sentences())]
            said += wrapped(file.policy.attributes_without_target(leak).sentence(shortened))
    if asked.quiet:
        typer.echo(amount.option(digits))
        return
    show(screen(), [("", line) for line in said])
    if file is not None:
        show_people(screen(), asked.ids)
    if asked.exact:
        show(screen(), [("", "All digits together reveal how exposed the most exposed person is: keep them secret.")])


def _least(leak: "Leakage", policy: "Policy", shape: NoiseSpread | None, *, exact: bool) -> Amount:
    """Return the least noise of a shape, or of the first that is supported."""
    from seepage.errors import UnansweredError, UnsupportedError
    from seepage.release import calibrate as smallest

    if shape is None:
        try:
            return _least(leak, policy, NoiseSpread.standard_errors, exact=exact)
        except (UnansweredError, UnsupportedError):
            return _least(leak, policy, NoiseSpread.one_scale, exact=exact)
    wanted: Literal["isotropic", "standard errors"]
    wanted = "isotropic" if shape is NoiseSpread.one_scale else "standard errors"
    targets: Any = policy.entries()
    return Amount.of(smallest(leak, **targets, shape=wanted, exact=exact))
